//! Members and elements between brackets: JSON collections and YAML flow collections.

use super::collection::{Child, FileLayout, children, neighbours};
use super::resolve::{CollectionChange, NewChild};
use super::{PatchRefusal, PlainValue, json, scalar};
use crate::diagnostic::Replacement;
use crate::document::gap::{self, GapToken};
use crate::document::{DocumentFormat, NodeKind, NodeRef, Style};
use crate::text::Span;

/// Applies the changes to the children of a collection in brackets.
pub(super) fn lower<'d>(
    layout: &FileLayout<'d>,
    node: NodeRef<'d>,
    change: &CollectionChange<'_>,
    edits: &mut Vec<Replacement>,
) -> Result<(), PatchRefusal> {
    if !node.slice().starts_with(['[', '{']) {
        // A single pair without braces, `[a: b]`, can have only one member.
        return Err(PatchRefusal::Unwritable {
            reason: "the pair has no braces of its own",
            span: node.span(),
        });
    }
    let children = children(layout, node);
    let brackets = Brackets {
        layout,
        node,
        kept: change.kept(children.len()),
        children,
        change,
    };
    if brackets.kept.is_empty() {
        return brackets.refill(edits);
    }
    brackets.remove(edits);
    brackets.insert(edits)
}

struct Brackets<'a, 'd, 'p> {
    layout: &'a FileLayout<'d>,
    node: NodeRef<'d>,
    children: Vec<Child<'d>>,
    /// Positions of the children that stay.
    kept: Vec<usize>,
    change: &'a CollectionChange<'p>,
}

impl<'d> Brackets<'_, 'd, '_> {
    fn inside(&self) -> (usize, usize) {
        let range = self.node.span().range();
        (range.start + 1, (range.end - 1).max(range.start + 1))
    }

    /// Returns the end of the gap after a child.
    fn gap_end(&self, position: usize) -> usize {
        self.children
            .get(position + 1)
            .map_or(self.inside().1, |next| next.start)
    }

    fn gap_has_comment(&self, position: usize) -> bool {
        let end = self.children[position].end;
        self.layout.has_comment(end, self.gap_end(position))
    }

    /// Returns the offset after the comma that follows a child, if there is one.
    fn after_comma(&self, position: usize) -> Option<usize> {
        let gap = Span::new(self.children[position].end, self.gap_end(position));
        gap::tokens(self.layout.text, gap)
            .find(|(token, _)| *token == GapToken::Comma)
            .map(|(_, at)| at + 1)
    }

    fn remove(&self, edits: &mut Vec<Replacement>) {
        let last_kept = self.kept.last().copied().unwrap_or(0);
        let mut delete = |from: usize, to: usize| edits.push(Replacement::delete(Span::new(from, to)));
        for &position in self.change.removed.range(..last_kept) {
            delete(self.children[position].start, self.next_start(position));
        }
        let tail = last_kept + 1..self.children.len();
        if tail.is_empty() {
            return;
        }
        let has_comment = (last_kept..self.children.len()).any(|position| self.gap_has_comment(position));
        if !has_comment {
            let end = self.children.last().map_or(0, |child| child.end);
            return delete(self.children[last_kept].end, end);
        }
        // YAML allows a comma before the closing bracket, so the one before the comment may stay.
        for position in tail {
            let (from, to) = self.room_of(position);
            delete(from, to);
        }
    }

    /// Returns the span of a child with its comma; if it is alone on its line, the line with its comment.
    fn room_of(&self, position: usize) -> (usize, usize) {
        let (text, child) = (self.layout.text, &self.children[position]);
        let end = self.after_comma(position).unwrap_or(child.end);
        let line = self.layout.line_start(child.start);
        let rest = &text[end..];
        let n_rest = rest.find('\n').map_or(rest.len(), |found| found + 1);
        let is_alone = |rest: &str| rest.is_empty() || rest.starts_with('#');
        let is_line = self.layout.between(line, child.start).trim().is_empty()
            && line > self.inside().0
            && end + n_rest <= self.inside().1
            && is_alone(rest[..n_rest].trim());
        if is_line {
            (line, end + n_rest)
        } else {
            (child.start, end)
        }
    }

