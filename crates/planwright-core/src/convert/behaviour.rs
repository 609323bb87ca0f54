//! Compares the policies of two dialects: what a plan does differently after a conversion.

use super::{Loss, LossKind};
use crate::inspect::LinkedPlan;
use crate::plan::lifecycle::{OnFailure, TaskOrder};
use crate::plan::{Plan, Slots, Status};

/// Returns the differences in behaviour between two plans.
pub(super) fn changes(from: &LinkedPlan, to: &LinkedPlan) -> Vec<Loss> {
    let mut losses = Vec::new();
    let mut changed =
        |field: &'static str, message: String| losses.push(Loss::of_plan(LossKind::Changed, field, message));
    let (old, new) = (from.plan.lifecycle, to.plan.lifecycle);
    if old.skipped_satisfies && !new.skipped_satisfies {
        changed(
            "dependencies",
            "a skipped task no longer lets those start that depend on it".to_owned(),
        );
    } else if !old.skipped_satisfies && new.skipped_satisfies {
        changed(
            "dependencies",
            "a skipped task now lets those start that depend on it".to_owned(),
        );
    }
    if old.on_failure != new.on_failure {
        let message = format!(
            "when a task fails, {}; so far {}",
            failure(new.on_failure),
            failure(old.on_failure)
        );
        changed("failure", message);
    }
    if from.plan.slots != to.plan.slots && to.plan.tasks().len() > 1 {
        let message = format!(
            "{} run at once; so far {}",
            slots(to.plan.slots),
            slots(from.plan.slots)
        );
        changed("concurrency", message);
    }
    if turns(&from.plan) != turns(&to.plan) {
        let message = format!("ready tasks go {}; so far {}", order(new.order), order(old.order));
        changed("order", message);
    }
    if from.plan.has_stages && !to.plan.has_stages && n_stages(&from.plan) > 1 {
        let message = "what holds back all that comes after it does so by dependencies on every task of it";
        changed("stages", message.to_owned());
    } else if !from.plan.has_stages && to.plan.has_stages && n_stages(&to.plan) > 1 {
        let message = "every task waits for all tasks of the waves before it, not for its dependencies alone";
        changed("stages", message.to_owned());
    }
    losses.extend(stuck(from, to));
    losses
}

fn failure(policy: OnFailure) -> &'static str {
    match policy {
        OnFailure::DependentsWait => "those that depend on it wait for a retry",
        OnFailure::DependentsSkipped => "those that depend on it are skipped",
        OnFailure::Replan => "the plan is made again",
    }
}

fn slots(slots: Slots) -> String {
    match slots {
        Slots::Fixed(n) => format!("up to {n}"),
        Slots::StageWidth(n) => format!("all of a wave, up to {n}"),
    }
}

fn order(order: TaskOrder) -> &'static str {
    match order {
        TaskOrder::File => "in the order of the file",
        TaskOrder::Priority => "by priority",
        TaskOrder::Stage => "by waves",
    }
}

/// Returns the order in which the tasks would start if all were ready.
fn turns(plan: &Plan) -> Vec<usize> {
    let mut turns: Vec<usize> = (0..plan.tasks().len()).collect();
    match plan.lifecycle.order {
        TaskOrder::File => {}
        TaskOrder::Priority => turns.sort_by_key(|&ix| plan.tasks()[ix].priority),
        TaskOrder::Stage => turns.sort_by_key(|&ix| (plan.tasks()[ix].stage, plan.tasks()[ix].priority)),
    }
    turns
}

fn n_stages(plan: &Plan) -> u32 {
    let last = plan.tasks().iter().map(|task| task.stage).max();
    last.map_or(0, |stage| stage + 1)
}

/// Finds tasks that could start after a skipped one and no longer can.
fn stuck(from: &LinkedPlan, to: &LinkedPlan) -> Vec<Loss> {
    let (old, new) = (from.plan.lifecycle, to.plan.lifecycle);
    if !old.skipped_satisfies || new.skipped_satisfies {
        return Vec::new();
    }
    let tasks = to.plan.tasks();
    let waits = |task_ix: usize| {
        let mut edges = to.links.of(task_ix).iter();
        let is_pending = tasks[task_ix].status == Status::Pending;
        is_pending && edges.any(|edge| tasks[edge.to as usize].status == Status::Skipped)
    };
    let stuck = (0..tasks.len()).filter(|&task_ix| waits(task_ix));
    let message = "it depends on a skipped task, and cannot start any more";
    stuck
        .map(|task_ix| Loss::of_task(LossKind::Changed, &from.plan, task_ix, "dependencies", message))
        .collect()
}
