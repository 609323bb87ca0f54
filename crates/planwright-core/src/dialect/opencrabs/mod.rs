//! OpenCrabs plans: the full document of a session, and the minimal form for import.

mod numbers;
mod record;
mod write;

use super::reader::{ObjectFields, PLAIN_VOICE, PlanReader, excerpt, member_cut, requote};
use super::rules::{FILE_NAME, INVALID_FIELD, INVALID_REFERENCE, INVALID_STATUS, PLAN_STATUS, QUOTED_VALUE};
use super::table::{FieldShape, FieldSpec, FieldTable};
use super::words::nearest;
use super::{
    CarrierKind, Dialect, DialectInput, DialectWriter, Edits, Fit, Home, LocatedPlan, PlanReading, Planning, Recording,
    RequestHistory, file_name,
};
use crate::diagnostic::{Diagnostic, Replacement, Rule, Severity, rules};
use crate::document::patch::PlainValue as PatchValue;
use crate::document::{NodeKind, NodeRef};
use crate::edit::{FieldEdit, Owner, PlanMove, PlanRequest};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use crate::plan::{
    Dependency, DependencyTarget, Field, FieldValue, Lifecycle, Machine, Plan, PlanBuilder, PlanMachine, PlanRow,
    RunRefusal, Slots, State, StateCounts, Status, TaskOrder,
};
use crate::text::{Span, visible};
use numbers::WrittenNumber;

/// The OpenCrabs dialect.
pub struct OpenCrabs;

static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::File,
    slots: Slots::Fixed(1),
    may_be_empty: false,
    words: ["Pending", "InProgress", "Completed", "Failed", "Skipped"],
    machine: Machine {
        written: &State::ALL,
        can_block: true,
        skips_attempted: true,
        counts_retries: true,
        skip_cascades: false,
        retry_stays_failed: false,
    },
    wording: &PLAIN_WORDING,
};

const PLAN_STATUSES: &[&str] = &[
    "Draft",
    "PendingApproval",
    "Approved",
    "Rejected",
    "InProgress",
    "Completed",
    "Cancelled",
];

/// A plan is approved, asked for or not, before it is worked on; what was approved may be rejected until then. What was
/// rejected is submitted again, and what is not over may be cancelled.
static PLAN_MACHINE: PlanMachine = PlanMachine {
    rows: &[
        row(
            "Draft",
            [Some("PendingApproval"), Some("Approved"), None, Some("Cancelled")],
        ),
        row(
            "PendingApproval",
            [None, Some("Approved"), Some("Rejected"), Some("Cancelled")],
        ),
        row("Approved", [None, None, Some("Rejected"), Some("Cancelled")]),
        row("Rejected", [Some("PendingApproval"), None, None, Some("Cancelled")]),
        row("InProgress", [None, None, None, Some("Cancelled")]),
        row("Completed", [None; 4]),
        row("Cancelled", [None; 4]),
    ],
    unsaid: Some("Draft"),
    lacks: "",
    instead: "",
};

const fn row(from: &'static str, to: [Option<&'static str>; 4]) -> PlanRow {
    PlanRow { from, to }
}

const TASK_TYPES: &[&str] = &[
    "research",
    "edit",
    "create",
    "delete",
    "test",
    "documentation",
    "configuration",
];

/// Types the original code knows beyond its own documentation.
const UNDOCUMENTED_TYPES: &[&str] = &["refactor", "build"];

static PLAN: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::required("title", Field::Title, FieldShape::Prose),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::required("tasks", Field::Tasks, FieldShape::List),
        FieldSpec::optional("id", Field::Id, FieldShape::Text),
        FieldSpec::optional("session_id", Field::SessionId, FieldShape::Text),
        FieldSpec::optional("status", Field::Status, FieldShape::OneOf(PLAN_STATUSES)),
        FieldSpec::optional("created_at", Field::CreatedAt, FieldShape::Time),
        FieldSpec::optional("updated_at", Field::UpdatedAt, FieldShape::Time),
        FieldSpec::optional("approved_at", Field::ApprovedAt, FieldShape::TimeOrNull),
        FieldSpec::optional("context", Field::Context, FieldShape::Text),
        FieldSpec::optional("risks", Field::Risks, FieldShape::TextList),
        FieldSpec::optional("technical_stack", Field::TechnicalStack, FieldShape::TextList),
        FieldSpec::optional("test_strategy", Field::TestStrategy, FieldShape::Text),
    ],
};
const TASKS: usize = 2;
const PLAN_ID: usize = 3;
const SESSION_ID: usize = 4;
const PLAN_STATUS_IX: usize = 5;

