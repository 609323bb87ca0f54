//! Writes values as new text: JSON as most tools print it, YAML in blocks. Does not know tasks or an earlier text.

use std::borrow::Cow;

use super::json::{encode_into, is_json_number};
use super::patch::PlainValue;
use super::patch::scalar::{ScalarContext, block_scalar, is_plain, quoted};
use super::yaml::{number, plain_kind};
use super::{NodeKind, Style};

/// Returns a value as JSON, indented by two, every member and element on a line of its own, with a final newline.
pub fn json(value: &PlainValue) -> String {
    let mut out = String::new();
    write_json(&mut out, value, 0);
    out.push('\n');
    out
}

/// Returns a value as JSON for a code fence: three backticks in a text would close it, and are escaped.
pub(crate) fn fenced_json(value: &PlainValue) -> String {
    let text = json(value);
    match text.contains("```") {
        true => text.replace('`', "\\u0060"),
        false => text,
    }
}

fn write_json(out: &mut String, value: &PlainValue, indent: usize) {
    match value {
        PlainValue::Null => out.push_str("null"),
        PlainValue::Bool(true) => out.push_str("true"),
        PlainValue::Bool(false) => out.push_str("false"),
        PlainValue::Number(number) => out.push_str(&json_number(number)),
        PlainValue::String(text) | PlainValue::Alias(text) => encode_into(out, text),
        PlainValue::Array(elements) if elements.is_empty() => out.push_str("[]"),
        PlainValue::Object(members) if members.is_empty() => out.push_str("{}"),
        PlainValue::Array(elements) => {
            out.push('[');
            for (ix, element) in elements.iter().enumerate() {
                begin_line(out, ix, indent + 2);
                write_json(out, element, indent + 2);
            }
            end_lines(out, indent);
            out.push(']');
        }
        PlainValue::Object(members) => {
            out.push('{');
            for (ix, (key, member)) in members.iter().enumerate() {
                begin_line(out, ix, indent + 2);
                encode_into(out, key);
                out.push_str(": ");
                write_json(out, member, indent + 2);
            }
            end_lines(out, indent);
            out.push('}');
        }
    }
}

fn begin_line(out: &mut String, ix: usize, indent: usize) {
    out.push_str(if ix > 0 { ",\n" } else { "\n" });
    pad(out, indent);
}

fn end_lines(out: &mut String, indent: usize) {
    out.push('\n');
    pad(out, indent);
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Returns a number as JSON writes it; values without a JSON number, such as infinity, in quotes.
pub(crate) fn json_number(written: &str) -> Cow<'_, str> {
    if is_json_number(written.as_bytes()) {
        return Cow::Borrowed(written);
    }
    match number(written).filter(|number| number.is_finite()) {
        Some(number) => Cow::Owned(number.to_string()),
        None => Cow::Owned(super::json::encode(written)),
    }
}

/// Returns a value as YAML in blocks, indented by two: single words plain, several lines as literal blocks, others in double quotes.
pub fn yaml(value: &PlainValue) -> String {
    let mut out = String::new();
    match value {
        PlainValue::Object(members) if !members.is_empty() => write_members(&mut out, members, 0),
        PlainValue::Array(elements) if !elements.is_empty() => write_elements(&mut out, elements, 0),
        scalar => write_scalar(&mut out, scalar, 0),
    }
    out
}

/// Writes members in lines; the caller has indented the first.
fn write_members(out: &mut String, members: &[(String, PlainValue)], indent: usize) {
    for (ix, (key, value)) in members.iter().enumerate() {
        if ix > 0 {
            pad(out, indent);
        }
        match is_word(key) && key != "<<" {
            true => out.push_str(key),
            false => out.push_str(&quoted(key, Style::Double)),
        }
        out.push(':');
        match value {
            PlainValue::Object(members) if !members.is_empty() => {
                out.push('\n');
                pad(out, indent + 2);
                write_members(out, members, indent + 2);
            }
            PlainValue::Array(elements) if !elements.is_empty() => {
                out.push('\n');
                pad(out, indent + 2);
                write_elements(out, elements, indent + 2);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent + 2);
            }
        }
    }
}

