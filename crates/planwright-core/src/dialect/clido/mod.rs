//! clido plans: the saved form with `meta`, and the flat form that planners return.

mod record;
mod write;

use super::reader::{PLAIN_VOICE, PlanReader};
use super::rules::INVALID_REFERENCE;
use super::table::{FieldShape, FieldSpec, FieldTable};
use super::{
    CarrierKind, Dialect, DialectInput, DialectWriter, Edits, Fit, PlanReading, Planning, Recording, next_id_in_style,
};
use crate::diagnostic::{Diagnostic, Rule};
use crate::document::{NodeKind, NodeRef};
use crate::edit::{FieldEdit, Owner};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use crate::plan::{
    Dependency, DependencyTarget, Field, Lifecycle, Machine, Plan, PlanBuilder, Slots, State, TaskName, TaskOrder,
};

/// The clido dialect.
pub struct Clido;

/// clido's policy: a failure skips what depends on it; four tasks at once.
static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsSkipped,
    order: TaskOrder::File,
    slots: Slots::Fixed(4),
    may_be_empty: true,
    words: ["pending", "running", "done", "failed", "skipped"],
    machine: Machine {
        written: &[
            State::Pending,
            State::Running,
            State::Done,
            State::Failed,
            State::Skipped,
        ],
        can_block: false,
        skips_attempted: true,
        counts_retries: false,
        skip_cascades: false,
        retry_stays_failed: false,
    },
    wording: &PLAIN_WORDING,
};

static SAVED: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::required("meta", Field::Metadata, FieldShape::Object),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
    ],
};

static META: FieldTable = FieldTable {
    name: "Meta",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("goal", Field::Goal, FieldShape::Prose),
        FieldSpec::required("created_at", Field::CreatedAt, FieldShape::Time),
    ],
};

static FLAT: FieldTable = FieldTable {
    name: "Flat plan",
    fields: &[
        FieldSpec::required("goal", Field::Goal, FieldShape::Prose),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("created_at", Field::CreatedAt, FieldShape::Time),
    ],
};

static TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::optional("depends_on", Field::Dependencies, FieldShape::List),
        FieldSpec::optional(
            "complexity",
            Field::Complexity,
            FieldShape::OneOf(&["low", "medium", "high"]),
        ),
        FieldSpec::optional("skip", Field::Skip, FieldShape::Bool),
        FieldSpec::optional("notes", Field::Notes, FieldShape::Text),
        FieldSpec::optional(
            "status",
            Field::Status,
            FieldShape::Own("one of pending, running, done, failed, skipped"),
        ),
        FieldSpec::optional("tools", Field::Tools, FieldShape::TextListOrNull),
    ],
};
const ID: usize = 0;
const DEPENDS_ON: usize = 2;
const SKIP: usize = 4;
const STATUS: usize = 6;

static TABLES: &[&FieldTable] = &[&SAVED, &META, &FLAT, &TASK];

impl Dialect for Clido {
    fn name(&self) -> &'static str {
        "clido"
    }

    fn title(&self) -> &'static str {
        "clido plan"
    }

    fn carriers(&self) -> &'static [CarrierKind] {
        &[CarrierKind::Json]
    }

    fn places(&self) -> &'static [&'static str] {
        &[".clido/plans/*.json"]
    }

    fn new_place(&self, id: Option<&str>, _date: &str, name: &str) -> String {
        format!(".clido/plans/{}.json", id.unwrap_or(name))
    }

    fn reads_prose(&self) -> bool {
        true
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.root.filter(|root| root.kind() == NodeKind::Object) else {
            return 0;
        };
        let tasks = root.get("tasks");
        let list = tasks.filter(|tasks| tasks.resolved().kind() == NodeKind::Array);
        let first = list.and_then(|tasks| tasks.elements().next());
        let task_has = |key: &str| first.is_some_and(|task| task.get(key).is_some());
        let meta = root
            .get("meta")
            .is_some_and(|meta| meta.resolved().kind() == NodeKind::Object);
        match (meta, root.get("goal").is_some(), tasks.is_some()) {
            (true, _, true) => 90,
            (_, true, true) => 80,
            (true, _, false) => 30,
            (false, false, true) if task_has("depends_on") || (task_has("id") && !task_has("title")) => 40,
            (false, false, true) if list.is_some() && first.is_none() => 10,
            _ => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        let is_saved = input.root.is_some_and(|root| root.get("meta").is_some());
        let form = if is_saved { "saved" } else { "flat" };
        let builder = PlanBuilder::new(input.source, self.name(), form, &LIFECYCLE);
        let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
        if let Some(root) = input.root {
            read_root(&mut reader, root, is_saved);
        }
        reader.finish()
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        super::id_against_name(plan, path, self.name()).into_iter().collect()
    }

    fn table_of(&self, plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan if plan.form == "saved" => &SAVED,
            Owner::Plan => &FLAT,
            Owner::Task(_) => &TASK,
        })
    }

    fn tables(&self) -> &'static [&'static FieldTable] {
        TABLES
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }

    fn schema(&self) -> &'static str {
        include_str!("../../../schemas/clido.json")
    }

    fn writer(&self) -> Option<&'static dyn DialectWriter> {
        Some(&write::ClidoWriter)
    }

    fn prompt(&self) -> Option<&'static str> {
        Some(include_str!("prompt.md"))
    }

    fn edits(&self) -> Option<&'static dyn Edits> {
        Some(&Clido)
    }

    fn planning(&self) -> Option<&'static dyn Planning> {
        Some(&Clido)
    }
}

