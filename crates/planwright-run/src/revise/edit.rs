//! Edits the tasks of a plan, or its whole text. Refuses to remove or rename tasks that are worked on.

use std::path::Path;

use planwright_core::change::tasks::Edit;
use planwright_core::inspect::LinkedPlan;
use planwright_core::text::SourceText;

use super::error::ReviseError;
use super::pending_change::PendingChange;
use super::revision::revise;
use super::{ChangeTarget, RevisedPlan, lasting_names};
use crate::claims::{Claims, NotHolder};
use crate::clock;
use crate::files::DiskFiles;
use crate::layout::PlanPlace;
use crate::runs::{self, LiveRun};
use crate::user::owner_here;

/// Edits the list of tasks. Calls `edit_of` for one edit after another, each with the plan after the earlier ones, until it returns none:
/// tasks are named by their index, which edits change.
pub fn edit<'e>(
    target: ChangeTarget<'_>,
    verb: &str,
    now: &str,
    names: &[String],
    by: Option<&str>,
    mut edit_of: impl FnMut(&LinkedPlan, usize) -> Result<Option<Edit<'e>>, ReviseError>,
) -> Result<RevisedPlan, ReviseError> {
    revise(target, verb, |pending| {
        pending.refuse_broken()?;
        pending.compare_states();
        let names = &lasting_names(&pending.linked()?.plan, names)[..];
        match (verb, names) {
            ("remove", _) => {
                refuse_held(&Claims::of(pending.history), names, by)?;
                names.iter().try_for_each(|task| refuse_in_run(pending, task))?;
            }
            ("rename", [task, ..]) => refuse_in_run(pending, task)?,
            _ => {}
        }
        let mut n_edits = 0;
        while let Some(edit) = edit_of(pending.linked()?, n_edits)? {
            pending.edit(&edit, now)?;
            n_edits += 1;
        }
        // The names of added tasks are known only now.
        if pending.change.tasks.is_empty() {
            pending.change.tasks = names.to_vec();
        }
        pending.change.by = by.map(str::to_owned);
        Ok(())
    })
}

/// Gives a plan the text that its user made of the text `seen`. Writes nothing if the file has changed since.
pub fn edit_text(
    target: ChangeTarget<'_>,
    seen: &SourceText,
    text: &SourceText,
    by: Option<&str>,
) -> Result<RevisedPlan, ReviseError> {
    revise(target, "edit", |pending| {
        pending.compare_states();
        if pending.open.source().as_str() != seen.as_str() {
            return Err(ReviseError::ChangedMeanwhile);
        }
        pending.replace(text);
        pending.change.by = by.map(str::to_owned);
        Ok(())
    })
}

/// Refuses to remove tasks that another owner holds.
fn refuse_held(claims: &Claims, tasks: &[String], by: Option<&str>) -> Result<(), ReviseError> {
    let owner = by.map_or_else(owner_here, str::to_owned);
    let now = clock::now();
    for task in tasks {
        let held = claims.on(task).filter(|claim| !claim.is_expired(&now));
        if let Some(claim) = held.filter(|claim| claim.owner().is_some_and(|holder| holder != owner)) {
            return Err(ReviseError::NotTheirs {
                task: task.clone(),
                why: Box::new(NotHolder::HeldAgainst(claim.clone())),
            });
        }
    }
    Ok(())
}

/// Refuses to rename or remove a task that a run works on now.
fn refuse_in_run(pending: &PendingChange<'_>, task: &str) -> Result<(), ReviseError> {
    let claims = Claims::of(pending.history);
    let is_of_run = claims.on(task).is_some_and(|claim| claim.owner().is_none());
    match live_run(pending.target.path).filter(|_| is_of_run) {
        Some(live) => Err(ReviseError::EditDuringRun {
            task: task.to_owned(),
            pid: live.pid,
        }),
        None => Ok(()),
    }
}

/// Returns the run that works on a plan now.
pub(super) fn live_run(plan: &Path) -> Option<LiveRun> {
    let place = PlanPlace::of(&DiskFiles, plan).ok()?;
    runs::holder(&DiskFiles, &place)
}
