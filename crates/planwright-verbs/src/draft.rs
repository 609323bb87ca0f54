//! The verbs `draft` and `draft-abandon`: a new plan that its user may edit before it is used.

use std::io;
use std::path::PathBuf;

use planwright_core::diagnostic::Severity;
use planwright_run::inspect_file::inspect_file;
use planwright_run::shell::argument;
use planwright_run::store;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::json::DiagnosticReport;
use crate::planning::SourceFindings;
use crate::plans::dialect_named;
use crate::run_history::first_step;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftRequest {
    /// The file of the new plan.
    pub plan: PathBuf,
    /// Its dialect: after an edit the text may look like another one.
    pub dialect: String,
}

#[derive(Serialize)]
pub struct DraftReport {
    pub schema_version: &'static str,
    pub plan: String,
    /// Whether it has no errors.
    pub valid: bool,
    pub diagnostics: Vec<DiagnosticReport>,
    /// The command that uses it.
    pub next: String,
    /// The findings, with the text for excerpts.
    #[serde(skip)]
    pub findings: SourceFindings,
}

#[derive(Serialize)]
pub struct AbandonedReport {
    pub schema_version: &'static str,
    pub plan: String,
    /// The file that has its text now.
    pub kept: String,
}

/// Reads a draft again; none if its file cannot be read.
pub fn draft(workspace: &Workspace, request: &DraftRequest) -> Result<Option<DraftReport>> {
    let dialect = dialect_named(&request.dialect)?;
    let path = workspace.path(&request.plan);
    let Ok(loaded) = store::load(&path) else {
        return Ok(None);
    };
    let inspection = inspect_file(&loaded.source, Some(&path), Some(dialect)).inspection;
    let index = loaded.source.line_index();
    let diagnostics = inspection.diagnostics.iter();
    let diagnostics = diagnostics.map(|found| DiagnosticReport::new(found, &index)).collect();
    let next = inspection.plan.as_ref().map(|linked| first_step(linked, &path));
    Ok(Some(DraftReport {
        schema_version: "planwright.draft/v1",
        plan: path.display().to_string(),
        valid: inspection.plan.is_some() && inspection.count(Severity::Error) == 0,
        diagnostics,
        next: next.unwrap_or_else(|| format!("planwright run {}", argument(&path.to_string_lossy()))),
        findings: SourceFindings {
            path,
            findings: inspection.diagnostics,
            source: loaded.source,
        },
    }))
}

/// Renames the file of a draft, so that it is no longer a plan.
pub fn abandon(workspace: &Workspace, request: &DraftRequest) -> Result<AbandonedReport> {
    let path = workspace.path(&request.plan);
    let kept = path.with_extension("abandoned.txt");
    let renamed = std::fs::rename(&path, &kept);
    renamed.map_err(|error| not_moved(&path.display().to_string(), &error))?;
    Ok(AbandonedReport {
        schema_version: "planwright.draft-abandoned/v1",
        plan: path.display().to_string(),
        kept: kept.display().to_string(),
    })
}

fn not_moved(path: &str, error: &io::Error) -> Failure {
    Failure::outside(
        format!("{path} could not be moved: {error}"),
        "check that you may write to its folder",
    )
}
