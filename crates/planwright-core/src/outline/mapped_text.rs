//! A text with parts replaced or removed, which maps each offset to its original.

use std::borrow::Cow;

use crate::text::Span;

/// A changed copy of a text.
#[derive(Debug, Default)]
pub(super) struct MappedText {
    pub(super) text: String,
    /// The starts of the copied parts, in this text and in the original. Ascending in both.
    parts: Vec<(usize, usize)>,
    /// The length of the original.
    n_before: usize,
}

impl MappedText {
    /// Returns a text with parts replaced, and whether any is: `part_at` says for each place how many bytes give way to what.
    pub(super) fn replaced<'t>(
        text: &'t str,
        mut part_at: impl FnMut(&'t str, usize) -> Option<(usize, Cow<'t, str>)>,
    ) -> (Self, bool) {
        let mut out = MappedText::default();
        let (mut at, mut copied) = (0, 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            match part_at(rest, at) {
                Some((n_bytes, with)) => {
                    out.copy(text.get(copied..at).unwrap_or(""), copied);
                    out.replace(&with, at);
                    at += n_bytes.max(1);
                    copied = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        out.copy(text.get(copied..).unwrap_or(""), copied);
        (out, copied > 0)
    }

    /// Copies a part of the original.
    pub(super) fn copy(&mut self, part: &str, at: usize) {
        if !part.is_empty() {
            self.parts.push((self.text.len(), at));
            self.text.push_str(part);
            self.n_before = self.n_before.max(at + part.len());
        }
    }

    /// Adds the replacement of the original's part at `at`.
    pub(super) fn replace(&mut self, with: &str, at: usize) {
        if !with.is_empty() {
            self.parts.push((self.text.len(), at));
            self.text.push_str(with);
            self.n_before = self.n_before.max(at);
        }
    }

    /// Returns the offset in the original.
    fn before(&self, at: usize) -> usize {
        let ix = self.parts.partition_point(|(start, _)| *start <= at);
        let Some((start, before)) = ix.checked_sub(1).and_then(|ix| self.parts.get(ix)) else {
            return at;
        };
        // A replacement ends at the latest where the next part starts.
        let most = self.parts.get(ix).map_or(self.n_before, |(_, next)| *next);
        (before + (at - start)).min(most.max(*before))
    }

    /// Returns the span in `original`.
    pub(super) fn span_before(&self, span: Span, original: &str) -> Span {
        let start = original.floor_char_boundary(self.before(span.start as usize));
        // The end is that of the last byte, so that a removed part after it does not count.
        let last = (span.end as usize).saturating_sub(1);
        let end = match span.end > span.start {
            true => original.ceil_char_boundary((self.before(last) + 1).min(original.len())),
            false => start,
        };
        Span::new(start, end.max(start))
    }
}
