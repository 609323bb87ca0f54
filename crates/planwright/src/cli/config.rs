//! `planwright config`: shows the effective configuration, and the origin of each value.

use planwright_verbs::config::{ConfigRequest, OriginReport, config};
use planwright_verbs::configuration::error_count;
use planwright_verbs::text::{one_line, printable};
use planwright_verbs::{Exit, FileFindings, Result};

use super::output::Output;
use crate::render::findings::{FindingsSource, file_findings};
use crate::render::terminal::Paint;

/// Print the configuration in effect, and the source of each value.
///
/// A value is taken from the first source that has it: flags, environment variables, the project's `planwright.toml`, your own
/// configuration file, the defaults. Invalid values are reported and left out.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright config
  PLANWRIGHT_RUN_SLOTS=3 planwright config --json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, output: &mut Output) -> Result<Exit> {
    let report = config(&output.workspace(), &ConfigRequest::default())?;
    if output.printed_json(&report)? {
        return Ok(report.exit);
    }
    let paint = output.paint();
    for setting in &report.settings {
        let origin = paint.dim(&format!("# {}", origin_text(&setting.origin)));
        let (key, value) = (printable(&setting.key), printable(&setting.value));
        output.line(&format!("{key} = {value}  {origin}"));
    }
    show_findings(&report.findings, output);
    Ok(report.exit)
}

/// Shows the findings about a configuration, after the results.
pub(super) fn show_findings(found: &[FileFindings], output: &mut Output) {
    let text = drawn(found, output.stderr_paint(), output.width());
    if !text.is_empty() {
        output.note(&text);
    }
    if let Some(words) = error_count(found) {
        output.remark(&words);
    }
}

/// Draws the findings about a configuration.
pub(super) fn drawn(found: &[FileFindings], paint: Paint, width: usize) -> String {
    let files = found.iter();
    files
        .map(|file| file_findings(file, FindingsSource::Other, paint, width))
        .collect()
}

/// Returns the source of a value, for people.
pub(super) fn origin_text(origin: &OriginReport) -> String {
    let name = origin.name.as_deref().unwrap_or_default();
    match (&origin.path, origin.line) {
        (Some(path), Some(line)) => format!("{}:{line}", one_line(path)),
        _ if origin.level == "default" => "default".to_owned(),
        _ if origin.level == "preset" => format!("preset {name}"),
        _ => one_line(name),
    }
}
