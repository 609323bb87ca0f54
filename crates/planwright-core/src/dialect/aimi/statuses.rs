//! The statuses of Aimi's stories: a word in v3, two booleans in v2.x; how they move, and the fields that a change writes.

use super::super::{Edits, LocatedPlan, RecordedMove, next_id};
use super::read_shared::missing_or_invalid;
use super::{Aimi, is_v2};
use crate::document::patch::PlainValue;
use crate::edit::reasons::with_new_line;
use crate::edit::{FieldEdit, Owner};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use crate::plan::{Field, Lifecycle, Machine, Plan, Slots, State, TaskOrder, Wording};

/// The words of v3 for pending, running, done, failed and skipped.
pub(super) const WORDS: [&str; 5] = ["pending", "in_progress", "completed", "failed", "skipped"];

/// The default number of parallel stories.
pub(super) const DEFAULT_SLOTS: u32 = 4;

pub(super) static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::Priority,
    slots: Slots::Fixed(DEFAULT_SLOTS),
    may_be_empty: false,
    words: WORDS,
    machine: Machine {
        skips_attempted: false,
        retry_stays_failed: true,
        ..Machine::PLAIN
    },
    wording: &WORDING,
};

pub(super) static V2_LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::Priority,
    slots: Slots::Fixed(1),
    may_be_empty: true,
    words: ["pending", "", "completed", "", "skipped"],
    machine: Machine {
        written: &[State::Pending, State::Done, State::Skipped],
        skips_attempted: false,
        ..Machine::PLAIN
    },
    wording: &WORDING,
};

/// The specification's sentences about the graph.
static WORDING: Wording = Wording {
    task: "story",
    self_dependency: |story| {
        (
            format!("Story {story} depends on itself."),
            format!("Remove \"{story}\" from {story}.dependsOn."),
        )
    },
    unknown_dependency: |story, reference| {
        (
            format!("Invalid tasks.json - {story}.dependsOn references \"{reference}\" which does not exist."),
            format!("Remove \"{reference}\" from {story}.dependsOn or add a story with id \"{reference}\"."),
        )
    },
    cycle: |path| {
        (
            format!("Invalid tasks.json - Circular dependency detected: {path}."),
            "Remove one of the dependency edges to break the cycle.".to_owned(),
        )
    },
    duplicate_id: |id| {
        (
            missing_or_invalid(id, "id"),
            format!("Give each story its own id: \"{id}\" is used twice."),
        )
    },
    empty: || {
        (
            "Invalid tasks.json - userStories is missing or invalid.".to_owned(),
            "Add at least one story to userStories.".to_owned(),
        )
    },
    after_stop: PLAIN_WORDING.after_stop,
    after_failure: "",
    stage: PLAIN_WORDING.stage,
    held: PLAIN_WORDING.held,
};

impl Edits for Aimi {
    fn fresh_id(&self, plan: &Plan, _minted: &str, _beside: Option<usize>) -> Option<String> {
        Some(next_id(plan, "US-", 3))
    }

    fn default_of(&self, field: Field) -> Option<PlainValue> {
        // The specification ends every story with this one.
        let criterion = || PlainValue::String("Typecheck passes".to_owned());
        (field == Field::Criteria).then(|| PlainValue::Array(vec![criterion()]))
    }

    fn record(&self, located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
        let RecordedMove { step, request } = recorded;
        let plan = located.plan;
        let owner = Owner::Task(step.task_ix);
        if is_v2(plan.form) {
            let mut set = |field, value: bool| {
                // Most files omit `skipped`: it is only added to be true.
                let is_there = plan.value(&plan.tasks()[step.task_ix], field).is_some();
                if value || is_there {
                    changes.push(FieldEdit::set(owner, field, PlainValue::Bool(value)));
                }
            };
            set(Field::Passes, step.to == State::Done);
            set(Field::Skipped, step.to == State::Skipped);
        } else {
            changes.push(FieldEdit::text(owner, Field::Status, plan.lifecycle.word_of(step.to)));
        }
        if let Some(note) = request.said() {
            let task = &plan.tasks()[step.task_ix];
            let notes = match plan.task_str(task, Field::Notes) {
                Some(notes) if request.keeps_notes => with_new_line(notes, &note),
                _ => note,
            };
            changes.push(FieldEdit::text(owner, Field::Notes, notes));
        }
    }
}
