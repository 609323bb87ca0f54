//! Optional parts of a dialect, each a trait or a table of its own. A dialect names the ones that it has.

use super::{
    CannotFollow, DialectWriter, Followed, LocatedPlan, PointerRefusal, PointerUpdate, RecordedMove, RequestHistory,
    Successor, TaskListEdit, VersionLineage,
};
use crate::document::patch::PlainValue as PatchValue;
use crate::document::{OwnNotation, Parsed};
use crate::edit::{FieldEdit, PlanMove, PlanRequest};
use crate::plan::{Field, Plan, StateCounts, TaskName};
use crate::text::SourceText;

/// How plans of a dialect are changed. A dialect without it is read-only.
pub trait Edits: Sync {
    /// Returns why plans of this form cannot be changed, and the help.
    fn refuses_changes(&self, _plan: &Plan) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns the number of the first task, if tasks are named by their position in the list.
    fn numbering(&self, _plan: &Plan) -> Option<usize> {
        None
    }

    /// Returns the form of a reference to a task.
    fn reference(&self, plan: &Plan, task_ix: usize) -> PatchValue {
        match plan.tasks().get(task_ix).map(|task| task.name) {
            Some(TaskName::Number(number)) => PatchValue::Number(number.to_string()),
            _ => PatchValue::String(plan.task_name(task_ix).into_owned()),
        }
    }

    /// Returns an id for a new task, by the dialect's rule; `minted` is a new UUID, `beside` the task that it is placed next to, if any.
    fn fresh_id(&self, _plan: &Plan, _minted: &str, _beside: Option<usize>) -> Option<String> {
        None
    }

    /// Returns the default of a required field for a new task.
    fn default_of(&self, _field: Field) -> Option<PatchValue> {
        None
    }

    /// Returns a required field of a new task without a default, with an example value as typed: `task_type=edit`.
    fn needed(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether a task without dependencies omits their list.
    fn omits_empty_dependencies(&self) -> bool {
        false
    }

    /// Returns the text with the line that says that it is a plan, and which order holds; the variant's own without one. None if plans of
    /// the dialect are recognised without such a line.
    fn adopted(&self, _plan: &Plan, _order: Option<&str>) -> Option<Result<String, CannotFollow>> {
        None
    }

    /// Returns the marks of groups to write when an open task comes or goes.
    fn regrouped(&self, _plan: &Plan, _change: GroupChange) -> Vec<FieldEdit> {
        Vec::new()
    }

    /// Returns the new status of a plan after tasks are added or removed, if it changes.
    fn settled(&self, _status: Option<&str>, _tasks: &StateCounts) -> Option<&'static str> {
        None
    }

    /// Adds the fields of a task to write for a move. States that its files cannot hold are stored elsewhere.
    fn record(&self, _located: &LocatedPlan<'_>, _recorded: &RecordedMove<'_>, _changes: &mut Vec<FieldEdit>) {}

    /// Returns the fields to write for a move of a whole plan. Called only for moves of its own table.
    fn record_plan(&self, _located: &LocatedPlan<'_>, _step: &PlanMove, _request: &PlanRequest<'_>) -> Vec<FieldEdit> {
        Vec::new()
    }

    /// Returns the fields of the plan to write for moves of tasks, as if they were written after each request. They never decide whether a
    /// task may start.
    fn record_course(&self, _course: &RequestHistory<'_>) -> Vec<FieldEdit> {
        Vec::new()
    }
}

/// A change of the tasks of groups.
#[derive(Clone, Copy, Debug)]
pub enum GroupChange {
    /// An open task joins the groups of another, or comes to the end of the list.
    Joined {
        /// That task.
        beside: Option<usize>,
    },
    /// A task leaves its groups.
    Left {
        /// Its index.
        task_ix: usize,
    },
}

/// Versions of plans in separate files.
pub trait Versions: Sync {
    /// Returns the number of this version and its plan; none if its id does not contain them.
    fn lineage(&self, plan: &Plan) -> Option<VersionLineage>;

