//! `planwright history` and `undo`: lists the changes of a plan, and undoes the last one.

use std::path::Path;

use planwright_core::inspect::LinkedPlan;
use planwright_run::claims::RUN_VERB;
use planwright_run::clock::to_the_second;
use planwright_run::journal::{Change, Kind, Outcome, PastChange, Receipt, Record, Verified, plan_id};
use planwright_run::revise::{UndoCall, undo};
use planwright_run::shell::command_line;
use planwright_run::store::{self, PlanFile};
use planwright_run::verify::passed;
use planwright_run::workspace::{archived_plans, plans_at_home, root_of};
use serde::Serialize;

use super::attempt::remark_copy;
use super::change::{ChangeOptions, Words, failure, report};
use super::claim_args::{TakeOverOption, refuse_without_note};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetArgument;
use super::plan_entries::{Entry, from_here};
use super::verification::VerifiedReport;
use crate::render::quantity::{count, some_of};
use crate::render::terminal::{cut, one_line, printable, shown_name};
use crate::render::wrap::hanging;

/// List the changes that were made to a plan, the newest first.
///
/// They are those that were made through planwright; before them stand its versions. Versions are the files of a rawko plan
/// that was replanned: `plan`, `plan-v2`, … An archived plan has its history still.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright history
  planwright history plan-a1b2c3d4 --limit 5")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    plan: TargetArgument,

    /// Show no more than this many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Take back the last change that was made through planwright.
///
/// Once more takes back the one before. A plan that was edited by something else since then stays as it is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright undo
  planwright undo --diff                     look at it first")]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    plan: TargetArgument,

    /// Why, for the history.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    take_over: TakeOverOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// The version of `history --json`.
const VERSION: &str = "planwright.history/v1";

#[derive(Serialize)]
struct HistoryReport {
    schema_version: &'static str,
    plan: String,
    /// The versions of the plan, the oldest first; empty where its dialect counts none.
    versions: Vec<VersionReport>,
    /// The texts that new versions took the place of, the oldest first.
    texts: Vec<KeptReport>,
    /// How many changes there are in all.
    n_changes: usize,
    /// The newest first.
    changes: Vec<PastReport>,
    /// How often the file was found changed by something else.
    n_external: usize,
    /// How many bytes at the end of the journal were never finished.
    n_torn: usize,
}

/// One version of a plan.
#[derive(Serialize)]
struct VersionReport {
    version: u64,
    id: Option<String>,
    path: String,
    /// The plan's own word for its state.
    status: Option<String>,
    changed: String,
    archived: bool,
    /// Whether this is the plan that was asked about.
    asked: bool,
}

/// A text that a new version took the place of.
#[derive(Serialize)]
struct KeptReport {
    /// What `planwright diff` calls it: PLAN@NUMBER.
    number: usize,
    path: String,
}

#[derive(Serialize)]
pub(super) struct PastReport {
    /// The number that claims and other reports have it by.
    change: u64,
    /// Its place among the changes, counted from 1.
    number: u64,
    time: String,
    verb: String,
    tasks: Vec<String>,
    /// The states that tasks got.
    moves: Vec<MoveReport>,
    by: Option<String>,
    note: Option<String>,
    /// `landed`, `void` where the file never changed, `lost` where that cannot be told, `pending`.
    outcome: &'static str,
    undoes: Option<u64>,
    undone_by: Option<u64>,
    /// Where the plan file was moved, from the root of the workspace.
    moved_to: Option<String>,
    /// Who held its tasks until then, where they were taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_over_from: Option<String>,
    /// The gates that were closed and were passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passed_gates: Vec<String>,
    /// How tasks were verified, for `done` and `verify`.
    verified: Vec<VerifiedReport>,
}

/// A task that got another state.
#[derive(Serialize)]
struct MoveReport {
    task: String,
    from: Option<String>,
    to: String,
}

