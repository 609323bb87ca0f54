//! rawko-sdk plans (SPEC-0010), and the `current-task.yaml` that names one.

mod current_task;
mod record;
mod write;

use super::reader::{ObjectFields, PLAIN_VOICE, PlanReader, excerpt};
use super::rules::{INDEX_BASE, INVALID_REFERENCE, PLAN_STATUS, QUOTED_VALUE};
use super::table::{FieldShape, FieldSpec, FieldTable};
use super::{
    CarrierKind, Dialect, DialectInput, DialectWriter, Edits, Fit, Home, LocatedPlan, PlanPointer, PlanReading,
    Planning, Pointing, Recording, RequestHistory, Successor, Unpointed, VersionLineage, Versions,
};
use crate::diagnostic::{Diagnostic, Replacement, Rule, rules};
use crate::document::patch::PlainValue as PatchValue;
use crate::document::{NodeKind, NodeRef};
use crate::edit::{FieldEdit, Owner, PlanMove, PlanRequest};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING, Wording};
use crate::plan::{
    Dependency, DependencyTarget, Field, FieldValue, Lifecycle, Machine, Plan, PlanBuilder, PlanMachine, PlanRow,
    RunRefusal, Slots, State, StateCounts, Status, TaskName, TaskOrder,
};
use crate::text::{SourceText, Span};

/// The rawko dialect.
pub struct Rawko;

static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: false,
    on_failure: OnFailure::Replan,
    order: TaskOrder::File,
    slots: Slots::Fixed(1),
    may_be_empty: false,
    words: ["pending", "in_progress", "complete", "failed", "skipped"],
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
        skip_cascades: true,
        retry_stays_failed: false,
    },
    wording: &WORDING,
};

static WORDING: Wording = Wording {
    task: "step",
    self_dependency: |step| {
        (
            format!("step {step} depends on itself"),
            "remove the dependency: a step that waits for itself never starts".to_owned(),
        )
    },
    unknown_dependency: |step, dependency| {
        (
            format!("step {step} depends on step {dependency}, which does not exist"),
            "steps are counted from 0: name one that exists, or remove the dependency".to_owned(),
        )
    },
    cycle: |path| {
        (
            format!("the steps depend on each other in a cycle: {path}"),
            "remove one of these dependencies: none of the steps can ever start".to_owned(),
        )
    },
    duplicate_id: PLAIN_WORDING.duplicate_id,
    empty: || {
        (
            "the plan has no steps".to_owned(),
            "add at least one step under `steps`".to_owned(),
        )
    },
    after_stop: PLAIN_WORDING.after_stop,
    after_failure: "the plan is in `replanning`: `planwright replan` has a new version made; `run --retry-failed` tries again",
};

/// Plans are not approved here: the first start begins one. One that is given up has failed.
static PLAN_MACHINE: PlanMachine = PlanMachine {
    rows: &[
        row("draft", Some("failed")),
        row("in_progress", Some("failed")),
        row("replanning", Some("failed")),
        row("complete", None),
        row("failed", None),
    ],
    unsaid: None,
    lacks: "rawko plans are not approved before they are worked on",
    instead: "`planwright start` begins the plan as it is, `planwright cancel` gives it up",
};

const fn row(from: &'static str, cancel: Option<&'static str>) -> PlanRow {
    PlanRow {
        from,
        to: [None, None, None, cancel],
    }
}

static PLAN: FieldTable = FieldTable {
    name: "Plan",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("task", Field::Goal, FieldShape::Prose),
        FieldSpec::required(
            "status",
            Field::Status,
            FieldShape::OneOf(&["draft", "in_progress", "complete", "failed", "replanning"]),
        ),
        FieldSpec::required("steps", Field::Tasks, FieldShape::List),
        FieldSpec::required(
            "currentStepIndex",
            Field::CurrentTask,
            FieldShape::Integer(0, u32::MAX as i64),
        ),
        FieldSpec::required("createdAt", Field::CreatedAt, FieldShape::Time),
        FieldSpec::required("updatedAt", Field::UpdatedAt, FieldShape::Time),
        FieldSpec::required("createdBy", Field::CreatedBy, FieldShape::Text),
        FieldSpec::required("version", Field::Version, FieldShape::Integer(1, u32::MAX as i64)),
        FieldSpec::optional("previousPlanId", Field::PreviousPlan, FieldShape::NonBlank),
        FieldSpec::optional("metadata", Field::Metadata, FieldShape::Object),
    ],
};
const PLAN_ID: usize = 0;
const PLAN_STATUS_IX: usize = 2;
const STEPS: usize = 3;
const CURRENT: usize = 4;
const VERSION: usize = 8;
const PREVIOUS: usize = 9;
const METADATA: usize = 10;

