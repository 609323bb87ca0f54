//! Members and elements of YAML block collections: whole lines, formatted like their neighbours.

use super::collection::{Child, FileLayout, children, neighbours};
use super::resolve::{CollectionChange, NewChild};
use super::scalar::{self, ScalarContext};
use super::{PatchRefusal, PlainValue};
use crate::diagnostic::Replacement;
use crate::document::gap::{self, GapToken};
use crate::document::{DocumentFormat, NodeKind, NodeRef, Style};
use crate::text::Span;

/// Applies the changes to the children of a block collection.
pub(super) fn lower<'d>(
    layout: &FileLayout<'d>,
    node: NodeRef<'d>,
    change: &CollectionChange<'_>,
    edits: &mut Vec<Replacement>,
) -> Result<(), PatchRefusal> {
    let children = children(layout, node);
    let start = node.span().start as usize;
    let lines = BlockLines {
        layout,
        node,
        is_compact: !is_blank(layout.between(layout.line_start(start), start)),
        column: layout.column(start),
        kept: change.kept(children.len()),
        children,
        change,
    };
    if lines.kept.is_empty() {
        return lines.replace_all(edits);
    }
    lines.remove(edits);
    lines.insert(edits)
}

/// Writes the first children of a missing value.
pub(super) fn fill_left_out<'d>(
    layout: &FileLayout<'d>,
    node: NodeRef<'d>,
    change: &CollectionChange<'_>,
    edits: &mut Vec<Replacement>,
) -> Result<(), PatchRefusal> {
    let new = change.new_children();
    if new.iter().any(|child| child.key.is_some()) != new.iter().all(|child| child.key.is_some()) {
        return Err(PatchRefusal::Unwritable {
            reason: "members and elements do not mix",
            span: node.span(),
        });
    }
    let value = collected(&new);
    if change.context == ScalarContext::Flow {
        return scalar::lower(layout, node, ScalarContext::Flow, &value, edits);
    }
    let start = node.span().start as usize;
    let writer = match layout.key_of(node) {
        Some(_) => BlockWriter::new(layout, node),
        None => BlockWriter::before(layout, node, start),
    };
    let mut out = String::new();
    let at = match layout.key_of(node) {
        Some(key) => {
            writer.nested(&mut out, &value, layout.column(key.span().start as usize))?;
            line_end(layout, start)
        }
        None if layout.text[..start].ends_with('-') && !layout.text[..start].ends_with("---") => {
            out.push(' ');
            writer.compact(&mut out, &value, layout.column(start) + 1)?;
            start
        }
        None => {
            // After `---` the first line starts in the first column.
            out.push_str(layout.newline);
            writer.compact(&mut out, &value, 0)?;
            start
        }
    };
    end_last_line(layout, at, &new, &mut out);
    edits.push(Replacement::insert(at as u32, out));
    Ok(())
}

/// Returns whether empty brackets should become lines: the file uses lines, or the values are collections themselves.
pub(super) fn suits(layout: &FileLayout<'_>, node: NodeRef<'_>, change: &CollectionChange<'_>) -> bool {
    let range = node.span().range();
    let is_empty = node.n_rows() == 1 && is_blank(layout.between(range.start + 1, range.end.saturating_sub(1)));
    if layout.document.format() != DocumentFormat::Yaml || change.context == ScalarContext::Flow || !is_empty {
        return false;
    }
    let key = layout.key_of(layout.document.at(node.row())).and_then(NodeRef::text);
    let example = key.and_then(|key| layout.example(node.row(), &key, node.kind()));
    match example {
        Some(example) => example.style() == Style::Block,
        None => change.inserted.values().flatten().any(|child| !child.value.is_scalar()),
    }
}

/// Writes the first children of empty brackets as lines.
pub(super) fn fill_empty<'d>(
    layout: &FileLayout<'d>,
    node: NodeRef<'d>,
    change: &CollectionChange<'_>,
    edits: &mut Vec<Replacement>,
) -> Result<(), PatchRefusal> {
    let new = change.new_children();
    let value = collected(&new);
    let writer = BlockWriter::new(layout, node);
    let mut out = String::new();
    let range = node.span().range();
    let Some(key) = layout.key_of(node) else {
        let writer = BlockWriter::before(layout, node, range.end);
        writer.compact(&mut out, &value, layout.column(range.start))?;
        end_last_line(layout, range.end, &new, &mut out);
        edits.push(Replacement::new(node.span(), out));
        return Ok(());
    };
    writer.nested(&mut out, &value, layout.column(key.span().start as usize))?;
    let before = layout.text[..range.start].trim_end_matches(' ').len();
    let at = line_end(layout, range.end);
    end_last_line(layout, at, &new, &mut out);
    edits.push(Replacement::delete(Span::new(before, range.end)));
    edits.push(Replacement::insert(at as u32, out));
    Ok(())
}

