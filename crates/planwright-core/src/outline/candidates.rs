//! Decides which part of an answer is the plan: the only candidate, a corrected one, or none if two are equally probable.

use std::collections::HashSet;

use super::choice::{
    EmptyAnswer, Labels, OtherList, OutlineCandidate, PartKind, compare_with_lists, cut_off, draw_edges, empty_list,
    joined, left_out_between, nothing, nothing_but, one_of, single_tasks, two_plans,
};
use super::cleanup::cleaned;
use super::dependency_sentences::{arrows_lead_to_dependencies, statements};
use super::dot;
use super::ends::ends_as_cut;
use super::goal::goal_above;
use super::json_in_text::json_within;
use super::json_values::SyntaxProblem;
use super::list_reader::Lists;
use super::lists;
use super::mapped_text::MappedText;
use super::markdown_lines::{LineKind, MarkdownLine, lines};
use super::mermaid;
use super::names::one_line;
use super::other_markup::{as_markdown, is_diff_of_items};
use super::phrases::{changes_task, is_refusal};
use super::raw::{RawPlan, RawTask, Reference};
use super::resolve::resolve;
use super::rules::{AMBIGUOUS, GUESS, NO_TASKS, UNREADABLE};
use super::structure::{Structure, plan_of, texts_within};
use super::tables;
use super::tags::read_tags;
use super::value::OutlineNode;
use super::work_lists::is_single_task;
use super::written_links::{add_links, add_said_links};
use super::yaml_values::{read_documents, read_yaml};
use super::{Outline, json_values};
use crate::diagnostic::{Diagnostic, Related};
use crate::document::prose::{CodeFence, fences, yaml_blocks};
use crate::text::{SourceText, Span, visible};

/// The longest answer that is read, in bytes.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// How far before a value its line's words are searched, in bytes.
const MAX_LOOK_BACK: usize = 500;

/// How many layers of JSON text may wrap an answer.
const MAX_WRAPPINGS: usize = 3;

/// Reads the plan in an answer. If the answer is cut off, `is_partial` accepts the complete tasks.
///
/// On failure returns the errors with their spans.
pub fn read(source: &SourceText, is_partial: bool) -> Result<Outline, Vec<Diagnostic>> {
    read_wrapped(source, is_partial, 0)
}

fn read_wrapped(source: &SourceText, is_partial: bool, n_wrappings: usize) -> Result<Outline, Vec<Diagnostic>> {
    let text = source.as_str();
    if text.len() > MAX_ANSWER_BYTES {
        let message = format!(
            "the answer has {} bytes, and up to {MAX_ANSWER_BYTES} are read",
            text.len()
        );
        return Err(vec![Diagnostic::of_file(&NO_TASKS, message)]);
    }
    if let Some(markdown) = as_markdown(text).filter(|_| n_wrappings < MAX_WRAPPINGS) {
        let inner = SourceText::new(markdown.text.clone());
        let mut outline = read_wrapped(&inner, is_partial, n_wrappings + 1);
        if is_diff_of_items(text)
            && let Ok(outline) = &mut outline
        {
            let message = "the answer is a diff: its new side is read, without the lines that it removes";
            outline.guesses.push(Diagnostic::new(&GUESS, outline.place, message));
        }
        return with_places_before(outline, &markdown, text);
    }
    let Some(cleaned) = cleaned(text) else {
        return read_cleaned(source, is_partial, n_wrappings);
    };
    let outline = read_cleaned(&SourceText::new(cleaned.text.clone()), is_partial, n_wrappings);
    with_places_before(outline, &cleaned, text)
}

/// Returns what was read out of a changed copy of a text with the places in that text.
fn with_places_before(
    outline: Result<Outline, Vec<Diagnostic>>,
    cleaned: &MappedText,
    text: &str,
) -> Result<Outline, Vec<Diagnostic>> {
    match outline {
        Ok(mut outline) => {
            outline.place = cleaned.span_before(outline.place, text);
            for task in &mut outline.tasks {
                task.place = cleaned.span_before(task.place, text);
            }
            for guess in &mut outline.guesses {
                cleaned.place_before(guess, text);
            }
            Ok(outline)
        }
        Err(mut found) => {
            found.iter_mut().for_each(|found| cleaned.place_before(found, text));
            Err(found)
        }
    }
}