static TASK: FieldTable = FieldTable {
    name: "Task",
    fields: &[
        FieldSpec::required("title", Field::Title, FieldShape::Prose),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::required(
            "task_type",
            Field::TaskKind,
            FieldShape::Own("one of research, edit, create, delete, test, documentation, configuration"),
        ),
        FieldSpec::optional("dependencies", Field::Dependencies, FieldShape::List),
        FieldSpec::optional("complexity", Field::Complexity, FieldShape::Integer(1, 5)),
        FieldSpec::optional("acceptance_criteria", Field::Criteria, FieldShape::TextList),
        FieldSpec::optional("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::optional("order", Field::Position, FieldShape::Integer(1, u32::MAX as i64)),
        FieldSpec::optional(
            "status",
            Field::Status,
            FieldShape::Own("one of Pending, InProgress, Completed, Failed, Skipped, or {\"Blocked\": \"reason\"}"),
        ),
        FieldSpec::optional("notes", Field::Notes, FieldShape::TextOrNull),
        FieldSpec::optional("completed_at", Field::CompletedAt, FieldShape::TimeOrNull),
        FieldSpec::optional("execution_history", Field::History, FieldShape::List),
        FieldSpec::optional(
            "retry_count",
            Field::RetryCount,
            FieldShape::Integer(0, u32::MAX as i64),
        ),
        FieldSpec::optional(
            "max_retries",
            Field::MaxRetries,
            FieldShape::Integer(0, u32::MAX as i64),
        ),
        FieldSpec::optional("artifacts", Field::Artifacts, FieldShape::TextList),
        FieldSpec::optional("reflection", Field::Reflection, FieldShape::TextOrNull),
    ],
};
const TITLE: usize = 0;
const TASK_TYPE: usize = 2;
const DEPENDENCIES: usize = 3;
const ID: usize = 6;
const ORDER: usize = 7;
const STATUS: usize = 8;

/// Fields that import overwrites, so that giving them in the minimal form is in vain.
const GENERATED: &[usize] = &[ID, ORDER, STATUS, 9, 10, 11, 12, 14, 15];

rules! {
    UNDOCUMENTED_TYPE = "opencrabs-undocumented-type", Warning,
        "A task type is one that OpenCrabs reads but does not document.",
        "`refactor` and `build` work in some versions only. The documented types are research, edit, create, delete, test, documentation and configuration.",
        "\"task_type\": \"refactor\"",
        "\"task_type\": \"edit\"";
    EMPTY_DEPENDENCIES = "opencrabs-empty-dependencies", Note,
        "An empty list of dependencies is redundant.",
        "OpenCrabs asks for the field to be left out if there are none.",
        "\"dependencies\": []",
        "(no field at all)";
    GENERATED_FIELD = "opencrabs-generated-field", Note,
        "The import form gives a field that import overwrites.",
        "Ids, order, status and times are generated. Leave them out of files to import.",
        "{\"title\": \"…\", \"description\": \"…\", \"task_type\": \"edit\", \"order\": 1}",
        "{\"title\": \"…\", \"description\": \"…\", \"task_type\": \"edit\"}";
    DUPLICATE_ORDER = "opencrabs-duplicate-order", Error,
        "Two tasks have the same order.",
        "Integer dependencies mean these numbers, so a number must mean one task.",
        "\"order\": 1 … \"order\": 1",
        "\"order\": 1 … \"order\": 2";
    ORDER_DIFFERS = "opencrabs-order-differs", Warning,
        "The order values differ from the places in the list.",
        "Integer dependencies then mean the order values. Import renumbers the tasks by their places and updates references.",
        "first task: \"order\": 2, second task: \"order\": 1",
        "first task: \"order\": 1, second task: \"order\": 2";
}

static TABLES: &[&FieldTable] = &[&PLAN, &TASK];

impl Dialect for OpenCrabs {
    fn name(&self) -> &'static str {
        "opencrabs"
    }

    fn title(&self) -> &'static str {
        "OpenCrabs plan"
    }

    fn carriers(&self) -> &'static [CarrierKind] {
        &[CarrierKind::Json]
    }

    fn places(&self) -> &'static [&'static str] {
        &[
            ".opencrabs/agents/session/.opencrabs_plan_*.json",
            "session/.opencrabs_plan_*.json",
            "plans/coding-plans/*.json",
        ]
    }

    fn new_place(&self, _id: Option<&str>, _date: &str, name: &str) -> String {
        format!("plans/coding-plans/{name}.json")
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.root.filter(|root| root.kind() == NodeKind::Object) else {
            return 0;
        };
        let has = |key: &str| root.get(key).is_some();
        let tasks = root.get("tasks");
        let list = tasks.filter(|tasks| tasks.resolved().kind() == NodeKind::Array);
        let first = list.and_then(|tasks| tasks.elements().next());
        let task_has = |key: &str| first.is_some_and(|task| task.get(key).is_some());
        if tasks.is_none() {
            return if has("session_id") && has("title") { 30 } else { 0 };
        }
        match () {
            () if task_has("task_type") => 95,
            () if has("session_id") || has("technical_stack") || has("test_strategy") => 85,
            () if has("goal") || has("meta") => 0,
            () if has("title") && has("description") => 70,
            () if task_has("title") && task_has("dependencies") => 60,
            () if has("title") || has("description") => 20,
            () if list.is_some() && first.is_none() => 10,
            () => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        let form = match input.root {
            Some(root) if is_full(root) => "full",
            _ => "minimal",
        };
        let builder = PlanBuilder::new(input.source, self.name(), form, &LIFECYCLE);
        let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
        if let Some(root) = input.root {
            read_root(&mut reader, root, form == "minimal");
        }
        reader.finish()
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        let name = file_name(path);
        let session = name
            .strip_prefix(".opencrabs_plan_")
            .and_then(|rest| rest.strip_suffix(".json"));
        let (Some(session), Some(FieldValue::Text(written))) = (session, plan.head_value(Field::SessionId)) else {
            return Vec::new();
        };
        if plan.is_doubtful || session == plan.str(written) {
            return Vec::new();
        }
        let message = format!(
            "the plan's session is `{}`, its file is that of `{session}`",
            visible(plan.str(written))
        );
        vec![
            Diagnostic::new(&FILE_NAME, plan.text_span(written), message)
                .with_help("OpenCrabs finds plans by session: rename the file, or import the plan into the session"),
        ]
    }

    fn table_of(&self, _plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan => &PLAN,
            Owner::Task(_) => &TASK,
        })
    }

    fn refuses_work(&self, plan: &Plan, _findings: &[Diagnostic]) -> Option<RunRefusal> {
        record::refuses_work(plan)
    }

    fn plan_machine(&self) -> &'static PlanMachine {
        &PLAN_MACHINE
    }

    fn tables(&self) -> &'static [&'static FieldTable] {
        TABLES
    }

    fn rules(&self) -> &'static [&'static Rule] {
        ALL
    }

    fn schema(&self) -> &'static str {
        include_str!("../../../schemas/opencrabs.json")
    }

    fn writer(&self) -> Option<&'static dyn DialectWriter> {
        Some(&write::OpenCrabsWriter)
    }

    fn prompt(&self) -> Option<&'static str> {
        Some(include_str!("prompt.md"))
    }

    fn edits(&self) -> Option<&'static dyn Edits> {
        Some(&OpenCrabs)
    }

    fn planning(&self) -> Option<&'static dyn Planning> {
        Some(&OpenCrabs)
    }

    fn home(&self) -> Option<&'static dyn Home> {
        Some(&OpenCrabs)
    }
}