fn collected(new: &[NewChild<'_>]) -> PlainValue {
    if new.iter().any(|child| child.key.is_some()) {
        let member = |child: &NewChild<'_>| (child.key.unwrap_or_default().to_owned(), child.value.clone());
        return PlainValue::Object(new.iter().map(member).collect());
    }
    PlainValue::Array(new.iter().map(|child| child.value.clone()).collect())
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ')
}

/// Returns the end of the line of an offset, without its break; an offset after a break stays.
fn line_end(layout: &FileLayout<'_>, at: usize) -> usize {
    let bytes = layout.text.as_bytes();
    if at > 0 && bytes[at - 1] == b'\n' {
        return at;
    }
    match memchr::memchr(b'\n', &bytes[at..]) {
        Some(found) => {
            let feed = at + found;
            feed - usize::from(feed > at && bytes[feed - 1] == b'\r')
        }
        None => bytes.len(),
    }
}

/// Returns the offset after the break at the end of a line; none at the end of the text.
fn next_line(layout: &FileLayout<'_>, line_end: usize) -> Option<usize> {
    let rest = &layout.text.as_bytes()[line_end..];
    match rest {
        [b'\n', ..] => Some(line_end + 1),
        [b'\r', b'\n', ..] => Some(line_end + 2),
        _ => None,
    }
}

struct BlockLines<'a, 'd, 'p> {
    layout: &'a FileLayout<'d>,
    node: NodeRef<'d>,
    children: Vec<Child<'d>>,
    /// Positions of the children that stay.
    kept: Vec<usize>,
    change: &'a CollectionChange<'p>,
    /// The first child shares its line with the dash or marker before it.
    is_compact: bool,
    /// The column in which every child starts.
    column: usize,
}

impl<'d> BlockLines<'_, 'd, '_> {
    fn delete(&self, edits: &mut Vec<Replacement>, from: usize, to: usize) {
        edits.push(Replacement::delete(Span::new(from, to)));
    }

    /// Returns the lines of a child with the break after them, or at the end of the text with the break before them.
    fn lines_of(&self, position: usize, at_end_of_text: bool) -> (usize, usize) {
        let child = &self.children[position];
        let start = self.layout.line_start(child.start);
        let end = line_end(self.layout, child.end);
        if self.ends_after_break(position) {
            return (start, end);
        }
        match next_line(self.layout, end) {
            Some(next) if !at_end_of_text => (start, next),
            _ => {
                let before = &self.layout.text[..start];
                let before = before.strip_suffix('\n').unwrap_or(before);
                let before = before.strip_suffix('\r').unwrap_or(before).len();
                (
                    if self.is_break_of_text(position, before) {
                        start
                    } else {
                        before
                    },
                    end,
                )
            }
        }
    }

    /// Returns whether the line break at an offset is part of a text that ends there, before a child.
    fn is_break_of_text(&self, position: usize, at: usize) -> bool {
        let child = &self.children[position];
        let row = child.key.unwrap_or(child.value).row();
        let before = row.checked_sub(1).map(|row| self.layout.document.at(row));
        before.is_some_and(|node| {
            let ends_here = is_block_scalar(node) && node.span().end as usize >= at;
            ends_here && node.value().ends_with('\n')
        })
    }

    /// Returns whether a child is a scalar that keeps its trailing breaks, which ends where the next line starts.
    fn ends_after_break(&self, position: usize) -> bool {
        self.layout.text[..self.children[position].end].ends_with('\n')
    }

    fn is_at_end_of_text(&self, position: usize) -> bool {
        let end = line_end(self.layout, self.children[position].end);
        !self.ends_after_break(position) && next_line(self.layout, end).is_none()
    }

