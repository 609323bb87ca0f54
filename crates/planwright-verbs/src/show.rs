//! The verb `show`: a plan with its progress and its tasks, or one task in full.

use std::path::Path;

use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, Plan, Readiness, Status};
use planwright_run::journal::{PastChange, plan_id};
use planwright_run::store::{self, PlanFile};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::history::PastReport;
use crate::json::{Members, PlanOverview, TaskOverview};
use crate::plans::{
    OpenedPlan, PlanChoice, PlanOrTask, SkipCauses, TaskSummary, fields_of, group_overview, plan_or_task,
    plan_overview, remark_copy, task_named, task_overview,
};
use crate::text::one_line;
use crate::verification::VerifiedReport;
use crate::why::{WhyReport, why_task};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShowRequest {
    /// A plan, or a task of the plan. A name of a plan takes precedence.
    pub what: Option<String>,
    pub plan: PlanChoice,
    /// Only tasks in one of these states.
    pub states: Vec<StateFilter>,
    /// Whether to print every task in the order of the file.
    pub all: bool,
    pub limit: Option<u64>,
    /// The `next_cursor` of a report: the tasks after those.
    pub cursor: Option<String>,
    /// Only these members of tasks.
    pub fields: Vec<String>,
}

/// The states that select tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateFilter {
    /// Pending, and not waiting for other tasks.
    Ready,
    /// Pending, and waiting for another task.
    Waiting,
    /// Ready or waiting.
    Pending,
    Running,
    Done,
    Failed,
    Skipped,
    Blocked,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum ShowReport {
    Plan(Box<ShowPlanReport>),
    Task(Box<ShowTaskReport>),
}

#[derive(Serialize)]
pub struct ShowPlanReport {
    pub schema_version: &'static str,
    pub plan: PlanOverview,
    pub tasks: Vec<ShownTask>,
    /// The cursor of the next page, if there are more tasks than the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(skip)]
    pub page: PlanPage,
}

/// What only people are shown of a plan.
pub struct PlanPage {
    pub goal: Option<String>,
    pub tasks: Vec<TaskSummary>,
    /// The tasks that may be started, and those that may be claimed again.
    pub ready: Vec<String>,
    /// Why no task of the plan may be worked on, and what to do.
    pub closed: Option<String>,
    /// How many of its running tasks were left by a run that was interrupted.
    pub n_interrupted: usize,
}

/// A task, or its requested members.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ShownTask {
    Whole(Box<TaskOverview>),
    Chosen(serde_json::Value),
}

#[derive(Serialize)]
pub struct ShowTaskReport {
    pub schema_version: &'static str,
    pub plan: PlanOverview,
    pub task: TaskOverview,
    /// Its fields in the plan.
    pub fields: Members,
    pub dependents: Vec<String>,
    pub why: WhyReport,
    /// Its changes through planwright, the newest first.
    pub changes: Vec<PastReport>,
    /// Its verifications, the newest first.
    pub verified: Vec<VerifiedReport>,
}

pub fn show(workspace: &Workspace, request: &ShowRequest) -> Result<ShowReport> {
    let (opened, task) = meant(workspace, request)?;
    remark_copy(workspace, Path::new(&opened.path), "show");
    let linked = opened.linked()?;
    let Some(task) = task else {
        return show_plan(opened, request).map(|report| ShowReport::Plan(Box::new(report)));
    };
    let is_bounded = request.limit.is_some() || request.cursor.is_some() || !request.fields.is_empty();
    if is_bounded || request.all || !request.states.is_empty() {
        return Err(Failure::usage(
            "--all, --state, --limit, --cursor and --fields choose among the tasks of a plan",
            "leave them out, or name the plan alone",
        ));
    }
    let task_ix = task_named(linked, &task)?;
    show_task(workspace, opened, task_ix).map(|report| ShowReport::Task(Box::new(report)))
}

