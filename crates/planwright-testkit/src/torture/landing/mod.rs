//! Runs with checkouts, killed at every git command and with stale locks: verified work lands, and nothing of the user's is
//! touched.

mod agents;
mod checked_out;
mod judge;
mod locks;
mod users;

use std::time::{Duration, SystemTime};

use super::chance::Chance;
use super::fault::{Fault, WITH_GIT};
use super::place::{CommandResult, WorkerFolder, kill};
use super::runs::{BRANCH, clido, is_quiet};
use super::verbs::{no_panic, states};
use super::{FaultScenario, Harm, Rehearsal, Wrong};
use super::{broken, hangs};
use crate::samples::words;
use judge::{DurableWork, UserView};

pub(super) const GROUP: &str = "landing";

/// The group of runs with a simulated user.
pub(super) const USERS: &str = "users";

const PLAN: &str = "plan.json";

/// How many times faster than real time the clock of the runs is: waits for locks are long.
const CLOCK_RATE: u32 = 10;

/// How often an operator restarts a run after removing a lock that stopped it.
const MAX_STARTS: usize = 8;

/// The time limit of a run with an operator.
const PATIENCE: Duration = Duration::from_secs(60);

/// The start and the end of every agent: it records its start and its work outside of the workspace.
const BEGIN: &str = r#"task=$PLANWRIGHT_TASK
echo "begin $task $$" >> "$ASIDE/ledger"
again() { [ $(grep -c "begin $task " "$ASIDE/ledger") -ge 2 ]; }
"#;
const END: &str = r#"
echo "$task $$" > "out-$task"
echo "end $task $$" >> "$ASIDE/ledger"
printf '{"planwright_result": 1, "outcome": "done"}' > "$PLANWRIGHT_RESULT"
"#;

/// A run in a repository with something of the user's in every place.
pub(super) struct LandingRun {
    name: &'static str,
    /// As [`clido`] reads them.
    tasks: &'static str,
    /// The agent's commands before its work, in `sh`.
    script: &'static str,
    /// Lines for `[run]`.
    settings: &'static str,
    /// The command that verifies.
    verify: &'static str,
    /// The files that land, of all tasks.
    lands: &'static [&'static str],
}

/// The results without faults.
struct LandingBaseline {
    states: Vec<(String, String)>,
    before: UserView,
}

pub(super) fn all() -> Vec<Box<dyn FaultScenario>> {
    let mut all: Vec<Box<dyn FaultScenario>> = Vec::new();
    for run in agents::all() {
        all.push(Box::new(run));
    }
    all.push(Box::new(checked_out::CheckedOut::Land));
    all.push(Box::new(checked_out::CheckedOut::Run));
    all.push(Box::new(users::Users));
    all
}

/// Returns the variables of a run: its clock is faster.
fn clock() -> (&'static str, String) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // All runs of a place agree on the time of day if they count from the same hour.
    let hour = since.unwrap_or_default().as_secs() / 3600 * 3600;
    ("PLANWRIGHT_CLOCK", format!("{CLOCK_RATE}@{hour}"))
}

fn git(place: &WorkerFolder, args: &[&str]) -> Result<String, Wrong> {
    place.git(args).map_err(|what| (Harm::Stuck, what))
}

/// Creates a workspace whose agent runs a script, in a repository with something of the user's in every place.
fn set_up(
    place: &WorkerFolder,
    tasks: &str,
    script: &str,
    settings: &str,
    verify: &str,
    ignored: &str,
) -> Result<(), Wrong> {
    place.clear().map_err(broken)?;
    let aside = place.aside("").display().to_string();
    let aside = aside.trim_end_matches('/');
    let config = format!(
        "[agents.mock]\ncommand = [\"sh\", \"{aside}/agent.sh\"]\n[agents.mock.set]\nASIDE = \"{aside}\"\n\n[run]\nagent = \
         \"mock\"\nbackoff = \"1ms\"\ngrace = \"2s\"\n{settings}\n\n[verify]\nevery = [\"{verify}\"]\non_protected = \"warn\"\n"
    );
    std::fs::write(place.aside("agent.sh"), format!("{BEGIN}{script}{END}")).map_err(broken)?;
    for (name, text) in [
        ("planwright.toml", config.as_str()),
        ("shared.txt", "one\ntwo\nthree\n"),
        ("staged.txt", "old\n"),
        ("src/a.c", "int a;\n"),
    ] {
        place.write(name, text).map_err(broken)?;
    }
    place.begin_repository()?;
    let rules = format!(".planwright\nmine.txt\nnode_modules/\ndata/\n*.log\n{ignored}");
    place.write(".gitignore", &rules).map_err(broken)?;
    place.write(PLAN, &clido(tasks)).map_err(broken)?;
    git(place, &["add", "-A"])?;
    git(place, &["commit", "-q", "-m", "Ignore"])?;
    git(place, &["tag", "v1"])?;
    git(place, &["branch", "precious"])?;
    place.write("shared.txt", "stashed\n").map_err(broken)?;
    git(place, &["stash", "-q", "--", "shared.txt"])?;
    place.write("staged.txt", "staged\n").map_err(broken)?;
    git(place, &["add", "staged.txt"])?;
    for (name, text) in [
        ("src/a.c", "int edited;\n"),
        ("untracked.txt", "untracked\n"),
        ("mine.txt", "mine\n"),
        ("node_modules/x/index.js", "the user's own\n"),
        ("data/precious", "the user's own\n"),
        ("debug.log", "the user's own\n"),
        (".git/info/exclude", "excluded\n"),
    ] {
        place.write(name, text).map_err(broken)?;
    }
    Ok(())
}