static META: FieldTable = FieldTable {
    name: "Metadata",
    fields: &[
        FieldSpec::optional("complexity", Field::Complexity, FieldShape::Integer(1, 10)),
        FieldSpec::optional("tags", Field::Tags, FieldShape::TextList),
        FieldSpec::optional("constraints", Field::Constraints, FieldShape::TextList),
        FieldSpec::optional("informedByMemories", Field::Memories, FieldShape::TextList),
    ],
};

static STEP: FieldTable = FieldTable {
    name: "Step",
    fields: &[
        FieldSpec::required("index", Field::Position, FieldShape::Integer(0, u32::MAX as i64)),
        FieldSpec::required("description", Field::Description, FieldShape::Prose),
        FieldSpec::required(
            "status",
            Field::Status,
            FieldShape::Own("one of pending, in_progress, complete, failed, skipped"),
        ),
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
const STATUS: usize = 2;
const DEPENDS_ON: usize = 10;

rules! {
    STEP_INDEX = "rawko-step-index", Error,
        "A step's index is not its place in the list.",
        "Steps are counted from 0 in the order of the file, and dependencies name them by that number.",
        "steps:\n  - index: 1\n    description: first\n    status: pending",
        "steps:\n  - index: 0\n    description: first\n    status: pending";
    CURRENT_STEP = "rawko-current-step", Warning,
        "`currentStepIndex` contradicts the statuses of the steps.",
        "While steps are pending it names the one that runs, else the one to run next. When nothing is pending it is the number of steps. Beyond that it is an error.",
        "currentStepIndex: 0, with step 0 complete and step 1 pending",
        "currentStepIndex: 1, with step 0 complete and step 1 pending";
    VERSION_CHAIN = "rawko-version-chain", Error,
        "`version` and `previousPlanId` contradict each other.",
        "The first version has no previous plan; each later one names the plan it replaces.",
        "version: 2   (without previousPlanId)",
        "version: 2\npreviousPlanId: plan-20260123-auth";
    CURRENT_PLAN = "rawko-current-plan", Warning,
        "`current-task.yaml` names a missing plan.",
        "rawko looks for the plan under its id in `plans` next to the file, and so do verbs without a plan argument. If it is missing, the plan was renamed, moved or removed, or the id is misspelt.",
        "planId: plan-20260123-auht   (and .rawko/plans holds plan-20260123-auth.yaml)",
        "planId: plan-20260123-auth";
}

static TABLES: &[&FieldTable] = &[&PLAN, &META, &STEP, &current_task::CURRENT_TASK];

impl Dialect for Rawko {
    fn name(&self) -> &'static str {
        "rawko"
    }

    fn title(&self) -> &'static str {
        "rawko-sdk plan"
    }

    fn carriers(&self) -> &'static [CarrierKind] {
        &[CarrierKind::Yaml, CarrierKind::Json]
    }

    fn places(&self) -> &'static [&'static str] {
        &[".rawko/plans/*.yaml", ".rawko/current-task.yaml"]
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.root.filter(|root| root.kind() == NodeKind::Object) else {
            return 0;
        };
        let has = |key: &str| root.get(key).is_some();
        match () {
            () if has("steps") && (has("currentStepIndex") || has("task")) => 95,
            () if current_task::has_its_fields(root) => 90,
            () if root.get("steps").is_some_and(are_steps) => 60,
            () if has("currentStepIndex") => 50,
            () if input.carrier == CarrierKind::Yaml && has("task") => 30,
            () => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        let builder = PlanBuilder::new(input.source, self.name(), "plan", &LIFECYCLE);
        let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
        if let Some(root) = input.root.filter(|_| current_task::is_current_task(input)) {
            return current_task::read(reader, root, input);
        }
        if let Some(root) = input.root {
            read_root(&mut reader, root);
        }
        reader.finish()
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        super::id_against_name(plan, path, self.name()).into_iter().collect()
    }

    fn table_of(&self, _plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan => &PLAN,
            Owner::Task(_) => &STEP,
        })
    }

    fn refuses_work(&self, plan: &Plan, _findings: &[Diagnostic]) -> Option<RunRefusal> {
        record::refuses_work(plan)
    }

    fn plan_machine(&self) -> &'static PlanMachine {
        &PLAN_MACHINE
    }

    fn new_place(&self, id: Option<&str>, _date: &str, name: &str) -> String {
        format!(".rawko/plans/{}.yaml", id.unwrap_or(name))
    }

    fn tables(&self) -> &'static [&'static FieldTable] {
        TABLES
    }

    fn rules(&self) -> &'static [&'static Rule] {
        ALL
    }

    fn schema(&self) -> &'static str {
        include_str!("../../../schemas/rawko.json")
    }

    fn writer(&self) -> Option<&'static dyn DialectWriter> {
        Some(&write::RawkoWriter)
    }

    fn prompt(&self) -> Option<&'static str> {
        Some(include_str!("prompt.md"))
    }

    fn edits(&self) -> Option<&'static dyn Edits> {
        Some(&Rawko)
    }

    fn versions(&self) -> Option<&'static dyn Versions> {
        Some(&Rawko)
    }

    fn pointer(&self) -> Option<&'static dyn PlanPointer> {
        Some(&Rawko)
    }

    fn planning(&self) -> Option<&'static dyn Planning> {
        Some(&Rawko)
    }

    fn home(&self) -> Option<&'static dyn Home> {
        Some(&Rawko)
    }
}

