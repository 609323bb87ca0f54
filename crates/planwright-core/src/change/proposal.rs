//! A change before its proof: patches or a text, and what the new text must hold. The one way from a change to a new text.

use std::collections::{BTreeSet, HashMap};

use super::regressions::{ErrorOrigin, new_errors};
use super::{ChangedText, Open, Problem};
use crate::check;
use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::{Choice, LocatedPlan};
use crate::document::patch::{self, Patch};
use crate::edit::Move;
use crate::inspect::{Inspection, LinkedPlan};
use crate::plan::{Field, State};
use crate::text::SourceText;

/// A change before its proof.
pub(super) struct ProposedChange<'a> {
    pub(super) open: &'a Open,
    pub(super) choice: &'a Choice<'a>,
    pub(super) content: ProposedText<'a>,
    pub(super) expected: Expected,
}

pub(super) enum ProposedText<'a> {
    Patches(LocatedPlan<'a>, Vec<Patch>),
    Text(String),
}

/// What the new text must contain.
pub(super) enum Expected {
    /// The same tasks with the same names and dependencies, after these moves.
    Moves(Vec<Move>),
    /// The same tasks, and this status of the whole plan.
    Status(&'static str),
    /// This list of tasks; existing ones keep their states.
    List(EditedList),
}

/// A list of tasks after an edit.
pub(super) struct EditedList {
    /// For each new index the old one; none for a new task.
    pub(super) origin: Vec<Option<usize>>,
    /// Edges, as indexes in the new list.
    pub(super) edges: BTreeSet<(usize, usize)>,
    /// The task with a new id.
    pub(super) renamed: Option<usize>,
}

impl ProposedChange<'_> {
    /// Makes the new text and reads it. Refuses a text without the expected content, or with new errors.
    pub(super) fn prove_whole(&self) -> Result<ChangedText, Problem> {
        let new = match &self.content {
            ProposedText::Patches(located, patches) => {
                Open::of(patch::patch_parsed(located.document, patches)?, self.choice)
            }
            ProposedText::Text(text) => Open::new(&SourceText::new(text), self.choice),
        };
        self.expected.verify(&self.open.inspection, &new.inspection)?;
        Ok(ChangedText {
            moves: match &self.expected {
                Expected::Moves(moves) => moves.clone(),
                Expected::Status(_) | Expected::List(_) => Vec::new(),
            },
            ..ChangedText::whole(new)
        })
    }
}

impl Expected {
    /// Compares the reading of a new text with what is expected of it.
    pub(super) fn verify(&self, old: &Inspection, new: &Inspection) -> Result<(), Problem> {
        let regressions = match self {
            Expected::List(list) => list.new_errors(old, new),
            Expected::Moves(_) | Expected::Status(_) => new_errors(old, new, ErrorOrigin::Same),
        };
        if !regressions.is_empty() {
            return Err(Problem::Regressions(regressions));
        }
        let (Some(old_plan), Some(new_plan)) = (&old.plan, &new.plan) else {
            return mismatch("the new text holds no plan");
        };
        match self {
            Expected::Moves(moves) => verify_moves(old_plan, new_plan, moves),
            Expected::Status(status) => {
                verify_moves(old_plan, new_plan, &[])?;
                match new_plan.plan.head_str(Field::Status) == Some(status) {
                    true => Ok(()),
                    false => mismatch(&format!("the plan is not `{status}`")),
                }
            }
            // The meaning of a plan with errors is uncertain, and so is the meaning of its change.
            Expected::List(list) if old.count(Severity::Error) > 0 => list.verify(old_plan, new_plan).map_err(|_| {
                Problem::field(
                    "the plan has errors, and it is not certain what this would change".to_owned(),
                    "fix them first: `planwright check` shows them".to_owned(),
                )
            }),
            Expected::List(list) => list.verify(old_plan, new_plan),
        }
    }
}

fn mismatch(what: &str) -> Result<(), Problem> {
    Err(Problem::Mismatch(what.to_owned()))
}