pub(crate) fn run(args: &HistoryArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let opened = args.plan.open()?;
    let linked = opened.inspection.plan.as_ref();
    let path = Path::new(&opened.path);
    remark_copy(path, "history", output);
    let id = linked.and_then(|linked| plan_id(&linked.plan));
    let history = store::history(PlanFile { path, id }).map_err(|error| Failure::environment(&error, error.help()))?;
    let versions = linked.map_or_else(Vec::new, |linked| versions_of(linked, path));
    let texts = store::versions(path)
        .into_iter()
        .enumerate()
        .map(|(ix, path)| KeptReport {
            number: ix + 1,
            path: from_here(&path).display().to_string(),
        });
    let texts: Vec<KeptReport> = texts.collect();
    let mut changes = history.changes().to_vec();
    // That a run first read the plan is no change of it.
    changes.retain(|past| !past.change.is_beginning());
    // A plan that cannot be read any more has a history still; what never was one has none.
    if changes.is_empty() && linked.is_none() {
        opened.linked()?;
    }
    changes.reverse();
    let is_external = |record: &Record| matches!(record.kind, Kind::External(_));
    let n_external = history.records().filter(is_external).count();
    let n_changes = changes.len();
    changes.truncate(args.limit);
    if args.json {
        output.json(&HistoryReport {
            schema_version: VERSION,
            plan: opened.path,
            versions,
            texts,
            n_changes,
            changes: changes.iter().map(past_report).collect(),
            n_external,
            n_torn: history.n_torn(),
        })?;
        return Ok(Exit::Success);
    }
    if versions.len() > 1 {
        for line in version_lines(&versions) {
            output.line(&line);
        }
    }
    for text in &texts {
        let number = text.number;
        output.line(&format!("  text @{number}  {}", one_line(&text.path)));
    }
    for past in &changes {
        output.line(&line_of(past, output.record_width()));
    }
    if let [.., last] = texts.as_slice() {
        let plan = one_line(&path.display().to_string());
        output.remark(&format!(
            "`planwright diff {plan}@{} {plan}` shows what is different since",
            last.number
        ));
    }
    if n_changes == 0 {
        output.remark("no changes were made to this plan through planwright");
    } else if n_changes > changes.len() {
        let older = count((n_changes - changes.len()) as u64, "older change");
        output.remark(&format!("{older}; --limit shows more"));
    }
    if n_external > 0 {
        let times = if n_external == 1 {
            "once".to_owned()
        } else {
            format!("{n_external} times")
        };
        output.remark(&format!(
            "the file was changed {times} in between, by an editor or another program"
        ));
    }
    if history.n_torn() > 0 {
        let bytes = if history.n_torn() == 1 { "byte" } else { "bytes" };
        output.remark(&format!(
            "note: the end of the journal was never finished ({} {bytes}); the next change cuts it",
            history.n_torn()
        ));
    }
    Ok(Exit::Success)
}

/// Returns the versions of a plan, the oldest first: those in use and those that were archived.
fn versions_of(linked: &LinkedPlan, path: &Path) -> Vec<VersionReport> {
    let versions = linked.dialect.versions();
    let Some(lineage) = versions.and_then(|versions| versions.lineage(&linked.plan)) else {
        return Vec::new();
    };
    let root = root_of(path);
    let asked = std::fs::canonicalize(path).ok();
    let is_asked = |path: &Path| std::fs::canonicalize(path).ok() == asked;
    let in_use = plans_at_home(&root).into_iter().map(|path| (path, false));
    let archived = archived_plans(&root).into_iter().map(|path| (path, true));
    let mut all: Vec<_> = in_use.chain(archived).collect();
    // A plan may lie where its tool does not look.
    if !all.iter().any(|(path, _)| is_asked(path)) {
        all.push((path.to_owned(), false));
    }
    let entries = all
        .into_iter()
        .map(|(path, archived)| Entry::of(from_here(&path), archived));
    let mut versions: Vec<VersionReport> = entries
        .filter(|entry| entry.dialect == Some(linked.dialect.name()))
        .filter_map(|entry| {
            let own = entry.lineage.as_ref().filter(|own| own.base == lineage.base)?;
            Some(VersionReport {
                version: own.version,
                path: entry.shown(),
                asked: is_asked(&entry.path),
                id: entry.id,
                status: entry.status,
                changed: entry.changed,
                archived: entry.archived,
            })
        })
        .collect();
    versions.sort_by(|a, b| a.version.cmp(&b.version).then_with(|| a.path.cmp(&b.path)));
    versions
}

fn version_lines(versions: &[VersionReport]) -> Vec<String> {
    let shown = |text: Option<&String>| text.map_or(String::new(), |text| cut(&one_line(text), 40));
    let width = |lengths: Vec<usize>| lengths.into_iter().max().unwrap_or(0);
    let ids = width(
        versions
            .iter()
            .map(|one| shown(one.id.as_ref()).chars().count())
            .collect(),
    );
    let words = width(
        versions
            .iter()
            .map(|one| shown(one.status.as_ref()).chars().count())
            .collect(),
    );
    let lines = versions.iter().map(|one| {
        let mark = if one.asked { "→" } else { " " };
        let archived = if one.archived { "  (archived)" } else { "" };
        format!(
            "{mark} version {}  {:ids$}  {:words$}  {}{archived}",
            one.version,
            shown(one.id.as_ref()),
            shown(one.status.as_ref()),
            one_line(&one.path)
        )
    });
    lines.collect()
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Landed => "landed",
        Outcome::Void => "void",
        Outcome::Lost => "lost",
        Outcome::Pending => "pending",
    }
}

pub(super) fn past_report(past: &PastChange) -> PastReport {
    PastReport {
        change: past.seq,
        number: past.number,
        time: past.time.clone(),
        verb: past.change.verb.clone(),
        tasks: past.change.tasks.clone(),
        moves: past
            .change
            .moves
            .iter()
            .chain(&past.change.states)
            .map(|moved| MoveReport {
                task: moved.task.clone(),
                from: moved.from.clone(),
                to: moved.to.clone(),
            })
            .collect(),
        by: past.change.by.clone(),
        note: past.change.note.clone(),
        outcome: outcome_word(past.outcome),
        undoes: past.change.undoes,
        undone_by: past.undone_by,
        moved_to: past.moved_to.clone(),
        taken_over_from: past.change.taken_over_from.clone(),
        passed_gates: past.change.passed_gates.clone(),
        verified: past.change.verified.iter().map(VerifiedReport::from).collect(),
    }
}

