//! The verb `init`: a workspace with an agent and with commands that verify its work.

mod agent;
mod config_text;
mod verification;

use std::path::{Path, PathBuf};

use planwright_run::config::{self, Command, Config, ConfigInputs};
use planwright_run::files::read_text;
use planwright_run::git::Repository;
use planwright_run::layout::{CONFIG_FILE, IGNORE, STATE_FOLDER};
use planwright_run::setup;
use planwright_run::shell::argument;
use planwright_run::workspace::{plans_at_home, root_of};
use serde::{Deserialize, Serialize};

pub use self::agent::{InstalledAgent, install_commands, names_of};
use self::config_text::{Settings, VERIFY_REMARK, config_text, every_setting};
pub use self::verification::TriedCommand;
use self::verification::try_all;
use crate::configuration::refuse_unsound;
use crate::failure::{Failure, Result};
use crate::plans::{OpenChecklist, open_checklists};
use crate::text::unified_diff;
use crate::verification::VerificationObserver;
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InitRequest {
    /// The folder, which must exist. Empty: the folder of the workspace.
    pub folder: PathBuf,
    /// The agent for tasks. None: the best installed one, or the user's choice.
    pub agent: Option<String>,
    /// Do not try the commands that verify work; write the probable ones.
    pub no_run: bool,
    /// Write nothing, and return the text of the file even if one exists.
    pub text_only: bool,
    /// Write nothing; report the intended files.
    pub dry_run: bool,
    /// Report the intended files as a diff, and write nothing.
    pub diff: bool,
}

impl InitRequest {
    fn is_dry(&self) -> bool {
        self.dry_run || self.diff || self.text_only
    }
}

#[derive(Serialize)]
pub struct InitReport {
    pub schema_version: &'static str,
    pub root: String,
    /// The files that were written; empty with `dry_run` and `diff`, and if they exist.
    pub written: Vec<String>,
    pub agents: Vec<InstalledAgent>,
    /// The agent for tasks; null if none is installed.
    pub agent: Option<String>,
    /// The commands that may verify work, and their results.
    pub verification: Vec<TriedCommand>,
    pub plans: Vec<String>,
    /// Files with open tasks that can be imported.
    pub checklists: Vec<OpenChecklist>,
    pub next: String,
    /// With `diff`: the intended files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The new files of the workspace, written or intended; the `planwright.toml` first.
    #[serde(skip)]
    pub files: Vec<String>,
    /// The text of a new `planwright.toml`; empty if one exists.
    #[serde(skip)]
    pub text: String,
    /// What an existing `planwright.toml` lacks.
    #[serde(skip)]
    pub existing: Option<ExistingConfig>,
    #[serde(skip)]
    pub repository: RepositoryState,
    /// The root of the workspace around the folder, if that had a configuration or a history.
    #[serde(skip)]
    pub outer: Option<PathBuf>,
}

/// Missing settings of a `planwright.toml`, as help with the lines to add.
pub struct ExistingConfig {
    pub agent: Option<String>,
    pub verification: Option<String>,
    /// Whether it has commands that verify work.
    pub has_rules: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryState {
    NoRepository,
    NoCommit,
    /// There is a commit, or git cannot answer.
    Committed,
}

/// Receives the commands that `init` tries.
pub trait InitObserver: VerificationObserver {
    /// Asks the user to choose one of several agents; none if the user cannot be asked.
    fn choose_agent(&mut self, _installed: &[InstalledAgent]) -> Option<&'static str> {
        None
    }
}

