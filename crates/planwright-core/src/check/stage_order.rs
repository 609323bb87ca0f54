//! Finds dependencies on tasks of later stages: both would wait for each other.

use super::CheckFindings;
use super::rules::STAGE_ORDER;
use crate::diagnostic::Diagnostic;
use crate::plan::{Links, Plan, TaskOrder};
use crate::text::visible;

/// Checks plans whose tasks follow each other in the order of the file. Where stages have an order of their own, the dialect checks it.
pub(super) fn check(plan: &Plan, links: &Links, in_cycle: &[usize], found: &mut CheckFindings) {
    let has_order = plan.has_stages && plan.lifecycle.order == TaskOrder::File;
    if !has_order || links.n_edges() == 0 || !in_cycle.is_empty() {
        return;
    }
    // The last stage that each task waits for, with the dependency that leads there.
    let n_tasks = plan.tasks().len();
    for task_ix in 0..n_tasks {
        let stage = plan.tasks()[task_ix].stage;
        let later = links.before([task_ix]);
        let Some(&other) = later.iter().find(|&&other| plan.tasks()[other].barrier > stage) else {
            continue;
        };
        let edges = links.of(task_ix);
        let edge = edges.iter().find(|edge| edge.to as usize == other).or(edges.first());
        let span = edge.map_or(plan.tasks()[task_ix].span, |edge| {
            plan.all_dependencies()[edge.dependency_ix as usize].span
        });
        let (name, later) = (plan.task_name(task_ix), plan.task_name(other));
        let message = format!(
            "`{}` depends on `{}`, which waits for it: it stands in a later phase",
            visible(&name),
            visible(&later)
        );
        found.push(
            Diagnostic::new(&STAGE_ORDER, span, message)
                .with_related(
                    plan.name_span(&plan.tasks()[other]),
                    "it waits for all tasks of the phases above it",
                )
                .with_help("remove the dependency, or move one of the two tasks"),
        );
    }
}
