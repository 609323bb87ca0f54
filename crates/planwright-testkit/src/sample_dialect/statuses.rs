//! The statuses of entries: ticked or not. All others are in planwright's journal.

use planwright_core::dialect::{Edits, LocatedPlan, RecordedMove};
use planwright_core::document::patch::PlainValue;
use planwright_core::edit::{FieldEdit, Owner};
use planwright_core::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use planwright_core::plan::{Field, Lifecycle, Machine, Plan, Slots, State, TaskOrder};

use super::Todo;

pub(super) static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::File,
    slots: Slots::Fixed(2),
    may_be_empty: true,
    words: ["open", "", "ticked", "", ""],
    machine: Machine {
        written: &[State::Pending, State::Done],
        ..Machine::PLAIN
    },
    wording: &PLAIN_WORDING,
};

impl Edits for Todo {
    fn fresh_id(&self, plan: &Plan, _minted: &str, _beside: Option<usize>) -> Option<String> {
        let is_free = |name: &String| (0..plan.tasks().len()).all(|task_ix| plan.task_name(task_ix) != name.as_str());
        (1..).map(|n| format!("entry-{n}")).find(is_free)
    }

    fn record(&self, _located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
        let owner = Owner::Task(recorded.step.task_ix);
        let is_done = PlainValue::Bool(recorded.step.to == State::Done);
        changes.push(FieldEdit::set(owner, Field::Passes, is_done));
        changes.extend(
            recorded
                .request
                .said()
                .map(|note| FieldEdit::text(owner, Field::Notes, note)),
        );
    }
}
