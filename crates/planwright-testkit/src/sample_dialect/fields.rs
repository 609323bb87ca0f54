//! The fields of to-do lists and of their entries.

use planwright_core::dialect::{FieldShape, FieldSpec, FieldTable};
use planwright_core::plan::Field;

pub(super) static LIST: FieldTable = FieldTable {
    name: "List",
    fields: &[
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("goal", Field::Goal, FieldShape::Text),
        FieldSpec::optional("version", Field::Version, FieldShape::COUNT),
        FieldSpec::optional("replaces", Field::PreviousPlan, FieldShape::NonBlank),
        FieldSpec::optional("branch", Field::Branch, FieldShape::Text),
        FieldSpec::optional("touched", Field::UpdatedAt, FieldShape::Time),
        FieldSpec::required("todo", Field::Tasks, FieldShape::List),
    ],
};
pub(super) const TODO: usize = 6;

pub(super) static ENTRY: FieldTable = FieldTable {
    name: "Entry",
    fields: &[
        FieldSpec::required("name", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("what", Field::Description, FieldShape::Text),
        FieldSpec::optional("after", Field::Dependencies, FieldShape::TextList),
        FieldSpec::optional("ticked", Field::Passes, FieldShape::Bool),
        FieldSpec::optional("note", Field::Notes, FieldShape::Text),
    ],
};
pub(super) const NAME: usize = 0;
pub(super) const AFTER: usize = 2;
pub(super) const TICKED: usize = 3;
