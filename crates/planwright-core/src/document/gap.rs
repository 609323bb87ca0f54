//! The text between the nodes of a YAML document: indicators, comments, anchors and tags, but no values.
//! Knows the characters of YAML, not its grammar.

use memchr::memchr2;

use super::{Document, NodeKind};
use crate::text::Span;

/// A token in a gap. White space and line breaks are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapToken {
    /// `-` before an element.
    Dash,
    /// `:` after a key.
    Colon,
    /// `?` before a key.
    Question,
    /// `,` between elements or members.
    Comma,
    /// `[` or `{`.
    Open,
    /// `]` or `}`.
    Close,
    /// `|` or `>`: the header of a block scalar, up to the end of its word.
    BlockScalar,
    /// From `#` to the end of the line.
    Comment,
    /// An anchor or a tag.
    Property,
    /// A quoted scalar; only occurs where an error stopped the parser.
    Quoted,
    /// A quote that is not closed in the gap.
    UnclosedQuote,
    /// Any other word, such as `---`.
    Word,
}

/// Returns the tokens of a gap with their offsets.
pub(crate) fn tokens(text: &str, gap: Span) -> Tokens<'_> {
    let range = gap.range();
    Tokens {
        bytes: &text.as_bytes()[..range.end.min(text.len())],
        at: range.start,
    }
}

/// Iterates over tokens. See [`tokens`].
pub(crate) struct Tokens<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Tokens<'_> {
    /// Returns the offset after the last returned token.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Returns whether an anchor or a tag comes next, after comments. Reads only its first character: words between brackets may continue
    /// to the end of the text.
    pub(crate) fn is_at_property(&mut self) -> bool {
        self.skip_space();
        while self.bytes.get(self.at) == Some(&b'#') {
            self.next();
            self.skip_space();
        }
        matches!(self.bytes.get(self.at), Some(b'&' | b'!'))
    }

    fn skip_space(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
    }

    /// Returns whether the character here is a whole word.
    fn is_alone(&self) -> bool {
        self.bytes.get(self.at + 1).is_none_or(|byte| is_space(*byte))
    }

    fn word_len(&self) -> usize {
        self.bytes[self.at..]
            .iter()
            .take_while(|byte| !is_space(**byte))
            .count()
            .max(1)
    }

    fn quoted(&self, quote: u8) -> (GapToken, usize) {
        let mut at = self.at + 1;
        while let Some(found) = self.bytes.get(at..).and_then(|rest| memchr2(quote, b'\\', rest)) {
            at += found;
            if self.bytes[at] == quote {
                return (GapToken::Quoted, at + 1 - self.at);
            }
            at += if quote == b'"' { 2 } else { 1 };
        }
        (GapToken::UnclosedQuote, self.bytes.len() - self.at)
    }
}

impl Iterator for Tokens<'_> {
    type Item = (GapToken, usize);

    fn next(&mut self) -> Option<(GapToken, usize)> {
        self.skip_space();
        let start = self.at;
        let (token, len) = match *self.bytes.get(start)? {
            b'#' => {
                let rest = &self.bytes[start..];
                (GapToken::Comment, memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()))
            }
            b',' => (GapToken::Comma, 1),
            b':' => (GapToken::Colon, 1),
            b'[' | b'{' => (GapToken::Open, 1),
            b']' | b'}' => (GapToken::Close, 1),
            b'|' | b'>' => (GapToken::BlockScalar, self.word_len()),
            b'&' | b'!' => (GapToken::Property, self.word_len()),
            quote @ (b'"' | b'\'') => self.quoted(quote),
            b'-' if self.is_alone() => (GapToken::Dash, 1),
            b'?' if self.is_alone() => (GapToken::Question, 1),
            _ => (GapToken::Word, self.word_len()),
        };
        self.at = start + len;
        Some((token, start))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns whether there is a tab between nodes, outside comments.
pub(crate) fn has_tab(document: &Document) -> bool {
    let text = document.source().as_str();
    let mut last_end = document.extent().start as usize;
    for node in document.nodes() {
        let span = node.span();
        if gap_has_tab(text, Span::new(last_end, span.start as usize)) {
            return true;
        }
        let is_leaf = !matches!(node.kind(), NodeKind::Object | NodeKind::Array);
        last_end = last_end.max(if is_leaf { span.end } else { span.start } as usize);
    }
    gap_has_tab(text, Span::new(last_end, document.extent().end as usize))
}

/// Returns whether a gap has a tab. A tab before a comment or at the end of a line is harmless.
fn gap_has_tab(text: &str, gap: Span) -> bool {
    let bytes = text.as_bytes();
    let mut tokens = tokens(text, gap);
    let mut from = gap.start as usize;
    while let Some((token, at)) = tokens.next() {
        if token != GapToken::Comment && last_line_has_tab(&bytes[from..at]) {
            return true;
        }
        from = tokens.offset();
    }
    let ends_line = bytes
        .get(gap.end as usize)
        .is_none_or(|byte| matches!(byte, b'\r' | b'\n'));
    !ends_line && last_line_has_tab(&bytes[from..(gap.end as usize).max(from)])
}

fn last_line_has_tab(space: &[u8]) -> bool {
    space
        .iter()
        .rev()
        .take_while(|byte| **byte != b'\n')
        .any(|byte| *byte == b'\t')
}
