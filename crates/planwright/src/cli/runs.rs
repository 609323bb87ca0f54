//! `planwright runs`: lists runs with their status.

use std::num::NonZeroUsize;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::clock::to_the_second;
use planwright_verbs::runs::{ListedRun, RunsRequest, runs};
use planwright_verbs::text::{columns, cut, money, one_line};

use super::{Exit, Output, Result};
use crate::render::wrap::hanging;

/// List the runs of this workspace with their states, newest first.
///
/// A run without a recorded end and without a process was interrupted: `planwright run` continues it.
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

    /// Show at most this many.
    #[arg(long, value_name = "N", default_value = "20")]
    limit: NonZeroUsize,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = RunsRequest {
        plan: args.plan.clone(),
        limit: Some(args.limit),
    };
    let report = runs(&output.workspace(), &request)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    if report.runs.is_empty() {
        output.remark(&format!("there are no runs{}; {}", report.scope, report.help));
    }
    draw(&report.runs, output);
    if report.n_older > 0 {
        output.remark(&format!("{} older; --limit shows more", report.n_older));
    }
    Ok(Exit::Success)
}

/// The index of the plan's column.
const PLAN: usize = 1;

/// Draws a table. Content that does not fit is printed below its row: further facts about the run, then its plan.
fn draw(rows: &[ListedRun], output: &mut Output) {
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

/// Returns the facts about a run that have no column: its cost, and tasks that only few runs have.
fn extra_words(row: &ListedRun) -> String {
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

fn cells_of(row: &ListedRun) -> [String; 7] {
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
