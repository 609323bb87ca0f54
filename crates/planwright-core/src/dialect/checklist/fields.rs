//! The fields of checklists: the head of a file, and a task.

use super::super::table::{FieldShape, FieldSpec, FieldTable};
use crate::plan::Field;

pub(super) static PLAN: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("title", Field::Title, FieldShape::Text),
        FieldSpec::optional("description", Field::Description, FieldShape::Text),
        FieldSpec::optional("order", Field::Order, FieldShape::OneOf(&["strict", "phases", "none"])),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
    ],
};

const MARKS: FieldShape = FieldShape::Own("a space, or x for a done task");

pub(super) static TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &[
        FieldSpec::required("status", Field::Status, MARKS),
        FieldSpec::optional("optional", Field::Skip, FieldShape::Bool),
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("parallel", Field::Parallelizable, FieldShape::Bool),
        FieldSpec::optional("story", Field::SourceUnit, FieldShape::Text),
        FieldSpec::required("title", Field::Title, FieldShape::NonBlank),
        FieldSpec::optional("needs", Field::Dependencies, FieldShape::List),
        FieldSpec::optional("description", Field::Description, FieldShape::Text),
        FieldSpec::optional("criteria", Field::Criteria, FieldShape::TextList),
        FieldSpec::optional("files", Field::Files, FieldShape::TextList),
    ],
};
