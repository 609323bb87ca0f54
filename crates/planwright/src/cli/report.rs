//! `planwright report`: writes a run as one HTML page.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::report::{ReportRequest, ReportedRun, report, reported_run};
use planwright_verbs::text::{cut, printable};

use super::{Exit, Failure, Output, Result};
use crate::render::report::{Source, page};
use crate::render::terminal::harmless_line;

/// Write a page about a run: one HTML file with graph and logs.
///
/// The page also has timeline, tasks and receipts. It needs no network and runs no scripts: open it in any browser, or send it.
/// Check it first: it has the last lines of the agents' logs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright report                      about the newest run
  planwright report --diff               with what each task changed
  planwright report 20261116-0530 --out run.html
  planwright report --out - | gzip > run.html.gz")]
pub(crate) struct Args {
    /// The run: its id, the beginning of its id, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// The file to write; - for standard output. Default: report.html in the folder of the run.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Embed the diff of each task.
    #[arg(long)]
    diff: bool,

    /// Print JSON with the path of the page.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let to_stdout = args.out.as_deref() == Some(Path::new("-"));
    if to_stdout && args.json {
        return Err(Failure::usage(
            "the page and JSON cannot both be printed",
            "leave out --json, or name a file",
        ));
    }
    let request = ReportRequest {
        run: args.run.clone(),
        plan: args.plan.clone(),
        out: args.out.clone(),
        diff: args.diff,
    };
    let workspace = output.workspace();
    if to_stdout {
        output.write(&html_of(&reported_run(&workspace, &request)?));
        return Ok(Exit::Success);
    }
    let report = report(&workspace, &request, html_of)?;
    match args.json {
        true => output.json(&report)?,
        false => output.line(&printable(&report.path)),
    }
    Ok(Exit::Success)
}

fn html_of(run: &ReportedRun) -> String {
    let words = run.standing.words();
    let diff = |commit: &str| run.diff(commit).map(|text| diff_lines(&text));
    let log = |task: &str, attempt: u32| {
        let lines = run.log(task, attempt)?;
        Some(lines.iter().map(|line| harmless_line(line)).collect())
    };
    page(&Source {
        run: run.id(),
        path: run.path(),
        linked: run.linked(),
        run_state: &run.run_state,
        standing: (run.standing.word(), &words),
        now: &run.now,
        stats: &run.stats,
        diff: &diff,
        log: &log,
    })
}

/// How many lines of a diff a page holds.
const MAX_DIFF_LINES: usize = 2_000;

/// Returns the lines of a diff, long ones cut.
fn diff_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .take(MAX_DIFF_LINES)
        .map(|line| cut(&harmless_line(line), 500))
        .collect();
    let n_more = text.lines().count().saturating_sub(MAX_DIFF_LINES);
    if n_more > 0 {
        lines.push(format!("… and {n_more} more lines"));
    }
    lines
}
