//! The changes, the verification and the cost of each task of a run, and which tasks to review first.

use std::collections::BTreeMap;

use planwright_run::git::Diffstat;
use planwright_run::runs::state::{AttemptRun, RunState, TaskRun, TaskState};
use serde::Serialize;

use super::setting::Setting;

/// The changes of a task, and the evidence for them.
#[derive(Debug, Serialize)]
pub struct TaskChangeReport {
    pub task: String,
    pub title: Option<String>,
    /// The commit that landed; null if tasks share the folder, or nothing landed.
    pub commit: Option<String>,
    pub files: u64,
    /// The number of added lines; null if no commit landed.
    pub added: Option<u64>,
    pub removed: Option<u64>,
    pub verified_by: usize,
    /// Whether it waits for a review: it may have changed the commands that it passed.
    #[serde(skip)]
    pub in_review: bool,
    /// The number of attempts.
    pub attempts: usize,
    pub cost_usd: Option<f64>,
    /// Whether the agent changed no file.
    pub no_changes: bool,
    /// The agent's last message, if it changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<String>,
    /// The number of lines removed from files that look like tests.
    #[serde(skip)]
    pub removed_in_tests: u64,
}

/// Returns the changes of the tasks whose work was accepted.
pub(super) fn changes(setting: &Setting, run_state: &RunState) -> Vec<TaskChangeReport> {
    let accepted =
        |task: &&TaskRun| matches!(task.state, TaskState::Done | TaskState::Review) && !task.attempts.is_empty();
    let change = |task: &TaskRun| {
        let last = task.last();
        TaskChangeReport {
            task: task.task.clone(),
            title: setting.titles.get(&task.task).cloned(),
            commit: task.landed().and_then(|landed| landed.commit.clone()),
            files: last.map_or(0, |last| last.report.files.len() as u64),
            added: None,
            removed: None,
            verified_by: last.map_or(0, |last| last.verification.receipts.len()),
            in_review: task.state == TaskState::Review,
            attempts: task.n_tries(),
            cost_usd: task.cost_usd(),
            no_changes: last.is_some_and(|last| last.report.no_changes),
            reported: last
                .filter(|last| last.report.no_changes)
                .and_then(|last| last.report.output.clone())
                .filter(|text| !text.trim().is_empty()),
            removed_in_tests: 0,
        }
    };
    run_state.tasks().iter().filter(accepted).map(change).collect()
}

impl TaskChangeReport {
    /// Sets the numbers of its commit.
    pub(super) fn take(&mut self, stats: &BTreeMap<String, Diffstat>) {
        if let Some(stat) = self.commit.as_ref().and_then(|commit| stats.get(commit)) {
            self.files = stat.files;
            self.added = Some(stat.added);
            self.removed = Some(stat.removed);
            self.removed_in_tests = stat.removed_in_tests;
        }
    }

    /// Returns whether it removed lines from tests.
    pub(super) fn weakens_tests(&self) -> bool {
        self.removed_in_tests > 0
    }
}

/// Returns the tasks to review first, each with the reason: failed, unverified, without changes, changed what verifies it, had conflicts.
pub(super) fn look_first(run_state: &RunState) -> Vec<(String, &'static str)> {
    let last = |task: &TaskRun, is_one: fn(&AttemptRun) -> bool| task.last().is_some_and(is_one);
    let is_over = |task: &TaskRun| matches!(task.state, TaskState::Done | TaskState::Review);
    let reason = |task: &TaskRun| -> Option<&'static str> {
        match () {
            () if task.state == TaskState::Failed => Some("failed"),
            () if is_over(task) && last(task, |last| last.verification.receipts.is_empty()) => Some("unverified"),
            () if is_over(task) && last(task, |last| last.report.no_changes) => Some("no changes"),
            () if last(task, |last| {
                last.landing
                    .candidate
                    .as_ref()
                    .is_some_and(|made| !made.protected.is_empty())
            }) =>
            {
                Some("changed what verifies it")
            }
            () if task.attempts.iter().any(|attempt| attempt.landing.conflict.is_some()) => Some("had conflicts"),
            () => None,
        }
    };
    let tasks = run_state.tasks().iter();
    let mut found: Vec<(String, &'static str)> = tasks
        .filter_map(|task| Some((task.task.clone(), reason(task)?)))
        .collect();
    const ORDER: [&str; 5] = [
        "failed",
        "unverified",
        "no changes",
        "changed what verifies it",
        "had conflicts",
    ];
    found.sort_by_key(|(_, reason)| ORDER.iter().position(|known| known == reason));
    found
}
