//! The crash matrix: stops the real binary at every step that changes something, lets it continue, and compares its output with
//! the files.
//!
//! It needs a binary with the feature `crash-points`, which counts the steps. The expected result does not come from planwright's
//! own recovery: an undisturbed command shows the possible texts, and agents record their work outside the workspace.

mod asking;
pub mod chance;
mod clearing;
mod fault;
mod landing;
mod mask;
mod particular;
mod place;
mod runs;
mod scenarios;
mod verbs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use chance::Chance;
pub use fault::Fault;
use place::WorkerFolder;

/// The options of the matrix.
pub struct Torture<'s> {
    /// The binary, built with the feature `crash-points`.
    pub binary: PathBuf,
    /// The working folder, created if it is missing.
    pub folder: PathBuf,
    /// Decides which faults are chosen if not all are, and when processes are killed.
    pub seed: u64,
    /// The number of faults; all by default.
    pub n_faults: Option<usize>,
    /// A part of the names of the selected cases.
    pub only: Option<String>,
    /// The number of runs with a simulated user.
    pub n_users: usize,
    /// Whether to omit the scenarios of landing, each of which takes seconds to rehearse.
    pub is_quick: bool,
    /// The number of workers.
    pub n_workers: usize,
    /// Receives progress messages.
    pub say: &'s (dyn Fn(&str) + Sync),
}

/// Returns a failure of the folder itself, which is no failure of planwright.
fn broken(error: std::io::Error) -> Wrong {
    (Harm::Stuck, format!("the place of the test failed: {error}"))
}

/// Returns a failure of a command that does not end.
fn hangs(error: std::io::Error) -> Wrong {
    (Harm::Stuck, error.to_string())
}

/// A kind of failure that must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// An acknowledged change is missing, or has no effect.
    Lost,
    /// Something was done twice.
    Duplicated,
    /// A file has neither the old text nor the new one, or is no valid plan.
    Invalid,
    /// Processes, worktrees or locks remain at the end.
    LeftBehind,
    /// Work of an agent in its checkout, or of the user in the repository, is lost.
    WorkLost,
    /// The ordinary command does not continue.
    Stuck,
    /// A message about the file is false.
    Untrue,
    /// A write of another program is lost.
    EditLost,
    /// Something in the user's repository was changed that planwright must not change.
    Touched,
    /// A tree landed that was not verified.
    Unverified,
}

impl Harm {
    /// All of them, in the order of reports.
    pub const ALL: [Harm; 10] = [
        Harm::Lost,
        Harm::Duplicated,
        Harm::Invalid,
        Harm::LeftBehind,
        Harm::WorkLost,
        Harm::Stuck,
        Harm::Untrue,
        Harm::EditLost,
        Harm::Touched,
        Harm::Unverified,
    ];

    /// Returns it in words.
    pub fn words(self) -> &'static str {
        match self {
            Harm::Lost => "acknowledged transitions lost",
            Harm::Duplicated => "completions or changes duplicated",
            Harm::Invalid => "files invalid",
            Harm::LeftBehind => "processes, worktrees or locks left behind",
            Harm::WorkLost => "work of agents lost",
            Harm::Stuck => "commands that do not go on afterwards",
            Harm::Untrue => "untrue messages",
            Harm::EditLost => "edits by others lost",
            Harm::Touched => "files or refs of the user's touched",
            Harm::Unverified => "trees landed without their verification",
        }
    }
}

/// A failure that must never happen.
#[derive(Clone, Debug)]
pub struct TortureFailure {
    /// Its kind.
    pub harm: Harm,
    /// The name of its case, with which it can be tried again.
    pub case: String,
    /// The observation.
    pub what: String,
}

