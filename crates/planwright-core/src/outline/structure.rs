//! From a value of JSON or YAML to a plan: which of its lists is the list of tasks, and what its elements say.

use std::collections::BTreeSet;

use super::OutlineTask;
use super::item_text::read_item;
use super::names::one_line;
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::rules::{GUESS, LEFT_OUT};
use super::task_fields::{
    certain, dependency_members, description_of, id_of, members_with, place_of, reference_of, references_of, texts_of,
    title_of, words_of_key, written_dependencies,
};
use super::task_keys as keys;
use super::value::{Data, MAX_DEPTH, Member, Node, plain_key};
use super::work_lists::{children_of, find_lists, is_single_task};
use crate::diagnostic::Diagnostic;
use crate::plan::State;
use crate::text::{Span, visible};

/// What a value is.
pub(super) enum Structure {
    /// A plan; whether its keys leave no doubt that it is one.
    Plan(Box<RawPlan>, bool),
    /// A list of tasks without a task.
    Empty(Span),
    /// Something else.
    Nothing,
}

/// Reads a value as a plan.
pub(super) fn plan_of(root: &Node) -> Structure {
    let mut empty = None;
    let found = find_lists(root, &mut empty);
    let mut reader = Reader::default();
    let Some(first) = found.first() else {
        if empty.is_none() && is_single_task(root) {
            reader.object(root, None, "tasks", None, 0, 0);
            return Structure::Plan(Box::new(reader.finish()), false);
        }
        return empty.map_or(Structure::Nothing, Structure::Empty);
    };
    for list in &found {
        let group = (found.len() > 1).then(|| {
            reader.plan.groups.push(RawGroup {
                name: words_of_key(list.key),
                place: list.node.span,
                ..RawGroup::default()
            });
            reader.plan.groups.len() - 1
        });
        reader.list(list.node, &plain_key(list.key), group, 0);
    }
    let mut holders = first.holders.iter();
    reader.plan.goal = holders.find_map(|holder| {
        let goal = keys::GOALS.iter().find_map(|key| holder.get(&[key])?.value.text());
        goal.map(|goal| one_line(goal, 2_000))
    });
    for holder in first.holders.iter().take(1) {
        reader.edges(holder);
    }
    if reader.plan.tasks.is_empty() {
        return empty.map_or(Structure::Nothing, Structure::Empty);
    }
    Structure::Plan(Box::new(reader.finish()), found.iter().any(|list| list.is_strong))
}

/// Returns the texts within a value that are long enough to be an answer of their own.
pub(super) fn texts_within(root: &Node) -> Vec<&Node> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop().filter(|_| found.len() < 16) {
        match &node.data {
            Data::Text(text) if text.contains(['\n', '{', '[']) => found.push(node),
            Data::List(elements) => open.extend(elements.iter().rev()),
            Data::Object(members) => open.extend(members.iter().rev().map(|member| &member.value)),
            _ => {}
        }
    }
    found
}

#[derive(Default)]
struct Reader {
    plan: RawPlan,
    /// Keys that no field of a task has.
    unknown: BTreeSet<String>,
    unknown_place: Option<Span>,
    n_lists: usize,
}

impl Reader {
    fn finish(mut self) -> RawPlan {
        if let Some(place) = self.unknown_place {
            let names: Vec<String> = self
                .unknown
                .iter()
                .take(6)
                .map(|key| format!("`{}`", visible(key)))
                .collect();
            let more = if self.unknown.len() > names.len() {
                " and others"
            } else {
                ""
            };
            let message = format!("not taken into the plan: {}{more}", names.join(", "));
            self.plan.notes.push(Diagnostic::new(&LEFT_OUT, place, message));
        }
        self.plan
    }

    fn list(&mut self, node: &Node, key: &str, group: Option<usize>, depth: usize) {
        let own = self.n_lists;
        self.n_lists += 1;
        for member in node.members() {
            self.element(&member.value, Some(&member.key), key, group, own, depth);
        }
        for element in node.elements() {
            self.element(element, None, key, group, own, depth);
        }
    }

