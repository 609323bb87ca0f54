//! The state of a plan in which no task can run.

use planwright_core::edit::VerbRequest;
use planwright_core::plan::{Plan, State, Status, Verb};
use planwright_core::schedule::Job;
use planwright_run::clock;
use planwright_run::engine::{HeldTask, PreparedRun, Preview, RunRequest};
use planwright_run::revise::{ChangeTarget, Pick, transition};
use planwright_run::shell::argument;

use super::request::RunPlanRequest;
use crate::face::{Exit, Workspace};
use crate::text::{one_line, shown_name, some_of};

/// Remarks on the state of a plan in which no task can run.
pub(super) fn nothing_to_run(
    workspace: &Workspace,
    request: &RunPlanRequest,
    order: &RunRequest<'_>,
    prepared: &PreparedRun,
) -> Exit {
    let wanted: Vec<&Job> = prepared.jobs.iter().filter(|job| job.is_wanted).collect();
    let is_wanted = |task: u32| prepared.jobs.get(task as usize).is_some_and(|job| job.is_wanted);
    let count = |state: State| wanted.iter().filter(|job| job.state == state).count();
    let (n_done, n_failed) = (count(State::Done), count(State::Failed));
    let is_part = request.selection.is_part();
    if wanted.is_empty() && is_part {
        workspace.remark(
            "nothing to run: --only, --from and --until select no task together that is not marked to be skipped",
        );
        return Exit::Problems;
    }
    let of_them = if is_part { " that were asked for" } else { "" };
    let left = Preview::of(order, prepared).left;
    let held: Vec<&HeldTask> = prepared.held.iter().filter(|held| is_wanted(held.task)).collect();
    let marked = if is_part {
        Vec::new()
    } else {
        marked_to_skip(prepared.snapshot.plan())
    };
    let n_tasks = wanted.len() + marked.len();
    let mut words = format!("nothing to run: {n_done} of {n_tasks} tasks{of_them} are done");
    for (state, n) in [
        ("running", held.len()),
        ("waiting", left.len()),
        ("failed", n_failed),
        ("skipped", count(State::Skipped)),
        ("blocked", count(State::Blocked)),
        ("to be skipped", marked.len()),
    ] {
        if n > 0 {
            words.push_str(&format!(", {n} {state}"));
        }
    }
    workspace.remark(&words);
    if prepared.snapshot.plan().tasks().is_empty() {
        let path = prepared.snapshot.path().to_string_lossy();
        workspace.remark(&format!(
            "help: add one: `planwright add \"TITLE\" -p {}`",
            argument(&path)
        ));
    }
    for held in &prepared.held {
        workspace.remark(&one_line(&held.words()));
        workspace.remark(&format!("help: `{}` gives it to the run", one_line(&held.release)));
    }
    if let (Some(&task), true) = (left.first(), prepared.held.is_empty()) {
        let name = prepared.snapshot.name(task);
        let plan = argument(&prepared.snapshot.path().to_string_lossy());
        workspace.remark(&format!(
            "help: `planwright why {} -p {}` shows what it waits for",
            one_line(&argument(name)),
            one_line(&plan)
        ));
    }
    if n_failed > 0 {
        workspace.remark("help: --retry-failed tries again what failed");
    }
    let is_selected_undone = is_part && n_done < wanted.len();
    if n_failed > 0 || !held.is_empty() || !left.is_empty() || is_selected_undone {
        return Exit::Problems;
    }
    if !marked.is_empty() {
        // All other tasks have ended: the plan is as after a run.
        let now = clock::now();
        let target = ChangeTarget {
            path: prepared.snapshot.path(),
            forced: None,
            dry: false,
        };
        match transition(target, Pick::Named(&marked), &VerbRequest::new(Verb::Skip, &now)) {
            Ok(_) => workspace.remark(&format!(
                "skipped: {}",
                some_of(marked.iter().map(|name| shown_name(name)), 12)
            )),
            Err(_) => workspace.remark("they could not be marked as skipped: the plan cannot be written"),
        }
    }
    Exit::Success
}

/// Returns the open tasks that the plan file marks to be skipped.
fn marked_to_skip(plan: &Plan) -> Vec<String> {
    let tasks = plan.tasks().iter().enumerate();
    let marked = tasks.filter(|(_, task)| task.held && matches!(task.status, Status::Pending | Status::Failed));
    marked.map(|(ix, _)| plan.task_name(ix).into_owned()).collect()
}
