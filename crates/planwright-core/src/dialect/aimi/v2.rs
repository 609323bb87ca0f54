//! Schema 2.x and `prd.json`: two booleans and a priority. Each story waits for all of lower priority, unless a `prd.json` names
//! dependencies.

use super::super::reader::PlanReader;
use super::super::table::{FieldShape, FieldSpec, FieldTable};
use super::super::{DialectInput, PlanReading};
use super::{MemberFix, TEXT, VOICE, WORDING, check_branch, other_version, report_no_story, story_id, story_label};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{NodeKind, NodeRef};
use crate::plan::lifecycle::OnFailure;
use crate::plan::{
    Dependency, DependencyTarget, Field, Lifecycle, Machine, PlanBuilder, Priority, Slots, State, Status, TaskName,
    TaskOrder,
};

/// What the two forms are called: ordered by priorities, and by dependencies.
pub(super) const FORM: &str = "v2";
pub(super) const LINKED_FORM: &str = "prd";

/// Returns whether a form is one of these.
pub(super) fn is_form(form: &str) -> bool {
    form == FORM || form == LINKED_FORM
}

static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::Priority,
    slots: Slots::Fixed(1),
    may_be_empty: true,
    words: ["pending", "", "completed", "", "skipped"],
    machine: Machine {
        written: &[State::Pending, State::Done, State::Skipped],
        can_block: false,
        skips_attempted: false,
        counts_retries: false,
        skip_cascades: false,
        retry_stays_failed: false,
    },
    wording: &WORDING,
};

