//! `planwright why TASK`: explains why a task is not ready, and what it would unblock.

use std::collections::HashSet;
use std::path::Path;

use planwright_core::edit::skipped_for_failures_of;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Readiness, State, Status, Verdict, Wait};
use planwright_run::claims::RUN_VERB;
use planwright_run::journal::plan_id;
use planwright_run::runs::RemarkKind;
use planwright_run::shell::argument;
use planwright_run::store::{self, PlanFile};

use super::attempt::remark_copy;
use super::exit::Exit;
use super::next_step::after_failure;
use super::output::Output;
use super::plan_arg::{Opened, PlanOption, Reasons, task_named};
use super::run::setting_of;
use super::run_arg::{Scope, Standing};
use super::show::{failure_words, mark, wait_words};
use super::skip_cause::SkipCauses;
use super::standing::PlanStanding;
use crate::render::quantity::some_of;
use crate::render::run::{denial_words, log_command, why_failed};
use crate::render::terminal::{Paint, cut, one_line, shown_name};
use crate::render::wrap::hanging;

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

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Longer explanations are cut: each line names a task that can be asked about on its own.
const MAX_LINES: usize = 60;

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let opened = args.plan.open()?;
    remark_copy(
        Path::new(&opened.path),
        &format!("why {}", argument(&args.task)),
        output,
    );
    let linked = opened.linked()?;
    let task_ix = task_named(linked, &args.task)?;
    if args.json {
        output.json(&as_json(&opened, linked, task_ix, output.paint()))?;
        return Ok(Exit::Success);
    }
    let explanation = explanation(&opened, linked, task_ix, output.paint(), output.width());
    for line in explanation.lines.iter().chain(&explanation.next) {
        output.line(line);
    }
    Ok(Exit::Success)
}

/// Returns why a task is not ready and what finishing it would unblock, for programs.
pub(super) fn as_json(opened: &Opened, linked: &LinkedPlan, task_ix: usize, paint: Paint) -> serde_json::Value {
    let readiness = Readiness::new(&linked.plan, &linked.links);
    let story = Story::of(opened, linked, &readiness, task_ix, paint);
    let awaits_budget = awaits_budget(opened, &linked.plan.task_name(task_ix));
    story.as_json(task_ix, &story.unblocks(task_ix), awaits_budget.as_deref())
}

/// Why a task is not ready, in words.
pub(super) struct Explanation {
    /// One item for each reason, broken between words.
    pub(super) lines: Vec<String>,
    /// Lines with the commands that help.
    pub(super) next: Vec<String>,
}

/// Returns the same in words, for a width.
pub(super) fn explanation(
    opened: &Opened,
    linked: &LinkedPlan,
    task_ix: usize,
    paint: Paint,
    width: usize,
) -> Explanation {
    let readiness = Readiness::new(&linked.plan, &linked.links);
    let story = Story::of(opened, linked, &readiness, task_ix, paint);
    let unblocks = story.unblocks(task_ix);
    let awaits_budget = awaits_budget(opened, &linked.plan.task_name(task_ix));
    let failures = Failures::of(opened, linked, task_ix);
    let n_attempts = failures.as_ref().map_or(0, |failures| failures.attempts.len());
    let mut lines = vec![story.headline(task_ix, n_attempts, width)];
    if let Some(failures) = failures.as_ref().filter(|_| n_attempts > 1) {
        let attempts = failures.attempts.iter();
        lines.extend(attempts.map(|(number, why)| hanging(&format!("  attempt {number}: "), why, width)));
    }
    let below = |why: &str| hanging("  ", &one_line(why), width);
    if let Some(failures) = failures.as_ref().filter(|_| n_attempts == 1) {
        lines.extend(failures.denial.as_deref().map(below));
    }
    lines.extend(opened.standing.obstacle(task_ix).map(|why| below(&why)));
    let missing_proof = opened.standing.missing_proof(task_ix);
    lines.extend(missing_proof.map(|closed| below(&closed.help)));
    lines.extend(awaits_budget.map(|why| below(&format!("in the run: {why}"))));
    let mut seen = HashSet::from([task_ix]);
    story.reasons(task_ix, &mut lines, &mut seen, width);
    if lines.len() > MAX_LINES {
        let hidden = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("  … and {hidden} more lines"));
    }
    lines.push(hanging("", &story.outlook(task_ix, &unblocks), width));
    let next = next_lines(opened, linked, task_ix, failures.as_ref());
    Explanation { lines, next }
}

/// The failed attempts of a task, as the run that failed it recorded them.
struct Failures {
    /// The number and the reason of each, the newest first.
    attempts: Vec<(u32, String)>,
    /// That the fence may be why the last one failed.
    denial: Option<String>,
    /// The command that shows what the last one printed.
    log: String,
}

