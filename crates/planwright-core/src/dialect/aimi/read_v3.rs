//! Schema 3.x: statuses, explicit dependencies, thirteen rules.

use std::collections::{HashMap, HashSet};

use super::super::reader::{ObjectFields, PlanReader, excerpt, member_cut, opening};
use super::super::rules::{INVALID_FIELD, INVALID_REFERENCE, INVALID_TIMESTAMP};
use super::super::time::is_iso_date;
use super::super::{DialectInput, PlanReading};
use super::fields::{
    BRANCH, CREATED_AT, CRITERIA, DEPENDS_ON, DESCRIPTION, ID, MAX_CONCURRENCY, METADATA, PRIORITY, ROOT,
    ROOT_METADATA, ROOT_STORIES, ROOT_VERSION, STATUS, STORY, TITLE,
};
use super::read_shared::{
    MemberFix, VOICE, check_branch, check_criteria, check_length, contains_text, id_target, missing_or_invalid,
    other_version, report_no_story, story_label,
};
use super::rules::{DUPLICATE_PRIORITY, MISSING_TYPECHECK, STORY_PHRASING, SUSPICIOUS_TEXT, ZERO_CONCURRENCY};
use super::statuses::{LIFECYCLE, WORDS};
use super::{PROFILE, is_story_id, suspicious_part};
use crate::diagnostic::{Diagnostic, Replacement, Severity};
use crate::document::{NodeKind, NodeRef};
use crate::plan::{Dependency, DependencyTarget, PlanBuilder, Priority, Slots, TaskName, Text};
use crate::text::{Span, visible};

/// Reads a v3 file; `found` has the findings about its version.
pub(super) fn read(input: &DialectInput<'_>, root: Option<NodeRef<'_>>, found: Vec<Diagnostic>) -> PlanReading {
    let builder = PlanBuilder::new(input.source, PROFILE.name, "v3", &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &VOICE);
    reader.diagnostics = found;
    if let Some(root) = root {
        read_root(&mut reader, root);
    }
    reader.finish()
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) {
    let mut found = reader.sort(root, &ROOT);
    // The finding about a missing version names the probable version.
    found.excuse(ROOT_VERSION);
    reader.report_misnamed(&mut found, &ROOT, &|| "the root".to_owned());
    reader.record_head(&found, &ROOT, &String::new);
    if let Some(metadata) = found.get_kind(ROOT_METADATA, NodeKind::Object) {
        read_metadata(reader, metadata);
    }
    let mut priorities = Priorities::default();
    for (position, story) in reader.tasks(found.get(ROOT_STORIES), 18) {
        read_story(reader, story, position, &mut priorities);
    }
    let mut found = reader.diagnostics.iter();
    if found.any(|found| found.rule.id == INVALID_REFERENCE.id) {
        forget_odd_references(&mut reader.builder);
    }
}

fn read_metadata<'d>(reader: &mut PlanReader<'d>, metadata: NodeRef<'d>) {
    let found = reader.head(metadata, &METADATA, &|| "metadata".to_owned());
    let blank = |node: NodeRef<'_>| node.value().trim().is_empty();
    let branch = found.get(BRANCH).filter(|branch| !blank(*branch));
    reader.report_all(check_branch(branch, "metadata", Severity::Error));
    if let Some(created) = found.get(CREATED_AT)
        && created.text().is_some_and(|date| !is_iso_date(&date))
    {
        let message = missing_or_invalid("metadata", "createdAt");
        let help = "Write the date as YYYY-MM-DD, like 2026-02-27.";
        reader.report_with_help(&INVALID_TIMESTAMP, created.span(), message, help);
    }
    if let Some(node) = found.get(MAX_CONCURRENCY) {
        match node.as_integer().and_then(|slots| u32::try_from(slots).ok()) {
            Some(0) => {
                let message = "`maxConcurrency` 0 means the default, 4";
                let help = "Set metadata.maxConcurrency to a positive integer, or leave it out for 4.";
                reader.report_with_help(&ZERO_CONCURRENCY, node.span(), message, help);
            }
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
    let dependencies = reader.dependencies(found.get(DEPENDS_ON), |reader, item| {
        let target = id_target(reader, item);
        if let Some(odd) = item.text().filter(|id| !is_story_id(id)) {
            let message = format!("Story {} has invalid dependsOn reference {}.", owner(), excerpt(&odd));
            let help = "Use story ids like \"US-001\" in dependsOn.";
            reader.report_with_help(&INVALID_REFERENCE, item.span(), message, help);
        }
        target
    });
    let story_ix = reader.task(node, entries, dependencies);
    if let Some(id) = found.get_kind(ID, NodeKind::String) {
        check_id(reader, id, &owner);
        reader.name_by_id(story_ix, Some(id));
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
        reader.set_status(story_ix, status, value);
    }
    if let Some(priority) = found.get(PRIORITY)
        && let Some(number) = priority.as_number()
    {
        reader.builder.task_mut(story_ix).priority = Priority(number);
        let earlier = priorities.add(number, priority.span(), story_ix);
        // Doubles hold only so many digits: beyond those, different texts are different numbers.
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
        // Both flags become one status, in place of the first; the other one is then useless.
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
    // The status is not missing but written in the other version's form, which is the error.
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
        let help = "Use an id like \"US-001\": US-, three digits or more, and an optional lower-case letter.";
        reader.report_with_help(&INVALID_FIELD, id.span(), missing_or_invalid(&owner(), "id"), help);
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
            let message = format!("the description of {} is not phrased as a user story", owner());
            let help = "As a [user], I want [feature] so that [benefit]";
            reader.report_with_help(&STORY_PHRASING, description.span(), message, help);
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
            // The separator is copied from the file: the text before the last item, after its comma.
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

/// Marks malformed references as unreadable, unless a story has such an id. They are already reported, and must not be reported as unknown,
/// too.
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

/// The priorities so far.
#[derive(Default)]
struct Priorities {
    /// The last one, with its story: most files count up, and then no table is needed.
    highest: Option<f64>,
    seen: Vec<(f64, Span, usize)>,
    by_value: Option<HashMap<u64, usize>>,
}

impl Priorities {
    /// Adds a priority, and returns the story that already has it.
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
