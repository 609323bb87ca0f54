//! Schema 2.x and `prd.json`: two booleans and a priority. Each story waits for all of lower priority, unless a `prd.json` names
//! dependencies.

use super::super::reader::PlanReader;
use super::super::{DialectInput, PlanReading};
use super::fields::{
    LINKED_V2_STORY, V2_BRANCH, V2_DEPENDS_ON, V2_ID, V2_METADATA, V2_PASSES, V2_PRIORITY, V2_ROOT, V2_ROOT_BRANCH,
    V2_ROOT_METADATA, V2_ROOT_STORIES, V2_SKIPPED, V2_STORY,
};
use super::read_shared::{MemberFix, VOICE, check_branch, id_target, other_version, report_no_story, story_label};
use super::statuses::V2_LIFECYCLE;
use super::{LINKED_V2_FORM, PROFILE, V2_FORM};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{NodeKind, NodeRef};
use crate::plan::{PlanBuilder, Priority, Status};

/// Reads a v2.x file; `found` has the findings about its version.
pub(super) fn read(input: &DialectInput<'_>, root: NodeRef<'_>, found: Vec<Diagnostic>) -> PlanReading {
    let has_stages = !has_dependencies(root);
    let form = if has_stages { V2_FORM } else { LINKED_V2_FORM };
    let builder = PlanBuilder::new(input.source, PROFILE.name, form, &V2_LIFECYCLE);
    let mut reader = PlanReader::new(builder, &VOICE);
    reader.diagnostics = found;
    reader.builder.plan().has_stages = has_stages;
    read_root(&mut reader, root);
    reader.finish()
}

/// Returns whether the stories of a file have dependencies. The specification of 2.x has no such field.
fn has_dependencies(root: NodeRef<'_>) -> bool {
    let stories = root.get("userStories").into_iter().flat_map(NodeRef::elements);
    let mut lists = stories.filter_map(|story| story.get("dependsOn"));
    root.get("schemaVersion").is_none() && lists.any(|list| list.kind() == NodeKind::Array)
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) {
    let found = reader.sort(root, &V2_ROOT);
    reader.record_head(&found, &V2_ROOT, &String::new);
    let mut branch = check_branch(found.get(V2_ROOT_BRANCH), "", Severity::Warning);
    if let Some(metadata) = found.get_kind(V2_ROOT_METADATA, NodeKind::Object) {
        let inner = reader.sort(metadata, &V2_METADATA);
        reader.record_head(&inner, &V2_METADATA, &|| "metadata".to_owned());
        branch = branch.or(check_branch(inner.get(V2_BRANCH), "metadata", Severity::Warning));
    }
    reader.report_all(branch);
    for (position, story) in reader.tasks(found.get(V2_ROOT_STORIES), 18) {
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
    let table = if has_stages { &V2_STORY } else { &LINKED_V2_STORY };
    let mut found = reader.sort(node, table);
    let id = found.get(V2_ID);
    let owner = || story_label(id, position);
    if !reader.unknown.is_empty() {
        let has_passes = found.get(V2_PASSES).is_some();
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
        let is_only_word = status.is_some() && found.get(V2_PASSES).is_none();
        if is_only_word {
            found.excuse(V2_PASSES);
        }
        let status = status.map(|status| match is_only_word {
            true => status.with_severity(Severity::Error),
            false => status,
        });
        reader.report_all(status.into_iter().chain(depends_on));
    }
    let entries = reader.record(&found, table, &owner);
    let list = found.get_kind(V2_DEPENDS_ON, NodeKind::Array).filter(|_| !has_stages);
    let dependencies = reader.dependencies(list, id_target);
    let story_ix = reader.task(node, entries, dependencies);
    reader.name_by_id(story_ix, id);
    let story = reader.builder.task_mut(story_ix);
    let flag = |at: usize| found.get(at).and_then(NodeRef::as_bool) == Some(true);
    story.status = match (flag(V2_PASSES), flag(V2_SKIPPED)) {
        (true, _) => Status::Done,
        (false, true) => Status::Skipped,
        (false, false) => Status::Pending,
    };
    let written = if flag(V2_SKIPPED) && !flag(V2_PASSES) {
        V2_SKIPPED
    } else {
        V2_PASSES
    };
    story.status_span = found.get(written).map_or(node.span(), NodeRef::span);
    if let Some(number) = found.get(V2_PRIORITY).and_then(NodeRef::as_number) {
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
        story.barrier = story.stage;
    }
}