impl Failures {
    /// Returns them if the task is failed and a run, not a verb, marked it as failed.
    fn of(opened: &Opened, linked: &LinkedPlan, task_ix: usize) -> Option<Self> {
        let plan = &linked.plan;
        let name = plan.task_name(task_ix);
        (plan.tasks().get(task_ix)?.status == Status::Failed).then_some(())?;
        let path = Path::new(&opened.path);
        let file = PlanFile {
            path,
            id: plan_id(plan),
        };
        let history = store::history(file).ok()?;
        let (past, _) = history.last_move_to(&name, State::Failed)?;
        (past.change.verb == RUN_VERB).then_some(())?;
        let scope = Scope::of(Some(&opened.path)).ok()?;
        let mut runs = scope.runs().ok()?.flatten();
        let (id, run_state) = runs.find_map(|run| {
            let (run_state, _) = run.run_state().ok()?;
            let is_of_run = run_state.task(&name).is_some_and(|task| !task.attempts.is_empty());
            is_of_run.then(|| (run.place.id().to_owned(), run_state))
        })?;
        let task = run_state.task(&name)?;
        let mut setting = setting_of(path, plan);
        setting.run = id;
        let attempts = task.attempts.iter().rev();
        Some(Failures {
            attempts: attempts.map(|attempt| (attempt.attempt, why_failed(attempt))).collect(),
            denial: task.last().and_then(denial_words),
            log: log_command(&setting, task),
        })
    }
}

/// Returns the commands that help with a failed task, to be pasted.
fn next_lines(opened: &Opened, linked: &LinkedPlan, task_ix: usize, failures: Option<&Failures>) -> Vec<String> {
    let is_failed = linked
        .plan
        .tasks()
        .get(task_ix)
        .is_some_and(|task| task.status == Status::Failed);
    if !is_failed {
        let causes = skipped_for_failures_of(&linked.plan, task_ix);
        let plan = argument(&opened.path);
        let why = |cause: &&str| format!("next: planwright why {} -p {plan}", argument(cause));
        return causes.first().map(why).into_iter().collect();
    }
    let log = failures.map(|failures| failures.log.clone());
    let again = after_failure(&linked.plan, &argument(&opened.path));
    let commands = log.into_iter().chain([again]).enumerate();
    let lines = commands.map(|(nth, command)| match nth {
        0 => format!("next: {command}"),
        _ => format!("      {command}"),
    });
    lines.collect()
}

/// Returns why a run that is at work does not begin a task yet, where that is its budget.
fn awaits_budget(opened: &Opened, task: &str) -> Option<String> {
    let scope = Scope::of(Some(&opened.path)).ok()?;
    let newest = scope.runs().ok()?.flatten().next()?;
    let (run_state, standing) = newest.run_state().ok()?;
    let is_at_work = matches!(standing, Standing::Running { .. });
    let is_wait = |kind: Option<&RemarkKind>| kind == Some(&RemarkKind::AwaitsBudget);
    let mut remarks = run_state.remarks.iter().rev();
    let noted = remarks.find(|noted| is_wait(noted.kind.as_ref()) && noted.task.as_deref() == Some(task))?;
    let last = run_state.task(task).and_then(|task| task.last());
    let has_begun = last.is_some_and(|attempt| attempt.started >= noted.time);
    (is_at_work && !has_begun).then(|| noted.text.clone())
}

struct Story<'p> {
    standing: &'p PlanStanding,
    linked: &'p LinkedPlan,
    reasons: &'p Reasons,
    readiness: &'p Readiness<'p>,
    /// Why the task is skipped, where it is.
    skip_cause: Option<String>,
    paint: Paint,
}

impl<'p> Story<'p> {
    fn of(
        opened: &'p Opened,
        linked: &'p LinkedPlan,
        readiness: &'p Readiness<'p>,
        task_ix: usize,
        paint: Paint,
    ) -> Self {
        Story {
            standing: &opened.standing,
            linked,
            reasons: &opened.reasons,
            readiness,
            skip_cause: SkipCauses::of(linked, Path::new(&opened.path)).cause(linked, task_ix),
            paint,
        }
    }
}

/// What finishing a task would do.
struct Unblocks {
    /// Tasks that would be ready at once.
    at_once: Vec<usize>,
    /// How many tasks wait for it, directly, through others or through their stage.
    n_behind: usize,
}

