//! Lossless edits by keys and indices, lowered to replacements of bytes. Changes no other byte, and refuses what is not safe,
//! with the place.
//!
//! All routes of one list of patches are those of the document as it is before any of them.
//! A comment on the line of a removed member or element goes with it; comments on lines of their own stay.
//!
//! ```
//! use planwright_core::document::patch::{Patch, PlainValue, patch};
//! use planwright_core::document::route::Route;
//! use planwright_core::document::yaml;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new("steps:\n- index: 0  # the first\n  status: 'pending'\n");
//! let document = yaml::parse(&text).document;
//! let status = Patch::ReplaceScalar {
//!     at: Route::root().key("steps").index(0).key("status"),
//!     value: PlainValue::String("complete".to_owned()),
//! };
//! let new = patch(&document, &[status]).expect("a place that can be changed");
//! assert_eq!(new, "steps:\n- index: 0  # the first\n  status: 'complete'\n");
//! ```

mod block;
mod collection;
mod flow;
mod json;
mod permute;
mod refusal;
mod resolve;
pub(in crate::document) mod scalar;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use permute::permute;
pub use refusal::PatchRefusal;
pub(crate) use resolve::{Changes, CollectionChange};
pub use value::PlainValue;

use super::{Document, DocumentFormat, NodeRef, Parsed, Style};
use crate::diagnostic::Replacement;
use crate::text::{SourceText, Span};

use super::route::Route;
use collection::FileLayout;

/// One change of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// Replaces a scalar by a value, in the scalar's own style if possible.
    ReplaceScalar {
        /// The scalar.
        at: Route,
        /// The new value.
        value: PlainValue,
    },
    /// Adds a member to an object, or to a missing YAML value.
    InsertMember {
        /// The object.
        object: Route,
        /// A key it does not have.
        key: String,
        /// The value of the new member.
        value: PlainValue,
        /// Its position among the members.
        place: MemberPosition,
    },
    /// Removes a member of an object.
    RemoveMember {
        /// The object.
        object: Route,
        /// The key of the member.
        key: String,
    },
    /// Gives a member another key.
    RenameKey {
        /// The object.
        object: Route,
        /// The present key.
        key: String,
        /// A key the object does not have.
        to: String,
    },
    /// Adds an element to an array, or to a missing YAML value.
    InsertElement {
        /// The array.
        array: Route,
        /// The index of the new element; at most the length of the array.
        index: usize,
        /// The element.
        value: PlainValue,
        /// The old element whose level it gets, in notations with levels; by default, that of the element before it.
        beside: Option<usize>,
    },
    /// Removes an element of an array.
    RemoveElement {
        /// The array.
        array: Route,
        /// Its index.
        index: usize,
    },
}

impl Patch {
    /// Returns the route to the changed value.
    pub fn route(&self) -> &Route {
        match self {
            Patch::ReplaceScalar { at, .. } => at,
            Patch::InsertMember { object, .. }
            | Patch::RemoveMember { object, .. }
            | Patch::RenameKey { object, .. } => object,
            Patch::InsertElement { array, .. } | Patch::RemoveElement { array, .. } => array,
        }
    }

    pub(crate) fn route_mut(&mut self) -> &mut Route {
        match self {
            Patch::ReplaceScalar { at, .. } => at,
            Patch::InsertMember { object, .. }
            | Patch::RemoveMember { object, .. }
            | Patch::RenameKey { object, .. } => object,
            Patch::InsertElement { array, .. } | Patch::RemoveElement { array, .. } => array,
        }
    }
}

/// The position of a new member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberPosition {
    /// Right after the member with this key.
    After(String),
    /// Before all others.
    First,
    /// After all others.
    Last,
}

/// Returns the replacements of bytes for the changes, in text order.
pub fn lower(document: &Document, patches: &[Patch]) -> Result<Vec<Replacement>, PatchRefusal> {
    let changes = resolve::resolve(document, patches)?;
    lower_changes(document, &changes)
}

