//! Source text: bytes that were read once, byte spans, lines and columns. Does not know formats.
//!
//! ```
//! use planwright_core::text::{SourceText, Span};
//!
//! let text = SourceText::new("id: é\nstatus: done\n");
//! let span = Span::new(15, 19);
//! assert_eq!(text.slice(span), "done");
//! let place = text.line_index().position(span.start);
//! assert_eq!((place.line, place.column), (2, 9));
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr_iter, memrchr};

/// A half-open range of bytes in a source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span from `start` to `end`; an inverted pair becomes empty at `start`.
    pub fn new(start: usize, end: usize) -> Self {
        let start = offset(start);
        Span {
            start,
            end: offset(end).max(start),
        }
    }

    /// Returns the empty span at `at`.
    pub fn at(at: usize) -> Self {
        Span::new(at, at)
    }

    /// Returns the number of bytes covered.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns whether the span is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the span as a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Returns whether `other` is inside this span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// Converts an offset to 32 bits. `SourceText` refuses longer texts, so it only saturates after a caller's error.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The longest text planwright reads, in bytes. Larger files are refused before they are read.
pub const MAX_BYTES: usize = 128 * 1024 * 1024;

/// One text, shared cheaply. Never changes: an edit makes a new one.
#[derive(Clone)]
pub struct SourceText {
    text: Arc<String>,
    damage: Option<Utf8Damage>,
}

/// Invalid UTF-8 in the original bytes. The text has U+FFFD in their place and must not be written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utf8Damage {
    /// Offset of the first bad byte in the original bytes.
    pub byte_offset: usize,
    /// Its replacement character in the decoded text.
    pub span: Span,
    /// The number of invalid sequences.
    pub n_sequences: usize,
}

impl SourceText {
    /// Wraps text that is already UTF-8.
    pub fn new(text: impl Into<String>) -> Self {
        SourceText {
            text: Arc::new(text.into()),
            damage: None,
        }
    }

    /// Decodes bytes; invalid sequences become U+FFFD and are recorded as damage.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => SourceText::new(text),
            Err(error) => {
                let first = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let n_sequences = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
                SourceText {
                    text: Arc::new(String::from_utf8_lossy(&bytes).into_owned()),
                    damage: Some(Utf8Damage {
                        byte_offset: first,
                        span: Span::new(first, first + '\u{fffd}'.len_utf8()),
                        n_sequences,
                    }),
                }
            }
        }
    }

    /// Returns the whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns its length in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the damage found while decoding, if any.
    pub fn damage(&self) -> Option<Utf8Damage> {
        self.damage
    }

    /// Returns the text of a span; empty if the span is out of range.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Returns the span of the whole text.
    pub fn span(&self) -> Span {
        Span::new(0, self.text.len())
    }

    /// Returns the length of the byte order mark: 3 or 0.
    pub fn bom_len(&self) -> usize {
        if self.text.starts_with('\u{feff}') { 3 } else { 0 }
    }

    /// Returns the line ending of most lines; LF if there are none.
    pub fn newline(&self) -> Newline {
        let bytes = self.text.as_bytes();
        let (mut crlf, mut lf) = (0usize, 0usize);
        for at in memchr_iter(b'\n', bytes) {
            if at > 0 && bytes[at - 1] == b'\r' {
                crlf += 1;
            } else {
                lf += 1;
            }
        }
        if crlf > lf { Newline::CrLf } else { Newline::Lf }
    }

    /// Returns the offset at which the line of `at` begins.
    pub fn line_start(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        memrchr(b'\n', &self.text.as_bytes()[..at]).map_or(0, |newline| newline + 1)
    }

    /// Returns an index for converting offsets to lines and columns.
    pub fn line_index(&self) -> LineIndex<'_> {
        LineIndex::new(&self.text)
    }
}

impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceText({} bytes)", self.text.len())
    }
}

/// A line ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newline {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
}

impl Newline {
    /// Returns the characters of the line ending.
    pub fn as_str(self) -> &'static str {
        match self {
            Newline::Lf => "\n",
            Newline::CrLf => "\r\n",
        }
    }
}

/// A position for people and for editors. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line number.
    pub line: usize,
    /// Column in Unicode scalar values; a byte order mark has no width.
    pub column: usize,
    /// Column in UTF-16 code units, as editors and SARIF count.
    pub utf16_column: usize,
}

/// The starts of all lines of a text.
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<u32>,
    /// Characters and UTF-16 units before every `STRIDE`th byte; empty if bytes and characters are the same.
    counts: Vec<(u32, u32)>,
}

/// The distance of the counted offsets: to find a column, at most this many bytes are read, even in a long line.
const STRIDE: usize = 1024;

impl<'t> LineIndex<'t> {
    /// Scans the text once. Lines end with LF; the CR of CRLF belongs to its line.
    pub fn new(text: &'t str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr_iter(b'\n', text.as_bytes()).map(|at| offset(at + 1)));
        let mut counts = Vec::new();
        if !text.is_ascii() {
            let mut sum = (0, 0);
            for chunk in text.as_bytes().chunks(STRIDE) {
                counts.push(sum);
                let (chars, units) = characters(chunk);
                sum = (sum.0 + chars, sum.1 + units);
            }
            counts.push(sum);
        }
        LineIndex { text, starts, counts }
    }

    /// Returns the number of lines; a text that ends with a newline has an empty last line.
    pub fn n_lines(&self) -> usize {
        self.starts.len()
    }

