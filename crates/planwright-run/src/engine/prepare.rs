//! From a run request to jobs: the tasks, their agents, their order, the slots. Writes nothing, so that a dry run can show it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use planwright_core::edit::skipped_for_failures_of;
use planwright_core::graph::TaskGraph;
use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Field, Plan, RunLift, Slots, State};
use planwright_core::prompt::Template;
use planwright_core::schedule::{FileUse, Job, Jobs, Policy};

use super::agent_choice::{AgentChoice, choose_agents};
use super::held_tasks::HeldTask;
use super::isolation::{Isolation, choose};
use super::naming::listed;
use super::recovery::Recovered;
use super::{PlanSnapshot, RunError, RunRequest};
use crate::claims::Claims;
use crate::fence::Fencing;
use crate::gate::{ClosedGate, GatePolicy, Gates};
use crate::journal::plan_id;
use crate::layout::root_of;
use crate::proofs::Proofs;
use crate::revise::ReviseError;
use crate::runs::{IsolationMode, RemarkKind, RemarkRecord};
use crate::shell::with_plan;
use crate::store::history;
use crate::verify::TaskChecks;

/// The run checks the budget in several currencies. The scheduler only learns that it is spent.
pub(super) const SPENT: u64 = 1;

pub struct PreparedRun {
    pub snapshot: PlanSnapshot,
    pub tasks: PreparedTasks,
    pub policy: Policy,
    pub must_approve: bool,
    pub isolation: Isolation,
    pub fencing: Fencing,
    pub remarks: Vec<RemarkRecord>,
    /// Tasks marked as done without a proof, if the configuration requires one: the run reopens them.
    unproven: Vec<u32>,
    /// The tasks that were skipped because of failures that the run tries again.
    reopened: Vec<u32>,
    /// Tasks that a person or a tool holds, and that the run leaves alone.
    pub held: Vec<HeldTask>,
    /// The leftovers of earlier runs. An error stops the start of the run.
    pub(super) recovered: Result<Recovered, RunError>,
}

/// The tasks of a plan, ready for the scheduler.
pub struct PreparedTasks {
    /// As the scheduler sees them.
    pub jobs: Vec<Job>,
    /// The agent of each task; none for tasks outside the run.
    pub agents: Vec<Option<String>>,
    /// The order of the tasks, and the critical path through them.
    pub graph: TaskGraph,
}

/// Refuses a plan that is a link out of the workspace: agents would work in the folder of its target.
fn refuse_link_to_elsewhere(path: &Path, snapshot: &PlanSnapshot) -> Result<(), RunError> {
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let root = root_of(path);
    let root = root.canonicalize().unwrap_or(root);
    if !is_link || root == snapshot.place().root {
        return Ok(());
    }
    let target = &snapshot.place().target;
    Err(RunError::refused(
        format!(
            "the plan is a link to `{}`, which is not in this workspace",
            target.display()
        ),
        "put the file itself here, or run it where it is",
    ))
}

pub fn prepare(request: &RunRequest<'_>) -> Result<PreparedRun, RunError> {
    let snapshot = PlanSnapshot::open(request.path, request.forced)?;
    refuse_link_to_elsewhere(request.path, &snapshot)?;
    let recovered = Recovered::of(snapshot.place(), plan_id(snapshot.plan()));
    let config = recovered.as_ref().ok().and_then(Recovered::config);
    if let Some(text) =
        config.filter(|text| *text != request.options.config_text && !request.options.flags.accept_config)
    {
        return Err(RunError::OtherConfig { text: text.to_owned() });
    }
    let must_approve = refuse(request, &snapshot)?;
    let reopened = reopened(request, &snapshot, recovered.as_ref().ok())?;
    let (tasks, about_agents) = prepare_tasks(request, &snapshot, &reopened)?;
    let mut policy = policy(request, snapshot.plan());
    let continues = recovered.as_ref().ok().and_then(Recovered::mode);
    let isolation = choose(request, &snapshot, policy.slots, continues)?;
    policy.slots = isolation.slots;
    policy.waits_for_resting = isolation.mode == IsolationMode::Shared;
    refuse_unverified(request, &snapshot, &tasks.jobs)?;
    let fencing = Fencing::of(&request.config.run, request.options.fence_program.as_deref())
        .map_err(|error| RunError::refused(error.to_string(), error.help()))?;
    let not_fenced = fencing.remark().map(|text| RemarkRecord {
        kind: Some(RemarkKind::NotFenced),
        ..RemarkRecord::new(text)
    });
    let held = recovered
        .as_ref()
        .map_or_else(|_| Vec::new(), |recovered| HeldTask::all(&snapshot, recovered));
    Ok(PreparedRun {
        unproven: unproven(request, &snapshot)?,
        reopened,
        held,
        must_approve,
        policy,
        tasks,
        remarks: about_agents
            .into_iter()
            .map(RemarkRecord::new)
            .chain(request.options.remarks.iter().map(RemarkRecord::new))
            .chain(isolation.remarks.iter().map(RemarkRecord::new))
            .chain(not_fenced)
            .chain(unverified_remark(request))
            .collect(),
        isolation,
        fencing,
        recovered,
        snapshot,
    })
}

