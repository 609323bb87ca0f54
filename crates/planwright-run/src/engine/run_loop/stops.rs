//! Interrupts by the user, and the reasons for which a run starts no more tasks.

use std::sync::atomic::{AtomicU32, Ordering};

use planwright_core::schedule::{ScheduleEvent, Stop};

use super::super::RunError;
use super::RunLoop;
use crate::runs::{RunEvent, StopReason, StopRecord};
use crate::worker::StopManner;

/// Why a run stops, and the number of the user's interrupts.
pub(super) struct StopRequests<'a> {
    interrupts: &'a AtomicU32,
    n_handled: u32,
    why: Option<String>,
    is_recorded: bool,
    is_hindered: bool,
    is_by_signal: bool,
}

impl<'a> StopRequests<'a> {
    pub(super) fn new(interrupts: &'a AtomicU32, why: Option<String>) -> Self {
        StopRequests {
            interrupts,
            n_handled: 0,
            why,
            is_recorded: false,
            is_hindered: false,
            is_by_signal: false,
        }
    }

    pub(super) fn interrupts(&self) -> &'a AtomicU32 {
        self.interrupts
    }

    /// Returns whether the user wants all attempts to end now.
    pub(super) fn ends_attempts(&self) -> bool {
        self.n_handled > 1
    }

    pub(super) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Returns whether the machine prevents the run from continuing.
    pub(super) fn is_hindered(&self) -> bool {
        self.is_hindered
    }

    /// Sets why the run stops; the first reason is kept.
    pub(super) fn explain(&mut self, why: impl FnOnce() -> String) {
        self.why.get_or_insert_with(why);
    }

    /// Sets why the run stops, and replaces an earlier reason.
    pub(super) fn explain_by(&mut self, why: &str) {
        self.why = Some(why.to_owned());
    }
}

impl RunLoop<'_> {
    /// Records once why nothing new starts.
    pub(super) fn record_stop(&mut self) -> Result<(), RunError> {
        let Some(stop) = self.tasks.schedule.stop().filter(|_| !self.user.stops.is_recorded) else {
            return Ok(());
        };
        self.user.stops.is_recorded = true;
        let (reason, task) = match stop {
            Stop::Requested if self.user.stops.is_hindered => (StopReason::Hindered, None),
            Stop::Requested if self.user.stops.is_by_signal => (StopReason::Signal, None),
            Stop::Requested => (StopReason::Requested, None),
            Stop::Condition { task } => (StopReason::Condition, Some(task)),
            Stop::Failure { task } => (StopReason::Failure, Some(task)),
            Stop::MaxTasks => (StopReason::MaxTasks, None),
            Stop::Budget => (StopReason::Budget, None),
        };
        let event = StopRecord {
            reason,
            task: task.map(|task| self.snapshot.name(task).to_owned()),
            why: self.user.stops.why.clone(),
        };
        self.record(RunEvent::Stopping(event))
    }

    /// Follows the user's interrupts: first nothing new starts, then attempts end politely, then they are killed.
    pub(super) fn handle_interrupts(&mut self) {
        let n_asked = self.user.stops.interrupts.load(Ordering::Relaxed);
        while self.user.stops.n_handled < n_asked {
            self.user.stops.n_handled += 1;
            match self.user.stops.n_handled {
                1 => {
                    self.user.stops.is_by_signal |= self.user.stops.why.is_none();
                    self.user.stops.explain(|| "interrupted by the user".to_owned());
                    self.happened(ScheduleEvent::StopRequested);
                }
                2 => self.end_attempts(StopManner::Politely),
                _ => self.end_attempts(StopManner::AtOnce),
            }
        }
    }

    pub(super) fn end_attempts(&mut self, manner: StopManner) {
        self.happened(ScheduleEvent::StopRequested);
        self.agents.arbiter.end(self.workers, manner);
        self.attempts.interrupt(self.workers, manner);
        self.landing.interrupt(self.workers, manner);
    }

    /// Stops a run whose log was removed: no later run could resume it. A run that guards its state writes the log again instead.
    pub(super) fn watch_log(&mut self) {
        let is_gone = || self.live.place.log().symlink_metadata().is_err();
        if self.tasks.schedule.stop().is_none() && !self.folders.fences.has_guard() && is_gone() {
            let folder = self.live.place.folder();
            let why = format!("the folder of the run was removed (`{}`)", folder.display());
            self.stop_hindered(why);
        }
    }

    /// Starts nothing new, because the machine prevents the run from continuing.
    pub(super) fn stop_hindered(&mut self, why: String) {
        self.user.stops.is_hindered |= self.user.stops.why.is_none();
        self.user.stops.explain(|| why);
        self.happened(ScheduleEvent::StopRequested);
    }
}