    fn element(&mut self, node: &Node, name: Option<&str>, key: &str, group: Option<usize>, list: usize, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match &node.data {
            Data::Text(text) => {
                let mut task = read_item(text.trim(), Some(node.span), 0);
                task.task.place = node.span;
                task.group = group;
                task.list = list;
                self.plan.tasks.push(task);
            }
            Data::List(_) => self.list(node, key, group, depth + 1),
            Data::Object(members) => {
                if let [Member { value, key: own, .. }] = members.as_slice() {
                    let is_known =
                        |tables: &[&[&str]]| tables.iter().any(|table| table.contains(&plain_key(own).as_str()));
                    let is_children = children_of(node, key).is_some();
                    match &value.data {
                        Data::Object(_) if !is_children => {
                            let name = (!is_known(&[keys::TITLES, keys::LISTS])).then_some(own.as_str());
                            return self.element(value, name, key, group, list, depth + 1);
                        }
                        Data::Text(text) if !is_known(&[keys::TITLES, keys::IDS]) => {
                            let mut task = read_item(&format!("{own}: {text}"), Some(node.span), 0);
                            task.task.place = node.span;
                            task.group = group;
                            task.list = list;
                            return self.plan.tasks.push(task);
                        }
                        _ => {}
                    }
                }
                self.object(node, name, key, group, list, depth);
            }
            Data::Null => {
                let message = "`null` in a list of tasks is skipped";
                self.plan.notes.push(Diagnostic::new(&GUESS, node.span, message));
            }
            _ => {}
        }
    }

    fn object(&mut self, node: &Node, name: Option<&str>, key: &str, group: Option<usize>, list: usize, depth: usize) {
        let title = title_of(node);
        let id = id_of(node, title).or_else(|| name.map(str::to_owned));
        let named = node.get(keys::GROUPS).filter(|_| title.is_none());
        let title = title.or(named);
        let words = title
            .and_then(|member| member.value.scalar())
            .map(str::to_owned)
            .or_else(|| id.clone())
            .unwrap_or_default();
        let words = words.as_str();
        let written = written_dependencies(node);
        for member in dependency_members(node).filter(|member| member.value.data == Data::Bool(true)) {
            let message = format!("`{}: true` is not understood as a dependency", visible(&member.key));
            let place = member.key_span.to(member.value.span);
            self.plan.notes.push(Diagnostic::new(&GUESS, place, message));
        }
        let blocks: Vec<Reference> = members_with(node, keys::BLOCKS)
            .flat_map(|member| references_of(&member.value))
            .collect();
        if let Some(children) = children_of(node, key) {
            let own = match words {
                "" if written.is_none() && blocks.is_empty() => group,
                words => {
                    self.plan.groups.push(RawGroup {
                        name: one_line(words, 200),
                        id,
                        parent: group,
                        dependencies: written,
                        blocks,
                        place: place_of(node, title),
                    });
                    Some(self.plan.groups.len() - 1)
                }
            };
            return self.list(&children.value, &plain_key(&children.key), own, depth + 1);
        }
        if words.is_empty() {
            return;
        }
        let group = self.group_by_field(node, group);
        let state = self.state_of(node);
        let texts = |names: &[&str]| {
            members_with(node, names)
                .flat_map(|member| texts_of(&member.value))
                .collect()
        };
        let is_set = |names: &[&str]| members_with(node, names).any(|member| member.value.data == Data::Bool(true));
        let first_line = words.lines().next().unwrap_or(words);
        let task = OutlineTask {
            id,
            title: one_line(first_line, 500),
            description: description_of(node, title, words),
            state,
            group: None,
            is_parallel: is_set(keys::PARALLEL),
            is_optional: is_set(keys::OPTIONAL),
            files: texts(keys::FILES),
            criteria: texts(keys::CRITERIA),
            dependencies: Vec::new(),
            place: place_of(node, title),
        };
        self.note_unknown(node, title);
        self.plan.tasks.push(RawTask {
            task,
            number: None,
            list,
            group,
            dependencies: written,
            blocks,
            hints: Vec::new(),
            notes: Vec::new(),
        });
    }

