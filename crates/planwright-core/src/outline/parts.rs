//! Finds the parts of an answer that can be the plan: values, graphs, tables and lists, in fenced blocks and outside.

use super::choice::{EmptyAnswer, OutlineCandidate, PartKind};
use super::dependency_sentences::statements;
use super::ends::ends_as_cut;
use super::json_in_text::json_within;
use super::json_values::{LooseValue, SyntaxProblem};
use super::list_reader::Lists;
use super::lists;
use super::markdown_lines::{LineKind, MarkdownLine, lines};
use super::raw::{RawPlan, guess};
use super::rules::UNREADABLE;
use super::structure::{Structure, plan_of};
use super::tags::read_tags;
use super::value::OutlineNode;
use super::words::has_any;
use super::work_lists::is_single_task;
use super::yaml_values::{YamlValue, read_documents, read_yaml};
use super::{dot, mermaid, tables};
use crate::diagnostic::Diagnostic;
use crate::document::prose::{CodeFence, fences, yaml_blocks};
use crate::text::{SourceText, Span};

/// How far before a value its line's words are searched, in bytes.
const MAX_LOOK_BACK: usize = 500;

/// The content of a fenced block, by its language.
#[derive(Clone, Copy, PartialEq)]
enum FenceLanguage {
    Dot,
    Mermaid,
    /// JSON, or a script with a value in it.
    Json,
    Yaml,
    /// Text for people.
    Text,
    /// Anything.
    Plain,
    Other,
}

impl FenceLanguage {
    fn of(name: &str) -> Self {
        match name.to_lowercase().as_str() {
            "dot" | "graphviz" | "gv" => FenceLanguage::Dot,
            "mermaid" => FenceLanguage::Mermaid,
            "json" | "jsonc" | "json5" | "jsonl" | "ndjson" => FenceLanguage::Json,
            "js" | "javascript" | "ts" | "typescript" | "python" | "py" => FenceLanguage::Json,
            "yaml" | "yml" => FenceLanguage::Yaml,
            "text" | "txt" | "md" | "markdown" | "plan" | "todo" | "tasks" | "csv" | "tsv" => FenceLanguage::Text,
            "" | "plain" | "plaintext" => FenceLanguage::Plain,
            _ => FenceLanguage::Other,
        }
    }
}

/// Reads a graph at an offset of an answer.
type GraphReader = fn(&str, usize) -> Option<RawPlan>;

/// Returns how to read a graph, if a text or its language is one.
fn graph_reader(text: &str, language: FenceLanguage) -> Option<GraphReader> {
    if language == FenceLanguage::Dot || dot::is_digraph(text) {
        return Some(dot::plan_of);
    }
    let is_mermaid = language == FenceLanguage::Mermaid || mermaid::is_flowchart(text);
    is_mermaid.then_some(mermaid::plan_of)
}

/// The parts of an answer.
#[derive(Default)]
pub(super) struct Parts {
    /// Those that can be the plan.
    pub(super) candidates: Vec<OutlineCandidate>,
    /// Values that are no plan themselves, which may contain one as text.
    pub(super) values: Vec<OutlineNode>,
    /// The parts that are not prose.
    pub(super) taken: Vec<Span>,
    /// The fenced blocks that draw dependencies with arrows.
    pub(super) drawn: Vec<Span>,
    /// What else there is.
    pub(super) seen: EmptyAnswer,
}

impl Parts {
    pub(super) fn of(source: &SourceText) -> Self {
        let text = source.as_str();
        let mut parts = Parts::default();
        let fences = fences(text);
        parts.taken.extend(fences.iter().map(|fence| fence.whole));
        for fence in &fences {
            parts.fence(source, fence);
        }
        let whole = Span::new(source.bom_len(), text.len());
        parts.json_outside(text, whole);
        parts.yaml_outside(source, whole);
        let is_empty = parts.candidates.is_empty();
        if is_empty
            && parts.taken.is_empty()
            && let Some(read) = read_documents(source, whole)
            && let Structure::Plan(plan, _) = plan_of(&read.node)
        {
            parts.push(PartKind::Value, whole, *plan, None, true);
            return parts;
        }
        if is_empty
            && let Some((node, cut)) = read_tags(text)
            && let Structure::Plan(plan, _) = plan_of(&node)
        {
            parts.push(PartKind::Value, node.span, *plan, cut, true);
            parts.taken.push(node.span);
        }
        parts.taken.sort_unstable();
        let graph = graph_reader(text, FenceLanguage::Other);
        if let Some(plan) = graph.and_then(|read| read(text, 0)) {
            parts.push(PartKind::Graph, whole, plan, None, true);
            return parts;
        }
        let taken = std::mem::take(&mut parts.taken);
        parts.markdown(text, whole, &taken, ends_as_cut(text));
        parts.taken = taken;
        parts.candidates.sort_by_key(|candidate| candidate.place);
        parts
    }

