//! Strict JSON into the node table, going on after errors.
//! No recursion: the depth of the input cannot overflow the stack.

use std::collections::HashMap;

use super::{Builder, Document, Format, Kind, MAX_DEPTH, Parsed, Style, rules};
use crate::diagnostic::{Diagnostic, Replacement};
use crate::text::{SourceText, Span};

/// After this many syntax errors the rest is not worth reading.
const MAX_ERRORS: usize = 50;

/// Parses a whole text; a byte order mark is skipped.
pub fn parse(source: &SourceText) -> Parsed {
    parse_span(source, Span::new(source.bom_len(), source.len()))
}

/// Parses a part of a text; all spans are those of the whole text. A part that is not one of this text's is empty.
pub fn parse_span(source: &SourceText, span: Span) -> Parsed {
    let is_part = source.as_str().get(span.range()).is_some();
    let span = if is_part { span } else { Span::at(source.len()) };
    let mut parser = Parser::new(source, span);
    parser.run();
    let mut document = Document::empty(source.clone(), Format::Json, span);
    document.nodes = parser.builder.nodes;
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

struct Frame {
    is_object: bool,
    open: usize,
    /// Where this object's keys begin in `Parser::keys`.
    first_key: usize,
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    end: usize,
    builder: Builder,
    frames: Vec<Frame>,
    /// A digest and row per key of the open objects, for finding duplicates.
    keys: Vec<(u64, u32)>,
    diagnostics: Vec<Diagnostic>,
    /// End of the last value or key, where a missing comma or colon belongs.
    last_end: usize,
    /// The last comma, for pointing at a trailing one.
    last_comma: usize,
}

impl<'t> Parser<'t> {
    fn new(source: &'t SourceText, span: Span) -> Self {
        let range = span.range();
        Parser {
            text: source.as_str(),
            bytes: &source.as_str().as_bytes()[..range.end.min(source.len())],
            at: range.start,
            end: range.end.min(source.len()),
            builder: Builder::with_capacity(span.len() / 12 + 8),
            frames: Vec::new(),
            keys: Vec::new(),
            diagnostics: Vec::new(),
            last_end: range.start,
            last_comma: range.start,
        }
    }

    fn run(&mut self) {
        let mut expect = Expect::Value;
        while expect != Expect::End {
            if self.diagnostics.len() >= MAX_ERRORS || self.builder.is_full() {
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

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn error(
        &mut self,
        rule: &'static crate::diagnostic::Rule,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.diagnostics.push(Diagnostic::new(rule, span, message));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    fn give_up(&mut self) {
        let at = Span::new(self.at.min(self.end), self.end);
        let (rule, message) = if self.builder.is_full() {
            (&rules::TOO_LARGE, "more than 16 million values: the rest is not read")
        } else {
            (&rules::JSON_SYNTAX, "too many syntax errors: the rest is not read")
        };
        self.error(rule, Span::at(at.start as usize), message);
        // Rows must still pair up: a key without its value gets an unreadable one.
        if self.builder.nodes.last().is_some_and(|node| node.kind() == Kind::Key) {
            self.push_invalid(Span::at(self.at));
        }
        while self.frames.pop().is_some() {
            self.builder.close(self.end);
        }
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                b'/' | b'#' => {
                    if !self.comment(byte) {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips and reports a comment; false where there is none.
    fn comment(&mut self, byte: u8) -> bool {
        let start = self.at;
        let rest = &self.bytes[start..];
        let end = if byte == b'#' || rest.starts_with(b"//") {
            memchr::memchr2(b'\n', b'\r', rest).map_or(self.end, |found| start + found)
        } else if rest.starts_with(b"/*") {
            memchr::memmem::find(&rest[2..], b"*/").map_or(self.end, |found| start + found + 4)
        } else {
            return false;
        };
        let span = Span::new(start, end);
        // A comment that has its line to itself goes with the line; one after a value goes with the space before it.
        let before = self.text[..start].trim_end_matches([' ', '\t']).len();
        let cut = Span::new(before.max(self.last_end.min(start)), end);
        let diagnostic = self.error(&rules::JSON_COMMENT, span, "JSON has no comments");
        diagnostic.help = "remove it, or keep it in a notes field".to_owned();
        *diagnostic = diagnostic
            .clone()
            .with_safe_fix("remove the comment", vec![Replacement::delete(cut)]);
        self.at = end;
        true
    }

    fn after_value(&mut self, end: usize) -> Expect {
        self.last_end = end;
        if self.frames.is_empty() {
            Expect::End
        } else {
            Expect::CommaOrClose
        }
    }

    fn push_scalar(&mut self, kind: Kind, span: Span, decoded: bool) -> Expect {
        let style = if kind == Kind::String {
            Style::Double
        } else {
            Style::Plain
        };
        self.builder.push(kind, style, span, decoded);
        self.after_value(span.end as usize)
    }

    fn push_invalid(&mut self, span: Span) -> Expect {
        self.push_scalar(Kind::Invalid, span, false)
    }

    fn value(&mut self, expect: Expect) -> Expect {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let decoded = self.string();
                self.push_scalar(Kind::String, Span::new(start, self.at), decoded)
            }
            Some(b'{') => self.open(true),
            Some(b'[') => self.open(false),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') if self.word("true") => self.push_scalar(Kind::True, Span::new(start, self.at), false),
            Some(b'f') if self.word("false") => self.push_scalar(Kind::False, Span::new(start, self.at), false),
            Some(b'n') if self.word("null") => self.push_scalar(Kind::Null, Span::new(start, self.at), false),
            Some(b']') if expect == Expect::FirstElement => self.comma_or_close(),
            Some(byte) => self.odd_value(expect, byte),
            None => {
                let span = Span::at(self.last_end.max(self.at));
                if self.frames.is_empty() && self.builder.nodes.is_empty() {
                    self.error(&rules::JSON_SYNTAX, span, "the text holds no JSON value");
                    return Expect::End;
                }
                if expect != Expect::Value {
                    return self.unclosed();
                }
                self.error(&rules::JSON_SYNTAX, span, "expected a value, found the end of the text");
                self.push_invalid(span)
            }
        }
    }

    /// Consumes a literal that ends where a word ends.
    fn word(&mut self, word: &str) -> bool {
        let rest = &self.bytes[self.at..];
        let ends = rest.get(word.len()).is_none_or(|&byte| !is_word(byte));
        let found = rest.starts_with(word.as_bytes()) && ends;
        if found {
            self.at += word.len();
        }
        found
    }

    fn odd_value(&mut self, expect: Expect, byte: u8) -> Expect {
        let start = self.at;
        match byte {
            b']' if expect == Expect::Element => {
                self.trailing_comma();
                self.comma_or_close()
            }
            b',' if expect != Expect::Value => {
                let comma = Span::new(start, start + 1);
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, comma, "a comma without a value before it")
                    .with_safe_fix("remove the comma", vec![Replacement::delete(comma)]);
                self.diagnostics.push(diagnostic);
                self.at += 1;
                expect
            }
            b':' => {
                self.at += 1;
                self.error(&rules::JSON_SYNTAX, Span::new(start, start + 1), "unexpected `:`");
                expect
            }
            b',' | b'}' | b']' => {
                self.error(&rules::JSON_SYNTAX, Span::new(start, start + 1), "expected a value");
                if self.frames.is_empty() {
                    self.at += 1;
                    return Expect::Value;
                }
                if expect == Expect::Value {
                    return self.push_invalid(Span::at(start));
                }
                self.comma_or_close()
            }
            b'\'' => {
                let (content, span) = self.single_quoted();
                self.quotes_error(span, &content);
                // Strict tools cannot read it, but its text is plain enough to go on with.
                if span.len() == content.len() + 2 && !content.contains('\\') {
                    self.builder.push(Kind::String, Style::Single, span, false);
                    self.after_value(span.end as usize)
                } else {
                    self.push_invalid(span)
                }
            }
            b'+' | b'.' => self.number(),
            _ => self.odd_word(),
        }
    }

    fn trailing_comma(&mut self) {
        let comma = Span::new(self.last_comma, self.last_comma + 1);
        let diagnostic = Diagnostic::new(&rules::JSON_TRAILING_COMMA, comma, "a comma before a closing bracket")
            .with_help("remove the comma")
            .with_safe_fix("remove the trailing comma", vec![Replacement::delete(comma)]);
        self.diagnostics.push(diagnostic);
    }

    fn odd_word(&mut self) -> Expect {
        let start = self.at;
        let rest = &self.text[start..self.end];
        let len = rest
            .find(|c: char| matches!(c, ',' | ':' | '"' | '{' | '}' | '[' | ']') || c.is_whitespace())
            .unwrap_or(rest.len());
        let len = if len == 0 {
            rest.chars().next().map_or(1, char::len_utf8)
        } else {
            len
        };
        self.at = start + len;
        let word = &rest[..len];
        let span = Span::new(start, self.at);
        let meant = match word {
            "True" | "TRUE" => Some(("true", Kind::True)),
            "False" | "FALSE" => Some(("false", Kind::False)),
            "None" | "NULL" | "Null" | "nil" | "undefined" | "NaN" | "Infinity" => Some(("null", Kind::Null)),
            _ => None,
        };
        let Some((literal, kind)) = meant else {
            let shown: String = word.chars().take(40).collect();
            self.error(
                &rules::JSON_LITERAL,
                span,
                format!("`{}` is not a JSON value", shown.escape_debug()),
            )
            .help = "strings stand in double quotes; the other words are true, false and null".to_owned();
            return self.push_invalid(span);
        };
        let keeps_meaning = !matches!(word, "NaN" | "Infinity" | "undefined");
        let diagnostic = Diagnostic::new(&rules::JSON_LITERAL, span, format!("`{word}` is not a JSON value"))
            .with_help(format!("write `{literal}`"));
        let edits = vec![Replacement::new(span, literal)];
        let title = format!("write `{literal}`");
        self.diagnostics.push(if keeps_meaning {
            diagnostic.with_safe_fix(title, edits)
        } else {
            diagnostic.with_unsafe_fix(title, edits)
        });
        self.push_scalar(kind, span, false)
    }

    /// Consumes a single-quoted string and returns its content and span.
    fn single_quoted(&mut self) -> (String, Span) {
        let start = self.at;
        let rest = &self.text[start + 1..self.end];
        let mut len = rest.len();
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            if c == '\n' || (c == '\'' && !escaped) {
                len = at;
                break;
            }
            escaped = c == '\\' && !escaped;
        }
        let closed = rest[len..].starts_with('\'');
        self.at = start + 1 + len + usize::from(closed);
        (rest[..len].to_owned(), Span::new(start, self.at))
    }

    fn quotes_error(&mut self, span: Span, content: &str) {
        let diagnostic = Diagnostic::new(&rules::JSON_QUOTES, span, "JSON strings stand in double quotes")
            .with_help("use double quotes");
        let simple = !content.contains(['"', '\\']) && !content.chars().any(char::is_control);
        let closed = span.len() == content.len() + 2;
        self.diagnostics.push(if simple && closed {
            diagnostic.with_safe_fix(
                "use double quotes",
                vec![Replacement::new(span, format!("\"{content}\""))],
            )
        } else {
            diagnostic
        });
    }

    fn open(&mut self, is_object: bool) -> Expect {
        if self.frames.len() >= MAX_DEPTH {
            return self.skip_deep();
        }
        let kind = if is_object { Kind::Object } else { Kind::Array };
        self.builder.open(kind, Style::Flow, self.at);
        self.frames.push(Frame {
            is_object,
            open: self.at,
            first_key: self.keys.len(),
        });
        self.at += 1;
        self.last_end = self.at;
        if is_object {
            Expect::FirstKey
        } else {
            Expect::FirstElement
        }
    }

    /// Skips a value nested too deeply by counting brackets outside strings.
    fn skip_deep(&mut self) -> Expect {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => {
                    let n_errors = self.diagnostics.len();
                    self.string();
                    self.diagnostics.truncate(n_errors);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let span = Span::new(start, self.at);
        self.error(
            &rules::TOO_DEEP,
            Span::new(start, start + 1),
            format!("nested more than {MAX_DEPTH} levels deep: this value is skipped"),
        );
        self.push_invalid(span)
    }

    fn close(&mut self) -> Expect {
        self.at += 1;
        self.pop_frame(self.at);
        self.after_value(self.at)
    }

    fn pop_frame(&mut self, end: usize) {
        if let Some(frame) = self.frames.pop() {
            self.builder.close(end);
            if frame.is_object {
                self.find_duplicates(frame.first_key);
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
            Some(b'"' | b'{' | b'[' | b'\'' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => {
                self.missing_comma(is_object)
            }
            Some(_) => {
                let c = self.text[self.at..].chars().next().unwrap_or(' ');
                let span = Span::new(self.at, self.at + c.len_utf8());
                self.error(&rules::JSON_SYNTAX, span, format!("unexpected `{}`", c.escape_debug()))
                    .help = "expected a comma or a closing bracket".to_owned();
                self.at += c.len_utf8();
                Expect::CommaOrClose
            }
            None => self.unclosed(),
        }
    }

    fn missing_comma(&mut self, is_object: bool) -> Expect {
        let at = Span::at(self.last_end);
        let diagnostic = Diagnostic::new(&rules::JSON_MISSING_COMMA, at, "a comma is missing here")
            .with_help("separate values with a comma")
            .with_safe_fix("insert a comma", vec![Replacement::insert(at.start, ",")]);
        self.diagnostics.push(diagnostic);
        if is_object { Expect::Key } else { Expect::Element }
    }

    /// A `]` inside an object or a `}` inside an array: close what it can close, else skip it.
    fn wrong_bracket(&mut self) -> Expect {
        let closes_object = self.peek() == Some(b'}');
        let bracket = Span::new(self.at, self.at + 1);
        let shown = if closes_object { '}' } else { ']' };
        let fits_outer = self.frames.iter().any(|frame| frame.is_object == closes_object);
        let Some(inner) = self.frames.last() else {
            return Expect::End;
        };
        let (open, what, wanted) = (
            inner.open,
            frame_name(inner.is_object),
            if inner.is_object { '}' } else { ']' },
        );
        let diagnostic = self.error(
            &rules::JSON_UNCLOSED,
            bracket,
            format!("`{shown}` does not close {what}: expected `{wanted}`"),
        );
        *diagnostic = diagnostic
            .clone()
            .with_related(Span::new(open, open + 1), format!("{what} opened here"));
        if fits_outer {
            self.pop_frame(self.last_end);
            self.last_end = self.at;
        } else {
            self.at += 1;
        }
        Expect::CommaOrClose
    }

    fn unclosed(&mut self) -> Expect {
        let opened: Vec<_> = self.frames.iter().map(|frame| (frame.open, frame.is_object)).collect();
        let Some(&(inner, is_object)) = opened.last() else {
            return Expect::End;
        };
        let what = frame_name(is_object);
        let mut diagnostic = Diagnostic::new(
            &rules::JSON_UNCLOSED,
            Span::at(self.end),
            format!("the text ends inside {what}"),
        )
        .with_related(Span::new(inner, inner + 1), format!("{what} opened here"))
        .with_help("close what is open, or restore the rest of the file: it may be cut off");
        for &(open, is_object) in opened.iter().rev().skip(1).take(3) {
            diagnostic = diagnostic.with_related(
                Span::new(open, open + 1),
                format!("inside {} opened here", frame_name(is_object)),
            );
        }
        self.diagnostics.push(diagnostic);
        while !self.frames.is_empty() {
            self.pop_frame(self.end);
        }
        Expect::End
    }

    fn key(&mut self, expect: Expect) -> Expect {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let decoded = self.string();
                self.push_key(Span::new(start, self.at), Style::Double, decoded)
            }
            Some(b'}') => {
                if expect == Expect::Key {
                    self.trailing_comma();
                }
                self.comma_or_close()
            }
            Some(b',') => {
                let span = Span::new(start, start + 1);
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, span, "a comma without a member before it")
                    .with_safe_fix("remove the comma", vec![Replacement::delete(span)]);
                self.diagnostics.push(diagnostic);
                self.at += 1;
                expect
            }
            Some(b'\'') => {
                let (content, span) = self.single_quoted();
                self.quotes_error(span, &content);
                self.push_key(span, Style::Single, false)
            }
            Some(b']') => self.comma_or_close(),
            Some(byte) if is_word(byte) || byte >= 0x80 => self.bare_key(),
            Some(_) => {
                let c = self.text[start..].chars().next().unwrap_or(' ');
                self.at += c.len_utf8();
                self.error(
                    &rules::JSON_SYNTAX,
                    Span::new(start, start + c.len_utf8()),
                    format!("expected a key, found `{}`", c.escape_debug()),
                );
                expect
            }
            None => self.unclosed(),
        }
    }

    fn bare_key(&mut self) -> Expect {
        let start = self.at;
        let rest = &self.text[start..self.end];
        let len = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.')))
            .unwrap_or(rest.len());
        let len = if len == 0 {
            rest.chars().next().map_or(1, char::len_utf8)
        } else {
            len
        };
        self.at += len;
        let span = Span::new(start, self.at);
        let word = &rest[..len];
        let diagnostic = Diagnostic::new(
            &rules::JSON_QUOTES,
            span,
            format!("the key `{}` is not in quotes", word.escape_debug()),
        )
        .with_help("keys stand in double quotes")
        .with_safe_fix(
            "put the key in quotes",
            vec![Replacement::new(span, format!("\"{word}\""))],
        );
        self.diagnostics.push(diagnostic);
        self.push_key(span, Style::Plain, false)
    }

    fn push_key(&mut self, span: Span, style: Style, decoded: bool) -> Expect {
        let row = self.builder.nodes.len() as u32;
        self.builder.push(Kind::Key, style, span, decoded);
        let digest = if decoded {
            digest(decode(&self.text[span.range()]).as_bytes())
        } else {
            digest(self.key_bytes(row))
        };
        self.keys.push((digest, row));
        self.last_end = span.end as usize;
        self.colon()
    }

    fn key_bytes(&self, row: u32) -> &'t [u8] {
        let node = self.builder.nodes[row as usize];
        let quote = u32::from(node.style() != Style::Plain);
        let (start, end) = (node.start + quote, node.end.max(node.start + 2 * quote) - quote);
        &self.bytes[start as usize..end as usize]
    }

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
            Some(b'=') => {
                let span = Span::new(self.at, self.at + 1);
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, span, "expected `:` after the key, found `=`")
                    .with_safe_fix("write `:`", vec![Replacement::new(span, ":")]);
                self.diagnostics.push(diagnostic);
                self.at += 1;
                Expect::Value
            }
            Some(b',' | b'}' | b']') | None => {
                self.error(
                    &rules::JSON_SYNTAX,
                    Span::at(self.last_end),
                    "expected `:` and a value after the key",
                );
                self.push_invalid(Span::at(self.last_end))
            }
            Some(_) => {
                let at = self.last_end;
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, Span::at(at), "expected `:` after the key")
                    .with_safe_fix("insert a colon", vec![Replacement::insert(at as u32, ":")]);
                self.diagnostics.push(diagnostic);
                Expect::Value
            }
        }
    }

    /// Consumes a string from its opening quote; returns whether its value differs from its slice.
    fn string(&mut self) -> bool {
        let start = self.at;
        let mut at = start + 1;
        let mut decoded = false;
        loop {
            at = plain_run(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return decoded;
                }
                Some(b'\\') => {
                    decoded = true;
                    at = self.escape(at);
                }
                Some(b'\n' | b'\r') | None => {
                    // A raw line break ends the string: the closing quote was forgotten more often than not.
                    self.at = at.min(self.end);
                    let diagnostic = self.error(
                        &rules::JSON_UNCLOSED,
                        Span::new(start, at.min(self.end)),
                        "the string is not closed on its line",
                    );
                    diagnostic.help = "close it with a double quote, or write line breaks as \\n".to_owned();
                    // Its slice lacks the closing quote, so the value is read by decoding.
                    return true;
                }
                Some(&control) => {
                    let escaped = match control {
                        b'\t' => "\\t".to_owned(),
                        other => format!("\\u{other:04x}"),
                    };
                    let span = Span::new(at, at + 1);
                    let diagnostic = Diagnostic::new(
                        &rules::JSON_STRING,
                        span,
                        format!("the control character U+{control:04X} must be escaped in a string"),
                    )
                    .with_help(format!("write {escaped}"))
                    .with_safe_fix(format!("write {escaped}"), vec![Replacement::new(span, escaped)]);
                    self.diagnostics.push(diagnostic);
                    at += 1;
                    if self.diagnostics.len() >= MAX_ERRORS {
                        self.at = at;
                        return true;
                    }
                }
            }
        }
    }

    /// Checks the escape at a backslash and returns the offset after it.
    fn escape(&mut self, at: usize) -> usize {
        let bytes = self.bytes;
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at + 2,
            Some(b'u') => self.unicode_escape(at),
            Some(b'\n' | b'\r') | None => {
                self.error(
                    &rules::JSON_STRING,
                    Span::new(at, at + 1),
                    "a backslash at the end of the line",
                );
                at + 1
            }
            Some(_) => {
                let c = self.text[at + 1..].chars().next().unwrap_or(' ');
                let span = Span::new(at, at + 1 + c.len_utf8());
                let diagnostic = Diagnostic::new(
                    &rules::JSON_STRING,
                    span,
                    format!("`\\{}` is not an escape JSON knows", c.escape_debug()),
                )
                .with_help("write a backslash as \\\\")
                .with_safe_fix("escape the backslash", vec![Replacement::insert(at as u32, "\\")]);
                self.diagnostics.push(diagnostic);
                at + 1 + c.len_utf8()
            }
        }
    }

    fn unicode_escape(&mut self, at: usize) -> usize {
        let unit = |at: usize| {
            let digits = self.bytes.get(at + 2..at + 6)?;
            let is_escape = self.bytes[at..].starts_with(b"\\u") && digits.iter().all(u8::is_ascii_hexdigit);
            let digits = std::str::from_utf8(digits).ok().filter(|_| is_escape)?;
            u16::from_str_radix(digits, 16).ok()
        };
        let Some(first) = unit(at) else {
            self.error(
                &rules::JSON_STRING,
                Span::new(at, at + 2),
                "`\\u` needs four hexadecimal digits",
            );
            return at + 2;
        };
        let paired = match first {
            0xd800..=0xdbff => matches!(unit(at + 6), Some(0xdc00..=0xdfff)),
            0xdc00..=0xdfff => false,
            _ => return at + 6,
        };
        if paired {
            return at + 12;
        }
        self.error(
            &rules::JSON_SURROGATE,
            Span::new(at, at + 6),
            format!("`\\u{first:04x}` is half of a surrogate pair"),
        )
        .help = "write the character itself, or both halves".to_owned();
        at + 6
    }

    fn number(&mut self) -> Expect {
        let start = self.at;
        let mut at = start;
        while let Some(byte) = self.bytes.get(at) {
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')) {
                break;
            }
            at += 1;
        }
        self.at = at;
        let span = Span::new(start, at);
        if is_json_number(&self.bytes[start..at]) {
            return self.push_scalar(Kind::Number, span, false);
        }
        let written = &self.text[span.range()];
        let diagnostic = Diagnostic::new(
            &rules::JSON_NUMBER,
            span,
            format!("`{}` is not a JSON number", written.escape_debug()),
        );
        let mended = mend_number(written);
        let diagnostic = match &mended {
            Some(mended) => diagnostic.with_help(format!("write `{mended}`")).with_safe_fix(
                format!("write `{mended}`"),
                vec![Replacement::new(span, mended.as_str())],
            ),
            None => diagnostic.with_help("write a decimal number, or put the text in quotes"),
        };
        self.diagnostics.push(diagnostic);
        self.push_invalid(span)
    }

    fn trailing_text(&mut self) {
        self.skip_space();
        let rest = self.text[self.at..self.end].trim_end();
        if rest.is_empty() || self.builder.nodes.is_empty() {
            return;
        }
        let span = Span::new(self.at, self.at + rest.len());
        let looks_like_json = rest.starts_with(['{', '[', '}', ']', '"']);
        let diagnostic = Diagnostic::new(&rules::JSON_TRAILING_TEXT, span, "text after the end of the JSON value");
        // After prose the "value" is its first word and the text after it the plan: never cut that.
        let follows_collection = matches!(self.builder.nodes[0].kind(), Kind::Object | Kind::Array);
        self.diagnostics.push(if looks_like_json || !follows_collection {
            diagnostic.with_help("a file holds one value: remove what does not belong")
        } else {
            let cut = Span::new(self.last_end, self.at + rest.len());
            diagnostic
                .with_help("remove it: only the JSON value belongs in the file")
                .with_safe_fix("remove the text after the JSON value", vec![Replacement::delete(cut)])
        });
    }

    /// Reports keys that occur twice in the object whose keys begin at `first`.
    fn find_duplicates(&mut self, first: usize) {
        let n_keys = self.keys.len() - first;
        if n_keys > 1 {
            let suspicious = if n_keys <= 24 {
                let keys = &self.keys[first..];
                keys.iter()
                    .enumerate()
                    .any(|(ix, (digest, _))| keys[..ix].iter().any(|(other, _)| other == digest))
            } else {
                true
            };
            if suspicious {
                self.report_duplicates(first);
            }
        }
        self.keys.truncate(first);
    }

    #[cold]
    fn report_duplicates(&mut self, first: usize) {
        let mut seen: HashMap<String, Span> = HashMap::new();
        let rows: Vec<u32> = self.keys[first..].iter().map(|&(_, row)| row).collect();
        for row in rows {
            let node = self.builder.nodes[row as usize];
            let span = Span {
                start: node.start,
                end: node.end,
            };
            let key = if node.decoded() {
                decode(&self.text[span.range()])
            } else {
                String::from_utf8_lossy(self.key_bytes(row)).into_owned()
            };
            match seen.get(&key) {
                Some(&earlier) => self.diagnostics.push(duplicate_key(&key, span, earlier)),
                None => {
                    seen.insert(key, span);
                }
            }
        }
    }
}

