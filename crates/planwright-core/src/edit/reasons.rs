//! The reasons for a skip as lines in a task's own notes: written with the skip, read and removed when it is undone.

use crate::plan::lifecycle::OnFailure;
use crate::plan::{Field, Plan, Status};

const ALONG_BEGIN: &str = "Skipped: ";
const ALONG_END: &str = " was skipped";

/// Returns the output of a task that is skipped along with one it waits for.
pub(crate) fn along_line(plan: &Plan, cause: &str, reason: Option<&str>) -> String {
    let line = format!("{ALONG_BEGIN}{} {cause}{ALONG_END}", plan.lifecycle.wording.task);
    match reason {
        Some(reason) => format!("{line}: {reason}"),
        None => line,
    }
}

/// Splits the output of a task that was skipped along with another: the text before the name of that one, the name, and the rest.
pub(crate) fn along_parts<'t>(plan: &Plan, output: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
    let named = output
        .strip_prefix(ALONG_BEGIN)?
        .strip_prefix(plan.lifecycle.wording.task)?
        .strip_prefix(' ')?;
    let end = named.find(ALONG_END)?;
    let rest = &named[end..];
    let is_whole = rest == ALONG_END || rest[ALONG_END.len()..].starts_with(": ");
    let begin = &output[..output.len() - named.len()];
    is_whole.then(|| (begin, &named[..end], rest))
}

pub(super) fn is_skipped_along(plan: &Plan, task_ix: usize) -> bool {
    let output = plan.task_str(&plan.tasks()[task_ix], Field::Output);
    output.is_some_and(|output| along_parts(plan, output).is_some())
}

const CAUSE_BEGIN: &str = "Skipped because ";
const CAUSE_END: &str = " failed.";

/// Returns the line for a task's notes if it is skipped because another one failed.
fn cause_line(failed: &str) -> String {
    format!("{CAUSE_BEGIN}{failed}{CAUSE_END}")
}

/// Returns the names of the failed tasks that a task's notes name as skip causes.
pub(crate) fn causes(plan: &Plan, task_ix: usize) -> Vec<&str> {
    let notes = plan.task_str(&plan.tasks()[task_ix], Field::Notes).unwrap_or("");
    notes
        .lines()
        .filter_map(|line| line.strip_prefix(CAUSE_BEGIN)?.strip_suffix(CAUSE_END))
        .collect()
}

/// Returns the failed tasks that are skip causes of a task, by the plan's own text; empty if it is skipped for another reason.
pub fn skipped_for_failures_of(plan: &Plan, task_ix: usize) -> Vec<&str> {
    let is_skipped = plan.tasks()[task_ix].status == Status::Skipped;
    let is_lifted_by_retry = plan.lifecycle.on_failure == OnFailure::DependentsSkipped;
    match is_skipped && is_lifted_by_retry {
        true => causes(plan, task_ix),
        false => Vec::new(),
    }
}

/// Returns notes with a line of the user's at the end. Existing notes stay unchanged.
pub(crate) fn with_line(notes: &str, line: &str) -> String {
    match notes {
        "" => line.to_owned(),
        notes => format!("{notes}\n{line}"),
    }
}

/// Returns notes with a line at the end, unless they have it.
pub(crate) fn with_new_line(notes: &str, line: &str) -> String {
    match notes.lines().any(|known| known == line) {
        true => notes.to_owned(),
        false => with_line(notes, line),
    }
}

/// Returns notes with one more cause at the end. Existing notes stay unchanged, even if they are empty, so that [`without_cause`] restores
/// them.
pub(crate) fn with_cause(notes: Option<&str>, failed: &str) -> String {
    let line = cause_line(failed);
    match notes {
        Some(notes) => format!("{notes}\n{line}"),
        None => line,
    }
}

/// Returns notes without a cause; none if nothing else is left.
pub(crate) fn without_cause(notes: &str, failed: &str) -> Option<String> {
    let line = cause_line(failed);
    if notes == line {
        return None;
    }
    // The line is removed with the line break before it, or at the start with the one after it.
    let mut kept = String::with_capacity(notes.len());
    for (ix, own) in notes.split('\n').filter(|own| *own != line).enumerate() {
        if ix > 0 {
            kept.push('\n');
        }
        kept.push_str(own);
    }
    Some(kept)
}

/// Returns notes in which the causes mark a task as removed: the skip is not undone any more.
pub(crate) fn with_gone_cause(notes: &str, gone: &str) -> String {
    with_line_replaced(
        notes,
        &cause_line(gone),
        &format!("{CAUSE_BEGIN}{gone} failed, which was removed since."),
    )
}

/// Returns the output of a task that was skipped along with a removed one.
pub(crate) fn along_gone_line(before: &str, gone: &str, after: &str) -> String {
    let begin = before.replacen(ALONG_BEGIN, "Skipped with ", 1);
    let reason = after.strip_prefix(ALONG_END).unwrap_or(after);
    format!("{begin}{gone}, which was removed since{reason}")
}

/// Returns notes in which the causes have the new name of a task.
pub(crate) fn with_renamed_cause(notes: &str, old: &str, new: &str) -> String {
    with_line_replaced(notes, &cause_line(old), &cause_line(new))
}

fn with_line_replaced(notes: &str, old: &str, new: &str) -> String {
    let lines = notes.split('\n').map(|own| if own == old { new } else { own });
    lines.collect::<Vec<_>>().join("\n")
}
