//! The verb `worktrees`: the checkouts that runs have left, and removing those without unique work.

use planwright_run::agent_output::redaction_of;
use planwright_run::engine::{Leftover, LeftoverState, Leftovers};
use planwright_run::files::DiskFiles;
use planwright_run::git::{GitError, Repository};
use planwright_run::redaction::Redaction;
use planwright_run::runs;
use planwright_run::workspace::root_of;
use serde::{Deserialize, Serialize};

use crate::configuration::sound_config;
use crate::failure::{Exit, Failure, Result};
use crate::plans::refuse_in_attempt;
use crate::run_history::unreadable_runs;
use crate::text::{count, one_line};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreesRequest {
    /// Remove the checkouts without unique work, regardless of `run.keep`, and empty those for verification.
    pub clear: bool,
}

#[derive(Serialize)]
pub struct WorktreesReport {
    pub schema_version: &'static str,
    pub checkouts: Vec<LeftCheckout>,
    /// Whether a checkout to remove could not be removed.
    #[serde(skip)]
    pub has_failed: bool,
}

impl WorktreesReport {
    pub fn exit(&self) -> Exit {
        match self.has_failed {
            true => Exit::Environment,
            false => Exit::Success,
        }
    }
}

#[derive(Serialize)]
pub struct LeftCheckout {
    pub path: String,
    pub run: String,
    pub task: String,
    pub bytes: u64,
    /// `in-use`, `removable`, `kept` or `removed`.
    pub state: &'static str,
    /// Why it is kept, in words.
    pub why: Option<String>,
}

/// Lists the checkouts that runs have left, or removes them.
pub fn worktrees(workspace: &Workspace, request: &WorktreesRequest) -> Result<WorktreesReport> {
    let root = root_of(workspace.folder());
    if request.clear {
        refuse_in_attempt(&root, "remove checkouts of its own run")?;
    }
    if Repository::around(&root).map_err(git_failure)?.is_none() {
        return Err(Failure::problem(
            "not a git repository",
            "without one, tasks share the folder and leave no checkouts",
        ));
    }
    let configuration = sound_config(workspace, &root, "so the folder of checkouts is unknown")?;
    let leftovers = Leftovers::open(&root, &configuration.config.run).map_err(git_failure)?;
    let redaction = redaction_of(&configuration.config);
    let mut report = WorktreesReport {
        schema_version: "planwright.worktrees/v2",
        checkouts: Vec::new(),
        has_failed: false,
    };
    let listed = leftovers
        .as_ref()
        .map_or_else(|| runs::list(&DiskFiles, &root).map(|_| Vec::new()), Leftovers::list);
    for leftover in listed.map_err(|error| unreadable_runs(&error))? {
        let mut checkout = left_checkout(&leftover);
        if let (true, Some(leftovers)) = (request.clear, &leftovers) {
            match leftovers.remove(&leftover) {
                Ok(true) => checkout.state = "removed",
                Ok(false) => {}
                Err(error) => {
                    checkout.why = Some(error.to_string());
                    report.has_failed = true;
                }
            }
        }
        // Agents choose names of branches and files.
        let texts = [&mut checkout.path, &mut checkout.task];
        redaction.clean_all(texts.into_iter().chain(&mut checkout.why));
        report.checkouts.push(checkout);
    }
    if let (true, Some(leftovers)) = (request.clear, &leftovers) {
        release(workspace, leftovers, &redaction)?;
    }
    Ok(report)
}

/// Empties the checkouts for verification, and releases the branches that no checkout needs any more.
fn release(workspace: &Workspace, leftovers: &Leftovers, redaction: &Redaction) -> Result<()> {
    match leftovers.clear_pool().map_err(git_failure)? {
        0 => {}
        n => workspace.remark(&format!("emptied {} of verification", count(n as u64, "checkout"))),
    }
    for mut branch in leftovers.release_branches().map_err(git_failure)? {
        redaction.clean(&mut branch);
        workspace.remark(&format!("`{}` can be checked out again", one_line(&branch)));
    }
    Ok(())
}

fn git_failure(error: GitError) -> Failure {
    Failure::environment(&error, "")
}

fn left_checkout(leftover: &Leftover) -> LeftCheckout {
    let (state, why) = match &leftover.state {
        LeftoverState::InUse(why) => ("in-use", Some(why.clone())),
        LeftoverState::Removable => ("removable", None),
        LeftoverState::Kept(why) => ("kept", Some(why.clone())),
    };
    LeftCheckout {
        path: leftover.path.to_string_lossy().into_owned(),
        run: leftover.run.clone(),
        task: leftover.task.clone(),
        bytes: leftover.n_bytes,
        state,
        why,
    }
}
