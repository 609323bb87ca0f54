//! Limits for an attempt of a run that calls planwright, and a note that its checkout has a copy of the plan.

use std::path::Path;

use planwright_run::caller;
use planwright_run::files::DiskFiles;
use planwright_run::journal::plan_id;
use planwright_run::layout::PlanPlace;
use planwright_run::shell::argument;

use super::FoundPlan;
use crate::failure::{Failure, Result};
use crate::text::one_line;
use crate::workspace::Workspace;

/// Refuses operations of an attempt on its own run or the run's files.
pub fn refuse_in_attempt(root: &Path, what: &str) -> Result<()> {
    match caller::attempt_in(root) {
        Some(attempt) => Err(Failure::problem(
            format!("{attempt} called this, and an attempt cannot {what}"),
            caller::HELP,
        )),
        None => Ok(()),
    }
}

/// Refuses operations of an attempt on the plan of its own run, before any expensive step.
pub(crate) fn refuse_own_plan(found: &FoundPlan, what: &str) -> Result<()> {
    let place = PlanPlace::of(&DiskFiles, &found.path).ok();
    let linked = found.linked();
    let id = linked.as_ref().and_then(|linked| plan_id(&linked.plan));
    match place.and_then(|place| caller::attempt_on(&place, id)) {
        Some(attempt) => Err(Failure::problem(
            format!("{attempt} called this, and an attempt cannot {what}"),
            caller::HELP,
        )),
        None => Ok(()),
    }
}

/// Reports that a plan is the copy in the checkout of the attempt that called this: the run does not update it.
pub(crate) fn remark_copy(workspace: &Workspace, path: &Path, verb: &str) {
    if let Some(original) = caller::original_of(path) {
        workspace.remark(&format!(
            "note: {} called this, and this plan is the copy in its checkout, which the run does not update; the plan of the run: \
             `planwright {verb} -p {}`",
            original.attempt,
            one_line(&argument(&original.plan.to_string_lossy()))
        ));
    }
}

/// Returns the help for a folder without runs: in the checkout of an attempt, the runs are with the plan of its run.
pub(crate) fn where_runs_are(root: &Path, verb: &str) -> String {
    match caller::plan_of_checkout(root) {
        Some(original) => format!(
            "this is the checkout of {}; the runs are with its plan: `planwright {verb} -p {}`",
            original.attempt,
            one_line(&argument(&original.plan.to_string_lossy()))
        ),
        None => "`planwright run` starts one".to_owned(),
    }
}
