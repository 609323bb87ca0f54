//! The fields of clido's files: the saved form, the flat form, and tasks.

use super::super::table::{FieldShape, FieldSpec, FieldTable};
use crate::plan::Field;

pub(super) static SAVED: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::required("meta", Field::Metadata, FieldShape::Object),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
    ],
};
pub(super) const SAVED_META: usize = 0;

pub(super) static META: FieldTable = FieldTable {
    name: "Meta",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("goal", Field::Goal, FieldShape::Prose),
        FieldSpec::required("created_at", Field::CreatedAt, FieldShape::Time),
    ],
};

pub(super) static FLAT: FieldTable = FieldTable {
    name: "Flat plan",
    fields: &[
        FieldSpec::required("goal", Field::Goal, FieldShape::Prose),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("created_at", Field::CreatedAt, FieldShape::Time),
    ],
};
/// The index of the list of tasks in both forms.
pub(super) const TASKS: usize = 1;

const STATUSES: FieldShape = FieldShape::Own("one of pending, running, done, failed, skipped");
const COMPLEXITIES: FieldShape = FieldShape::OneOf(&["low", "medium", "high"]);

pub(super) static TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::optional("depends_on", Field::Dependencies, FieldShape::List),
        FieldSpec::optional("complexity", Field::Complexity, COMPLEXITIES),
        FieldSpec::optional("skip", Field::Skip, FieldShape::Bool),
        FieldSpec::optional("notes", Field::Notes, FieldShape::Text),
        FieldSpec::optional("status", Field::Status, STATUSES),
        FieldSpec::optional("tools", Field::Tools, FieldShape::TextListOrNull),
    ],
};
pub(super) const ID: usize = 0;
pub(super) const DEPENDS_ON: usize = 2;
pub(super) const SKIP: usize = 4;
pub(super) const STATUS: usize = 6;
