//! `planwright report`: writes a run as one HTML page.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::inspect::Inspection;
use planwright_run::clock;
use planwright_run::files::{DiskFiles, open_to_read, read_end};
use planwright_run::git::Repository;
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::take_states;
use planwright_run::store;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_entries::from_here;
use super::run_arg::{Scope, SeenRun};
use super::summary::diffstats;
use crate::render::report::{FIRST_LINE, Source, page};
use crate::render::terminal::{cut, harmless_line, printable};

/// Write a page about a run: one HTML file with graph and logs.
///
/// Timeline, tasks and receipts are in it, too. The file needs no network and runs no scripts: open it in any browser, send it to
/// others. Mind that it holds the ends of the agents' logs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright report                      about the newest run
  planwright report --diff               with what each task changed
  planwright report 20261116-0530 --out run.html
  planwright report --out - | gzip > run.html.gz")]
pub(crate) struct Args {
    /// The run: its id, the beginning of it, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Where to write it; - for standard output. Default: report.html in the folder of the run.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Embed what each task changed, as a diff.
    #[arg(long)]
    diff: bool,

    /// Print JSON: where the page is.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    run: String,
    plan: String,
    path: String,
    n_bytes: usize,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let to_stdout = args.out.as_deref() == Some(Path::new("-"));
    if to_stdout && args.json {
        return Err(Failure::usage(
            "the page and JSON cannot both be printed",
            "leave out --json, or name a file",
        ));
    }
    let run = Scope::of(args.plan.as_deref())?.run(args.run.as_deref())?;
    let html = html_of(&run, args.diff)?;
    if to_stdout {
        output.write(&html);
        return Ok(Exit::Success);
    }
    let path = match &args.out {
        Some(out) => out.clone(),
        None => {
            let path = run.place.folder().join("report.html");
            let checked = run.place.refuse_links(&DiskFiles);
            checked.map_err(|error| not_written(&path, &error))?;
            path
        }
    };
    write(&path, &html)?;
    let shown = from_here(&path).to_string_lossy().into_owned();
    if args.json {
        output.json(&Report {
            schema_version: "planwright.report/v1",
            run: run.place.id().to_owned(),
            plan: run.header.path.clone(),
            path: shown,
            n_bytes: html.len(),
        })?;
    } else {
        output.line(&printable(&shown));
    }
    Ok(Exit::Success)
}

fn html_of(run: &SeenRun, has_diffs: bool) -> anyhow::Result<String> {
    let (run_state, standing) = run.run_state()?;
    let inspection = plan_of(run);
    let words = standing.words();
    let stats = diffstats(&run.plan().root, &run_state);
    let repository = Repository::around(&run.plan().root)
        .ok()
        .flatten()
        .filter(|_| has_diffs);
    let diff = |commit: &str| {
        let repository = repository.as_ref()?;
        let bytes = repository.diff_of(commit).ok()?;
        Some(diff_lines(&bytes))
    };
    let log = |task: &str, attempt: u32| end_of_log(&run.place.attempt(task, attempt).output());
    Ok(page(&Source {
        run: run.place.id(),
        path: &run.header.path,
        linked: inspection.as_ref().and_then(|inspection| inspection.plan.as_ref()),
        run_state: &run_state,
        standing: (standing.word(), &words),
        now: &clock::now(),
        stats: &stats,
        diff: &diff,
        log: &log,
    }))
}

/// How many lines of a diff a page holds.
const MAX_DIFF_LINES: usize = 2_000;

/// Returns the lines of a diff, long ones cut.
fn diff_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
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

/// Reads the plan as it was when the run ended, else as it is.
fn plan_of(run: &SeenRun) -> Option<Inspection> {
    let path = run.plan().target;
    let kept = store::load(&run.place.plan_at_end()).ok();
    let loaded = kept.or_else(|| store::load(&path).ok())?;
    let mut inspection = inspect_file(&loaded.source, Some(&path), None).inspection;
    // Without them it would call what is done pending.
    take_states(&mut inspection, &path).ok()?;
    Some(inspection)
}

/// Writes the page. What is no report is not written over.
fn write(path: &Path, html: &str) -> anyhow::Result<()> {
    // It may have come with the repository, and lead anywhere.
    if path.is_symlink() {
        return Err(Failure::outside(
            format!(
                "`{}` cannot be written: it is a link, and is not followed",
                path.display()
            ),
            "choose another place with --out",
        ));
    }
    let is_free = match begins_as_report(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        begins => begins,
    };
    match is_free {
        Ok(false) => Err(Failure::problem(
            format!("`{}` is there already, and is no report", path.display()),
            "choose another place with --out",
        )),
        Ok(true) => store::overwrite(path, html).map_err(|error| not_written(path, &error)),
        Err(error) => Err(not_written(path, &error)),
    }
}

fn not_written(path: &Path, error: &io::Error) -> anyhow::Error {
    Failure::outside(
        format!("`{}` cannot be written: {error}", path.display()),
        "choose another place with --out",
    )
}

fn begins_as_report(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    open_to_read(path)?
        .take(FIRST_LINE.len() as u64)
        .read_to_end(&mut beginning)?;
    Ok(beginning.is_empty() || beginning == FIRST_LINE.as_bytes())
}

/// Returns the last lines of a log, harmless each.
fn end_of_log(path: &Path) -> Option<Vec<String>> {
    const MAX_BYTES: u64 = 256 * 1024;
    const MAX_LINES: usize = 200;
    const MAX_LINE: usize = 2_000;
    let (start, bytes) = read_end(path, MAX_BYTES).ok()?;
    let words = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = words.split('\n').collect();
    // The first line may have begun before what was read, and the last is empty where the log ends as it should.
    let n_last = lines.len() - usize::from(lines.last().is_some_and(|line| line.is_empty()));
    let first = n_last.saturating_sub(MAX_LINES).max(usize::from(start > 0));
    let kept = lines.get(first..n_last).unwrap_or_default();
    Some(kept.iter().map(|line| harmless_line(&cut(line, MAX_LINE))).collect())
}