    /// Returns the position of a byte offset; offsets past the end count as the end.
    pub fn position(&self, at: u32) -> Position {
        let at = self.text.floor_char_boundary(at as usize);
        let line_ix = self.starts.partition_point(|&start| start as usize <= at) - 1;
        let mut start = self.starts[line_ix] as usize;
        if line_ix == 0 && self.text.starts_with('\u{feff}') {
            start = start.max('\u{feff}'.len_utf8().min(at));
        }
        let (from, to) = (self.before(start), self.before(at));
        Position {
            line: line_ix + 1,
            column: (to.0 - from.0) as usize + 1,
            utf16_column: (to.1 - from.1) as usize + 1,
        }
    }

    /// Returns the number of characters and UTF-16 units before an offset.
    fn before(&self, at: usize) -> (u32, u32) {
        match self.counts.get(at / STRIDE) {
            None => (offset(at), offset(at)),
            Some(&(chars, units)) => {
                let rest = characters(&self.text.as_bytes()[at / STRIDE * STRIDE..at]);
                (chars + rest.0, units + rest.1)
            }
        }
    }

    /// Returns the text of a line (counted from 1) without its line ending; empty past the last.
    pub fn line(&self, line: usize) -> &'t str {
        let span = self.line_span(line);
        let text = &self.text[span.range()];
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// Returns the span of a line (counted from 1) with its line ending; empty past the last.
    pub fn line_span(&self, line: usize) -> Span {
        let Some(&start) = line.checked_sub(1).and_then(|ix| self.starts.get(ix)) else {
            return Span::at(self.text.len());
        };
        let end = self.starts.get(line).map_or(self.text.len(), |&next| next as usize);
        Span::new(start as usize, end)
    }
}

/// Counts characters and UTF-16 units by their first bytes; those beyond the basic plane take two units.
fn characters(bytes: &[u8]) -> (u32, u32) {
    let chars = bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u32;
    let pairs = bytes.iter().filter(|&&byte| byte >= 0xf0).count() as u32;
    (chars, chars + pairs)
}

/// Returns a number of things: `1 task`, `2 tasks`.
pub fn count<N: fmt::Display + PartialEq + From<u8>>(number: N, thing: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Returns as much of a text as fits, in whole characters.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or("")
}

/// Returns the first few of several, and how many more there are: `a, b and 7 more`.
pub fn listed<T: AsRef<str>>(all: impl ExactSizeIterator<Item = T>, most: usize) -> String {
    let n_more = all.len().saturating_sub(most);
    let mut text = String::new();
    for (nth, one) in all.take(most).enumerate() {
        text.push_str(if nth > 0 { ", " } else { "" });
        text.push_str(one.as_ref());
    }
    if n_more > 0 {
        text.push_str(&format!(" and {n_more} more"));
    }
    text
}

/// Returns text with everything that a terminal acts on instead of showing written as an escape.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_visible(c) => out.push(c),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// Returns false for control characters, for those that change how the text around them is shown, and for invisible ones. Joiners and
/// selectors of visible characters, as in emoji, are invisible here too.
pub fn is_visible(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            // Soft hyphen, grapheme joiner, Arabic letter mark, fillers.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            // Zero width, separators of lines, directions, invisible operators.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Fillers, byte order mark, annotations.
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            // Tags, and selectors of variants that can carry text.
            | '\u{e0000}'..='\u{e01ef}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, at: u32, line: usize, column: usize, utf16_column: usize) {
        let source = SourceText::new(text);
        assert_eq!(
            source.line_index().position(at),
            Position {
                line,
                column,
                utf16_column
            }
        );
    }

    #[test]
    fn positions_count_characters_and_utf16_units() {
        check("", 0, 1, 1, 1);
        check("ab\ncd", 4, 2, 2, 2);
        check("é😀x", 6, 1, 3, 4);
        check("a\r\nb", 3, 2, 1, 1);
        check("a", 99, 1, 2, 2);
        check("é", 1, 1, 1, 1);
    }

    #[test]
    fn byte_order_mark_has_no_width() {
        check("\u{feff}{", 3, 1, 1, 1);
        check("\u{feff}\n{", 4, 2, 1, 1);
    }

    #[test]
    fn columns_of_long_lines_are_exact() {
        let line = "aé😀".repeat(2000);
        let source = SourceText::new(line.as_str());
        let index = source.line_index();
        for (n_chars, (at, _)) in line.char_indices().enumerate().step_by(97) {
            let position = index.position(at as u32);
            assert_eq!(position.column, n_chars + 1);
            assert_eq!(position.utf16_column, line[..at].encode_utf16().count() + 1);
        }
    }

    #[test]
    fn lines_lose_their_endings() {
        let source = SourceText::new("a\r\nb\n");
        let index = source.line_index();
        assert_eq!((index.line(1), index.line(2), index.line(3)), ("a", "b", ""));
        assert_eq!(index.n_lines(), 3);
        assert_eq!(index.line(7), "");
    }

    #[test]
    fn bad_utf8_is_replaced_and_remembered() {
        let source = SourceText::from_bytes(b"a\xff\xed\xa0\x80b".to_vec());
        let damage = source.damage().expect("bytes are not UTF-8");
        assert_eq!(damage.byte_offset, 1);
        assert_eq!(damage.n_sequences, 4);
        assert_eq!(source.slice(damage.span), "\u{fffd}");
    }

    #[test]
    fn newline_is_that_of_most_lines() {
        assert_eq!(SourceText::new("a\r\nb\r\nc\n").newline(), Newline::CrLf);
        assert_eq!(SourceText::new("a").newline(), Newline::Lf);
    }
}
