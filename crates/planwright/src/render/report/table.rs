//! The table of tasks in a report, with the result of each.

use std::fmt::Write as _;

use planwright_run::runs::state::{TaskRun, TaskState};
use planwright_verbs::text::{count, cut, duration, money, some_of};

use super::markup::{attribute, class_of, pill, text};
use super::{ReportPage, ReportRow};

pub(super) fn draw(page: &ReportPage<'_>, out: &mut String) {
    if page.rows.is_empty() {
        return;
    }
    out.push_str(
        "<section>\n<h2>Tasks</h2>\n<table>\n<thead><tr><th>Task</th><th>State</th><th>Attempts</th><th>Agent</th><th>Took</th>\
         <th>Changed</th><th>Verified</th><th>Cost</th><th>Notes</th></tr></thead>\n<tbody>\n",
    );
    for (ix, row) in page.rows.iter().enumerate() {
        one(page, ix, row, out);
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
}

fn one(page: &ReportPage<'_>, ix: usize, row: &ReportRow<'_>, out: &mut String) {
    let name = page.link(ix, &format!("<b>{}</b>", text(&row.name)));
    let title = text(row.title);
    let _ = write!(out, "<tr><td data-label=\"Task\">{name} {title}</td>");
    let mut cell = |label: &str, inner: String| {
        let _ = write!(out, "<td data-label=\"{label}\">{inner}</td>");
    };
    cell("State", pill(class_of(row.state), row.state));
    let task = row.task;
    let last = task.and_then(TaskRun::last);
    let n_attempts = task.map_or(0, |task| task.attempts.len());
    cell(
        "Attempts",
        if n_attempts == 0 {
            String::new()
        } else {
            n_attempts.to_string()
        },
    );
    cell(
        "Agent",
        last.map_or(String::new(), |last| text(&cut(&last.agent, 24)).into_owned()),
    );
    cell("Took", task.and_then(TaskRun::took).map_or(String::new(), duration));
    cell("Changed", task.map_or(String::new(), |task| changed(page, task)));
    cell("Verified", task.map_or(String::new(), verified));
    cell("Cost", task.and_then(TaskRun::cost_usd).map_or(String::new(), money));
    cell("Notes", task.map_or(String::new(), notes));
    out.push_str("</tr>\n");
}

/// Returns the size of a task's change, and the commit that landed.
fn changed(page: &ReportPage<'_>, task: &TaskRun) -> String {
    let Some(commit) = landed_commit(task) else {
        return String::new();
    };
    let short = text(commit.get(..10).unwrap_or(commit)).into_owned();
    match page.source.stats.get(commit) {
        Some(stat) => format!(
            "{} +{} −{}<br><small>{short}</small>",
            count(stat.files, "file"),
            stat.added,
            stat.removed
        ),
        None => format!("<small>{short}</small>"),
    }
}

pub(super) fn landed_commit(task: &TaskRun) -> Option<&str> {
    task.landed()?.commit.as_deref()
}

fn verified(task: &TaskRun) -> String {
    let Some(last) = task.last() else {
        return String::new();
    };
    let open = match last.verification.unverified.len() {
        0 => String::new(),
        n => format!(
            " <small title=\"{}\">{n} open</small>",
            attribute(&last.verification.unverified.join("; "))
        ),
    };
    match last.verification.passed {
        Some(true) if last.is_verified() => format!("{}{open}", pill("done", "verified")),
        Some(false) => format!("{}{open}", pill("failed", "not passed")),
        _ if task.state == TaskState::Done || task.state == TaskState::Review => {
            format!("{}{open}", pill("unverified", "unverified"))
        }
        _ => String::new(),
    }
}

fn notes(task: &TaskRun) -> String {
    let mut notes = Vec::new();
    if task.is_unchanged() {
        notes.push("no changes".to_owned());
    }
    match &task.state {
        TaskState::Skipped { because } => notes.push(format!("because {} failed", text(because))),
        TaskState::Done => {}
        _ => notes.extend(task.why().map(|why| text(&cut(first_line(why), 200)).into_owned())),
    }
    if let Some(approved) = &task.approved {
        let by = approved.by.as_deref().map(|by| format!(" by {}", text(by)));
        notes.push(format!("approved{}", by.unwrap_or_default()));
    }
    if !task.results.drift.is_empty() {
        let files = attribute(&task.results.drift.join(", "));
        notes.push(format!(
            "<span class=\"drift\" title=\"{files}\">drift: {}</span>",
            listed(&task.results.drift)
        ));
    }
    if let Some(files) = task
        .last()
        .map(|last| &last.report.files)
        .filter(|files| !files.is_empty())
    {
        notes.push(format!("<small>{}</small>", listed(files)));
    }
    notes.join("<br>")
}

fn first_line(words: &str) -> &str {
    words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// Returns a few names, with possible breaks anywhere.
fn listed(names: &[String]) -> String {
    some_of(names.iter().map(|name| text(&cut(name, 80)).into_owned()), 3)
}
