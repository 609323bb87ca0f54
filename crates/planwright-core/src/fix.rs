//! Applies the fixes that findings carry, if the text then has fewer findings and no other value changes.
//!
//! ```
//! use planwright_core::diagnostic::Safety;
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::fix::fix;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(r#"{"goal": "Try it", "tasks": [{"id": "t1", "description": "Read", "deps": [],}]}"#);
//! let facts = DiskFacts::default();
//! let fixed = fix(&text, &Choice::by_content(&facts), Safety::Safe);
//! assert_eq!(
//!     fixed.source.as_str(),
//!     r#"{"goal": "Try it", "tasks": [{"id": "t1", "description": "Read", "depends_on": []}]}"#
//! );
//! assert_eq!(fixed.applied.len(), 2);
//! ```

use crate::check::rules;
use crate::diagnostic::{Diagnostic, Replacement, Safety, Severity};
use crate::dialect::{CarrierKind, Choice, DiskFacts};
use crate::document::{Document, NodeKind, NodeRef, json, yaml};
use crate::inspect::{Inspection, inspect};
use crate::text::{SourceText, Span};

/// The result of fixing a text.
pub struct Fixed {
    /// The new text; the old one if no fix was applied.
    pub source: SourceText,
    /// The applied fixes, in order: the rule and the fix's own title.
    pub applied: Vec<Applied>,
    /// How many fixes were rejected because they would do harm.
    pub n_refused: usize,
}

/// One fix that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The rule whose finding it fixes.
    pub rule: &'static str,
    /// Its title.
    pub title: String,
    /// The line where it was applied, in the text at that time.
    pub line: usize,
}

/// One fix can reveal another; this many rounds are enough for any real file.
const MAX_ROUNDS: usize = 8;

/// How often one round inspects the text again to find out which fixes do harm.
const MAX_ATTEMPTS: usize = 24;

/// Applies fixes up to the given safety until none is left. Does not ask for other files: the text alone decides, even if it names other
/// files once it is readable.
pub fn fix(source: &SourceText, choice: &Choice<'_>, safety: Safety) -> Fixed {
    let mut fixed = Fixed {
        source: source.clone(),
        applied: Vec::new(),
        n_refused: 0,
    };
    // A text that is not UTF-8 must not be written back.
    if source.damage().is_some() {
        return fixed;
    }
    let facts = DiskFacts {
        neighbours: choice.facts.neighbours.clone(),
        ..DiskFacts::default()
    };
    let choice = &Choice {
        facts: &facts,
        ..*choice
    };
    for _ in 0..MAX_ROUNDS {
        let before = inspect(&fixed.source, choice);
        let candidates = candidates(&before.diagnostics, safety);
        if candidates.is_empty() {
            break;
        }
        let n_applied = fixed.applied.len();
        fixed.n_refused = 0;
        round(&mut fixed, &before, &candidates, choice);
        if fixed.applied.len() == n_applied {
            break;
        }
    }
    fixed
}

/// Returns findings whose fixes do not overlap, the first ones in the text preferred.
fn candidates(diagnostics: &[Diagnostic], safety: Safety) -> Vec<&Diagnostic> {
    let mut taken: Vec<Span> = Vec::new();
    let mut chosen = Vec::new();
    let may_apply = |found: &Diagnostic| {
        found
            .fix
            .as_ref()
            .is_some_and(|fix| safety == Safety::Unsafe || fix.safety == Safety::Safe)
    };
    for diagnostic in diagnostics.iter().filter(|diagnostic| may_apply(diagnostic)) {
        let edits = diagnostic.fix.iter().flat_map(|fix| &fix.edits);
        let spans: Vec<Span> = edits.map(|edit| edit.span).collect();
        // Findings are in order, so only the last accepted one can overlap a later one.
        let clashes = spans
            .iter()
            .any(|&span| taken.iter().rev().take(64).any(|&other| touches(span, other)));
        if !clashes {
            taken.extend(spans);
            chosen.push(diagnostic);
        }
    }
    chosen
}

