//! New scalars, and new values for existing scalars in their style.

use super::collection::FileLayout;
use super::{PatchRefusal, PlainValue, json};
use crate::diagnostic::Replacement;
use crate::document::yaml::plain_kind;
use crate::document::{DocumentFormat, NodeKind, NodeRef, Style};
use crate::text::Span;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::document) enum ScalarContext {
    /// Between brackets, where commas and brackets have a meaning.
    Flow,
    /// Between lines.
    #[default]
    Block,
}

impl ScalarContext {
    /// Returns the context of a collection's children.
    pub(super) fn within(node: NodeRef<'_>) -> Self {
        match node.style() {
            Style::Flow => ScalarContext::Flow,
            _ => ScalarContext::Block,
        }
    }
}

/// Replaces a scalar by a value.
pub(super) fn lower(
    layout: &FileLayout<'_>,
    node: NodeRef<'_>,
    context: ScalarContext,
    value: &PlainValue,
    edits: &mut Vec<Replacement>,
) -> Result<(), PatchRefusal> {
    if value.is_value_of(node) {
        return Ok(());
    }
    let edit = match layout.document.format() {
        DocumentFormat::Json => replace_json(layout, node, value)?,
        DocumentFormat::Yaml | DocumentFormat::Own(_) => replace_yaml(layout, node, context, value)?,
    };
    edits.push(edit);
    Ok(())
}

/// Sets the text of a key.
pub(super) fn rename(layout: &FileLayout<'_>, key_node: NodeRef<'_>, context: ScalarContext, to: &str) -> Replacement {
    let text = match layout.document.format() {
        DocumentFormat::Json => crate::document::json::encode(to),
        DocumentFormat::Yaml | DocumentFormat::Own(_) => key(layout, to, key_node.style(), context),
    };
    Replacement::new(key_node.span(), text)
}

fn replace_json(layout: &FileLayout<'_>, node: NodeRef<'_>, value: &PlainValue) -> Result<Replacement, PatchRefusal> {
    let start = node.span().start as usize;
    let colon = match layout.key_of(node) {
        Some(key) if !layout.between(key.span().end as usize, start).contains(' ') => ":",
        _ => ": ",
    };
    let frame = json::WriteTarget {
        layout,
        indent: layout.line_indent(start).filter(|indent| !indent.is_empty()),
        colon,
        place: node.span(),
    };
    let mut text = String::new();
    json::write(&mut text, frame, value, None)?;
    Ok(Replacement::new(node.span(), text))
}

fn replace_yaml(
    layout: &FileLayout<'_>,
    node: NodeRef<'_>,
    context: ScalarContext,
    value: &PlainValue,
) -> Result<Replacement, PatchRefusal> {
    let span = node.span();
    if matches!(node.style(), Style::Literal | Style::Folded) {
        return replace_block_scalar(layout, node, value);
    }
    let text = match value {
        PlainValue::String(text) => string(layout, text, node.style(), context),
        other => {
            let mut out = String::new();
            write_flow(&mut out, layout, other, span)?;
            out
        }
    };
    if !span.is_empty() {
        return Ok(Replacement::new(span, text));
    }
    // Before a missing value comes a space, and in `{a}` the colon.
    let lead = match layout.text.as_bytes()[..span.start as usize].last() {
        Some(b':' | b'-') => " ",
        Some(_) if layout.key_of(node).is_some() => ": ",
        _ => "",
    };
    Ok(Replacement::new(span, format!("{lead}{text}")))
}

/// Returns a key in a style that can hold it.
pub(super) fn key(layout: &FileLayout<'_>, text: &str, style: Style, context: ScalarContext) -> String {
    if text == "<<" {
        return quoted(text, layout.quote);
    }
    string(layout, text, style, context)
}

/// Returns text in the requested style if possible, otherwise in quotes.
pub(super) fn string(layout: &FileLayout<'_>, text: &str, style: Style, context: ScalarContext) -> String {
    match style {
        Style::Single | Style::Double => quoted(text, style),
        _ if is_plain(text, context) => text.to_owned(),
        _ => quoted(text, layout.quote),
    }
}