impl Edits for Rawko {
    fn record_plan(&self, located: &LocatedPlan<'_>, step: &PlanMove, request: &PlanRequest<'_>) -> Vec<FieldEdit> {
        record::record_plan(located, step, request)
    }

    fn numbering(&self, _plan: &Plan) -> Option<usize> {
        Some(0)
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
        vec![("updatedAt", PatchValue::String(now.to_owned()))]
    }

    fn record(&self, recording: &Recording<'_>) -> Vec<FieldEdit> {
        record::record(recording)
    }

    fn record_course(&self, course: &RequestHistory<'_>) -> Vec<FieldEdit> {
        record::record_course(course)
    }
}

impl Versions for Rawko {
    fn lineage(&self, plan: &Plan) -> Option<VersionLineage> {
        lineage(plan)
    }

    fn successor(&self, plan: &Plan, by: &str, now: &str) -> Option<Successor> {
        let VersionLineage { base, version } = lineage(plan)?;
        let id = format!("{base}-v{}", version + 1);
        let old = plan.head_str(Field::Id)?;
        let text = |field, text: &str| FieldEdit::text(Owner::Plan, field, text);
        let number = PatchValue::Number((version + 1).to_string());
        let changes = vec![
            text(Field::Id, &id),
            text(Field::Status, "draft"),
            FieldEdit::set(Owner::Plan, Field::Version, number),
            text(Field::CreatedAt, now),
            text(Field::UpdatedAt, now),
            text(Field::CreatedBy, by),
            text(Field::PreviousPlan, old),
        ];
        Some(Successor { id, changes })
    }
}

impl PlanPointer for Rawko {
    fn place(&self) -> &'static str {
        ".rawko/current-task.yaml"
    }

    fn neighbours(&self, path: &str) -> Option<&'static str> {
        current_task::plans_beside(path)
    }

    fn target(&self, source: &SourceText) -> Option<String> {
        let parsed = crate::document::yaml::parse(source);
        let id = parsed.document.root()?.get("planId")?.text()?.into_owned();
        // Only an id that names a file next to the others.
        (!id.is_empty() && !id.contains(['/', '\\']) && id != "..").then(|| format!("plans/{id}.yaml"))
    }

    fn file(&self, path: &str) -> Option<&'static str> {
        current_task::pointer(path)
    }

    fn update(
        &self,
        old: Option<&SourceText>,
        plan: &Plan,
        pointing: Pointing,
        now: &str,
    ) -> Result<Option<String>, Unpointed> {
        current_task::point(old, plan, pointing, now)
    }
}

impl Planning for Rawko {
    fn guide(&self) -> &'static str {
        include_str!("planning.md")
    }
}

impl Home for Rawko {
    fn archive(&self) -> Option<&'static str> {
        Some("archive")
    }
}

