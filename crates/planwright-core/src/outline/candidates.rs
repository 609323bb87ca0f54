//! Decides which part of an answer is the plan: the only candidate, a corrected one, or none if two are equally probable.

use std::collections::HashSet;

use super::choice::{
    Labels, OtherList, OutlineCandidate, PartKind, compare_with_lists, draw_edges, empty_list, joined, nothing, one_of,
    single_tasks, two_plans,
};
use super::dependency_sentences::arrows_lead_to_dependencies;
use super::goal::goal_above;
use super::markdown_lines::{LineKind, lines};
use super::mermaid;
use super::names::shown;
use super::parts::{Parts, drawn_lines};
use super::phrases::{changes_task, is_refusal};
use super::raw::{RawPlan, RawTask, Reference};
use super::rules::{AMBIGUOUS, NO_TASKS};
use super::written_links::{add_links, add_said_links};
use crate::diagnostic::Diagnostic;
use crate::text::Span;

/// Chooses the part that is the plan, and adds what the text around it says about its tasks.
pub(super) fn choose(mut parts: Parts, text: &str) -> Result<OutlineCandidate, Vec<Diagnostic>> {
    let candidates = std::mem::take(&mut parts.candidates);
    let is_other = |candidate: &&OutlineCandidate| candidate.kind != PartKind::List;
    let plans: Vec<Span> = candidates.iter().filter(is_other).map(|other| other.place).collect();
    if let Some(place) = declines(text).filter(|_| candidates.iter().all(|candidate| !candidate.is_strong)) {
        let found = Diagnostic::new(&NO_TASKS, place, "the answer declines the request, and has no plan");
        let help = "write `Tasks:` before the list if it is one of tasks, and import it again";
        return Err(vec![found.with_help(help)]);
    }
    let mut chosen = chosen(&parts, CandidatesByKind::of(candidates, text), text)?;
    if chosen.error.is_none() {
        chosen.error = changed_afterwards(&chosen, &parts.taken, text);
    }
    let around = part_around(&chosen, &parts.taken);
    add_from_prose(&parts, &mut chosen, text)?;
    let is_block = |span: &&Span| !plans.iter().any(|plan| plan.contains(**span) || span.contains(*plan));
    if chosen.kind == PartKind::List && around.is_none() {
        let blocks = parts.taken.iter().take(MAX_BLOCKS).filter(is_block);
        add_blocks(&mut chosen.plan, blocks, text);
    }
    Ok(chosen)
}

/// Refuses a plan of which a later sentence replaces a task: "Actually, replace step 3".
fn changed_afterwards(chosen: &OutlineCandidate, taken: &[Span], text: &str) -> Option<Diagnostic> {
    let last = chosen.plan.tasks.iter().map(|raw| raw.task.place.end).max()?;
    let lines = lines(text, Span::new(last as usize, text.len()), taken);
    let mut sentences = lines.iter().filter(|line| line.kind == LineKind::Text);
    let line = sentences.find(|line| changes_task(line.text))?;
    let words = shown(line.text, 60);
    let message = format!("the sentence \"{words}\" changes the plan before it, which is not read as changed");
    let found = Diagnostic::new(&AMBIGUOUS, Span::at(line.at), message);
    Some(found.with_help("change the task in the text, remove the sentence, and import it again"))
}

/// Returns the part that is the plan, with the dependencies of graphs of the same tasks.
fn chosen(parts: &Parts, mut kinds: CandidatesByKind, text: &str) -> Result<OutlineCandidate, Vec<Diagnostic>> {
    let labels = Labels {
        text,
        taken: &parts.taken,
    };
    let is_void = |candidate: &OutlineCandidate| {
        candidate.plan.tasks.is_empty() && candidate.cut.is_none() && candidate.error.is_none()
    };
    if let Some(place) = parts.seen.empty.filter(|_| kinds.values.iter().all(is_void)) {
        return Err(vec![empty_list(place, text, &labels)]);
    }
    if kinds.is_empty() {
        return Err(vec![nothing(&parts.seen, text)]);
    }
    let tables_of_links = kinds.take_tables_of_links();
    let lists = kinds.leave_samples_out(&labels);
    let mut chosen = if !kinds.values.is_empty() || !kinds.tables.is_empty() {
        let mut chosen = match kinds.values.is_empty() {
            false => one_of(kinds.values, &labels)?,
            true => joined(kinds.tables, &labels)?,
        };
        compare_with_lists(&mut chosen, &lists, text)?;
        chosen
    } else if let Some((first, second)) = parts.seen.options {
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
fn part_around(candidate: &OutlineCandidate, taken: &[Span]) -> Option<Span> {
    taken.iter().copied().find(|span| span.contains(candidate.place))
}

/// Adds the dependencies and the goal from the text around the tasks.
fn add_from_prose(parts: &Parts, chosen: &mut OutlineCandidate, text: &str) -> Result<(), Vec<Diagnostic>> {
    let around = part_around(chosen, &parts.taken);
    let whole = || lines(text, Span::new(0, text.len()), &parts.taken);
    // The fields of values say more than the prose around them, which may add to them.
    let has_own = chosen.kind == PartKind::Value && chosen.plan.has_dependencies();
    if has_own && chosen.error.is_none() {
        add_said_links(&mut chosen.plan, &whole());
    } else if chosen.kind != PartKind::Graph && chosen.error.is_none() {
        let own = around.filter(|_| chosen.kind != PartKind::Value);
        let mut lines = own.map_or_else(whole, |part| lines(text, part, &[]));
        let drawn = parts.drawn.iter().filter(|part| around != Some(**part));
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
        plan.link(&[owner], &raw.dependencies.unwrap_or_default());
    }
}

/// Returns the first line of an answer where it declines the request.
fn declines(text: &str) -> Option<Span> {
    let start = text.len() - text.trim_start().len();
    let line = text.get(start..)?.lines().next()?;
    is_refusal(line).then(|| Span::new(start, start + line.len()))
}

/// How many lists are compared with values and tables.
const MAX_LISTS: usize = 16;

/// How many blocks are added to the tasks above them.
const MAX_BLOCKS: usize = 200;

/// Adds blocks of code to the tasks above them: between two tasks, or indented.
fn add_blocks<'s>(plan: &mut RawPlan, blocks: impl Iterator<Item = &'s Span>, text: &str) {
    let last = plan.tasks.iter().map(|raw| raw.task.place.start).max().unwrap_or(0);
    for block in blocks {
        let before = text.get(..block.start as usize).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
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
