//! Reads the fields of one task or group of JSON and YAML: id, title, description, and named tasks.

use super::names::is_none_word;
use super::raw::Reference;
use super::task_keys as keys;
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode};
use crate::text::Span;

pub(super) fn members_with<'n>(node: &'n OutlineNode, names: &'n [&str]) -> impl Iterator<Item = &'n OutlineMember> {
    node.members().iter().filter(|member| member.has_key(names))
}

/// Returns the members that name dependencies.
pub(super) fn dependency_members(node: &OutlineNode) -> impl Iterator<Item = &OutlineMember> {
    node.members()
        .iter()
        .filter(|member| keys::is_dependency(&member.plain_key()))
}

fn is_id_like(text: &str) -> bool {
    !text.contains(char::is_whitespace)
        && text.len() <= 40
        && (text.contains(|c: char| c.is_ascii_digit()) || text.len() <= 2)
}

pub(super) fn title_of(node: &OutlineNode) -> Option<&OutlineMember> {
    let titles = keys::TITLES.iter().filter_map(|key| node.get(&[key]));
    let mut titles = titles.filter(|member| member.value.text().is_some());
    let first = titles.next()?;
    // `task: T1, description: …`: the first is an id.
    let is_id = first.value.text().is_some_and(is_id_like);
    titles.find(|_| is_id).or(Some(first))
}

pub(super) fn id_of(node: &OutlineNode, title: Option<&OutlineMember>) -> Option<String> {
    let members = keys::IDS.iter().filter_map(|key| node.get(&[key]));
    let id = members
        .filter(|member| !member.is(title))
        .find_map(|member| member.value.scalar())?;
    let is_id = id.len() <= 100 && !id.contains('\n');
    is_id.then(|| id.trim_end_matches(['.', ')', ':']).to_owned())
}

pub(super) fn description_of(node: &OutlineNode, title: Option<&OutlineMember>, words: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    if words.lines().count() > 1 || words.len() > 500 {
        parts.push(words.trim());
    }
    let others = keys::DESCRIPTIONS
        .iter()
        .chain(&["task", "content", "objective", "goal"]);
    for member in others.filter_map(|key| node.get(&[key])) {
        let text = member
            .value
            .text()
            .filter(|text| *text != words && !parts.contains(text));
        parts.extend(text.filter(|_| !member.is(title)));
    }
    let steps = members_with(node, keys::OWN_STEPS).flat_map(|member| member.value.elements());
    let steps: Vec<String> = steps.filter_map(|step| Some(format!("- {}", step.text()?))).collect();
    let steps = steps.join("\n");
    if !steps.is_empty() {
        parts.push(&steps);
    }
    parts.join("\n\n")
}

pub(super) fn place_of(node: &OutlineNode, title: Option<&OutlineMember>) -> Span {
    title.map_or(node.span, |member| member.value.span)
}

pub(super) fn written_dependencies(node: &OutlineNode) -> Option<Vec<Reference>> {
    let is_named = |member: &&OutlineMember| member.value.data != OutlineData::Bool(true);
    let mut members = dependency_members(node).filter(is_named).peekable();
    members.peek()?;
    Some(members.flat_map(|member| references_of(&member.value)).collect())
}

/// Returns the tasks named in a value.
pub(super) fn references_of(node: &OutlineNode) -> Vec<Reference> {
    match &node.data {
        OutlineData::List(elements) => {
            // `[["1", "2"]]` names the same tasks as `["1", "2"]`.
            let names = elements.iter().flat_map(|element| match element.elements() {
                [] => std::slice::from_ref(element),
                inner => inner,
            });
            names.filter_map(reference_of).collect()
        }
        OutlineData::Object(members) => match reference_of(node) {
            Some(reference) => vec![reference],
            None => {
                let named = |member: &OutlineMember| Reference::certain(member.key.trim(), member.key_span);
                members.iter().map(named).collect()
            }
        },
        _ => reference_of(node).into_iter().collect(),
    }
}

pub(super) fn reference_of(node: &OutlineNode) -> Option<Reference> {
    match &node.data {
        OutlineData::Object(_) => {
            // Some trackers have links that block nothing.
            let kind = node
                .get(&["type", "kind", "relation"])
                .and_then(|member| member.value.text());
            let is_loose = matches!(kind, Some("related" | "parent-child" | "discovered-from" | "relates"));
            #[rustfmt::skip]
            let names = [
                "dependsonid", "dependson", "after", "id", "taskid", "task", "ref", "step", "target", "on", "issue",
                "number", "title", "name", "key",
            ];
            let named = node.get(&names).filter(|_| !is_loose)?;
            Some(Reference::certain(named.value.scalar()?, named.value.span))
        }
        _ => {
            let text = node.scalar().filter(|text| !is_none_word(text))?;
            Some(Reference::certain(text, node.span))
        }
    }
}

/// Returns the elements of a list in words, or a value alone as one.
pub(super) fn texts_of(node: &OutlineNode) -> Vec<String> {
    let nodes = match &node.data {
        OutlineData::List(elements) => elements.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let words = nodes.iter().map(words_of_value);
    words.filter(|words| !words.is_empty()).collect()
}

/// Returns a value in words: the elements of a list separated by commas, `path: a.py, action: create` for an object. Empty for `null`,
/// `false` and empty values.
pub(super) fn words_of_value(node: &OutlineNode) -> String {
    let mut out = String::new();
    write_words(node, &mut out, 0);
    out
}

fn write_words(node: &OutlineNode, out: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match &node.data {
        OutlineData::Null | OutlineData::Bool(false) => {}
        OutlineData::Bool(true) => out.push_str("yes"),
        OutlineData::Number(number) => out.push_str(number),
        OutlineData::Text(text) => out.push_str(text.trim()),
        OutlineData::List(elements) => {
            for element in elements {
                write_part("", element, out, depth);
            }
        }
        OutlineData::Object(members) => {
            for member in members {
                write_part(&member.key, &member.value, out, depth);
            }
        }
    }
}

/// Adds an element or a member to the earlier ones, if it is not empty.
fn write_part(key: &str, value: &OutlineNode, out: &mut String, depth: usize) {
    let n_before = out.len();
    if n_before > 0 && !out.ends_with(": ") {
        out.push_str(", ");
    }
    if !key.is_empty() {
        out.push_str(key);
        out.push_str(": ");
    }
    let n_label = out.len();
    write_words(value, out, depth + 1);
    if out.len() == n_label {
        out.truncate(n_before);
    }
}

/// Returns a detail with its label: `Estimate: 2h`.
pub(super) fn labelled(label: &str, words: &str) -> String {
    let mut letters = label.chars();
    let first = letters.next().map(char::to_uppercase);
    let label: String = first.into_iter().flatten().chain(letters).collect();
    format!("{label}: {words}")
}

/// Returns a key as words: `frontend_tasks` as `frontend tasks`.
pub(super) fn words_of_key(key: &str) -> String {
    key.replace(['_', '-'], " ").trim().to_owned()
}
