//! Parses strict JSON into the node table, and continues after errors. No recursion: deep input cannot overflow the stack.

mod doubt;
mod recover;
mod scalar;

use super::{Builder, Document, DocumentFormat, MAX_DEPTH, NodeKind, NodeRow, Parsed, Style, rules};
use crate::diagnostic::{Diagnostic, MAX_FINDINGS, Safety};
use crate::text::{SourceText, Span};

pub(crate) use recover::duplicate_key;
pub(crate) use scalar::{decode, decode_escape, encode, encode_into};
pub(super) use scalar::{digest, is_json_number};
use scalar::{is_word, plain_run};

/// After this many syntax errors without a fix, the rest is not read.
const MAX_ERRORS: usize = 50;

/// Parses a whole text; skips a byte order mark.
pub fn parse(source: &SourceText) -> Parsed {
    parse_span(source, Span::new(source.bom_len(), source.len()))
}

/// Parses a part of a text, with spans of the whole text. An invalid part is empty.
pub fn parse_span(source: &SourceText, span: Span) -> Parsed {
    // Offsets are 32 bits; files that large are refused before they are read.
    let is_part = source.len() < u32::MAX as usize && source.as_str().get(span.range()).is_some();
    let span = if is_part { span } else { Span::at(source.len()) };
    let mut parser = JsonParser::new(source, span);
    parser.run();
    let is_doubtful = parser.doubt_what_follows_a_guess();
    let mut document = Document::empty(source.clone(), DocumentFormat::Json, span);
    document.nodes = parser.builder.nodes;
    document.is_cut = parser.is_cut;
    document.is_doubtful = is_doubtful;
    document.set_broken(&parser.diagnostics);
    Parsed {
        document,
        diagnostics: parser.diagnostics,
    }
}

/// What the grammar allows next.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    /// A value, at the root or after a colon.
    Value,
    /// A value or `]`, right after `[`.
    FirstElement,
    /// A value, after a comma in an array.
    Element,
    /// A key or `}`, right after `{`.
    FirstKey,
    /// A key, after a comma.
    Key,
    CommaOrClose,
    End,
}

struct JsonFrame {
    is_object: bool,
    open: usize,
    /// The start of this object's keys in `KeyDigests::digests`.
    first_key: usize,
}

/// How many findings were counted, and how many of them were serious.
#[derive(Clone, Copy, Default)]
struct CountedFindings {
    all: usize,
    serious: usize,
}

/// The keys of objects, for finding duplicates.
#[derive(Default)]
struct KeyDigests {
    /// A digest per key of the open objects.
    digests: Vec<u64>,
    /// The digests of the last object without duplicates: its neighbours usually have the same keys.
    known_shape: Vec<u64>,
}

struct JsonParser<'t> {
    /// The text up to the end of the part that is read.
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    builder: Builder,
    frames: Vec<JsonFrame>,
    keys: KeyDigests,
    diagnostics: Vec<Diagnostic>,
    counted: CountedFindings,
    /// The text ended before its collections did, or the parser gave up.
    is_cut: bool,
    /// The text ended inside a string or comment, which was reported: unclosed collections around it only follow from that.
    end_is_explained: bool,
    /// The end of the last value or key, for a missing comma or colon.
    last_end: usize,
    /// The last comma, for pointing at a trailing one.
    last_comma: usize,
}

impl<'t> JsonParser<'t> {
    fn new(source: &'t SourceText, span: Span) -> Self {
        let range = span.range();
        let text = &source.as_str()[..range.end.min(source.len())];
        JsonParser {
            text,
            bytes: text.as_bytes(),
            at: range.start,
            builder: Builder::with_capacity(span.len() / 8 + 8),
            frames: Vec::new(),
            keys: KeyDigests::default(),
            diagnostics: Vec::new(),
            counted: CountedFindings::default(),
            is_cut: false,
            end_is_explained: false,
            last_end: range.start,
            last_comma: range.start,
        }
    }

    fn run(&mut self) {
        let mut expect = Expect::Value;
        while expect != Expect::End {
            let has_news = self.diagnostics.len() != self.counted.all;
            if (has_news && self.has_too_many_errors()) || self.builder.is_full() {
                self.give_up();
                return;
            }
            expect = match expect {
                Expect::Value | Expect::FirstElement | Expect::Element => self.value(expect),
                Expect::FirstKey | Expect::Key => self.key(expect),
                Expect::CommaOrClose => self.comma_or_close(),
                Expect::End => Expect::End,
            };
        }
        self.trailing_text();
    }