    fn push(&mut self, kind: PartKind, place: Span, plan: RawPlan, cut: Option<Span>, is_strong: bool) {
        let cut = plan.elided.or(cut);
        self.candidates.push(OutlineCandidate {
            plan,
            cut,
            is_strong,
            ..OutlineCandidate::new(kind, place)
        });
    }

    /// Reads the JSON outside of fenced blocks.
    fn json_outside(&mut self, text: &str, whole: Span) {
        let (values, problems) = json_within(text, whole, &self.taken);
        // A value inside a sentence is no part of its own: "Return `{"ok": true}`" is a task.
        let is_apart = |(value, place): &&(LooseValue, Span)| {
            let start = place.start as usize;
            // Only the nearest words count, so that many values in one long line cost no more than others.
            let near = text.floor_char_boundary(start.saturating_sub(MAX_LOOK_BACK));
            let before = text.get(near..start).unwrap_or("");
            let line = before.rsplit('\n').next().unwrap_or("");
            let is_word = !line.trim().is_empty() && !text.get(place.range()).unwrap_or("").contains('\n');
            !is_word || !matches!(plan_of(&value.node), Structure::Nothing)
        };
        let apart = values.iter().filter(is_apart).map(|(_, place)| *place);
        self.taken.extend(apart);
        self.taken.sort_unstable();
        for (value, place) in values {
            self.value(value, place, text);
        }
        for (start, problem) in problems {
            self.unreadable(text, Span::new(start, problem.at), start, &problem);
        }
    }

    /// Reads the blocks of YAML outside of fenced blocks.
    fn yaml_outside(&mut self, source: &SourceText, whole: Span) {
        for span in yaml_blocks(source.as_str(), whole, &self.taken) {
            if let Ok(read) = read_yaml(source, span)
                && let Structure::Plan(plan, true) = plan_of(&read.node)
                && plan.has_fields()
            {
                self.taken.push(span);
                self.yaml(*plan, &read, span, None, true);
            }
        }
    }

    /// Adds a plan of YAML.
    fn yaml(&mut self, mut plan: RawPlan, read: &YamlValue, place: Span, cut: Option<Span>, is_strong: bool) {
        plan.notes
            .extend(read.repaired.map(|(place, message)| guess(place, message)));
        self.push(PartKind::Value, place, plan, cut, is_strong);
    }

    fn fence(&mut self, source: &SourceText, fence: &CodeFence<'_>) {
        let (text, body) = (source.as_str(), source.slice(fence.body));
        let language = FenceLanguage::of(fence.language);
        let cut = (!fence.is_closed).then(|| Span::at(text.trim_end().len()));
        if let Some(read) = graph_reader(body, language) {
            if let Some(plan) = read(body, fence.body.start as usize) {
                self.push(PartKind::Graph, fence.whole, plan, cut, true);
            }
            return;
        }
        let is_text = matches!(language, FenceLanguage::Text | FenceLanguage::Plain);
        let begins_as_json = body.trim_start().starts_with(['{', '[']) && !body.trim_start().starts_with("[ ]");
        if language == FenceLanguage::Json || is_text && begins_as_json {
            let has_json = self.json_block(text, fence);
            if has_json || !is_text {
                return;
            }
        }
        let is_link = |line: &MarkdownLine<'_>| line.kind == LineKind::Blank || statements(line.text, false).is_link();
        if is_text && body.contains(['→', '>', '⇒']) && drawn_lines(text, fence.body).iter().all(is_link) {
            return self.drawn.push(fence.body);
        }
        let is_yaml = language == FenceLanguage::Yaml;
        let has_yaml = (is_text || is_yaml) && self.yaml_block(source, fence, is_yaml, cut);
        if has_yaml || !is_text {
            return;
        }
        let n_before = self.candidates.len();
        self.markdown(text, fence.body, &[], cut);
        if language == FenceLanguage::Plain {
            let found = self.candidates.split_off(n_before);
            self.candidates
                .extend(found.into_iter().filter(|candidate| candidate.is_strong));
        }
    }

    /// Reads the JSON of a fenced block. Returns whether there is any.
    fn json_block(&mut self, text: &str, fence: &CodeFence<'_>) -> bool {
        let (values, problems) = json_within(text, fence.body, &[]);
        let is_json = !values.is_empty() || !problems.is_empty();
        for (value, _) in values {
            self.value(value, fence.whole, text);
        }
        for (start, problem) in problems {
            self.unreadable(text, fence.whole, start, &problem);
        }
        is_json
    }

