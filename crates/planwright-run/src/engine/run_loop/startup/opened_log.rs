//! The log of a run that starts or is resumed, and the state from it.

use super::super::super::{PlanSnapshot, RunError};
use super::FILES;
use crate::journal::{JournalHeader, plan_id};
use crate::runs::state::RunState;
use crate::runs::{ResumedLog, RunLog, RunPlace, RunRecord};

pub(super) struct OpenedLog {
    pub(super) place: RunPlace,
    pub(super) log: RunLog<'static>,
    pub(super) state: RunState,
    pub(super) cut: Option<RunRecord>,
}

impl OpenedLog {
    /// Removes the folder of a run that never started. If it stays, the run is listed as interrupted.
    pub(super) fn abandon(&self) {
        let _ = std::fs::remove_dir_all(self.place.folder());
    }
}

pub(super) fn resume(place: &RunPlace) -> Result<ResumedLog<'static>, RunError> {
    place
        .refuse_links(&FILES)
        .map_err(RunError::io("the interrupted run cannot continue"))?;
    Ok(RunLog::resume(&FILES, &place.log())?)
}

/// Opens the log of the resumed run with its state, or creates a new one.
pub(super) fn open_log(
    resumed: Option<(RunPlace, ResumedLog<'static>)>,
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
