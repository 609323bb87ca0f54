//! `planwright arbiter`: prints the input of an arbiter, or asks it which agent acts next.

use std::path::{Path, PathBuf};

use planwright_core::arbiter::{Brief, Current, Decision, Entry, PlanBrief, Step, current_task};
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Status;
use planwright_run::agent_query::{AgentQuery, AgentQueryError, AgentQueryPlace, Answer, ask_agent};
use planwright_run::arbitration::{Attempts, Undecided, available, decided, limits};
use planwright_run::clock;
use planwright_run::config::{self, Config, Configuration, Surroundings};
use planwright_run::files::DiskFiles;
use planwright_run::journal::plan_id;
use planwright_run::layout::PlanPlace;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::config::refuse_unsound;
use super::exit::{Exit, Failure};
use super::interrupt;
use super::output::Output;
use super::plan_arg::{Opened, PlanArgument};
use super::planner::fencing_of;
use crate::render::terminal::one_line;

/// Print the prompt of an arbiter, or ask it which agent acts next.
///
/// With --agent that agent is asked. The text has the shape of rawko's SPEC-0010, for plans of every dialect: the task, the
/// plan's status, the current step, the remaining steps; then what earlier runs did and the last error, where there are any. An
/// answer that cannot be used falls back to the agent that the step itself asks for, then to run.agent of the configuration.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright arbiter                          the context, as text
  planwright arbiter plan-5f0c2a9e --json     the same as data
  planwright arbiter --agent claude           ask: the agent, then the reason
  planwright arbiter --task \"Fix the typo in README.md\" --agent claude")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// What is to be done, where there is no plan.
    #[arg(long, value_name = "TEXT", conflicts_with = "plan")]
    task: Option<String>,

    /// Ask this agent which agent should act next.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `arbiter --json`.
const VERSION: &str = "planwright.arbiter/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    /// What is to be done in all.
    task: String,
    /// How the plan stands; null where there is none.
    plan: Option<PlanReport>,
    /// The last attempts, the oldest first.
    history: Vec<EntryReport>,
    /// How many attempts were found in all.
    n_history: usize,
    last_error: Option<String>,
    /// The agents that can be chosen: those whose programs are there.
    agents: Vec<String>,
    /// Who is to act next; null where nobody was asked.
    answer: Option<AnswerReport>,
}

#[derive(Serialize)]
struct PlanReport {
    path: String,
    dialect: &'static str,
    status: String,
    n_done: usize,
    n_tasks: usize,
    current: Option<CurrentReport>,
    /// The pending tasks, the first of them.
    remaining: Vec<StepReport>,
    n_remaining: usize,
}

#[derive(Serialize)]
struct StepReport {
    /// The place in the plan, counted from 0.
    index: usize,
    /// How the dialect names it.
    name: String,
    /// What it is called in the text.
    label: String,
    description: String,
}

#[derive(Serialize)]
struct CurrentReport {
    index: usize,
    name: String,
    label: String,
    description: String,
    suggested_agent: Option<String>,
    /// What makes it done; null where it does not say.
    acceptance_criteria: Option<Vec<String>>,
}

#[derive(Serialize)]
struct EntryReport {
    agent: String,
    /// What the task is called in the text.
    task: String,
    outcome: String,
    milliseconds: Option<u64>,
    error: Option<String>,
    output: Option<String>,
}

#[derive(Serialize)]
struct AnswerReport {
    /// Who was asked.
    arbiter: String,
    /// Who is to act next.
    agent: String,
    /// Why, in the arbiter's words; null where it gave no answer that can be used.
    reason: Option<String>,
    /// Why the arbiter's answer was not used; null where it was.
    fallback: Option<String>,
    cost_usd: Option<f64>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    milliseconds: Option<u64>,
}

