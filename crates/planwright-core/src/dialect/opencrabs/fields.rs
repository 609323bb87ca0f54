//! The fields of OpenCrabs' files: plans and tasks.

use super::super::table::{FieldShape, FieldSpec, FieldTable};
use crate::plan::Field;

const PLAN_STATUSES: FieldShape = FieldShape::OneOf(&[
    "Draft",
    "PendingApproval",
    "Approved",
    "Rejected",
    "InProgress",
    "Completed",
    "Cancelled",
]);

pub(super) const TASK_TYPES: &[&str] = &[
    "research",
    "edit",
    "create",
    "delete",
    "test",
    "documentation",
    "configuration",
];

/// Types that the original code accepts beyond its documentation.
pub(super) const UNDOCUMENTED_TYPES: &[&str] = &["refactor", "build"];

pub(super) static PLAN: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::required("title", Field::Title, FieldShape::Prose),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
        FieldSpec::optional("id", Field::Id, FieldShape::Text),
        FieldSpec::optional("session_id", Field::SessionId, FieldShape::Text),
        FieldSpec::optional("status", Field::Status, PLAN_STATUSES),
        FieldSpec::optional("created_at", Field::CreatedAt, FieldShape::Time),
        FieldSpec::optional("updated_at", Field::UpdatedAt, FieldShape::Time),
        FieldSpec::optional("approved_at", Field::ApprovedAt, FieldShape::TimeOrNull),
        FieldSpec::optional("context", Field::Context, FieldShape::Text),
        FieldSpec::optional("risks", Field::Risks, FieldShape::TextList),
        FieldSpec::optional("technical_stack", Field::TechnicalStack, FieldShape::TextList),
        FieldSpec::optional("test_strategy", Field::TestStrategy, FieldShape::Text),
    ],
};
pub(super) const TASKS: usize = 2;
pub(super) const PLAN_ID: usize = 3;
pub(super) const SESSION_ID: usize = 4;
pub(super) const PLAN_STATUS_IX: usize = 5;

const TYPES: FieldShape = FieldShape::Own("one of research, edit, create, delete, test, documentation, configuration");
const STATUSES: FieldShape =
    FieldShape::Own("one of Pending, InProgress, Completed, Failed, Skipped, or {\"Blocked\": \"reason\"}");

pub(super) static TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &[
        FieldSpec::required("title", Field::Title, FieldShape::Prose),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::required("task_type", Field::TaskKind, TYPES),
        FieldSpec::optional("dependencies", Field::Dependencies, FieldShape::List),
        FieldSpec::optional("complexity", Field::Complexity, FieldShape::Integer(1, 5)),
        FieldSpec::optional("acceptance_criteria", Field::Criteria, FieldShape::TextList),
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("order", Field::Position, FieldShape::Integer(1, u32::MAX as i64)),
        FieldSpec::optional("status", Field::Status, STATUSES),
        FieldSpec::optional("notes", Field::Notes, FieldShape::TextOrNull),
        FieldSpec::optional("completed_at", Field::CompletedAt, FieldShape::TimeOrNull),
        FieldSpec::optional("execution_history", Field::History, FieldShape::List),
        FieldSpec::optional("retry_count", Field::RetryCount, FieldShape::COUNT),
        FieldSpec::optional("max_retries", Field::MaxRetries, FieldShape::COUNT),
        FieldSpec::optional("artifacts", Field::Artifacts, FieldShape::TextList),
        FieldSpec::optional("reflection", Field::Reflection, FieldShape::TextOrNull),
    ],
};
pub(super) const TITLE: usize = 0;
pub(super) const TASK_TYPE: usize = 2;
pub(super) const DEPENDENCIES: usize = 3;
pub(super) const ID: usize = 6;
pub(super) const ORDER: usize = 7;
pub(super) const STATUS: usize = 8;

/// Fields that import overwrites, so that values in the minimal form are ignored.
pub(super) const GENERATED: &[usize] = &[ID, ORDER, STATUS, 9, 10, 11, 12, 14, 15];