impl Edits for Clido {
    fn fresh_id(&self, plan: &Plan, _minted: &str) -> Option<String> {
        Some(next_id_in_style(plan, "t"))
    }

    fn record(&self, recording: &Recording<'_>) -> Vec<FieldEdit> {
        record::record(recording)
    }
}

impl Planning for Clido {
    fn guide(&self) -> &'static str {
        include_str!("planning.md")
    }
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>, is_saved: bool) {
    let table = if is_saved { &SAVED } else { &FLAT };
    let owner = || "the plan".to_owned();
    let mut found = reader.sort(root, table);
    reader.report_misnamed(&mut found, table, &owner);
    for entry in reader.record(&found, table, &owner) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    if is_saved && let Some(meta) = found.get_kind(0, NodeKind::Object) {
        let found = reader.sort(meta, &META);
        for entry in reader.record(&found, &META, &|| "`meta`".to_owned()) {
            reader.builder.head_entry(entry.field, entry.value);
        }
    }
    if let Some(tasks) = found.get_kind(1, NodeKind::Array) {
        reader.builder.plan().tasks_span = Some(tasks.span());
        reader.builder.reserve(tasks.n_rows() / 16, 8);
        for (task_ix, task) in tasks.elements().enumerate() {
            read_task(reader, task, task_ix);
        }
    }
}

fn read_task<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, task_ix: usize) {
    if node.resolved().kind() != NodeKind::Object {
        reader.not_an_object(node, &format!("task {}", task_ix + 1));
        reader.placeholder(node);
        return;
    }
    let mut found = reader.sort(node, &TASK);
    let id = found.get(ID);
    let owner = || task_label(id, task_ix);
    reader.report_misnamed(&mut found, &TASK, &owner);
    let entries = reader.record(&found, &TASK, &owner);
    let dependencies = read_dependencies(reader, found.get(DEPENDS_ON), &owner);
    let task_ix = reader.task(node, entries, dependencies);
    if let Some(id) = found.get_kind(ID, NodeKind::String) {
        let id = reader.text(id);
        reader.builder.task_mut(task_ix).name = TaskName::Id(id);
    }
    if let Some(status) = found.get(STATUS) {
        let value = reader.status(status, &LIFECYCLE.words, &owner, None);
        let task = reader.builder.task_mut(task_ix);
        task.status = value;
        task.status_span = status.span();
    }
    reader.builder.task_mut(task_ix).held = found.get(SKIP).and_then(NodeRef::as_bool) == Some(true);
}

fn task_label(id: Option<NodeRef<'_>>, task_ix: usize) -> String {
    match id.and_then(NodeRef::text) {
        Some(id) if !id.is_empty() => format!("task `{}`", super::reader::excerpt(&id)),
        _ => format!("task {}", task_ix + 1),
    }
}

fn read_dependencies<'d>(
    reader: &mut PlanReader<'d>,
    list: Option<NodeRef<'d>>,
    owner: &dyn Fn() -> String,
) -> Vec<Dependency> {
    let Some(list) = list else {
        return Vec::new();
    };
    let mut dependencies = reader.dependency_buffer();
    if list.resolved().kind() != NodeKind::Array {
        dependencies.push(Dependency::unreadable(list.span()));
    }
    for item in list.elements() {
        let target = if item.resolved().kind() == NodeKind::String {
            DependencyTarget::Id(reader.text(item))
        } else {
            if item.kind() != NodeKind::Invalid {
                let message = format!("a dependency of {} is {}, not a task id", owner(), item.describe());
                reader.report(
                    Diagnostic::new(&INVALID_REFERENCE, item.span(), message)
                        .with_help("write the id of a task, in quotes"),
                );
            }
            DependencyTarget::Unreadable
        };
        dependencies.push(Dependency {
            span: item.span(),
            target,
        });
    }
    dependencies
}
