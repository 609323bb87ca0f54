//! A simulated user who works with git during a run: the user's work stays, and the plan's branch has each task's change once.

use std::time::Duration;

use super::super::chance::Chance;
use super::super::fault::Fault;
use super::super::place::{RunningCommand, WorkerFolder, kill};
use super::super::runs::{BRANCH, is_quiet, kinds};
use super::super::verbs::{no_panic, states};
use super::super::{FaultScenario, Harm, Rehearsal, Wrong};
use super::super::{broken, hangs};
use super::judge::{self, UserView};
use super::{PLAN, USERS, clock, git, set_up};
use crate::samples::words;

/// The longest pause of the user between two operations.
const MAX_PAUSE: usize = 60;

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

const TASKS: [&str; 3] = ["a,b,c a", "a,b a,c,d b", "a,b,c,d a b,e"];

/// Agents with a short delay, so that the user's operations come in between.
const SCRIPT: &str = "sleep 0.0$(($$ % 8))\ngit add -A && git commit -q --allow-empty -m try || exit 1";

/// The only scenario of its kind; a case is a seed.
pub(super) struct Users;

impl FaultScenario for Users {
    fn name(&self) -> String {
        USERS.to_owned()
    }

    fn group(&self) -> &'static str {
        USERS
    }

    fn rehearse(&self, _place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        Ok(Some(Rehearsal {
            steps: Vec::new(),
            faults: Vec::new(),
            n_random: 0,
            took: Duration::ZERO,
            seen: Box::new(()),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, _rehearsal: &Rehearsal, _fault: Fault, at: u64) -> Result<bool, Wrong> {
        let result = suffer(place, at);
        for pid in place.processes() {
            kill(pid);
        }
        result.map(|()| true)
    }
}

fn suffer(place: &WorkerFolder, seed: u64) -> Result<(), Wrong> {
    let mut chance = Chance::new(seed);
    let tasks = TASKS[chance.below(TASKS.len())];
    // The plan is not in git here, so that no operation of the user's undoes its changes.
    let settings = "attempts = 2\nslots = 2";
    set_up(place, tasks, SCRIPT, settings, "sleep 0.02; ls out-*", "plan.json\n")?;
    let mut user = User {
        place,
        view: UserView::of(place)?,
        start: git(place, &["rev-parse", "HEAD"])?,
        removed: Vec::new(),
        undo: None,
        n_operations: 0,
        did: Vec::new(),
        chance,
    };
    let mut going = place.begin(&words(&["run", PLAN]), &[clock()]).map_err(hangs)?;
    while !kinds(place).iter().any(|kind| kind == "begun") && !going.is_over().map_err(broken)? {
        std::thread::sleep(Duration::from_millis(2));
    }
    let worked = user.works_during(&mut going);
    let text = going.text();
    let patience = if worked.is_ok() { PATIENCE } else { Duration::ZERO };
    let came = going.ends_within(patience).map_err(hangs)?;
    let judged = worked.and_then(|()| no_panic(&came)).and_then(|()| match came.status {
        Some(0) => user.judge(),
        _ => Err((Harm::Stuck, "the run did not succeed".to_owned())),
    });
    judged.map_err(|(harm, what)| (harm, format!("{what}\n{}\n{text}", user.did.join("\n"))))
}

/// The user's next operation, which undoes an earlier one.
enum Undo {
    /// Restores the branch of the plan.
    Restore(String),
    /// Checks out the earlier branch.
    Switch(String),
}

struct User<'p> {
    place: &'p WorkerFolder,
    chance: Chance,
    /// Everything of the user's, after the last operation.
    view: UserView,
    /// The start of the plan's branch.
    start: String,
    /// The commits that the user removed from it.
    removed: Vec<String>,
    undo: Option<Undo>,
    n_operations: usize,
    did: Vec<String>,
}

impl User<'_> {
    fn works_during(&mut self, going: &mut RunningCommand) -> Result<(), Wrong> {
        while !going.is_over().map_err(broken)? {
            if going.elapsed() > PATIENCE {
                return Err((Harm::Stuck, "the run does not end".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(self.chance.below(MAX_PAUSE) as u64));
            self.view.is_untouched(self.place)?;
            match self.undo.take() {
                Some(undo) => {
                    // The run must notice it.
                    std::thread::sleep(Duration::from_millis(self.chance.below(3 * MAX_PAUSE) as u64));
                    self.view.is_untouched(self.place)?;
                    self.takes_back(undo)?;
                }
                None => self.does_something()?,
            }
            self.view = UserView::of(self.place)?;
        }
        if let Some(undo) = self.undo.take() {
            self.view.is_untouched(self.place)?;
            self.takes_back(undo)?;
            self.view = UserView::of(self.place)?;
        }
        Ok(())
    }

    /// Runs a git command that must succeed, whatever planwright does meanwhile.
    fn git(&mut self, args: &[&str]) -> Result<String, Wrong> {
        self.did.push(format!("git {}", args.join(" ")));
        git(self.place, args)
    }

    /// Runs a git command that may be refused.
    fn tries(&mut self, args: &[&str]) -> bool {
        let done = self.place.git(args);
        let end = if done.is_ok() { "" } else { " (refused)" };
        self.did.push(format!("git {}{end}", args.join(" ")));
        done.is_ok()
    }

    fn does_something(&mut self) -> Result<(), Wrong> {
        self.n_operations += 1;
        let number = self.n_operations;
        match self.chance.below(14) {
            0 | 1 => {
                let name = format!("theirs-{number}.txt");
                self.place.write(&name, "theirs\n").map_err(broken)?;
                self.git(&["add", &name])?;
                self.git(&["commit", "-q", "-m", "Theirs", "--", &name])?;
            }
            2 => drop(self.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Amended"])?),
            3 => drop(self.git(&[
                "-c",
                "rebase.autoStash=true",
                "rebase",
                "-q",
                "--force-rebase",
                "HEAD~1",
            ])?),
            4 => drop(self.git(&["checkout", "-q", "-b", &format!("side-{number}")])?),
            5 => drop(self.git(&["checkout", "-q", "--detach"])?),
            6 => {
                self.place.write("shared.txt", "changed\n").map_err(broken)?;
                self.git(&["stash", "-q", "--", "shared.txt"])?;
            }
            // `git gc` may meet refs that are being moved; it reports that and is tried again later.
            7 => drop(self.tries(&["gc", "-q", "--prune=now"])),
            8 => {
                self.tries(&["reflog", "expire", "--expire=now", "--all"]);
                self.tries(&["prune"]);
            }
            9 => drop(self.tries(&["pack-refs", "--all"])),
            10 => self.deletes_a_branch()?,
            11 => self.removes_commits(),
            12 => {
                if let Some(tip) = self.tip()
                    && self.tries(&["update-ref", "-d", &format!("refs/heads/{BRANCH}"), &tip])
                {
                    self.undo = Some(Undo::Restore(tip));
                }
            }
            _ => {
                let before = self.place.git(&["symbolic-ref", "--short", "-q", "HEAD"]).ok();
                let head = self.git(&["rev-parse", "HEAD"])?;
                if self.tries(&["switch", "-q", "--ignore-other-worktrees", BRANCH]) {
                    self.undo = Some(Undo::Switch(before.unwrap_or(head)));
                }
            }
        }
        Ok(())
    }

    fn tip(&self) -> Option<String> {
        self.place.git(&["rev-parse", "-q", "--verify", BRANCH]).ok()
    }

    fn deletes_a_branch(&mut self) -> Result<(), Wrong> {
        let sides = git(self.place, &["branch", "--format=%(refname:short)", "--list", "side-*"])?;
        let current = self
            .place
            .git(&["symbolic-ref", "--short", "-q", "HEAD"])
            .unwrap_or_default();
        if let Some(side) = sides.lines().find(|side| *side != current) {
            self.git(&["branch", "-q", "-D", side])?;
        }
        Ok(())
    }

    /// Removes all landed commits from the branch of the plan.
    fn removes_commits(&mut self) {
        let (Some(tip), start) = (self.tip(), self.start.clone()) else {
            return;
        };
        let range = format!("{start}..{tip}");
        let commits = self.place.git(&["rev-list", &range]).unwrap_or_default();
        if tip != start && self.tries(&["update-ref", &format!("refs/heads/{BRANCH}"), &start, &tip]) {
            self.removed.extend(commits.lines().map(str::to_owned));
        }
    }

    fn takes_back(&mut self, undo: Undo) -> Result<(), Wrong> {
        match undo {
            Undo::Restore(tip) => {
                let none = "0".repeat(tip.len());
                self.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &tip, &none])?;
            }
            Undo::Switch(to) => drop(self.git(&["checkout", "-q", &to])?),
        }
        Ok(())
    }

    fn judge(&self) -> Result<(), Wrong> {
        let states = states(self.place, PLAN)?;
        if states.iter().any(|(_, state)| state != "done") {
            return Err((Harm::Lost, format!("{states:?}")));
        }
        self.view.is_untouched(self.place)?;
        judge::landed_trees_are_verified(self.place, BRANCH, &self.removed)?;
        judge::is_made(self.place, &states, &self.removed)?;
        judge::nothing_is_left(self.place, &[])?;
        is_quiet(self.place, "in the end")
    }
}
