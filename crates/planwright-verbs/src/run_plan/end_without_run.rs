//! The end of a run that has nothing to run: how the plan stands, and what its file marks as to be skipped.

use planwright_core::edit::VerbRequest;
use planwright_core::plan::{Plan, State, Status, Verb};
use planwright_core::schedule::Job;
use planwright_run::clock;
use planwright_run::engine::{PreparedRun, Preview, RunRequest};
use planwright_run::revise::{ChangeTarget, TaskSelector, transition};
use planwright_run::shell::{argument, task_command};

use super::request::RunPlanRequest;
use crate::failure::Exit;
use crate::text::{one_line, shown_name, some_of};
use crate::workspace::Workspace;

/// Remarks how a plan stands of which there is nothing to run. Where everything else is over, marks the tasks as skipped that the plan
/// file marks as ones to skip: the plan is then as after a run.
pub(super) fn end_without_run(
    workspace: &Workspace,
    request: &RunPlanRequest,
    order: &RunRequest<'_>,
    prepared: &PreparedRun,
) -> Exit {
    let is_part = request.selection.is_part();
    let plan = prepared.snapshot.plan();
    let rest = RemainingTasks {
        prepared,
        wanted: prepared.tasks.jobs.iter().filter(|job| job.is_wanted).collect(),
        waiting: Preview::of(order, prepared).left,
        marked: if is_part { Vec::new() } else { marked_to_skip(plan) },
    };
    if rest.wanted.is_empty() && is_part {
        workspace.remark(
            "nothing to run: --only, --from and --until select no task together that is not marked to be skipped",
        );
        return Exit::Problems;
    }
    workspace.remark(&rest.counts(is_part));
    rest.remark_ways_on(workspace);
    let is_selected_undone = is_part && rest.count(State::Done) < rest.wanted.len();
    if rest.count(State::Failed) > 0 || rest.n_held() > 0 || !rest.waiting.is_empty() || is_selected_undone {
        return Exit::Problems;
    }
    if !rest.marked.is_empty() {
        skip_marked(workspace, prepared, &rest.marked);
    }
    Exit::Success
}

/// The tasks of a plan of which none can run.
struct RemainingTasks<'p> {
    prepared: &'p PreparedRun,
    /// The tasks that were asked for.
    wanted: Vec<&'p Job>,
    /// Those that wait for tasks that do not run.
    waiting: Vec<u32>,
    /// Those that the plan file marks as ones to skip.
    marked: Vec<String>,
}

impl RemainingTasks<'_> {
    fn count(&self, state: State) -> usize {
        self.wanted.iter().filter(|job| job.state == state).count()
    }

    fn n_held(&self) -> usize {
        let is_wanted = |task: u32| {
            self.prepared
                .tasks
                .jobs
                .get(task as usize)
                .is_some_and(|job| job.is_wanted)
        };
        self.prepared.held.iter().filter(|held| is_wanted(held.task)).count()
    }

    fn counts(&self, is_part: bool) -> String {
        let of_them = if is_part { " that were asked for" } else { "" };
        let (n_done, n_tasks) = (self.count(State::Done), self.wanted.len() + self.marked.len());
        let mut words = format!("nothing to run: {n_done} of {n_tasks} tasks{of_them} are done");
        for (state, n) in [
            ("running", self.n_held()),
            ("waiting", self.waiting.len()),
            ("failed", self.count(State::Failed)),
            ("skipped", self.count(State::Skipped)),
            ("blocked", self.count(State::Blocked)),
            ("to be skipped", self.marked.len()),
        ] {
            if n > 0 {
                words.push_str(&format!(", {n} {state}"));
            }
        }
        words
    }

    /// Remarks what can be done so that tasks run.
    fn remark_ways_on(&self, workspace: &Workspace) {
        let snapshot = &self.prepared.snapshot;
        let path = argument(&snapshot.path().to_string_lossy());
        if snapshot.plan().tasks().is_empty() {
            workspace.remark(&format!("help: add one: `planwright add \"TITLE\" -p {path}`"));
        }
        for held in &self.prepared.held {
            workspace.remark(&one_line(&held.words()));
            workspace.remark(&format!("help: `{}` gives it to the run", one_line(&held.release)));
        }
        if let (Some(&task), true) = (self.waiting.first(), self.prepared.held.is_empty()) {
            workspace.remark(&format!(
                "help: `{}` shows what it waits for",
                one_line(&task_command(
                    "why",
                    snapshot.name(task),
                    &snapshot.path().to_string_lossy(),
                    ""
                ))
            ));
        }
        if self.count(State::Failed) > 0 {
            workspace.remark("help: --retry-failed retries failed tasks");
        }
    }
}

fn skip_marked(workspace: &Workspace, prepared: &PreparedRun, marked: &[String]) {
    let now = clock::now();
    let target = ChangeTarget {
        path: prepared.snapshot.path(),
        forced: None,
        dry: false,
    };
    match transition(target, TaskSelector::Named(marked), &VerbRequest::new(Verb::Skip, &now)) {
        Ok(_) => workspace.remark(&format!(
            "skipped: {}",
            some_of(marked.iter().map(|name| shown_name(name)), 12)
        )),
        Err(_) => workspace.remark("they could not be marked as skipped: the plan cannot be written"),
    }
}

/// Returns the open tasks that the plan file marks as ones to skip.
fn marked_to_skip(plan: &Plan) -> Vec<String> {
    let tasks = plan.tasks().iter().enumerate();
    let marked = tasks.filter(|(_, task)| task.held && matches!(task.status, Status::Pending | Status::Failed));
    marked.map(|(ix, _)| plan.task_name(ix).into_owned()).collect()
}
