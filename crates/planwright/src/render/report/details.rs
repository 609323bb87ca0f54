//! The details of each task in a report: attempts, verification, the end of the log.

use std::fmt::Write as _;

use planwright_run::runs::Receipt;
use planwright_run::runs::state::{AttemptRun, TaskRun};
use planwright_run::shell::command_line;
use planwright_verbs::text::{clock, count, cut, duration, money, tokens};

use super::markup::{class_of, pill, text, time};
use super::table::landed_commit;
use super::timeline::outcome_of;
use super::{ReportPage, ReportRow};
use crate::render::terminal::harmless_line;

/// The limit for logs in a page, in bytes; those of failed tasks come first.
const MAX_LOGS: usize = 4 * 1024 * 1024;
/// How many files of an attempt are listed.
const MAX_FILES: usize = 200;

pub(super) fn draw(page: &ReportPage<'_>, out: &mut String) {
    let tried: Vec<(usize, &ReportRow<'_>, &TaskRun)> = page
        .rows
        .iter()
        .enumerate()
        .filter_map(|(ix, row)| Some((ix, row, row.task?)))
        .collect();
    if tried.is_empty() {
        return;
    }
    let logs = logs(page, &tried);
    out.push_str("<section>\n<h2>Attempts, receipts and logs</h2>\n");
    for ((ix, row, task), log) in tried.iter().zip(logs) {
        one(page, (*ix, row, task), log, out);
    }
    out.push_str("</section>\n");
}

/// The log of a task in a page.
enum Log {
    Lines(String),
    /// Omitted because of the limit.
    Left,
    Nothing,
}

/// Returns the ends of the logs, in the order of the tasks; failed tasks get room first.
fn logs(page: &ReportPage<'_>, tried: &[(usize, &ReportRow<'_>, &TaskRun)]) -> Vec<Log> {
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by_key(|&at| tried.get(at).is_some_and(|(_, row, _)| row.state == "done"));
    let mut logs: Vec<Log> = tried.iter().map(|_| Log::Nothing).collect();
    let mut n_bytes = 0;
    for at in order {
        let Some((log, (_, _, task))) = logs.get_mut(at).zip(tried.get(at)) else {
            continue;
        };
        let Some(last) = task.last() else {
            continue;
        };
        *log = match (page.source.log)(&last.name, last.attempt) {
            None => Log::Nothing,
            Some(_) if n_bytes > MAX_LOGS => Log::Left,
            Some(lines) => {
                let lines: String = lines.iter().map(|line| format!("{}\n", text(line))).collect();
                n_bytes += lines.len();
                Log::Lines(lines)
            }
        };
    }
    logs
}

fn one(page: &ReportPage<'_>, (ix, row, task): (usize, &ReportRow<'_>, &TaskRun), log: Log, out: &mut String) {
    let n_attempts = task.attempts.len();
    let tries = match n_attempts {
        0 => "not tried".to_owned(),
        n => count(n as u64, "attempt"),
    };
    let _ = writeln!(
        out,
        "<details>\n<summary>{} <b>{}</b> {} <small>{tries}</small></summary>\n<div id=\"task-{}\">",
        pill(class_of(row.state), row.state),
        text(&row.name),
        text(row.title),
        ix + 1
    );
    if !task.results.drift.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"drift\">Changed files that the plan does not name: {}</p>",
            files(&task.results.drift)
        );
    }
    for one in &task.attempts {
        attempt(page, one, out);
    }
    if let Some(lines) = landed_commit(task).and_then(|commit| (page.source.diff)(commit)) {
        let _ = writeln!(
            out,
            "<h4>What it changed</h4>\n<pre class=\"diff\">{}</pre>",
            diff_markup(&lines)
        );
    }
    match log {
        Log::Lines(lines) if !lines.is_empty() => {
            let _ = writeln!(out, "<h4>The end of the log</h4>\n<pre>{lines}</pre>");
        }
        Log::Left => out.push_str("<p class=\"note\">Its log is left out: the page would be too long.</p>\n"),
        Log::Lines(_) | Log::Nothing => {}
    }
    out.push_str("</div>\n</details>\n");
}

