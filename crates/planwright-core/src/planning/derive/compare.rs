//! The differences between two packs in terms of tasks, for the user who decides whether the new one replaces the old one.

use std::collections::{HashMap, HashSet};

use crate::dialect::task_pack::fields;
use crate::dialect::task_pack::original::OriginalPack;
use crate::dialect::task_pack::sections::{get, line, list};
use crate::document::patch::PlainValue;
use crate::text::SourceText;

/// The tasks of two packs, side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackDifference {
    /// Tasks that are new: id and goal.
    pub added: Vec<(String, String)>,
    /// Tasks that are gone: id and goal.
    pub removed: Vec<(String, String)>,
    /// Tasks that say something else now, with the fields that differ.
    pub changed: Vec<(String, Vec<&'static str>)>,
    /// Tasks that wait for others than before.
    pub rewired: Vec<(String, Vec<String>, Vec<String>)>,
    /// Tasks that are in another wave, and otherwise as they were.
    pub moved: Vec<(String, String, String)>,
    /// How many tasks are as they were.
    pub n_same: usize,
}

impl PackDifference {
    /// Compares two packs. A pack whose contract cannot be read has no tasks.
    pub fn between(old: &SourceText, new: &SourceText) -> PackDifference {
        let (old, new) = (tasks_of(old), tasks_of(new));
        let id = |task: &PlainValue| get(task, "task_id").map(line).unwrap_or_default();
        let named = |task: &PlainValue| (id(task), get(task, "goal").map(line).unwrap_or_default());
        let by_id: HashMap<String, &PlainValue> = old.iter().map(|task| (id(task), task)).collect();
        let mut difference = PackDifference::default();
        for task in &new {
            match by_id.get(&id(task)) {
                None => difference.added.push(named(task)),
                Some(before) => difference.compare(&id(task), before, task),
            }
        }
        let ids: HashSet<String> = new.iter().map(id).collect();
        let is_gone = |task: &&PlainValue| !ids.contains(&id(task));
        difference.removed = old.iter().filter(is_gone).map(named).collect();
        difference
    }

    fn compare(&mut self, id: &str, old: &PlainValue, new: &PlainValue) {
        let differs = |field: &&str| get(old, field) != get(new, field);
        let of_its_own = |field: &&str| !matches!(*field, "task_id" | "dependencies" | "wave");
        let fields: Vec<&'static str> = fields::names().filter(of_its_own).filter(differs).collect();
        let is_rewired = differs(&"dependencies");
        let wave = |task: &PlainValue| get(task, "wave").map(line).unwrap_or_default();
        let is_moved = wave(old) != wave(new);
        let on = |task: &PlainValue| list(task, "dependencies").iter().map(line).collect();
        if is_rewired {
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

fn tasks_of(source: &SourceText) -> Vec<PlainValue> {
    let pack = OriginalPack::parse(source);
    let tasks = pack.contract().and_then(|contract| contract.get("tasks"));
    let tasks = tasks.into_iter().flat_map(|tasks| tasks.elements());
    tasks.map(PlainValue::of).collect()
}
