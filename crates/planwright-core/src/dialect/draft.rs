//! A plan without a text: a conversion extracts it from one dialect, and a writer consumes it. Fields that remain are lost and reported.

use super::find;
use crate::document::patch::PlainValue;
use crate::plan::lifecycle::TaskOrder;
use crate::plan::{self, Field, Priority, Slots};
use crate::text::Span;

/// A plan to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDraft {
    /// The dialect's form to write; the default if none.
    pub form: Option<String>,
    /// The fields of the plan itself, without those that follow from its tasks.
    pub head: Fields,
    /// The tasks in file order.
    pub tasks: Vec<DraftTask>,
    /// How many tasks may run in parallel.
    pub slots: Slots,
    /// The order among ready tasks.
    pub order: TaskOrder,
    /// Whether [`DraftTask::stage`] is used.
    pub has_stages: bool,
}

/// A task to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftTask {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its state.
    pub state: DraftState,
    /// Whether it must be skipped although it is pending.
    pub held: bool,
    /// The lowest starts first among ready tasks, if the plan orders by priority.
    pub priority: Priority,
    /// Its stage, if the plan has stages.
    pub stage: u32,
    /// It waits for all tasks of stages before this one.
    pub barrier: u32,
    /// The indexes of its dependencies, each once.
    pub dependencies: Vec<u32>,
    /// Its other fields.
    pub fields: Fields,
}

/// The state of a task in a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftState {
    /// Not started.
    Pending,
    /// Being worked on.
    Running,
    /// Finished.
    Done,
    /// Tried without success.
    Failed,
    /// Left out.
    Skipped,
    /// Waiting for something outside the plan, with the reason.
    Blocked(String),
}

impl DraftState {
    /// Returns it without its data.
    pub fn plain(&self) -> plan::State {
        match self {
            DraftState::Pending => plan::State::Pending,
            DraftState::Running => plan::State::Running,
            DraftState::Done => plan::State::Done,
            DraftState::Failed => plan::State::Failed,
            DraftState::Skipped => plan::State::Skipped,
            DraftState::Blocked(_) => plan::State::Blocked,
        }
    }

    /// Returns planwright's own word for it.
    pub fn as_str(&self) -> &'static str {
        self.plain().as_str()
    }

    /// Returns whether the task has ended.
    pub fn is_over(&self) -> bool {
        matches!(self, DraftState::Done | DraftState::Skipped)
    }

    /// Returns its word among those for pending, running, done, failed and skipped; a blocked task is pending.
    pub fn word(&self, words: &[&'static str; 5]) -> &'static str {
        words[match self {
            DraftState::Pending | DraftState::Blocked(_) => 0,
            DraftState::Running => 1,
            DraftState::Done => 2,
            DraftState::Failed => 3,
            DraftState::Skipped => 4,
        }]
    }
}

/// A field with its value and its span in the source text.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftField {
    /// Which field.
    pub field: Field,
    /// Its value.
    pub value: PlainValue,
    /// Its span; none for a value that was not read from a text.
    pub span: Option<Span>,
}

/// The fields of a plan or a task that are not written yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    given: Vec<DraftField>,
}

impl Fields {
    /// Adds a field.
    pub fn push(&mut self, field: Field, value: PlainValue, span: Option<Span>) {
        self.given.push(DraftField { field, value, span });
    }

    /// Sets a field to a text.
    pub fn set_text(&mut self, field: Field, text: impl Into<String>) {
        self.drop(field);
        self.push(field, PlainValue::String(text.into()), None);
    }

    /// Returns the fields.
    pub fn iter(&self) -> impl Iterator<Item = &DraftField> {
        self.given.iter()
    }

    /// Returns a field's value without taking it.
    pub fn get(&self, field: Field) -> Option<&PlainValue> {
        let given = self.given.iter().find(|given| given.field == field)?;
        Some(&given.value)
    }

    /// Returns a field's text without taking it; none if it is blank or not text.
    pub fn text(&self, field: Field) -> Option<&str> {
        match self.get(field)? {
            PlainValue::String(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// Takes a field.
    pub fn take(&mut self, field: Field) -> Option<PlainValue> {
        let at = self.given.iter().position(|given| given.field == field)?;
        Some(self.given.remove(at).value)
    }

    /// Takes a text that is not blank; another value stays.
    pub fn take_text(&mut self, field: Field) -> Option<String> {
        self.text(field)?;
        match self.take(field) {
            Some(PlainValue::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Takes a list of texts that is not empty; another value stays.
    pub fn take_texts(&mut self, field: Field) -> Option<Vec<PlainValue>> {
        let is_text = |value: &PlainValue| matches!(value, PlainValue::String(_));
        match self.get(field)? {
            PlainValue::Array(items) if !items.is_empty() && items.iter().all(is_text) => {}
            _ => return None,
        }
        match self.take(field) {
            Some(PlainValue::Array(items)) => Some(items),
            _ => None,
        }
    }

    /// Takes a whole number; another value stays.
    pub fn take_integer(&mut self, field: Field) -> Option<i64> {
        let number = self.integer(field)?;
        self.drop(field);
        Some(number)
    }

    /// Returns a whole number without taking it.
    pub fn integer(&self, field: Field) -> Option<i64> {
        match self.get(field)? {
            PlainValue::Number(number) => whole(number),
            _ => None,
        }
    }

    /// Removes a field whose value is implied.
    pub fn drop(&mut self, field: Field) {
        self.given.retain(|given| given.field != field);
    }

    /// Keeps only the fields that a function selects.
    pub fn retain(&mut self, keep: impl FnMut(&DraftField) -> bool) {
        self.given.retain(keep);
    }
}

fn whole(number: &str) -> Option<i64> {
    let as_float = || {
        let number = number.parse::<f64>().ok()?;
        let fits = number.fract() == 0.0 && number.abs() < 9e15;
        fits.then_some(number as i64)
    };
    number.parse().ok().or_else(as_float)
}

/// Returns whether a value is empty: null, an empty text or collection, or a dialect's default.
pub(crate) fn is_void(field: Field, value: &PlainValue) -> bool {
    match (field, value) {
        (_, PlainValue::Null) => true,
        // What it means is in the dependencies.
        (Field::Order, _) => true,
        // The name of its dialect is no kind of change.
        (Field::PlanKind, PlainValue::String(text)) if find(text).is_some() => true,
        (_, PlainValue::String(text)) => text.is_empty(),
        (_, PlainValue::Array(items)) => items.is_empty(),
        (_, PlainValue::Object(members)) => members.is_empty(),
        (Field::Parallelizable, PlainValue::Bool(value)) => *value,
        (Field::RetryCount, PlainValue::Number(number)) => number == "0",
        (Field::MaxRetries, PlainValue::Number(number)) => number == "3",
        (Field::Version, PlainValue::Number(number)) => number == "1",
        _ => false,
    }
}
