//! Chooses the next command after a run, by the current state of the plan.

use std::path::Path;

use crate::workspace::from_here;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Plan, RunLift, Status};
use planwright_run::claims::RUN_VERB;
use planwright_run::files::DiskFiles;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::plan_id;
use planwright_run::layout::PlanPlace;
use planwright_run::review::waiting_tasks;
use planwright_run::revise::take_states;
use planwright_run::runs::state::RunState;
use planwright_run::runs::{self, RunStanding};
use planwright_run::shell::{argument, task_command};
use planwright_run::store::{self, PlanFile};

/// Returns the command that continues after an ended run. The run's own record counts until another process changes the plan. An unreadable
/// plan changes nothing.
pub fn next_step(run_state: &RunState, target: &Path) -> Option<String> {
    let path = from_here(target);
    let shown = argument(&path.to_string_lossy());
    let recorded = match &run_state.ended {
        Some(ended) if ended.standing == RunStanding::Finished => return None,
        Some(ended) => ended.next.clone(),
        None => Some(format!("planwright run {shown}")),
    };
    let Ok(loaded) = store::load(&path) else {
        return recorded;
    };
    let mut inspection = inspect_file(&loaded.source, Some(&path), None).inspection;
    if take_states(&mut inspection, &path).is_err() {
        return recorded;
    }
    let Some(plan) = inspection.plan.as_ref().map(|linked| &linked.plan) else {
        return recorded;
    };
    let is_decided = run_state.ended.as_ref().is_some_and(|ended| ended.next.is_none());
    let is_changed = is_decided || was_changed(&path, plan, run_state.times.last.as_deref().unwrap_or_default());
    match is_changed || is_over(plan) {
        true => command_for(&path, plan, &shown),
        false => recorded,
    }
}

/// Returns whether a process other than a run changed a plan after a time.
fn was_changed(path: &Path, plan: &Plan, since: &str) -> bool {
    let file = PlanFile {
        path,
        id: plan_id(plan),
    };
    let history = store::history(file).unwrap_or_default();
    let mut later = history.changes().iter().filter(|past| past.time.as_str() > since);
    later.any(|past| past.change.verb != RUN_VERB)
}

fn is_over(plan: &Plan) -> bool {
    let mut tasks = plan.tasks().iter();
    tasks.all(|task| matches!(task.status, Status::Done | Status::Skipped))
}

/// Returns the next command after a plan is created.
pub(crate) fn first_step(linked: &LinkedPlan, path: &Path) -> String {
    let shown = argument(&path.to_string_lossy());
    let refusal = linked.dialect.refuses_work(&linked.plan, &[]);
    let verb = match refusal {
        _ if is_over(&linked.plan) => "show",
        Some(refusal) if refusal.lift == RunLift::Approval => "approve",
        _ => "run",
    };
    format!("planwright {verb} {shown}")
}

/// Returns the command that continues with a plan; none if nothing is left to do.
fn command_for(path: &Path, plan: &Plan, shown: &str) -> Option<String> {
    let has = |status: Status| plan.tasks().iter().any(|task| task.status == status);
    if is_over(plan) {
        return None;
    }
    if let Some(task) = waiting_tasks(path, plan_id(plan)).keys().next() {
        return Some(task_command("approve", task, &path.to_string_lossy(), ""));
    }
    Some(match has(Status::Failed) {
        true => after_failure(plan, path),
        false if has(Status::Pending) => run_again(plan, path),
        false => format!("planwright show {shown}"),
    })
}

/// Returns the command that continues with a plan in which a task failed.
pub fn after_failure(plan: &Plan, path: &Path) -> String {
    match plan.lifecycle.on_failure {
        OnFailure::Replan => format!("planwright replan {}", argument(&path.to_string_lossy())),
        OnFailure::DependentsWait => run_with(plan, path, " --retry-failed"),
        _ => run_again(plan, path),
    }
}

/// Returns the command that runs a plan, with the agent option of its last run: another agent may cost more.
pub(crate) fn run_again(plan: &Plan, path: &Path) -> String {
    run_with(plan, path, "")
}

fn run_with(plan: &Plan, path: &Path, option: &str) -> String {
    let agent = last_agent(plan, path).map_or_else(String::new, |agent| format!(" --agent {}", argument(&agent)));
    format!("planwright run{option}{agent} {}", argument(&path.to_string_lossy()))
}

/// Returns the agent option of a plan's last run, which the command to continue repeats.
fn last_agent(plan: &Plan, path: &Path) -> Option<String> {
    let place = PlanPlace::of(&DiskFiles, path).ok()?;
    let newest = runs::of_plan(&DiskFiles, &place, plan_id(plan)).ok()?.next()?;
    let next = newest.state(&DiskFiles).ok()?.ended?.next?;
    let mut words = next.split(' ');
    words.find(|word| *word == "--agent")?;
    // Names of agents need no quotes.
    words.next().map(str::to_owned)
}
