//! `planwright doctor`: reports problems of a workspace, and what to do about them.

mod overview;

use std::path::Path;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_run::config::Configuration;
use planwright_run::doctor::{DoctorFinding, examine_workspace};
use planwright_run::files::DiskFiles;
use planwright_run::runs;
use planwright_run::workspace::root_of;
use serde::Serialize;

use self::overview::{Fact, facts};
use super::agents::{FenceReport, fence_words};
use super::config::drawn;
use super::exit::Exit;
use super::output::Output;
use super::plan_entries::from_here;
use super::{plan_arg, run, run_args};
use crate::render::json::RangeReport;
use crate::render::quantity::count;
use crate::render::terminal::{one_line, printable};
use crate::render::wrap::{below, hanging};

/// Check whether plans can be run here.
///
/// Looks at git, agents, verification, plans, the configuration, the state, the journals, unfinished runs, abandoned claims, checkouts and disk space as well. Every finding has
/// its fix; nothing is changed. The exit status is 1 if `planwright run` would fail.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright doctor
  planwright doctor --run                start and time what verifies tasks
  planwright doctor --json")]
pub(crate) struct Args {
    /// Start the commands that verify tasks, once each, in a clean checkout.
    #[arg(long)]
    run: bool,

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
    /// Whether `planwright run` could begin.
    healthy: bool,
    /// What was looked at.
    facts: Vec<Fact>,
    n_plans: usize,
    n_journals: usize,
    /// What the kernel has to fence agents with.
    fence: FenceReport,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    id: &'static str,
    /// `error` where something does not work until it is fixed, else `warning`.
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
    let mut health = examine_workspace(&root);
    let mut facts = facts(&root, &mut health, args.run, output)?;
    let live = runs::live_runs(&DiskFiles, &root);
    if let Some(run) = live.first() {
        let words = format!("process {} is running a plan now", run.pid);
        facts.push(Fact { name: "run", words });
    } else if let Ok(found) = plan_arg::found(None)
        && !health.has_errors()
        && let Some(obstacle) = run::obstacle(&run_args(&found.path)?, &found)
    {
        let run::Obstacle { message, help } = obstacle;
        health.findings.push(DoctorFinding::CannotRun { message, help });
    }
    // A run takes the name of its plan where several could be meant.
    let has_several = health.n_plans > 1 && plan_arg::found(None).is_err();
    let n_findings = health.n_findings();
    let is_healthy = !health.has_errors();
    let exit = if is_healthy { Exit::Success } else { Exit::Problems };
    let shown_root = match from_here(&root) {
        path if path.as_os_str().is_empty() => ".".to_owned(),
        path => path.to_string_lossy().into_owned(),
    };
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            root: shown_root,
            healthy: is_healthy,
            facts,
            n_plans: health.n_plans,
            n_journals: health.n_journals,
            fence: FenceReport::of(&health.configuration.config),
            findings: in_configuration(&health.configuration, &root)
                .chain(health.findings.iter().map(finding))
                .collect(),
        })?;
        return Ok(exit);
    }
    let mut last = "";
    for fact in &facts {
        let name = if fact.name == last { "" } else { fact.name };
        output.line(&hanging(&format!("{name:<12}  "), &fact.words, output.width()));
        last = fact.name;
    }
    let fence = fence_words(&health.configuration.config);
    let fence = fence.strip_prefix("fence: ").unwrap_or(&fence);
    output.line(&hanging(&format!("{:<12}  ", "fence"), fence, output.width()));
    if n_findings > 0 {
        output.line("");
    }
    output.write(&drawn(&health.configuration, output.paint(), output.width()));
    for trouble in &health.findings {
        draw(trouble, output);
    }
    output.line("");
    output.line(&match (n_findings, is_healthy) {
        (0, _) if !live.is_empty() => "a run is in progress".to_owned(),
        (0, _) if has_several => "ready: `planwright run PLAN` can begin".to_owned(),
        (0, _) => "ready: `planwright run` can begin".to_owned(),
        (n, true) => format!("ready, with {}", count(n as u64, "warning")),
        (n, false) => format!("not ready: {}", count(n as u64, "finding")),
    });
    Ok(exit)
}

fn severity_word(trouble: &DoctorFinding) -> &'static str {
    match trouble.severity() {
        Severity::Error => "error",
        _ => "warning",
    }
}

fn finding(trouble: &DoctorFinding) -> Finding {
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

fn draw(trouble: &DoctorFinding, output: &mut Output) {
    let paint = output.paint();
    let label = format!("{}[{}]", severity_word(trouble), trouble.id());
    let label = match trouble.severity() {
        Severity::Error => paint.error(&label),
        _ => paint.warning(&label),
    };
    let message = format!("{label}: {}", one_line(&trouble.to_string()));
    output.line(&below(&message, "  ", output.width()));
    let help = trouble.help();
    let mut lines = help.lines().map(|line| printable(line).into_owned());
    let start = format!("  {}: ", paint.help("help"));
    output.line(&hanging(&start, &lines.next().unwrap_or_default(), output.width()));
    // The lines below the first are commands, or what a file is to hold.
    lines.for_each(|line| output.line(&format!("  {line}")));
}
