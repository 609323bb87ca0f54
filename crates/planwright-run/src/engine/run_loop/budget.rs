//! What a run and its tasks have spent while it goes on, and what their budgets have to say about that.

use planwright_core::agent::Conclusion;
use planwright_core::schedule::Event;

use super::super::attempt::Attempt;
use super::super::budget::BudgetScope;
use super::super::prepare::SPENT;
use super::RunLoop;
use crate::clock;
use crate::runs::{self, Spent};
use crate::worker::Ended;

impl RunLoop<'_> {
    /// Keeps the books of what the run has spent.
    pub(super) fn spend(&mut self, cost_usd: Option<f64>, tokens: Option<[u64; 2]>) {
        self.spent.pay(cost_usd, tokens);
        self.heed_budget();
    }

    /// Keeps the books of what an agent has spent on a task.
    pub(super) fn spend_on(&mut self, task: &str, ended: &Ended, conclusion: &Conclusion) {
        let tokens = runs::tokens(conclusion.tokens_in, conclusion.tokens_out);
        let spent = self.spent_on.entry(task.to_owned()).or_default();
        spent.pay(conclusion.cost_usd, tokens);
        spent.pass(u64::try_from(clock::shown(ended.duration).as_millis()).unwrap_or(u64::MAX));
        self.spend(conclusion.cost_usd, tokens);
    }

    /// Counts an attempt that is over: it was none that does not count.
    pub(super) fn count_attempt(&mut self, attempt: &Attempt) {
        self.spent.n_attempts += 1;
        self.spent_on.entry(attempt.name.clone()).or_default().n_attempts += 1;
        self.heed_budget();
    }

    /// Has nothing new begin when the run's budget is spent.
    pub(super) fn heed_budget(&mut self) {
        let budget = &self.request.config.run.budget;
        if budget.is_open() || self.schedule.stop().is_some() {
            return;
        }
        if let Some(why) = self.all_spent().over_run(budget) {
            self.why_stopped.get_or_insert(why);
            self.happened(Event::Spent { units: SPENT });
        }
    }

    /// Returns what was spent until now by the command that runs, on earlier versions of the plan as well.
    pub(super) fn all_spent(&self) -> Spent {
        let mut spent = self.spent.with(&self.earlier);
        spent.pass(u64::try_from(clock::since(self.began).as_millis()).unwrap_or(u64::MAX));
        spent
    }

    /// Returns which part of a task's budget is spent, in words.
    pub(super) fn over_task_budget(&self, task: &str) -> Option<String> {
        let nothing = Spent::default();
        let spent = self.spent_on.get(task).unwrap_or(&nothing);
        spent.over(&self.request.config.run.task_budget, BudgetScope::Task)
    }

    /// Returns whether nothing begins for now because what is under way may use up the attempts that are left. One of them that
    /// does not count leaves room for another.
    pub(super) fn awaits_attempts(&self) -> bool {
        let n_under_way = (self.attempts.len() + self.spawning.len() + self.merges.len()) as u64;
        let n_made = self.spent.n_attempts.saturating_add(self.earlier.n_attempts);
        let is_taken = |most: u64| n_made.saturating_add(n_under_way) >= most;
        n_under_way > 0 && self.request.config.run.budget.attempts.is_some_and(is_taken)
    }
}
