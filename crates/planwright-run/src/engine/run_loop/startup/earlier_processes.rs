//! The processes of runs that were killed, and of a run that has lost its lock.

use std::time::Duration;

use super::super::super::RunError;
use super::super::super::attempt::{keeper_of_plan, mark_of_plan};
use super::super::super::recovery::Recovered;
use crate::layout::{PlanPlace, STATE_FOLDER};
use crate::runs;
use crate::worker;

/// How long the processes that a killed run left behind have to end.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// Refuses to run a plan if another planwright owns its processes even though the lock is free: its folder was removed, or another folder
/// is the root now.
pub(super) fn refuse_beside_keeper(plan: &PlanPlace) -> Result<(), RunError> {
    let Some(pid) = keeper_of_plan(&plan.target) else {
        return Ok(());
    };
    Err(RunError::refused(
        format!("the plan is being run by process {pid}, whose lock is not there any more"),
        format!(
            "`{STATE_FOLDER}` was removed or replaced, or another folder is the root now; end that run first: kill {pid}"
        ),
    ))
}

/// Ends processes that killed runs left behind, and returns their number. No other process runs the plan: this one has the lock.
pub(super) fn end_orphans(recovered: &Recovered, plan: &PlanPlace) -> usize {
    let header = recovered.interrupted().and_then(|run| runs::header(&run.log()).ok());
    // The plan may have been moved since they were started.
    let before = header.map(|header| plan.root.join(header.path));
    let before = before.filter(|before| *before != plan.target);
    let mut n_ended = 0;
    for path in [Some(plan.target.clone()), before].into_iter().flatten() {
        let mark = mark_of_plan(&path);
        let found = worker::orphans(&mark, recovered.processes());
        if !found.is_empty() {
            worker::end(&mark, &found, ORPHAN_GRACE);
        }
        n_ended += found.len();
    }
    n_ended
}
