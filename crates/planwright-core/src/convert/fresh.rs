//! Creates plans from a title alone.

use super::adopt::{PlanningRequest, speak};
use super::import::changes;
use super::{ConversionRefusal, errors_of};
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::dialect::draft::{DraftState, DraftTask, Fields, PlanDraft};
use crate::dialect::id_source::IdSource;
use crate::dialect::writer::WriterReport;
use crate::document::patch::PlainValue;
use crate::inspect::{LinkedPlan, inspect_as};
use crate::plan::lifecycle::TaskOrder;
use crate::plan::{Field, PLACEHOLDER, Plan, Priority, Slots};
use crate::text::SourceText;

/// Returns the smallest plan of a dialect without errors: without tasks, or with a placeholder if the dialect needs one.
pub fn new_plan(
    dialect: &'static dyn Dialect,
    title: &str,
    id_source: &mut IdSource<'_>,
) -> Result<(String, Vec<Diagnostic>), ConversionRefusal> {
    let mut draft = draft_with(Vec::new());
    draft
        .head
        .push(Field::Title, PlainValue::String(title.to_owned()), None);
    match written(dialect, draft.clone(), id_source) {
        Err(ConversionRefusal::Invalid { .. }) => {
            draft.tasks.push(task_called(PLACEHOLDER));
            written(dialect, draft, id_source)
        }
        empty => empty,
    }
}

/// Returns whether the only task of a plan is the unchanged placeholder of [`new_plan`].
pub fn is_untouched_placeholder(linked: &LinkedPlan) -> bool {
    if !linked.plan.is_placeholder_alone() {
        return false;
    }
    let mut number = 0;
    let mut count = || {
        number += 1;
        number
    };
    let mut id_source = IdSource::new("2000-01-01T00:00:00Z", &mut count);
    let Ok((text, _)) = new_plan(linked.dialect, linked.plan.title(), &mut id_source) else {
        return false;
    };
    let fresh = inspect_as(&SourceText::new(text), linked.dialect).plan;
    fresh.is_some_and(|fresh| task_content(&fresh.plan) == task_content(&linked.plan))
}

/// Returns the fields of the first task, without its id and its times.
fn task_content(plan: &Plan) -> Vec<(Field, String)> {
    let is_content = |field: Field| !matches!(field, Field::Id | Field::CreatedAt | Field::UpdatedAt);
    let entries = plan.tasks().first().map_or(&[][..], |task| plan.entries(task));
    let written = entries.iter().filter(|entry| is_content(entry.field)).map(|entry| {
        let text = plan
            .as_str(entry.value)
            .unwrap_or(plan.source().slice(plan.span(entry.value)));
        (entry.field, text.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    let mut content: Vec<(Field, String)> = written.collect();
    content.sort();
    content
}

pub(super) fn draft_with(tasks: Vec<DraftTask>) -> PlanDraft {
    PlanDraft {
        form: None,
        head: Fields::default(),
        tasks,
        slots: Slots::Fixed(4),
        order: TaskOrder::File,
        has_stages: false,
    }
}

/// Returns a draft as text, with notes about the user's input; refuses a text with errors.
pub(super) fn written(
    dialect: &'static dyn Dialect,
    mut draft: PlanDraft,
    id_source: &mut IdSource<'_>,
) -> Result<(String, Vec<Diagnostic>), ConversionRefusal> {
    let writer = dialect.writer().ok_or(ConversionRefusal::NotWritable(dialect.name()))?;
    let mut report = WriterReport::default();
    let composed = writer.compose(&mut draft, id_source, &mut report);
    let inspection = inspect_as(&SourceText::new(writer.lay_out(composed)), dialect);
    let diagnostics = errors_of(&inspection);
    let text = inspection.source.as_str().to_owned();
    match diagnostics.is_empty() {
        true => Ok((text, changes(&report))),
        false => Err(ConversionRefusal::Invalid { text, diagnostics }),
    }
}

/// Returns a plan with one task, for work that needs no planning.
pub fn single_plan(
    dialect: &'static dyn Dialect,
    wish: &PlanningRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<(String, Vec<Diagnostic>), ConversionRefusal> {
    let mut draft = draft_with(vec![task_called(wish.goal)]);
    speak(&mut draft, dialect, wish);
    written(dialect, draft, id_source)
}

fn task_called(text: &str) -> DraftTask {
    let mut fields = Fields::default();
    fields.push(Field::Description, PlainValue::String(text.to_owned()), None);
    DraftTask {
        id: None,
        state: DraftState::Pending,
        held: false,
        priority: Priority(1.0),
        stage: 0,
        barrier: 0,
        dependencies: Vec::new(),
        fields,
    }
}
