//! From a value of JSON or YAML to a plan: which of its lists is the list of tasks, and its elements.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::OutlineTask;
use super::choice::two_plans;
use super::edge_lists::{is_list_of_lists, read_edges};
use super::item_text::read_item;
use super::names::{one_line, shown};
use super::phrases::is_left_out;
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::references::mentions;
use super::rules::IN_DESCRIPTION;
use super::task_fields::{
    dependency_members, description_of, id_of, labelled, members_with, place_of, reference_of, references_of, texts_of,
    title_of, words_of_key, words_of_value, written_dependencies,
};
use super::task_keys as keys;
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode, plain_key};
use super::work_lists::{FoundList, SeenLists, children_of, find_lists, is_grouping, is_single_task, named_members};
use crate::diagnostic::Diagnostic;
use crate::plan::State;
use crate::text::{Span, visible};

/// The kind of a value.
pub(super) enum Structure {
    /// A plan, and whether its keys are certain.
    Plan(Box<RawPlan>, bool),
    /// A list of tasks without a task.
    Empty(Span),
    /// Something else.
    Nothing,
}

/// How many lists that are not read are named.
const MAX_NAMED: usize = 10;

/// Reads a value as a plan.
pub(super) fn plan_of(root: &OutlineNode) -> Structure {
    let mut seen = SeenLists::default();
    let found = find_lists(root, &mut seen);
    let SeenLists { empty, left_out } = seen;
    let mut reader = StructureReader::default();
    let Some(first) = found.first() else {
        if empty.is_none() && is_single_task(root) {
            let alone = ElementPlace {
                key: "tasks",
                ..ElementPlace::default()
            };
            reader.object(root, None, alone);
            return Structure::Plan(Box::new(reader.finish()), false);
        }
        return empty.map_or(Structure::Nothing, Structure::Empty);
    };
    if let [first, others @ ..] = found.as_slice()
        && let Some(other) = others.iter().find(|list| is_same_key(list, first))
    {
        reader.plan.refusal = Some(two_plans(first.node.span, other.node.span));
    }
    for list in &found {
        let group = (found.len() > 1).then(|| {
            reader.plan.add_group(RawGroup {
                name: words_of_key(list.key),
                place: list.node.span,
                ..RawGroup::default()
            })
        });
        reader.list(list.node, &plain_key(list.key), group, 0);
    }
    let goals = first
        .holders
        .iter()
        .flat_map(|holder| keys::GOALS.iter().map(|key| holder.get(&[key])));
    let goal = goals.flatten().find_map(|member| member.value.text());
    reader.plan.goal = goal.map(|goal| one_line(goal, 2_000));
    if let Some(holder) = first.holders.first() {
        read_edges(&mut reader.plan, holder);
        reader.groups_by_name(holder, &found);
    }
    for member in left_out.iter().take(MAX_NAMED) {
        let message = format!("the list `{}` next to the tasks is not read", shown(&member.key, 60));
        reader.plan.guess(member.span(), message);
    }
    if reader.plan.tasks.is_empty() {
        return empty.map_or(Structure::Nothing, Structure::Empty);
    }
    Structure::Plan(Box::new(reader.finish()), found.iter().any(|list| list.is_strong))
}

/// Returns whether two lists stand below the same key of the same object.
fn is_same_key(one: &FoundList<'_>, other: &FoundList<'_>) -> bool {
    let holders = one.holders.first().zip(other.holders.first());
    one.key == other.key && holders.is_some_and(|(one, other)| std::ptr::eq(*one, *other))
}

/// Returns the number of a phase in its own field.
fn number_of_group(node: &OutlineNode) -> Option<String> {
    match &node.get(keys::GROUPS)?.value.data {
        OutlineData::Number(number) => Some(number.clone()),
        _ => None,
    }
}

/// Returns the title of a task or a group, its id, and its words, which are one of these. `name` is its key in an object of tasks.
fn names_of<'n>(node: &'n OutlineNode, name: Option<&str>) -> (Option<&'n OutlineMember>, Option<String>, String) {
    let title = title_of(node);
    let id = id_of(node, title).or_else(|| name.map(str::to_owned));
    let title = title.or_else(|| node.get(keys::GROUPS));
    let words = title.and_then(|member| member.value.scalar()).or(id.as_deref());
    let words = words.unwrap_or_default().to_owned();
    (title, id, words)
}

