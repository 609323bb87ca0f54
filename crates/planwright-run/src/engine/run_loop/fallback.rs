//! Tasks whose agent cannot work now: another agent takes them, or they wait. Costs no attempt; a provider's rate limit applies to the
//! whole run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use planwright_core::schedule::ScheduleEvent;

use super::super::RunError;
use super::super::attempt::RunningAttempt;
use super::RunLoop;
use super::results::AttemptFailure;
use crate::clock;
use crate::config::{Agent, chain_of};
use crate::fallback::{Continuation, Fallback, MAX_BACKOFF, MAX_PROVIDER_WAIT, MAX_WAITS, ProviderLimits};
use crate::runs::state::RunState;
use crate::runs::{RemarkKind, Spent};

/// The fallback agents of tasks, and the rate limits of providers.
#[derive(Default)]
pub(super) struct Fallbacks {
    substitutions: HashMap<u32, AgentSubstitution>,
    limits: ProviderLimits,
}

impl Fallbacks {
    /// Starts with the limits from the log of the run.
    pub(super) fn new(state: &RunState) -> Self {
        Fallbacks {
            substitutions: HashMap::new(),
            limits: limits_of(state, clock::milliseconds(), clock::instant()),
        }
    }

    /// Returns whether a task keeps the agent that was chosen before.
    pub(super) fn continues(&self, task: u32) -> bool {
        self.substitutions
            .get(&task)
            .is_some_and(|substitution| substitution.keeps_agent)
    }

    pub(super) fn continue_with(&mut self, task: u32, agent: &str) {
        let substitution = self.substitutions.entry(task).or_default();
        substitution.keeps_agent = true;
        if substitution.first.is_empty() {
            agent.clone_into(&mut substitution.first);
        }
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        super::renumber(&mut self.substitutions, new_of);
    }
}

/// Returns the limits that have not expired, as instants of this process.
fn limits_of(state: &RunState, now: u64, instant: Instant) -> ProviderLimits {
    let open = state
        .from_agents
        .provider_limits
        .iter()
        .filter(|(_, until)| **until > now);
    let moment = |until: u64| instant + Duration::from_millis(until - now).min(MAX_PROVIDER_WAIT);
    open.map(|(agent, until)| (agent.clone(), moment(*until))).collect()
}

#[derive(Debug, Default)]
struct AgentSubstitution {
    first: String,
    /// Whether the last attempt did not count, so that no agent is chosen again.
    keeps_agent: bool,
    fallback: Fallback,
}

