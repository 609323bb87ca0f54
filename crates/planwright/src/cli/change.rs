//! What the verbs that change a plan share: their options, what they say, and how they are refused.

use std::path::{Path, PathBuf};

use planwright_core::change::Problem;
use planwright_core::dialect::Dialect;
use planwright_core::plan::{Readiness, State};
use planwright_run::journal::Notice;
use planwright_run::revise::{ReviseError, Revised, Target};
use planwright_run::store::LoadError;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::load_failure;
use crate::render::diff::unified_diff;
use crate::render::terminal::{addressed, cut, one_line, printable, shown_name};

/// Options of every verb that changes a plan.
#[derive(clap::Args)]
pub(crate) struct ChangeOptions {
    /// Who does it, for the plan and its history.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,

    /// Write nothing; say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show what would change in the file as a diff, and write nothing.
    #[arg(long)]
    pub(crate) diff: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A plan file that was found, and the dialect it is to be read in.
pub(crate) struct Found {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The dialect, if the user said so.
    pub(crate) forced: Option<&'static dyn Dialect>,
}

impl Found {
    pub(crate) fn target<'a>(&'a self, options: &ChangeOptions) -> Target<'a> {
        Target {
            path: &self.path,
            forced: self.forced,
            dry: options.dry_run || options.diff,
        }
    }
}

/// The version of what changing verbs print as JSON.
const VERSION: &str = "planwright.change/v1";

/// One change, as JSON.
#[derive(Serialize)]
struct ChangeReport<'a> {
    schema_version: &'static str,
    plan: String,
    verb: &'a str,
    /// Whether anything was written.
    written: bool,
    /// The number of the change in the plan's history; null where nothing was written.
    change: Option<u64>,
    /// The tasks that the verb names; for `add` the new one.
    names: Vec<String>,
    /// What became of which task.
    tasks: Vec<TaskReport>,
    /// Tasks that may start now.
    ready: Vec<String>,
    notices: Vec<String>,
    /// What else the edits did, and what to look at.
    notes: Vec<String>,
}

#[derive(Serialize)]
struct TaskReport {
    task: String,
    from: &'static str,
    to: &'static str,
    /// The task whose move brought this about.
    cause: Option<String>,
}

/// Says what was done, or would be.
pub(crate) fn report(
    path: &Path,
    verb: &str,
    revised: &Revised,
    options: &ChangeOptions,
    names: &[String],
    words: &[String],
    output: &mut Output,
) -> anyhow::Result<Exit> {
    for notice in &revised.notices {
        output.remark(&format!("note: {}", notice_words(notice)));
    }
    for note in &revised.notes {
        output.remark(&format!("note: {}", printable(note)));
    }
    if let Some(error) = &revised.pointer {
        output.remark(&format!(
            "warning: the plan is written, but {}",
            printable(&error.to_string())
        ));
    }
    let shown = path.to_string_lossy().into_owned();
    if options.json {
        let steps = revised.steps.iter().map(|step| TaskReport {
            task: step.task.clone(),
            from: step.from.as_str(),
            to: step.to.as_str(),
            cause: step.cause.clone(),
        });
        output.json(&ChangeReport {
            schema_version: VERSION,
            plan: shown,
            verb,
            written: revised.change.is_some(),
            change: revised.change,
            names: names.to_vec(),
            tasks: steps.collect(),
            ready: ready_names(revised),
            notices: revised.notices.iter().map(notice_words).collect(),
            notes: revised.notes.clone(),
        })?;
        return Ok(Exit::Success);
    }
    if options.diff {
        let diff = unified_diff(&shown, revised.before.as_str(), revised.after.source.as_str());
        output.write(&addressed(&diff, output.audience()));
        return Ok(Exit::Success);
    }
    for line in words {
        let line = if options.dry_run {
            format!("would be: {line}")
        } else {
            line.clone()
        };
        output.line(&line);
    }
    Ok(Exit::Success)
}

