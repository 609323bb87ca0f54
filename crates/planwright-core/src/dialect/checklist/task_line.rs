//! Task lines with all their parts, and which of them are groups of others.

use std::collections::HashMap;

use super::details::{self, Details};
use super::lines::{BoxItem, Lines, MAX_DEPTH};
use super::tags::{self, Tags};
use super::variant::Variant;
use crate::text::{SourceText, Span};

/// A task line with all its parts.
#[derive(Clone, Debug)]
pub(super) struct TaggedLine {
    pub(super) item: BoxItem,
    pub(super) tags: Tags,
    pub(super) details: Details,
    /// The task line that it is part of.
    pub(super) parent: Option<usize>,
    /// Whether other task lines are part of it.
    pub(super) is_group: bool,
}

impl TaggedLine {
    /// Returns its own lines, from the bullet to the end of its details.
    pub(super) fn span(&self) -> Span {
        self.item.line.to(self.item.details)
    }

    /// Returns whether the box is ticked.
    pub(super) fn is_ticked(&self, source: &SourceText) -> bool {
        matches!(source.slice(self.item.mark), "x" | "X")
    }

    /// Returns the dependencies as written.
    pub(super) fn needs(&self) -> &[Span] {
        let in_line = self.tags.needs.as_ref().map(|(_, needs)| needs.as_slice());
        let below = self.details.depends.as_ref().map(|list| list.items.as_slice());
        in_line.or(below).unwrap_or(&[])
    }
}

/// Reads the parts of all task lines.
pub(super) fn task_lines(source: &SourceText, lines: &Lines, variant: Variant) -> Vec<TaggedLine> {
    let mut found: Vec<TaggedLine> = lines
        .items
        .iter()
        .map(|item| TaggedLine {
            item: *item,
            tags: tags::read(source, item.text, variant),
            details: details::read(source, item.details, variant),
            parent: None,
            is_group: false,
        })
        .collect();
    let mut numbered: HashMap<&str, usize> = HashMap::new();
    // The task lines around the current one, by indentation.
    let mut around: Vec<usize> = Vec::new();
    for ix in 0..found.len() {
        let item = found[ix].item;
        let is_new_section = |outer: &usize| found[*outer].item.heading != item.heading;
        if around.last().is_some_and(is_new_section) {
            around.clear();
        }
        while around
            .last()
            .is_some_and(|outer| found[*outer].item.indent >= item.indent)
        {
            around.pop();
        }
        let id = found[ix]
            .tags
            .id
            .filter(|_| variant.is_numbered())
            .map(|id| source.slice(id));
        let by_number = id.and_then(|id| numbered.get(id.rsplit_once('.')?.0).copied());
        found[ix].parent = by_number.or(around.last().copied());
        if let Some(parent) = found[ix].parent {
            found[parent].is_group = true;
        }
        if let Some(id) = id {
            numbered.entry(id).or_insert(ix);
        }
        if around.len() < MAX_DEPTH {
            around.push(ix);
        }
    }
    found
}
