//! The fields of rawko's files: plans, their metadata, steps, and `current-task.yaml`.

use super::super::table::{FieldShape, FieldSpec, FieldTable};
use crate::plan::Field;

const PLAN_STATUSES: FieldShape = FieldShape::OneOf(&["draft", "in_progress", "complete", "failed", "replanning"]);
const STEP_STATUSES: FieldShape = FieldShape::Own("one of pending, in_progress, complete, failed, skipped");

pub(super) static PLAN: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("task", Field::Goal, FieldShape::Prose),
        FieldSpec::required("status", Field::Status, PLAN_STATUSES),
        FieldSpec::required("steps", Field::Tasks, FieldShape::List),
        FieldSpec::required("currentStepIndex", Field::CurrentTask, FieldShape::COUNT),
        FieldSpec::required("createdAt", Field::CreatedAt, FieldShape::Time),
        FieldSpec::required("updatedAt", Field::UpdatedAt, FieldShape::Time),
        FieldSpec::required("createdBy", Field::CreatedBy, FieldShape::Text),
        FieldSpec::required("version", Field::Version, FieldShape::Integer(1, u32::MAX as i64)),
        FieldSpec::optional("previousPlanId", Field::PreviousPlan, FieldShape::NonBlank),
        FieldSpec::optional("metadata", Field::Metadata, FieldShape::Object),
    ],
};
pub(super) const PLAN_ID: usize = 0;
pub(super) const PLAN_STATUS_IX: usize = 2;
pub(super) const STEPS: usize = 3;
pub(super) const CURRENT: usize = 4;
pub(super) const VERSION: usize = 8;
pub(super) const PREVIOUS: usize = 9;
pub(super) const METADATA: usize = 10;

pub(super) static META: FieldTable = FieldTable {
    name: "Metadata",
    fields: &[
        FieldSpec::optional("complexity", Field::Complexity, FieldShape::Integer(1, 10)),
        FieldSpec::optional("tags", Field::Tags, FieldShape::TextList),
        FieldSpec::optional("constraints", Field::Constraints, FieldShape::TextList),
        FieldSpec::optional("informedByMemories", Field::Memories, FieldShape::TextList),
    ],
};

pub(super) static STEP: FieldTable = FieldTable {
    name: "Step",
    fields: &[
        FieldSpec::required("index", Field::Position, FieldShape::COUNT),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::required("status", Field::Status, STEP_STATUSES),
        FieldSpec::optional("suggestedAgent", Field::AgentHint, FieldShape::Text),
        FieldSpec::optional("executedBy", Field::ExecutedBy, FieldShape::Text),
        FieldSpec::optional("startedAt", Field::StartedAt, FieldShape::Time),
        FieldSpec::optional("completedAt", Field::CompletedAt, FieldShape::Time),
        FieldSpec::optional("output", Field::Output, FieldShape::Text),
        FieldSpec::optional("error", Field::Error, FieldShape::Text),
        FieldSpec::optional("affectedFiles", Field::Files, FieldShape::TextList),
        FieldSpec::optional("dependsOn", Field::Dependencies, FieldShape::List),
        FieldSpec::optional("instructions", Field::Instructions, FieldShape::Text),
        FieldSpec::optional("acceptanceCriteria", Field::Criteria, FieldShape::TextList),
    ],
};
pub(super) const STATUS: usize = 2;
pub(super) const DEPENDS_ON: usize = 10;

pub(super) static CURRENT_TASK: FieldTable = FieldTable {
    name: "Current task",
    fields: &[
        FieldSpec::required("task", Field::Goal, FieldShape::Prose),
        FieldSpec::required("planId", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("status", Field::Status, FieldShape::Text),
        FieldSpec::optional("startedAt", Field::StartedAt, FieldShape::Time),
    ],
};
/// The index of the plan's id in that file's table.
pub(super) const CURRENT_PLAN_ID: usize = 1;
