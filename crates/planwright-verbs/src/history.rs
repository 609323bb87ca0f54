//! The verb `history`: the changes that were made to a plan through planwright, and its versions.

use std::path::Path;

use planwright_core::inspect::LinkedPlan;
use planwright_run::claims::RUN_VERB;
use planwright_run::journal::{ChangeOutcome, JournalEvent, JournalRecord, PastChange, StateChange, plan_id};
use planwright_run::store::{self, PlanFile};
use planwright_run::workspace::{archived_plans, plans_at_home, root_of};
use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::plans::{Entry, PlanChoice, no_file, remark_copy};
use crate::verification::VerifiedReport;
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryRequest {
    pub plan: PlanChoice,
    /// No more changes than this.
    pub limit: Option<usize>,
}

#[derive(Serialize)]
pub struct HistoryReport {
    pub schema_version: &'static str,
    pub plan: String,
    /// The versions of the plan, the oldest first; empty if its dialect has none.
    pub versions: Vec<VersionReport>,
    /// The texts that new versions replaced, the oldest first.
    pub texts: Vec<KeptTextReport>,
    pub n_changes: usize,
    /// The newest first.
    pub changes: Vec<PastReport>,
    /// How often another program had changed the file.
    pub n_external: usize,
    /// The number of unfinished bytes at the end of the journal.
    pub n_torn: usize,
}

#[derive(Serialize)]
pub struct VersionReport {
    pub version: u64,
    pub id: Option<String>,
    pub path: String,
    /// The plan's own word for its state.
    pub status: Option<String>,
    pub changed: String,
    pub archived: bool,
    /// Whether this is the requested plan.
    pub asked: bool,
}

/// A text that a new version replaced.
#[derive(Serialize)]
pub struct KeptTextReport {
    /// Its number in `planwright diff`: PLAN@NUMBER.
    pub number: usize,
    pub path: String,
}

/// A change that was made through planwright.
#[derive(Serialize)]
pub struct PastReport {
    /// Its number in claims and other reports.
    pub change: u64,
    /// Its number among the changes, from 1.
    pub number: u64,
    pub time: String,
    pub verb: String,
    pub tasks: Vec<String>,
    /// The states that tasks got.
    pub moves: Vec<PastMoveReport>,
    pub by: Option<String>,
    pub note: Option<String>,
    /// `landed`, `void` if the file never changed, `lost` if that is unknown, `pending`.
    pub outcome: &'static str,
    pub undoes: Option<u64>,
    pub undone_by: Option<u64>,
    /// The path that the plan file was moved to, from the root of the workspace.
    pub moved_to: Option<String>,
    /// The earlier holder of its tasks, if they were taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over_from: Option<String>,
    /// The closed gates that were passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed_gates: Vec<String>,
    /// How tasks were verified, for `done` and `verify`.
    pub verified: Vec<VerifiedReport>,
    /// The number of the change that undid it.
    #[serde(skip)]
    pub undone_by_number: Option<u64>,
    #[serde(skip)]
    pub is_of_run: bool,
}

/// A task with a new state.
#[derive(Serialize)]
pub struct PastMoveReport {
    pub task: String,
    pub from: Option<String>,
    pub to: String,
}

/// Lists the changes of a plan.
pub fn history(workspace: &Workspace, request: &HistoryRequest) -> Result<HistoryReport> {
    if request.plan.plan.as_deref() == Some("-") {
        return Err(no_file("name its file"));
    }
    let opened = request.plan.open(workspace)?;
    let linked = opened.inspection.plan.as_ref();
    let path = Path::new(&opened.path);
    remark_copy(workspace, path, "history");
    let id = linked.and_then(|linked| plan_id(&linked.plan));
    let history = store::history(PlanFile { path, id })?;
    // The record that a run first read the plan is no change.
    let changes = history.changes().iter().rev();
    let changes: Vec<&PastChange> = changes.filter(|past| !past.change.is_beginning()).collect();
    // An unreadable plan still has a history; a file that never was a plan has none.
    if changes.is_empty() && linked.is_none() {
        opened.linked()?;
    }
    let shown = changes.iter().take(request.limit.unwrap_or(usize::MAX));
    let is_external = |record: &JournalRecord| matches!(record.kind, JournalEvent::External(_));
    Ok(HistoryReport {
        schema_version: "planwright.history/v1",
        versions: linked.map_or_else(Vec::new, |linked| versions_of(linked, path)),
        texts: texts_of(path),
        n_changes: changes.len(),
        changes: shown.map(|past| PastReport::from(*past)).collect(),
        n_external: history.records().filter(is_external).count(),
        n_torn: history.n_torn(),
        plan: opened.path,
    })
}