/// Returns the remark that no command verifies the work of agents.
fn unverified_remark(request: &RunRequest<'_>) -> Option<RemarkRecord> {
    let rules = &request.config.verify;
    let is_verified = rules.has_rules() || rules.allow_plan_commands || request.options.flags.allow_plan_commands;
    let text = "no command verifies the tasks: each is done when its agent reports success. Add commands to [verify] in planwright.toml";
    (!is_verified).then(|| RemarkRecord::new(text))
}

/// Prepares the tasks of a plan in their present state. Tasks that are reopened get an agent too. Returns remarks about agents as well.
pub(super) fn prepare_tasks(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    reopened: &[u32],
) -> Result<(PreparedTasks, Vec<String>), RunError> {
    let graph = TaskGraph::new(snapshot.plan(), snapshot.links()).map_err(|_| {
        RunError::refused(
            "the tasks depend on each other in a cycle",
            "`planwright check` shows it",
        )
    })?;
    let mut jobs = jobs_of(request, snapshot, &graph)?;
    let may_run = |(task, job): (u32, &Job)| {
        let is_open = matches!(job.state, State::Pending | State::Running | State::Failed);
        job.is_wanted && (is_open || reopened.contains(&task))
    };
    let wanted: Vec<bool> = (0..).zip(&jobs).map(may_run).collect();
    let AgentChoice { agents, remarks } = choose_agents(request, snapshot.plan(), &wanted)?;
    for (job, claims) in jobs.iter_mut().zip(claims(snapshot.plan())) {
        job.claims = claims;
    }
    Ok((PreparedTasks { jobs, agents, graph }, remarks))
}

impl PreparedRun {
    pub(crate) fn is_to_run(&self, request: &RunRequest<'_>, task: u32) -> bool {
        let Some(job) = self.tasks.jobs.get(task as usize) else {
            return false;
        };
        job.is_wanted
            && match job.state {
                State::Pending => true,
                State::Running => self.held.iter().all(|held| held.task != task),
                State::Failed => retries_failed(request, &self.snapshot),
                State::Done => self.unproven.contains(&task),
                State::Skipped => self.reopened.contains(&task),
                State::Blocked => false,
            }
    }
}

fn retries_failed(request: &RunRequest<'_>, snapshot: &PlanSnapshot) -> bool {
    request.options.selection.retry_failed || snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped
}

/// Returns the tasks that were skipped because of failures that the run tries again.
fn reopened(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    recovered: Option<&Recovered>,
) -> Result<Vec<u32>, RunError> {
    if !retries_failed(request, snapshot) {
        return Ok(Vec::new());
    }
    let wanted = wanted_tasks(request, snapshot)?;
    let is_retried = |name: &&str| {
        snapshot
            .named(name)
            .is_ok_and(|task| snapshot.state(task) == State::Failed && wanted.get(task as usize) == Some(&true))
    };
    let plan = snapshot.plan();
    let is_reopened = |task: &u32| {
        let causes = skipped_for_failures_of(plan, *task as usize);
        let by_plan = !causes.is_empty() && causes.iter().all(is_retried);
        let by_run = || {
            let was_skipped = recovered.is_some_and(|recovered| recovered.skipped_for_failure(snapshot, *task));
            request.options.selection.retry_failed && was_skipped
        };
        snapshot.state(*task) == State::Skipped && (by_plan || by_run())
    };
    Ok(snapshot.tasks().filter(is_reopened).collect())
}

/// Returns the tasks that are marked as done without a proof, if the configuration requires one.
fn unproven(request: &RunRequest<'_>, snapshot: &PlanSnapshot) -> Result<Vec<u32>, RunError> {
    if !request.config.verify.required {
        return Ok(Vec::new());
    }
    let proofs = Proofs::of(&history(snapshot.file()).map_err(ReviseError::Store)?);
    Ok(snapshot.unproven(&proofs))
}

