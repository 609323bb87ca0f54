//! The text of `planwright show` for one task: its fields, the reason for its state, its receipts and its history.

use std::path::Path;

use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Readiness;
use planwright_run::journal::{PastChange, Verified, plan_id};
use planwright_run::store::{self, PlanFile};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::history::{PastReport, commands_words, line_of, past_report};
use super::next::fields_of;
use super::output::Output;
use super::plan_arg::Opened;
use super::show::{plan_report, task_report};
use super::verification::VerifiedReport;
use super::why;
use crate::render::json::{PlanReport, TaskReport};
use crate::render::json_values::{Members, Written};
use crate::render::terminal::{one_line, printable, shown_name};
use crate::render::wrap::{hanging, wrapped_lines};

/// The version of `show TASK --json`.
const VERSION: &str = "planwright.task/v1";

/// How many changes of a task are printed.
const MAX_CHANGES: usize = 50;

#[derive(Serialize)]
struct Report<'p> {
    schema_version: &'static str,
    plan: PlanReport<'p>,
    task: TaskReport<'p>,
    /// Everything the plan says about it.
    fields: Members,
    /// The tasks that depend on it.
    dependents: Vec<String>,
    /// Why it stands where it stands, as `why --json` has it.
    why: serde_json::Value,
    /// What was done to it through planwright, the newest first.
    changes: Vec<PastReport>,
    /// How it was verified, the newest first.
    verified: Vec<VerifiedReport>,
}

/// Shows a task.
pub(super) fn show(opened: &Opened, task_ix: usize, json: bool, output: &mut Output) -> anyhow::Result<Exit> {
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let name = plan.task_name(task_ix);
    let file = PlanFile {
        path: Path::new(&opened.path),
        id: plan_id(plan),
    };
    let changes = match opened.path.as_str() {
        "-" => Vec::new(),
        _ => {
            let history = store::history(file).map_err(|error| Failure::environment(&error, error.help()))?;
            history.changes().iter().rev().cloned().collect()
        }
    };
    let changes: Vec<PastChange> = changes.into_iter().filter(|past| concerns(past, &name)).collect();
    let verified = changes.iter().flat_map(|past| &past.change.verified);
    let verified: Vec<&Verified> = verified.filter(|verified| verified.task == name).collect();
    let dependents = dependents_of(linked, task_ix);
    if json {
        let readiness = Readiness::new(plan, &linked.links);
        let index = plan.source().line_index();
        output.json(&Report {
            schema_version: VERSION,
            plan: plan_report(opened, linked, &readiness),
            task: task_report(opened, linked, &readiness, &index, task_ix),
            fields: fields_of(linked, task_ix),
            dependents,
            why: why::as_json(opened, linked, task_ix, output.paint()),
            changes: changes.iter().map(past_report).collect(),
            verified: verified.into_iter().map(VerifiedReport::from).collect(),
        })?;
        return Ok(Exit::Success);
    }
    let paint = output.paint();
    let title = one_line(plan.task_subject(&plan.tasks()[task_ix]));
    let width = output.record_width();
    for line in hanging(&format!("{}  ", shown_name(&name)), &title, width).lines() {
        output.line(&paint.bold(line));
    }
    let line = plan
        .source()
        .line_index()
        .position(plan.tasks()[task_ix].span.start)
        .line;
    output.line(&paint.dim(&format!("{} · {}:{line}", plan.dialect, one_line(&opened.path))));
    output.line("");
    let explanation = why::explanation(opened, linked, task_ix, paint, output.width());
    for line in &explanation.lines {
        output.line(line);
    }
    if !dependents.is_empty() {
        let names: Vec<String> = dependents.iter().map(|name| shown_name(name)).collect();
        output.line(&hanging("needed by: ", &names.join(", "), output.width()));
    }
    output.line("");
    for (field, value) in fields_of(linked, task_ix).iter() {
        for line in field_lines(field, value) {
            output.line(&wrapped_lines(&line, width));
        }
    }
    if !verified.is_empty() {
        output.line("");
        output.line(&paint.bold("Verified"));
    }
    for verified in verified {
        output.line(&hanging("  ", &receipt_words(verified), width));
    }
    if !changes.is_empty() {
        output.line("");
        output.line(&paint.bold("History"));
    }
    for past in changes.iter().take(MAX_CHANGES) {
        output.line(&line_of(past, width));
    }
    if changes.len() > MAX_CHANGES {
        output.remark(&format!(
            "{} older changes; --json has all",
            changes.len() - MAX_CHANGES
        ));
    }
    if !explanation.next.is_empty() {
        output.line("");
    }
    for line in &explanation.next {
        output.line(line);
    }
    Ok(Exit::Success)
}

/// Returns whether a change did something to a task.
fn concerns(past: &PastChange, task: &str) -> bool {
    let change = &past.change;
    let moved = change
        .moves
        .iter()
        .chain(&change.states)
        .any(|moved| moved.task == task);
    !change.is_beginning() && (moved || change.tasks.iter().any(|own| own == task))
}

fn dependents_of(linked: &LinkedPlan, task_ix: usize) -> Vec<String> {
    let tasks = 0..linked.plan.tasks().len();
    let depends = |ix: &usize| linked.links.of(*ix).iter().any(|edge| edge.to as usize == task_ix);
    tasks
        .filter(depends)
        .map(|ix| linked.plan.task_name(ix).into_owned())
        .collect()
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

fn receipt_words(verified: &Verified) -> String {
    let commands = commands_words(verified.receipts.iter());
    let by = verified
        .by
        .as_deref()
        .map_or_else(String::new, |by| format!(", by {}", one_line(by)));
    match (verified.waived, verified.passed, commands.is_empty()) {
        (true, ..) => format!("not verified: that was waived{by}"),
        (_, true, _) => format!("passed: {commands}{by}"),
        (_, false, true) => format!("no rule covers it{by}"),
        (_, false, false) => format!("failed: {commands}{by}"),
    }
}
