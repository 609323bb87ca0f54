//! The fields that Aimi records for a change of state: a status in v3, two booleans in v2.x, and a note.

use super::super::{RecordedMove, Recording};
use super::v2;
use crate::document::patch::PlainValue;
use crate::edit::reasons::with_new_line;
use crate::edit::{FieldEdit, Owner};
use crate::plan::{Field, State};

pub(super) fn record(recording: &Recording<'_>) -> Vec<FieldEdit> {
    let plan = recording.located.plan;
    let mut changes = Vec::new();
    for RecordedMove { step, request } in recording.recorded_moves {
        let owner = Owner::Task(step.task_ix);
        if v2::is_form(plan.form) {
            let mut set = |field, value: bool| {
                // `skipped` is left out of most files: it is added only to say yes.
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
    changes
}
