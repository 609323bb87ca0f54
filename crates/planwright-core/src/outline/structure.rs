//! From a value of JSON or YAML to a plan: which of its lists is the list of tasks, and its elements.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::OutlineTask;
use super::dependency_sentences::statements;
use super::item_text::read_item;
use super::names::one_line;
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::references::mentions;
use super::rules::{GUESS, IN_DESCRIPTION};
use super::task_fields::{
    certain, dependency_members, description_of, id_of, labelled, members_with, place_of, reference_of, references_of,
    texts_of, title_of, words_of_key, words_of_value, written_dependencies,
};
use super::task_keys as keys;
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode, plain_key};
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
pub(super) fn plan_of(root: &OutlineNode) -> Structure {
    let mut empty = None;
    let found = find_lists(root, &mut empty);
    let mut reader = StructureReader::default();
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

/// Returns the number that a phase gives itself.
fn number_of_group(node: &OutlineNode) -> Option<String> {
    let member = node.get(keys::GROUPS)?;
    match &member.value.data {
        OutlineData::Number(number) => Some(number.clone()),
        _ => None,
    }
}

/// Returns what is written about a phase, apart from its name and its tasks.
fn group_description(
    node: &OutlineNode,
    title: Option<&OutlineMember>,
    words: &str,
    children: &OutlineMember,
) -> String {
    let is_title = |member: &OutlineMember| title.is_some_and(|title| title.key_span == member.key_span);
    let tables = [keys::IDS, keys::GROUPS, keys::BLOCKS, keys::STATES, keys::PARALLEL];
    let is_known = |key: &str| keys::is_dependency(key) || tables.iter().any(|table| table.contains(&key));
    let others = node.members().iter().filter(|member| {
        !is_title(member) && member.key_span != children.key_span && !is_known(&plain_key(&member.key))
    });
    let lines = others.filter_map(|member| {
        let own = words_of_value(&member.value);
        let is_text = keys::DESCRIPTIONS.contains(&plain_key(&member.key).as_str());
        match own.is_empty() || own == words {
            true => None,
            false if is_text => Some(own),
            false => Some(labelled(&words_of_key(&member.key), &own)),
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Returns the texts within a value that are long enough to be an answer of their own.
pub(super) fn texts_within(root: &OutlineNode) -> Vec<&OutlineNode> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop().filter(|_| found.len() < 16) {
        match &node.data {
            OutlineData::Text(text) if text.contains(['\n', '{', '[']) => found.push(node),
            OutlineData::List(elements) => open.extend(elements.iter().rev()),
            OutlineData::Object(members) => open.extend(members.iter().rev().map(|member| &member.value)),
            _ => {}
        }
    }
    found
}

/// Returns whether a field of a task has all of a member.
fn is_read(key: &str, value: &OutlineNode, task: &OutlineTask) -> bool {
    let has = |tables: &[&[&str]]| tables.iter().any(|table| table.contains(&key));
    let is_flag = matches!(value.data, OutlineData::Bool(_));
    // An order in addition to the id says nothing new.
    let is_number = matches!(value.data, OutlineData::Number(_));
    keys::is_dependency(key)
        || has(&[keys::BLOCKS, keys::FILES, keys::CRITERIA])
        || has(&[keys::GROUPS]) && !matches!(value.data, OutlineData::List(_) | OutlineData::Object(_))
        || has(&[keys::STATES]) && (is_flag || value.text().is_some_and(|word| keys::state_of(word).is_some()))
        || has(&[keys::PARALLEL, keys::OPTIONAL]) && is_flag
        || has(&[keys::IDS]) && (is_number || value.text().is_some_and(|text| task.id.as_deref() == Some(text)))
        || has(&[keys::OWN_STEPS]) && value.elements().iter().all(|step| step.text().is_some())
}

/// Returns whether the title, the id or the description of a task has a text.
fn is_written(words: &str, task: &OutlineTask) -> bool {
    words == task.title || task.id.as_deref() == Some(words) || task.description.contains(words)
}

/// Returns whether all elements of a list are lists.
fn is_list_of_lists(node: &OutlineNode) -> bool {
    let is_list = |element: &OutlineNode| matches!(element.data, OutlineData::List(_));
    node.elements().len() > 1 && node.elements().iter().all(is_list)
}

#[derive(Default)]
struct StructureReader {
    plan: RawPlan,
    /// Keys that no field of a task has.
    unknown: BTreeSet<String>,
    unknown_place: Option<Span>,
    n_lists: usize,
}

impl StructureReader {
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
            let message = format!("written into the description: {}{more}", names.join(", "));
            self.plan.notes.push(Diagnostic::new(&IN_DESCRIPTION, place, message));
        }
        self.plan
    }

    fn list(&mut self, node: &OutlineNode, key: &str, group: Option<usize>, depth: usize) {
        if depth <= MAX_DEPTH && keys::WAVES.contains(&key) && is_list_of_lists(node) {
            return self.waves(node, key, group, depth);
        }
        let own = self.n_lists;
        self.n_lists += 1;
        for member in node.members() {
            self.element(&member.value, Some(&member.key), key, group, own, depth);
        }
        for element in node.elements() {
            self.element(element, None, key, group, own, depth);
        }
    }

    /// Reads a list of lists: the tasks of each depend on those of the one before it.
    fn waves(&mut self, node: &OutlineNode, key: &str, group: Option<usize>, depth: usize) {
        let name = words_of_key(key);
        let name = name.strip_suffix('s').unwrap_or(&name);
        let mut before: Option<Reference> = None;
        for (ix, element) in node.elements().iter().enumerate() {
            let id = format!("{name} {}", ix + 1);
            self.plan.groups.push(RawGroup {
                name: id.clone(),
                id: Some(id.clone()),
                list: None,
                parent: group,
                dependencies: before.take().map(|before| vec![before]),
                blocks: Vec::new(),
                description: String::new(),
                place: element.span,
            });
            let own = self.plan.groups.len() - 1;
            self.list(element, "tasks", Some(own), depth + 1);
            before = Some(certain(&id, element.span));
        }
        let message = format!("the tasks of each {name} depend on those of the one before it");
        self.plan.notes.push(Diagnostic::new(&GUESS, node.span, message));
    }

    fn element(
        &mut self,
        node: &OutlineNode,
        name: Option<&str>,
        key: &str,
        group: Option<usize>,
        list: usize,
        depth: usize,
    ) {
        if depth > MAX_DEPTH {
            return;
        }
        match &node.data {
            OutlineData::Text(text) => {
                let mut task = read_item(text.trim(), Some(node.span), 0);
                task.task.place = node.span;
                task.group = group;
                task.list = list;
                self.plan.tasks.push(task);
            }
            OutlineData::List(_) => self.list(node, key, group, depth + 1),
            OutlineData::Object(members) => {
                if let [OutlineMember { value, key: own, .. }] = members.as_slice() {
                    let is_known =
                        |tables: &[&[&str]]| tables.iter().any(|table| table.contains(&plain_key(own).as_str()));
                    let is_children = children_of(node, key).is_some();
                    match &value.data {
                        OutlineData::Object(_) if !is_children => {
                            let name = (!is_known(&[keys::TITLES, keys::LISTS])).then_some(own.as_str());
                            return self.element(value, name, key, group, list, depth + 1);
                        }
                        OutlineData::Text(text) if !is_known(&[keys::TITLES, keys::IDS]) => {
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
            OutlineData::Null => {
                let message = "`null` in a list of tasks is skipped";
                self.plan.notes.push(Diagnostic::new(&GUESS, node.span, message));
            }
            _ => {}
        }
    }

    fn object(
        &mut self,
        node: &OutlineNode,
        name: Option<&str>,
        key: &str,
        group: Option<usize>,
        list: usize,
        depth: usize,
    ) {
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
        let written = written_dependencies(node).or_else(|| self.described_dependencies(node, title));
        for member in dependency_members(node).filter(|member| member.value.data == OutlineData::Bool(true)) {
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
                    let description = group_description(node, title, words, children);
                    self.plan.groups.push(RawGroup {
                        name: one_line(words, 200),
                        // `phase: 2` is the number of a phase.
                        id: id.or_else(|| number_of_group(node)),
                        list: Some(list),
                        parent: group,
                        dependencies: written,
                        blocks,
                        description,
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
        let is_set =
            |names: &[&str]| members_with(node, names).any(|member| member.value.data == OutlineData::Bool(true));
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
            details: Vec::new(),
            place: place_of(node, title),
        };
        let details = self.details_of(node, title, &task);
        let task = OutlineTask { details, ..task };
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

    /// Returns the dependencies that the description of a task names, where no field does: "Depends on task 1."
    fn described_dependencies(&mut self, node: &OutlineNode, title: Option<&OutlineMember>) -> Option<Vec<Reference>> {
        let is_title = |member: &OutlineMember| title.is_some_and(|title| title.key_span == member.key_span);
        let member = node.get(keys::DESCRIPTIONS).filter(|member| !is_title(member))?;
        let text = member.value.text()?;
        let lower = text.to_ascii_lowercase();
        let start = ["depends on", "blocked by", "dependencies:"]
            .iter()
            .filter_map(|words| lower.find(words))
            .min()?;
        let said = mentions(text.get(start..)?);
        let names = said
            .found
            .into_iter()
            .filter(|mention| mention.is_certain && !mention.is_reverse);
        let found: Vec<Reference> = names.map(|mention| certain(&mention.text, member.value.span)).collect();
        if found.is_empty() {
            return None;
        }
        let message = "the dependency is the one that the description names";
        self.plan
            .notes
            .push(Diagnostic::new(&GUESS, member.value.span, message));
        Some(found)
    }

    /// Returns the group that a field of a task names; it is made where there is none of that name yet.
    fn group_by_field(&mut self, node: &OutlineNode, group: Option<usize>) -> Option<usize> {
        let Some(member) = node.get(keys::GROUPS).filter(|_| group.is_none()) else {
            return group;
        };
        let name = match &member.value.data {
            OutlineData::Number(number) => format!("{} {number}", member.key),
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

    fn state_of(&mut self, node: &OutlineNode) -> Option<State> {
        let member = node.get(keys::STATES)?;
        match &member.value.data {
            OutlineData::Bool(true) => Some(State::Done),
            OutlineData::Text(word) => {
                let (state, guess) = keys::read_status(word);
                let note = guess.map(|guess| Diagnostic::new(&GUESS, member.value.span, guess));
                self.plan.notes.extend(note);
                state
            }
            _ => None,
        }
    }

    /// Returns what no field of a task has, as lines. Keys that no field knows are noted.
    fn details_of(&mut self, node: &OutlineNode, title: Option<&OutlineMember>, task: &OutlineTask) -> Vec<String> {
        let mut details = Vec::new();
        for member in node.members() {
            let key = plain_key(&member.key);
            let is_title = title.is_some_and(|title| title.key_span == member.key_span);
            if is_title || is_read(&key, &member.value, task) {
                continue;
            }
            let words = words_of_value(&member.value);
            if words.is_empty() || is_written(&words, task) {
                continue;
            }
            details.push(labelled(&words_of_key(&member.key), &words));
            if self.unknown.insert(member.key.clone()) {
                self.unknown_place.get_or_insert(member.key_span.to(member.value.span));
            }
        }
        details
    }

    /// Reads dependencies that stand next to the tasks as texts: "T2 depends on T1", "1 → 2".
    fn sentence_edges(&mut self, node: &OutlineNode) {
        let ids: HashMap<String, usize> = {
            let ids = self.plan.tasks.iter().enumerate();
            ids.filter_map(|(ix, raw)| Some((raw.task.id.as_ref()?.to_lowercase(), ix)))
                .collect()
        };
        let mut arrows: Vec<(Reference, Reference)> = Vec::new();
        for (text, place) in [node]
            .into_iter()
            .chain(node.elements())
            .filter_map(|node| Some((node.text()?, node.span)))
        {
            let said = statements(text, true);
            for link in &said.links {
                let pairs = link
                    .after
                    .iter()
                    .flat_map(|own| link.before.iter().map(move |on| (own, on)));
                let edges = pairs.map(|(own, on)| (certain(&own.text, place), certain(&on.text, place)));
                match link.is_arrow {
                    true => arrows.extend(edges),
                    false => self.plan.edges.extend(edges),
                }
            }
            if said.links.is_empty() || !said.doubts.is_empty() {
                let message = format!("`{}` is not understood as a dependency", visible(&one_line(text, 60)));
                self.plan.notes.push(Diagnostic::new(&GUESS, place, message));
            }
        }
        let Some(place) = arrows.first().map(|(_, on)| on.place) else {
            return;
        };
        // Arrows that all lead to an earlier task lead to what a task depends on.
        let at = |reference: &Reference| ids.get(&reference.text.to_lowercase());
        let is_reversed = arrows
            .iter()
            .all(|(own, on)| at(own).zip(at(on)).is_some_and(|(own, on)| own < on));
        let message = match is_reversed {
            true => "an arrow leads from a task to one that it depends on",
            false => "an arrow leads from a task to one that depends on it",
        };
        self.plan.notes.push(Diagnostic::new(&GUESS, place, message));
        for (own, on) in arrows {
            self.plan.edges.push(if is_reversed { (on, own) } else { (own, on) });
        }
    }

    /// Reads lists of ids next to the tasks, each of which can run after the one before it; only where no task names a dependency.
    fn wave_edges(&mut self, node: &OutlineNode) {
        const MAX_EDGES: usize = 250_000;
        if self.plan.has_dependencies() {
            return;
        }
        let waves: Vec<Vec<Reference>> = node.elements().iter().map(references_of).collect();
        let ids: HashSet<&str> = self
            .plan
            .tasks
            .iter()
            .filter_map(|raw| raw.task.id.as_deref())
            .collect();
        let is_known = |reference: &Reference| ids.contains(reference.text.as_str());
        if !waves.iter().flatten().all(is_known) {
            return;
        }
        let mut edges = Vec::new();
        for pair in waves.windows(2) {
            let [before, after] = pair else {
                continue;
            };
            let pairs = after
                .iter()
                .flat_map(|own| before.iter().map(move |on| (own.clone(), on.clone())));
            edges.extend(pairs.take(MAX_EDGES.saturating_sub(edges.len())));
        }
        self.plan.edges.extend(edges);
        let message = "the tasks of each of these lists depend on those of the list before it";
        self.plan.notes.push(Diagnostic::new(&GUESS, node.span, message));
    }

    /// Reads dependencies that stand next to the list of tasks.
    fn edges(&mut self, holder: &OutlineNode) {
        let end = |node: &OutlineNode, names: &[&str]| {
            let member = node.get(names)?;
            reference_of(&member.value)
        };
        let mut from_before_to = None;
        for member in members_with(holder, keys::WAVES).filter(|member| is_list_of_lists(&member.value)) {
            self.wave_edges(&member.value);
        }
        for member in members_with(holder, keys::EDGES) {
            self.sentence_edges(&member.value);
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
