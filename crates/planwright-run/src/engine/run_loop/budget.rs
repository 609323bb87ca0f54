//! Checks the expenses of a run and its tasks against their budgets.

use std::time::Instant;

use planwright_core::schedule::ScheduleEvent;

use super::super::RunError;
use super::super::attempt::RunningAttempt;
use super::super::budget::{Admission, BudgetScope, Reservation, admit};
use super::super::prepare::SPENT;
use super::RunLoop;
use crate::clock;
use crate::runs::state::AttemptRun;
use crate::runs::{RemarkKind, RunEvent, Spent};

/// When the run started or was resumed: its time is measured, not read from the log.
pub(super) struct RunClock {
    began: Instant,
}

impl RunClock {
    pub(super) fn start() -> Self {
        RunClock {
            began: clock::instant(),
        }
    }

    /// Returns the milliseconds since the run started or was resumed.
    pub(super) fn milliseconds(&self) -> u64 {
        u64::try_from(clock::since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

impl RunLoop<'_> {
    /// Returns whether an attempt of an agent fits the budget in addition to the active ones.
    fn admission(&self, agent: &str) -> Admission {
        let budget = &self.request.config.run.budgets.run;
        admit(
            budget,
            &self.all_spent(),
            &self.attempts.reserved(),
            self.estimate(agent),
        )
    }

    /// Returns the highest cost of an agent's attempt in this run; none if no attempt has reported one.
    fn estimate(&self, agent: &str) -> Option<Reservation> {
        let attempts = self.state().tasks().iter().flat_map(|task| &task.attempts);
        // An attempt that reports no cost predicts nothing about the next one.
        let is_nothing = |attempt: &&AttemptRun| {
            attempt.report.cost_usd == Some(0.0) && self.request.config.run.budgets.run.cost.is_some()
        };
        let priced = attempts.filter(|attempt| attempt.agent == agent && reports_cost(attempt) && !is_nothing(attempt));
        let costs = priced.map(|attempt| Reservation {
            cost: attempt.report.cost_usd.unwrap_or(0.0),
            tokens: attempt
                .report
                .tokens
                .map_or(0, |[sent, received]| sent.saturating_add(received)),
        });
        costs.reduce(Reservation::max)
    }

    /// Returns the reservation for an attempt that starts now.
    pub(super) fn reservation(&self, agent: &str) -> Reservation {
        match self.admission(agent) {
            Admission::Begins(reservation) => reservation,
            // A fallback agent takes the task: it may cost as much as it did before.
            Admission::Waits(_) | Admission::Refused(_) => self.estimate(agent).unwrap_or_default(),
        }
    }

    /// Returns why the run's budget does not allow a task to start; none if it does. Work that is already verified needs no agent.
    pub(super) fn held_by_budget(&self, task: u32) -> Option<Admission> {
        let budget = &self.request.config.run.budgets.run;
        if (budget.cost, budget.tokens) == (None, None) || self.landing.has_unlanded(task) {
            return None;
        }
        let agent = self
            .agents
            .arbiter
            .decision(task)
            .unwrap_or_else(|| self.agents.chosen.of_task(task));
        match self.admission(&agent) {
            Admission::Begins(_) => None,
            held => Some(held),
        }
    }

    pub(super) fn wait_for_budget(&mut self, task: u32, why: &str) -> Result<(), RunError> {
        let is_new = self.waits.budget.insert(task, why.to_owned()).is_none();
        match is_new {
            true => self.remark_kind(Some(task), RemarkKind::AwaitsBudget, why.to_owned()),
            false => Ok(()),
        }
    }

    pub(super) fn end_budget_wait(&mut self, task: u32) {
        self.waits.budget.remove(&task);
    }

    /// Ends the run if nothing is active and no ready task fits the budget.
    pub(super) fn stop_without_room(&mut self, refused: Option<String>) -> bool {
        let is_idle = self.attempts.n_under_way() == 0 && self.landing.is_idle() && self.agents.arbiter.is_idle();
        let Some(why) =
            refused.filter(|_| is_idle && self.waits.rests.next().is_none() && self.tasks.schedule.stop().is_none())
        else {
            return false;
        };
        self.user.stops.explain(|| why);
        self.happened(ScheduleEvent::Spent { units: SPENT });
        true
    }

    /// Records an event with a cost, and stops starting tasks when the budget is spent.
    pub(super) fn record_cost(&mut self, event: RunEvent) -> Result<(), RunError> {
        self.record(event)?;
        self.check_budget();
        Ok(())
    }

    /// Stops starting tasks when the run's budget is spent.
    pub(super) fn check_budget(&mut self) {
        let budget = &self.request.config.run.budgets.run;
        if budget.is_open() || self.tasks.schedule.stop().is_some() {
            return;
        }
        if let Some(why) = self.all_spent().over_run(budget) {
            self.user.stops.explain(|| why);
            self.happened(ScheduleEvent::Spent { units: SPENT });
        }
    }

    /// Returns everything that the command has spent, including on earlier versions of the plan.
    pub(super) fn all_spent(&self) -> Spent {
        let state = self.state();
        let mut spent = state.spent.with(&state.earlier);
        spent.pass(self.waits.clock.milliseconds());
        spent
    }

    pub(super) fn over_task_budget(&self, attempt: &RunningAttempt) -> Option<String> {
        self.over_task_budget_with(attempt, &Spent::default())
    }

    /// Returns which part of a task's budget is used up, including an attempt that is not recorded yet.
    pub(super) fn over_task_budget_with(&self, attempt: &RunningAttempt, more: &Spent) -> Option<String> {
        let task = self.state().task_of_attempt(&attempt.name, attempt.number);
        let spent = task.map_or_else(|| more.clone(), |task| task.spent.with(more));
        spent.over(&self.request.config.run.budgets.task, BudgetScope::Task)
    }

    /// Returns whether nothing starts because the active attempts may use up the remaining ones. An attempt that does not count leaves room
    /// for another.
    pub(super) fn awaits_attempts(&self) -> bool {
        let n_under_way = (self.attempts.n_under_way() + self.landing.n_queued()) as u64;
        let state = self.state();
        let n_made = state.spent.n_attempts.saturating_add(state.earlier.n_attempts);
        let is_taken = |most: u64| n_made.saturating_add(n_under_way) >= most;
        n_under_way > 0 && self.request.config.run.budgets.run.attempts.is_some_and(is_taken)
    }
}

/// Returns whether the end of an attempt shows what attempts of its agent cost. One that a provider refused, or that was ended early, costs
/// less than others.
fn reports_cost(attempt: &AttemptRun) -> bool {
    let is_whole = attempt.outcome.as_ref().is_some_and(crate::runs::Outcome::counts);
    let has_cost = attempt.report.cost_usd.is_some() || attempt.report.tokens.is_some();
    // An attempt that landed later, or never had a process, has no time of its own.
    has_cost || is_whole && attempt.report.milliseconds.is_some()
}
