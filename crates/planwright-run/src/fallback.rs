//! Agents that cannot work now: decides which agent takes over and how long to wait, for runs and planners.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use planwright_core::agent::clock_time_in;

use crate::clock;

/// The longest single wait for a provider.
pub(crate) const MAX_PROVIDER_WAIT: Duration = Duration::from_secs(6 * 3600);

/// The longest wait if the provider gives no duration, unless the configuration has a longer one.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(600);

/// How many waits for rate limits are allowed before the task fails.
pub(crate) const MAX_WAITS: u32 = 48;

/// Until when providers refuse requests of agents, if known.
pub(crate) type ProviderLimits = BTreeMap<String, Instant>;

/// How work continues if its agent cannot take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// At once, with another agent.
    Other(String),
    Wait(Duration),
}

/// Which agents can take a piece of work, based on its attempts so far.
#[derive(Debug, Default)]
pub(crate) struct Fallback {
    /// The agents that were rate limited.
    limited: BTreeSet<String>,
    /// The rate-limited agents that were tried since the last wait.
    tried: BTreeSet<String>,
    /// Agents that could not work.
    broken: BTreeSet<String>,
    n_waits: u32,
}

impl Fallback {
    /// Records that an agent is rate limited, for a known duration or not.
    pub(crate) fn limit(&mut self, agent: &str, wait: Option<Duration>, limits: &mut ProviderLimits, now: Instant) {
        match wait {
            Some(wait) => limits.insert(agent.to_owned(), now + wait),
            None => limits.remove(agent),
        };
        self.limited.insert(agent.to_owned());
        self.tried.insert(agent.to_owned());
    }

    /// Records that an agent could not work. Returns whether that is new.
    pub(crate) fn lose(&mut self, agent: &str) -> bool {
        self.broken.insert(agent.to_owned())
    }

    /// Returns whether the number of waits has reached its limit.
    pub(crate) fn has_waited_enough(&self) -> bool {
        self.n_waits >= MAX_WAITS
    }

    /// Returns whether an agent could take the work now, as far as known.
    fn is_free(&self, agent: &str, limits: &ProviderLimits, now: Instant) -> bool {
        let is_held_up = limits.get(agent).is_some_and(|until| *until > now);
        !is_held_up && !self.tried.contains(agent) && !self.broken.contains(agent)
    }

    /// Returns the first agent of a chain that can take the work now.
    pub(crate) fn next<'a>(&self, chain: &[&'a str], limits: &ProviderLimits, now: Instant) -> Option<&'a str> {
        chain.iter().copied().find(|agent| self.is_free(agent, limits, now))
    }

    /// Has the work wait for the rate-limited agents of a chain. Returns for how long and for which agent; none if there is no agent to
    /// wait for.
    pub(crate) fn pause<'a>(
        &mut self,
        chain: &[&'a str],
        limits: &ProviderLimits,
        now: Instant,
        backoff: Duration,
    ) -> Option<(Duration, &'a str)> {
        let found = self.wait(chain, limits, now, grown(backoff, self.n_waits))?;
        // These agents are tried again after their wait.
        self.tried.clear();
        self.n_waits += 1;
        Some(found)
    }

    /// Returns how long to wait until an agent of a chain may be free, and which; none if none was rate limited. An agent without a known
    /// duration waits for `usual`.
    fn wait<'a>(
        &self,
        chain: &[&'a str],
        limits: &ProviderLimits,
        now: Instant,
        usual: Duration,
    ) -> Option<(Duration, &'a str)> {
        let limited = chain.iter().copied().filter(|agent| !self.broken.contains(*agent));
        let waits = limited.filter_map(|agent| match limits.get(agent) {
            Some(until) => Some((until.saturating_duration_since(now), agent)),
            None => self.limited.contains(agent).then_some((usual, agent)),
        });
        waits.min_by_key(|(wait, _)| *wait)
    }

    /// Returns how long no agent of a chain can take the work, by their rate limits; none if one should be tried.
    pub(crate) fn blocked_for(&self, chain: &[&str], limits: &ProviderLimits, now: Instant) -> Option<Duration> {
        if self.next(chain, limits, now).is_some() {
            return None;
        }
        let able = chain.iter().filter(|agent| !self.broken.contains(**agent));
        let waits = able.filter_map(|agent| limits.get(*agent)?.checked_duration_since(now));
        waits.min().filter(|wait| !wait.is_zero())
    }
}

