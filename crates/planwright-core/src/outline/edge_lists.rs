//! Reads dependencies that a value has next to its list of tasks: texts, pairs, lists of waves.

use std::collections::{HashMap, HashSet};

use super::dependency_sentences::{SentenceName, statements};
use super::raw::{RawPlan, Reference, not_understood};
use super::task_fields::{dependency_members, members_with, reference_of, references_of};
use super::task_keys as keys;
use super::value::OutlineNode;

pub(super) fn is_list_of_lists(node: &OutlineNode) -> bool {
    node.elements().len() > 1 && node.elements().iter().all(OutlineNode::is_list)
}

/// Reads dependencies next to the list of tasks.
pub(super) fn read_edges(plan: &mut RawPlan, holder: &OutlineNode) {
    let end = |node: &OutlineNode, names: &[&str]| {
        let member = node.get(names)?;
        reference_of(&member.value)
    };
    let mut from_before_to = None;
    for member in members_with(holder, keys::WAVES).filter(|member| is_list_of_lists(&member.value)) {
        wave_edges(plan, &member.value);
    }
    for member in members_with(holder, keys::EDGES) {
        sentence_edges(plan, &member.value);
        for own in member.value.members() {
            let owner = Reference::certain(own.key.trim(), own.key_span);
            plan.link(&[owner], &references_of(&own.value));
        }
        for element in member.value.elements() {
            let owner = end(element, &["task", "taskid", "id", "issueid", "node"]);
            let on: Vec<Reference> = dependency_members(element)
                .flat_map(|member| references_of(&member.value))
                .collect();
            if let Some(owner) = owner.filter(|_| !on.is_empty()) {
                plan.link(&[owner], &on);
                continue;
            }
            let ends = match element.elements() {
                [from, to] => reference_of(from).zip(reference_of(to)),
                _ => end(element, &["from", "source", "before"]).zip(end(element, &["to", "target", "after"])),
            };
            if let Some((from, to)) = ends {
                from_before_to.get_or_insert(element.span);
                plan.edges.push((to, from));
            }
        }
    }
    if let Some(place) = from_before_to {
        plan.guess(place, "an edge leads from a task to one that depends on it");
    }
}

/// Reads dependencies written as texts apart from the tasks: "T2 depends on T1", "1 → 2".
fn sentence_edges(plan: &mut RawPlan, node: &OutlineNode) {
    let tasks = plan.tasks.iter().enumerate();
    let ids = tasks.filter_map(|(ix, raw)| Some((raw.task.id.as_ref()?.to_lowercase(), ix)));
    let ids: HashMap<String, usize> = ids.collect();
    let mut arrows: Vec<(Vec<Reference>, Vec<Reference>)> = Vec::new();
    let nodes = [node].into_iter().chain(node.elements());
    for (text, place) in nodes.filter_map(|node| Some((node.text()?, node.span))) {
        let said = statements(text, true);
        let references = |names: &[SentenceName]| -> Vec<Reference> {
            names.iter().map(|name| Reference::certain(&name.text, place)).collect()
        };
        for link in &said.links {
            let (after, before) = (references(&link.after), references(&link.before));
            match link.is_arrow {
                true => arrows.push((after, before)),
                false => plan.link(&after, &before),
            }
        }
        if said.links.is_empty() || !said.doubts.is_empty() {
            plan.guess(place, not_understood(text));
        }
    }
    let Some(place) = arrows.first().and_then(|(_, before)| Some(before.first()?.place)) else {
        return;
    };
    // If all arrows point to an earlier task, they point to dependencies.
    let at = |reference: &Reference| ids.get(&reference.text.to_lowercase());
    let leads_back = |own, on| at(own).zip(at(on)).is_some_and(|(own, on)| own < on);
    let is_reversed = arrows.iter().all(|(after, before)| {
        let mut pairs = after.iter().flat_map(|own| before.iter().map(move |on| (own, on)));
        pairs.all(|(own, on)| leads_back(own, on))
    });
    plan.guess_arrows(place, is_reversed);
    for (after, before) in arrows {
        match is_reversed {
            true => plan.link(&before, &after),
            false => plan.link(&after, &before),
        }
    }
}

/// Reads lists of ids apart from the tasks, each of which can run after the previous one; only if no task names a dependency.
fn wave_edges(plan: &mut RawPlan, node: &OutlineNode) {
    if plan.has_dependencies() {
        return;
    }
    let waves: Vec<Vec<Reference>> = node.elements().iter().map(references_of).collect();
    let ids: HashSet<&str> = plan.tasks.iter().filter_map(|raw| raw.task.id.as_deref()).collect();
    let is_known = |reference: &Reference| ids.contains(reference.text.as_str());
    if !waves.iter().flatten().all(is_known) {
        return;
    }
    for pair in waves.windows(2) {
        if let [before, after] = pair {
            plan.link(after, before);
        }
    }
    let message = "the tasks of each of these lists depend on those of the list before it";
    plan.guess(node.span, message);
}
