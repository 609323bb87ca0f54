//! Reads to-do lists as plans.

use planwright_core::dialect::reader::{PLAIN_VOICE, PlanReader};
use planwright_core::dialect::{DialectInput, PlanReading};
use planwright_core::document::{NodeKind, NodeRef};
use planwright_core::plan::{DependencyTarget, PlanBuilder, Status};

use super::PROFILE;
use super::fields::{AFTER, ENTRY, LIST, NAME, TICKED, TODO};
use super::statuses::LIFECYCLE;

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    if input.root.is_some_and(|root| root.get("current_list").is_some()) {
        return PlanReading::default();
    }
    let builder = PlanBuilder::new(input.source, PROFILE.name, "list", &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
    if let Some(root) = input.root {
        let found = reader.head(root, &LIST, &|| "the list".to_owned());
        for (place, entry) in reader.tasks(found.get(TODO), 10) {
            read_entry(&mut reader, entry, &format!("entry {}", place + 1));
        }
    }
    reader.finish()
}

fn read_entry<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, label: &str) {
    if node.resolved().kind() != NodeKind::Object {
        reader.not_an_object(node, label);
        reader.placeholder(node);
        return;
    }
    let found = reader.sort(node, &ENTRY);
    let entries = reader.record(&found, &ENTRY, &|| label.to_owned());
    let dependencies = reader.dependencies(found.get(AFTER), |reader, item| match item.resolved().kind() {
        NodeKind::String => DependencyTarget::Id(reader.text(item)),
        _ => DependencyTarget::Unreadable,
    });
    let task_ix = reader.task(node, entries, dependencies);
    reader.name_by_id(task_ix, found.get(NAME));
    if let Some(ticked) = found.get(TICKED).filter(|ticked| ticked.as_bool() == Some(true)) {
        reader.set_status(task_ix, ticked, Status::Done);
    }
}
