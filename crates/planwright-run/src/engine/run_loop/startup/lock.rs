//! Locks a plan for a run. The run is prepared again if the plan or a log changed before.

use super::super::super::prepare::prepare;
use super::super::super::recovery::Recovered;
use super::super::super::{PlanSnapshot, PreparedRun, RunError, RunRequest};
use super::FILES;
use crate::caller;
use crate::journal::plan_id;
use crate::layout::{STATE_FOLDER, make_state_folder};
use crate::runs::RunLock;

/// Locks the plan. Prepares the run again if the plan or a log of its runs changed before the lock was taken.
pub(super) fn lock_plan(
    request: &RunRequest<'_>,
    prepared: PreparedRun,
    now: &str,
) -> Result<(RunLock, PreparedRun, Recovered), RunError> {
    let plan = prepared.snapshot.place().clone();
    refuse_in_attempt(&prepared.snapshot)?;
    let state = plan.root.join(STATE_FOLDER);
    make_state_folder(&FILES, &plan.root)
        .map_err(RunError::io(format!("the folder `{}` cannot be made", state.display())))?;
    let mut live = RunLock::acquire(&FILES, &plan, "", now)?;
    if let Some(own_id) = plan_id(prepared.snapshot.plan()) {
        live.hold_id(&FILES, &plan, own_id)?;
    }
    let mut prepared = match prepared.snapshot.may_have_changed() {
        true => prepare(request)?,
        false => prepared,
    };
    // Before agents have worked all night.
    prepared.snapshot.try_out()?;
    let id = plan_id(prepared.snapshot.plan());
    let recovered = std::mem::replace(&mut prepared.recovered, Ok(Recovered::default()));
    let mut recovered = match recovered {
        Ok(recovered) if recovered.is_current(&plan, id) => recovered,
        _ => Recovered::of(&plan, id)?,
    };
    recovered.look_for_landings(&plan.root);
    Ok((live, prepared, recovered))
}

/// Refuses to run a plan inside an attempt at one of its own tasks, and endlessly nested runs.
fn refuse_in_attempt(snapshot: &PlanSnapshot) -> Result<(), RunError> {
    if let Some(attempt) = caller::attempt_on(snapshot.place(), plan_id(snapshot.plan())) {
        let message = format!("{attempt} called this, and an attempt cannot run its own plan");
        return Err(RunError::refused(message, caller::HELP));
    }
    match caller::is_nested_too_deep() {
        true => Err(RunError::refused(
            "this run was called by an attempt of a run that was called by an attempt of another run",
            "planwright does not nest runs deeper; `planwright runs` lists the runs of a workspace",
        )),
        false => Ok(()),
    }
}