/// Refuses plans that cannot be run in their state. Returns whether running the plan approves it.
fn refuse(request: &RunRequest<'_>, snapshot: &PlanSnapshot) -> Result<bool, RunError> {
    let plan = snapshot.plan();
    let history = history(snapshot.file()).map_err(ReviseError::Store)?;
    let claims = Claims::of(&history);
    let gates = Gates::of(
        Some(snapshot.linked()),
        &history,
        &claims,
        GatePolicy::of(request.config),
    );
    if let Some(ClosedGate {
        lift, message, help, ..
    }) = gates.of_plan()
    {
        let is_lifted = match lift {
            RunLift::Approval => request.options.flags.yes,
            RunLift::Retry => request.options.selection.retry_failed,
            RunLift::Nothing => false,
        };
        let help = with_plan(&help, &snapshot.path().to_string_lossy());
        return match (is_lifted, lift) {
            (true, lift) => Ok(lift == RunLift::Approval),
            (false, RunLift::Approval) if help.contains("--yes") => Err(RunError::NotApproved { message, help }),
            (false, RunLift::Approval) => Err(RunError::NotApproved {
                message,
                help: format!("{help}, or runs it with --yes"),
            }),
            (false, _) => Err(RunError::refused(message, help)),
        };
    }
    let edits = snapshot.linked().dialect.edits();
    match edits.and_then(|edits| edits.refuses_changes(plan)) {
        Some((message, help)) => Err(RunError::refused(message, help)),
        None => Ok(false),
    }
}

/// Refuses tasks without verification, if the user requires it.
fn refuse_unverified(request: &RunRequest<'_>, snapshot: &PlanSnapshot, jobs: &[Job]) -> Result<(), RunError> {
    if !request.options.flags.require_verification && !request.config.verify.required {
        return Ok(());
    }
    let rules = &request.config.verify;
    let allows = request.options.flags.allow_plan_commands || rules.allow_plan_commands;
    let is_open = |job: &Job| job.is_wanted && !matches!(job.state, State::Done | State::Skipped);
    let open = jobs.iter().enumerate().filter(|(_, job)| is_open(job));
    let uncovered: Vec<&str> = open
        .filter(|(ix, _)| !TaskChecks::of(rules, snapshot.plan(), *ix, allows).is_covered)
        .map(|(ix, _)| snapshot.name(ix as u32))
        .collect();
    if uncovered.is_empty() {
        return Ok(());
    }
    Err(RunError::refused(
        format!(
            "no rule verifies {} of the tasks: {}",
            uncovered.len(),
            listed(&uncovered)
        ),
        format!(
            "add rules to [verify] in planwright.toml, as every = [[\"cargo\", \"test\"]]; {} asks for them",
            match request.options.flags.require_verification {
                true => "--require-verification",
                false => "verify.required",
            }
        ),
    ))
}

/// Returns the tasks as the scheduler sees them, without files.
pub(super) fn jobs_of(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    graph: &TaskGraph,
) -> Result<Vec<Job>, RunError> {
    let plan = snapshot.plan();
    let wanted = wanted_tasks(request, snapshot)?;
    let mut jobs = Jobs::of(plan, snapshot.links(), graph);
    for (ix, job) in jobs.iter_mut().enumerate() {
        let task = &plan.tasks()[ix];
        job.is_wanted &= wanted[ix];
        job.max_attempts = attempts(request, plan, ix);
        job.needs_review = plan.task_str(task, Field::ReviewGate) == Some("required");
    }
    Ok(jobs)
}

/// The default number of attempts at a task if no planner takes over.
pub const USUAL_ATTEMPTS: u32 = 2;

/// Returns the number of attempts at a task: the configured one, otherwise two, or one if a planner takes over after a failure. If the plan
/// counts failures itself, never more than it allows: after those it calls the task failed.
fn attempts(request: &RunRequest<'_>, plan: &Plan, task_ix: usize) -> u32 {
    let wanted = request.config.run.retry.attempts;
    if !plan.lifecycle.machine.counts_retries {
        return wanted.unwrap_or(if request.options.replanning.takes_over {
            1
        } else {
            USUAL_ATTEMPTS
        });
    }
    let (n_failures, most) = planwright_core::edit::moves::retries(plan, task_ix);
    // The count includes one more failure.
    let left = u32::try_from((most + 1).saturating_sub(n_failures)).unwrap_or(u32::MAX);
    left.min(wanted.unwrap_or(u32::MAX)).max(1)
}

