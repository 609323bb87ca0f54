//! The statuses of clido tasks: the effects of a failure and a skip, and the fields that a change of state writes.

use super::super::{Edits, LocatedPlan, RecordedMove, next_id_in_style};
use super::Clido;
use crate::document::patch::PlainValue;
use crate::edit::reasons::{causes, with_cause, with_line, with_new_line, without_cause};
use crate::edit::{FieldEdit, Owner};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use crate::plan::{Field, Lifecycle, Machine, Plan, Slots, State, TaskOrder, Verb};

/// clido's policy: a failure skips its dependents; four tasks at once.
pub(super) static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsSkipped,
    order: TaskOrder::File,
    slots: Slots::Fixed(4),
    may_be_empty: true,
    words: ["pending", "running", "done", "failed", "skipped"],
    machine: Machine::PLAIN,
    wording: &PLAIN_WORDING,
};

impl Edits for Clido {
    fn fresh_id(&self, plan: &Plan, _minted: &str, _beside: Option<usize>) -> Option<String> {
        Some(next_id_in_style(plan, "t"))
    }

    fn record(&self, located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
        let (plan, step) = (located.plan, &recorded.step);
        let owner = Owner::Task(step.task_ix);
        if step.from != step.to {
            changes.push(FieldEdit::text(owner, Field::Status, plan.lifecycle.word_of(step.to)));
        }
        changes.extend(notes_change(plan, recorded));
        let mut skip = |value| changes.push(FieldEdit::set(owner, Field::Skip, PlainValue::Bool(value)));
        let is_set = || plan.value(&plan.tasks()[step.task_ix], Field::Skip).is_some();
        match step.to {
            State::Skipped if step.cause.is_none() => skip(true),
            State::Pending | State::Running if step.cause.is_none() && is_set() => skip(false),
            _ => {}
        }
    }
}

/// Returns the change of a task's notes. They are for the task's agent: existing text stays.
fn notes_change(plan: &Plan, recorded: &RecordedMove<'_>) -> Option<FieldEdit> {
    let RecordedMove { step, request } = recorded;
    let old = plan.task_str(&plan.tasks()[step.task_ix], Field::Notes);
    let owner = Owner::Task(step.task_ix);
    let causes = causes(plan, step.task_ix);
    let mut notes = old.map(str::to_owned);
    match step.cause.map(|cause| plan.task_name(cause)) {
        Some(cause) if request.verb == Verb::Fail => {
            if !causes.contains(&&*cause) {
                notes = Some(with_cause(old, &cause));
            }
        }
        Some(cause) => notes = notes.and_then(|notes| without_cause(&notes, &cause)),
        None => {
            // A verb that names a skipped task clears every skip cause.
            for cause in causes.iter().filter(|_| step.from == State::Skipped) {
                notes = notes.and_then(|notes| without_cause(&notes, cause));
            }
            if let Some(note) = request.note {
                let old = notes.as_deref().unwrap_or("");
                notes = Some(match request.keeps_notes {
                    true => with_new_line(old, note),
                    false => with_line(old, note),
                });
            }
        }
    }
    match notes {
        notes if notes.as_deref() == old => None,
        Some(notes) => Some(FieldEdit::text(owner, Field::Notes, notes)),
        None => Some(FieldEdit::remove(owner, Field::Notes)),
    }
}
