//! From an outline, which is a plan read out of a model's answer, to the plan that a dialect's tool stores.

use super::adopt::{Wish, speak};
use super::fresh::{draft_with, written};
use super::{Imported, Refused};
use crate::dialect::draft::{DraftTask, Fields, State};
use crate::dialect::mint::Mint;
use crate::dialect::{Dialect, Table};
use crate::document::patch::Value;
use crate::outline::{Outline, OutlineTask};
use crate::plan::{self, Field, Priority};

/// Makes a stored plan of an outline. Its states are kept where the dialect can hold them; the notes say what was changed.
pub fn outlined_plan(
    outline: &Outline,
    dialect: &'static dyn Dialect,
    wish: &Wish<'_>,
    mint: &mut Mint<'_>,
) -> Result<Imported, Refused> {
    let mut draft = draft_with(
        outline
            .tasks
            .iter()
            .map(|task| task_of(task, has_titles(dialect)))
            .collect(),
    );
    speak(&mut draft, dialect, wish);
    let (text, changes) = written(dialect, draft, mint)?;
    let notes = outline.guesses.iter().cloned().chain(changes).collect();
    Ok(Imported { text, notes })
}

/// Returns whether a dialect keeps the title of a task apart from the text below it.
fn has_titles(dialect: &dyn Dialect) -> bool {
    let has = |table: &Table, field: Field| table.fields.iter().any(|spec| spec.field == field);
    let mut tables = dialect.tables().iter().filter(|table| has(table, Field::Dependencies));
    tables.any(|table| has(table, Field::Title) || has(table, Field::Instructions))
}

fn task_of(task: &OutlineTask, has_titles: bool) -> DraftTask {
    let mut fields = Fields::default();
    let mut push_text = |field: Field, text: String| {
        if !text.is_empty() {
            fields.push(field, Value::String(text), None);
        }
    };
    push_text(Field::Title, task.title.clone());
    push_text(Field::Description, description_of(task, has_titles));
    push_text(Field::Notes, notes_of(task));
    for (field, texts) in [(Field::Files, &task.files), (Field::Criteria, &task.criteria)] {
        if !texts.is_empty() {
            let texts = texts.iter().cloned().map(Value::String);
            fields.push(field, Value::Array(texts.collect()), None);
        }
    }
    DraftTask {
        id: task.id.clone(),
        state: match task.state {
            Some(plan::State::Running) => State::Running,
            Some(plan::State::Done) => State::Done,
            Some(plan::State::Failed) => State::Failed,
            Some(plan::State::Skipped) => State::Skipped,
            Some(plan::State::Pending | plan::State::Blocked) | None => State::Pending,
        },
        held: false,
        priority: Priority(1.0),
        stage: 0,
        dependencies: task.dependencies.iter().map(|&place| place as u32).collect(),
        fields,
    }
}

/// Returns the text below the title; with the title before it where a dialect keeps both in one field.
fn description_of(task: &OutlineTask, has_titles: bool) -> String {
    let description = task.description.trim();
    if description.is_empty() || has_titles || description.starts_with(&task.title) {
        return description.to_owned();
    }
    format!("{}\n\n{description}", task.title)
}

/// Returns what dialects have no field for, in words.
fn notes_of(task: &OutlineTask) -> String {
    let group = task.group.as_ref().map(|group| format!("Part of: {group}"));
    let optional = task.is_optional.then(|| "Optional.".to_owned());
    let notes: Vec<String> = group.into_iter().chain(optional).collect();
    notes.join("\n")
}