    fn remove(&self, edits: &mut Vec<Replacement>) {
        let first_kept = self.kept.first().copied().unwrap_or(0);
        let last_kept = self.kept.last().copied().unwrap_or(0);
        if first_kept > 0 && self.is_compact {
            // The first remaining child moves up to the dash, or a comment above it does.
            let from = self.children[0].start;
            self.delete(edits, from, self.room_end(first_kept - 1));
        }
        let last = self.children.len() - 1;
        let at_end = last > last_kept && self.is_at_end_of_text(last);
        for &position in &self.change.removed {
            if position < first_kept && self.is_compact {
                continue;
            }
            let (from, to) = self.lines_of(position, at_end && position > last_kept);
            self.delete(edits, from, to);
        }
    }

    /// Returns the end of the space after a child: at a comment on its own line, or at the next child.
    fn room_end(&self, position: usize) -> usize {
        let end = self.children[position].end;
        let next = self.children.get(position + 1).map_or(end, |next| next.start);
        let from = line_end(self.layout, end);
        gap::tokens(self.layout.text, Span::new(from, next))
            .find(|(token, _)| *token == GapToken::Comment)
            .map_or(next, |(_, at)| at)
    }

    fn insert(&self, edits: &mut Vec<Replacement>) -> Result<(), PatchRefusal> {
        let indent = " ".repeat(self.column);
        for (&slot, new) in &self.change.inserted {
            let (before, after) = neighbours(&self.kept, slot);
            if let Some(before) = before {
                self.insert_after(before, new, &indent, edits)?;
            } else if let Some(after) = after {
                self.insert_before(after, new, &indent, edits)?;
            }
        }
        Ok(())
    }

