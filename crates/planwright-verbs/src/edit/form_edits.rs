//! The changes in the edited text of a task's form: other values of fields, other dependencies, another id.

use planwright_core::change::tasks::Edit;
use planwright_core::inspect::LinkedPlan;
use planwright_run::revise::{ReviseError, task_named};

use super::task_form::{FormFields, FormValue, SpecialFields};
use crate::changes::tasks_named;

/// A field with another value, or none.
pub(super) struct FieldChange {
    pub(super) name: String,
    /// The value in the form for `planwright set`.
    typed: Option<String>,
}

enum FormEdit {
    Set(FieldChange),
    Undepend(Vec<String>),
    Depend(Vec<String>),
    Rename(String),
}

/// The edits of a task, in their order.
pub(super) struct FormEdits {
    /// Whether the id was changed or removed.
    pub(super) has_other_id: bool,
    edits: Vec<FormEdit>,
}

impl FormEdits {
    pub(super) fn between(before: &FormFields, after: &FormFields, special: &SpecialFields) -> Self {
        let (mut edits, mut new_id, mut is_rewired) = (Vec::new(), None, false);
        for change in field_changes(before, after) {
            match Some(change.name.as_str()) {
                name if name == special.id => new_id = Some(change.typed),
                name if name == special.dependencies => is_rewired = true,
                _ => edits.push(FormEdit::Set(change)),
            }
        }
        if let Some(name) = special.dependencies.filter(|_| is_rewired) {
            let (before, after) = (names_in(before, name), names_in(after, name));
            let (gone, new) = (missing(&before, &after), missing(&after, &before));
            edits.extend((!gone.is_empty()).then_some(FormEdit::Undepend(gone)));
            edits.extend((!new.is_empty()).then_some(FormEdit::Depend(new)));
        }
        let has_other_id = new_id.is_some();
        // The id changes last: until then the task has its old name.
        edits.extend(new_id.flatten().map(FormEdit::Rename));
        FormEdits { has_other_id, edits }
    }

    /// Returns an edit of a task by its number; none after the last.
    pub(super) fn get(&self, n: usize, linked: &LinkedPlan, task: &str) -> Result<Option<Edit<'_>>, ReviseError> {
        let Some(edit) = self.edits.get(n) else {
            return Ok(None);
        };
        let task_ix = task_named(&linked.plan, task)?;
        Ok(Some(match edit {
            FormEdit::Set(change) => Edit::Set {
                task_ix,
                key: &change.name,
                value: change.typed.as_deref(),
            },
            FormEdit::Undepend(names) => Edit::Undepend {
                task_ix,
                on: tasks_named(linked, names)?,
            },
            FormEdit::Depend(names) => Edit::Depend {
                task_ix,
                on: tasks_named(linked, names)?,
            },
            FormEdit::Rename(to) => Edit::Rename { task_ix, to },
        }))
    }
}

fn value_in<'f>(fields: &'f FormFields, name: &str) -> Option<&'f FormValue> {
    fields.iter().find(|(own, _)| own == name).map(|(_, value)| value)
}

/// Returns the fields with another value, and then the removed ones.
pub(super) fn field_changes(before: &FormFields, after: &FormFields) -> Vec<FieldChange> {
    let removed = before.iter().filter(|(name, _)| value_in(after, name).is_none());
    let removed = removed.map(|(name, _)| FieldChange {
        name: name.clone(),
        typed: None,
    });
    let changed = after
        .iter()
        .filter(|(name, value)| value_in(before, name) != Some(value));
    let changed = changed.map(|(name, value)| {
        // A text whose line has nothing after the colon is empty, not a list.
        let is_text = matches!(value_in(before, name), Some(FormValue::Text(_)));
        let typed = match value {
            FormValue::List(items) if items.is_empty() && is_text => String::new(),
            value => value.typed(),
        };
        FieldChange {
            name: name.clone(),
            typed: Some(typed),
        }
    });
    changed.chain(removed).collect()
}

fn names_in(fields: &FormFields, name: &str) -> Vec<String> {
    match value_in(fields, name) {
        Some(FormValue::List(names)) => names.clone(),
        Some(FormValue::Text(only)) if !only.is_empty() => vec![only.clone()],
        _ => Vec::new(),
    }
}

/// Returns the names that another list does not have.
fn missing(names: &[String], other: &[String]) -> Vec<String> {
    names.iter().filter(|name| !other.contains(name)).cloned().collect()
}
