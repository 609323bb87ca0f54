//! `planwright list`: lists the plans of a workspace.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_run::clock::to_the_second;
use serde::Serialize;

use super::attempt::remark_copy;
use super::exit::Exit;
use super::output::Output;
use super::plan_arg::{CREATE_PLAN, candidates, dialect_named, dialect_names, refuse_closed};
use super::plan_entries::{self, Entry};
use super::show_plan::{bar, counts};
use crate::render::quantity::count;
use crate::render::terminal::one_line;
use crate::render::wrap::{hanging, wrapped};

/// List the plans of this workspace with their progress.
///
/// The newest come first.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright list auth                  those with `auth` in title, goal, id or name
  planwright list --status failed       those that failed, and where nothing runs
  planwright list --dialect rawko --status in_progress
  planwright list --archived")]
pub(crate) struct Args {
    /// Only plans with this text in their title, goal, id or file name, in any case.
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Only plans in this state: complete, running, failed, pending, or a dialect's own word; may be given several times.
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,

    /// Only plans in this dialect.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// The archived plans instead.
    #[arg(long, conflicts_with = "user")]
    archived: bool,

    /// Also the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One plan of the list.
#[derive(Serialize)]
struct Row {
    path: String,
    dialect: Option<&'static str>,
    title: String,
    /// When it was last changed, by its own word or the file's.
    changed: String,
    done: usize,
    skipped: usize,
    failed: usize,
    running: usize,
    total: usize,
    /// Whether the numbers above, but for the total, and the state are unknown, because only the history has them.
    history_unreadable: bool,
    errors: usize,
    id: Option<String>,
    /// The plan's own word for its state, where its dialect has one.
    status: Option<String>,
    /// `complete`, `running`, `failed` or `pending`, by its tasks; null where no plan can be read.
    state: Option<&'static str>,
    archived: bool,
    /// Who holds its running tasks, in words.
    holders: Vec<String>,
    /// Why no task of it may be worked on; null where they may.
    closed: Option<String>,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plans: Vec<Row>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let dialect = args.dialect.as_deref().map(dialect_named).transpose()?;
    let paths = if args.archived {
        plan_entries::archived()
    } else {
        candidates(Path::new("."), args.user)
    };
    let all: Vec<Entry> = paths.into_iter().map(|path| Entry::of(path, args.archived)).collect();
    for entry in &all {
        remark_copy(&entry.path, "show", output);
    }
    let words = states_in(&all);
    let is_empty = all.is_empty();
    if is_empty && !args.archived {
        refuse_closed(Path::new("."))?;
    }
    let mut entries: Vec<Entry> = all
        .into_iter()
        .filter(|entry| dialect.is_none_or(|dialect| entry.dialect == Some(dialect.name())))
        .filter(|entry| args.status.is_empty() || args.status.iter().any(|word| is_in_state(entry, word)))
        .filter(|entry| args.text.as_deref().is_none_or(|text| mentions(entry, text)))
        .collect();
    entries.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    if args.json {
        let report = Report {
            schema_version: "planwright.list/v1",
            plans: entries.into_iter().map(row).collect(),
        };
        output.json(&report)?;
        return Ok(Exit::Success);
    }
    match () {
        () if is_empty && args.archived => output.remark("no archived plans in this workspace"),
        () if is_empty => output.remark(&format!("no plans in this workspace; {CREATE_PLAN}")),
        () if entries.is_empty() => output.remark(&format!("no plan fits; of those here {words}")),
        () => entries.iter().for_each(|entry| draw(entry, output)),
    }
    Ok(Exit::Success)
}

/// How many holders of tasks are named for a plan.
const MAX_HOLDERS: usize = 5;

fn draw(entry: &Entry, output: &mut Output) {
    let paint = output.paint();
    let dialect = entry.dialect.unwrap_or("?");
    let errors = match entry.errors {
        0 => String::new(),
        n => format!("  {}", paint.error(&count(n as u64, "error"))),
    };
    let progress = entry.progress.unwrap_or_default();
    let width = output.width();
    for line in wrapped(&entry.shown_title(), width) {
        output.line(&paint.bold(&line));
    }
    match entry.is_known {
        true => output.line(&hanging(
            &format!("  {}  ", bar(progress, paint)),
            &format!("{}{errors}", counts(progress, entry.n_interrupted)),
            width,
        )),
        false => {
            let why = paint.error("its history cannot be read, and only that has the states of its tasks");
            output.line(&hanging("  ", &format!("{why}{errors}"), width));
        }
    }
    for holder in entry.holders.iter().take(MAX_HOLDERS) {
        output.line(&hanging("  ", &paint.active(holder), width));
    }
    if entry.holders.len() > MAX_HOLDERS {
        output.line(&format!("  … and {} more", entry.holders.len() - MAX_HOLDERS));
    }
    let origin = format!(
        "{dialect} · {} · {}",
        to_the_second(&entry.changed),
        one_line(&entry.shown())
    );
    output.line(&hanging("  ", &paint.dim(&origin), width));
}

fn row(entry: Entry) -> Row {
    let progress = entry.progress.unwrap_or_default();
    Row {
        path: entry.shown(),
        dialect: entry.dialect,
        state: entry.state(),
        title: entry.title,
        changed: entry.changed,
        done: progress.done,
        skipped: progress.skipped,
        failed: progress.failed,
        running: progress.running,
        total: entry.n_tasks,
        history_unreadable: !entry.is_known,
        errors: entry.errors,
        id: entry.id,
        status: entry.status,
        archived: entry.archived,
        holders: entry.holders,
        closed: entry.closed,
    }
}

/// Returns whether a word is the one for a plan's state: the same for all dialects, or the plan's own.
fn is_in_state(entry: &Entry, word: &str) -> bool {
    let word = plain(word);
    let own = entry.status.as_deref().map(plain);
    entry.state().is_some_and(|state| state == word) || own.is_some_and(|own| own == word)
}

/// Returns a word as it is compared: dialects write `in_progress` and `InProgress`.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn mentions(entry: &Entry, text: &str) -> bool {
    let text = text.to_lowercase();
    let name = entry
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let places = [Some(&entry.title), entry.goal.as_ref(), entry.id.as_ref(), Some(&name)];
    places
        .into_iter()
        .flatten()
        .any(|place| place.to_lowercase().contains(&text))
}

/// Returns which states there are, and how often.
fn states_in(entries: &[Entry]) -> String {
    let mut n_by_state: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        *n_by_state.entry(entry.state().unwrap_or("unreadable")).or_default() += 1;
    }
    let parts: Vec<String> = n_by_state.iter().map(|(state, n)| format!("{n} {state}")).collect();
    parts.join(", ")
}