/// What is asked about.
struct Matter {
    opened: Option<Opened>,
    root: PathBuf,
    brief: Brief,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let matter = matter(args)?;
    let configuration = config::load(&matter.root, &Surroundings::of_process());
    let agents = available(&configuration.config, &matter.root);
    let answer = match &args.agent {
        None => None,
        Some(arbiter) => match ask(arbiter, &matter, &configuration, &agents, output)? {
            Asked::Answered(answer) => Some(answer),
            Asked::Interrupted(exit) => return Ok(exit),
        },
    };
    if args.json {
        let agents = agents.into_iter().map(str::to_owned).collect();
        output.json(&report(matter, agents, answer)?)?;
    } else if let Some(answer) = answer {
        output.line(&one_line(&answer.agent));
        if let Some(reason) = &answer.reason {
            output.line(&one_line(reason));
        }
    } else {
        output.write_exact(&matter.brief.text());
    }
    Ok(Exit::Success)
}

fn matter(args: &Args) -> anyhow::Result<Matter> {
    if let Some(task) = &args.task {
        if task.trim().is_empty() {
            return Err(Failure::usage("the task is empty", "say what is to be done"));
        }
        return Ok(Matter {
            opened: None,
            root: root_of(Path::new(".")),
            brief: Brief::of_task(task, Attempts::default().past()),
        });
    }
    let opened = args.plan.open()?;
    let linked = opened.linked()?;
    let (plan, links) = (&linked.plan, &linked.links);
    let place = PlanPlace::of(&DiskFiles, Path::new(&opened.path)).ok();
    let mut attempts = place.as_ref().map_or_else(Attempts::default, |place| {
        Attempts::of(&DiskFiles, place, plan_id(plan))
    });
    if attempts.last_error.is_none() {
        attempts.last_error = written_error(&opened, linked);
    }
    let brief = Brief::of_plan(plan, links, current_task(plan, links), attempts.past());
    let root = place.map_or_else(|| root_of(Path::new(".")), |place| place.root);
    Ok(Matter {
        root,
        brief,
        opened: Some(opened),
    })
}

/// Returns why a task has failed that nobody has tried again, as the plan tells it.
fn written_error(opened: &Opened, linked: &LinkedPlan) -> Option<String> {
    let plan = &linked.plan;
    let failed = plan.tasks().iter().rposition(|task| task.status == Status::Failed)?;
    opened.reasons.of_failure(plan, failed).map(str::to_owned)
}

/// What came of asking.
enum Asked {
    Answered(AnswerReport),
    Interrupted(Exit),
}

fn ask(
    arbiter: &str,
    matter: &Matter,
    configuration: &Configuration,
    agents: &[&str],
    output: &mut Output,
) -> anyhow::Result<Asked> {
    refuse_unsound(configuration, "no agent is asked by it", output)?;
    if matter.brief.plan.as_ref().is_some_and(|plan| plan.current.is_none()) {
        return Err(Failure::problem(
            "nothing is left to do: no agent is chosen",
            "`planwright show` shows how the plan stands",
        ));
    }
    let config = &configuration.config;
    let mut workers = Workers::sole().map_err(|error| Failure::environment(&error, ""))?;
    let interrupts = interrupt::Count::begin(workers.waker()).map_err(|error| Failure::environment(&error, ""))?;
    let place = AgentQueryPlace::create(&DiskFiles, &matter.root, &clock::now()).map_err(refusal)?;
    let query = AgentQuery {
        config,
        agent: arbiter,
        prompt: &matter.brief.question(agents),
        folder: &matter.root,
        place: &place,
        limits: limits(config),
        mark: &[],
        fencing: &fencing_of(config)?,
    };
    let answer = ask_agent(&query, &mut workers, interrupts.n_asked());
    if let Some(exit) = interrupts.exit() {
        return Ok(Asked::Interrupted(exit));
    }
    match decided(arbiter, answer, agents) {
        Ok((decision, answer)) => Ok(Asked::Answered(answered(arbiter, decision, &answer))),
        Err(Undecided::NoAnswer(
            error @ (AgentQueryError::NotConfigured { .. }
            | AgentQueryError::NotFound { .. }
            | AgentQueryError::Io { .. }),
        )) => Err(refusal(error)),
        Err(error) => fall_back(arbiter, matter, config, agents, error, output).map(Asked::Answered),
    }
}

