//! `planwright runs`: lists runs with their status.

use std::num::NonZeroUsize;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::clock::to_the_second;
use planwright_run::runs::RunPlace;
use planwright_run::runs::state::RunState;
use serde::Serialize;

use super::exit::Exit;
use super::output::Output;
use super::run_arg::{Scope, SeenRun, Standing};
use crate::render::quantity::money;
use crate::render::run::columns::columns;
use crate::render::terminal::{cut, one_line};
use crate::render::wrap::hanging;

/// List the runs of this workspace, and how each of them stands.
///
/// The newest come first. A run that never said how it ended, and that no process is at, was interrupted: `planwright run`
/// continues it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright runs                   every run of this workspace
  planwright runs tasks.json        those of one plan
  planwright runs --json | jq '.runs[0].standing'

See `planwright events RUN` for what happened, `planwright report RUN` for a page about it.")]
pub(crate) struct Args {
    /// Only the runs of this plan: a path, an id or part of one.
    #[arg(value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Show no more than this many.
    #[arg(long, value_name = "N", default_value = "20")]
    limit: NonZeroUsize,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    runs: Vec<Row>,
    /// How many older ones there are.
    n_older: usize,
}

#[derive(Serialize)]
struct Row {
    run: String,
    /// The plan's path from the root of the workspace.
    plan: String,
    began: Option<String>,
    /// When the last event was.
    last: Option<String>,
    /// `running`, `interrupted`, `damaged`, or how the run ended: `finished`, `stuck`, `stopped`, `paused`, `awaits-review`, `reviewed`.
    standing: String,
    pid: Option<u32>,
    /// Whether nothing new starts for now.
    paused: bool,
    n_tasks: u64,
    n_done: u64,
    n_failed: u64,
    n_skipped: u64,
    n_review: u64,
    /// Neither done, failed nor skipped, and not in review.
    n_left: u64,
    n_running: u64,
    n_unverified: u64,
    /// Done or waiting for review, and no file was changed.
    n_unchanged: u64,
    n_attempts: u64,
    cost_usd: Option<f64>,
    tokens: Option<[u64; 2]>,
    /// Why it ended, or why its log cannot be read.
    why: Option<String>,
    /// The command that goes on.
    next: Option<String>,
    /// The folder of the run.
    folder: String,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let scope = Scope::of(args.plan.as_deref())?;
    let mut runs = scope.runs()?;
    let mut rows = Vec::new();
    for run in runs.by_ref().take(args.limit.get()) {
        rows.push(match run {
            Ok(run) => row(&run),
            Err((place, error)) => damaged(&place, String::new(), error.to_string()),
        });
    }
    let n_older = runs.count();
    if rows.is_empty() {
        scope.require_plan()?;
    }
    if args.json {
        output.json(&Report {
            schema_version: "planwright.runs/v1",
            runs: rows,
            n_older,
        })?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        output.remark(&format!(
            "there are no runs{}; {}",
            scope.words(),
            scope.where_runs_are()
        ));
    }
    draw(&rows, output);
    if n_older > 0 {
        output.remark(&format!("{n_older} older; --limit shows more"));
    }
    Ok(Exit::Success)
}

fn row(run: &SeenRun) -> Row {
    let plan = run.header.path.clone();
    match run.run_state() {
        Ok((run_state, standing)) => counted(&run.place, plan, run_state, &standing),
        Err(error) => damaged(&run.place, plan, error.to_string()),
    }
}

fn counted(place: &RunPlace, plan: String, run_state: RunState, standing: &Standing) -> Row {
    let counts = &run_state.counts;
    // A run may count tasks that it found done; its own word at the end tells of those too.
    let ended = run_state.ended.as_ref();
    let n_left = ended.map_or_else(|| run_state.n_left(), |ended| ended.n_left);
    Row {
        run: place.id().to_owned(),
        plan,
        standing: standing.word().to_owned(),
        pid: match standing {
            Standing::Running { pid } => Some(*pid),
            _ => None,
        },
        paused: run_state.paused.is_some(),
        n_tasks: run_state.begun.as_ref().map_or(0, |begun| begun.n_tasks),
        n_done: ended.map_or(counts.n_done, |ended| ended.n_done),
        n_failed: ended.map_or(counts.n_failed, |ended| ended.n_failed),
        n_skipped: ended.map_or(counts.n_skipped, |ended| ended.n_skipped),
        n_review: counts.n_review,
        n_left,
        n_running: counts.n_running,
        n_unverified: ended.map_or(counts.n_unverified, |ended| ended.n_unverified),
        n_unchanged: counts.n_unchanged,
        n_attempts: run_state.totals.n_attempts,
        cost_usd: run_state.totals.cost_usd,
        tokens: run_state.totals.tokens,
        why: ended.and_then(|ended| ended.why.clone()),
        next: ended.and_then(|ended| ended.next.clone()),
        folder: place.folder().to_string_lossy().into_owned(),
        began: run_state.began,
        last: run_state.last,
    }
}

