//! `planwright tasks derive PLAN`: makes an executable task pack from a source plan.

use std::path::PathBuf;

use planwright_verbs::tasks::derive::{DeriveReport, DeriveRequest, derive, prompt};
use planwright_verbs::text::{count, printable};

use super::super::planner::{PlannerOptions, PlanningView};
use super::super::{Exit, Output, Result};
use super::draw_warnings;

/// Have a planner derive a task pack from a source plan.
///
/// The planner writes only tasks; planwright makes identity, hash, waves, sections and cards. `tasks validate` checks the pack, and its
/// errors are returned to the planner, twice at most. A plan without `spec_id` gives a draft.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks derive docs/plans/2026-05-11-004-feat-photos-plan.md
  planwright tasks derive plan.md --agent claude --out pack.md
  planwright tasks derive plan.md --dry-run           what would be asked
  planwright tasks derive plan.md --from answer.md    take that answer")]
pub(super) struct Args {
    /// The source plan, a Markdown file.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    #[command(flatten)]
    planner: PlannerOptions,

    /// Print the prompt for the planner. No agent is started, nothing is written.
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    /// Write to this file, which must not exist. Default: docs/tasks/DATE-NNN-TYPE-NAME-tasks.md.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let workspace = output.workspace();
    let request = DeriveRequest {
        plan: args.plan.clone(),
        planner: args.planner.request(args.dry_run)?,
        out: args.out.clone(),
    };
    if args.dry_run {
        output.write_exact(&prompt(&workspace, &request)?);
        return Ok(Exit::Success);
    }
    let report = derive(&workspace, &request, &mut PlanningView::new(output))?;
    output.show(&report, draw)?;
    Ok(Exit::Success)
}

fn draw(report: &DeriveReport, output: &mut Output) {
    draw_warnings(&report.findings, output);
    if report.agent.is_some() {
        output.remark(&format!("planned with {}", report.effort.words()));
    }
    let kind = if report.draft { ", a draft" } else { "" };
    output.line(&format!(
        "wrote {}: {}{kind}",
        printable(&report.out),
        count(report.n_tasks as u64, "task")
    ));
}
