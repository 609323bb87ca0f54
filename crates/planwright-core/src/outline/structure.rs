//! From a value of JSON or YAML to a plan: which of its lists is the list of tasks, and what its elements say.

use std::collections::BTreeSet;

use super::OutlineTask;
use super::item_text::read_item;
use super::names::{is_none_word, one_line};
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::rules::{GUESS, LEFT_OUT};
use super::task_keys as keys;
use super::value::{Data, MAX_DEPTH, Member, Node, plain_key};
use crate::diagnostic::Diagnostic;
use crate::plan::State;
use crate::text::{Span, visible};

/// How many values are looked at in search of lists.
const MAX_LOOKED_AT: usize = 100_000;

/// What a value is.
pub(super) enum Structure {
    /// A plan; whether its keys leave no doubt that it is one.
    Plan(Box<RawPlan>, bool),
    /// A list of tasks without a task.
    Empty(Span),
    /// Something else.
    Nothing,
}

/// A list of tasks within a value.
struct FoundList<'n> {
    key: &'n str,
    node: &'n Node,
    is_strong: bool,
    /// The objects around it, the innermost first.
    holders: Vec<&'n Node>,
}

/// Reads a value as a plan.
pub(super) fn plan_of(root: &Node) -> Structure {
    let mut empty = None;
    let found = find_lists(root, &mut empty);
    let Some(first) = found.first() else {
        return empty.map_or(Structure::Nothing, Structure::Empty);
    };
    let mut reader = Reader::default();
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

/// Returns the lists of tasks at the smallest depth that has any.
fn find_lists<'n>(root: &'n Node, empty: &mut Option<Span>) -> Vec<FoundList<'n>> {
    if let Data::List(elements) = &root.data {
        let is_work = !elements.is_empty() && elements.iter().all(|element| is_work(element, true));
        if is_work {
            let is_strong = elements.iter().any(has_sign_of_work);
            return vec![FoundList {
                key: "tasks",
                node: root,
                is_strong,
                holders: Vec::new(),
            }];
        }
        // A wrapper can be a list of one.
        return match elements.as_slice() {
            [
                only @ Node {
                    data: Data::Object(_), ..
                },
            ] => find_lists_in_objects(only, empty),
            [] => {
                empty.get_or_insert(root.span);
                Vec::new()
            }
            _ => Vec::new(),
        };
    }
    find_lists_in_objects(root, empty)
}

fn find_lists_in_objects<'n>(root: &'n Node, empty: &mut Option<Span>) -> Vec<FoundList<'n>> {
    let mut level: Vec<(&'n str, Vec<&'n Node>, &'n Node)> = vec![("", Vec::new(), root)];
    let mut n_left = MAX_LOOKED_AT;
    for _ in 0..MAX_DEPTH {
        let mut found = Vec::new();
        let mut below = Vec::new();
        for (name, holders, object) in level {
            let holders: Vec<&Node> = [object].into_iter().chain(holders).collect();
            let own = lists_of(name, object, &holders, empty);
            found.extend(own);
            for member in object.members() {
                let is_open = !keys::NO_LISTS.contains(&plain_key(&member.key).as_str());
                n_left = n_left.saturating_sub(1);
                if is_open && n_left > 0 && matches!(member.value.data, Data::Object(_)) {
                    below.push((member.key.as_str(), holders.clone(), &member.value));
                }
            }
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
    Vec::new()
}

/// Returns the lists of tasks among the members of an object: the one with the best key, or all of those that have no common key.
fn lists_of<'n>(name: &'n str, object: &'n Node, holders: &[&'n Node], empty: &mut Option<Span>) -> Vec<FoundList<'n>> {
    let mut strong: Vec<(usize, FoundList<'n>)> = Vec::new();
    let mut weak = Vec::new();
    for member in object.members() {
        let key = plain_key(&member.key);
        let is_other = [
            keys::NO_LISTS,
            keys::DEPENDENCIES,
            keys::BLOCKS,
            keys::FILES,
            keys::CRITERIA,
            keys::EDGES,
        ]
        .iter()
        .any(|others| others.contains(&key.as_str()));
        let rank = keys::LISTS.iter().position(|own| *own == key);
        let is_named_so = ["tasks", "steps", "todos", "stories"]
            .iter()
            .any(|end| key.ends_with(end));
        let is_list_key = rank.is_some() || is_named_so;
        let elements = member.value.elements();
        let is_map = rank.is_some() && is_map_of_work(&member.value);
        if matches!(&member.value.data, Data::List(elements) if elements.is_empty()) && is_list_key {
            empty.get_or_insert(member.value.span);
        }
        let is_list = !elements.is_empty() && elements.iter().all(|element| is_work(element, is_list_key));
        if is_other && !is_named_so || !is_list && !is_map {
            continue;
        }
        let list = FoundList {
            // A list of a named part is told from others by the name of the part.
            key: if rank.is_some() && !name.is_empty() {
                name
            } else {
                &member.key
            },
            node: &member.value,
            is_strong: is_list_key || elements.iter().any(has_sign_of_work),
            holders: holders.to_vec(),
        };
        match is_list_key {
            true => strong.push((rank.unwrap_or(usize::MAX), list)),
            false => weak.push(list),
        }
    }
    let has_children = |list: &FoundList<'_>| {
        list.node
            .elements()
            .iter()
            .any(|element| children_of(element, "phases").is_some())
    };
    let best = strong.iter().map(|(rank, list)| (!has_children(list), *rank)).min();
    match best {
        Some((_, usize::MAX)) => strong.into_iter().map(|(_, list)| list).collect(),
        Some(best) => strong
            .into_iter()
            .filter(|(rank, list)| (!has_children(list), *rank) == best)
            .map(|(_, list)| list)
            .collect(),
        None => weak,
    }
}

