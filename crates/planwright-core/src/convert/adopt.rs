//! Converts a planner's answer to a plan as its tool stores it, with new ids and times, and with the user's words.

use super::import::{Rewriting, anew, is_missing_one};
use super::{ConversionRefusal, Imported, errors_of, rules};
use crate::diagnostic::Diagnostic;
use crate::dialect::draft::{Fields, PlanDraft};
use crate::dialect::id_source::IdSource;
use crate::dialect::writer::{Resets, first_line};
use crate::dialect::{Dialect, FieldTable, name_of};
use crate::document::patch::PlainValue;
use crate::inspect::inspect_as;
use crate::plan::Field;
use crate::text::SourceText;

/// The user's input for the planner.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanningRequest<'w> {
    /// The goal.
    pub goal: &'w str,
    /// The constraints.
    pub constraints: &'w [String],
    /// Earlier knowledge.
    pub memories: &'w [String],
    /// The planner.
    pub by: Option<&'w str>,
    /// The session of the plan, if its dialect has sessions.
    pub session: Option<&'w str>,
    /// Whether tasks keep their given ids, as those of existing tasks.
    pub keeps_ids: bool,
}

/// Creates a stored plan from a text that holds only a planner's plan.
///
/// Refuses it with all errors at once. Fields that only planwright can know (ids, times, versions, states) may be missing, and are replaced
/// in any case.
pub(crate) fn adopt(
    text: &str,
    dialect: &'static dyn Dialect,
    wish: &PlanningRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<Imported, Vec<Diagnostic>> {
    let Some(writer) = dialect.writer() else {
        let refused = ConversionRefusal::NotWritable(dialect.name());
        return Err(refused.to_diagnostics());
    };
    let inspection = inspect_as(&SourceText::new(text), dialect);
    let is_empty = match &inspection.plan {
        None => errors_of(&inspection).is_empty(),
        Some(linked) => linked.plan.tasks().is_empty(),
    };
    if is_empty {
        let mut found = errors_of(&inspection);
        found.retain(|error| !is_missing_one(error, dialect, writer.planned()));
        found.push(Diagnostic::of_file(&rules::REFUSED, "there are no tasks in it"));
        return Err(found);
    }
    let form = inspection.plan.as_ref().map(|linked| linked.plan.form);
    let planned = writer.planned();
    let without_ids: Vec<Field> = planned
        .task
        .iter()
        .copied()
        .filter(|field| *field != Field::Id)
        .collect();
    // Next to existing tasks, one without an id is new.
    let with_ids: Vec<Field> = planned.task.iter().copied().chain([Field::Id]).collect();
    let forgiven = Resets {
        task: if wish.keeps_ids { &with_ids } else { planned.task },
        ..*planned
    };
    let order = Rewriting {
        resets: &Resets {
            task: if wish.keeps_ids { &without_ids } else { planned.task },
            ..*planned
        },
        forgives: Some(&forgiven),
        adjust: &|draft| {
            speak(draft, dialect, wish);
            if !wish.keeps_ids {
                // Only a user excludes tasks.
                draft.tasks.iter_mut().for_each(|task| task.held = false);
            }
            // A new version has the form of the plan that it replaces.
            draft.form = form.map(str::to_owned).filter(|_| wish.keeps_ids);
        },
    };
    anew(&inspection, dialect, writer, &order, id_source)
}

/// Adds the user's input to the plan.
pub(super) fn speak(draft: &mut PlanDraft, dialect: &dyn Dialect, wish: &PlanningRequest<'_>) {
    let head = &mut draft.head;
    let has_place = |field: Field| name_of(dialect, field).is_some();
    match has_place(Field::Goal) {
        // If a plan names the task that it was made for, the user's goal replaces it.
        true => head.set_text(Field::Goal, wish.goal),
        false if head.text(Field::Title).is_none() => {
            head.set_text(Field::Title, first_line(wish.goal));
            // A title is one line: the rest of the goal goes to the description, if the plan has one.
            if head.text(Field::Description).is_none() && has_plan_description(dialect) {
                head.set_text(Field::Description, wish.goal);
            }
        }
        false => {}
    }
    for (field, said) in [(Field::Constraints, wish.constraints), (Field::Memories, wish.memories)] {
        if has_place(field) {
            add_texts(head, field, said);
        }
    }
    for (field, said) in [(Field::CreatedBy, wish.by), (Field::SessionId, wish.session)] {
        if let Some(said) = said.filter(|_| has_place(field)) {
            head.set_text(field, said);
        }
    }
}

fn has_plan_description(dialect: &dyn Dialect) -> bool {
    let has = |table: &FieldTable, field: Field| table.fields.iter().any(|spec| spec.field == field);
    let mut tables = dialect.tables().iter();
    tables.any(|table| has(table, Field::Tasks) && has(table, Field::Description))
}

/// Adds texts to a list, each once, the new ones first.
fn add_texts(head: &mut Fields, field: Field, said: &[String]) {
    let mut texts: Vec<PlainValue> = Vec::new();
    let known = head.take_texts(field).unwrap_or_default();
    for text in said.iter().map(|text| PlainValue::String(text.clone())).chain(known) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    head.drop(field);
    if !texts.is_empty() {
        head.push(field, PlainValue::Array(texts), None);
    }
}
