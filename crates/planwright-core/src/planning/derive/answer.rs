//! Reads a planner's answer for a pack: the block of JSON, and its tasks. Changes nothing except white space around texts.

use super::super::answer::{AnswerCandidate, candidates};
use super::super::draft::hopeless;
use super::rules::{ANSWER, UNKNOWN_FIELD};
use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::task_pack::derived_layout::{Orientation, PlannerAnswer};
use crate::dialect::task_pack::fields;
use crate::dialect::task_pack::task::PackTask;
use crate::dialect::writer::{cut, one_line};
use crate::document::patch::PlainValue;
use crate::document::rules::{JSON_COMMENT, JSON_SURROGATE, JSON_TRAILING_COMMA};
use crate::document::{NodeKind, NodeRef, Parsed, json};
use crate::text::{SourceText, visible};

/// How many syntax findings about an answer are reported.
const MAX_SLIPS: usize = 20;

impl PlannerAnswer {
    /// Reads an answer, or reports why it is unusable. Of several blocks with tasks the last one counts, as in all planners' answers.
    pub(super) fn read(answer: &str) -> Result<PlannerAnswer, Vec<Diagnostic>> {
        if let Some(unusable) = hopeless(answer) {
            return Err(unusable.findings);
        }
        let mut broken = None;
        let is_json = |candidate: &AnswerCandidate| candidate.text.trim_start().starts_with(['{', '[']);
        for candidate in candidates(answer).into_iter().filter(is_json) {
            let parsed = json::parse(&SourceText::new(candidate.text));
            if let Some(holder) = parsed.document.root().and_then(holder_of) {
                sound(&parsed)?;
                let reasoning = plain(&candidate.reasoning);
                return Ok(PlannerAnswer {
                    reasoning,
                    ..PlannerAnswer::of(holder)
                });
            }
            broken = broken.or_else(|| sound(&parsed).err());
        }
        let nothing = || {
            vec![finding(
                "the answer holds no JSON object with a list `tasks`",
                "answer with one block of JSON: {\"tasks\": […]}",
            )]
        };
        Err(broken.unwrap_or_else(nothing))
    }

    fn of(holder: NodeRef<'_>) -> PlannerAnswer {
        let tasks = match holder.kind() {
            NodeKind::Array => Some(holder),
            _ => holder.get("tasks"),
        };
        let texts = |key: &str| texts_of(holder.get(key));
        let mut answer = PlannerAnswer {
            sections: texts("source_sections"),
            uncovered: uncovered_of(holder.get("uncovered")),
            unknowns: texts("unknowns"),
            orientation: holder.get("orientation").map(orientation_of).unwrap_or_default(),
            ..PlannerAnswer::default()
        };
        for task in tasks.into_iter().flat_map(NodeRef::elements) {
            answer.read_task(task);
        }
        answer
    }

    fn read_task(&mut self, task: NodeRef<'_>) {
        let mut read = PackTask::default();
        let mut unknown = Vec::new();
        for member in task.own_members() {
            let Some(name) = fields::find(|name| member.key.is_text(name)) else {
                unknown.push(cut(&one_line(&visible(&member.key.value())), 40));
                continue;
            };
            let value = tidy(PlainValue::of(member.value));
            if name != "wave" && !is_absent(name, &value) {
                read.set(name, value);
            }
        }
        if !unknown.is_empty() {
            let id = match read.get("task_id") {
                Some(PlainValue::String(id)) => format!("task `{}`", visible(id)),
                _ => "a task".to_owned(),
            };
            let message = format!("{id} has fields that packs do not have: {}", unknown.join(", "));
            self.warnings
                .push(Diagnostic::of_file(&UNKNOWN_FIELD, message).with_help("they are left out of the pack"));
        }
        self.tasks.push(read);
    }
}