fn meant(workspace: &Workspace, request: &ShowRequest) -> Result<(OpenedPlan, Option<String>)> {
    let open = |choice: &PlanChoice| choice.open(workspace);
    match plan_or_task(workspace, request.what.as_deref(), &request.plan, open)? {
        PlanOrTask::Plan(opened) => Ok((opened, None)),
        PlanOrTask::Task(opened, task) => Ok((opened, Some(task))),
        PlanOrTask::Neither {
            failure,
            only: Some(only),
            is_like_plan: false,
        } => Err(Failure {
            message: format!("{}, and `{}` has no such task", failure.message, one_line(&only.path)),
            ..failure
        }),
        PlanOrTask::Neither { failure, .. } => Err(failure),
    }
}

const MEMBERS: [&str; 14] = [
    "task",
    "title",
    "status",
    "status_word",
    "ready",
    "depends_on",
    "waits_for",
    "note",
    "holder",
    "stage",
    "line",
    "position",
    "group",
    "is_group",
];

fn show_plan(opened: OpenedPlan, request: &ShowRequest) -> Result<ShowPlanReport> {
    if let Some(unknown) = request.fields.iter().find(|field| !MEMBERS.contains(&field.as_str())) {
        return Err(Failure::usage(
            format!("tasks have no member `{}`", one_line(unknown)),
            format!("they have {}", MEMBERS.join(", ")),
        ));
    }
    let linked = opened.linked()?;
    let readiness = Readiness::new(&linked.plan, &linked.links);
    let fitting = tasks_in(linked, &readiness, &request.states);
    let (places, next_cursor) = page(request, &linked.plan, &fitting)?;
    let index = linked.plan.source().line_index();
    let reports = places
        .iter()
        .map(|&ix| task_overview(&opened, linked, &readiness, &index, ix));
    let mut reports: Vec<TaskOverview> = reports.collect();
    let is_whole = request.states.is_empty() && request.limit.is_none() && request.cursor.is_none();
    if is_whole {
        let groups = 0..linked.plan.groups().len();
        reports.extend(groups.map(|group_ix| group_overview(&linked.plan, &index, group_ix)));
        reports.sort_by_key(|report| report.line);
    }
    let tasks = reports.into_iter().map(|report| with_members(report, &request.fields));
    Ok(ShowPlanReport {
        schema_version: "planwright.show/v1",
        plan: plan_overview(&opened, linked, &readiness),
        tasks: tasks.collect::<Result<_>>()?,
        next_cursor,
        page: plan_page(&opened, linked, &readiness, places),
    })
}

fn plan_page(opened: &OpenedPlan, linked: &LinkedPlan, readiness: &Readiness<'_>, places: &[usize]) -> PlanPage {
    let (plan, access) = (&linked.plan, &opened.access);
    let mut goals = [Field::Goal, Field::Description].into_iter();
    let skip_causes = SkipCauses::of(linked, Path::new(&opened.path));
    let mut ready = readiness.ready();
    ready.retain(|ix| !access.unproven.contains_key(ix));
    let is_offered_again =
        |ix: &usize| plan.tasks()[*ix].status == Status::Running && access.is_lease_over(&plan.task_name(*ix));
    ready.extend((0..plan.tasks().len()).filter(is_offered_again));
    let line = |&ix: &usize| TaskSummary::of(opened, linked, readiness, &skip_causes, ix);
    PlanPage {
        goal: goals.find_map(|field| plan.head_str(field)).map(str::to_owned),
        tasks: places.iter().map(line).collect(),
        ready: ready.iter().map(|&ix| plan.short_name(ix).into_owned()).collect(),
        closed: access.gate.is_some().then(|| access.gate_words()),
        n_interrupted: access.n_interrupted(plan),
    }
}

impl StateFilter {
    fn fits(self, status: Status, is_ready: bool) -> bool {
        match self {
            StateFilter::Ready => is_ready,
            StateFilter::Waiting => status == Status::Pending && !is_ready,
            StateFilter::Pending => status == Status::Pending,
            StateFilter::Running => status == Status::Running,
            StateFilter::Done => status == Status::Done,
            StateFilter::Failed => status == Status::Failed,
            StateFilter::Skipped => status == Status::Skipped,
            StateFilter::Blocked => matches!(status, Status::Blocked(_)),
        }
    }
}

