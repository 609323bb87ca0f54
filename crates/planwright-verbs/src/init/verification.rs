//! Tries the commands that may verify the work in a repository, and keeps those that pass.

use std::path::Path;

use planwright_run::config::{Command, Config};
use planwright_run::git::Repository;
use planwright_run::setup::candidates::{self, Candidates};
use planwright_run::shell::command_line;
use serde::Serialize;

use crate::failure::Result;
use crate::verification::{Trial, TrialEnd, TrialResult, VerificationObserver, is_program_found};

/// A command that may verify work, and its trial result.
#[derive(Serialize)]
pub struct TriedCommand {
    #[serde(skip)]
    pub command: Command,
    /// The command as a user would type it.
    pub line: String,
    pub file: String,
    pub result: TrialResult,
    pub ended: String,
    /// The last line of its output, if it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_line: String,
}

impl TriedCommand {
    /// Returns whether the command is written to the configuration.
    pub fn is_used(&self) -> bool {
        matches!(self.result, TrialResult::Passed | TrialResult::NotTried)
    }
}

/// Tries the commands of a workspace: for each ecosystem until one succeeds.
pub(super) fn try_all(
    root: &Path,
    config: &Config,
    may_run: bool,
    observer: &mut dyn VerificationObserver,
) -> Result<Vec<TriedCommand>> {
    let found = candidates::find(root);
    if !may_run {
        return Ok(untried(&found));
    }
    if found.iter().all(|group| group.commands.is_empty()) {
        return Ok(Vec::new());
    }
    let help = "`planwright init --no-run` writes the commands without trying them";
    let Some(mut trial) = Trial::open(root, config, help, observer)? else {
        return Ok(without_commit(root, &found));
    };
    let mut tried: Vec<TriedCommand> = Vec::new();
    let (usual, last): (Vec<&Candidates>, Vec<&Candidates>) = found.iter().partition(|group| !group.is_last_resort);
    for group in usual {
        try_group(&mut trial, group, &mut tried)?;
    }
    for group in last {
        if !tried.iter().any(TriedCommand::is_used) {
            try_group(&mut trial, group, &mut tried)?;
        }
    }
    Ok(tried)
}

/// Returns the commands of a folder without a possible checkout: nothing runs in the user's own files. In a repository without a commit
/// none is used; elsewhere a run starts them before its first task.
fn without_commit(root: &Path, found: &[Candidates]) -> Vec<TriedCommand> {
    let is_repository = matches!(Repository::around(root), Ok(Some(_)));
    let mut tried = untried(found);
    for one in &mut tried {
        if is_repository {
            one.result = TrialResult::NotCommitted;
            one.ended = "not tried, nothing is committed yet".to_owned();
        } else {
            one.ended = "not tried, this is not a git repository".to_owned();
        }
    }
    tried
}

/// Returns the best command of each ecosystem whose program is installed, untried.
fn untried(found: &[Candidates]) -> Vec<TriedCommand> {
    let is_installed = |command: &&Command| is_program_found(command, None);
    let best = found.iter().filter_map(|group| {
        let command = group.commands.iter().find(is_installed)?;
        Some((group, command))
    });
    let (usual, last): (Vec<_>, Vec<_>) = best.partition(|(group, _)| !group.is_last_resort);
    let chosen = if usual.is_empty() { last } else { usual };
    let tried = chosen.into_iter().map(|(group, command)| TriedCommand {
        line: command_line(&command.arguments()),
        command: command.clone(),
        file: group.file.clone(),
        result: TrialResult::NotTried,
        ended: "not tried".to_owned(),
        last_line: String::new(),
    });
    tried.collect()
}

/// Tries the commands of an ecosystem until one succeeds.
fn try_group(trial: &mut Trial<'_>, group: &Candidates, tried: &mut Vec<TriedCommand>) -> Result<()> {
    let is_committed = trial.is_committed(&group.file);
    for command in &group.commands {
        let ended = match () {
            () if !is_committed => TrialEnd::of(TrialResult::NotCommitted, "not committed yet"),
            () if !trial.has_program(command) => TrialEnd::of(TrialResult::NotFound, "not installed"),
            () => trial.try_command(command)?,
        };
        let result = ended.result;
        tried.push(TriedCommand {
            line: command_line(&command.arguments()),
            command: command.clone(),
            file: group.file.clone(),
            result,
            ended: ended.words,
            last_line: ended.last_line,
        });
        if matches!(result, TrialResult::Passed | TrialResult::NotCommitted) {
            break;
        }
    }
    Ok(())
}
