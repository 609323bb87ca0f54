//! Strings and numbers of JSON: their ends, their escapes, and writing them.

use super::{Expect, JsonParser, rules};
use crate::diagnostic::{Diagnostic, MAX_FINDINGS, Replacement, Safety};
use crate::text::{Span, visible};

impl JsonParser<'_> {
    /// Continues a string at its first special character.
    pub(super) fn odd_string(&mut self, mut at: usize) -> bool {
        let start = self.at;
        let n_findings = self.diagnostics.len();
        let mut decoded = false;
        // The assumed end of the string, once a line break was found in it.
        let mut end = None;
        loop {
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    self.doubt_backslashes(start, n_findings);
                    return decoded;
                }
                Some(b'\\') => {
                    decoded = true;
                    at = self.escape(at);
                    if self.diagnostics.len() >= MAX_FINDINGS {
                        self.at = at;
                        return true;
                    }
                }
                Some(b'\n' | b'\r') if at < *end.get_or_insert_with(|| self.end_of_lines(at)) => {
                    let is_pair = self.bytes[at..].starts_with(b"\r\n");
                    let span = Span::new(at, at + 1 + usize::from(is_pair));
                    let diagnostic =
                        Diagnostic::new(&rules::JSON_STRING, span, "a line break must be escaped in a string")
                            .with_help("write \\n")
                            .with_safe_fix("write \\n", vec![Replacement::new(span, "\\n")]);
                    self.diagnostics.push(diagnostic);
                    at = span.end as usize;
                    if self.has_too_many_errors() {
                        self.at = at;
                        return true;
                    }
                }
                Some(b'\n' | b'\r') | None => {
                    self.at = at.min(self.text.len());
                    self.unclosed_string(start);
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
                    if self.has_too_many_errors() {
                        self.at = at;
                        return true;
                    }
                }
            }
            at = plain_run(self.bytes, at);
        }
    }

    /// Reports a string without its closing quote, which ends with its line.
    fn unclosed_string(&mut self, start: usize) {
        self.end_is_explained = self.bytes[self.at..].iter().all(u8::is_ascii_whitespace);
        let (message, help) = if self.end_is_explained {
            (
                "the text ends inside the string",
                "close the string and what is open around it, or restore the rest of the file: it may be cut off",
            )
        } else {
            (
                "the string is not closed on its line",
                "close it with a double quote, or write line breaks as \\n",
            )
        };
        let span = self.since(start);
        self.error(&rules::JSON_UNCLOSED, span, message).help = help.to_owned();
    }

    /// Makes the fix of a bad escape unsafe if the string has good ones: in `C:\\dir\\new` both had the same intention.
    fn doubt_backslashes(&mut self, start: usize, n_findings: usize) {
        if self.diagnostics.len() == n_findings {
            return;
        }
        let escapes = self.bytes[start..self.at].windows(2).filter(|pair| pair[0] == b'\\');
        if !escapes
            .clone()
            .any(|pair| matches!(pair[1], b'b' | b'f' | b'n' | b'r' | b't' | b'u'))
        {
            return;
        }
        for found in self.diagnostics[n_findings..]
            .iter_mut()
            .filter(|found| found.message.contains("not an escape"))
        {
            if let Some(fix) = &mut found.fix {
                fix.safety = Safety::Unsafe;
            }
        }
    }

    /// Returns the end of a string that continues after a line break: the next quote, if the text after it looks like that after a value. A
    /// quote that begins the next key or string closes nothing; then this is `at` itself.
    fn end_of_lines(&self, at: usize) -> usize {
        let mut quote = at;
        while let Some(found) = memchr::memchr(b'"', &self.bytes[quote..]) {
            quote += found;
            let n_slashes = self.bytes[..quote]
                .iter()
                .rev()
                .take_while(|&&byte| byte == b'\\')
                .count();
            if n_slashes % 2 == 0 {
                let next = self.bytes[quote + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                return if matches!(next, Some(b',' | b':' | b'}' | b']')) {
                    quote
                } else {
                    at
                };
            }
            quote += 1;
        }
        at
    }

    /// Checks the escape at a backslash and returns the offset after it.
    pub(super) fn escape(&mut self, at: usize) -> usize {
        let bytes = self.bytes;
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at + 2,
            Some(b'u') => self.unicode_escape(at),
            // At the end of the text, that is the finding.
            None => at + 1,
            Some(b'\n' | b'\r') => {
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

    pub(super) fn unicode_escape(&mut self, at: usize) -> usize {
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

    /// Reports a number in a notation that JSON does not have.
    pub(super) fn odd_number(&mut self, span: Span) -> Expect {
        let written = &self.text[span.range()];
        let diagnostic = Diagnostic::new(
            &rules::JSON_NUMBER,
            span,
            format!("`{}` is not a JSON number", visible(written)),
        );
        let corrected = mend_number(written);
        let diagnostic = match &corrected {
            Some(corrected) => diagnostic.with_help(format!("write `{corrected}`")).with_safe_fix(
                format!("write `{corrected}`"),
                vec![Replacement::new(span, corrected.as_str())],
            ),
            None => diagnostic.with_help("write a decimal number, or put the text in quotes"),
        };
        self.diagnostics.push(diagnostic);
        self.push_invalid(span)
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Returns the offset of the next quote, backslash or control character at or after `at`.
#[inline]
pub(super) fn plain_run(bytes: &[u8], mut at: usize) -> usize {
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

/// A fast digest of a key: its length and its ends. Keys of one object with the same digest are compared in full.
#[inline]
pub(in crate::document) fn digest(key: &[u8]) -> u64 {
    let (head, tail) = match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
        _ => match (key.first_chunk::<4>(), key.last_chunk::<4>()) {
            (Some(head), Some(tail)) => (u32::from_le_bytes(*head).into(), u32::from_le_bytes(*tail).into()),
            _ => match *key {
                [a, b, c] => (u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16, 0),
                [a, b] => (u64::from(a) | u64::from(b) << 8, 0),
                [a] => (a.into(), 0),
                _ => (0, 0),
            },
        },
    };
    (head ^ tail.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key.len() as u64
}

pub(in crate::document) fn is_json_number(number: &[u8]) -> bool {
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

/// Returns the intended number of a bad notation, if it is certain.
fn mend_number(written: &str) -> Option<String> {
    if !written.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let sign = if written.starts_with('-') { "-" } else { "" };
    let rest = written.trim_start_matches(['-', '+']);
    let rest = match rest.trim_start_matches('0') {
        digits if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.to_owned(),
        digits => format!("0{digits}"),
    };
    let rest = rest.strip_suffix('.').unwrap_or(&rest);
    let corrected = format!("{sign}{rest}");
    is_json_number(corrected.as_bytes()).then_some(corrected)
}

/// Decodes the escapes of a string with its quotes; an invalid escape stays unchanged.
pub(crate) fn decode(quoted: &str) -> String {
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

/// Returns the decoded escape at the start of a text, and its length; U+FFFD for a lone surrogate.
pub(crate) fn decode_escape(escape: &str) -> (char, usize) {
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

/// Writes a string as JSON, with only the necessary escapes.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    encode_into(&mut out, text);
    out
}

/// Writes text as a JSON string.
pub(crate) fn encode_into(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    // Most of a text needs no escape, and is copied in one piece.
    while let Some(at) = rest
        .bytes()
        .position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')
    {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte => out.push_str(&format!("\\u{byte:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}
