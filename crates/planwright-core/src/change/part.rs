//! Proves a transition on the part of the text that it changes: the plan without the unchanged tasks.
//!
//! JSON means the same everywhere, and so do the lines of tidy YAML. If the old text is sound and every changed piece is again a
//! whole value, a proof for the part is a proof for the whole: the other tasks have the same bytes, and no error of one task
//! depends on the state of another. In doubt, the whole text is read again.

use std::collections::BTreeSet;

use super::proposal::{Expected, ProposedChange, ProposedText};
use super::{ChangedText, Open, Problem, ProofReading};
use crate::diagnostic::Replacement;
use crate::dialect::{Choice, LocatedPlan};
use crate::document::DocumentFormat;
use crate::document::patch::{self, Patch};
use crate::edit::Move;
use crate::plan::TaskFate;
use crate::text::{SourceText, Span};

impl ProposedChange<'_> {
    /// Proves the change by the part of the text that it changes, otherwise by the whole text.
    pub(super) fn prove(&self) -> Result<ChangedText, Problem> {
        match prove_part(self) {
            Some(changed) => {
                debug_assert!(agrees_with_whole(self, &changed), "the part proves what the whole does");
                Ok(changed)
            }
            None => self.prove_whole(),
        }
    }
}

/// Makes the new text and proves it by its part; none if that is no proof, or not worth it.
fn prove_part(proposal: &ProposedChange<'_>) -> Option<ChangedText> {
    let (ProposedText::Patches(located, patches), Expected::Moves(moves)) = (&proposal.content, &proposal.expected)
    else {
        return None;
    };
    let document = located.document;
    let is_sound = proposal.open.document.as_ref()?.diagnostics.is_empty();
    if !document.is_context_free() || !is_sound {
        return None;
    }
    let edits = patch::lower(document, patches).ok()?;
    let part = PartialText::of(located, kept_places(located, patches, moves)?)?;
    let choice = Choice {
        forced: proposal.open.inspection.dialect,
        ..*proposal.choice
    };
    let old = Open::new(&part.source, &choice);
    let parsed = patch::prove(
        &old.document.as_ref()?.document,
        &part.patches(located, patches),
        &part.edits(&edits)?,
    )
    .ok()?;
    if !parsed.document.is_context_free() {
        return None;
    }
    let new = Open::of(parsed, &choice);
    let expected = Expected::Moves(part.moves(moves)?);
    expected.verify(&old.inspection, &new.inspection).ok()?;
    let plan = &new.inspection.plan.as_ref()?.plan;
    let fates = plan.tasks().iter().zip(&part.places);
    let fates = fates.map(|(task, &place)| Some((place, TaskFate::of(task)?)));
    let reading = ProofReading::Part(fates.collect::<Option<_>>()?);
    let source = SourceText::new(patch::apply(document.source(), &edits).ok()?);
    Some(ChangedText {
        moves: moves.clone(),
        ..ChangedText::new(source, reading)
    })
}

/// Returns whether reading the whole text gives the same text and the same fates.
fn agrees_with_whole(proposal: &ProposedChange<'_>, changed: &ChangedText) -> bool {
    let Ok(whole) = proposal.prove_whole() else {
        return false;
    };
    let (ProofReading::Part(fates), ProofReading::Whole(open)) = (&changed.reading, &whole.reading) else {
        return false;
    };
    let tasks = open.inspection.plan.as_ref().map(|linked| linked.plan.tasks());
    let fate_of = |task_ix: usize| tasks.and_then(|tasks| TaskFate::of(tasks.get(task_ix)?));
    whole.source.as_str() == changed.source.as_str()
        && fates.iter().all(|(task_ix, fate)| fate_of(*task_ix) == Some(*fate))
}

/// A text without the tasks that a change does not touch.
struct PartialText {
    source: SourceText,
    /// The span of each piece in the whole text, and its start in this one.
    pieces: Vec<(Span, usize)>,
    /// The indexes of the remaining tasks among the elements of the list, which are also their numbers in the plan.
    places: Vec<usize>,
}