    /// Returns the group that a field of a task names; it is made where there is none of that name yet.
    fn group_by_field(&mut self, node: &Node, group: Option<usize>) -> Option<usize> {
        let Some(member) = node.get(keys::GROUPS).filter(|_| group.is_none()) else {
            return group;
        };
        let name = match &member.value.data {
            Data::Number(number) => format!("{} {number}", member.key),
            _ => member.value.text()?.to_owned(),
        };
        let known = self.plan.groups.iter().rposition(|group| group.name == name);
        Some(known.unwrap_or_else(|| {
            self.plan.groups.push(RawGroup {
                name,
                place: member.value.span,
                ..RawGroup::default()
            });
            self.plan.groups.len() - 1
        }))
    }

    fn state_of(&mut self, node: &Node) -> Option<State> {
        let member = node.get(keys::STATES)?;
        match &member.value.data {
            Data::Bool(true) => Some(State::Done),
            Data::Text(word) => {
                let (state, guess) = keys::read_status(word);
                let note = guess.map(|guess| Diagnostic::new(&GUESS, member.value.span, guess));
                self.plan.notes.extend(note);
                state
            }
            _ => None,
        }
    }

    fn note_unknown(&mut self, node: &Node, title: Option<&Member>) {
        let tables = [
            keys::IDS,
            keys::TITLES,
            keys::DESCRIPTIONS,
            keys::DEPENDENCIES,
            keys::BLOCKS,
            keys::STATES,
            keys::GROUPS,
            keys::PARALLEL,
            keys::OPTIONAL,
            keys::FILES,
            keys::CRITERIA,
            keys::OWN_STEPS,
        ];
        let is_void = |node: &Node| {
            matches!(&node.data, Data::Null | Data::Bool(false))
                || matches!(&node.data, Data::List(list) if list.is_empty())
        };
        for member in node.members() {
            let key = plain_key(&member.key);
            let is_known = keys::is_dependency(&key) || tables.iter().any(|table| table.contains(&key.as_str()));
            let is_title = title.is_some_and(|title| title.key_span == member.key_span);
            if !is_known && !is_title && !is_void(&member.value) && self.unknown.insert(member.key.clone()) {
                self.unknown_place.get_or_insert(member.key_span.to(member.value.span));
            }
        }
    }

    /// Reads dependencies that stand next to the list of tasks.
    fn edges(&mut self, holder: &Node) {
        let end = |node: &Node, names: &[&str]| {
            let member = node.get(names)?;
            reference_of(&member.value)
        };
        let mut from_before_to = None;
        for member in members_with(holder, keys::EDGES) {
            for (name, value) in member
                .value
                .members()
                .iter()
                .map(|own| ((&own.key, own.key_span), &own.value))
            {
                let owner = certain(name.0, name.1);
                let on = references_of(value);
                self.plan.edges.extend(on.into_iter().map(|on| (owner.clone(), on)));
            }
            for element in member.value.elements() {
                let owner = end(element, &["task", "taskid", "id", "issueid", "node"]);
                let on: Vec<Reference> = dependency_members(element)
                    .flat_map(|member| references_of(&member.value))
                    .collect();
                if let Some(owner) = owner.filter(|_| !on.is_empty()) {
                    self.plan.edges.extend(on.into_iter().map(|on| (owner.clone(), on)));
                    continue;
                }
                let ends = match element.elements() {
                    [from, to] => reference_of(from).zip(reference_of(to)),
                    _ => end(element, &["from", "source", "before"]).zip(end(element, &["to", "target", "after"])),
                };
                if let Some((from, to)) = ends {
                    from_before_to.get_or_insert(element.span);
                    self.plan.edges.push((to, from));
                }
            }
        }
        if let Some(place) = from_before_to {
            let message = "an edge leads from a task to one that depends on it";
            self.plan.notes.push(Diagnostic::new(&GUESS, place, message));
        }
    }
}