/// Returns the text of a phase without its name and its tasks.
fn group_description(
    node: &OutlineNode,
    title: Option<&OutlineMember>,
    words: &str,
    children: &OutlineMember,
) -> String {
    let tables = [keys::IDS, keys::GROUPS, keys::BLOCKS, keys::STATES, keys::PARALLEL];
    let lines = node.members().iter().filter_map(|member| {
        let is_known = keys::is_dependency(&member.plain_key()) || tables.iter().any(|table| member.has_key(table));
        if is_known || member.is(title) || member.is(Some(children)) {
            return None;
        }
        let own = words_of_value(&member.value);
        match own.is_empty() || own == words {
            true => None,
            false if member.has_key(keys::DESCRIPTIONS) => Some(own),
            false => Some(labelled(&words_of_key(&member.key), &own)),
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Returns the texts in a value that are long enough to be an answer of their own.
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

/// Returns whether the fields of a task contain a whole member.
fn is_read(key: &str, value: &OutlineNode, task: &OutlineTask) -> bool {
    let has = |tables: &[&[&str]]| tables.iter().any(|table| table.contains(&key));
    let is_flag = matches!(value.data, OutlineData::Bool(_));
    // An order in addition to the id adds nothing.
    let is_number = matches!(value.data, OutlineData::Number(_));
    keys::is_dependency(key)
        || has(&[keys::BLOCKS, keys::FILES, keys::CRITERIA])
        || has(&[keys::GROUPS]) && !value.is_list() && !value.is_object()
        || has(&[keys::STATES]) && (is_flag || value.text().is_some_and(|word| keys::state_of(word).is_some()))
        || has(&[keys::PARALLEL, keys::OPTIONAL]) && is_flag
        || has(&[keys::PARENTS]) && reference_of(value).is_some()
        || has(&[keys::IDS]) && (is_number || value.text().is_some_and(|text| task.id.as_deref() == Some(text)))
        || has(&[keys::OWN_STEPS]) && value.elements().iter().all(|step| step.text().is_some())
}

/// Returns whether the title, the id or the description of a task contains a text.
fn is_written(words: &str, task: &OutlineTask) -> bool {
    words == task.title || task.id.as_deref() == Some(words) || task.description.contains(words)
}

/// The position of an element in a list.
#[derive(Clone, Copy, Default)]
struct ElementPlace<'k> {
    /// The key of the list.
    key: &'k str,
    group: Option<usize>,
    list: usize,
    depth: usize,
}

#[derive(Default)]
struct StructureReader {
    plan: RawPlan,
    /// Keys that are no field of a task.
    unknown: BTreeSet<String>,
    unknown_place: Option<Span>,
    n_lists: usize,
}

impl StructureReader {
    fn finish(mut self) -> RawPlan {
        if let Some(place) = self.unknown_place {
            let names = self.unknown.iter().take(6).map(|key| format!("`{}`", visible(key)));
            let names: Vec<String> = names.collect();
            let has_more = self.unknown.len() > names.len();
            let more = if has_more { " and more" } else { "" };
            let message = format!("written into the description: {}{more}", names.join(", "));
            self.plan.notes.push(Diagnostic::new(&IN_DESCRIPTION, place, message));
        }
        self.plan.group_by_parents();
        self.plan
    }

    fn list(&mut self, node: &OutlineNode, key: &str, group: Option<usize>, depth: usize) {
        if depth <= MAX_DEPTH && keys::WAVES.contains(&key) && is_list_of_lists(node) {
            return self.waves(node, key, group, depth);
        }
        let place = ElementPlace {
            key,
            group,
            list: self.n_lists,
            depth,
        };
        self.n_lists += 1;
        for member in node.members() {
            self.element(&member.value, Some(&member.key), place);
        }
        for element in node.elements() {
            self.element(element, None, place);
        }
    }

    /// Reads a list of lists: the tasks of each depend on those of the previous one.
    fn waves(&mut self, node: &OutlineNode, key: &str, group: Option<usize>, depth: usize) {
        let name = words_of_key(key);
        let name = name.strip_suffix('s').unwrap_or(&name);
        let mut before: Option<Reference> = None;
        for (ix, element) in node.elements().iter().enumerate() {
            let id = format!("{name} {}", ix + 1);
            let own = self.plan.add_group(RawGroup {
                name: id.clone(),
                id: Some(id.clone()),
                parent: group,
                dependencies: before.take().map(|before| vec![before]),
                place: element.span,
                ..RawGroup::default()
            });
            self.list(element, "tasks", Some(own), depth + 1);
            before = Some(Reference::certain(&id, element.span));
        }
        let message = format!("the tasks of each {name} depend on those of the one before it");
        self.plan.guess(node.span, message);
    }

    fn element(&mut self, node: &OutlineNode, name: Option<&str>, place: ElementPlace<'_>) {
        if place.depth > MAX_DEPTH {
            return;
        }
        match &node.data {
            OutlineData::Text(text) => self.text(text.trim(), node, place),
            OutlineData::List(_) => self.list(node, place.key, place.group, place.depth + 1),
            OutlineData::Object(members) => match members.as_slice() {
                [only] if self.single_member(node, only, place) => {}
                _ => self.object(node, name, place),
            },
            OutlineData::Null => self.plan.guess(node.span, "`null` in a list of tasks is skipped"),
            _ => {}
        }
    }

    /// Reads a text as a task.
    fn text(&mut self, text: &str, node: &OutlineNode, place: ElementPlace<'_>) {
        if is_left_out(text) {
            self.plan.elided.get_or_insert(node.span);
            return;
        }
        let mut raw = read_item(text, Some(node.span), 0);
        raw.task.place = node.span;
        (raw.group, raw.list) = (place.group, place.list);
        self.plan.tasks.push(raw);
    }

    /// Reads an object whose only member is a task by its name, or `T1: Write it`. Returns whether it is one.
    fn single_member(&mut self, node: &OutlineNode, only: &OutlineMember, place: ElementPlace<'_>) -> bool {
        let is_title = only.has_key(keys::TITLES);
        match &only.value.data {
            OutlineData::Object(_) if children_of(node, place.key).is_none() => {
                let is_wrapper = is_title || only.has_key(keys::LISTS);
                let name = (!is_wrapper).then_some(only.key.as_str());
                let depth = place.depth + 1;
                self.element(&only.value, name, ElementPlace { depth, ..place });
                true
            }
            OutlineData::Text(text) if !is_title && !only.has_key(keys::IDS) => {
                self.text(&format!("{}: {text}", only.key), node, place);
                true
            }
            _ => false,
        }
    }

    /// Reads an object as a task, or as a group of its tasks.
    fn object(&mut self, node: &OutlineNode, name: Option<&str>, place: ElementPlace<'_>) {
        let (title, id, words) = names_of(node, name);
        let dependencies = written_dependencies(node).or_else(|| self.described_dependencies(node, title));
        for member in dependency_members(node).filter(|member| member.value.data == OutlineData::Bool(true)) {
            let message = format!("`{}: true` is not understood as a dependency", visible(&member.key));
            self.plan.guess(member.span(), message);
        }
        let blocks = members_with(node, keys::BLOCKS).flat_map(|member| references_of(&member.value));
        let blocks: Vec<Reference> = blocks.collect();
        if let Some(children) = children_of(node, place.key) {
            let is_named = !words.is_empty() || dependencies.is_some() || !blocks.is_empty();
            let group = is_named.then(|| RawGroup {
                name: one_line(&words, 200),
                // `phase: 2` is the number of a phase.
                id: id.or_else(|| number_of_group(node)),
                list: Some(place.list),
                parent: place.group,
                dependencies,
                blocks,
                description: group_description(node, title, &words, children),
                place: place_of(node, title),
            });
            let group = group.map(|group| self.plan.add_group(group)).or(place.group);
            return self.list(&children.value, &children.plain_key(), group, place.depth + 1);
        }
        if words.is_empty() {
            return;
        }
        if is_left_out(&words) {
            self.plan.elided.get_or_insert(place_of(node, title));
            return;
        }
        let group = self.group_by_field(node, place.group);
        let task = self.task_of(node, title, id, &words);
        self.plan.tasks.push(RawTask {
            task,
            list: place.list,
            group,
            dependencies,
            blocks,
            parent: node.get(keys::PARENTS).and_then(|member| reference_of(&member.value)),
            ..RawTask::default()
        });
    }

    fn task_of(
        &mut self,
        node: &OutlineNode,
        title: Option<&OutlineMember>,
        id: Option<String>,
        words: &str,
    ) -> OutlineTask {
        let texts = |names: &[&str]| {
            let members = members_with(node, names);
            members.flat_map(|member| texts_of(&member.value)).collect()
        };
        let is_true = |member: &OutlineMember| member.value.data == OutlineData::Bool(true);
        let mut task = OutlineTask {
            id,
            title: one_line(words.lines().next().unwrap_or(words), 500),
            description: description_of(node, title, words),
            state: self.state_of(node),
            is_parallel: members_with(node, keys::PARALLEL).any(is_true),
            is_optional: members_with(node, keys::OPTIONAL).any(is_true),
            files: texts(keys::FILES),
            criteria: texts(keys::CRITERIA),
            place: place_of(node, title),
            ..OutlineTask::default()
        };
        task.details = self.details_of(node, title, &task);
        task
    }

    /// Returns the dependencies in the description of a task, if no field has them: "Depends on task 1."
    fn described_dependencies(&mut self, node: &OutlineNode, title: Option<&OutlineMember>) -> Option<Vec<Reference>> {
        let member = node.get(keys::DESCRIPTIONS).filter(|member| !member.is(title))?;
        let text = member.value.text()?;
        let lower = text.to_ascii_lowercase();
        let signs = ["depends on", "blocked by", "dependencies:"];
        let start = signs.iter().filter_map(|words| lower.find(words)).min()?;
        let said = mentions(text.get(start..)?);
        let names = said
            .found
            .iter()
            .filter(|mention| mention.is_certain && !mention.is_reverse);
        let found: Vec<Reference> = names.map(|mention| mention.reference(member.value.span)).collect();
        if found.is_empty() {
            return None;
        }
        let message = "the dependency is the one that the description names";
        self.plan.guess(member.value.span, message);
        Some(found)
    }

    /// Returns the group named by a field of a task, and creates it if it is new.
    fn group_by_field(&mut self, node: &OutlineNode, group: Option<usize>) -> Option<usize> {
        let Some(member) = node.get(keys::GROUPS).filter(|_| group.is_none()) else {
            return group;
        };
        let name = match &member.value.data {
            OutlineData::Number(number) => format!("{} {number}", member.key),
            _ => member.value.text()?.to_owned(),
        };
        Some(self.plan.group_named(name, member.value.span))
    }

    /// Gives tasks the groups that lists next to theirs sort them into: `"phases": [{"name": "Now", "tasks": ["1", "2"]}]`.
    fn groups_by_name(&mut self, holder: &OutlineNode, lists: &[FoundList<'_>]) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (task_ix, raw) in self.plan.tasks.iter().enumerate() {
            for name in raw.task.id.iter().chain([&raw.task.title]) {
                places.entry(name.clone()).or_insert(task_ix);
            }
        }
        let names: HashSet<&str> = places.keys().map(String::as_str).collect();
        let is_other = |member: &&OutlineMember| lists.iter().all(|list| list.node.span != member.value.span);
        let others = holder.members().iter().filter(is_other);
        for member in others.filter(|member| is_grouping(&member.value, &names)) {
            for element in member.value.elements() {
                let (title, id, words) = names_of(element, None);
                let group = self.plan.add_group(RawGroup {
                    name: one_line(&words, 200),
                    id,
                    dependencies: written_dependencies(element),
                    place: place_of(element, title),
                    ..RawGroup::default()
                });
                for name in named_members(element, &names).unwrap_or_default() {
                    let raw = places.get(name).and_then(|&task_ix| self.plan.tasks.get_mut(task_ix));
                    if let Some(raw) = raw.filter(|raw| raw.group.is_none()) {
                        raw.group = Some(group);
                    }
                }
            }
        }
    }

    fn state_of(&mut self, node: &OutlineNode) -> Option<State> {
        let member = node.get(keys::STATES)?;
        match &member.value.data {
            OutlineData::Bool(true) => Some(State::Done),
            OutlineData::Text(word) => {
                let (state, guess) = keys::read_status(word);
                if let Some(guess) = guess {
                    self.plan.guess(member.value.span, guess);
                }
                state
            }
            _ => None,
        }
    }

    /// Returns the members that are no field of a task, as lines. Unknown keys are noted.
    fn details_of(&mut self, node: &OutlineNode, title: Option<&OutlineMember>, task: &OutlineTask) -> Vec<String> {
        let mut details = Vec::new();
        for member in node.members() {
            if member.is(title) || is_read(&member.plain_key(), &member.value, task) {
                continue;
            }
            let words = words_of_value(&member.value);
            if words.is_empty() || is_written(&words, task) {
                continue;
            }
            details.push(labelled(&words_of_key(&member.key), &words));
            if self.unknown.insert(member.key.clone()) {
                self.unknown_place.get_or_insert(member.span());
            }
        }
        details
    }
}
