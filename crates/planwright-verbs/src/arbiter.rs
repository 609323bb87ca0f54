//! The verb `arbiter`: the question to an arbiter about a plan, and the agent that it chooses to act next.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::arbiter::{ArbiterBrief, CurrentTask, Decision, PastAttempt, PlanBrief, TaskLine, current_task};
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Status;
use planwright_run::agent_query::{AgentAnswer, AgentQuery, AgentQueryError, AgentQueryPlace, ask_agent};
use planwright_run::arbitration::{AttemptHistory, Undecided, available, decided, limits};
use planwright_run::clock;
use planwright_run::config::{self, Config, ConfigInputs};
use planwright_run::files::DiskFiles;
use planwright_run::journal::plan_id;
use planwright_run::layout::PlanPlace;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;
use serde::{Deserialize, Serialize};

use crate::cancel::CancelToken;
use crate::configuration::refuse_unsound;
use crate::failure::{Failure, Result};
use crate::planning::fencing_of;
use crate::plans::{OpenedPlan, PlanChoice};
use crate::text::one_line;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArbiterRequest {
    pub plan: PlanChoice,
    /// The goal, if there is no plan.
    pub task: Option<String>,
    /// The arbiter. None: no agent is asked.
    pub agent: Option<String>,
}

#[derive(Serialize)]
pub struct ArbiterReport {
    pub schema_version: &'static str,
    pub task: String,
    /// The state of the plan; null without a plan.
    pub plan: Option<ArbiterPlanReport>,
    /// The last attempts, the oldest first.
    pub history: Vec<ArbiterAttemptReport>,
    /// How many attempts were found.
    pub n_history: usize,
    pub last_error: Option<String>,
    /// The available agents: those whose programs were found.
    pub agents: Vec<String>,
    /// The agent to act next; null if no arbiter was asked.
    pub answer: Option<ArbiterAnswerReport>,
    /// The text of the question.
    #[serde(skip)]
    pub prompt: String,
}

#[derive(Serialize)]
pub struct ArbiterPlanReport {
    pub path: String,
    pub dialect: &'static str,
    pub status: String,
    pub n_done: usize,
    pub n_tasks: usize,
    pub current: Option<CurrentTaskReport>,
    /// The first pending tasks.
    pub remaining: Vec<ArbiterStepReport>,
    pub n_remaining: usize,
}

#[derive(Serialize)]
pub struct ArbiterStepReport {
    /// The index in the plan.
    pub index: usize,
    /// Its name in the dialect.
    pub name: String,
    /// Its name in the text.
    pub label: String,
    pub description: String,
}

#[derive(Serialize)]
pub struct CurrentTaskReport {
    pub index: usize,
    pub name: String,
    pub label: String,
    pub description: String,
    pub suggested_agent: Option<String>,
    /// Its acceptance criteria; null if it has none.
    pub acceptance_criteria: Option<Vec<String>>,
}

#[derive(Serialize)]
pub struct ArbiterAttemptReport {
    pub agent: String,
    /// The task's name in the text.
    pub task: String,
    pub outcome: String,
    pub milliseconds: Option<u64>,
    pub error: Option<String>,
    pub output: Option<String>,
}

#[derive(Default, Serialize)]
pub struct ArbiterAnswerReport {
    pub arbiter: String,
    /// The chosen agent.
    pub agent: String,
    /// The arbiter's reason; null without a usable answer.
    pub reason: Option<String>,
    /// Why the arbiter's answer was not used; null if it was.
    pub fallback: Option<String>,
    pub cost_usd: Option<f64>,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
    pub milliseconds: Option<u64>,
}

struct ArbiterSubject {
    opened: Option<OpenedPlan>,
    root: PathBuf,
    brief: ArbiterBrief,
}

