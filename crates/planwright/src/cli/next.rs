//! `planwright next`: lists the ready tasks, and starts them with `--start`.

use std::path::Path;

use clap::builder::NonEmptyStringValueParser;
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::Table;
use planwright_core::edit::Request;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Entry, Field, Plan, Readiness, State, Status, Verb};
use planwright_run::clock;
use planwright_run::files::DiskFiles;
use planwright_run::gate::GatePolicy;
use planwright_run::layout::PlanPlace;
use planwright_run::revise::{Call, Pick, ReviseError, Target, expired_names, transition_by};
use planwright_run::runs;
use planwright_run::shell::argument;

use super::attempt::remark_copy;
use super::change::{
    claim_lines, claim_report, diff_of, failure, remark_notices, show_diff, step_words, wrong_dialect,
};
use super::claim_args::{LeaseOption, config_of};
use super::exit::Exit;
use super::next_step::after_failure;
use super::output::Output;
use super::plan_arg::{Opened, PlanArgument, Reasons};
use super::show::{plan_report, task_report};
use super::show_plan::{counts, plural_errors};
use super::standing::PlanStanding;
use crate::render::json::{ClaimReport, NextReport, ReadyReport};
use crate::render::json_values::{Members, Written};
use crate::render::terminal::{cut, one_line, shown_name};
use crate::render::wrap::cut_at_word;

/// Print the ready tasks in the order to take them.
///
/// As many as there are free slots, unless told otherwise with --all.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright next
  planwright next --all --json
  planwright next --start --by claude       claim the first")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// Print JSON: everything the plan says about each task.
    #[arg(long)]
    json: bool,

    /// Every ready task, whatever the free slots.
    #[arg(long)]
    all: bool,

    /// Start the next ready task in the same step, so that no other process gets it.
    #[arg(long, conflicts_with = "all")]
    start: bool,

    /// With --start: who takes it.
    #[arg(long, value_name = "NAME", requires = "start", value_parser = NonEmptyStringValueParser::new())]
    by: Option<String>,

    #[command(flatten)]
    lease: LeaseOption,

    /// With --start: write nothing; say what would be started.
    #[arg(long, requires = "start")]
    dry_run: bool,

    /// With --start: show what would change in the file as a diff, and write nothing.
    #[arg(long, requires = "start")]
    diff: bool,
}

/// The version of `next --json`.
const VERSION: &str = "planwright.next/v1";

/// What came of taking a task.
struct Claim {
    /// The plan in which it runs.
    opened: Opened,
    /// Its name; none where nothing is ready.
    task: Option<String>,
    /// The number of the change in the plan's history; none where nothing was written.
    change: Option<u64>,
    /// The state that it had before.
    from: Option<State>,
    /// Who holds it from now on.
    claim: Option<ClaimReport>,
    /// The same in words.
    lines: Vec<String>,
    /// What would change in the file, where that was asked for.
    diff: Option<String>,
}

impl Claim {
    /// Returns that nothing was taken.
    fn nothing(opened: Opened) -> Self {
        Claim {
            opened,
            task: None,
            change: None,
            from: None,
            claim: None,
            lines: Vec::new(),
            diff: None,
        }
    }
}

