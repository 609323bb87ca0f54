//! Prints the reports of verbs that create plans.

use planwright_core::diagnostic::Severity;
use planwright_verbs::planning::{SourceFindings, WrittenReport};
use planwright_verbs::text::printable;

use super::{Exit, Output, Result};
use crate::render::findings::{FindingsSource, findings};

/// Prints a text that was written, or would be.
pub(super) fn present_written(report: &WrittenReport, output: &mut Output) -> Result<Exit> {
    if output.printed_json(report)? {
        return Ok(Exit::Success);
    }
    draw_findings(&report.findings, output);
    if let Some(text) = report.diff.as_ref().or(report.text.as_ref()) {
        output.write_exact(text);
    }
    if let Some(out) = &report.out {
        draw_place(out, report.written, output);
    }
    if let Some(backup) = &report.backup {
        let kept = if report.written { "is kept" } else { "would be kept" };
        output.remark(&format!("the original {kept} as {}", printable(backup)));
    }
    Ok(Exit::Success)
}

/// Draws the findings about a new plan; in quiet mode errors only.
pub(super) fn draw_findings(found: &SourceFindings, output: &mut Output) {
    let text = findings(
        &found.path.to_string_lossy(),
        &found.source,
        &found.findings,
        FindingsSource::OwnReport,
        output.stderr_paint(),
        output.width(),
    );
    if !output.is_quiet() || found.findings.iter().any(|found| found.severity == Severity::Error) {
        output.note(&text);
    }
}

/// Prints the file that was written, or would be.
pub(super) fn draw_place(out: &str, is_written: bool, output: &mut Output) {
    match is_written {
        true => output.line(&format!("wrote {}", printable(out))),
        false => output.remark(&format!("would write {}", printable(out))),
    }
}
