//! Runs a series of verification commands, with its fence and its observer.

use planwright_run::config::Config;
use planwright_run::fence::{self, Fence, Fencing, ProcessFolders, TemporaryFolders};
use planwright_run::git::CheckoutSlot;
use planwright_run::journal::Receipt;
use planwright_run::verify::{self, Check, CheckEnvironment, VerificationLogs, VerificationWatch};
use planwright_run::worker::{StopManner, Workers};

use super::observer::{VerificationEvent, VerificationObserver};
use super::report::ReceiptReport;
use crate::cancel::CancelToken;
use crate::failure::{Exit, Failure, Result};

/// Commands that run one after another.
pub struct Series {
    workers: Workers,
    cancel: CancelToken,
    /// How many cancel requests were handled.
    n_handled: u32,
}

impl Series {
    pub fn begin(observer: &mut dyn VerificationObserver) -> Result<Self> {
        let help = "no command can be run for verification here";
        let workers = Workers::new().map_err(|error| Failure::environment(&error, help))?;
        let cancel = observer
            .cancel_token()
            .map_err(|error| Failure::environment(&error, help))?;
        Ok(Series {
            workers,
            cancel,
            n_handled: 0,
        })
    }

    /// Runs all commands, and returns their receipts. In a slot, the files of its commit are restored before each command.
    pub fn run(
        &mut self,
        checks: &[Check],
        scene: &CheckEnvironment,
        logs: &VerificationLogs,
        commit: Option<&str>,
        slot: Option<&CheckoutSlot>,
        observer: &mut dyn VerificationObserver,
    ) -> Result<Vec<Receipt>> {
        let mut watch = SeriesWatch {
            slot,
            observer,
            cancel: &self.cancel,
            n_handled: &mut self.n_handled,
        };
        let ran = verify::run_all(&mut self.workers, checks, scene, logs, commit, &mut watch);
        match (ran, self.cancel.exit()) {
            (Ok(receipts), None) => Ok(receipts),
            (_, exit) => Err(Failure {
                exit: exit.unwrap_or(Exit::Interrupted),
                message: "the verification was interrupted".to_owned(),
                help: "running commands were ended, and nothing was changed".to_owned(),
                evidence: Vec::new(),
            }),
        }
    }
}

/// Passes the events of commands to the caller, and the caller's cancel requests to the commands.
struct SeriesWatch<'a> {
    observer: &'a mut dyn VerificationObserver,
    cancel: &'a CancelToken,
    n_handled: &'a mut u32,
    /// The checkout of the commands, if it is one for verification.
    slot: Option<&'a CheckoutSlot>,
}

impl VerificationWatch for SeriesWatch<'_> {
    fn begins(&mut self, check: &Check) {
        if let Some(Ok(changed)) = self.slot.map(CheckoutSlot::restore_tracked)
            && !changed.is_empty()
        {
            self.observer.happens(VerificationEvent::Restored { files: &changed });
        }
        let command = &check.command.arguments();
        self.observer.happens(VerificationEvent::CommandBegins { command });
    }

    fn ends(&mut self, _check: &Check, receipt: &Receipt) {
        let receipt = &ReceiptReport::from(receipt);
        self.observer.happens(VerificationEvent::CommandEnds { receipt });
    }

    fn interruption(&mut self) -> Option<StopManner> {
        self.cancel.manner(self.n_handled)
    }
}

/// Returns the fence for commands that a person starts, which is that of a run.
pub(crate) fn fence_of(
    config: &Config,
    folders: &ProcessFolders<'_>,
    temporary: &mut TemporaryFolders,
) -> Result<Option<Fence>> {
    let fencing = Fencing::of(&config.run, fence::own_program().as_deref())?;
    let mut fence = fencing.fence(folders);
    if let Some(fence) = &mut fence {
        let help = "check that you may write to the folder for temporary files and that there is space";
        temporary.remove(0);
        let folder = temporary.make(0).map_err(|error| Failure::environment(&error, help))?;
        fence.give_temporary(folder);
    }
    Ok(fence)
}
