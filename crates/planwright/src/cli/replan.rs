//! `planwright replan`: replaces a failed plan by a new version; done tasks stay unchanged.

use planwright_verbs::planning::Confirmation;
use planwright_verbs::replan::{self, ProposedVersion, ReplanObserver, ReplanReport, ReplanRequest};
use planwright_verbs::text::{one_line, shown_name};

use super::answers;
use super::plan_arg::PlanArgument;
use super::planner::{PlannerOptions, PlanningView};
use super::text_arg::text_of;
use super::{Exit, Output, Result};
use crate::render::terminal::addressed;

/// Have an agent make a new version of a plan.
///
/// Use it after a failure, or when facts or constraints are new. Tasks that are done do not change, remaining tasks keep their ids,
/// and failed tasks are open again. The new version is shown in terms of tasks before it is written: you confirm it at a
/// terminal, or with --yes. If a dialect keeps each version in its own file, the old file does not change. For other dialects the
/// old text is kept in .planwright/versions, and `planwright undo` reverts the change.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright replan
  planwright replan plan-a1b2c3d4 --discovery \"the API has no paging\" --yes
  planwright replan --task t3 --error \"the test needs a database\" --dry-run")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    #[command(flatten)]
    planner: PlannerOptions,

    /// The task that failed. Default: the first failed one.
    #[arg(long, value_name = "TASK", help_heading = "Planner input")]
    task: Option<String>,

    /// How it failed. Default: the reason in the plan or the last run. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "Planner input")]
    error: Option<String>,

    /// A fact that is new since the plan was made; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "Planner input")]
    discovery: Vec<String>,

    /// Write the new version without asking.
    #[arg(long, short)]
    yes: bool,

    /// Your name, for the plan's history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Print the prompt for the agent. No agent is started, nothing is written.
    #[arg(long)]
    dry_run: bool,

    /// Also show the change as text.
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let workspace = output.workspace();
    let request = args.request()?;
    if args.dry_run {
        output.write_exact(&replan::prompt(&workspace, &request)?);
        return Ok(Exit::Success);
    }
    let report = replan::replan(&workspace, &request, &mut PlanningView::new(output))?;
    // The question shows the new version.
    let has_shown = !args.yes && answers::may_ask();
    if !output.printed_json(&report)? {
        if !has_shown {
            show(&report.proposed, output);
        }
        if let Some(diff) = report.diff.as_ref().filter(|_| !has_shown) {
            output.write_exact(diff);
        }
        output.remark(&format!("planned with {}", report.effort.words()));
        draw_result(&report, output);
    }
    Ok(Exit::success_if(report.written))
}

impl Args {
    fn request(&self) -> Result<ReplanRequest> {
        let mut is_taken = false;
        let discoveries = self.discovery.iter();
        let discoveries: Result<Vec<String>> = discoveries
            .map(|typed| text_of("discovery", typed, &mut is_taken))
            .collect();
        let discoveries = discoveries?;
        let error = self.error.as_deref();
        Ok(ReplanRequest {
            plan: self.plan.choice()?,
            planner: self.planner.request(self.dry_run)?,
            task: self.task.clone(),
            error: error.map(|typed| text_of("error", typed, &mut is_taken)).transpose()?,
            discoveries,
            yes: self.yes,
            by: self.by.clone(),
            diff: self.diff,
        })
    }
}

impl ReplanObserver for PlanningView<'_> {
    fn confirms_version(&mut self, proposed: &ProposedVersion) -> Confirmation {
        if !self.may_ask() {
            return Confirmation::CannotAsk;
        }
        let output = &mut *self.output;
        show(proposed, output);
        if let Some(diff) = &proposed.diff {
            output.write_exact(diff);
        }
        self.ask("Write this version? [y/N] ")
    }
}

/// Prints a version that was made after a failed run, without asking.
pub(super) fn draw_version(report: &ReplanReport, output: &mut Output) {
    show(&report.proposed, output);
    output.remark(&format!("replanned with {}", report.effort.words()));
    draw_result(report, output);
}

/// Prints the differences in terms of tasks.
fn show(proposed: &ProposedVersion, output: &mut Output) {
    for line in &proposed.lines {
        output.line(line);
    }
    let reasoning = Some(&proposed.reasoning).filter(|reasoning| !reasoning.is_empty());
    for text in proposed.changes.iter().chain(reasoning) {
        output.note(&format!("\n{}\n", addressed(text, output.stderr_audience())));
    }
    if let Some(failed) = &proposed.same_failure {
        output.remark(&format!(
            "{} failed, and does not change in this version",
            shown_name(failed)
        ));
    }
}

fn draw_result(report: &ReplanReport, output: &mut Output) {
    let path = &report.plan;
    match (report.written, &report.file) {
        (true, None) if !report.is_changed => output.remark("no task is different, and nothing was written"),
        (true, Some(file)) => output.line(&format!("the new version is {}", one_line(file))),
        (true, None) => {
            let path = one_line(path);
            output.line(&format!("wrote {path}; `planwright undo {path}` reverts it"));
        }
        (false, _) => {
            output.remark("nothing was written");
            output.remark(&format!(
                "help: `planwright approve --proposed {path}` writes this version; `planwright reject --proposed {path} --note \"…\"` deletes it"
            ));
        }
    }
    if let Some(pointer) = &report.pointer {
        output.remark(&format!("warning: {pointer}"));
    }
}
