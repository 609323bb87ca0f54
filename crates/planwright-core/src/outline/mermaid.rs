//! Reads plans drawn as Mermaid flowcharts: boxes are tasks, and arrows point to dependents.

use std::collections::{HashMap, HashSet};

use super::OutlineTask;
use super::names::one_line;
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::words::starts_with_any;
use crate::text::Span;

/// The deepest nesting of subgraphs; deeper ones count as top-level.
const MAX_NESTING: usize = 16;

/// Returns whether a text starts like a flowchart.
pub(super) fn is_flowchart(text: &str) -> bool {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("%%") && *line != "---");
    let word = first.and_then(|line| line.split_whitespace().next()).unwrap_or("");
    matches!(word.trim_end_matches(';'), "graph" | "flowchart")
}

/// Reads a flowchart at an offset of an answer.
pub(super) fn plan_of(text: &str, offset: usize) -> Option<RawPlan> {
    let mut reader = MermaidReader::default();
    let mut at = offset;
    let mut is_begun = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        // `graph TD; A-->B;`: the first statement is the direction.
        let is_head = !is_begun && is_flowchart(trimmed);
        let statements = split_statements(trimmed);
        if is_begun && !is_remark(trimmed) || is_head && statements.len() > 1 {
            let mut start = at + (line.len() - line.trim_start().len());
            for (ix, statement) in statements.into_iter().enumerate() {
                let own = start + (statement.len() - statement.trim_start().len());
                if !is_head || ix > 0 {
                    reader.statement(statement.trim(), own);
                }
                start += statement.len() + 1;
            }
        }
        is_begun |= is_head;
        at += line.len();
    }
    (!reader.plan.tasks.is_empty()).then_some(reader.plan)
}

fn is_remark(line: &str) -> bool {
    #[rustfmt::skip]
    let words = [
        "style", "classDef", "class", "click", "linkStyle", "direction", "accTitle", "accDescr",
    ];
    let first = line.split_whitespace().next().unwrap_or("");
    line.is_empty() || line.starts_with("%%") || words.contains(&first)
}

/// Splits a line at semicolons that are not part of a label.
fn split_statements(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut depth, mut in_quotes) = (0, 0usize, false);
    for (at, c) in line.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            '[' | '(' | '{' if !in_quotes => depth += 1,
            ']' | ')' | '}' if !in_quotes => depth = depth.saturating_sub(1),
            ';' if !in_quotes && depth == 0 => {
                out.push(line.get(start..at).unwrap_or(""));
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(line.get(start..).unwrap_or(""));
    out
}

#[derive(Default)]
struct MermaidReader {
    plan: RawPlan,
    nodes: HashMap<String, usize>,
    subgraphs: HashSet<String>,
    open: Vec<usize>,
    has_reversed: bool,
}

impl MermaidReader {
    fn statement(&mut self, text: &str, at: usize) {
        if let Some(rest) = text.strip_prefix("subgraph") {
            return self.subgraph(rest, Span::new(at, at + text.len()));
        }
        if text == "end" {
            self.open.pop();
            return;
        }
        let mut pos = 0;
        let mut before: Vec<Reference> = Vec::new();
        let mut is_reversed = false;
        while let Some((nodes, end)) = self.boxes(text, pos, at) {
            match is_reversed {
                true => self.plan.link(&before, &nodes),
                false => self.plan.link(&nodes, &before),
            }
            let Some(arrow) = arrow_at(text.get(end..).unwrap_or("")) else {
                return;
            };
            pos = end + arrow.n_bytes;
            is_reversed = names_dependency(arrow.label);
            if is_reversed && !self.has_reversed {
                self.has_reversed = true;
                let message = "the label of this arrow says that it leads to what a task depends on";
                self.plan.guess(Span::new(at + end, at + pos), message);
            }
            before = nodes;
            if arrow.is_invisible {
                return;
            }
        }
    }

    fn subgraph(&mut self, rest: &str, place: Span) {
        let (id, label, _) = node_at(rest.trim_start()).unwrap_or((rest.trim(), None, rest.len()));
        let group = self.plan.add_group(RawGroup {
            name: label.map_or_else(|| rest.trim().trim_matches('"').to_owned(), clean),
            id: Some(id.to_owned()),
            parent: self.open.last().copied().filter(|_| self.open.len() < MAX_NESTING),
            place,
            ..RawGroup::default()
        });
        self.subgraphs.insert(id.to_owned());
        self.open.push(group);
    }

    /// Reads boxes separated by `&`. Returns their end.
    fn boxes(&mut self, text: &str, start: usize, at: usize) -> Option<(Vec<Reference>, usize)> {
        let mut nodes = Vec::new();
        let mut rest = text.get(start..)?;
        loop {
            rest = rest.trim_start();
            let pos = text.len() - rest.len();
            let (id, label, n_bytes) = node_at(rest)?;
            let place = Span::new(at + pos, at + pos + n_bytes);
            self.node(id, label, place);
            nodes.push(Reference::certain(id, place));
            rest = text.get(pos + n_bytes..)?;
            match rest.trim_start().strip_prefix('&') {
                Some(after) => rest = after,
                None => return Some((nodes, pos + n_bytes)),
            }
        }
    }