    fn insert_after(
        &self,
        before: usize,
        new: &[NewChild<'_>],
        indent: &str,
        edits: &mut Vec<Replacement>,
    ) -> Result<(), PatchRefusal> {
        let end = line_end(self.layout, self.children[before].end);
        let after_break = self.ends_after_break(before);
        let mut text = String::new();
        for child in new {
            if !after_break {
                text.push_str(self.layout.newline);
            }
            text.push_str(indent);
            self.write(&mut text, child, Some(before))?;
            if after_break {
                text.push_str(self.layout.newline);
            }
        }
        if !after_break {
            end_last_line(self.layout, end, new, &mut text);
        }
        if end == self.layout.text.len() && !after_break {
            // The text had no line break at its end, and gets one.
            let value = self.children[before].value;
            edits.extend(without_break(self.layout.document.at(value.row() + value.n_rows() - 1)));
        }
        edits.push(Replacement::insert(end as u32, text));
        Ok(())
    }

    fn insert_before(
        &self,
        after: usize,
        new: &[NewChild<'_>],
        indent: &str,
        edits: &mut Vec<Replacement>,
    ) -> Result<(), PatchRefusal> {
        let start = self.children[after].start;
        let moves_up = self.is_compact && (after == 0 || self.room_end(after - 1) == start);
        let mut text = String::new();
        for child in new {
            if !moves_up {
                text.push_str(indent);
            }
            self.write(&mut text, child, Some(after))?;
            text.push_str(self.layout.newline);
            if moves_up {
                text.push_str(indent);
            }
        }
        let at = if moves_up { start } else { self.layout.line_start(start) };
        edits.push(Replacement::insert(at as u32, text));
        Ok(())
    }

    /// Writes the content again if none of the old children stays: brackets if there are no new ones.
    fn replace_all(&self, edits: &mut Vec<Replacement>) -> Result<(), PatchRefusal> {
        let new = self.change.new_children();
        let indent = " ".repeat(self.column);
        let first = &self.children[0];
        let last = self.children.len() - 1;
        let at_end = self.is_at_end_of_text(last);
        let introducer = self.introducer().filter(|_| new.is_empty() && !self.is_compact);
        let mut text = String::new();
        if new.is_empty() {
            text.push_str(if self.node.kind() == NodeKind::Object {
                "{}"
            } else {
                "[]"
            });
        }
        for (ix, child) in new.iter().enumerate() {
            if ix > 0 {
                text.push_str(self.layout.newline);
                text.push_str(&indent);
            }
            let writer = BlockWriter::before(self.layout, self.node, first.end);
            self.write_with(&writer, &mut text, child, None)?;
        }
        let rest = match introducer {
            Some(at) => {
                edits.push(Replacement::insert(at as u32, format!(" {text}")));
                0
            }
            None => {
                if self.ends_after_break(0) && !text.ends_with('\n') {
                    text.push_str(self.layout.newline);
                } else if at_end {
                    end_last_line(self.layout, self.layout.text.len(), &new, &mut text);
                }
                edits.push(Replacement::new(Span::new(first.start, first.end), text));
                1
            }
        };
        for position in rest..self.children.len() {
            let (from, to) = self.lines_of(position, at_end);
            self.delete(edits, from, to);
        }
        Ok(())
    }

    /// Returns the offset after the colon or dash of the collection; none for the root.
    fn introducer(&self) -> Option<usize> {
        let start = self.node.span().start as usize;
        if let Some(key) = self.layout.key_of(self.node) {
            return gap::tokens(self.layout.text, Span::new(key.span().end as usize, start))
                .find(|(token, _)| *token == GapToken::Colon)
                .map(|(_, at)| at + 1);
        }
        None
    }

    fn write(&self, out: &mut String, child: &NewChild<'_>, sibling: Option<usize>) -> Result<(), PatchRefusal> {
        self.write_with(&BlockWriter::new(self.layout, self.node), out, child, sibling)
    }

    fn write_with(
        &self,
        writer: &BlockWriter<'_, 'd>,
        out: &mut String,
        child: &NewChild<'_>,
        sibling: Option<usize>,
    ) -> Result<(), PatchRefusal> {
        let sibling = sibling.map(|position| &self.children[position]);
        match child.key {
            Some(key) => {
                let style = sibling
                    .and_then(|sibling| sibling.key)
                    .map_or(Style::Plain, NodeRef::style);
                writer.member(out, key, child.value, self.column, style)
            }
            None => {
                let gap = sibling.map_or(1, |sibling| self.dash_gap(sibling));
                writer.element(out, child.value, self.column, gap, sibling.map(|sibling| sibling.value))
            }
        }
    }

    /// Returns the number of spaces between a dash and its element.
    fn dash_gap(&self, child: &Child<'_>) -> usize {
        let gap = self.layout.between(child.start + 1, child.value.span().start as usize);
        if is_blank(gap) { gap.len().max(1) } else { 1 }
    }
}

fn is_block_scalar(node: NodeRef<'_>) -> bool {
    matches!(node.style(), Style::Literal | Style::Folded)
}

/// Returns the edit of a block scalar's header after which its value ends without a line break, whatever follows.
fn without_break(node: NodeRef<'_>) -> Option<Replacement> {
    if !is_block_scalar(node) || node.value().ends_with('\n') {
        return None;
    }
    let start = node.span().start as usize;
    let is_indicator = |c: char| matches!(c, '|' | '>' | '+' | '-') || c.is_ascii_digit();
    let header = &node.slice()[..node.slice().find(|c| !is_indicator(c)).unwrap_or(0)];
    match header.find(['+', '-']) {
        Some(at) => {
            Some(Replacement::new(Span::new(start + at, start + at + 1), "-")).filter(|_| !header.contains('-'))
        }
        None => Some(Replacement::insert((start + header.len()) as u32, "-")),
    }
}

/// Adds a line break to new children at the very end of the text, if it changes the last value.
fn end_last_line(layout: &FileLayout<'_>, at: usize, new: &[NewChild<'_>], text: &mut String) {
    let ends_in_text = new.last().is_some_and(|child| ends_in_block_text(child.value));
    if at == layout.text.len() && ends_in_text && !text.ends_with('\n') {
        text.push_str(layout.newline);
    }
}

fn ends_in_block_text(value: &PlainValue) -> bool {
    match value {
        PlainValue::String(text) => text.ends_with('\n'),
        value => value
            .children()
            .last()
            .is_some_and(|(_, last)| ends_in_block_text(last)),
    }
}

/// Writes new values in block style.
struct BlockWriter<'a, 'd> {
    layout: &'a FileLayout<'d>,
    /// The collection that is changed: its neighbourhood is the example.
    node: NodeRef<'d>,
    /// Text follows on the line, so the new text must not end in a block scalar.
    is_followed: bool,
}

impl<'a, 'd> BlockWriter<'a, 'd> {
    fn new(layout: &'a FileLayout<'d>, node: NodeRef<'d>) -> Self {
        BlockWriter {
            layout,
            node,
            is_followed: false,
        }
    }

    /// Returns a writer for text that is inserted before the rest of the line of an offset.
    fn before(layout: &'a FileLayout<'d>, node: NodeRef<'d>, at: usize) -> Self {
        BlockWriter {
            is_followed: line_end(layout, at) > at,
            ..BlockWriter::new(layout, node)
        }
    }

