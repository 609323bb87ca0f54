//! Groups of tasks, and the positions of tasks that have no id, for files in which tasks are nested.

use std::borrow::Cow;

use super::{Plan, State, Status, TaskName, Text};
use crate::text::Span;

/// A task of the file that consists of other tasks. It is never worked on: its state follows from theirs.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The span of its own lines, without those of its tasks.
    pub span: Span,
    /// The span of the mark that says whether it is done.
    pub mark_span: Span,
    /// Its id, otherwise its position.
    pub name: Text,
    /// Its text.
    pub title: Text,
    /// The group that it is part of.
    pub parent: Option<u32>,
    /// Whether the file marks it as done.
    pub is_ticked: bool,
    /// Whether the groups around it are done without it.
    pub is_optional: bool,
}

/// The groups of a plan and the positions of its tasks.
#[derive(Clone, Debug, Default)]
pub struct Hierarchy {
    groups: Vec<Group>,
    group_of: Vec<Option<u32>>,
    positions: Vec<Text>,
    /// The tasks of each group, with those of the groups in it.
    members: Vec<Vec<u32>>,
}

impl Hierarchy {
    /// Returns a hierarchy of groups in file order, each after its parent, with the innermost group of each task, and the position of each
    /// task, such as `3`, or `2.3` in a group.
    pub fn new(groups: Vec<Group>, group_of: Vec<Option<u32>>, positions: Vec<Text>) -> Self {
        let mut members = vec![Vec::new(); groups.len()];
        for (task_ix, group) in (0..).zip(&group_of) {
            let mut around = *group;
            while let Some(group) = around {
                members[group as usize].push(task_ix);
                around = groups[group as usize].parent.filter(|parent| *parent < group);
            }
        }
        Hierarchy {
            groups,
            group_of,
            positions,
            members,
        }
    }
}

impl Plan {
    /// Returns the groups in file order.
    pub fn groups(&self) -> &[Group] {
        self.hierarchy.as_ref().map_or(&[], |hierarchy| &hierarchy.groups)
    }

    /// Returns the innermost group of a task.
    pub fn group_of(&self, task_ix: usize) -> Option<usize> {
        let group = self.hierarchy.as_ref()?.group_of.get(task_ix).copied().flatten();
        group.map(|group| group as usize)
    }

    /// Returns the position of a task, if the file has positions.
    pub fn position(&self, task_ix: usize) -> Option<&str> {
        let position = self.hierarchy.as_ref()?.positions.get(task_ix)?;
        Some(self.str(*position))
    }

    /// Returns the shortest name of a task for users: its position if it has no id.
    pub fn short_name(&self, task_ix: usize) -> Cow<'_, str> {
        let has_no_id = matches!(self.tasks.get(task_ix).map(|task| task.name), Some(TaskName::Words(_)));
        match self.position(task_ix).filter(|_| has_no_id) {
            Some(position) => Cow::Borrowed(position),
            None => self.task_name(task_ix),
        }
    }

    /// Returns the task without an id that is at a position.
    pub(super) fn at_position(&self, name: &str) -> Option<usize> {
        let positions = &self.hierarchy.as_ref()?.positions;
        let is_there = |&task_ix: &usize| {
            let has_no_id = self
                .tasks
                .get(task_ix)
                .is_some_and(|task| !matches!(task.name, TaskName::Id(_)));
            has_no_id && self.str(positions[task_ix]) == name
        };
        (0..positions.len()).find(is_there)
    }

    /// Returns the group that users call `name`: by its id or its position.
    pub fn find_group(&self, name: &str) -> Option<usize> {
        self.groups().iter().position(|group| self.str(group.name) == name)
    }

    /// Returns the groups around a task, from the inside out.
    pub fn groups_around(&self, task_ix: usize) -> impl Iterator<Item = usize> {
        let parent = |group: &usize| self.groups().get(*group)?.parent.map(|parent| parent as usize);
        std::iter::successors(self.group_of(task_ix), parent)
    }

    /// Returns the tasks of a group and of the groups in it.
    pub fn tasks_of_group(&self, group_ix: usize) -> impl Iterator<Item = usize> {
        let members = self
            .hierarchy
            .as_ref()
            .and_then(|hierarchy| hierarchy.members.get(group_ix));
        members.into_iter().flatten().map(|&task_ix| task_ix as usize)
    }

    /// Returns the tasks that must be done before a group is done: those that are not optional, and not in an optional group inside it. All
    /// tasks if there is none.
    pub fn required_tasks(&self, group_ix: usize) -> impl Iterator<Item = usize> {
        let is_required = move |&task_ix: &usize| {
            let mut inner = self.groups_around(task_ix).take_while(|group| *group != group_ix);
            !self.tasks[task_ix].held && !inner.any(|group| self.groups()[group].is_optional)
        };
        let has_required = self.tasks_of_group(group_ix).any(|task_ix| is_required(&task_ix));
        self.tasks_of_group(group_ix)
            .filter(move |task_ix| !has_required || is_required(task_ix))
    }

    /// Returns the state of a group, which follows from its required tasks.
    pub fn group_state(&self, group_ix: usize) -> State {
        let (mut n_tasks, mut n_over, mut n_skipped, mut is_running, mut is_failed) = (0, 0, 0, false, false);
        for task_ix in self.required_tasks(group_ix) {
            let status = self.tasks[task_ix].status;
            n_tasks += 1;
            n_over += usize::from(matches!(status, Status::Done | Status::Skipped));
            n_skipped += usize::from(status == Status::Skipped);
            is_running |= status == Status::Running;
            is_failed |= status == Status::Failed;
        }
        match () {
            () if is_running => State::Running,
            () if is_failed => State::Failed,
            () if n_tasks > 0 && n_tasks == n_skipped => State::Skipped,
            () if n_tasks > 0 && n_tasks == n_over => State::Done,
            () => State::Pending,
        }
    }
}
