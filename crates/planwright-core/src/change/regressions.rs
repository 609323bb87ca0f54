//! Finds the errors of a new text that a change introduced. Compares errors by message, and by task if tasks were renamed or
//! moved.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::diagnostic::{Diagnostic, Severity};
use crate::inspect::Inspection;
use crate::text::Span;

/// The relation of the tasks of a new text to those of the old one.
#[derive(Clone, Copy)]
pub(super) enum ErrorOrigin<'a> {
    /// Each has its old name and position.
    Same,
    /// They have other names or positions.
    Moved {
        /// For each new index the old one; none for a new task.
        origin: &'a [Option<usize>],
        /// The renamed task: an error about its new name is not one about the old name.
        renamed: Option<usize>,
    },
}

/// Returns the errors of the new text that the old one does not have, each as often as it is new.
pub(super) fn new_errors(old: &Inspection, new: &Inspection, descent: ErrorOrigin<'_>) -> Vec<Diagnostic> {
    let (mut before, mut found) = (errors(old), errors(new));
    if let ErrorOrigin::Moved { origin, renamed } = descent {
        let (old_tasks, new_tasks) = (TaskSpans::of(old), TaskSpans::of(new));
        let name = renamed.and_then(|ix| {
            let plan = &new.plan.as_ref()?.plan;
            Some(plan.name_span(plan.tasks().get(ix)?))
        });
        let is_of_name = |error: &Diagnostic| name.is_some() && error.span == name;
        let mut added = Vec::new();
        found.retain(|error| {
            let about_new = new_tasks
                .of_error(error)
                .iter()
                .any(|&ix| origin.get(ix) == Some(&None));
            if about_new {
                added.push((*error).clone());
            }
            !about_new
        });
        take_pairs(
            &mut before,
            &mut found,
            |error| Some((error.rule.id, old_tasks.of_error(error))),
            |error| {
                let tasks = new_tasks.of_error(error);
                let old = tasks.iter().filter_map(|&ix| origin.get(ix).copied().flatten());
                (!is_of_name(error)).then(|| (error.rule.id, old.collect()))
            },
        );
        take_same(&mut before, &mut found);
        return added.into_iter().chain(found.into_iter().cloned()).collect();
    }
    take_same(&mut before, &mut found);
    found.into_iter().cloned().collect()
}

fn errors(inspection: &Inspection) -> Vec<&Diagnostic> {
    let found = inspection.diagnostics.iter();
    found.filter(|found| found.severity == Severity::Error).collect()
}

/// Removes the findings that are in both lists.
fn take_same(before: &mut Vec<&Diagnostic>, found: &mut Vec<&Diagnostic>) {
    let says = |error: &Diagnostic| Some((error.rule.id, error.message.clone()));
    take_pairs(before, found, says, says);
}

/// Removes pairs of findings with the same key from both lists; findings without a key stay.
fn take_pairs<K: Hash + Eq>(
    before: &mut Vec<&Diagnostic>,
    found: &mut Vec<&Diagnostic>,
    old_key: impl Fn(&Diagnostic) -> Option<K>,
    new_key: impl Fn(&Diagnostic) -> Option<K>,
) {
    let mut known: HashMap<K, Vec<usize>> = HashMap::new();
    for (ix, error) in before.iter().enumerate() {
        if let Some(key) = old_key(error) {
            known.entry(key).or_default().push(ix);
        }
    }
    let mut paired = vec![false; before.len()];
    found.retain(|error| {
        let pair = new_key(error).and_then(|key| known.get_mut(&key)?.pop());
        if let Some(ix) = pair {
            paired[ix] = true;
        }
        pair.is_none()
    });
    let mut paired = paired.into_iter();
    before.retain(|_| paired.next() == Some(false));
}

/// The spans of a text's tasks, in the order of the text.
struct TaskSpans(Vec<(Span, usize)>);

impl TaskSpans {
    fn of(inspection: &Inspection) -> Self {
        let tasks = inspection.plan.iter().flat_map(|linked| linked.plan.tasks());
        let mut spans: Vec<(Span, usize)> = tasks.enumerate().map(|(ix, task)| (task.span, ix)).collect();
        spans.sort_unstable();
        TaskSpans(spans)
    }

    /// Returns the tasks that an error refers to.
    fn of_error(&self, error: &Diagnostic) -> BTreeSet<usize> {
        let related = error.related.iter().map(|related| related.span);
        error
            .span
            .into_iter()
            .chain(related)
            .filter_map(|span| self.at(span))
            .collect()
    }

    fn at(&self, span: Span) -> Option<usize> {
        let after = self.0.partition_point(|(own, _)| own.start <= span.start);
        let (own, ix) = self.0.get(after.checked_sub(1)?)?;
        own.contains(span).then_some(*ix)
    }
}
