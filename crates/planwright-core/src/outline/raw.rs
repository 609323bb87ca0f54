//! A plan from one part of an answer: dependencies are still names.

use std::collections::HashMap;

use super::OutlineTask;
use super::names::{one_line, shown};
use super::rules::GUESS;
use crate::diagnostic::Diagnostic;
use crate::text::Span;

/// A plan before its dependencies are resolved.
#[derive(Clone, Debug, Default)]
pub(super) struct RawPlan {
    pub(super) goal: Option<String>,
    pub(super) tasks: Vec<RawTask>,
    pub(super) groups: Vec<RawGroup>,
    /// Dependencies written apart from the tasks: the first depends on the second.
    pub(super) edges: Vec<(Reference, Reference)>,
    pub(super) notes: Vec<Diagnostic>,
    /// Whether the text says that no task depends on another.
    pub(super) is_unordered: bool,
    /// Where an element stands for tasks that are left out.
    pub(super) elided: Option<Span>,
    /// Why the plan cannot be taken as it is written.
    pub(super) refusal: Option<Diagnostic>,
}

/// A task before its dependencies are resolved.
#[derive(Clone, Debug, Default)]
pub(super) struct RawTask {
    pub(super) task: OutlineTask,
    /// Its number in its own list, if that is no id.
    pub(super) number: Option<String>,
    /// The index of its list.
    pub(super) list: usize,
    pub(super) group: Option<usize>,
    /// None if nothing is written about dependencies.
    pub(super) dependencies: Option<Vec<Reference>>,
    /// The tasks that depend on it.
    pub(super) blocks: Vec<Reference>,
    /// The task that it is a part of.
    pub(super) parent: Option<Reference>,
    /// Numbers in a bracket at its end that may name dependencies.
    pub(super) hints: Vec<Reference>,
    /// Whether this bracket has nothing else than ids in it.
    pub(super) are_ids: bool,
    /// Notes about guesses.
    pub(super) notes: Vec<Diagnostic>,
}

/// A phase, or a task with tasks below it.
#[derive(Clone, Debug, Default)]
pub(super) struct RawGroup {
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// The list in which it is next to tasks or other groups; none for headings.
    pub(super) list: Option<usize>,
    pub(super) parent: Option<usize>,
    pub(super) dependencies: Option<Vec<Reference>>,
    pub(super) blocks: Vec<Reference>,
    /// The text about all of its tasks.
    pub(super) description: String,
    pub(super) place: Span,
}

/// Returns a note about a guess.
pub(super) fn guess(place: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&GUESS, place, message)
}

/// Returns a message about words that look like a dependency.
pub(super) fn not_understood(words: &str) -> String {
    format!("`{}` is not understood as a dependency", shown(words, 60))
}

/// How many dependencies written apart from the tasks are kept: more than a plan may have, so that such an answer is refused later.
const MAX_EDGES: usize = 250_000;

/// How deep groups of sub-tasks are nested in each other; one that is deeper stands on its own.
const MAX_NESTING: usize = 16;

/// A written name of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) text: String,
    pub(super) place: Span,
    /// Whether it certainly names a task, so that an unknown one is refused. Otherwise it may be part of a sentence.
    pub(super) is_certain: bool,
}

impl Reference {
    /// Returns a certain name of a task.
    pub(super) fn certain(text: &str, place: Span) -> Self {
        Reference {
            text: text.to_owned(),
            place,
            is_certain: true,
        }
    }
}

impl RawTask {
    /// Returns a task with nothing but an id and a title.
    pub(super) fn named(id: &str, title: &str, place: Span) -> Self {
        RawTask {
            task: OutlineTask {
                id: Some(id.to_owned()),
                title: one_line(title, 500),
                place,
                ..OutlineTask::default()
            },
            ..RawTask::default()
        }
    }
}

impl RawPlan {
    /// Adds a note about a guess.
    pub(super) fn guess(&mut self, place: Span, message: impl Into<String>) {
        self.notes.push(guess(place, message));
    }

    /// Makes each of some tasks depend on each of others.
    pub(super) fn link(&mut self, after: &[Reference], before: &[Reference]) {
        let pairs = after
            .iter()
            .flat_map(|owner| before.iter().map(move |on| (owner.clone(), on.clone())));
        self.edges
            .extend(pairs.take(MAX_EDGES.saturating_sub(self.edges.len())));
    }

    /// Notes how the arrows of a text are read.
    pub(super) fn guess_arrows(&mut self, place: Span, is_reversed: bool) {
        let message = match is_reversed {
            true => "an arrow leads from a task to one that it depends on",
            false => "an arrow leads from a task to one that depends on it",
        };
        self.guess(place, message);
    }

    /// Returns the place of a task; that of its name if there is no such task.
    pub(super) fn place_of(&self, task_ix: usize, name: Span) -> Span {
        self.tasks.get(task_ix).map_or(name, |raw| raw.task.place)
    }

    /// Adds a group. Returns its index.
    pub(super) fn add_group(&mut self, group: RawGroup) -> usize {
        self.groups.push(group);
        self.groups.len() - 1
    }

    /// Returns the group with a name, and adds it if it is missing.
    pub(super) fn group_named(&mut self, name: String, place: Span) -> usize {
        let known = self.groups.iter().rposition(|group| group.name == name);
        known.unwrap_or_else(|| {
            self.add_group(RawGroup {
                name,
                place,
                ..RawGroup::default()
            })
        })
    }

