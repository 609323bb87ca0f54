//! The overview of `planwright doctor`, one line each: git, agent, verification, plans, runs, checkouts, disk, kernel.

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use planwright_run::checkout_home::CheckoutHome;
use planwright_run::config::{Command, Config, IsolationSetting};
use planwright_run::doctor::{DoctorFinding, DoctorFindings};
use planwright_run::engine::{LeftoverState, Leftovers};
use planwright_run::files::free_bytes;
use planwright_run::git::Repository;
use planwright_run::programs::command;
use planwright_run::shell::command_line;
use serde::Serialize;

use crate::failure::Result;
use crate::text::{count, cut, one_line};
use crate::verification::{Trial, TrialResult, VerificationObserver, is_program_found};

/// How long an agent may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// Less than this is too little space for checkouts.
const LITTLE: u64 = 500_000_000;

/// Above this, the exact number does not matter.
const PLENTY: u64 = 10_000_000_000;

const CHECKOUTS_HELP: &str = "name another folder for checkouts: `run.checkouts` in your own configuration file";

#[derive(Serialize)]
pub struct DoctorFact {
    pub name: &'static str,
    pub words: String,
}

/// Collects the overview, and adds to the findings.
pub(super) fn facts(
    root: &Path,
    findings: &mut DoctorFindings,
    starts: bool,
    observer: &mut dyn VerificationObserver,
) -> Result<Vec<DoctorFact>> {
    let config = findings.configuration.config.clone();
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, words: String| facts.push(DoctorFact { name, words });
    let home = checkout_home(root, &config).transpose();
    fact("git", git_words(root, findings));
    fact("agent", agent_words(root, &config));
    let commands = &config.verify.every;
    match commands.is_empty() {
        true => fact("verification", "no command verifies every task".to_owned()),
        false => {
            let mut trial = match starts && home.is_ok() {
                true => Trial::open(root, &config, CHECKOUTS_HELP, observer)?,
                false => None,
            };
            if starts && home.is_ok() && trial.is_none() {
                fact(
                    "",
                    "--run starts nothing here: there is no commit to check out".to_owned(),
                );
            }
            for command in commands {
                let words = verification_words(root, command, trial.as_mut(), findings)?;
                fact("verification", words);
            }
        }
    }
    fact("plans", count(findings.n_plans as u64, "plan"));
    fact("journals", count(findings.n_journals as u64, "journal"));
    if let Some(words) = checkouts_words(root, &config) {
        fact("checkouts", words);
    }
    fact("disk", disk_words(root, home, findings));
    Ok(facts)
}

fn git_words(root: &Path, findings: &mut DoctorFindings) -> String {
    let repository = match Repository::around(root) {
        Ok(Some(repository)) => repository,
        Ok(None) => return "no repository: tasks share this folder, one at a time".to_owned(),
        Err(error) => return format!("cannot be asked: {}", one_line(&error.to_string())),
    };
    if let Ok(Some(what)) = repository.operation() {
        findings.add(DoctorFinding::unfinished_git(what));
    }
    let branch = repository.branch().ok().flatten();
    let branch = branch.map_or_else(
        || "no branch is checked out".to_owned(),
        |branch| format!("on {}", one_line(&branch)),
    );
    let dirt = repository.dirt(&|_| false).map_or(0, |dirt| dirt.len());
    let shared = match repository.head() {
        Ok(Some(_)) if repository.is_ignored(root).unwrap_or(false) => Some("git ignores this folder"),
        Ok(Some(_)) if !repository.has_tracked(root).unwrap_or(true) => Some("no file of this folder is committed yet"),
        Ok(Some(_)) => None,
        _ => Some("no commit yet"),
    };
    match (shared, dirt) {
        (Some(why), _) => format!("{branch}, {why}: tasks share this folder, one at a time"),
        (None, 0) => format!("{branch}, nothing uncommitted"),
        (None, n) => {
            let files = count(n as u64, "file");
            format!("{branch}, {files} uncommitted: tasks work on what is committed")
        }
    }
}