    fn node(&mut self, id: &str, label: Option<&str>, place: Span) {
        if self.subgraphs.contains(id) {
            return;
        }
        let group = self.open.last().copied();
        let task_ix = *self.nodes.entry(id.to_owned()).or_insert_with(|| {
            self.plan.tasks.push(RawTask {
                task: OutlineTask {
                    id: Some(id.to_owned()),
                    title: id.replace('_', " "),
                    place,
                    ..OutlineTask::default()
                },
                group,
                ..RawTask::default()
            });
            self.plan.tasks.len() - 1
        });
        let Some(raw) = self.plan.tasks.get_mut(task_ix) else {
            return;
        };
        raw.group = raw.group.or(group);
        if let Some(label) = label.map(clean).filter(|label| !label.is_empty()) {
            raw.task.title = one_line(&label, 500);
            raw.task.place = place;
        }
    }
}

fn clean(label: &str) -> String {
    let breaks = ["<br/>", "<br>", "<br />", "\\n"];
    let label = breaks
        .iter()
        .fold(label.to_owned(), |label, mark| label.replace(mark, " "));
    let label = label.trim().trim_matches(['"', '`']).trim();
    label.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a box: its id, its label, and the length of both in bytes.
fn node_at(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let rest = text.get(at + 1..).unwrap_or("");
        let is_dash_within = c == '-' && at > 0 && rest.starts_with(char::is_alphanumeric);
        if !(c.is_alphanumeric() || matches!(c, '_' | '.') || is_dash_within) {
            break;
        }
        end = at + c.len_utf8();
    }
    let id = text.get(..end).filter(|id| !id.is_empty())?;
    let rest = text.get(end..)?;
    #[rustfmt::skip]
    const SHAPES: [(&str, &str); 11] = [
        ("([", "])"), ("[[", "]]"), ("[(", ")]"), ("((", "))"), ("{{", "}}"), ("[/", "/]"), ("[\\", "\\]"), ("[", "]"),
        ("(", ")"), ("{", "}"), (">", "]"),
    ];
    let found = SHAPES.iter().find_map(|(open, close)| {
        let body = rest.strip_prefix(open)?;
        // The closing bracket of the box follows the text in quotes.
        let quote = body
            .match_indices('"')
            .nth(1)
            .filter(|_| body.trim_start().starts_with('"'));
        let n_quoted = quote.map_or(0, |(at, _)| at + 1);
        let n_label = n_quoted + body.get(n_quoted..)?.find(close)?;
        Some((body.get(..n_label)?, open.len() + n_label + close.len()))
    });
    end += found.map_or(0, |(_, n_bytes)| n_bytes);
    if let Some(class) = text.get(end..).and_then(|rest| rest.strip_prefix(":::")) {
        let name = class.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        end += 3 + class.len() - name.len();
    }
    Some((id, found.map(|(label, _)| label), end))
}

/// Returns whether the label of an arrow means that its start depends on its end.
fn names_dependency(label: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "depends", "depend on", "requires", "needs", "blocked by", "waits for", "after", "dependency",
    ];
    let lower = label.trim().trim_matches(['"', '\'', '(', ')']).to_lowercase();
    starts_with_any(&lower, STARTS)
}

struct Arrow<'t> {
    n_bytes: usize,
    label: &'t str,
    /// Whether it only arranges the boxes.
    is_invisible: bool,
}

/// Reads an arrow and its label.
fn arrow_at(text: &str) -> Option<Arrow<'_>> {
    let trimmed = text.trim_start();
    let skipped = text.len() - trimmed.len();
    let is_mark = |c: char| matches!(c, '-' | '=' | '.' | '>' | '<' | '~' | 'o' | 'x');
    let line: String = trimmed.chars().take_while(|c| is_mark(*c)).collect();
    let line = match line.find('>') {
        Some(head) => line.get(..=head).unwrap_or(&line).to_owned(),
        None => line,
    };
    let first = line.trim_start_matches(['<', 'o', 'x']);
    if !starts_with_any(first, &["--", "==", "-.", "~~"]) {
        return None;
    }
    // `--x` and `--o` end an arrow; a box that begins with such a letter needs a space before it.
    let mut n_bytes = line.len();
    let mut label = "";
    if !line.contains('>') {
        // `A -- text --> B`.
        let rest = trimmed.get(n_bytes..)?;
        let heads = ["-->", "==>", ".->", "---", "--x", "--o"];
        let head = heads
            .iter()
            .filter_map(|head| rest.find(head).map(|at| (at + head.len(), at)))
            .min();
        if let Some((end, at)) = head.filter(|_| !matches!(line.as_str(), "---" | "===" | "~~~")) {
            n_bytes += end;
            label = rest.get(..at).unwrap_or("");
        }
    }
    let rest = trimmed.get(n_bytes..)?;
    let body = rest.trim_start();
    if let Some(after) = body.strip_prefix('|')
        && let Some(end) = after.find('|')
    {
        n_bytes += rest.len() - body.len() + 1 + end + 1;
        label = after.get(..end).unwrap_or("");
    }
    Some(Arrow {
        n_bytes: skipped + n_bytes,
        label,
        is_invisible: line.starts_with("~~"),
    })
}

/// Reverses the arrows of a graph if the prose says that they point to dependencies.
pub(super) fn reverse(plan: &mut RawPlan, place: Span) {
    for (owner, on) in &mut plan.edges {
        std::mem::swap(owner, on);
    }
    let message = "the text says that an arrow leads to what a task depends on: the arrows are read in this direction";
    plan.guess(Span::at(place.start as usize), message);
}

/// Returns whether labels have already reversed arrows of a graph.
pub(super) fn has_reversed_labels(plan: &RawPlan) -> bool {
    plan.notes
        .iter()
        .any(|note| note.message.contains("label of this arrow"))
}
