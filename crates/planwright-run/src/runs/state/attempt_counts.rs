//! Counts the attempts of a task and what they spent, each once.

use super::super::record::{LandingEndRecord, Outcome, VerificationRecord};
use super::task::TaskRun;
use super::{between, verification_failure};
use crate::clock::milliseconds_of;

/// What a finished attempt adds to the sums of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CountedAttempts {
    pub(super) n_attempts: u64,
    pub(super) n_unverified: u64,
}

impl TaskRun {
    /// Records that the plan file lacks a change.
    pub(super) fn note(&mut self, time: &str) {
        self.plan_file.is_current = false;
        time.clone_into(&mut self.plan_file.changed_at);
    }

    pub(super) fn n_open(&self) -> u64 {
        self.attempts.iter().filter(|attempt| attempt.times.is_open).count() as u64
    }

    /// Returns the number of its attempts that count, including unfinished ones.
    pub(crate) fn n_attempts_that_count(&self) -> u64 {
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
    pub(super) fn finished(&mut self, name: &str, number: u32, outcome: &Outcome) -> CountedAttempts {
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

    pub(super) fn verified(&mut self, verified: &VerificationRecord) -> CountedAttempts {
        match verified.passed {
            true => self.accept_if_done(&verified.task, verified.attempt),
            false => {
                let why = Some(verification_failure(&verified.receipts));
                self.fail(&verified.task, verified.attempt, why)
            }
        }
    }

    pub(super) fn landing_ended(&mut self, ended: &LandingEndRecord) -> CountedAttempts {
        match ended.passed {
            true => self.accept(&ended.task, ended.attempt),
            false => self.fail(&ended.task, ended.attempt, ended.why.clone()),
        }
    }

    /// Handles a conflict of an attempt with landed work. The attempt does not count: the one that resolves the conflict does.
    pub(super) fn conflicted(&mut self, name: &str, number: u32) -> CountedAttempts {
        self.close(name, number, false)
    }

    /// Accepts an attempt that is verified and has nothing to land.
    fn accept_if_done(&mut self, name: &str, number: u32) -> CountedAttempts {
        let attempt = self.find(name, number).and_then(|at| self.attempts.get(at));
        let is_done = attempt.is_some_and(|attempt| {
            attempt.outcome == Some(Outcome::Done)
                && attempt.verification.passed == Some(true)
                && attempt.checkout.branch.is_none()
        });
        match is_done {
            true => self.accept(name, number),
            false => CountedAttempts::default(),
        }
    }

    fn accept(&mut self, name: &str, number: u32) -> CountedAttempts {
        let attempt = self.find(name, number).and_then(|at| self.attempts.get(at));
        let output = attempt.and_then(|attempt| attempt.report.output.clone());
        let is_unverified = attempt.is_none_or(|attempt| attempt.verification.receipts.is_empty());
        self.results.accept(output.as_deref());
        let closed = self.close(name, number, true);
        CountedAttempts {
            n_unverified: u64::from(is_unverified && closed.n_attempts > 0),
            ..closed
        }
    }

    fn fail(&mut self, name: &str, number: u32, why: Option<String>) -> CountedAttempts {
        self.results.fail(why.as_deref());
        // An attempt to resolve a conflict does not fail the task.
        let attempt = self.find(name, number).and_then(|at| self.attempts.get(at));
        let counts = attempt.is_none_or(|attempt| attempt.landing.resolution.is_none());
        self.close(name, number, counts)
    }

    /// Ends an attempt, once.
    fn close(&mut self, name: &str, number: u32, counts: bool) -> CountedAttempts {
        let at = self.find(name, number);
        let attempt = at.and_then(|at| self.attempts.get_mut(at));
        let was_open = attempt.is_some_and(|attempt| std::mem::take(&mut attempt.times.is_open));
        let n_attempts = u64::from(was_open && counts);
        self.spent.n_attempts += n_attempts;
        CountedAttempts {
            n_attempts,
            n_unverified: 0,
        }
    }
}
