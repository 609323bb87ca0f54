//! Shared code for adding and removing children in both notations: the layout of the file, and the children.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use crate::document::gap::{self, GapToken};
use crate::document::{Document, DocumentFormat, NodeKind, NodeRef, Style};
use crate::text::Span;

/// How far around a node to search for an example of the file's notation.
const NEIGHBOUR_ROWS: usize = 512;

/// Above this many lookups, build an index of all examples.
const INDEX_EXAMPLES_FROM: usize = 64;

/// How far back to search for a line's start; a longer line counts as one without indentation.
const LINE_LOOKBACK: usize = 4096;

pub(super) struct FileLayout<'d> {
    pub(super) document: &'d Document,
    /// The text up to the end of the document.
    pub(super) text: &'d str,
    pub(super) newline: &'static str,
    /// The indentation of one level of nesting.
    pub(super) unit: String,
    /// Whether lists under a key start in the key's own column.
    pub(super) zero_indented: bool,
    /// The quotes for strings that need quotes.
    pub(super) quote: Style,
    n_examples_asked: Cell<usize>,
    examples: OnceCell<Examples>,
}

/// The rows of keys whose values can be examples, by key and kind of value, in order.
type Examples = HashMap<String, Vec<(NodeKind, Vec<usize>)>>;

impl<'d> FileLayout<'d> {
    pub(super) fn of(document: &'d Document) -> Self {
        let source = document.source();
        let text = source.as_str();
        let mut layout = FileLayout {
            document,
            text: text.get(..document.extent().end as usize).unwrap_or(text),
            newline: source.newline().as_str(),
            unit: "  ".to_owned(),
            zero_indented: false,
            quote: Style::Double,
            n_examples_asked: Cell::new(0),
            examples: OnceCell::new(),
        };
        match document.format() {
            DocumentFormat::Json => layout.read_json(),
            DocumentFormat::Yaml => layout.read_yaml(),
            DocumentFormat::Own(_) => {}
        }
        layout
    }

    fn read_json(&mut self) {
        let Some(root) = self.document.root().filter(|root| root.n_rows() > 1) else {
            return;
        };
        let first = self.document.at(root.row() + 1);
        let inner = self.line_indent(first.span().start as usize).unwrap_or_default();
        let outer = self.line_indent(root.span().start as usize).unwrap_or_default();
        if let Some(unit) = inner.strip_prefix(outer).filter(|unit| !unit.is_empty()) {
            self.unit = unit.to_owned();
        }
    }

    fn read_yaml(&mut self) {
        let rows = 0..self.document.n_nodes().min(4 * NEIGHBOUR_ROWS);
        let (mut unit, mut zero_indented, mut quote) = (None, None, None);
        for row in rows {
            let node = self.document.at(row);
            if matches!(node.style(), Style::Single | Style::Double) && node.kind() == NodeKind::String {
                quote = quote.or(Some(node.style()));
            }
            if node.kind() != NodeKind::Key || row + 1 >= self.document.n_nodes() {
                continue;
            }
            let value = self.document.at(row + 1);
            if value.style() != Style::Block {
                continue;
            }
            let column = |node: NodeRef<'_>| self.column(node.span().start as usize);
            let step = column(value).saturating_sub(column(node));
            if step > 0 {
                unit = unit.or(Some(step));
            }
            if value.kind() == NodeKind::Array {
                zero_indented = zero_indented.or(Some(step == 0));
            }
        }
        self.unit = " ".repeat(unit.unwrap_or(2));
        self.zero_indented = zero_indented.unwrap_or(false);
        self.quote = quote.unwrap_or(Style::Double);
    }

