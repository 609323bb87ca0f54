//! Decides which lists in a value are lists of tasks, by their keys and their elements.

use std::collections::{BTreeSet, HashSet};

use super::task_fields::title_of;
use super::task_keys as keys;
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode};
use crate::text::Span;

/// How many values are searched for lists.
const MAX_LOOKED_AT: usize = 100_000;

/// The largest list whose elements are searched.
const MAX_WRAPPERS: usize = 16;

/// A list of tasks within a value.
pub(super) struct FoundList<'n> {
    pub(super) key: &'n str,
    pub(super) node: &'n OutlineNode,
    pub(super) is_strong: bool,
    /// The objects around it, the innermost first.
    pub(super) holders: Vec<&'n OutlineNode>,
}

/// What a search for lists of tasks comes across in addition.
#[derive(Default)]
pub(super) struct SeenLists<'n> {
    /// A list of tasks without a task.
    pub(super) empty: Option<Span>,
    /// Lists next to the list of tasks that could hold tasks as well.
    pub(super) left_out: Vec<&'n OutlineMember>,
}

/// Returns the lists of tasks at the smallest depth that has any.
pub(super) fn find_lists<'n>(root: &'n OutlineNode, seen: &mut SeenLists<'n>) -> Vec<FoundList<'n>> {
    let OutlineData::List(elements) = &root.data else {
        return find_lists_in_objects(root, seen);
    };
    if are_work(elements, true) {
        return vec![whole_list(root, elements.iter().any(has_sign_of_work))];
    }
    match elements.as_slice() {
        [] => drop(seen.empty.get_or_insert(root.span)),
        // A wrapper can be a list of one.
        [only] if only.is_object() => return find_lists_in_objects(only, seen),
        _ => {}
    }
    Vec::new()
}

/// Returns a whole value as a list of tasks.
fn whole_list(root: &OutlineNode, is_strong: bool) -> FoundList<'_> {
    FoundList {
        key: "tasks",
        node: root,
        is_strong,
        holders: Vec::new(),
    }
}

/// An object that is searched for lists of tasks.
struct ListParent<'n> {
    name: &'n str,
    /// It and the objects around it, the innermost first.
    holders: Vec<&'n OutlineNode>,
    /// The element of a list that it is or is in, counted over all lists.
    branch: usize,
}

/// The objects that are searched, from the outermost inwards.
struct ListSearch {
    /// How many values may still be searched.
    n_left: usize,
    n_branches: usize,
}

impl ListSearch {
    /// Returns the objects below another one, as its members or as elements of these.
    fn below<'n>(&mut self, parent: &ListParent<'n>) -> Vec<ListParent<'n>> {
        let mut below = Vec::new();
        for member in parent.holders.first().into_iter().flat_map(|object| object.members()) {
            let elements = member.value.elements();
            // `{"output": [{"type": "message", "content": {…}}]}`: the elements of a short list can be wrappers.
            let objects = match &member.value.data {
                OutlineData::Object(_) => std::slice::from_ref(&member.value),
                _ if elements.len() <= MAX_WRAPPERS => elements,
                _ => &[],
            };
            self.n_left = self.n_left.saturating_sub(1 + objects.len());
            if member.has_key(keys::NO_LISTS) || self.n_left == 0 {
                continue;
            }
            for object in objects.iter().filter(|object| object.is_object()) {
                self.n_branches += usize::from(!elements.is_empty());
                below.push(ListParent {
                    name: if elements.is_empty() { &member.key } else { "" },
                    holders: [object].into_iter().chain(parent.holders.iter().copied()).collect(),
                    branch: if elements.is_empty() {
                        parent.branch
                    } else {
                        self.n_branches
                    },
                });
            }
        }
        below
    }
}

