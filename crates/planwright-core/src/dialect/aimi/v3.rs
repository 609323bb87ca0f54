//! Schema 3.x: statuses, explicit dependencies, thirteen rules.

use std::collections::{HashMap, HashSet};

use super::super::reader::{ObjectFields, PlanReader, excerpt, member_cut, opening};
use super::super::rules::{INVALID_FIELD, INVALID_REFERENCE, INVALID_TIMESTAMP};
use super::super::table::{FieldShape, FieldSpec, FieldTable};
use super::super::time::is_iso_date;
use super::super::{DialectInput, PlanReading};
use super::{
    DUPLICATE_PRIORITY, MISSING_TYPECHECK, MemberFix, STORY_PHRASING, SUSPICIOUS_TEXT, TEXT, VOICE, WORDING,
    ZERO_CONCURRENCY, check_branch, check_criteria, check_length, contains_text, is_story_id, missing_or_invalid,
    other_version, report_no_story, story_id, story_label, suspicious_part,
};
use crate::diagnostic::{Diagnostic, Replacement, Severity};
use crate::document::{NodeKind, NodeRef};
use crate::plan::lifecycle::OnFailure;
use crate::plan::{
    Dependency, DependencyTarget, Field, Lifecycle, Machine, PlanBuilder, Priority, Slots, State, TaskName, TaskOrder,
    Text,
};
use crate::text::{Span, visible};

/// The words for pending, running, done, failed and skipped.
pub(super) const WORDS: [&str; 5] = ["pending", "in_progress", "completed", "failed", "skipped"];

static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::Priority,
    slots: Slots::Fixed(DEFAULT_SLOTS),
    may_be_empty: false,
    words: WORDS,
    machine: Machine {
        written: &[
            State::Pending,
            State::Running,
            State::Done,
            State::Failed,
            State::Skipped,
        ],
        can_block: false,
        skips_attempted: false,
        counts_retries: false,
        skip_cascades: false,
        retry_stays_failed: true,
    },
    wording: &WORDING,
};

const DEFAULT_SLOTS: u32 = 4;

pub(super) static ROOT: FieldTable = FieldTable {
    name: "Root",
    fields: &[
        FieldSpec::required("schemaVersion", Field::SchemaVersion, FieldShape::Any),
        FieldSpec::required("metadata", Field::Metadata, FieldShape::Object),
        FieldSpec::required("userStories", Field::Tasks, FieldShape::List),
    ],
};
const ROOT_VERSION: usize = 0;
const ROOT_METADATA: usize = 1;
const ROOT_STORIES: usize = 2;

pub(super) static METADATA: FieldTable = FieldTable {
    name: "Metadata",
    fields: &[
        FieldSpec::required("title", Field::Title, FieldShape::NonBlank),
        FieldSpec::required(
            "type",
            Field::PlanKind,
            FieldShape::OneOf(&["feat", "ref", "bug", "chore"]),
        ),
        FieldSpec::required("branchName", Field::Branch, FieldShape::NonBlank),
        FieldSpec::required("createdAt", Field::CreatedAt, TEXT),
        FieldSpec::optional("planPath", Field::PlanPath, FieldShape::TextOrNull),
        FieldSpec::optional("brainstormPath", Field::BrainstormPath, FieldShape::TextOrNull),
        FieldSpec::optional(
            "maxConcurrency",
            Field::MaxConcurrency,
            FieldShape::Integer(0, u32::MAX as i64),
        ),
    ],
};
const BRANCH: usize = 2;
const CREATED_AT: usize = 3;
const MAX_CONCURRENCY: usize = 6;

pub(super) static STORY: FieldTable = FieldTable {
    name: "Story",
    fields: &[
        FieldSpec::required("id", Field::Id, FieldShape::NonBlank),
        FieldSpec::required("title", Field::Title, FieldShape::NonBlank),
        FieldSpec::required("description", Field::Description, FieldShape::NonBlank),
        FieldSpec::required("acceptanceCriteria", Field::Criteria, FieldShape::TextList),
        FieldSpec::required("priority", Field::Priority, FieldShape::Number),
        FieldSpec::required(
            "status",
            Field::Status,
            FieldShape::Own("one of pending, in_progress, completed, failed, skipped"),
        ),
        FieldSpec::required("dependsOn", Field::Dependencies, FieldShape::TextList),
        FieldSpec::optional("notes", Field::Notes, TEXT),
    ],
};
const ID: usize = 0;
const TITLE: usize = 1;
const DESCRIPTION: usize = 2;
const CRITERIA: usize = 3;
const PRIORITY: usize = 4;
const STATUS: usize = 5;
const DEPENDS_ON: usize = 6;

