//! Tries commands of the user in a clean checkout, before a run needs them.

use std::path::Path;
use std::time::Duration;

use planwright_run::config::{Command, Config};
use planwright_run::fence::{ProcessFolders, TemporaryFolders};
use planwright_run::files::read_text;
use planwright_run::git::Repository;
use planwright_run::runs::Receipt;
use planwright_run::setup::candidates;
use planwright_run::setup::trial::TrialCheckout;
use planwright_run::shell::command_line;
use planwright_run::verify::{self, Check, CheckEnvironment, VerificationLogs};
use planwright_run::worker;
use serde::Serialize;

use super::observer::VerificationObserver;
use super::series::{Series, fence_of};
use crate::failure::{Failure, Result};
use crate::text::{duration, one_line};

/// The longest time that a command is tried for. Its user waits.
const MAX_TRIAL: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult {
    /// It succeeded, and there are tests.
    Passed,
    /// It succeeded and found no tests.
    NoTests,
    Failed,
    /// Its program is not installed.
    NotFound,
    /// The file that it needs is not committed, and is in no checkout.
    NotCommitted,
    /// It was not run, at the user's request.
    NotTried,
}

pub struct TrialEnd {
    pub result: TrialResult,
    pub words: String,
    /// The last line of the output, if it failed.
    pub last_line: String,
    /// The command of `run.setup` that failed before it, as typed.
    pub failed_setup: Option<String>,
}

impl TrialEnd {
    pub fn of(result: TrialResult, words: &str) -> Self {
        TrialEnd {
            result,
            words: words.to_owned(),
            last_line: String::new(),
            failed_setup: None,
        }
    }
}

pub struct Trial<'t> {
    root: &'t Path,
    config: &'t Config,
    checkout: TrialCheckout,
    is_set_up: bool,
    series: Series,
    observer: &'t mut dyn VerificationObserver,
}

impl<'t> Trial<'t> {
    /// Opens a checkout to try commands in; none without a commit.
    pub fn open(
        root: &'t Path,
        config: &'t Config,
        help: &str,
        observer: &'t mut dyn VerificationObserver,
    ) -> Result<Option<Self>> {
        let checkout = TrialCheckout::open(root, config).map_err(|error| Failure::environment(&error, help))?;
        let Some(checkout) = checkout else {
            return Ok(None);
        };
        Ok(Some(Trial {
            root,
            config,
            checkout,
            is_set_up: false,
            series: Series::begin(observer)?,
            observer,
        }))
    }

    /// Returns whether checkouts contain a file.
    pub(crate) fn is_committed(&self, file: &str) -> bool {
        let is_tracked = || {
            let repository = Repository::around(self.root).ok().flatten()?;
            repository.has_tracked(&self.root.join(file)).ok()
        };
        is_tracked().unwrap_or(true)
    }

    /// Returns whether the program of a command is installed, or in the checkout.
    pub fn has_program(&self, command: &Command) -> bool {
        is_program_found(command, Some(&self.checkout.folder))
    }

    /// Runs a command like a run would, and waits for its end.
    pub(crate) fn try_command(&mut self, command: &Command) -> Result<TrialEnd> {
        let mut commands = match std::mem::replace(&mut self.is_set_up, true) {
            true => Vec::new(),
            false => self.checkout.setup.clone(),
        };
        let n_setup = commands.len();
        commands.push(command.clone());
        let check = |command: &Command| Check::of(command, self.config.verify.timeout.min(MAX_TRIAL));
        let checks: Vec<Check> = commands.iter().map(check).collect();
        let ground = ProcessFolders {
            writable: &[self.checkout.slot.path()],
            readable: &self.checkout.object_folders,
            environment: &self.checkout.environment,
            ..ProcessFolders::default()
        };
        let mut temporary = TemporaryFolders::default();
        let fence = fence_of(self.config, &ground, &mut temporary)?;
        let (folder, environment) = (self.checkout.folder.clone(), self.checkout.environment.clone());
        let scene = CheckEnvironment::of_no_attempt(&self.config.run, folder, environment, fence);
        // Not in the workspace: nothing is written there before all results are known.
        let mut outputs = TemporaryFolders::default();
        let help = "check that you may write to the folder for temporary files";
        let failed = |error: std::io::Error| Failure::environment(&error, help);
        let folder = outputs.make(0).map_err(failed)?;
        let logs = VerificationLogs::create(&folder, "init", "").map_err(failed)?;
        let (commit, slot) = (Some(self.checkout.commit.as_str()), Some(&self.checkout.slot));
        let receipts = self
            .series
            .run(&checks, &scene, &logs, commit, slot, &mut *self.observer);
        worker::end(&scene.mark, &worker::orphans(&scene.mark, &[]), scene.grace);
        let receipts = receipts?;
        Ok(end_of(command, n_setup, &receipts, &logs))
    }
}

fn end_of(command: &Command, n_setup: usize, receipts: &[Receipt], logs: &VerificationLogs) -> TrialEnd {
    if let Some(setup) = receipts.iter().take(n_setup).find(|receipt| !verify::passed(receipt)) {
        let line = one_line(&command_line(&setup.command));
        return TrialEnd {
            last_line: last_line(setup),
            failed_setup: Some(line.clone()),
            ..TrialEnd::of(
                TrialResult::Failed,
                &format!("not tried: `{line}` of run.setup failed, {}", setup.exit),
            )
        };
    }
    let Some(receipt) = receipts.last() else {
        return TrialEnd::of(TrialResult::Failed, "not started");
    };
    let whole = read_text(logs.log(receipts.len())).unwrap_or_else(|_| receipt.tail.clone());
    let time = duration(receipt.milliseconds);
    let has_no_tests = candidates::says_no_tests(&whole) || receipt.exit == "exit 5" && is_pytest(command);
    match verify::passed(receipt) {
        _ if has_no_tests => TrialEnd::of(TrialResult::NoTests, "no tests found"),
        true => TrialEnd::of(TrialResult::Passed, &format!("passed in {time}")),
        false => TrialEnd {
            last_line: last_line(receipt),
            ..TrialEnd::of(TrialResult::Failed, &format!("failed, {}", receipt.exit))
        },
    }
}

fn last_line(receipt: &Receipt) -> String {
    let last = receipt.tail.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or_default().trim().to_owned()
}

/// Returns whether a command is pytest, whose exit code for "no tests" is 5.
fn is_pytest(command: &Command) -> bool {
    command
        .arguments()
        .iter()
        .any(|word| word == "pytest" || word == "unittest")
}

/// Returns whether the program of a command exists: on `PATH`, or in a folder.
pub(crate) fn is_program_found(command: &Command, folder: Option<&Path>) -> bool {
    let Command::Words(words) = command.plain() else {
        return true;
    };
    let Some(program) = words.first() else {
        return false;
    };
    match program.contains('/') {
        true => folder.is_none_or(|folder| folder.join(program).is_file()),
        false => planwright_run::programs::program(program).is_some(),
    }
}