pub(super) static ROOT: FieldTable = FieldTable {
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
const ROOT_METADATA: usize = 1;
const ROOT_STORIES: usize = 2;
const ROOT_BRANCH: usize = 4;

pub(super) static METADATA: FieldTable = FieldTable {
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
const BRANCH: usize = 2;

/// The fields of a story. The last one is only known in a `prd.json` with dependencies.
const STORY_FIELDS: &[FieldSpec] = &[
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
const DEPENDS_ON: usize = 8;

pub(super) static STORY: FieldTable = FieldTable {
    name: "Story (v2.x)",
    fields: STORY_FIELDS.split_at(DEPENDS_ON).0,
};

/// The stories of a `prd.json` with dependencies.
pub(super) static LINKED_STORY: FieldTable = FieldTable {
    name: "Story (v2.x, with dependencies)",
    fields: STORY_FIELDS,
};
const ID: usize = 0;
const PRIORITY: usize = 4;
const PASSES: usize = 5;
const SKIPPED: usize = 6;

/// Reads a v2.x file; `found` holds what is already known about its version.
pub(super) fn read(input: &DialectInput<'_>, root: NodeRef<'_>, found: Vec<Diagnostic>) -> PlanReading {
    let has_stages = !has_dependencies(root);
    let form = if has_stages { FORM } else { LINKED_FORM };
    let builder = PlanBuilder::new(input.source, "aimi", form, &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &VOICE);
    reader.diagnostics = found;
    reader.builder.plan().has_stages = has_stages;
    read_root(&mut reader, root);
    reader.finish()
}

/// Returns whether the stories of a file say themselves what they wait for. The specification of 2.x knows no such field.
fn has_dependencies(root: NodeRef<'_>) -> bool {
    let stories = root.get("userStories").into_iter().flat_map(NodeRef::elements);
    let mut lists = stories.filter_map(|story| story.get("dependsOn"));
    root.get("schemaVersion").is_none() && lists.any(|list| list.kind() == NodeKind::Array)
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) {
    let found = reader.sort(root, &ROOT);
    for entry in reader.record(&found, &ROOT, &String::new) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    let mut branch = check_branch(found.get(ROOT_BRANCH), "", Severity::Warning);
    if let Some(metadata) = found.get_kind(ROOT_METADATA, NodeKind::Object) {
        let inner = reader.sort(metadata, &METADATA);
        for entry in reader.record(&inner, &METADATA, &|| "metadata".to_owned()) {
            reader.builder.head_entry(entry.field, entry.value);
        }
        branch = branch.or(check_branch(inner.get(BRANCH), "metadata", Severity::Warning));
    }
    reader.report_all(branch);
    let Some(stories) = found.get_kind(ROOT_STORIES, NodeKind::Array) else {
        return;
    };
    reader.builder.plan().tasks_span = Some(stories.span());
    reader.builder.reserve(stories.n_rows() / 18, 8);
    for (position, story) in stories.elements().enumerate() {
        read_story(reader, story, position);
    }
    rank_stages(&mut reader.builder);
}

fn read_story<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, position: usize) {
    if node.resolved().kind() != NodeKind::Object {
        report_no_story(reader, node, position);
        return;
    }
    let has_stages = reader.builder.plan().has_stages;
    let table = if has_stages { &STORY } else { &LINKED_STORY };
    let mut found = reader.sort(node, table);
    let id = found.get(ID);
    let owner = || story_label(id, position);
    if !reader.unknown.is_empty() {
        let has_passes = found.get(PASSES).is_some();
        let status = other_version(&reader.unknown, "status", &owner, &|value| {
            let meant = match &*value.value() {
                "completed" => Some("\"passes\": true"),
                "pending" => Some("\"passes\": false"),
                "skipped" => Some("\"passes\": false, \"skipped\": true"),
                _ => None,
            };
            let fix = meant
                .filter(|_| !has_passes)
                .map(|text| MemberFix::Write(text.to_owned()));
            ("v2.x files say `passes` and `skipped` instead".to_owned(), fix)
        });
        let depends_on = other_version(&reader.unknown, "dependsOn", &owner, &|_| {
            ("v2.x orders stories by `priority` alone".to_owned(), None)
        });
        let is_only_word = status.is_some() && found.get(PASSES).is_none();
        if is_only_word {
            found.excuse(PASSES);
        }
        let status = status.map(|status| match is_only_word {
            true => status.with_severity(Severity::Error),
            false => status,
        });
        reader.report_all(status.into_iter().chain(depends_on));
    }
    let entries = reader.record(&found, table, &owner);
    let list = (!has_stages).then(|| found.get(DEPENDS_ON)).flatten();
    let dependencies: Vec<Dependency> = list
        .into_iter()
        .flat_map(NodeRef::elements)
        .map(|item| Dependency {
            span: item.span(),
            target: match item.resolved().kind() {
                NodeKind::String => DependencyTarget::Id(reader.text(item)),
                _ => DependencyTarget::Unreadable,
            },
        })
        .collect();
    let story_ix = reader.builder.task(node.span(), entries.iter().copied(), dependencies);
    reader.recycle(entries);
    if let Some(id) = story_id(&found, ID) {
        let id = reader.text(id);
        reader.builder.task_mut(story_ix).name = TaskName::Id(id);
    }
    let story = reader.builder.task_mut(story_ix);
    let flag = |at: usize| found.get(at).and_then(NodeRef::as_bool) == Some(true);
    story.status = match (flag(PASSES), flag(SKIPPED)) {
        (true, _) => Status::Done,
        (false, true) => Status::Skipped,
        (false, false) => Status::Pending,
    };
    let written = if flag(SKIPPED) && !flag(PASSES) {
        SKIPPED
    } else {
        PASSES
    };
    story.status_span = found.get(written).map_or(node.span(), NodeRef::span);
    if let Some(number) = found.get(PRIORITY).and_then(NodeRef::as_number) {
        story.priority = Priority(number);
    }
}

/// Turns priorities into stages: equal ones share a stage.
fn rank_stages(builder: &mut PlanBuilder) {
    let mut priorities: Vec<Priority> = builder.plan().tasks().iter().map(|story| story.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    for story_ix in 0..builder.plan().tasks().len() {
        let story = builder.task_mut(story_ix);
        story.stage = priorities.partition_point(|&priority| priority < story.priority) as u32;
    }
}
