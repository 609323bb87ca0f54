//! Moves elements within a collection: their texts change places, and the text between them stays.

use super::resolve::refuse_document;
use super::{PatchRefusal, apply, parse_again};
use crate::diagnostic::Replacement;
use crate::document::{Document, DocumentFormat, NodeKind, NodeRef};
use crate::text::{SourceText, Span};

/// Returns the text with elements of one list in another order: `order` says for each place which element stands there.
///
/// In YAML's block style an element takes its lines along, comments above it and behind it included; elsewhere what
/// stands between two elements stays between their places. Refused where the new text would say anything else than the
/// same values in the new order: an alias that would stand before its anchor, or find another one.
pub(crate) fn permute(document: &Document, spans: &[Span], order: &[usize]) -> Result<String, PatchRefusal> {
    refuse_document(document)?;
    let source = document.source();
    let rows = new_rows(document, spans, order).ok_or(PatchRefusal::OutOfRange(document.extent()))?;
    refuse_early_aliases(document, &rows)?;
    let pieces = match document.format() {
        DocumentFormat::Json => spans.to_vec(),
        DocumentFormat::Yaml => whole_lines(source, spans).unwrap_or_else(|| spans.to_vec()),
    };
    let newline = source.newline().as_str();
    let mut edits = Vec::new();
    for (place, &from) in order.iter().enumerate() {
        let (Some(&to), Some(&piece)) = (pieces.get(place), pieces.get(from)) else {
            return Err(PatchRefusal::OutOfRange(document.extent()));
        };
        if place != from {
            edits.push(Replacement::new(to, ended(source, piece, to, newline)));
        }
    }
    let text = apply(source, &edits)?;
    verify(document, &rows, &SourceText::new(text.as_str()))?;
    Ok(text)
}

/// Returns for each row of the document in its new order the row that it is now; none where the elements are not found.
fn new_rows(document: &Document, spans: &[Span], order: &[usize]) -> Option<Vec<usize>> {
    let row_of = |span: &Span| {
        let first = document.first_row_from(span.start);
        let nodes = (first..document.n_nodes()).map(|row| document.at(row));
        let mut there = nodes.take_while(|node| node.span().start == span.start);
        there.find(|node| node.span() == *span)
    };
    let elements: Vec<_> = spans.iter().map(row_of).collect::<Option<_>>()?;
    let mut rows = Vec::with_capacity(document.n_nodes());
    for (place, &from) in order.iter().enumerate() {
        let (here, there) = (elements.get(place)?, elements.get(from)?);
        rows.extend(rows_before(&elements, place)..here.row());
        rows.extend(there.row()..there.row() + there.n_rows());
    }
    rows.extend(rows_before(&elements, elements.len())..document.n_nodes());
    (rows.len() == document.n_nodes()).then_some(rows)
}

/// Returns the row after the element before a place.
fn rows_before(elements: &[NodeRef<'_>], place: usize) -> usize {
    let before = place.checked_sub(1).and_then(|before| elements.get(before));
    before.map_or(0, |before| before.row() + before.n_rows())
}

/// Refuses an order in which an alias stands before what it stands for.
fn refuse_early_aliases(document: &Document, rows: &[usize]) -> Result<(), PatchRefusal> {
    let mut is_past = vec![false; rows.len()];
    for &row in rows {
        let node = document.at(row);
        if node.kind() == NodeKind::Alias && !is_past[node.resolved().row()] {
            return Err(PatchRefusal::Unwritable {
                reason: "an alias would stand before what it stands for",
                span: node.span(),
            });
        }
        is_past[row] = true;
    }
    Ok(())
}

/// Makes sure that the new text says the same, row by row, in the new order.
fn verify(document: &Document, rows: &[usize], source: &SourceText) -> Result<(), PatchRefusal> {
    let parsed = parse_again(document, source);
    let new = &parsed.document;
    if new.is_broken() || new.n_nodes() != rows.len() {
        return Err(PatchRefusal::Mismatch(document.extent()));
    }
    for (row, &old_row) in rows.iter().enumerate() {
        let (old, new) = (document.at(old_row), new.at(row));
        let is_alias = old.kind() == NodeKind::Alias;
        if is_alias && new.kind() == NodeKind::Alias && rows[new.resolved().row()] != old.resolved().row() {
            return Err(PatchRefusal::Unwritable {
                reason: "an alias would stand for something else",
                span: old.span(),
            });
        }
        let is_collection = matches!(old.kind(), NodeKind::Object | NodeKind::Array);
        let is_same = old.kind() == new.kind() && (is_collection || is_alias || old.value() == new.value());
        if !is_same {
            return Err(PatchRefusal::Mismatch(old.span()));
        }
    }
    Ok(())
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

/// Returns the beginning of the line with the dash of an element: its first line, or one before it with nothing but the
/// dash. None where something else stands there, or where that line lies before an offset.
fn dash_line(text: &str, from: usize, element: usize) -> Option<usize> {
    let mut line = line_start(text, element);
    let mut content = text[line..element].trim();
    while content.is_empty() {
        let before = line_start(text, line.checked_sub(1)?);
        content = text[before..line].trim();
        if content.starts_with('#') {
            content = "";
        }
        line = before;
        if line < from {
            return None;
        }
    }
    let written = content.find(" #").map_or(content, |at| &content[..at]);
    let decoration = written.strip_prefix('-')?;
    // An anchor or a tag of the element goes with it.
    let is_alone = decoration.split_whitespace().all(|word| word.starts_with(['&', '!']));
    (is_alone && line >= from).then_some(line)
}

/// Returns the lines of each element, from the end of the one before it; none where two share a line.
fn whole_lines(source: &SourceText, spans: &[Span]) -> Option<Vec<Span>> {
    let text = source.as_str();
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |found| at + found + 1);
    let mut pieces: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        let from = pieces.last().map_or(0, |before| before.end as usize);
        let line = dash_line(text, from, span.start as usize)?;
        let start = if pieces.is_empty() { above(text, line) } else { from };
        // A span may take in the line break behind it.
        let content = source.slice(*span).trim_end().len();
        pieces.push(Span::new(start, line_end(span.start as usize + content)));
    }
    Some(pieces)
}