/// Writes elements in lines; the caller has indented the first.
fn write_elements(out: &mut String, elements: &[PlainValue], indent: usize) {
    for (ix, element) in elements.iter().enumerate() {
        if ix > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        match element {
            PlainValue::Object(members) if !members.is_empty() => write_members(out, members, indent + 2),
            PlainValue::Array(elements) if !elements.is_empty() => write_elements(out, elements, indent + 2),
            scalar => write_scalar(out, scalar, indent + 2),
        }
    }
}

/// Writes a scalar or an empty collection, and ends its line.
fn write_scalar(out: &mut String, value: &PlainValue, indent: usize) {
    match value {
        PlainValue::Null => out.push_str("null"),
        PlainValue::Bool(true) => out.push_str("true"),
        PlainValue::Bool(false) => out.push_str("false"),
        PlainValue::Number(number) if plain_kind(number) == NodeKind::Number => out.push_str(number),
        PlainValue::Array(_) => out.push_str("[]"),
        PlainValue::Object(_) => out.push_str("{}"),
        PlainValue::String(text) | PlainValue::Alias(text) | PlainValue::Number(text) => write_text(out, text, indent),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

fn write_text(out: &mut String, text: &str, indent: usize) {
    if is_word(text) {
        out.push_str(text);
        return;
    }
    // With three backticks, a parser could mistake the text for one with a fence.
    let has_fence = text.contains("```");
    let block = (text.contains('\n') && !has_fence)
        .then(|| block_scalar("\n", text, Style::Literal, "", &" ".repeat(indent.max(2))))
        .flatten();
    match block {
        Some(block) => out.push_str(&block),
        None if has_fence => out.push_str(&quoted(text, Style::Double).replace('`', "\\u0060")),
        None => out.push_str(&quoted(text, Style::Double)),
    }
}

/// Returns whether a text is an identifier, a path or a single word, which needs no quotes.
fn is_word(text: &str) -> bool {
    let is_plain_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'<');
    text.bytes().all(is_plain_byte) && is_plain(text, ScalarContext::Block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{json as json_document, yaml as yaml_document};
    use crate::text::SourceText;

    fn sample() -> PlainValue {
        let text = |text: &str| PlainValue::String(text.to_owned());
        PlainValue::Object(vec![
            ("id".to_owned(), text("plan-1")),
            ("task".to_owned(), text("Say: \"hello\" # twice")),
            ("notes".to_owned(), text("one\n  two\n")),
            ("odd key".to_owned(), text("null")),
            (
                "steps".to_owned(),
                PlainValue::Array(vec![
                    PlainValue::Object(vec![
                        ("index".to_owned(), PlainValue::Number("0".to_owned())),
                        (
                            "files".to_owned(),
                            PlainValue::Array(vec![text("src/a.rs"), text("- b")]),
                        ),
                        ("none".to_owned(), PlainValue::Array(Vec::new())),
                    ]),
                    PlainValue::Array(vec![PlainValue::Array(vec![PlainValue::Null]), PlainValue::Bool(true)]),
                ]),
            ),
        ])
    }

    #[test]
    fn json_is_laid_out_by_lines() {
        let value = PlainValue::Object(vec![
            (
                "a".to_owned(),
                PlainValue::Array(vec![PlainValue::Number("1".to_owned())]),
            ),
            ("b".to_owned(), PlainValue::Object(Vec::new())),
        ]);
        assert_eq!(json(&value), "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}\n");
    }

    #[test]
    fn yaml_is_laid_out_in_blocks() {
        let expected = "id: plan-1\ntask: \"Say: \\\"hello\\\" # twice\"\nnotes: |\n  one\n    two\n\"odd key\": \"null\"\nsteps:\n  - index: 0\n    files:\n      - src/a.rs\n      - \"- b\"\n    none: []\n  - - - null\n    - true\n";
        assert_eq!(yaml(&sample()), expected);
    }

    #[test]
    fn both_read_back_as_written() {
        let document = json_document::parse(&SourceText::new(json(&sample()))).document;
        assert_eq!(document.root().map(PlainValue::of), Some(sample()));
        let document = yaml_document::parse(&SourceText::new(yaml(&sample()))).document;
        assert_eq!(document.root().map(PlainValue::of), Some(sample()));
    }

    #[test]
    fn numbers_that_json_cannot_express_are_replaced() {
        assert_eq!(json_number("1e3"), "1e3");
        assert_eq!(json_number("0x1f"), "31");
        assert_eq!(json_number("+1.5"), "1.5");
        assert_eq!(json_number(".inf"), "\".inf\"");
    }
}
