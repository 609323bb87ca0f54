//! Elements that change places: their texts move, what stands between them stays.

use super::{Refusal, apply};
use crate::diagnostic::Replacement;
use crate::document::{Document, Format};
use crate::text::{SourceText, Span};

/// Returns the text with elements of one list in another order: `order` says for each place which element stands there.
///
/// In YAML's block style an element takes its lines along, comments above it and behind it included; elsewhere what
/// stands between two elements stays between their places.
pub fn permute(document: &Document, spans: &[Span], order: &[usize]) -> Result<String, Refusal> {
    let source = document.source();
    let pieces = match document.format() {
        Format::Json => spans.to_vec(),
        Format::Yaml => whole_lines(source, spans).unwrap_or_else(|| spans.to_vec()),
    };
    let newline = source.newline().as_str();
    let mut edits = Vec::new();
    for (place, &from) in order.iter().enumerate() {
        let (Some(&to), Some(&piece)) = (pieces.get(place), pieces.get(from)) else {
            return Err(Refusal::OutOfRange(document.extent()));
        };
        if place != from {
            edits.push(Replacement::new(to, ended(source, piece, to, newline)));
        }
    }
    apply(source, &edits)
}

/// Returns the text of a piece, ended as the place it goes to is: the last line of a file may have no line break.
fn ended(source: &SourceText, piece: Span, place: Span, newline: &str) -> String {
    let text = source.slice(piece);
    match (text.ends_with('\n'), source.slice(place).ends_with('\n')) {
        (true, false) if text.ends_with("\r\n") => text[..text.len() - 2].to_owned(),
        (true, false) => text[..text.len() - 1].to_owned(),
        (false, true) => format!("{text}{newline}"),
        _ => text.to_owned(),
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |found| found + 1)
}

/// Returns where the comments begin that stand right above a line.
fn above(text: &str, line: usize) -> usize {
    let mut start = line;
    while start > 0 {
        let before = line_start(text, start - 1);
        if !text[before..start].trim_start().starts_with('#') {
            break;
        }
        start = before;
    }
    start
}

/// Returns the lines of each element, from the end of the one before it; none where two share a line.
fn whole_lines(source: &SourceText, spans: &[Span]) -> Option<Vec<Span>> {
    let text = source.as_str();
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |found| at + found + 1);
    let mut pieces: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        // The element's dash stands alone before it on its first line.
        let first_line = line_start(text, span.start as usize);
        let start = match pieces.last() {
            Some(before) => before.end as usize,
            None => above(text, first_line),
        };
        let is_own_line = first_line >= start && text[first_line..span.start as usize].trim() == "-";
        if !is_own_line {
            return None;
        }
        // A span may take in the line break behind it.
        let content = source.slice(*span).trim_end().len();
        pieces.push(Span::new(start, line_end(span.start as usize + content)));
    }
    Some(pieces)
}
