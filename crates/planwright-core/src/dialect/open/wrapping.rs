//! Wrappings of a plan, such as prose, a code fence or an object, and the fixes that remove them.

use super::super::rules::{PLAN_IN_PROSE, WRAPPED_PLAN};
use super::super::{CarrierKind, Dialect, DialectInput};
use super::choice::{Choice, begins_as_json, best_fit, named};
use crate::diagnostic::{Diagnostic, Replacement, Severity};
use crate::document::{NodeKind, NodeRef, Parsed, Style, yaml};
use crate::text::{SourceText, Span, visible};

/// Returns the span of JSON inside prose or a code fence; none if the text is only JSON. Not `outline/json_in_text`, which reads the best
/// plan of an answer: this is clido's rule, and the same part must be read.
pub(super) fn json_in_prose(source: &SourceText) -> Option<Span> {
    let start = source.bom_len();
    let text = &source.as_str()[start..];
    if begins_as_json(text) {
        return None;
    }
    let inner = |from: usize| {
        // The closing fence is at the start of a line; three backticks inside a string do not close.
        let at_line = text[from..].find("\n```").map(|at| at + 1);
        let to = from + at_line.or_else(|| text[from..].find("```"))?;
        let inside = &text[from..to];
        let lead = inside.len() - inside.trim_start().len();
        Some((from + lead, from + inside.trim_end().len().max(lead)))
    };
    let fenced_json = text.find("```json").and_then(|at| inner(at + 7));
    let fenced = || {
        let (from, to) = text.find("```").and_then(|at| inner(at + 3))?;
        text[from..to].starts_with('{').then_some((from, to))
    };
    let braces = || {
        let (from, to) = (text.find('{')?, text.rfind('}')? + 1);
        (from < to).then_some((from, to))
    };
    let (from, to) = fenced_json.or_else(fenced).or_else(braces)?;
    Some(Span::new(start + from, start + to))
}

/// Reports a plan inside other text. The fix is safe only if it removes nothing but white space and fences.
pub(super) fn prose_finding(parsed: &Parsed, inside: Span, choice: &Choice<'_>, dialect: &dyn Dialect) -> Diagnostic {
    let source = parsed.document.source();
    let around = [
        Span::new(0, inside.start as usize),
        Span::new(inside.end as usize, source.len()),
    ];
    let newline = if source.as_str().ends_with('\n') {
        source.newline().as_str()
    } else {
        ""
    };
    let first = source.slice(inside).chars().next().map_or(0, char::len_utf8);
    let diagnostic = Diagnostic::new(
        &PLAN_IN_PROSE,
        Span::new(inside.start as usize, inside.start as usize + first),
        "the plan is inside other text",
    );
    let diagnostic = if dialect.reads_prose() {
        diagnostic
            .with_severity(Severity::Note)
            .with_help("its tool imports such text; a stored plan is the JSON alone")
    } else {
        diagnostic.with_help("remove the text around it")
    };
    // The end of a plan that does not parse is uncertain.
    if !parsed.diagnostics.is_empty() {
        return diagnostic;
    }
    let title = "keep the plan, remove the text around it";
    let edits = vec![Replacement::delete(around[0]), Replacement::new(around[1], newline)];
    let fixed = diagnostic.clone().with_safe_fix(title, edits.clone());
    if fixed.dropped_content(source).is_none() {
        return fixed;
    }
    match is_document(source, choice) {
        true if dialect.reads_prose() => {
            diagnostic.with_help("`planwright import FILE` writes the plan to a file of its own")
        }
        true => diagnostic.with_help("copy the plan to a file of its own"),
        false => diagnostic.with_unsafe_fix(title, edits),
    }
}

/// Returns whether the text around a plan is a document in its own format: a Markdown page, or valid YAML.
fn is_document(source: &SourceText, choice: &Choice<'_>) -> bool {
    match named(choice.path) {
        Some(CarrierKind::Markdown) => true,
        Some(CarrierKind::Json) => false,
        Some(CarrierKind::Yaml) | None => {
            let parsed = yaml::parse(source);
            let is_object = parsed
                .document
                .root()
                .is_some_and(|root| root.kind() == NodeKind::Object);
            is_object && parsed.diagnostics.is_empty()
        }
    }
}

/// Keys with which language models wrap a whole plan.
const WRAPPERS: &[&str] = &[
    "plan",
    "prd",
    "tasks",
    "data",
    "result",
    "output",
    "response",
    "json",
    "task_graph",
    "tasksJson",
];

/// Returns the plan inside `{"plan": { … }}`, if the outer object is no plan and the inner one is.
pub(super) fn wrapped<'a>(root: NodeRef<'a>, input: &DialectInput<'a>, choice: &Choice<'_>) -> Option<NodeRef<'a>> {
    if root.kind() != NodeKind::Object || best_fit(input, choice) > 0 {
        return None;
    }
    let mut candidates = root.members().filter(|member| {
        let is_wrapper = WRAPPERS.iter().any(|name| member.key.is_text(name));
        is_wrapper && member.value.resolved().kind() == NodeKind::Object
    });
    let inner = candidates.next()?.value.resolved();
    let inside = DialectInput {
        root: Some(inner),
        ..*input
    };
    (candidates.next().is_none() && best_fit(&inside, choice) > 0).then_some(inner)
}

pub(super) fn unwrapping(outer: NodeRef<'_>, inner: NodeRef<'_>) -> Diagnostic {
    let key = outer
        .members()
        .find(|member| member.value.resolved().row() == inner.row())
        .map(|member| member.key);
    let name = key.map_or(String::new(), |key| visible(&key.value()).into_owned());
    let span = key.map_or(outer.span(), NodeRef::span);
    let (outer_span, inner_span) = (outer.span(), inner.span());
    let mut edits = vec![
        Replacement::delete(Span::new(outer_span.start as usize, inner_span.start as usize)),
        Replacement::delete(Span::new(inner_span.end as usize, outer_span.end as usize)),
    ];
    edits.extend(dedent(inner));
    let diagnostic = Diagnostic::new(&WRAPPED_PLAN, span, format!("the plan is wrapped in `{name}`"))
        .with_help("put the plan at the root of the file");
    if outer.members().count() == 1 {
        diagnostic.with_safe_fix("remove the wrapper", edits)
    } else {
        diagnostic.with_unsafe_fix("remove the wrapper and what stands next to the plan", edits)
    }
}

/// Reduces the indentation of a collection's lines: for a block by that of its first line, for braces by that of the closing brace's line.
fn dedent(inner: NodeRef<'_>) -> Vec<Replacement> {
    let source = inner.document().source();
    let span = inner.span();
    let measured = match inner.style() {
        Style::Block => span.start as usize,
        // If the closing brace is missing, any character may be there.
        _ => source
            .as_str()
            .floor_char_boundary((span.end as usize).saturating_sub(1)),
    };
    let line = &source.as_str()[source.line_start(measured)..measured];
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    if inner.style() != Style::Block && !line.bytes().all(|byte| is_space(&byte)) {
        return Vec::new();
    }
    let mut edits = Vec::new();
    let mut at = span.start as usize;
    for text in source.slice(span).split_inclusive('\n') {
        at += text.len();
        let next = &source.as_str().as_bytes()[at..span.end as usize];
        let n_spaces = next.iter().take_while(|byte| is_space(byte)).count().min(line.len());
        if text.ends_with('\n') && n_spaces > 0 {
            edits.push(Replacement::delete(Span::new(at, at + n_spaces)));
        }
    }
    edits
}