/// Returns the lines of a diff, each marked as added or removed.
fn diff_markup(lines: &[String]) -> String {
    let line = |line: &String| {
        let class = match line.as_bytes().first() {
            Some(b'+') => "added",
            Some(b'-') => "removed",
            Some(b'@') => "hunk",
            _ => return format!("{}\n", text(line)),
        };
        format!("<span class=\"{class}\">{}</span>\n", text(line))
    };
    lines.iter().map(line).collect()
}

fn attempt(page: &ReportPage<'_>, one: &AttemptRun, out: &mut String) {
    let outcome = outcome_of(page, one);
    let _ = writeln!(
        out,
        "<h3>Attempt {} {} <small>{}</small></h3>\n<dl>",
        one.attempt,
        pill(class_of(outcome), outcome),
        time(&one.times.started, &clock(&one.times.started))
    );
    let mut fact = |name: &str, inner: Option<String>| {
        if let Some(inner) = inner.filter(|inner| !inner.is_empty()) {
            let _ = writeln!(out, "<dt>{name}</dt><dd>{inner}</dd>");
        }
    };
    let shown = |words: &Option<String>| words.as_deref().map(|words| text(words).into_owned());
    fact("Why", shown(&one.why));
    fact("Agent", Some(text(&one.agent).into_owned()));
    fact("Slot", (one.process.slot > 0).then(|| one.process.slot.to_string()));
    fact("Took", one.took().map(duration));
    fact("Exit", shown(&one.report.exit));
    fact("Cost", one.report.cost_usd.map(money));
    fact(
        "Tokens",
        one.report
            .tokens
            .map(|[n_in, n_out]| format!("{} in, {} out", tokens(n_in), tokens(n_out))),
    );
    fact("Session", shown(&one.report.session));
    fact("Folder", shown(&one.checkout.folder));
    fact("Branch", shown(&one.checkout.branch));
    fact(
        "Landed",
        one.landing
            .ended
            .as_ref()
            .map(|ended| match (ended.passed, &ended.why) {
                (true, _) => text(ended.commit.as_deref().unwrap_or("yes")).into_owned(),
                (false, why) => format!("no: {}", text(why.as_deref().unwrap_or(""))),
            }),
    );
    fact("Files", Some(files(&one.report.files)));
    fact(
        "Said",
        shown(&one.report.output.as_deref().map(|output| cut(output, 4_000))),
    );
    fact(
        "Nothing covers",
        Some(
            one.verification
                .unverified
                .iter()
                .map(|open| text(open))
                .collect::<Vec<_>>()
                .join("<br>"),
        ),
    );
    out.push_str("</dl>\n");
    for receipt in &one.verification.receipts {
        receipt_of(receipt, out);
    }
}

fn receipt_of(receipt: &Receipt, out: &mut String) {
    let class = if receipt.exit == "exit 0" { "done" } else { "failed" };
    let commit = receipt
        .commit
        .as_deref()
        .map(|commit| format!(", at {}", text(&cut(commit, 12))));
    let _ = writeln!(
        out,
        "<div class=\"receipt\"><p><code>$ {}</code> {} <small>{}, digest {}{}</small></p>",
        text(&command_line(&receipt.command)),
        pill(class, &receipt.exit),
        duration(receipt.milliseconds),
        text(&cut(&receipt.digest, 20)),
        commit.unwrap_or_default()
    );
    if !receipt.tail.trim().is_empty() {
        let tail: String = receipt
            .tail
            .lines()
            .map(|line| format!("{}\n", text(&harmless_line(line))))
            .collect();
        let _ = writeln!(out, "<pre>{tail}</pre>");
    }
    out.push_str("</div>\n");
}

fn files(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(MAX_FILES)
        .map(|name| format!("<code>{}</code>", text(&cut(name, 300))))
        .collect();
    match names.len().saturating_sub(MAX_FILES) {
        0 => shown.join(" "),
        n => format!("{} and {n} more", shown.join(" ")),
    }
}