fn texts_of(path: &Path) -> Vec<KeptTextReport> {
    let texts = store::versions(path).into_iter().enumerate();
    let texts = texts.map(|(ix, path)| KeptTextReport {
        number: ix + 1,
        path: from_here(&path).display().to_string(),
    });
    texts.collect()
}

/// Returns the versions of a plan, the oldest first: those in use and those that were archived.
fn versions_of(linked: &LinkedPlan, path: &Path) -> Vec<VersionReport> {
    let versions = linked.dialect.versions();
    let Some(lineage) = versions.and_then(|versions| versions.lineage(&linked.plan)) else {
        return Vec::new();
    };
    let root = root_of(path);
    let asked = std::fs::canonicalize(path).ok();
    let is_asked = |path: &Path| std::fs::canonicalize(path).ok() == asked;
    let in_use = plans_at_home(&root).into_iter().map(|path| (path, false));
    let archived = archived_plans(&root).into_iter().map(|path| (path, true));
    let mut all: Vec<_> = in_use.chain(archived).collect();
    // A plan may be outside of its tool's folder.
    if !all.iter().any(|(path, _)| is_asked(path)) {
        all.push((path.to_owned(), false));
    }
    let entries = all
        .into_iter()
        .map(|(path, archived)| Entry::of(from_here(&path), archived));
    let mut versions: Vec<VersionReport> = entries
        .filter(|entry| entry.dialect == Some(linked.dialect.name()))
        .filter_map(|entry| {
            let own = entry.lineage.as_ref().filter(|own| own.base == lineage.base)?;
            Some(VersionReport {
                version: own.version,
                path: entry.shown(),
                asked: is_asked(&entry.path),
                id: entry.id,
                status: entry.status,
                changed: entry.changed,
                archived: entry.archived,
            })
        })
        .collect();
    versions.sort_by(|a, b| a.version.cmp(&b.version).then_with(|| a.path.cmp(&b.path)));
    versions
}

impl From<&PastChange> for PastReport {
    fn from(past: &PastChange) -> Self {
        let change = &past.change;
        // The journal has a state that the file cannot hold twice: as a move, and as the new state.
        let is_told = |state: &&StateChange| {
            change
                .moves
                .iter()
                .any(|moved| (&moved.task, &moved.to) == (&state.task, &state.to))
        };
        let states = change.states.iter().filter(|state| !is_told(state));
        let moves = change.moves.iter().chain(states).map(|moved| PastMoveReport {
            task: moved.task.clone(),
            from: moved.from.clone(),
            to: moved.to.clone(),
        });
        PastReport {
            change: past.seq,
            number: past.number,
            time: past.time.clone(),
            verb: change.verb.clone(),
            tasks: change.tasks.clone(),
            moves: moves.collect(),
            by: change.by.clone(),
            note: change.note.clone(),
            outcome: match past.outcome {
                ChangeOutcome::Landed => "landed",
                ChangeOutcome::Void => "void",
                ChangeOutcome::Lost => "lost",
                ChangeOutcome::Pending => "pending",
            },
            undoes: change.undoes,
            undone_by: past.undone_by,
            moved_to: past.moved_to.clone(),
            taken_over_from: change.taken_over_from.clone(),
            passed_gates: change.passed_gates.clone(),
            verified: change.verified.iter().map(VerifiedReport::from).collect(),
            undone_by_number: past.undone_by_number,
            is_of_run: change.verb == RUN_VERB,
        }
    }
}
