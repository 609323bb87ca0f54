//! Agents that cannot take a task at the moment: their providers' limits are reached, or they are broken. The task goes to whom
//! the configuration names in their place, or waits; its attempt does not count either way. Until when a limit holds that an agent
//! was told of is known to the whole run: no other task is started just to hear the same.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use planwright_core::agent::clock_time_in;
use planwright_core::schedule::Event;

use super::super::RunError;
use super::super::attempt::Attempt;
use super::super::past::{HeldUp, MAX_PROVIDER_WAIT};
use super::super::staff::is_there;
use super::Floor;
use super::outcomes::MAX_BACKOFF;
use crate::clock;
use crate::config::chain_of;

/// How often a task waits for its providers' limits, before that counts as a failure.
const MAX_DEFERRALS: u32 = 48;

/// Who takes a task in whose place.
#[derive(Debug, Default)]
pub(super) struct Relay {
    /// Who was to take it.
    first: String,
    /// Whether the last attempt did not count, so that nobody chooses anew.
    goes_on: bool,
    /// Agents whose limit was reached.
    limited: BTreeSet<String>,
    /// Those of them that were tried since the task has waited last.
    tried: BTreeSet<String>,
    /// Agents that could not work.
    broken: BTreeSet<String>,
    /// How often the task has waited.
    n_waits: u32,
}

/// How a task goes on whose attempt does not count.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// At once, with another agent.
    Other(String),
    /// Later.
    Wait(Duration),
}

impl Relay {
    /// Returns whether an agent could take the task now, by all that is known of it.
    fn is_free(&self, agent: &str, held_up: &HeldUp, now: Instant) -> bool {
        let is_held_up = held_up.get(agent).is_some_and(|until| *until > now);
        !is_held_up && !self.tried.contains(agent) && !self.broken.contains(agent)
    }

    /// Returns who of a chain takes the task now.
    fn next<'a>(&self, chain: &[&'a str], held_up: &HeldUp, now: Instant) -> Option<&'a str> {
        chain.iter().copied().find(|agent| self.is_free(agent, held_up, now))
    }

    /// Returns how long to wait until one of a chain may be free; none where nobody's limit was reached. Who was not told how
    /// long waits for `usual`.
    fn wait(&self, chain: &[&str], held_up: &HeldUp, now: Instant, usual: Duration) -> Option<Duration> {
        let limited = chain.iter().filter(|agent| !self.broken.contains(**agent));
        let waits = limited.filter_map(|agent| match held_up.get(*agent) {
            Some(until) => Some(until.saturating_duration_since(now)),
            None => self.limited.contains(*agent).then_some(usual),
        });
        waits.min()
    }

    /// Returns how long nobody of a chain can take the task, by what they were told; none where somebody should be asked.
    fn hold_up(&self, chain: &[&str], held_up: &HeldUp, now: Instant) -> Option<Duration> {
        if self.next(chain, held_up, now).is_some() {
            return None;
        }
        let able = chain.iter().filter(|agent| !self.broken.contains(**agent));
        let waits = able.filter_map(|agent| held_up.get(*agent)?.checked_duration_since(now));
        waits.min().filter(|wait| !wait.is_zero())
    }
}

