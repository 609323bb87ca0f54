//! The queue of candidates in the order in which they land, with the progress of each.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use planwright_core::plan::State;

use super::super::super::attempt::{AgentEndReason, AttemptCheck, RunningAttempt};
use super::super::super::landing_site::Replayed;
use super::super::super::recovery::UnlandedWork;
use super::super::conflict_resolution::Conflicts;
use crate::git::{Candidate, CheckoutSlot};
use crate::runs::UnlandedWorkRecord;
use crate::verify::{self, Check};
use crate::worker::{StopManner, Workers};

#[derive(Default)]
pub(in super::super) struct LandingQueue {
    /// In landing order.
    pub(super) queue: Vec<QueuedCandidate>,
    /// Work of an earlier part of the run, by task.
    pub(super) unlanded: HashMap<u32, UnlandedWork>,
    pub(super) for_review: HashMap<u32, UnlandedWorkRecord>,
    /// This run's checkouts for verification that are unused now.
    pub(super) free_slots: Vec<CheckoutSlot>,
    /// Why nothing lands now, and when to try again.
    pub(super) held: Option<(String, Instant)>,
    pub(in super::super) conflicts: Conflicts,
}

pub(super) struct QueuedCandidate {
    pub(super) attempt: RunningAttempt,
    pub(super) checking: Box<AttemptCheck>,
    pub(super) candidate: Candidate,
    /// The length of the chain of tasks that wait for it: longer chains go first.
    pub(super) weight: u64,
    pub(super) replay: ReplayState,
    pub(super) verification: Verification,
    /// Whether the log has the result of its verification.
    pub(super) is_recorded: bool,
    /// The commit that lands and the tip below it, once both are in the log.
    pub(super) announced: Option<(String, String)>,
}

/// The state of an entry on top of those before it.
pub(super) enum ReplayState {
    /// Not replayed yet, or the entries below it have changed.
    Unknown,
    /// It conflicts with this tree.
    Conflict {
        onto: String,
    },
    Clean(Replayed),
}

pub(super) enum Verification {
    Waiting,
    Running {
        key: u64,
        slot: CheckoutSlot,
        setup: Vec<Check>,
        n_set_up: usize,
    },
    /// The command of an outdated verification is being ended.
    Ending {
        key: u64,
        slot: CheckoutSlot,
    },
    Over {
        slot: Option<CheckoutSlot>,
    },
}

impl QueuedCandidate {
    pub(super) fn key(&self) -> Option<u64> {
        match &self.verification {
            Verification::Running { key, .. } | Verification::Ending { key, .. } => Some(*key),
            Verification::Waiting | Verification::Over { .. } => None,
        }
    }

    pub(super) fn cancel(&self, workers: &mut Workers, manner: StopManner) {
        if let Some(key) = self.key() {
            workers.cancel(key, manner);
        }
    }

    pub(super) fn has_passed(&self) -> bool {
        self.checking.receipts.iter().all(verify::passed)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.verification, Verification::Over { .. })
    }

    /// Returns the next command of its verification and the log of that; none if verification is over.
    pub(super) fn next_check(&self, setup: &[Check], n_set_up: usize) -> Option<(Check, PathBuf)> {
        match setup.get(n_set_up) {
            // After a failure during setup there is nothing to verify.
            Some(_) if !self.has_passed() => None,
            Some(command) => Some((command.clone(), self.setup_log(n_set_up))),
            None => {
                let n_receipts = self.checking.receipts.len();
                let check = self.checking.checks.get(n_receipts)?;
                Some((check.clone(), self.attempt.location.place.check(n_receipts + 1)))
            }
        }
    }

    pub(super) fn setup_log(&self, n_set_up: usize) -> PathBuf {
        self.attempt
            .location
            .place
            .check(n_set_up + 1)
            .with_extension("setup.log")
    }

    /// Returns whether it was replayed onto a tree, successfully or not.
    pub(super) fn is_on(&self, onto: &str) -> bool {
        match &self.replay {
            ReplayState::Unknown => false,
            ReplayState::Conflict { onto: tree } => tree == onto,
            ReplayState::Clean(replayed) => replayed.onto == onto,
        }
    }
}

impl LandingQueue {
    pub(in super::super) fn new(
        unlanded: HashMap<u32, UnlandedWork>,
        for_review: HashMap<u32, UnlandedWorkRecord>,
    ) -> Self {
        LandingQueue {
            unlanded,
            for_review,
            ..LandingQueue::default()
        }
    }

    pub(in super::super) fn has_unlanded(&self, task: u32) -> bool {
        self.unlanded.contains_key(&task)
    }

    pub(in super::super) fn take_unlanded(&mut self, task: u32) -> Option<UnlandedWork> {
        self.unlanded.remove(&task)
    }

    /// Removes and returns the work of a task that waits for a review.
    pub(in super::super) fn take_for_review(&mut self, task: u32) -> Option<UnlandedWorkRecord> {
        self.for_review.remove(&task)
    }

    pub(in super::super) fn held(&self) -> impl Iterator<Item = UnlandedWorkRecord> {
        self.for_review.values().cloned()
    }

    pub(in super::super) fn add_unlanded(&mut self, task: u32, unlanded: UnlandedWork) {
        self.unlanded.insert(task, unlanded);
    }

    pub(in super::super) fn n_queued(&self) -> usize {
        self.queue.len()
    }

    pub(in super::super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns whether an obstacle keeps work from landing: nothing new starts until it is gone.
    pub(in super::super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    pub(in super::super) fn next(&self) -> Option<Instant> {
        self.held.as_ref().map(|(_, at)| *at)
    }

    pub(in super::super) fn is_queued(&self, task: u32) -> bool {
        self.queue.iter().any(|entry| entry.attempt.task == task)
    }

    /// Returns the task that a process verifies.
    pub(in super::super) fn name_of(&self, key: u64) -> Option<&str> {
        let mut entries = self.queue.iter();
        entries
            .find(|entry| entry.key() == Some(key))
            .map(|entry| entry.attempt.name.as_str())
    }

    /// Has work that waits to land follow another process that moved its task. Returns whether there is any.
    pub(in super::super) fn follow(&mut self, task: u32, to: State, workers: &mut Workers) -> bool {
        let Some(entry) = self.queue.iter_mut().find(|entry| entry.attempt.task == task) else {
            return false;
        };
        if !matches!(to, State::Running | State::Done) {
            entry.attempt.ending.get_or_insert(AgentEndReason::TakenAway);
            entry.cancel(workers, StopManner::Politely);
        }
        entry.attempt.moved = Some(to).filter(|to| *to != State::Running);
        true
    }

    pub(in super::super) fn renumber(&mut self, new_of: &HashMap<u32, u32>, workers: &mut Workers) {
        super::super::renumber(&mut self.unlanded, new_of);
        super::super::renumber(&mut self.for_review, new_of);
        for entry in &mut self.queue {
            if entry.attempt.renumber(new_of) {
                entry.cancel(workers, StopManner::Politely);
            }
        }
    }

    pub(in super::super) fn interrupt(&mut self, workers: &mut Workers, manner: StopManner) {
        for entry in &mut self.queue {
            entry.attempt.ending.get_or_insert(AgentEndReason::Interrupted);
            entry.cancel(workers, manner);
        }
    }
}
