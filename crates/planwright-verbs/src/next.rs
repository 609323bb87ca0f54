//! The verb `next`: the ready tasks in the order to take them, and claiming the first of them.

use std::path::Path;

use planwright_core::diagnostic::Severity;
use planwright_core::edit::VerbRequest;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, Readiness, State, Status, Verb};
use planwright_run::clock;
use planwright_run::files::DiskFiles;
use planwright_run::gate::GatePolicy;
use planwright_run::layout::PlanPlace;
use planwright_run::revise::{ReviseError, RevisedPlan, TaskSelector, VerbCall, expired_names, transition_by};
use planwright_run::runs;
use planwright_run::shell::{argument, task_command};
use serde::{Deserialize, Serialize};

use crate::changes::{
    ChangeMode, claim_lines, claim_report, diff_of, lease_end, remark_notices, revise_failure, step_words,
    wrong_dialect,
};
use crate::configuration::config_of;
use crate::failure::{Exit, Result};
use crate::json::{ClaimReport, ClosedReport, Members, PlanOverview, TaskOverview};
use crate::plans::{
    FoundPlan, OpenedPlan, PlanAccess, PlanChoice, TaskReasons, fields_of, plan_overview, remark_copy, task_overview,
};
use crate::run_history::{after_failure, run_again};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NextRequest {
    pub plan: PlanChoice,
    /// Every ready task, regardless of free slots.
    pub all: bool,
    /// Starts the next ready task in the same step, so that no other process gets it.
    pub start: bool,
    /// How long the claim on a started task lasts, as `30m` or `2h`.
    pub lease: Option<String>,
    /// How the plan is changed, if a task is started.
    pub change: ChangeMode,
}

#[derive(Serialize)]
pub struct NextReport {
    pub schema_version: &'static str,
    pub plan: PlanOverview,
    pub free_slots: usize,
    pub n_ready: usize,
    pub ready: Vec<ReadyReport>,
    /// With `start`: whether the task was started; false in a dry run, and if nothing is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// With `start`: the number of the change in the plan's history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<u64>,
    /// With `start`: the state that the task had before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_from: Option<&'static str>,
    /// With `start`: the new claim on the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimReport>,
    /// Why no task of the plan may be worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedReport>,
    /// The changes of the file, if a diff was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What keeps tasks from being offered.
    #[serde(skip)]
    pub obstacles: NextObstacles,
    /// With `start`: the new claim on the task, in words.
    #[serde(skip)]
    pub claim_lines: Vec<String>,
    /// The intended changes as lines, if a diff was requested.
    #[serde(skip)]
    pub would: Vec<String>,
    /// The commands that continue, the best first; none if no command would help. A started task has none: its claim shows how to finish
    /// it.
    #[serde(skip)]
    pub commands: Vec<String>,
}

impl NextReport {
    pub fn exit(&self) -> Exit {
        Exit::success_if(!self.ready.is_empty())
    }
}

/// What keeps tasks of a plan from being offered.
pub struct NextObstacles {
    /// Why no task of the plan may be worked on, and what to do.
    pub closed: Option<String>,
    pub awaits_approval: bool,
    /// The tasks that nothing but a missing proof keeps from starting, each with what to do.
    pub unproven: Vec<(String, String)>,
    /// How many running tasks were left by a run that was interrupted.
    pub n_interrupted: usize,
}

/// A ready task with all its fields in the plan.
#[derive(Serialize)]
pub struct ReadyReport {
    pub task: TaskOverview,
    /// The first line of its title.
    #[serde(skip)]
    pub subject: String,
    pub fields: Members,
    pub dependencies: Vec<TaskOverview>,
}

/// Returns the ready tasks in the order to take them, or claims the first of them.
pub fn next(workspace: &Workspace, request: &NextRequest) -> Result<NextReport> {
    let (opened, claim) = match request.start {
        true => claim_next(workspace, request)?,
        false => (request.plan.open(workspace)?, None),
    };
    remark_copy(workspace, Path::new(&opened.path), "next");
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let readiness = Readiness::new(plan, &linked.links);
    let mut all = readiness.ready();
    all.retain(|&ix| opened.access.is_offered(ix));
    let n_ready = all.len();
    let ready_tasks = match &claim {
        Some(claim) => plan.find_task(&claim.task).into_iter().collect(),
        None if request.start => Vec::new(),
        None => offered(&opened, plan, if request.all { all } else { readiness.offered() }),
    };
    let is_claimed = claim.is_some();
    let claim = claim.unwrap_or_default();
    Ok(NextReport {
        schema_version: "planwright.next/v1",
        plan: plan_overview(&opened, linked, &readiness),
        free_slots: readiness.free_slots(),
        n_ready,
        ready: ready_reports(&opened, linked, &readiness, &ready_tasks),
        started: request.start.then_some(is_claimed && !request.change.is_dry()),
        change: claim.change,
        started_from: claim.from.map(State::as_str),
        claim: claim.report,
        closed: opened.access.closed_report(),
        diff: claim.diff,
        obstacles: obstacles(&opened, plan),
        claim_lines: claim.lines,
        would: claim.would,
        commands: match request.start {
            true => Vec::new(),
            false => next_commands(&opened, plan, &ready_tasks),
        },
    })
}

