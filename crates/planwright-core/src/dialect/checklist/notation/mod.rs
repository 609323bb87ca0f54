//! Checklists as documents: task lines become objects of a node table, and patches become edits of lines.

mod element;
mod lower;
mod moves;
mod new_task;

use std::collections::HashMap;

use super::details;
use super::lines::Lines;
use super::tags;
use super::task_line::{TaggedLine, task_lines};
use super::variant::Variant;
use crate::diagnostic::Replacement;
use crate::document::notation::{NodeTable, Notation};
use crate::document::patch::{Changes, PatchRefusal, apply};
use crate::document::{Document, OwnNotation, Parsed};
use crate::text::{SourceText, Span};
use element::LineEdits;

/// The notation of one variant.
struct ChecklistNotation {
    variant: Variant,
}

static NOTATIONS: [ChecklistNotation; 5] = {
    const fn of(variant: Variant) -> ChecklistNotation {
        ChecklistNotation { variant }
    }
    [
        of(Variant::Own),
        of(Variant::SpecKit),
        of(Variant::OpenSpec),
        of(Variant::Kiro),
        of(Variant::Plain),
    ]
};

/// Returns the notation of a text.
pub(super) fn notation_of(source: &SourceText, path: Option<&str>) -> OwnNotation {
    let variant = Variant::of(source, &Lines::read(source), path);
    let own = NOTATIONS.iter().find(|notation| notation.variant == variant);
    OwnNotation(own.unwrap_or(&NOTATIONS[0]))
}

impl Notation for ChecklistNotation {
    fn name(&self) -> &'static str {
        self.variant.form()
    }

    fn parse(&'static self, source: &SourceText) -> Parsed {
        let lines = Lines::read(source);
        let found = task_lines(source, &lines, self.variant);
        let mut table = NodeTable::new(found.len() * 8 + 8);
        if let Some(title) = lines.title() {
            table.key("title", title.start as usize);
            table.text(title);
        }
        if let Some(about) = lines.introduction.and_then(|span| details::introduction(source, span)) {
            table.key("description", about.span.start as usize);
            table.decoded(about.span, about.text);
        }
        if let (Some(first), Some(last)) = (found.first(), found.last()) {
            table.key("tasks", first.item.line.start as usize);
            table.open_array(first.item.line.start as usize);
            for line in &found {
                self.add_element(&mut table, source, line);
            }
            table.close(last.span().end as usize);
        }
        table.finish(source, self)
    }

    fn lower(&self, document: &Document, changes: &Changes<'_>) -> Result<Vec<Replacement>, PatchRefusal> {
        lower::lower(self.variant, document, changes)
    }

    fn permute(&self, document: &Document, spans: &[Span], order: &[usize]) -> Result<String, PatchRefusal> {
        let source = document.source();
        let found = task_lines(source, &Lines::read(source), self.variant);
        let by_span: HashMap<Span, usize> = found.iter().enumerate().map(|(ix, line)| (line.span(), ix)).collect();
        let leaves: Option<Vec<usize>> = spans.iter().map(|span| by_span.get(span).copied()).collect();
        let leaves = leaves.ok_or(PatchRefusal::OutOfRange(document.extent()))?;
        let mut edits = LineEdits::of(source, self.variant);
        edits.reorder(&found, &leaves, order)?;
        apply(source, &edits.edits)
    }
}

impl ChecklistNotation {
    fn add_element(&self, table: &mut NodeTable, source: &SourceText, line: &TaggedLine) {
        let (span, tags) = (line.span(), &line.tags);
        table.open_object(span.start as usize);
        let key = |table: &mut NodeTable, name, span: Span| table.key(name, span.start as usize);
        key(table, "status", line.item.mark);
        table.text(line.item.mark);
        if let Some(star) = line.item.star {
            key(table, "optional", star);
            table.flag(star);
        }
        if let Some(id) = tags.id {
            key(table, "id", id);
            table.text(id);
        }
        if let Some(parallel) = tags.parallel {
            key(table, "parallel", parallel);
            table.flag(parallel);
        }
        if let Some(story) = tags.story {
            key(table, "story", story);
            table.text(story);
        }
        key(table, "title", tags.title);
        match tags::unescaped_title(source.slice(tags.title), tags.id.is_some(), self.variant) {
            None => table.text(tags.title),
            Some(plain) => table.decoded(tags.title, plain),
        }
        let list = |table: &mut NodeTable, name, items: &[Span]| {
            if let (Some(first), Some(last)) = (items.first(), items.last()) {
                table.key(name, first.start as usize);
                table.open_array(first.start as usize);
                items.iter().for_each(|item| table.text(*item));
                table.close(last.end as usize);
            }
        };
        list(table, "needs", line.needs());
        if let Some(about) = &line.details.description {
            key(table, "description", about.span);
            table.decoded(about.span, about.text.clone());
        }
        let criteria = &line.details.criteria;
        if let (Some(first), Some(last)) = (criteria.first(), criteria.last()) {
            key(table, "criteria", first.span);
            table.open_array(first.span.start as usize);
            for criterion in criteria {
                table.decoded(criterion.span, criterion.text.clone());
            }
            table.close(last.span.end as usize);
        }
        list(
            table,
            "files",
            line.details.files.as_ref().map_or(&[], |list| &list.items),
        );
        table.close(span.end as usize);
    }
}
