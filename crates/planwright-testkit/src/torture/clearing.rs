//! `worktrees --clear` with faults: what is merged goes, what is not stays, and nobody's work is lost on the way.

use std::time::Duration;

use super::fault::Fault;
use super::place::{Came, Place};
use super::runs::{GROUP, clido};
use super::scenarios::words;
use super::verbs::{broken, hangs, no_panic};
use super::{Harm, Rehearsal, Scenario, Wrong};

const FAULTS: &[Fault] = &[Fault::Kill, Fault::Full, Fault::FullFrom, Fault::Io];

/// Every agent makes a file and fails, so that its worktree stays.
const CONFIG: &str = "[agents.mock]\ncommand = [\"sh\", \"-c\", 'echo made > out-$PLANWRIGHT_TASK; exit \
                      1']\n[run]\nagent = \"mock\"\nattempts = 1\n";

/// The task whose work nobody merges.
const UNMERGED: &str = "c";

/// The only scenario of its kind.
pub(super) struct Clearing;

impl Scenario for Clearing {
    fn name(&self) -> String {
        "worktrees-clear".to_owned()
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn rehearse(&self, place: &Place) -> Result<Option<Rehearsal>, Wrong> {
        set_up(place)?;
        place.keep().map_err(broken)?;
        place.take_steps();
        let log = place.step_log().display().to_string();
        let came = clear(place, &[("PLANWRIGHT_FAULT_LOG", log)])?;
        let steps = place.take_steps();
        is_cleared(place, &came)?;
        Ok(Some(Rehearsal {
            steps,
            faults: FAULTS.to_vec(),
            n_random: 20,
            took: came.took,
            seen: Box::new(()),
        }))
    }

    fn suffer(&self, place: &Place, _rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        place.put_back().map_err(broken)?;
        place.take_steps();
        if fault == Fault::Random {
            let going = place.begin(&command(), &[]).map_err(hangs)?;
            if !going.dies_after(Duration::from_micros(at)).map_err(broken)? {
                return Ok(false);
            }
        } else {
            let came = clear(place, &fault.variables(place, at, "plan.json"))?;
            if !place.take_steps().iter().any(|step| step.starts_with('!')) {
                return Ok(false);
            }
            nothing_is_lost(place, &came)?;
        }
        let came = clear(place, &[])?;
        is_cleared(place, &came).map(|()| true)
    }
}

fn command() -> Vec<String> {
    words(&["worktrees", "--clear"])
}

fn clear(place: &Place, variables: &[(&str, String)]) -> Result<Came, Wrong> {
    let came = place.does(&command(), variables).map_err(hangs)?;
    no_panic(&came).map(|()| came)
}

/// Has three tasks fail, and merges the work of two of them by hand.
fn set_up(place: &Place) -> Result<(), Wrong> {
    place.clear().map_err(broken)?;
    place.write("plan.json", &clido("a,b,c")).map_err(broken)?;
    place.write("planwright.toml", CONFIG).map_err(broken)?;
    place.begin_repository()?;
    place.does(&words(&["run", "plan.json"]), &[]).map_err(hangs)?;
    for (task, branch) in branches(place)? {
        if task != UNMERGED {
            git(place, &["merge", "-q", "--no-edit", &branch])?;
        }
    }
    Ok(())
}

/// Returns the branches of the tasks, each with its task.
fn branches(place: &Place) -> Result<Vec<(String, String)>, Wrong> {
    let names = git(
        place,
        &["branch", "--format=%(refname:short)", "--list", "planwright/*"],
    )?;
    let task = |name: &str| {
        let last = name.rsplit('/').next().unwrap_or(name);
        last.split('-').next().unwrap_or(last).to_owned()
    };
    Ok(names.lines().map(|name| (task(name), name.to_owned())).collect())
}

fn git(place: &Place, args: &[&str]) -> Result<String, Wrong> {
    place.git(args).map_err(|what| (Harm::Stuck, what))
}

/// Checks that everybody's work is in the branch that is checked out, or on its own.
fn nothing_is_lost(place: &Place, came: &Came) -> Result<(), Wrong> {
    let branches = branches(place)?;
    for task in ["a", "b", "c"] {
        let own = branches
            .iter()
            .find(|(name, _)| name == task)
            .map(|(_, branch)| branch.as_str());
        let branch = if task == UNMERGED { own } else { Some("main") };
        let made = branch.and_then(|branch| place.git(&["show", &format!("{branch}:out-{task}")]).ok());
        if made.as_deref() != Some("made") {
            return Err((Harm::WorkLost, format!("of {task}: {branches:?}\n{}", came.text)));
        }
    }
    Ok(())
}

/// Checks that what is merged is gone, worktrees and branches, and nothing else.
fn is_cleared(place: &Place, came: &Came) -> Result<(), Wrong> {
    if came.status != Some(0) {
        return Err((Harm::Stuck, came.text.clone()));
    }
    nothing_is_lost(place, came)?;
    let left: Vec<String> = branches(place)?.into_iter().map(|(task, _)| task).collect();
    let n_worktrees = git(place, &["worktree", "list"])?.lines().count();
    let folders = git(place, &["worktree", "prune", "--dry-run", "--verbose"])?;
    match left == [UNMERGED] && n_worktrees == 2 && folders.is_empty() {
        true => Ok(()),
        false => Err((
            Harm::Stuck,
            format!("{left:?}, {n_worktrees} worktrees, {folders}\n{}", came.text),
        )),
    }
}
