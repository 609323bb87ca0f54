//! The verbs `archive` and `delete`: moving plan files away with their history.

use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;
use planwright_run::files::DiskFiles;
use planwright_run::git::Repository;
use planwright_run::layout::{PlanPlace, TRASH};
use planwright_run::runs;
use planwright_run::shell::argument;
use planwright_run::store::{LoadError, MoveTarget, MovedPlan, PlanFile, PlanMoveRequest, Store, StoreError, load};
use planwright_run::workspace::{archive_path, is_pointer, slashed};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::json::ErrorBody;
use crate::plans::{Entry, file_named, pointer_to};
use crate::run_history::judged;
use crate::text::{count, printable};
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovalRequest {
    /// Paths, ids or unambiguous parts of ids.
    pub plans: Vec<String>,
    /// Also look at the plans in the home folder.
    #[serde(default)]
    pub user: bool,
    /// The author, for the history of the plans.
    #[serde(default)]
    pub by: Option<String>,
    /// Write nothing; report the intended moves.
    #[serde(default)]
    pub dry_run: bool,
    /// Report the moves in git's form, and write nothing.
    #[serde(default)]
    pub diff: bool,
}

impl RemovalRequest {
    pub fn is_dry(&self) -> bool {
        self.dry_run || self.diff
    }
}

#[derive(Serialize)]
pub struct RemovalReport {
    pub schema_version: &'static str,
    pub written: bool,
    pub plans: Vec<RemovedPlan>,
    /// Why the next plan was not moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// With `diff`: the moves in git's form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip)]
    pub failure: Option<Failure>,
}

#[derive(Serialize)]
pub struct RemovedPlan {
    pub plan: String,
    pub id: Option<String>,
    pub title: String,
    /// Its new path, or the intended one.
    pub to: String,
    pub notices: Vec<String>,
}

pub struct PlanToRemove {
    pub entry: Entry,
    /// The new path; the trash if none.
    target: Option<String>,
    /// The pointer file that names this plan as the active one.
    pointer: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Removal {
    Delete,
    Archive,
}

impl Removal {
    fn verb(self) -> &'static str {
        match self {
            Removal::Delete => "delete",
            Removal::Archive => "archive",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Removal::Delete => "planwright.delete/v1",
            Removal::Archive => "planwright.archive/v1",
        }
    }
}

pub fn archive(workspace: &Workspace, request: &RemovalRequest) -> Result<RemovalReport> {
    let chosen = choose(workspace, Removal::Archive, &request.plans, request.user)?;
    move_plans(workspace, Removal::Archive, &chosen, request)
}

/// Moves plans to the trash, if the user agrees; none if not.
pub fn delete(
    workspace: &Workspace,
    request: &RemovalRequest,
    agrees: impl FnOnce(&[PlanToRemove]) -> bool,
) -> Result<Option<RemovalReport>> {
    let chosen = choose(workspace, Removal::Delete, &request.plans, request.user)?;
    match agrees(&chosen) {
        true => move_plans(workspace, Removal::Delete, &chosen, request).map(Some),
        false => Ok(None),
    }
}

/// Finds the plans, all of them or none: nothing is moved before every name is resolved.
fn choose(workspace: &Workspace, removal: Removal, names: &[String], user: bool) -> Result<Vec<PlanToRemove>> {
    let mut chosen: Vec<PlanToRemove> = Vec::new();
    let mut seen = Vec::new();
    for name in names {
        let path = file_named(workspace, name, user)?;
        refuse_pointer(&path)?;
        let place = PlanPlace::of(&DiskFiles, &path).map_err(|error| not_there(&path, error))?;
        if seen.contains(&place.target) {
            continue;
        }
        let target = target_of(removal, &place, &path)?;
        let entry = Entry::of(path, false);
        refuse_stranger(&entry)?;
        chosen.push(PlanToRemove {
            pointer: pointer_to(&entry.path),
            entry,
            target,
        });
        seen.push(place.target);
    }
    Ok(chosen)
}

fn not_there(path: &Path, source: std::io::Error) -> Failure {
    let path = path.to_owned();
    Failure::from(match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::Missing { path },
        _ => LoadError::Io { path, source },
    })
}

/// Refuses a pointer file. Elsewhere it stands for its plan, but removing that plan would be a surprise.
fn refuse_pointer(path: &Path) -> Result<()> {
    let name = slashed(path);
    if !is_pointer(Path::new(&name)) {
        return Ok(());
    }
    Err(Failure::problem(
        format!("`{}` is no plan: it names the current plan", path.display()),
        "name the plan, or remove the file if there is no current plan",
    ))
}

/// Refuses a file that is not known to be a plan.
fn refuse_stranger(entry: &Entry) -> Result<()> {
    let name = slashed(&entry.path);
    let is_plan = (entry.dialect.is_some() && entry.tasks.progress.is_some())
        || DIALECTS.iter().any(|dialect| dialect.lives_at(&name));
    if is_plan {
        return Ok(());
    }
    // A file that cannot be read may be a plan.
    load(&entry.path)?;
    Err(Failure::problem(
        format!(
            "`{}` holds no plan, and does not lie where plans do",
            entry.path.display()
        ),
        "move it yourself if you mean it",
    ))
}

