//! Optional parts of a dialect, each a trait or a table of its own. A dialect names the ones that it has.

use super::{
    CannotFollow, DialectWriter, Followed, LocatedPlan, Pointing, RecordedMove, RequestHistory, Successor,
    TaskListEdit, Unpointed, VersionLineage,
};
use crate::document::Parsed;
use crate::document::patch::PlainValue as PatchValue;
use crate::edit::{FieldEdit, PlanMove, PlanRequest};
use crate::plan::{Field, Plan, StateCounts, TaskName};
use crate::text::SourceText;

/// How plans of a dialect are changed. A dialect without it is read only.
pub trait Edits: Sync {
    /// Returns why plans of this form are not changed, and what to do.
    fn refuses_changes(&self, _plan: &Plan) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns the number of the first task, where tasks are named by their place in the list.
    fn numbering(&self, _plan: &Plan) -> Option<usize> {
        None
    }

    /// Returns how a plan writes that something depends on a task.
    fn reference(&self, plan: &Plan, task_ix: usize) -> PatchValue {
        match plan.tasks().get(task_ix).map(|task| task.name) {
            Some(TaskName::Number(number)) => PatchValue::Number(number.to_string()),
            _ => PatchValue::String(plan.task_name(task_ix).into_owned()),
        }
    }

    /// Returns an id for a new task, by the dialect's rule; `minted` is a fresh UUID.
    fn fresh_id(&self, _plan: &Plan, _minted: &str) -> Option<String> {
        None
    }

    /// Returns what a new task gets for a field that it must have and the user did not give.
    fn default_of(&self, _field: Field) -> Option<PatchValue> {
        None
    }

    /// Returns a field that a new task needs and has no default, with a value to begin with, as it is typed: `task_type=edit`.
    fn needed(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether a task without dependencies has no list of them.
    fn omits_empty_dependencies(&self) -> bool {
        false
    }

    /// Returns the status that a plan gets when tasks are added or removed, where it is another one.
    fn settled(&self, _status: Option<&str>, _tasks: &StateCounts) -> Option<&'static str> {
        None
    }

    /// Adds the fields of a task to write for what happened to it. States that its files cannot hold are kept elsewhere.
    fn record(&self, _located: &LocatedPlan<'_>, _recorded: &RecordedMove<'_>, _changes: &mut Vec<FieldEdit>) {}

    /// Returns the fields to write for what happened to a plan as a whole. Called for moves of its own table alone.
    fn record_plan(&self, _located: &LocatedPlan<'_>, _step: &PlanMove, _request: &PlanRequest<'_>) -> Vec<FieldEdit> {
        Vec::new()
    }

    /// Returns the fields of the plan to write for what happened to tasks, as if they were written after each request. Whether tasks may be started never depends on them.
    fn record_course(&self, _course: &RequestHistory<'_>) -> Vec<FieldEdit> {
        Vec::new()
    }
}

/// Plans of which each version has a file of its own.
pub trait Versions: Sync {
    /// Returns which version of which plan this is; none where its id does not say so.
    fn lineage(&self, plan: &Plan) -> Option<VersionLineage>;

    /// Returns the id of the next version of a plan, and the fields in which it differs.
    fn successor(&self, plan: &Plan, by: &str, now: &str) -> Option<Successor>;
}

/// A file of a workspace that names the plan in work.
pub trait PlanPointer: Sync {
    /// Returns where it is, relative to a workspace.
    fn place(&self) -> &'static str;

    /// Returns where it is, relative to the folder of a plan at a path; none where the path is not one of its plans.
    fn file(&self, path: &str) -> Option<&'static str>;

    /// Returns the folder of the plans that it may name, relative to its own; none where the path is another file's.
    fn neighbours(&self, path: &str) -> Option<&'static str>;

    /// Returns the plan that its text names, relative to its folder.
    fn target(&self, source: &SourceText) -> Option<String>;

    /// Returns its new text after a change of a plan; none where it stays unchanged.
    fn update(
        &self,
        old: Option<&SourceText>,
        plan: &Plan,
        pointing: Pointing,
        now: &str,
    ) -> Result<Option<String>, Unpointed>;
}

/// A document that is only a part of the files of a dialect.
pub trait Embedded: Sync {
    /// Returns the document that holds the tasks; none where the file has none.
    fn document(&self, source: &SourceText) -> Option<Parsed>;

    /// Makes the rest of a file follow an edit of its tasks; none where there is nothing to follow.
    fn follow(&self, edited: &TaskListEdit<'_>) -> Result<Option<Followed>, CannotFollow>;
}

/// What a planner must know to write plans of a dialect.
pub struct Planning {
    /// A guide in Markdown without headings: the form of a plan, each field that a planner may use, the rules that a check
    /// enforces, and an example.
    pub guide: &'static str,
    /// The same for new versions of plans in other forms, by their names.
    pub guides_of_forms: &'static [(&'static str, &'static str)],
    /// The command that derives plans from another document, where no planner writes them.
    pub derived_by: Option<&'static str>,
}

impl Planning {
    /// Returns the guide for a new version of a plan in one of its forms.
    pub fn guide_of(&self, form: &str) -> &'static str {
        let own = self.guides_of_forms.iter().find(|(own, _)| *own == form);
        own.map_or(self.guide, |(_, guide)| guide)
    }
}

/// Where the own tool of a dialect keeps files, other than the plans of a workspace.
pub struct Home {
    /// The places that its own tool keeps files in for a user, relative to the home folder, as globs.
    pub user_places: &'static [&'static str],
    /// Where its tool keeps the plan of a session, relative to the home folder; none where there are no sessions.
    pub session_place: Option<fn(session: &str) -> String>,
    /// The folder, below the one its plans live in, that its own tool moves plans to that are over.
    pub archive: Option<&'static str>,
}

/// Returns the branch that a plan names for its changes.
pub type BranchOfPlan = fn(plan: &Plan) -> Option<&str>;

/// The optional parts of a dialect. Those that are none are not there.
pub struct Facets {
    /// Writes its plans afresh; without it, nothing is converted to the dialect.
    pub writer: Option<&'static dyn DialectWriter>,
    /// The part of the prompt for a task that is the dialect's own, instead of the general one.
    pub prompt: Option<&'static str>,
    /// How its plans are changed; without it, they are read only.
    pub edits: Option<&'static dyn Edits>,
    /// Plans of which each version has a file of its own.
    pub versions: Option<&'static dyn Versions>,
    /// A file that names the plan in work.
    pub pointer: Option<&'static dyn PlanPointer>,
    /// A document that is only a part of its files.
    pub embedded: Option<&'static dyn Embedded>,
    /// What a planner must know.
    pub planning: Option<&'static Planning>,
    /// Where its own tool keeps other files.
    pub home: Option<&'static Home>,
    /// The branch that a plan names.
    pub branch: Option<BranchOfPlan>,
}

impl Facets {
    /// A dialect without optional parts.
    pub const NONE: Facets = Facets {
        writer: None,
        prompt: None,
        edits: None,
        versions: None,
        pointer: None,
        embedded: None,
        planning: None,
        home: None,
        branch: None,
    };
}
