//! What each task of a run changed, its verification and cost, and which tasks to review first.

use std::collections::BTreeMap;

use planwright_run::git::Diffstat;
use planwright_run::runs::state::{AttemptRun, RunState, TaskRun, TaskState};
use serde::Serialize;

use super::columns::columns;
use super::progress::Setting;
use crate::render::quantity::{count, money};
use crate::render::terminal::{Paint, cut, one_line, shown_name};
use crate::render::wrap::hanging;

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
    /// Whether the agent left everything unchanged.
    no_changes: bool,
    /// What the agent reported last, where it changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported: Option<String>,
    /// How many lines are gone from files that look like tests.
    #[serde(skip)]
    removed_in_tests: u64,
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
            no_changes: last.is_some_and(|last| last.no_changes),
            reported: last
                .filter(|last| last.no_changes)
                .and_then(|last| last.output.clone())
                .filter(|text| !text.trim().is_empty()),
            removed_in_tests: 0,
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
            self.removed_in_tests = stat.removed_in_tests;
        }
    }

    /// Returns whether it took lines away from tests.
    pub(super) fn weakens_tests(&self) -> bool {
        self.removed_in_tests > 0
    }

    /// Returns the name and the title of its task.
    fn heading(&self) -> [String; 2] {
        let title = self.title.as_deref().unwrap_or_default();
        [shown_name(&self.task), one_line(title)]
    }

    /// Returns how much it changes, what verified it and what it cost.
    fn amounts(&self) -> String {
        let mut words = Vec::new();
        if self.no_changes {
            let reported = self.reported.as_deref().map(|text| cut(&one_line(text), 80));
            words.push(reported.map_or_else(|| "no changes".to_owned(), |text| format!("no changes: “{text}”")));
        } else if self.files > 0 || self.commit.is_some() {
            let lines = self.added.zip(self.removed);
            let lines = lines.map_or_else(String::new, |(added, removed)| format!(" +{added} −{removed}"));
            words.push(format!("{}{lines}", count(self.files, "file")));
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
        words.join(", ")
    }
}

/// Returns changes in aligned columns, one line each; where one does not fit the width, its amounts stand below its title.
pub(super) fn change_lines(changes: &[ChangeReport], paint: Paint, width: usize) -> Vec<String> {
    let headings: Vec<[String; 2]> = changes.iter().map(ChangeReport::heading).collect();
    let widest = |at: usize| headings.iter().map(|cells| columns(&cells[at])).max().unwrap_or(0);
    let (names, titles) = (widest(0).min(MAX_NAME), widest(1));
    let amounts: Vec<String> = changes.iter().map(ChangeReport::amounts).collect();
    let most = amounts.iter().map(|text| columns(text)).max().unwrap_or(0);
    let is_one_line = 2 + names + 2 + titles + 2 + most <= width;
    let lines = headings.iter().zip(&amounts).map(|([name, title], amounts)| {
        let start = format!("  {}  ", padded(name, names));
        match is_one_line {
            true => format!("{start}{}  {}", padded(title, titles), paint.dim(amounts)),
            false => {
                let below = format!("\n{}", hanging(&" ".repeat(names + 4), &paint.dim(amounts), width));
                format!("{}{below}", hanging(&start, title, width))
            }
        }
    });
    lines.collect()
}

/// The widest name that others are aligned with.
const MAX_NAME: usize = 24;

/// Returns text with spaces up to a number of columns.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
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
