//! What each task of a run changed, what verified it, what it cost, and which tasks to look at first.

use std::collections::BTreeMap;

use planwright_run::git::Diffstat;
use planwright_run::runs::state::{AttemptRun, RunState, TaskRun, TaskState};
use serde::Serialize;

use super::progress::Setting;
use crate::render::quantity::{count, money};
use crate::render::terminal::{Paint, cut, one_line, shown_name};

/// What a task changed, and what stands behind it.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeReport {
    pub(crate) task: String,
    title: Option<String>,
    /// The commit that landed; null where tasks share the folder, and where nothing landed.
    pub(crate) commit: Option<String>,
    files: u64,
    /// How many lines are new and gone; null where no commit landed.
    added: Option<u64>,
    removed: Option<u64>,
    /// How many commands verified it.
    verified_by: usize,
    /// How many times it was tried.
    attempts: usize,
    cost_usd: Option<f64>,
}

/// Returns what the tasks changed whose work was accepted.
pub(super) fn changes(setting: &Setting, run_state: &RunState) -> Vec<ChangeReport> {
    let accepted =
        |task: &&TaskRun| matches!(task.state, TaskState::Done | TaskState::Review) && !task.attempts.is_empty();
    let change = |task: &TaskRun| {
        let last = task.last();
        let merged = last
            .and_then(|last| last.merged.as_ref())
            .filter(|merged| merged.passed);
        ChangeReport {
            task: task.task.clone(),
            title: setting.titles.get(&task.task).cloned(),
            commit: merged.and_then(|merged| merged.commit.clone()),
            files: last.map_or(0, |last| last.files.len() as u64),
            added: None,
            removed: None,
            verified_by: last.map_or(0, |last| last.receipts.len()),
            attempts: task.attempts.len(),
            cost_usd: task.cost_usd(),
        }
    };
    run_state.tasks().iter().filter(accepted).map(change).collect()
}

impl ChangeReport {
    /// Takes the numbers of its commit.
    pub(super) fn take(&mut self, stats: &BTreeMap<String, Diffstat>) {
        if let Some(stat) = self.commit.as_ref().and_then(|commit| stats.get(commit)) {
            self.files = stat.files;
            self.added = Some(stat.added);
            self.removed = Some(stat.removed);
        }
    }

    /// Returns it in one line.
    pub(super) fn words(&self, paint: Paint) -> String {
        let title = self.title.as_deref().unwrap_or_default();
        let mut words = vec![count(self.files, "file")];
        if let (Some(added), Some(removed)) = (self.added, self.removed) {
            words[0].push_str(&format!(" +{added} −{removed}"));
        }
        words.extend(
            self.commit
                .as_ref()
                .map(|commit| commit.get(..10).unwrap_or(commit).to_owned()),
        );
        words.push(match self.verified_by {
            0 => "unverified".to_owned(),
            n => format!("verified by {}", count(n as u64, "command")),
        });
        if self.attempts > 1 {
            words.push(count(self.attempts as u64, "attempt"));
        }
        words.extend(self.cost_usd.map(money));
        let name = shown_name(&self.task);
        let title = cut(&one_line(title), 40);
        format!("{name}  {title}  {}", paint.dim(&words.join(", ")))
    }
}

/// Returns the tasks that deserve a look before the others, each with the reason: failed, unverified, without changes, changed what verifies
/// it, had conflicts.
pub(super) fn look_first(run_state: &RunState) -> Vec<(String, &'static str)> {
    let last = |task: &TaskRun, is_one: fn(&AttemptRun) -> bool| task.last().is_some_and(is_one);
    let is_over = |task: &TaskRun| matches!(task.state, TaskState::Done | TaskState::Review);
    let reason = |task: &TaskRun| -> Option<&'static str> {
        match () {
            () if task.state == TaskState::Failed => Some("failed"),
            () if is_over(task) && last(task, |last| last.receipts.is_empty()) => Some("unverified"),
            () if is_over(task) && last(task, |last| last.no_changes) => Some("no changes"),
            () if last(task, |last| {
                last.candidate.as_ref().is_some_and(|made| !made.protected.is_empty())
            }) =>
            {
                Some("changed what verifies it")
            }
            () if task.attempts.iter().any(|attempt| attempt.conflict.is_some()) => Some("had conflicts"),
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