impl Floor<'_> {
    /// Returns whether a task goes on with who was chosen before.
    pub(super) fn goes_on(&self, task: u32) -> bool {
        self.relays.get(&task).is_some_and(|relay| relay.goes_on)
    }

    /// Returns who takes the next attempt at a task, and in whose place, where `chosen` would.
    pub(super) fn runner_for(&mut self, task: u32, chosen: String) -> (String, Option<String>) {
        let relay = self.relays.entry(task).or_default();
        if !std::mem::take(&mut relay.goes_on) {
            relay.first = chosen;
        }
        let first = relay.first.clone();
        match self.next_runner(task) {
            Some(runner) if runner != first => (runner, Some(first)),
            _ => (first, None),
        }
    }

    /// Returns those who could take a task, the first of them first.
    fn chain<'s>(&'s self, relay: &'s Relay) -> Vec<&'s str> {
        let agents = &self.order.config.agents;
        let root = self.root();
        let is_there =
            |name: &&str| *name == relay.first || agents.get(*name).is_some_and(|agent| is_there(agent, &root));
        chain_of(agents, &relay.first).into_iter().filter(is_there).collect()
    }

    /// Returns who of those that could take a task is free.
    fn next_runner(&self, task: u32) -> Option<String> {
        let relay = self.relays.get(&task)?;
        let chain = self.chain(relay);
        relay.next(&chain, &self.held_up, clock::instant()).map(str::to_owned)
    }

    /// Has a task wait that is to begin with `chosen`, where that one and all that could take its place were told to wait. Returns
    /// whether it does.
    pub(super) fn waits_for_agent(&mut self, task: u32, chosen: &str) -> bool {
        let mut relay = self.relays.remove(&task).unwrap_or_default();
        if !relay.goes_on {
            relay.first = chosen.to_owned();
        }
        let wait = relay.hold_up(&self.chain(&relay), &self.held_up, clock::instant());
        if let Some(wait) = wait {
            relay.goes_on = true;
            let why = format!("`{}` is held up by its provider", relay.first);
            self.rests.insert(task, (wait, why));
            self.happened(Event::Deferred { task });
        }
        self.relays.insert(task, relay);
        wait.is_some()
    }

    /// Returns how a task goes on whose agent cannot take it now; none where nobody can be waited for.
    fn way_on(&mut self, task: u32) -> Option<Way> {
        if let Some(other) = self.next_runner(task) {
            return Some(Way::Other(other));
        }
        let backoff = self.order.config.run.backoff;
        let relay = self.relays.get_mut(&task)?;
        let grown = backoff.saturating_mul(1 << relay.n_waits.min(10)).min(MAX_BACKOFF);
        let chain = chain_of(&self.order.config.agents, &relay.first);
        let wait = relay.wait(&chain, &self.held_up, clock::instant(), grown)?;
        // Whoever's time has come is asked again then.
        relay.tried.clear();
        relay.n_waits += 1;
        Some(Way::Wait(wait))
    }

    /// The provider had enough for now, and said for how long or did not. The attempt does not count, and the task stays under way.
    pub(super) fn deferred(&mut self, attempt: Attempt, wait: Option<Duration>, why: &str) -> Result<(), RunError> {
        let task = attempt.task;
        match wait {
            Some(wait) => self.held_up.insert(attempt.agent.clone(), clock::instant() + wait),
            None => self.held_up.remove(&attempt.agent),
        };
        let relay = self.relays.entry(task).or_default();
        relay.limited.insert(attempt.agent.clone());
        relay.tried.insert(attempt.agent.clone());
        if relay.n_waits >= MAX_DEFERRALS {
            let why = format!("its provider's limit was reached {MAX_DEFERRALS} times: {why}");
            return self.fail(attempt, &why, false);
        }
        if let Some(spent) = self.over_task_budget(&attempt.name) {
            self.remark(Some(task), format!("{spent}: it is not tried again"))?;
            return self.fail(attempt, &format!("{spent}; {why}"), false);
        }
        let way = self.way_on(task).unwrap_or(Way::Wait(MAX_BACKOFF));
        self.go_another_way(attempt, way, "is held up by its provider", why)
    }

    /// Takes note that an agent could not work. Returns how the task goes on without that counting: the first time, and where
    /// there is another agent.
    pub(super) fn way_around(&mut self, attempt: &Attempt) -> Option<Way> {
        let relay = self.relays.entry(attempt.task).or_default();
        let is_first = relay.broken.insert(attempt.agent.clone());
        let may_go_on = is_first && self.over_task_budget(&attempt.name).is_none();
        may_go_on.then(|| self.way_on(attempt.task))?
    }

    /// Has a task go on with another agent, or wait.
    pub(super) fn go_another_way(
        &mut self,
        mut attempt: Attempt,
        way: Way,
        what: &str,
        why: &str,
    ) -> Result<(), RunError> {
        let task = attempt.task;
        self.keep_tree(&mut attempt)?;
        self.free_slot(&attempt);
        let wait = match way {
            Way::Other(other) => {
                self.remark(Some(task), format!("`{}` {what}: `{other}` takes it", attempt.agent))?;
                Duration::ZERO
            }
            Way::Wait(wait) => wait,
        };
        if let Some(relay) = self.relays.get_mut(&task) {
            relay.goes_on = true;
        }
        self.rests.insert(task, (wait, why.to_owned()));
        self.happened(Event::Deferred { task });
        Ok(())
    }
}