impl FaultScenario for LandingRun {
    fn name(&self) -> String {
        format!("{GROUP}-{}", self.name)
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong> {
        set_up(place, self.tasks, self.script, self.settings, self.verify, "")?;
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
        let seen = LandingBaseline {
            states: states(place, PLAN)?,
            before,
        };
        self.judge(place, &seen, &DurableWork::look(place)?, &[])?;
        Ok(Some(Rehearsal {
            steps,
            faults: WITH_GIT.to_vec(),
            n_random: 0,
            took: came.took,
            seen: Box::new(seen),
        }))
    }

    fn suffer(&self, place: &WorkerFolder, rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong> {
        let seen: &LandingBaseline = rehearsal.seen.downcast_ref().expect("it is what was remembered");
        in_restored_folder(place, || self.suffer_once(place, seen, fault, at))
    }
}

/// Restores the folder, runs a case in it, and kills the remaining processes: they must not disturb the next case.
fn in_restored_folder(place: &WorkerFolder, case: impl FnOnce() -> Result<bool, Wrong>) -> Result<bool, Wrong> {
    place.put_back().map_err(broken)?;
    place.take_steps();
    let result = case();
    for pid in place.processes() {
        kill(pid);
    }
    result
}

impl LandingRun {
    fn command(&self) -> Vec<String> {
        words(&["run", PLAN])
    }

    fn suffer_once(&self, place: &WorkerFolder, seen: &LandingBaseline, fault: Fault, at: u64) -> Result<bool, Wrong> {
        let Some(Struck { planted, .. }) = strike(place, &self.command(), fault, at)? else {
            return Ok(false);
        };
        let with_locks = |(harm, what): Wrong| (harm, format!("{what}\nlocks: {planted:?}"));
        let known = DurableWork::look(place).map_err(with_locks)?;
        let after = continue_with_operator(place, &self.command()).map_err(with_locks)?;
        if after.status != Some(0) {
            return Err(with_locks((Harm::Stuck, after.text)));
        }
        let judged = self.judge(place, seen, &known, &planted);
        judged
            .map(|()| true)
            .map_err(|(harm, what)| with_locks((harm, format!("{what}\n{}", after.text))))
    }

    fn judge(
        &self,
        place: &WorkerFolder,
        seen: &LandingBaseline,
        known: &DurableWork,
        planted: &[String],
    ) -> Result<(), Wrong> {
        let states = states(place, PLAN)?;
        if states != seen.states || states.iter().any(|(_, state)| state != "done") {
            return Err((Harm::Lost, format!("{states:?} and not {:?}", seen.states)));
        }
        seen.before.is_untouched(place)?;
        judge::landed_trees_are_verified(place, BRANCH, &[])?;
        known.holds(place)?;
        judge::is_made(place, &states, &[])?;
        let changed = git(place, &["diff", "--name-only", "main", BRANCH])?;
        if changed.lines().ne(self.lands.iter().copied()) {
            return Err((Harm::WorkLost, format!("{changed:?} landed, and not {:?}", self.lands)));
        }
        judge::nothing_is_left(place, planted)?;
        is_quiet(place, "in the end")
    }
}

/// The result of a fault.
struct Struck {
    came: CommandResult,
    /// The locks that were planted.
    planted: Vec<String>,
}

/// Runs a command with a fault, and leaves the fault's locks. None if the fault was not reached.
fn strike(place: &WorkerFolder, command: &[String], fault: Fault, at: u64) -> Result<Option<Struck>, Wrong> {
    let mut variables = fault.variables(place, at, PLAN);
    variables.push(clock());
    let came = place.does(command, &variables).map_err(hangs)?;
    no_panic(&came)?;
    if !place.take_steps().iter().any(|step| step.starts_with('!')) {
        return Ok(None);
    }
    let mut chance = Chance::new(at);
    let planted = match fault {
        Fault::UserLocks => locks::plant(locks::of_user(place), &mut chance)?,
        Fault::OwnLocks => locks::plant(locks::of_planwright(place), &mut chance)?,
        _ => Vec::new(),
    };
    let is_missed = planted.is_empty() && matches!(fault, Fault::UserLocks | Fault::OwnLocks);
    Ok((!is_missed).then_some(Struck { came, planted }))
}

/// Runs until the end, like an operator who only removes the locks in the repository that the run names.
fn continue_with_operator(place: &WorkerFolder, command: &[String]) -> Result<CommandResult, Wrong> {
    let mut last = CommandResult::killed();
    for _ in 0..MAX_STARTS {
        let mut n_removed = 0;
        let stale = locks::Stale::of(place);
        let mut going = place.begin(command, &[clock()]).map_err(hangs)?;
        while !going.is_over().map_err(broken)? {
            n_removed += stale.remove_named(place, &going.text());
            if going.elapsed() > PATIENCE {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        last = going.ends().map_err(hangs)?;
        no_panic(&last)?;
        n_removed += stale.remove_named(place, &last.text);
        if last.status == Some(0) || n_removed == 0 {
            break;
        }
    }
    Ok(last)
}
