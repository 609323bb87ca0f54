//! `planwright history` and `undo`: what was changed through planwright, and taking the last of it back.

use planwright_run::journal::{Kind, Outcome, PastChange, Record};
use planwright_run::revise::undo;
use planwright_run::store::{self, PlanFile};
use serde::Serialize;

use super::change::{ChangeOptions, failure, report};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::PlanArgument;
use crate::render::terminal::{cut, one_line, printable};

/// List the changes that were made to a plan through planwright, the newest first.
#[derive(clap::Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    plan: PlanArgument,

    /// Show no more than this many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Take back the last change that was made through planwright.
#[derive(clap::Args)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    plan: PlanArgument,

    #[command(flatten)]
    change: ChangeOptions,
}

/// The version of `history --json`.
const VERSION: &str = "planwright.history/v1";

#[derive(Serialize)]
struct HistoryReport {
    schema_version: &'static str,
    plan: String,
    /// How many changes there are in all.
    n_changes: usize,
    /// The newest first.
    changes: Vec<PastReport>,
    /// How often the file was found changed by something else.
    n_external: usize,
}

#[derive(Serialize)]
struct PastReport {
    change: u64,
    time: String,
    verb: String,
    tasks: Vec<String>,
    by: Option<String>,
    note: Option<String>,
    /// `landed`, `void` where the file never changed, `lost` where that cannot be told, `pending`.
    outcome: &'static str,
    undoes: Option<u64>,
    undone_by: Option<u64>,
}

pub(crate) fn run(args: &HistoryArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let opened = args.plan.open()?;
    let found = args.plan.find()?;
    let id = opened
        .inspection
        .plan
        .as_ref()
        .and_then(|linked| planwright_run::journal::plan_id(&linked.plan));
    let history = store::history(PlanFile { path: &found.path, id })
        .map_err(|error| Failure::environment(&error, error.help()))?;
    let mut changes = history.changes();
    changes.reverse();
    let is_external = |record: &Record| matches!(record.kind, Kind::External(_));
    let n_external = history.records().filter(is_external).count();
    let n_changes = changes.len();
    changes.truncate(args.limit);
    if args.json {
        output.json(&HistoryReport {
            schema_version: VERSION,
            plan: opened.path,
            n_changes,
            changes: changes.iter().map(past_report).collect(),
            n_external,
        })?;
        return Ok(Exit::Success);
    }
    for past in &changes {
        output.line(&line_of(past));
    }
    if n_changes == 0 {
        output.remark("no changes were made to this plan through planwright");
    } else if n_changes > changes.len() {
        output.remark(&format!(
            "{} older changes; --limit shows more",
            n_changes - changes.len()
        ));
    }
    if n_external > 0 {
        let times = if n_external == 1 {
            "once".to_owned()
        } else {
            format!("{n_external} times")
        };
        output.remark(&format!("found changed by something else {times} in between"));
    }
    Ok(Exit::Success)
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Landed => "landed",
        Outcome::Void => "void",
        Outcome::Lost => "lost",
        Outcome::Pending => "pending",
    }
}

fn past_report(past: &PastChange) -> PastReport {
    PastReport {
        change: past.seq,
        time: past.time.clone(),
        verb: past.change.verb.clone(),
        tasks: past.change.tasks.clone(),
        by: past.change.by.clone(),
        note: past.change.note.clone(),
        outcome: outcome_word(past.outcome),
        undoes: past.change.undoes,
        undone_by: past.undone_by,
    }
}

fn line_of(past: &PastChange) -> String {
    let change = &past.change;
    let mut line = format!(
        "{:>4}  {}  {}",
        past.seq,
        printable(&past.time),
        printable(&change.verb)
    );
    if !change.tasks.is_empty() {
        line.push_str(&format!(" {}", cut(&one_line(&change.tasks.join(", ")), 40)));
    }
    if let Some(by) = &change.by {
        line.push_str(&format!("  by {}", cut(&one_line(by), 24)));
    }
    if let Some(note) = &change.note {
        line.push_str(&format!("  “{}”", cut(&one_line(note), 60)));
    }
    match (past.outcome, past.undone_by) {
        (_, Some(by)) => line.push_str(&format!("  (undone by {by})")),
        (Outcome::Landed, None) => {}
        (Outcome::Void, None) => line.push_str("  (never reached the file)"),
        (Outcome::Lost | Outcome::Pending, None) => line.push_str("  (interrupted)"),
    }
    line
}

pub(crate) fn run_undo(args: &UndoArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.plan.find()?;
    let by = args.change.by.as_deref();
    let (past, revised) = undo(found.target(&args.change), by).map_err(|error| failure(&error))?;
    let tasks = if past.change.tasks.is_empty() {
        String::new()
    } else {
        format!(" {}", cut(&one_line(&past.change.tasks.join(", ")), 40))
    };
    let line = format!(
        "took back {}{tasks} (change {})",
        printable(&past.change.verb),
        past.seq
    );
    report(
        &found.path,
        "undo",
        &revised,
        &args.change,
        &past.change.tasks,
        &[line],
        output,
    )
}