fn target_of(removal: Removal, place: &PlanPlace, path: &Path) -> Result<Option<String>> {
    let shown = path.display();
    match removal {
        Removal::Delete if Path::new(&place.relative).starts_with(TRASH) => Err(Failure::problem(
            format!("`{shown}` is deleted already"),
            "remove the file to delete it permanently",
        )),
        Removal::Delete => Ok(None),
        Removal::Archive => archive_path(&place.relative).map(Some).ok_or_else(|| {
            Failure::problem(
                format!("`{shown}` is archived already, or deleted"),
                "move the file back to its place to work on it",
            )
        }),
    }
}

/// Moves the plans one after another. If one fails after others were moved, the report has both.
fn move_plans(
    workspace: &Workspace,
    removal: Removal,
    chosen: &[PlanToRemove],
    request: &RemovalRequest,
) -> Result<RemovalReport> {
    let mut plans = Vec::new();
    let mut failure = None;
    for plan in chosen {
        let unlanded = match removal {
            Removal::Delete => unlanded_branch(&plan.entry.path, plan.entry.id.as_deref()),
            Removal::Archive => None,
        };
        match move_plan(removal, plan, request) {
            Ok(moved) => {
                let mut moved = removed(plan, &moved);
                moved.notices.extend(unlanded);
                plans.push(moved);
            }
            Err(error) => {
                failure = Some(move_failure(&error));
                break;
            }
        }
    }
    for notice in plans.iter().flat_map(|moved| &moved.notices) {
        workspace.remark(&format!("note: {}", printable(notice)));
    }
    match failure {
        Some(failure) if plans.is_empty() => Err(failure),
        failure => Ok(RemovalReport {
            schema_version: removal.version(),
            written: !request.is_dry() && !plans.is_empty(),
            error: failure.as_ref().map(ErrorBody::of),
            diff: request.diff.then(|| plans.iter().map(move_as_diff).collect()),
            plans,
            failure,
        }),
    }
}

/// Returns the move of a plan in the form that `git apply` takes.
fn move_as_diff(moved: &RemovedPlan) -> String {
    let (from, to) = (moved.plan.replace('\\', "/"), moved.to.replace('\\', "/"));
    format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
}

fn move_plan(removal: Removal, plan: &PlanToRemove, request: &RemovalRequest) -> Result<MovedPlan, StoreError> {
    let file = PlanFile {
        path: &plan.entry.path,
        id: plan.entry.id.as_deref(),
    };
    let move_request = PlanMoveRequest {
        verb: removal.verb(),
        by: request.by.as_deref(),
        target: plan.target.as_deref().map_or(MoveTarget::Trash, MoveTarget::Path),
    };
    let store = Store::default();
    match request.is_dry() {
        true => store.preview_move(file, move_request),
        false => store.move_plan(file, move_request),
    }
}

fn removed(plan: &PlanToRemove, moved: &MovedPlan) -> RemovedPlan {
    let mut notices: Vec<String> = moved
        .notices
        .iter()
        .map(|notice| printable(&notice.to_string()).into_owned())
        .collect();
    if let Some(pointer) = &plan.pointer {
        notices.push(format!(
            "`{}` still names this plan; remove it, or name another plan in it",
            from_here(pointer).display()
        ));
    }
    RemovedPlan {
        plan: plan.entry.shown(),
        id: plan.entry.id.clone(),
        title: plan.entry.title.clone(),
        to: from_here(&moved.path).to_string_lossy().into_owned(),
        notices,
    }
}

/// Returns a notice if the branch of a plan's last run has work that has not landed. The branch stays.
fn unlanded_branch(path: &Path, id: Option<&str>) -> Option<String> {
    let place = PlanPlace::of(&DiskFiles, path).ok()?;
    let run = runs::of_plan(&DiskFiles, &place, id).ok()?.next()?;
    let (state, _) = judged(&run).ok()?;
    let conditions = state.settings.fixed.filter(|conditions| !conditions.is_current)?;
    let repository = Repository::around(&place.root).ok().flatten()?;
    let tip = repository.tip(&conditions.branch).ok().flatten()?;
    let head = repository.head().ok().flatten()?;
    let n_tasks = repository.tasks_beyond(&tip, &head).ok()?.len();
    let branch = argument(&conditions.branch);
    (n_tasks > 0).then(|| {
        format!(
            "the branch `{}` has the work of {} that has not landed: `git merge {branch}` lands it, `git branch -D {branch}` deletes it",
            conditions.branch,
            count(n_tasks as u64, "task")
        )
    })
}

fn move_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Occupied { .. } | StoreError::Link { .. } | StoreError::BeingRun { .. } => {
            Failure::problem(error.to_string(), error.help())
        }
        error => error.into(),
    }
}