impl Edits for OpenCrabs {
    fn needed(&self) -> Option<&'static str> {
        Some("task_type=edit")
    }

    fn refuses_changes(&self, plan: &Plan) -> Option<(&'static str, &'static str)> {
        record::refuses(plan)
    }

    fn record_plan(&self, located: &LocatedPlan<'_>, step: &PlanMove, request: &PlanRequest<'_>) -> Vec<FieldEdit> {
        record::record_plan(located.plan, step, request)
    }

    fn numbering(&self, _plan: &Plan) -> Option<usize> {
        Some(1)
    }

    fn reference(&self, plan: &Plan, task_ix: usize) -> PatchValue {
        let is_number = |dependency: &Dependency| !matches!(dependency.target, DependencyTarget::Id(_));
        let id = plan.tasks().get(task_ix).and_then(|task| plan.task_id(task));
        match id.filter(|_| !plan.all_dependencies().iter().any(is_number)) {
            Some(id) => PatchValue::String(plan.str(id).to_owned()),
            None => PatchValue::Number(plan.task_name(task_ix).into_owned()),
        }
    }

    fn fresh_id(&self, _plan: &Plan, minted: &str) -> Option<String> {
        Some(minted.to_owned())
    }

    fn omits_empty_dependencies(&self) -> bool {
        true
    }

    fn settled(&self, plan: &Plan, states: &[Option<State>]) -> Vec<(&'static str, PatchValue)> {
        let status = record::settled(
            plan.head_str(Field::Status),
            &StateCounts::of_states(states.iter().copied()),
        );
        let member = |status: &str| ("status", PatchValue::String(status.to_owned()));
        status.map(member).into_iter().collect()
    }

    fn touched(&self, now: &str) -> Vec<(&'static str, PatchValue)> {
        vec![("updated_at", PatchValue::String(now.to_owned()))]
    }

    fn record(&self, recording: &Recording<'_>) -> Vec<FieldEdit> {
        record::record(recording)
    }

    fn record_course(&self, course: &RequestHistory<'_>) -> Vec<FieldEdit> {
        record::record_course(course)
    }
}

