//! From an outline, which is a plan read out of a model's answer, to the plan that a dialect's tool stores.

use super::adopt::{Wish, speak};
use super::fresh::{draft_with, written};
use super::{Imported, Refused};
use crate::dialect::Dialect;
use crate::dialect::draft::{DraftTask, Fields, State};
use crate::dialect::mint::Mint;
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
    let mut draft = draft_with(outline.tasks.iter().map(task_of).collect());
    speak(&mut draft, dialect, wish);
    let (text, changes) = written(dialect, draft, mint)?;
    let notes = outline.guesses.iter().cloned().chain(changes).collect();
    Ok(Imported { text, notes })
}

fn task_of(task: &OutlineTask) -> DraftTask {
    let mut fields = Fields::default();
    let mut push_text = |field: Field, text: String| {
        if !text.is_empty() {
            fields.push(field, Value::String(text), None);
        }
    };
    push_text(Field::Title, task.title.clone());
    push_text(Field::Description, description_of(task));
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

/// Returns what is known of a task besides its title. Dialects have no field for groups and marks, so that they are sentences.
fn description_of(task: &OutlineTask) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !task.description.trim().is_empty() {
        parts.push(task.description.trim().to_owned());
    }
    if let Some(group) = &task.group {
        parts.push(format!("Part of: {group}"));
    }
    if task.is_optional {
        parts.push("Optional.".to_owned());
    }
    parts.join("\n\n")
}
