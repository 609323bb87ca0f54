//! The active attempts, and their slots.

use std::collections::HashMap;

use planwright_core::plan::State;

use super::super::attempt::{AgentEndReason, AttemptPhase, RunningAttempt};
use super::super::budget::Reservation;
use crate::worker::{StopManner, Workers};

/// All attempts that have a process, or get one after the next commit.
#[derive(Default)]
pub(super) struct RunningAttempts {
    /// By the key of their process.
    under_way: HashMap<u64, RunningAttempt>,
    /// Recorded attempts with their prompts. They get a process after the next commit.
    spawning: Vec<(RunningAttempt, String)>,
    last_key: u64,
    slots: Vec<bool>,
}

impl RunningAttempts {
    /// Returns an unused key for a process.
    pub(super) fn new_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    pub(super) fn take_slot(&mut self) -> u32 {
        let free = self.slots.iter().position(|is_taken| !is_taken);
        let slot = free.unwrap_or_else(|| {
            self.slots.push(false);
            self.slots.len() - 1
        });
        self.slots[slot] = true;
        slot as u32 + 1
    }

    pub(super) fn free_slot(&mut self, attempt: &RunningAttempt) {
        if let Some(slot) = self.slots.get_mut(attempt.resources.slot as usize - 1) {
            *slot = false;
        }
    }

    /// Adds an attempt that gets its process after the next commit.
    pub(super) fn queue(&mut self, attempt: RunningAttempt, prompt: String) {
        self.spawning.push((attempt, prompt));
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.spawning.is_empty()
    }

    pub(super) fn take_queued(&mut self) -> Vec<(RunningAttempt, String)> {
        std::mem::take(&mut self.spawning)
    }

    pub(super) fn insert(&mut self, key: u64, attempt: RunningAttempt) {
        self.under_way.insert(key, attempt);
    }

    pub(super) fn get(&self, key: u64) -> Option<&RunningAttempt> {
        self.under_way.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut RunningAttempt> {
        self.under_way.get_mut(&key)
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<RunningAttempt> {
        self.under_way.remove(&key)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &RunningAttempt> {
        self.under_way.values()
    }

    pub(super) fn running_mut(&mut self) -> impl Iterator<Item = &mut RunningAttempt> {
        self.under_way.values_mut()
    }

    /// Returns the reservations of the attempts whose agents have not ended.
    pub(super) fn reserved(&self) -> Vec<Reservation> {
        let about_to = self.spawning.iter().map(|(attempt, _)| attempt);
        let all = self.under_way.values().chain(about_to);
        let at_work = all.filter(|attempt| !matches!(attempt.phase, AttemptPhase::Checking(_)));
        at_work.map(|attempt| attempt.resources.reserved).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    pub(super) fn n_under_way(&self) -> usize {
        self.under_way.len() + self.spawning.len()
    }

    pub(super) fn is_under_way(&self, task: u32) -> bool {
        let about_to = self.spawning.iter().map(|(attempt, _)| attempt);
        self.under_way
            .values()
            .chain(about_to)
            .any(|attempt| attempt.task == task)
    }

    /// Returns whether an attempt runs whose task was removed from the plan. It keeps its slot and its files until it ends.
    pub(super) fn has_removed(&self) -> bool {
        self.under_way.values().any(RunningAttempt::is_gone)
    }

    pub(super) fn interrupt(&mut self, workers: &mut Workers, manner: StopManner) {
        for (key, attempt) in &mut self.under_way {
            attempt.ending.get_or_insert(AgentEndReason::Interrupted);
            workers.cancel(*key, manner);
        }
    }

    /// Has the attempt at a task follow another process that moved the task. Returns whether there is such an attempt.
    pub(super) fn follow(&mut self, task: u32, to: State, workers: &mut Workers) -> bool {
        let mut running = self.under_way.iter_mut();
        let Some((key, attempt)) = running.find(|(_, attempt)| attempt.task == task) else {
            return false;
        };
        match to {
            State::Running => {}
            State::Pending | State::Done | State::Failed | State::Skipped | State::Blocked => {
                attempt.moved = Some(to);
                attempt.ending.get_or_insert(AgentEndReason::TakenAway);
                workers.cancel(*key, StopManner::Politely);
            }
        }
        true
    }

    /// Gives attempts the new numbers of their tasks. An attempt at a removed task is ended.
    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>, workers: &mut Workers) {
        for (key, attempt) in &mut self.under_way {
            if attempt.renumber(new_of) {
                workers.cancel(*key, StopManner::Politely);
            }
        }
    }
}