fn find_lists_in_objects<'n>(root: &'n OutlineNode, seen: &mut SeenLists<'n>) -> Vec<FoundList<'n>> {
    let mut level = vec![ListParent {
        name: "",
        holders: vec![root],
        branch: 0,
    }];
    let mut search = ListSearch {
        n_left: MAX_LOOKED_AT,
        n_branches: 0,
    };
    for _ in 0..MAX_DEPTH {
        let mut found = Vec::new();
        let mut branches = BTreeSet::new();
        let mut below = Vec::new();
        for parent in &level {
            let own = lists_of(parent, seen);
            branches.extend((!own.is_empty()).then_some(parent.branch));
            found.extend(own);
            below.extend(search.below(parent));
        }
        // Two elements of a list with a plan each are two answers.
        if branches.len() > 1 {
            return Vec::new();
        }
        if !found.is_empty() {
            let is_strong = found.iter().any(|list| list.is_strong);
            found.retain(|list| list.is_strong == is_strong);
            return found;
        }
        level = below;
    }
    // Tasks by their ids, without a wrapper.
    let is_map = root.members().len() > 1 && is_map_of_work(root);
    let has_sign = root.members().iter().any(|member| has_sign_of_work(&member.value));
    let map = (is_map && has_sign).then(|| whole_list(root, true));
    map.into_iter().collect()
}

/// Returns whether an object is a single task: it has an id and words for it.
pub(super) fn is_single_task(node: &OutlineNode) -> bool {
    let names: [&[&str]; 2] = [&["id", "taskid", "key"], &["title", "task", "content", "summary"]];
    names.iter().all(|keys| node.scalar_of(keys).is_some())
}

/// Returns the lists of tasks among the members of an object: the one with the best key, or all without a common key.
fn lists_of<'n>(parent: &ListParent<'n>, seen: &mut SeenLists<'n>) -> Vec<FoundList<'n>> {
    let mut strong: Vec<(usize, FoundList<'n>)> = Vec::new();
    let mut weak = Vec::new();
    let mut members = Vec::new();
    for member in parent.holders.first().into_iter().flat_map(|object| object.members()) {
        let key = member.plain_key();
        let is_other = [keys::NO_LISTS, keys::FILES, keys::CRITERIA, keys::EDGES]
            .iter()
            .any(|keys| member.has_key(keys));
        let rank = keys::LISTS.iter().position(|own| *own == key);
        let is_named_so = ["tasks", "steps", "todos", "stories"]
            .iter()
            .any(|end| key.ends_with(end));
        let is_list_key = rank.is_some() || is_named_so;
        let elements = member.value.elements();
        let is_map = rank.is_some() && is_map_of_work(&member.value);
        if member.value.is_list() && elements.is_empty() && is_list_key {
            seen.empty.get_or_insert(member.value.span);
        }
        let is_list = are_work(elements, is_list_key);
        if names_others(member) || is_other && !is_named_so || !is_list && !is_map {
            continue;
        }
        let is_in_part = rank.is_some() && !parent.name.is_empty();
        let list = FoundList {
            // A list in a named part has the name of the part.
            key: if is_in_part { parent.name } else { &member.key },
            node: &member.value,
            is_strong: is_list_key || elements.iter().any(has_sign_of_work),
            holders: parent.holders.clone(),
        };
        members.push(member);
        match is_list_key {
            true => strong.push((rank.unwrap_or(usize::MAX), list)),
            false => weak.push(list),
        }
    }
    let names = names_of_elements(&strong);
    strong.retain(|(_, list)| !is_grouping(list.node, &names));
    let order = |(rank, list): &(usize, FoundList<'_>)| {
        let mut elements = list.node.elements().iter();
        (!elements.any(|element| children_of(element, "phases").is_some()), *rank)
    };
    let Some(best) = strong.iter().map(order).min() else {
        return weak;
    };
    strong.retain(|list| best.1 == usize::MAX || order(list) == best);
    let read: HashSet<u32> = strong.iter().map(|(_, list)| list.node.span.start).collect();
    let is_left_out =
        |member: &&&OutlineMember| !read.contains(&member.value.span.start) && !is_grouping(&member.value, &names);
    seen.left_out.extend(members.iter().filter(is_left_out));
    strong.into_iter().map(|(_, list)| list).collect()
}

/// Returns the ids and the titles of the elements of some lists that have no lists themselves.
fn names_of_elements<'n>(lists: &[(usize, FoundList<'n>)]) -> HashSet<&'n str> {
    let elements = lists.iter().flat_map(|(_, list)| list.node.elements());
    let members = elements.filter(|element| children_of(element, "phases").is_none());
    let members = members.flat_map(|element| [element.get(keys::IDS), title_of(element)]);
    members.flatten().filter_map(|member| member.value.scalar()).collect()
}

