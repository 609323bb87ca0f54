//! How two versions of a plan differ, in lines for people.

use planwright_core::planning::replan::Difference;
use planwright_verbs::plain_text::{one_line, shown_name};

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
