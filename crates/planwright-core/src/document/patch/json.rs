//! Values as JSON text, formatted like an example from the same file.

use super::collection::FileLayout;
use super::{PatchRefusal, PlainValue};
use crate::document::json::{encode, is_json_number};
use crate::document::{NodeKind, NodeRef};
use crate::text::Span;

/// Returns a scalar, or a collection without children, as JSON.
pub(super) fn scalar(value: &PlainValue, place: Span) -> Result<String, PatchRefusal> {
    Ok(match value {
        PlainValue::Null => "null".to_owned(),
        PlainValue::Bool(true) => "true".to_owned(),
        PlainValue::Bool(false) => "false".to_owned(),
        PlainValue::Number(number) if is_json_number(number.as_bytes()) => number.clone(),
        PlainValue::Number(_) => return Err(unwritable("JSON cannot write this number", place)),
        PlainValue::String(text) => encode(text),
        PlainValue::Alias(_) => return Err(unwritable("JSON has no aliases", place)),
        PlainValue::Array(_) => "[]".to_owned(),
        PlainValue::Object(_) => "{}".to_owned(),
    })
}

fn unwritable(reason: &'static str, span: Span) -> PatchRefusal {
    PatchRefusal::Unwritable { reason, span }
}

/// Where and how to write a value.
#[derive(Clone, Copy)]
pub(super) struct WriteTarget<'a, 'd> {
    pub(super) layout: &'a FileLayout<'d>,
    /// The indentation of the value's first line; none if everything stays on one line.
    pub(super) indent: Option<&'a str>,
    /// The text between a key and its value.
    pub(super) colon: &'a str,
    /// For refusals.
    pub(super) place: Span,
}

/// Writes a value like an example of the same kind, if there is one.
pub(super) fn write(
    out: &mut String,
    frame: WriteTarget<'_, '_>,
    value: &PlainValue,
    example: Option<NodeRef<'_>>,
) -> Result<(), PatchRefusal> {
    let members = value.children();
    if members.is_empty() {
        out.push_str(&scalar(value, frame.place)?);
        return Ok(());
    }
    let is_object = matches!(value, PlainValue::Object(_));
    let kind = if is_object { NodeKind::Object } else { NodeKind::Array };
    let example = example.filter(|node| node.kind() == kind && node.n_rows() > 1);
    let on_lines = example.is_none_or(|node| frame.layout.is_multi_line(node));
    let outer = frame.indent.filter(|_| on_lines);
    let inner = outer.map(|indent| format!("{indent}{}", frame.layout.unit));
    let inner_frame = WriteTarget {
        indent: inner.as_deref(),
        ..frame
    };
    let break_line = |out: &mut String, indent: &str| {
        out.push_str(frame.layout.newline);
        out.push_str(indent);
    };
    // On one line, brackets have the same padding as in the example.
    let pad = example.filter(|_| inner.is_none()).map_or("", |node| {
        let inside = node.slice().get(1..).unwrap_or("");
        &inside[..inside.len() - inside.trim_start_matches(' ').len()]
    });
    out.push(if is_object { '{' } else { '[' });
    out.push_str(pad);
    for (ix, (key, value)) in members.iter().enumerate() {
        if ix > 0 {
            out.push(',');
        }
        match &inner {
            Some(indent) => break_line(out, indent),
            None if ix > 0 && frame.colon.len() > 1 => out.push(' '),
            None => {}
        }
        if let Some(key) = key {
            out.push_str(&encode(key));
            out.push_str(frame.colon);
        }
        let example = example.and_then(|node| match key {
            Some(key) => node.get(key),
            None => node.elements().next(),
        });
        write(out, inner_frame, value, example)?;
    }
    if let Some(indent) = outer {
        break_line(out, indent);
    }
    out.push_str(pad);
    out.push(if is_object { '}' } else { ']' });
    Ok(())
}
