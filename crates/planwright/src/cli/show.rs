//! `planwright show`: a plan at a glance.

use std::ops::Range;
use std::path::Path;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::diagnostic::Severity;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, Plan, Progress, Readiness, State, Status, Verdict, Wait};

use super::attempt::remark_copy;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{Naming, Opened, PlanOption, Reasons, naming, task_named};
use super::show_task;
use super::skip_cause::SkipCauses;
use crate::render::human::plural;
use crate::render::terminal::{Paint, cut, one_line, shown_name};
use crate::render::wire::{PlanReport, ProgressReport, ShowReport, ShownTask, TaskReport};

/// Show a plan: its progress, its tasks, and what is ready and why.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright show
  planwright show plan-5f0c2a9e
  planwright show t2                        one task whole, with its history
  planwright show t2 -p plan-5f0c2a9e
  planwright show - < answer.json           standard input
  planwright show --json | jq .plan.progress")]
pub(crate) struct Args {
    /// The plan: a path, an id or part of one, - for standard input; or a task of the plan. A word that names a plan means the plan.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    #[command(flatten)]
    plan: PlanOption,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// With --json: this many tasks at most.
    #[arg(long, value_name = "N", requires = "json", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// With --json: go on after the tasks that were printed before, by `next_cursor` of that report.
    #[arg(long, value_name = "CURSOR", requires = "json")]
    cursor: Option<String>,

    /// With --json: only these members of tasks, as `task,status,depends_on`.
    #[arg(long, value_name = "NAMES", requires = "json", value_delimiter = ',')]
    fields: Vec<String>,
}

/// The members of tasks in `show --json`.
const MEMBERS: [&str; 11] = [
    "task",
    "title",
    "status",
    "status_word",
    "ready",
    "depends_on",
    "waits_for",
    "note",
    "holder",
    "stage",
    "line",
];

/// The version of `show --json`.
const VERSION: &str = "planwright.show/v1";

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (opened, task) = meant(args)?;
    remark_copy(Path::new(&opened.path), "show", output);
    let linked = opened.linked()?;
    if let Some(task) = task {
        if args.limit.is_some() || args.cursor.is_some() || !args.fields.is_empty() {
            let help = "leave them out, or name the plan alone";
            return Err(Failure::usage(
                "--limit, --cursor and --fields are about the tasks of a plan",
                help,
            ));
        }
        let task_ix = task_named(linked, &task)?;
        return show_task::show(&opened, task_ix, args.json, output);
    }
    let readiness = Readiness::new(&linked.plan, &linked.links);
    if args.json {
        if let Some(unknown) = args.fields.iter().find(|field| !MEMBERS.contains(&field.as_str())) {
            return Err(Failure::usage(
                format!("tasks have no member `{}`", one_line(unknown)),
                format!("they have {}", MEMBERS.join(", ")),
            ));
        }
        let (tasks, next_cursor) = page(args, &linked.plan)?;
        let index = linked.plan.source().line_index();
        let reports = tasks.map(|ix| task_report(&opened, linked, &readiness, &index, ix));
        let report = ShowReport {
            schema_version: VERSION,
            plan: plan_report(&opened, linked, &readiness),
            tasks: reports
                .map(|report| chosen(report, &args.fields))
                .collect::<anyhow::Result<_>>()?,
            next_cursor,
        };
        output.json(&report)?;
        return Ok(Exit::Success);
    }
    let text = draw(&opened, linked, &readiness, output.paint(), output.width());
    output.write(&text);
    Ok(Exit::Success)
}

/// Tells a plan from a task of one: a word that names a plan means the plan.
fn meant(args: &Args) -> anyhow::Result<(Opened, Option<String>)> {
    let Some(what) = args.what.as_deref() else {
        return Ok((args.plan.open()?, None));
    };
    if args.plan.plan.is_some() {
        return Ok((args.plan.open()?, Some(what.to_owned())));
    }
    let naming = if what == "-" {
        Naming::Whole
    } else {
        naming(what, args.plan.reading.user)
    };
    if naming == Naming::Whole {
        return Ok((args.plan.open_named(what)?, None));
    }
    let has_task = |opened: &Opened| {
        let linked = opened.inspection.plan.as_ref();
        linked.is_some_and(|linked| linked.plan.find_task(what).is_some())
    };
    let only = match args.plan.open() {
        Ok(opened) if has_task(&opened) => return Ok((opened, Some(what.to_owned()))),
        only => only.ok(),
    };
    let named = args.plan.open_named(what);
    named.map(|opened| (opened, None)).map_err(|error| {
        match (error.downcast::<Failure>(), only.filter(|_| naming == Naming::No)) {
            (Ok(failure), Some(only)) => {
                let message = format!("{}, and `{}` has no such task", failure.message, one_line(&only.path));
                Failure { message, ..failure }.into()
            }
            (Ok(failure), None) => failure.into(),
            (Err(error), _) => error,
        }
    })
}

