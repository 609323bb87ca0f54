//! The fields of a task pack: the one table for reading, checking, editing and writing tasks.

use FieldShape::{Any, Bool, NonBlank, Own, TextList, TextListOrNull, TextOrNull};

use super::super::table::{FieldShape, FieldSpec, FieldTable, Need};
use crate::plan::Field;

pub(super) static FRONTMATTER: FieldTable = FieldTable {
    name: "Frontmatter",
    fields: &[
        FieldSpec::required("type", Field::PlanKind, Any),
        FieldSpec::required("status", Field::Status, Any),
        FieldSpec::required("spec_id", Field::SpecId, Any),
        FieldSpec::required("source_plan", Field::SourcePlan, Any),
        FieldSpec::required("source_plan_hash", Field::SourcePlanHash, Any),
        FieldSpec::required("generated_by", Field::GeneratedBy, Any),
        FieldSpec::required("mode", Field::Mode, Any),
        FieldSpec::optional("title", Field::Title, Any),
        FieldSpec::optional("date", Field::Date, Any),
        FieldSpec::optional("source_sections", Field::SourceSections, Any),
        FieldSpec::optional("target_repo", Field::TargetRepo, Any),
    ],
};

pub(super) static CONTRACT: FieldTable = FieldTable {
    name: "Contract",
    fields: &[
        FieldSpec::required("schema_version", Field::SchemaVersion, Any),
        FieldSpec::required("execution_waves", Field::Waves, Any),
        FieldSpec::required("tasks", Field::Tasks, Any),
    ],
};

pub(super) const N_FIELDS: usize = 20;

/// The fields of a task with their types for edits, each with its position in a new task.
const TASK_FIELDS: [(FieldSpec, u8); N_FIELDS] = [
    (FieldSpec::required("task_id", Field::Id, NonBlank), 0),
    (FieldSpec::optional("source_unit", Field::SourceUnit, TextOrNull), 1),
    (
        FieldSpec::optional("requirement_refs", Field::RequirementRefs, TextListOrNull),
        2,
    ),
    (FieldSpec::required("goal", Field::Goal, NonBlank), 3),
    (FieldSpec::required("dependencies", Field::Dependencies, TextList), 4),
    (FieldSpec::required("files", Field::Files, TextList), 5),
    (FieldSpec::required("test_focus", Field::TestFocus, NonBlank), 9),
    (FieldSpec::required("done_signal", Field::DoneSignal, NonBlank), 10),
    (FieldSpec::required("stop_if", Field::StopIf, NonBlank), 19),
    (FieldSpec::required("wave", Field::Wave, Own("the name of a wave")), 11),
    (
        FieldSpec::optional("context_refs", Field::ContextRefs, TextListOrNull),
        7,
    ),
    (FieldSpec::optional("entry_hint", Field::EntryHint, TextOrNull), 8),
    (FieldSpec::optional("parallelizable", Field::Parallelizable, Bool), 12),
    (
        FieldSpec::optional("expected_side_effects", Field::SideEffects, TextList),
        6,
    ),
    (FieldSpec::optional("risk_note", Field::RiskNote, TextOrNull), 13),
    (FieldSpec::optional("notes", Field::Notes, TextOrNull), 14),
    (
        FieldSpec::optional("review_gate", Field::ReviewGate, Own("optional or required")),
        15,
    ),
    (FieldSpec::optional("review_focus", Field::ReviewFocus, TextOrNull), 16),
    (FieldSpec::optional("handoff_owner", Field::AgentHint, TextOrNull), 17),
    (FieldSpec::optional("target_repo", Field::TargetRepo, TextOrNull), 18),
];

/// The required fields of a task, in the order of the original's checks.
pub(super) const REQUIRED: [Field; 8] = [
    Field::Id,
    Field::Dependencies,
    Field::Files,
    Field::Goal,
    Field::TestFocus,
    Field::DoneSignal,
    Field::Wave,
    Field::StopIf,
];

/// Tasks for reading: the original's rules check the values.
pub(super) static TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &task_fields(TaskForm::Read),
};

/// Tasks of an executable pack for editing.
pub(super) static EXECUTABLE_TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &task_fields(TaskForm::Executable),
};

/// Tasks of a draft for editing.
pub(super) static DRAFT_TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &task_fields(TaskForm::Draft),
};

#[derive(Clone, Copy)]
enum TaskForm {
    Read,
    Executable,
    /// A draft may lack files, test focus, done signal and stop condition.
    Draft,
}

const fn task_fields(form: TaskForm) -> [FieldSpec; N_FIELDS] {
    let mut fields = [TASK_FIELDS[0].0; N_FIELDS];
    let mut ix = 0;
    while ix < N_FIELDS {
        fields[ix] = TASK_FIELDS[ix].0;
        match (form, fields[ix].field) {
            (TaskForm::Read, _) => fields[ix].shape = Any,
            (TaskForm::Draft, Field::Files | Field::TestFocus | Field::DoneSignal | Field::StopIf) => {
                fields[ix].need = Need::Optional;
            }
            _ => {}
        }
        ix += 1;
    }
    fields
}

/// Returns the index of a task's field in the table; the number of fields if it has none.
pub(super) const fn place(field: Field) -> usize {
    let mut ix = 0;
    while ix < N_FIELDS && TASK_FIELDS[ix].0.field as u8 != field as u8 {
        ix += 1;
    }
    ix
}

/// Returns the name of a task's field.
pub(super) fn name(field: Field) -> &'static str {
    TASK.fields.get(place(field)).map_or("", |spec| spec.name)
}

/// Returns the names of a task's fields: first the required ones, in the original's order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let optional = TASK.fields.iter().filter(|spec| spec.need == Need::Optional);
    REQUIRED.into_iter().map(name).chain(optional.map(|spec| spec.name))
}

/// Returns the field whose name passes a test.
pub(crate) fn find(is_name: impl Fn(&str) -> bool) -> Option<&'static str> {
    let mut names = TASK.fields.iter().map(|spec| spec.name);
    names.find(|name| is_name(name))
}

/// Returns true for a field that every task must have.
pub(crate) fn is_required(field: &str) -> bool {
    REQUIRED.into_iter().any(|required| name(required) == field)
}

pub(super) fn is_list(field: &str) -> bool {
    let spec = EXECUTABLE_TASK.fields.iter().find(|spec| spec.name == field);
    spec.is_some_and(|spec| matches!(spec.shape, TextList | TextListOrNull))
}

/// Returns the fields of a task in written order.
pub(crate) fn as_written() -> Vec<&'static FieldSpec> {
    let mut fields: Vec<_> = TASK_FIELDS.iter().map(|(_, at)| *at).zip(TASK.fields).collect();
    fields.sort_by_key(|(at, _)| *at);
    fields.into_iter().map(|(_, spec)| spec).collect()
}
