//! `planwright why TASK`: explains why a task is not ready, and what it would unblock.

use std::collections::HashSet;
use std::path::Path;

use planwright_core::edit::skipped_for_failures_of;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Readiness, StartVerdict, Status, Wait};
use planwright_run::shell::argument;

use super::plan_arg::PlanOption;
use super::task_words::{failure_words, mark};
use super::{Exit, Output, Result};
use crate::render::terminal::Paint;
use crate::render::wrap::hanging;
use planwright_verbs::plans::{OpenedPlan, wait_words};
use planwright_verbs::run_history::{Setting, after_failure, denial_words, log_command, why_failed};
use planwright_verbs::text::{cut, one_line, shown_name, some_of};
use planwright_verbs::why::{WhyReport, WhyRequest, why};

/// Explain why a task is not ready or failed, and what it unblocks.
///
/// What it waits for is followed down to the root.
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
    let explanation = explanation(&report, output.paint(), output.width())?;
    for line in explanation.lines.iter().chain(&explanation.next) {
        output.line(line);
    }
    Ok(Exit::Success)
}

/// Why a task is not ready, in words.
pub(super) struct Explanation {
    /// One item for each reason, broken between words.
    pub(super) lines: Vec<String>,
    /// Lines with commands that help.
    pub(super) next: Vec<String>,
}

pub(super) fn explanation(report: &WhyReport, paint: Paint, width: usize) -> Result<Explanation> {
    let opened = &report.opened;
    let linked = opened.linked()?;
    let explainer = Explainer {
        report,
        opened,
        linked,
        readiness: &Readiness::new(&linked.plan, &linked.links),
        paint,
    };
    let failures = Failures::of(report, linked);
    let n_attempts = failures.as_ref().map_or(0, |failures| failures.attempts.len());
    let mut lines = vec![explainer.headline(n_attempts, width)];
    if let Some(failures) = failures.as_ref().filter(|_| n_attempts > 1) {
        let attempts = failures.attempts.iter();
        lines.extend(attempts.map(|(number, why)| hanging(&format!("  attempt {number}: "), why, width)));
    }
    let below = |why: &str| hanging("  ", &one_line(why), width);
    if let Some(failures) = failures.as_ref().filter(|_| n_attempts == 1) {
        lines.extend(failures.denial.as_deref().map(below));
    }
    lines.extend(opened.access.obstacle(report.task_ix).map(|why| below(&why)));
    lines.extend(report.missing_proof.as_deref().map(below));
    let awaits_budget = report.awaits_budget.as_ref();
    lines.extend(awaits_budget.map(|why| below(&format!("in the run: {why}"))));
    explainer.reasons(&mut lines, width);
    if lines.len() > MAX_LINES {
        let hidden = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("  … and {hidden} more lines"));
    }
    lines.push(hanging("", &explainer.outlook(), width));
    let next = next_lines(report, linked, failures.map(|failures| failures.log));
    Ok(Explanation { lines, next })
}

/// The failed attempts of a task, from the run that failed it.
struct Failures {
    /// The number and the reason of each, the newest first.
    attempts: Vec<(u32, String)>,
    /// The guess that the fence denied an access of the last one.
    denial: Option<String>,
    /// The command that shows the output of the last one.
    log: String,
}

impl Failures {
    fn of(report: &WhyReport, linked: &LinkedPlan) -> Option<Self> {
        let run = report.failed_run.as_ref()?;
        let task = run.state.task(&report.task)?;
        let mut setting = Setting::of(Path::new(&report.opened.path), &linked.plan);
        setting.run = run.id.clone();
        let attempts = task.attempts.iter().rev();
        Some(Failures {
            attempts: attempts.map(|attempt| (attempt.attempt, why_failed(attempt))).collect(),
            denial: task.last().and_then(denial_words),
            log: log_command(&setting, task),
        })
    }
}

/// Returns the commands that help with a failed task, for pasting.
fn next_lines(report: &WhyReport, linked: &LinkedPlan, log: Option<String>) -> Vec<String> {
    let task_ix = report.task_ix;
    let is_failed = linked
        .plan
        .tasks()
        .get(task_ix)
        .is_some_and(|task| task.status == Status::Failed);
    if !is_failed {
        let causes = skipped_for_failures_of(&linked.plan, task_ix);
        let plan = argument(&report.opened.path);
        let why = |cause: &&str| format!("next: planwright why {} -p {plan}", argument(cause));
        return causes.first().map(why).into_iter().collect();
    }
    let again = after_failure(&linked.plan, Path::new(&report.opened.path));
    let commands = log.into_iter().chain([again]).enumerate();
    let lines = commands.map(|(nth, command)| match nth {
        0 => format!("next: {command}"),
        _ => format!("      {command}"),
    });
    lines.collect()
}

struct Explainer<'r> {
    report: &'r WhyReport,
    opened: &'r OpenedPlan,
    linked: &'r LinkedPlan,
    readiness: &'r Readiness<'r>,
    paint: Paint,
}