/// Returns the tasks that are asked for, by their places, and where the next page begins.
fn page(args: &Args, plan: &Plan) -> anyhow::Result<(Range<usize>, Option<String>)> {
    let n_tasks = plan.tasks().len();
    let first = match args.cursor.as_deref() {
        None => 0,
        Some(cursor) => {
            let named = |(place, name): (&str, &str)| {
                let place: usize = place.parse().ok()?;
                let is_there = place < n_tasks && plan.task_name(place) == name;
                is_there.then_some(place).or_else(|| plan.find_task(name))
            };
            let last = cursor.split_once(':').and_then(named).ok_or_else(|| {
                let message = format!("`{}` is no cursor of this plan", one_line(cursor));
                Failure::problem(message, "begin again without --cursor: the plan may have changed")
            })?;
            last + 1
        }
    };
    let limit = args
        .limit
        .map_or(n_tasks, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let end = first.saturating_add(limit).min(n_tasks);
    let next = (first < end && end < n_tasks).then(|| format!("{}:{}", end - 1, plan.task_name(end - 1)));
    Ok((first.min(end)..end, next))
}

/// Returns a task with the members that were asked for; all where none were.
fn chosen<'p>(report: TaskReport<'p>, fields: &[String]) -> anyhow::Result<ShownTask<'p>> {
    if fields.is_empty() {
        return Ok(ShownTask::Whole(Box::new(report)));
    }
    let mut value = serde_json::to_value(report)?;
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| fields.iter().any(|field| field == name));
    }
    Ok(ShownTask::Chosen(value))
}

fn draw(opened: &Opened, linked: &LinkedPlan, readiness: &Readiness<'_>, paint: Paint, width: usize) -> String {
    let plan = &linked.plan;
    let mut out = String::new();
    let title = one_line(plan.title());
    out.push_str(&format!(
        "{}\n",
        paint.bold(if title.is_empty() { "(no title)" } else { &title })
    ));
    let goal = [Field::Goal, Field::Description]
        .into_iter()
        .find_map(|field| plan.head_str(field))
        .map(one_line);
    if let Some(goal) = goal.filter(|goal| !goal.is_empty() && *goal != title) {
        out.push_str(&format!("{}\n", cut(&goal, width)));
    }
    let status = plan
        .head_str(Field::Status)
        .map_or(String::new(), |status| format!(" · {}", one_line(status)));
    out.push_str(&paint.dim(&format!(
        "{} ({}){status} · {}",
        plan.dialect,
        plan.form,
        one_line(&opened.path)
    )));
    if states_in(plan) == "journal" {
        let words = "the states of its tasks are kept in .planwright, which git ignores: they stay on this machine";
        out.push_str(&format!("\n{}", paint.dim(words)));
    }
    out.push_str("\n\n");
    let progress = readiness.progress();
    out.push_str(&format!(
        "{}  {}\n\n",
        bar(progress, paint),
        counts(progress, opened.standing.n_interrupted(plan))
    ));
    let widest = (0..plan.tasks().len())
        .map(|ix| shown_name(&plan.task_name(ix)).chars().count())
        .max()
        .unwrap_or(0)
        .min(16);
    let layout = Layout { widest, paint, width };
    let skip_causes = SkipCauses::of(linked, Path::new(&opened.path));
    for task_ix in 0..plan.tasks().len() {
        out.push_str(&task_line(opened, &skip_causes, linked, readiness, task_ix, layout));
    }
    let mut ready = readiness.ready();
    ready.retain(|ix| !opened.standing.unproven.contains_key(ix));
    let is_offered_again =
        |ix: &usize| plan.tasks()[*ix].status == Status::Running && opened.standing.is_lease_over(&plan.task_name(*ix));
    ready.extend((0..plan.tasks().len()).filter(is_offered_again));
    let names: Vec<_> = ready
        .iter()
        .take(8)
        .map(|&ix| shown_name(&plan.task_name(ix)))
        .collect();
    let more = if ready.len() > 8 {
        format!(" and {} more", ready.len() - 8)
    } else {
        String::new()
    };
    if opened.standing.gate.is_some() {
        out.push_str(&format!("\n{}\n", paint.warning(&opened.standing.gate_words())));
    } else if !ready.is_empty() {
        out.push_str(&format!("\nready: {}{more}\n", names.join(", ")));
    } else if progress.pending > 0 && progress.running == 0 {
        out.push_str(&format!(
            "\n{}\n",
            paint.warning("nothing is ready: `planwright why TASK` says why")
        ));
    }
    let n_errors = opened.inspection.count(Severity::Error);
    if n_errors > 0 {
        let line = format!(
            "the plan has {}: see planwright check {}",
            plural_errors(n_errors),
            one_line(&opened.path)
        );
        out.push_str(&format!("\n{}\n", paint.error(&line)));
    }
    out
}

