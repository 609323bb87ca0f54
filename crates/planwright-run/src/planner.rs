//! Asks planners, reads their answers, and asks for at most two corrections. Decides nothing about plans, and writes none.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use planwright_core::agent::Usage;
use planwright_core::convert::PlanningRequest;
use planwright_core::convert::rules::REFUSED;
use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::inspect::Inspection;
use planwright_core::outline::questions;
use planwright_core::planning::derive::{DeriveError, Derived};
use planwright_core::planning::draft::{Drafted, Unusable, draft, finding_list};
use planwright_core::planning::prompt::{
    Derivation, PlanningBrief, ReplanCause, derive_prompt, plan_prompt, repair_derive_prompt, repair_prompt,
    repair_replan_prompt, replan_prompt,
};
use planwright_core::planning::replan::{NewVersion, new_version};
use planwright_core::text::SourceText;

use crate::agent_query::{AgentAnswer, AgentQuery, AgentQueryError, AgentQueryPlace, QueryLimits, ask_agent};
use crate::clock;
use crate::config::{Config, chain_of};
use crate::fallback::{Continuation, Fallback, ProviderLimits, reported_wait};
use crate::fence::Fencing;
use crate::files::DiskFiles;
use crate::worker::Workers;

/// How often an unusable answer is returned for a correction.
const MAX_REPAIRS: u32 = 2;

/// How often to check for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A source of plans: an agent, or an existing answer.
pub trait AnswerSource {
    fn ask(&mut self, prompt: &str) -> Result<AgentAnswer, AgentQueryError>;

    /// Reacts to a query without an answer: chooses another agent, or waits. Returns the error if another query is pointless.
    fn get_over(&mut self, error: AgentQueryError) -> Result<(), AgentQueryError> {
        Err(error)
    }

    /// Receives the findings about its answer before the next query.
    fn sent_back(&mut self, _findings: &[Diagnostic]) {}

    /// Returns whether another query makes sense.
    fn may_repair(&self) -> bool {
        true
    }
}

/// An existing answer.
pub struct FixedAnswer(pub String);

impl AnswerSource for FixedAnswer {
    fn ask(&mut self, _prompt: &str) -> Result<AgentAnswer, AgentQueryError> {
        Ok(AgentAnswer {
            text: std::mem::take(&mut self.0),
            is_cut: false,
            usage: Usage::default(),
            duration: Duration::ZERO,
            denials: Vec::new(),
        })
    }

    fn may_repair(&self) -> bool {
        false
    }
}

/// An agent that plans.
pub struct Planner<'p> {
    pub config: &'p Config,
    pub agent: &'p str,
    /// The planners that could not answer so far.
    pub absent: UnavailablePlanners<'p>,
    /// The root of the workspace, which it may read.
    pub root: &'p Path,
    pub workers: &'p mut Workers,
    /// The number of the user's interrupts.
    pub interrupts: &'p AtomicU32,
    pub fencing: Fencing,
}

impl AnswerSource for Planner<'_> {
    fn ask(&mut self, prompt: &str) -> Result<AgentAnswer, AgentQueryError> {
        let place = AgentQueryPlace::create(&DiskFiles, self.root, &clock::now())?;
        let answer = ask_agent(
            &AgentQuery {
                config: self.config,
                agent: self.agent,
                prompt,
                folder: self.root,
                place: &place,
                limits: QueryLimits::of(self.config),
                mark: &[],
                fencing: &self.fencing,
            },
            self.workers,
            self.interrupts,
        )?;
        // Only for people, and for `--from`.
        place.keep_answer(&answer.text).ok();
        Ok(answer)
    }
}

/// Planners that cannot answer now.
#[derive(Debug, Default)]
pub struct UnavailablePlanners<'p> {
    /// The chosen planner.
    first: Option<&'p str>,
    fallback: Fallback,
    limits: ProviderLimits,
}

impl Planner<'_> {
    /// Returns how planning continues after a query without an answer; none if it does not.
    pub fn next_step(&mut self, error: &AgentQueryError) -> Option<Continuation> {
        let now = clock::instant();
        let UnavailablePlanners {
            first,
            fallback,
            limits,
        } = &mut self.absent;
        let first = *first.get_or_insert(self.agent);
        match error {
            AgentQueryError::RateLimited { wait, why, .. } => {
                fallback.limit(self.agent, reported_wait(*wait, why), limits, now)
            }
            AgentQueryError::Broken { .. } | AgentQueryError::NotFound { .. } => {
                fallback.lose(self.agent);
            }
            _ => return None,
        }
        let chain = chain_of(&self.config.agents, first);
        if let Some(other) = fallback.next(&chain, limits, now) {
            self.agent = other;
            return Some(Continuation::Other(other.to_owned()));
        }
        if fallback.has_waited_enough() {
            return None;
        }
        let (wait, agent) = fallback.pause(&chain, limits, now, self.config.run.retry.backoff)?;
        self.agent = agent;
        Some(Continuation::Wait(wait))
    }

    /// Waits, unless the user interrupts. Returns whether the time has passed.
    pub fn wait(&self, time: Duration) -> bool {
        let end = clock::instant() + time;
        while self.interrupts.load(Ordering::Relaxed) == 0 {
            let left = end.saturating_duration_since(clock::instant());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(clock::real(left.min(POLL_INTERVAL)));
        }
        false
    }
}

