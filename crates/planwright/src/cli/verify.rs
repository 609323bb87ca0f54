//! `planwright verify`: runs the commands that verify tasks in any state, and changes no task.

use planwright_verbs::text::count;
use planwright_verbs::verify::{VerifyReport, VerifyRequest, verify};

use super::plan_arg::PlanOption;
use super::verification_view::VerificationView;
use super::{Exit, Output, Result};

/// Run the commands that verify tasks, and change none of them.
///
/// `[verify]` in the configuration has the commands. Their receipts are kept in the plan's history.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright verify US-001
  planwright verify --all                   every task that is done
  planwright verify --all -p .aimi/tasks/2026-10-06-rate-limit-tasks.json")]
pub(crate) struct Args {
    /// The tasks, as their plan names them: an id, OpenCrabs' 1-based number, rawko's 0-based index; in any state.
    #[arg(value_name = "TASK", required_unless_present = "all")]
    tasks: Vec<String>,

    /// Verify every task that is done.
    #[arg(long, conflicts_with = "tasks")]
    all: bool,

    #[command(flatten)]
    plan: PlanOption,

    /// Your name, for the plan's history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Also run criteria that are a command between backticks. They come from the plan: read them first.
    #[arg(long)]
    allow_plan_commands: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = VerifyRequest {
        plan: args.plan.choice(),
        tasks: args.tasks.clone(),
        by: args.by.clone(),
        allow_plan_commands: args.allow_plan_commands,
    };
    let workspace = output.workspace();
    let report = verify(&workspace, &request, &mut VerificationView::of_results(output))?;
    if output.printed_json(&report)? {
        return Ok(report.exit());
    }
    output.remark(&summary(&report));
    if report.n_unverified > 0 && !report.has_rules {
        output.remark("there are no rules: docs/verification.md explains how to write some");
    }
    Ok(report.exit())
}

fn summary(report: &VerifyReport) -> String {
    let n_tasks = report.tasks.len();
    if n_tasks == 0 {
        return "no task is done".to_owned();
    }
    let counts = [
        (report.n_passed, "passed"),
        (report.n_failed, "failed"),
        (report.n_unverified, "unverified"),
    ];
    let counts = counts.into_iter().filter(|(n, _)| *n > 0);
    let words: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
    format!("{}: {}", count(n_tasks as u64, "task"), words.join(", "))
}
