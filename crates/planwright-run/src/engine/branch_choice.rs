//! Chooses the branch that the work of a plan lands on, and explains the choice.

use planwright_core::plan::Field;

use super::isolation::branch_of_plan;
use super::{PlanSnapshot, PreparedRun, RunError, RunRequest};
use crate::checkout_home::CheckoutHome;
use crate::error_chain::with_causes;
use crate::files::DiskFiles;
use crate::git::{BranchStart, GitError, Repository, valid_branch};
use crate::journal::plan_id;
use crate::layout::PlanKey;
use crate::runs::{self, IsolationMode};

/// The value of `run.branch` for the branch that the user has checked out.
const CURRENT: &str = "current";

const BRANCHES: &str = "planwright";

/// Returns the branch that work lands on; none for the one that is checked out.
pub(super) fn branch_name(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    repository: &Repository,
    home: &CheckoutHome,
) -> Result<Option<String>, RunError> {
    let configured = request
        .options
        .flags
        .branch
        .as_ref()
        .or(request.config.run.landing.branch.as_ref());
    if let Some(name) = configured {
        if name == CURRENT {
            return Ok(None);
        }
        if !valid_branch(name) {
            return Err(RunError::refused(
                format!("run.branch: `{}` cannot be the name of a branch", name.escape_debug()),
                "leave it out, or name another one",
            ));
        }
        return Ok(Some(name.clone()));
    }
    if let Some(name) = branch_of_earlier_version(snapshot) {
        return Ok(Some(name));
    }
    if let Some(name) = branch_of_plan(snapshot).filter(|name| valid_branch(name))
        && repository.worktree_of(name, home.folder()).map_err(failed)?.is_none()
    {
        return Ok(Some(name.to_owned()));
    }
    let (id, path) = (plan_id(snapshot.plan()), &snapshot.place().relative);
    let mut name = usual_name(id, path);
    // If a branch `planwright` exists, git allows none below it.
    let is_taken = repository.branch_exists(BRANCHES).map_err(failed)?;
    let between = if is_taken { '-' } else { '/' };
    let exists = repository.branch_exists(&format!("{BRANCHES}{between}{name}"));
    if exists.map_err(failed)? && is_used_by_another(snapshot, &name) {
        name = format!("{name}-{}", PlanKey::of(path));
    }
    Ok(Some(format!("{BRANCHES}{between}{name}")))
}

/// Returns the branch that a run would land on, as far as known before it starts; none without a repository.
pub fn branch_preview(request: &RunRequest<'_>, snapshot: &PlanSnapshot) -> Option<String> {
    let repository = Repository::around(&snapshot.place().root).ok().flatten()?;
    let home = CheckoutHome::of(request.config.run.checkouts.folder.as_deref(), &repository).ok()?;
    match branch_name(request, snapshot, &repository, &home).ok()? {
        Some(name) => Some(name),
        None => repository.branch().ok().flatten(),
    }
}

/// Refuses a run whose checkouts cannot be made, as its start would.
pub fn refuse_unusable_checkouts(request: &RunRequest<'_>, prepared: &PreparedRun) -> Result<(), RunError> {
    let Ok(Some(repository)) = Repository::around(&prepared.snapshot.place().root) else {
        return Ok(());
    };
    if prepared.isolation.mode != IsolationMode::Checkouts {
        return Ok(());
    }
    const HELP: &str = "name another folder in your own configuration file: run.checkouts; \
                        or have tasks share the folder: --isolation shared";
    let home = CheckoutHome::of(request.config.run.checkouts.folder.as_deref(), &repository);
    let home = home.map_err(|error| RunError::refused(error.to_string(), HELP))?;
    home.probe().map_err(|error| {
        let folder = home.folder().display();
        RunError::refused(format!("checkouts cannot be made in `{folder}`: {error}"), HELP)
    })
}

/// Refuses a run whose branch cannot be used, as its start would.
pub fn refuse_branch_in_use(request: &RunRequest<'_>, prepared: &PreparedRun) -> Result<(), RunError> {
    let snapshot = &prepared.snapshot;
    let Ok(Some(repository)) = Repository::around(&snapshot.place().root) else {
        return Ok(());
    };
    let home = CheckoutHome::of(request.config.run.checkouts.folder.as_deref(), &repository);
    let (IsolationMode::Checkouts, Ok(home)) = (&prepared.isolation.mode, home) else {
        return Ok(());
    };
    let Some(name) = branch_name(request, snapshot, &repository, &home)? else {
        return match repository.branch().map_err(failed)? {
            Some(_) => Ok(()),
            None => Err(RunError::refused(
                "cannot land: HEAD is detached",
                "check out a branch with `git switch`; or --branch NAME",
            )),
        };
    };
    // Git stores branches as files: `feature/x` cannot exist next to `feature`.
    for (at, _) in name.match_indices('/') {
        let parent = name.get(..at).unwrap_or_default();
        if repository.branch_exists(parent).map_err(failed)? {
            return Err(RunError::refused(
                format!("the branch `{name}` cannot be created: there is a branch `{parent}`"),
                "choose another name: --branch NAME",
            ));
        }
    }
    match repository.worktree_of(&name, home.folder()).map_err(failed)? {
        Some(path) => {
            let branch = name.clone();
            Err(begin_error(&name, GitError::InUse { branch, path }))
        }
        None => Ok(()),
    }
}