/// Checks that every task has its intended state, and nothing else has changed.
fn verify_moves(old: &LinkedPlan, new: &LinkedPlan, moves: &[Move]) -> Result<(), Problem> {
    let (old_plan, new_plan) = (&old.plan, &new.plan);
    if old_plan.tasks().len() != new_plan.tasks().len() || old.links.n_edges() != new.links.n_edges() {
        return mismatch("tasks or dependencies have come or gone");
    }
    let moved: HashMap<usize, State> = moves.iter().map(|step| (step.task_ix, step.to)).collect();
    let is_same = |&task_ix: &usize| {
        let state = moved.get(&task_ix).copied();
        let state = state.or(old_plan.tasks()[task_ix].status.state());
        old_plan.task_name(task_ix) == new_plan.task_name(task_ix) && is_read_as(old, state, new, task_ix)
    };
    match (0..old_plan.tasks().len()).find(|task_ix| !is_same(task_ix)) {
        None => Ok(()),
        Some(task_ix) => mismatch(&format!(
            "task `{}` is not as it should be",
            old_plan.task_name(task_ix)
        )),
    }
}

/// Returns whether a task of the new plan has a state, as far as files can hold it: other states are read as pending.
fn is_read_as(old: &LinkedPlan, state: Option<State>, new: &LinkedPlan, new_ix: usize) -> bool {
    let machine = &old.plan.lifecycle.machine;
    let held = |state: State| match machine.is_written(state) {
        true => state,
        false => State::Pending,
    };
    new.plan.tasks()[new_ix].status.state() == state.map(held)
}

impl EditedList {
    pub(super) fn unchanged(linked: &LinkedPlan) -> Self {
        EditedList::new((0..linked.plan.tasks().len()).map(Some).collect(), edges_of(linked))
    }

    pub(super) fn new(origin: Vec<Option<usize>>, edges: BTreeSet<(usize, usize)>) -> Self {
        EditedList {
            origin,
            edges,
            renamed: None,
        }
    }

    /// Returns whether every task keeps its position.
    pub(super) fn is_in_order(&self, old: &LinkedPlan) -> bool {
        let n_tasks = old.plan.tasks().len();
        self.origin.len() == n_tasks && self.origin.iter().enumerate().all(|(new, old)| *old == Some(new))
    }

    fn has_new_edges(&self, old: &LinkedPlan) -> bool {
        let before = edges_of(old);
        let was_there = |&(from, to): &(usize, usize)| match (self.origin.get(from), self.origin.get(to)) {
            (Some(Some(from)), Some(Some(to))) => before.contains(&(*from, *to)),
            _ => false,
        };
        !self.edges.iter().all(was_there)
    }

    fn new_errors(&self, old: &Inspection, new: &Inspection) -> Vec<Diagnostic> {
        let is_same = |old: &LinkedPlan| self.renamed.is_none() && self.is_in_order(old);
        let descent = match old.plan.as_ref().is_some_and(is_same) {
            true => ErrorOrigin::Same,
            false => ErrorOrigin::Moved {
                origin: &self.origin,
                renamed: self.renamed,
            },
        };
        let mut regressions = new_errors(old, new, descent);
        let is_circle = |error: &Diagnostic| error.rule.id == check::rules::CYCLE.id;
        if regressions.iter().any(is_circle) && !old.plan.as_ref().is_some_and(|old| self.has_new_edges(old)) {
            // The cycles are old: another one is the shortest now.
            regressions.retain(|error| !is_circle(error));
        }
        regressions
    }

    fn verify(&self, old: &LinkedPlan, new: &LinkedPlan) -> Result<(), Problem> {
        if new.plan.tasks().len() != self.origin.len() {
            return mismatch("tasks have come or gone");
        }
        let is_same = |(new_ix, old_ix): (usize, &Option<usize>)| {
            old_ix.is_none_or(|old_ix| is_read_as(old, old.plan.tasks()[old_ix].status.state(), new, new_ix))
        };
        if !self.origin.iter().enumerate().all(is_same) {
            return mismatch("the state of a task has changed");
        }
        let found = edges_of(new);
        // A new task of a group has the dependencies of the group, and those who need the group need it.
        let is_new = |&(from, to): &(usize, usize)| {
            [from, to]
                .iter()
                .any(|ix| self.origin.get(*ix).is_some_and(Option::is_none))
        };
        let is_of_group = |edge: &(usize, usize)| !new.plan.groups().is_empty() && is_new(edge);
        let has_all = self.edges.is_subset(&found);
        if !has_all || !found.difference(&self.edges).all(is_of_group) {
            return mismatch("dependencies are not as they should be");
        }
        Ok(())
    }
}

pub(super) fn edges_of(linked: &LinkedPlan) -> BTreeSet<(usize, usize)> {
    let n_tasks = linked.plan.tasks().len();
    let of = |ix: usize| linked.links.of(ix).iter().map(move |edge| (ix, edge.to as usize));
    (0..n_tasks).flat_map(of).collect()
}
