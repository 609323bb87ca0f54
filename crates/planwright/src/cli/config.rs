//! `planwright config`: shows the effective configuration, and the origin of each value.

use std::path::Path;

use planwright_core::diagnostic::Severity;
use planwright_run::config::{self, Configuration, Effective, Level, Origin, SourceKind, Surroundings};
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_entries::from_here;
use crate::render::json::DiagnosticReport;
use crate::render::terminal::{Paint, one_line, printable};
use crate::render::text::{Teller, findings};

/// Print the configuration that holds here, and where it comes from.
///
/// A flag wins over the environment, that over the project's `planwright.toml`, that over your own configuration file, that over
/// the default. Where something is wrong with any of them, the sound ones are printed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright config
  PLANWRIGHT_RUN_SLOTS=3 planwright config --json")]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `config --json`.
const VERSION: &str = "planwright.config/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    /// Whether nothing is wrong.
    sound: bool,
    sources: Vec<SourceReport>,
    settings: Vec<SettingReport>,
}

/// A file or a variable that settings come from.
#[derive(Serialize)]
pub(super) struct SourceReport {
    /// `user`, `project`, `environment` or `flag`.
    level: &'static str,
    path: Option<String>,
    name: Option<String>,
    findings: Vec<DiagnosticReport>,
}

#[derive(Serialize)]
struct SettingReport {
    key: String,
    /// As it would be written in TOML.
    value: String,
    origin: OriginReport,
}

/// Where a value comes from.
#[derive(Serialize)]
pub(super) struct OriginReport {
    /// `default`, `preset`, `user`, `project`, `environment` or `flag`.
    level: &'static str,
    /// The file.
    path: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    /// The variable, the flag or the preset.
    name: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let configuration = config::load(&root_of(Path::new(".")), &Surroundings::of_process());
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            sound: !has_findings(&configuration),
            sources: source_reports(&configuration),
            settings: configuration.effective.iter().map(setting_report).collect(),
        })?;
    } else {
        let paint = output.paint();
        for row in &configuration.effective {
            let origin = paint.dim(&format!("# {}", origin_text(&row.origin)));
            output.line(&format!(
                "{} = {}  {origin}",
                printable(&row.path),
                printable(&row.value)
            ));
        }
        complain(&configuration, output);
    }
    Ok(exit_of(&configuration))
}

/// Returns how a verb ends that shows a configuration.
pub(super) fn exit_of(configuration: &Configuration) -> Exit {
    match () {
        () if configuration.is_unread() => Exit::Environment,
        () if configuration.has_errors() => Exit::Problems,
        () => Exit::Success,
    }
}

/// Shows what is wrong with a configuration, and refuses to act on it; `so` says what is not done.
pub(super) fn refuse_unsound(configuration: &Configuration, so: &str, output: &mut Output) -> anyhow::Result<()> {
    if !configuration.has_errors() {
        return Ok(());
    }
    complain(configuration, output);
    let help = "correct it; `planwright config` shows what holds, and every finding";
    Err(match configuration.is_unread() {
        true => Failure::outside(format!("the configuration cannot be read, and {so}"), help),
        false => Failure::problem(format!("the configuration has errors, and {so}"), help),
    })
}

fn has_findings(configuration: &Configuration) -> bool {
    configuration.sources.iter().any(|source| !source.findings.is_empty())
}

/// Draws what is wrong with a configuration, beside the results.
pub(super) fn complain(configuration: &Configuration, output: &mut Output) {
    let text = drawn(configuration, output.paint_beside(), output.width());
    if !text.is_empty() {
        output.note(&text);
    }
    let all = || configuration.sources.iter().flat_map(|source| &source.findings);
    let n_errors = all().filter(|finding| finding.severity == Severity::Error).count();
    if n_errors > 0 {
        let plural = if n_errors == 1 { "" } else { "s" };
        output.remark(&format!("the configuration has {n_errors} error{plural}"));
    }
}

/// Returns what is wrong with a configuration, as it is drawn.
pub(super) fn drawn(configuration: &Configuration, paint: Paint, width: usize) -> String {
    let sources = configuration.sources.iter().map(|source| {
        let path = from_here(&source.name()).to_string_lossy().into_owned();
        findings(&path, &source.text, &source.findings, Teller::Other, paint, width)
    });
    sources.collect()
}

pub(super) fn source_reports(configuration: &Configuration) -> Vec<SourceReport> {
    let sources = configuration.sources.iter().map(|source| {
        let index = source.text.line_index();
        let (level, path, name) = match &source.kind {
            SourceKind::File { level, path } => (level_word(*level), Some(shown(path)), None),
            SourceKind::Variable(name) => ("environment", None, Some(name.clone())),
            SourceKind::Flag(name) => ("flag", None, Some(name.clone())),
        };
        let findings = source.findings.iter();
        SourceReport {
            level,
            path,
            name,
            findings: findings.map(|finding| DiagnosticReport::new(finding, &index)).collect(),
        }
    });
    sources.collect()
}

fn setting_report(row: &Effective) -> SettingReport {
    SettingReport {
        key: row.path.clone(),
        value: row.value.clone(),
        origin: origin_report(&row.origin),
    }
}

pub(super) fn origin_report(origin: &Origin) -> OriginReport {
    let named = |level, name: &str| OriginReport {
        level,
        path: None,
        line: None,
        column: None,
        name: (!name.is_empty()).then(|| name.to_owned()),
    };
    match origin {
        Origin::Default => named("default", ""),
        Origin::Preset(name) => named("preset", name),
        Origin::Variable(name) => named("environment", name),
        Origin::Flag(name) => named("flag", name),
        Origin::File {
            level,
            path,
            line,
            column,
        } => OriginReport {
            level: level_word(*level),
            path: Some(shown(path)),
            line: Some(*line),
            column: Some(*column),
            name: None,
        },
    }
}

/// Returns where a value comes from, for people.
pub(super) fn origin_text(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Preset(name) => format!("preset {name}"),
        Origin::File { path, line, .. } => format!("{}:{line}", one_line(&shown(path))),
        Origin::Variable(name) => one_line(name),
        Origin::Flag(name) => one_line(name),
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::User => "user",
        Level::Project => "project",
    }
}

fn shown(path: &Path) -> String {
    from_here(path).to_string_lossy().into_owned()
}