impl Planning for OpenCrabs {
    fn guide(&self) -> &'static str {
        include_str!("planning.md")
    }
}

impl Home for OpenCrabs {
    fn user_places(&self) -> &'static [&'static str] {
        &[
            ".opencrabs/agents/session/.opencrabs_plan_*.json",
            ".opencrabs/session/.opencrabs_plan_*.json",
            ".opencrabs/plans/coding-plans/*.json",
            ".opencrabs/profiles/*/agents/session/.opencrabs_plan_*.json",
            ".opencrabs/profiles/*/session/.opencrabs_plan_*.json",
            ".opencrabs/profiles/*/plans/coding-plans/*.json",
        ]
    }

    fn session_place(&self, session: &str) -> Option<String> {
        Some(format!(".opencrabs/agents/session/.opencrabs_plan_{session}.json"))
    }
}

/// A document that carries what import generates is one that was imported.
fn is_full(root: NodeRef<'_>) -> bool {
    ["id", "session_id", "status", "created_at"]
        .iter()
        .any(|key| root.get(key).is_some())
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>, is_minimal: bool) {
    let owner = || "the plan".to_owned();
    let mut found = reader.sort(root, &PLAN);
    reader.report_misnamed(&mut found, &PLAN, &owner);
    for entry in reader.record(&found, &PLAN, &owner) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    for uuid in [found.get(PLAN_ID), found.get(SESSION_ID)].into_iter().flatten() {
        check_uuid(reader, uuid);
    }
    let Some(tasks) = found.get_kind(TASKS, NodeKind::Array) else {
        return;
    };
    reader.builder.plan().tasks_span = Some(tasks.span());
    reader.builder.reserve(tasks.n_rows() / 20, 10);
    let mut generated = [None; TASK.fields.len()];
    let mut orders = Vec::new();
    for (position, node) in tasks.elements().enumerate() {
        let order = read_task(reader, node, position, &mut generated);
        orders.push(order);
    }
    let is_certain = !reader.builder.plan().is_doubtful;
    if is_minimal && is_certain {
        report_generated(reader, &generated);
    }
    numbers::resolve(reader, &orders);
    if let Some(status) = found.get(PLAN_STATUS_IX).filter(|_| is_certain) {
        check_plan_status(reader, status);
    }
}

fn check_uuid<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>) {
    if let Some(text) = node.text()
        && !is_uuid(&text)
    {
        let message = format!("`{}` is not a UUID", excerpt(&text));
        reader.report(
            Diagnostic::new(&INVALID_FIELD, node.span(), message)
                .with_severity(Severity::Warning)
                .with_help("OpenCrabs makes ids as UUIDs: leave the field out and import the plan"),
        );
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn read_task<'d>(
    reader: &mut PlanReader<'d>,
    node: NodeRef<'d>,
    position: usize,
    generated: &mut [Option<Span>; TASK.fields.len()],
) -> Option<WrittenNumber> {
    if node.resolved().kind() != NodeKind::Object {
        reader.not_an_object(node, &format!("task {}", position + 1));
        reader.placeholder(node);
        return None;
    }
    let mut found = reader.sort(node, &TASK);
    let title = found.get(TITLE);
    let owner = || task_label(title, position);
    reader.report_misnamed(&mut found, &TASK, &owner);
    for &spec_ix in GENERATED {
        if let Some(value) = found.get(spec_ix) {
            generated[spec_ix].get_or_insert(value.span());
        }
    }
    let entries = reader.record(&found, &TASK, &owner);
    if let Some(kind) = found.get(TASK_TYPE) {
        check_type(reader, kind, &owner);
    }
    let dependencies = read_dependencies(reader, &found, &owner);
    let task_ix = reader.task(node, entries, dependencies);
    if let Some(status) = found.get(STATUS) {
        let value = read_status(reader, status, &owner);
        let task = reader.builder.task_mut(task_ix);
        task.status = value;
        task.status_span = status.span();
    }
    let order = found.get(ORDER)?;
    let number = order
        .as_integer()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|&number| number > 0)?;
    Some(WrittenNumber {
        number,
        span: order.span(),
    })
}

