//! Runs the commands of one task, one after another, for callers that wait for nothing else.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Check, CheckEnvironment, passed, receipt, receipt_of_refusal, spec};
use crate::faults;
use crate::files::{DiskFiles, write_own};
use crate::journal::Receipt;
use crate::layout::{PlanKey, STATE_FOLDER, make_state_folder, refuse_links};
use crate::worker::{EndedProcess, ProcessSpec, StartError, StopManner, WorkerEvent, Workers, end, orphans};

/// The longest time until an interrupt is noticed.
const PAUSE: Duration = Duration::from_millis(100);

/// Observes the commands, and may interrupt them.
pub trait VerificationWatch {
    fn begins(&mut self, check: &Check);

    fn ends(&mut self, check: &Check, receipt: &Receipt);

    /// Returns whether to end the active command, and how. Called several times a second.
    fn interruption(&mut self) -> Option<StopManner>;
}

/// The caller interrupted the verification. The active command was ended, with everything that it had started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the verification was interrupted")]
pub struct VerificationInterrupted;

/// The outputs of verification by hand, in `.planwright/checks`. Those of a task are kept until its next verification.
#[derive(Clone, Debug)]
pub struct VerificationLogs {
    folder: PathBuf,
    key: PlanKey,
}

impl VerificationLogs {
    /// Creates the folder for them. `plan` is the path of the plan from the root of the workspace.
    pub fn create(root: &Path, plan: &str, task: &str) -> io::Result<Self> {
        make_state_folder(&DiskFiles, root)?;
        let folder = root.join(STATE_FOLDER).join("checks");
        faults::step("make folder of receipts")?;
        refuse_links(&DiskFiles, root, &folder)?;
        std::fs::create_dir_all(&folder).map_err(|error| {
            let message = format!("`{}` cannot be made: {error}", folder.display());
            io::Error::new(error.kind(), message)
        })?;
        Ok(VerificationLogs {
            folder,
            // No path has a NUL, so the key is unique to a plan and a task.
            key: PlanKey::of(&format!("{plan}\0/{task}")),
        })
    }

    /// Returns the path of the output of a command, counted from 1.
    pub fn log(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{}.{number}.log", self.key))
    }

    /// Removes the outputs of the last verification, so that all files are from the same one.
    fn clear(&self) {
        let all = (1..).map(|number| self.log(number));
        all.map_while(|log| std::fs::remove_file(log).ok()).for_each(drop);
    }

    /// Returns the temporary path of an output, since another process may verify the same task at the same time.
    fn part(&self, number: usize) -> PathBuf {
        let process = std::process::id();
        self.folder.join(format!("{}.{number}.{process}.part", self.key))
    }
}

/// Runs all commands of a task one after another, even after a failure, so that the user sees all errors. Returns their receipts in order.
pub fn run_all(
    workers: &mut Workers,
    checks: &[Check],
    check_environment: &CheckEnvironment,
    logs: &VerificationLogs,
    commit: Option<&str>,
    watch: &mut dyn VerificationWatch,
) -> Result<Vec<Receipt>, VerificationInterrupted> {
    logs.clear();
    let mut receipts = Vec::new();
    for (number, check) in (1..).zip(checks) {
        watch.begins(check);
        let log = logs.part(number);
        let commit = commit.map(str::to_owned);
        let receipt = match run(workers, &spec(check, check_environment, log.clone()), watch) {
            Ok(Some(ended)) => receipt(check, &ended, &log, commit),
            Ok(None) => {
                // The output of an interrupted command is useless.
                let _ = std::fs::remove_file(&log);
                return Err(VerificationInterrupted);
            }
            Err(error) => receipt_of_refusal(check, &error, commit),
        };
        // The receipt is complete even if the output keeps its temporary name.
        faults::point("name receipt");
        if std::fs::rename(&log, logs.log(number)).is_err() {
            // A command without output has no log. Each command gets a file, so that clearing finds all of them.
            let _ = write_own(&logs.log(number), b"");
        }
        watch.ends(check, &receipt);
        receipts.push(receipt);
    }
    Ok(receipts)
}

/// Runs a command to its end; none if it was interrupted.
fn run(
    workers: &mut Workers,
    spec: &ProcessSpec,
    watch: &mut dyn VerificationWatch,
) -> Result<Option<EndedProcess>, StartError> {
    const KEY: u64 = 0;
    workers.start(KEY, spec)?;
    let mut was_interrupted = false;
    loop {
        if let Some(manner) = watch.interruption() {
            workers.cancel(KEY, manner);
            was_interrupted = true;
        }
        let ended = workers.wait(Some(PAUSE)).into_iter().find_map(|event| match event {
            WorkerEvent::Ended(ended) => Some(ended),
            WorkerEvent::Line { .. } | WorkerEvent::Output { .. } => None,
        });
        if let Some(ended) = ended {
            if ended.was_outlived {
                // A server that a test left running would disturb the next one.
                end(&spec.mark, &orphans(&spec.mark, &[]), spec.limits.grace);
            }
            return Ok((!was_interrupted).then_some(ended));
        }
    }
}

/// Returns whether all commands succeeded, and there was one.
pub fn all_passed(receipts: &[Receipt]) -> bool {
    !receipts.is_empty() && receipts.iter().all(passed)
}
