//! `planwright show`: shows a plan or one task.

use std::path::Path;

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::diagnostic::Severity;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, Plan, Readiness, State, Status, Verdict, Wait};

use super::attempt::remark_copy;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{Naming, Opened, PlanOption, Reasons, naming, task_named};
use super::{show_plan, show_task};
use crate::render::json::{PlanReport, ProgressReport, ShowReport, ShownTask, TaskReport};
use crate::render::terminal::{Paint, cut, one_line, shown_name};

/// Show a plan: its progress, its tasks, and what is ready and why.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright show
  planwright show plan-5f0c2a9e
  planwright show --state failed,running    only these tasks
  planwright show --all                     every task, also the done ones
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

    /// Show every task in the order of the file, done ones too, however long that is.
    #[arg(long)]
    all: bool,

    /// Show only tasks in these states, as `failed,running`.
    #[arg(long, value_name = "STATES", value_delimiter = ',', value_enum)]
    state: Vec<StateFilter>,

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
        let is_bounded = args.limit.is_some() || args.cursor.is_some() || !args.fields.is_empty();
        if is_bounded || args.all || !args.state.is_empty() {
            let help = "leave them out, or name the plan alone";
            return Err(Failure::usage(
                "--all, --state, --limit, --cursor and --fields choose among the tasks of a plan",
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
        let chosen_tasks = tasks_in(linked, &readiness, &args.state);
        let (tasks, next_cursor) = page(args, &linked.plan, &chosen_tasks)?;
        let index = linked.plan.source().line_index();
        let reports = tasks
            .iter()
            .map(|&ix| task_report(&opened, linked, &readiness, &index, ix));
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
    let page = show_plan::Page {
        tasks: tasks_in(linked, &readiness, &args.state),
        is_whole: args.all,
        is_filtered: !args.state.is_empty(),
        width: output.width(),
        height: output.height(),
        paint: output.paint(),
    };
    output.write(&show_plan::draw(&opened, linked, &readiness, &page));
    Ok(Exit::Success)
}

/// Distinguishes a plan from a task of one: a word that names a plan means the plan.
fn meant(args: &Args) -> anyhow::Result<(Opened, Option<String>)> {
    let Some(what) = args.what.as_deref() else {
        return Ok((args.plan.open()?, None));
    };
    let has_task = |opened: &Opened| {
        let linked = opened.inspection.plan.as_ref();
        linked.is_some_and(|linked| linked.plan.find_task(what).is_some())
    };
    if let Some(plan) = args.plan.plan.as_deref() {
        let opened = args.plan.open()?;
        let task = (plan != what || has_task(&opened)).then(|| what.to_owned());
        return Ok((opened, task));
    }
    let naming = if what == "-" {
        Naming::Whole
    } else {
        naming(what, args.plan.reading.user)
    };
    if naming == Naming::Whole {
        return Ok((args.plan.open_named(what)?, None));
    }
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

/// The states that `--state` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StateFilter {
    /// Pending, and nothing is left that it waits for.
    Ready,
    /// Pending, and it waits for another task.
    Waiting,
    /// Ready or waiting.
    Pending,
    Running,
    Done,
    Failed,
    Skipped,
    Blocked,
}

impl StateFilter {
    fn fits(self, status: Status, is_ready: bool) -> bool {
        match self {
            StateFilter::Ready => is_ready,
            StateFilter::Waiting => status == Status::Pending && !is_ready,
            StateFilter::Pending => status == Status::Pending,
            StateFilter::Running => status == Status::Running,
            StateFilter::Done => status == Status::Done,
            StateFilter::Failed => status == Status::Failed,
            StateFilter::Skipped => status == Status::Skipped,
            StateFilter::Blocked => matches!(status, Status::Blocked(_)),
        }
    }
}

/// Returns the tasks in one of these states, in the order of the file; every task where no state is given.
fn tasks_in(linked: &LinkedPlan, readiness: &Readiness<'_>, states: &[StateFilter]) -> Vec<usize> {
    let fits = |ix: &usize| {
        let status = linked.plan.tasks()[*ix].status;
        states.is_empty() || states.iter().any(|state| state.fits(status, readiness.is_ready(*ix)))
    };
    (0..linked.plan.tasks().len()).filter(fits).collect()
}

/// Returns one page of the chosen tasks, by their places in the file, and where the next page begins.
fn page<'t>(args: &Args, plan: &Plan, chosen: &'t [usize]) -> anyhow::Result<(&'t [usize], Option<String>)> {
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
    let behind = chosen.partition_point(|ix| *ix < first);
    let limit = args
        .limit
        .map_or(n_tasks, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let end = behind.saturating_add(limit).min(chosen.len());
    let tasks = chosen.get(behind..end).unwrap_or_default();
    let last = tasks.last().filter(|_| end < chosen.len());
    let next = last.map(|&ix| format!("{ix}:{}", plan.task_name(ix)));
    Ok((tasks, next))
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
pub(super) fn explain(plan: &Plan, reasons: &Reasons, readiness: &Readiness<'_>, task_ix: usize) -> String {
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

/// Returns what keeps the states of a plan's tasks.
pub(super) fn states_in(plan: &Plan) -> &'static str {
    match plan.lifecycle.machine.written {
        [] => "journal",
        written if written.contains(&State::Running) && written.contains(&State::Failed) => "file",
        _ => "both",
    }
}

/// Returns a plan in a few lines, for JSON.
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
