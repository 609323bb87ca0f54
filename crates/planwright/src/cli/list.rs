//! `planwright list`: lists the plans of a workspace.

use planwright_run::clock::to_the_second;
use planwright_verbs::list::{ListReport, ListRequest, ListedPlan, list};
use planwright_verbs::plans::{CREATE_PLAN, shown_title};
use planwright_verbs::text::{count, one_line};

use super::plan_arg::dialect_names;
use super::show::plan::{bar, counts};
use super::{Exit, Output, Result};
use crate::render::wrap::{hanging, wrapped};

/// List the plans of this workspace with their progress.
///
/// The newest come first.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright list auth                  those with `auth` in title, goal, id or name
  planwright list --status failed       those that failed, and where nothing runs
  planwright list --dialect rawko --status in_progress
  planwright list --archived")]
pub(crate) struct Args {
    /// Only plans with this text in their title, goal, id or file name, in any case.
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Only plans in this state: complete, running, failed, pending, or a dialect's own word; may be given several times.
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,

    /// Only plans in this dialect.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// List archived plans instead.
    #[arg(long, conflicts_with = "user")]
    archived: bool,

    /// Also list the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ListRequest {
        text: args.text.clone(),
        status: args.status.clone(),
        dialect: args.dialect.clone(),
        archived: args.archived,
        user: args.user,
    };
    let report = list(&output.workspace(), &request)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    match () {
        () if report.states.is_empty() && args.archived => output.remark("no archived plans in this workspace"),
        () if report.states.is_empty() => output.remark(&format!("no plans in this workspace; {CREATE_PLAN}")),
        () if report.plans.is_empty() => {
            output.remark(&format!("no plan matches; of the plans here {}", states(&report)))
        }
        () => report.plans.iter().for_each(|plan| draw(plan, output)),
    }
    Ok(Exit::Success)
}

/// Returns the existing states, and their counts.
fn states(report: &ListReport) -> String {
    let parts = report.states.iter().map(|(state, n)| format!("{n} {state}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// How many holders of tasks are named for a plan.
const MAX_HOLDERS: usize = 5;

fn draw(plan: &ListedPlan, output: &mut Output) {
    let paint = output.paint();
    let dialect = plan.dialect.unwrap_or("?");
    let errors = match plan.errors {
        0 => String::new(),
        n => format!("  {}", paint.error(&count(n as u64, "error"))),
    };
    let width = output.width();
    for line in wrapped(&shown_title(&plan.title), width) {
        output.line(&paint.bold(&line));
    }
    match plan.history_unreadable {
        false => output.line(&hanging(
            &format!("  {}  ", bar(&plan.progress, paint)),
            &format!("{}{errors}", counts(&plan.progress, plan.n_interrupted)),
            width,
        )),
        true => {
            let why = paint.error("its history, which has the states of its tasks, cannot be read");
            output.line(&hanging("  ", &format!("{why}{errors}"), width));
        }
    }
    for holder in plan.holders.iter().take(MAX_HOLDERS) {
        output.line(&hanging("  ", &paint.active(holder), width));
    }
    if plan.holders.len() > MAX_HOLDERS {
        output.line(&format!("  … and {} more", plan.holders.len() - MAX_HOLDERS));
    }
    let origin = format!(
        "{dialect} · {} · {}",
        to_the_second(&plan.changed),
        one_line(&plan.path)
    );
    output.line(&hanging("  ", &paint.dim(&origin), width));
}
