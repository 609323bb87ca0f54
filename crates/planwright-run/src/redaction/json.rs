//! Finds secrets in strings of JSON, with their escapes decoded.

use super::Redaction;
use super::values::json_escaped;

/// Returns a text with the secrets replaced in strings with escapes; none if there are none.
pub(super) fn redact_strings(redaction: &Redaction, text: &str) -> Option<String> {
    memchr::memchr(b'\\', text.as_bytes())?;
    let mut out: Option<String> = None;
    let mut n_taken = 0;
    let mut at = 0;
    while let Some(opening) = memchr::memchr(b'"', text.as_bytes().get(at..)?) {
        let start = at + opening;
        let Some(end) = end_of_string(text.as_bytes(), start + 1) else {
            break;
        };
        // The quote may be one of prose, and the one that ends it the start of a string: that is tried next.
        at = end;
        let literal = text.get(start..=end).unwrap_or_default();
        if memchr::memchr(b'\\', literal.as_bytes()).is_none() {
            continue;
        }
        let Ok(meant) = serde_json::from_str::<String>(literal) else {
            continue;
        };
        let redacted = redaction.text(&meant);
        if *redacted != *meant {
            let out = out.get_or_insert_with(String::new);
            out.push_str(text.get(n_taken..start).unwrap_or_default());
            out.push_str(&format!("\"{}\"", json_escaped(&redacted)));
            n_taken = end + 1;
            at = end + 1;
        }
    }
    let mut out = out?;
    out.push_str(text.get(n_taken..).unwrap_or_default());
    Some(out)
}

/// Returns the offset of the quote that ends a string.
fn end_of_string(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}