/// Reads a v3 file; `found` holds what is already known about its version.
pub(super) fn read(input: &DialectInput<'_>, root: Option<NodeRef<'_>>, found: Vec<Diagnostic>) -> PlanReading {
    let builder = PlanBuilder::new(input.source, "aimi", "v3", &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &VOICE);
    reader.diagnostics = found;
    if let Some(root) = root {
        read_root(&mut reader, root);
    }
    reader.finish()
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) {
    let owner = String::new;
    let mut found = reader.sort(root, &ROOT);
    // A missing version has been reported with what the file seems to be.
    found.excuse(ROOT_VERSION);
    reader.report_misnamed(&mut found, &ROOT, &|| "the root".to_owned());
    for entry in reader.record(&found, &ROOT, &owner) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    if let Some(metadata) = found.get_kind(ROOT_METADATA, NodeKind::Object) {
        read_metadata(reader, metadata);
    }
    let Some(stories) = found.get_kind(ROOT_STORIES, NodeKind::Array) else {
        return;
    };
    reader.builder.plan().tasks_span = Some(stories.span());
    reader.builder.reserve(stories.n_rows() / 18, 8);
    let mut priorities = Priorities::default();
    for (position, story) in stories.elements().enumerate() {
        read_story(reader, story, position, &mut priorities);
    }
    if reader
        .diagnostics
        .iter()
        .any(|found| found.rule.id == INVALID_REFERENCE.id)
    {
        forget_odd_references(&mut reader.builder);
    }
}

fn read_metadata<'d>(reader: &mut PlanReader<'d>, metadata: NodeRef<'d>) {
    let owner = || "metadata".to_owned();
    let mut found = reader.sort(metadata, &METADATA);
    reader.report_misnamed(&mut found, &METADATA, &owner);
    for entry in reader.record(&found, &METADATA, &owner) {
        reader.builder.head_entry(entry.field, entry.value);
    }
    let blank = |node: NodeRef<'_>| node.value().trim().is_empty();
    let branch = found.get(BRANCH).filter(|branch| !blank(*branch));
    reader.report_all(check_branch(branch, "metadata", Severity::Error));
    if let Some(created) = found.get(CREATED_AT)
        && created.text().is_some_and(|date| !is_iso_date(&date))
    {
        reader.report(
            Diagnostic::new(
                &INVALID_TIMESTAMP,
                created.span(),
                missing_or_invalid("metadata", "createdAt"),
            )
            .with_help("Write the date as YYYY-MM-DD, like 2026-02-27."),
        );
    }
    if let Some(node) = found.get(MAX_CONCURRENCY) {
        match node.as_integer().and_then(|slots| u32::try_from(slots).ok()) {
            Some(0) => reader.report(
                Diagnostic::new(
                    &ZERO_CONCURRENCY,
                    node.span(),
                    "`maxConcurrency` 0 means the default, 4",
                )
                .with_help("Set metadata.maxConcurrency to a positive integer, or leave it out for 4."),
            ),
            Some(slots) => reader.builder.plan().slots = Slots::Fixed(slots),
            None => {}
        }
    }
}

fn read_story<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, position: usize, priorities: &mut Priorities) {
    if node.resolved().kind() != NodeKind::Object {
        report_no_story(reader, node, position);
        return;
    }
    let mut found = reader.sort(node, &STORY);
    let id = found.get(ID);
    let owner = || story_label(id, position);
    if !reader.unknown.is_empty() {
        report_strays(reader, &mut found, &owner);
    }
    let entries = reader.record(&found, &STORY, &owner);
    let dependencies = read_dependencies(reader, &found, &owner);
    let story_ix = reader.task(node, entries, dependencies);
    if let Some(id) = story_id(&found, ID) {
        check_id(reader, id, &owner);
        let id = reader.text(id);
        reader.builder.task_mut(story_ix).name = TaskName::Id(id);
    }
    check_texts(reader, &found, &owner);
    if let Some(status) = found.get(STATUS) {
        let is_text = status.resolved().kind() == NodeKind::String;
        let quote = if is_text { "\"" } else { "" };
        let sentence = |written: &str| {
            (
                format!(
                    "Invalid tasks.json - {}.status is {quote}{written}{quote} which is not a valid status.",
                    owner()
                ),
                format!("Use one of: {}.", WORDS.join(", ")),
            )
        };
        let value = reader.status(status, &WORDS, &owner, Some(&sentence));
        let story = reader.builder.task_mut(story_ix);
        story.status = value;
        story.status_span = status.span();
    }
    if let Some(priority) = found.get(PRIORITY)
        && let Some(number) = priority.as_number()
    {
        reader.builder.task_mut(story_ix).priority = Priority(number);
        let earlier = priorities.add(number, priority.span(), story_ix);
        // Doubles hold only so many digits: what is written differently beyond that is not the same.
        let is_same = |span: Span| number.abs() < 9e15 || reader_slice(priority, span) == priority.slice();
        if let Some((earlier, span)) = earlier.filter(|&(_, span)| is_same(span)) {
            let earlier = visible(&reader.builder.plan().task_name(earlier)).into_owned();
            reader.report(
                Diagnostic::new(
                    &DUPLICATE_PRIORITY,
                    priority.span(),
                    missing_or_invalid(&owner(), "priority"),
                )
                .with_related(span, format!("the same priority as {earlier}"))
                .with_help(format!(
                    "Give each story its own priority: {} is also that of {earlier}.",
                    priority.slice()
                )),
            );
        }
    }
}