impl RunLoop<'_> {
    /// Returns the agent of the next attempt at a task, and the agent that it replaces. `chosen` is the usual agent.
    pub(super) fn runner_for(&mut self, task: u32, chosen: String) -> (String, Option<String>) {
        let substitution = self.agents.fallbacks.substitutions.entry(task).or_default();
        if !std::mem::take(&mut substitution.keeps_agent) {
            substitution.first = chosen;
        }
        let first = substitution.first.clone();
        match self.next_runner(task) {
            Some(runner) if runner != first => (runner, Some(first)),
            _ => (first, None),
        }
    }

    /// Returns the agents that could take a task, in order.
    fn chain<'s>(&'s self, substitution: &'s AgentSubstitution) -> Vec<&'s str> {
        let agents = &self.request.config.agents;
        let root = self.root();
        let has_program = |agent: &Agent| agent.find_program(&root).is_some();
        let is_there = |name: &&str| *name == substitution.first || agents.get(*name).is_some_and(has_program);
        chain_of(agents, &substitution.first)
            .into_iter()
            .filter(is_there)
            .collect()
    }

    /// Returns the first free agent that could take a task.
    fn next_runner(&self, task: u32) -> Option<String> {
        let substitution = self.agents.fallbacks.substitutions.get(&task)?;
        let next = substitution.fallback.next(
            &self.chain(substitution),
            &self.agents.fallbacks.limits,
            clock::instant(),
        );
        next.map(str::to_owned)
    }

    /// Has a task wait if its agent `chosen` and all fallbacks are rate limited. Returns whether it waits.
    pub(super) fn waits_for_agent(&mut self, task: u32, chosen: &str) -> bool {
        let mut substitution = self.agents.fallbacks.substitutions.remove(&task).unwrap_or_default();
        if !substitution.keeps_agent {
            substitution.first = chosen.to_owned();
        }
        let wait = substitution.fallback.blocked_for(
            &self.chain(&substitution),
            &self.agents.fallbacks.limits,
            clock::instant(),
        );
        if let Some(wait) = wait {
            substitution.keeps_agent = true;
            let why = format!("`{}` is rate limited by its provider", substitution.first);
            self.waits.rests.plan(task, wait, why);
            self.happened(ScheduleEvent::Deferred { task });
        }
        self.agents.fallbacks.substitutions.insert(task, substitution);
        wait.is_some()
    }

    /// Returns how a task continues whose agent cannot take it now; none if there is no agent to wait for.
    fn next_step(&mut self, task: u32) -> Option<Continuation> {
        if let Some(other) = self.next_runner(task) {
            return Some(Continuation::Other(other));
        }
        let AgentSubstitution { first, fallback, .. } = self.agents.fallbacks.substitutions.get_mut(&task)?;
        let chain = chain_of(&self.request.config.agents, first);
        let (wait, _) = fallback.pause(
            &chain,
            &self.agents.fallbacks.limits,
            clock::instant(),
            self.request.config.run.retry.backoff,
        )?;
        Some(Continuation::Wait(wait))
    }

    /// Handles a provider's rate limit, with or without a known duration. The attempt does not count, and the task stays running.
    pub(super) fn deferred(
        &mut self,
        attempt: RunningAttempt,
        wait: Option<Duration>,
        why: &str,
    ) -> Result<(), RunError> {
        let task = attempt.task;
        let fallback = &mut self.agents.fallbacks.substitutions.entry(task).or_default().fallback;
        fallback.limit(
            &attempt.agent,
            wait,
            &mut self.agents.fallbacks.limits,
            clock::instant(),
        );
        if fallback.has_waited_enough() {
            let why = format!("its provider's limit was reached {MAX_WAITS} times: {why}");
            return self.fail(attempt, &AttemptFailure::Other(why), false);
        }
        if let Some(spent) = self.over_task_budget(&attempt) {
            let text = format!("{spent}: it is not tried again");
            self.remark_kind(Some(task), RemarkKind::BudgetSpent, text)?;
            return self.fail(attempt, &AttemptFailure::Other(format!("{spent}; {why}")), false);
        }
        let way = self.next_step(task).unwrap_or(Continuation::Wait(MAX_BACKOFF));
        self.go_another_way(attempt, way, "is rate limited by its provider", why)
    }

    /// Records that an agent could not work. Returns how the task continues without a counted failure: the first time, and if there is
    /// another agent.
    pub(super) fn way_around(&mut self, attempt: &RunningAttempt, spent: &Spent) -> Option<Continuation> {
        let is_first = self
            .agents
            .fallbacks
            .substitutions
            .entry(attempt.task)
            .or_default()
            .fallback
            .lose(&attempt.agent);
        let may_go_on = is_first && self.over_task_budget_with(attempt, spent).is_none();
        may_go_on.then(|| self.next_step(attempt.task))?
    }

    pub(super) fn go_another_way(
        &mut self,
        mut attempt: RunningAttempt,
        way: Continuation,
        what: &str,
        why: &str,
    ) -> Result<(), RunError> {
        let task = attempt.task;
        self.keep_checkout(&mut attempt)?;
        self.attempts.free_slot(&attempt);
        let wait = match way {
            Continuation::Other(other) => {
                let text = format!("`{}` {what}: `{other}` takes it", attempt.agent);
                self.remark_kind(Some(task), RemarkKind::Fallback, text)?;
                Duration::ZERO
            }
            Continuation::Wait(wait) => wait,
        };
        if let Some(substitution) = self.agents.fallbacks.substitutions.get_mut(&task) {
            substitution.keeps_agent = true;
        }
        self.waits.rests.plan(task, wait, why.to_owned());
        self.happened(ScheduleEvent::Deferred { task });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{self, AttemptEndRecord, Outcome, RunEvent, RunRecord};

    #[test]
    fn the_last_limit_of_the_provider_counts() {
        let now = clock::milliseconds_of("2026-11-16T10:30:00.000Z").expect("a time");
        let instant = clock::instant();
        let hours = |n: u64| n * 3_600_000;
        let record = |time: &str, event: RunEvent| RunRecord {
            seq: 1,
            time: format!("2026-11-16T{time}:00.000Z"),
            event,
        };
        let starting = RunEvent::AttemptStarting(runs::AttemptRecord {
            task: "t1".to_owned(),
            agent: "one".to_owned(),
            ..runs::AttemptRecord::default()
        });
        let limited = |limited_for: Option<u64>| {
            RunEvent::AttemptEnded(AttemptEndRecord {
                task: "t1".to_owned(),
                outcome: Outcome::RateLimited,
                limited_for,
                ..AttemptEndRecord::default()
            })
        };
        let mut records = vec![record("10:00", starting), record("10:00", limited(Some(hours(5))))];
        let until = |records: &[RunRecord]| limits_of(&RunState::of(records), now, instant).get("one").copied();
        assert_eq!(until(&records), Some(instant + Duration::from_secs(9 * 1800)));
        records.push(record("10:10", limited(Some(hours(1)))));
        assert_eq!(until(&records), Some(instant + Duration::from_secs(40 * 60)));
        records.push(record("10:20", limited(None)));
        assert_eq!(until(&records), None);
        records.push(record("10:25", limited(Some(60_000))));
        assert_eq!(until(&records), None, "the minute is over");
    }
}
