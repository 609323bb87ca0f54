//! Independent checks for the laws: another JSON parser, the text of a prompt outside quotations, and patches that fit a
//! document.

use planwright_core::document::patch::{MemberPosition, Patch, PlainValue};
use planwright_core::document::route::Route;
use planwright_core::document::{Document, NodeKind};

/// Returns a value as serde's JSON, with all numbers as doubles.
pub fn as_serde(value: &PlainValue) -> serde_json::Value {
    match value {
        PlainValue::Null => serde_json::Value::Null,
        PlainValue::Bool(value) => (*value).into(),
        PlainValue::Number(number) => number.parse::<f64>().expect("a number").into(),
        PlainValue::String(text) => text.as_str().into(),
        PlainValue::Alias(alias) => unreachable!("{alias} in JSON"),
        PlainValue::Array(elements) => elements.iter().map(as_serde).collect(),
        PlainValue::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), as_serde(value)));
            serde_json::Value::Object(members.collect())
        }
    }
}

/// Returns a value with all numbers as doubles, so that 1 and 1.0 compare equal.
pub fn with_doubles(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Number(number) => number.as_f64().into(),
        serde_json::Value::Array(elements) => elements.into_iter().map(with_doubles).collect(),
        serde_json::Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (key, with_doubles(value)));
            serde_json::Value::Object(members.collect())
        }
        other => other,
    }
}

/// Returns the text outside of all quotations: blocks whose fence is followed by words that `quotes` accepts, and code in lines.
///
/// # Panics
///
/// If a fence is not closed.
pub fn outside(text: &str, quotes: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut fence: Option<usize> = None;
    for line in text.lines() {
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        match fence {
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 && quotes(&line[ticks..]) => fence = Some(ticks),
            None => {
                out.push_str(&without_code(line));
                out.push('\n');
            }
        }
    }
    assert_eq!(fence, None, "a fence is left open");
    out
}

/// Removes the code within a line: from a run of backticks to the next one of the same length.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let ticks = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        out.push_str(&rest[..at]);
        rest = &rest[at + ticks..];
        match end_of_code(rest, ticks) {
            Some(end) => rest = &rest[end..],
            None => out.push_str(&"`".repeat(ticks)),
        }
    }
    out + rest
}

fn end_of_code(text: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let next = from + text[from..].find('`')?;
        let run = text[next..].bytes().take_while(|byte| *byte == b'`').count();
        from = next + run;
        if run == ticks {
            return Some(from);
        }
    }
}

/// Returns a patch for some node of a document; none for a document without nodes. `roll` returns a number below the given one, which is at
/// most 256.
pub fn some_patch(document: &Document, new: &PlainValue, mut roll: impl FnMut(usize) -> usize) -> Option<Patch> {
    let row = roll(256) * document.n_nodes() / 256;
    let node = document.nodes().nth(row)?;
    let node = match node.kind() {
        NodeKind::Key => document.nodes().nth(row + 1)?,
        _ => node,
    };
    let at = Route::of(node);
    let n_children = node.own_members().count() + node.elements().count();
    let position = match n_children {
        0 => 0,
        n_children => roll(256) * n_children / 256,
    };
    let key = node.own_members().nth(position).and_then(|member| member.key.text());
    let key = key.map(|key| key.into_owned());
    let fresh = ["new", "a b", "new: key", "12", "é", "it's", "<<", ""];
    let fresh = fresh[roll(fresh.len())].to_owned();
    let value = new.clone();
    Some(match (node.kind(), key) {
        (NodeKind::Object, Some(key)) => match roll(5) {
            0 | 1 => Patch::InsertMember {
                object: at,
                key: fresh,
                value,
                place: match roll(3) {
                    0 => MemberPosition::Last,
                    1 => MemberPosition::First,
                    _ => MemberPosition::After(key),
                },
            },
            2 | 3 => Patch::RemoveMember { object: at, key },
            _ => Patch::RenameKey {
                object: at,
                key,
                to: fresh,
            },
        },
        (NodeKind::Object, None) => Patch::InsertMember {
            object: at,
            key: fresh,
            value,
            place: MemberPosition::Last,
        },
        (NodeKind::Array, _) if n_children > 0 && roll(2) == 0 => Patch::RemoveElement {
            array: at,
            index: position,
        },
        (NodeKind::Array, _) => Patch::InsertElement {
            array: at,
            index: position + roll(2).min(n_children),
            value,
            beside: None,
        },
        _ => Patch::ReplaceScalar { at, value },
    })
}