fn read_cleaned(source: &SourceText, is_partial: bool, n_wrappings: usize) -> Result<Outline, Vec<Diagnostic>> {
    let text = source.as_str();
    let mut parts = Parts::default();
    parts.collect(source);
    if parts.candidates.is_empty() && n_wrappings < MAX_WRAPPINGS {
        for node in parts.values.iter().flat_map(texts_within) {
            let inner = SourceText::new(node.text().unwrap_or(""));
            if let Ok(outline) = read_wrapped(&inner, is_partial, n_wrappings + 1) {
                return Ok(at_place(outline, node.span));
            }
        }
    }
    let base = base_in_words(text);
    let mut chosen = parts.choose(text)?;
    if let Some(error) = chosen.error {
        return Err(vec![error]);
    }
    if let Some(place) = chosen.cut {
        if !is_partial || chosen.plan.tasks.is_empty() {
            let n_tasks = chosen.plan.tasks.len();
            let is_between = chosen.plan.tasks.iter().any(|raw| raw.task.place.start >= place.start);
            return Err(vec![match is_between {
                true => left_out_between(place, n_tasks),
                false => cut_off(place, n_tasks),
            }]);
        }
        let message = format!(
            "the answer is cut off here: its {} complete tasks are read",
            chosen.plan.tasks.len()
        );
        chosen.plan.guess(place, message);
    }
    let place = chosen.place;
    resolve(chosen.plan, base).map(|outline| Outline { place, ..outline })
}

/// Returns an outline with spans of an outer text.
fn at_place(mut outline: Outline, place: Span) -> Outline {
    outline.place = place;
    for task in &mut outline.tasks {
        task.place = place;
    }
    for guess in &mut outline.guesses {
        guess.span = guess.span.map(|_| place);
        guess
            .related
            .iter_mut()
            .for_each(|related: &mut Related| related.span = place);
    }
    outline
}

/// Returns the first number if the prose states it.
fn base_in_words(text: &str) -> Option<usize> {
    let lower = text.to_lowercase();
    let counts_from = |digit: &str, word: &str| {
        let before = [digit, word]
            .into_iter()
            .flat_map(|n| [format!("{n}-based"), format!("{n}-indexed")]);
        let after = ["counting from", "start at", "starting at", "starts at"];
        let after = after.iter().map(|words| format!("{words} {digit}"));
        before.chain(after).any(|words| lower.contains(&words))
    };
    match (counts_from("0", "zero"), counts_from("1", "one")) {
        (true, false) => Some(0),
        (false, true) => Some(1),
        _ => None,
    }
}

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

#[derive(Default)]
struct Parts {
    candidates: Vec<OutlineCandidate>,
    /// Values that are no plan themselves, which may contain one as text.
    values: Vec<OutlineNode>,
    empty: Option<Span>,
    questions: Option<Span>,
    options: Option<(Span, Span)>,
    /// The parts that are not prose.
    taken: Vec<Span>,
    /// The fenced blocks that draw dependencies with arrows.
    drawn: Vec<Span>,
    seen: EmptyAnswer,
}

