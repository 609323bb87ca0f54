//! What becomes of tasks whose agent cannot take them at the moment: they go to whom the configuration names in its place, or wait;
//! the attempt does not count either way. Until when a limit holds that an agent was told of is known to the whole run: no other
//! task is started just to hear the same.

use std::time::Duration;

use planwright_core::schedule::Event;

use super::super::RunError;
use super::super::attempt::Attempt;
use super::RunLoop;
use crate::clock;
use crate::config::{Agent, chain_of};
use crate::fallback::{Fallback, MAX_BACKOFF, MAX_WAITS, Way};

/// Who takes a task in whose place.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Who was to take it.
    first: String,
    /// Whether the last attempt did not count, so that nobody chooses anew.
    goes_on: bool,
    /// Who can take it.
    relay: Fallback,
}

impl RunLoop<'_> {
    /// Returns whether a task goes on with who was chosen before.
    pub(super) fn goes_on(&self, task: u32) -> bool {
        self.turns.get(&task).is_some_and(|turn| turn.goes_on)
    }

    /// Returns who takes the next attempt at a task, and in whose place, where `chosen` would.
    pub(super) fn runner_for(&mut self, task: u32, chosen: String) -> (String, Option<String>) {
        let turn = self.turns.entry(task).or_default();
        if !std::mem::take(&mut turn.goes_on) {
            turn.first = chosen;
        }
        let first = turn.first.clone();
        match self.next_runner(task) {
            Some(runner) if runner != first => (runner, Some(first)),
            _ => (first, None),
        }
    }

    /// Returns those who could take a task, the first of them first.
    fn chain<'s>(&'s self, turn: &'s Turn) -> Vec<&'s str> {
        let agents = &self.request.config.agents;
        let root = self.root();
        let has_program = |agent: &Agent| agent.find_program(&root).is_some();
        let is_there = |name: &&str| *name == turn.first || agents.get(*name).is_some_and(has_program);
        chain_of(agents, &turn.first).into_iter().filter(is_there).collect()
    }

    /// Returns who of those that could take a task is free.
    fn next_runner(&self, task: u32) -> Option<String> {
        let turn = self.turns.get(&task)?;
        let next = turn.relay.next(&self.chain(turn), &self.limits, clock::instant());
        next.map(str::to_owned)
    }

    /// Has a task wait that is to begin with `chosen`, where that one and all that could take its place were told to wait. Returns
    /// whether it does.
    pub(super) fn waits_for_agent(&mut self, task: u32, chosen: &str) -> bool {
        let mut turn = self.turns.remove(&task).unwrap_or_default();
        if !turn.goes_on {
            turn.first = chosen.to_owned();
        }
        let wait = turn
            .relay
            .blocked_for(&self.chain(&turn), &self.limits, clock::instant());
        if let Some(wait) = wait {
            turn.goes_on = true;
            let why = format!("`{}` is held up by its provider", turn.first);
            self.rests.insert(task, (wait, why));
            self.happened(Event::Deferred { task });
        }
        self.turns.insert(task, turn);
        wait.is_some()
    }

    /// Returns how a task goes on whose agent cannot take it now; none where nobody can be waited for.
    fn way_on(&mut self, task: u32) -> Option<Way> {
        if let Some(other) = self.next_runner(task) {
            return Some(Way::Other(other));
        }
        let Turn { first, relay, .. } = self.turns.get_mut(&task)?;
        let chain = chain_of(&self.request.config.agents, first);
        let (wait, _) = relay.pause(&chain, &self.limits, clock::instant(), self.request.config.run.backoff)?;
        Some(Way::Wait(wait))
    }

    /// The provider had enough for now, and said for how long or did not. The attempt does not count, and the task stays under way.
    pub(super) fn deferred(&mut self, attempt: Attempt, wait: Option<Duration>, why: &str) -> Result<(), RunError> {
        let task = attempt.task;
        let relay = &mut self.turns.entry(task).or_default().relay;
        relay.limit(&attempt.agent, wait, &mut self.limits, clock::instant());
        if relay.has_waited_enough() {
            let why = format!("its provider's limit was reached {MAX_WAITS} times: {why}");
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
        let is_first = self.turns.entry(attempt.task).or_default().relay.lose(&attempt.agent);
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
        if let Some(turn) = self.turns.get_mut(&task) {
            turn.goes_on = true;
        }
        self.rests.insert(task, (wait, why.to_owned()));
        self.happened(Event::Deferred { task });
        Ok(())
    }
}
