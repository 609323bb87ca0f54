//! Finds pending tasks that can never start, each with the chain that blocks it. Members of a cycle have their own finding.

use super::rules::NEVER_READY;
use super::{CheckFindings, path_of};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::links::Dependents;
use crate::plan::{LinkProblem, Links, Plan, Status};
use crate::text::visible;

/// The cause at the end of a chain.
#[derive(Clone, Copy, PartialEq)]
enum StuckCause {
    Cycle,
    Unknown,
    Status,
}

/// For each stuck task, the cause, and the next task towards it (itself at the end).
type StuckReasons = Vec<Option<(StuckCause, u32)>>;

pub(super) fn check(plan: &Plan, links: &Links, in_cycle: &[usize], found: &mut CheckFindings) {
    if !may_be_stuck(plan, links, in_cycle) {
        return;
    }
    let dependents = links.reversed();
    let will_end = run_through(plan, links, &dependents);
    let mut fate: StuckReasons = vec![None; plan.tasks().len()];
    let mut queue: Vec<u32> = Vec::new();
    let mut begin = |task_ix: usize, cause: StuckCause| {
        if fate[task_ix].is_none() && !will_end[task_ix] {
            fate[task_ix] = Some((cause, task_ix as u32));
            queue.push(task_ix as u32);
        }
    };
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        if task.status != Status::Pending {
            begin(task_ix, StuckCause::Status);
        }
    }
    for problem in links.problems() {
        match *problem {
            LinkProblem::ItSelf { task_ix, .. } => begin(task_ix, StuckCause::Cycle),
            LinkProblem::Unknown { task_ix, .. } | LinkProblem::Unreadable { task_ix, .. } => {
                begin(task_ix, StuckCause::Unknown);
            }
            LinkProblem::Repeated { .. } => {}
        }
    }
    for &task_ix in in_cycle {
        begin(task_ix, StuckCause::Cycle);
    }
    spread(&dependents, &will_end, &mut fate, queue);
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        if task.status == Status::Pending
            && let Some((cause, next)) = fate[task_ix]
            && next as usize != task_ix
        {
            found.push(finding(plan, links, &fate, task_ix, cause));
        }
    }
}

/// Returns whether any task could be blocked forever; in most plans none can.
fn may_be_stuck(plan: &Plan, links: &Links, in_cycle: &[usize]) -> bool {
    let stops = |status: Status| !matches!(status, Status::Pending | Status::Running | Status::Done);
    !in_cycle.is_empty() || !links.problems().is_empty() || plan.tasks().iter().any(|task| stops(task.status))
}

/// Simulates a run of all tasks, and returns which of them end in a state that releases others.
fn run_through(plan: &Plan, links: &Links, dependents: &Dependents) -> Vec<bool> {
    let tasks = plan.tasks();
    let mut n_open: Vec<u32> = (0..tasks.len()).map(|ix| links.of(ix).len() as u32).collect();
    for problem in links.problems() {
        match *problem {
            LinkProblem::Repeated { .. } => {}
            // A task that depends on itself, or on an unknown or unreadable task, never starts.
            LinkProblem::ItSelf { task_ix, .. }
            | LinkProblem::Unknown { task_ix, .. }
            | LinkProblem::Unreadable { task_ix, .. } => n_open[task_ix] += 1,
        }
    }
    let is_under_way = |ix: usize| tasks[ix].status == Status::Running || plan.satisfies(&tasks[ix]);
    let starts = |ix: usize, n_open: u32| is_under_way(ix) || (tasks[ix].status == Status::Pending && n_open == 0);
    let mut ends: Vec<bool> = (0..tasks.len()).map(|ix| starts(ix, n_open[ix])).collect();
    let mut queue: Vec<u32> = (0..tasks.len() as u32).filter(|&ix| ends[ix as usize]).collect();
    while let Some(task_ix) = queue.pop() {
        for &dependent in dependents.of(task_ix as usize) {
            let next = dependent as usize;
            n_open[next] -= 1;
            if !ends[next] && starts(next, n_open[next]) {
                ends[next] = true;
                queue.push(dependent);
            }
        }
    }
    ends
}

/// Marks everything that waits for a stuck task, nearest first.
fn spread(dependents: &Dependents, will_end: &[bool], fate: &mut StuckReasons, mut queue: Vec<u32>) {
    let mut at = 0;
    while let Some(&task_ix) = queue.get(at) {
        at += 1;
        let Some((cause, _)) = fate[task_ix as usize] else {
            continue;
        };
        for &dependent in dependents.of(task_ix as usize) {
            if fate[dependent as usize].is_none() && !will_end[dependent as usize] {
                fate[dependent as usize] = Some((cause, task_ix));
                queue.push(dependent);
            }
        }
    }
}

fn finding(plan: &Plan, links: &Links, fate: &StuckReasons, task_ix: usize, cause: StuckCause) -> Diagnostic {
    /// Longer chains are shortened: each task in them has a finding of its own.
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
        StuckCause::Cycle => format!("`{name}` is part of a cycle"),
        StuckCause::Unknown => format!("`{name}` depends on something that does not exist"),
        StuckCause::Status => format!("`{name}` is {}", plan.lifecycle.word(root.status)),
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
    if cause == StuckCause::Status {
        // A failed task may be retried: the plan has no error, but is stuck.
        diagnostic
            .with_severity(Severity::Note)
            .with_related(root.status_span, "its status is here")
            .with_help(match root.status {
                Status::Failed => format!("retry or reset `{name}`, or remove the dependency"),
                _ => format!("reset `{name}`, or remove the dependency"),
            })
    } else {
        diagnostic.with_help("fix the dependency that the chain ends in")
    }
}