fn lower_changes(document: &Document, changes: &Changes<'_>) -> Result<Vec<Replacement>, PatchRefusal> {
    if let DocumentFormat::Own(notation) = document.format() {
        let mut edits = notation.0.lower(document, changes)?;
        sort(&mut edits);
        return Ok(edits);
    }
    let layout = FileLayout::of(document);
    let mut edits = Vec::new();
    for (row, (context, value)) in &changes.scalars {
        scalar::lower(&layout, document.at(*row), *context, value, &mut edits)?;
    }
    for (row, (context, key)) in &changes.renames {
        edits.push(scalar::rename(&layout, document.at(*row), *context, key));
    }
    // If two collections end at one offset, additions to the inner one come first.
    for (row, change) in changes.collections.iter().rev() {
        lower_children(&layout, document.at(*row), change, &mut edits)?;
    }
    if document.format() == DocumentFormat::Json && (document.extent().end as usize) < document.source().len() {
        edits.iter_mut().for_each(|edit| keep_in_fence(&mut edit.text));
    }
    sort(&mut edits);
    Ok(edits)
}

/// Applies the changes to the children of one collection.
fn lower_children<'d>(
    layout: &FileLayout<'d>,
    node: NodeRef<'d>,
    change: &CollectionChange<'_>,
    edits: &mut Vec<Replacement>,
) -> Result<(), PatchRefusal> {
    if change.removed.is_empty() && change.inserted.is_empty() {
        return Ok(());
    }
    match node.style() {
        Style::Flow if block::suits(layout, node, change) => block::fill_empty(layout, node, change, edits),
        Style::Flow => flow::lower(layout, node, change, edits),
        Style::Block => block::lower(layout, node, change, edits),
        _ => block::fill_left_out(layout, node, change, edits),
    }
}

/// Escapes backticks in JSON inside a code fence. JSON only has them in strings, where an escape is possible.
fn keep_in_fence(text: &mut String) {
    if text.contains("```") {
        *text = text.replace("```", "\\u0060\\u0060\\u0060");
    }
}

/// Returns the text with the replacements; refuses those that overlap or are out of range.
pub fn apply(source: &SourceText, edits: &[Replacement]) -> Result<String, PatchRefusal> {
    let mut edits = edits.to_vec();
    sort(&mut edits);
    let text = source.as_str();
    let n_added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + n_added);
    let mut at = 0;
    for edit in &edits {
        let range = edit.span.range();
        if range.start < at {
            return Err(PatchRefusal::Overlap(edit.span));
        }
        let fits = range.end <= text.len() && text.is_char_boundary(range.start) && text.is_char_boundary(range.end);
        if !fits {
            return Err(PatchRefusal::OutOfRange(edit.span));
        }
        out.push_str(&text[at..range.start]);
        out.push_str(&edit.text);
        at = range.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Returns the text with the changes, after parsing it again and comparing it with the intention.
pub fn patch(document: &Document, patches: &[Patch]) -> Result<String, PatchRefusal> {
    patch_parsed(document, patches).map(|parsed| parsed.document.source().as_str().to_owned())
}

/// Like `patch`, and returns the document of the new text.
pub(crate) fn patch_parsed(document: &Document, patches: &[Patch]) -> Result<Parsed, PatchRefusal> {
    let changes = resolve::resolve(document, patches)?;
    let edits = lower_changes(document, &changes)?;
    parse_edited(document, &changes, &edits)
}

/// Applies replacements, parses the new text and returns its document, if it is the predicted one.
pub(crate) fn prove(document: &Document, patches: &[Patch], edits: &[Replacement]) -> Result<Parsed, PatchRefusal> {
    let changes = resolve::resolve(document, patches)?;
    parse_edited(document, &changes, edits)
}

fn parse_edited(document: &Document, changes: &Changes<'_>, edits: &[Replacement]) -> Result<Parsed, PatchRefusal> {
    let text = apply(document.source(), edits)?;
    let place = edits.first().map_or(document.extent(), |edit| edit.span);
    let source = SourceText::new(text);
    let parsed = parse_again(document, &source);
    if !changes.agree_with(document, &parsed) {
        return Err(PatchRefusal::Mismatch(place));
    }
    Ok(parsed)
}

/// Parses the new text at the document's old position: the text after it has moved, not changed.
fn parse_again(document: &Document, source: &SourceText) -> Parsed {
    let extent = document.extent();
    let n_after = document.source().len().saturating_sub(extent.end as usize);
    let extent = Span::new(extent.start as usize, source.len().saturating_sub(n_after));
    match document.format() {
        DocumentFormat::Json => super::json::parse_span(source, extent),
        DocumentFormat::Yaml => super::yaml::parse_span(source, extent),
        DocumentFormat::Own(notation) => notation.parse(source),
    }
}

/// Sorts edits: at one offset insertions come first, in their original order.
fn sort(edits: &mut [Replacement]) {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
}
