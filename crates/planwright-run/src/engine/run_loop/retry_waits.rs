//! Waits between two attempts at a task.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::super::RunError;
use super::RunLoop;
use crate::clock;
use crate::runs::{RetryWaitRecord, RunEvent};

#[derive(Default)]
pub(super) struct RetryWaits {
    waiting: Vec<(Instant, u32)>,
    /// The length of a task's next wait, and the reason.
    planned: HashMap<u32, (Duration, String)>,
    /// How many attempts in a row could not start because the machine was short of a resource.
    n_shortages: u32,
}

impl RetryWaits {
    pub(super) fn plan(&mut self, task: u32, wait: Duration, why: String) {
        self.planned.insert(task, (wait, why));
    }

    /// Counts an attempt that could not start because the machine was short of a resource. Returns how many there were in a row.
    pub(super) fn count_shortage(&mut self) -> u32 {
        self.n_shortages += 1;
        self.n_shortages
    }

    /// Records that an attempt could start.
    pub(super) fn end_shortage(&mut self) {
        self.n_shortages = 0;
    }

    pub(super) fn forget(&mut self, task: u32) {
        self.waiting.retain(|(_, waiting)| *waiting != task);
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.iter().map(|(at, _)| *at).min()
    }

    pub(super) fn take_over(&mut self, now: Instant) -> Vec<u32> {
        let (over, waiting): (Vec<_>, Vec<_>) = self.waiting.iter().partition(|(at, _)| *at <= now);
        self.waiting = waiting;
        over.into_iter().map(|(_, task)| task).collect()
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        let waiting = self.waiting.iter();
        let waiting = waiting.filter_map(|(at, task)| Some((*at, *new_of.get(task)?)));
        self.waiting = waiting.collect();
        super::renumber(&mut self.planned, new_of);
    }
}

impl RunLoop<'_> {
    pub(super) fn rest(&mut self, task: u32) -> Result<(), RunError> {
        let (wait, why) = self.waits.rests.planned.remove(&task).unwrap_or_default();
        self.waits.rests.waiting.push((clock::instant() + wait, task));
        let name = self.snapshot.name(task).to_owned();
        self.record(RunEvent::Resting(RetryWaitRecord {
            attempt: self.state().highest_attempt(&name),
            task: name,
            milliseconds: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            why: Some(why).filter(|why| !why.is_empty()),
        }))
    }
}
