//! `planwright next`: lists the ready tasks, and starts them with `--start`.

use clap::builder::NonEmptyStringValueParser;
use planwright_run::shell::argument;
use planwright_verbs::changes::ChangeMode;
use planwright_verbs::next::{NextReport, NextRequest, next};
use planwright_verbs::text::{count, cut, one_line, shown_name};

use super::change::present_diff;
use super::claim_args::LeaseOption;
use super::plan_arg::PlanArgument;
use super::show::plan::counts;
use super::{Exit, Output, Result};
use crate::render::wrap::cut_at_word;

/// Print the ready tasks in the order to take them.
///
/// Lists as many tasks as there are free slots; with --all every ready task.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright next
  planwright next --all --json
  planwright next --start --by claude       claim the first")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// Print JSON, with every field of each task.
    #[arg(long)]
    json: bool,

    /// Print every ready task, even without a free slot.
    #[arg(long)]
    all: bool,

    /// Start the next ready task in the same step, so that no other process gets it.
    #[arg(long, conflicts_with = "all")]
    start: bool,

    /// With --start: your name, as the owner of the claim.
    #[arg(long, value_name = "NAME", requires = "start", value_parser = NonEmptyStringValueParser::new())]
    by: Option<String>,

    #[command(flatten)]
    lease: LeaseOption,

    /// With --start: print what would be started, and write nothing.
    #[arg(long, requires = "start")]
    dry_run: bool,

    /// With --start: show what would change in the file as a diff, and write nothing.
    #[arg(long, requires = "start")]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = NextRequest {
        plan: args.plan.choice()?,
        all: args.all,
        start: args.start,
        lease: args.lease.lease.clone(),
        change: ChangeMode {
            by: args.by.clone(),
            dry_run: args.dry_run,
            diff: args.diff,
        },
    };
    let report = next(&output.workspace(), &request)?;
    match &report.diff {
        _ if args.json => output.json(&report)?,
        Some(diff) => present_diff(diff, &report.would, true, output),
        None => draw(args, &report, output),
    }
    Ok(report.exit())
}

fn draw(args: &Args, report: &NextReport, output: &mut Output) {
    let (plan, obstacles) = (&report.plan, &report.obstacles);
    draw_tasks(report, output);
    let n_more = report.n_ready.saturating_sub(report.ready.len());
    if n_more > 0 && !report.ready.is_empty() && !args.start {
        let all = format!("planwright next --all {}", argument(&plan.path));
        output.remark(&format!("{n_more} more ready: `{all}` lists them"));
    }
    if args.dry_run && !report.ready.is_empty() {
        output.remark("would be started; nothing was written");
    }
    if plan.errors > 0 {
        output.remark(&format!(
            "the plan has {}: see planwright check {}",
            count(plan.errors as u64, "error"),
            one_line(&plan.path)
        ));
    }
    if let Some(closed) = &obstacles.closed {
        output.remark(closed);
    }
    for (task, why) in &obstacles.unproven {
        output.remark(&format!("{} cannot be started: {why}", shown_name(task)));
    }
    if report.ready.is_empty() && !obstacles.awaits_approval {
        output.remark(&why_nothing(report));
    }
    for (n, command) in report.commands.iter().enumerate() {
        let label = if n == 0 { "next" } else { "  or" };
        output.command(&format!("{label}: {command}"));
    }
}

fn draw_tasks(report: &NextReport, output: &mut Output) {
    let widths = report
        .ready
        .iter()
        .map(|ready| shown_name(&ready.task.task).chars().count());
    let widest = widths.max().unwrap_or(0).min(24);
    for ready in &report.ready {
        let name = cut(&shown_name(&ready.task.task), 24);
        let title = cut_at_word(
            &one_line(&ready.subject),
            output.width().saturating_sub(widest + 2).max(20),
        );
        output.line(&format!("{name:widest$}  {title}"));
    }
    for line in &report.claim_lines {
        output.line(line);
    }
}

/// Returns why no task is offered.
fn why_nothing(report: &NextReport) -> String {
    let (n_ready, progress) = (report.n_ready, &report.plan.progress);
    let n_interrupted = report.obstacles.n_interrupted;
    let path = argument(&report.plan.path);
    match () {
        () if n_ready > 0 && n_interrupted > 0 => {
            format!("{n_ready} ready, {n_interrupted} interrupted: `planwright run {path}` continues the run")
        }
        () if n_ready > 0 => format!("no slot is free: {n_ready} ready, {} running", progress.running),
        () if progress.pending == 0 => format!("no task is pending: {}", counts(progress, n_interrupted)),
        () => format!(
            "no task is ready: {}; `planwright show {path}` shows why",
            counts(progress, n_interrupted)
        ),
    }
}