/// Returns "1 error" or "2 errors".
pub(crate) fn plural_errors(n: usize) -> String {
    format!("{n} {}", plural(Severity::Error, n))
}

/// Returns a progress bar of 20 cells.
pub(crate) fn bar(progress: Progress, paint: Paint) -> String {
    const CELLS: usize = 20;
    let full = (progress.done * CELLS).checked_div(progress.total).unwrap_or(0);
    format!(
        "{}{}",
        paint.good(&"█".repeat(full)),
        paint.dim(&"░".repeat(CELLS - full))
    )
}

/// Returns the counts that are not zero. Of the running tasks, some may have been left by a run that was interrupted.
pub(crate) fn counts(progress: Progress, n_interrupted: usize) -> String {
    let mut parts = vec![format!("{}/{} done", progress.done, progress.total)];
    let others = [
        (progress.running.saturating_sub(n_interrupted), "running"),
        (n_interrupted, "interrupted"),
        (progress.failed, "failed"),
        (progress.skipped, "skipped"),
        (progress.blocked, "blocked"),
        (progress.pending, "pending"),
    ];
    parts.extend(
        others
            .into_iter()
            .filter(|&(n, _)| n > 0)
            .map(|(n, word)| format!("{n} {word}")),
    );
    parts.join(" · ")
}

/// How wide the names of tasks and the whole page are, and how it is painted.
#[derive(Clone, Copy)]
struct Layout {
    widest: usize,
    paint: Paint,
    width: usize,
}

fn task_line(
    opened: &Opened,
    skip_causes: &SkipCauses,
    linked: &LinkedPlan,
    readiness: &Readiness<'_>,
    task_ix: usize,
    layout: Layout,
) -> String {
    let Layout { widest, paint, width } = layout;
    let plan = &linked.plan;
    let task = &plan.tasks()[task_ix];
    let name = cut(&shown_name(&plan.task_name(task_ix)), 24);
    let padding = " ".repeat(widest.saturating_sub(name.chars().count()));
    let ready = readiness.is_ready(task_ix);
    let room = width.saturating_sub(widest + 8).max(20);
    let title = cut(&one_line(plan.task_title(task)), room);
    let title = match task.status {
        Status::Done | Status::Skipped => paint.dim(&title),
        Status::Failed => paint.error(&title),
        Status::Running => paint.active(&title),
        _ if ready => paint.bold(&title),
        _ => title,
    };
    let mut line = format!("  {} {name}{padding}  {title}\n", mark(task.status, ready, paint));
    let mut why = explain(plan, &opened.reasons, readiness, task_ix);
    if let Some(closed) = opened
        .standing
        .unproven
        .get(&task_ix)
        .filter(|_| task.status == Status::Pending)
    {
        why.clone_from(&closed.message);
    }
    let holder = || opened.standing.holder_words(&plan.task_name(task_ix));
    let holder = (task.status == Status::Running).then(holder).flatten();
    if why.is_empty() {
        let cause = skip_causes.cause(linked, task_ix);
        why = cause.map_or_else(String::new, |cause| format!("skipped{cause}"));
    }
    let indent = " ".repeat(widest + 6);
    match holder {
        // Its end says until when, and which number finishes it.
        Some(holder) => line.push_str(&format!("{indent}{}\n", paint.dim(&holder))),
        None if why.is_empty() => {}
        None => line.push_str(&format!("{indent}{}\n", paint.dim(&cut(&why, room)))),
    }
    line
}

/// Returns the sign for a status.
pub(crate) fn mark(status: Status, ready: bool, paint: Paint) -> String {
    match status {
        Status::Done => paint.good("✓"),
        Status::Running => paint.active("▶"),
        Status::Failed => paint.error("✗"),
        Status::Skipped => paint.dim("⊘"),
        Status::Blocked(_) => paint.warning("■"),
        Status::Unknown(_) => paint.error("?"),
        Status::Pending if ready => paint.bold("○"),
        Status::Pending => paint.dim("·"),
    }
}

