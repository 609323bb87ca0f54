//! Proves a transition on the part of the text that it is about: the plan without the tasks that it leaves alone.
//!
//! JSON means the same everywhere. If the old text is sound and every changed piece is again a whole value, what holds of
//! the part holds of the whole: the tasks left out are the same bytes, and no error about one task depends on the state of
//! another. In doubt there is no answer, and the whole text is read again.

use std::collections::BTreeSet;

use super::{Changed, Open, Reading, Work, new_errors, verify_states};
use crate::diagnostic::Replacement;
use crate::dialect::Choice;
use crate::document::Format;
use crate::document::patch::{self, Patch};
use crate::edit::Move;
use crate::plan::Fate;
use crate::text::{SourceText, Span};

/// Makes the new text and proves it by its part; none where that is no proof, or not worth it.
pub(super) fn write(work: &Work<'_>) -> Option<Changed> {
    let document = work.located.document;
    let is_sound = work.open.document.as_ref()?.diagnostics.is_empty();
    if document.format() != Format::Json || !is_sound {
        return None;
    }
    let edits = patch::lower(document, &work.patches).ok()?;
    let part = Part::of(work)?;
    let choice = Choice {
        forced: Some(work.dialect),
        ..*work.choice
    };
    let old = Open::new(&part.source, &choice);
    let parsed = patch::prove(
        &old.document.as_ref()?.document,
        &part.patches(work),
        &part.edits(&edits)?,
    )
    .ok()?;
    let new = Open::of(parsed, &choice);
    verify_states(&old.inspection, &new.inspection, &part.moves(work)?).ok()?;
    if !new_errors(&old.inspection, &new.inspection).is_empty() {
        return None;
    }
    let plan = &new.inspection.plan.as_ref()?.plan;
    let fates = plan.tasks().iter().zip(&part.places);
    let fates = fates.map(|(task, &place)| Some((place, Fate::of(task)?)));
    Some(Changed {
        source: SourceText::new(patch::apply(document.source(), &edits).ok()?),
        reading: Reading::Part(fates.collect::<Option<_>>()?),
        moves: work.moves.clone(),
        edits,
    })
}

/// Returns true where reading the whole text again leads to the same text and the same fates.
pub(super) fn agrees_with_whole(work: &Work<'_>, changed: &Changed) -> bool {
    let Ok(whole) = super::write(work) else {
        return false;
    };
    let (Reading::Part(fates), Reading::Whole(open)) = (&changed.reading, &whole.reading) else {
        return false;
    };
    let tasks = open.inspection.plan.as_ref().map(|linked| linked.plan.tasks());
    let fate_of = |task_ix: usize| tasks.and_then(|tasks| Fate::of(tasks.get(task_ix)?));
    whole.source.as_str() == changed.source.as_str()
        && fates.iter().all(|(task_ix, fate)| fate_of(*task_ix) == Some(*fate))
}

/// A text without the tasks that a change leaves alone.
struct Part {
    source: SourceText,
    /// Where each piece stood in the whole text, and where it begins in this one.
    pieces: Vec<(Span, usize)>,
    /// The places of the tasks that stay, among the elements of the list; they are their numbers in the plan as well.
    places: Vec<usize>,
}

impl Part {
    fn of(work: &Work<'_>) -> Option<Self> {
        let located = &work.located;
        let places = kept_places(work)?;
        let first = located.element(0)?.span().start as usize;
        let last = located.element(located.n_elements() - 1)?.span().end as usize;
        let source = located.document.source();
        let mut pieces = Vec::with_capacity(places.len() + 2);
        let mut text = String::new();
        let mut add = |separator: &str, span: Span| {
            text.push_str(separator);
            pieces.push((span, text.len()));
            text.push_str(source.slice(span));
        };
        add("", Span::new(0, first));
        for (n_before, &place) in places.iter().enumerate() {
            let separator = if n_before == 0 { "" } else { "," };
            add(separator, located.element(place)?.span());
        }
        add("", Span::new(last, source.len()));
        Some(Part {
            source: SourceText::new(text),
            pieces,
            places,
        })
    }

    /// Returns the replacements as they are in this text; none where one is not about a single piece.
    fn edits(&self, edits: &[Replacement]) -> Option<Vec<Replacement>> {
        let moved = edits.iter().map(|edit| {
            let holds = |(old, _): &&(Span, usize)| old.start <= edit.span.start && edit.span.end <= old.end;
            let (old, start) = self.pieces.iter().find(holds)?;
            let at = edit.span.start as usize - old.start as usize + start;
            Some(Replacement::new(Span::new(at, at + edit.span.len()), edit.text.clone()))
        });
        moved.collect()
    }

    /// Returns the patches as they are in this text.
    fn patches(&self, work: &Work<'_>) -> Vec<Patch> {
        let tasks = work.located.tasks_route();
        let depth = tasks.steps().len();
        let mut patches = work.patches.clone();
        for patch in &mut patches {
            let route = patch.route_mut();
            if let Some(place) = route.index_after(tasks)
                && let Ok(own) = self.places.binary_search(&place)
            {
                *route = route.clone().with_index(depth, own);
            }
        }
        patches
    }

    /// Returns the moves as they are in this text.
    fn moves(&self, work: &Work<'_>) -> Option<Vec<Move>> {
        let moved = work.moves.iter().map(|step| {
            Some(Move {
                task_ix: self.places.binary_search(&step.task_ix).ok()?,
                cause: None,
                ..step.clone()
            })
        });
        moved.collect()
    }
}

/// Returns the places of the tasks that a change is about; none where it is about the list itself, or about most of it.
fn kept_places(work: &Work<'_>) -> Option<Vec<usize>> {
    let located = &work.located;
    let mut places = BTreeSet::new();
    for patch in &work.patches {
        let route = patch.route();
        if route == located.tasks_route() {
            return None;
        }
        places.extend(route.index_after(located.tasks_route()));
    }
    places.extend(work.moves.iter().map(|step| step.task_ix));
    let is_worth_it = 2 * places.len() <= located.n_elements();
    let is_in_order = located.plan.tasks().len() == located.n_elements();
    let same_places = places.iter().all(|&place| located.place(place) == Some(place));
    (is_worth_it && is_in_order && same_places).then(|| places.into_iter().collect())
}
