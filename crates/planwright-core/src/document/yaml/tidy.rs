//! A fast path for YAML as tools write it. Gives exactly the rows of the event parser, or declines the whole text. Never reports findings.

use std::borrow::Cow;

use super::schema::plain_kind;
use crate::document::json::digest;
use crate::document::{Builder, Document, DocumentFormat, NodeKind, Parsed, Style};
use crate::text::{SourceText, Span};

/// Deeper texts are left to the event parser and its limits.
const MAX_FRAMES: usize = 64;

/// Mappings with more keys are left to the event parser: here keys are compared pair by pair.
const MAX_KEYS: usize = 24;

/// Longer keys are left to the event parser, which has its own limit.
const MAX_KEY_BYTES: usize = 128;

/// Parses a part of a text; none if it is not tidy.
pub(super) fn parse(source: &SourceText, extent: Span) -> Option<Parsed> {
    let text = source.as_str().get(..extent.end as usize)?;
    if !is_printable(&text[extent.start as usize..]) {
        return None;
    }
    let mut reader = Tidy {
        text,
        bytes: text.as_bytes(),
        builder: Builder::with_capacity(extent.len() / 16 + 8),
        decoded: Vec::new(),
        frames: Vec::new(),
        keys: Vec::new(),
        last_end: extent.start as usize,
        next_line: extent.start as usize,
    };
    reader.run(extent.start as usize)?;
    let mut document = Document::empty(source.clone(), DocumentFormat::Yaml, extent);
    document.nodes = reader.builder.nodes;
    document.decoded = reader.decoded;
    document.is_tidy = true;
    Some(Parsed {
        document,
        diagnostics: Vec::new(),
    })
}

/// Returns whether a text has no tabs, carriage returns or other characters that YAML forbids or treats specially.
fn is_printable(text: &str) -> bool {
    // Checked in blocks, which the processor compares at once.
    let is_odd_byte = |byte: &u8| (*byte < b' ' && *byte != b'\n') | (*byte == 0x7f);
    let has_odd_byte = |block: &[u8]| block.iter().fold(false, |found, byte| found | is_odd_byte(byte));
    if text.as_bytes().chunks(256).any(has_odd_byte) {
        return false;
    }
    let is_odd = |c: char| {
        let is_special = matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}');
        c != '\n' && (c.is_control() || is_special)
    };
    text.is_ascii() || !text.chars().any(is_odd)
}

/// The bytes of a key: letters, digits, `_` and `-`.
static KEY_BYTES: [bool; 256] = {
    let mut is_part = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_part[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' || byte as u8 == b'-';
        byte += 1;
    }
    is_part
};

/// An open collection.
struct TidyFrame {
    is_object: bool,
    indent: usize,
    /// The offset after the colon while a mapping waits for the value of its last key.
    pending: Option<usize>,
    /// The start of this mapping's keys in `Tidy::keys`.
    first_key: usize,
}

struct Tidy<'t> {
    text: &'t str,
    bytes: &'t [u8],
    builder: Builder,
    decoded: Vec<(u32, Cow<'static, str>)>,
    frames: Vec<TidyFrame>,
    /// A digest per key of the open mappings, for finding duplicates.
    keys: Vec<u64>,
    /// End of the last scalar or bracket.
    last_end: usize,
    /// The start of the next unread line.
    next_line: usize,
}

