//! The runs of a workspace, found by their logs: their plans, whether they are active, and their state.

use std::io;
use std::path::Path;

use super::layout::{RunPlace, list};
use super::live::{LiveRun, holder};
use super::log::{header, records};
use super::state::RunState;
use crate::files::Files;
use crate::journal::{JournalError, JournalHeader};
use crate::layout::PlanPlace;

/// A run whose log names its plan.
#[derive(Clone, Debug)]
pub struct SeenRun {
    pub place: RunPlace,
    /// Its plan.
    pub header: JournalHeader,
}

impl SeenRun {
    /// Reads the first line of a run's log.
    pub fn of(place: RunPlace) -> Result<Self, (RunPlace, JournalError)> {
        match header(&place.log()) {
            Ok(header) => Ok(SeenRun { place, header }),
            Err(error) => Err((place, error)),
        }
    }

    pub fn id(&self) -> &str {
        self.place.id()
    }

    /// Returns the place of its plan, which need not exist.
    pub fn plan(&self) -> PlanPlace {
        PlanPlace::below(self.place.root(), &self.header.path)
    }

    /// Returns its active process.
    pub fn live(&self, files: &dyn Files) -> Option<LiveRun> {
        let live = holder(files, &self.plan())?;
        (live.id.as_deref() == Some(self.id())).then_some(live)
    }

    /// Returns the state rebuilt from its log.
    pub fn state(&self, files: &dyn Files) -> Result<RunState, JournalError> {
        Ok(RunState::of(&records(files, &self.place.log())?))
    }

    /// Returns whether it is a run of this plan: by its path, or by its id if the plan was moved here since.
    fn is_of(&self, plan: &PlanPlace, id: Option<&str>) -> bool {
        let own = self.header.id.as_deref();
        if self.header.path == plan.relative {
            return own.is_none() || id.is_none() || own == id;
        }
        let was_moved = || !plan.root.join(&self.header.path).exists();
        own.is_some() && own == id && was_moved()
    }
}

/// A run, or the place of one whose log cannot be read.
pub type SeenOrUnreadable = Result<SeenRun, (RunPlace, JournalError)>;

/// Returns the runs of a workspace, the newest first, without those that have no log because they did not start.
pub fn seen(files: &dyn Files, root: &Path) -> io::Result<impl Iterator<Item = SeenOrUnreadable> + use<>> {
    let places = list(files, root)?.into_iter().rev();
    Ok(places.filter(|place| place.log().exists()).map(SeenRun::of))
}

/// Returns the runs of a plan, the newest first. A log that is unreadable, or has no first line, belongs to no plan.
pub fn of_plan<'a>(
    files: &dyn Files,
    plan: &'a PlanPlace,
    id: Option<&'a str>,
) -> io::Result<impl Iterator<Item = SeenRun> + use<'a>> {
    let is_own = move |run: &SeenRun| run.is_of(plan, id);
    Ok(seen(files, &plan.root)?.flatten().filter(is_own))
}
