//! `planwright init`: sets up a workspace with an agent and verification commands.

mod agent;
mod checklists;
mod config_text;
mod verification;

use std::path::{Path, PathBuf};

use planwright_run::config::{self, Command, Config, Surroundings};
use planwright_run::git::Repository;
use planwright_run::layout::{CONFIG_FILE, IGNORE};
use planwright_run::setup::{self, SetupError};
use planwright_run::shell::argument;
use planwright_run::workspace::{plans_at_home, root_of};
use serde::Serialize;

use self::agent::Installed;
use self::checklists::Checklist;
use self::config_text::{Settings, VERIFY_REMARK, config_text, every_setting};
use self::verification::{Tried, try_all};
use super::config::refuse_unsound;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_entries::from_here;
use super::trial::TrialResult;
use crate::render::diff::unified_diff;
use crate::render::terminal::{cut, one_line};
use crate::render::wrap::hanging;

/// Set up a workspace: choose an agent, find what verifies its work.
///
/// Writes a `planwright.toml` that works. Commands that may verify the work are found by the files of the repository, and each is tried
/// in a clean checkout; only those that work are written. A `planwright.toml` that is there already is never changed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright init
  planwright init --agent codex
  planwright init --print          show the file, write nothing
  planwright init services/billing")]
pub(crate) struct Args {
    /// The folder, which must be there.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// The agent that works on tasks. Default: the best one that is installed; asks on a terminal where there are several.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Do not try the commands that verify work; write the likely ones.
    #[arg(long)]
    no_run: bool,

    /// Only print the file that would be written.
    #[arg(long, conflicts_with_all = ["dry_run", "diff", "json"])]
    print: bool,

    /// Write nothing; report what would be written.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff against nothing, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn is_dry(&self) -> bool {
        self.dry_run || self.diff || self.print
    }
}

/// The version of `init --json`.
const VERSION: &str = "planwright.init/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    root: String,
    /// The files that were written; empty with `--dry-run` and `--diff`, and where they are there already.
    written: Vec<String>,
    /// The agents that are installed.
    agents: Vec<AgentReport>,
    /// The agent that works on tasks; null where none is installed.
    agent: Option<String>,
    /// The commands that may verify work, and what became of them.
    verification: Vec<Tried>,
    plans: Vec<String>,
    /// Files with open tasks that can be imported.
    checklists: Vec<Checklist>,
    /// The command to type next.
    next: String,
    /// With `--diff`: what would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// An agent command line on the search path.
#[derive(Serialize)]
struct AgentReport {
    name: &'static str,
    path: String,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if !args.folder.is_dir() {
        return Err(Failure::outside(
            format!("`{}` is not a folder", args.folder.display()),
            "name a folder that is there",
        ));
    }
    let outer = root_of(&args.folder);
    let folder = std::path::absolute(&args.folder).unwrap_or_else(|_| args.folder.clone());
    let configuration = config::load(&folder, &Surroundings::of_process());
    refuse_unsound(&configuration, "nothing is set up by it", output)?;
    let config = &configuration.config;
    let path = folder.join(CONFIG_FILE);
    if !args.print && (path.is_symlink() || path.exists()) {
        return report_existing(args, &folder, config, output);
    }
    let installed = agent::installed();
    let own = config.run.agent.as_deref().or_else(|| config.only_agent());
    let chosen = match (args.agent.as_deref(), own) {
        // An agent of the user's own file needs no line in this one.
        (None, Some(own)) => Some(own),
        (named, _) => agent::choose(&installed, named, !args.is_dry() && !args.json, output)?,
    };
    let tried = match own_rules(config) {
        true => Vec::new(),
        false => try_all(&folder, config, !args.no_run, output)?,
    };
    let every: Vec<Command> = tried
        .iter()
        .filter(|tried| tried.is_used())
        .map(|tried| tried.command.clone())
        .collect();
    let text = config_text(&Settings {
        agent: chosen,
        every: &every,
    });
    if args.print {
        output.write_exact(&text);
        return Ok(Exit::Success);
    }
    if !args.is_dry() {
        begin(&folder, &text)?;
    }
    let files = [CONFIG_FILE, ".planwright/.gitignore"].map(|name| shown(&folder.join(name)));
    let plans: Vec<String> = plans_at_home(&folder).iter().map(|path| shown(path)).collect();
    let report = Report {
        schema_version: VERSION,
        root: shown(&folder),
        written: if args.is_dry() { Vec::new() } else { files.to_vec() },
        agents: agents_report(&installed),
        agent: chosen.map(str::to_owned),
        verification: tried,
        next: next_command(chosen, own_rules(config) || !every.is_empty(), &plans),
        plans,
        checklists: checklists::find(&folder),
        diff: args.diff.then(|| {
            let texts = files.iter().zip([text.as_str(), IGNORE]);
            texts.map(|(file, text)| unified_diff(file, "", text)).collect()
        }),
    };
    if args.json {
        output.json(&report)?;
    } else if let Some(diff) = &report.diff {
        output.write_exact(diff);
    } else {
        say(args, &files, &report, &installed, output);
        say_surroundings(&folder, output);
        print_next(&report.next, output);
    }
    if is_nested(&outer, &folder) {
        output.remark(&format!(
            "this folder is now a workspace of its own, inside of that of {}",
            one_line(&outer.to_string_lossy())
        ));
    }
    Ok(Exit::Success)
}

