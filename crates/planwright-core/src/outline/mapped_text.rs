//! A text with parts replaced or removed that can map each place to its original.

use crate::diagnostic::Diagnostic;
use crate::text::Span;

/// A changed copy of a text.
#[derive(Debug, Default)]
pub(super) struct MappedText {
    pub(super) text: String,
    /// Where the copied parts begin: in this text, and in the one before. Ascending in both.
    parts: Vec<(usize, usize)>,
    /// The length of the text before.
    n_before: usize,
}

impl MappedText {
    /// Copies a part of the text before.
    pub(super) fn copy(&mut self, part: &str, at: usize) {
        if !part.is_empty() {
            self.parts.push((self.text.len(), at));
            self.text.push_str(part);
            self.n_before = self.n_before.max(at + part.len());
        }
    }

    /// Adds what stands in place of the part of the text before that begins at `at`.
    pub(super) fn replace(&mut self, with: &str, at: usize) {
        if !with.is_empty() {
            self.parts.push((self.text.len(), at));
            self.text.push_str(with);
            self.n_before = self.n_before.max(at);
        }
    }

    /// Returns the place in the text before.
    fn before(&self, at: usize) -> usize {
        let ix = self.parts.partition_point(|(start, _)| *start <= at);
        let Some((start, before)) = ix.checked_sub(1).and_then(|ix| self.parts.get(ix)) else {
            return at;
        };
        // What replaces a part is not longer than the part that follows allows.
        let most = self.parts.get(ix).map_or(self.n_before, |(_, next)| *next);
        (before + (at - start)).min(most.max(*before))
    }

    /// Returns the span in `original`, the text before.
    pub(super) fn span_before(&self, span: Span, original: &str) -> Span {
        let start = original.floor_char_boundary(self.before(span.start as usize));
        // The end is that of the last byte, so that what was left out after it does not count.
        let last = (span.end as usize).saturating_sub(1);
        let end = match span.end > span.start {
            true => original.ceil_char_boundary((self.before(last) + 1).min(original.len())),
            false => start,
        };
        Span::new(start, end.max(start))
    }

    /// Gives a finding the places of the text before.
    pub(super) fn place_before(&self, found: &mut Diagnostic, original: &str) {
        found.span = found.span.map(|span| self.span_before(span, original));
        for related in &mut found.related {
            related.span = self.span_before(related.span, original);
        }
    }
}
