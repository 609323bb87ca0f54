//! The verb `list`: the plans of a workspace with their progress, the newest first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::json::ProgressReport;
use crate::plans::{self, Entry, candidates, dialect_named, refuse_closed, remark_copy};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// Only plans with this text in their title, goal, id or file name, ignoring case.
    pub text: Option<String>,
    /// Only plans in one of these states: `complete`, `running`, `failed`, `pending`, or a dialect's own word.
    pub status: Vec<String>,
    pub dialect: Option<String>,
    /// The archived plans instead.
    pub archived: bool,
    /// Also the plans in the home folder.
    pub user: bool,
}

#[derive(Serialize)]
pub struct ListReport {
    pub schema_version: &'static str,
    pub plans: Vec<ListedPlan>,
    /// The number of plans in each state, listed or not.
    #[serde(skip)]
    pub states: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
pub struct ListedPlan {
    pub path: String,
    pub dialect: Option<&'static str>,
    pub title: String,
    /// When it was last changed, by its own field or the file's time.
    pub changed: String,
    pub done: usize,
    pub skipped: usize,
    pub failed: usize,
    pub running: usize,
    pub total: usize,
    /// Whether the state and the numbers above, except the total, are unknown, because only the history has them.
    pub history_unreadable: bool,
    pub errors: usize,
    pub id: Option<String>,
    /// The plan's own word for its state, if its dialect has one.
    pub status: Option<String>,
    /// `complete`, `running`, `failed` or `pending`, by its tasks; null if the plan is unreadable.
    pub state: Option<&'static str>,
    pub archived: bool,
    /// The holders of its running tasks, in words.
    pub holders: Vec<String>,
    /// Why no task of it may be worked on; null if tasks may.
    pub closed: Option<String>,
    /// How many of its running tasks an interrupted run left.
    #[serde(skip)]
    pub n_interrupted: usize,
    /// All counts of its tasks.
    #[serde(skip)]
    pub progress: ProgressReport,
}

pub fn list(workspace: &Workspace, request: &ListRequest) -> Result<ListReport> {
    let dialect = request.dialect.as_deref().map(dialect_named).transpose()?;
    let paths = match request.archived {
        true => plans::archived(workspace),
        false => candidates(workspace.folder(), request.user),
    };
    let mut entries: Vec<Entry> = paths
        .into_iter()
        .map(|path| Entry::of(path, request.archived))
        .collect();
    for entry in &entries {
        remark_copy(workspace, &entry.path, "show");
    }
    if entries.is_empty() && !request.archived {
        refuse_closed(workspace.folder())?;
    }
    let states = states_in(&entries);
    entries.retain(|entry| {
        let is_in_dialect = dialect.is_none_or(|dialect| entry.dialect == Some(dialect.name()));
        let is_in_state = request.status.is_empty() || request.status.iter().any(|word| is_in_state(entry, word));
        is_in_dialect && is_in_state && request.text.as_deref().is_none_or(|text| mentions(entry, text))
    });
    entries.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    Ok(ListReport {
        schema_version: "planwright.list/v1",
        plans: entries.into_iter().map(listed).collect(),
        states,
    })
}

fn listed(entry: Entry) -> ListedPlan {
    let progress = entry.tasks.progress.unwrap_or_default();
    ListedPlan {
        path: entry.shown(),
        dialect: entry.dialect,
        state: entry.state(),
        title: entry.title,
        changed: entry.changed,
        done: progress.done,
        skipped: progress.skipped,
        failed: progress.failed,
        running: progress.running,
        total: entry.tasks.count,
        history_unreadable: !entry.tasks.is_known,
        errors: entry.errors,
        id: entry.id,
        status: entry.status,
        archived: entry.archived,
        holders: entry.tasks.holders,
        closed: entry.tasks.closed,
        n_interrupted: entry.tasks.n_interrupted,
        progress: progress.into(),
    }
}

/// Returns whether a word names a plan's state: a word of all dialects, or the plan's own.
fn is_in_state(entry: &Entry, word: &str) -> bool {
    let word = plain(word);
    let own = entry.status.as_deref().map(plain);
    entry.state().is_some_and(|state| state == word) || own.is_some_and(|own| own == word)
}

/// Returns a word for comparison: dialects write `in_progress` and `InProgress`.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn mentions(entry: &Entry, text: &str) -> bool {
    let text = text.to_lowercase();
    let name = entry
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let places = [Some(&entry.title), entry.goal.as_ref(), entry.id.as_ref(), Some(&name)];
    places
        .into_iter()
        .flatten()
        .any(|place| place.to_lowercase().contains(&text))
}

fn states_in(entries: &[Entry]) -> BTreeMap<&'static str, usize> {
    let mut n_by_state = BTreeMap::new();
    for entry in entries {
        *n_by_state.entry(entry.state().unwrap_or("unreadable")).or_default() += 1;
    }
    n_by_state
}
