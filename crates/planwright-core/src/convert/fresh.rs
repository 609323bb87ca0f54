//! Plans that begin with a title and nothing else.

use super::{Refused, errors_of, inspect_as};
use crate::dialect::Dialect;
use crate::dialect::draft::{Draft, DraftTask, Fields, State};
use crate::dialect::mint::Mint;
use crate::dialect::write::Report;
use crate::document::patch::Value;
use crate::plan::lifecycle::Order;
use crate::plan::{Field, Priority, Slots};

/// Returns the least plan of a dialect that has no errors: without tasks, or with one to be replaced where the dialect wants one.
pub fn new_plan(dialect: &'static dyn Dialect, title: &str, mint: &mut Mint<'_>) -> Result<String, Refused> {
    let writer = dialect.writer().ok_or(Refused::NotWritable(dialect.name()))?;
    let mut draft = Draft {
        form: None,
        head: Fields::default(),
        tasks: Vec::new(),
        slots: Slots::Fixed(4),
        order: Order::File,
        has_stages: false,
    };
    draft.head.push(Field::Title, Value::String(title.to_owned()), None);
    let empty = writer.compose(&mut draft.clone(), mint, &mut Report::default());
    let inspection = inspect_as(writer.lay_out(empty), dialect);
    if errors_of(&inspection).is_empty() {
        return Ok(inspection.source.as_str().to_owned());
    }
    draft.tasks.push(placeholder());
    let composed = writer.compose(&mut draft, mint, &mut Report::default());
    let inspection = inspect_as(writer.lay_out(composed), dialect);
    let diagnostics = errors_of(&inspection);
    let text = inspection.source.as_str().to_owned();
    match diagnostics.is_empty() {
        true => Ok(text),
        false => Err(Refused::Invalid { text, diagnostics }),
    }
}

fn placeholder() -> DraftTask {
    let mut fields = Fields::default();
    let text = "Describe the first task";
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