/// Returns the question to an arbiter about a plan, and its answer if one is asked. `cancel` returns the token that ends the query.
pub fn arbiter(
    workspace: &Workspace,
    request: &ArbiterRequest,
    cancel: &mut dyn FnMut() -> io::Result<CancelToken>,
) -> Result<ArbiterReport> {
    let subject = subject(workspace, request)?;
    let configuration = config::load(&subject.root, &ConfigInputs::of_process());
    let agents = available(&configuration.config, &subject.root);
    let answer = match &request.agent {
        None => None,
        Some(arbiter) => {
            refuse_unsound(workspace, &configuration, "no agent is asked by it")?;
            Some(ask(
                workspace,
                arbiter,
                &subject,
                &configuration.config,
                &agents,
                cancel,
            )?)
        }
    };
    report(subject, agents.into_iter().map(str::to_owned).collect(), answer)
}

fn subject(workspace: &Workspace, request: &ArbiterRequest) -> Result<ArbiterSubject> {
    if let Some(task) = &request.task {
        if task.trim().is_empty() {
            return Err(Failure::usage("the task is empty", "give the task in words"));
        }
        return Ok(ArbiterSubject {
            opened: None,
            root: root_of(workspace.folder()),
            brief: ArbiterBrief::of_task(task, AttemptHistory::default().past()),
        });
    }
    let opened = request.plan.open(workspace)?;
    let linked = opened.linked()?;
    let (plan, links) = (&linked.plan, &linked.links);
    let place = PlanPlace::of(&DiskFiles, Path::new(&opened.path)).ok();
    let mut attempts = place.as_ref().map_or_else(AttemptHistory::default, |place| {
        AttemptHistory::of(&DiskFiles, place, plan_id(plan))
    });
    if attempts.last_error.is_none() {
        attempts.last_error = written_error(&opened, linked);
    }
    let brief = ArbiterBrief::of_plan(plan, links, current_task(plan, links), attempts.past());
    let root = place.map_or_else(|| root_of(workspace.folder()), |place| place.root);
    Ok(ArbiterSubject {
        root,
        brief,
        opened: Some(opened),
    })
}

/// Returns the plan's recorded error of a failed task that was not retried.
fn written_error(opened: &OpenedPlan, linked: &LinkedPlan) -> Option<String> {
    let plan = &linked.plan;
    let failed = plan.tasks().iter().rposition(|task| task.status == Status::Failed)?;
    opened.reasons.of_failure(plan, failed).map(str::to_owned)
}

fn ask(
    workspace: &Workspace,
    arbiter: &str,
    subject: &ArbiterSubject,
    config: &Config,
    agents: &[&str],
    cancel: &mut dyn FnMut() -> io::Result<CancelToken>,
) -> Result<ArbiterAnswerReport> {
    if subject.brief.plan.as_ref().is_some_and(|plan| plan.current.is_none()) {
        return Err(Failure::problem(
            "nothing is left to do: no agent is chosen",
            "`planwright show` shows the states of its tasks",
        ));
    }
    let failed = |error: io::Error| Failure::environment(&error, "");
    let mut workers = Workers::sole().map_err(failed)?;
    let cancel = cancel().map_err(failed)?;
    cancel.wakes(workers.waker());
    let place = AgentQueryPlace::create(&DiskFiles, &subject.root, &clock::now())?;
    let query = AgentQuery {
        config,
        agent: arbiter,
        prompt: &subject.brief.question(agents),
        folder: &subject.root,
        place: &place,
        limits: limits(config),
        mark: &[],
        fencing: &fencing_of(config)?,
    };
    let answer = ask_agent(&query, &mut workers, cancel.n_asked());
    if let Some(exit) = cancel.exit() {
        return Err(Failure::interrupted(exit));
    }
    match decided(arbiter, answer, agents) {
        Ok((decision, answer)) => Ok(answered(arbiter, decision, &answer)),
        Err(Undecided::NoAnswer(
            error @ (AgentQueryError::NotConfigured { .. }
            | AgentQueryError::NotFound { .. }
            | AgentQueryError::Io { .. }),
        )) => Err(error.into()),
        Err(error) => fall_back(workspace, arbiter, subject, config, agents, error),
    }
}