    /// Returns whether there are too many errors without a fix to read the rest.
    fn has_too_many_errors(&mut self) -> bool {
        let is_serious = |found: &&Diagnostic| {
            let has_safe_fix = found.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe);
            !has_safe_fix && found.rule != &rules::DUPLICATE_KEY && found.rule != &rules::JSON_SURROGATE
        };
        self.counted.serious += self.diagnostics[self.counted.all..].iter().filter(is_serious).count();
        self.counted.all = self.diagnostics.len();
        self.counted.serious >= MAX_ERRORS || self.counted.all >= MAX_FINDINGS
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Returns the span from an offset to here. Both are offsets of a text that is short enough.
    #[inline]
    fn since(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.at as u32,
        }
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                b'/' | b'#' if self.comment(byte) => {}
                _ => return,
            }
        }
    }

    fn value(&mut self, expect: Expect) -> Expect {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let decoded = self.string();
                self.push_scalar(NodeKind::String, self.since(start), decoded)
            }
            Some(b'{') => self.open(true),
            Some(b'[') => self.open(false),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') if self.word("true") => self.push_scalar(NodeKind::True, self.since(start), false),
            Some(b'f') if self.word("false") => self.push_scalar(NodeKind::False, self.since(start), false),
            Some(b'n') if self.word("null") => self.push_scalar(NodeKind::Null, self.since(start), false),
            Some(b']') if expect == Expect::FirstElement => self.comma_or_close(),
            Some(byte) => self.odd_value(expect, byte),
            None => self.end_of_text(expect),
        }
    }

    /// Consumes a literal that is a whole word.
    fn word(&mut self, word: &str) -> bool {
        let rest = &self.bytes[self.at..];
        let ends = rest.get(word.len()).is_none_or(|&byte| !is_word(byte));
        let found = rest.starts_with(word.as_bytes()) && ends;
        if found {
            self.at += word.len();
        }
        found
    }

    #[inline]
    fn push_scalar(&mut self, kind: NodeKind, span: Span, decoded: bool) -> Expect {
        let style = if kind == NodeKind::String {
            Style::Double
        } else {
            Style::Plain
        };
        self.builder.push(kind, style, span, decoded);
        self.after_value(span.end as usize)
    }

    fn push_invalid(&mut self, span: Span) -> Expect {
        self.push_scalar(NodeKind::Invalid, span, false)
    }

    #[inline]
    fn after_value(&mut self, end: usize) -> Expect {
        self.last_end = end;
        if self.frames.is_empty() {
            Expect::End
        } else {
            Expect::CommaOrClose
        }
    }

    fn open(&mut self, is_object: bool) -> Expect {
        if self.frames.len() >= MAX_DEPTH {
            return self.skip_deep();
        }
        let kind = if is_object { NodeKind::Object } else { NodeKind::Array };
        self.builder.open(kind, Style::Flow, self.at);
        self.frames.push(JsonFrame {
            is_object,
            open: self.at,
            first_key: self.keys.digests.len(),
        });
        self.at += 1;
        self.last_end = self.at;
        if is_object {
            Expect::FirstKey
        } else {
            Expect::FirstElement
        }
    }

    fn close(&mut self) -> Expect {
        self.at += 1;
        self.pop_frame(self.at);
        self.after_value(self.at)
    }

    fn pop_frame(&mut self, end: usize) {
        let row = self.builder.open.last().map_or(0, |&row| row as usize);
        if let Some(frame) = self.frames.pop() {
            self.builder.close(end);
            if frame.is_object {
                self.find_duplicates(row, frame.first_key);
            }
        }
    }

    fn comma_or_close(&mut self) -> Expect {
        self.skip_space();
        let Some(frame) = self.frames.last() else {
            return Expect::End;
        };
        let is_object = frame.is_object;
        match self.peek() {
            Some(b',') => {
                self.last_comma = self.at;
                self.at += 1;
                if is_object { Expect::Key } else { Expect::Element }
            }
            Some(b'}') if is_object => self.close(),
            Some(b']') if !is_object => self.close(),
            Some(b'}' | b']') => self.wrong_bracket(),
            Some(byte @ (b'"' | b'{' | b'[' | b'\'' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')) => {
                self.missing_comma(is_object, byte)
            }
            Some(_) => self.odd_separator(),
            None => self.unclosed(),
        }
    }

    fn key(&mut self, expect: Expect) -> Expect {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let decoded = self.string();
                self.push_key(self.since(start), Style::Double, decoded)
            }
            Some(b'}') => {
                if expect == Expect::Key {
                    self.trailing_comma();
                }
                self.comma_or_close()
            }
            Some(byte) => self.odd_key(expect, byte),
            None => self.unclosed(),
        }
    }

    #[inline]
    fn push_key(&mut self, span: Span, style: Style, decoded: bool) -> Expect {
        let row = self.builder.nodes.len() as u32;
        self.builder.push(NodeKind::Key, style, span, decoded);
        let digest = if decoded {
            digest(decode(&self.text[span.range()]).as_bytes())
        } else {
            digest(self.key_bytes(row))
        };
        self.keys.digests.push(digest);
        self.last_end = span.end as usize;
        self.colon()
    }

    fn key_bytes(&self, row: u32) -> &'t [u8] {
        let node = self.builder.nodes[row as usize];
        let quote = u32::from(node.style() != Style::Plain);
        let (start, end) = (node.start + quote, node.end.max(node.start + 2 * quote) - quote);
        &self.bytes[start as usize..end as usize]
    }

    #[inline]
    fn colon(&mut self) -> Expect {
        if self.peek() == Some(b':') {
            self.at += 1;
            return Expect::Value;
        }
        self.skip_space();
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Expect::Value
            }
            found => self.odd_colon(found),
        }
    }

    /// Consumes a string from its opening quote; returns whether its value differs from its slice.
    #[inline]
    fn string(&mut self) -> bool {
        let at = plain_run(self.bytes, self.at + 1);
        if self.bytes.get(at) == Some(&b'"') {
            self.at = at + 1;
            return false;
        }
        self.odd_string(at)
    }

    fn number(&mut self) -> Expect {
        let start = self.at;
        let mut at = start;
        while self.bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        // Most numbers are a few digits and then a separator.
        let is_whole = at > start && (at == start + 1 || self.bytes[start] != b'0');
        if is_whole && matches!(self.bytes.get(at), Some(b',' | b']' | b'}' | b'\n' | b' ')) {
            self.at = at;
            return self.push_scalar(NodeKind::Number, Span::new(start, at), false);
        }
        while let Some(byte) = self.bytes.get(at) {
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')) {
                break;
            }
            at += 1;
        }
        self.at = at;
        let span = Span::new(start, at);
        if is_json_number(&self.bytes[start..at]) {
            return self.push_scalar(NodeKind::Number, span, false);
        }
        self.odd_number(span)
    }

    /// Reports keys that occur twice in the object at a row; its digests start at `first`.
    fn find_duplicates(&mut self, row: usize, first: usize) {
        let digests = &self.keys.digests[first..];
        if digests.len() > 1 && digests != self.keys.known_shape {
            // Small objects are compared pair by pair; for large ones the exact way is faster.
            let is_suspicious = digests.len() > 24 || (1..digests.len()).any(|ix| digests[..ix].contains(&digests[ix]));
            if is_suspicious {
                self.report_duplicates(row);
            } else {
                self.keys.known_shape.clear();
                self.keys.known_shape.extend_from_slice(&self.keys.digests[first..]);
            }
        }
        self.keys.digests.truncate(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fix(text: &str, expect: Option<&str>) {
        let source = SourceText::new(text);
        let parsed = parse(&source);
        let trailing = parsed
            .diagnostics
            .iter()
            .find(|finding| finding.rule == &rules::JSON_TRAILING_TEXT);
        let fix = trailing.expect("is reported").fix.as_ref();
        let fixed = fix.map(|fix| crate::document::patch::apply(&source, &fix.edits).expect("fits the text"));
        assert_eq!(fixed.as_deref(), expect);
    }

    #[test]
    fn unicode_spaces_after_the_value_are_text() {
        for c in ['\u{b}', '\u{c}', '\u{85}', '\u{a0}', '\u{2028}', '\u{3000}'] {
            let parsed = parse(&SourceText::new(format!("{{}}\n{c}\n")));
            let rules: Vec<&str> = parsed.diagnostics.iter().map(|found| found.rule.id).collect();
            assert_eq!(rules, [rules::JSON_TRAILING_TEXT.id], "{c:?}");
        }
    }

    #[test]
    fn only_text_after_a_collection_is_cut() {
        check_fix("{\"a\": 1}\nHope this helps!\n", Some("{\"a\": 1}\n"));
        check_fix("Here is the plan: {\"a\": 1}", None);
        check_fix("null plan {\"a\": 1}", None);
        check_fix("{\"a\": 1} {\"b\": 2}", None);
    }

    #[test]
    fn spans_outside_of_the_text_are_empty() {
        let source = SourceText::new("[\"é\"]");
        for span in [Span::new(3, 5), Span::new(0, 99), Span::new(99, 100)] {
            assert_eq!(parse_span(&source, span).document.n_nodes(), 0);
        }
    }
}