fn policy(request: &RunRequest<'_>, plan: &Plan) -> Policy {
    let options = request.options;
    let on_failure = match plan.lifecycle.on_failure {
        OnFailure::DependentsWait if options.flags.cascade_skip => OnFailure::DependentsSkipped,
        on_failure => on_failure,
    };
    let config = &request.config.run;
    Policy {
        slots: config.slots.map_or(plan.slots, Slots::Fixed),
        skipped_satisfies: plan.lifecycle.skipped_satisfies,
        on_failure,
        waits_for_resting: false,
        fail_fast: options.flags.fail_fast,
        max_tasks: options.selection.max_tasks,
        budget: (!config.budgets.run.is_open()).then_some(SPENT),
    }
}

pub(super) fn wanted_tasks(request: &RunRequest<'_>, snapshot: &PlanSnapshot) -> Result<Vec<bool>, RunError> {
    let options = request.options;
    let n_tasks = snapshot.plan().tasks().len();
    let links = snapshot.links();
    let numbers = |names: &[String]| -> Result<Vec<usize>, RunError> {
        let numbers = names.iter().map(|name| Ok(snapshot.named(name)? as usize));
        numbers.collect()
    };
    let mut wanted = vec![true; n_tasks];
    let mut keep = |kept: HashSet<usize>| {
        for (ix, is_wanted) in wanted.iter_mut().enumerate() {
            *is_wanted &= kept.contains(&ix);
        }
    };
    if !options.selection.only.is_empty() {
        keep(numbers(&options.selection.only)?.into_iter().collect());
    }
    if !options.selection.from.is_empty() {
        let from = numbers(&options.selection.from)?;
        let behind = links.reversed().behind(from.iter().copied());
        keep(from.into_iter().chain(behind).collect());
    }
    if !options.selection.until.is_empty() {
        let until = numbers(&options.selection.until)?;
        let plan = snapshot.plan();
        let latest = until
            .iter()
            .map(|&ix| plan.tasks()[ix].barrier)
            .max()
            .filter(|_| plan.has_stages);
        let earlier = (0..n_tasks).filter(|&ix| latest.is_some_and(|latest| plan.tasks()[ix].stage < latest));
        let until: Vec<usize> = until.into_iter().chain(earlier).collect();
        let before = links.before(until.iter().copied());
        keep(until.into_iter().chain(before).collect());
    }
    Ok(wanted)
}

/// Returns the files of each task: declared files are exclusive while it runs, mentioned files are shared.
pub(super) fn claims(plan: &Plan) -> Vec<Vec<FileUse>> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut number = |path: &str| {
        let next = numbers.len() as u32;
        *numbers.entry(path.trim_start_matches("./").to_owned()).or_insert(next)
    };
    let declared = plan.tasks().iter().map(|task| {
        let files = plan.task_list(task, Field::Files);
        files.iter().map(|path| number(path)).collect::<Vec<_>>()
    });
    let declared: Vec<Vec<u32>> = declared.collect();
    let referred = |ix: usize| {
        let refs = plan.task_list(&plan.tasks()[ix], Field::ContextRefs);
        refs.into_iter().filter_map(|path| {
            let path = path.split('#').next().unwrap_or(path).trim_start_matches("./");
            numbers.get(path).copied()
        })
    };
    let claim = |is_exclusive: bool| move |file: u32| FileUse { file, is_exclusive };
    let of = |(ix, files): (usize, &Vec<u32>)| {
        let own = files.iter().copied().map(claim(true));
        own.chain(referred(ix).map(claim(false))).collect()
    };
    declared.iter().enumerate().map(of).collect()
}

pub(super) fn template_of(request: &RunRequest<'_>) -> Result<Option<Template>, RunError> {
    let Some((path, text)) = &request.options.template else {
        return Ok(None);
    };
    Template::parse(text).map(Some).map_err(|findings| {
        let first = findings.first();
        let place = first.and_then(|found| found.span).map_or_else(String::new, |span| {
            let source = planwright_core::text::SourceText::new(text.clone());
            let at = source.line_index().position(span.start);
            format!(":{}:{}", at.line, at.column)
        });
        let what = first.map_or("", |found| found.message.as_str());
        RunError::refused(
            format!("{}{place}: {what}", Path::new(path).display()),
            "docs/prompts.md lists what a template may have",
        )
    })
}