fn task_label(title: Option<NodeRef<'_>>, position: usize) -> String {
    match title.and_then(NodeRef::text) {
        Some(title) if !title.is_empty() => format!("task {} (`{}`)", position + 1, excerpt(&title)),
        _ => format!("task {}", position + 1),
    }
}

fn check_type<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, owner: &dyn Fn() -> String) {
    let node = node.resolved();
    let text = node.text().unwrap_or_default();
    let is = |kind: &&str| text.eq_ignore_ascii_case(kind);
    if TASK_TYPES.iter().any(&is) || node.kind() == NodeKind::Invalid {
        return;
    }
    let known = TASK_TYPES.join(", ");
    if UNDOCUMENTED_TYPES.iter().any(is) {
        let message = format!("`{text}` is a task type that OpenCrabs does not document");
        reader.report(
            Diagnostic::new(&UNDOCUMENTED_TYPE, node.span(), message).with_help(format!("documented are {known}")),
        );
        return;
    }
    let shown = if node.kind() == NodeKind::String {
        format!("`{}`", excerpt(&text))
    } else {
        node.describe().to_owned()
    };
    let mut diagnostic = Diagnostic::new(
        &INVALID_FIELD,
        node.span(),
        format!("`task_type` of {} is {shown}, which is no task type", owner()),
    )
    .with_help(format!("use one of {known}"));
    if let Some(kind) = nearest(&text, TASK_TYPES) {
        diagnostic = diagnostic.with_label(format!("did you mean `{kind}`?"));
        if let Some(text) = requote(node, kind) {
            let fix = vec![Replacement::new(node.span(), text)];
            diagnostic = diagnostic.with_unsafe_fix(format!("write `{kind}`"), fix);
        }
    }
    reader.report(diagnostic);
}

fn read_status<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, owner: &dyn Fn() -> String) -> Status {
    let node = node.resolved();
    if node.kind() != NodeKind::Object {
        if node.is_text("Blocked") {
            let message = format!("the status `Blocked` of {} gives no reason", owner());
            reader.report(
                Diagnostic::new(&INVALID_STATUS, node.span(), message).with_help("write {\"Blocked\": \"the reason\"}"),
            );
            return Status::Blocked(reader.text(node));
        }
        let sentence = |written: &str| {
            (
                format!("`{written}` is not a status of {}", owner()),
                format!(
                    "use one of {} or {{\"Blocked\": \"reason\"}}",
                    LIFECYCLE.words.join(", ")
                ),
            )
        };
        return reader.status(node, &LIFECYCLE.words, owner, Some(&sentence));
    }
    let mut members = node.members();
    match (members.next(), members.next()) {
        (Some(member), None) if member.key.is_text("Blocked") && member.value.resolved().kind() == NodeKind::String => {
            Status::Blocked(reader.text(member.value))
        }
        _ => {
            let message = format!(
                "the status of {} is an object other than {{\"Blocked\": \"reason\"}}",
                owner()
            );
            reader.report(
                Diagnostic::new(&INVALID_STATUS, node.span(), message).with_help(format!(
                    "use one of {} or {{\"Blocked\": \"reason\"}}",
                    LIFECYCLE.words.join(", ")
                )),
            );
            Status::Unknown(reader.builder.bare_text(node.span()))
        }
    }
}

