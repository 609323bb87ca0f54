//! Finds the task of a record, even after an edit of the plan renamed tasks.

use super::super::record::{LandingEndRecord, Outcome, PlanEditRecord, VerificationRecord};
use super::task::TaskRun;
use super::{Accepted, RunState, between, end_of, verification_failure};
use crate::clock::milliseconds_of;

impl RunState {
    /// Returns the index of a task of the plan, and adds the task if it is missing.
    pub(super) fn place_of(&mut self, name: &str) -> usize {
        if let Some(at) = self.tasks.places.get(name) {
            return *at;
        }
        self.tasks.all.push(TaskRun::new(name));
        self.tasks.places.insert(name.to_owned(), self.tasks.all.len() - 1);
        self.tasks.all.len() - 1
    }

    /// Returns the index of an attempt's task. Records of an attempt have the name of the task when the attempt started.
    pub(super) fn place_of_attempt(&mut self, name: &str, number: u32) -> usize {
        match self.find_attempt(name, number) {
            Some(at) => at,
            None => self.place_of(name),
        }
    }

    pub(super) fn find_attempt(&self, name: &str, number: u32) -> Option<usize> {
        let has = |at: &usize| self.tasks.all[*at].find(name, number).is_some();
        let by_name = self.tasks.places.get(name).copied();
        match by_name.filter(has) {
            Some(at) => Some(at),
            None if self.tasks.has_renamed => (0..self.tasks.all.len()).rev().find(has),
            None => None,
        }
    }

    /// Follows an edit of the plan: tasks keep their attempts under their new names.
    pub(super) fn rename(&mut self, edited: &PlanEditRecord) {
        if edited.renamed.is_empty() && edited.removed.is_empty() {
            return;
        }
        self.tasks.has_renamed = true;
        if let Some(states) = &mut self.found {
            for name in &edited.removed {
                states.remove(name);
            }
            let renamed = edited.renamed.iter();
            let renamed = renamed.filter_map(|renamed| Some((renamed.to.clone(), states.remove(&renamed.from)?)));
            let renamed: Vec<(String, String)> = renamed.collect();
            states.extend(renamed);
        }
        for name in &edited.removed {
            if let Some(at) = self.tasks.places.remove(name) {
                self.tasks.all[at].is_removed = true;
            }
        }
        // Tasks may have exchanged their names: all names are removed before any is set.
        let renamed = edited.renamed.iter();
        let found = renamed.filter_map(|renamed| Some((renamed.to.clone(), self.tasks.places.remove(&renamed.from)?)));
        let found: Vec<(String, usize)> = found.collect();
        for (name, at) in found {
            self.tasks.all[at].task.clone_from(&name);
            self.tasks.places.insert(name, at);
        }
    }
}

impl TaskRun {
    /// Records that the plan file lacks a change.
    pub(super) fn note(&mut self, time: &str) {
        self.is_in_plan_file = false;
        time.clone_into(&mut self.changed_at);
    }

    pub(super) fn n_open(&self) -> u64 {
        self.attempts.iter().filter(|attempt| attempt.times.is_open).count() as u64
    }

    /// Returns the number of its attempts that count, including unfinished ones.
    pub fn n_attempts_that_count(&self) -> u64 {
        self.spent.n_attempts.saturating_add(self.n_open())
    }

    /// Adds the time of an attempt, once.
    pub(super) fn pass(&mut self, name: &str, number: u32, milliseconds: Option<u64>, time: &str) {
        let Some(at) = self.find(name, number) else {
            self.spent.pass(milliseconds.unwrap_or(0));
            return;
        };
        let attempt = &mut self.attempts[at];
        let is_timed = std::mem::take(&mut attempt.times.is_timed);
        let by_records = || match is_timed {
            true => between(milliseconds_of(&attempt.times.started), milliseconds_of(time)),
            false => 0,
        };
        let passed = milliseconds.unwrap_or_else(by_records);
        self.spent.pass(passed);
    }

