//! Compares the expenses of a run or a task with its budget, and decides whether another attempt fits. Knows no clock and no log.

use std::time::Duration;

use planwright_core::text::count;

use crate::config::Budget;
use crate::config::units::duration_text;
use crate::runs::Spent;

/// The owner of a budget: the start of a sentence about it, and its table of settings.
#[derive(Clone, Copy, Debug)]
pub(super) enum BudgetScope {
    Run,
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
    /// Returns which part of a run's budget is used up, in words; none if something is left of every part.
    pub fn over_run(&self, budget: &Budget) -> Option<String> {
        self.over(budget, BudgetScope::Run)
    }

    /// Returns which part of a budget is used up, in words that name the setting; none if something is left of every part.
    pub(super) fn over(&self, budget: &Budget, whose: BudgetScope) -> Option<String> {
        let n_tokens = self.tokens.map_or(0, |[sent, received]| sent.saturating_add(received));
        let passed = Duration::from_millis(self.milliseconds);
        let cost = budget.cost.filter(|most| self.cost_usd.unwrap_or(0.0) >= *most);
        let tokens = budget.tokens.filter(|most| n_tokens >= *most);
        let attempts = budget.attempts.filter(|most| self.n_attempts >= *most);
        let duration = budget.duration.filter(|most| passed >= *most);
        let spent = [
            cost.map(|most| (format!("${most:.2}"), "cost")),
            tokens.map(|most| (count(most, "token"), "tokens")),
            attempts.map(|most| (count(most, "attempt"), "attempts")),
            duration.map(|most| (duration_text(most), "duration")),
        ];
        let (most, setting) = spent.into_iter().flatten().next()?;
        let (subject, table) = whose.words();
        Some(format!("{subject} of {most} is spent ({table}.{setting})"))
    }
}

/// Money and tokens reserved for an attempt until its cost is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reservation {
    /// US dollars.
    pub(super) cost: f64,
    pub(super) tokens: u64,
}

impl Reservation {
    /// Returns the larger value of both for each currency.
    pub(super) fn max(self, other: Reservation) -> Self {
        Reservation {
            cost: self.cost.max(other.cost),
            tokens: self.tokens.max(other.tokens),
        }
    }
}

/// Whether the budget of a run allows another attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Admission {
    Begins(Reservation),
    /// Only after a running attempt has ended; why, in words.
    Waits(String),
    /// It does not fit even if nothing else runs; why, in words.
    Refused(String),
}

