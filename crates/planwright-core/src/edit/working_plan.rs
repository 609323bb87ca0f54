//! A plan to which requests are applied one after another: texts as read, states up to date. Each request only costs the tasks that it
//! moves.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use super::reasons::causes;
use super::{Move, VerbRefusal, VerbRequest};
use crate::plan::links::Dependents;
use crate::plan::{Field, Links, Overview, Plan, Readiness, State, Verb};

/// Why a plan has no moves for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopEditing {
    Refused(VerbRefusal),
    /// The answer depends on the text of a task that has moved since the plan was read.
    Unread,
}

impl From<VerbRefusal> for StopEditing {
    fn from(refused: VerbRefusal) -> Self {
        StopEditing::Refused(refused)
    }
}

/// A plan to which requests are applied.
pub(crate) struct WorkingPlan<'p> {
    /// The plan as it was read.
    read: &'p Plan,
    /// The plan with the present states.
    now: Cow<'p, Plan>,
    links: &'p Links,
    n_moves: HashMap<usize, usize>,
    /// How often tasks have failed, if that differs from the text.
    n_failures: HashMap<usize, u64>,
    /// Whether a moved task is skipped now: its cause is in its text, which is not read yet.
    is_skip_unread: bool,
    /// Whether the file held a moved task back: its text, which is not read yet, decides whether it still does.
    is_hold_unread: bool,
    overview: OnceCell<Overview>,
    dependents: OnceCell<Dependents>,
    /// The tasks whose notes name a failure as their skip cause, by the name of the failed task.
    by_cause: OnceCell<HashMap<&'p str, Vec<usize>>>,
}

impl<'p> WorkingPlan<'p> {
    /// Starts with an unchanged plan.
    pub(crate) fn new(plan: &'p Plan, links: &'p Links) -> Self {
        WorkingPlan {
            read: plan,
            now: Cow::Borrowed(plan),
            links,
            n_moves: HashMap::new(),
            n_failures: HashMap::new(),
            is_skip_unread: false,
            is_hold_unread: false,
            overview: OnceCell::new(),
            dependents: OnceCell::new(),
            by_cause: OnceCell::new(),
        }
    }

    pub(crate) fn n_moves(&self, task_ix: usize) -> usize {
        self.n_moves.get(&task_ix).copied().unwrap_or(0)
    }

    /// Applies the moves of a request.
    pub(crate) fn take(&mut self, moves: &[Move], request: &VerbRequest<'_>) {
        let counts = self.now.lifecycle.machine.counts_retries;
        for step in moves {
            match request.verb {
                Verb::Fail if counts => {
                    let (n_failures, _) = self.retries(step.task_ix);
                    self.n_failures.insert(step.task_ix, n_failures);
                }
                Verb::Reset if counts => drop(self.n_failures.insert(step.task_ix, 0)),
                _ => {}
            }
            *self.n_moves.entry(step.task_ix).or_default() += 1;
            self.is_skip_unread |= step.to == State::Skipped;
            let is_held = self.read.tasks().get(step.task_ix).is_some_and(|task| task.held);
            self.is_hold_unread |= is_held && !matches!(step.to, State::Done | State::Skipped);
            let now = self.now.to_mut();
            now.take_state(step.task_ix, step.to);
            if let Some(overview) = self.overview.get_mut() {
                overview.update(now, step.task_ix);
            }
        }
    }

    /// Returns the plan with the present states.
    pub(super) fn plan(&self) -> &Plan {
        &self.now
    }

    pub(super) fn links(&self) -> &'p Links {
        self.links
    }

    pub(super) fn state(&self, task_ix: usize) -> Option<State> {
        self.now.tasks()[task_ix].status.state()
    }

    pub(super) fn readiness(&self) -> Result<Readiness<'_>, StopEditing> {
        if self.is_hold_unread {
            return Err(StopEditing::Unread);
        }
        let overview = self.overview.get_or_init(|| Overview::new(&self.now, self.links));
        Ok(Readiness::with(&self.now, self.links, overview))
    }

    pub(super) fn dependents(&self) -> &Dependents {
        self.dependents.get_or_init(|| self.links.reversed())
    }

    /// Returns the plan as it was read, for the text of a task that has not moved.
    pub(super) fn text_of(&self, task_ix: usize) -> Result<&'p Plan, StopEditing> {
        match self.n_moves(task_ix) {
            0 => Ok(self.read),
            _ => Err(StopEditing::Unread),
        }
    }

    /// Returns how often a task will have failed after one more failure, and the limit.
    pub(crate) fn retries(&self, task_ix: usize) -> (u64, u64) {
        let (written, most) = retries(self.read, task_ix);
        let known = self
            .n_failures
            .get(&task_ix)
            .map(|n_failures| n_failures.saturating_add(1));
        (known.unwrap_or(written), most)
    }

    /// Returns the tasks whose notes name a failed task as a skip cause, in the order of the file.
    pub(super) fn skipped_for(&self, failed: &str) -> Result<&[usize], StopEditing> {
        if self.is_skip_unread {
            return Err(StopEditing::Unread);
        }
        let by_cause = self.by_cause.get_or_init(|| {
            let mut by_cause: HashMap<&'p str, Vec<usize>> = HashMap::new();
            for task_ix in 0..self.read.tasks().len() {
                for cause in causes(self.read, task_ix) {
                    let own = by_cause.entry(cause).or_default();
                    if own.last() != Some(&task_ix) {
                        own.push(task_ix);
                    }
                }
            }
            by_cause
        });
        Ok(by_cause.get(failed).map_or(&[], Vec::as_slice))
    }
}

/// Returns how often a task will have failed after one more failure, and the limit.
pub fn retries(plan: &Plan, task_ix: usize) -> (u64, u64) {
    const DEFAULT_MAX: u64 = 3;
    let task = &plan.tasks()[task_ix];
    let number = |field| {
        let value = plan.value(task, field).and_then(|value| plan.as_number(value))?;
        (value >= 0.0).then_some(value as u64)
    };
    let n_failures = number(Field::RetryCount).unwrap_or(0).saturating_add(1);
    (n_failures, number(Field::MaxRetries).unwrap_or(DEFAULT_MAX))
}
