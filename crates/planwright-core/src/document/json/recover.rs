//! Recovers from syntax errors: reports each once, repairs it if that is safe, and finds where to continue.

use std::collections::HashMap;

use super::scalar::{decode, encode, is_word};
use super::{Expect, JsonParser, MAX_DEPTH, NodeKind, Style, rules};
use crate::diagnostic::{Diagnostic, MAX_FINDINGS, Replacement, Rule, push_bounded};
use crate::text::{Span, visible};

impl JsonParser<'_> {
    pub(super) fn error(&mut self, rule: &'static Rule, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.push(Diagnostic::new(rule, span, message));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    pub(super) fn give_up(&mut self) {
        self.is_cut = true;
        let at = Span::new(self.at.min(self.text.len()), self.text.len());
        let (rule, message) = if self.builder.is_full() {
            (&rules::TOO_LARGE, "more than 16 million values: the rest is not read")
        } else {
            (&rules::JSON_SYNTAX, "too many syntax errors: the rest is not read")
        };
        self.error(rule, Span::at(at.start as usize), message);
        // Rows must still form pairs: a key without its value gets an unreadable one.
        if self
            .builder
            .nodes
            .last()
            .is_some_and(|node| node.kind() == NodeKind::Key)
        {
            self.push_invalid(Span::at(self.at));
        }
        while self.frames.pop().is_some() {
            self.builder.close(self.text.len());
        }
    }

    /// Skips and reports a comment; false if there is none, or if there are too many findings.
    pub(super) fn comment(&mut self, byte: u8) -> bool {
        if self.diagnostics.len() >= MAX_FINDINGS {
            return false;
        }
        let start = self.at;
        let rest = &self.bytes[start..];
        let end = if byte == b'#' || rest.starts_with(b"//") {
            memchr::memchr2(b'\n', b'\r', rest).map_or(self.text.len(), |found| start + found)
        } else if rest.starts_with(b"/*") {
            match memchr::memmem::find(&rest[2..], b"*/") {
                Some(found) => start + found + 4,
                None => return self.unclosed_comment(),
            }
        } else {
            return false;
        };
        let span = Span::new(start, end);
        let cut = self.comment_cut(span);
        let diagnostic = self.error(&rules::JSON_COMMENT, span, "JSON has no comments");
        diagnostic.help = "remove it, or keep it in a notes field".to_owned();
        *diagnostic = diagnostic
            .clone()
            .with_safe_fix("remove the comment", vec![Replacement::delete(cut)]);
        self.at = end;
        true
    }

    /// Reports an unclosed comment. It may have swallowed half a plan, so it is not removed.
    fn unclosed_comment(&mut self) -> bool {
        let opened = Span::new(self.at, self.at + 2);
        self.error(&rules::JSON_UNCLOSED, opened, "the comment is never closed")
            .help = "JSON has no comments: remove it, but keep what belongs to the plan".to_owned();
        self.end_is_explained = true;
        self.at = self.text.len();
        true
    }

    /// Returns the span to remove with a comment: its line if it is alone there, otherwise the space before it.
    fn comment_cut(&self, comment: Span) -> Span {
        let (start, end) = (comment.start as usize, comment.end as usize);
        let before = self.text[..start].trim_end_matches([' ', '\t']).len();
        let begins_line = before == 0 || self.text[..before].ends_with('\n');
        let after = &self.text[end..];
        let rest = after.trim_start_matches([' ', '\t', '\r']);
        if begins_line && rest.starts_with('\n') {
            return Span::new(before, self.text.len() - rest.len() + 1);
        }
        Span::new(before.max(self.last_end.min(start)), end)
    }

    pub(super) fn odd_value(&mut self, expect: Expect, byte: u8) -> Expect {
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
            b'}' if expect == Expect::FirstElement => self.comma_or_close(),
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
                // Strict tools cannot read it, but its text is clear enough to continue.
                if span.len() == content.len() + 2 && !content.contains('\\') {
                    self.builder.push(NodeKind::String, Style::Single, span, false);
                    self.after_value(span.end as usize)
                } else {
                    self.push_invalid(span)
                }
            }
            b'+' | b'.' => self.number(),
            _ => self.odd_word(),
        }
    }

    pub(super) fn trailing_comma(&mut self) {
        let comma = Span::new(self.last_comma, self.last_comma + 1);
        let diagnostic = Diagnostic::new(&rules::JSON_TRAILING_COMMA, comma, "a comma before a closing bracket")
            .with_help("remove the comma")
            .with_safe_fix("remove the trailing comma", vec![Replacement::delete(comma)]);
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn odd_word(&mut self) -> Expect {
        let start = self.at;
        let rest = &self.text[start..];
        let len = sentence_len(rest).max(rest.chars().next().map_or(1, char::len_utf8));
        self.at = start + len;
        let word = &rest[..len];
        let span = Span::new(start, self.at);
        let meant = match word {
            "True" | "TRUE" => Some(("true", NodeKind::True)),
            "False" | "FALSE" => Some(("false", NodeKind::False)),
            "None" | "NULL" | "Null" | "nil" | "undefined" | "NaN" | "Infinity" => Some(("null", NodeKind::Null)),
            _ => None,
        };
        let Some((literal, kind)) = meant else {
            self.not_a_value(span);
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
        // A replacement for a number or nothing is not read as null: only the author knows its meaning.
        let kind = if keeps_meaning { kind } else { NodeKind::Invalid };
        self.push_scalar(kind, span, false)
    }

    /// Consumes a single-quoted string and returns its content and span.
    pub(super) fn single_quoted(&mut self) -> (String, Span) {
        let start = self.at;
        let rest = &self.text[start + 1..];
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

    pub(super) fn quotes_error(&mut self, span: Span, content: &str) {
        let diagnostic = Diagnostic::new(&rules::JSON_QUOTES, span, "JSON strings stand in double quotes")
            .with_help("use double quotes");
        let simple = !content.contains('\\') && !content.chars().any(char::is_control);
        let closed = span.len() == content.len() + 2;
        self.diagnostics.push(if simple && closed {
            diagnostic.with_safe_fix("use double quotes", vec![Replacement::new(span, encode(content))])
        } else {
            diagnostic
        });
    }

    /// Skips a value nested too deeply by counting brackets outside strings.
    pub(super) fn skip_deep(&mut self) -> Expect {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => {
                    let (n_errors, counted) = (self.diagnostics.len(), self.counted);
                    self.string();
                    // The string parser may have counted findings that are dropped here.
                    self.diagnostics.truncate(n_errors);
                    self.counted = counted;
                    self.end_is_explained = false;
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

    /// Handles the end of the text in place of a value.
    pub(super) fn end_of_text(&mut self, expect: Expect) -> Expect {
        let span = Span::at(self.last_end.max(self.at));
        if self.frames.is_empty() && self.builder.nodes.is_empty() {
            self.error(&rules::JSON_SYNTAX, span, "the text holds no JSON value");
            return Expect::End;
        }
        if expect == Expect::Value {
            // Rows must still form pairs; the end of the text is reported once.
            self.push_invalid(span);
        }
        self.unclosed()
    }

    /// Handles a character that neither separates nor closes.
    pub(super) fn odd_separator(&mut self) -> Expect {
        let c = self.text[self.at..].chars().next().unwrap_or(' ');
        let span = Span::new(self.at, self.at + c.len_utf8());
        self.error(&rules::JSON_SYNTAX, span, format!("unexpected `{}`", c.escape_debug()))
            .help = "expected a comma or a closing bracket".to_owned();
        self.at += c.len_utf8();
        Expect::CommaOrClose
    }

    pub(super) fn missing_comma(&mut self, is_object: bool, byte: u8) -> Expect {
        // Text right after a string is a part of the string: a quote inside it was not escaped, or its end is missing.
        let after_string = self.builder.nodes.last().is_some_and(|node| {
            node.kind() == NodeKind::String && node.style() == Style::Double && node.end as usize == self.last_end
        });
        let touches = self.at == self.last_end;
        if after_string && (byte.is_ascii_alphanumeric() || touches) {
            return self.unescaped_quote(is_object);
        }
        if is_object && byte.is_ascii_alphabetic() && !self.is_before_colon() {
            return self.stray_text();
        }
        let at = Span::at(self.last_end);
        let diagnostic = Diagnostic::new(&rules::JSON_MISSING_COMMA, at, "a comma is missing here")
            .with_help("separate values with a comma")
            .with_safe_fix("insert a comma", vec![Replacement::insert(at.start, ",")]);
        self.diagnostics.push(diagnostic);
        if is_object { Expect::Key } else { Expect::Element }
    }

    /// Returns whether the word here is a key without quotes.
    fn is_before_colon(&self) -> bool {
        let rest = &self.text[self.at..];
        let after = rest.trim_start_matches(is_key_char).trim_start();
        after.starts_with([':', '='])
    }

    /// Reads words after a value that are no key: with a number or literal before them they are one text without quotes.
    fn stray_text(&mut self) -> Expect {
        let end = self.at + sentence_len(&self.text[self.at..]).max(1);
        let before = self.builder.nodes.last_mut().filter(|node| {
            let is_word = matches!(node.style(), Style::Plain) && node.kind() != NodeKind::Key;
            is_word && node.end as usize == self.last_end
        });
        let start = match before {
            Some(node) => {
                let start = node.start as usize;
                *node = super::NodeRow::new(NodeKind::Invalid, Style::Plain, Span::new(start, end), false);
                start
            }
            None => self.at,
        };
        self.at = end;
        self.not_a_value(Span::new(start, end));
        self.after_value(end)
    }

    /// Reports text without quotes in place of a value.
    fn not_a_value(&mut self, span: Span) {
        let shown: String = self.text[span.range()].chars().take(40).collect();
        self.error(
            &rules::JSON_LITERAL,
            span,
            format!("`{}` is not a JSON value", visible(&shown)),
        )
        .help = "strings stand in double quotes; the other words are true, false and null".to_owned();
    }

    /// Skips everything up to a quote that could end the string as unreadable, and reports it once.
    fn unescaped_quote(&mut self, is_object: bool) -> Expect {
        // A string that was not closed on its line was reported.
        if self.bytes[..self.last_end].ends_with(b"\"") {
            let quote = Span::new(self.last_end - 1, self.last_end);
            let message = "the string ends here, but its text seems to continue";
            self.error(&rules::JSON_STRING, quote, message).help =
                "write a quote inside a string as \\\", or add the quote that is missing before this one".to_owned();
        }
        let line_end = memchr::memchr(b'\n', &self.bytes[self.at..]).map_or(self.text.len(), |at| self.at + at);
        let mut at = self.at;
        while let Some(found) = memchr::memchr(b'"', &self.bytes[at..line_end]) {
            at += found + 1;
            let next = self.bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
            if self.bytes[at - 2] != b'\\' && matches!(next, Some(b',' | b'}' | b']')) {
                break;
            }
        }
        if at == self.at {
            // No further quote on the line: continue as after a missing comma, without a fix.
            return if is_object { Expect::Key } else { Expect::Element };
        }
        if let Some(node) = self.builder.nodes.last_mut() {
            let span = Span::new(node.start as usize, at);
            *node = super::NodeRow::new(NodeKind::Invalid, Style::Plain, span, false);
        }
        self.at = at;
        self.after_value(at)
    }

    /// Handles a `]` inside an object or a `}` inside an array: closes what it can close, otherwise skips it.
    pub(super) fn wrong_bracket(&mut self) -> Expect {
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

    pub(super) fn unclosed(&mut self) -> Expect {
        self.is_cut = true;
        let opened: Vec<_> = self.frames.iter().map(|frame| (frame.open, frame.is_object)).collect();
        let Some(&(inner, is_object)) = opened.last() else {
            return Expect::End;
        };
        let what = frame_name(is_object);
        let mut diagnostic = Diagnostic::new(
            &rules::JSON_UNCLOSED,
            Span::at(self.text.len()),
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
        if !self.end_is_explained {
            self.diagnostics.push(diagnostic);
        }
        while !self.frames.is_empty() {
            self.pop_frame(self.text.len());
        }
        Expect::End
    }

    /// Handles another token in place of a key.
    pub(super) fn odd_key(&mut self, expect: Expect, byte: u8) -> Expect {
        let start = self.at;
        match byte {
            b',' => {
                let span = Span::new(start, start + 1);
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, span, "a comma without a member before it")
                    .with_safe_fix("remove the comma", vec![Replacement::delete(span)]);
                self.diagnostics.push(diagnostic);
                self.at += 1;
                expect
            }
            b'\'' => {
                let (content, span) = self.single_quoted();
                self.quotes_error(span, &content);
                self.push_key(span, Style::Single, false)
            }
            b']' => self.comma_or_close(),
            b'{' if expect == Expect::Key && self.is_element() => self.unclosed_element(),
            byte if is_word(byte) || byte >= 0x80 => self.bare_key(),
            _ => {
                let c = self.text[start..].chars().next().unwrap_or(' ');
                self.at += c.len_utf8();
                self.error(
                    &rules::JSON_SYNTAX,
                    Span::new(start, start + c.len_utf8()),
                    format!("expected a key, found `{}`", c.escape_debug()),
                );
                expect
            }
        }
    }

    /// Returns whether the innermost collection is an object in an array.
    fn is_element(&self) -> bool {
        matches!(self.frames.as_slice(), [.., outer, inner] if inner.is_object && !outer.is_object)
    }

    /// Handles the start of an array's next object before this one was closed.
    fn unclosed_element(&mut self) -> Expect {
        let open = self.frames.last().map_or(self.at, |frame| frame.open);
        let (here, end) = (Span::new(self.at, self.at + 1), self.last_end);
        let diagnostic = Diagnostic::new(&rules::JSON_UNCLOSED, here, "expected a key, found `{`")
            .with_related(Span::new(open, open + 1), "the object opened here seems to be unclosed")
            .with_help("close it before the next one begins")
            .with_unsafe_fix("close the object", vec![Replacement::insert(end as u32, "}")]);
        self.diagnostics.push(diagnostic);
        self.pop_frame(end);
        Expect::Element
    }

    pub(super) fn bare_key(&mut self) -> Expect {
        let start = self.at;
        let rest = &self.text[start..];
        let len = rest.find(|c: char| !is_key_char(c)).unwrap_or(rest.len());
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
            format!("the key `{}` is not in quotes", visible(word)),
        )
        .with_help("keys stand in double quotes")
        .with_safe_fix(
            "put the key in quotes",
            vec![Replacement::new(span, format!("\"{word}\""))],
        );
        self.diagnostics.push(diagnostic);
        self.push_key(span, Style::Plain, false)
    }

    /// Handles another token in place of the colon.
    pub(super) fn odd_colon(&mut self, found: Option<u8>) -> Expect {
        match found {
            Some(b'=') => {
                let span = Span::new(self.at, self.at + 1);
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, span, "expected `:` after the key, found `=`")
                    .with_safe_fix("write `:`", vec![Replacement::new(span, ":")]);
                self.diagnostics.push(diagnostic);
                self.at += 1;
                Expect::Value
            }
            None => self.push_invalid(Span::at(self.last_end)),
            Some(b',' | b'}' | b']') => {
                self.error(
                    &rules::JSON_SYNTAX,
                    Span::at(self.last_end),
                    "expected `:` and a value after the key",
                );
                self.push_invalid(Span::at(self.last_end))
            }
            Some(_) => {
                let at = self.last_end;
                let diagnostic = Diagnostic::new(&rules::JSON_SYNTAX, Span::at(at), "expected `:` after the key");
                // Before words without quotes the end of the key is uncertain.
                let begins_value = found.is_some_and(|byte| matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9'));
                self.diagnostics.push(if begins_value {
                    diagnostic.with_safe_fix("insert a colon", vec![Replacement::insert(at as u32, ":")])
                } else {
                    diagnostic
                });
                Expect::Value
            }
        }
    }

    #[cold]
    pub(super) fn report_duplicates(&mut self, object: usize) {
        let mut seen: HashMap<String, Span> = HashMap::new();
        let end = object + self.builder.nodes[object].rows();
        let mut row = object + 1;
        while row + 1 < end {
            let node = self.builder.nodes[row];
            let span = Span {
                start: node.start,
                end: node.end,
            };
            let key = if node.decoded() {
                decode(&self.text[span.range()])
            } else {
                String::from_utf8_lossy(self.key_bytes(row as u32)).into_owned()
            };
            row += 1 + self.builder.nodes[row + 1].rows();
            match seen.get(&key) {
                Some(&earlier) => push_bounded(&mut self.diagnostics, || duplicate_key(&key, span, earlier)),
                None => {
                    seen.insert(key, span);
                }
            }
        }
    }
}

/// Returns the length of the words in place of a value: text without quotes is one value, up to a separator, a quote, the end of the line
/// or the next key.
fn sentence_len(rest: &str) -> usize {
    let is_separator = |c: char| matches!(c, ',' | ':' | '"' | '{' | '}' | '[' | ']');
    let word_len = |from: usize| {
        rest[from..]
            .find(|c: char| is_separator(c) || c.is_whitespace())
            .unwrap_or(rest.len() - from)
    };
    let mut end = word_len(0);
    loop {
        let next = end + rest[end..].len() - rest[end..].trim_start_matches([' ', '\t']).len();
        let next_end = next + word_len(next);
        let is_word = next > end && rest[next..].starts_with(char::is_alphanumeric);
        if !is_word || rest[next_end..].trim_start_matches([' ', '\t']).starts_with(':') {
            return end;
        }
        end = next_end;
    }
}

/// Returns the finding for a repeated key, with both spans.
pub(crate) fn duplicate_key(key: &str, span: Span, earlier: Span) -> Diagnostic {
    Diagnostic::new(
        &rules::DUPLICATE_KEY,
        span,
        format!("the key `{}` appears twice", visible(key)),
    )
    .with_label("again here")
    .with_related(earlier, "first here")
    .with_help("keep one of the two")
}

/// Returns whether a character can be a part of a key without quotes.
pub(super) fn is_key_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.')
}

fn frame_name(is_object: bool) -> &'static str {
    if is_object { "the object" } else { "the array" }
}
