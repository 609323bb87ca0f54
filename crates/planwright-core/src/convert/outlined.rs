//! Converts an outline, a plan read out of a model's answer, to a plan as a dialect's tool stores it.

use super::adopt::{PlanningRequest, speak};
use super::fresh::{draft_with, written};
use super::{ConversionRefusal, Imported};
use crate::dialect::draft::{DraftState, DraftTask, Fields, PlanDraft};
use crate::dialect::id_source::IdSource;
use crate::dialect::writer::WriterReport;
use crate::dialect::{Dialect, FieldTable};
use crate::document::patch::PlainValue;
use crate::outline::{Outline, OutlineTask};
use crate::plan::{self, Field, Priority};

/// Creates a stored plan from an outline. Its states are kept if the dialect can hold them; the notes report changes.
pub fn outlined_plan(
    outline: &Outline,
    dialect: &'static dyn Dialect,
    wish: &PlanningRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<Imported, ConversionRefusal> {
    let has_titles = has_titles(dialect);
    let tasks = outline.tasks.iter().map(|task| task_of(task, has_titles));
    let mut draft = draft_with(tasks.collect());
    speak(&mut draft, dialect, wish);
    let unheld = unheld_fields(dialect, &draft);
    for ((task, outlined), unheld) in draft.tasks.iter_mut().zip(&outline.tasks).zip(&unheld) {
        describe_unheld(task, outlined, unheld, has_titles);
    }
    let (text, changes) = written(dialect, draft, id_source)?;
    let notes = outline.guesses.iter().cloned().chain(changes).collect();
    Ok(Imported { text, notes })
}

/// Returns whether a dialect separates the title of a task from the text below it.
fn has_titles(dialect: &dyn Dialect) -> bool {
    let has = |table: &FieldTable, field: Field| table.fields.iter().any(|spec| spec.field == field);
    let mut tables = dialect.tables().iter().filter(|table| has(table, Field::Dependencies));
    tables.any(|table| has(table, Field::Title) || has(table, Field::Instructions))
}

/// Returns the fields of each task that the dialect's writer does not use.
fn unheld_fields(dialect: &dyn Dialect, draft: &PlanDraft) -> Vec<Vec<Field>> {
    let Some(writer) = dialect.writer() else {
        return Vec::new();
    };
    let mut tried = draft.clone();
    let mut n_ids = 0;
    let mut fresh = || {
        n_ids += 1;
        n_ids
    };
    // The written text is discarded.
    let mut id_source = IdSource::new("2026-01-01T00:00:00Z", &mut fresh);
    writer.compose(&mut tried, &mut id_source, &mut WriterReport::default());
    let left = |task: &DraftTask| task.fields.iter().map(|given| given.field).collect();
    tried.tasks.iter().map(left).collect()
}

/// Adds the fields that its dialect cannot hold to a task's description.
fn describe_unheld(task: &mut DraftTask, outlined: &OutlineTask, unheld: &[Field], has_titles: bool) {
    let mut parts = Vec::new();
    for (field, label, texts) in [
        (Field::Files, "Files", &outlined.files),
        (Field::Criteria, "Acceptance", &outlined.criteria),
    ] {
        if unheld.contains(&field) {
            parts.push(match (field, texts.as_slice()) {
                (Field::Criteria, [_, _, ..]) => format!("{label}:\n- {}", texts.join("\n- ")),
                _ => format!("{label}: {}", texts.join(", ")),
            });
            task.fields.drop(field);
        }
    }
    if unheld.contains(&Field::Notes) {
        parts.extend(Some(notes_of(outlined)).filter(|notes| !notes.is_empty()));
        task.fields.drop(Field::Notes);
    }
    if parts.is_empty() {
        return;
    }
    let mut described = outlined.clone();
    described.details.append(&mut parts);
    task.fields
        .set_text(Field::Description, description_of(&described, has_titles));
}

fn task_of(task: &OutlineTask, has_titles: bool) -> DraftTask {
    let mut fields = Fields::default();
    let mut push_text = |field: Field, text: String| {
        if !text.is_empty() {
            fields.push(field, PlainValue::String(text), None);
        }
    };
    push_text(Field::Title, task.title.clone());
    push_text(Field::Description, description_of(task, has_titles));
    push_text(Field::Notes, notes_of(task));
    for (field, texts) in [(Field::Files, &task.files), (Field::Criteria, &task.criteria)] {
        if !texts.is_empty() {
            let texts = texts.iter().cloned().map(PlainValue::String);
            fields.push(field, PlainValue::Array(texts.collect()), None);
        }
    }
    DraftTask {
        id: task.id.clone(),
        state: match task.state {
            Some(plan::State::Running) => DraftState::Running,
            Some(plan::State::Done) => DraftState::Done,
            Some(plan::State::Failed) => DraftState::Failed,
            Some(plan::State::Skipped) => DraftState::Skipped,
            Some(plan::State::Pending | plan::State::Blocked) | None => DraftState::Pending,
        },
        held: false,
        priority: Priority(1.0),
        stage: 0,
        barrier: 0,
        dependencies: task.dependencies.iter().map(|&place| place as u32).collect(),
        fields,
    }
}

/// Returns the text below the title, and the details; with the title before it if the dialect has one field for both.
fn description_of(task: &OutlineTask, has_titles: bool) -> String {
    let parts = [task.description.trim().to_owned(), task.details.join("\n")];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    let description = parts.join("\n\n");
    if description.is_empty() || has_titles || description.starts_with(&task.title) {
        return description;
    }
    format!("{}\n\n{description}", task.title)
}

/// Returns the content of fields that dialects do not have, in words.
fn notes_of(task: &OutlineTask) -> String {
    let group = task.group.as_ref().map(|group| format!("Part of: {group}"));
    let optional = task.is_optional.then(|| "Optional.".to_owned());
    let notes: Vec<String> = group.into_iter().chain(optional).collect();
    notes.join("\n")
}
