//! Reads tasks in tags, such as `<task id="1">…</task>`: attributes and inner tags are fields. Tags within tags of the same name are
//! not read.

use super::other_markup::without_entities;
use super::value::{OutlineData, OutlineMember, OutlineNode};
use crate::text::Span;

/// The tags of tasks.
const NAMES: [&str; 4] = ["task", "step", "todo", "item"];

/// Returns the tasks of a text as a value, and where the last one is cut off.
pub(super) fn read_tags(text: &str) -> Option<(OutlineNode, Option<Span>)> {
    let name = NAMES
        .iter()
        .find(|name| opening_tags(text, name).take(2).count() == 2)?;
    let close = format!("</{name}>");
    let (mut elements, mut cut, mut done) = (Vec::new(), None, 0);
    for (start, body, end) in opening_tags(text, name) {
        if start < done {
            return None;
        }
        let attributes = text.get(body..end)?;
        let mut members = Vec::new();
        read_attributes(attributes, body, &mut members);
        let inner = end + 1;
        done = inner;
        if !attributes.ends_with('/') {
            let Some(n_bytes) = text.get(inner..)?.find(&close) else {
                cut = Some(Span::at(text.trim_end().len()));
                break;
            };
            read_inner(text, inner..inner + n_bytes, &mut members);
            done = inner + n_bytes + close.len();
        }
        elements.push(OutlineNode {
            span: Span::new(start, done),
            data: OutlineData::Object(members),
        });
    }
    let span = elements.first()?.span.to(elements.last()?.span);
    let mut members = vec![member("tasks", span, OutlineData::List(elements))];
    if let Some((_, body, end)) = opening_tags(text, "goal").next()
        && body == end
        && let Some(n_bytes) = text.get(end + 1..).and_then(|rest| rest.find("</goal>"))
    {
        let goal = without_entities(text.get(end + 1..end + 1 + n_bytes)?.trim());
        members.push(member(
            "goal",
            Span::new(end + 1, end + 1 + n_bytes),
            OutlineData::Text(goal),
        ));
    }
    let data = OutlineData::Object(members);
    Some((OutlineNode { span, data }, cut))
}

fn member(key: &str, span: Span, data: OutlineData) -> OutlineMember {
    OutlineMember {
        key: key.to_owned(),
        key_span: span,
        value: OutlineNode { span, data },
    }
}

/// Returns the opening tags of a name: where each begins, and where its attributes begin and end.
fn opening_tags<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = (usize, usize, usize)> + 't {
    text.match_indices('<').filter_map(move |(start, _)| {
        let body = start + 1 + name.len();
        let rest = text.get(body..).filter(|_| text.get(start + 1..body) == Some(name))?;
        let is_tag = rest.starts_with(['>', ' ', '\n', '\t', '/']);
        let head = rest.get(..rest.floor_char_boundary(MAX_TAG))?;
        Some((start, body, body + head.find('>')?)).filter(|_| is_tag)
    })
}

/// How long a tag is, in bytes.
const MAX_TAG: usize = 4_000;

/// Reads `id="1" depends="2"`.
fn read_attributes(text: &str, offset: usize, members: &mut Vec<OutlineMember>) {
    let mut at = 0;
    while let Some(equals) = text.get(at..).and_then(|rest| rest.find('=')).map(|equals| at + equals) {
        let key = text.get(at..equals).unwrap_or("").trim();
        let rest = text.get(equals + 1..).unwrap_or("");
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(n_bytes) = quote.and_then(|quote| rest.get(1..)?.find(quote)) else {
            return;
        };
        let span = Span::new(offset + equals + 2, offset + equals + 2 + n_bytes);
        let value = without_entities(rest.get(1..=n_bytes).unwrap_or(""));
        members.push(member(key, span, OutlineData::Text(value)));
        at = equals + n_bytes + 3;
    }
}

/// How many marks within a task may turn out to be no tags; what follows the last one is words.
const MAX_FAILURES: usize = 64;

/// Reads the tags within a task as its fields, and the words between them as its title.
fn read_inner(text: &str, part: std::ops::Range<usize>, members: &mut Vec<OutlineMember>) {
    let mut words = String::new();
    let (mut at, mut n_failures) = (part.start, 0);
    while at < part.end && n_failures < MAX_FAILURES {
        let rest = text.get(at..part.end).unwrap_or("");
        let open = rest.find('<').unwrap_or(rest.len());
        words.push_str(rest.get(..open).unwrap_or(""));
        at += open;
        let Some(body) = rest.get(open + 1..) else {
            break;
        };
        let key = body
            .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
            .next()
            .unwrap_or("");
        let inner = body.get(key.len()..).and_then(|rest| rest.strip_prefix('>'));
        let close = format!("</{key}>");
        match inner.and_then(|inner| Some((inner, inner.find(&close)?))) {
            Some((inner, n_bytes)) if !key.is_empty() => {
                let start = at + 1 + key.len() + 1;
                let value = without_entities(inner.get(..n_bytes).unwrap_or("").trim());
                let span = Span::new(start, start + n_bytes);
                members.push(member(key, span, OutlineData::Text(value)));
                at = start + n_bytes + close.len();
            }
            _ => {
                n_failures += 1;
                words.push('<');
                at += 1;
            }
        }
    }
    words.push_str(text.get(at.min(part.end)..part.end).unwrap_or(""));
    let words = without_entities(words.trim());
    if !words.is_empty() {
        let has_title = members.iter().any(|member| member.key == "title");
        let key = if has_title { "description" } else { "title" };
        members.push(member(key, Span::new(part.start, part.end), OutlineData::Text(words)));
    }
}
