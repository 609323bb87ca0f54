//! The fields of Aimi's files: v3, then v2.x and `prd.json`. The constants below a table are places in it: add new fields at its end.

use super::super::table::{FieldShape, FieldSpec, FieldTable};
use crate::plan::Field;

/// The shape of most fields in both versions.
const TEXT: FieldShape = FieldShape::Text;

/// The kinds of change of a plan.
pub(super) const KINDS: [&str; 4] = ["feat", "ref", "bug", "chore"];

const STATUSES: FieldShape = FieldShape::Own("one of pending, in_progress, completed, failed, skipped");

pub(super) static ROOT: FieldTable = FieldTable {
    name: "Root",
    fields: &[
        FieldSpec::required("schemaVersion", Field::SchemaVersion, FieldShape::Any),
        FieldSpec::required("metadata", Field::Metadata, FieldShape::Object),
        FieldSpec::required("userStories", Field::Tasks, FieldShape::List),
    ],
};
pub(super) const ROOT_VERSION: usize = 0;
pub(super) const ROOT_METADATA: usize = 1;
pub(super) const ROOT_STORIES: usize = 2;

pub(super) static METADATA: FieldTable = FieldTable {
    name: "Metadata",
    fields: &[
        FieldSpec::required("title", Field::Title, FieldShape::NonBlank),
        FieldSpec::required("type", Field::PlanKind, FieldShape::OneOf(&KINDS)),
        FieldSpec::required("branchName", Field::Branch, FieldShape::NonBlank),
        FieldSpec::required("createdAt", Field::CreatedAt, TEXT),
        FieldSpec::optional("planPath", Field::PlanPath, FieldShape::TextOrNull),
        FieldSpec::optional("brainstormPath", Field::BrainstormPath, FieldShape::TextOrNull),
        FieldSpec::optional("maxConcurrency", Field::MaxConcurrency, FieldShape::COUNT),
    ],
};
pub(super) const BRANCH: usize = 2;
pub(super) const CREATED_AT: usize = 3;
pub(super) const MAX_CONCURRENCY: usize = 6;

pub(super) static STORY: FieldTable = FieldTable {
    name: "Story",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("title", Field::Title, FieldShape::NonBlank),
        FieldSpec::required("description", Field::Description, FieldShape::NonBlank),
        FieldSpec::required("acceptanceCriteria", Field::Criteria, FieldShape::TextList),
        FieldSpec::required("priority", Field::Priority, FieldShape::Number),
        FieldSpec::required("status", Field::Status, STATUSES),
        FieldSpec::required("dependsOn", Field::Dependencies, FieldShape::TextList),
        FieldSpec::optional("notes", Field::Notes, TEXT),
    ],
};
pub(super) const ID: usize = 0;
pub(super) const TITLE: usize = 1;
pub(super) const DESCRIPTION: usize = 2;
pub(super) const CRITERIA: usize = 3;
pub(super) const PRIORITY: usize = 4;
pub(super) const STATUS: usize = 5;
pub(super) const DEPENDS_ON: usize = 6;

pub(super) static V2_ROOT: FieldTable = FieldTable {
    name: "Root (v2.x)",
    fields: &[
        FieldSpec::optional("schemaVersion", Field::SchemaVersion, FieldShape::Any),
        FieldSpec::optional("metadata", Field::Metadata, FieldShape::Object),
        FieldSpec::required("userStories", Field::Tasks, FieldShape::List),
        FieldSpec::optional("project", Field::Project, TEXT),
        FieldSpec::optional("branchName", Field::Branch, TEXT),
        FieldSpec::optional("description", Field::Description, TEXT),
    ],
};
pub(super) const V2_ROOT_METADATA: usize = 1;
pub(super) const V2_ROOT_STORIES: usize = 2;
pub(super) const V2_ROOT_BRANCH: usize = 4;

pub(super) static V2_METADATA: FieldTable = FieldTable {
    name: "Metadata (v2.x)",
    fields: &[
        FieldSpec::optional("title", Field::Title, TEXT),
        FieldSpec::optional("type", Field::PlanKind, TEXT),
        FieldSpec::optional("branchName", Field::Branch, TEXT),
        FieldSpec::optional("createdAt", Field::CreatedAt, TEXT),
        FieldSpec::optional("planPath", Field::PlanPath, FieldShape::TextOrNull),
        FieldSpec::optional("brainstormPath", Field::BrainstormPath, FieldShape::TextOrNull),
    ],
};
pub(super) const V2_BRANCH: usize = 2;

/// The fields of a story. The last one only exists in a `prd.json` with dependencies.
const V2_STORY_FIELDS: &[FieldSpec] = &[
    FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
    FieldSpec::required("title", Field::Title, TEXT),
    FieldSpec::optional("description", Field::Description, TEXT),
    FieldSpec::optional("acceptanceCriteria", Field::Criteria, FieldShape::TextList),
    FieldSpec::required("priority", Field::Priority, FieldShape::Number),
    FieldSpec::required("passes", Field::Passes, FieldShape::Bool),
    FieldSpec::optional("skipped", Field::Skipped, FieldShape::Bool),
    FieldSpec::optional("notes", Field::Notes, TEXT),
    FieldSpec::optional("dependsOn", Field::Dependencies, FieldShape::TextList),
];
pub(super) const V2_DEPENDS_ON: usize = 8;

pub(super) static V2_STORY: FieldTable = FieldTable {
    name: "Story (v2.x)",
    fields: V2_STORY_FIELDS.split_at(V2_DEPENDS_ON).0,
};

/// The stories of a `prd.json` with dependencies.
pub(super) static LINKED_V2_STORY: FieldTable = FieldTable {
    name: "Story (v2.x, with dependencies)",
    fields: V2_STORY_FIELDS,
};
pub(super) const V2_ID: usize = 0;
pub(super) const V2_PRIORITY: usize = 4;
pub(super) const V2_PASSES: usize = 5;
pub(super) const V2_SKIPPED: usize = 6;