fn reader_slice(node: NodeRef<'_>, span: Span) -> &str {
    node.document().source().slice(span)
}

fn report_strays<'d>(reader: &mut PlanReader<'d>, found: &mut ObjectFields<'d>, owner: &dyn Fn() -> String) {
    reader.report_misnamed(found, &STORY, owner);
    let has_status = found.get(STATUS).is_some();
    let flag = |key: &str| {
        let member = reader.unknown.iter().find(|member| member.key.is_text(key));
        member.and_then(|member| member.value.as_bool())
    };
    let status = match (flag("passes"), flag("skipped")) {
        (Some(true), _) => Some("completed"),
        (Some(false) | None, Some(true)) => Some("skipped"),
        (Some(false), _) => Some("pending"),
        (None, _) => None,
    };
    let said = ["passes", "skipped"].into_iter().find(|key| flag(key).is_some());
    let mut strays = Vec::new();
    for key in ["passes", "skipped"] {
        // What both flags say goes into one status, in the place of the first; the other one is then in vain.
        let text = status
            .filter(|_| !has_status && said == Some(key))
            .map(|status| format!("\"status\": \"{status}\""));
        let cut = member_cut(
            found.object(),
            reader.unknown.iter().find(|member| member.key.is_text(key)),
        );
        strays.extend(other_version(&reader.unknown, key, owner, &|_| {
            let help = "v3 files say `status` instead of `passes` and `skipped`".to_owned();
            (
                help,
                text.clone()
                    .map(MemberFix::Write)
                    .or(cut.filter(|_| has_status).map(MemberFix::Remove)),
            )
        }));
    }
    // The status is not missing but said in the other version's way, which is the error then.
    if said.is_some() && !has_status {
        found.excuse(STATUS);
        strays = strays
            .into_iter()
            .map(|stray| stray.with_severity(Severity::Error))
            .collect();
    }
    reader.report_all(strays);
}

fn check_id<'d>(reader: &mut PlanReader<'d>, id: NodeRef<'d>, owner: &dyn Fn() -> String) {
    let text = id.value();
    if !is_story_id(&text) && !text.trim().is_empty() {
        reader.report(
            Diagnostic::new(&INVALID_FIELD, id.span(), missing_or_invalid(&owner(), "id"))
                .with_help("Use an id like \"US-001\": US-, three digits or more, and an optional lower-case letter."),
        );
    }
}

fn check_texts<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>, owner: &dyn Fn() -> String) {
    let too_long = [(TITLE, "title", 200), (DESCRIPTION, "description", 500)]
        .into_iter()
        .filter_map(|(at, field, most)| check_length(found.get(at)?, owner, field, most));
    reader.report_all(too_long);
    let suspicious = [(TITLE, "title"), (DESCRIPTION, "description")]
        .into_iter()
        .filter_map(|(at, field)| {
            let node = found.get_kind(at, NodeKind::String)?;
            let part = suspicious_part(&node.value())?;
            let part = match part {
                "`" => "a backtick".to_owned(),
                part => format!("`{part}`"),
            };
            let message = format!("the {field} of {} contains suspicious content: {part}", owner());
            let help = "agents get this text; reword it where it is not meant as an order or a command";
            Some(Diagnostic::new(&SUSPICIOUS_TEXT, node.span(), message).with_help(help))
        });
    reader.report_all(suspicious);
    if let Some(description) = found.get_kind(DESCRIPTION, NodeKind::String) {
        let text = description.value();
        let text = text.trim_start();
        let is_story = text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("as "));
        if !is_story && !text.is_empty() {
            reader.report(
                Diagnostic::new(
                    &STORY_PHRASING,
                    description.span(),
                    format!("the description of {} is not phrased as a user story", owner()),
                )
                .with_help("As a [user], I want [feature] so that [benefit]"),
            );
        }
    }
    reader.report_all(check_criteria(found.get(CRITERIA), owner));
    if let Some(criteria) = found.get_kind(CRITERIA, NodeKind::Array)
        && !contains_text(criteria, "Typecheck passes")
    {
        reader.report(missing_typecheck(criteria, owner));
    }
}

