//! Reads clido's files as plans.

use super::super::reader::{PLAIN_VOICE, PlanReader, excerpt};
use super::super::rules::INVALID_REFERENCE;
use super::super::{DialectInput, PlanReading};
use super::PROFILE;
use super::fields::{DEPENDS_ON, FLAT, ID, META, SAVED, SAVED_META, SKIP, STATUS, TASK, TASKS};
use super::statuses::LIFECYCLE;
use crate::document::{NodeKind, NodeRef};
use crate::plan::{DependencyTarget, PlanBuilder};

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    let is_saved = input.root.is_some_and(|root| root.get("meta").is_some());
    let form = if is_saved { "saved" } else { "flat" };
    let builder = PlanBuilder::new(input.source, PROFILE.name, form, &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
    if let Some(root) = input.root {
        read_root(&mut reader, root, is_saved);
    }
    reader.finish()
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>, is_saved: bool) {
    let table = if is_saved { &SAVED } else { &FLAT };
    let found = reader.head(root, table, &|| "the plan".to_owned());
    if is_saved && let Some(meta) = found.get_kind(SAVED_META, NodeKind::Object) {
        let found = reader.sort(meta, &META);
        reader.record_head(&found, &META, &|| "`meta`".to_owned());
    }
    for (task_ix, task) in reader.tasks(found.get(TASKS), 16) {
        read_task(reader, task, task_ix);
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
    let dependencies = reader.dependencies(found.get(DEPENDS_ON), |reader, item| {
        if item.resolved().kind() == NodeKind::String {
            return DependencyTarget::Id(reader.text(item));
        }
        if item.kind() != NodeKind::Invalid {
            let message = format!("a dependency of {} is {}, not a task id", owner(), item.describe());
            let help = "write the id of a task, in quotes";
            reader.report_with_help(&INVALID_REFERENCE, item.span(), message, help);
        }
        DependencyTarget::Unreadable
    });
    let task_ix = reader.task(node, entries, dependencies);
    reader.name_by_id(task_ix, id);
    if let Some(status) = found.get(STATUS) {
        let value = reader.status(status, &LIFECYCLE.words, &owner, None);
        reader.set_status(task_ix, status, value);
    }
    reader.builder.task_mut(task_ix).held = found.get(SKIP).and_then(NodeRef::as_bool) == Some(true);
}

fn task_label(id: Option<NodeRef<'_>>, task_ix: usize) -> String {
    match id.and_then(NodeRef::text) {
        Some(id) if !id.is_empty() => format!("task `{}`", excerpt(&id)),
        _ => format!("task {}", task_ix + 1),
    }
}
