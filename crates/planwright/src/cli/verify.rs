//! `planwright verify`: runs the commands that verify tasks in any state, and changes no task.

use std::collections::HashSet;

use planwright_core::plan::{Plan, Status};
use planwright_run::journal::{Verified, plan_id};
use planwright_run::store::{PlanFile, Store};
use serde::Serialize;

use super::attempt::refuse_own_plan;
use super::change::{Found, notice_words};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{Opened, TargetOption, open_as, task_named};
use super::verification::{Told, VerifiedReport, Verifier};
use crate::render::terminal::{cut, one_line, shown_name};

/// Run the commands that verify tasks, and change none of them.
///
/// Which commands these are is said by `[verify]` in the configuration. Their receipts are kept in the plan's history.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright verify US-001
  planwright verify --all                   every task that is done
  planwright verify --all -p .aimi/tasks/2026-10-06-rate-limit-tasks.json")]
pub(crate) struct Args {
    /// The tasks, as their plan names them: an id, OpenCrabs' 1-based number, rawko's 0-based index; in whatever state.
    #[arg(value_name = "TASK", required_unless_present = "all")]
    tasks: Vec<String>,

    /// Every task that is done.
    #[arg(long, conflicts_with = "tasks")]
    all: bool,

    #[command(flatten)]
    plan: TargetOption,

    /// Who does it, for the plan's history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Also run criteria that are a command between backticks. They are the plan's words: look at them first.
    #[arg(long)]
    allow_plan_commands: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `verify --json`.
const VERSION: &str = "planwright.verify/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plan: String,
    /// Whether no command failed.
    passed: bool,
    n_passed: usize,
    n_failed: usize,
    /// Tasks that nothing was run for.
    n_unverified: usize,
    tasks: Vec<VerifiedReport>,
    notices: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.plan.find()?;
    refuse_own_plan(&found, "verify tasks of its own plan")?;
    let opened = open_as(&found.path, found.forced)?;
    let plan = &opened.linked()?.plan;
    let tasks = wanted(args, &opened)?;
    let mut verifier = Verifier::open(&found, args.allow_plan_commands, output)?;
    let told = if args.json { Told::Nowhere } else { Told::Results };
    let mut all = Vec::new();
    let mut notices = Vec::new();
    for &task_ix in &tasks {
        let name = plan.task_name(task_ix);
        if !args.json {
            output.line(&heading(plan, task_ix, output));
            output.flush();
        }
        let checks = verifier.checks(plan, task_ix);
        let verdict = verifier.run(plan, task_ix, checks, told, output)?;
        if !args.json {
            for gap in verdict.gaps() {
                output.line(&format!("  {gap}"));
            }
        }
        let verified = Verified {
            by: args.by.clone(),
            ..verdict.verified(&name)
        };
        if !verified.receipts.is_empty() {
            record(&found, plan, &verified, &mut notices)?;
        }
        all.push(verified);
    }
    let n_passed = all.iter().filter(|verified| verified.passed).count();
    let n_unverified = all.iter().filter(|verified| verified.receipts.is_empty()).count();
    let n_failed = all.len() - n_passed - n_unverified;
    for notice in &notices {
        output.remark(&format!("note: {notice}"));
    }
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            plan: opened.path.clone(),
            passed: n_failed == 0,
            n_passed,
            n_failed,
            n_unverified,
            tasks: all.iter().map(VerifiedReport::from).collect(),
            notices,
        })?;
    } else {
        output.remark(&summary(all.len(), n_passed, n_failed, n_unverified));
        if n_unverified > 0 && !verifier.has_rules() {
            output.remark("there are no rules: docs/verification.md says how to write some");
        }
    }
    Ok(match n_failed {
        0 => Exit::Success,
        _ => Exit::Problems,
    })
}

/// Returns the tasks that are meant, each once.
fn wanted(args: &Args, opened: &Opened) -> anyhow::Result<Vec<usize>> {
    let linked = opened.linked()?;
    if args.all {
        let tasks = linked.plan.tasks().iter().enumerate();
        let done = tasks.filter(|(_, task)| task.status == Status::Done);
        return Ok(done.map(|(task_ix, _)| task_ix).collect());
    }
    let mut seen = HashSet::new();
    let named = args.tasks.iter().map(|name| task_named(linked, name));
    named
        .filter(|found| found.as_ref().map_or(true, |&task_ix| seen.insert(task_ix)))
        .collect()
}

fn record(found: &Found, plan: &Plan, verified: &Verified, notices: &mut Vec<String>) -> anyhow::Result<()> {
    let file = PlanFile {
        path: &found.path,
        id: plan_id(plan),
    };
    let told = Store::default()
        .record_verified(file, verified.clone())
        .map_err(|error| Failure::environment(&error, error.help()))?;
    for notice in told.iter().map(notice_words) {
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    Ok(())
}

fn heading(plan: &Plan, task_ix: usize, output: &Output) -> String {
    let name = output.paint().bold(&shown_name(&plan.task_name(task_ix)));
    let title = plan.tasks().get(task_ix).map(|task| plan.task_subject(task));
    let title = cut(&one_line(title.unwrap_or_default()), 60);
    format!("{name}  {title}").trim_end().to_owned()
}

fn summary(n_tasks: usize, n_passed: usize, n_failed: usize, n_unverified: usize) -> String {
    if n_tasks == 0 {
        return "no task is done".to_owned();
    }
    let plural = if n_tasks == 1 { "" } else { "s" };
    let counts = [(n_passed, "passed"), (n_failed, "failed"), (n_unverified, "unverified")];
    let counts = counts.into_iter().filter(|(n, _)| *n > 0);
    let words: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
    format!("{n_tasks} task{plural}: {}", words.join(", "))
}