    /// Returns the start of an offset's line, after a byte order mark.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at];
        match memchr::memrchr(b'\n', before) {
            Some(newline) => newline + 1,
            None => self.document.source().bom_len().min(at),
        }
    }

    /// Returns the indentation of an offset's line; none for a very long line.
    pub(super) fn line_indent(&self, at: usize) -> Option<&'d str> {
        let from = at.saturating_sub(LINE_LOOKBACK);
        let start = match memchr::memrchr(b'\n', &self.text.as_bytes()[from..at]) {
            Some(newline) => from + newline + 1,
            None if from == 0 => self.document.source().bom_len().min(at),
            None => return None,
        };
        let line = &self.text[start..at];
        let n_space = line.len() - line.trim_start_matches([' ', '\t']).len();
        Some(&line[..n_space])
    }

    /// Returns the column of an offset, in characters from 0.
    pub(super) fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    /// Returns the text between two offsets.
    pub(super) fn between(&self, from: usize, to: usize) -> &'d str {
        self.text.get(from..to).unwrap_or("")
    }

    /// Returns whether there is a comment between two offsets outside of nodes.
    pub(super) fn has_comment(&self, from: usize, to: usize) -> bool {
        self.document.format() == DocumentFormat::Yaml
            && gap::tokens(self.text, Span::new(from, to)).any(|(token, _)| token == GapToken::Comment)
    }

    /// Returns the string, or the non-empty collection, nearest to a row under a key, as an example.
    pub(super) fn example(&self, row: usize, key: &str, kind: NodeKind) -> Option<NodeRef<'d>> {
        let n_asked = self.n_examples_asked.get();
        self.n_examples_asked.set(n_asked.saturating_add(1));
        let (first, end) = (
            row.saturating_sub(NEIGHBOUR_ROWS),
            (row + NEIGHBOUR_ROWS).min(self.document.n_nodes()),
        );
        let at = if n_asked < INDEX_EXAMPLES_FROM {
            let fits = |at: &usize| self.example_kind(*at) == Some(kind) && self.document.at(*at).is_text(key);
            let before = (first..row).rev().find(fits);
            before.or_else(|| (row..end).find(fits))
        } else {
            let examples = self.examples.get_or_init(|| self.all_examples());
            let (_, rows) = examples.get(key)?.iter().find(|(own, _)| *own == kind)?;
            let n_before = rows.partition_point(|&at| at < row);
            let before = n_before
                .checked_sub(1)
                .and_then(|ix| rows.get(ix))
                .filter(|&&at| at >= first);
            before.or_else(|| rows.get(n_before).filter(|&&at| at < end)).copied()
        };
        at.map(|at| self.document.at(at + 1))
    }

    /// Returns the kind of the value of the key in a row, if it can be an example.
    fn example_kind(&self, at: usize) -> Option<NodeKind> {
        if self.document.at(at).kind() != NodeKind::Key || at + 1 >= self.document.n_nodes() {
            return None;
        }
        let value = self.document.at(at + 1);
        Some(value.kind()).filter(|&kind| value.n_rows() > 1 || kind == NodeKind::String)
    }

    fn all_examples(&self) -> Examples {
        let mut examples = Examples::new();
        for at in 0..self.document.n_nodes() {
            let (Some(kind), Some(key)) = (self.example_kind(at), self.document.at(at).text()) else {
                continue;
            };
            if !examples.contains_key(&*key) {
                examples.insert(key.clone().into_owned(), Vec::new());
            }
            let Some(kinds) = examples.get_mut(&*key) else {
                continue;
            };
            match kinds.iter_mut().find(|(own, _)| *own == kind) {
                Some((_, rows)) => rows.push(at),
                None => kinds.push((kind, vec![at])),
            }
        }
        examples
    }

    /// Returns the key of a node's value.
    pub(super) fn key_of(&self, node: NodeRef<'d>) -> Option<NodeRef<'d>> {
        let before = node.row().checked_sub(1)?;
        Some(self.document.at(before)).filter(|node| node.kind() == NodeKind::Key)
    }

    /// Returns whether the children of a collection are on their own lines.
    pub(super) fn is_multi_line(&self, node: NodeRef<'_>) -> bool {
        if node.n_rows() < 2 {
            return false;
        }
        let first = self.document.at(node.row() + 1).span().start as usize;
        self.between(node.span().start as usize, first).contains('\n')
    }
}

/// A child of a collection: from its key or value to the end of its value.
#[derive(Clone, Copy)]
pub(super) struct Child<'d> {
    pub(super) key: Option<NodeRef<'d>>,
    pub(super) value: NodeRef<'d>,
    /// Offset of the key, the dash or the value.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Returns the children of a collection. In a block they start at their dashes, question marks or properties.
pub(super) fn children<'d>(layout: &FileLayout<'d>, node: NodeRef<'d>) -> Vec<Child<'d>> {
    let is_block = node.style() == Style::Block;
    let mut last_end = node.span().start as usize;
    let mut is_first = true;
    let mut child = |key: Option<NodeRef<'d>>, value: NodeRef<'d>| {
        let mut start = key.unwrap_or(value).span().start as usize;
        if is_block && is_first {
            start = last_end;
        } else if is_block {
            start = gap::tokens(layout.text, Span::new(last_end, start))
                .find(|(token, _)| matches!(token, GapToken::Dash | GapToken::Question | GapToken::Property))
                .map_or(start, |(_, at)| at);
        }
        is_first = false;
        last_end = value.span().end as usize;
        Child {
            key,
            value,
            start,
            end: last_end,
        }
    };
    if node.kind() == NodeKind::Array {
        return node.elements().map(|element| child(None, element)).collect();
    }
    node.own_members()
        .map(|member| child(Some(member.key), member.value))
        .collect()
}

/// Returns the nearest remaining children on both sides of a slot.
pub(super) fn neighbours(kept: &[usize], slot: usize) -> (Option<usize>, Option<usize>) {
    let n_before = kept.partition_point(|&position| position < slot);
    let before = n_before.checked_sub(1).and_then(|ix| kept.get(ix));
    (before.copied(), kept.get(n_before).copied())
}