/// The effort of planning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlanningCost {
    /// How many queries the planner got.
    pub n_asked: u32,
    /// What it cost.
    pub usage: Usage,
}

impl PlanningCost {
    fn add(&mut self, answer: &AgentAnswer) {
        self.n_asked += 1;
        self.usage = self.usage.with(answer.usage);
    }
}

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanningError {
    /// The planner gave no answer.
    AgentQuery(AgentQueryError),
    /// The planner asks questions instead of planning.
    Asks {
        /// At least one question.
        questions: Vec<String>,
        unusable: Box<Unusable>,
        effort: PlanningCost,
    },
    /// No answer was usable, even after corrections.
    Unusable {
        /// The last answer, and its findings.
        unusable: Box<Unusable>,
        effort: PlanningCost,
    },
}

/// A new version from a planner.
#[derive(Clone, Debug)]
pub struct WantedVersion {
    pub version: NewVersion,
    /// The answer that it was read from.
    pub answer: String,
}

pub fn plan(
    oracle: &mut dyn AnswerSource,
    brief: &PlanningBrief<'_>,
    wish: &PlanningRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<(Drafted, PlanningCost), PlanningError> {
    converse(
        oracle,
        &plan_prompt(brief).text,
        |answer| draft(answer, brief.dialect, wish, id_source),
        |answer, findings| repair_prompt(brief, answer, findings).text,
    )
}

/// Asks for a new version of a plan. `try_out` returns why a version cannot be written.
pub fn replan(
    oracle: &mut dyn AnswerSource,
    old: &Inspection,
    try_out: &dyn Fn(&NewVersion) -> Vec<Diagnostic>,
    brief: &PlanningBrief<'_>,
    setback: &ReplanCause<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<(WantedVersion, PlanningCost), PlanningError> {
    let read = |answer: &str| {
        let version = new_version(old, brief.dialect, answer, id_source)?;
        let findings = try_out(&version);
        let answer = answer.to_owned();
        if !findings.is_empty() {
            return Err(Unusable {
                text: answer,
                findings,
                reasoning: version.reasoning,
            });
        }
        Ok(WantedVersion { version, answer })
    };
    let again = |answer: &str, findings: &str| repair_replan_prompt(brief, setback, answer, findings).text;
    converse(oracle, &replan_prompt(brief, setback).text, read, again)
}

/// Asks for the tasks of a pack, read by `derive`. The plan must be one that a pack can be derived from.
pub fn derive(
    oracle: &mut dyn AnswerSource,
    brief: &PlanningBrief<'_>,
    derivation: &Derivation<'_>,
    derive: &dyn Fn(&str) -> Result<Derived, DeriveError>,
) -> Result<(Derived, PlanningCost), PlanningError> {
    let read = |answer: &str| {
        derive(answer).map_err(|error| Unusable {
            text: answer.to_owned(),
            findings: match error {
                DeriveError::Answer(findings) => findings,
                error => vec![Diagnostic::of_file(&REFUSED, error.to_string())],
            },
            reasoning: String::new(),
        })
    };
    let again = |answer: &str, findings: &str| repair_derive_prompt(brief, derivation, answer, findings).text;
    converse(oracle, &derive_prompt(brief, derivation).text, read, again)
}

/// Asks until the answer is usable, or the limit of corrections is reached.
fn converse<T>(
    oracle: &mut dyn AnswerSource,
    prompt: &str,
    mut read: impl FnMut(&str) -> Result<T, Unusable>,
    again: impl Fn(&str, &str) -> String,
) -> Result<(T, PlanningCost), PlanningError> {
    let mut effort = PlanningCost::default();
    let mut prompt = prompt.to_owned();
    loop {
        let answer = match oracle.ask(&prompt) {
            Ok(answer) => answer,
            Err(error) => {
                oracle.get_over(error).map_err(PlanningError::AgentQuery)?;
                continue;
            }
        };
        effort.add(&answer);
        let mut unusable = match read(&answer.text) {
            Ok(made) => return Ok((made, effort)),
            Err(unusable) => unusable,
        };
        // A planner that asks questions does not plan before it gets answers: it would ask again.
        let questions = match answer.is_cut {
            true => Vec::new(),
            false => questions(&SourceText::new(answer.text.as_str())),
        };
        if !questions.is_empty() {
            return Err(PlanningError::Asks {
                questions,
                unusable: Box::new(unusable),
                effort,
            });
        }
        if answer.is_cut {
            let message = format!("the answer was longer than {} bytes, and was cut", answer.text.len());
            unusable.findings.insert(0, Diagnostic::of_file(&REFUSED, message));
        }
        if effort.n_asked > MAX_REPAIRS || !oracle.may_repair() {
            let unusable = Box::new(unusable);
            return Err(PlanningError::Unusable { unusable, effort });
        }
        oracle.sent_back(&unusable.findings);
        prompt = again(&unusable.text, &finding_list(&unusable.text, &unusable.findings));
    }
}
