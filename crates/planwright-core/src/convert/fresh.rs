//! Plans that begin with a title and nothing else.

use super::adopt::{Wish, speak};
use super::{LossKind, Refused, errors_of, rules};
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::dialect::draft::{Draft, DraftTask, Fields, State};
use crate::dialect::mint::Mint;
use crate::dialect::write::Report;
use crate::document::patch::Value;
use crate::inspect::inspect_as;
use crate::plan::lifecycle::Order;
use crate::plan::{Field, PLACEHOLDER, Priority, Slots};
use crate::text::{SourceText, visible};

/// Returns the least plan of a dialect that has no errors: without tasks, or with one to be replaced where the dialect wants one.
pub fn new_plan(
    dialect: &'static dyn Dialect,
    title: &str,
    mint: &mut Mint<'_>,
) -> Result<(String, Vec<Diagnostic>), Refused> {
    let mut draft = draft_with(Vec::new());
    draft.head.push(Field::Title, Value::String(title.to_owned()), None);
    match written(dialect, draft.clone(), mint) {
        Err(Refused::Invalid { .. }) => {
            draft.tasks.push(task_called(PLACEHOLDER));
            written(dialect, draft, mint)
        }
        empty => empty,
    }
}

pub(super) fn draft_with(tasks: Vec<DraftTask>) -> Draft {
    Draft {
        form: None,
        head: Fields::default(),
        tasks,
        slots: Slots::Fixed(4),
        order: Order::File,
        has_stages: false,
    }
}

/// Returns a draft as a text, with what became of what the user said; refused where the text has errors.
pub(super) fn written(
    dialect: &'static dyn Dialect,
    mut draft: Draft,
    mint: &mut Mint<'_>,
) -> Result<(String, Vec<Diagnostic>), Refused> {
    let writer = dialect.writer().ok_or(Refused::NotWritable(dialect.name()))?;
    let mut report = Report::default();
    let composed = writer.compose(&mut draft, mint, &mut report);
    let inspection = inspect_as(&SourceText::new(writer.lay_out(composed)), dialect);
    let diagnostics = errors_of(&inspection);
    let text = inspection.source.as_str().to_owned();
    match diagnostics.is_empty() {
        true => Ok((text, changes(&report))),
        false => Err(Refused::Invalid { text, diagnostics }),
    }
}

/// Returns what a writer changed of what it was given; all else in a new plan is made up, and that is what it is for.
pub(super) fn changes(report: &Report) -> Vec<Diagnostic> {
    let changed = report.remarks.iter().filter(|remark| remark.kind != LossKind::Invented);
    let notes = changed.map(|remark| {
        let message = format!("`{}`: {}", remark.field, visible(&remark.message));
        Diagnostic::of_file(&rules::CHANGED, message)
    });
    notes.collect()
}

/// Returns a plan with one task, for what is too small to be planned.
pub fn single_plan(
    dialect: &'static dyn Dialect,
    wish: &Wish<'_>,
    mint: &mut Mint<'_>,
) -> Result<(String, Vec<Diagnostic>), Refused> {
    let mut draft = draft_with(vec![task_called(wish.goal)]);
    speak(&mut draft, dialect, wish);
    written(dialect, draft, mint)
}

fn task_called(text: &str) -> DraftTask {
    let mut fields = Fields::default();
    fields.push(Field::Description, Value::String(text.to_owned()), None);
    DraftTask {
        id: None,
        state: State::Pending,
        held: false,
        priority: Priority(1.0),
        stage: 0,
        dependencies: Vec::new(),
        fields,
    }
}