fn ready_names(revised: &Revised) -> Vec<String> {
    revised.after.plan.as_ref().map_or_else(Vec::new, |linked| {
        let readiness = Readiness::new(&linked.plan, &linked.links);
        let offered = readiness.offered().into_iter();
        offered.map(|ix| linked.plan.task_name(ix).into_owned()).collect()
    })
}

/// Returns a line for each task that moved, those that moved because of another one together.
pub(crate) fn step_lines(revised: &Revised) -> Vec<String> {
    let Some(linked) = &revised.after.plan else {
        return Vec::new();
    };
    let plan = &linked.plan;
    let mut lines = Vec::new();
    for step in revised.steps.iter().filter(|step| step.cause.is_none()) {
        let title = plan
            .find_task(&step.task)
            .map(|ix| cut(&one_line(plan.task_title(&plan.tasks()[ix])), 60))
            .filter(|title| !title.is_empty())
            .map_or_else(String::new, |title| format!("  {title}"));
        lines.push(format!(
            "{}: {} → {}{title}",
            shown_name(&step.task),
            step.from.as_str(),
            step.to.as_str()
        ));
        for (to, word) in [(State::Skipped, "skipped"), (State::Pending, "pending again")] {
            let others: Vec<_> = revised
                .steps
                .iter()
                .filter(|other| other.cause.as_deref() == Some(step.task.as_str()) && other.to == to)
                .map(|other| shown_name(&other.task))
                .collect();
            if !others.is_empty() {
                lines.push(format!("  {word} with it: {}", listed(&others)));
            }
        }
    }
    let ready: Vec<String> = ready_names(revised).iter().map(|name| shown_name(name)).collect();
    if !ready.is_empty() && revised.steps.iter().any(|step| step.to != State::Running) {
        lines.push(format!("ready: {}", listed(&ready)));
    }
    lines
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        n if n > MOST => format!("{shown} and {} more", n - MOST),
        _ => shown,
    }
}

pub(crate) fn notice_words(notice: &Notice) -> String {
    printable(&notice.to_string()).into_owned()
}

/// Returns an error of the run layer as the user sees it.
pub(crate) fn failure(error: &ReviseError) -> anyhow::Error {
    match error {
        ReviseError::NoSuchTask { name, known } => {
            let near = known
                .iter()
                .take(12)
                .map(|name| shown_name(name))
                .collect::<Vec<_>>()
                .join(", ");
            let more = if known.len() > 12 { ", …" } else { "" };
            let help = if known.is_empty() {
                "the plan has no tasks".to_owned()
            } else {
                format!("it has {near}{more}")
            };
            Failure::problem(
                format!("there is no task `{}` in this plan", cut(&shown_name(name), 60)),
                help,
            )
        }
        ReviseError::NothingReady => Failure::problem(
            "no task is ready to be started",
            "`planwright show` says what each one waits for",
        ),
        ReviseError::NothingToUndo => Failure::problem(
            "there is nothing to undo",
            "only changes made through planwright can be taken back; `planwright history` lists them",
        ),
        ReviseError::EditedSince { change } => Failure::problem(
            format!(
                "the plan has been edited since `{}` (change {}), which cannot be taken back any more",
                printable(&change.change.verb),
                change.seq
            ),
            "nothing was written; edit the plan by hand, or take it from version control",
        ),
        ReviseError::Problem(problem) => problem_failure(problem),
        ReviseError::Store(error) => match error {
            planwright_run::store::StoreError::Load(error @ LoadError::TooLarge { .. }) => load_failure(error),
            error => Failure::environment(error, error.help()),
        },
    }
}

/// Does the same, and names the file where a place of it is in the way.
pub(crate) fn failure_in(path: &Path, error: &ReviseError) -> anyhow::Error {
    match error {
        ReviseError::Problem(Problem::Place {
            position,
            message,
            help,
        }) => {
            let (path, line, column) = (path.to_string_lossy(), position.line, position.column);
            Failure::problem(format!("{}:{line}:{column}: {message}", printable(&path)), help.clone())
        }
        error => failure(error),
    }
}

fn problem_failure(problem: &Problem) -> anyhow::Error {
    Failure::problem(problem.to_string(), problem.help())
}
