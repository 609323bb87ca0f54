//! `planwright tasks regenerate PACK`: rebuilds a pack from its source plan, in place and with its history.

use planwright_verbs::planning::Confirmation;
use planwright_verbs::tasks::regenerate::{
    RegenerateObserver, RegenerateReport, RegenerateRequest, prompt, regenerate,
};
use planwright_verbs::text::printable;

use super::super::plan_arg::PlanArgument;
use super::super::planner::{PlannerOptions, PlanningView};
use super::super::{Exit, Output, Result};
use super::draw_warnings;

/// Rebuild a task pack after a change of its source plan.
///
/// Tasks with the same goal and files keep their ids, states and history. Asks before it writes at a terminal; elsewhere --yes is
/// required. `planwright undo` reverts it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks regenerate docs/tasks/2026-05-11-004-feat-photos-tasks.md
  planwright tasks regenerate photos-tasks --from answer.md --yes")]
pub(super) struct Args {
    #[command(flatten)]
    pack: PlanArgument,

    #[command(flatten)]
    planner: PlannerOptions,

    /// Print the prompt for the planner. No agent is started, nothing is written.
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    /// Write the pack without asking.
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let workspace = output.workspace();
    let request = RegenerateRequest {
        plan: args.pack.choice()?,
        planner: args.planner.request(args.dry_run)?,
        yes: args.yes,
    };
    if args.dry_run {
        output.write_exact(&prompt(&workspace, &request)?);
        return Ok(Exit::Success);
    }
    let report = regenerate(&workspace, &request, &mut PlanningView::new(output))?;
    output.show(&report, |report, output| match report.change {
        Some(change) => {
            let path = printable(&report.shown_plan);
            output.line(&format!("wrote {path} (change {change})"));
        }
        None if report.is_agreed => output.remark("nothing to change: a new pack would be the same"),
        None => output.remark("nothing was written: use --yes to write it"),
    })?;
    Ok(Exit::success_if(report.is_agreed))
}

impl RegenerateObserver for PlanningView<'_> {
    fn shows_pack(&mut self, report: &RegenerateReport) {
        if self.is_silent {
            return;
        }
        let output = &mut *self.output;
        draw_warnings(&report.findings, output);
        if report.agent.is_some() {
            output.remark(&format!("planned with {}", report.effort.words()));
        }
        output.write_exact(&report.diff);
        for line in &report.lines {
            output.line(line);
        }
        output.flush();
    }

    fn confirms_pack(&mut self) -> Confirmation {
        match self.may_ask() {
            true => self.ask("Write this pack? [y/N] "),
            false => Confirmation::CannotAsk,
        }
    }
}
