//! Reads plans drawn as Graphviz graphs: nodes are tasks, and arrows point to dependents.

use std::collections::HashMap;

use super::names::one_line;
use super::raw::{RawPlan, RawTask, Reference};
use crate::text::Span;

/// Returns whether a text starts like a directed graph.
pub(super) fn is_digraph(text: &str) -> bool {
    let start = text.trim_start();
    let start = start.strip_prefix("strict").map_or(start, str::trim_start);
    let rest = start.strip_prefix("digraph").unwrap_or("");
    rest.starts_with([' ', '{', '\n', '\t', '"']) && rest.contains('{')
}

/// Reads a graph at an offset of an answer.
pub(super) fn plan_of(text: &str, offset: usize) -> Option<RawPlan> {
    let open = text.find('{')?;
    let mut reader = DotReader::default();
    let mut before: Vec<Reference> = Vec::new();
    let mut nodes: Vec<Reference> = Vec::new();
    // The nodes of a list in braces, `a -> {b c}`.
    let mut is_group = false;
    let mut is_skipped = false;
    for token in tokens(text, open + 1) {
        let place = Span::new(offset + token.start, offset + token.end);
        match token.kind {
            TokenKind::Name(name) if is_attribute(&name) => is_skipped = true,
            TokenKind::Name(_) if is_skipped => {}
            TokenKind::Name(name) => {
                if !is_group {
                    nodes.clear();
                }
                reader.node(&name, place);
                let node = Reference::certain(&name, place);
                reader.plan.link(std::slice::from_ref(&node), &before);
                nodes.push(node);
            }
            TokenKind::Arrow => {
                before = std::mem::take(&mut nodes);
                is_group = false;
            }
            TokenKind::Attributes(label) => {
                if let Some((label, node)) = label.zip(nodes.last()).filter(|_| before.is_empty() && !is_skipped) {
                    reader.label(&node.text, &label);
                }
            }
            TokenKind::Open => is_group = !before.is_empty(),
            TokenKind::Equals => {
                // `rankdir=LR`: the apparent node is a setting.
                if before.is_empty() {
                    reader.drop_last(&nodes);
                }
                is_skipped = true;
            }
            TokenKind::End => {
                before.clear();
                nodes.clear();
                (is_group, is_skipped) = (false, false);
            }
        }
    }
    (!reader.plan.tasks.is_empty()).then_some(reader.plan)
}

fn is_attribute(name: &str) -> bool {
    ["node", "edge", "graph", "subgraph"].contains(&name)
}

#[derive(Default)]
struct DotReader {
    plan: RawPlan,
    nodes: HashMap<String, usize>,
}

impl DotReader {
    fn node(&mut self, name: &str, place: Span) {
        self.nodes.entry(name.to_owned()).or_insert_with(|| {
            self.plan
                .tasks
                .push(RawTask::named(name, &name.replace('_', " "), place));
            self.plan.tasks.len() - 1
        });
    }

    fn label(&mut self, name: &str, label: &str) {
        let label = label.replace("\\n", " ").replace("\\l", " ");
        if let Some(raw) = self.nodes.get(name).and_then(|&ix| self.plan.tasks.get_mut(ix)) {
            raw.task.title = one_line(&label, 500);
        }
    }

    /// Removes the last node, which is none.
    fn drop_last(&mut self, nodes: &[Reference]) {
        let Some(name) = nodes.last().map(|node| node.text.as_str()) else {
            return;
        };
        let is_last = self.nodes.get(name).is_some_and(|&ix| ix + 1 == self.plan.tasks.len());
        let mut edges = self.plan.edges.iter();
        if is_last && edges.all(|(owner, on)| owner.text != name && on.text != name) {
            self.nodes.remove(name);
            self.plan.tasks.pop();
        }
    }
}

enum TokenKind {
    Name(String),
    Arrow,
    /// `[label="…"]`, with the label.
    Attributes(Option<String>),
    Open,
    Equals,
    /// The end of a statement.
    End,
}

struct DotToken {
    kind: TokenKind,
    start: usize,
    end: usize,
}

fn tokens(text: &str, start: usize) -> Vec<DotToken> {
    let mut out = Vec::new();
    let mut at = start;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or("");
        let (kind, n_bytes) = match c {
            '/' if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            '-' if rest.starts_with("->") => (Some(TokenKind::Arrow), 2),
            '{' => (Some(TokenKind::Open), 1),
            '=' => (Some(TokenKind::Equals), 1),
            // A list in braces may have several lines; other statements end with their line.
            ';' | '}' | '\n' => (Some(TokenKind::End), 1),
            '"' => {
                let (name, n_bytes) = quoted(rest);
                (Some(TokenKind::Name(name)), n_bytes)
            }
            '[' => {
                let end = rest.find(']').map_or(rest.len(), |end| end + 1);
                let body = rest.get(..end).unwrap_or("");
                (Some(TokenKind::Attributes(label_in(body))), end)
            }
            c if c.is_alphanumeric() || c == '_' => {
                let n_bytes = rest
                    .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
                    .unwrap_or(rest.len());
                let name = rest.get(..n_bytes).unwrap_or("").to_owned();
                (Some(TokenKind::Name(name)), n_bytes)
            }
            c => (None, c.len_utf8()),
        };
        out.extend(kind.map(|kind| DotToken {
            kind,
            start: at,
            end: at + n_bytes,
        }));
        at += n_bytes.max(1);
    }
    out
}

/// Reads a text in quotes. Also returns its length.
fn quoted(text: &str) -> (String, usize) {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return (text.get(1..at).unwrap_or("").replace("\\\"", "\""), at + 1),
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    (text.get(1..).unwrap_or("").to_owned(), text.len())
}

fn label_in(attributes: &str) -> Option<String> {
    let at = attributes.find("label")?;
    let rest = attributes.get(at + "label".len()..)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    match rest.starts_with('"') {
        true => Some(quoted(rest).0),
        false => rest.split([',', ']', ' ', ';']).next().map(str::to_owned),
    }
    .filter(|label| !label.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, titles: &[&str], edges: &[(&str, &str)]) {
        let plan = plan_of(text, 0).expect("a graph");
        let found: Vec<&str> = plan.tasks.iter().map(|raw| raw.task.title.as_str()).collect();
        assert_eq!(found, titles);
        let found: Vec<(&str, &str)> = plan
            .edges
            .iter()
            .map(|(owner, on)| (owner.text.as_str(), on.text.as_str()))
            .collect();
        assert_eq!(found, edges);
    }

    #[test]
    fn graphs_are_read() {
        check(
            "digraph plan {\n rankdir=LR;\n node [shape=box];\n a [label=\"Do A\"];\n b\n a -> b -> c;\n}\n",
            &["Do A", "b", "c"],
            &[("b", "a"), ("c", "b")],
        );
        check(
            "digraph{a->{b c} [color=red] \"d e\"->b}",
            &["a", "b", "c", "d e"],
            &[("b", "a"), ("c", "a"), ("b", "d e")],
        );
        assert!(is_digraph("strict digraph G {"));
        assert!(!is_digraph("digraphs are nice {"));
    }
}
