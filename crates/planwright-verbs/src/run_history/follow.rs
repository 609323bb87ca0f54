//! Follows a run of another process: the interval of reads, and whether it is still active.

use std::time::Duration;

use planwright_run::files::DiskFiles;
use planwright_run::runs::{RunEvent, SeenRun};

/// The pause between two reads of a growing log.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// Whether a run is still active: it has not recorded its end, and a process holds it.
pub(crate) struct RunActivity<'r> {
    run: &'r SeenRun,
    /// How many times in a row no process held the run.
    n_alone: u32,
    /// Whether the last own record of the run is its end.
    pub(crate) has_ended: bool,
}

impl<'r> RunActivity<'r> {
    pub(crate) fn new(run: &'r SeenRun) -> Self {
        RunActivity {
            run,
            n_alone: 0,
            has_ended: false,
        }
    }

    pub(crate) fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunEnded(_) => self.has_ended = true,
            RunEvent::RunStarted(_) => self.has_ended = false,
            _ => {}
        }
    }

    /// Checks whether no process holds the run any more, for the second time: the log is read once more after that.
    pub(crate) fn is_over(&mut self) -> bool {
        match self.run.live(&DiskFiles) {
            Some(_) => self.n_alone = 0,
            None => self.n_alone += 1,
        }
        self.n_alone >= 2
    }
}
