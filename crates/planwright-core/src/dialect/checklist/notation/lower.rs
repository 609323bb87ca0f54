//! From changes of the node table to edits of lines.

use std::collections::BTreeMap;

use super::super::details;
use super::super::lines::{Lines, line_start};
use super::super::task_line::{TaggedLine, task_lines};
use super::super::variant::Variant;
use super::element::{LineEdits, text_of};
use crate::diagnostic::Replacement;
use crate::document::patch::{Changes, CollectionChange, PatchRefusal, PlainValue};
use crate::document::{Document, NodeRef};
use crate::text::Span;

/// The changes of one task line.
#[derive(Default)]
struct ElementChange<'c> {
    /// Members with new values.
    scalars: Vec<(String, &'c PlainValue)>,
    /// New values in lists: key, place, value.
    items: Vec<(String, usize, &'c PlainValue)>,
    /// Members that come or go.
    members: Option<&'c CollectionChange<'c>>,
    /// Lists with new or removed items, by key.
    lists: BTreeMap<String, &'c CollectionChange<'c>>,
}

/// Returns the edits of lines for some changes.
pub(super) fn lower(
    variant: Variant,
    document: &Document,
    changes: &Changes<'_>,
) -> Result<Vec<Replacement>, PatchRefusal> {
    let source = document.source();
    let lines = Lines::read(source);
    let found = task_lines(source, &lines, variant);
    let mut edits = LineEdits::of(source, variant);
    let Some(root) = document.root() else {
        return Ok(Vec::new());
    };
    let tasks = root.get("tasks");
    let elements: Vec<NodeRef<'_>> = tasks.into_iter().flat_map(NodeRef::elements).collect();
    let mut by_element: BTreeMap<usize, ElementChange<'_>> = BTreeMap::new();
    let element_of = |row: usize| {
        let ix = elements
            .partition_point(|element| element.row() <= row)
            .checked_sub(1)?;
        (row < elements[ix].row() + elements[ix].n_rows()).then_some(ix)
    };
    for row in changes.scalar_rows() {
        let Some(value) = changes.scalar(row) else {
            continue;
        };
        match element_of(row).map(|ix| (ix, path_of(elements[ix], row))) {
            Some((ix, Some((key, None)))) => by_element.entry(ix).or_default().scalars.push((key, value)),
            Some((ix, Some((key, Some(place))))) => by_element.entry(ix).or_default().items.push((key, place, value)),
            _ => set_head(&mut edits, &lines, root, row, value)?,
        }
    }
    for (&row, change) in &changes.collections {
        if Some(row) == tasks.map(NodeRef::row) {
            edits.change_tasks(&found, change)?;
            continue;
        }
        let no_form = PatchRefusal::NoForm {
            reason: "the head of a checklist is edited by hand",
            span: document.at(row).span(),
        };
        let ix = element_of(row).ok_or(no_form)?;
        let own = by_element.entry(ix).or_default();
        match path_of(elements[ix], row) {
            None => own.members = Some(change),
            Some((key, _)) => {
                own.lists.insert(key, change);
            }
        }
    }
    for (ix, change) in by_element {
        change_element(&mut edits, &found[ix], elements[ix], &change)?;
    }
    Ok(edits.edits)
}

/// Returns the key of the member with a row, and its place in a list; none for the element itself.
fn path_of(element: NodeRef<'_>, row: usize) -> Option<(String, Option<usize>)> {
    element.own_members().find_map(|member| {
        let key = member.key.text()?.into_owned();
        if member.value.row() == row {
            return Some((key, None));
        }
        let place = member.value.elements().position(|item| item.row() == row)?;
        Some((key, Some(place)))
    })
}

fn set_head(
    edits: &mut LineEdits<'_>,
    lines: &Lines,
    root: NodeRef<'_>,
    row: usize,
    value: &PlainValue,
) -> Result<(), PatchRefusal> {
    let (key, node) = root
        .own_members()
        .find(|member| member.value.row() == row)
        .map_or(("", root), |member| match member.key.is_text("title") {
            true => ("title", member.value),
            false => ("description", member.value),
        });
    let text = text_of(value, node.span())?;
    match key {
        "title" if details::is_line(text) => edits.replace(node.span(), text),
        "description" if details::is_description(text) => {
            let span = lines.introduction.unwrap_or(node.span());
            let start = line_start(edits.source.as_str(), span.start as usize);
            let new = details::description_lines(text).join(edits.newline);
            edits.replace(Span::new(start, span.end as usize), new);
        }
        _ => {
            return Err(PatchRefusal::NoForm {
                reason: "this text cannot stand in the head of a checklist",
                span: node.span(),
            });
        }
    }
    Ok(())
}

fn change_element(
    edits: &mut LineEdits<'_>,
    line: &TaggedLine,
    element: NodeRef<'_>,
    change: &ElementChange<'_>,
) -> Result<(), PatchRefusal> {
    for (key, value) in &change.scalars {
        edits.set_scalar(line, key, value)?;
    }
    for key in ["needs", "files"] {
        let items: Vec<_> = change.items.iter().filter(|(own, _, _)| own == key).collect();
        let list = change.lists.get(key);
        if items.is_empty() && list.is_none() {
            continue;
        }
        let mut texts: Vec<Option<String>> = element
            .get(key)
            .into_iter()
            .flat_map(NodeRef::elements)
            .map(|item| Some(item.value().into_owned()))
            .collect();
        for (_, place, value) in items {
            if let Some(text) = texts.get_mut(*place) {
                *text = Some(text_of(value, line.item.line)?.to_owned());
            }
        }
        let mut new = Vec::new();
        for place in 0..=texts.len() {
            for child in list.and_then(|list| list.inserted.get(&place)).into_iter().flatten() {
                new.push(text_of(child.value, line.item.line)?.to_owned());
            }
            let is_removed = list.is_some_and(|list| list.removed.contains(&place));
            new.extend(texts.get_mut(place).and_then(Option::take).filter(|_| !is_removed));
        }
        match key {
            "needs" => edits.change_needs(line, &new)?,
            _ => edits.change_files(line, &new)?,
        }
    }
    let criteria: Vec<(usize, &PlainValue)> = change
        .items
        .iter()
        .filter(|(key, _, _)| key == "criteria")
        .map(|(_, place, value)| (*place, *value))
        .collect();
    edits.change_criteria(line, change.lists.get("criteria").copied(), &criteria)?;
    let Some(members) = change.members else {
        return Ok(());
    };
    let keys: Vec<String> = element
        .own_members()
        .map(|member| member.key.text().unwrap_or_default().into_owned())
        .collect();
    for place in &members.removed {
        let key = keys.get(*place).map_or("", String::as_str);
        let is_replaced = members.inserted.values().flatten().any(|child| child.key == Some(key));
        // The dependencies are replaced in their place.
        if !(is_replaced && matches!(key, "needs" | "files")) {
            edits.remove_member(line, key)?;
        }
    }
    for child in members.inserted.values().flatten() {
        let key = child.key.unwrap_or("");
        let is_replaced = keys.iter().any(|own| own == key);
        match key {
            "needs" if is_replaced => {
                edits.change_needs(line, &super::element::texts_of(child.value, line.item.line)?)?
            }
            "files" if is_replaced => {
                edits.change_files(line, &super::element::texts_of(child.value, line.item.line)?)?
            }
            _ => edits.add_member(line, key, child.value)?,
        }
    }
    Ok(())
}
