//! The shapes of JSON output. Each has a schema version; fields are added, never changed.

use planwright_core::diagnostic::{Diagnostic, Related, Rule, Safety};
use planwright_core::dialect::Dialect;
use planwright_core::text::{LineIndex, Span};
use serde::Serialize;

use super::json_values::Members;

/// The version of `check --format json`.
pub(crate) const CHECK_VERSION: &str = "planwright.check/v1";

/// What `check --format json` prints.
#[derive(Serialize)]
pub(crate) struct CheckReport {
    pub(crate) schema_version: &'static str,
    pub(crate) files: Vec<FileReport>,
    pub(crate) summary: Summary,
}

/// What every verb prints with `--json` where it fails.
#[derive(Serialize)]
pub(crate) struct ErrorReport {
    pub(crate) schema_version: &'static str,
    pub(crate) error: ErrorBody,
}

/// What went wrong.
#[derive(Serialize)]
pub(crate) struct ErrorBody {
    pub(crate) exit_status: u8,
    pub(crate) message: String,
    /// What to do; empty where there is no advice.
    pub(crate) help: String,
    /// The file that it is about, where a place in it or findings about it are in the way.
    pub(crate) path: Option<String>,
    /// The place that is in the way.
    pub(crate) range: Option<RangeReport>,
    /// The findings that are in the way.
    pub(crate) diagnostics: Vec<DiagnosticReport>,
}

impl ErrorReport {
    pub(crate) fn new(error: ErrorBody) -> Self {
        ErrorReport {
            schema_version: "planwright.error/v1",
            error,
        }
    }
}

/// How many findings there are.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) files: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
    /// Files that could not be read.
    pub(crate) unreadable: usize,
}

/// The findings of one file.
#[derive(Serialize)]
pub(crate) struct FileReport {
    pub(crate) path: String,
    pub(crate) dialect: Option<&'static str>,
    pub(crate) form: Option<&'static str>,
    pub(crate) tasks: Option<usize>,
    /// Why the file could not be read, where it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    /// Why its fixes could not be written, where they could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix_failure: Option<String>,
    /// With `--diff`: what its fixes would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
    pub(crate) diagnostics: Vec<DiagnosticReport>,
}

/// One finding.
#[derive(Serialize)]
pub(crate) struct DiagnosticReport {
    pub(crate) id: &'static str,
    pub(crate) severity: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) label: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) help: String,
    /// The original tool's own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
    pub(crate) range: Option<RangeReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) related: Vec<RelatedReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<FixReport>,
}

/// A place in a file.
#[derive(Serialize)]
pub(crate) struct RangeReport {
    pub(crate) start: PositionReport,
    pub(crate) end: PositionReport,
}

/// A position, in every way that readers count.
#[derive(Serialize)]
pub(crate) struct PositionReport {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) utf16_column: usize,
    pub(crate) byte: u32,
}

/// Another place that belongs to a finding.
#[derive(Serialize)]
pub(crate) struct RelatedReport {
    pub(crate) message: String,
    pub(crate) range: RangeReport,
}

/// A mend.
#[derive(Serialize)]
pub(crate) struct FixReport {
    pub(crate) title: String,
    pub(crate) safe: bool,
    pub(crate) edits: Vec<EditReport>,
}

/// Bytes to put in place of a range.
#[derive(Serialize)]
pub(crate) struct EditReport {
    pub(crate) range: RangeReport,
    pub(crate) text: String,
}

impl RangeReport {
    pub(crate) fn new(span: Span, index: &LineIndex<'_>) -> Self {
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
    pub(crate) fn new(diagnostic: &Diagnostic, index: &LineIndex<'_>) -> Self {
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
                    .map(|edit| EditReport {
                        range: RangeReport::new(edit.span, index),
                        text: edit.text.clone(),
                    })
                    .collect(),
            }),
        }
    }
}

/// What `check --explain ID --format json` prints.
#[derive(Serialize)]
pub(crate) struct ExplainReport {
    pub(crate) schema_version: &'static str,
    pub(crate) id: &'static str,
    /// Its severity unless a finding says otherwise.
    pub(crate) severity: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) details: &'static str,
    pub(crate) wrong: &'static str,
    pub(crate) right: &'static str,
}

impl ExplainReport {
    pub(crate) fn new(rule: &Rule) -> Self {
        ExplainReport {
            schema_version: "planwright.explain/v1",
            id: rule.id,
            severity: rule.severity.as_str(),
            summary: rule.summary,
            details: rule.details,
            wrong: rule.wrong,
            right: rule.right,
        }
    }
}

