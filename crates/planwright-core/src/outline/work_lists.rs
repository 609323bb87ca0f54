//! Decides which lists in a value are lists of tasks, by their keys and their elements.

use std::collections::{BTreeSet, HashSet};

use super::task_fields::title_of;
use super::task_keys as keys;
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode, plain_key};
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
        [only] if is_object(only) => return find_lists_in_objects(only, seen),
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

fn is_object(node: &OutlineNode) -> bool {
    matches!(node.data, OutlineData::Object(_))
}

/// An object that is searched for lists of tasks.
struct ListParent<'n> {
    name: &'n str,
    /// The objects around it, the innermost first.
    around: Vec<&'n OutlineNode>,
    object: &'n OutlineNode,
    /// The element of a list that it is or is in, counted over all lists.
    branch: usize,
}

fn find_lists_in_objects<'n>(root: &'n OutlineNode, seen: &mut SeenLists<'n>) -> Vec<FoundList<'n>> {
    let mut level = vec![ListParent {
        name: "",
        around: Vec::new(),
        object: root,
        branch: 0,
    }];
    let mut n_left = MAX_LOOKED_AT;
    let mut n_branches = 0;
    for _ in 0..MAX_DEPTH {
        let mut found = Vec::new();
        let mut branches = BTreeSet::new();
        let mut below = Vec::new();
        for holder in level {
            let holders: Vec<&OutlineNode> = [holder.object].into_iter().chain(holder.around).collect();
            let own = lists_of(holder.name, holder.object, &holders, seen);
            if !own.is_empty() {
                branches.insert(holder.branch);
            }
            found.extend(own);
            for member in holder.object.members() {
                let is_open = !keys::NO_LISTS.contains(&plain_key(&member.key).as_str());
                let elements = member.value.elements();
                // `{"output": [{"type": "message", "content": {…}}]}`: the elements of a short list can be wrappers.
                let objects = match &member.value.data {
                    OutlineData::Object(_) => std::slice::from_ref(&member.value),
                    _ if elements.len() <= MAX_WRAPPERS => elements,
                    _ => &[],
                };
                n_left = n_left.saturating_sub(1 + objects.len());
                if !is_open || n_left == 0 {
                    continue;
                }
                for object in objects.iter().filter(|object| is_object(object)) {
                    let branch = match elements {
                        [] => holder.branch,
                        _ => {
                            n_branches += 1;
                            n_branches
                        }
                    };
                    below.push(ListParent {
                        name: if elements.is_empty() { &member.key } else { "" },
                        around: holders.clone(),
                        object,
                        branch,
                    });
                }
            }
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
        if below.is_empty() {
            break;
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
    let has = |keys: &[&str]| node.get(keys).is_some_and(|member| member.value.scalar().is_some());
    has(&["id", "taskid", "key"]) && has(&["title", "task", "content", "summary"])
}

/// Returns the lists of tasks among the members of an object: the one with the best key, or all without a common key.
fn lists_of<'n>(
    name: &'n str,
    object: &'n OutlineNode,
    holders: &[&'n OutlineNode],
    seen: &mut SeenLists<'n>,
) -> Vec<FoundList<'n>> {
    let mut strong: Vec<(usize, FoundList<'n>)> = Vec::new();
    let mut weak = Vec::new();
    let mut members = Vec::new();
    for member in object.members() {
        let key = plain_key(&member.key);
        let others = [keys::NO_LISTS, keys::FILES, keys::CRITERIA, keys::EDGES];
        let is_other = others.iter().any(|others| others.contains(&key.as_str()));
        let rank = keys::LISTS.iter().position(|own| *own == key);
        let is_named_so = ["tasks", "steps", "todos", "stories"]
            .iter()
            .any(|end| key.ends_with(end));
        let is_list_key = rank.is_some() || is_named_so;
        let elements = member.value.elements();
        let is_map = rank.is_some() && is_map_of_work(&member.value);
        if matches!(&member.value.data, OutlineData::List(elements) if elements.is_empty()) && is_list_key {
            seen.empty.get_or_insert(member.value.span);
        }
        let is_list = are_work(elements, is_list_key);
        if keys::is_dependency(&key)
            || keys::BLOCKS.contains(&key.as_str())
            || is_other && !is_named_so
            || !is_list && !is_map
        {
            continue;
        }
        let is_in_part = rank.is_some() && !name.is_empty();
        let list = FoundList {
            // A list in a named part has the name of the part.
            key: if is_in_part { name } else { &member.key },
            node: &member.value,
            is_strong: is_list_key || elements.iter().any(has_sign_of_work),
            holders: holders.to_vec(),
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
        let key = plain_key(&member.key);
        !member.value.elements().is_empty() && (keys::LISTS.contains(&key.as_str()) || key.ends_with("ids"))
    };
    let list = element.members().iter().find(is_list)?;
    let named = list.value.elements().iter().map(OutlineNode::scalar);
    named.map(|name| name.filter(|name| names.contains(name))).collect()
}

/// Returns whether the elements of a list can be tasks. `null` is skipped in a list of others.
fn are_work(elements: &[OutlineNode], may_be_text: bool) -> bool {
    let mut others = elements
        .iter()
        .filter(|element| element.data != OutlineData::Null)
        .peekable();
    others.peek().is_some() && others.all(|element| is_work(element, may_be_text))
}

/// Returns whether an element of a list can be a task; texts only if the list's key allows it.
fn is_work(element: &OutlineNode, may_be_text: bool) -> bool {
    match &element.data {
        OutlineData::Text(_) => may_be_text && element.text().is_some(),
        OutlineData::Object(members) => {
            let has = |keys: &[&str]| element.get(keys).is_some_and(|member| member.value.text().is_some());
            let is_wrapped = matches!(members.as_slice(), [only] if is_object(&only.value));
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
    let mut names = element.members().iter().map(|member| plain_key(&member.key));
    names.any(|key| keys::is_dependency(&key)) || has(keys::BLOCKS) || has(keys::STATES) || has(keys::CRITERIA)
}

/// Returns whether an object has tasks by their ids.
fn is_map_of_work(node: &OutlineNode) -> bool {
    let is_task = |member: &OutlineMember| is_object(&member.value) && is_work(&member.value, true);
    !node.members().is_empty() && node.members().iter().all(is_task)
}

/// Returns the list of tasks below an element of a list.
pub(super) fn children_of<'n>(element: &'n OutlineNode, list_key: &str) -> Option<&'n OutlineMember> {
    let is_group = keys::GROUP_LISTS.contains(&list_key);
    element.members().iter().find(|member| {
        let key = plain_key(&member.key);
        // `prerequisite_tasks` names other tasks.
        let is_other = keys::is_dependency(&key) || keys::BLOCKS.contains(&key.as_str());
        let is_list = !is_other && (keys::LISTS.contains(&key.as_str()) || key.ends_with("tasks"));
        let elements = member.value.elements();
        let are_texts = elements.iter().all(|element| element.text().is_some());
        let is_own_steps = are_texts && !is_group && keys::OWN_STEPS.contains(&key.as_str());
        let is_children = !elements.is_empty() && !is_own_steps && elements.iter().all(is_work_below);
        is_list && (is_children || is_map_of_work(&member.value))
    })
}

/// Like [`is_work`] without looking deeper, so that deep values cost no more than others.
fn is_work_below(element: &OutlineNode) -> bool {
    let has_title = || {
        element
            .get(keys::TITLES)
            .is_some_and(|member| member.value.scalar().is_some())
    };
    element.data == OutlineData::Null
        || element.text().is_some()
        || has_title()
        || element.members().len() == 1
        || has_sign_of_work(element)
}
