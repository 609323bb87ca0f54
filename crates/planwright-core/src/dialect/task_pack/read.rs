//! Reads a pack as a plan: frontmatter and contract become the model, waves become stages.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::reader::{ObjectFields, PLAIN_VOICE, PlanReader, excerpt};
use super::super::table::FieldTable;
use super::super::{CarrierKind, DialectInput, DiskLookup, PlanReading, Questions};
use super::fields::{CONTRACT, FRONTMATTER, TASK, place};
use super::finding::ContractFindings;
use super::js::{JsString, JsView};
use super::original::{self, OriginalPack, parse_fence};
use super::paths::is_concrete;
use super::report::MisnamedField;
use super::{contract, report};
use crate::diagnostic::{Diagnostic, Safety};
use crate::document::markdown::Markdown;
use crate::document::{NodeKind, NodeRef, Parsed};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING, Wording};
use crate::plan::{
    Dependency, DependencyTarget, Field, FieldEntry, FieldValue, Lifecycle, Machine, PlanBuilder, Priority, Slots,
    TaskName, TaskOrder,
};

static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::Stage,
    slots: Slots::StageWidth(4),
    may_be_empty: false,
    words: ["", "", "", "", ""],
    machine: Machine {
        written: &[],
        can_block: false,
        skips_attempted: true,
        counts_retries: false,
        skip_cascades: false,
        retry_stays_failed: false,
    },
    wording: &WORDING,
};

/// The original's own sentences, where it has them.
static WORDING: Wording = Wording {
    task: "task",
    self_dependency: |task| {
        (
            format!("Task '{task}' depends on '{task}' in the same or a later wave."),
            "a task cannot wait for itself: remove the dependency".to_owned(),
        )
    },
    unknown_dependency: |task, dependency| {
        (
            format!("Task '{task}' depends on unknown task '{dependency}'."),
            format!("remove the dependency, or add a task '{dependency}'"),
        )
    },
    cycle: |path| {
        (
            format!("the tasks depend on each other in a cycle: {path}"),
            "remove one of these dependencies: none of the tasks can ever start".to_owned(),
        )
    },
    duplicate_id: |id| {
        (
            format!("Duplicate task_id '{id}'."),
            "give each task an id of its own".to_owned(),
        )
    },
    empty: || {
        (
            "Task Pack Contract tasks must include at least one task.".to_owned(),
            "add a task, or rebuild the pack from its source plan: `planwright tasks regenerate PLAN_FILE`".to_owned(),
        )
    },
    after_stop: "go back to the source plan, correct it, rebuild the pack with `planwright tasks regenerate PLAN_FILE`, and run that",
    after_failure: "",
    stage: PLAIN_WORDING.stage,
    held: PLAIN_WORDING.held,
};

const CONTRACT_WAVES: usize = 1;
const CONTRACT_TASKS: usize = 2;

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    let markdown = Markdown::parse(input.source);
    let fence = parse_fence(&markdown);
    let questions = match input.facts.looked {
        DiskLookup::Done => Questions::default(),
        DiskLookup::Never | DiskLookup::NotYet => questions_of(&markdown, fence.as_ref()),
    };
    if input.facts.looked == DiskLookup::NotYet && !questions.is_empty() {
        return PlanReading {
            questions,
            ..PlanReading::default()
        };
    }
    let pack = OriginalPack::new(markdown, fence);
    let fence = pack.fence();
    let mut validation = original::validate(&pack, input.facts);
    if let Some(readable) = fence.and_then(readable_contract) {
        let mut findings = ContractFindings {
            errors: &mut validation.errors,
            limitations: &mut validation.limitations,
        };
        contract::check(readable, &input.facts.directories, &mut findings);
    }
    let form = if report::is_draft(&pack) { "draft" } else { "derived" };
    let builder = PlanBuilder::new(input.source, "task-pack", form, &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
    reader.builder.plan().has_stages = true;
    read_frontmatter(&mut reader, &pack);
    let mut excused = Vec::new();
    if let Some(root) = fence.and_then(|parsed| parsed.document.root()) {
        excused = read_contract(&mut reader, root);
    }
    // The reader only finds misnamed fields; the original's rules check the rest of a task.
    let mut misnamed = std::mem::take(&mut reader.diagnostics);
    let mut diagnostics = report::diagnostics(&pack, &validation, &excused, input.facts.looked == DiskLookup::Done);
    let explained: HashSet<_> = misnamed.iter().map(|found| found.span).collect();
    diagnostics.retain(|found| found.rule.id != report::UNKNOWN_FIELD.id || !explained.contains(&found.span));
    let span = fence.map(|parsed| parsed.document.extent());
    if let Some(parsed) = fence {
        diagnostics.extend(parsed.diagnostics.iter().cloned());
    }
    diagnostics.append(&mut misnamed);
    PlanReading {
        carrier: span.map(|span| (CarrierKind::Markdown, span)),
        plan: Some(reader.builder.finish()),
        diagnostics,
        questions,
        ..PlanReading::default()
    }
}

/// Returns a contract that has only syntax errors with one safe fix: it is checked as if it were fixed.
fn readable_contract(parsed: &Parsed) -> Option<JsView<'_>> {
    let is_fixable = |found: &Diagnostic| found.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe);
    let mut faults = parsed
        .diagnostics
        .iter()
        .filter(|found| original::is_fault(found))
        .peekable();
    faults.peek()?;
    let root = parsed.document.root().filter(|_| faults.all(is_fixable))?;
    Some(JsView::of(root))
}