/// Returns why a task does not move; empty where there is nothing to say.
fn explain(plan: &Plan, reasons: &Reasons, readiness: &Readiness<'_>, task_ix: usize) -> String {
    match readiness.verdict(task_ix) {
        Verdict::Waits(mut waits) => {
            // A task it waits for by name says more than the stage that task is in.
            if waits.iter().any(|wait| matches!(wait, Wait::For { .. })) {
                waits.retain(|wait| !matches!(wait, Wait::ForStage { .. }));
            }
            let names: Vec<_> = waits.iter().take(6).map(|&wait| wait_words(plan, wait)).collect();
            let more = if waits.len() > 6 {
                format!(", and {} more", waits.len() - 6)
            } else {
                String::new()
            };
            format!("waits for {}{more}", names.join(", "))
        }
        Verdict::NotPending(Status::Failed) => match reasons.of_failure(plan, task_ix) {
            None => String::new(),
            reason => failure_words(reason),
        },
        Verdict::NotPending(Status::Skipped) => reasons
            .recorded(plan, task_ix)
            .map_or(String::new(), |reason| format!("skipped: {}", one_line(reason))),
        Verdict::NotPending(Status::Blocked(reason)) => format!("blocked: {}", one_line(plan.str(reason))),
        Verdict::NotPending(Status::Unknown(word)) => format!("status `{}` is unknown", one_line(plan.str(word))),
        _ => String::new(),
    }
}

/// Returns that a task failed, and why. The notes of some dialects say on which day.
pub(crate) fn failure_words(reason: Option<&str>) -> String {
    match reason.map(one_line) {
        None => "failed".to_owned(),
        Some(dated) if dated.starts_with("failed on ") => dated,
        Some(reason) => format!("failed: {reason}"),
    }
}

/// Returns a reason in a few words.
pub(crate) fn wait_words(plan: &Plan, wait: Wait) -> String {
    let named = |task_ix: usize| {
        let status = plan.tasks()[task_ix].status;
        format!(
            "{} ({})",
            shown_name(&plan.task_name(task_ix)),
            plan.lifecycle.word(status)
        )
    };
    match wait {
        Wait::For { task_ix, .. } => named(task_ix),
        Wait::ForNobody { span } => {
            let written = plan.source().slice(span).trim_matches(['"', '\'']);
            format!(
                "{} (no such {})",
                cut(&shown_name(written), 40),
                plan.lifecycle.wording.task
            )
        }
        Wait::ForStage { task_ix } => format!("an earlier stage: {}", named(task_ix)),
        Wait::Held => "the removal of `skip: true` from the file".to_owned(),
    }
}

/// Returns a plan in a few lines, for JSON.
/// Returns what keeps the states of a plan's tasks.
fn states_in(plan: &Plan) -> &'static str {
    match plan.lifecycle.machine.written {
        [] => "journal",
        written if written.contains(&State::Running) && written.contains(&State::Failed) => "file",
        _ => "both",
    }
}

pub(crate) fn plan_report<'p>(opened: &Opened, linked: &'p LinkedPlan, readiness: &Readiness<'_>) -> PlanReport<'p> {
    let progress = readiness.progress();
    PlanReport {
        path: opened.path.clone(),
        dialect: linked.plan.dialect,
        form: linked.plan.form,
        title: linked.plan.title(),
        status: linked.plan.head_str(Field::Status),
        states_in: states_in(&linked.plan),
        progress: ProgressReport {
            total: progress.total,
            pending: progress.pending,
            running: progress.running,
            done: progress.done,
            failed: progress.failed,
            skipped: progress.skipped,
            blocked: progress.blocked,
        },
        errors: opened.inspection.count(Severity::Error),
    }
}

/// Returns a task and why it may or may not start, for JSON.
pub(crate) fn task_report<'p>(
    opened: &Opened,
    linked: &'p LinkedPlan,
    readiness: &Readiness<'_>,
    index: &planwright_core::text::LineIndex<'_>,
    task_ix: usize,
) -> TaskReport<'p> {
    let plan = &linked.plan;
    let task = &plan.tasks()[task_ix];
    let word = match task.status {
        Status::Unknown(word) => plan.str(word).to_owned(),
        status => plan.lifecycle.word(status).to_owned(),
    };
    let waits = match readiness.verdict(task_ix) {
        Verdict::Waits(waits) => waits.into_iter().map(|wait| wait_words(plan, wait)).collect(),
        _ => Vec::new(),
    };
    TaskReport {
        task: plan.task_name(task_ix).into_owned(),
        title: plan.task_title(task),
        status: task.status.as_str(),
        status_word: word,
        ready: readiness.is_ready(task_ix),
        depends_on: linked
            .links
            .of(task_ix)
            .iter()
            .map(|edge| plan.task_name(edge.to as usize).into_owned())
            .collect(),
        waits_for: waits,
        note: opened.reasons.recorded(plan, task_ix).map(str::to_owned),
        holder: (task.status == Status::Running)
            .then(|| opened.standing.holder_report(&plan.task_name(task_ix)))
            .flatten(),
        stage: plan.has_stages.then_some(task.stage),
        line: index.position(task.span.start).line,
    }
}
