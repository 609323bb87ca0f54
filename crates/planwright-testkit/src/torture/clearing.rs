//! `worktrees --clear` with faults: checkouts without unique work are removed, others stay, and no work is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::fault::Fault;
use super::place::{CommandResult, WorkerFolder};
use super::runs::{GROUP, clido, records};
use super::verbs::no_panic;
use super::{FaultScenario, Harm, Rehearsal, Wrong};
use super::{broken, hangs};
use crate::samples::words;

const FAULTS: &[Fault] = &[
    Fault::Kill,
    Fault::Full,
    Fault::FullFrom,
    Fault::Io,
    Fault::GitWithin,
    Fault::GitAfter,
];

/// Every agent creates a file and fails, so that its checkout stays and its files are saved as a candidate.
const CONFIG: &str = "[agents.mock]\ncommand = [\"sh\", \"-c\", 'echo made > out-$PLANWRIGHT_TASK; exit \
                      1']\n[run]\nagent = \"mock\"\nattempts = 1\n";

/// The task whose checkout has a unique file.
const UNIQUE: &str = "c";

/// The only scenario of its kind.
pub(super) struct Clearing;

impl FaultScenario for Clearing {
    fn name(&self) -> String {
        "worktrees-clear".to_owned()
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        let checkouts = set_up(place)?;
        place.take_steps();
        let log = place.step_log().display().to_string();
        let came = clear(place, &[("PLANWRIGHT_FAULT_LOG", log)])?;
        let steps = place.take_steps();
        is_cleared(place, &checkouts, &came)?;
        Ok(Some(Rehearsal {
            steps,
            faults: FAULTS.to_vec(),
            n_random: 20,
            took: came.took,
            seen: Box::new(()),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, _rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        // A copy of a checkout is another folder, so each fault has new checkouts.
        let checkouts = set_up(place)?;
        place.take_steps();
        if fault == Fault::Random {
            let going = place.begin(&command(), &[]).map_err(hangs)?;
            if !going.kill_after(Duration::from_micros(at)).map_err(broken)? {
                return Ok(false);
            }
        } else {
            let came = clear(place, &fault.variables(place, at, "plan.json"))?;
            if !place.take_steps().iter().any(|step| step.starts_with('!')) {
                return Ok(false);
            }
            nothing_is_lost(place, &checkouts, &came)?;
        }
        let came = clear(place, &[])?;
        is_cleared(place, &checkouts, &came).map(|()| true)
    }
}

fn command() -> Vec<String> {
    words(&["worktrees", "--clear"])
}

fn clear(place: &WorkerFolder, variables: &[(&str, String)]) -> Result<CommandResult, Wrong> {
    let came = place.does(&command(), variables).map_err(hangs)?;
    no_panic(&came).map(|()| came)
}

/// Makes three tasks fail, and adds a file to the checkout of one of them. Returns the checkouts, each with its task.
fn set_up(place: &WorkerFolder) -> Result<Vec<(String, PathBuf)>, Wrong> {
    place.clear().map_err(broken)?;
    place.write("plan.json", &clido("a,b,c")).map_err(broken)?;
    place.write("planwright.toml", CONFIG).map_err(broken)?;
    place.begin_repository()?;
    let came = place.does(&words(&["run", "plan.json"]), &[]).map_err(hangs)?;
    let checkouts: Vec<(String, PathBuf)> = records(&place.root()).iter().filter_map(checkout_of).collect();
    if checkouts.len() != 3 || !checkouts.iter().all(|(_, folder)| folder.is_dir()) {
        return Err((Harm::WorkLost, format!("{checkouts:?}\n{}", came.text)));
    }
    for (_, folder) in checkouts.iter().filter(|(task, _)| task == UNIQUE) {
        std::fs::write(folder.join("by-hand.txt"), "made by hand\n").map_err(broken)?;
    }
    Ok(checkouts)
}

/// Returns the task and the checkout of an attempt that began.
fn checkout_of(record: &Value) -> Option<(String, PathBuf)> {
    let body = Some(&record["body"]).filter(|_| record["kind"] == "starting")?;
    let folder = body["checkout"]["folder"].as_str().or(body["folder"].as_str())?;
    Some((body["task"].as_str()?.to_owned(), Path::new(folder).to_owned()))
}

/// Checks that the work of every task is saved as a candidate, and that the unique file exists.
fn nothing_is_lost(place: &WorkerFolder, checkouts: &[(String, PathBuf)], came: &CommandResult) -> Result<(), Wrong> {
    let git = |args: &[&str]| place.git(args).map_err(|what| (Harm::Stuck, what));
    let kept = git(&["for-each-ref", "--format=%(refname)", "refs/planwright/candidates"])?;
    for (task, folder) in checkouts {
        let has_it = |name: &str| {
            let made = place.git(&["show", &format!("{name}:out-{task}")]);
            made.is_ok_and(|made| made == "made")
        };
        let is_unique_lost = task == UNIQUE && !folder.join("by-hand.txt").exists();
        if !kept.lines().any(has_it) || is_unique_lost {
            return Err((Harm::WorkLost, format!("of {task}: {kept}\n{}", came.text)));
        }
    }
    Ok(())
}

/// Checks that exactly the checkouts without unique work were removed.
fn is_cleared(place: &WorkerFolder, checkouts: &[(String, PathBuf)], came: &CommandResult) -> Result<(), Wrong> {
    if came.status != Some(0) {
        return Err((Harm::Stuck, came.text.clone()));
    }
    nothing_is_lost(place, checkouts, came)?;
    let left = checkouts.iter().filter(|(_, folder)| folder.exists());
    let left: Vec<&str> = left.map(|(task, _)| task.as_str()).collect();
    match left == [UNIQUE] {
        true => Ok(()),
        false => Err((Harm::Stuck, format!("{left:?}\n{}", came.text))),
    }
}