/// Returns the tasks in these states, in the order of the file; every task without states.
fn tasks_in(linked: &LinkedPlan, readiness: &Readiness<'_>, states: &[StateFilter]) -> Vec<usize> {
    let fits = |ix: &usize| {
        let status = linked.plan.tasks()[*ix].status;
        states.is_empty() || states.iter().any(|state| state.fits(status, readiness.is_ready(*ix)))
    };
    (0..linked.plan.tasks().len()).filter(fits).collect()
}

/// Returns one page of the matching tasks, by their positions in the file, and the cursor of the next page.
fn page<'t>(request: &ShowRequest, plan: &Plan, fitting: &'t [usize]) -> Result<(&'t [usize], Option<String>)> {
    let n_tasks = plan.tasks().len();
    let first = match request.cursor.as_deref() {
        None => 0,
        Some(cursor) => {
            let named = |(place, name): (&str, &str)| {
                let place: usize = place.parse().ok()?;
                let is_there = place < n_tasks && plan.task_name(place) == name;
                is_there.then_some(place).or_else(|| plan.find_task(name))
            };
            let last = cursor.split_once(':').and_then(named).ok_or_else(|| {
                let message = format!("`{}` is not a cursor of this plan", one_line(cursor));
                Failure::problem(message, "start again without --cursor: the plan may have changed")
            })?;
            last + 1
        }
    };
    let behind = fitting.partition_point(|ix| *ix < first);
    let limit = request
        .limit
        .map_or(n_tasks, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let end = behind.saturating_add(limit).min(fitting.len());
    let tasks = fitting.get(behind..end).unwrap_or_default();
    let last = tasks.last().filter(|_| end < fitting.len());
    let next = last.map(|&ix| format!("{ix}:{}", plan.task_name(ix)));
    Ok((tasks, next))
}

/// Returns a task with its requested members; all by default.
fn with_members(report: TaskOverview, fields: &[String]) -> Result<ShownTask> {
    if fields.is_empty() {
        return Ok(ShownTask::Whole(Box::new(report)));
    }
    let mut value = serde_json::to_value(report)?;
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| fields.iter().any(|field| field == name));
    }
    Ok(ShownTask::Chosen(value))
}

fn show_task(workspace: &Workspace, opened: OpenedPlan, task_ix: usize) -> Result<ShowTaskReport> {
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let name = plan.task_name(task_ix);
    let past = changes_of(&opened, plan, &name)?;
    let verified = past.iter().flat_map(|past| &past.change.verified);
    let verified = verified.filter(|verified| verified.task == name);
    let readiness = Readiness::new(plan, &linked.links);
    let index = plan.source().line_index();
    Ok(ShowTaskReport {
        schema_version: "planwright.task/v1",
        plan: plan_overview(&opened, linked, &readiness),
        task: task_overview(&opened, linked, &readiness, &index, task_ix),
        fields: fields_of(linked, task_ix),
        dependents: dependents_of(linked, task_ix),
        changes: past.iter().map(PastReport::from).collect(),
        verified: verified.map(VerifiedReport::from).collect(),
        why: why_task(workspace, &opened, task_ix)?,
    })
}

/// Returns the changes of a task, the newest first.
fn changes_of(opened: &OpenedPlan, plan: &Plan, task: &str) -> Result<Vec<PastChange>> {
    if opened.path == "-" {
        return Ok(Vec::new());
    }
    let file = PlanFile {
        path: Path::new(&opened.path),
        id: plan_id(plan),
    };
    let history = store::history(file)?;
    let changes = history.changes().iter().rev();
    Ok(changes.filter(|past| concerns(past, task)).cloned().collect())
}

fn concerns(past: &PastChange, task: &str) -> bool {
    let change = &past.change;
    let mut moves = change.moves.iter().chain(&change.states);
    let is_moved = moves.any(|moved| moved.task == task);
    !change.is_beginning() && (is_moved || change.tasks.iter().any(|own| own == task))
}

fn dependents_of(linked: &LinkedPlan, task_ix: usize) -> Vec<String> {
    let tasks = 0..linked.plan.tasks().len();
    let depends = |ix: &usize| linked.links.of(*ix).iter().any(|edge| edge.to as usize == task_ix);
    tasks
        .filter(depends)
        .map(|ix| linked.plan.task_name(ix).into_owned())
        .collect()
}
