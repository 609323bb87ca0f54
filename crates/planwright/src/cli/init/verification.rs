//! Tries the commands that may verify the work in a repository, each in a clean checkout, as a run would start it.

use std::path::Path;

use planwright_run::clock;
use planwright_run::config::{Command, Config};
use planwright_run::fence::{Ground, TemporaryFolders};
use planwright_run::git::Repository;
use planwright_run::redaction::Redaction;
use planwright_run::setup::candidates::{self, Candidates};
use planwright_run::setup::trial::TrialCheckout;
use planwright_run::shell::command_line;
use planwright_run::verify::{self, Check, Logs, Scene};
use planwright_run::worker::{self, Mark};
use serde::Serialize;

use super::super::exit::Failure;
use super::super::output::Output;
use super::super::verification::{Series, Told, fence_of};
use crate::render::quantity::duration;

/// The result of trying a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TrialResult {
    /// It succeeded, and there are tests.
    Passed,
    /// It succeeded and found no tests.
    NoTests,
    /// It failed.
    Failed,
    /// Its program is not installed.
    NotFound,
    /// The file that it needs is not committed, and is in no checkout.
    NotCommitted,
    /// It was not started, as the user wished.
    NotTried,
}

/// A command and what became of it.
#[derive(Serialize)]
pub(super) struct Tried {
    #[serde(skip)]
    pub(super) command: Command,
    /// The command as it would be typed.
    pub(super) line: String,
    /// The file that suggests it.
    pub(super) file: String,
    pub(super) result: TrialResult,
    /// How it ended, in words.
    pub(super) ended: String,
    /// The last line of its output, where it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) last_line: String,
}

impl Tried {
    /// Returns whether the command is written to the configuration.
    pub(super) fn is_used(&self) -> bool {
        matches!(self.result, TrialResult::Passed | TrialResult::NotTried)
    }
}

/// Tries the commands of a workspace: of each ecosystem until one works.
pub(super) fn try_all(root: &Path, config: &Config, may_run: bool, output: &mut Output) -> anyhow::Result<Vec<Tried>> {
    let found = candidates::find(root);
    if !may_run {
        return Ok(untried(&found));
    }
    if found.iter().all(|group| group.commands.is_empty()) {
        return Ok(Vec::new());
    }
    let mut trial = Trial::open(root, config)?;
    let mut tried: Vec<Tried> = Vec::new();
    let (usual, last): (Vec<&Candidates>, Vec<&Candidates>) = found.iter().partition(|group| !group.is_last_resort);
    for group in usual {
        trial.try_group(group, &mut tried, output)?;
    }
    for group in last {
        if !tried.iter().any(Tried::is_used) {
            trial.try_group(group, &mut tried, output)?;
        }
    }
    Ok(tried)
}

/// Returns the best command of each ecosystem whose program is installed, without starting it.
fn untried(found: &[Candidates]) -> Vec<Tried> {
    let is_installed = |command: &&Command| is_program_found(command, None);
    let best = found.iter().filter_map(|group| {
        let command = group.commands.iter().find(is_installed)?;
        Some((group, command))
    });
    let (usual, last): (Vec<_>, Vec<_>) = best.partition(|(group, _)| !group.is_last_resort);
    let chosen = if usual.is_empty() { last } else { usual };
    let tried = chosen.into_iter().map(|(group, command)| Tried {
        line: command_line(&command.arguments()),
        command: command.clone(),
        file: group.file.clone(),
        result: TrialResult::NotTried,
        ended: "not tried".to_owned(),
        last_line: String::new(),
    });
    tried.collect()
}

/// Returns whether the program of a command is there: on the search path, or in a folder.
fn is_program_found(command: &Command, folder: Option<&Path>) -> bool {
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

/// Where commands are tried.
struct Trial<'t> {
    root: &'t Path,
    config: &'t Config,
    checkout: TrialCheckout,
    is_set_up: bool,
    series: Series,
}

impl<'t> Trial<'t> {
    fn open(root: &'t Path, config: &'t Config) -> anyhow::Result<Self> {
        let checkout = TrialCheckout::open(root, config).map_err(|error| {
            Failure::environment(
                &error,
                "`planwright init --no-run` writes the commands without trying them",
            )
        })?;
        let series = Series::begin()?;
        Ok(Trial {
            root,
            config,
            checkout,
            is_set_up: false,
            series,
        })
    }

