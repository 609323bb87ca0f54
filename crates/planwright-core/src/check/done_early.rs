//! Finds tasks that are done or running before a task that they depend on.

use super::CheckFindings;
use super::rules::DONE_EARLY;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{Links, Plan, Status};
use crate::text::visible;

pub(super) fn check(plan: &Plan, links: &Links, found: &mut CheckFindings) {
    check_stages(plan, found);
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        if !matches!(task.status, Status::Done | Status::Running) {
            continue;
        }
        let unmet = |to: u32| !plan.satisfies(&plan.tasks()[to as usize]);
        let mut unmet = links.of(task_ix).iter().filter(|edge| unmet(edge.to));
        let Some(first) = unmet.next() else {
            continue;
        };
        let others = unmet.count();
        let dependency = &plan.tasks()[first.to as usize];
        let words = plan.lifecycle;
        // A missing status is the default: then the finding points at the task itself.
        let (place, says) = match dependency.status_span == dependency.span {
            true => (plan.name_span(dependency), "it has no status, which means pending"),
            false => (dependency.status_span, "its status is here"),
        };
        let more = if others > 0 {
            format!(" (and {others} more)")
        } else {
            String::new()
        };
        found.push(
            Diagnostic::new(
                &DONE_EARLY,
                task.status_span,
                format!(
                    "{} `{}` is {}, but its dependency `{}` is {}{more}",
                    words.wording.task,
                    visible(&plan.task_name(task_ix)),
                    words.word(task.status),
                    visible(&plan.task_name(first.to as usize)),
                    words.word(dependency.status),
                ),
            )
            .with_related(
                plan.all_dependencies()[first.dependency_ix as usize].span,
                "depends on it here",
            )
            .with_related(place, says)
            .with_help("correct one of the two statuses, or remove the dependency"),
        );
    }
}

/// Checks stages in the same way. The plan does not write such a dependency, so a note is enough.
fn check_stages(plan: &Plan, found: &mut CheckFindings) {
    let open = plan
        .tasks()
        .iter()
        .enumerate()
        .filter(|(_, task)| plan.has_stages && !plan.satisfies(task));
    let Some((stage, first_ix)) = open.map(|(ix, task)| (task.stage, ix)).min() else {
        return;
    };
    let first = &plan.tasks()[first_ix];
    let words = plan.lifecycle;
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        if task.barrier > stage && matches!(task.status, Status::Done | Status::Running) {
            let message = format!(
                "{} `{}` is {}, but `{}`, which comes before it, is {}",
                words.wording.task,
                visible(&plan.task_name(task_ix)),
                words.word(task.status),
                visible(&plan.task_name(first_ix)),
                words.word(first.status),
            );
            found.push(
                Diagnostic::new(&DONE_EARLY, task.status_span, message)
                    .with_severity(Severity::Note)
                    .with_related(first.status_span, "its status is here")
                    .with_help("correct one of the two statuses, or the order"),
            );
        }
    }
}
