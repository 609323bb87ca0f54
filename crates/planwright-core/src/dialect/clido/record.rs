//! The fields that clido records for a change of state: status, `skip`, notes.

use super::super::{RecordedMove, Recording};
use crate::document::patch::PlainValue;
use crate::edit::reasons::{causes, with_cause, with_line, with_new_line, without_cause};
use crate::edit::{FieldEdit, Owner};
use crate::plan::{Field, Plan, State, Verb};

pub(super) fn record(recording: &Recording<'_>) -> Vec<FieldEdit> {
    let mut changes = Vec::new();
    for recorded in recording.recorded_moves {
        record_task(recording.located.plan, recorded, &mut changes);
    }
    changes
}

fn record_task(plan: &Plan, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
    let step = &recorded.step;
    let owner = Owner::Task(step.task_ix);
    let task = &plan.tasks()[step.task_ix];
    if step.from != step.to {
        changes.push(FieldEdit::text(owner, Field::Status, plan.lifecycle.word_of(step.to)));
    }
    changes.extend(notes_change(plan, recorded));
    match step.to {
        State::Skipped if step.cause.is_none() => {
            changes.push(FieldEdit::set(owner, Field::Skip, PlainValue::Bool(true)))
        }
        State::Pending | State::Running if step.cause.is_none() && plan.value(task, Field::Skip).is_some() => {
            changes.push(FieldEdit::set(owner, Field::Skip, PlainValue::Bool(false)));
        }
        _ => {}
    }
}

/// Returns what becomes of a task's notes. They are for the agent that takes the task: what was there stays.
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
            // Who takes a task up again by its name does so for whatever reason it was skipped.
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
