//! Opens the folders in which the tasks of a run work.

use super::super::super::isolation::Isolation;
use super::super::super::landing_site::LandingSite;
use super::super::super::leftovers::Leftovers;
use super::super::super::recovery::Recovered;
use super::super::super::{PlanSnapshot, RunError, RunRequest};
use super::super::checkouts::{WorkLocation, words};
use super::opened_log::OpenedLog;
use crate::config::IsolationSetting;
use crate::git::Repository;
use crate::journal::plan_id;
use crate::runs::state::{AttemptRun, TaskRun};
use crate::runs::{FixedSettings, IsolationMode};

/// Opens the folders in which tasks work; for a resumed run, with its original settings. Returns remarks for the user.
pub(super) fn open_workplace(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    isolation: &Isolation,
    log: &OpenedLog,
    recovered: &Recovered,
) -> Result<(WorkLocation, Vec<String>), RunError> {
    if isolation.mode == IsolationMode::Shared {
        let root = &snapshot.place().root;
        let repository = Repository::around(root).ok().flatten();
        // A repository that ignores the folder does not know what changes in it.
        let repository = repository.filter(|repository| !repository.is_ignored(root).unwrap_or(false));
        let has_branch = request.options.flags.branch.is_some();
        let remark = has_branch.then(|| "tasks share the folder, so that --branch has no effect".to_owned());
        return Ok((WorkLocation::Shared(repository), remark.into_iter().collect()));
    }
    if let Ok(Some(leftovers)) = Leftovers::open(&snapshot.place().root, &request.config.run) {
        leftovers.tidy(&request.config.run.checkouts.keep);
        leftovers.remove_unbegun(snapshot.place(), plan_id(snapshot.plan()), log.place.id());
    }
    let (site, remarks) = match recovered.fixed_settings() {
        Some(conditions) => {
            let site = LandingSite::resume(request, snapshot, log.place.id(), conditions, &log.state)?;
            let has_landed = |task: &&TaskRun| {
                task.landed().is_some()
                    || recovered
                        .task(&task.task)
                        .is_some_and(|found| found.found_landing().is_some())
            };
            let landed = log.state.tasks().iter().filter(has_landed);
            let landed: Vec<&AttemptRun> = landed.filter_map(TaskRun::last).collect();
            let cleared = site.clear_earlier(&landed);
            let mut remarks = kept_conditions(request, conditions);
            remarks.extend(cleared.err().map(|error| words(&error)));
            (site, remarks)
        }
        None => LandingSite::begin(request, snapshot, log.place.id())?,
    };
    Ok((WorkLocation::Checkouts(Box::new(site)), remarks))
}

/// Reports flags without effect, because a resumed run keeps its branch and its isolation.
fn kept_conditions(request: &RunRequest<'_>, conditions: &FixedSettings) -> Vec<String> {
    let mut remarks = Vec::new();
    let is_other = |name: &&String| match name.as_str() {
        "current" => !conditions.is_current,
        name => conditions.is_current || name != conditions.branch,
    };
    if request.options.flags.branch.as_ref().filter(is_other).is_some() {
        remarks.push(format!(
            "the run continues to land on `{}`: --branch has no effect",
            conditions.branch
        ));
    }
    if request.config.run.checkouts.isolation == IsolationSetting::Shared {
        remarks.push("the run continues with a checkout for each task: --isolation has no effect".to_owned());
    }
    remarks
}