/// Returns whether the user's own file has commands that verify work.
fn own_rules(config: &Config) -> bool {
    !config.verify.every.is_empty()
}

fn agents_report(installed: &[Installed]) -> Vec<AgentReport> {
    let report = |agent: &Installed| AgentReport {
        name: agent.name,
        path: agent.path.to_string_lossy().into_owned(),
    };
    installed.iter().map(report).collect()
}

/// Reports what a workspace that is there already has, and what it lacks. Changes nothing but a missing state folder.
fn report_existing(args: &Args, folder: &Path, config: &Config, output: &mut Output) -> anyhow::Result<Exit> {
    let installed = agent::installed();
    let chosen = config.run.agent.as_deref().or_else(|| config.only_agent());
    let plans: Vec<String> = plans_at_home(folder).iter().map(|path| shown(path)).collect();
    if !args.is_dry() {
        setup::make_state(folder).map_err(|error| Failure::environment(&error, error.help()))?;
    }
    let tried = match own_rules(config) {
        true => Vec::new(),
        false => try_all(folder, config, !args.no_run && !args.is_dry(), output)?,
    };
    let next = match tried.iter().any(Tried::is_used) {
        true => "add the lines above to planwright.toml; then `planwright plan \"GOAL\"`".to_owned(),
        false => next_command(chosen, own_rules(config), &plans),
    };
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            root: shown(folder),
            written: Vec::new(),
            agents: agents_report(&installed),
            agent: chosen.map(str::to_owned),
            verification: tried,
            next,
            plans,
            checklists: checklists::find(folder),
            diff: args.diff.then(String::new),
        })?;
        return Ok(Exit::Success);
    }
    output.line(&format!(
        "{} is there already: nothing was changed",
        one_line(&shown(&folder.join(CONFIG_FILE)))
    ));
    let text = std::fs::read_to_string(folder.join(CONFIG_FILE)).unwrap_or_default();
    match (chosen, installed.first()) {
        (Some(agent), _) => output.line(&format!("agent: {}", one_line(agent))),
        (None, Some(best)) => {
            print_line("agent: ", &format!("none is set ({})", agent::list(&installed)), output);
            let setting = format!("agent = \"{}\"\n", best.name);
            output.line(&addition(&text, "run", &setting, ""));
        }
        (None, None) => say_no_agent(output),
    }
    say_checklists(&checklists::find(folder), output);
    if !own_rules(config) {
        let used = tried.iter().filter(|tried| tried.is_used());
        let every: Vec<Command> = used.map(|tried| tried.command.clone()).collect();
        say_verification(&tried, output);
        if !every.is_empty() {
            output.line(&addition(&text, "verify", &every_setting(&every), VERIFY_REMARK));
        }
    }
    print_next(&next, output);
    Ok(Exit::Success)
}

/// Returns what to add to a file for a setting, so that no table is there twice.
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

fn begin(folder: &Path, text: &str) -> anyhow::Result<()> {
    setup::begin(folder, text).map_err(|error| match &error {
        SetupError::Exists { .. } => Failure::problem(error.to_string(), error.help()),
        SetupError::Io { .. } | SetupError::NotConfirmed { .. } => Failure::environment(&error, error.help()),
    })
}

/// Returns true where there was a workspace around the folder, with a configuration or a history of its own.
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

