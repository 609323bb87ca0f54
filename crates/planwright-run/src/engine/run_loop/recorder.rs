//! The log of a run and its state: every event passes through here, live and in a replay.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::super::{RunError, Watcher};
use crate::clock;
use crate::redaction::Redaction;
use crate::runs::state::RunState;
use crate::runs::{RunEvent, RunLog, RunRecord};

/// How long writing the log is tried again, and how often.
const LOG_PATIENCE: Duration = Duration::from_secs(60);
const LOG_PAUSE: Duration = Duration::from_millis(500);

/// Adds events to the log, applies them to the state, and reports them when they are durable.
pub(super) struct Recorder<'a> {
    log: RunLog<'static>,
    state: RunState,
    unreported: Vec<RunRecord>,
    watcher: &'a mut dyn Watcher,
    /// Applied to every event before it is written.
    redaction: Redaction,
}

impl<'a> Recorder<'a> {
    /// Continues a log whose records gave `state`. `cut` is a record that was added when the log was opened.
    pub(super) fn new(
        log: RunLog<'static>,
        mut state: RunState,
        cut: Option<RunRecord>,
        watcher: &'a mut dyn Watcher,
        redaction: Redaction,
    ) -> Self {
        cut.iter().for_each(|record| state.apply(record));
        Recorder {
            log,
            state,
            unreported: Vec::from_iter(cut),
            watcher,
            redaction,
        }
    }

    pub(super) fn state(&self) -> &RunState {
        &self.state
    }

    /// Records an event. It is durable and reported after the next commit.
    pub(super) fn record(&mut self, mut event: RunEvent) -> Result<(), RunError> {
        event.redact(&self.redaction);
        let time = clock::now();
        let seq = self.log.add(&time, &event)?;
        let record = RunRecord { seq, time, event };
        self.state.apply(&record);
        self.unreported.push(record);
        Ok(())
    }

    /// Makes recorded events durable, and reports them. A disk that is briefly full does not end the run: agents continue, and nothing
    /// starts.
    pub(super) fn commit(&mut self, interrupts: &AtomicU32) -> Result<(), RunError> {
        let since = Instant::now();
        while let Err(error) = self.log.commit() {
            let is_asked_to_end = interrupts.load(Ordering::Relaxed) > 1;
            // A limit for the size of files (ulimit -f) does not pass.
            let is_lasting = error.kind() == Some(ErrorKind::FileTooLarge);
            if since.elapsed() >= LOG_PATIENCE || is_asked_to_end || is_lasting {
                return Err(error.into());
            }
            std::thread::sleep(LOG_PAUSE);
            self.watcher.tick();
        }
        for record in self.unreported.drain(..) {
            self.watcher.event(&record);
        }
        Ok(())
    }

    /// Remembers the content of the log, before the first task starts that can write to it.
    pub(super) fn remember_log(&mut self) -> Result<(), RunError> {
        Ok(self.log.remember()?)
    }

    /// Writes the log again if a task changed it. Calls `keep` with its path first. Returns whether it was changed.
    pub(super) fn restore_log(&mut self, keep: impl FnOnce(&std::path::Path)) -> Result<bool, RunError> {
        Ok(self.log.restore(keep)?)
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.log.has_waiting()
    }

    /// Returns whether a record must be reported at once. Only the record of a process id can wait.
    pub(super) fn is_urgent(&self) -> bool {
        let can_wait =
            |record: &RunRecord| matches!(record.event, RunEvent::ProcessStarted(_) | RunEvent::PlanWritten(_));
        self.log.has_waiting() && !self.unreported.iter().all(can_wait)
    }

    pub(super) fn watcher(&mut self) -> &mut dyn Watcher {
        self.watcher
    }

    /// Returns the state at the end of the run. Debug builds compare it with a replay of the log.
    pub(super) fn finish(self, log: &std::path::Path) -> RunState {
        #[cfg(debug_assertions)]
        assert_replay(&self.state, log);
        #[cfg(not(debug_assertions))]
        let _ = log;
        self.state
    }
}

/// Checks that the log gives the state that the run had.
#[cfg(debug_assertions)]
fn assert_replay(live: &RunState, log: &std::path::Path) {
    // A log that another process removed, damaged or overwrote lacks records of the run.
    let is_whole = |records: &[RunRecord]| {
        let last = records.last();
        let is_last = last.is_some_and(|record| Some(record.time.as_str()) == live.times.last.as_deref());
        is_last && last.is_some_and(|record| record.seq == records.len() as u64)
    };
    if let Ok(records) = crate::runs::records(&crate::files::DiskFiles, log)
        && is_whole(&records)
    {
        assert_eq!(
            &RunState::of(&records),
            live,
            "a replay of the log gives the state of the run"
        );
    }
}
