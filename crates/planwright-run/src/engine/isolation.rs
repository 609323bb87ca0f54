//! Decides where the tasks of a run work: each in its own checkout, or all in the folder of the workspace.

use std::path::Path;

use planwright_core::plan::Slots;

use super::naming::listed;
use super::own_files::OwnFiles;
use super::{PlanSnapshot, RunError, RunRequest};
use crate::config;
use crate::error_chain::with_causes;
use crate::git::{GitError, Repository};
use crate::programs::program;
use crate::runs::IsolationMode;

const OLDEST_GIT: (u32, u32) = (2, 38);

const SHARE: &str = "have tasks share the folder: --isolation shared";

#[derive(Clone, Debug)]
pub struct Isolation {
    pub mode: IsolationMode,
    /// How many tasks may run in parallel with this isolation.
    pub slots: Slots,
    pub remarks: Vec<String>,
}

/// Decides where tasks work. `slots` is the limit of the plan or the user. `continues` is the isolation of the run that is resumed, which
/// never changes.
pub(super) fn choose(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    slots: Slots,
    continues: Option<&IsolationMode>,
) -> Result<Isolation, RunError> {
    let wanted = request.config.run.checkouts.isolation;
    match continues {
        Some(IsolationMode::Checkouts) => {
            return Ok(Isolation {
                mode: IsolationMode::Checkouts,
                slots,
                remarks: Vec::new(),
            });
        }
        _ if wanted == config::IsolationSetting::Shared => return Ok(shared(slots, Vec::new())),
        Some(IsolationMode::Shared) => return Ok(one_at_a_time(request, slots, "as when the run began")),
        _ => {}
    }
    // If git itself fails, there may be a repository, and the user did not ask for agents to work in it directly.
    let found = match repository_of(snapshot)? {
        Ok(repository) => repository,
        Err(why) if wanted == config::IsolationSetting::Auto => return Ok(one_at_a_time(request, slots, why)),
        Err(why) => {
            return Err(RunError::refused(
                format!("tasks cannot have checkouts of their own: {why}"),
                SHARE,
            ));
        }
    };
    refuse(&found)?;
    let mut remarks = Vec::new();
    let own = OwnFiles::of(snapshot.place(), &found);
    let dirt = found.dirt(&|path| own.contains(path)).map_err(refused)?;
    if !dirt.is_empty() && !request.options.flags.include_uncommitted {
        remarks.push(format!(
            "uncommitted work is left out: {}; --include-uncommitted includes it",
            listed(&dirt)
        ));
    }
    Ok(Isolation {
        mode: IsolationMode::Checkouts,
        slots,
        remarks,
    })
}

/// Restores the user's checkout if planwright was killed while it landed work there. Returns remarks for the user.
pub fn undo_unfinished_move(root: &Path) -> Option<String> {
    let repository = Repository::around(root).ok().flatten()?;
    match repository.undo_unfinished_move() {
        Ok(undone) => undone.map(|undone| undone.words()),
        Err(error) => Some(format!(
            "planwright was ended while work landed in your checkout, and the files cannot be set back now: {}",
            with_causes(&error)
        )),
    }
}

fn shared(slots: Slots, remarks: Vec<String>) -> Isolation {
    Isolation {
        mode: IsolationMode::Shared,
        slots,
        remarks,
    }
}

/// Has tasks share the folder, one at a time unless the user sets a number.
fn one_at_a_time(request: &RunRequest<'_>, slots: Slots, why: &str) -> Isolation {
    let most = match slots {
        Slots::Fixed(most) | Slots::StageWidth(most) => most,
    };
    if most < 2 {
        return shared(slots, Vec::new());
    }
    match request.config.run.slots {
        Some(_) => shared(
            slots,
            vec![format!("up to {most} tasks at a time share the folder ({why})")],
        ),
        None => shared(
            Slots::Fixed(1),
            vec![format!(
                "running one task at a time: tasks share this folder ({why}). Use -j {most} to override"
            )],
        ),
    }
}

/// Returns the repository of the workspace if it has a commit, or why there is none.
fn repository_of(snapshot: &PlanSnapshot) -> Result<Result<Repository, &'static str>, RunError> {
    let root = &snapshot.place().root;
    let repository = match Repository::around(root).map_err(refused)? {
        Some(repository) => repository,
        None if root.ancestors().any(|folder| folder.join(".git/HEAD").exists()) => {
            return Err(match program("git") {
                None => RunError::refused(
                    "this is a git repository, and git is not installed",
                    format!("install git; or {SHARE}"),
                ),
                Some(_) => RunError::refused(
                    "there is a `.git` here that git does not accept as a repository",
                    format!("see `git status`; or {SHARE}"),
                ),
            });
        }
        None if program("git").is_none() => return Ok(Err("git is not installed")),
        None => return Ok(Err("this is not a git repository")),
    };
    if repository.head().map_err(refused)?.is_none() {
        return Ok(Err("there is no commit yet"));
    }
    if repository.is_ignored(root).map_err(refused)? {
        return Ok(Err("git ignores this folder"));
    }
    if !repository.has_tracked(root).map_err(refused)? {
        return Ok(Err("no file of this folder is committed yet"));
    }
    Ok(Ok(repository))
}

/// Refuses repositories whose checkouts would be incomplete.
fn refuse(repository: &Repository) -> Result<(), RunError> {
    if let Some(found) = repository.git_version().map_err(refused)?
        && found < OLDEST_GIT
    {
        let (major, minor) = OLDEST_GIT;
        return Err(RunError::refused(
            format!(
                "checkouts for tasks need git {major}.{minor} or newer, and this is {}.{}",
                found.0, found.1
            ),
            "install a newer git; or have tasks share the folder: --isolation shared",
        ));
    }
    let submodules = repository.checked_out_submodules().map_err(refused)?;
    if !submodules.is_empty() {
        return Err(RunError::refused(
            format!(
                "the repository has submodules, which checkouts of tasks would not have: {}",
                listed(&submodules)
            ),
            SHARE,
        ));
    }
    if repository.lacks_objects().map_err(refused)? {
        return Err(RunError::refused(
            "this is a partial clone, and objects of the checked-out commit are missing from it",
            "fetch them first: git fetch --refetch --no-filter; or have tasks share the folder: --isolation shared",
        ));
    }
    Ok(())
}

fn refused(error: GitError) -> RunError {
    RunError::refused(format!("the repository cannot be used: {error}"), SHARE)
}

pub(super) fn branch_of_plan(snapshot: &PlanSnapshot) -> Option<&str> {
    let named = snapshot
        .linked()
        .dialect
        .branch()
        .and_then(|branch| branch(snapshot.plan()));
    named.filter(|branch| !branch.trim().is_empty())
}
