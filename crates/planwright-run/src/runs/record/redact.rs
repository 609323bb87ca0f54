//! Removes secrets from a record before it is written. Names every field, so that a new one needs a decision.
//!
//! Names of tasks, folders, branches and commits stay unchanged: a run finds its work by them.

use super::{
    AgentChoiceRecord, AttemptEndRecord, CandidateRecord, ConflictRecord, DriftRecord, LandingEndRecord, Receipt,
    RemarkRecord, RetryWaitRecord, RunEndRecord, RunEvent, StopRecord, UnlandedWorkRecord, VerificationRecord,
};
use crate::redaction::Redaction;

impl RunEvent {
    /// Removes secrets from texts of agents and commands, and from file names that agents chose.
    pub(crate) fn redact(&mut self, redaction: &Redaction) {
        match self {
            RunEvent::AgentChosen(chosen) => chosen.redact(redaction),
            RunEvent::AttemptEnded(finished) => finished.redact(redaction),
            RunEvent::Verified(verified) => verified.redact(redaction),
            RunEvent::Stopping(stopping) => stopping.redact(redaction),
            RunEvent::Resting(resting) => resting.redact(redaction),
            RunEvent::Candidate(candidate) => candidate.redact(redaction),
            RunEvent::Held(held) => held.redact(redaction),
            RunEvent::Conflicted(conflicted) => conflicted.redact(redaction),
            RunEvent::LandingEnded(ended) => ended.redact(redaction),
            RunEvent::Drifted(drifted) => drifted.redact(redaction),
            RunEvent::Remark(remark) => remark.redact(redaction),
            RunEvent::RunEnded(ended) => ended.redact(redaction),
            // Numbers, times, names, and requests of users.
            RunEvent::RunStarted(_)
            | RunEvent::AttemptStarting(_)
            | RunEvent::ProcessStarted(_)
            | RunEvent::PlanWritten(_)
            | RunEvent::Skipped(_)
            | RunEvent::Review(_)
            | RunEvent::Approved(_)
            | RunEvent::Paused(_)
            | RunEvent::Resumed(_)
            | RunEvent::LandingStarted(_)
            | RunEvent::PlanEdited(_)
            | RunEvent::LogCut(_)
            | RunEvent::Other(_) => {}
        }
    }
}

trait Redact {
    fn redact(&mut self, redaction: &Redaction);
}

impl Redact for String {
    fn redact(&mut self, redaction: &Redaction) {
        redaction.clean(self);
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(&mut self, redaction: &Redaction) {
        self.iter_mut().for_each(|value| value.redact(redaction));
    }
}

impl<T: Redact> Redact for Vec<T> {
    fn redact(&mut self, redaction: &Redaction) {
        self.iter_mut().for_each(|value| value.redact(redaction));
    }
}

/// Lists each type with the fields that are redacted, and those that stay unchanged.
macro_rules! redacted {
    ($($record:ident: $($text:ident)*; keeps $($kept:ident)*.)*) => {
        $(impl Redact for $record {
            fn redact(&mut self, redaction: &Redaction) {
                let $record { $($text,)* $($kept: _,)* } = self;
                $($text.redact(redaction);)*
            }
        })*
    };
}

redacted! {
    AgentChoiceRecord: reason why; keeps task arbiter agent milliseconds cost_usd tokens.
    CandidateRecord: ignored other_work protected; keeps task attempt commit tree base.
    ConflictRecord: files; keeps task attempt onto tree labels resolution.
    DriftRecord: files; keeps task attempt.
    AttemptEndRecord: why output files discoveries;
        keeps task attempt outcome exit milliseconds cost_usd tokens session limited_for no_changes.
    UnlandedWorkRecord: candidate output files; keeps task is_verified agent session folder identity base.
    LandingEndRecord: why; keeps task attempt branch passed commit tree.
    Receipt: tail; keeps command exit milliseconds digest commit tree is_setup.
    RemarkRecord: text; keeps task kind.
    RetryWaitRecord: why; keeps task attempt milliseconds.
    RunEndRecord: why;
        keeps standing n_done n_failed n_skipped n_review n_left n_unverified milliseconds cost_usd tokens next
            n_unchanged unwritten.
    StopRecord: why; keeps reason task.
    VerificationRecord: receipts; keeps task attempt passed unverified.
}
