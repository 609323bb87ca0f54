//! What a run and its tasks have spent, held against their budgets.

use std::time::Instant;

use planwright_core::schedule::Event;

use super::super::RunError;
use super::super::attempt::Attempt;
use super::super::budget::BudgetScope;
use super::super::prepare::SPENT;
use super::RunLoop;
use crate::clock;
use crate::runs::{RunEvent, Spent};

/// When the run began or continued: its time is measured, not read from the log.
pub(super) struct RunClock {
    began: Instant,
}

impl RunClock {
    pub(super) fn start() -> Self {
        RunClock {
            began: clock::instant(),
        }
    }

    /// Returns the milliseconds since the run began or continued.
    pub(super) fn milliseconds(&self) -> u64 {
        u64::try_from(clock::since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

impl RunLoop<'_> {
    /// Records something that costs, and starts nothing new when the budget is spent.
    pub(super) fn record_cost(&mut self, event: RunEvent) -> Result<(), RunError> {
        self.record(event)?;
        self.check_budget();
        Ok(())
    }

    /// Starts nothing new when the run's budget is spent.
    pub(super) fn check_budget(&mut self) {
        let budget = &self.request.config.run.budget;
        if budget.is_open() || self.schedule.stop().is_some() {
            return;
        }
        if let Some(why) = self.all_spent().over_run(budget) {
            self.stops.explain(|| why);
            self.happened(Event::Spent { units: SPENT });
        }
    }

    /// Returns what was spent until now by the command that runs, on earlier versions of the plan as well.
    pub(super) fn all_spent(&self) -> Spent {
        let state = self.state();
        let mut spent = state.spent.with(&state.earlier);
        spent.pass(self.clock.milliseconds());
        spent
    }

    /// Returns which part of the budget of an attempt's task is spent, in words.
    pub(super) fn over_task_budget(&self, attempt: &Attempt) -> Option<String> {
        self.over_task_budget_with(attempt, &Spent::default())
    }

    /// Returns the same with what an attempt spent that is not recorded yet.
    pub(super) fn over_task_budget_with(&self, attempt: &Attempt, more: &Spent) -> Option<String> {
        let task = self.state().task_of_attempt(&attempt.name, attempt.number);
        let spent = task.map_or_else(|| more.clone(), |task| task.spent.with(more));
        spent.over(&self.request.config.run.task_budget, BudgetScope::Task)
    }

    /// Returns whether nothing begins for now because what is under way may use up the attempts that are left. One of them that
    /// does not count leaves room for another.
    pub(super) fn awaits_attempts(&self) -> bool {
        let n_under_way = (self.attempts.n_under_way() + self.landing.n_queued()) as u64;
        let state = self.state();
        let n_made = state.spent.n_attempts.saturating_add(state.earlier.n_attempts);
        let is_taken = |most: u64| n_made.saturating_add(n_under_way) >= most;
        n_under_way > 0 && self.request.config.run.budget.attempts.is_some_and(is_taken)
    }
}
