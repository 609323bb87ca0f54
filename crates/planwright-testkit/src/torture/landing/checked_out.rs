//! Faults in `planwright land` and in runs on the checked-out branch: the verified work is there, and the user's other files are
//! unchanged.

use super::super::fault::{Fault, WITH_GIT};
use super::super::place::WorkerFolder;
use super::super::runs::{BRANCH, begun, is_quiet, ledger};
use super::super::verbs::states;
use super::super::{FaultScenario, Harm, Rehearsal, Wrong};
use super::super::{broken, hangs};
use super::judge::{UserView, landed_trees_are_verified, nothing_is_left};
use super::{GROUP, PLAN, Struck, clock, continue_with_operator, git, in_restored_folder, set_up, strike};
use crate::samples::words;

/// Many files, so that git is often killed in the middle of them: new ones, a removed folder, and a file in place of a folder.
const MANY: &str = "mkdir -p many/deep; for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do echo $i$j > many/deep/$i$j; done; \
                    done\nrm -r src; echo file > src; echo four >> shared.txt";

/// The process with the fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckedOut {
    /// In `planwright land` after a whole run.
    Land,
    /// In a run that lands on the checked-out branch.
    Run,
}

struct CheckedOutBaseline {
    before: UserView,
    states: Vec<(String, String)>,
    landed: String,
}

impl FaultScenario for CheckedOut {
    fn name(&self) -> String {
        match self {
            CheckedOut::Land => format!("{GROUP}-land"),
            CheckedOut::Run => format!("{GROUP}-current"),
        }
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        set_up(place, "a,b a", MANY, "attempts = 3", "ls out-a many/deep/11", "")?;
        git(place, &["reset", "-q", "--hard"])?;
        if *self == CheckedOut::Land {
            let came = place.does(&words(&["run", PLAN]), &[clock()]).map_err(hangs)?;
            if came.status != Some(0) {
                return Err((Harm::Stuck, came.text));
            }
        }
        place.keep().map_err(broken)?;
        let before = UserView::of(place)?;
        place.take_steps();
        let log = place.step_log().display().to_string();
        let came = place
            .does(&self.command(), &[("PLANWRIGHT_FAULT_LOG", log), clock()])
            .map_err(hangs)?;
        let steps = place.take_steps();
        if came.status != Some(0) {
            return Err((Harm::Stuck, came.text));
        }
        let seen = CheckedOutBaseline {
            before,
            states: states(place, PLAN)?,
            landed: landed_files(place)?,
        };
        self.judge(place, &seen, &[])?;
        let mut faults = WITH_GIT.to_vec();
        faults.extend([Fault::Kill, Fault::Full, Fault::Io]);
        Ok(Some(Rehearsal {
            steps,
            faults,
            n_random: 0,
            took: came.took,
            seen: Box::new(seen),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        let seen: &CheckedOutBaseline = rehearsal.seen.downcast_ref().expect("it is what was remembered");
        in_restored_folder(place, || self.suffer_once(place, seen, fault, at))
    }
}

impl CheckedOut {
    fn command(self) -> Vec<String> {
        match self {
            CheckedOut::Land => words(&["land"]),
            CheckedOut::Run => words(&["run", PLAN, "--branch", "current"]),
        }
    }

    fn suffer_once(
        self,
        place: &WorkerFolder,
        seen: &CheckedOutBaseline,
        fault: Fault,
        at: u64,
    ) -> Result<bool, Wrong> {
        let Some(Struck { came, planted }) = strike(place, &self.command(), fault, at)? else {
            return Ok(false);
        };
        let with_first = |(harm, what): Wrong| (harm, format!("{what}\nlocks: {planted:?}\nfirst: {}", came.text));
        let after = continue_with_operator(place, &self.command()).map_err(with_first)?;
        if after.status != Some(0) {
            return Err(with_first((Harm::Stuck, after.text)));
        }
        self.judge(place, seen, &planted)
            .map(|()| true)
            .map_err(|(harm, what)| with_first((harm, format!("{what}\n{}", after.text))))
    }

    fn judge(self, place: &WorkerFolder, seen: &CheckedOutBaseline, planted: &[String]) -> Result<(), Wrong> {
        let states = states(place, PLAN)?;
        if states != seen.states || states.iter().any(|(_, state)| state != "done") {
            return Err((Harm::Lost, format!("{states:?} and not {:?}", seen.states)));
        }
        let landed = landed_files(place)?;
        if landed != seen.landed {
            return Err((Harm::WorkLost, format!("{landed:?} landed, and not {:?}", seen.landed)));
        }
        // The landed files, and what changes with the branch.
        let moves = |name: &str| {
            let is_landed = landed.lines().any(|line| line.ends_with(&format!("\t{name}")));
            let git = ["refs", ".git/index", ".git/logs/HEAD", ".git/logs/refs/heads/main"];
            is_landed || git.contains(&name)
        };
        seen.before.is_untouched_but_for(place, &moves)?;
        let status = git(place, &["status", "--porcelain", "--untracked-files=all"])?;
        // A plan is written to a file next to it first.
        let is_own = |line: &str| line.ends_with(PLAN) || line.starts_with("?? .planwright-") && line.ends_with(".tmp");
        let others = status.lines().filter(|line| !is_own(line));
        if others.ne(["?? untracked.txt"]) {
            return Err((Harm::Touched, format!("the checkout is not clean:\n{status}")));
        }
        let ledger = ledger(place);
        for (task, _) in &states {
            let made = place.git(&["show", &format!("main:out-{task}")]).unwrap_or_default();
            if !ledger.iter().any(|line| *line == format!("end {}", made.trim())) {
                return Err((Harm::WorkLost, format!("`out-{task}` is {made:?}: {ledger:?}")));
            }
            if self == CheckedOut::Land && begun(place).get(task) != Some(&1) {
                return Err((Harm::Duplicated, format!("the agent of `{task}` was started again")));
            }
        }
        if place.root().join(".git/planwright-move.json").exists() {
            return Err((Harm::LeftBehind, "the note of a move".to_owned()));
        }
        let branch = match self {
            CheckedOut::Land => BRANCH,
            CheckedOut::Run => "main",
        };
        landed_trees_are_verified(place, branch, &[])?;
        nothing_is_left(place, planted)?;
        is_quiet(place, "in the end")
    }
}

/// Returns the changes of the checked-out branch, by status and name.
fn landed_files(place: &WorkerFolder) -> Result<String, Wrong> {
    git(place, &["diff", "--name-status", "--no-renames", "v1", "main"])
}
