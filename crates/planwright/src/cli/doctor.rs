//! `planwright doctor`: what is wrong with this set-up, and what to do about it.

use std::path::Path;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_run::config::Configuration;
use planwright_run::health::{Trouble, examine_workspace};
use planwright_run::workspace::root_of;
use serde::Serialize;

use super::agents::{FenceReport, fence_words};
use super::catalogue::from_here;
use super::config::drawn;
use super::exit::Exit;
use super::output::Output;
use crate::render::quantity::count;
use crate::render::terminal::one_line;
use crate::render::wire::RangeReport;

/// Look for what is wrong with this workspace.
///
/// That is with its configuration, its state, its journals and its plans. Mends nothing. Whether `.planwright` can be written
/// to is tried with a file that is removed at once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright doctor
  planwright doctor --json")]
pub(crate) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `doctor --json`.
const VERSION: &str = "planwright.doctor/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    root: String,
    healthy: bool,
    n_plans: usize,
    n_journals: usize,
    /// What the kernel has to fence agents with.
    fence: FenceReport,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    id: &'static str,
    /// `error` where something does not work until it is mended, else `warning`.
    severity: &'static str,
    /// From the root of the workspace.
    path: Option<String>,
    message: String,
    help: String,
    /// The place in that file, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<RangeReport>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let root = root_of(Path::new("."));
    let health = examine_workspace(&root);
    let n_findings = health.n_findings();
    let exit = if n_findings == 0 { Exit::Success } else { Exit::Problems };
    let shown_root = match from_here(&root) {
        path if path.as_os_str().is_empty() => ".".to_owned(),
        path => path.to_string_lossy().into_owned(),
    };
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            root: shown_root,
            healthy: n_findings == 0,
            n_plans: health.n_plans,
            n_journals: health.n_journals,
            fence: FenceReport::of(&health.configuration.config),
            findings: in_configuration(&health.configuration, &root)
                .chain(health.troubles.iter().map(finding))
                .collect(),
        })?;
        return Ok(exit);
    }
    output.write(&drawn(&health.configuration, output.paint(), output.width()));
    for trouble in &health.troubles {
        draw(trouble, output);
    }
    output.remark(&fence_words(&health.configuration.config));
    let looked = format!(
        "looked at {}: {}, {}",
        one_line(&shown_root),
        count(health.n_plans as u64, "plan"),
        count(health.n_journals as u64, "journal")
    );
    match n_findings {
        0 => output.line(&format!("all is well; {looked}")),
        1 => output.remark(&format!("1 thing is wrong; {looked}")),
        n => output.remark(&format!("{n} things are wrong; {looked}")),
    }
    Ok(exit)
}

fn severity_word(trouble: &Trouble) -> &'static str {
    match trouble.severity() {
        Severity::Error => "error",
        _ => "warning",
    }
}

fn finding(trouble: &Trouble) -> Finding {
    Finding {
        id: trouble.id(),
        severity: severity_word(trouble),
        path: trouble.path().map(|path| path.to_string_lossy().into_owned()),
        message: trouble.to_string(),
        help: trouble.help(),
        range: None,
    }
}

/// Returns what is wrong with the configuration.
fn in_configuration<'c>(configuration: &'c Configuration, root: &'c Path) -> impl Iterator<Item = Finding> + 'c {
    configuration.sources.iter().flat_map(move |source| {
        let index = source.text.line_index();
        let name = source.name();
        let path = name.strip_prefix(root).unwrap_or(&name).to_string_lossy().into_owned();
        let finding = move |found: &Diagnostic| Finding {
            id: found.rule.id,
            severity: found.severity.as_str(),
            path: Some(path.clone()),
            message: found.message.clone(),
            help: match found.help.as_str() {
                "" => found.label.clone(),
                help => help.to_owned(),
            },
            range: found.span.map(|span| RangeReport::new(span, &index)),
        };
        source.findings.iter().map(finding)
    })
}

fn draw(trouble: &Trouble, output: &mut Output) {
    let paint = output.paint();
    let label = format!("{}[{}]", severity_word(trouble), trouble.id());
    let label = match trouble.severity() {
        Severity::Error => paint.error(&label),
        _ => paint.warning(&label),
    };
    output.line(&format!("{label}: {}", one_line(&trouble.to_string())));
    output.line(&format!("  {}: {}", paint.help("help"), one_line(&trouble.help())));
}