/// Returns the wait if the provider gives no duration: doubled each time, up to a limit.
pub(crate) fn grown(backoff: Duration, n_before: u32) -> Duration {
    let doubled = backoff.saturating_mul(1 << n_before.min(10));
    doubled.min(MAX_BACKOFF.max(backoff))
}

/// Returns the wait that a provider asks for, if any: in seconds, or as a time of day in its message.
pub(crate) fn reported_wait(seconds: Option<u64>, why: &str) -> Option<Duration> {
    let seconds = seconds.or_else(|| clock::seconds_until(clock_time_in(why)?))?;
    Some(Duration::from_secs(seconds).min(MAX_PROVIDER_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fallback_of(limited: &[(&str, Option<u64>)], now: Instant) -> (Fallback, ProviderLimits) {
        let fallback = Fallback {
            limited: limited.iter().map(|(agent, _)| (*agent).to_owned()).collect(),
            ..Fallback::default()
        };
        let waits = limited
            .iter()
            .filter_map(|(agent, wait)| Some(((*agent).to_owned(), now + Duration::from_secs((*wait)?))));
        (fallback, waits.collect())
    }

    #[test]
    fn the_first_free_agent_of_the_chain_takes_the_task() {
        let now = Instant::now();
        let chain = ["a", "b", "c"];
        let (mut fallback, limits) = fallback_of(&[("a", Some(60)), ("b", None)], now);
        assert_eq!(fallback.next(&chain, &limits, now), Some("b"));
        fallback.tried.insert("b".to_owned());
        assert_eq!(fallback.next(&chain, &limits, now), Some("c"));
        fallback.broken.insert("c".to_owned());
        assert_eq!(fallback.next(&chain, &limits, now), None);
        assert_eq!(fallback.next(&chain, &limits, now + Duration::from_secs(60)), Some("a"));
    }

    #[test]
    fn a_task_waits_for_limits_that_other_tasks_met() {
        let now = Instant::now();
        let (_, limits) = fallback_of(&[("a", Some(60)), ("b", Some(5))], now);
        let mut other = Fallback::default();
        let blocked_for = |fallback: &Fallback, chain: &[&str], after: u64| {
            fallback
                .blocked_for(chain, &limits, now + Duration::from_secs(after))
                .map(|wait| wait.as_secs())
        };
        assert_eq!(blocked_for(&other, &["a", "b"], 0), Some(5));
        assert_eq!(blocked_for(&other, &["a", "b"], 5), None);
        assert_eq!(blocked_for(&other, &["a", "b", "c"], 0), None);
        other.broken.insert("b".to_owned());
        assert_eq!(blocked_for(&other, &["a", "b"], 0), Some(60));
        // No task waits for a broken agent.
        assert_eq!(blocked_for(&other, &["b"], 0), None);
    }

    #[test]
    fn the_shortest_wait_of_the_chain_counts() {
        let now = Instant::now();
        let usual = Duration::from_secs(10);
        let wait = |limited: &[(&str, Option<u64>)]| {
            let (fallback, limits) = fallback_of(limited, now);
            fallback.wait(&["a", "b"], &limits, now, usual).map(|(wait, _)| wait)
        };
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[("a", Some(60)), ("b", Some(5))]), Some(Duration::from_secs(5)));
        assert_eq!(wait(&[("a", Some(60)), ("b", None)]), Some(usual));
        assert_eq!(wait(&[("a", Some(60)), ("z", Some(1))]), Some(Duration::from_secs(60)));
        let (mut broken, limits) = fallback_of(&[("a", Some(60)), ("b", Some(5))], now);
        broken.broken.insert("b".to_owned());
        assert_eq!(
            broken.wait(&["a", "b"], &limits, now, usual),
            Some((Duration::from_secs(60), "a"))
        );
    }

    #[test]
    fn waits_grow_to_ten_minutes_unless_the_user_wants_longer_ones() {
        for (backoff, n_before, wait) in [
            (10, 0, 10),
            (10, 3, 80),
            (10, 6, 600),
            (10, 4_000_000_000, 600),
            (1_200, 0, 1_200),
            (1_200, 5, 1_200),
            (0, 9, 0),
        ] {
            let grown = grown(Duration::from_secs(backoff), n_before);
            assert_eq!(grown.as_secs(), wait, "{backoff} after {n_before}");
        }
    }
}