/// The second version of `base` is called `base-v2`, the third `base-v3`. A name may end like that by itself, so the end counts
/// only where the plan says that it is that version.
fn lineage(plan: &Plan) -> Option<VersionLineage> {
    let id = plan.head_str(Field::Id).filter(|id| !id.trim().is_empty())?;
    let version = match plan.head_value(Field::Version)? {
        FieldValue::Number(span) => plan.source().slice(span).parse::<u64>().ok()?,
        _ => return None,
    };
    let suffix = format!("-v{version}");
    let base = id.strip_suffix(&suffix).filter(|base| version > 1 && !base.is_empty());
    Some(VersionLineage {
        base: base.unwrap_or(id).to_owned(),
        version,
    })
}

/// Returns whether a list looks like the steps of a plan. Many tools keep a list by that name, with commands in it.
fn are_steps(list: NodeRef<'_>) -> bool {
    const OWN: [&str; 3] = ["description", "suggestedAgent", "acceptanceCriteria"];
    const OF_OTHERS: [&str; 8] = [
        "command", "commands", "run", "script", "uses", "image", "executor", "call",
    ];
    let any_has = |keys: &[&str]| {
        let mut first = list.elements().take(20);
        first.any(|step| keys.iter().any(|key| step.get(key).is_some()))
    };
    let is_empty = list.kind() == NodeKind::Array && list.elements().next().is_none();
    is_empty || (any_has(&OWN) && !any_has(&OF_OTHERS))
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) {
    let owner = || "the plan".to_owned();
    let mut found = reader.sort(root, &PLAN);
    reader.report_misnamed(&mut found, &PLAN, &owner);
    for entry in reader.record(&found, &PLAN, &owner) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    if let Some(metadata) = found.get_kind(METADATA, NodeKind::Object) {
        let inner = reader.sort(metadata, &META);
        for entry in reader.record(&inner, &META, &|| "`metadata`".to_owned()) {
            reader.builder.head_entry(entry.field, entry.value);
        }
    }
    if let Some(steps) = found.get_kind(STEPS, NodeKind::Array) {
        reader.builder.plan().tasks_span = Some(steps.span());
        reader.builder.reserve(steps.n_rows() / 14, 8);
        for (position, step) in steps.elements().enumerate() {
            read_step(reader, step, position);
        }
        check_own_indices(reader, steps);
        resolve_indices(reader, steps);
    }
    // These look for what may stand in a part that was not read.
    if !reader.builder.plan().is_doubtful {
        check_version(reader, &found);
        check_current(reader, &found);
        check_status(reader, &found);
    }
}

fn read_step<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, position: usize) {
    if node.resolved().kind() != NodeKind::Object {
        reader.not_an_object(node, &format!("step {position}"));
        let step_ix = reader.placeholder(node);
        reader.builder.task_mut(step_ix).name = TaskName::Number(position as u32);
        return;
    }
    let mut found = reader.sort(node, &STEP);
    let owner = || format!("step {position}");
    reader.report_misnamed(&mut found, &STEP, &owner);
    let entries = reader.record(&found, &STEP, &owner);
    let dependencies = read_dependencies(reader, found.get(DEPENDS_ON), &owner);
    let step_ix = reader.task(node, entries, dependencies);
    reader.builder.task_mut(step_ix).name = TaskName::Number(position as u32);
    if let Some(status) = found.get(STATUS) {
        let value = reader.status(status, &LIFECYCLE.words, &owner, None);
        let step = reader.builder.task_mut(step_ix);
        step.status = value;
        step.status_span = status.span();
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
        let node = item.resolved();
        let target = match node.kind() {
            NodeKind::Number if node.as_integer().is_some_and(|number| number >= 0) => {
                let position = node.as_integer().and_then(|number| u32::try_from(number).ok());
                position.map_or(DependencyTarget::NoSuchNumber, DependencyTarget::Position)
            }
            NodeKind::String if node.value().parse::<u32>().is_ok() => {
                let bare = node.value().trim().to_owned();
                let fix = vec![Replacement::new(node.span(), bare.clone())];
                reader.report(
                    Diagnostic::new(
                        &QUOTED_VALUE,
                        node.span(),
                        format!("the step index {bare} stands in quotes"),
                    )
                    .with_help("write it without quotes")
                    .with_safe_fix(format!("write {bare} without quotes"), fix),
                );
                bare.parse()
                    .map_or(DependencyTarget::NoSuchNumber, DependencyTarget::Position)
            }
            NodeKind::Invalid => DependencyTarget::Unreadable,
            _ => {
                let message = format!(
                    "a dependency of {} is `{}`, not a step index",
                    owner(),
                    excerpt(node.slice())
                );
                reader.report(
                    Diagnostic::new(&INVALID_REFERENCE, item.span(), message)
                        .with_help("name steps by their index, counted from 0"),
                );
                DependencyTarget::Unreadable
            }
        };
        dependencies.push(Dependency {
            span: item.span(),
            target,
        });
    }
    dependencies
}