    /// Reads the YAML of a fenced block. Returns whether it is a plan.
    fn yaml_block(&mut self, source: &SourceText, fence: &CodeFence<'_>, is_yaml: bool, cut: Option<Span>) -> bool {
        let documents = read_documents(source, fence.body).map(Ok);
        let read = match documents.unwrap_or_else(|| read_yaml(source, fence.body)) {
            Ok(read) => read,
            Err(wrong) => {
                let at = wrong.unwrap_or(fence.body).start as usize;
                let message = "this is no YAML that can be read";
                if is_yaml {
                    self.unreadable(source.as_str(), fence.whole, at, &SyntaxProblem { at, message });
                }
                return false;
            }
        };
        match plan_of(&read.node) {
            Structure::Plan(mut plan, is_strong) if is_yaml || plan.has_fields() => {
                if cut.is_some() {
                    plan.tasks.pop();
                }
                self.yaml(*plan, &read, fence.whole, cut, is_strong);
                return true;
            }
            Structure::Empty(place) if is_yaml => drop(self.seen.empty.get_or_insert(place)),
            _ => {}
        }
        false
    }

    /// Adds an unreadable part, if it looks like a plan.
    fn unreadable(&mut self, text: &str, place: Span, start: usize, problem: &SyntaxProblem) {
        let body = text.get(start..place.end as usize).unwrap_or("");
        if !has_any(body, &["task", "step", "title", "depend", "todo", "phase"]) {
            return;
        }
        let error = Diagnostic::new(&UNREADABLE, Span::at(problem.at), problem.message);
        self.candidates.push(OutlineCandidate {
            error: Some(error.with_help("correct the text here, and import it again")),
            ..OutlineCandidate::new(PartKind::Value, place)
        });
    }

    fn value(&mut self, value: LooseValue, place: Span, text: &str) {
        let start = value.node.span.start as usize;
        let written = text.get(start..).unwrap_or("");
        if begins_with_toml_table(written) {
            return;
        }
        let is_lines = is_single_task(&value.node) || !value.node.elements().is_empty();
        match plan_of(&value.node) {
            Structure::Plan(mut plan, is_strong) => {
                if !value.repairs.is_empty() {
                    let names: Vec<&str> = value.repairs.iter().copied().collect();
                    let message = format!("this is no strict JSON: it is read with {}", names.join(", "));
                    plan.guess(Span::at(start), message);
                }
                self.push(PartKind::Value, place, *plan, value.cut, is_strong);
                if let Some(own) = self.candidates.last_mut() {
                    own.is_lines = is_lines && written.starts_with('{');
                }
            }
            Structure::Empty(empty) if value.cut.is_none() => drop(self.seen.empty.get_or_insert(empty)),
            _ if value.cut.is_some() => self.push(PartKind::Value, place, RawPlan::default(), value.cut, true),
            _ => {
                self.seen.value.get_or_insert(value.node.span);
                self.values.push(value.node);
            }
        }
    }

    /// Reads the tables and lists of a part of the text.
    fn markdown(&mut self, text: &str, part: Span, taken: &[Span], cut: Option<Span>) {
        let lines = lines(text, part, taken);
        for table in tables::plans_of(&lines) {
            self.push(PartKind::Table, table.place, table.plan, table.cut.or(cut), true);
        }
        match lists::plan_of(&lines) {
            Lists::Plan {
                mut plan,
                place,
                cut: own,
                is_strong,
            } => {
                if cut.is_some() && own.is_none() {
                    // The last task may be cut off itself.
                    plan.tasks.pop();
                }
                self.push(PartKind::List, place, *plan, own.or(cut), is_strong);
            }
            Lists::Alternatives(first, second) => drop(self.seen.options.get_or_insert((first, second))),
            Lists::Questions(place) => drop(self.seen.questions.get_or_insert(place)),
            Lists::Nothing => {
                let row = lines.iter().find(|line| line.kind == LineKind::TableRow);
                self.seen.table = self.seen.table.or(row.map(MarkdownLine::span));
                let item = lines.iter().find(|line| line.is_item());
                if let Some(item) = item.filter(|_| self.seen.list.is_none()) {
                    self.seen.list = Some(item.span());
                    self.seen.label = lists::other_label(&lines, item);
                }
            }
        }
    }
}

/// Returns the lines of a block without their indentation, which arranges a drawing.
pub(super) fn drawn_lines(text: &str, part: Span) -> Vec<MarkdownLine<'_>> {
    let mut lines = lines(text, part, &[]);
    lines.iter_mut().for_each(|line| line.indent = 0);
    lines
}

/// Returns whether a text begins with a line such as `[[tasks]]`, which is no list in a list.
fn begins_with_toml_table(text: &str) -> bool {
    let line = text.lines().next().unwrap_or("").trim_end();
    let name = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_part))
}
