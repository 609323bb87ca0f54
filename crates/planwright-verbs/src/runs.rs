//! The verb `runs`: the runs of a workspace, the newest first, with their status.

use std::num::NonZeroUsize;

use planwright_run::runs::state::RunState;
use planwright_run::runs::{RunPlace, SeenRun};
use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::run_history::{RunScope, RunStatus, judged};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunsRequest {
    /// Only the runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
    /// The limit; 20 by default.
    pub limit: Option<NonZeroUsize>,
}

#[derive(Serialize)]
pub struct RunsReport {
    pub schema_version: &'static str,
    pub runs: Vec<ListedRun>,
    /// The number of older ones.
    pub n_older: usize,
    /// The scope of the runs, in words that follow others.
    #[serde(skip)]
    pub scope: String,
    /// The help for a first run; empty if there are runs.
    #[serde(skip)]
    pub help: String,
}

#[derive(Default, Serialize)]
pub struct ListedRun {
    pub run: String,
    /// The plan's path from the root of the workspace.
    pub plan: String,
    pub began: Option<String>,
    /// The time of the last event.
    pub last: Option<String>,
    /// `running`, `interrupted`, `damaged`, or how the run ended: `finished`, `stuck`, `stopped`, `paused`, `awaits-review`, `reviewed`.
    pub standing: String,
    pub pid: Option<u32>,
    /// Whether nothing new starts now.
    pub paused: bool,
    pub n_tasks: u64,
    pub n_done: u64,
    pub n_failed: u64,
    pub n_skipped: u64,
    pub n_review: u64,
    /// Neither done, failed nor skipped, and not in review.
    pub n_left: u64,
    pub n_running: u64,
    pub n_unverified: u64,
    /// Done or waiting for review, and no file was changed.
    pub n_unchanged: u64,
    pub n_attempts: u64,
    pub cost_usd: Option<f64>,
    pub tokens: Option<[u64; 2]>,
    /// Why it ended, or why its log is unreadable.
    pub why: Option<String>,
    pub next: Option<String>,
    pub folder: String,
}

pub fn runs(workspace: &Workspace, request: &RunsRequest) -> Result<RunsReport> {
    let scope = RunScope::of(workspace, request.plan.as_deref())?;
    let limit = request.limit.map_or(20, NonZeroUsize::get);
    let mut seen = scope.runs()?;
    let runs: Vec<ListedRun> = seen
        .by_ref()
        .take(limit)
        .map(|run| match run {
            Ok(run) => listed(&run),
            Err((place, error)) => damaged(&place, String::new(), error.to_string()),
        })
        .collect();
    let n_older = seen.count();
    if runs.is_empty() {
        scope.require_plan()?;
    }
    Ok(RunsReport {
        schema_version: "planwright.runs/v1",
        scope: scope.words(),
        help: match runs.is_empty() {
            true => scope.where_runs_are(),
            false => String::new(),
        },
        runs,
        n_older,
    })
}

fn listed(run: &SeenRun) -> ListedRun {
    let plan = run.header.path.clone();
    match judged(run) {
        Ok((run_state, standing)) => counted(&run.place, plan, run_state, &standing),
        Err(error) => damaged(&run.place, plan, error.to_string()),
    }
}

fn counted(place: &RunPlace, plan: String, run_state: RunState, standing: &RunStatus) -> ListedRun {
    let counts = &run_state.counts;
    // A run may count tasks that were already done; the record of its end includes them.
    let ended = run_state.ended.as_ref();
    let n_left = ended.map_or_else(|| run_state.n_left(), |ended| ended.n_left);
    ListedRun {
        run: place.id().to_owned(),
        plan,
        standing: standing.word().to_owned(),
        pid: match standing {
            RunStatus::Running { pid } => Some(*pid),
            _ => None,
        },
        paused: run_state.halt.paused.is_some(),
        n_tasks: run_state.begun.as_ref().map_or(0, |begun| begun.n_tasks),
        n_done: ended.map_or(counts.n_done, |ended| ended.n_done),
        n_failed: ended.map_or(counts.n_failed, |ended| ended.n_failed),
        n_skipped: ended.map_or(counts.n_skipped, |ended| ended.n_skipped),
        n_review: counts.n_review,
        n_left,
        n_running: counts.n_running,
        n_unverified: ended.map_or(counts.n_unverified, |ended| ended.n_unverified),
        n_unchanged: counts.n_unchanged,
        n_attempts: run_state.counts.n_attempts,
        cost_usd: run_state.spent.cost_usd,
        tokens: run_state.spent.tokens,
        why: ended.and_then(|ended| ended.why.clone()),
        next: ended.and_then(|ended| ended.next.clone()),
        folder: place.folder().to_string_lossy().into_owned(),
        began: run_state.times.began,
        last: run_state.times.last,
    }
}

fn damaged(place: &RunPlace, plan: String, why: String) -> ListedRun {
    ListedRun {
        run: place.id().to_owned(),
        plan,
        standing: "damaged".to_owned(),
        why: Some(why),
        folder: place.folder().to_string_lossy().into_owned(),
        ..ListedRun::default()
    }
}