/// Takes the next ready task, or finds out which one that would be.
fn claim(args: &Args, output: &mut Output) -> anyhow::Result<Claim> {
    let found = args.plan.find()?;
    let now = clock::now();
    let request = Request {
        by: args.by.as_deref(),
        ..Request::new(Verb::Start, &now)
    };
    let target = Target {
        path: &found.path,
        forced: found.forced,
        dry: args.dry_run || args.diff,
    };
    let call = Call {
        policy: GatePolicy::of(&config_of(&found, output)?),
        owner: args.by.as_deref(),
        until: args.lease.until()?,
        ..Call::default()
    };
    let mut revised = match transition_by(target, Pick::Next(1), &request, &call) {
        Ok(revised) => revised,
        Err(error @ ReviseError::NothingReady) => {
            return match wrong_dialect(&found, &error) {
                Some(wrong) => Err(wrong),
                None => Ok(Claim::nothing(args.plan.open()?)),
            };
        }
        Err(error) => return Err(failure(&found, &error)),
    };
    // What is shown of the task is what the file says now.
    revised.catch_up(target);
    remark_notices(&revised, output);
    if args.diff && !args.json {
        show_diff(&found.path, &revised, &step_words(&found.path, &revised), output);
    }
    Ok(Claim {
        diff: args.diff.then(|| diff_of(&found.path, &revised)),
        task: revised.names.first().cloned(),
        change: revised.change,
        // A task whose claim was over was running, and still is.
        from: revised
            .names
            .first()
            .map(|_| revised.steps.first().map_or(State::Running, |step| step.from)),
        claim: claim_report(&revised),
        lines: claim_lines(&revised),
        opened: Opened {
            path: found.path.to_string_lossy().into_owned(),
            inspection: revised.after,
            reasons: Reasons::default(),
            standing: PlanStanding::default(),
        },
    })
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let Claim {
        opened,
        task: claimed,
        change,
        from,
        claim: claim_made,
        lines: holder_lines,
        diff,
    } = match args.start {
        true => claim(args, output)?,
        false => Claim::nothing(args.plan.open()?),
    };
    remark_copy(Path::new(&opened.path), "next", output);
    if diff.is_some() && !args.json {
        return Ok(Exit::Success);
    }
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let readiness = Readiness::new(plan, &linked.links);
    let mut all = readiness.ready();
    all.retain(|&ix| opened.standing.is_offered(ix));
    let (n_ready, free_slots) = (all.len(), readiness.free_slots());
    let ready = match &claimed {
        Some(name) => plan.find_task(name).into_iter().collect(),
        None if args.start => Vec::new(),
        None => {
            let mut offered = if args.all { all } else { readiness.offered() };
            let expired = expired_names(plan, &opened.standing.claims, &clock::now());
            offered.extend(expired.iter().filter_map(|name| plan.find_task(name)));
            offered.retain(|&ix| opened.standing.is_offered(ix));
            offered
        }
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
                    task: task_report(&opened, linked, &readiness, &index, ix),
                    fields: fields_of(linked, ix),
                    dependencies: linked
                        .links
                        .of(ix)
                        .iter()
                        .map(|edge| task_report(&opened, linked, &readiness, &index, edge.to as usize))
                        .collect(),
                })
                .collect(),
            started: args.start.then_some(claimed.is_some() && !args.dry_run && !args.diff),
            change,
            started_from: from.map(State::as_str),
            claim: claim_made,
            closed: opened.standing.closed_report(),
            diff,
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
        let title = cut_at_word(
            &one_line(plan.task_subject(&plan.tasks()[ix])),
            output.width().saturating_sub(widest + 2).max(20),
        );
        output.line(&format!("{name:widest$}  {title}"));
    }
    for line in holder_lines {
        output.line(&line);
    }
    let n_more = n_ready.saturating_sub(ready.len());
    if n_more > 0 && !ready.is_empty() && !args.start {
        output.remark(&format!("{n_more} more ready: `{}` lists them", next_all(&opened.path)));
    }
    if args.dry_run && claimed.is_some() {
        output.remark("would be started; nothing was written");
    }
    let n_errors = opened.inspection.count(Severity::Error);
    if n_errors > 0 {
        output.remark(&format!(
            "the plan has {}: see planwright check {}",
            plural_errors(n_errors),
            one_line(&opened.path)
        ));
    }
    if opened.standing.gate.is_some() {
        output.remark(&opened.standing.gate_words());
    }
    for (&ix, closed) in &opened.standing.unproven {
        let name = shown_name(&plan.task_name(ix));
        output.remark(&format!(
            "{name} may not be worked on: {}; {}",
            closed.message, closed.help
        ));
    }
    let is_explained = opened.standing.awaits_approval();
    if ready.is_empty() && !is_explained {
        let progress = readiness.progress();
        let n_interrupted = opened.standing.n_interrupted(plan);
        let why = match () {
            () if n_ready > 0 && n_interrupted > 0 => format!(
                "{n_ready} ready, {n_interrupted} interrupted: `planwright run {}` continues the run",
                argument(&opened.path)
            ),
            () if n_ready > 0 => format!("no slot is free: {n_ready} ready, {} running", progress.running),
            () if progress.pending == 0 => format!("nothing is pending: {}", counts(progress, n_interrupted)),
            () => format!(
                "nothing is ready: {}; `planwright show {}` says why",
                counts(progress, n_interrupted),
                argument(&opened.path)
            ),
        };
        output.remark(&why);
    }
    for line in next_lines(args, &opened, plan, &ready) {
        output.command(&line);
    }
    Ok(exit)
}

/// Returns the commands to type for the ready tasks; none where no command would help. The claim of a task that was started has its own.
fn next_lines(args: &Args, opened: &Opened, plan: &Plan, ready: &[usize]) -> Vec<String> {
    let path = argument(&opened.path);
    // A run refuses a plan with errors, and one that waits for approval.
    let is_closed = opened.standing.gate.is_some() || opened.inspection.count(Severity::Error) > 0;
    if args.start || is_closed {
        return Vec::new();
    }
    let Some(&ix) = ready.first() else {
        let has = |status: Status| plan.tasks().iter().any(|task| task.status == status);
        let is_stuck = has(Status::Failed) && !has(Status::Running);
        return is_stuck
            .then(|| format!("next: {}", after_failure(plan, &path)))
            .into_iter()
            .collect();
    };
    let task = argument(&plan.task_name(ix));
    let start = match plan.tasks()[ix].status {
        Status::Pending => format!("planwright start {task} -p {path}"),
        // The claim of another agent has expired.
        _ => format!("planwright next --start {path}"),
    };
    let place = PlanPlace::of(&DiskFiles, Path::new(&opened.path)).ok();
    let is_run = place.is_some_and(|place| runs::holder(&DiskFiles, &place).is_some());
    match is_run {
        true => vec![format!("next: {start}")],
        false => vec![format!("next: planwright run {path}"), format!("  or: {start}")],
    }
}

/// Returns the command that lists every ready task of a plan.
fn next_all(path: &str) -> String {
    format!("planwright next --all {}", argument(path))
}

/// Returns a task's fields under the names its own file uses.
pub(super) fn fields_of(linked: &LinkedPlan, task_ix: usize) -> Members {
    let plan = &linked.plan;
    let tables = linked.dialect.tables();
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
