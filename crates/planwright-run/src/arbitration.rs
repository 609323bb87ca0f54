//! Asks an arbiter which agent acts next: earlier attempts, available agents, and the use of its answer. Does not wait for the answer.

use std::path::Path;
use std::time::Duration;

use planwright_core::arbiter::{AnswerError, Decision, MAX_HISTORY, PastAttempt, PastAttempts};

use crate::agent_query::{AgentAnswer, AgentQueryError, QueryLimits};
use crate::config::Config;
use crate::files::Files;
use crate::layout::PlanPlace;
use crate::runs::state::RunState;
use crate::runs::{self, Outcome};

/// The time limit of an arbiter, unless attempts have a shorter one.
pub const LIMIT: Duration = Duration::from_secs(300);

/// How many of the newest runs of a plan are read.
const MAX_RUNS: usize = 20;

pub fn limits(config: &Config) -> QueryLimits {
    QueryLimits::of(config).within(LIMIT)
}

/// The earlier attempts of a plan, from the logs of its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptHistory {
    /// The attempts, the oldest first.
    pub history: Vec<PastAttempt>,
    /// Why the last attempt failed, if its task has not been done since.
    pub last_error: Option<String>,
}

impl AttemptHistory {
    /// Reads the logs of a plan's runs, the newest first, until there are enough attempts. Ignores a log that cannot be read: an arbiter
    /// works without it.
    pub fn of(files: &dyn Files, plan: &PlanPlace, id: Option<&str>) -> AttemptHistory {
        let mut parts: Vec<Vec<FinishedAttempt>> = Vec::new();
        let own = runs::of_plan(files, plan, id).into_iter().flatten();
        for run in own.take(MAX_RUNS) {
            let Ok(state) = run.state(files) else {
                continue;
            };
            parts.push(seen_in(&state));
            if parts.iter().map(Vec::len).sum::<usize>() >= MAX_HISTORY {
                break;
            }
        }
        let all: Vec<FinishedAttempt> = parts.into_iter().rev().flatten().collect();
        let last_error = last_error(&all);
        AttemptHistory {
            history: all.into_iter().map(|seen| seen.entry).collect(),
            last_error,
        }
    }

    /// Returns them in the form of the core.
    pub fn past(&self) -> PastAttempts<'_> {
        PastAttempts {
            history: &self.history,
            last_error: self.last_error.as_deref(),
        }
    }
}

/// An attempt that has ended, and its result.
struct FinishedAttempt {
    started: String,
    outcome: Outcome,
    entry: PastAttempt,
}

/// Returns the ended attempts of a run, in the order in which they started.
fn seen_in(run_state: &RunState) -> Vec<FinishedAttempt> {
    let attempts = run_state
        .tasks()
        .iter()
        .flat_map(|task| task.attempts.iter().map(move |attempt| (task, attempt)));
    let mut seen: Vec<FinishedAttempt> = attempts
        .filter_map(|(task, attempt)| {
            let outcome = attempt.outcome.clone()?;
            let is_failed = outcome == Outcome::Failed;
            Some(FinishedAttempt {
                started: attempt.times.started.clone(),
                entry: PastAttempt {
                    agent: attempt.agent.clone(),
                    task: task.task.clone(),
                    outcome: outcome.as_str().to_owned(),
                    milliseconds: attempt.took(),
                    error: attempt.why.clone().filter(|_| outcome != Outcome::Done),
                    output: attempt.report.output.clone().filter(|_| !is_failed),
                },
                outcome,
            })
        })
        .collect();
    seen.sort_by(|one, other| one.started.cmp(&other.started));
    seen
}

/// Returns why the last attempt failed whose task has not been done since.
fn last_error(seen: &[FinishedAttempt]) -> Option<String> {
    let failed = |seen: &&FinishedAttempt| seen.outcome == Outcome::Failed;
    let (at, last) = seen.iter().enumerate().rev().find(|(_, one)| failed(one))?;
    let is_done_since = seen
        .iter()
        .skip(at)
        .any(|later| later.entry.task == last.entry.task && later.outcome == Outcome::Done);
    last.entry.error.clone().filter(|_| !is_done_since)
}

/// Returns the agents whose programs were found, by name.
pub fn available<'c>(config: &'c Config, root: &Path) -> Vec<&'c str> {
    let agents = config.agents.values();
    let agents = agents.filter(|agent| agent.find_program(root).is_some());
    agents.map(|agent| agent.name.as_str()).collect()
}

/// Why an arbiter's answer decides nothing.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// The arbiter gave no answer.
    #[error(transparent)]
    NoAnswer(#[from] AgentQueryError),
    /// The answer cannot be used.
    #[error("the arbiter `{arbiter}` gave no answer that can be used: {why}")]
    Unusable { arbiter: String, why: AnswerError },
}

/// Parses an arbiter's answer.
pub fn decided(
    arbiter: &str,
    answer: Result<AgentAnswer, AgentQueryError>,
    agents: &[&str],
) -> Result<(Decision, AgentAnswer), Undecided> {
    let answer = answer?;
    match Decision::read(&answer.text, agents) {
        Ok(decision) => Ok((decision, answer)),
        Err(why) => Err(Undecided::Unusable {
            arbiter: arbiter.to_owned(),
            why,
        }),
    }
}
