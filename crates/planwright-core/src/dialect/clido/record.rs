//! What clido keeps of a task's fate: status, `skip`, notes.

use super::super::Recording;
use crate::document::patch::Value;
use crate::edit::moves::{cause_line, with_line, without_line};
use crate::edit::{Change, Move, Owner};
use crate::plan::{Field, State, Verb};

pub(super) fn record(recording: &Recording<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for step in recording.moves {
        record_task(recording, step, &mut changes);
    }
    changes
}

fn record_task(recording: &Recording<'_>, step: &Move, changes: &mut Vec<Change>) {
    let plan = recording.located.plan;
    let request = recording.request;
    let owner = Owner::Task(step.task_ix);
    let task = &plan.tasks()[step.task_ix];
    if step.from != step.to {
        let word = match step.to {
            State::Pending | State::Blocked => "pending",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Skipped => "skipped",
        };
        changes.push(Change::text(owner, Field::Status, word));
    }
    let notes = plan.task_str(task, Field::Notes).unwrap_or("");
    let new_notes = match (step.cause, step.to) {
        (Some(cause), State::Skipped) if request.verb == Verb::Fail => {
            let line = cause_line(&plan.task_name(cause));
            (!notes.lines().any(|own| own == line)).then(|| with_line(notes, &line))
        }
        (Some(cause), _) => Some(without_line(notes, &cause_line(&plan.task_name(cause)))),
        // The notes are for the agent that takes the task: what was there stays.
        (None, _) => request.note.map(|note| with_line(notes, note)),
    };
    if let Some(notes) = new_notes.filter(|new| new != notes) {
        changes.push(Change::text(owner, Field::Notes, notes));
    }
    match step.to {
        State::Skipped if step.cause.is_none() => changes.push(Change::set(owner, Field::Skip, Value::Bool(true))),
        State::Pending | State::Running if step.cause.is_none() && plan.value(task, Field::Skip).is_some() => {
            changes.push(Change::set(owner, Field::Skip, Value::Bool(false)));
        }
        _ => {}
    }
}
