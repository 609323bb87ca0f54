//! The input of a dialect's record functions: the move and the request of each task, and all moves for the plan. Knows no field.

use std::collections::HashMap;

use super::Located;
use crate::edit::{Move, Request};
use crate::plan::{Links, Plan, State, Tally};

/// What a dialect is to write down of some tasks, each of which has moved once.
pub struct Recording<'a> {
    /// The plan as it is.
    pub located: &'a Located<'a>,
    /// What happened.
    pub deeds: &'a [Deed<'a>],
}

/// One move of a task, and what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Deed<'a> {
    /// The move.
    pub step: Move,
    /// The request that brought it about.
    pub request: &'a Request<'a>,
}

/// What happened to a plan, one request after another: what the fields beside its list of tasks follow.
pub struct Course<'a> {
    /// The plan before all of it.
    pub plan: &'a Plan,
    /// Its edges.
    pub links: &'a Links,
    /// The moves, those of one request side by side.
    deeds: &'a [Deed<'a>],
    /// The last request.
    pub last: &'a Request<'a>,
    /// Where each task that moved has arrived.
    moved: HashMap<usize, State>,
}

impl<'a> Course<'a> {
    /// Returns the course that some moves have taken; none where nothing has moved.
    pub fn new(plan: &'a Plan, links: &'a Links, deeds: &'a [Deed<'a>]) -> Option<Self> {
        Some(Course {
            plan,
            links,
            deeds,
            last: deeds.last()?.request,
            moved: deeds.iter().map(|deed| (deed.step.task_ix, deed.step.to)).collect(),
        })
    }

    /// Returns the state of a task after all moves; none for a status that nobody knows.
    pub fn after(&self, task_ix: usize) -> Option<State> {
        match self.moved.get(&task_ix) {
            Some(&to) => Some(to),
            None => self.plan.tasks().get(task_ix)?.status.state(),
        }
    }

    /// Calls with each request in turn, with the moves that it brought about, and with how many tasks are in which state
    /// after them.
    pub fn each(&self, mut call: impl FnMut(&Request<'_>, &[Deed<'a>], &Tally)) {
        let mut tally = Tally::of(self.plan);
        for own in self.deeds.chunk_by(|a, b| std::ptr::eq(a.request, b.request)) {
            for deed in own {
                tally.take(deed.step.from, deed.step.to);
            }
            if let Some(first) = own.first() {
                call(first.request, own, &tally);
            }
        }
    }
}