/// Returns whether an element of a list can be a task; texts only where the key of the list says so.
fn is_work(element: &Node, may_be_text: bool) -> bool {
    match &element.data {
        Data::Text(_) => may_be_text && element.text().is_some(),
        Data::Object(members) => {
            let has = |keys: &[&str]| element.get(keys).is_some_and(|member| member.value.text().is_some());
            let is_wrapped = matches!(members.as_slice(), [only] if matches!(only.value.data, Data::Object(_)));
            let is_short = may_be_text && members.len() == 1;
            has(keys::WORK_TITLES)
                || has(keys::TITLES) && (may_be_text || has_sign_of_work(element))
                || may_be_text && has_sign_of_work(element)
                || children_of(element, "phases").is_some()
                || is_wrapped && may_be_text
                || is_short
        }
        Data::List(elements) => {
            may_be_text && !elements.is_empty() && elements.iter().all(|element| element.text().is_some())
        }
        _ => false,
    }
}

/// Returns whether an object has a field that tasks have, and other records rarely.
fn has_sign_of_work(element: &Node) -> bool {
    let has = |keys: &[&str]| element.get(keys).is_some();
    has(keys::DEPENDENCIES) || has(keys::BLOCKS) || has(keys::STATES) || has(keys::CRITERIA)
}

/// Returns whether an object has tasks by their ids.
fn is_map_of_work(node: &Node) -> bool {
    let is_task = |member: &Member| matches!(member.value.data, Data::Object(_)) && is_work(&member.value, true);
    !node.members().is_empty() && node.members().iter().all(is_task)
}

/// Returns the list of tasks below an element of a list.
fn children_of<'n>(element: &'n Node, list_key: &str) -> Option<&'n Member> {
    let is_group = keys::GROUP_LISTS.contains(&list_key);
    element.members().iter().find(|member| {
        let key = plain_key(&member.key);
        let is_list = keys::LISTS.contains(&key.as_str()) || key.ends_with("tasks");
        let elements = member.value.elements();
        let are_texts = elements.iter().all(|element| element.text().is_some());
        let is_own_steps = are_texts && !is_group && keys::OWN_STEPS.contains(&key.as_str());
        let is_children =
            !elements.is_empty() && !is_own_steps && elements.iter().all(|element| is_work_below(element));
        is_list && (is_children || is_map_of_work(&member.value))
    })
}

