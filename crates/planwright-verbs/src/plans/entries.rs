//! The plans of a workspace as entries of lists and searches.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use planwright_core::diagnostic::Severity;
use planwright_core::dialect::VersionLineage;
use planwright_core::inspect::Inspection;
use planwright_core::plan::{Field, Plan, PlanProgress, Readiness};
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::plan_id;
use planwright_run::revise::take_states;
use planwright_run::store;
use planwright_run::workspace::{archived_plans, root_of};

use super::PlanAccess;
use crate::text::one_line;
use crate::workspace::{Workspace, from_here};

/// An overview of a plan file.
pub struct Entry {
    pub path: PathBuf,
    pub archived: bool,
    /// None if it is in no dialect.
    pub dialect: Option<&'static str>,
    pub id: Option<String>,
    /// Its title, otherwise its goal.
    pub title: String,
    pub goal: Option<String>,
    /// The plan's own word for its state, if its dialect has one.
    pub status: Option<String>,
    /// When it was last changed, by its own field or the file's time.
    pub changed: String,
    /// Its version and plan, if the dialect has versions.
    pub lineage: Option<VersionLineage>,
    pub errors: usize,
    pub tasks: EntryTasks,
}

/// The tasks of a plan in a list.
pub struct EntryTasks {
    pub count: usize,
    /// Whether their states are known: false if only the history has them and is unreadable.
    pub is_known: bool,
    /// Their states; none if the plan is unreadable, or they are unknown.
    pub progress: Option<PlanProgress>,
    /// How many of the running ones an interrupted run left.
    pub n_interrupted: usize,
    /// The holders of the running ones, in words.
    pub holders: Vec<String>,
    /// Why none of them may be worked on.
    pub closed: Option<String>,
}

impl Entry {
    /// Reads a plan file.
    pub fn of(path: PathBuf, archived: bool) -> Self {
        let loaded = store::load(&path).ok();
        let mut inspection = loaded.map(|loaded| inspect_file(&loaded.source, Some(&path), None).inspection);
        let states = inspection.as_mut().map(|inspection| take_states(inspection, &path));
        let is_known = !matches!(states, Some(Err(_)));
        let linked = inspection.as_ref().and_then(|inspection| inspection.plan.as_ref());
        let plan = linked.map(|linked| &linked.plan);
        let access = inspection.as_ref().filter(|_| is_known && !archived);
        let access = access.map_or_else(PlanAccess::default, |inspection| PlanAccess::of(inspection, &path));
        let own = |field: Field| plan.and_then(|plan| plan.head_str(field)).map(str::to_owned);
        Entry {
            archived,
            dialect: inspection.as_ref().and_then(Inspection::dialect_name),
            id: plan.and_then(plan_id).map(str::to_owned),
            title: plan.map_or(String::new(), |plan| plan.title().to_owned()),
            goal: own(Field::Goal).or_else(|| own(Field::Description)),
            status: own(Field::Status),
            changed: plan.and_then(own_time).unwrap_or_else(|| file_time(&path)),
            lineage: linked.and_then(|linked| linked.dialect.versions()?.lineage(&linked.plan)),
            errors: inspection
                .as_ref()
                .map_or(1, |inspection| inspection.count(Severity::Error)),
            tasks: EntryTasks {
                count: plan.map_or(0, |plan| plan.tasks().len()),
                is_known,
                progress: linked
                    .filter(|_| is_known)
                    .map(|linked| Readiness::new(&linked.plan, &linked.links).progress()),
                n_interrupted: plan.map_or(0, |plan| access.n_interrupted(plan)),
                holders: plan.map_or_else(Vec::new, |plan| access.holders(plan)),
                closed: access.gate.map(|closed| closed.message),
            },
            path,
        }
    }

    /// Returns the word for a plan's progress, the same in every dialect; none if the plan is unreadable.
    pub fn state(&self) -> Option<&'static str> {
        let progress = self.tasks.progress?;
        Some(match () {
            () if progress.total > 0 && progress.done + progress.skipped == progress.total => "complete",
            () if progress.running > self.tasks.n_interrupted => "running",
            () if progress.running > 0 => "interrupted",
            () if progress.failed > 0 => "failed",
            () => "pending",
        })
    }

    pub fn shown(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// Returns the title of a plan in one line, or a placeholder.
pub fn shown_title(title: &str) -> String {
    match one_line(title) {
        title if title.is_empty() => "(no title)".to_owned(),
        title => title,
    }
}

pub fn archived(workspace: &Workspace) -> Vec<PathBuf> {
    let plans = archived_plans(&root_of(workspace.folder()));
    plans.iter().map(|path| from_here(path)).collect()
}

/// Returns the plan's own time of its last change, if that sorts as text: with the year first.
fn own_time(plan: &Plan) -> Option<String> {
    let fields = [Field::UpdatedAt, Field::CreatedAt, Field::Date];
    let time = fields.into_iter().find_map(|field| plan.head_str(field))?;
    let is_dated = time.get(..4)?.bytes().all(|byte| byte.is_ascii_digit());
    is_dated.then(|| one_line(time))
}

/// Returns a file's time of change as an ISO date.
fn file_time(path: &Path) -> String {
    let modified = std::fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .unwrap_or(SystemTime::UNIX_EPOCH);
    clock::date_of(modified)
}
