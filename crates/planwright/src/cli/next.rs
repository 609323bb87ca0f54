//! `planwright next`: what to do now.

use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{self, Table};
use planwright_core::edit::Request;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Entry, Field, Readiness, Verb};
use planwright_run::clock;
use planwright_run::revise::{Pick, ReviseError, Target, transition};

use super::change::failure;
use super::exit::Exit;
use super::output::Output;
use super::plan_arg::{Opened, PlanArgument};
use super::show::{counts, plan_report, plural_errors, task_report};
use crate::render::terminal::{cut, one_line, shown_name};
use crate::render::wire::{NextReport, ReadyReport};
use crate::render::written::{Members, Written};

/// Print the ready tasks in the order to take them, as many as there are free slots.
///
/// Exit status 1 where nothing is ready.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// Print JSON: everything the plan says about each task.
    #[arg(long)]
    json: bool,

    /// Every ready task, whatever the free slots.
    #[arg(long)]
    all: bool,

    /// Start the next ready task in the same step, so that nobody else gets it.
    #[arg(long, conflicts_with = "all")]
    start: bool,

    /// With --start: who takes it.
    #[arg(long, value_name = "NAME", requires = "start")]
    by: Option<String>,
}

/// The version of `next --json`.
const VERSION: &str = "planwright.next/v1";

/// Takes the next ready task, and returns the plan in which it runs and its name.
fn claim(args: &Args) -> anyhow::Result<(Opened, Option<String>)> {
    let found = args.plan.find()?;
    let now = clock::now();
    let request = Request {
        by: args.by.as_deref(),
        ..Request::new(Verb::Start, &now)
    };
    let target = Target {
        path: &found.path,
        forced: found.forced,
        dry: false,
    };
    match transition(target, Pick::Next(1), &request) {
        Ok(mut revised) => {
            // What is shown of the task is what the file says now.
            revised.catch_up(target);
            Ok((
                Opened {
                    path: found.path.to_string_lossy().into_owned(),
                    inspection: revised.after,
                },
                revised.steps.into_iter().next().map(|step| step.task),
            ))
        }
        Err(ReviseError::NothingReady) => Ok((args.plan.open()?, None)),
        Err(error) => Err(failure(&error)),
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (opened, claimed) = if args.start {
        claim(args)?
    } else {
        (args.plan.open()?, None)
    };
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let readiness = Readiness::new(plan, &linked.links);
    let all = readiness.ready();
    let (n_ready, free_slots) = (all.len(), readiness.free_slots());
    let ready = match &claimed {
        Some(name) => plan.find_task(name).into_iter().collect(),
        None if args.start => Vec::new(),
        None if args.all => all,
        None => readiness.offered(),
    };
    let exit = if ready.is_empty() {
        Exit::Problems
    } else {
        Exit::Success
    };
    if args.json {
        let index = plan.source().line_index();
        let report = NextReport {
            schema_version: VERSION,
            plan: plan_report(&opened, linked, &readiness),
            free_slots,
            n_ready,
            ready: ready
                .iter()
                .map(|&ix| ReadyReport {
                    task: task_report(linked, &readiness, &index, ix),
                    fields: fields_of(linked, ix),
                    dependencies: linked
                        .links
                        .of(ix)
                        .iter()
                        .map(|edge| task_report(linked, &readiness, &index, edge.to as usize))
                        .collect(),
                })
                .collect(),
        };
        output.json(&report)?;
        return Ok(exit);
    }
    let widest = ready
        .iter()
        .map(|&ix| shown_name(&plan.task_name(ix)).chars().count())
        .max()
        .unwrap_or(0)
        .min(24);
    for &ix in &ready {
        let name = cut(&shown_name(&plan.task_name(ix)), 24);
        let title = cut(
            &one_line(plan.task_title(&plan.tasks()[ix])),
            output.width().saturating_sub(widest + 2).max(20),
        );
        output.line(&format!("{name:widest$}  {title}"));
    }
    let n_errors = opened.inspection.count(Severity::Error);
    if n_errors > 0 {
        output.remark(&format!(
            "the plan has {}: see planwright check {}",
            plural_errors(n_errors),
            one_line(&opened.path)
        ));
    }
    if ready.is_empty() {
        let progress = readiness.progress();
        let why = match () {
            () if n_ready > 0 => format!("no slot is free: {n_ready} ready, {} running", progress.running),
            () if progress.pending == 0 => format!("nothing is pending: {}", counts(progress)),
            () => format!("nothing is ready: {}; `planwright show` says why", counts(progress)),
        };
        output.remark(&why);
    }
    Ok(exit)
}

/// Returns a task's fields under the names its own file uses.
fn fields_of(linked: &LinkedPlan, task_ix: usize) -> Members {
    let plan = &linked.plan;
    let tables = dialect::find(plan.dialect).map_or(&[][..], |dialect| dialect.tables());
    let task = &plan.tasks()[task_ix];
    let entries = plan.entries(task);
    let value = |entry: &Entry| match entry.field {
        Field::Dependencies => {
            let written = plan.dependencies(task).iter();
            Written::List(written.map(|one| Written::dependency(plan, one)).collect())
        }
        _ => Written::value(plan, entry.value),
    };
    let named = entries
        .iter()
        .filter_map(|entry| Some((name_of(tables, entry, entries)?.to_owned(), value(entry))));
    named.collect()
}

/// Returns the name of a field in the table that knows all of a task's fields.
fn name_of(tables: &'static [&'static Table], entry: &Entry, all: &[Entry]) -> Option<&'static str> {
    let knows = |table: &Table, entry: &Entry| table.fields.iter().any(|spec| spec.field == entry.field);
    let table = tables
        .iter()
        .rev()
        .find(|table| all.iter().all(|entry| knows(table, entry)))?;
    table
        .fields
        .iter()
        .find(|spec| spec.field == entry.field)
        .map(|spec| spec.name)
}
