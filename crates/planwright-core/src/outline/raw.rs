//! A plan from one part of an answer: dependencies are still names.

use super::OutlineTask;
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
    /// Numbers in a bracket at its end that may name dependencies.
    pub(super) hints: Vec<Reference>,
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

impl RawPlan {
    /// Adds a note about a guess.
    pub(super) fn guess(&mut self, place: Span, message: impl Into<String>) {
        self.notes.push(Diagnostic::new(&GUESS, place, message));
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
    }
}