    /// Returns the end of a removed child's span: at the next child, or at a comment on its own line.
    fn next_start(&self, position: usize) -> usize {
        let gap = Span::new(self.children[position].end, self.gap_end(position));
        if self.layout.document.format() == DocumentFormat::Json {
            return gap.end as usize;
        }
        gap::tokens(self.layout.text, gap)
            .find(|(token, at)| {
                *token == GapToken::Comment && self.layout.between(gap.start as usize, *at).contains('\n')
            })
            .map_or(gap.end as usize, |(_, at)| {
                // A comment needs white space before it: its own, if the child had none.
                let follows_space = self.layout.text[..self.children[position].start].ends_with([' ', '\n']);
                at - usize::from(!follows_space)
            })
    }

    fn insert(&self, edits: &mut Vec<Replacement>) -> Result<(), PatchRefusal> {
        for (&slot, new) in &self.change.inserted {
            let (before, after) = neighbours(&self.kept, slot);
            match (before, after) {
                (Some(before), _) if !self.gap_has_comment(before) => {
                    let separator = self.separator(before);
                    let text = format!(",{separator}{}", self.joined(new, &separator, Some(before))?);
                    edits.push(Replacement::insert(self.children[before].end as u32, text));
                }
                (before, Some(after)) => {
                    let separator = self.separator(before.unwrap_or(after));
                    let text = format!("{},{separator}", self.joined(new, &separator, Some(after))?);
                    edits.push(Replacement::insert(self.children[after].start as u32, text));
                }
                (Some(before), None) => self.insert_after_comment(before, new, edits)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Adds children at the end if a comment follows the last one: the comma goes before the comment, the children after it.
    fn insert_after_comment(
        &self,
        before: usize,
        new: &[NewChild<'_>],
        edits: &mut Vec<Replacement>,
    ) -> Result<(), PatchRefusal> {
        let end = self.children[before].end;
        let gap = Span::new(end, self.inside().1);
        let mut separator = self.separator(before);
        if !separator.contains('\n') {
            let indent = self.layout.line_indent(end).unwrap_or_default();
            separator = format!("{}{indent}{}", self.layout.newline, self.layout.unit);
        }
        let (mut comma, mut at) = (false, end);
        let mut tokens = gap::tokens(self.layout.text, gap);
        while let Some((token, _)) = tokens.next() {
            comma |= token == GapToken::Comma;
            at = tokens.offset();
        }
        if !comma {
            edits.push(Replacement::insert(end as u32, ","));
        }
        let text = self.joined(new, &separator, Some(before))?;
        edits.push(Replacement::insert(at as u32, format!("{separator}{text}")));
        Ok(())
    }

    /// Writes new children with their separators; `sibling` is the position of an old one to imitate.
    fn joined(&self, new: &[NewChild<'_>], separator: &str, sibling: Option<usize>) -> Result<String, PatchRefusal> {
        let mut text = String::new();
        for (ix, child) in new.iter().enumerate() {
            if ix > 0 {
                text.push(',');
                text.push_str(separator);
            }
            self.write(&mut text, child, separator, sibling)?;
        }
        Ok(text)
    }

    /// Returns the white space that separates a new child from its neighbour, copied from the nearest pair.
    fn separator(&self, position: usize) -> String {
        let pairs = [Some(position), position.checked_sub(1)];
        for pair in pairs.into_iter().flatten() {
            if pair + 1 < self.children.len()
                && !self.gap_has_comment(pair)
                && let Some(after_comma) = self.after_comma(pair)
            {
                return self.layout.between(after_comma, self.gap_end(pair)).to_owned();
            }
        }
        let start = self.children[position].start;
        let lead = self.layout.between(self.inside().0, start);
        if lead.contains('\n') || self.gap_has_comment(position) {
            let indent = self.layout.line_indent(start).unwrap_or_default();
            return format!("{}{indent}", self.layout.newline);
        }
        if self.colon() == ":" {
            String::new()
        } else {
            " ".to_owned()
        }
    }

    /// Returns the text between keys and values here, or elsewhere in the file.
    fn colon(&self) -> &'d str {
        if self.layout.document.format() == DocumentFormat::Yaml {
            return ": ";
        }
        let own = self.children.first().and_then(|child| child.key);
        let nearby = || {
            let rows = self.node.row().saturating_sub(64)..(self.node.row() + 64).min(self.layout.document.n_nodes());
            rows.map(|row| self.layout.document.at(row))
                .find(|node| node.kind() == NodeKind::Key)
        };
        own.or_else(nearby)
            .map(|key| {
                let value = self.layout.document.at(key.row() + 1);
                self.layout
                    .between(key.span().end as usize, value.span().start as usize)
            })
            .filter(|colon| !colon.contains('\n'))
            .unwrap_or(": ")
    }

    /// Writes a new child; `sibling` is the position of an old one to imitate.
    fn write(
        &self,
        out: &mut String,
        child: &NewChild<'_>,
        separator: &str,
        sibling: Option<usize>,
    ) -> Result<(), PatchRefusal> {
        let sibling = sibling.map(|position| &self.children[position]);
        let example = match child.key {
            Some(key) => self.layout.example(self.node.row(), key, kind_of(child.value)),
            None => None,
        };
        let example = example.or_else(|| sibling.map(|sibling| sibling.value));
        if self.layout.document.format() == DocumentFormat::Yaml {
            return self.write_yaml(out, child, sibling);
        }
        if let Some(key) = child.key {
            out.push_str(&crate::document::json::encode(key));
            out.push_str(self.colon());
        }
        let frame = json::WriteTarget {
            layout: self.layout,
            indent: separator.rsplit_once('\n').map(|(_, indent)| indent),
            colon: self.colon(),
            place: self.node.span(),
        };
        json::write(out, frame, child.value, example)
    }

    fn write_yaml(
        &self,
        out: &mut String,
        child: &NewChild<'_>,
        sibling: Option<&Child<'d>>,
    ) -> Result<(), PatchRefusal> {
        if let Some(key) = child.key {
            let style = sibling
                .and_then(|sibling| sibling.key)
                .map_or(Style::Plain, NodeRef::style);
            out.push_str(&scalar::key(self.layout, key, style, scalar::ScalarContext::Flow));
            out.push_str(": ");
        }
        scalar::write_flow(out, self.layout, child.value, self.node.span())
    }

    /// Writes the content again if none of the old children stays.
    fn refill(&self, edits: &mut Vec<Replacement>) -> Result<(), PatchRefusal> {
        let (open, close) = self.inside();
        let new = self.change.new_children();
        let (from, to) = match (self.children.first(), self.children.last()) {
            (Some(first), Some(last)) if !new.is_empty() => (first.start, last.end),
            _ => (open, close),
        };
        let has_comment = self.any_comment();
        if has_comment && new.is_empty() {
            for position in 0..self.children.len() {
                let (from, to) = self.room_of(position);
                edits.push(Replacement::delete(Span::new(from, to)));
            }
            return Ok(());
        }
        if has_comment && !self.children.is_empty() {
            return Err(PatchRefusal::Unwritable {
                reason: "there are comments between the brackets, and everything that they belong to would be removed",
                span: self.node.span(),
            });
        }
        let (from, separator) = match self.children.len() {
            // The comment ends its line, so the closing bracket is on the next one.
            0 if has_comment => (close, " ".to_owned()),
            0 => (from, self.fresh_separator()),
            _ => (from, self.separator(0)),
        };
        let mut text = self.joined(&new, &separator, None)?;
        if self.children.is_empty() && separator.contains('\n') {
            let indent = self.layout.line_indent(self.node.span().start as usize);
            text = format!("{separator}{text}{}{}", self.layout.newline, indent.unwrap_or_default());
        }
        edits.push(Replacement::new(Span::new(from, to), text));
        Ok(())
    }

    fn any_comment(&self) -> bool {
        let (open, close) = self.inside();
        let first = self.children.first().map_or(close, |child| child.start);
        self.layout.has_comment(open, first) || (0..self.children.len()).any(|position| self.gap_has_comment(position))
    }

    /// Returns the separator for children of previously empty brackets.
    fn fresh_separator(&self) -> String {
        let one_line = if self.colon() == ":" { "" } else { " " };
        if self.layout.document.format() == DocumentFormat::Yaml {
            return one_line.to_owned();
        }
        let start = self.node.span().start as usize;
        let key = self.layout.key_of(self.node).and_then(NodeRef::text);
        let example = key.and_then(|key| self.layout.example(self.node.row(), &key, self.node.kind()));
        let indent = self.layout.line_indent(start);
        let on_lines = match example {
            Some(example) => self.layout.is_multi_line(example),
            // The collection starts on a line of its own children: its parent is a block.
            None => indent.is_some_and(|indent| !indent.is_empty()),
        };
        match indent.filter(|_| on_lines) {
            Some(indent) => format!("{}{indent}{}", self.layout.newline, self.layout.unit),
            None => one_line.to_owned(),
        }
    }
}

fn kind_of(value: &PlainValue) -> NodeKind {
    match value {
        PlainValue::Object(_) => NodeKind::Object,
        PlainValue::Array(_) => NodeKind::Array,
        _ => NodeKind::String,
    }
}