fn missing_typecheck(criteria: NodeRef<'_>, owner: &dyn Fn() -> String) -> Diagnostic {
    let span = opening(criteria);
    let diagnostic = Diagnostic::new(
        &MISSING_TYPECHECK,
        span,
        missing_or_invalid(&owner(), "acceptanceCriteria"),
    )
    .with_help(format!("Add \"Typecheck passes\" to {}.acceptanceCriteria.", owner()));
    let source = criteria.document().source();
    let items: Vec<_> = criteria.elements().collect();
    let edit = match items.as_slice() {
        [] => Replacement::new(criteria.span(), "[\"Typecheck passes\"]"),
        [.., last] => {
            // The separator is copied from the file: what stands before the last item, behind its comma.
            let start = match items.len() {
                1 => criteria.span().start + 1,
                n => items[n - 2].span().end,
            };
            let gap = source.slice(Span {
                start,
                end: last.span().start,
            });
            let gap = gap.rsplit_once(',').map_or(gap, |(_, after)| after);
            let gap = if gap.is_empty() { " " } else { gap };
            Replacement::insert(last.span().end, format!(",{gap}\"Typecheck passes\""))
        }
    };
    diagnostic.with_safe_fix("add \"Typecheck passes\"", vec![edit])
}

fn read_dependencies<'d>(
    reader: &mut PlanReader<'d>,
    found: &ObjectFields<'d>,
    owner: &dyn Fn() -> String,
) -> Vec<Dependency> {
    let Some(list) = found.get(DEPENDS_ON) else {
        return Vec::new();
    };
    let mut dependencies = reader.dependency_buffer();
    if list.resolved().kind() != NodeKind::Array {
        dependencies.push(Dependency::unreadable(list.span()));
    }
    for item in list.elements() {
        let is_text = item.resolved().kind() == NodeKind::String;
        let target = if is_text {
            DependencyTarget::Id(reader.text(item))
        } else {
            DependencyTarget::Unreadable
        };
        let odd = item.text().filter(|id| !is_story_id(id));
        if let Some(odd) = odd {
            let message = format!("Story {} has invalid dependsOn reference {}.", owner(), excerpt(&odd));
            reader.report(
                Diagnostic::new(&INVALID_REFERENCE, item.span(), message)
                    .with_help("Use story ids like \"US-001\" in dependsOn."),
            );
        }
        dependencies.push(Dependency {
            span: item.span(),
            target,
        });
    }
    dependencies
}

/// Makes references that are not written as ids unreadable, unless a story has such an id all the same: they have been
/// reported as such, and need not be reported as unknown, too.
fn forget_odd_references(builder: &mut PlanBuilder) {
    let plan = builder.plan();
    let is_odd = |text: Text| !is_story_id(plan.str(text));
    let names: HashSet<&str> = plan
        .tasks()
        .iter()
        .filter_map(|story| match story.name {
            TaskName::Id(id) if is_odd(id) => Some(plan.str(id)),
            _ => None,
        })
        .collect();
    let is_lost = |dependency: &&Dependency| match dependency.target {
        DependencyTarget::Id(id) => is_odd(id) && !names.contains(plan.str(id)),
        _ => false,
    };
    let lost: HashSet<Span> = plan
        .all_dependencies()
        .iter()
        .filter(is_lost)
        .map(|dependency| dependency.span)
        .collect();
    builder.retarget(|dependency| match lost.contains(&dependency.span) {
        true => DependencyTarget::Unreadable,
        false => dependency.target,
    });
}

/// Priorities seen so far.
#[derive(Default)]
struct Priorities {
    /// The last one, with its story: files usually count up, and then no table is needed.
    highest: Option<f64>,
    seen: Vec<(f64, Span, usize)>,
    by_value: Option<HashMap<u64, usize>>,
}

impl Priorities {
    /// Adds a priority and returns the story that has it already.
    fn add(&mut self, number: f64, span: Span, story_ix: usize) -> Option<(usize, Span)> {
        let rises = self.highest.is_none_or(|highest| number > highest);
        self.seen.push((number, span, story_ix));
        if rises {
            self.highest = Some(number);
            if let Some(by_value) = &mut self.by_value {
                by_value.insert(number.to_bits(), self.seen.len() - 1);
            }
            return None;
        }
        let seen = &self.seen;
        let last = seen.len() - 1;
        let by_value = self.by_value.get_or_insert_with(|| {
            let known = seen[..last].iter().enumerate();
            known.map(|(at, (number, ..))| (number.to_bits(), at)).collect()
        });
        match by_value.entry(number.to_bits()) {
            std::collections::hash_map::Entry::Occupied(taken) => {
                let (_, span, story_ix) = seen[*taken.get()];
                Some((story_ix, span))
            }
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(last);
                None
            }
        }
    }
}