fn agent_words(root: &Path, config: &Config) -> String {
    let Some(name) = config.run.agent.as_deref().or_else(|| config.only_agent()) else {
        return "none is configured".to_owned();
    };
    let Some(agent) = config.agents.get(name) else {
        return format!("{}, which is unknown", one_line(name));
    };
    match agent.find_program(root) {
        None => format!("{}: `{}` is not found", one_line(name), one_line(agent.program())),
        // A user's own programs may do anything with `--version`.
        Some(path) => match agent.preset.and_then(|_| version_of(&path)) {
            Some(version) => format!("{}, {version}", one_line(name)),
            None => format!("{} (`{}`)", one_line(name), one_line(agent.program())),
        },
    }
}

/// Returns the first line that a program prints as its version, within a time limit.
fn version_of(program: &Path) -> Option<String> {
    let mut asked = command(&program.to_string_lossy())
        .unwrap_or_else(|_| std::process::Command::new(program))
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let began = Instant::now();
    while asked.try_wait().ok()?.is_none() {
        if began.elapsed() > VERSION_LIMIT {
            let _ = asked.kill();
            let _ = asked.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut text = Vec::new();
    asked.stdout.take()?.take(1_000).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().next().filter(|line| !line.trim().is_empty())?;
    Some(cut(&one_line(line.trim()), 60))
}

fn verification_words(
    root: &Path,
    command: &Command,
    trial: Option<&mut Trial<'_>>,
    findings: &mut DoctorFindings,
) -> Result<String> {
    let line = one_line(&command_line(&command.arguments()));
    let is_found = is_program_found(command, Some(root));
    let Some(trial) = trial else {
        let found = if is_found {
            "found; --run starts it"
        } else {
            "its program is not found"
        };
        return Ok(format!("`{line}`: {found}"));
    };
    let ended = trial.try_command(command)?;
    if let Some(setup) = ended.failed_setup {
        findings.add(DoctorFinding::cannot_run(
            &format!("`{setup}` of run.setup fails, so that nothing is verified"),
            "correct `run.setup` in planwright.toml".to_owned(),
        ));
    } else if !matches!(ended.result, TrialResult::Passed | TrialResult::NoTests) {
        findings.add(DoctorFinding::verification_fails(&line, &ended.words));
    }
    Ok(format!("`{line}`: {}", ended.words))
}

fn checkouts_words(root: &Path, config: &Config) -> Option<String> {
    let all = Leftovers::open(root, &config.run).ok().flatten()?.list().ok()?;
    let n_removable = all.iter().filter(|one| one.state == LeftoverState::Removable).count();
    match (all.len(), n_removable) {
        (0, _) => Some("none left over".to_owned()),
        (n, 0) => Some(format!(
            "{} of earlier runs, in use or kept",
            count(n as u64, "checkout")
        )),
        (n, removable) => Some(format!(
            "{} of earlier runs; `planwright worktrees` lists {removable} that can be removed",
            count(n as u64, "checkout")
        )),
    }
}

/// Returns the folder for checkouts if the tasks of a run work in some, or why none can be made.
fn checkout_home(root: &Path, config: &Config) -> Option<std::result::Result<CheckoutHome, String>> {
    if config.run.checkouts.isolation == IsolationSetting::Shared {
        return None;
    }
    let repository = Repository::around(root).ok().flatten()?;
    repository.head().ok().flatten()?;
    let home = match CheckoutHome::of(config.run.checkouts.folder.as_deref(), &repository) {
        Ok(home) => home,
        Err(error) => return Some(Err(error.to_string())),
    };
    let folder = home.folder().display().to_string();
    let probed = home.probe();
    Some(
        probed
            .map(|()| home)
            .map_err(|error| format!("checkouts cannot be made in `{folder}`: {error}")),
    )
}

fn disk_words(
    root: &Path,
    home: std::result::Result<Option<CheckoutHome>, String>,
    findings: &mut DoctorFindings,
) -> String {
    let home = match home {
        Ok(home) => home,
        Err(message) => {
            findings.add(DoctorFinding::cannot_run(&message, CHECKOUTS_HELP.to_owned()));
            return "no checkouts can be made".to_owned();
        }
    };
    let ancestors = home.iter().flat_map(|home| home.folder().ancestors());
    let folder = ancestors.into_iter().find(|folder| folder.is_dir());
    let Some(free) = free_bytes(folder.unwrap_or(root)) else {
        return "unknown".to_owned();
    };
    if free < LITTLE {
        findings.add(DoctorFinding::little_space(free));
    }
    match free {
        PLENTY.. => "more than 10 GB free for checkouts".to_owned(),
        _ => format!("{:.1} GB free for checkouts", free as f64 / 1e9),
    }
}