/// Returns a change in words, broken between words for a width.
pub(super) fn line_of(past: &PastChange, width: usize) -> String {
    let change = &past.change;
    let start = format!("{:>4}  {}  ", past.number, printable(&to_the_second(&past.time)));
    let mut line = one_line(&change.verb);
    let moves = moves_words(change);
    match moves.is_empty() {
        false => line.push_str(&format!(" {moves}")),
        true if change.tasks.is_empty() => {}
        true => line.push_str(&format!(" {}", cut(&one_line(&change.tasks.join(", ")), 40))),
    }
    if let Some(to) = &past.moved_to {
        line.push_str(&format!(" → {}", one_line(to)));
    }
    if let Some(by) = &change.by {
        line.push_str(&format!("  by {}", cut(&one_line(by), 24)));
    }
    if let Some(note) = &change.note {
        line.push_str(&format!("  “{}”", cut(&one_line(note), 60)));
    }
    if let Some(from) = &change.taken_over_from {
        line.push_str(&format!("  (taken over from {})", cut(&one_line(from), 40)));
    }
    if !change.passed_gates.is_empty() {
        let how = if change.verb.starts_with("aimi-cli") {
            "ignored"
        } else {
            "overridden with --force"
        };
        let gates = one_line(&change.passed_gates.join(", "));
        line.push_str(&format!("  ({how}: {gates})"));
    }
    if let Some(words) = verified_words(&change.verified) {
        line.push_str(&format!("  ({words})"));
    }
    match (past.outcome, past.undone_by_number) {
        (_, Some(by)) => line.push_str(&format!("  (undone by {by})")),
        (Outcome::Landed, None) => {}
        (Outcome::Void, None) => line.push_str("  (never reached the file)"),
        (Outcome::Lost | Outcome::Pending, None) => line.push_str("  (interrupted)"),
    }
    hanging(&start, &line, width)
}

/// Returns the states that a run gave to tasks. The verb of any other change names the state.
fn moves_words(change: &Change) -> String {
    const MOST: usize = 6;
    if change.verb != RUN_VERB {
        return String::new();
    }
    let mut last: Vec<(&str, &str)> = Vec::new();
    for moved in change.moves.iter().chain(&change.states) {
        match last.iter_mut().find(|(task, _)| *task == moved.task) {
            Some((_, to)) => *to = &moved.to,
            None => last.push((&moved.task, &moved.to)),
        }
    }
    let words = last
        .iter()
        .map(|(task, to)| format!("{} → {}", cut(&shown_name(task), 24), one_line(to)));
    some_of(words, MOST)
}

/// Returns how tasks were verified, in words; none where nothing was to be run.
fn verified_words(verified: &[Verified]) -> Option<String> {
    if verified.iter().any(|one| one.waived) {
        return Some("unverified, as asked".to_owned());
    }
    let receipts = || verified.iter().flat_map(|one| &one.receipts);
    let (n_run, n_failed) = (receipts().count(), receipts().filter(|one| !passed(one)).count());
    let plural = if n_run == 1 { "" } else { "s" };
    match (n_run, n_failed) {
        (0, _) => None,
        (_, 0) => Some(format!("verified by {}", commands_words(receipts()))),
        (n_run, n_failed) => Some(format!("{n_failed} of {n_run} command{plural} failed")),
    }
}

/// Returns the commands of receipts, each once; many are counted.
pub(super) fn commands_words<'r>(receipts: impl Iterator<Item = &'r Receipt>) -> String {
    const MOST: usize = 2;
    let mut commands: Vec<String> = Vec::new();
    for receipt in receipts {
        let words = format!("`{}`", cut(&one_line(&command_line(&receipt.command)), 40));
        if !commands.contains(&words) {
            commands.push(words);
        }
    }
    match commands.len() {
        n if n > MOST => format!("{n} commands"),
        _ => commands.join(" and "),
    }
}

pub(crate) fn run_undo(args: &UndoArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let takes_over = args.take_over.take_over;
    refuse_without_note("--take-over", takes_over, args.note.as_deref())?;
    let found = args.plan.find()?;
    let call = UndoCall {
        by: args.change.by.as_deref(),
        takes_over,
        note: args.note.as_deref(),
    };
    let (past, revised) = undo(found.target(&args.change), call).map_err(|error| failure(&found, &error))?;
    let tasks = if past.change.tasks.is_empty() {
        String::new()
    } else {
        format!(" {}", cut(&one_line(&past.change.tasks.join(", ")), 40))
    };
    let what = format!("{}{tasks} (change {})", printable(&past.change.verb), past.number);
    let words = Words::new(format!("took back {what}"), format!("would take back {what}"));
    report(
        &found.path,
        "undo",
        &revised,
        &args.change,
        &past.change.tasks,
        &words,
        output,
    )
}