impl Tidy<'_> {
    fn run(&mut self, start: usize) -> Option<()> {
        let mut line = start;
        while line < self.bytes.len() {
            let end = memchr::memchr(b'\n', &self.bytes[line..]).map_or(self.bytes.len(), |n_bytes| line + n_bytes);
            let indent = self.bytes[line..end].iter().take_while(|byte| **byte == b' ').count();
            let at = line + indent;
            line = end + 1;
            if at < end && self.bytes[at] != b'#' {
                self.next_line = line;
                self.line(at, self.content_end(at, end), indent)?;
                line = self.next_line;
            }
        }
        while !self.frames.is_empty() {
            self.close()?;
        }
        (!self.builder.nodes.is_empty() && !self.builder.is_full()).then_some(())
    }

    /// Returns the end of a line without its trailing spaces.
    fn content_end(&self, at: usize, end: usize) -> usize {
        let n_spaces = self.bytes[at..end]
            .iter()
            .rev()
            .take_while(|byte| **byte == b' ')
            .count();
        end - n_spaces
    }

    /// Parses a line: an entry of a list, or a key with its value.
    fn line(&mut self, at: usize, end: usize, indent: usize) -> Option<()> {
        if !self.is_dash(at, end) {
            self.settle(at, indent, true)?;
            return self.member(at, end);
        }
        self.settle(at, indent, false)?;
        let content = self.skip_spaces(at + 1, end);
        // An entry whose content is on other lines, and lists in lists.
        if content == end || self.bytes[content] == b'#' || self.is_dash(content, end) {
            return None;
        }
        if self.key_end(content, end).is_none() {
            return self.value(content, end);
        }
        self.open(content, indent + content - at, true)?;
        self.member(content, end)
    }

    fn is_dash(&self, at: usize, end: usize) -> bool {
        self.bytes[at] == b'-' && (at + 1 == end || self.bytes[at + 1] == b' ')
    }

    fn skip_spaces(&self, at: usize, end: usize) -> usize {
        let n_spaces = self.bytes[at..end].iter().take_while(|byte| **byte == b' ').count();
        at + n_spaces
    }

    /// Closes and opens collections until the innermost one matches the line's indentation.
    fn settle(&mut self, at: usize, indent: usize, is_object: bool) -> Option<()> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(colon) = frame.pending {
                // A list may have the same indentation as its key.
                let is_its_value = indent > frame.indent || (indent == frame.indent && !is_object);
                frame.pending = None;
                if is_its_value {
                    return self.open(at, indent, is_object);
                }
                self.push(NodeKind::Null, Style::Plain, Span::at(colon));
            } else if frame.indent == indent && frame.is_object == is_object {
                return Some(());
            } else if frame.indent < indent || (frame.indent == indent && frame.is_object) {
                return None;
            } else {
                self.close()?;
            }
        }
        let is_first = self.builder.nodes.is_empty() && indent == 0;
        is_first.then(|| self.open(at, indent, is_object)).flatten()
    }

    fn open(&mut self, at: usize, indent: usize, is_object: bool) -> Option<()> {
        let kind = if is_object { NodeKind::Object } else { NodeKind::Array };
        self.builder.open(kind, Style::Block, at);
        self.frames.push(TidyFrame {
            is_object,
            indent,
            pending: None,
            first_key: self.keys.len(),
        });
        (self.frames.len() < MAX_FRAMES).then_some(())
    }

    /// Closes the innermost collection; none if a key may occur twice in it.
    fn close(&mut self) -> Option<()> {
        let frame = self.frames.pop()?;
        if let Some(colon) = frame.pending {
            self.push(NodeKind::Null, Style::Plain, Span::at(colon));
        }
        self.builder.close(self.last_end);
        let keys = &self.keys[frame.first_key..];
        let repeats = |ix: usize| keys[..ix].contains(&keys[ix]);
        let is_certain = keys.len() <= MAX_KEYS && !(1..keys.len()).any(repeats);
        self.keys.truncate(frame.first_key);
        is_certain.then_some(())
    }

    fn push(&mut self, kind: NodeKind, style: Style, span: Span) {
        self.builder.push(kind, style, span, false);
        self.last_end = self.last_end.max(span.end as usize);
    }

    /// Adds a scalar whose value differs from its text.
    fn push_decoded(&mut self, style: Style, span: Span, value: String) {
        let row = self.builder.nodes.len() as u32;
        self.builder.push(NodeKind::String, style, span, true);
        self.decoded.push((row, Cow::Owned(value)));
        self.last_end = self.last_end.max(span.end as usize);
    }

    /// Returns the end of a key that starts here: letters and digits, then a colon, then a space or the end of the line.
    fn key_end(&self, at: usize, end: usize) -> Option<usize> {
        let is_part = |byte: &&u8| KEY_BYTES[usize::from(**byte)];
        let n_bytes = self.bytes[at..end].iter().take_while(is_part).count();
        let colon = at + n_bytes;
        let is_key = (self.bytes[at].is_ascii_alphabetic() || self.bytes[at] == b'_')
            && n_bytes <= MAX_KEY_BYTES
            && self.bytes[..end].get(colon) == Some(&b':')
            && (colon + 1 == end || self.bytes[colon + 1] == b' ');
        is_key.then_some(colon)
    }

    fn member(&mut self, at: usize, end: usize) -> Option<()> {
        let colon = self.key_end(at, end)?;
        self.keys.push(digest(&self.bytes[at..colon]));
        self.push(NodeKind::Key, Style::Plain, Span::new(at, colon));
        let value = self.skip_spaces(colon + 1, end);
        if value < end && self.bytes[value] != b'#' {
            return self.value(value, end);
        }
        self.frames.last_mut()?.pending = Some(colon + 1);
        Some(())
    }

    /// Parses the value that is the rest of a line, without a comment.
    fn value(&mut self, at: usize, end: usize) -> Option<()> {
        let after = match self.bytes[at] {
            b'"' => self.double_quoted(at, end)?,
            b'\'' => self.single_quoted(at, end)?,
            b'[' => self.flow_list(at, end)?,
            b'{' => self.empty_object(at, end)?,
            b'|' | b'>' => return self.block_scalar(at, end),
            _ => return self.plain(at, end),
        };
        let rest = self.skip_spaces(after, end);
        let is_over = rest == end || (rest > after && self.bytes[rest] == b'#');
        is_over.then_some(())
    }

    /// Parses a block scalar, literal or folded.
    fn block_scalar(&mut self, at: usize, end: usize) -> Option<()> {
        let (is_folded, ends_line) = match &self.text[at..end] {
            "|" => (false, true),
            "|-" => (false, false),
            ">" => (true, true),
            ">-" => (true, false),
            _ => return None,
        };
        let outer = self.frames.last()?.indent;
        let indent = self.n_spaces(self.next_line);
        let (mut value, mut last_end) = (String::new(), None);
        // Line breaks are counted until it is certain that they do not end the scalar.
        let mut n_breaks = 0;
        while self.next_line < self.bytes.len() {
            let line = self.next_line;
            let end = line + memchr::memchr(b'\n', &self.bytes[line..])?;
            let n_spaces = self.n_spaces(line);
            if line + n_spaces == end {
                if n_spaces > indent || is_folded || last_end.is_none() {
                    return None;
                }
            } else if n_spaces <= outer {
                break;
            } else {
                let content = self.text.get(line + indent..end)?;
                if n_spaces < indent || (is_folded && (content.starts_with(' ') || content.ends_with(' '))) {
                    return None;
                }
                let separator = if is_folded { " " } else { "\n" };
                (0..n_breaks).for_each(|_| value.push_str(separator));
                value.push_str(content);
                last_end = Some(end);
                n_breaks = 0;
            }
            n_breaks += 1;
            self.next_line = end + 1;
        }
        if ends_line {
            value.push('\n');
        }
        let style = if is_folded { Style::Folded } else { Style::Literal };
        self.push_decoded(style, Span::new(at, last_end?), value);
        Some(())
    }

    fn n_spaces(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| **byte == b' ').count()
    }

    fn plain(&mut self, at: usize, end: usize) -> Option<()> {
        let line = &self.text[at..end];
        let is_comment = |at: &usize| *at > 0 && line.as_bytes()[at - 1] == b' ';
        let comment = memchr::memchr_iter(b'#', line.as_bytes()).find(is_comment);
        let value = line[..comment.unwrap_or(line.len())].trim_end_matches(' ');
        let first = value.chars().next()?;
        let may_begin = first.is_alphanumeric() || matches!(first, '_' | '/' | '.' | '(' | '$' | '+' | '<' | '~');
        let is_negative = first == '-' && value.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let holds_mapping = memchr::memchr_iter(b':', value.as_bytes())
            .any(|colon| matches!(value.as_bytes().get(colon + 1), None | Some(b' ')));
        if !(may_begin || is_negative) || holds_mapping {
            return None;
        }
        self.push(plain_kind(value), Style::Plain, Span::new(at, at + value.len()));
        Some(())
    }

    /// Parses a text in double quotes and returns its end.
    fn double_quoted(&mut self, at: usize, end: usize) -> Option<usize> {
        let mut close = at + 1;
        let mut has_escapes = false;
        loop {
            close += memchr::memchr2(b'"', b'\\', &self.bytes[close..end])?;
            if self.bytes[close] == b'"' {
                break;
            }
            has_escapes = true;
            close += 2;
            if close >= end {
                return None;
            }
        }
        let span = Span::new(at, close + 1);
        if has_escapes {
            let value = unescape(self.text.get(at + 1..close)?)?;
            self.push_decoded(Style::Double, span, value);
        } else {
            self.push(NodeKind::String, Style::Double, span);
        }
        Some(close + 1)
    }

    /// Parses a text in single quotes and returns its end.
    fn single_quoted(&mut self, at: usize, end: usize) -> Option<usize> {
        let mut close = at + 1;
        let mut has_quotes = false;
        loop {
            close += memchr::memchr(b'\'', &self.bytes[close..end])?;
            if self.bytes[..end].get(close + 1) != Some(&b'\'') {
                break;
            }
            has_quotes = true;
            close += 2;
        }
        let span = Span::new(at, close + 1);
        if has_quotes {
            let value = self.text[at + 1..close].replace("''", "'");
            self.push_decoded(Style::Single, span, value);
        } else {
            self.push(NodeKind::String, Style::Single, span);
        }
        Some(close + 1)
    }

    /// Parses a list in brackets, of words, numbers and quoted texts, and returns its end.
    fn flow_list(&mut self, at: usize, end: usize) -> Option<usize> {
        self.builder.open(NodeKind::Array, Style::Flow, at);
        let mut item = self.skip_spaces(at + 1, end);
        let is_empty = self.bytes[..end].get(item) == Some(&b']');
        let close = loop {
            if is_empty {
                break item;
            }
            let after = match self.bytes[..end].get(item)? {
                b'"' => self.double_quoted(item, end)?,
                b'\'' => self.single_quoted(item, end)?,
                _ => self.flow_word(item, end)?,
            };
            let separator = self.skip_spaces(after, end);
            match self.bytes[..end].get(separator)? {
                b',' => item = self.skip_spaces(separator + 1, end),
                b']' => break separator,
                _ => return None,
            }
        };
        self.last_end = close + 1;
        self.builder.close(close + 1);
        Some(close + 1)
    }

    /// Parses a plain scalar inside brackets and returns its end.
    fn flow_word(&mut self, at: usize, end: usize) -> Option<usize> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b' ');
        let n_bytes = self.bytes[at..end].iter().take_while(|byte| is_part(byte)).count();
        let value = self.text[at..at + n_bytes].trim_end_matches(' ');
        let first = value.as_bytes().first()?;
        if !(first.is_ascii_alphanumeric() || *first == b'_') {
            return None;
        }
        self.push(plain_kind(value), Style::Plain, Span::new(at, at + value.len()));
        Some(at + value.len())
    }

    fn empty_object(&mut self, at: usize, end: usize) -> Option<usize> {
        (self.bytes[..end].get(at + 1) == Some(&b'}')).then_some(())?;
        self.builder.open(NodeKind::Object, Style::Flow, at);
        self.last_end = at + 2;
        self.builder.close(at + 2);
        Some(at + 2)
    }
}

/// Decodes the text between double quotes; none for an unusual escape.
fn unescape(text: &str) -> Option<String> {
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        value.push_str(plain);
        value.push(match escape.chars().next()? {
            c @ ('"' | '\\' | '/') => c,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            _ => return None,
        });
        rest = &escape[1..];
    }
    value.push_str(rest);
    Some(value)
}
