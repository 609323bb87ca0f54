//! The verb `summary`: the result of a run, also while it is active.

use planwright_run::git::Repository;
use planwright_run::runs::SeenRun;
use planwright_run::runs::state::RunState;
use serde::Deserialize;

use crate::failure::Result;
use crate::run_history::{RunReport, RunScope, RunStatus, Setting, diffstats, judged, later_run, next_step};
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummaryRequest {
    /// The id of the run, a prefix of it, or `last`. None: the newest.
    pub run: Option<String>,
    /// Only runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
}

pub fn summary(workspace: &Workspace, request: &SummaryRequest) -> Result<RunReport> {
    let scope = RunScope::of(workspace, request.plan.as_deref())?;
    let seen = scope.run(request.run.as_deref())?;
    let (run_state, standing) = judged(&seen)?;
    let place = seen.plan();
    let path = from_here(&place.target);
    let setting = Setting {
        run: seen.place.id().to_owned(),
        ..Setting::of_file(&path, None)
    };
    let next = match (&standing, later_run(&seen)) {
        (RunStatus::Interrupted, None) => next_step(&run_state, &place.target),
        _ => run_state.ended.as_ref().and_then(|ended| ended.next.clone()),
    };
    let report = RunReport::new(&setting, &run_state)
        .standing(standing.word())
        .continued(next, later_run(&seen))
        .with_diffstats(&diffstats(&place.root, &run_state));
    Ok(match (landed_into(&seen, &run_state), lost_commit(&seen, &run_state)) {
        (Some(branch), _) => report.landed_into(branch),
        (None, Some(commit)) => report.without_branch(&commit),
        (None, None) => report,
    })
}

/// Returns the checked-out branch if it has all the work of a run's branch; none if git cannot answer.
fn landed_into(seen: &SeenRun, run_state: &RunState) -> Option<String> {
    let conditions = run_state
        .settings
        .fixed
        .as_ref()
        .filter(|conditions| !conditions.is_current)?;
    let repository = Repository::around(&seen.plan().root).ok()??;
    let (branch, head) = (repository.branch().ok()??, repository.head().ok()??);
    // The branch may be removed after its work has landed.
    let tip = repository
        .tip(&conditions.branch)
        .ok()?
        .or_else(|| run_state.last_landed_commit().map(str::to_owned))?;
    let has_it = branch != conditions.branch && repository.has_landed(&tip, &head).ok()?;
    has_it.then_some(branch)
}

/// Returns the last commit of a run whose branch no longer exists.
fn lost_commit(seen: &SeenRun, run_state: &RunState) -> Option<String> {
    let conditions = run_state.settings.fixed.as_ref()?;
    let repository = Repository::around(&seen.plan().root).ok()??;
    let is_gone = repository.tip(&conditions.branch).ok()?.is_none();
    let last = run_state.last_landed_commit().filter(|_| is_gone);
    last.map(str::to_owned)
}
