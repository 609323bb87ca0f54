//! Two versions of a plan: their differences in terms of tasks, and the file of the previous version.

use std::path::{Path, PathBuf};

use planwright_core::plan::{Field, Plan};
use planwright_core::planning::replan::{NamedTask, PlanDifference};
use serde::Serialize;

use crate::text::{one_line, shown_name};

/// A task that only the new version has.
#[derive(Serialize)]
pub struct AddedTaskReport {
    pub task: String,
    pub title: String,
}

/// A task that differs in the new version.
#[derive(Serialize)]
pub struct ChangedTaskReport {
    pub task: String,
    pub fields: Vec<&'static str>,
}

/// Returns the tasks that only the new version has.
pub fn added(difference: &PlanDifference) -> Vec<AddedTaskReport> {
    let added = difference.added.iter().cloned();
    added
        .map(|NamedTask { task, title }| AddedTaskReport { task, title })
        .collect()
}

pub fn changed(difference: &PlanDifference) -> Vec<ChangedTaskReport> {
    let changed = difference.changed.iter().cloned();
    changed
        .map(|(task, fields)| ChangedTaskReport { task, fields })
        .collect()
}

pub fn difference_lines(difference: &PlanDifference) -> Vec<String> {
    if difference.is_empty() {
        return vec!["no task is different".to_owned()];
    }
    let mut lines = Vec::new();
    lines.extend(difference.removed.iter().map(|old| {
        let name = shown_name(&old.task);
        match one_line(&old.title) {
            title if title.is_empty() || title == name => format!("- {name}"),
            title => format!("- {name}: {title}"),
        }
    }));
    lines.extend(difference.added.iter().map(|new| format!("+ {}", one_line(&new.title))));
    lines.extend(
        difference
            .changed
            .iter()
            .map(|(task, fields)| format!("~ {}: {}", shown_name(task), fields.join(", "))),
    );
    lines.extend(
        difference
            .rewired
            .iter()
            .map(|task| format!("~ {}: other dependencies", shown_name(task))),
    );
    lines.extend(difference.is_reordered.then(|| "~ the order of the tasks".to_owned()));
    lines
}

/// Returns the file of a plan's previous version, if the plan names one: it is next to the plan, and named after its id.
pub(crate) fn file_before(path: &Path, plan: &Plan) -> Option<PathBuf> {
    let previous = plan.head_str(Field::PreviousPlan)?;
    let extension = path
        .extension()
        .map_or_else(String::new, |extension| format!(".{}", extension.display()));
    let is_name = !previous.trim().is_empty() && !previous.contains(['/', '\\']);
    is_name.then(|| path.with_file_name(format!("{previous}{extension}")))
}