/// Writes a value on one line, collections in brackets.
pub(super) fn write_flow(
    out: &mut String,
    layout: &FileLayout<'_>,
    value: &PlainValue,
    place: Span,
) -> Result<(), PatchRefusal> {
    match value {
        PlainValue::Array(_) | PlainValue::Object(_) => {
            let is_list = matches!(value, PlainValue::Array(_));
            out.push(if is_list { '[' } else { '{' });
            for (ix, (name, child)) in value.children().into_iter().enumerate() {
                if ix > 0 {
                    out.push_str(", ");
                }
                if let Some(name) = name {
                    out.push_str(&key(layout, name, Style::Plain, ScalarContext::Flow));
                    out.push_str(": ");
                }
                write_flow(out, layout, child, place)?;
            }
            out.push(if is_list { ']' } else { '}' });
        }
        PlainValue::String(text) => out.push_str(&string(layout, text, Style::Plain, ScalarContext::Flow)),
        PlainValue::Number(number) if plain_kind(number) == NodeKind::Number => out.push_str(number),
        PlainValue::Number(_) => {
            return Err(PatchRefusal::Unwritable {
                reason: "YAML would not read this as a number",
                span: place,
            });
        }
        PlainValue::Alias(_) => {
            return Err(PatchRefusal::Unwritable {
                reason: "aliases are not written",
                span: place,
            });
        }
        PlainValue::Null => out.push_str("null"),
        PlainValue::Bool(true) => out.push_str("true"),
        PlainValue::Bool(false) => out.push_str("false"),
    }
    Ok(())
}

/// Returns whether text without quotes is parsed as the same text, by YAML 1.1 too.
pub(in crate::document) fn is_plain(text: &str, context: ScalarContext) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let is_flow_indicator = |byte: &u8| matches!(byte, b',' | b'[' | b']' | b'{' | b'}');
    let second_is_safe = bytes
        .get(1)
        .is_some_and(|byte| *byte != b' ' && !is_flow_indicator(byte));
    let begins_well = match first {
        b'-' | b'?' | b':' => second_is_safe,
        b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
        | b'`' | b' ' => false,
        _ => true,
    };
    let ends_well = !matches!(last, b' ' | b':');
    // Older parsers read these as a number, a default and a merge.
    let is_old_word = matches!(text, "=" | "<<")
        || (text.contains('_')
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_digit() || b"_+-.:".contains(byte)));
    let is_marker = text.starts_with("---") || text.starts_with("...");
    let has_structure = text.contains(": ") || text.contains(" #");
    // Between brackets `a:b` is text but `"a":b` is a pair; quoting every colon is safe.
    let has_flow_structure =
        context == ScalarContext::Flow && bytes.iter().any(|byte| is_flow_indicator(byte) || *byte == b':');
    begins_well
        && ends_well
        && !is_marker
        && !is_old_word
        && !has_structure
        && !has_flow_structure
        && text.chars().all(is_printable)
        && plain_kind(text) == NodeKind::String
        && !is_old_boolean(text)
        && !is_old_timestamp(text)
}