/// Marks indices out of range, and says so where all of them seem to count from 1.
fn resolve_indices<'d>(reader: &mut PlanReader<'d>, steps: NodeRef<'d>) {
    let plan = reader.builder.plan();
    let n_steps = plan.tasks().len() as u32;
    let mut numbers: Vec<(u32, u32, Span)> = Vec::new();
    for (step_ix, step) in plan.tasks().iter().enumerate() {
        for dependency in plan.dependencies(step) {
            if let DependencyTarget::Position(number) = dependency.target {
                numbers.push((step_ix as u32, number, dependency.span));
            }
        }
    }
    let own: Vec<(u32, Span)> = steps.elements().filter_map(own_index).collect();
    let all_shifted = !numbers.is_empty()
        && own.len() == n_steps as usize
        && own
            .iter()
            .enumerate()
            .all(|(position, &(index, _))| index as usize == position + 1);
    // Counted from 1, every dependency would be on an earlier step; counted from 0, some make no sense.
    let fits_from_one = numbers
        .iter()
        .all(|&(step, number, _)| number >= 1 && number - 1 < step);
    let senseless = numbers
        .iter()
        .find(|&&(step, number, _)| number == n_steps || number == step);
    let shifted = own.iter().filter(|_| all_shifted).map(|&(index, span)| (index, span));
    let mut edits: Vec<Replacement> = shifted
        .chain(numbers.iter().map(|&(_, number, span)| (number, span)))
        .filter(|&(number, _)| number > 0)
        .map(|(number, span)| Replacement::new(span, (number - 1).to_string()))
        .collect();
    edits.sort_by_key(|edit| edit.span);
    edits.dedup_by_key(|edit| edit.span);
    if all_shifted {
        let message = "the steps are counted from 1: rawko counts from 0";
        reader.report(
            Diagnostic::new(&INDEX_BASE, own[0].1, message)
                .with_help("take one from every index and from every dependency")
                .with_unsafe_fix("take one from every index and dependency", edits),
        );
        reader.builder.retarget(|dependency| match dependency.target {
            DependencyTarget::Position(number @ 1..) if number <= n_steps => DependencyTarget::Position(number - 1),
            DependencyTarget::Position(_) => DependencyTarget::NoSuchNumber,
            target => target,
        });
    } else if let Some(&(_, number, span)) = senseless.filter(|_| fits_from_one) {
        let message = if number == n_steps {
            format!("there is no step {number}: steps are counted from 0")
        } else {
            format!("step {number} would wait for itself: steps are counted from 0")
        };
        reader.report(
            Diagnostic::new(&INDEX_BASE, span, message)
                .with_help("if all dependencies here count from 1, take one from each")
                .with_unsafe_fix("take one from every dependency", edits),
        );
        // Nobody can tell what any of them means, so none may let a step start.
        reader.builder.retarget(|dependency| match dependency.target {
            DependencyTarget::Position(_) => DependencyTarget::Unreadable,
            target => target,
        });
    }
    reader.builder.retarget(|dependency| match dependency.target {
        DependencyTarget::Position(position) if position >= n_steps => DependencyTarget::NoSuchNumber,
        target => target,
    });
}

/// Returns the index a step gives itself, and where.
fn own_index(step: NodeRef<'_>) -> Option<(u32, Span)> {
    let index = step.get("index")?;
    Some((u32::try_from(index.as_integer()?).ok()?, index.resolved().span()))
}

