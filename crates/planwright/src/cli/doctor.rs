//! `planwright doctor`: whether plans can run here, and what to fix if not.

use planwright_verbs::configuration::findings_of;
use planwright_verbs::doctor::{DoctorFindingReport, DoctorReport, DoctorRequest, doctor};
use planwright_verbs::text::{count, one_line, printable};

use super::config::drawn;
use super::verification_view::VerificationView;
use super::{Exit, Output, Result};
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
    /// Run each verification command once, in a clean checkout.
    #[arg(long)]
    run: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = DoctorRequest { run: args.run };
    let workspace = output.workspace();
    let report = doctor(&workspace, &request, &mut VerificationView::nowhere(output))?;
    output.show(&report, draw)?;
    Ok(report.exit())
}

fn draw(report: &DoctorReport, output: &mut Output) {
    let mut last = "";
    for fact in &report.facts {
        let name = if fact.name == last { "" } else { fact.name };
        output.line(&hanging(&format!("{name:<12}  "), &fact.words, output.width()));
        last = fact.name;
    }
    let fence = report.fence.words();
    let fence = fence.strip_prefix("fence: ").unwrap_or(&fence);
    output.line(&hanging(&format!("{:<12}  ", "fence"), fence, output.width()));
    if !report.findings.is_empty() {
        output.line("");
    }
    output.write(&drawn(
        &findings_of(&report.configuration),
        output.paint(),
        output.width(),
    ));
    for found in report.findings.iter().skip(report.n_in_configuration) {
        draw_finding(found, output);
    }
    output.line("");
    output.line(&match (report.findings.len(), report.healthy) {
        (0, _) if report.is_running => "a run is in progress".to_owned(),
        (0, _) if report.has_several_plans => "ready: `planwright run PLAN` can begin".to_owned(),
        (0, _) => "ready: `planwright run` can begin".to_owned(),
        (n, true) => format!("ready, with {}", count(n as u64, "warning")),
        (n, false) => format!("not ready: {}", count(n as u64, "finding")),
    });
}

fn draw_finding(found: &DoctorFindingReport, output: &mut Output) {
    let paint = output.paint();
    let label = format!("{}[{}]", found.severity, found.id);
    let label = match found.severity {
        "error" => paint.error(&label),
        _ => paint.warning(&label),
    };
    let message = format!("{label}: {}", one_line(&found.message));
    output.line(&below(&message, "  ", output.width()));
    let mut lines = found.help.lines().map(|line| printable(line).into_owned());
    let start = format!("  {}: ", paint.help("help"));
    output.line(&hanging(&start, &lines.next().unwrap_or_default(), output.width()));
    // The lines after the first are commands, or content for a file.
    lines.for_each(|line| output.line(&format!("  {line}")));
}
