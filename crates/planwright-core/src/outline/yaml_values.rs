//! Reads YAML as values with spans. A value with an unquoted colon is read to the end of its line.

use super::mapped_text::MappedText;
use super::task_fields::{dependency_members, title_of};
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode};
use crate::document::{NodeKind, NodeRef, yaml};
use crate::text::{SourceText, Span};

/// The limit of values in an answer: aliases can repeat their targets.
const MAX_VALUES: usize = 200_000;

pub(super) struct YamlValue {
    pub(super) node: OutlineNode,
    /// The first place that is no sound YAML, and how it is read.
    pub(super) repaired: Option<(Span, &'static str)>,
}

/// How many documents an answer may have.
const MAX_DOCUMENTS: usize = 1_000;

/// Reads the documents between lines of `---`, or else the blocks between blank lines, as the elements of a list: none where one of them
/// is not the fields of a task.
pub(super) fn read_documents(source: &SourceText, span: Span) -> Option<YamlValue> {
    let text = source.as_str().get(span.range())?;
    let is_rule = |line: &str| line.trim_end() == "---";
    let has_rules = text.lines().any(is_rule);
    let is_end = |line: &str| {
        if has_rules {
            is_rule(line)
        } else {
            line.trim().is_empty()
        }
    };
    let mut parts: Vec<Span> = Vec::new();
    let (mut at, mut start) = (span.start as usize, None);
    for line in text.split_inclusive('\n').chain([if has_rules { "---" } else { "" }]) {
        match is_end(line) {
            true => parts.extend(start.take().map(|start| Span::new(start, at))),
            false if !line.trim().is_empty() => drop(start.get_or_insert(at)),
            false => {}
        }
        at = (at + line.len()).min(span.end as usize);
    }
    if !(2..=MAX_DOCUMENTS).contains(&parts.len()) {
        return None;
    }
    let mut elements = Vec::with_capacity(parts.len());
    for part in parts {
        let node = read_yaml(source, part).ok()?.node;
        let is_task = node.members().len() > 1 && title_of(&node).is_some() && has_name_of_task(&node);
        elements.extend(is_task.then_some(node));
        elements.last().filter(|_| is_task)?;
    }
    let first = |node: &OutlineNode| node.members().first().map(|member| member.key.clone());
    let is_same = elements
        .iter()
        .all(|node| first(node) == elements.first().and_then(first));
    (has_rules || is_same).then_some(YamlValue {
        node: OutlineNode {
            span,
            data: OutlineData::List(elements),
        },
        repaired: None,
    })
}

/// Returns whether an object has an id or names dependencies.
fn has_name_of_task(node: &OutlineNode) -> bool {
    node.get(&["id", "taskid", "key", "step", "number"]).is_some() || dependency_members(node).next().is_some()
}

/// Reads a part of a text. Refuses invalid YAML, with the span of the error if known, and too many values.
pub(super) fn read_yaml(source: &SourceText, span: Span) -> Result<YamlValue, Option<Span>> {
    let wrong = match read_sound(source, span) {
        Ok(node) => return Ok(YamlValue { node, repaired: None }),
        Err(wrong) => wrong,
    };
    let Some((quoted, first)) = with_quotes(source.as_str(), span) else {
        return Err(wrong);
    };
    let repaired = SourceText::new(quoted.text.clone());
    let mut node = read_sound(&repaired, repaired.span()).map_err(|_| wrong)?;
    place_before(&mut node, &quoted, source.as_str(), 0);
    Ok(YamlValue {
        node,
        repaired: Some(first),
    })
}

fn read_sound(source: &SourceText, span: Span) -> Result<OutlineNode, Option<Span>> {
    let parsed = yaml::parse_span(source, span);
    if let Some(found) = parsed.diagnostics.first() {
        return Err(found.span);
    }
    let mut n_left = MAX_VALUES;
    let root = parsed.document.root().ok_or(None)?;
    node_of(root, 0, &mut n_left).ok_or(None)
}

/// How a value with an unquoted colon is read.
const COLON: &str = "a value with a colon has no quotes: it is read to the end of its line";

/// How tabs before a line are read.
const TABS: &str = "tabs are no indentation in YAML: each is read as two spaces";

/// Returns a text with quotes around values that contain a colon and a space, and without tabs before lines, and the first of these.
fn with_quotes(text: &str, span: Span) -> Option<(MappedText, (Span, &'static str))> {
    let mut out = MappedText::default();
    let mut first = None;
    let mut at = span.start as usize;
    for line in text.get(span.range())?.split_inclusive('\n') {
        let n_tabs = line.bytes().take_while(|byte| *byte == b'\t').count();
        if n_tabs > 0 {
            first.get_or_insert((Span::new(at, at + n_tabs), TABS));
            out.replace(&"  ".repeat(n_tabs.min(MAX_DEPTH)), at);
            at += n_tabs;
        }
        let line = line.get(n_tabs..)?;
        match value_with_colon(line) {
            Some((start, end)) => {
                let value = line.get(start..end)?;
                first.get_or_insert((Span::new(at + start, at + end), COLON));
                out.copy(line.get(..start)?, at);
                out.replace("'", at + start);
                // A quote inside it is doubled.
                let mut from = start;
                for (quote, _) in value.match_indices('\'') {
                    out.copy(line.get(from..start + quote + 1)?, at + from);
                    out.replace("'", at + start + quote + 1);
                    from = start + quote + 1;
                }
                out.copy(line.get(from..end)?, at + from);
                out.replace("'", at + end);
                out.copy(line.get(end..)?, at + end);
            }
            None => out.copy(line, at),
        }
        at += line.len();
    }
    Some((out, first?))
}

/// Returns the part of a line that is a plain value with a colon and a space in it.
fn value_with_colon(line: &str) -> Option<(usize, usize)> {
    let body = line.trim_end();
    let item = body.trim_start_matches([' ', '-']);
    let n_before = body.len() - item.len();
    let colon = item.find(": ")?;
    let key = item.get(..colon)?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let value = item.get(colon + 2..)?;
    let trimmed = value.trim_start();
    let is_plain = !trimmed.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '#', '!']);
    let start = n_before + colon + 2 + (value.len() - trimmed.len());
    (is_key && is_plain && (trimmed.contains(": ") || trimmed.ends_with(':'))).then_some((start, body.len()))
}