fn damaged(place: &RunPlace, plan: String, why: String) -> Row {
    Row {
        run: place.id().to_owned(),
        plan,
        began: None,
        last: None,
        standing: "damaged".to_owned(),
        pid: None,
        paused: false,
        n_tasks: 0,
        n_done: 0,
        n_failed: 0,
        n_skipped: 0,
        n_review: 0,
        n_left: 0,
        n_running: 0,
        n_unverified: 0,
        n_unchanged: 0,
        n_attempts: 0,
        cost_usd: None,
        tokens: None,
        why: Some(why),
        next: None,
        folder: place.folder().to_string_lossy().into_owned(),
    }
}

/// The place of the plan among the columns.
const PLAN: usize = 1;

/// Draws a table. What does not fit the width stands below a row: what else there is to a run, then its plan too.
fn draw(rows: &[Row], output: &mut Output) {
    const HEAD: [&str; 7] = ["RUN", "PLAN", "BEGAN", "STANDS", "DONE", "FAILED", "LEFT"];
    let cells: Vec<[String; 7]> = rows.iter().map(cells_of).collect();
    let mut widths = HEAD.map(columns);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    let extras: Vec<String> = rows.iter().map(extra_words).collect();
    let has_cost = rows.iter().any(|row| row.cost_usd.is_some());
    let widest = extras.iter().map(|extra| columns(extra)).max().unwrap_or(0);
    let width = output.record_width();
    let n_columns = widths.iter().sum::<usize>() + 2 * (HEAD.len() - 1);
    let is_narrow = n_columns > width;
    let is_below = widest > 0 && n_columns + 2 + widest > width;
    let paint = output.paint();
    let laid = |cells: &[String; 7]| -> String {
        let parts = cells.iter().zip(widths).enumerate();
        let parts = parts.filter(|(at, _)| !(is_narrow && *at == PLAN));
        let parts = parts.map(|(at, (cell, width))| {
            let gap = " ".repeat(width.saturating_sub(columns(cell)));
            match at {
                0..4 => format!("{cell}{gap}"),
                _ => format!("{gap}{cell}"),
            }
        });
        parts.collect::<Vec<_>>().join("  ")
    };
    if !rows.is_empty() {
        let cost = if has_cost && !is_below { "  COST" } else { "" };
        output.line(&paint.bold(&format!("{}{cost}", laid(&HEAD.map(str::to_owned)))));
    }
    for (cells, extra) in cells.iter().zip(&extras) {
        let inline = if is_below { "" } else { extra };
        output.line(format!("{}  {inline}", laid(cells)).trim_end());
        let [_, plan, ..] = cells;
        let below = match (is_narrow, is_below) {
            (true, true) => format!("{plan}  {extra}"),
            (true, false) => plan.clone(),
            (false, true) => extra.clone(),
            (false, false) => String::new(),
        };
        if !below.is_empty() {
            output.line(&hanging("  ", below.trim_end(), width));
        }
    }
}

/// Returns what a run has besides its columns: its cost, and tasks that only few runs have.
fn extra_words(row: &Row) -> String {
    let others = [
        (row.n_skipped, "skipped"),
        (row.n_review, "in review"),
        (row.n_unchanged, "done without changes"),
    ];
    let others = others.iter().filter(|(n, _)| *n > 0);
    let others: Vec<String> = others.map(|(n, what)| format!("{n} {what}")).collect();
    let parts = row.cost_usd.map(money).into_iter().chain([others.join(", ")]);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

fn cells_of(row: &Row) -> [String; 7] {
    let stands = match (row.pid, row.paused) {
        (Some(pid), false) => format!("running ({pid})"),
        (Some(pid), true) => format!("paused ({pid})"),
        (None, _) => cut(&one_line(&row.standing), 24).replace('-', " "),
    };
    [
        row.run.clone(),
        one_line(&row.plan),
        row.began
            .as_deref()
            .map_or("-".to_owned(), |time| cut(&one_line(&to_the_second(time)), 24)),
        stands,
        row.n_done.to_string(),
        row.n_failed.to_string(),
        row.n_left.to_string(),
    ]
}
