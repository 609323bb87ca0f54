//! How tasks stand, as pages show them: the state, with whether a pending task is ready, and a reason in words.

use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, Readiness, StartVerdict, Status, Wait};

use super::{OpenedPlan, SkipCauses, TaskReasons, wait_words};
use crate::text::one_line;

/// What a task asks of its reader, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShownState {
    Running,
    Failed,
    /// With a status that its dialect does not have.
    Unknown,
    Blocked,
    /// Pending, and nothing is left that it waits for.
    Ready,
    /// Pending, and it waits for something.
    Waiting,
    Skipped,
    Done,
}

impl ShownState {
    pub const ALL: [ShownState; 8] = [
        ShownState::Running,
        ShownState::Failed,
        ShownState::Unknown,
        ShownState::Blocked,
        ShownState::Ready,
        ShownState::Waiting,
        ShownState::Skipped,
        ShownState::Done,
    ];

    pub(crate) fn of(plan: &Plan, readiness: &Readiness<'_>, task_ix: usize) -> Self {
        match plan.tasks()[task_ix].status {
            Status::Running => ShownState::Running,
            Status::Failed => ShownState::Failed,
            Status::Unknown(_) => ShownState::Unknown,
            Status::Blocked(_) => ShownState::Blocked,
            Status::Pending if readiness.is_ready(task_ix) => ShownState::Ready,
            Status::Pending => ShownState::Waiting,
            Status::Skipped => ShownState::Skipped,
            Status::Done => ShownState::Done,
        }
    }
}

/// A task in a line or two.
pub struct TaskSummary {
    pub name: String,
    /// The first line of its title.
    pub title: String,
    pub state: ShownState,
    /// Who holds it, or why it does not move.
    pub reason: Option<String>,
    /// The groups that begin before it, from the outside in: name and title.
    pub opens: Vec<(String, String)>,
}

impl TaskSummary {
    pub(crate) fn of(
        opened: &OpenedPlan,
        linked: &LinkedPlan,
        readiness: &Readiness<'_>,
        skip_causes: &SkipCauses,
        task_ix: usize,
    ) -> Self {
        let plan = &linked.plan;
        TaskSummary {
            name: plan.short_name(task_ix).into_owned(),
            title: plan.task_subject(&plan.tasks()[task_ix]).to_owned(),
            state: ShownState::of(plan, readiness, task_ix),
            reason: reason(opened, linked, readiness, skip_causes, task_ix),
            opens: opened_groups(plan, task_ix),
        }
    }
}

/// Returns the groups around a task that are not around the task before it, from the outside in.
fn opened_groups(plan: &Plan, task_ix: usize) -> Vec<(String, String)> {
    let around = |task_ix: usize| plan.groups_around(task_ix);
    let before: Vec<usize> = task_ix
        .checked_sub(1)
        .map_or(Vec::new(), |before| around(before).collect());
    let mut opened: Vec<usize> = around(task_ix).filter(|group| !before.contains(group)).collect();
    opened.reverse();
    let named = opened.into_iter().map(|group| {
        let group = &plan.groups()[group];
        (plan.str(group.name).to_owned(), plan.str(group.title).to_owned())
    });
    named.collect()
}

/// Returns who holds a task, or why it does not move.
fn reason(
    opened: &OpenedPlan,
    linked: &LinkedPlan,
    readiness: &Readiness<'_>,
    skip_causes: &SkipCauses,
    task_ix: usize,
) -> Option<String> {
    let plan = &linked.plan;
    let (status, access) = (plan.tasks()[task_ix].status, &opened.access);
    let holder = || access.holder_words(&plan.task_name(task_ix));
    if let Some(holder) = (status == Status::Running).then(holder).flatten() {
        return Some(holder);
    }
    let unproven = access.unproven.get(&task_ix);
    if let Some(closed) = unproven.filter(|_| status == Status::Pending) {
        return Some(closed.message.clone());
    }
    let cause = || skip_causes.cause(linked, task_ix);
    stand_words(plan, &opened.reasons, readiness, task_ix).or_else(|| cause().map(|cause| format!("skipped{cause}")))
}

/// Returns why a task does not move, by the plan and what was said of the task.
fn stand_words(plan: &Plan, reasons: &TaskReasons, readiness: &Readiness<'_>, task_ix: usize) -> Option<String> {
    match readiness.verdict(task_ix) {
        StartVerdict::Waits(mut waits) => {
            // A task it waits for by name says more than the stage that task is in.
            if waits.iter().any(|wait| matches!(wait, Wait::For { .. })) {
                waits.retain(|wait| !matches!(wait, Wait::ForStage { .. }));
            }
            let names: Vec<_> = waits.iter().take(6).map(|&wait| wait_words(plan, wait)).collect();
            let more = match waits.len() {
                0..=6 => String::new(),
                n => format!(", and {} more", n - 6),
            };
            Some(format!("waits for {}{more}", names.join(", ")))
        }
        StartVerdict::NotPending(Status::Failed) => {
            let reason = reasons.of_failure(plan, task_ix)?;
            Some(failure_words(Some(reason)))
        }
        StartVerdict::NotPending(Status::Skipped) => {
            let reason = reasons.recorded(plan, task_ix)?;
            Some(format!("skipped: {}", one_line(reason)))
        }
        StartVerdict::NotPending(Status::Blocked(reason)) => Some(format!("blocked: {}", one_line(plan.str(reason)))),
        StartVerdict::NotPending(Status::Unknown(word)) => {
            Some(format!("status `{}` is unknown", one_line(plan.str(word))))
        }
        _ => None,
    }
}

/// Returns that a task failed, and why. The notes of some dialects say on which day.
pub(crate) fn failure_words(reason: Option<&str>) -> String {
    match reason.map(one_line) {
        None => "failed".to_owned(),
        Some(dated) if dated.starts_with("failed on ") => dated,
        Some(reason) => format!("failed: {reason}"),
    }
}