/// Returns whether YAML 1.1 reads a word as a boolean; such parsers still exist.
fn is_old_boolean(text: &str) -> bool {
    text.len() <= 3
        && ["y", "n", "yes", "no", "on", "off"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

/// Returns whether YAML 1.1 reads a text as a time; some parsers still create dates.
fn is_old_timestamp(text: &str) -> bool {
    let shape = text.bytes().take(5).enumerate();
    text.len() >= 8
        && shape.fold(true, |fits, (at, byte)| {
            fits && if at == 4 { byte == b'-' } else { byte.is_ascii_digit() }
        })
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns text in quotes, single ones only if possible.
pub(in crate::document) fn quoted(text: &str, style: Style) -> String {
    if style == Style::Single && text.chars().all(is_printable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&format!("\\u{:04x}", c as u32)),
        }
    }
    out.push('"');
    out
}

fn replace_block_scalar(
    layout: &FileLayout<'_>,
    node: NodeRef<'_>,
    value: &PlainValue,
) -> Result<Replacement, PatchRefusal> {
    let span = node.span();
    let slice = node.slice();
    let line_len = slice.find(['\n', '\r']).unwrap_or(slice.len());
    let header_len = slice[..line_len].find([' ', '\t']).unwrap_or(line_len);
    // A comment in the header stays on its line for any value.
    let (header, comment) = slice[..line_len].split_at(header_len);
    let ends_line = slice.ends_with('\n');
    let block = match value {
        // Blank lines that follow would become part of a value that now keeps its trailing breaks.
        PlainValue::String(text) if ends_line || !text.ends_with("\n\n") => {
            let indent = content_indent(layout, node, header);
            block_scalar(layout.newline, text, node.style(), comment, &indent)
        }
        _ => None,
    };
    let text = match (block, value) {
        (Some(block), _) => block,
        (None, PlainValue::String(text)) => quoted(text, Style::Double) + comment,
        (None, other) => {
            let mut out = String::new();
            write_flow(&mut out, layout, other, span)?;
            out + comment
        }
    };
    let mut text = fit_tail(layout, text, ends_line);
    let is_text_with_break = matches!(value, PlainValue::String(text) if text.ends_with('\n'));
    if span.end as usize == layout.text.len() && !ends_line && is_text_with_break {
        // At the very end of a file, the last line break is part of the value.
        text.push_str(layout.newline);
    }
    Ok(Replacement::new(span, text))
}

/// Ends a text like the scalar that it replaces: one with trailing breaks extends to the next line.
fn fit_tail(layout: &FileLayout<'_>, mut text: String, ends_line: bool) -> String {
    if ends_line && !text.ends_with('\n') {
        text.push_str(layout.newline);
    } else if !ends_line && text.ends_with('\n') {
        text.truncate(text.len() - layout.newline.len());
    }
    text
}

/// Returns the indentation of a block scalar's lines: the old one, or one level below its parent.
fn content_indent(layout: &FileLayout<'_>, node: NodeRef<'_>, header: &str) -> String {
    let has_indicator = header.contains(|c: char| c.is_ascii_digit());
    let first_line = node
        .slice()
        .lines()
        .skip(1)
        .find(|line| !line.trim_matches(' ').is_empty());
    match (first_line, layout.key_of(node)) {
        (Some(line), _) if !has_indicator => " ".repeat(line.len() - line.trim_start_matches(' ').len()),
        (_, Some(key)) => " ".repeat(layout.column(key.span().start as usize) + layout.unit.len()),
        (_, None) => " ".repeat(layout.column(node.span().start as usize).max(1)),
    }
}

/// Returns text as a block scalar without its last line break; none if impossible. The result ends with a line break only if trailing
/// breaks are kept.
pub(in crate::document) fn block_scalar(
    newline: &str,
    text: &str,
    style: Style,
    comment: &str,
    indent: &str,
) -> Option<String> {
    let content = text.trim_end_matches('\n');
    let n_breaks = text.len() - content.len();
    let first_line = content.lines().find(|line| !line.is_empty())?;
    let is_writable = |c: char| c == '\n' || c == '\t' || is_printable(c);
    if first_line.starts_with([' ', '\t']) || !text.chars().all(is_writable) {
        return None;
    }
    let is_folded = style == Style::Folded && !content.lines().any(|line| line.starts_with([' ', '\t']));
    let mut out = String::new();
    out.push(if is_folded { '>' } else { '|' });
    out.push_str(match n_breaks {
        0 => "-",
        1 => "",
        _ => "+",
    });
    out.push_str(comment);
    let mut is_inside = false;
    for line in content.split('\n') {
        // A fold joins lines with a space, so a line break between two lines of text is written twice.
        if is_folded && is_inside && !line.is_empty() {
            out.push_str(newline);
        }
        out.push_str(newline);
        if !line.is_empty() {
            is_inside = true;
            out.push_str(indent);
            out.push_str(line);
        }
    }
    if n_breaks > 1 {
        for _ in 0..n_breaks {
            out.push_str(newline);
        }
    }
    Some(out)
}
