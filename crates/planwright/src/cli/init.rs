//! `planwright init`: a workspace with an agent and with commands that verify its work.

use std::path::PathBuf;

use planwright_verbs::init::{
    ExistingConfig, InitObserver, InitReport, InitRequest, InstalledAgent, RepositoryState, TriedCommand, init,
    install_commands, names_of,
};
use planwright_verbs::plans::OpenChecklist;
use planwright_verbs::text::{cut, one_line};
use planwright_verbs::verification::TrialResult;

use super::answers;
use super::verification_view::VerificationView;
use super::{Exit, Output, Result};
use crate::render::wrap::hanging;

/// Set up a workspace: an agent, and commands that verify its work.
///
/// Writes a `planwright.toml`. Verification commands are found by the files of the repository; each is tried in a clean checkout, and
/// only those that succeed are written. An existing `planwright.toml` is never changed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright init
  planwright init --agent codex
  planwright init --print          show the file, write nothing
  planwright init services/billing")]
pub(crate) struct Args {
    /// The folder; it must exist.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// The agent that works on tasks. Default: the best installed one; asks at a terminal if there are several.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Write the likely verification commands without trying them.
    #[arg(long)]
    no_run: bool,

    /// Print the file that would be written, and write nothing.
    #[arg(long, conflicts_with_all = ["dry_run", "diff", "json"])]
    print: bool,

    /// Print what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff, and write nothing.
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = InitRequest {
        folder: args.folder.clone(),
        agent: args.agent.clone(),
        no_run: args.no_run,
        text_only: args.print,
        dry_run: args.dry_run,
        diff: args.diff,
    };
    let workspace = output.workspace();
    let report = init(&workspace, &request, &mut VerificationView::nowhere(output))?;
    if args.print {
        output.write_exact(&report.text);
        return Ok(Exit::Success);
    }
    output.show(&report, |report, output| match (&report.existing, &report.diff) {
        (Some(existing), _) => say_existing(report, existing, output),
        (None, Some(diff)) => output.write_exact(diff),
        (None, None) if output.is_quiet() => print_problems(report, output),
        (None, None) => {
            say(args, report, output);
            say_surroundings(report.repository, output);
            print_next(&report.next, output);
        }
    })?;
    if let Some(outer) = &report.outer {
        output.remark(&format!(
            "this folder is now its own workspace, inside the workspace {}",
            one_line(&outer.to_string_lossy())
        ));
    }
    Ok(Exit::Success)
}

impl InitObserver for VerificationView<'_> {
    fn choose_agent(&mut self, installed: &[InstalledAgent]) -> Option<&'static str> {
        if self.output.is_json() || !answers::may_ask() {
            return None;
        }
        let output = &mut *self.output;
        output.remark("several agents are installed:");
        for (number, agent) in (1..).zip(installed) {
            output.remark(&format!("  {number}  {}", agent.name));
        }
        loop {
            output.remark(&format!("which one works on tasks? [1] 1-{}", installed.len()));
            output.flush();
            let line = answers::line().filter(|line| !line.is_empty())?;
            let by_number = line
                .parse::<usize>()
                .ok()
                .and_then(|number| installed.get(number.checked_sub(1)?));
            let by_name = installed.iter().find(|agent| agent.name == line);
            if let Some(agent) = by_number.or(by_name) {
                return Some(agent.name);
            }
        }
    }
}

/// Prints what an existing workspace has and lacks.
fn say_existing(report: &InitReport, existing: &ExistingConfig, output: &mut Output) {
    let is_quiet = output.is_quiet();
    for config in report.files.iter().filter(|_| !is_quiet) {
        output.line(&format!("{} exists already: nothing was changed", one_line(config)));
    }
    match (&report.agent, &existing.agent) {
        (Some(_), _) if is_quiet => {}
        (Some(agent), _) => output.line(&format!("agent: {}", one_line(agent))),
        (None, Some(addition)) => {
            let installed = names_of(&report.agents);
            print_line("agent: ", &format!("none is set ({installed})"), output);
            output.line(addition);
        }
        (None, None) => say_no_agent(output),
    }
    if !is_quiet {
        say_checklists(&report.checklists, output);
    }
    if !existing.has_rules {
        say_verification(&report.verification, output);
        if let Some(addition) = &existing.verification {
            output.line(addition);
        }
    }
    if !is_quiet {
        print_next(&report.next, output);
    }
}

