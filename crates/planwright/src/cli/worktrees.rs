//! `planwright worktrees`: what runs left in git worktrees, and clearing away what is merged.

use std::path::{Path, PathBuf};

use planwright_run::files::DiskFiles;
use planwright_run::git::{GitError, Leftover, LeftoverState, Repository, Stray, Worktrees};
use planwright_run::runs::{RunPlace, list, runs_folder};
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::run_arg::{Scope, Standing, unreadable_runs};
use crate::render::terminal::one_line;

/// List the git worktrees that runs have left, or clear them away.
///
/// A worktree stays where a task failed, was interrupted or could not be merged: its work is on the branch beside it. Nothing is
/// ever removed by force: what is not committed, or not merged into the branch that is checked out, stays.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright worktrees
  planwright worktrees --clear")]
pub(crate) struct Args {
    /// Remove the worktrees whose work is merged into the branch that is checked out, with their branches.
    #[arg(long)]
    clear: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `worktrees --json`.
const VERSION: &str = "planwright.worktrees/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    /// The branch that is checked out, into which work is merged or not.
    branch: String,
    worktrees: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// None for a branch whose worktree is gone.
    path: Option<String>,
    branch: Option<String>,
    /// `in-use`, `merged`, `uncommitted`, `unmerged`, `missing`, `locked`, `broken`, or `removed`.
    state: &'static str,
    /// Why it is kept, in words.
    why: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let root = root_of(Path::new("."));
    let failed = |error: GitError| Failure::environment(&error, "");
    let repository = Repository::around(&root).map_err(failed)?;
    let repository =
        repository.ok_or_else(|| Failure::problem("this is no git repository", "there are no worktrees then"))?;
    let branch = repository.branch().map_err(failed)?;
    let branch = branch.ok_or_else(|| {
        Failure::problem(
            "no branch is checked out",
            "check out the branch that runs merge into, and look again",
        )
    })?;
    let runs = runs_folder(&root);
    let ids = list(&DiskFiles, &root).map_err(|error| unreadable_runs(&error))?;
    let mut report = Report {
        schema_version: VERSION,
        branch,
        worktrees: Vec::new(),
    };
    let mut exit = Exit::Success;
    // Before the first commit there is nothing that a worktree could begin at.
    if runs.is_dir() && repository.head().map_err(failed)?.is_some() {
        let worktrees = Worktrees::new(&repository, &runs).map_err(failed)?;
        for leftover in worktrees.leftovers(&runs, &report.branch).map_err(failed)? {
            let mut row = row_of(&leftover, &root, &report.branch);
            if let Some(why) = in_use(&leftover.worktree.path, &runs) {
                row.state = "in-use";
                row.why = Some(why);
                report.worktrees.push(row);
                continue;
            }
            if args.clear && matches!(leftover.state, LeftoverState::Removable | LeftoverState::Missing) {
                match worktrees.clear_away(&leftover.worktree, &report.branch) {
                    Ok(()) => row.state = "removed",
                    Err(error) => {
                        row.why = Some(error.to_string());
                        exit = Exit::Environment;
                    }
                }
            }
            report.worktrees.push(row);
        }
        let ids: Vec<&str> = ids.iter().map(RunPlace::id).collect();
        let is_in_use = |id: &str| why_in_use(id).is_some();
        let strays = worktrees.stray_branches(&ids, is_in_use, &report.branch);
        for stray in strays.map_err(failed)? {
            let mut row = row_of_stray(&stray, &report.branch);
            if args.clear && stray.is_merged {
                match worktrees.delete_branch(&stray.branch, &report.branch) {
                    Ok(()) | Err(GitError::NoBranch(_)) => row.state = "removed",
                    Err(error) => {
                        row.why = Some(error.to_string());
                        exit = Exit::Environment;
                    }
                }
            }
            report.worktrees.push(row);
        }
    }
    if args.json {
        output.json(&report)?;
        return Ok(exit);
    }
    draw(&report, args.clear, output);
    Ok(exit)
}