/// The result of the matrix.
#[derive(Debug, Default)]
pub struct TortureTally {
    /// The number of scenarios.
    pub n_scenarios: usize,
    /// The number of applied faults, by group and kind.
    pub n_faults: BTreeMap<(String, &'static str), usize>,
    /// The number of planned faults that were not reached, as when a run took another path.
    pub n_missed: usize,
    /// What must never happen.
    pub failures: Vec<TortureFailure>,
    /// Cases that a dialect does not support.
    pub refused: Vec<String>,
}

impl TortureTally {
    /// Returns the number of applied faults.
    pub fn total(&self) -> usize {
        self.n_faults.values().sum()
    }
}

/// A scenario for faults.
trait FaultScenario: Send + Sync {
    /// Its name, without spaces.
    fn name(&self) -> String;
    /// Its group.
    fn group(&self) -> &'static str;
    /// Runs it without faults. None if the dialect does not support it.
    fn rehearse(&self, place: &WorkerFolder) -> Result<Option<Rehearsal>, Wrong>;
    /// Restores the scene, applies the fault, continues and checks the result. False if the fault was not reached.
    fn suffer(&self, place: &WorkerFolder, rehearsal: &Rehearsal, fault: Fault, at: u64) -> Result<bool, Wrong>;
}

/// The kind of a failure, and the observation.
type Wrong = (Harm, String);

/// The results of a rehearsal.
struct Rehearsal {
    /// Every logged step: `step`, `write` or `point`, and its name.
    steps: Vec<String>,
    /// The suitable faults.
    faults: Vec<Fault>,
    /// How often processes are killed at random moments.
    n_random: usize,
    took: std::time::Duration,
    /// The scenario's own data.
    seen: Box<dyn std::any::Any + Send + Sync>,
}

/// How many faults of a scenario a worker takes at a time.
const CHUNK: usize = 100;

#[derive(Clone, Copy)]
struct FaultCase {
    scenario: usize,
    fault: Fault,
    at: u64,
}

/// Runs all selected cases.
pub fn run(torture: &Torture<'_>) -> Result<TortureTally, String> {
    let scenarios = scenarios::all();
    let wanted: Vec<usize> = (0..scenarios.len())
        .filter(|&nth| torture.wants_scenario(&scenarios[nth].name()))
        .collect();
    let tally = Mutex::new(TortureTally::default());
    let cases = Mutex::new(Vec::new());
    torture.in_parallel(&wanted, |place, &nth| {
        let scenario = &scenarios[nth];
        match scenario.rehearse(place) {
            Ok(Some(rehearsal)) => locked(&cases).extend(torture.cases_of(nth, scenario.as_ref(), &rehearsal)),
            Ok(None) => locked(&tally).refused.push(scenario.name()),
            Err((harm, what)) => locked(&tally).failures.push(TortureFailure {
                harm,
                case: scenario.name(),
                what: format!("undisturbed: {what}"),
            }),
        }
    })?;
    let mut cases = std::mem::take(&mut *locked(&cases));
    cases.sort_by_key(|case: &FaultCase| (case.scenario, case.fault, case.at));
    if let Some(n_faults) = torture.n_faults {
        Chance::new(torture.seed).shuffle(&mut cases);
        // A fault in a run takes as long as twenty others.
        let mut n_in_runs = 0;
        cases.retain(|case| {
            let is_in_run = is_long(scenarios[case.scenario].as_ref());
            n_in_runs += usize::from(is_in_run);
            !is_in_run || torture.only.is_some() || n_in_runs <= n_faults.div_ceil(10)
        });
        cases.truncate(n_faults);
    }
    let mut by_scenario: BTreeMap<usize, Vec<FaultCase>> = BTreeMap::new();
    for case in cases {
        by_scenario.entry(case.scenario).or_default().push(case);
    }
    // Long ones first, so that no worker waits for them at the end.
    let n_scenarios = by_scenario.len();
    let chunks = |(nth, cases): (usize, Vec<FaultCase>)| {
        let chunks: Vec<(usize, Vec<FaultCase>)> = cases.chunks(CHUNK).map(|cases| (nth, cases.to_vec())).collect();
        chunks
    };
    let mut work: Vec<(usize, Vec<FaultCase>)> = by_scenario.into_iter().flat_map(chunks).collect();
    work.sort_by_key(|(nth, cases)| (!is_long(scenarios[*nth].as_ref()), usize::MAX - cases.len()));
    locked(&tally).n_scenarios = n_scenarios;
    torture.in_parallel(&work, |place, (nth, cases)| {
        torture.suffer_all(place, scenarios[*nth].as_ref(), cases, &tally);
    })?;
    let mut tally = std::mem::take(&mut *locked(&tally));
    tally
        .failures
        .sort_by(|one, other| (one.harm, &one.case).cmp(&(other.harm, &other.case)));
    tally.refused.sort();
    Ok(tally)
}

impl Torture<'_> {
    /// A case is named `SCENARIO/FAULT@STEP`, and a part of that is enough.
    fn wants_scenario(&self, name: &str) -> bool {
        let only = self.only.as_deref().unwrap_or_default();
        if self.is_quick && name.starts_with(landing::GROUP) {
            return false;
        }
        match only.split_once('/') {
            Some((scenario, _)) => scenario == name,
            None => name.contains(only),
        }
    }