/// Returns the object, or the list, with the tasks: the outermost, or the only one inside it.
fn holder_of(root: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let is_task = |node: NodeRef<'_>| node.kind() == NodeKind::Object && node.get("task_id").is_some();
    if root.kind() == NodeKind::Array {
        return root.elements().next().filter(|first| is_task(*first)).map(|_| root);
    }
    let has_tasks = |node: NodeRef<'_>| node.get("tasks").is_some_and(|tasks| tasks.kind() == NodeKind::Array);
    if root.kind() != NodeKind::Object || has_tasks(root) {
        return Some(root).filter(|root| root.kind() == NodeKind::Object);
    }
    let mut inner = root.own_members().map(|member| member.value);
    let found = inner.find(|value| value.kind() == NodeKind::Object && has_tasks(*value))?;
    Some(found)
}

fn finding(message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic::of_file(&ANSWER, message).with_help(help)
}

/// Returns the errors that make a block unusable. Errors with only one possible reading do not.
fn sound(parsed: &Parsed) -> Result<(), Vec<Diagnostic>> {
    let harmless = [&JSON_TRAILING_COMMA, &JSON_COMMENT, &JSON_SURROGATE];
    let index = parsed.document.source().line_index();
    let slips: Vec<Diagnostic> = parsed
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error && !harmless.contains(&found.rule))
        .take(MAX_SLIPS)
        .map(|found| {
            let line = found.span.map_or(0, |span| index.position(span.start).line);
            finding(
                format!(
                    "the JSON of the answer is broken: {} (line {line} of the block)",
                    found.message
                ),
                "answer with the whole block again",
            )
        })
        .collect();
    match slips.is_empty() {
        true => Ok(()),
        false => Err(slips),
    }
}

/// Returns a value without white space around its texts, and without control characters.
fn tidy(value: PlainValue) -> PlainValue {
    match value {
        PlainValue::String(text) => PlainValue::String(plain(&text)),
        PlainValue::Array(items) => PlainValue::Array(items.into_iter().map(tidy).collect()),
        other => other,
    }
}

fn plain(text: &str) -> String {
    let kept = text.chars().filter(|&c| c == '\n' || c == '\t' || !c.is_control());
    kept.collect::<String>().trim().to_owned()
}

/// Returns whether an optional field is empty.
fn is_absent(name: &str, value: &PlainValue) -> bool {
    let is_empty = match value {
        PlainValue::Null => true,
        PlainValue::String(text) => text.is_empty(),
        PlainValue::Array(items) => items.is_empty(),
        _ => false,
    };
    is_empty && !fields::is_required(name)
}

fn texts_of(node: Option<NodeRef<'_>>) -> Vec<String> {
    let texts = node.into_iter().flat_map(NodeRef::elements).filter_map(NodeRef::text);
    texts.map(|text| plain(&text)).filter(|text| !text.is_empty()).collect()
}

fn text_of(node: Option<NodeRef<'_>>) -> Option<String> {
    let text = plain(&node?.text()?);
    (!text.is_empty()).then_some(text)
}

/// Returns the units that are omitted on purpose, with a reason from the schema.
fn uncovered_of(list: Option<NodeRef<'_>>) -> Vec<(String, String)> {
    let items = list.into_iter().flat_map(NodeRef::elements);
    let reasons = items.filter_map(|item| {
        let why = text_of(item.get("why"))?.to_lowercase();
        let known = ["non-goal", "already satisfied", "deferred"];
        let why = known.into_iter().find(|known| why.starts_with(known))?;
        Some((text_of(item.get("ref"))?, why.to_owned()))
    });
    reasons.collect()
}

fn orientation_of(node: NodeRef<'_>) -> Orientation {
    let one_of = |key: &str, known: &[&str]| {
        let text = text_of(node.get(key))?;
        known.contains(&text.as_str()).then_some(text)
    };
    Orientation {
        provider: one_of("provider", &["direct-repo-reads", "lsp", "mixed", "skipped"]),
        posture: one_of("posture", &["bounded", "degraded", "skipped-small-plan", "unavailable"]),
        evidence: texts_of(node.get("evidence_refs")),
        limitations: texts_of(node.get("limitations")),
    }
}
