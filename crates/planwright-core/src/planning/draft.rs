//! From a planner's answer to a plan that can be stored, or to the findings that prevent it.
//!
//! ```
//! use planwright_core::convert::PlanningRequest;
//! use planwright_core::dialect::find;
//! use planwright_core::dialect::id_source::IdSource;
//! use planwright_core::planning::draft::{draft, finding_list};
//!
//! let clido = find("clido").expect("a known dialect");
//! let wish = PlanningRequest {
//!     goal: "Try it",
//!     ..PlanningRequest::default()
//! };
//! let mut fresh = || 1;
//! let mut id_source = IdSource::new("2026-03-22T10:00:00Z", &mut fresh);
//!
//! let answer = r#"One task will do: {"goal": "?", "tasks": [{"id": "t1", "description": "Read"}]}"#;
//! let drafted = draft(answer, clido, &wish, &mut id_source).expect("there is a plan in it");
//! assert!(drafted.text.contains("\"goal\": \"Try it\""));
//! assert_eq!(drafted.reasoning, "One task will do:");
//!
//! let silent = r#"{"goal": "?", "tasks": [{"id": "t1"}]}"#;
//! let unusable = draft(silent, clido, &wish, &mut id_source).expect_err("it does not say what to do");
//! assert!(finding_list(&unusable.text, &unusable.findings).contains("has no `description`"));
//! ```

use super::answer::{AnswerCandidate, MAX_ANSWER_BYTES, candidates, is_sound_yaml};
use crate::convert::rules::{CHANGED, REFUSED};
use crate::convert::{ConversionOptions, Imported, LossKind, PlanningRequest, adopt, convert};
use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::id_source::IdSource;
use crate::dialect::{Choice, Dialect, DiskFacts};
use crate::inspect::{Inspection, LinkedPlan, inspect, inspect_as};
use crate::outline;
use crate::text::SourceText;

/// How many findings a planner's prompt lists.
const MAX_LISTED: usize = 40;

/// A plan that a planner made.
#[derive(Debug)]
pub struct Drafted {
    /// The text, as the dialect's tool stores it.
    pub text: String,
    /// Notes for the user, none of them an error. They have no spans: those were in the answer.
    pub notes: Vec<Diagnostic>,
    /// The planner's reason for the plan.
    pub reasoning: String,
    /// The planner's own summary of its changes.
    pub changes: Option<String>,
}

/// An answer without a usable plan.
#[derive(Debug)]
pub struct Unusable {
    /// The part of the answer that is closest to a plan.
    pub text: String,
    /// Its errors.
    pub findings: Vec<Diagnostic>,
    /// The text around it.
    pub reasoning: String,
}

