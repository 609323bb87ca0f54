//! The shapes of JSON output. Each carries a schema version; fields are added, never changed.

mod values;

use planwright_core::diagnostic::{Diagnostic, Related, Safety};
use planwright_core::plan::PlanProgress;
use planwright_core::text::{LineIndex, Span};
use serde::Serialize;

pub use self::values::{Members, Written};
use crate::failure::Failure;

/// The output of every failed verb with `--json`.
#[derive(Serialize)]
pub struct ErrorReport {
    pub schema_version: &'static str,
    pub error: ErrorBody,
}

#[derive(Default, Serialize)]
pub struct ErrorBody {
    pub exit_status: u8,
    pub message: String,
    /// The next step for the user; may be empty.
    pub help: String,
    /// The file that it concerns, if it has a place or findings in it.
    pub path: Option<String>,
    pub range: Option<RangeReport>,
    pub diagnostics: Vec<DiagnosticReport>,
}

impl ErrorBody {
    pub fn of(failure: &Failure) -> Self {
        let first = failure.evidence.first();
        let index = first.map(|evidence| evidence.source.line_index());
        let place = first.and_then(|evidence| evidence.span).zip(index.as_ref());
        let reports = failure.evidence.iter().flat_map(|evidence| {
            let index = evidence.source.line_index();
            let found = evidence.findings.iter();
            found
                .map(|found| DiagnosticReport::new(found, &index))
                .collect::<Vec<_>>()
        });
        ErrorBody {
            exit_status: failure.exit as u8,
            message: failure.message.clone(),
            help: failure.help.clone(),
            path: first.map(|evidence| evidence.path.clone()),
            range: place.map(|(span, index)| RangeReport::new(span, index)),
            diagnostics: reports.collect(),
        }
    }
}

impl ErrorReport {
    pub fn new(error: ErrorBody) -> Self {
        ErrorReport {
            schema_version: "planwright.error/v1",
            error,
        }
    }
}

#[derive(Serialize)]
pub struct DiagnosticReport {
    pub id: &'static str,
    pub severity: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// The original tool's own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    pub range: Option<RangeReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<RelatedReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<FixReport>,
}

#[derive(Serialize)]
pub struct RangeReport {
    pub start: PositionReport,
    pub end: PositionReport,
}

/// A position, in every unit that readers use.
#[derive(Serialize)]
pub struct PositionReport {
    pub line: usize,
    pub column: usize,
    pub utf16_column: usize,
    pub byte: u32,
}

/// Another range of a finding.
#[derive(Serialize)]
pub struct RelatedReport {
    pub message: String,
    pub range: RangeReport,
}

#[derive(Serialize)]
pub struct FixReport {
    pub title: String,
    pub safe: bool,
    pub edits: Vec<FixEditReport>,
}

/// A text that replaces a range.
#[derive(Serialize)]
pub struct FixEditReport {
    pub range: RangeReport,
    pub text: String,
}

impl RangeReport {
    pub fn new(span: Span, index: &LineIndex<'_>) -> Self {
        let position = |at: u32| {
            let position = index.position(at);
            PositionReport {
                line: position.line,
                column: position.column,
                utf16_column: position.utf16_column,
                byte: at,
            }
        };
        RangeReport {
            start: position(span.start),
            end: position(span.end),
        }
    }
}

impl DiagnosticReport {
    pub fn new(diagnostic: &Diagnostic, index: &LineIndex<'_>) -> Self {
        let related = |related: &Related| RelatedReport {
            message: related.message.clone(),
            range: RangeReport::new(related.span, index),
        };
        DiagnosticReport {
            id: diagnostic.rule.id,
            severity: diagnostic.severity.as_str(),
            message: diagnostic.message.clone(),
            label: diagnostic.label.clone(),
            help: diagnostic.help.clone(),
            origin: diagnostic.origin.clone(),
            range: diagnostic.span.map(|span| RangeReport::new(span, index)),
            related: diagnostic.related.iter().map(related).collect(),
            fix: diagnostic.fix.as_ref().map(|fix| FixReport {
                title: fix.title.clone(),
                safe: fix.safety == Safety::Safe,
                edits: fix
                    .edits
                    .iter()
                    .map(|edit| FixEditReport {
                        range: RangeReport::new(edit.span, index),
                        text: edit.text.clone(),
                    })
                    .collect(),
            }),
        }
    }
}

#[derive(Serialize)]
pub struct PlanOverview {
    pub path: String,
    pub dialect: &'static str,
    pub form: &'static str,
    pub title: String,
    /// The order of tasks without dependencies, if the dialect has a choice: `strict`, `phases` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    pub status: Option<String>,
    /// Where the states of the tasks are stored: `file`, `journal`, or `both` if the file cannot hold all of them.
    pub states_in: &'static str,
    pub progress: ProgressReport,
    pub errors: usize,
}

#[derive(Serialize)]
pub struct ProgressReport {
    pub total: usize,
    pub pending: usize,
    pub running: usize,
    pub done: usize,
    pub failed: usize,
    pub skipped: usize,
    pub blocked: usize,
}

impl From<PlanProgress> for ProgressReport {
    fn from(progress: PlanProgress) -> Self {
        ProgressReport {
            total: progress.total,
            pending: progress.pending,
            running: progress.running,
            done: progress.done,
            failed: progress.failed,
            skipped: progress.skipped,
            blocked: progress.blocked,
        }
    }
}

/// A task and why it may or may not start.
#[derive(Serialize)]
pub struct TaskOverview {
    pub task: String,
    pub title: String,
    pub status: &'static str,
    /// The dialect's own word.
    pub status_word: String,
    pub ready: bool,
    pub depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// The note of its last state change, if only the journal has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<HolderReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
    pub line: usize,
    /// Its position in the file, if it has no id: `3`, or `2.3` in a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The group that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether it is a group: it is never worked on, and its state follows from its tasks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_group: bool,
}

#[derive(Serialize)]
pub struct ClosedReport {
    /// `approval` or `source`.
    pub gate: &'static str,
    pub message: String,
    pub help: String,
}

#[derive(Serialize)]
pub struct ClaimReport {
    /// Its number; null if nothing was written.
    pub number: Option<u64>,
    pub by: String,
    /// When it expires; null without a lease.
    pub until: Option<String>,
}

#[derive(Serialize)]
pub struct HolderReport {
    pub claim: u64,
    /// The owner; null for a run.
    pub by: Option<String>,
    pub since: String,
    /// When the claim expires; null without a lease.
    pub until: Option<String>,
    pub expired: bool,
    /// Whether its holder is a run that was interrupted.
    pub interrupted: bool,
}