/// Decides whether an attempt may start. The money spent, the reservations of running attempts and its own estimate must fit the budget. An
/// attempt without an estimate may cost everything that is left, so it runs alone.
pub(super) fn admit(
    budget: &Budget,
    spent: &Spent,
    reserved: &[Reservation],
    estimate: Option<Reservation>,
) -> Admission {
    // Sums of decimal fractions are inexact.
    const TOLERANCE: f64 = 1e-9;
    // The sum of nothing would be minus zero.
    let reserved_cost = reserved.iter().fold(0.0, |sum, one| sum + one.cost);
    let reserved_tokens = reserved.iter().fold(0_u64, |sum, one| sum.saturating_add(one.tokens));
    let spent_cost = spent.cost_usd.unwrap_or(0.0);
    let spent_tokens = spent.tokens.map_or(0, |[sent, received]| sent.saturating_add(received));
    let free_cost = budget.cost.map(|most| most - spent_cost - reserved_cost);
    let free_tokens = budget
        .tokens
        .map(|most| most.saturating_sub(spent_tokens).saturating_sub(reserved_tokens));
    let setting = if budget.cost.is_some() { "cost" } else { "tokens" };
    let Some(estimate) = estimate else {
        if reserved.is_empty() || (free_cost, free_tokens) == (None, None) {
            return Admission::Begins(Reservation {
                cost: free_cost.unwrap_or(0.0).max(0.0),
                tokens: free_tokens.unwrap_or(0),
            });
        }
        return Admission::Waits(format!(
            "it waits for the budget: the cost of an attempt is unknown until the first one has ended (run.budget.{setting})"
        ));
    };
    let lacks_cost = free_cost.is_some_and(|free| estimate.cost > free + TOLERANCE);
    let lacks_tokens = free_tokens.is_some_and(|free| estimate.tokens > free);
    let why = match (lacks_cost, lacks_tokens) {
        (false, false) => return Admission::Begins(estimate),
        (true, _) => format!(
            "${spent_cost:.2} of ${:.2} is spent, ${reserved_cost:.2} is reserved, and an attempt has cost up to ${:.2} \
             (run.budget.cost)",
            budget.cost.unwrap_or(0.0),
            estimate.cost,
        ),
        (false, true) => format!(
            "{spent_tokens} of {} tokens are spent, {reserved_tokens} are reserved, and an attempt has taken up to {} \
             (run.budget.tokens)",
            budget.tokens.unwrap_or(0),
            estimate.tokens,
        ),
    };
    match reserved.is_empty() {
        true => Admission::Refused(format!("the budget has no room for another attempt: {why}")),
        false => Admission::Waits(format!("it waits for the budget: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(cost: f64) -> Reservation {
        Reservation { cost, tokens: 0 }
    }

    fn spent_dollars(cost: f64) -> Spent {
        let mut spent = Spent::default();
        spent.pay(Some(cost), None);
        spent
    }

    #[test]
    fn an_attempt_starts_if_it_fits_the_budget_with_running_ones() {
        let budget = Budget {
            cost: Some(1.5),
            ..Budget::default()
        };
        let admits = |spent: f64, reserved: &[f64], estimate: Option<f64>| {
            let reserved: Vec<Reservation> = reserved.iter().copied().map(dollars).collect();
            admit(&budget, &spent_dollars(spent), &reserved, estimate.map(dollars))
        };
        // Without an estimate it runs alone, and everything is reserved for it.
        assert_eq!(admits(0.0, &[], None), Admission::Begins(dollars(1.5)));
        assert!(matches!(admits(0.0, &[1.5], None), Admission::Waits(_)));
        assert!(matches!(admits(0.6, &[1.5], Some(0.6)), Admission::Waits(_)));
        // 0.60 is spent and 0.90 is left: there is room for one more, not for two.
        assert_eq!(admits(0.6, &[], Some(0.6)), Admission::Begins(dollars(0.6)));
        assert!(matches!(admits(0.6, &[0.6], Some(0.6)), Admission::Waits(_)));
        // It fits exactly, in spite of fractions that are not exact.
        assert_eq!(
            admits(0.1 + 0.2, &[0.6, 0.3], Some(0.3)),
            Admission::Begins(dollars(0.3))
        );
        let Admission::Refused(why) = admits(1.2, &[], Some(0.6)) else {
            panic!("it does not fit");
        };
        assert_eq!(
            why,
            "the budget has no room for another attempt: $1.20 of $1.50 is spent, $0.00 is reserved, and an attempt has cost up \
             to $0.60 (run.budget.cost)"
        );
        // Agents that report no costs are not delayed.
        assert_eq!(admits(0.0, &[0.0, 0.0], Some(0.0)), Admission::Begins(dollars(0.0)));
    }

    #[test]
    fn tokens_are_reserved_like_money_and_an_open_budget_admits_all() {
        let budget = Budget {
            tokens: Some(1000),
            ..Budget::default()
        };
        let tokens = |tokens| Reservation { cost: 9.0, tokens };
        let mut spent = Spent::default();
        spent.pay(None, Some([300, 100]));
        assert_eq!(
            admit(&budget, &spent, &[], Some(tokens(600))),
            Admission::Begins(tokens(600))
        );
        assert!(matches!(
            admit(&budget, &spent, &[tokens(1)], Some(tokens(600))),
            Admission::Waits(_)
        ));
        assert!(matches!(
            admit(&budget, &spent, &[], Some(tokens(601))),
            Admission::Refused(_)
        ));
        let huge = [tokens(u64::MAX), tokens(u64::MAX)];
        assert!(matches!(
            admit(&budget, &spent, &huge, Some(tokens(1))),
            Admission::Waits(_)
        ));
        let open = Budget::default();
        assert!(matches!(
            admit(&open, &spent, &huge, Some(tokens(1))),
            Admission::Begins(_)
        ));
        assert!(matches!(admit(&open, &spent, &huge, None), Admission::Begins(_)));
    }

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