fn read_dependencies<'d>(
    reader: &mut PlanReader<'d>,
    found: &ObjectFields<'d>,
    owner: &dyn Fn() -> String,
) -> Vec<Dependency> {
    let Some(list) = found.get(DEPENDENCIES) else {
        return Vec::new();
    };
    if list.resolved().kind() != NodeKind::Array {
        return vec![Dependency::unreadable(list.span())];
    }
    let mut items = list.elements().peekable();
    if items.peek().is_none() {
        reader.report(empty_dependencies(found, list));
        return Vec::new();
    }
    let mut dependencies = reader.dependency_buffer();
    for item in items {
        let target = read_dependency(reader, item.resolved(), owner);
        dependencies.push(Dependency {
            span: item.span(),
            target,
        });
    }
    dependencies
}

fn empty_dependencies(found: &ObjectFields<'_>, list: NodeRef<'_>) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        &EMPTY_DEPENDENCIES,
        list.span(),
        "an empty list of dependencies is redundant",
    )
    .with_help("leave the field out");
    let member = found.object().members().find(|member| member.value.row() == list.row());
    match (&member, member_cut(found.object(), member.as_ref())) {
        (Some(member), Some(cut)) => {
            let title = format!("remove the empty list `{}`", visible(&member.key.value()));
            diagnostic.with_safe_fix(title, vec![Replacement::delete(cut)])
        }
        _ => diagnostic,
    }
}

fn read_dependency<'d>(reader: &mut PlanReader<'d>, item: NodeRef<'d>, owner: &dyn Fn() -> String) -> DependencyTarget {
    match item.kind() {
        // Numbers are resolved once all tasks are known (`numbers`); until then the span says which number it is.
        NodeKind::Number => match item.as_integer() {
            Some(0..) => DependencyTarget::NoSuchNumber,
            _ => {
                let message = format!("`{}` is not a task number", excerpt(item.slice()));
                reader.report(
                    Diagnostic::new(&INVALID_REFERENCE, item.span(), message)
                        .with_help("task numbers are whole and start at 1"),
                );
                DependencyTarget::Unreadable
            }
        },
        NodeKind::String => {
            let text = item.value();
            if is_uuid(&text) {
                return DependencyTarget::Id(reader.text(item));
            }
            if text
                .parse::<u32>()
                .is_ok_and(|number| number > 0 && number.to_string() == text)
            {
                let fix = vec![Replacement::new(item.span(), text.to_string())];
                reader.report(
                    Diagnostic::new(
                        &QUOTED_VALUE,
                        item.span(),
                        format!("the task number {text} stands in quotes"),
                    )
                    .with_help("write it without quotes")
                    .with_safe_fix(format!("write {text} without quotes"), fix),
                );
                return DependencyTarget::NoSuchNumber;
            }
            // Ids that are no UUIDs are wrong here, but a task may have one all the same.
            let message = format!("`{}` is neither a task number nor a UUID", excerpt(&text));
            reader.report(
                Diagnostic::new(&INVALID_REFERENCE, item.span(), message)
                    .with_help("name tasks by their 1-based number: [1, 2]"),
            );
            DependencyTarget::Unreadable
        }
        NodeKind::Invalid => DependencyTarget::Unreadable,
        _ => {
            let message = format!("a dependency of {} is {}", owner(), item.describe());
            reader.report(
                Diagnostic::new(&INVALID_REFERENCE, item.span(), message)
                    .with_help("name tasks by their 1-based number: [1, 2]"),
            );
            DependencyTarget::Unreadable
        }
    }
}

fn report_generated(reader: &mut PlanReader<'_>, generated: &[Option<Span>; TASK.fields.len()]) {
    for (spec, span) in TASK.fields.iter().zip(generated) {
        if let Some(span) = span {
            let message = format!("`{}` is overwritten on import", spec.name);
            reader
                .report(Diagnostic::new(&GENERATED_FIELD, *span, message).with_help("leave it out of an import file"));
        }
    }
}

fn check_plan_status<'d>(reader: &mut PlanReader<'d>, status: NodeRef<'d>) {
    let open = reader
        .builder
        .plan()
        .tasks()
        .iter()
        .position(|task| !matches!(task.status, Status::Done | Status::Skipped));
    if let Some(open) = open
        && status.is_text("Completed")
    {
        let span = reader.builder.plan().tasks()[open].status_span;
        reader.report(
            Diagnostic::new(
                &PLAN_STATUS,
                status.span(),
                "the plan is `Completed`, but not all of its tasks are",
            )
            .with_related(span, "the first that is not done or skipped")
            .with_help("set the plan to `InProgress`, or finish its tasks"),
        );
    }
}
