//! Optional parts of a dialect, each a trait of its own. A dialect names the ones that it has.

use super::{
    CannotFollow, Followed, LocatedPlan, Pointing, Recording, RequestHistory, Successor, TaskListEdit, Unpointed,
    VersionLineage,
};
use crate::document::Parsed;
use crate::document::patch::PlainValue as PatchValue;
use crate::edit::{FieldEdit, PlanMove, PlanRequest};
use crate::plan::{Field, Plan, State, TaskName};
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

    /// Returns the fields of the plan that change when tasks are added or removed: `states` are those of the
    /// tasks that there are now.
    fn settled(&self, _plan: &Plan, _states: &[Option<State>]) -> Vec<(&'static str, PatchValue)> {
        Vec::new()
    }

    /// Returns the fields of the plan that record when it was changed.
    fn touched(&self, _now: &str) -> Vec<(&'static str, PatchValue)> {
        Vec::new()
    }

    /// Returns the fields of tasks to write for what happened to them. States that its files cannot hold are kept elsewhere.
    fn record(&self, _recording: &Recording<'_>) -> Vec<FieldEdit> {
        Vec::new()
    }

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
pub trait Planning: Sync {
    /// Returns a guide in Markdown without headings: the form of a plan, each field that a planner may use, the rules that a
    /// check enforces, and an example.
    fn guide(&self) -> &'static str;

    /// Returns the same for a new version of a plan in one of its forms.
    fn guide_of(&self, _form: &str) -> &'static str {
        self.guide()
    }

    /// Returns the command that derives plans from another document, where no planner writes them.
    fn derived_by(&self) -> Option<&'static str> {
        None
    }
}

/// Where the own tool of a dialect keeps files, other than the plans of a workspace.
pub trait Home: Sync {
    /// Returns the places that its own tool keeps files in for a user, relative to the home folder, as globs.
    fn user_places(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns where its tool keeps the plan of a session, relative to the home folder; none where there are no sessions.
    fn session_place(&self, _session: &str) -> Option<String> {
        None
    }

    /// Returns the folder, below the one its plans live in, that its own tool moves plans to that are over.
    fn archive(&self) -> Option<&'static str> {
        None
    }
}