fn answered(arbiter: &str, decision: Decision, answer: &AgentAnswer) -> ArbiterAnswerReport {
    ArbiterAnswerReport {
        arbiter: arbiter.to_owned(),
        agent: decision.agent,
        reason: Some(decision.reason),
        fallback: None,
        cost_usd: answer.usage.cost_usd,
        tokens_in: answer.usage.tokens_in,
        tokens_out: answer.usage.tokens_out,
        milliseconds: u64::try_from(answer.duration.as_millis()).ok(),
    }
}

/// Chooses without the arbiter: the agent that the step requests, otherwise the agent for all.
fn fall_back(
    workspace: &Workspace,
    arbiter: &str,
    subject: &ArbiterSubject,
    config: &Config,
    agents: &[&str],
    error: Undecided,
) -> Result<ArbiterAnswerReport> {
    let why = error.to_string();
    let current = subject.brief.plan.as_ref().and_then(|plan| plan.current.as_ref());
    let hint = current.and_then(|current| current.agent.as_deref());
    let own = hint.map(|hint| (hint, "the step itself asks for"));
    let default = config.run.agent.as_deref().map(|agent| (agent, "`run.agent` names"));
    let mut choices = own.into_iter().chain(default);
    match choices.find(|(agent, _)| agents.contains(agent)) {
        Some((agent, who)) => {
            let agent_shown = one_line(agent);
            workspace.remark(&format!(
                "warning: {}; {who} `{agent_shown}`, and that is the answer",
                one_line(&why)
            ));
            Ok(ArbiterAnswerReport {
                arbiter: arbiter.to_owned(),
                agent: agent.to_owned(),
                fallback: Some(why),
                ..ArbiterAnswerReport::default()
            })
        }
        None => Err(match error {
            Undecided::NoAnswer(error) => error.into(),
            Undecided::Unusable { .. } => Failure::problem(
                one_line(&why),
                "ask again, or ask another agent; its output is in the newest folder of `.planwright/inquiries`",
            ),
        }),
    }
}

fn report(subject: ArbiterSubject, agents: Vec<String>, answer: Option<ArbiterAnswerReport>) -> Result<ArbiterReport> {
    let ArbiterSubject { opened, brief, .. } = subject;
    let prompt = brief.text();
    let plan = match (&opened, brief.plan) {
        (Some(opened), Some(brief)) => Some(plan_report(opened, opened.linked()?, brief)),
        _ => None,
    };
    Ok(ArbiterReport {
        schema_version: "planwright.arbiter/v1",
        task: brief.task,
        plan,
        history: brief.history.into_iter().map(entry_report).collect(),
        n_history: brief.n_history,
        last_error: brief.last_error,
        agents,
        answer,
        prompt,
    })
}

fn plan_report(opened: &OpenedPlan, linked: &LinkedPlan, brief: PlanBrief) -> ArbiterPlanReport {
    let step_report = |step: TaskLine| ArbiterStepReport {
        index: step.task_ix,
        name: linked.plan.task_name(step.task_ix).into_owned(),
        label: step.label,
        description: step.title,
    };
    ArbiterPlanReport {
        path: opened.path.clone(),
        dialect: linked.plan.dialect,
        status: brief.status,
        n_done: brief.n_done,
        n_tasks: brief.n_tasks,
        current: brief.current.map(|current| {
            let CurrentTask {
                step, agent, criteria, ..
            } = current;
            let step = step_report(step);
            CurrentTaskReport {
                index: step.index,
                name: step.name,
                label: step.label,
                description: step.description,
                suggested_agent: agent,
                acceptance_criteria: criteria,
            }
        }),
        remaining: brief.remaining.into_iter().map(step_report).collect(),
        n_remaining: brief.n_remaining,
    }
}

fn entry_report(entry: PastAttempt) -> ArbiterAttemptReport {
    ArbiterAttemptReport {
        agent: entry.agent,
        task: entry.task,
        outcome: entry.outcome,
        milliseconds: entry.milliseconds,
        error: entry.error,
        output: entry.output,
    }
}
