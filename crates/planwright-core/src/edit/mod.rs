//! Changes in terms of the plan: the effect of a verb on a task and on related tasks, and the fields to write. Knows no bytes and
//! no dialect.

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
pub(crate) use working_plan::{Halt, WorkingPlan};

/// A request to apply a verb to a task.
#[derive(Clone, Copy, Debug)]
pub struct VerbRequest<'a> {
    /// What to do.
    pub verb: Verb,
    /// Why, in the user's words.
    pub note: Option<&'a str>,
    /// What came out of the work.
    pub output: Option<&'a str>,
    /// The files that the work touched.
    pub files: &'a [String],
    /// Who did it.
    pub by: Option<&'a str>,
    /// The user who typed it, where no name was given and the plan names no agent for the task.
    pub user: Option<&'a str>,
    /// The time, as RFC 3339 in UTC.
    pub now: &'a str,
    /// Whether to start what is not ready, and to reopen what is done.
    pub force: bool,
    /// Whether skipping goes on to dependents, where the dialect has it so.
    pub cascade: bool,
    /// Whether the notes of a task stay as they are: what is said is kept elsewhere, or added to them where there is nothing else.
    pub keeps_notes: bool,
    /// With `retry`: whether the task starts at once.
    pub starts: bool,
    /// How the work went, where an agent told.
    pub work: Option<&'a WorkReport>,
}

/// What an agent told about its work on a task, beside what came out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReport {
    /// The tools that it used, in order.
    pub tools: Vec<ToolCall>,
    /// What it thinks of its work.
    pub reflection: Option<String>,
}

/// One use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// What it was used on; empty where that is not known.
    pub input: String,
    /// When, as RFC 3339 in UTC.
    pub at: String,
    /// Whether it was denied, or reported an error.
    pub has_failed: bool,
}

impl<'a> VerbRequest<'a> {
    /// Returns a request with nothing but a verb and a time.
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

    /// Returns what was said about the work, for where there is one place for it: what came out of it, then why.
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
    /// What to do.
    pub verb: PlanVerb,
    /// Why, in the user's words.
    pub note: Option<&'a str>,
    /// Who asks.
    pub by: Option<&'a str>,
    /// The time, as RFC 3339 in UTC.
    pub now: &'a str,
}

impl<'a> PlanRequest<'a> {
    /// Returns a request with nothing but a verb and a time.
    pub fn new(verb: PlanVerb, now: &'a str) -> Self {
        PlanRequest {
            verb,
            note: None,
            by: None,
            now,
        }
    }
}

/// One task's way from a state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The task.
    pub task_ix: usize,
    /// Its state before.
    pub from: State,
    /// Its state after; the same where only a note about it changes.
    pub to: State,
    /// The task whose move brought this one about; none for the task that was asked for.
    pub cause: Option<usize>,
}

impl Move {
    /// Returns whether the plan file has to have it: a failed task that is only offered again stays as it is.
    pub fn is_written(&self) -> bool {
        self.from != self.to || self.cause.is_some()
    }
}

/// Whose field it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The object that holds the list of tasks.
    Plan,
    /// A task, by its place in the model.
    Task(usize),
}

/// One field to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldEdit {
    /// Whose field.
    pub owner: Owner,
    /// Which.
    pub field: Field,
    /// The way on from there, for a part of a field.
    pub within: Vec<RouteStep>,
    /// What to do.
    pub action: FieldAction,
}

/// What to do with a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldAction {
    /// Give it this value, adding it where it is absent.
    Set(PlainValue),
    /// Remove it, if it is there.
    Remove,
    /// Add this element at the end of the list, which is made where it is absent.
    Push(PlainValue),
}

impl FieldEdit {
    /// Gives a field a value.
    pub fn set(owner: Owner, field: Field, value: PlainValue) -> Self {
        FieldEdit {
            owner,
            field,
            within: Vec::new(),
            action: FieldAction::Set(value),
        }
    }

    /// Gives a field a text.
    pub fn text(owner: Owner, field: Field, text: impl Into<String>) -> Self {
        FieldEdit::set(owner, field, PlainValue::String(text.into()))
    }

    /// Removes a field.
    pub fn remove(owner: Owner, field: Field) -> Self {
        FieldEdit {
            owner,
            field,
            within: Vec::new(),
            action: FieldAction::Remove,
        }
    }

    /// Adds an element to a list.
    pub fn push(owner: Owner, field: Field, value: PlainValue) -> Self {
        FieldEdit {
            owner,
            field,
            within: Vec::new(),
            action: FieldAction::Push(value),
        }
    }

    /// Returns the same change of a part of the field.
    #[must_use]
    pub fn within(mut self, steps: impl IntoIterator<Item = RouteStep>) -> Self {
        self.within.extend(steps);
        self
    }
}