/// Returns the command that comes next: install an agent, make a plan, or run the one that is there.
fn next_command(agent: Option<&str>, is_verified: bool, plans: &[String]) -> String {
    if agent.is_some() && !is_verified {
        return "name a command that verifies the work below [verify] in planwright.toml; then `planwright plan \"GOAL\"`".to_owned();
    }
    match (agent, plans) {
        (None, _) => "name an agent below [run] in planwright.toml".to_owned(),
        (Some(_), []) => "planwright plan \"GOAL\"".to_owned(),
        (Some(_), [plan]) => format!("planwright run {}", argument(plan)),
        (Some(_), _) => "planwright list".to_owned(),
    }
}

fn say(args: &Args, files: &[String], report: &Report, installed: &[Installed], output: &mut Output) {
    match &report.agent {
        Some(agent) => {
            let others = installed.iter().map(|agent| agent.name).filter(|name| name != agent);
            let others: Vec<&str> = others.collect();
            let others = match others.as_slice() {
                [] => String::new(),
                names => format!(" (also installed: {}; --agent chooses)", names.join(", ")),
            };
            print_line("agent: ", &format!("{}{others}", one_line(agent)), output);
        }
        None => {
            say_no_agent(output);
        }
    }
    say_verification(&report.verification, output);
    match report.plans.as_slice() {
        [] => output.line("plans: none yet"),
        plans => print_line("plans: ", &one_line(&plans.join(", ")), output),
    }
    say_checklists(&report.checklists, output);
    let verb = if args.dry_run { "would write" } else { "wrote" };
    for file in files {
        output.line(&format!("{verb} {}", one_line(file)));
    }
}

/// Prints a line, broken between words where a person reads it.
fn print_line(start: &str, text: &str, output: &mut Output) {
    let line = hanging(start, text, output.record_width());
    output.line(&line);
}

/// Prints what comes next; a command stays whole, so that it can be pasted.
fn print_next(next: &str, output: &mut Output) {
    match next.starts_with("planwright ") {
        true => output.line(&format!("next: {next}")),
        false => print_line("next: ", next, output),
    }
}

fn say_no_agent(output: &mut Output) {
    output.line("agent: none is installed. One of these installs one:");
    for name in ["claude", "codex", "gemini"] {
        output.line(&format!(
            "  {}",
            agent::install_words(name).trim_start_matches("install it: ")
        ));
    }
}

/// Prints the files with open tasks, and the commands that import them.
fn say_checklists(found: &[Checklist], output: &mut Output) {
    for checklist in found {
        let tasks = match checklist.n_open {
            1 => "1 open task".to_owned(),
            n => format!("{n} open tasks"),
        };
        let file = argument(&checklist.file);
        print_line(
            "found: ",
            &format!("{} with {tasks}: `planwright import {file}`", one_line(&checklist.file)),
            output,
        );
    }
}

/// Prints what became of each command that may verify work.
fn say_verification(tried: &[Tried], output: &mut Output) {
    if tried.is_empty() {
        let words = "no command found that tests this repository (by Cargo.toml, package.json scripts, pyproject.toml, go.mod, a test target and others)";
        print_line("verification: ", words, output);
        return;
    }
    output.line("verification:");
    let widest = tried
        .iter()
        .map(|tried| tried.line.chars().count())
        .max()
        .unwrap_or(0)
        .min(50);
    for one in tried {
        let why = if one.last_line.is_empty() {
            String::new()
        } else {
            format!(": {}", cut(&one_line(&one.last_line), 60))
        };
        let left_out = if one.is_used() { "" } else { ", left out" };
        let start = format!("  {:widest$}  ", one_line(&one.line));
        print_line(&start, &format!("{}{why}{left_out}", one.ended), output);
    }
    if !tried.iter().any(Tried::is_used) {
        let help = match tried.iter().find(|one| one.result == TrialResult::NotCommitted) {
            Some(one) => format!("commit {} first: tasks work on what is committed", one_line(&one.file)),
            None => "none works: correct it, then add it to [verify] in planwright.toml; until then tasks are done unverified".to_owned(),
        };
        print_line("  ", &help, output);
    }
}

/// Prints what else a run needs from the folder.
fn say_surroundings(folder: &Path, output: &mut Output) {
    match Repository::around(folder) {
        Ok(None) => {
            let words = "no repository here; with one (`git init`), each task works in a checkout of its own";
            print_line("git: ", words, output);
        }
        Ok(Some(repository)) if matches!(repository.head(), Ok(None)) => {
            let words = "the repository has no commit yet; tasks work on what is committed: `git add --all && git commit -m \"First commit\"`";
            print_line("git: ", words, output);
        }
        _ => {}
    }
}