/// Returns how long a provider wants to be waited for, where that is said: in seconds, or as a time of day among its words.
pub(super) fn told_wait(seconds: Option<u64>, why: &str) -> Option<Duration> {
    let seconds = seconds.or_else(|| clock::seconds_until(clock_time_in(why)?))?;
    Some(Duration::from_secs(seconds).min(MAX_PROVIDER_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay(limited: &[(&str, Option<u64>)], now: Instant) -> (Relay, HeldUp) {
        let relay = Relay {
            limited: limited.iter().map(|(agent, _)| (*agent).to_owned()).collect(),
            ..Relay::default()
        };
        let told = limited
            .iter()
            .filter_map(|(agent, wait)| Some(((*agent).to_owned(), now + Duration::from_secs((*wait)?))));
        (relay, told.collect())
    }

    #[test]
    fn the_first_of_the_chain_that_is_free_takes_it() {
        let now = clock::instant();
        let chain = ["a", "b", "c"];
        let (mut relay, held_up) = relay(&[("a", Some(60)), ("b", None)], now);
        assert_eq!(relay.next(&chain, &held_up, now), Some("b"));
        relay.tried.insert("b".to_owned());
        assert_eq!(relay.next(&chain, &held_up, now), Some("c"));
        relay.broken.insert("c".to_owned());
        assert_eq!(relay.next(&chain, &held_up, now), None);
        assert_eq!(relay.next(&chain, &held_up, now + Duration::from_secs(60)), Some("a"));
    }

    #[test]
    fn a_task_that_met_no_limit_waits_for_agents_that_were_told_of_one() {
        let now = clock::instant();
        let (_, held_up) = relay(&[("a", Some(60)), ("b", Some(5))], now);
        let mut other = Relay::default();
        let hold_up = |relay: &Relay, chain: &[&str], after: u64| {
            relay
                .hold_up(chain, &held_up, now + Duration::from_secs(after))
                .map(|wait| wait.as_secs())
        };
        assert_eq!(hold_up(&other, &["a", "b"], 0), Some(5));
        assert_eq!(hold_up(&other, &["a", "b"], 5), None);
        assert_eq!(hold_up(&other, &["a", "b", "c"], 0), None);
        other.broken.insert("b".to_owned());
        assert_eq!(hold_up(&other, &["a", "b"], 0), Some(60));
        // Who is broken is waited for by nobody.
        assert_eq!(hold_up(&other, &["b"], 0), None);
    }

    #[test]
    fn the_shortest_wait_of_the_chain_counts() {
        let now = clock::instant();
        let usual = Duration::from_secs(10);
        let wait = |limited: &[(&str, Option<u64>)]| {
            let (relay, held_up) = relay(limited, now);
            relay.wait(&["a", "b"], &held_up, now, usual)
        };
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[("a", Some(60)), ("b", Some(5))]), Some(Duration::from_secs(5)));
        assert_eq!(wait(&[("a", Some(60)), ("b", None)]), Some(usual));
        assert_eq!(wait(&[("a", Some(60)), ("z", Some(1))]), Some(Duration::from_secs(60)));
        let (mut broken, held_up) = relay(&[("a", Some(60)), ("b", Some(5))], now);
        broken.broken.insert("b".to_owned());
        assert_eq!(
            broken.wait(&["a", "b"], &held_up, now, usual),
            Some(Duration::from_secs(60))
        );
    }
}