impl PartialText {
    fn of(located: &LocatedPlan<'_>, places: Vec<usize>) -> Option<Self> {
        let chunks = Chunks {
            located,
            text: located.document.source().as_str(),
        };
        let mut pieces = Vec::with_capacity(places.len() + 2);
        let mut text = String::new();
        let mut add = |separator: &str, span: Span| {
            text.push_str(separator);
            pieces.push((span, text.len()));
            text.push_str(&chunks.text[span.range()]);
        };
        add("", Span::new(0, chunks.start(0)?));
        for (n_before, &place) in places.iter().enumerate() {
            let separator = if n_before == 0 { "" } else { chunks.separator() };
            add(separator, Span::new(chunks.start(place)?, chunks.end(place)?));
        }
        add("", Span::new(chunks.end(located.n_elements() - 1)?, chunks.text.len()));
        Some(PartialText {
            source: SourceText::new(text),
            pieces,
            places,
        })
    }

    /// Converts replacements to this text; none if one is not in a single piece.
    fn edits(&self, edits: &[Replacement]) -> Option<Vec<Replacement>> {
        let moved = edits.iter().map(|edit| {
            let holds = |(old, _): &&(Span, usize)| old.start <= edit.span.start && edit.span.end <= old.end;
            // Pieces are in the order of the text: the first that reaches this far, or the next one if they touch.
            let reaches = self.pieces.partition_point(|(old, _)| old.end < edit.span.start);
            let (old, start) = self.pieces[reaches..].iter().take(2).find(holds)?;
            let at = edit.span.start as usize - old.start as usize + start;
            Some(Replacement::new(Span::new(at, at + edit.span.len()), edit.text.clone()))
        });
        moved.collect()
    }

    /// Converts patches to this text.
    fn patches(&self, located: &LocatedPlan<'_>, patches: &[Patch]) -> Vec<Patch> {
        let tasks = located.tasks_route();
        let depth = tasks.steps().len();
        let mut patches = patches.to_vec();
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

    /// Converts moves to this text.
    fn moves(&self, moves: &[Move]) -> Option<Vec<Move>> {
        let moved = moves.iter().map(|step| {
            Some(Move {
                task_ix: self.places.binary_search(&step.task_ix).ok()?,
                cause: None,
                ..*step
            })
        });
        moved.collect()
    }
}

/// Returns the indexes of the tasks that a change touches; none if it touches the list itself, or most of it.
fn kept_places(located: &LocatedPlan<'_>, patches: &[Patch], moves: &[Move]) -> Option<Vec<usize>> {
    let mut places = BTreeSet::new();
    for patch in patches {
        let route = patch.route();
        if route == located.tasks_route() {
            return None;
        }
        places.extend(route.index_after(located.tasks_route()));
    }
    places.extend(moves.iter().map(|step| step.task_ix));
    let is_worth_it = 2 * places.len() <= located.n_elements();
    let is_in_order = located.plan.tasks().len() == located.n_elements();
    let same_places = places.iter().all(|&place| located.place(place) == Some(place));
    (is_worth_it && is_in_order && same_places).then(|| places.into_iter().collect())
}

/// The tasks of a list as removable pieces of its text: values in JSON, lines in YAML.
struct Chunks<'a> {
    located: &'a LocatedPlan<'a>,
    text: &'a str,
}

impl Chunks<'_> {
    fn is_json(&self) -> bool {
        self.located.document.format() == DocumentFormat::Json
    }

    fn separator(&self) -> &'static str {
        if self.is_json() { "," } else { "" }
    }

    fn start(&self, place: usize) -> Option<usize> {
        let start = self.located.element(place)?.span().start as usize;
        if self.is_json() {
            return Some(start);
        }
        Some(self.text[..start].rfind('\n').map_or(0, |line_break| line_break + 1))
    }

    fn end(&self, place: usize) -> Option<usize> {
        let end = self.located.element(place)?.span().end as usize;
        if self.is_json() {
            return Some(end);
        }
        let line_end = self.text[end..].find('\n');
        Some(line_end.map_or(self.text.len(), |n_bytes| end + n_bytes + 1))
    }
}