/// Prints only what a new workspace lacks: an agent, or a command that verifies its work.
fn print_problems(report: &InitReport, output: &mut Output) {
    if report.agent.is_none() {
        say_no_agent(output);
    }
    if !report.verification.iter().any(TriedCommand::is_used) {
        say_verification(&report.verification, output);
    }
}

fn say(args: &Args, report: &InitReport, output: &mut Output) {
    match &report.agent {
        Some(agent) => {
            let others = report
                .agents
                .iter()
                .map(|agent| agent.name)
                .filter(|name| name != agent);
            let others: Vec<&str> = others.collect();
            let others = match others.as_slice() {
                [] => String::new(),
                names => format!(" (also installed: {}; --agent chooses)", names.join(", ")),
            };
            print_line("agent: ", &format!("{}{others}", one_line(agent)), output);
        }
        None => say_no_agent(output),
    }
    say_verification(&report.verification, output);
    match report.plans.as_slice() {
        [] => output.line("plans: none yet"),
        plans => print_line("plans: ", &one_line(&plans.join(", ")), output),
    }
    say_checklists(&report.checklists, output);
    let verb = if args.dry_run { "would write" } else { "wrote" };
    for file in &report.files {
        output.line(&format!("{verb} {}", one_line(file)));
    }
}

/// Prints a line, wrapped for people.
fn print_line(start: &str, text: &str, output: &mut Output) {
    let line = hanging(start, text, output.record_width());
    output.line(&line);
}

/// Prints the next command unbroken, so that it can be pasted.
fn print_next(next: &str, output: &mut Output) {
    match next.starts_with("planwright ") {
        true => output.line(&format!("next: {next}")),
        false => print_line("next: ", next, output),
    }
}

fn say_no_agent(output: &mut Output) {
    output.line("agent: none is installed. One of these installs one:");
    for command in install_commands() {
        output.line(&format!("  {command}"));
    }
}

/// Prints the files with open tasks, and the commands that import them.
fn say_checklists(found: &[OpenChecklist], output: &mut Output) {
    for checklist in found {
        print_line("found: ", &checklist.words(), output);
    }
}

/// Prints the result of each command that may verify work.
fn say_verification(tried: &[TriedCommand], output: &mut Output) {
    if tried.is_empty() {
        let words = "found no command that tests this repository (looked at Cargo.toml, package.json scripts, pyproject.toml, go.mod, test targets and more)";
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
            format!(": {}", cut(&one_line(&one.last_line), 120))
        };
        let left_out = if one.is_used() { "" } else { ", left out" };
        let start = format!("  {:widest$}  ", one_line(&one.line));
        print_line(&start, &format!("{}{why}{left_out}", one.ended), output);
    }
    if !tried.iter().any(TriedCommand::is_used) {
        let help = match tried.iter().find(|one| one.result == TrialResult::NotCommitted) {
            Some(one) => format!("commit {} first: tasks work on what is committed", one_line(&one.file)),
            None => "none works: correct it, then add it to [verify] in planwright.toml; until then tasks are done unverified".to_owned(),
        };
        print_line("  ", &help, output);
    }
}

/// Prints what else a run requires of the folder.
fn say_surroundings(repository: RepositoryState, output: &mut Output) {
    let words = match repository {
        RepositoryState::NoRepository => {
            "no repository here; with one (`git init`), each task works in its own checkout"
        }
        RepositoryState::NoCommit => {
            "no commit yet: tasks share this folder, one at a time. With a commit each works in its own checkout: `git add --all && git commit -m \"First commit\"`"
        }
        RepositoryState::Committed => return,
    };
    print_line("git: ", words, output);
}
