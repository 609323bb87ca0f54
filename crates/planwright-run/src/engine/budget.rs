//! What a run or one of its tasks has spent, and which part of a budget that uses up. Knows no clock and no log.

use std::time::Duration;

use crate::config::Budget;
use crate::config::units::duration_text;
use crate::runs::Spent;

/// Whose budget it is: how a sentence about it begins, and the table of its settings.
#[derive(Clone, Copy, Debug)]
pub(super) enum BudgetScope {
    /// That of the whole run.
    Run,
    /// That of one task.
    Task,
}

impl BudgetScope {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            BudgetScope::Run => ("the budget", "run.budget"),
            BudgetScope::Task => ("its budget", "run.task_budget"),
        }
    }
}

impl Spent {
    /// Returns which part of the budget of a run is used up, in words; none where there is something left of all.
    pub fn over_run(&self, budget: &Budget) -> Option<String> {
        self.over(budget, BudgetScope::Run)
    }

    /// Returns which part of a budget is used up, in words that name the setting; none where there is something left of all.
    pub(super) fn over(&self, budget: &Budget, whose: BudgetScope) -> Option<String> {
        let n_tokens = self.tokens.map_or(0, |[sent, received]| sent.saturating_add(received));
        let passed = Duration::from_millis(self.milliseconds);
        let cost = budget.cost.filter(|most| self.cost_usd.unwrap_or(0.0) >= *most);
        let tokens = budget.tokens.filter(|most| n_tokens >= *most);
        let attempts = budget.attempts.filter(|most| self.n_attempts >= *most);
        let duration = budget.duration.filter(|most| passed >= *most);
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let spent = [
            cost.map(|most| (format!("${most:.2}"), "cost")),
            tokens.map(|most| (format!("{most} token{}", plural(most)), "tokens")),
            attempts.map(|most| (format!("{most} attempt{}", plural(most)), "attempts")),
            duration.map(|most| (duration_text(most), "duration")),
        ];
        let (most, setting) = spent.into_iter().flatten().next()?;
        let (subject, table) = whose.words();
        Some(format!("{subject} of {most} is spent ({table}.{setting})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_is_used_up_is_named() {
        let budget = Budget {
            cost: Some(0.5),
            tokens: Some(100),
            attempts: Some(1),
            duration: Some(Duration::from_secs(90)),
        };
        let mut spent = Spent::default();
        let over = |spent: &Spent| spent.over(&budget, BudgetScope::Task);
        assert_eq!(over(&spent), None);
        spent.pass(89_999);
        assert_eq!(over(&spent), None);
        spent.pass(1);
        assert_eq!(
            over(&spent).as_deref(),
            Some("its budget of 1m30s is spent (run.task_budget.duration)")
        );
        spent.n_attempts = 1;
        assert_eq!(
            over(&spent).as_deref(),
            Some("its budget of 1 attempt is spent (run.task_budget.attempts)")
        );
        spent.pay(None, Some([60, 40]));
        assert_eq!(
            over(&spent).as_deref(),
            Some("its budget of 100 tokens is spent (run.task_budget.tokens)")
        );
        spent.pay(Some(0.25), None);
        spent.pay(Some(0.25), None);
        assert_eq!(
            spent.over(&budget, BudgetScope::Run).as_deref(),
            Some("the budget of $0.50 is spent (run.budget.cost)")
        );
        assert_eq!(spent.over(&Budget::default(), BudgetScope::Run), None);
    }

    #[test]
    fn sums_do_not_overflow() {
        let mut spent = Spent::default();
        for _ in 0..2 {
            spent.pay(None, Some([u64::MAX, u64::MAX]));
            spent.pass(u64::MAX);
        }
        assert_eq!((spent.tokens, spent.milliseconds), (Some([u64::MAX; 2]), u64::MAX));
        let budget = Budget {
            tokens: Some(u64::MAX),
            ..Budget::default()
        };
        assert!(spent.over(&budget, BudgetScope::Run).is_some());
    }
}