/// Reports indices that are not the places of their steps, unless all are shifted alike and dependencies seem to be as well.
fn check_own_indices<'d>(reader: &mut PlanReader<'d>, steps: NodeRef<'d>) {
    let own: Vec<Option<(u32, Span)>> = steps.elements().map(own_index).collect();
    let is_shifted = |(position, index): (usize, &Option<(u32, Span)>)| {
        index.is_some_and(|(index, _)| index as usize == position + 1)
    };
    let plan = reader.builder.plan();
    let is_counted = |dependency: &Dependency| matches!(dependency.target, DependencyTarget::Position(_));
    let mut steps = plan.tasks().iter();
    let has_counted = steps.any(|step| plan.dependencies(step).iter().any(is_counted));
    if has_counted && own.iter().enumerate().all(is_shifted) {
        return;
    }
    for (position, index) in own.iter().enumerate() {
        let Some((index, span)) = index.filter(|&(index, _)| index as usize != position) else {
            continue;
        };
        let fix = vec![Replacement::new(span, position.to_string())];
        reader.report(
            Diagnostic::new(
                &STEP_INDEX,
                span,
                format!("the step at place {position} has the index {index}"),
            )
            .with_help(format!("write {position}, and check the dependencies on both steps"))
            .with_unsafe_fix(format!("write {position}"), fix),
        );
    }
}

fn check_version<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>) {
    let Some(version) = found.get(VERSION) else {
        return;
    };
    let previous = found.get(PREVIOUS);
    match (version.as_integer(), previous) {
        (Some(number), None) if number > 1 => reader.report(
            Diagnostic::new(
                &VERSION_CHAIN,
                version.span(),
                format!("version {number} does not say which plan it replaces"),
            )
            .with_help("add `previousPlanId`"),
        ),
        (Some(1), Some(previous)) => reader.report(
            Diagnostic::new(
                &VERSION_CHAIN,
                previous.span(),
                "the first version of a plan has no previous one",
            )
            .with_related(version.span(), "version 1")
            .with_help("remove `previousPlanId`, or raise `version`"),
        ),
        (_, Some(previous)) if found.get(PLAN_ID).is_some_and(|id| previous.is_text(&id.value())) => {
            reader.report(
                Diagnostic::new(
                    &VERSION_CHAIN,
                    previous.span(),
                    "the plan names itself as its previous version",
                )
                .with_help("name the plan it replaces"),
            );
        }
        _ => {}
    }
}

fn check_current<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>) {
    let Some((node, current)) = found.get(CURRENT).and_then(|node| Some((node, node.as_integer()?))) else {
        return;
    };
    let steps = reader.builder.plan().tasks();
    let n_steps = steps.len() as i64;
    if found.get(STEPS).is_none() || current < 0 {
        return;
    }
    let is_open = |status: Status| matches!(status, Status::Pending | Status::Running);
    let open = steps.iter().position(|step| is_open(step.status));
    let running = steps.iter().position(|step| step.status == Status::Running);
    let (message, severity) = match open {
        _ if current > n_steps => (format!("there is no step {current}: the plan has {n_steps}"), true),
        Some(open) if current == n_steps => (
            format!("`currentStepIndex` says all is done, but step {open} is not"),
            false,
        ),
        Some(open)
            if steps
                .get(current as usize)
                .is_some_and(|step| matches!(step.status, Status::Done | Status::Skipped)) =>
        {
            let next = running.unwrap_or(open);
            (
                format!("`currentStepIndex` names step {current}, which is finished; step {next} is not"),
                false,
            )
        }
        _ => return,
    };
    let diagnostic = Diagnostic::new(&CURRENT_STEP, node.span(), message)
        .with_help("set it to the step that runs or comes next; to the number of steps when nothing is pending");
    reader.report(if severity {
        diagnostic.with_severity(crate::diagnostic::Severity::Error)
    } else {
        diagnostic
    });
}

fn check_status<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>) {
    let Some(status) = found.get(PLAN_STATUS_IX) else {
        return;
    };
    let steps = reader.builder.plan().tasks();
    let unfinished = steps
        .iter()
        .position(|step| !matches!(step.status, Status::Done | Status::Skipped));
    let begun = steps.iter().position(|step| step.status != Status::Pending);
    let (message, other) = match (unfinished, begun) {
        (Some(at), _) if status.is_text("complete") => (format!("the plan is `complete`, but step {at} is not"), at),
        (_, Some(at)) if status.is_text("draft") && steps[at].status == Status::Running => {
            (format!("the plan is a `draft`, but step {at} is running"), at)
        }
        _ => return,
    };
    let span = steps[other].status_span;
    reader.report(
        Diagnostic::new(&PLAN_STATUS, status.span(), message)
            .with_related(span, "its status is here")
            .with_help("set the plan to `in_progress`, or finish its steps"),
    );
}
