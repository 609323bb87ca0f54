//! The tasks of a run by their names, which edits of the plan change.

use std::collections::{BTreeMap, HashMap};

use super::super::record::PlanEditRecord;
use super::task::TaskRun;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TaskTable {
    pub(super) all: Vec<TaskRun>,
    /// The tasks that are in the plan, by their names.
    pub(super) places: HashMap<String, usize>,
    /// The highest number of an attempt with each name. Another task may get a name; files of attempts keep theirs.
    pub(super) highest_attempts: HashMap<String, u32>,
    /// The states of tasks that were not pending at the last start; none in logs of earlier versions.
    pub(super) found: Option<BTreeMap<String, String>>,
    /// Whether a task was renamed or removed: an attempt may be recorded with a name that its task no longer has.
    has_renamed: bool,
}

impl TaskTable {
    /// Returns the index of a task of the plan, and adds the task if it is missing.
    pub(super) fn place_of(&mut self, name: &str) -> usize {
        if let Some(at) = self.places.get(name) {
            return *at;
        }
        self.all.push(TaskRun::new(name));
        self.places.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// Returns the index of an attempt's task. Records of an attempt have the name of the task when the attempt started.
    pub(super) fn place_of_attempt(&mut self, name: &str, number: u32) -> usize {
        match self.find_attempt(name, number) {
            Some(at) => at,
            None => self.place_of(name),
        }
    }

    pub(super) fn find_attempt(&self, name: &str, number: u32) -> Option<usize> {
        let has = |at: &usize| self.all[*at].find(name, number).is_some();
        let by_name = self.places.get(name).copied();
        match by_name.filter(has) {
            Some(at) => Some(at),
            None if self.has_renamed => (0..self.all.len()).rev().find(has),
            None => None,
        }
    }

    /// Records that an attempt with a name and a number exists.
    pub(super) fn raise(&mut self, name: &str, number: u32) {
        let highest = self.highest_attempts.entry(name.to_owned()).or_default();
        *highest = number.max(*highest);
    }

    /// Follows an edit of the plan: tasks keep their attempts under their new names.
    pub(super) fn rename(&mut self, edited: &PlanEditRecord) {
        if edited.renamed.is_empty() && edited.removed.is_empty() {
            return;
        }
        self.has_renamed = true;
        if let Some(states) = &mut self.found {
            for name in &edited.removed {
                states.remove(name);
            }
            let renamed = edited.renamed.iter();
            let renamed = renamed.filter_map(|renamed| Some((renamed.to.clone(), states.remove(&renamed.from)?)));
            let renamed: Vec<(String, String)> = renamed.collect();
            states.extend(renamed);
        }
        for name in &edited.removed {
            if let Some(at) = self.places.remove(name) {
                self.all[at].plan_file.is_removed = true;
            }
        }
        // Tasks may have exchanged their names: all names are removed before any is set.
        let renamed = edited.renamed.iter();
        let found = renamed.filter_map(|renamed| Some((renamed.to.clone(), self.places.remove(&renamed.from)?)));
        let found: Vec<(String, usize)> = found.collect();
        for (name, at) in found {
            self.all[at].task.clone_from(&name);
            self.places.insert(name, at);
        }
    }
}
