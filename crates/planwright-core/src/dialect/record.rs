//! The input of a dialect's record functions: the move and the request of each task, and all moves for the plan. Knows no field.

use std::collections::HashMap;

use crate::edit::{Move, VerbRequest};
use crate::plan::{Links, Plan, State, StateCounts};

/// One move of a task, and its request.
#[derive(Clone, Copy, Debug)]
pub struct RecordedMove<'a> {
    /// The move.
    pub step: Move,
    /// The request that caused it.
    pub request: &'a VerbRequest<'a>,
}

/// The moves of a plan, one request after another. Fields next to its list of tasks follow from them.
pub struct RequestHistory<'a> {
    /// The plan before the first move.
    pub plan: &'a Plan,
    /// Its edges.
    pub links: &'a Links,
    /// The moves; those of one request are adjacent.
    recorded_moves: &'a [RecordedMove<'a>],
    /// The last request.
    pub last: &'a VerbRequest<'a>,
    /// The final state of each task that moved.
    moved: HashMap<usize, State>,
}

impl<'a> RequestHistory<'a> {
    /// Returns the history of some moves; none without moves.
    pub fn new(plan: &'a Plan, links: &'a Links, recorded_moves: &'a [RecordedMove<'a>]) -> Option<Self> {
        Some(RequestHistory {
            plan,
            links,
            recorded_moves,
            last: recorded_moves.last()?.request,
            moved: recorded_moves
                .iter()
                .map(|recorded| (recorded.step.task_ix, recorded.step.to))
                .collect(),
        })
    }

    /// Returns whether a task moved.
    pub fn has_moved(&self, task_ix: usize) -> bool {
        self.moved.contains_key(&task_ix)
    }

    /// Returns the state of a task after all moves; none for an unknown status.
    pub fn after(&self, task_ix: usize) -> Option<State> {
        match self.moved.get(&task_ix) {
            Some(&to) => Some(to),
            None => self.plan.tasks().get(task_ix)?.status.state(),
        }
    }

    /// Calls a function for each request in turn, with its moves, and the number of tasks in each state after them.
    pub fn each(&self, mut call: impl FnMut(&VerbRequest<'_>, &[RecordedMove<'a>], &StateCounts)) {
        let mut tally = StateCounts::of(self.plan);
        for own in self.recorded_moves.chunk_by(|a, b| std::ptr::eq(a.request, b.request)) {
            for recorded in own {
                tally.take(recorded.step.from, recorded.step.to);
            }
            if let Some(first) = own.first() {
                call(first.request, own, &tally);
            }
        }
    }
}
