//! The difference between two versions of a plan in terms of tasks: lines for people, data for programs.

use planwright_core::planning::replan::{Difference, NamedTask};
use serde::Serialize;

use crate::render::terminal::{one_line, shown_name};

/// A task that comes, for programs.
#[derive(Serialize)]
pub(crate) struct AddedReport<'a> {
    task: &'a str,
    title: &'a str,
}

/// A task that changes, for programs.
#[derive(Serialize)]
pub(crate) struct ChangedReport<'a> {
    task: &'a str,
    fields: &'a [&'static str],
}

/// Returns the tasks that come.
pub(crate) fn added(difference: &Difference) -> Vec<AddedReport<'_>> {
    let added = difference.added.iter();
    added
        .map(|NamedTask { task, title }| AddedReport { task, title })
        .collect()
}

/// Returns the tasks that change.
pub(crate) fn changed(difference: &Difference) -> Vec<ChangedReport<'_>> {
    let changed = difference.changed.iter();
    changed.map(|(task, fields)| ChangedReport { task, fields }).collect()
}

/// Returns a difference in lines.
pub(crate) fn difference_lines(difference: &Difference) -> Vec<String> {
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
            .map(|task| format!("~ {}: depends on others", shown_name(task))),
    );
    lines.extend(difference.is_reordered.then(|| "~ the order of the tasks".to_owned()));
    lines
}
