//! The differences between two packs in terms of tasks, for the user who decides whether the new one replaces the old one.

use std::collections::{HashMap, HashSet};

use super::fields;
use super::original::OriginalPack;
use super::task::PackTask;
use crate::text::SourceText;

/// The differences between the tasks of two packs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackDifference {
    /// Tasks that are new: id and goal.
    pub added: Vec<(String, String)>,
    /// Tasks that were removed: id and goal.
    pub removed: Vec<(String, String)>,
    /// Changed tasks, with the fields that differ.
    pub changed: Vec<(String, Vec<&'static str>)>,
    /// Tasks with other dependencies than before.
    pub rewired: Vec<(String, Vec<String>, Vec<String>)>,
    /// Tasks in another wave that are otherwise unchanged.
    pub moved: Vec<(String, String, String)>,
    /// How many tasks are unchanged.
    pub n_same: usize,
}

impl PackDifference {
    /// Compares two packs. A pack whose contract cannot be read has no tasks.
    pub fn between(old: &SourceText, new: &SourceText) -> PackDifference {
        let tasks_of = |source: &SourceText| -> Vec<PackTask> { OriginalPack::parse(source).tasks().collect() };
        let (old, new) = (tasks_of(old), tasks_of(new));
        let id = |task: &PackTask| task.line("task_id");
        let named = |task: &PackTask| (id(task), task.line("goal"));
        let by_id: HashMap<String, &PackTask> = old.iter().map(|task| (id(task), task)).collect();
        let mut difference = PackDifference::default();
        for task in &new {
            match by_id.get(&id(task)) {
                None => difference.added.push(named(task)),
                Some(before) => difference.compare(&id(task), before, task),
            }
        }
        let ids: HashSet<String> = new.iter().map(id).collect();
        let is_gone = |task: &&PackTask| !ids.contains(&id(task));
        difference.removed = old.iter().filter(is_gone).map(named).collect();
        difference
    }

    fn compare(&mut self, id: &str, old: &PackTask, new: &PackTask) {
        let differs = |field: &&str| old.get(field) != new.get(field);
        let of_its_own = |field: &&str| !matches!(*field, "task_id" | "dependencies" | "wave");
        let fields: Vec<&'static str> = fields::names().filter(of_its_own).filter(differs).collect();
        let is_rewired = differs(&"dependencies");
        let wave = |task: &PackTask| task.line("wave");
        let is_moved = wave(old) != wave(new);
        if is_rewired {
            let on = |task: &PackTask| task.lines("dependencies");
            self.rewired.push((id.to_owned(), on(old), on(new)));
        }
        match (fields.is_empty(), is_rewired, is_moved) {
            (false, ..) => self.changed.push((id.to_owned(), fields)),
            (true, false, true) => self.moved.push((id.to_owned(), wave(old), wave(new))),
            (true, false, false) => self.n_same += 1,
            (true, true, _) => {}
        }
    }
}