impl Parts {
    fn collect(&mut self, source: &SourceText) {
        let text = source.as_str();
        let fences = fences(text);
        self.taken.extend(fences.iter().map(|fence| fence.whole));
        for fence in &fences {
            self.fence(source, fence);
        }
        let whole = Span::new(source.bom_len(), text.len());
        let (values, problems) = json_within(text, whole, &self.taken);
        // A value inside a sentence is no part of its own: "Return `{"ok": true}`" is a task.
        let is_apart = |(value, place): &&(json_values::LooseValue, Span)| {
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
        for span in yaml_blocks(text, whole, &self.taken) {
            if let Ok(read) = read_yaml(source, span)
                && let Structure::Plan(mut plan, true) = plan_of(&read.node)
                && plan.has_fields()
            {
                self.taken.push(span);
                plan.notes.extend(read.repaired.map(repaired));
                self.push(PartKind::Value, span, *plan, None, true);
            }
        }
        if self.candidates.is_empty()
            && self.taken.is_empty()
            && let Some(read) = read_documents(source, whole)
            && let Structure::Plan(plan, _) = plan_of(&read.node)
        {
            return self.push(PartKind::Value, whole, *plan, None, true);
        }
        if self.candidates.is_empty()
            && let Some((node, cut)) = read_tags(text)
            && let Structure::Plan(plan, _) = plan_of(&node)
        {
            self.push(PartKind::Value, node.span, *plan, cut, true);
            self.taken.push(node.span);
        }
        self.taken.sort_unstable();
        let graph = graph_reader(text, FenceLanguage::Other);
        if let Some(plan) = graph.and_then(|read| read(text, 0)) {
            return self.push(PartKind::Graph, whole, plan, None, true);
        }
        let taken = std::mem::take(&mut self.taken);
        let cut = ends_as_cut(text);
        self.markdown(text, whole, &taken, cut);
        self.taken = taken;
        self.candidates.sort_by_key(|candidate| candidate.place);
    }

    fn push(&mut self, kind: PartKind, place: Span, plan: RawPlan, cut: Option<Span>, is_strong: bool) {
        let cut = plan.elided.or(cut);
        self.candidates.push(OutlineCandidate {
            kind,
            place,
            plan,
            cut,
            error: None,
            is_strong,
            is_lines: false,
        });
    }

    fn fence(&mut self, source: &SourceText, fence: &CodeFence<'_>) {
        let body = source.slice(fence.body);
        let language = FenceLanguage::of(fence.language);
        let cut = (!fence.is_closed).then(|| Span::at(source.as_str().trim_end().len()));
        if let Some(read) = graph_reader(body, language) {
            if let Some(plan) = read(body, fence.body.start as usize) {
                self.push(PartKind::Graph, fence.whole, plan, cut, true);
            }
            return;
        }
        let is_text = matches!(language, FenceLanguage::Text | FenceLanguage::Plain);
        let begins_as_json = body.trim_start().starts_with(['{', '[']) && !body.trim_start().starts_with("[ ]");
        if language == FenceLanguage::Json || is_text && begins_as_json {
            let has_json = self.json_block(source.as_str(), fence);
            if has_json || !is_text {
                return;
            }
        }
        let drawn = drawn_lines(source.as_str(), fence.body);
        let is_link = |line: &MarkdownLine<'_>| line.kind == LineKind::Blank || statements(line.text, false).is_link();
        if is_text && body.contains(['→', '>', '⇒']) && drawn.iter().all(is_link) {
            return self.drawn.push(fence.body);
        }
        if is_text || language == FenceLanguage::Yaml {
            let has_yaml = self.yaml_block(source, fence, language, cut);
            if has_yaml || !is_text {
                return;
            }
            let n_before = self.candidates.len();
            self.markdown(source.as_str(), fence.body, &[], cut);
            if language == FenceLanguage::Plain {
                let mut found = self.candidates.split_off(n_before);
                found.retain(|candidate| candidate.is_strong);
                self.candidates.append(&mut found);
            }
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
    fn yaml_block(
        &mut self,
        source: &SourceText,
        fence: &CodeFence<'_>,
        language: FenceLanguage,
        cut: Option<Span>,
    ) -> bool {
        let is_yaml = language == FenceLanguage::Yaml;
        let documents = read_documents(source, fence.body).map(Ok);
        let read = match documents.unwrap_or_else(|| read_yaml(source, fence.body)) {
            Ok(read) => read,
            Err(wrong) if is_yaml => {
                let at = wrong.unwrap_or(fence.body).start as usize;
                let message = "this is no YAML that can be read";
                self.unreadable(source.as_str(), fence.whole, at, &SyntaxProblem { at, message });
                return false;
            }
            Err(_) => return false,
        };
        match plan_of(&read.node) {
            Structure::Plan(mut plan, is_strong) if is_yaml || plan.has_fields() => {
                if cut.is_some() {
                    plan.tasks.pop();
                }
                plan.notes.extend(read.repaired.map(repaired));
                self.push(PartKind::Value, fence.whole, *plan, cut, is_strong);
                return true;
            }
            Structure::Empty(place) if is_yaml => drop(self.empty.get_or_insert(place)),
            _ => {}
        }
        false
    }

    /// Adds an unreadable part, if it looks like a plan.
    fn unreadable(&mut self, text: &str, place: Span, start: usize, problem: &SyntaxProblem) {
        let body = text.get(start..place.end as usize).unwrap_or("");
        let words = ["task", "step", "title", "depend", "todo", "phase"];
        if !words.iter().any(|word| body.contains(word)) {
            return;
        }
        let error = Diagnostic::new(&UNREADABLE, Span::at(problem.at), problem.message)
            .with_help("correct the text here, and import it again");
        self.candidates.push(OutlineCandidate {
            kind: PartKind::Value,
            place,
            plan: RawPlan::default(),
            cut: None,
            error: Some(error),
            is_strong: true,
            is_lines: false,
        });
    }

    fn value(&mut self, value: json_values::LooseValue, place: Span, text: &str) {
        let start = value.node.span.start as usize;
        if text.get(start..).is_some_and(begins_with_toml_table) {
            return;
        }
        let is_object = text.get(start..).is_some_and(|rest| rest.starts_with('{'));
        let is_lines = is_object && (is_single_task(&value.node) || !value.node.elements().is_empty());
        match plan_of(&value.node) {
            Structure::Plan(mut plan, is_strong) => {
                if !value.repairs.is_empty() {
                    let names: Vec<&str> = value.repairs.iter().copied().collect();
                    let message = format!("this is no strict JSON: it is read with {}", names.join(", "));
                    plan.guess(Span::at(value.node.span.start as usize), message);
                }
                self.push(PartKind::Value, place, *plan, value.cut, is_strong);
                self.candidates
                    .last_mut()
                    .into_iter()
                    .for_each(|own| own.is_lines = is_lines);
            }
            Structure::Empty(empty) if value.cut.is_none() => drop(self.empty.get_or_insert(empty)),
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
                plan,
                place,
                cut: own,
                is_strong,
            } => {
                let mut plan = *plan;
                if cut.is_some() && own.is_none() {
                    // The last task may be cut off itself.
                    plan.tasks.pop();
                }
                self.push(PartKind::List, place, plan, own.or(cut), is_strong);
            }
            Lists::Alternatives(first, second) => drop(self.options.get_or_insert((first, second))),
            Lists::Questions(place) => drop(self.questions.get_or_insert(place)),
            Lists::Nothing => {
                let row = lines.iter().find(|line| line.kind == LineKind::TableRow);
                self.seen.table = self.seen.table.or(row.map(|line| line.span()));
                let item = lines.iter().find(|line| line.is_item());
                if let (None, Some(item)) = (self.seen.list, item) {
                    self.seen.list = Some(item.span());
                    self.seen.label = lists::other_label(&lines, item);
                }
            }
        }
    }

    /// Chooses the part that is the plan.
    fn choose(mut self, text: &str) -> Result<OutlineCandidate, Vec<Diagnostic>> {
        let candidates = std::mem::take(&mut self.candidates);
        let is_other = |candidate: &&OutlineCandidate| candidate.kind != PartKind::List;
        let plans: Vec<Span> = candidates.iter().filter(is_other).map(|other| other.place).collect();
        if let Some(place) = declines(text).filter(|_| candidates.iter().all(|candidate| !candidate.is_strong)) {
            let found = Diagnostic::new(&NO_TASKS, place, "the answer declines the request, and has no plan");
            return Err(vec![found.with_help(
                "write `Tasks:` before the list if it is one of tasks, and import it again",
            )]);
        }
        let mut chosen = self.chosen(CandidatesByKind::of(candidates, text), text)?;
        if chosen.error.is_none() {
            chosen.error = self.changed_afterwards(&chosen, text);
        }
        self.add_from_prose(&mut chosen, text)?;
        let is_block = |span: &&Span| !plans.iter().any(|plan| plan.contains(**span) || span.contains(*plan));
        if chosen.kind == PartKind::List && self.part_around(&chosen).is_none() {
            let blocks = self.taken.iter().take(MAX_BLOCKS).filter(is_block);
            add_blocks(&mut chosen.plan, blocks, text);
        }
        Ok(chosen)
    }

    /// Refuses a plan of which a later sentence replaces a task: "Actually, replace step 3".
    fn changed_afterwards(&self, chosen: &OutlineCandidate, text: &str) -> Option<Diagnostic> {
        let last = chosen.plan.tasks.iter().map(|raw| raw.task.place.end).max()?;
        let rest = Span::new(last as usize, text.len());
        let lines = lines(text, rest, &self.taken);
        let line = lines
            .iter()
            .find(|line| line.kind == LineKind::Text && changes_task(line.text))?;
        let words = visible(&one_line(line.text, 60)).into_owned();
        let message = format!("the sentence \"{words}\" changes the plan before it, which is not read as changed");
        let found = Diagnostic::new(&AMBIGUOUS, Span::at(line.at), message);
        Some(found.with_help("change the task in the text, remove the sentence, and import it again"))
    }

    /// Returns the part that is the plan, with the dependencies of graphs of the same tasks.
    fn chosen(&self, mut kinds: CandidatesByKind, text: &str) -> Result<OutlineCandidate, Vec<Diagnostic>> {
        let labels = Labels {
            text,
            taken: &self.taken,
        };
        let is_void = |candidate: &OutlineCandidate| {
            candidate.plan.tasks.is_empty() && candidate.cut.is_none() && candidate.error.is_none()
        };
        if kinds.values.iter().all(is_void)
            && let Some(place) = self.empty
        {
            return Err(vec![empty_list(place, text, &labels)]);
        }
        if kinds.is_empty() {
            return Err(vec![match (self.questions, self.options) {
                (None, None) => nothing_but(self.seen, text),
                (questions, options) => nothing(questions, options),
            }]);
        }
        let tables_of_links = kinds.take_tables_of_links();
        let lists = kinds.leave_samples_out(&labels);
        let mut chosen = if !kinds.values.is_empty() {
            let mut chosen = one_of(kinds.values, &labels)?;
            compare_with_lists(&mut chosen, &lists, text)?;
            chosen
        } else if !kinds.tables.is_empty() {
            let mut chosen = joined(kinds.tables, &labels)?;
            compare_with_lists(&mut chosen, &lists, text)?;
            chosen
        } else if let Some((first, second)) = self.options {
            return Err(vec![two_plans(first, second)]);
        } else if !kinds.lists.is_empty() {
            // A strong list inside a fence is the plan, and bullets around it are remarks.
            if kinds.lists.iter().any(|candidate| candidate.is_strong) {
                kinds.lists.retain(|candidate| candidate.is_strong);
            }
            one_of(kinds.lists, &labels)?
        } else {
            return one_of(kinds.graphs, &labels);
        };
        for graph in kinds.graphs {
            draw_edges(&mut chosen, graph)?;
        }
        for table in tables_of_links {
            add_rows(&mut chosen.plan, table);
        }
        Ok(chosen)
    }

    /// Returns the part that is not prose and contains a candidate.
    fn part_around(&self, candidate: &OutlineCandidate) -> Option<Span> {
        self.taken.iter().copied().find(|span| span.contains(candidate.place))
    }

    /// Adds the dependencies and the goal from the text around the tasks.
    fn add_from_prose(&self, chosen: &mut OutlineCandidate, text: &str) -> Result<(), Vec<Diagnostic>> {
        let around = self.part_around(chosen);
        let whole = || lines(text, Span::new(0, text.len()), &self.taken);
        // The fields of values say more than the prose around them, which may add to them.
        let has_own = chosen.kind == PartKind::Value && chosen.plan.has_dependencies();
        if has_own && chosen.error.is_none() {
            add_said_links(&mut chosen.plan, &whole());
        } else if chosen.kind != PartKind::Graph && chosen.error.is_none() {
            let own = around.filter(|_| chosen.kind != PartKind::Value);
            let mut lines = own.map_or_else(whole, |part| lines(text, part, &[]));
            let drawn = self.drawn.iter().filter(|part| around != Some(**part));
            lines.extend(drawn.flat_map(|part| drawn_lines(text, *part)));
            lines.sort_by_key(|line| line.at);
            add_links(&mut chosen.plan, &lines, text)?;
        }
        if chosen.plan.goal.is_none() {
            let inner = around.filter(|_| matches!(chosen.kind, PartKind::List | PartKind::Table));
            let inner = inner.and_then(|part| goal_above(&lines(text, part, &[]), &chosen.plan));
            chosen.plan.goal = inner.or_else(|| goal_above(&whole(), &chosen.plan));
        }
        Ok(())
    }
}

/// The parts of an answer that can be the plan.
#[derive(Default)]
struct CandidatesByKind {
    values: Vec<OutlineCandidate>,
    graphs: Vec<OutlineCandidate>,
    tables: Vec<OutlineCandidate>,
    lists: Vec<OutlineCandidate>,
}

impl CandidatesByKind {
    /// Sorts candidates. Ambiguous values are omitted if there is another plan.
    fn of(candidates: Vec<OutlineCandidate>, text: &str) -> Self {
        let is_reversed = arrows_lead_to_dependencies(text);
        let mut kinds = CandidatesByKind::default();
        for mut candidate in candidates {
            if candidate.kind == PartKind::Graph && is_reversed && !mermaid::has_reversed_labels(&candidate.plan) {
                mermaid::reverse(&mut candidate.plan, candidate.place);
            }
            let own = match candidate.kind {
                PartKind::Value => &mut kinds.values,
                PartKind::Graph => &mut kinds.graphs,
                PartKind::Table => &mut kinds.tables,
                PartKind::List => &mut kinds.lists,
            };
            own.push(candidate);
        }
        if let Some(whole) = single_tasks(&kinds.values) {
            kinds.values = vec![whole];
        }
        let others = [&kinds.graphs, &kinds.tables, &kinds.lists];
        if others.into_iter().flatten().any(|other| other.plan.tasks.len() > 1) {
            kinds.values.retain(|candidate| candidate.is_strong);
        }
        kinds
    }

    /// Takes the tables out whose rows only name tasks of another part and what these depend on.
    fn take_tables_of_links(&mut self) -> Vec<OutlineCandidate> {
        let parts = self.values.iter().chain(&self.lists).flat_map(|part| &part.plan.tasks);
        let ids: HashSet<&str> = parts.filter_map(|raw| raw.task.id.as_deref()).collect();
        let is_link = |raw: &RawTask| raw.dependencies.is_some() && ids.contains(raw.task.title.as_str());
        let are_links = |table: &mut OutlineCandidate| table.plan.tasks.iter().all(is_link);
        self.tables.extract_if(.., are_links).collect()
    }

    /// Removes values and tables that are called examples, where a list is the plan. Returns the lists that could be one.
    fn leave_samples_out(&mut self, labels: &Labels<'_>) -> Vec<OtherList> {
        let lists: Vec<OtherList> = self.lists.iter().filter_map(OtherList::of).take(MAX_LISTS).collect();
        if !lists.is_empty() {
            let is_plan = |candidate: &OutlineCandidate| {
                !labels.is_sample(candidate) || lists.iter().any(|list| list.shares_tasks(&candidate.plan))
            };
            self.values.retain(is_plan);
            self.tables.retain(is_plan);
        }
        lists
    }

    fn is_empty(&self) -> bool {
        let kinds = [&self.values, &self.graphs, &self.tables, &self.lists];
        kinds.into_iter().all(Vec::is_empty)
    }
}

/// Adds the dependencies that the rows of a table name to a plan that has none.
fn add_rows(plan: &mut RawPlan, table: OutlineCandidate) {
    if plan.has_dependencies() {
        return;
    }
    for raw in table.plan.tasks {
        let owner = Reference::certain(&raw.task.title, raw.task.place);
        let on = raw.dependencies.into_iter().flatten();
        plan.edges.extend(on.map(|on| (owner.clone(), on)));
    }
}

/// Returns the first line of an answer where it declines the request.
fn declines(text: &str) -> Option<Span> {
    let start = text.len() - text.trim_start().len();
    let line = text.get(start..)?.lines().next()?;
    is_refusal(line).then(|| Span::new(start, start + line.len()))
}

/// Returns the lines of a block without their indentation, which arranges a drawing.
fn drawn_lines(text: &str, part: Span) -> Vec<MarkdownLine<'_>> {
    let mut lines = lines(text, part, &[]);
    lines.iter_mut().for_each(|line| line.indent = 0);
    lines
}

/// How many lists are compared with values and tables.
const MAX_LISTS: usize = 16;

/// How many blocks are added to the tasks above them.
const MAX_BLOCKS: usize = 200;

/// Adds blocks of code to the tasks above them: between two tasks, or indented.
fn add_blocks<'s>(plan: &mut RawPlan, blocks: impl Iterator<Item = &'s Span>, text: &str) {
    let last = plan.tasks.iter().map(|raw| raw.task.place.start).max().unwrap_or(0);
    for block in blocks {
        let line_start = text
            .get(..block.start as usize)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |at| at + 1);
        let words = text.get(line_start..block.end as usize).unwrap_or("");
        let is_indented = words.starts_with(['\t', ' ']) && words.trim_start().starts_with(['`', '~']);
        if !is_indented && block.start > last {
            continue;
        }
        let above = plan.tasks.iter_mut().filter(|raw| raw.task.place.start < block.start);
        if let Some(raw) = above.max_by_key(|raw| raw.task.place.start) {
            let n_indent = words.len() - words.trim_start().len();
            let lines = words.trim_end().lines().map(|line| {
                let own = line.len() - line.trim_start().len();
                line.get(own.min(n_indent)..).unwrap_or(line)
            });
            raw.task.details.push(lines.collect::<Vec<&str>>().join("\n"));
        }
    }
}

fn repaired((place, message): (Span, &'static str)) -> Diagnostic {
    Diagnostic::new(&GUESS, place, message)
}

/// Returns whether a text begins with a line such as `[[tasks]]`, which is no list in a list.
fn begins_with_toml_table(text: &str) -> bool {
    let line = text.lines().next().unwrap_or("").trim_end();
    let name = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    name.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    })
}