    /// Writes `key: value` of a mapping whose keys start in a column.
    fn member(
        &self,
        out: &mut String,
        key: &str,
        value: &PlainValue,
        column: usize,
        style: Style,
    ) -> Result<(), PatchRefusal> {
        let style = if matches!(style, Style::Single | Style::Double) {
            style
        } else {
            Style::Plain
        };
        out.push_str(&scalar::key(self.layout, key, style, ScalarContext::Block));
        out.push(':');
        let kind = match value {
            PlainValue::Array(_) => NodeKind::Array,
            PlainValue::Object(_) => NodeKind::Object,
            _ => return self.after_indicator(out, value, column, self.scalar_style(key)),
        };
        let example = self.layout.example(self.node.row(), key, kind);
        if example.is_some_and(|node| node.style() == Style::Flow) || is_empty(value) {
            out.push(' ');
            return scalar::write_flow(out, self.layout, value, self.node.span());
        }
        self.nested(out, value, column)
    }

    /// Writes `- value` of a list whose dashes are in a column.
    fn element(
        &self,
        out: &mut String,
        value: &PlainValue,
        column: usize,
        gap: usize,
        sibling: Option<NodeRef<'_>>,
    ) -> Result<(), PatchRefusal> {
        out.push('-');
        let is_flow = sibling.is_some_and(|sibling| sibling.style() == Style::Flow);
        if value.is_scalar() || is_empty(value) || is_flow {
            out.push_str(&" ".repeat(gap - 1));
            let style = sibling.map_or(Style::Plain, NodeRef::style);
            return self.after_indicator(out, value, column, style);
        }
        out.push_str(&" ".repeat(gap));
        self.compact(out, value, column + 1 + gap)
    }

    /// Writes the children of a value, the first at the present position, the others below it.
    fn compact(&self, out: &mut String, value: &PlainValue, column: usize) -> Result<(), PatchRefusal> {
        if value.is_scalar() {
            return scalar::write_flow(out, self.layout, value, self.node.span());
        }
        for (ix, (key, child)) in value.children().into_iter().enumerate() {
            if ix > 0 {
                out.push_str(self.layout.newline);
                out.push_str(&" ".repeat(column));
            }
            match key {
                Some(key) => self.member(out, key, child, column, Style::Plain)?,
                None => self.element(out, child, column, 1, None)?,
            }
        }
        Ok(())
    }

    /// Writes a collection on the lines below its key.
    fn nested(&self, out: &mut String, value: &PlainValue, key_column: usize) -> Result<(), PatchRefusal> {
        let is_list = matches!(value, PlainValue::Array(_));
        let step = if is_list && self.layout.zero_indented {
            0
        } else {
            self.layout.unit.len()
        };
        out.push_str(self.layout.newline);
        out.push_str(&" ".repeat(key_column + step));
        self.compact(out, value, key_column + step)
    }

    /// Writes a value on the line of its colon or dash; text of several lines as a block scalar.
    fn after_indicator(
        &self,
        out: &mut String,
        value: &PlainValue,
        column: usize,
        style: Style,
    ) -> Result<(), PatchRefusal> {
        out.push(' ');
        let PlainValue::String(text) = value else {
            return scalar::write_flow(out, self.layout, value, self.node.span());
        };
        // Blank lines that follow would become part of a text that keeps its trailing breaks: quotes are safe.
        if text.contains('\n') && !text.ends_with("\n\n") && !self.is_followed {
            let indent = " ".repeat(column + self.layout.unit.len());
            if let Some(block) = scalar::block_scalar(self.layout.newline, text, Style::Literal, "", &indent) {
                out.push_str(&block);
                return Ok(());
            }
        }
        out.push_str(&scalar::string(self.layout, text, style, ScalarContext::Block));
        Ok(())
    }

    /// Returns the notation of nearby values of a key.
    fn scalar_style(&self, key: &str) -> Style {
        let style = self
            .layout
            .example(self.node.row(), key, NodeKind::String)
            .map_or(Style::Plain, NodeRef::style);
        if matches!(style, Style::Single | Style::Double) {
            style
        } else {
            Style::Plain
        }
    }
}

fn is_empty(value: &PlainValue) -> bool {
    !value.is_scalar() && value.children().is_empty()
}
