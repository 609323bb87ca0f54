//! Checks the structure of a contract as the original does: the same codes, sentences and order, in linear time.

mod task;
mod waves;

use std::collections::HashSet;

use super::finding::{ContractFindings, OriginalFinding};
use super::js::{JsString, JsView};
use task::CheckedTask;
use waves::Declarations;

/// The one version there is.
pub(crate) const SCHEMA_VERSION: &str = "task-pack/v1";

/// Checks a contract; `directories` are the listed files that are directories on disk.
pub(super) fn check(contract: JsView<'_>, directories: &[String], findings: &mut ContractFindings<'_>) {
    let Some((tasks, waves)) = check_frame(contract, findings) else {
        return;
    };
    let directories: HashSet<&str> = directories.iter().map(String::as_str).collect();
    let mut declared = Declarations::with_capacity(tasks.elements().count());
    for (position, wave) in waves.elements().enumerate() {
        declared.read_wave(position, wave, findings);
    }
    let mut checked: Vec<CheckedTask<'_>> = Vec::new();
    for view in tasks.elements() {
        if !view.is_object() {
            let message = "Each task must be an object.";
            findings.error(OriginalFinding::new("task-pack-task-invalid", message, view.span()));
            continue;
        }
        let task = CheckedTask::new(view);
        task.check_values(findings);
        declared.declare_task(&task, findings);
        task.check_lists(&directories, findings);
        declared.check_wave(&task, findings);
        checked.push(task);
    }
    for task in &checked {
        declared.check_dependencies(task, findings);
    }
    declared.check_wave_lists(findings);
    waves::check_file_overlap(&checked, findings);
}

/// Checks the outermost members; returns the tasks and waves if both are arrays.
fn check_frame<'d>(contract: JsView<'d>, findings: &mut ContractFindings<'_>) -> Option<(JsView<'d>, JsView<'d>)> {
    let mut error = |code: &str, message: String, at: Option<JsView<'_>>| {
        let span = at.unwrap_or(contract).span();
        findings.error(OriginalFinding::new(
            format!("task-pack-contract-{code}"),
            message,
            span,
        ));
    };
    if !contract.is_collection() {
        error("invalid", "Task Pack Contract must be a JSON object.".to_owned(), None);
        return None;
    }
    let version = contract.get("schema_version");
    let is_known = |version: JsString<'_>| version == *SCHEMA_VERSION;
    if !version.and_then(JsView::as_string).is_some_and(is_known) {
        let message = format!("Task Pack Contract schema_version must be {SCHEMA_VERSION}.");
        error("schema-version-invalid", message, version);
    }
    let mut list_of = |key: &str, item: &str| {
        let (list, code) = (contract.get(key), key.replace('_', "-"));
        let Some(array) = list.filter(|list| list.is_array()) else {
            let message = format!("Task Pack Contract {key} must be an array.");
            error(&format!("{code}-invalid"), message, list);
            return None;
        };
        if array.elements().next().is_none() {
            let message = format!("Task Pack Contract {key} must include at least one {item}.");
            error(&format!("{code}-empty"), message, list);
        }
        Some(array)
    };
    let tasks = list_of("tasks", "task")?;
    Some((tasks, list_of("execution_waves", "wave")?))
}

#[cfg(test)]
mod tests;
