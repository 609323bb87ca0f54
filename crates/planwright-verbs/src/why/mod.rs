//! The verb `why`: why a task is not ready or failed, and what finishing it would unblock.

mod explanation;

use std::path::Path;

use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, Readiness, StartVerdict, State, Status, Wait};
use planwright_run::claims::RUN_VERB;
use planwright_run::journal::plan_id;
use planwright_run::runs::RemarkKind;
use planwright_run::shell::argument;
use planwright_run::store::{self, PlanFile};
use serde::{Deserialize, Serialize};

use self::explanation::{Explained, FailedRun};
pub use self::explanation::{Explanation, FailedAttempts, Outlook, WaitRepeat, WaitStep, WhyHeadline};
use crate::failure::Result;
use crate::json::{ClosedReport, HolderReport};
use crate::plans::{OpenedPlan, PlanChoice, SkipCauses, remark_copy, task_named, wait_words};
use crate::run_history::{RunScope, RunStatus, judged};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhyRequest {
    pub task: String,
    #[serde(default)]
    pub plan: PlanChoice,
}

#[derive(Serialize)]
pub struct WhyReport {
    pub schema_version: &'static str,
    pub task: String,
    pub status: &'static str,
    pub note: Option<String>,
    pub ready: bool,
    /// Why no task of the plan may be worked on.
    pub closed: Option<ClosedReport>,
    pub holder: Option<HolderReport>,
    pub skip_cause: Option<String>,
    pub waits_for: Vec<WaitReport>,
    /// Tasks that would be ready at once if this one were done.
    pub unblocks: Vec<String>,
    /// How many tasks wait for it, directly, through others or through their stage.
    pub n_behind: usize,
    /// The budget as the reason why an active run does not start it yet.
    pub awaits_budget: Option<String>,
    pub missing_proof: Option<String>,
    #[serde(skip)]
    pub explanation: Explanation,
}

#[derive(Serialize)]
pub struct WaitReport {
    /// `task`, `stage`, `unknown` or `held`.
    pub kind: &'static str,
    pub task: Option<String>,
    pub words: String,
}

/// Explains why a task is in its state.
pub fn why(workspace: &Workspace, request: &WhyRequest) -> Result<WhyReport> {
    let opened = request.plan.open(workspace)?;
    let verb = format!("why {}", argument(&request.task));
    remark_copy(workspace, Path::new(&opened.path), &verb);
    let task_ix = task_named(opened.linked()?, &request.task)?;
    why_task(workspace, &opened, task_ix)
}

/// Explains why a task of a plan is in its state.
pub(crate) fn why_task(workspace: &Workspace, opened: &OpenedPlan, task_ix: usize) -> Result<WhyReport> {
    let linked = opened.linked()?;
    let (plan, access) = (&linked.plan, &opened.access);
    let readiness = Readiness::new(plan, &linked.links);
    let task = plan.task_name(task_ix).into_owned();
    let waits = match readiness.verdict(task_ix) {
        StartVerdict::Waits(waits) => waits,
        _ => Vec::new(),
    };
    let unblocks = readiness.unblocked_by(task_ix);
    let skip_cause = SkipCauses::of(linked, Path::new(&opened.path)).cause(linked, task_ix);
    let n_behind = readiness.n_behind(task_ix);
    Ok(WhyReport {
        schema_version: "planwright.why/v1",
        status: plan.tasks()[task_ix].status.as_str(),
        note: opened.reasons.recorded(plan, task_ix).map(str::to_owned),
        ready: readiness.is_ready(task_ix) && access.obstacle(task_ix).is_none(),
        closed: access.closed_report(),
        holder: access.holder_report(&task),
        skip_cause: skip_cause.as_deref().map(|cause| cause.trim_start().to_owned()),
        waits_for: waits.into_iter().map(|wait| wait_report(plan, wait)).collect(),
        unblocks: unblocks.iter().map(|&ix| plan.task_name(ix).into_owned()).collect(),
        n_behind,
        awaits_budget: awaits_budget(workspace, opened, &task),
        missing_proof: access.missing_proof(task_ix).map(|closed| closed.help.clone()),
        explanation: Explained {
            opened,
            linked,
            readiness: &readiness,
            task_ix,
            skip_cause,
            failed_run: failed_run(workspace, opened, linked, task_ix),
        }
        .explanation(n_behind),
        task,
    })
}

fn wait_report(plan: &Plan, wait: Wait) -> WaitReport {
    let name = |task_ix: usize| plan.task_name(task_ix).into_owned();
    let (kind, task) = match wait {
        Wait::For { task_ix, .. } => ("task", Some(name(task_ix))),
        Wait::ForStage { task_ix } => ("stage", Some(name(task_ix))),
        Wait::ForUnknown { span } => ("unknown", Some(plan.source().slice(span).trim_matches('"').to_owned())),
        Wait::Held => ("held", None),
    };
    let words = wait_words(plan, wait);
    WaitReport { kind, task, words }
}

/// Returns the scope of a plan's runs; none for a plan on standard input.
fn scope_of<'w>(workspace: &'w Workspace, opened: &OpenedPlan) -> Option<RunScope<'w>> {
    // Paths of opened plans are relative to the current folder, those in a request to the workspace.
    let path = std::path::absolute(&opened.path).ok();
    let path = path.filter(|_| opened.path != "-")?;
    RunScope::of(workspace, path.to_str()).ok()
}

/// Returns the run that failed a task, if the task is failed and a run, not a verb, marked it so.
fn failed_run(workspace: &Workspace, opened: &OpenedPlan, linked: &LinkedPlan, task_ix: usize) -> Option<FailedRun> {
    let plan = &linked.plan;
    (plan.tasks().get(task_ix)?.status == Status::Failed).then_some(())?;
    let name = plan.task_name(task_ix);
    let file = PlanFile {
        path: Path::new(&opened.path),
        id: plan_id(plan),
    };
    let history = store::history(file).ok()?;
    let (past, _) = history.last_move_to(&name, State::Failed)?;
    (past.change.verb == RUN_VERB).then_some(())?;
    let scope = scope_of(workspace, opened)?;
    let mut runs = scope.runs().ok()?.flatten();
    runs.find_map(|run| {
        let (state, _) = judged(&run).ok()?;
        let is_of_run = state.task(&name).is_some_and(|task| !task.attempts.is_empty());
        is_of_run.then(|| FailedRun {
            id: run.place.id().to_owned(),
            state,
        })
    })
}

/// Returns the budget as the reason why an active run does not start a task yet.
fn awaits_budget(workspace: &Workspace, opened: &OpenedPlan, task: &str) -> Option<String> {
    let scope = scope_of(workspace, opened)?;
    let newest = scope.runs().ok()?.flatten().next()?;
    let (run_state, status) = judged(&newest).ok()?;
    let is_at_work = matches!(status, RunStatus::Running { .. });
    let is_wait = |kind: Option<&RemarkKind>| kind == Some(&RemarkKind::AwaitsBudget);
    let mut remarks = run_state.remarks.iter().rev();
    let noted = remarks.find(|noted| is_wait(noted.kind.as_ref()) && noted.task.as_deref() == Some(task))?;
    let last = run_state.task(task).and_then(|task| task.last());
    let has_begun = last.is_some_and(|attempt| attempt.times.started >= noted.time);
    (is_at_work && !has_begun).then(|| noted.text.clone())
}