fn touches(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// Applies as many candidates as are harmless together: all at once, otherwise by halves.
fn round(fixed: &mut Fixed, before: &Inspection, candidates: &[&Diagnostic], choice: &Choice<'_>) {
    let mut kept: Vec<&Diagnostic> = Vec::new();
    let mut attempts = MAX_ATTEMPTS;
    let mut parts = vec![candidates];
    while let Some(part) = parts.pop() {
        if attempts == 0 {
            fixed.n_refused += part.len();
            continue;
        }
        attempts -= 1;
        let n_kept = kept.len();
        kept.extend(part);
        match attempt(before, &kept, choice) {
            Some(text) => fixed.source = text,
            None => {
                kept.truncate(n_kept);
                match part {
                    [_] => fixed.n_refused += 1,
                    _ => {
                        let (first, second) = part.split_at(part.len() / 2);
                        parts.extend([second, first]);
                    }
                }
            }
        }
    }
    record(fixed, before, &kept);
}

fn record(fixed: &mut Fixed, before: &Inspection, diagnostics: &[&Diagnostic]) {
    let index = before.source.line_index();
    for diagnostic in diagnostics {
        if let Some(fix) = &diagnostic.fix {
            fixed.applied.push(Applied {
                rule: diagnostic.rule.id,
                title: fix.title.clone(),
                line: diagnostic.span.map_or(1, |span| index.position(span.start).line),
            });
        }
    }
}

/// Returns the text after the fixes, if it is better and otherwise unchanged.
fn attempt(before: &Inspection, diagnostics: &[&Diagnostic], choice: &Choice<'_>) -> Option<SourceText> {
    let mut edits: Vec<&Replacement> = diagnostics
        .iter()
        .filter_map(|found| found.fix.as_ref())
        .flat_map(|fix| &fix.edits)
        .collect();
    edits.sort_by_key(|edit| edit.span);
    let (text, inserted) = apply(before.source.as_str(), &edits)?;
    let after = inspect(&SourceText::new(text), choice);
    let is_better = quality(&after) < quality(before);
    let removed: Vec<Span> = edits.iter().map(|edit| edit.span).collect();
    (is_better && same_elsewhere(before, &removed, &after, &inserted)).then_some(after.source)
}

/// Returns a measure of a text's errors: errors of its form come first, and only then the graph. A dependency that was lost under a wrong
/// name may turn out to be on an unknown task, which is better than a lost one.
fn quality(inspection: &Inspection) -> [usize; 4] {
    let mut counts = [0; 4];
    for found in &inspection.diagnostics {
        let about_graph = rules::ALL.contains(&found.rule);
        let is_error = found.severity == Severity::Error;
        for (ix, counted) in [!about_graph && is_error, !about_graph, is_error, true]
            .into_iter()
            .enumerate()
        {
            counts[ix] += usize::from(counted);
        }
    }
    counts
}

/// Returns the new text and the spans of the replacements in it; none if they overlap.
fn apply(text: &str, edits: &[&Replacement]) -> Option<(String, Vec<Span>)> {
    let mut out = String::with_capacity(text.len());
    let mut inserted = Vec::with_capacity(edits.len());
    let mut at = 0;
    for edit in edits {
        let range = edit.span.range();
        out.push_str(text.get(at..range.start)?);
        let start = out.len();
        out.push_str(&edit.text);
        inserted.push(Span::new(start, out.len()));
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some((out, inserted))
}

/// Returns whether every value outside of the edits still exists, in the same order.
fn same_elsewhere(before: &Inspection, removed: &[Span], after: &Inspection, inserted: &[Span]) -> bool {
    let (Some(old), Some(new)) = (document_of(before), document_of(after)) else {
        return true;
    };
    untouched(&old, removed) == untouched(&new, inserted)
}

/// Parses the carrier again: an inspection has the plan, but not the document.
fn document_of(inspection: &Inspection) -> Option<Document> {
    let source = &inspection.source;
    match inspection.carrier? {
        (CarrierKind::Json, span) if span == source.span() => Some(json::parse(source).document),
        (CarrierKind::Json, span) => Some(json::parse_span(source, span).document),
        (CarrierKind::Yaml, _) => Some(yaml::parse(source).document),
        (CarrierKind::Markdown, _) => match inspection.dialect?.notation() {
            Some(notation) => Some(notation(source, None).parse(source).document),
            None => Some(inspection.dialect?.embedded()?.document(source)?.document),
        },
    }
}

fn untouched(document: &Document, touched: &[Span]) -> Vec<(NodeKind, String)> {
    let is_scalar = |node: &NodeRef<'_>| !matches!(node.kind(), NodeKind::Object | NodeKind::Array | NodeKind::Invalid);
    let is_free = |node: &NodeRef<'_>| {
        let span = node.span();
        let next = touched.partition_point(|edit| edit.end <= span.start);
        touched.get(next).is_none_or(|edit| edit.start >= span.end)
    };
    let nodes = document.nodes().filter(is_scalar).filter(is_free);
    nodes.map(|node| (node.kind(), node.value().into_owned())).collect()
}
