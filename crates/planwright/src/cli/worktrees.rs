//! `planwright worktrees`: lists the checkouts that runs left, and removes those without unique work.

use std::path::Path;

use planwright_run::agent_output::redaction_of;
use planwright_run::config::{self, Surroundings};
use planwright_run::engine::{Leftover, LeftoverState, Leftovers};
use planwright_run::files::DiskFiles;
use planwright_run::git::{GitError, Repository};
use planwright_run::runs;
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::attempt::refuse_in_attempt;
use super::config::refuse_unsound;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::run_arg::unreadable_runs;
use crate::render::quantity::count;
use crate::render::terminal::{one_line, shown_name};

/// List or remove the checkouts that runs have left.
///
/// The checkout of a task stays where the task failed or was interrupted. What was in it is kept as a commit below refs/planwright/,
/// too, except what git ignores. A checkout that holds work which is nowhere else is never removed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright worktrees
  planwright worktrees --clear")]
pub(crate) struct Args {
    /// Remove the checkouts that hold nothing unique, whatever run.keep says, and empty those for verification.
    #[arg(long)]
    clear: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `worktrees --json`.
const VERSION: &str = "planwright.worktrees/v2";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    checkouts: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    path: String,
    run: String,
    task: String,
    bytes: u64,
    /// `in-use`, `removable`, `kept` or `removed`.
    state: &'static str,
    /// Why it is kept, in words.
    why: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let root = root_of(Path::new("."));
    if args.clear {
        refuse_in_attempt(&root, "remove checkouts of its own run")?;
    }
    let failed = |error: GitError| Failure::environment(&error, "");
    if Repository::around(&root).map_err(failed)?.is_none() {
        return Err(Failure::problem(
            "this is no git repository",
            "tasks share the folder then, and leave no checkouts",
        ));
    }
    let configuration = config::load(&root, &Surroundings::of_process());
    refuse_unsound(&configuration, "so it is not known where checkouts are", output)?;
    let leftovers = Leftovers::open(&root, &configuration.config.run).map_err(failed)?;
    let redaction = redaction_of(&configuration.config);
    let mut exit = Exit::Success;
    let mut rows = Vec::new();
    let listed = leftovers
        .as_ref()
        .map_or_else(|| runs::list(&DiskFiles, &root).map(|_| Vec::new()), Leftovers::list);
    for leftover in listed.map_err(|error| unreadable_runs(&error))? {
        let mut row = row_of(&leftover);
        if let (true, Some(leftovers)) = (args.clear, &leftovers) {
            match leftovers.remove(&leftover) {
                Ok(true) => row.state = "removed",
                Ok(false) => {}
                Err(error) => {
                    row.why = Some(error.to_string());
                    exit = Exit::Environment;
                }
            }
        }
        // Agents name branches and files.
        let texts = [&mut row.path, &mut row.task];
        redaction.clean_all(texts.into_iter().chain(&mut row.why));
        rows.push(row);
    }
    if let (true, Some(leftovers)) = (args.clear, &leftovers) {
        match leftovers.clear_pool().map_err(failed)? {
            0 => {}
            n => output.remark(&format!("emptied {} of verification", count(n as u64, "checkout"))),
        }
        for mut branch in leftovers.release_branches().map_err(failed)? {
            redaction.clean(&mut branch);
            output.remark(&format!("`{}` can be checked out again", one_line(&branch)));
        }
    }
    let report = Report {
        schema_version: VERSION,
        checkouts: rows,
    };
    match args.json {
        true => output.json(&report)?,
        false => draw(&report, output),
    }
    Ok(exit)
}

fn row_of(leftover: &Leftover) -> Row {
    let (state, why) = match &leftover.state {
        LeftoverState::InUse(why) => ("in-use", Some(why.clone())),
        LeftoverState::Removable => ("removable", None),
        LeftoverState::Kept(why) => ("kept", Some(why.clone())),
    };
    Row {
        path: leftover.path.to_string_lossy().into_owned(),
        run: leftover.run.clone(),
        task: leftover.task.clone(),
        bytes: leftover.n_bytes,
        state,
        why,
    }
}

fn draw(report: &Report, output: &mut Output) {
    if report.checkouts.is_empty() {
        output.remark("no run has left a checkout");
        return;
    }
    for row in &report.checkouts {
        let why = row
            .why
            .as_deref()
            .map(one_line)
            .map_or_else(String::new, |why| format!(": {why}"));
        output.line(&format!("{}  {}{why}", one_line(&row.path), row.state));
        output.line(&format!("    {} of run {}", shown_name(&row.task), one_line(&row.run)));
    }
    if report.checkouts.iter().any(|row| row.state == "kept") {
        output.remark("help: where you do not need what a kept checkout holds, remove its folder");
    }
    let n_removable = report.checkouts.iter().filter(|row| row.state == "removable").count();
    if n_removable > 0 {
        let what = count(n_removable as u64, "checkout");
        output.remark(&format!("help: {what} can go: `planwright worktrees --clear`"));
    }
}