    /// Tries the commands of an ecosystem until one works.
    fn try_group(&mut self, group: &Candidates, tried: &mut Vec<Tried>, output: &mut Output) -> anyhow::Result<()> {
        let is_committed = self.is_committed(&group.file);
        for command in &group.commands {
            let result = match () {
                () if !is_committed => (TrialResult::NotCommitted, "not committed yet".to_owned(), String::new()),
                () if !is_program_found(command, Some(&self.checkout.folder)) => {
                    (TrialResult::NotFound, "not installed".to_owned(), String::new())
                }
                () => self.try_command(command, output)?,
            };
            let (result, ended, last_line) = result;
            tried.push(Tried {
                line: command_line(&command.arguments()),
                command: command.clone(),
                file: group.file.clone(),
                result,
                ended,
                last_line,
            });
            if matches!(result, TrialResult::Passed | TrialResult::NotCommitted) {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether checkouts have a file.
    fn is_committed(&self, file: &str) -> bool {
        let is_tracked = || {
            let repository = Repository::around(self.root).ok().flatten()?;
            repository.has_tracked(&self.root.join(file)).ok()
        };
        self.checkout.commit.is_none() || is_tracked().unwrap_or(true)
    }

    fn try_command(&mut self, command: &Command, output: &mut Output) -> anyhow::Result<(TrialResult, String, String)> {
        let mut commands = match std::mem::replace(&mut self.is_set_up, true) {
            true => Vec::new(),
            false => self.checkout.setup.clone(),
        };
        commands.push(command.clone());
        let checks: Vec<Check> = commands
            .into_iter()
            .map(|command| Check {
                command,
                timeout: self.config.verify.timeout,
                covers: Vec::new(),
                from_plan: false,
            })
            .collect();
        let writable = self
            .checkout
            .slot
            .as_ref()
            .map_or_else(|| self.root.to_owned(), |slot| slot.path());
        let ground = Ground {
            writable: &[writable],
            readable: &self.checkout.object_folders,
            environment: &self.checkout.environment,
            ..Ground::default()
        };
        let mut temporary = TemporaryFolders::default();
        let scene = Scene {
            fence: fence_of(self.config, &ground, &mut temporary)?,
            folder: self.checkout.folder.clone(),
            redaction: Redaction::of_environment(&self.checkout.environment),
            environment: self.checkout.environment.clone(),
            mark: Mark::new([("PLANWRIGHT_CHECK", format!("{}-{}", std::process::id(), clock::now()))]),
            max_log_bytes: self.config.run.log_cap,
            grace: self.config.run.grace,
        };
        // Not in the workspace: nothing is written there before all is known.
        let mut outputs = TemporaryFolders::default();
        let help = "check that you may write to the folder for temporary files";
        let failed = |error: std::io::Error| Failure::environment(&error, help);
        let folder = outputs.make(0).map_err(failed)?;
        let logs = Logs::create(&folder, "init", "").map_err(failed)?;
        let commit = self.checkout.commit.as_deref();
        let slot = self.checkout.slot.as_ref();
        let receipts = self
            .series
            .run(&checks, &scene, &logs, commit, slot, Told::Nowhere, output);
        worker::end(&scene.mark, &worker::orphans(&scene.mark, &[]), scene.grace);
        let receipts = receipts?;
        // A preparation that fails is the reason why the command does.
        let receipt = receipts
            .iter()
            .find(|receipt| !verify::passed(receipt))
            .or(receipts.last());
        let Some(receipt) = receipt else {
            return Ok((TrialResult::Failed, "not started".to_owned(), String::new()));
        };
        let whole = std::fs::read_to_string(logs.log(receipts.len())).unwrap_or_else(|_| receipt.tail.clone());
        let time = duration(receipt.milliseconds);
        let has_no_tests = candidates::says_no_tests(&whole) || receipt.exit == "exit 5" && is_pytest(command);
        Ok(match verify::passed(receipt) {
            _ if has_no_tests => (TrialResult::NoTests, "no tests found".to_owned(), String::new()),
            true => (TrialResult::Passed, format!("passed in {time}"), String::new()),
            false => {
                let last = receipt.tail.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.unwrap_or_default().trim().to_owned();
                (TrialResult::Failed, format!("failed, {}", receipt.exit), last)
            }
        })
    }
}

/// Returns whether a command is pytest, whose exit status for "no tests" is 5.
fn is_pytest(command: &Command) -> bool {
    command
        .arguments()
        .iter()
        .any(|word| word == "pytest" || word == "unittest")
}