/// Converts the spans of a value to those of the original text.
fn place_before(node: &mut OutlineNode, text: &MappedText, original: &str, depth: usize) {
    node.span = text.span_before(node.span, original);
    if depth > MAX_DEPTH {
        return;
    }
    match &mut node.data {
        OutlineData::List(elements) => {
            for element in elements {
                place_before(element, text, original, depth + 1);
            }
        }
        OutlineData::Object(members) => {
            for member in members {
                member.key_span = text.span_before(member.key_span, original);
                place_before(&mut member.value, text, original, depth + 1);
            }
        }
        _ => {}
    }
}

fn node_of(node: NodeRef<'_>, depth: usize, n_left: &mut usize) -> Option<OutlineNode> {
    *n_left = n_left.checked_sub(1)?;
    if depth > MAX_DEPTH {
        return None;
    }
    let span = node.span();
    let node = node.resolved();
    let data = match node.kind() {
        NodeKind::Object => {
            let members = node.members().map(|member| {
                Some(OutlineMember {
                    key: member.key.value().into_owned(),
                    key_span: member.key.span(),
                    value: node_of(member.value, depth + 1, n_left)?,
                })
            });
            OutlineData::Object(members.collect::<Option<_>>()?)
        }
        NodeKind::Array => {
            let elements = node.elements().map(|element| node_of(element, depth + 1, n_left));
            OutlineData::List(elements.collect::<Option<_>>()?)
        }
        NodeKind::True => OutlineData::Bool(true),
        NodeKind::False => OutlineData::Bool(false),
        NodeKind::Number => OutlineData::Number(node.value().into_owned()),
        NodeKind::String => OutlineData::Text(node.value().into_owned()),
        _ => OutlineData::Null,
    };
    Some(OutlineNode { span, data })
}