/// What `schema --json` prints where it is given no dialect.
#[derive(Serialize)]
pub(crate) struct DialectsReport {
    pub(crate) schema_version: &'static str,
    pub(crate) dialects: Vec<DialectReport>,
}

/// A dialect and where its files live.
#[derive(Serialize)]
pub(crate) struct DialectReport {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) places: &'static [&'static str],
}

impl DialectsReport {
    pub(crate) fn new(dialects: &[&'static dyn Dialect]) -> Self {
        let dialect = |dialect: &&'static dyn Dialect| DialectReport {
            name: dialect.name(),
            title: dialect.title(),
            places: dialect.places(),
        };
        DialectsReport {
            schema_version: "planwright.dialects/v1",
            dialects: dialects.iter().map(dialect).collect(),
        }
    }
}

/// What `show --json` prints.
#[derive(Serialize)]
pub(crate) struct ShowReport<'p> {
    pub(crate) schema_version: &'static str,
    pub(crate) plan: PlanReport<'p>,
    pub(crate) tasks: Vec<ShownTask<'p>>,
    /// With `--limit`, where there are more tasks: what `--cursor` takes to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A task, or the members of it that were asked for.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ShownTask<'p> {
    Whole(Box<TaskReport<'p>>),
    Chosen(serde_json::Value),
}

/// A plan in a few lines.
#[derive(Serialize)]
pub(crate) struct PlanReport<'p> {
    pub(crate) path: String,
    pub(crate) dialect: &'static str,
    pub(crate) form: &'static str,
    pub(crate) title: &'p str,
    pub(crate) status: Option<&'p str>,
    /// What keeps the states of the tasks: `file`, `journal`, or `both` where the file cannot hold all of them.
    pub(crate) states_in: &'static str,
    pub(crate) progress: ProgressReport,
    pub(crate) errors: usize,
}

/// How far a plan is.
#[derive(Serialize)]
pub(crate) struct ProgressReport {
    pub(crate) total: usize,
    pub(crate) pending: usize,
    pub(crate) running: usize,
    pub(crate) done: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    pub(crate) blocked: usize,
}

/// A task and why it may or may not start.
#[derive(Serialize)]
pub(crate) struct TaskReport<'p> {
    pub(crate) task: String,
    pub(crate) title: &'p str,
    pub(crate) status: &'static str,
    /// The dialect's own word.
    pub(crate) status_word: String,
    pub(crate) ready: bool,
    pub(crate) depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waits_for: Vec<String>,
    /// What was said when it came to its state, where only the journal holds that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holder: Option<HolderReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stage: Option<u32>,
    pub(crate) line: usize,
}

/// What `next --json` prints.
#[derive(Serialize)]
pub(crate) struct NextReport<'p> {
    pub(crate) schema_version: &'static str,
    pub(crate) plan: PlanReport<'p>,
    pub(crate) free_slots: usize,
    pub(crate) n_ready: usize,
    pub(crate) ready: Vec<ReadyReport<'p>>,
    /// With `--start`: whether the task was started; false with `--dry-run` and `--diff`, and where nothing is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<bool>,
    /// With `--start`: the number of the change in the plan's history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<u64>,
    /// With `--start`: the state that the task had before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_from: Option<&'static str>,
    /// With `--start`: who holds the task from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claim: Option<ClaimReport>,
    /// Why no task of the plan may be worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<ClosedReport>,
    /// With `--diff`: what would change in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
}

/// A gate that is closed.
#[derive(Serialize)]
pub(crate) struct ClosedReport {
    /// `approval` or `source`.
    pub(crate) gate: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// A claim that a verb made.
#[derive(Serialize)]
pub(crate) struct ClaimReport {
    /// Its number; null where nothing was written.
    pub(crate) number: Option<u64>,
    pub(crate) by: String,
    /// When it is over; null where it has no lease.
    pub(crate) until: Option<String>,
}

/// Who holds a task.
#[derive(Serialize)]
pub(crate) struct HolderReport {
    /// The number of the claim.
    pub(crate) claim: u64,
    /// The owner; null where a run holds it.
    pub(crate) by: Option<String>,
    pub(crate) since: String,
    /// When the claim is over; null where it has no lease.
    pub(crate) until: Option<String>,
    pub(crate) expired: bool,
    /// Whether a run holds it that is not at work any more.
    pub(crate) interrupted: bool,
}

/// A ready task with everything the plan says about it.
#[derive(Serialize)]
pub(crate) struct ReadyReport<'p> {
    pub(crate) task: TaskReport<'p>,
    pub(crate) fields: Members,
    pub(crate) dependencies: Vec<TaskReport<'p>>,
}
