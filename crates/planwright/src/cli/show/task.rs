//! One task, for `planwright show`: its fields, why it is in its state, its history and its receipts.

use crate::cli::Output;
use crate::cli::history::{commands_words, line_of};
use crate::cli::why::explanation;
use crate::render::wrap::{hanging, wrapped_lines};
use planwright_verbs::json::Written;
use planwright_verbs::show::ShowTaskReport;
use planwright_verbs::text::{one_line, printable, shown_name};
use planwright_verbs::verification::VerifiedReport;

/// How many changes of a task are printed.
const MAX_CHANGES: usize = 50;

pub(in crate::cli) fn draw(report: &ShowTaskReport, output: &mut Output) {
    let explanation = explanation(&report.why, output.paint(), output.width());
    let width = output.record_width();
    draw_head(report, output);
    for line in &explanation.lines {
        output.line(line);
    }
    if !report.dependents.is_empty() {
        let names: Vec<String> = report.dependents.iter().map(|name| shown_name(name)).collect();
        output.line(&hanging("needed by: ", &names.join(", "), output.width()));
    }
    output.line("");
    for (field, value) in report.fields.iter() {
        for line in field_lines(field, value) {
            output.line(&wrapped_lines(&line, width));
        }
    }
    draw_past(report, output);
    if !explanation.next.is_empty() {
        output.line("");
    }
    for line in &explanation.next {
        output.line(line);
    }
}

fn draw_head(report: &ShowTaskReport, output: &mut Output) {
    let (paint, width) = (output.paint(), output.record_width());
    let title = one_line(&report.why.explanation.title);
    for line in hanging(&format!("{}  ", shown_name(&report.task.task)), &title, width).lines() {
        output.line(&paint.bold(line));
    }
    let (dialect, path, line) = (report.plan.dialect, one_line(&report.plan.path), report.task.line);
    output.line(&paint.dim(&format!("{dialect} · {path}:{line}")));
    output.line("");
}

/// Draws the verification and the changes of a task.
fn draw_past(report: &ShowTaskReport, output: &mut Output) {
    let (paint, width) = (output.paint(), output.record_width());
    if !report.verified.is_empty() {
        output.line("");
        output.line(&paint.bold("Verified"));
    }
    for verified in &report.verified {
        output.line(&hanging("  ", &receipt_words(verified), width));
    }
    if !report.changes.is_empty() {
        output.line("");
        output.line(&paint.bold("History"));
    }
    for past in report.changes.iter().take(MAX_CHANGES) {
        output.line(&line_of(past, width));
    }
    if report.changes.len() > MAX_CHANGES {
        let n_older = report.changes.len() - MAX_CHANGES;
        output.remark(&format!("{n_older} older changes; --json has all"));
    }
}

/// Returns a field in lines: a text of several lines, or a list, is indented below its name.
fn field_lines(field: &str, value: &Written) -> Vec<String> {
    let indented = |text: &str| {
        let lines = text.lines().map(|line| format!("  {}", printable(line)));
        std::iter::once(format!("{}:", printable(field))).chain(lines).collect()
    };
    let text = match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(serde_json::Value::Array(items)) if !items.is_empty() && items.iter().all(serde_json::Value::is_string) => {
            let items = items.iter().filter_map(serde_json::Value::as_str);
            let items = items.map(|item| format!("- {}", one_line(item)));
            return std::iter::once(format!("{}:", printable(field)))
                .chain(items.map(|item| format!("  {item}")))
                .collect();
        }
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
        Err(_) => String::new(),
    };
    match text.lines().count() {
        0 | 1 => vec![format!("{}: {}", printable(field), one_line(&text))],
        _ => indented(&text),
    }
}

fn receipt_words(verified: &VerifiedReport) -> String {
    let commands = commands_words(&verified.receipts);
    let by = verified
        .by
        .as_deref()
        .map_or_else(String::new, |by| format!(", by {}", one_line(by)));
    match (verified.waived, verified.passed, commands.is_empty()) {
        (true, ..) => format!("not verified: verification was waived{by}"),
        (_, true, _) => format!("passed: {commands}{by}"),
        (_, false, true) => format!("no rule covers it{by}"),
        (_, false, false) => format!("failed: {commands}{by}"),
    }
}