    /// Counts all unfinished attempts: their run did not record their end.
    pub(super) fn close_all(&mut self, last: Option<u64>) -> u64 {
        let mut n_closed = 0;
        for attempt in &mut self.attempts {
            if std::mem::take(&mut attempt.times.is_timed) {
                self.spent.pass(between(milliseconds_of(&attempt.times.started), last));
            }
            n_closed += u64::from(std::mem::take(&mut attempt.times.is_open));
        }
        self.spent.n_attempts += n_closed;
        n_closed
    }

    /// Handles the end of an attempt's agent. A successful attempt is complete after its verification, and after its landing if it has a
    /// branch.
    pub(super) fn finished(&mut self, name: &str, number: u32, outcome: &Outcome) -> Accepted {
        match outcome {
            Outcome::Done => self.accept_if_done(name, number),
            Outcome::Failed | Outcome::Stopped | Outcome::Other(_) => {
                let why = self.find(name, number).and_then(|at| self.attempts[at].why.clone());
                self.fail(name, number, why)
            }
            Outcome::Interrupted => self.close(name, number, true),
            Outcome::RateLimited | Outcome::Broken => self.close(name, number, false),
        }
    }

    pub(super) fn verified(&mut self, verified: &VerificationRecord) -> Accepted {
        match verified.passed {
            true => self.accept_if_done(&verified.task, verified.attempt),
            false => {
                let why = Some(verification_failure(&verified.receipts));
                self.fail(&verified.task, verified.attempt, why)
            }
        }
    }

    pub(super) fn merged(&mut self, merged: &LandingEndRecord) -> Accepted {
        match merged.passed {
            true => self.accept(&merged.task, merged.attempt),
            false => self.fail(&merged.task, merged.attempt, merged.why.clone()),
        }
    }

    /// Handles a conflict of an attempt with landed work. The attempt does not count: the one that resolves the conflict does.
    pub(super) fn conflicted(&mut self, name: &str, number: u32) -> Accepted {
        self.close(name, number, false)
    }

    /// Accepts an attempt that is verified and has nothing to land.
    fn accept_if_done(&mut self, name: &str, number: u32) -> Accepted {
        let attempt = self.find(name, number).and_then(|at| self.attempts.get(at));
        let is_done = attempt.is_some_and(|attempt| {
            attempt.outcome == Some(Outcome::Done)
                && attempt.verification.passed == Some(true)
                && attempt.checkout.branch.is_none()
        });
        match is_done {
            true => self.accept(name, number),
            false => Accepted::default(),
        }
    }

    fn accept(&mut self, name: &str, number: u32) -> Accepted {
        let attempt = self.find(name, number).and_then(|at| self.attempts.get(at));
        let output = attempt
            .and_then(|attempt| attempt.report.output.as_deref())
            .map(str::trim);
        let output = output.filter(|output| !output.is_empty()).map(str::to_owned);
        let is_unverified = attempt.is_none_or(|attempt| attempt.verification.receipts.is_empty());
        self.output = output.or_else(|| self.output.take());
        self.failure = None;
        let closed = self.close(name, number, true);
        Accepted {
            n_unverified: u64::from(is_unverified && closed.n_attempts > 0),
            ..closed
        }
    }

    fn fail(&mut self, name: &str, number: u32, why: Option<String>) -> Accepted {
        self.failure = why.as_deref().map(end_of).or_else(|| self.failure.take());
        // An attempt to resolve a conflict does not fail the task.
        let attempt = self.find(name, number).and_then(|at| self.attempts.get(at));
        let counts = attempt.is_none_or(|attempt| attempt.resolution.is_none());
        self.close(name, number, counts)
    }

    /// Ends an attempt, once.
    fn close(&mut self, name: &str, number: u32, counts: bool) -> Accepted {
        let at = self.find(name, number);
        let attempt = at.and_then(|at| self.attempts.get_mut(at));
        let was_open = attempt.is_some_and(|attempt| std::mem::take(&mut attempt.times.is_open));
        let n_attempts = u64::from(was_open && counts);
        self.spent.n_attempts += n_attempts;
        Accepted {
            n_attempts,
            n_unverified: 0,
        }
    }
}