    /// Returns whether a task has an id or dependencies, as in data and rarely in sentences.
    pub(super) fn has_fields(&self) -> bool {
        let has_field = |raw: &RawTask| raw.task.id.is_some() || raw.dependencies.is_some();
        self.tasks.iter().any(has_field)
    }

    /// Returns whether anything is written about dependencies.
    pub(super) fn has_dependencies(&self) -> bool {
        let of_tasks = |task: &RawTask| task.dependencies.is_some() || !task.blocks.is_empty();
        let of_groups = |group: &RawGroup| group.dependencies.is_some() || !group.blocks.is_empty();
        !self.edges.is_empty() || self.tasks.iter().any(of_tasks) || self.groups.iter().any(of_groups)
    }

    /// Returns the groups that contain a task, the innermost first.
    pub(super) fn groups_of(&self, task_ix: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = self.tasks.get(task_ix).and_then(|task| task.group);
        while let Some(group_ix) = next {
            // A parent always comes before its children, so this loop ends.
            found.push(group_ix);
            next = self.groups.get(group_ix).and_then(|group| group.parent);
        }
        found
    }

    /// Returns the tasks of every group, including those of its children.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.groups.len()];
        for task_ix in 0..self.tasks.len() {
            for group_ix in self.groups_of(task_ix) {
                if let Some(own) = members.get_mut(group_ix) {
                    own.push(task_ix);
                }
            }
        }
        members
    }

    /// Makes groups of the tasks that others name as their parent.
    pub(super) fn group_by_parents(&mut self) {
        let ids = self.tasks.iter().enumerate();
        let ids: HashMap<String, usize> = ids.filter_map(|(ix, raw)| Some((raw.task.id.clone()?, ix))).collect();
        let parent_of = |raw: &RawTask| ids.get(&raw.parent.as_ref()?.text).copied();
        let parents: Vec<Option<usize>> = self.tasks.iter().map(parent_of).collect();
        for (raw, parent) in self.tasks.iter_mut().zip(&parents) {
            let named = raw.parent.take().filter(|_| parent.is_none());
            raw.task
                .details
                .extend(named.map(|parent| format!("Parent: {}", parent.text)));
        }
        // The parents, each after its own parent; those in a cycle are no parents.
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.tasks.len()];
        for (ix, parent) in parents.iter().enumerate() {
            if let Some(own) = parent.and_then(|parent| children.get_mut(parent)) {
                own.push(ix);
            }
        }
        let roots = (0..parents.len()).filter(|&ix| parents.get(ix) == Some(&None));
        let mut order: Vec<(usize, usize)> = roots.map(|ix| (ix, 0)).collect();
        let mut at = 0;
        let mut groups: HashMap<usize, usize> = HashMap::new();
        while let Some(&(ix, depth)) = order.get(at) {
            at += 1;
            let Some(own) = children.get(ix).filter(|own| !own.is_empty()) else {
                continue;
            };
            order.extend(own.iter().map(|&child| (child, depth + 1)));
            let group = self.parent_group(ix);
            if let Some(group) = self.groups.get_mut(group).filter(|_| (depth + 1) % MAX_NESTING == 0) {
                group.parent = None;
            }
            groups.insert(ix, group);
            for child in own {
                if let Some(raw) = self.tasks.get_mut(*child) {
                    raw.group = Some(group);
                }
            }
        }
        let mut ix = 0;
        self.tasks.retain(|_| {
            ix += 1;
            !groups.contains_key(&(ix - 1))
        });
    }

    /// Notes that a task with sub-tasks is a group.
    pub(super) fn guess_group(&mut self, place: Span, title: &str) {
        let title = shown(title, 60);
        self.guess(
            place,
            format!("`{title}` is a group of its sub-tasks, and no task of its own"),
        );
    }

    /// Adds the group that a task with sub-tasks becomes.
    fn parent_group(&mut self, task_ix: usize) -> usize {
        let raw = self.tasks.get(task_ix).cloned().unwrap_or_default();
        self.guess_group(raw.task.place, &raw.task.title);
        let parts = [[raw.task.description].into(), raw.task.details, raw.task.criteria];
        let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        self.add_group(RawGroup {
            name: raw.task.title,
            id: raw.task.id,
            list: Some(raw.list),
            parent: raw.group,
            dependencies: raw.dependencies,
            blocks: raw.blocks,
            description: parts.join("\n"),
            place: raw.task.place,
        })
    }

    /// Adds the tasks of another part of the same answer as a group.
    pub(super) fn append(&mut self, other: RawPlan, name: &str, place: Span) {
        let lists = self.tasks.iter().map(|task| task.list);
        let lists = lists.chain(self.groups.iter().filter_map(|group| group.list));
        let n_lists = lists.map(|list| list + 1).max().unwrap_or(0);
        let own = self.add_group(RawGroup {
            name: name.to_owned(),
            place,
            ..RawGroup::default()
        });
        for mut group in other.groups {
            group.parent = Some(group.parent.map_or(own, |parent| parent + own + 1));
            group.list = group.list.map(|list| list + n_lists);
            self.groups.push(group);
        }
        for mut task in other.tasks {
            task.group = Some(task.group.map_or(own, |group| group + own + 1));
            task.list += n_lists;
            self.tasks.push(task);
        }
        self.edges.extend(other.edges);
        self.notes.extend(other.notes);
        self.goal = self.goal.take().or(other.goal);
        self.refusal = self.refusal.take().or(other.refusal);
    }
}