impl Explainer<'_> {
    fn name(&self, task_ix: usize) -> String {
        shown_name(&self.linked.plan.task_name(task_ix))
    }

    fn headline(&self, n_attempts: usize, width: usize) -> String {
        let task_ix = self.report.task_ix;
        let plan = &self.linked.plan;
        let task = &plan.tasks()[task_ix];
        let sign = mark(task.status, self.readiness.is_ready(task_ix), self.paint);
        let name = self.paint.bold(&self.name(task_ix));
        let says = match self.readiness.verdict(task_ix) {
            StartVerdict::Ready => match self.opened.access.obstacle(task_ix) {
                Some(_) => "may not be worked on:".to_owned(),
                None => "is ready: it can start now".to_owned(),
            },
            StartVerdict::NotPending(Status::Blocked(reason)) => format!("is blocked: {}", one_line(plan.str(reason))),
            StartVerdict::NotPending(Status::Unknown(word)) => {
                format!("has the unknown status `{}`", one_line(plan.str(word)))
            }
            StartVerdict::NotPending(status @ Status::Skipped) => {
                let cause = self.report.skip_words.as_deref().unwrap_or_default();
                format!("is {}{cause}", plan.lifecycle.word(status))
            }
            StartVerdict::NotPending(Status::Done) if self.opened.access.missing_proof(task_ix).is_some() => {
                "is marked as done, and no passed verification proves it (verify.required):".to_owned()
            }
            StartVerdict::NotPending(Status::Failed) if n_attempts > 1 => {
                format!("failed after {n_attempts} attempts:")
            }
            StartVerdict::NotPending(Status::Failed) => failure_words(self.opened.reasons.of_failure(plan, task_ix)),
            StartVerdict::NotPending(status) => {
                let reason = self.opened.reasons.recorded(plan, task_ix);
                let holder = || self.opened.access.holder_words(&plan.task_name(task_ix));
                let holder = (status == Status::Running).then(holder).flatten();
                let reason = holder.or_else(|| reason.map(one_line));
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                match status == Status::Running && self.opened.access.is_interrupted(&plan.task_name(task_ix)) {
                    true => format!("is interrupted{reason}"),
                    false => format!("is {}{reason}", plan.lifecycle.word(status)),
                }
            }
            StartVerdict::Waits(waits) if waits.len() == 1 => "is not ready, for one reason:".to_owned(),
            StartVerdict::Waits(waits) => format!("is not ready, for {} reasons:", waits.len()),
        };
        hanging(&format!("{sign} {name} "), &says, width)
    }

    /// Adds the reasons of a task and, indented below each, the reasons of the tasks that it waits for.
    fn reasons(&self, lines: &mut Vec<String>, width: usize) {
        let (plan, task_ix) = (&self.linked.plan, self.report.task_ix);
        let mut seen = HashSet::from([task_ix]);
        let mut stack: Vec<(usize, Wait)> = self.waits(task_ix).into_iter().rev().map(|wait| (1, wait)).collect();
        while let Some((depth, wait)) = stack.pop() {
            let indent = "  ".repeat(depth.min(20));
            let target = match wait {
                Wait::For { task_ix, .. } | Wait::ForStage { task_ix } => Some(task_ix),
                Wait::ForNobody { .. } | Wait::Held => None,
            };
            let title = target.map_or(String::new(), |ix| {
                let title = cut(&one_line(plan.task_subject(&plan.tasks()[ix])), 60);
                format!("  {}", self.paint.dim(&title))
            });
            let again = target.is_some_and(|ix| !seen.insert(ix));
            let above = match target {
                Some(ix) if ix == task_ix => ": a cycle",
                _ if again => " (see above)",
                _ => "",
            };
            let what = format!("{}{above}{title}", wait_words(plan, wait));
            lines.push(hanging(&format!("{indent}waits for "), &what, width));
            if lines.len() > 10 * MAX_LINES {
                return;
            }
            if let Some(target) = target.filter(|_| !again) {
                stack.extend(self.waits(target).into_iter().rev().map(|wait| (depth + 1, wait)));
            }
        }
    }

    fn waits(&self, task_ix: usize) -> Vec<Wait> {
        match self.readiness.verdict(task_ix) {
            StartVerdict::Waits(waits) => waits,
            _ => Vec::new(),
        }
    }

    fn outlook(&self) -> String {
        let (task_ix, unblocks) = (self.report.task_ix, &self.report.unblocks);
        if self.report.missing_proof.is_some() {
            return self.unproven_outlook(task_ix);
        }
        let names: Vec<_> = unblocks.iter().take(12).map(|name| shown_name(name)).collect();
        let more = if unblocks.len() > 12 { ", …" } else { "" };
        let behind = match self.report.n_behind {
            0 if self.linked.links.reversed().of(task_ix).is_empty() => return "nothing waits for it".to_owned(),
            0 => {
                let name = self.linked.plan.task_name(task_ix);
                let is_skipped_for = |&ix: &usize| skipped_for_failures_of(&self.linked.plan, ix).contains(&&*name);
                let skipped = (0..self.linked.plan.tasks().len()).filter(is_skipped_for);
                let skipped: Vec<String> = skipped.map(|ix| self.name(ix)).collect();
                return match skipped.is_empty() {
                    true => "no open task waits for it".to_owned(),
                    false => format!("skipped because of it: {}", some_of(skipped.iter(), 12)),
                };
            }
            1 => "1 task waits for it".to_owned(),
            n => format!("{n} tasks wait for it"),
        };
        match names.is_empty() {
            true => format!("{behind}, directly or through others; none would be ready at once"),
            false => format!(
                "{behind}, directly or through others; finishing it makes ready: {}{more}",
                names.join(", ")
            ),
        }
    }

    /// Returns the tasks that may not start because this one lacks a proof.
    fn unproven_outlook(&self, task_ix: usize) -> String {
        let depends = |&ix: &usize| {
            let mut edges = self.linked.links.of(ix).iter();
            edges.any(|edge| edge.to as usize == task_ix) && self.linked.plan.tasks()[ix].status == Status::Pending
        };
        let waiting: Vec<String> = (0..self.linked.plan.tasks().len())
            .filter(depends)
            .map(|ix| self.name(ix))
            .collect();
        match waiting.as_slice() {
            [] => "nothing waits for it".to_owned(),
            names => format!(
                "{} for it: {}",
                match names.len() {
                    1 => "1 task waits".to_owned(),
                    n => format!("{n} tasks wait"),
                },
                some_of(names.iter(), 12)
            ),
        }
    }
}