/// Creates a plan from an answer.
pub fn draft(
    answer: &str,
    dialect: &'static dyn Dialect,
    wish: &PlanningRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<Drafted, Unusable> {
    if let Some(unusable) = hopeless(answer) {
        return Err(unusable);
    }
    let mut best: Option<Unusable> = None;
    for AnswerCandidate {
        text,
        reasoning,
        changes,
    } in candidates(answer)
    {
        match adopt(&text, dialect, wish, id_source) {
            Ok(_) if let Some(message) = left_out(answer, &text, dialect) => {
                best = Some(Unusable {
                    reasoning,
                    ..refused(&text, message.to_owned())
                });
                break;
            }
            Ok(imported) => {
                return Ok(Drafted {
                    text: imported.text,
                    notes: imported.notes.into_iter().map(Diagnostic::without_places).collect(),
                    reasoning,
                    changes,
                });
            }
            Err(findings) => {
                let unusable = Unusable {
                    text,
                    findings,
                    reasoning,
                };
                // The last candidate counts: one with tasks is the intended plan, and no earlier one replaces it.
                let is_meant = n_tasks_of(&unusable.text, dialect) > 0;
                best = Some(match best {
                    Some(best) if !is_nearer(&unusable, &best, dialect) => best,
                    _ => unusable,
                });
                if is_meant {
                    break;
                }
            }
        }
    }
    let mut best = best.unwrap_or_else(|| refused(answer, "there is no plan in the answer".to_owned()));
    let Some(other) = plan_of_another(&best.text, dialect) else {
        return Err(best);
    };
    match converted(&other, dialect, wish, id_source) {
        Some(imported) => Ok(Drafted {
            text: imported.text,
            notes: imported.notes.into_iter().map(Diagnostic::without_places).collect(),
            reasoning: best.reasoning,
            changes: None,
        }),
        None => {
            let message = format!(
                "this is a plan of the dialect `{}`, and not of `{}`",
                other.dialect_name().unwrap_or_default(),
                dialect.name()
            );
            best.findings.insert(0, Diagnostic::of_file(&REFUSED, message));
            Err(best)
        }
    }
}

/// Converts a plan of another dialect, which may be as bare as planners write it; none if that is not possible.
fn converted(
    other: &Inspection,
    dialect: &'static dyn Dialect,
    wish: &PlanningRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Option<Imported> {
    if dialect.planning()?.derived_by.is_some() {
        return None;
    }
    let bare = adopt(other.source.as_str(), other.dialect?, wish, id_source).ok()?;
    let whole = inspect_as(&SourceText::new(bare.text), other.dialect?);
    let own = convert(&whole, dialect, &ConversionOptions::default(), id_source).ok()?;
    let mut adopted = adopt(&own.text, dialect, wish, id_source).ok()?;
    let plan = &whole.plan.as_ref()?.plan;
    let message = format!(
        "the answer is a plan of the dialect `{}`, and was converted to `{}`",
        plan.dialect,
        dialect.name()
    );
    let losses = own.losses.iter().filter(|loss| loss.kind == LossKind::Lost);
    let notes = std::iter::once(Diagnostic::of_file(&CHANGED, message).with_severity(Severity::Note))
        .chain(losses.map(|loss| loss.to_diagnostic(plan)));
    adopted.notes.splice(0..0, notes);
    Some(adopted)
}

/// Returns why a list without a marker line is not the whole plan of an answer: it may be an example in it, or a part of one of its texts.
fn left_out(answer: &str, list: &str, dialect: &'static dyn Dialect) -> Option<&'static str> {
    if dialect.notation().is_none() || dialect.is_marked(list) {
        return None;
    }
    if is_sound_yaml(list.trim()) {
        return Some("the answer has more than boxes: they are in the texts of its data");
    }
    match outline::read(&SourceText::new(answer), false) {
        Ok(whole) if whole.tasks.len() > n_tasks_of(list, dialect) => {
            Some("the answer has more tasks than this list of it")
        }
        Err(found) if found.iter().any(|found| found.rule.id == outline::rules::TWO_PLANS.id) => {
            Some("the answer has more lists than this one")
        }
        _ => None,
    }
}

/// Returns why an answer is not examined at all.
pub(super) fn hopeless(answer: &str) -> Option<Unusable> {
    let message = match answer.len() {
        _ if answer.trim().is_empty() => "the answer is empty".to_owned(),
        n_bytes if n_bytes > MAX_ANSWER_BYTES => {
            format!("the answer has {n_bytes} bytes, and may have {MAX_ANSWER_BYTES}")
        }
        _ => return None,
    };
    let start = answer.get(..answer.floor_char_boundary(MAX_ANSWER_BYTES.min(answer.len())));
    Some(refused(start.unwrap_or(""), message))
}

fn refused(text: &str, message: String) -> Unusable {
    Unusable {
        text: text.to_owned(),
        findings: vec![Diagnostic::of_file(&REFUSED, message)],
        reasoning: String::new(),
    }
}

/// Returns how many tasks a text has as a plan of a dialect, valid or not.
pub(super) fn n_tasks_of(text: &str, dialect: &'static dyn Dialect) -> usize {
    let inspection = inspect_as(&SourceText::new(text), dialect);
    inspection.plan.map_or(0, |linked| linked.plan.tasks().len())
}

/// Returns whether one text is closer to a plan than another: by its tasks first, then by its findings.
fn is_nearer(one: &Unusable, other: &Unusable, dialect: &'static dyn Dialect) -> bool {
    let n_tasks = |unusable: &Unusable| n_tasks_of(&unusable.text, dialect);
    let rank = |unusable: &Unusable| (n_tasks(unusable), std::cmp::Reverse(unusable.findings.len()));
    rank(one) > rank(other)
}

/// Inspects a text if it is a plan with tasks of another dialect than the requested one.
fn plan_of_another(text: &str, wanted: &dyn Dialect) -> Option<Inspection> {
    let facts = DiskFacts::default();
    let inspection = inspect(&SourceText::new(text), &Choice::by_content(&facts));
    let is_other = inspection.dialect_name().is_some_and(|name| name != wanted.name());
    let has_tasks = |linked: &LinkedPlan| !linked.plan.tasks().is_empty();
    (is_other && inspection.plan.as_ref().is_some_and(has_tasks)).then_some(inspection)
}

/// Returns findings for a planner's prompt: one per line, with their locations in the text.
pub fn finding_list(text: &str, findings: &[Diagnostic]) -> String {
    let source = SourceText::new(text);
    let index = source.line_index();
    let mut out = String::new();
    for finding in findings.iter().take(MAX_LISTED) {
        let place = finding.span.map_or_else(String::new, |span| {
            let at = index.position(span.start);
            format!("line {}, column {}: ", at.line, at.column)
        });
        out.push_str(&format!("- {place}{} [{}]", finding.message, finding.rule.id));
        if !finding.help.is_empty() {
            out.push_str(&format!(" ({})", finding.help));
        }
        out.push('\n');
    }
    if findings.len() > MAX_LISTED {
        out.push_str(&format!("- and {} more\n", findings.len() - MAX_LISTED));
    }
    out
}