/// Returns the finding for a repeated key, at both places.
pub(crate) fn duplicate_key(key: &str, span: Span, earlier: Span) -> Diagnostic {
    Diagnostic::new(
        &rules::DUPLICATE_KEY,
        span,
        format!("the key `{}` appears twice", key.escape_debug()),
    )
    .with_label("again here")
    .with_related(earlier, "first here")
    .with_help("keep one of the two")
}

fn frame_name(is_object: bool) -> &'static str {
    if is_object { "the object" } else { "the array" }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Returns the offset of the next quote, backslash or control character at or after `at`.
fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let Ok(chunk) = <[u8; 8]>::try_from(chunk) else {
            break;
        };
        let word = u64::from_le_bytes(chunk);
        let quote = word ^ (LOW * b'"' as u64);
        let slash = word ^ (LOW * b'\\' as u64);
        let zeros = (quote.wrapping_sub(LOW) & !quote) | (slash.wrapping_sub(LOW) & !slash);
        let controls = word.wrapping_sub(LOW * 0x20) & !word;
        let found = (zeros | controls) & HIGH;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// A quick digest of a key: enough to tell most keys of one object apart.
pub(super) fn digest(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(super) fn is_json_number(number: &[u8]) -> bool {
    let digits = |mut at: usize| {
        let start = at;
        while number.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > start).then_some(at)
    };
    let mut at = usize::from(number.first() == Some(&b'-'));
    at = match number.get(at) {
        Some(b'0') => at + 1,
        _ => match digits(at) {
            Some(end) => end,
            None => return false,
        },
    };
    if number.get(at) == Some(&b'.') {
        match digits(at + 1) {
            Some(end) => at = end,
            None => return false,
        }
    }
    if matches!(number.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(number.get(at + 1), Some(b'+' | b'-')));
        match digits(at + 1 + sign) {
            Some(end) => at = end,
            None => return false,
        }
    }
    at == number.len()
}