/// The same as [`is_work`] without a look further down, so that deep values cost no more than others.
fn is_work_below(element: &Node) -> bool {
    let has_title = || {
        element
            .get(keys::TITLES)
            .is_some_and(|member| member.value.scalar().is_some())
    };
    element.text().is_some() || has_title() || element.members().len() == 1 || has_sign_of_work(element)
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
            _ => {}
        }
    }

    fn object(&mut self, node: &Node, name: Option<&str>, key: &str, group: Option<usize>, list: usize, depth: usize) {
        let title = title_of(node);
        let id = id_of(node, title).or_else(|| name.map(str::to_owned));
        let words = title
            .and_then(|member| member.value.scalar())
            .map(str::to_owned)
            .or_else(|| id.clone())
            .unwrap_or_default();
        let words = words.as_str();
        let written = written_dependencies(node);
        let blocks: Vec<Reference> = members_with(node, keys::BLOCKS)
            .flat_map(|member| references_of(&member.value))
            .collect();
        if let Some(children) = children_of(node, key) {
            let own = match words {
                "" => group,
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
            Data::Text(word) => keys::state_of(word).or_else(|| {
                let message = format!("the status `{}` is read as pending", visible(word));
                self.plan
                    .notes
                    .push(Diagnostic::new(&GUESS, member.value.span, message));
                None
            }),
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
            let is_known = tables.iter().any(|table| table.contains(&key.as_str()));
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
                let on: Vec<Reference> = members_with(element, keys::DEPENDENCIES)
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

fn members_with<'n>(node: &'n Node, names: &'n [&str]) -> impl Iterator<Item = &'n Member> {
    let is_one = |member: &&Member| names.contains(&plain_key(&member.key).as_str());
    node.members().iter().filter(is_one)
}

fn is_id_like(text: &str) -> bool {
    !text.contains(char::is_whitespace)
        && text.len() <= 40
        && (text.contains(|c: char| c.is_ascii_digit()) || text.len() <= 2)
}

fn title_of(node: &Node) -> Option<&Member> {
    let mut titles = keys::TITLES
        .iter()
        .filter_map(|key| node.get(&[key]))
        .filter(|member| member.value.text().is_some());
    let first = titles.next()?;
    // `task: T1, description: …`: the first is an id.
    let is_id = first.value.text().is_some_and(is_id_like);
    titles.find(|_| is_id).or(Some(first))
}

fn id_of(node: &Node, title: Option<&Member>) -> Option<String> {
    let members = keys::IDS.iter().filter_map(|key| node.get(&[key]));
    let is_own = |member: &&Member| title.is_none_or(|title| title.key_span != member.key_span);
    let id = members.filter(is_own).find_map(|member| member.value.scalar())?;
    let is_id = id.len() <= 100 && !id.contains('\n');
    is_id.then(|| id.trim_end_matches(['.', ')', ':']).to_owned())
}

fn description_of(node: &Node, title: Option<&Member>, words: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    if words.lines().count() > 1 || words.len() > 500 {
        parts.push(words.trim());
    }
    let others = keys::DESCRIPTIONS
        .iter()
        .chain(&["task", "content", "objective", "goal"]);
    for member in others.filter_map(|key| node.get(&[key])) {
        let is_title = title.is_some_and(|title| title.key_span == member.key_span);
        if let Some(text) = member
            .value
            .text()
            .filter(|text| !is_title && *text != words && !parts.contains(text))
        {
            parts.push(text);
        }
    }
    let steps: Vec<String> = members_with(node, keys::OWN_STEPS)
        .flat_map(|member| member.value.elements())
        .filter_map(|step| step.text())
        .map(|step| format!("- {step}"))
        .collect();
    let steps = steps.join("\n");
    if !steps.is_empty() {
        parts.push(&steps);
    }
    parts.join("\n\n")
}

fn place_of(node: &Node, title: Option<&Member>) -> Span {
    title.map_or(node.span, |member| member.value.span)
}

fn written_dependencies(node: &Node) -> Option<Vec<Reference>> {
    let mut members = members_with(node, keys::DEPENDENCIES).peekable();
    members.peek()?;
    Some(members.flat_map(|member| references_of(&member.value)).collect())
}

fn certain(text: &str, place: Span) -> Reference {
    Reference {
        text: text.trim().to_owned(),
        place,
        is_certain: true,
    }
}

/// Returns the tasks that a value names.
fn references_of(node: &Node) -> Vec<Reference> {
    match &node.data {
        Data::List(elements) => elements.iter().filter_map(reference_of).collect(),
        Data::Object(members) => match reference_of(node) {
            Some(reference) => vec![reference],
            None => members
                .iter()
                .map(|member| certain(&member.key, member.key_span))
                .collect(),
        },
        _ => reference_of(node).into_iter().collect(),
    }
}

fn reference_of(node: &Node) -> Option<Reference> {
    match &node.data {
        Data::Object(_) => {
            // Some trackers have links that hold nothing back.
            let kind = node
                .get(&["type", "kind", "relation"])
                .and_then(|member| member.value.text());
            let is_loose =
                kind.is_some_and(|kind| ["related", "parent-child", "discovered-from", "relates"].contains(&kind));
            let names = [
                "dependsonid",
                "dependson",
                "id",
                "taskid",
                "task",
                "ref",
                "step",
                "target",
                "on",
                "issue",
                "number",
                "title",
                "name",
                "key",
            ];
            let named = node.get(&names).filter(|_| !is_loose)?;
            let text = named.value.scalar()?;
            Some(certain(text, named.value.span))
        }
        _ => {
            let text = node.scalar().filter(|text| !is_none_word(text))?;
            Some(certain(text, node.span))
        }
    }
}

fn texts_of(node: &Node) -> Vec<String> {
    match &node.data {
        Data::List(elements) => elements
            .iter()
            .filter_map(|element| element.text().map(str::to_owned))
            .collect(),
        _ => node.text().map(str::to_owned).into_iter().collect(),
    }
}

/// Returns a key as words: `frontend_tasks` as `frontend tasks`.
fn words_of_key(key: &str) -> String {
    key.replace(['_', '-'], " ").trim().to_owned()
}