fn answered(arbiter: &str, decision: Decision, answer: &Answer) -> AnswerReport {
    AnswerReport {
        arbiter: arbiter.to_owned(),
        agent: decision.agent,
        reason: Some(decision.reason),
        fallback: None,
        cost_usd: answer.cost_usd,
        tokens_in: answer.tokens_in,
        tokens_out: answer.tokens_out,
        milliseconds: u64::try_from(answer.duration.as_millis()).ok(),
    }
}

/// Chooses without the arbiter: whom the step asks for, else the agent for all.
fn fall_back(
    arbiter: &str,
    matter: &Matter,
    config: &Config,
    agents: &[&str],
    error: Undecided,
    output: &mut Output,
) -> anyhow::Result<AnswerReport> {
    let why = error.to_string();
    let current = matter.brief.plan.as_ref().and_then(|plan| plan.current.as_ref());
    let hint = current.and_then(|current| current.agent.as_deref());
    let own = hint.map(|hint| (hint, "the step itself asks for"));
    let default = config.run.agent.as_deref().map(|agent| (agent, "`run.agent` names"));
    let mut choices = own.into_iter().chain(default);
    match choices.find(|(agent, _)| agents.contains(agent)) {
        Some((agent, who)) => {
            let agent_shown = one_line(agent);
            output.remark(&format!(
                "warning: {}; {who} `{agent_shown}`, and that is the answer",
                one_line(&why)
            ));
            Ok(AnswerReport {
                arbiter: arbiter.to_owned(),
                agent: agent.to_owned(),
                reason: None,
                fallback: Some(why),
                cost_usd: None,
                tokens_in: None,
                tokens_out: None,
                milliseconds: None,
            })
        }
        None => Err(match error {
            Undecided::NoAnswer(error) => refusal(error),
            Undecided::Unusable { .. } => Failure::problem(
                one_line(&why),
                "ask again, or another agent; what it said is in the newest folder of `.planwright/inquiries`",
            ),
        }),
    }
}

fn refusal(error: AgentQueryError) -> anyhow::Error {
    let help = error.help();
    match error.is_environment() {
        true => Failure::environment(&error, help),
        false => Failure::problem(error.to_string(), help),
    }
}

fn report(matter: Matter, agents: Vec<String>, answer: Option<AnswerReport>) -> anyhow::Result<Report> {
    let Matter { opened, brief, .. } = matter;
    let plan = match (&opened, brief.plan) {
        (Some(opened), Some(brief)) => Some(plan_report(opened, opened.linked()?, brief)),
        _ => None,
    };
    Ok(Report {
        schema_version: VERSION,
        task: brief.task,
        plan,
        history: brief.history.into_iter().map(entry_report).collect(),
        n_history: brief.n_history,
        last_error: brief.last_error,
        agents,
        answer,
    })
}

fn plan_report(opened: &Opened, linked: &LinkedPlan, brief: PlanBrief) -> PlanReport {
    let step_report = |step: Step| StepReport {
        index: step.task_ix,
        name: linked.plan.task_name(step.task_ix).into_owned(),
        label: step.label,
        description: step.title,
    };
    PlanReport {
        path: opened.path.clone(),
        dialect: linked.plan.dialect,
        status: brief.status,
        n_done: brief.n_done,
        n_tasks: brief.n_tasks,
        current: brief.current.map(|current| {
            let Current {
                step, agent, criteria, ..
            } = current;
            let step = step_report(step);
            CurrentReport {
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

fn entry_report(entry: Entry) -> EntryReport {
    EntryReport {
        agent: entry.agent,
        task: entry.task,
        outcome: entry.outcome,
        milliseconds: entry.milliseconds,
        error: entry.error,
        output: entry.output,
    }
}