impl Story<'_> {
    fn name(&self, task_ix: usize) -> String {
        shown_name(&self.linked.plan.task_name(task_ix))
    }

    fn headline(&self, task_ix: usize, n_attempts: usize, width: usize) -> String {
        let plan = &self.linked.plan;
        let task = &plan.tasks()[task_ix];
        let sign = mark(task.status, self.readiness.is_ready(task_ix), self.paint);
        let name = self.paint.bold(&self.name(task_ix));
        let says = match self.readiness.verdict(task_ix) {
            Verdict::Ready => match self.standing.obstacle(task_ix) {
                Some(_) => "may not be worked on:".to_owned(),
                None => "is ready: it can start now".to_owned(),
            },
            Verdict::NotPending(Status::Blocked(reason)) => format!("is blocked: {}", one_line(plan.str(reason))),
            Verdict::NotPending(Status::Unknown(word)) => {
                format!("has the unknown status `{}`", one_line(plan.str(word)))
            }
            Verdict::NotPending(status @ Status::Skipped) => {
                let cause = self.skip_cause.as_deref().unwrap_or_default();
                format!("is {}{cause}", plan.lifecycle.word(status))
            }
            Verdict::NotPending(Status::Done) if self.standing.missing_proof(task_ix).is_some() => {
                "is marked as done, and no passed verification proves it (verify.required):".to_owned()
            }
            Verdict::NotPending(Status::Failed) if n_attempts > 1 => format!("failed after {n_attempts} attempts:"),
            Verdict::NotPending(Status::Failed) => failure_words(self.reasons.of_failure(plan, task_ix)),
            Verdict::NotPending(status) => {
                let reason = self.reasons.recorded(plan, task_ix);
                let holder = || self.standing.holder_words(&plan.task_name(task_ix));
                let holder = (status == Status::Running).then(holder).flatten();
                let reason = holder.or_else(|| reason.map(one_line));
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                match status == Status::Running && self.standing.is_interrupted(&plan.task_name(task_ix)) {
                    true => format!("is interrupted{reason}"),
                    false => format!("is {}{reason}", plan.lifecycle.word(status)),
                }
            }
            Verdict::Waits(waits) if waits.len() == 1 => "is not ready, for one reason:".to_owned(),
            Verdict::Waits(waits) => format!("is not ready, for {} reasons:", waits.len()),
        };
        hanging(&format!("{sign} {name} "), &says, width)
    }

    /// Adds the reasons of a task and, indented below each, the reasons of what it waits for.
    fn reasons(&self, task_ix: usize, lines: &mut Vec<String>, seen: &mut HashSet<usize>, width: usize) {
        let plan = &self.linked.plan;
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
                Some(ix) if ix == task_ix => ": a circle",
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
            Verdict::Waits(waits) => waits,
            _ => Vec::new(),
        }
    }

    fn unblocks(&self, task_ix: usize) -> Unblocks {
        Unblocks {
            at_once: self.readiness.unblocked_by(task_ix),
            n_behind: self.readiness.n_behind(task_ix),
        }
    }

    fn outlook(&self, task_ix: usize, unblocks: &Unblocks) -> String {
        if self.standing.missing_proof(task_ix).is_some() {
            return self.unproven_outlook(task_ix);
        }
        let names: Vec<_> = unblocks.at_once.iter().take(12).map(|&ix| self.name(ix)).collect();
        let more = if unblocks.at_once.len() > 12 { ", …" } else { "" };
        let behind = match unblocks.n_behind {
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

    /// Returns which tasks may not start because nothing proves this one.
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

    fn as_json(&self, task_ix: usize, unblocks: &Unblocks, awaits_budget: Option<&str>) -> serde_json::Value {
        let plan = &self.linked.plan;
        let status = plan.tasks()[task_ix].status;
        let wait = |wait: Wait| {
            let name = |task_ix: usize| plan.task_name(task_ix).into_owned();
            let (kind, task) = match wait {
                Wait::For { task_ix, .. } => ("task", Some(name(task_ix))),
                Wait::ForStage { task_ix } => ("stage", Some(name(task_ix))),
                Wait::ForNobody { span } => ("unknown", Some(plan.source().slice(span).trim_matches('"').to_owned())),
                Wait::Held => ("held", None),
            };
            serde_json::json!({"kind": kind, "task": task, "words": wait_words(plan, wait)})
        };
        serde_json::json!({
            "schema_version": "planwright.why/v1",
            "task": plan.task_name(task_ix),
            "status": status.as_str(),
            "note": self.reasons.recorded(plan, task_ix),
            "ready": self.readiness.is_ready(task_ix) && self.standing.obstacle(task_ix).is_none(),
            "closed": self.standing.closed_report(),
            "holder": self.standing.holder_report(&plan.task_name(task_ix)),
            "skip_cause": self.skip_cause.as_deref().map(str::trim_start),
            "waits_for": self.waits(task_ix).into_iter().map(wait).collect::<Vec<_>>(),
            "unblocks": unblocks.at_once.iter().map(|&ix| plan.task_name(ix)).collect::<Vec<_>>(),
            "n_behind": unblocks.n_behind,
            "awaits_budget": awaits_budget,
            "missing_proof": self.standing.missing_proof(task_ix).map(|closed| &closed.help),
        })
    }
}
