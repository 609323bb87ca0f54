//! Changes in terms of the plan: the effect of a verb on a task and on related tasks, and the fields to write. Does not know bytes or
//! dialects.

mod approval;
pub mod moves;
pub(crate) mod reasons;
mod working_plan;

use crate::document::patch::PlainValue;
use crate::document::route::RouteStep;
use crate::plan::{Field, PlanVerb, State, Verb};

pub(crate) use approval::plan_move;
pub use approval::{PlanMove, PlanRefused};
pub use moves::VerbRefusal;
pub use reasons::skipped_for_failures_of;
pub(crate) use working_plan::{StopEditing, WorkingPlan};

/// A request to apply a verb to a task.
#[derive(Clone, Copy, Debug)]
pub struct VerbRequest<'a> {
    /// The verb to apply.
    pub verb: Verb,
    /// The user's reason.
    pub note: Option<&'a str>,
    /// The output of the work.
    pub output: Option<&'a str>,
    /// The files that the work touched.
    pub files: &'a [String],
    /// The author.
    pub by: Option<&'a str>,
    /// The user who typed it, if no author was given and the plan names no agent for the task.
    pub user: Option<&'a str>,
    /// The time, as RFC 3339 in UTC.
    pub now: &'a str,
    /// Whether to start a task that is not ready, and to reopen a done one.
    pub force: bool,
    /// Whether skipping extends to dependents, if the dialect does so.
    pub cascade: bool,
    /// Whether the notes of a task stay unchanged: the request's note is stored elsewhere, or added to the notes if there is no other
    /// place.
    pub keeps_notes: bool,
    /// With `retry`: whether the task starts at once.
    pub starts: bool,
    /// The agent's report about its work, if there is one.
    pub work: Option<&'a WorkReport>,
}

/// An agent's report about its work on a task, without its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReport {
    /// The tools that it used, in order.
    pub tools: Vec<ToolCall>,
    /// The agent's view of its work.
    pub reflection: Option<String>,
}

/// One use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// Its subject; empty if unknown.
    pub input: String,
    /// The time, as RFC 3339 in UTC.
    pub at: String,
    /// Whether it was denied, or reported an error.
    pub has_failed: bool,
}

impl<'a> VerbRequest<'a> {
    /// Returns a request with only a verb and a time.
    pub fn new(verb: Verb, now: &'a str) -> Self {
        VerbRequest {
            verb,
            note: None,
            output: None,
            files: &[],
            by: None,
            user: None,
            now,
            force: false,
            cascade: true,
            keeps_notes: false,
            starts: false,
            work: None,
        }
    }

    /// Returns the output and the note as one text, for dialects with one field for both.
    pub fn said(&self) -> Option<String> {
        let is_there = |said: &&str| !said.is_empty();
        match (self.output.filter(is_there), self.note.filter(is_there)) {
            (Some(output), Some(note)) => Some(format!("{output}\n{note}")),
            (None, None) => self.output.or(self.note).map(str::to_owned),
            (output, note) => output.or(note).map(str::to_owned),
        }
    }
}

/// A request to apply a verb to a whole plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// The verb to apply.
    pub verb: PlanVerb,
    /// The user's reason.
    pub note: Option<&'a str>,
    /// The author.
    pub by: Option<&'a str>,
    /// The time, as RFC 3339 in UTC.
    pub now: &'a str,
}

impl<'a> PlanRequest<'a> {
    /// Returns a request with only a verb and a time.
    pub fn new(verb: PlanVerb, now: &'a str) -> Self {
        PlanRequest {
            verb,
            note: None,
            by: None,
            now,
        }
    }
}

/// A state transition of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The task.
    pub task_ix: usize,
    /// Its state before.
    pub from: State,
    /// Its state after; the same if only a note changes.
    pub to: State,
    /// The task whose move caused this one; none for the requested task.
    pub cause: Option<usize>,
}

impl Move {
    /// Returns whether the plan file must record it: a failed task that is only offered again stays unchanged.
    pub fn is_written(&self) -> bool {
        self.from != self.to || self.cause.is_some()
    }
}

/// The owner of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The object that holds the list of tasks.
    Plan,
    /// A task, by its index in the model.
    Task(usize),
    /// A group of tasks, by its index in the model.
    Group(usize),
}

/// An edit of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldEdit {
    /// The owner of the field.
    pub owner: Owner,
    /// Which.
    pub field: Field,
    /// The route from there, for a part of a field.
    pub within: Vec<RouteStep>,
    /// The action.
    pub action: FieldAction,
}

/// The action on a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldAction {
    /// Set it to this value, and add it if it is missing.
    Set(PlainValue),
    /// Remove it, if it exists.
    Remove,
    /// Add this element at the end of the list, which is created if it is missing.
    Push(PlainValue),
}

impl FieldEdit {
    /// Returns an edit that sets a field to a value.
    pub fn set(owner: Owner, field: Field, value: PlainValue) -> Self {
        FieldEdit {
            owner,
            field,
            within: Vec::new(),
            action: FieldAction::Set(value),
        }
    }

    /// Returns an edit that sets a field to a text.
    pub fn text(owner: Owner, field: Field, text: impl Into<String>) -> Self {
        FieldEdit::set(owner, field, PlainValue::String(text.into()))
    }

    /// Returns an edit that removes a field.
    pub fn remove(owner: Owner, field: Field) -> Self {
        FieldEdit {
            owner,
            field,
            within: Vec::new(),
            action: FieldAction::Remove,
        }
    }

    /// Returns an edit that adds an element to a list.
    pub fn push(owner: Owner, field: Field, value: PlainValue) -> Self {
        FieldEdit {
            owner,
            field,
            within: Vec::new(),
            action: FieldAction::Push(value),
        }
    }

    /// Returns the same edit for a part of the field.
    #[must_use]
    pub fn within(mut self, steps: impl IntoIterator<Item = RouteStep>) -> Self {
        self.within.extend(steps);
        self
    }
}