/// Returns whether the elements of a list only sort tasks of another list, by their ids or titles.
pub(super) fn is_grouping(list: &OutlineNode, names: &HashSet<&str>) -> bool {
    let is_group = |element: &OutlineNode| named_members(element, names).is_some();
    !list.elements().is_empty() && list.elements().iter().all(is_group)
}

/// Returns the names in the list of an element where all of these are names of tasks.
pub(super) fn named_members<'n>(element: &'n OutlineNode, names: &HashSet<&str>) -> Option<Vec<&'n str>> {
    let is_list = |member: &&OutlineMember| {
        let has_key = member.has_key(keys::LISTS) || member.plain_key().ends_with("ids");
        has_key && !member.value.elements().is_empty()
    };
    let list = element.members().iter().find(is_list)?;
    let named = list.value.elements().iter().map(OutlineNode::scalar);
    named.map(|name| name.filter(|name| names.contains(name))).collect()
}

/// Returns whether the elements of a list can be tasks. `null` is skipped in a list of others.
fn are_work(elements: &[OutlineNode], may_be_text: bool) -> bool {
    let is_null = |element: &OutlineNode| element.data == OutlineData::Null;
    !elements.iter().all(is_null)
        && elements
            .iter()
            .all(|element| is_null(element) || is_work(element, may_be_text))
}

/// Returns whether an element of a list can be a task; texts only if the list's key allows it.
fn is_work(element: &OutlineNode, may_be_text: bool) -> bool {
    match &element.data {
        OutlineData::Text(_) => may_be_text && element.text().is_some(),
        OutlineData::Object(members) => {
            let has = |keys: &[&str]| element.get(keys).is_some_and(|member| member.value.text().is_some());
            let is_wrapped = matches!(members.as_slice(), [only] if only.value.is_object());
            let is_short = may_be_text && members.len() == 1;
            has(keys::WORK_TITLES)
                || has(keys::TITLES) && (may_be_text || has_sign_of_work(element))
                || may_be_text && has_sign_of_work(element)
                || children_of(element, "phases").is_some()
                || is_wrapped && may_be_text
                || is_short
        }
        OutlineData::List(elements) => {
            may_be_text && !elements.is_empty() && elements.iter().all(|element| element.text().is_some())
        }
        _ => false,
    }
}

/// Returns whether an object has a field that is typical of tasks.
fn has_sign_of_work(element: &OutlineNode) -> bool {
    let has = |keys: &[&str]| element.get(keys).is_some();
    element.members().iter().any(names_others) || has(keys::STATES) || has(keys::CRITERIA)
}

/// Returns whether a member names other tasks: `prerequisite_tasks`, `blocks`.
fn names_others(member: &OutlineMember) -> bool {
    keys::is_dependency(&member.plain_key()) || member.has_key(keys::BLOCKS)
}

/// Returns whether an object has tasks by their ids.
fn is_map_of_work(node: &OutlineNode) -> bool {
    let is_task = |member: &OutlineMember| member.value.is_object() && is_work(&member.value, true);
    !node.members().is_empty() && node.members().iter().all(is_task)
}

/// Returns the list of tasks below an element of a list.
pub(super) fn children_of<'n>(element: &'n OutlineNode, list_key: &str) -> Option<&'n OutlineMember> {
    let is_group = keys::GROUP_LISTS.contains(&list_key);
    element.members().iter().find(|member| {
        let is_named_so = member.has_key(keys::LISTS) || member.plain_key().ends_with("tasks");
        let is_list = is_named_so && !names_others(member);
        let elements = member.value.elements();
        let are_texts = elements.iter().all(|element| element.text().is_some());
        let is_own_steps = are_texts && !is_group && member.has_key(keys::OWN_STEPS);
        let is_children = !elements.is_empty() && !is_own_steps && elements.iter().all(is_work_below);
        is_list && (is_children || is_map_of_work(&member.value))
    })
}

/// Like [`is_work`] without looking deeper, so that deep values cost no more than others.
fn is_work_below(element: &OutlineNode) -> bool {
    element.data == OutlineData::Null
        || element.text().is_some()
        || element.scalar_of(keys::TITLES).is_some()
        || element.members().len() == 1
        || has_sign_of_work(element)
}
