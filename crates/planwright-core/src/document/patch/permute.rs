//! Moves elements in a collection: their texts are exchanged, and the text between them stays.

use super::resolve::refuse_document;
use super::{PatchRefusal, apply, parse_again};
use crate::diagnostic::Replacement;
use crate::document::{Document, DocumentFormat, NodeKind, NodeRef};
use crate::text::{SourceText, Span};

/// Returns the text with the elements of a list in another order: `order` has the old index for each position.
///
/// In YAML's block style an element moves with its lines, including comments above and after it. Otherwise the text between two elements
/// stays between their positions. Refuses an order after which the text would have another meaning: an alias before its anchor, or with
/// another target.
pub(crate) fn permute(document: &Document, spans: &[Span], order: &[usize]) -> Result<String, PatchRefusal> {
    refuse_document(document)?;
    if let DocumentFormat::Own(notation) = document.format() {
        return notation.0.permute(document, spans, order);
    }
    let source = document.source();
    let rows = new_rows(document, spans, order).ok_or(PatchRefusal::OutOfRange(document.extent()))?;
    refuse_early_aliases(document, &rows)?;
    let pieces = match document.format() {
        DocumentFormat::Json => spans.to_vec(),
        DocumentFormat::Yaml | DocumentFormat::Own(_) => whole_lines(source, spans).unwrap_or_else(|| spans.to_vec()),
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

/// Returns the old row of each row in the new order; none if the elements are not found.
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

/// Returns the row after the element before a position.
fn rows_before(elements: &[NodeRef<'_>], place: usize) -> usize {
    let before = place.checked_sub(1).and_then(|before| elements.get(before));
    before.map_or(0, |before| before.row() + before.n_rows())
}

/// Refuses an order with an alias before its anchor.
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

/// Checks that the new text has the same meaning, row by row, in the new order.
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

/// Returns the text of a piece, with the line ending of its new position: the last line of a file may have no line break.
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

/// Returns the start of the comments right above a line.
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

/// Returns the start of the line with an element's dash: its first line, or one before it with only the dash. None if other text is there,
/// or if that line is before an offset.
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
    // An anchor or a tag of the element moves with it.
    let is_alone = decoration.split_whitespace().all(|word| word.starts_with(['&', '!']));
    (is_alone && line >= from).then_some(line)
}

/// Returns the lines of each element, from the end of the previous one; none if two share a line.
fn whole_lines(source: &SourceText, spans: &[Span]) -> Option<Vec<Span>> {
    let text = source.as_str();
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |found| at + found + 1);
    let mut pieces: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        let from = pieces.last().map_or(0, |before| before.end as usize);
        let line = dash_line(text, from, span.start as usize)?;
        let start = if pieces.is_empty() { above(text, line) } else { from };
        // A span may include the line break after it.
        let content = source.slice(*span).trim_end().len();
        pieces.push(Span::new(start, line_end(span.start as usize + content)));
    }
    Some(pieces)
}