/// Returns why the worktree of a run is none that was left, where that is so: its run has not ended, and its agents may be at work.
fn in_use(path: &Path, runs: &Path) -> Option<String> {
    let runs = std::fs::canonicalize(runs).unwrap_or_else(|_| runs.to_owned());
    let below = path.strip_prefix(&runs).ok()?;
    why_in_use(below.components().next()?.as_os_str().to_str()?)
}

/// Returns why nothing of a run is left over, where that is so. Of a run that nobody can look at nobody can tell that it is over.
fn why_in_use(id: &str) -> Option<String> {
    let unread = |error: anyhow::Error| Some(format!("how run {id} stands cannot be told: {error}"));
    let run = match Scope::of(None).and_then(|scope| scope.find(id)) {
        Ok(Some(run)) => run,
        Ok(None) => return None,
        Err(error) => return unread(error),
    };
    let standing = match run.run_state() {
        Ok((_, standing)) => standing,
        Err(error) => return unread(error),
    };
    match standing {
        Standing::Running { pid } => Some(format!("run {id} goes on (process {pid})")),
        Standing::Interrupted => Some(format!(
            "run {id} was interrupted; `planwright run {}` goes on with it",
            one_line(&run.header.path)
        )),
        Standing::Ended(_) => None,
    }
}

fn row_of(leftover: &Leftover, root: &Path, into: &str) -> Row {
    let path: PathBuf = leftover.worktree.path.clone();
    let shown = path.strip_prefix(root).unwrap_or(&path);
    let (state, why) = match &leftover.state {
        LeftoverState::Removable => ("merged", None),
        LeftoverState::Dirty(paths) => (
            "uncommitted",
            Some(format!("holds work that is not committed: {}", first(paths))),
        ),
        LeftoverState::Unmerged => ("unmerged", Some(format!("holds commits that are not in `{into}`"))),
        LeftoverState::Missing => ("missing", Some("its folder is gone".to_owned())),
        LeftoverState::Locked => ("locked", Some("somebody locked it with `git worktree lock`".to_owned())),
        LeftoverState::Broken(why) => ("broken", Some(why.clone())),
    };
    Row {
        path: Some(shown.to_string_lossy().into_owned()),
        branch: leftover.worktree.branch.clone(),
        state,
        why,
    }
}

fn row_of_stray(stray: &Stray, into: &str) -> Row {
    Row {
        path: None,
        branch: Some(stray.branch.clone()),
        state: if stray.is_merged { "merged" } else { "unmerged" },
        why: (!stray.is_merged).then(|| format!("its worktree is gone, and it has commits that are not in `{into}`")),
    }
}

fn first(paths: &[String]) -> String {
    match paths {
        [] => String::new(),
        [only] => one_line(only),
        [first, rest @ ..] => format!("{} and {} more", one_line(first), rest.len()),
    }
}

fn draw(report: &Report, has_cleared: bool, output: &mut Output) {
    if report.worktrees.is_empty() {
        output.remark("no run has left a worktree");
        return;
    }
    for row in &report.worktrees {
        let why = row
            .why
            .as_deref()
            .map_or_else(String::new, |why| format!(": {}", one_line(why)));
        let branch = row.branch.as_deref().map(one_line);
        let Some(path) = row.path.as_deref().map(one_line) else {
            output.line(&format!("{}  {}{why}", branch.unwrap_or_default(), row.state));
            continue;
        };
        output.line(&format!("{path}  {}{why}", row.state));
        if let Some(branch) = branch.filter(|_| row.state != "removed") {
            output.line(&format!("    on {branch}"));
        }
    }
    let n_merged = report.worktrees.iter().filter(|row| row.state == "merged").count();
    if n_merged > 0 && !has_cleared {
        output.remark("help: `planwright worktrees --clear` removes those that are merged");
    }
}
