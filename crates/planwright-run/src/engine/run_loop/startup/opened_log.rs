//! The log of a run that starts or is resumed, and the state from it.

use super::super::super::{PlanSnapshot, RunError};
use super::FILES;
use crate::journal::{JournalHeader, plan_id};
use crate::runs::state::RunState;
use crate::runs::{Resumed, RunLog, RunPlace, RunRecord};

pub(super) struct OpenedLog {
    pub(super) place: RunPlace,
    pub(super) log: RunLog<'static>,
    pub(super) state: RunState,
    pub(super) cut: Option<RunRecord>,
}

pub(super) fn resume(place: &RunPlace) -> Result<Resumed<'static>, RunError> {
    place
        .refuse_links(&FILES)
        .map_err(RunError::io("the interrupted run cannot go on"))?;
    Ok(RunLog::resume(&FILES, &place.log())?)
}

/// Opens the log of the resumed run with its state, or creates a new one.
pub(super) fn open_log(
    resumed: Option<(RunPlace, Resumed<'static>)>,
    snapshot: &PlanSnapshot,
    now: &str,
) -> Result<OpenedLog, RunError> {
    if let Some((place, resumed)) = resumed {
        let state = RunState::of(&resumed.records);
        return Ok(OpenedLog {
            place,
            log: resumed.log,
            state,
            cut: resumed.cut,
        });
    }
    let plan = snapshot.place();
    let place = RunPlace::create(&FILES, &plan.root, now).map_err(RunError::io("the run's folder cannot be made"))?;
    let header = JournalHeader {
        path: plan.relative.clone(),
        id: plan_id(snapshot.plan()).map(str::to_owned),
    };
    let log = RunLog::begin(&FILES, &place.log(), &header)?;
    Ok(OpenedLog {
        place,
        log,
        state: RunState::default(),
        cut: None,
    })
}