/// Sets up a workspace. Never changes an existing `planwright.toml`.
pub fn init(workspace: &Workspace, request: &InitRequest, observer: &mut dyn InitObserver) -> Result<InitReport> {
    let named = match request.folder.as_os_str().is_empty() {
        true => workspace.folder().to_owned(),
        false => workspace.path(&request.folder),
    };
    if !named.is_dir() {
        return Err(Failure::outside(
            format!("`{}` is not a folder", request.folder.display()),
            "name a folder that is there",
        ));
    }
    let outer = root_of(&named);
    let folder = std::path::absolute(&named).unwrap_or(named);
    let configuration = config::load(&folder, &ConfigInputs::of_process());
    refuse_unsound(workspace, &configuration, "nothing is set up by it")?;
    let config = &configuration.config;
    let path = folder.join(CONFIG_FILE);
    if !request.text_only && (path.is_symlink() || path.exists()) {
        return existing(request, &folder, config, observer);
    }
    let installed = agent::installed();
    let agent = chosen_agent(request, config, &installed, observer)?;
    let tried = match has_rules(config) {
        true => Vec::new(),
        false => try_all(&folder, config, !request.no_run, observer)?,
    };
    let every = used(&tried);
    let text = config_text(&Settings {
        agent: agent.as_deref(),
        every: &every,
    });
    let files = new_files(&folder);
    if !request.is_dry() {
        setup::begin(&folder, &text)?;
    }
    let plans = plans_in(&folder);
    let next = next_command(
        &folder,
        agent.as_deref(),
        has_rules(config) || !every.is_empty(),
        &plans,
    );
    let report = report_of(&folder, installed, agent, tried, plans, next);
    let texts = files.iter().zip([text.as_str(), IGNORE]);
    let diff = request
        .diff
        .then(|| texts.map(|(file, text)| unified_diff(file, "", text)).collect());
    Ok(InitReport {
        written: if request.is_dry() { Vec::new() } else { files.clone() },
        files,
        diff,
        text,
        outer: is_nested(&outer, &folder).then_some(outer),
        ..report
    })
}

/// Returns the common part of every report.
fn report_of(
    folder: &Path,
    agents: Vec<InstalledAgent>,
    agent: Option<String>,
    verification: Vec<TriedCommand>,
    plans: Vec<String>,
    next: String,
) -> InitReport {
    InitReport {
        schema_version: "planwright.init/v1",
        root: shown(folder),
        written: Vec::new(),
        agents,
        agent,
        verification,
        plans,
        checklists: open_checklists(folder),
        next,
        diff: None,
        files: vec![shown(&folder.join(CONFIG_FILE))],
        text: String::new(),
        existing: None,
        repository: match Repository::around(folder) {
            Ok(None) => RepositoryState::NoRepository,
            Ok(Some(repository)) if matches!(repository.head(), Ok(None)) => RepositoryState::NoCommit,
            _ => RepositoryState::Committed,
        },
        outer: None,
    }
}

/// Returns the agent to use; none if none is installed.
fn chosen_agent(
    request: &InitRequest,
    config: &Config,
    installed: &[InstalledAgent],
    observer: &mut dyn InitObserver,
) -> Result<Option<String>> {
    if let Some(name) = &request.agent {
        return agent::named(installed, name).map(|name| Some(name.to_owned()));
    }
    // An agent from the user's own file needs no line in this one.
    if let Some(own) = own_agent(config) {
        return Ok(Some(own.to_owned()));
    }
    let chosen = match installed.len() > 1 && !request.is_dry() {
        true => observer.choose_agent(installed),
        false => None,
    };
    let chosen = chosen.or_else(|| installed.first().map(|agent| agent.name));
    Ok(chosen.map(str::to_owned))
}

fn own_agent(config: &Config) -> Option<&str> {
    config.run.agent.as_deref().or_else(|| config.only_agent())
}

/// Returns whether the user's own file has commands that verify work.
fn has_rules(config: &Config) -> bool {
    !config.verify.every.is_empty()
}

fn used(tried: &[TriedCommand]) -> Vec<Command> {
    let used = tried.iter().filter(|tried| tried.is_used());
    used.map(|tried| tried.command.clone()).collect()
}