/// Returns the paths whose state on disk the original needs: valid ones only.
fn questions_of(markdown: &Markdown, contract: Option<&Parsed>) -> Questions {
    let root = contract.and_then(|parsed| parsed.document.root());
    let tasks = root.and_then(|root| root.get("tasks"));
    let files = tasks
        .into_iter()
        .flat_map(NodeRef::elements)
        .filter_map(|task| task.get("files"))
        .flat_map(NodeRef::elements)
        .filter_map(NodeRef::text);
    Questions {
        source_plan: markdown
            .value("source_plan")
            .filter(|path| is_concrete(path))
            .map(str::to_owned),
        files: files.filter(|path| is_concrete(path)).map(Cow::into_owned).collect(),
    }
}

fn read_frontmatter(reader: &mut PlanReader<'_>, pack: &OriginalPack) {
    let source = pack.markdown().source();
    for entry in pack.markdown().entries() {
        let key = source.slice(entry.key);
        let Some(spec) = FRONTMATTER.fields.iter().find(|spec| spec.name == key) else {
            continue;
        };
        let value = match spec.field {
            Field::SourceSections => {
                let items = pack.markdown().items(entry).into_iter().filter(|item| !item.is_empty());
                let items: Vec<_> = items
                    .map(|item| FieldValue::Text(reader.builder.bare_text(item)))
                    .collect();
                FieldValue::List(reader.builder.list(entry.block, items))
            }
            _ => FieldValue::Text(reader.builder.bare_text(entry.content)),
        };
        reader.builder.head_entry(spec.field, value);
    }
}

fn read_contract<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) -> Vec<MisnamedField> {
    let mut excused = Vec::new();
    let found = reader.sort(root, &CONTRACT);
    for entry in record(reader, &found, &CONTRACT) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    let waves = WavePositions::new(found.get(CONTRACT_WAVES));
    let Some(tasks) = found
        .get(CONTRACT_TASKS)
        .filter(|tasks| tasks.kind() == NodeKind::Array)
    else {
        return excused;
    };
    reader.builder.plan().tasks_span = Some(tasks.span());
    reader.builder.reserve(tasks.n_rows() / 30, 14);
    for task in tasks.elements().filter(|task| task.kind() == NodeKind::Object) {
        read_task(reader, task, &waves, &mut excused);
    }
    excused
}

fn read_task<'d>(
    reader: &mut PlanReader<'d>,
    node: NodeRef<'d>,
    waves: &WavePositions<'_>,
    excused: &mut Vec<MisnamedField>,
) {
    let mut found = reader.sort(node, &TASK);
    let id = found.get(place(Field::Id)).filter(|id| id.kind() == NodeKind::String);
    let owner = || id.map_or("a task".to_owned(), |id| format!("task '{}'", excerpt(&id.value())));
    reader.report_misnamed(&mut found, &TASK, &owner);
    for (_, spec) in TASK.fields.iter().enumerate().filter(|&(ix, _)| found.is_misnamed(ix)) {
        excused.push(MisnamedField {
            task: found.get(place(Field::Id)).unwrap_or(node).span(),
            field: spec.name,
        });
    }
    let entries = record(reader, &found, &TASK);
    let texts = found
        .get(place(Field::Dependencies))
        .into_iter()
        .flat_map(NodeRef::elements);
    let dependencies: Vec<_> = texts
        .map(|item| match item.kind() {
            NodeKind::String if !item.value().trim().is_empty() => Dependency {
                span: item.span(),
                target: DependencyTarget::Id(reader.text(item)),
            },
            _ => Dependency::unreadable(item.span()),
        })
        .collect();
    let task_ix = reader.builder.task(node.span(), entries.iter().copied(), dependencies);
    reader.recycle(entries);
    let text = id.map(|id| reader.text(id));
    let task = reader.builder.task_mut(task_ix);
    if let Some(text) = text {
        task.name = TaskName::Id(text);
    }
    let wave = found
        .get(place(Field::Wave))
        .map(|wave| JsView::of(wave).to_js_string());
    let stage = wave.and_then(|wave| waves.position.get(&wave).copied());
    task.stage = stage.unwrap_or(waves.n_waves);
    task.barrier = task.stage;
    let listed = id.and_then(|id| waves.listed.get(&*id.value()).copied());
    task.priority = Priority(listed.map_or(f64::INFINITY, |at| at as f64));
    task.alone = found.get(place(Field::Parallelizable)).and_then(NodeRef::as_bool) == Some(false);
}

/// Collects the values of an object, without findings: the original has its own for missing and malformed parts.
fn record<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>, table: &'static FieldTable) -> Vec<FieldEntry> {
    let n_findings = reader.diagnostics.len();
    let entries = reader.record(found, table, &String::new);
    reader.diagnostics.truncate(n_findings);
    entries
}

/// The positions of waves and of the tasks that they list.
struct WavePositions<'d> {
    position: HashMap<JsString<'d>, u32>,
    listed: HashMap<Cow<'d, str>, usize>,
    n_waves: u32,
}

impl<'d> WavePositions<'d> {
    fn new(list: Option<NodeRef<'d>>) -> Self {
        let mut waves = WavePositions {
            position: HashMap::new(),
            listed: HashMap::new(),
            n_waves: 0,
        };
        for wave in list.into_iter().flat_map(NodeRef::elements) {
            if let Some(id) = wave.get("wave") {
                // Compared as JavaScript compares them as text: 1, 1.0 and "1" are one wave.
                waves.position.insert(JsView::of(id).to_js_string(), waves.n_waves);
            }
            for task in wave.get("tasks").into_iter().flat_map(NodeRef::elements) {
                let place = waves.listed.len();
                if let Some(id) = task.text() {
                    waves.listed.entry(id).or_insert(place);
                }
            }
            waves.n_waves += 1;
        }
        waves
    }
}
