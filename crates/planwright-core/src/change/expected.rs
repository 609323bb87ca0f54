//! The expected content of the text after an edit of tasks, and the proof that it has it: places, states, dependencies, no new
//! error.

use std::collections::BTreeSet;

use super::regressions::{Descent, new_errors};
use super::{ChangedText, Open, Problem};
use crate::check;
use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::{Choice, Dialect, Followed, TaskListEdit};
use crate::document::patch;
use crate::inspect::{Inspection, LinkedPlan};
use crate::plan::State;
use crate::text::SourceText;

/// What the new text must hold: where each task was before, and the edges between them.
pub(super) struct Expected {
    /// For each new place the old one; none for a new task.
    pub(super) origin: Vec<Option<usize>>,
    /// Edges, as places in the new list.
    pub(super) edges: BTreeSet<(usize, usize)>,
}

impl Expected {
    /// Returns whether a task depends on one that it did not depend on before.
    fn has_new_edges(&self, old: &LinkedPlan) -> bool {
        let before = edges_of(old);
        let was_there = |&(from, to): &(usize, usize)| match (self.origin.get(from), self.origin.get(to)) {
            (Some(Some(from)), Some(Some(to))) => before.contains(&(*from, *to)),
            _ => false,
        };
        !self.edges.iter().all(was_there)
    }
}

/// Returns whether every task stands where it stood.
pub(super) fn is_in_order(origin: &[Option<usize>], n_tasks: usize) -> bool {
    origin.len() == n_tasks && origin.iter().enumerate().all(|(new, old)| *old == Some(new))
}

/// Has the dialect make the rest of the file follow.
pub(super) fn follow_with_rest(
    inspection: &Inspection,
    dialect: &dyn Dialect,
    text: String,
    expected: &Expected,
) -> Result<Followed, Problem> {
    let Some(embedded) = dialect.embedded() else {
        let notes = Vec::new();
        return Ok(Followed { text, notes });
    };
    let after = SourceText::new(text);
    let edited = TaskListEdit {
        before: &inspection.source,
        after: &after,
        origin: &expected.origin,
    };
    let followed = embedded.follow(&edited).map_err(|refused| Problem::Place {
        span: refused.span,
        message: refused.message,
        help: refused.help,
    })?;
    Ok(followed.unwrap_or_else(|| Followed {
        text: after.as_str().to_owned(),
        notes: Vec::new(),
    }))
}

/// Reads the new text, and refuses it where it is worse than the old one or not what was meant.
pub(super) fn finish(
    inspection: &Inspection,
    choice: &Choice<'_>,
    text: &str,
    old: &LinkedPlan,
    expected: &Expected,
    renamed: Option<usize>,
) -> Result<ChangedText, Problem> {
    let new = Open::new(&SourceText::new(text), choice);
    let origin = expected.origin.as_slice();
    let descent = match renamed {
        None if is_in_order(origin, old.plan.tasks().len()) => Descent::Same,
        renamed => Descent::Moved { origin, renamed },
    };
    let mut worse = new_errors(inspection, &new.inspection, descent);
    let is_circle = |error: &Diagnostic| error.rule.id == check::rules::CYCLE.id;
    if worse.iter().any(is_circle) && !expected.has_new_edges(old) {
        // The circles are old: another one is the shortest now.
        worse.retain(|error| !is_circle(error));
    }
    if !worse.is_empty() {
        return Err(Problem::Worse(worse));
    }
    verify(old, &new.inspection, expected).map_err(|problem| match inspection.count(Severity::Error) {
        0 => problem,
        // What a plan with errors says is not certain, and then nor is what should become of it.
        _ => Problem::field(
            "the plan has errors, and it is not certain what this would change".to_owned(),
            "fix them first: `planwright check` shows them".to_owned(),
        ),
    })?;
    let difference = patch::difference(&inspection.source, &new.inspection.source);
    Ok(ChangedText::whole(new, difference.into_iter().collect()))
}

fn verify(old: &LinkedPlan, new: &Inspection, expected: &Expected) -> Result<(), Problem> {
    let mismatch = |what: &str| Err(Problem::Mismatch(what.to_owned()));
    let Some(new) = &new.plan else {
        return mismatch("the new text holds no plan");
    };
    if new.plan.tasks().len() != expected.origin.len() {
        return mismatch("tasks have come or gone");
    }
    // A state that the file cannot hold reads as pending.
    let machine = &old.plan.lifecycle.machine;
    let held = |state: State| {
        if machine.is_written(state) {
            state
        } else {
            State::Pending
        }
    };
    let is_same = |(new_ix, old_ix): (usize, &Option<usize>)| {
        old_ix.is_none_or(|old_ix| {
            let before = old.plan.tasks()[old_ix].status.state().map(held);
            before == new.plan.tasks()[new_ix].status.state()
        })
    };
    if !expected.origin.iter().enumerate().all(is_same) {
        return mismatch("the state of a task has changed");
    }
    if edges_of(new) != expected.edges {
        return mismatch("dependencies are not as they should be");
    }
    Ok(())
}

pub(super) fn edges_of(linked: &LinkedPlan) -> BTreeSet<(usize, usize)> {
    let n_tasks = linked.plan.tasks().len();
    let of = |ix: usize| linked.links.of(ix).iter().map(move |edge| (ix, edge.to as usize));
    (0..n_tasks).flat_map(of).collect()
}
