//! The input of a dialect's record functions: the move and the request of each task, and all moves for the plan. Knows no field.

use std::collections::HashMap;

use crate::edit::{Move, VerbRequest};
use crate::plan::{Links, Plan, State, StateCounts};

/// One move of a task, and what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct RecordedMove<'a> {
    /// The move.
    pub step: Move,
    /// The request that brought it about.
    pub request: &'a VerbRequest<'a>,
}

/// What happened to a plan, one request after another: what the fields beside its list of tasks follow.
pub struct RequestHistory<'a> {
    /// The plan before all of it.
    pub plan: &'a Plan,
    /// Its edges.
    pub links: &'a Links,
    /// The moves, those of one request side by side.
    recorded_moves: &'a [RecordedMove<'a>],
    /// The last request.
    pub last: &'a VerbRequest<'a>,
    /// Where each task that moved has arrived.
    moved: HashMap<usize, State>,
}

impl<'a> RequestHistory<'a> {
    /// Returns the course that some moves have taken; none where nothing has moved.
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

    /// Returns the state of a task after all moves; none for an unknown status.
    pub fn after(&self, task_ix: usize) -> Option<State> {
        match self.moved.get(&task_ix) {
            Some(&to) => Some(to),
            None => self.plan.tasks().get(task_ix)?.status.state(),
        }
    }

    /// Calls with each request in turn, with the moves that it brought about, and with how many tasks are in which state
    /// after them.
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
