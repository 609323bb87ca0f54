//! How two versions of a plan differ, in terms of tasks, for programs.

use planwright_core::planning::replan::{Difference, NamedTask};
use serde::Serialize;

/// A task that comes.
#[derive(Serialize)]
pub struct AddedTaskReport {
    pub task: String,
    pub title: String,
}

/// A task that changes.
#[derive(Serialize)]
pub struct ChangedTaskReport {
    pub task: String,
    pub fields: Vec<&'static str>,
}

/// Returns the tasks that come.
pub fn added(difference: &Difference) -> Vec<AddedTaskReport> {
    let added = difference.added.iter();
    let added = added.map(|NamedTask { task, title }| AddedTaskReport {
        task: task.clone(),
        title: title.clone(),
    });
    added.collect()
}

/// Returns the tasks that change.
pub fn changed(difference: &Difference) -> Vec<ChangedTaskReport> {
    let changed = difference.changed.iter();
    let changed = changed.map(|(task, fields)| ChangedTaskReport {
        task: task.clone(),
        fields: fields.clone(),
    });
    changed.collect()
}
