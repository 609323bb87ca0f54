//! `planwright history`: the changes made through planwright.

use planwright_run::clock::to_the_second;
use planwright_run::shell::command_line;
use planwright_verbs::history::{HistoryReport, HistoryRequest, PastReport, VersionReport, history};
use planwright_verbs::text::{count, cut, one_line, printable, shown_name, some_of};
use planwright_verbs::verification::{ReceiptReport, VerifiedReport};

use super::plan_arg::PlanArgument;
use super::{Exit, Output, Result};
use crate::compat;
use crate::render::wrap::hanging;

/// List the changes of a plan, the newest first.
///
/// Lists changes that planwright made, and above them the versions of a replanned rawko plan: `plan`, `plan-v2`, … Archived plans
/// keep their history.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright history
  planwright history plan-a1b2c3d4 --limit 5")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    plan: PlanArgument,

    /// Show at most this many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub(crate) fn run(args: &HistoryArgs, output: &mut Output) -> Result<Exit> {
    let request = HistoryRequest {
        plan: args.plan.choice()?,
        limit: Some(args.limit),
    };
    let report = history(&output.workspace(), &request)?;
    output.show(&report, draw)?;
    Ok(Exit::Success)
}

fn draw(report: &HistoryReport, output: &mut Output) {
    if report.versions.len() > 1 {
        for line in version_lines(&report.versions) {
            output.line(&line);
        }
    }
    for text in &report.texts {
        output.line(&format!("  text @{}  {}", text.number, one_line(&text.path)));
    }
    for past in &report.changes {
        output.line(&line_of(past, output.record_width()));
    }
    if let [.., last] = report.texts.as_slice() {
        let plan = one_line(&report.plan);
        output.remark(&format!(
            "`planwright diff {plan}@{} {plan}` shows what is different since",
            last.number
        ));
    }
    let n_older = report.n_changes - report.changes.len();
    match () {
        () if report.n_changes == 0 => output.remark("no changes were made to this plan through planwright"),
        () if n_older > 0 => {
            let older = count(n_older as u64, "older change");
            output.remark(&format!("{older}; --limit shows more"));
        }
        () => {}
    }
    let times = match report.n_external {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    if report.n_external > 0 {
        output.remark(&format!(
            "the file was changed {times} in between, by an editor or another program"
        ));
    }
    if report.n_torn > 0 {
        let bytes = count(report.n_torn as u64, "byte");
        output.remark(&format!(
            "note: the last record of the journal is incomplete ({bytes}); the next change removes it"
        ));
    }
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

/// Returns a change in words, wrapped for a width.
pub(super) fn line_of(past: &PastReport, width: usize) -> String {
    let start = format!("{:>4}  {}  ", past.number, printable(&to_the_second(&past.time)));
    let mut line = one_line(&past.verb);
    let moves = moves_words(past);
    match moves.is_empty() {
        false => line.push_str(&format!(" {moves}")),
        true if past.tasks.is_empty() => {}
        true => line.push_str(&format!(" {}", cut(&one_line(&past.tasks.join(", ")), 40))),
    }
    if let Some(to) = &past.moved_to {
        line.push_str(&format!(" → {}", one_line(to)));
    }
    if let Some(by) = &past.by {
        line.push_str(&format!("  by {}", cut(&one_line(by), 24)));
    }
    if let Some(note) = &past.note {
        line.push_str(&format!("  “{}”", cut(&one_line(note), 60)));
    }
    if let Some(from) = &past.taken_over_from {
        line.push_str(&format!("  (taken over from {})", cut(&one_line(from), 40)));
    }
    if !past.passed_gates.is_empty() {
        let how = if compat::ignores_gates(&past.verb) {
            "ignored"
        } else {
            "overridden with --force"
        };
        let gates = one_line(&past.passed_gates.join(", "));
        line.push_str(&format!("  ({how}: {gates})"));
    }
    if let Some(words) = verified_words(&past.verified) {
        line.push_str(&format!("  ({words})"));
    }
    match (past.outcome, past.undone_by_number) {
        (_, Some(by)) => line.push_str(&format!("  (undone by {by})")),
        ("landed", None) => {}
        ("void", None) => line.push_str("  (never reached the file)"),
        (_, None) => line.push_str("  (interrupted)"),
    }
    hanging(&start, &line, width)
}

/// Returns the states that a run gave to tasks. Other changes name the state by their verb.
fn moves_words(past: &PastReport) -> String {
    const MOST: usize = 6;
    if !past.is_of_run {
        return String::new();
    }
    let mut last: Vec<(&str, &str)> = Vec::new();
    for moved in &past.moves {
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

/// Returns the verification of tasks, in words; none without commands.
fn verified_words(verified: &[VerifiedReport]) -> Option<String> {
    if verified.iter().any(|one| one.waived) {
        return Some("unverified, as asked".to_owned());
    }
    let receipts = || verified.iter().flat_map(|one| &one.receipts);
    let (n_run, n_failed) = (receipts().count(), receipts().filter(|one| !one.passed).count());
    match (n_run, n_failed) {
        (0, _) => None,
        (_, 0) => Some(format!("verified by {}", commands_words(receipts()))),
        (n_run, n_failed) => Some(format!("{n_failed} of {} failed", count(n_run as u64, "command"))),
    }
}

/// Returns the commands of receipts, each once; many are only counted.
pub(super) fn commands_words<'r>(receipts: impl IntoIterator<Item = &'r ReceiptReport>) -> String {
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