/// Returns whether the branch of another plan has the same name. Ids that differ only in punctuation have the same, and copies of a plan.
/// The plan that ran first keeps it. A moved plan is the same plan.
fn is_used_by_another(snapshot: &PlanSnapshot, name: &str) -> bool {
    let place = snapshot.place();
    let runs = runs::seen(&DiskFiles, &place.root).into_iter().flatten().flatten();
    let headers = runs.map(|run| run.header);
    let of_name = headers.filter(|header| usual_name(header.id.as_deref(), &header.path) == name);
    of_name.last().is_some_and(|first| {
        let has_same_id = first.id.is_some() && first.id.as_deref() == plan_id(snapshot.plan());
        first.path != place.relative && (!has_same_id || place.root.join(&first.path).exists())
    })
}

/// Returns a remark if the last run landed work that the start commit of this run lacks.
pub(super) fn missing_work(snapshot: &PlanSnapshot, repository: &Repository, start: &str) -> Option<String> {
    let mut own = runs::of_plan(&DiskFiles, snapshot.place(), plan_id(snapshot.plan())).ok()?;
    let state = own.find_map(|run| {
        run.state(&DiskFiles)
            .ok()
            .filter(|state| state.settings.fixed.is_some())
    })?;
    let last = state.last_landed_commit()?;
    let branch = &state.settings.fixed.as_ref()?.branch;
    let is_there = repository.has_landed(last, start).unwrap_or(true);
    (!is_there).then(|| {
        let short = last.get(..12).unwrap_or(last);
        format!("work of the last run is not part of this one: it is commit {short}, which landed on `{branch}`")
    })
}

/// Returns the branch that the work on an earlier version of the plan landed on.
fn branch_of_earlier_version(snapshot: &PlanSnapshot) -> Option<String> {
    let previous = snapshot.plan().head_str(Field::PreviousPlan)?;
    let mut runs = runs::seen(&DiskFiles, &snapshot.place().root).ok()?.flatten();
    let newest = runs.find(|run| run.header.id.as_deref() == Some(previous))?;
    let conditions = newest.state(&DiskFiles).ok()?.settings.fixed?;
    (!conditions.is_current).then_some(conditions.branch)
}

/// Returns the name of a plan as part of a branch name: its id, otherwise its path without the extension.
fn usual_name(id: Option<&str>, path: &str) -> String {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let text = id.unwrap_or(stem);
    let mut name = String::new();
    for c in text.chars().take(60) {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    match name.trim_end_matches('-') {
        "" => PlanKey::of(text).to_string(),
        name => name.to_owned(),
    }
}

/// Returns the error for a branch that a run cannot start on.
pub(super) fn begin_error(name: &str, error: GitError) -> RunError {
    match error {
        GitError::InUse { path, .. } => RunError::refused(
            format!("the target branch `{name}` is checked out in `{}`", path.display()),
            "check out another branch there; or --branch NAME; or --branch current to land on the one that is checked out",
        ),
        error => failed(error),
    }
}

pub(super) fn start_words(name: &str, start: &BranchStart) -> String {
    match start {
        BranchStart::Created => format!("work lands on the new branch `{name}`"),
        BranchStart::Continued => format!("work lands on the branch `{name}`, which has work that is not landed yet"),
        BranchStart::Restarted { .. } => {
            format!("work lands on the branch `{name}`, reset to what is checked out: all its work is part of that")
        }
        BranchStart::Current => format!("work lands on `{name}`, which is checked out"),
    }
}

/// Returns the error for a run that cannot have checkouts.
pub(super) fn failed(error: GitError) -> RunError {
    let help = match &error {
        GitError::Locked { .. } => "no agent was started; run again when the lock is gone",
        _ => "have tasks share the folder: --isolation shared",
    };
    RunError::refused(
        format!("checkouts for the tasks cannot be made: {}", with_causes(&error)),
        help,
    )
}
