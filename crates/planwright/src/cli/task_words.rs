//! The mark and the words for the state of a task, as `show` and `why` print them.

use planwright_core::plan::{Plan, Readiness, StartVerdict, Status, Wait};
use planwright_verbs::plans::{TaskReasons, wait_words};
use planwright_verbs::text::one_line;

use crate::render::terminal::Paint;

pub(crate) fn mark(status: Status, ready: bool, paint: Paint) -> String {
    match status {
        Status::Done => paint.good("✓"),
        Status::Running => paint.active("▶"),
        Status::Failed => paint.error("✗"),
        Status::Skipped => paint.dim("⊘"),
        Status::Blocked(_) => paint.warning("■"),
        Status::Unknown(_) => paint.error("?"),
        Status::Pending if ready => paint.bold("○"),
        Status::Pending => paint.dim("·"),
    }
}

/// Returns why a task does not proceed; may be empty.
pub(crate) fn explain(plan: &Plan, reasons: &TaskReasons, readiness: &Readiness<'_>, task_ix: usize) -> String {
    match readiness.verdict(task_ix) {
        StartVerdict::Waits(mut waits) => {
            // A task that it waits for by name is more informative than that task's stage.
            if waits.iter().any(|wait| matches!(wait, Wait::For { .. })) {
                waits.retain(|wait| !matches!(wait, Wait::ForStage { .. }));
            }
            let names: Vec<_> = waits.iter().take(6).map(|&wait| wait_words(plan, wait)).collect();
            let more = if waits.len() > 6 {
                format!(", and {} more", waits.len() - 6)
            } else {
                String::new()
            };
            format!("waits for {}{more}", names.join(", "))
        }
        StartVerdict::NotPending(Status::Failed) => match reasons.of_failure(plan, task_ix) {
            None => String::new(),
            reason => failure_words(reason),
        },
        StartVerdict::NotPending(Status::Skipped) => reasons
            .recorded(plan, task_ix)
            .map_or(String::new(), |reason| format!("skipped: {}", one_line(reason))),
        StartVerdict::NotPending(Status::Blocked(reason)) => format!("blocked: {}", one_line(plan.str(reason))),
        StartVerdict::NotPending(Status::Unknown(word)) => format!("status `{}` is unknown", one_line(plan.str(word))),
        _ => String::new(),
    }
}

/// Returns that a task failed, and why. The notes of some dialects include the day.
pub(crate) fn failure_words(reason: Option<&str>) -> String {
    match reason.map(one_line) {
        None => "failed".to_owned(),
        Some(dated) if dated.starts_with("failed on ") => dated,
        Some(reason) => format!("failed: {reason}"),
    }
}