/// Returns the missing files of a workspace. An empty `.gitignore` counts as missing: it is filled.
fn new_files(folder: &Path) -> Vec<String> {
    let ignore = folder.join(STATE_FOLDER).join(".gitignore");
    let has_ignore = std::fs::metadata(&ignore).is_ok_and(|found| found.len() > 0);
    let ignore = (!has_ignore).then_some(ignore);
    let files = std::iter::once(folder.join(CONFIG_FILE)).chain(ignore);
    files.map(|path| shown(&path)).collect()
}

fn plans_in(folder: &Path) -> Vec<String> {
    plans_at_home(folder).iter().map(|path| shown(path)).collect()
}

/// Reports what an existing workspace has and lacks. Creates a missing state folder, and changes nothing else.
fn existing(
    request: &InitRequest,
    folder: &Path,
    config: &Config,
    observer: &mut dyn InitObserver,
) -> Result<InitReport> {
    let installed = agent::installed();
    let agent = own_agent(config).map(str::to_owned);
    let plans = plans_in(folder);
    if !request.is_dry() {
        setup::make_state(folder)?;
    }
    let tried = match has_rules(config) {
        true => Vec::new(),
        false => try_all(folder, config, !request.no_run && !request.is_dry(), observer)?,
    };
    let every = used(&tried);
    let next = match every.is_empty() {
        false => "add the lines above to planwright.toml; then `planwright plan \"GOAL\"`".to_owned(),
        true => next_command(folder, agent.as_deref(), has_rules(config), &plans),
    };
    let text = read_text(folder.join(CONFIG_FILE)).unwrap_or_default();
    let best = installed.first().filter(|_| agent.is_none());
    let lacking = ExistingConfig {
        agent: best.map(|best| addition(&text, "run", &format!("agent = \"{}\"\n", best.name), "")),
        verification: (!every.is_empty()).then(|| addition(&text, "verify", &every_setting(&every), VERIFY_REMARK)),
        has_rules: has_rules(config),
    };
    Ok(InitReport {
        diff: request.diff.then(String::new),
        existing: Some(lacking),
        ..report_of(folder, installed, agent, tried, plans, next)
    })
}

/// Returns the text to add to a file for a setting, so that no table occurs twice.
fn addition(text: &str, table: &str, setting: &str, remark: &str) -> String {
    let header = format!("[{table}]");
    let starts = |line: &str, with: &str| line.trim_start().starts_with(with);
    let is_open = text.lines().any(|line| starts(line, &header));
    let is_inline = text
        .lines()
        .any(|line| starts(line, &format!("{table} =")) || starts(line, &format!("{table}.")));
    match (is_open, is_inline) {
        (true, _) => format!("add below {header} in planwright.toml, or change the line that is there:\n\n{setting}"),
        (false, true) => format!("set in `{table}` of planwright.toml:\n\n{setting}"),
        (false, false) => format!("add to planwright.toml:\n\n{remark}{header}\n{setting}"),
    }
}

/// Returns whether the folder was in a workspace with its own configuration or history.
fn is_nested(outer: &Path, folder: &Path) -> bool {
    outer != folder
        && [CONFIG_FILE, ".planwright"]
            .iter()
            .any(|name| outer.join(name).exists())
}

fn shown(path: &Path) -> String {
    match from_here(path) {
        path if path.as_os_str().is_empty() => ".".to_owned(),
        path => path.to_string_lossy().into_owned(),
    }
}

/// Returns the next command: install an agent, create a plan, or run the existing one.
fn next_command(folder: &Path, agent: Option<&str>, is_verified: bool, plans: &[String]) -> String {
    if agent.is_some() && !is_verified {
        return "name a command that verifies the work below [verify] in planwright.toml; then `planwright plan \"GOAL\"`".to_owned();
    }
    match (agent, plans) {
        (None, _) => "name an agent below [run] in planwright.toml".to_owned(),
        (Some(_), []) => match open_checklists(folder).first() {
            Some(list) => format!("planwright adopt {}", argument(&list.file)),
            None => "planwright plan \"GOAL\"".to_owned(),
        },
        (Some(_), [plan]) => format!("planwright run {}", argument(plan)),
        (Some(_), _) => "planwright list".to_owned(),
    }
}