/// Returns how a badly written number was meant, where that is beyond doubt.
fn mend_number(written: &str) -> Option<String> {
    let sign = if written.starts_with('-') { "-" } else { "" };
    let rest = written.trim_start_matches(['-', '+']);
    let rest = match rest.trim_start_matches('0') {
        digits if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.to_owned(),
        digits => format!("0{digits}"),
    };
    let rest = rest.strip_suffix('.').unwrap_or(&rest);
    let mended = format!("{sign}{rest}");
    is_json_number(mended.as_bytes()).then_some(mended)
}

/// Decodes the escapes of a string given with its quotes; what is not an escape stands for itself.
pub fn decode(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find(['\\', '"']) {
        out.push_str(&rest[..at]);
        if rest.as_bytes()[at] == b'"' {
            return out;
        }
        let (c, len) = decode_escape(&rest[at..]);
        out.push(c);
        rest = &rest[at + len..];
    }
    out.push_str(rest);
    out
}

fn decode_escape(escape: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let c = escape[1..].chars().next();
    match c {
        Some('b') => ('\u{8}', 2),
        Some('f') => ('\u{c}', 2),
        Some('n') => ('\n', 2),
        Some('r') => ('\r', 2),
        Some('t') => ('\t', 2),
        Some(plain @ ('"' | '\\' | '/')) => (plain, 2),
        Some('u') => match unit(2) {
            Some(high @ 0xd800..=0xdbff) => match unit(8).filter(|_| escape[6..].starts_with("\\u")) {
                Some(low @ 0xdc00..=0xdfff) => {
                    let scalar = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(scalar).unwrap_or('\u{fffd}'), 12)
                }
                _ => ('\u{fffd}', 6),
            },
            Some(scalar) => (char::from_u32(scalar).unwrap_or('\u{fffd}'), 6),
            None => ('\\', 1),
        },
        _ => ('\\', 1),
    }
}

/// Writes a string as JSON, escaping what must be escaped and nothing else.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
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
        let mended = fix.map(|fix| crate::document::patch::apply(&source, &fix.edits).expect("fits the text"));
        assert_eq!(mended.as_deref(), expect);
    }

    #[test]
    fn only_text_after_a_collection_is_cut() {
        check_fix("{\"a\": 1}\nHope this helps!\n", Some("{\"a\": 1}\n"));
        check_fix("Here is the plan: {\"a\": 1}", None);
        check_fix("null plan {\"a\": 1}", None);
        check_fix("{\"a\": 1} {\"b\": 2}", None);
    }

    #[test]
    fn parts_that_are_not_of_the_text_are_empty() {
        let source = SourceText::new("[\"é\"]");
        for span in [Span::new(3, 5), Span::new(0, 99), Span::new(99, 100)] {
            assert_eq!(parse_span(&source, span).document.n_nodes(), 0);
        }
    }
}
