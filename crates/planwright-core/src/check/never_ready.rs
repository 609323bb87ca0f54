//! Pending tasks that cannot start as the plan stands, each with the chain that holds it back.
//! Members of a circle and holders of an unknown dependency have findings of their own; this is about those behind them.

use super::path_of;
use super::rules::NEVER_READY;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{LinkProblem, Links, Plan, Status};
use crate::text::visible;

/// What is at the end of a chain.
#[derive(Clone, Copy, PartialEq)]
enum Cause {
    Cycle,
    Unknown,
    Status,
}

pub(super) fn check(plan: &Plan, links: &Links, in_cycle: &[usize], found: &mut Vec<Diagnostic>) {
    if !has_hopeless(plan, links, in_cycle) {
        return;
    }
    let n_tasks = plan.tasks().len();
    // For each hopeless task: the cause, and the next task on the way to it (itself at the end).
    let mut fate: Vec<Option<(Cause, u32)>> = vec![None; n_tasks];
    let mut queue: Vec<u32> = Vec::new();
    let mut doom = |fate: &mut Vec<Option<(Cause, u32)>>, task_ix: usize, cause: Cause| {
        // What runs already will end, whatever it should have waited for.
        let status = plan.tasks()[task_ix].status;
        let will_end = status == Status::Running || plan.lifecycle.satisfies(status);
        if fate[task_ix].is_none() && !will_end {
            fate[task_ix] = Some((cause, task_ix as u32));
            queue.push(task_ix as u32);
        }
    };
    for &task_ix in in_cycle {
        doom(&mut fate, task_ix, Cause::Cycle);
    }
    for problem in links.problems() {
        match *problem {
            LinkProblem::ItSelf { task_ix, .. } => doom(&mut fate, task_ix, Cause::Cycle),
            LinkProblem::Unknown { task_ix, .. } | LinkProblem::Unreadable { task_ix, .. } => {
                doom(&mut fate, task_ix, Cause::Unknown);
            }
            LinkProblem::Repeated { .. } => {}
        }
    }
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        let stuck = match task.status {
            Status::Failed | Status::Blocked(_) => true,
            Status::Skipped => !plan.lifecycle.skipped_satisfies,
            _ => false,
        };
        if stuck {
            doom(&mut fate, task_ix, Cause::Status);
        }
    }
    if queue.is_empty() {
        return;
    }
    spread(plan, links, &mut fate, queue);
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        if task.status == Status::Pending
            && let Some((cause, next)) = fate[task_ix]
            && next as usize != task_ix
        {
            found.push(finding(plan, links, &fate, task_ix, cause));
        }
    }
}

/// Returns whether anything could hold a task back for good; most plans have nothing of the kind.
fn has_hopeless(plan: &Plan, links: &Links, in_cycle: &[usize]) -> bool {
    !in_cycle.is_empty()
        || !links.problems().is_empty()
        || plan
            .tasks()
            .iter()
            .any(|task| matches!(task.status, Status::Failed | Status::Blocked(_) | Status::Skipped))
}

/// Walks from the hopeless tasks to everything that waits for them, nearest first.
fn spread(plan: &Plan, links: &Links, fate: &mut [Option<(Cause, u32)>], mut queue: Vec<u32>) {
    let dependents = links.reversed();
    let mut at = 0;
    while let Some(&task_ix) = queue.get(at) {
        at += 1;
        if plan.lifecycle.satisfies(plan.tasks()[task_ix as usize].status) {
            continue;
        }
        let Some((cause, _)) = fate[task_ix as usize] else {
            continue;
        };
        for &dependent in dependents.of(task_ix as usize) {
            let is_running = plan.tasks()[dependent as usize].status == Status::Running;
            if fate[dependent as usize].is_none() && !is_running {
                fate[dependent as usize] = Some((cause, task_ix));
                queue.push(dependent);
            }
        }
    }
}

fn finding(plan: &Plan, links: &Links, fate: &[Option<(Cause, u32)>], task_ix: usize, cause: Cause) -> Diagnostic {
    /// Longer chains are cut: each task on them has a finding of its own.
    const MAX_CHAIN: usize = 16;
    let mut chain = vec![task_ix];
    let mut end = task_ix;
    while let Some((_, next)) = fate[end] {
        if next as usize == end || chain.len() > MAX_CHAIN {
            break;
        }
        end = next as usize;
        chain.push(end);
    }
    let root = &plan.tasks()[end];
    let name = visible(&plan.task_name(end)).into_owned();
    let why = match cause {
        _ if fate[end].is_some_and(|(_, next)| next as usize != end) => format!("`{name}` can never start either"),
        Cause::Cycle => format!("`{name}` is part of a circle"),
        Cause::Unknown => format!("`{name}` depends on something that does not exist"),
        Cause::Status => format!("`{name}` is {}", plan.lifecycle.word(root.status)),
    };
    let path = path_of(chain.iter().map(|&ix| plan.task_name(ix)));
    let next = chain.get(1).copied().unwrap_or(end);
    let span = links
        .of(task_ix)
        .iter()
        .find(|edge| edge.to as usize == next)
        .map_or(plan.tasks()[task_ix].span, |edge| {
            plan.all_dependencies()[edge.dependency_ix as usize].span
        });
    let diagnostic = Diagnostic::new(
        &NEVER_READY,
        span,
        format!(
            "{} `{}` cannot start as the plan stands: {why}",
            plan.lifecycle.wording.task,
            visible(&plan.task_name(task_ix))
        ),
    )
    .with_label(path);
    if cause == Cause::Status {
        // A failed task may be retried: the plan is not wrong, only stuck.
        diagnostic
            .with_severity(Severity::Note)
            .with_related(root.status_span, "its status is here")
            .with_help(match root.status {
                Status::Failed => format!("retry or reset `{name}`, or remove the dependency"),
                _ => format!("reset `{name}`, or remove the dependency"),
            })
    } else {
        diagnostic.with_help("mend the dependency that the chain ends in")
    }
}