    /// Returns the id of the next version of a plan, and the fields in which it differs.
    fn successor(&self, plan: &Plan, by: &str, now: &str) -> Option<Successor>;
}

/// A file of a workspace that names the active plan.
pub trait PlanPointer: Sync {
    /// Returns its path, relative to a workspace.
    fn place(&self) -> &'static str;

    /// Returns its path, relative to the folder of a plan at a path; none if the path is not one of its plans.
    fn file(&self, path: &str) -> Option<&'static str>;

    /// Returns the folder of the plans that it may name, relative to its own; none if the path is another file's.
    fn neighbours(&self, path: &str) -> Option<&'static str>;

    /// Returns the plan that its text names, relative to its folder.
    fn target(&self, source: &SourceText) -> Option<String>;

    /// Returns its new text after a change of a plan; none if it stays unchanged.
    fn update(
        &self,
        old: Option<&SourceText>,
        plan: &Plan,
        pointing: PointerUpdate,
        now: &str,
    ) -> Result<Option<String>, PointerRefusal>;
}

/// A document that is only a part of a dialect's files.
pub trait Embedded: Sync {
    /// Returns the document with the tasks; none if the file has none.
    fn document(&self, source: &SourceText) -> Option<Parsed>;

    /// Updates the rest of a file after an edit of its tasks; none if nothing changes.
    fn follow(&self, edited: &TaskListEdit<'_>) -> Result<Option<Followed>, CannotFollow>;
}

/// The instructions for planners of a dialect.
pub struct Planning {
    /// A guide in Markdown without headings: the form of a plan, its fields for planners, the rules of a check, and an example.
    pub guide: &'static str,
    /// The guides for new versions of plans in other forms, by their names.
    pub guides_of_forms: &'static [(&'static str, &'static str)],
    /// The command that derives plans from another document, if no planner writes them.
    pub derived_by: Option<&'static str>,
}

impl Planning {
    /// Returns the guide for a new version of a plan in one of its forms.
    pub fn guide_of(&self, form: &str) -> &'static str {
        let own = self.guides_of_forms.iter().find(|(own, _)| *own == form);
        own.map_or(self.guide, |(_, guide)| guide)
    }
}

/// Where the own tool of a dialect stores files, other than the plans of a workspace.
pub struct Home {
    /// The paths where its own tool stores files for a user, relative to the home folder, as globs.
    pub user_places: &'static [&'static str],
    /// The path where its tool stores the plan of a session, relative to the home folder; none without sessions.
    pub session_place: Option<fn(session: &str) -> String>,
    /// The folder, relative to its plans, to which its own tool moves finished plans.
    pub archive: Option<&'static str>,
}

/// Returns the notation of a text, which may depend on its path.
pub type NotationOfText = fn(source: &SourceText, path: Option<&str>) -> OwnNotation;

/// Returns the branch that a plan names for its changes.
pub type BranchOfPlan = fn(plan: &Plan) -> Option<&str>;

/// The optional parts of a dialect; none means that it lacks the part.
pub struct Facets {
    /// Writes new plans; without it, nothing can be converted to the dialect.
    pub writer: Option<&'static dyn DialectWriter>,
    /// The dialect's own part of the prompt for a task, instead of the general one.
    pub prompt: Option<&'static str>,
    /// How its plans are changed; without it, they are read-only.
    pub edits: Option<&'static dyn Edits>,
    /// Versions of plans in separate files.
    pub versions: Option<&'static dyn Versions>,
    /// The file that names the active plan.
    pub pointer: Option<&'static dyn PlanPointer>,
    /// A document that is only a part of its files.
    pub embedded: Option<&'static dyn Embedded>,
    /// The notation of its files, if that is neither JSON nor YAML: the whole file is a document of the dialect.
    pub notation: Option<NotationOfText>,
    /// The instructions for planners.
    pub planning: Option<&'static Planning>,
    /// Where its own tool stores other files.
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
        notation: None,
        planning: None,
        home: None,
        branch: None,
    };
}
