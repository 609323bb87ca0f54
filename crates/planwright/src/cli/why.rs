//! `planwright why TASK`: explains why a task is not ready, and what it would unblock.

use planwright_verbs::text::{cut, one_line, shown_name, some_of};
use planwright_verbs::why::{Outlook, WaitRepeat, WaitStep, WhyHeadline, WhyReport, WhyRequest, why};

use super::plan_arg::PlanOption;
use super::task_words::mark;
use super::{Exit, Output, Result};
use crate::render::terminal::Paint;
use crate::render::wrap::hanging;

/// Explain why a task is not ready or failed, and what it unblocks.
///
/// Follows its dependencies down to the root cause.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright why US-004
  planwright why 3 -p .rawko/plans/plan-20261006-rate-limit.yaml --json")]
pub(crate) struct Args {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: String,

    #[command(flatten)]
    plan: PlanOption,
}

/// Longer explanations are cut: each line names a task that `why` can explain.
const MAX_LINES: usize = 60;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = WhyRequest {
        task: args.task.clone(),
        plan: args.plan.choice(),
    };
    let report = why(&output.workspace(), &request)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    let explanation = explanation(&report, output.paint(), output.width());
    for line in explanation.lines.iter().chain(&explanation.next) {
        output.line(line);
    }
    Ok(Exit::Success)
}

/// Why a task is not ready, in words.
pub(super) struct ExplanationLines {
    /// One item for each reason, broken between words.
    pub(super) lines: Vec<String>,
    /// Lines with commands that help.
    pub(super) next: Vec<String>,
}

pub(super) fn explanation(report: &WhyReport, paint: Paint, width: usize) -> ExplanationLines {
    let explanation = &report.explanation;
    let mut lines = vec![headline(report, paint, width)];
    let below = |why: &str| hanging("  ", &one_line(why), width);
    match &explanation.failures {
        Some(failures) if failures.attempts.len() > 1 => {
            let attempts = failures.attempts.iter();
            lines.extend(attempts.map(|(number, why)| hanging(&format!("  attempt {number}: "), why, width)));
        }
        Some(failures) if failures.attempts.len() == 1 => lines.extend(failures.denial.as_deref().map(below)),
        _ => {}
    }
    lines.extend(explanation.obstacle.as_deref().map(below));
    lines.extend(report.missing_proof.as_deref().map(below));
    let awaits_budget = report.awaits_budget.as_ref();
    lines.extend(awaits_budget.map(|why| below(&format!("in the run: {why}"))));
    lines.extend(explanation.waits.iter().map(|step| wait_line(step, paint, width)));
    if lines.len() > MAX_LINES {
        let hidden = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("  … and {hidden} more lines"));
    }
    lines.push(hanging("", &outlook_words(report), width));
    let commands = explanation.commands.iter().enumerate();
    let next = commands.map(|(nth, command)| match nth {
        0 => format!("next: {command}"),
        _ => format!("      {command}"),
    });
    ExplanationLines {
        lines,
        next: next.collect(),
    }
}

fn headline(report: &WhyReport, paint: Paint, width: usize) -> String {
    let explanation = &report.explanation;
    let n_attempts = explanation
        .failures
        .as_ref()
        .map_or(0, |failures| failures.attempts.len());
    let behind = |reason: &Option<String>| reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let says = match &explanation.headline {
        WhyHeadline::Ready => "is ready: it can start now".to_owned(),
        WhyHeadline::Closed => "cannot be started:".to_owned(),
        WhyHeadline::Waits => match report.waits_for.len() {
            1 => "is not ready, for one reason:".to_owned(),
            n => format!("is not ready, for {n} reasons:"),
        },
        WhyHeadline::Blocked { reason } => format!("is blocked: {}", one_line(reason)),
        WhyHeadline::UnknownStatus { word } => format!("has the unknown status `{}`", one_line(word)),
        WhyHeadline::Unproven => {
            "is marked as done, and no passed verification proves it (verify.required):".to_owned()
        }
        WhyHeadline::Failed { .. } if n_attempts > 1 => format!("failed after {n_attempts} attempts:"),
        WhyHeadline::Failed { words } => words.clone(),
        WhyHeadline::Interrupted { reason } => format!("is interrupted{}", behind(reason)),
        WhyHeadline::Skipped { word, cause } => format!("is {word}{cause}"),
        WhyHeadline::Other { word, reason } => format!("is {word}{}", behind(reason)),
    };
    let (sign, name) = (mark(explanation.state, paint), paint.bold(&shown_name(&report.task)));
    hanging(&format!("{sign} {name} "), &says, width)
}

/// Returns something that the task waits for, indented below what waits for it.
fn wait_line(step: &WaitStep, paint: Paint, width: usize) -> String {
    let title = step.title.as_deref().map_or(String::new(), |title| {
        format!("  {}", paint.dim(&cut(&one_line(title), 60)))
    });
    let above = match step.repeat {
        WaitRepeat::First => "",
        WaitRepeat::Again => " (see above)",
        WaitRepeat::Cycle => ": a cycle",
    };
    let indent = "  ".repeat(step.depth.min(20));
    hanging(
        &format!("{indent}waits for "),
        &format!("{}{above}{title}", step.words),
        width,
    )
}

fn outlook_words(report: &WhyReport) -> String {
    /// How many tasks are named at most.
    const MOST: usize = 12;
    let some = |names: &[String]| some_of(names.iter().map(|name| shown_name(name)), MOST);
    let wait = |n: usize| match n {
        1 => "1 task waits".to_owned(),
        n => format!("{n} tasks wait"),
    };
    match &report.explanation.outlook {
        Outlook::NoDependent => "nothing waits for it".to_owned(),
        Outlook::NoOpenTask => "no open task waits for it".to_owned(),
        Outlook::SkippedForIt(tasks) => format!("skipped because of it: {}", some(tasks)),
        Outlook::ForProof(tasks) => format!("{} for it: {}", wait(tasks.len()), some(tasks)),
        Outlook::Open => {
            let behind = format!("{} for it, directly or through others", wait(report.n_behind));
            let names: Vec<_> = report.unblocks.iter().take(MOST).map(|name| shown_name(name)).collect();
            let more = if report.unblocks.len() > MOST { ", …" } else { "" };
            match names.is_empty() {
                true => format!("{behind}; none would be ready at once"),
                false => format!("{behind}; finishing it makes ready: {}{more}", names.join(", ")),
            }
        }
    }
}