    fn wants(&self, name: &str) -> bool {
        let only = self.only.as_deref().unwrap_or_default();
        match only.contains('@') {
            true => name == only,
            false => name.contains(only),
        }
    }

    fn cases_of(&self, nth: usize, scenario: &dyn FaultScenario, rehearsal: &Rehearsal) -> Vec<FaultCase> {
        let mut cases = Vec::new();
        for &fault in &rehearsal.faults {
            let fitting = (0..).zip(&rehearsal.steps).filter(|(_, step)| fault.fits(step));
            cases.extend(fitting.map(|(at, _)| FaultCase {
                scenario: nth,
                fault,
                at,
            }));
        }
        let salt = scenario.name().bytes().fold(self.seed, |salt, byte| {
            salt.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut chance = Chance::new(salt);
        let micros = rehearsal.took.as_micros() as usize;
        cases.extend((0..rehearsal.n_random).map(|_| FaultCase {
            scenario: nth,
            fault: Fault::Random,
            at: chance.below(micros) as u64,
        }));
        if scenario.group() == landing::USERS {
            let first = self.seed.wrapping_mul(1_000_000);
            cases.extend((0..self.n_users as u64).map(|user| FaultCase {
                scenario: nth,
                fault: Fault::User,
                at: first.wrapping_add(user),
            }));
        }
        for fault in [Fault::Random, Fault::User] {
            let asked = self.only.as_deref().and_then(|only| only.split_once('/'));
            let at = asked.and_then(|(_, case)| case.strip_prefix(fault.name())?.strip_prefix('@'));
            cases.extend(at.and_then(|at| at.parse().ok()).map(|at| FaultCase {
                scenario: nth,
                fault,
                at,
            }));
        }
        cases.retain(|case| self.wants(&name_of(scenario, case)));
        cases
    }

    fn suffer_all(
        &self,
        place: &WorkerFolder,
        scenario: &dyn FaultScenario,
        cases: &[FaultCase],
        tally: &Mutex<TortureTally>,
    ) {
        let failed = |case: String, (harm, what): Wrong| {
            (self.say)(&format!("{}: {case}\n{what}", harm.words()));
            locked(tally).failures.push(TortureFailure { harm, case, what });
        };
        let rehearsal = match scenario.rehearse(place) {
            Ok(Some(rehearsal)) => rehearsal,
            Ok(None) => return,
            Err(wrong) => return failed(scenario.name(), wrong),
        };
        for case in cases {
            let struck = scenario.suffer(place, &rehearsal, case.fault, case.at);
            if let Ok(false) = struck {
                locked(tally).n_missed += 1;
                continue;
            }
            let key = (scenario.group().to_owned(), case.fault.name());
            *locked(tally).n_faults.entry(key).or_default() += 1;
            if let Err(wrong) = struck {
                failed(name_of(scenario, case), wrong);
            }
        }
        (self.say)(&format!("{}: {} faults", scenario.name(), cases.len()));
    }

    /// Distributes work to the workers, each in its own folder.
    fn in_parallel<T: Sync>(&self, work: &[T], each: impl Fn(&WorkerFolder, &T) + Sync) -> Result<(), String> {
        let next = Mutex::new(work.iter());
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for nth in 0..self.n_workers.max(1) {
                let (next, failed, each) = (&next, &failed, &each);
                scope.spawn(move || {
                    let place = match WorkerFolder::new(&self.binary, self.folder.join(format!("worker-{nth}"))) {
                        Ok(place) => place,
                        Err(error) => return *locked(failed) = Some(error.to_string()),
                    };
                    loop {
                        let item = locked(next).next();
                        match item {
                            Some(item) => each(&place, item),
                            None => return,
                        }
                    }
                });
            }
        });
        locked(&failed).take().map_or(Ok(()), Err)
    }
}

/// Returns whether a fault in a scenario takes seconds.
fn is_long(scenario: &dyn FaultScenario) -> bool {
    [runs::GROUP, landing::GROUP, landing::USERS].contains(&scenario.group())
}

fn name_of(scenario: &dyn FaultScenario, case: &FaultCase) -> String {
    format!("{}/{}@{}", scenario.name(), case.fault.name(), case.at)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