fn obstacles(opened: &OpenedPlan, plan: &Plan) -> NextObstacles {
    let access = &opened.access;
    let unproven = access.unproven.iter().map(|(&ix, closed)| {
        let words = format!("{}; {}", closed.message, closed.help);
        (plan.task_name(ix).into_owned(), words)
    });
    NextObstacles {
        closed: access.gate.is_some().then(|| access.gate_words()),
        awaits_approval: access.awaits_approval(),
        unproven: unproven.collect(),
        n_interrupted: access.n_interrupted(plan),
    }
}

/// Returns the offered tasks: those that are ready, and those whose claim has expired.
fn offered(opened: &OpenedPlan, plan: &Plan, mut ready: Vec<usize>) -> Vec<usize> {
    let expired = expired_names(plan, &opened.access.claims, &clock::now());
    ready.extend(expired.iter().filter_map(|name| plan.find_task(name)));
    ready.retain(|&ix| opened.access.is_offered(ix));
    ready
}

fn ready_reports(
    opened: &OpenedPlan,
    linked: &LinkedPlan,
    readiness: &Readiness<'_>,
    ready: &[usize],
) -> Vec<ReadyReport> {
    let index = linked.plan.source().line_index();
    let task = |ix: usize| task_overview(opened, linked, readiness, &index, ix);
    let reports = ready.iter().map(|&ix| ReadyReport {
        task: task(ix),
        subject: linked.plan.task_subject(&linked.plan.tasks()[ix]).to_owned(),
        fields: fields_of(linked, ix),
        dependencies: linked.links.of(ix).iter().map(|edge| task(edge.to as usize)).collect(),
    });
    reports.collect()
}

/// A task that was claimed, or would be in a dry run.
#[derive(Default)]
struct NextClaim {
    task: String,
    /// The number of the change in the plan's history; none if nothing was written.
    change: Option<u64>,
    /// Its state before.
    from: Option<State>,
    report: Option<ClaimReport>,
    lines: Vec<String>,
    diff: Option<String>,
    would: Vec<String>,
}

impl NextClaim {
    fn of(found: &FoundPlan, revised: &RevisedPlan, mode: &ChangeMode) -> Option<Self> {
        let task = revised.record.tasks.first()?.clone();
        Some(NextClaim {
            task,
            change: revised.change,
            // A task with an expired claim was running, and still is.
            from: Some(revised.steps.first().map_or(State::Running, |step| step.from)),
            report: claim_report(revised),
            lines: claim_lines(revised),
            diff: mode.diff.then(|| diff_of(&found.path, revised)),
            would: match mode.diff {
                true => step_words(&found.path, revised).would,
                false => Vec::new(),
            },
        })
    }
}

/// Claims the next ready task, or finds it in a dry run. Returns the plan in which it runs; no claim if nothing is ready.
fn claim_next(workspace: &Workspace, request: &NextRequest) -> Result<(OpenedPlan, Option<NextClaim>)> {
    let found = request.plan.find(workspace, "name its file")?;
    let (now, by) = (clock::now(), request.change.by.as_deref());
    let edit = VerbRequest {
        by,
        ..VerbRequest::new(Verb::Start, &now)
    };
    let target = found.target(request.change.is_dry());
    let call = VerbCall {
        policy: GatePolicy::of(&config_of(workspace, &found)?),
        owner: by,
        until: lease_end(request.lease.as_deref())?,
        ..VerbCall::default()
    };
    let revised = match transition_by(target, TaskSelector::Next(1), &edit, &call) {
        Ok(revised) => revised,
        Err(error @ ReviseError::NothingReady) => {
            return match wrong_dialect(&found, &error) {
                Some(wrong) => Err(wrong),
                None => Ok((request.plan.open(workspace)?, None)),
            };
        }
        Err(error) => return Err(revise_failure(&found, &error)),
    };
    remark_notices(workspace, &revised);
    let claim = NextClaim::of(&found, &revised, &request.change);
    let opened = OpenedPlan {
        path: found.path.to_string_lossy().into_owned(),
        inspection: revised.after,
        reasons: TaskReasons::default(),
        access: PlanAccess::default(),
    };
    Ok((opened, claim))
}

/// Returns the commands that continue with the ready tasks; none if no command would help.
fn next_commands(opened: &OpenedPlan, plan: &Plan, ready: &[usize]) -> Vec<String> {
    let path = argument(&opened.path);
    // A run refuses a plan with errors, and one that waits for approval.
    if opened.access.gate.is_some() || opened.inspection.count(Severity::Error) > 0 {
        return Vec::new();
    }
    let Some(&ix) = ready.first() else {
        let has = |status: Status| plan.tasks().iter().any(|task| task.status == status);
        let is_stuck = has(Status::Failed) && !has(Status::Running);
        return is_stuck
            .then(|| after_failure(plan, Path::new(&opened.path)))
            .into_iter()
            .collect();
    };
    let start = match plan.tasks()[ix].status {
        Status::Pending => task_command("start", &plan.task_name(ix), &opened.path, ""),
        // The claim of another agent has expired.
        _ => format!("planwright next --start {path}"),
    };
    let place = PlanPlace::of(&DiskFiles, Path::new(&opened.path)).ok();
    match place.is_some_and(|place| runs::holder(&DiskFiles, &place).is_some()) {
        true => vec![start],
        false => vec![run_again(plan, Path::new(&opened.path)), start],
    }
}
