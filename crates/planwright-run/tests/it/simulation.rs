//! Whole runs in one thread, on a machine that fails by a seed: the pure scheduler decides, the log of the run leads, the store writes the
//! plan. The machine stops, loses unsynced data, tears writes or returns errors, and is started again, until all tasks have ended.
//!
//! A failure names its seed: `SIMULATION_SEED=17 cargo test -p planwright-run --test it simulation` tries only that one.
//! `SIMULATION_SEEDS=100000` tries as many.

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_core::plan::State;
use planwright_core::plan::lifecycle::{OnFailure, Slots};
use planwright_core::schedule::{Job, Jobs, Policy, Schedule, ScheduleAction, ScheduleEvent, ScheduleStatus};
use planwright_run::files::DiskFiles;
use planwright_run::journal::{ChangeOutcome, JournalError, JournalHeader};
use planwright_run::runs::{self, AttemptEndRecord, AttemptRecord, RunEvent, RunLog, VerificationRecord};
use planwright_testkit::torture::chance::Chance;

use crate::faulty::{Fault, FaultyFiles};
use crate::workspace::{Workspace, add_line, clock, plan_at, store_over};

/// The default number of seeds.
const N_SEEDS: u64 = 300;

/// After this many faults the machine works without further ones.
const MAX_FAULTS: usize = 8;

/// A plan, its log, and an observer's knowledge of both.
struct World {
    seed: u64,
    chance: Chance,
    workspace: Workspace,
    log: PathBuf,
    jobs: Vec<Job>,
    slots: u32,
    /// The tasks whose completion was durable in the log.
    acknowledged: BTreeSet<u32>,
    /// The lines whose write the store acknowledged.
    written: BTreeSet<u32>,
    n_faults: usize,
}

/// The machine stopped, or did not continue.
struct Stopped;

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let n_tasks = 2 + chance.below(6) as u32;
        let jobs = (0..n_tasks).map(|task| job(&mut chance, task)).collect();
        let workspace = Workspace::new();
        World {
            seed,
            log: workspace.path().join("run.journal"),
            workspace,
            jobs,
            slots: 1 + chance.below(3) as u32,
            acknowledged: BTreeSet::new(),
            written: BTreeSet::new(),
            n_faults: 0,
            chance,
        }
    }

    /// Survives one fault after another until all tasks have ended.
    fn live(&mut self) {
        loop {
            let files = FaultyFiles::new(self.next_step(), self.next_fault());
            let over = self.run(&files);
            self.n_faults += usize::from(files.has_struck());
            self.nothing_is_lost();
            if over.is_ok() {
                return self.everything_is_there();
            }
        }
    }

    fn next_step(&mut self) -> usize {
        match self.n_faults < MAX_FAULTS {
            true => self.chance.below(60),
            false => usize::MAX,
        }
    }

    fn next_fault(&mut self) -> Fault {
        const ENOSPC: i32 = 28;
        const EIO: i32 = 5;
        let n_bytes = self.chance.below(200);
        let faults = [
            Fault::Kill,
            Fault::PowerCut,
            Fault::Tear(n_bytes),
            Fault::Refuse(ENOSPC),
            Fault::Refuse(EIO),
            Fault::RefuseAll(ENOSPC),
        ];
        faults[self.chance.below(faults.len())]
    }

    /// Resumes the run from its log.
    fn run(&mut self, files: &FaultyFiles) -> Result<(), Stopped> {
        let mut log = self.open_log(files)?;
        let done = self.done_by_log();
        self.project(files, &done)?;
        let (mut schedule, mut actions) = Schedule::begin(Jobs::new(self.jobs_after(&done)), self.policy());
        let mut running: Vec<(u32, u32)> = Vec::new();
        loop {
            for action in std::mem::take(&mut actions) {
                match action {
                    ScheduleAction::Start { task, attempt } => {
                        self.may_start(task, running.len());
                        self.record(&mut log, &starting(task, attempt))?;
                        running.push((task, attempt));
                        actions.extend(self.apply(&mut schedule, ScheduleEvent::Started { task }));
                    }
                    ScheduleAction::Rest { task, .. } => {
                        actions.extend(self.apply(&mut schedule, ScheduleEvent::Rested { task }))
                    }
                    ScheduleAction::Review { .. } | ScheduleAction::Skip { .. } => {}
                }
            }
            if !actions.is_empty() {
                continue;
            }
            if running.is_empty() {
                break;
            }
            let (task, attempt) = running.swap_remove(self.chance.below(running.len()));
            actions = self.end(files, &mut log, &mut schedule, task, attempt)?;
        }
        assert_ne!(schedule.status(), ScheduleStatus::Busy, "seed {}", self.seed);
        let done = self.done_by_log();
        self.project(files, &done)
    }

    /// Ends an attempt, with success or not.
    fn end(
        &mut self,
        files: &FaultyFiles,
        log: &mut RunLog<'_>,
        schedule: &mut Schedule,
        task: u32,
        attempt: u32,
    ) -> Result<Vec<ScheduleAction>, Stopped> {
        let is_done = self.chance.below(10) > 1;
        self.record(log, &finished(task, attempt, is_done))?;
        if !is_done {
            let failed = ScheduleEvent::Failed { task, may_retry: true };
            return Ok(self.apply(schedule, failed));
        }
        self.record(log, &verified(task, attempt))?;
        self.acknowledged.insert(task);
        if self.chance.below(2) == 0 {
            let done = self.acknowledged.clone();
            self.project(files, &done)?;
        }
        Ok(self.apply(schedule, ScheduleEvent::Done { task }))
    }

    fn apply(&self, schedule: &mut Schedule, event: ScheduleEvent) -> Vec<ScheduleAction> {
        let actions = schedule.apply(event);
        actions.unwrap_or_else(|error| panic!("seed {}: {error}", self.seed))
    }

    /// Makes an event durable. Retries if the disk is briefly full.
    fn record(&self, log: &mut RunLog<'_>, event: &RunEvent) -> Result<(), Stopped> {
        log.add(&clock(), event).map_err(|_| Stopped)?;
        log.commit().or_else(|_| log.commit()).map_err(|_| Stopped)
    }

    fn open_log<'f>(&self, files: &'f FaultyFiles) -> Result<RunLog<'f>, Stopped> {
        let header = JournalHeader {
            path: "docs/plan.txt".to_owned(),
            id: None,
        };
        if !self.log.exists() {
            return RunLog::begin(files, &self.log, &header).map_err(|_| Stopped);
        }
        match RunLog::resume(files, &self.log) {
            Ok(resumed) => Ok(resumed.log),
            // It was stopped before it started: the next run has its own log.
            Err(JournalError::Corrupt { offset: 0, .. }) => {
                assert!(self.acknowledged.is_empty(), "seed {}: the log is gone", self.seed);
                std::fs::remove_file(&self.log).expect("ours");
                Err(Stopped)
            }
            Err(JournalError::Io { .. }) => Err(Stopped),
            Err(error) => panic!("seed {}: {error}", self.seed),
        }
    }

    /// Returns the done tasks, by the files on disk.
    fn done_by_log(&self) -> BTreeSet<u32> {
        let records = match runs::records(&DiskFiles, &self.log) {
            Ok(records) => records,
            Err(JournalError::Io { .. }) => Vec::new(),
            Err(error) => panic!("seed {}: {error}", self.seed),
        };
        let done = records.into_iter().filter_map(|record| match record.event {
            RunEvent::Verified(verified) if verified.passed => verified.task.parse().ok(),
            _ => None,
        });
        done.collect()
    }

    /// Writes into the plan the results that it lacks.
    fn project(&mut self, files: &FaultyFiles, done: &BTreeSet<u32>) -> Result<(), Stopped> {
        for task in done {
            let text = self.workspace.text();
            if text.lines().any(|line| line == line_of(*task)) {
                continue;
            }
            let store = store_over(files);
            add_line(&store, plan_at(&self.workspace.plan), &line_of(*task)).map_err(|_| Stopped)?;
            self.written.insert(*task);
        }
        Ok(())
    }

    fn jobs_after(&self, done: &BTreeSet<u32>) -> Vec<Job> {
        let job = |(task, job): (u32, &Job)| Job {
            state: if done.contains(&task) {
                State::Done
            } else {
                State::Pending
            },
            ..job.clone()
        };
        (0..).zip(&self.jobs).map(job).collect()
    }

    fn policy(&self) -> Policy {
        Policy {
            slots: Slots::Fixed(self.slots),
            skipped_satisfies: true,
            on_failure: OnFailure::DependentsWait,
            waits_for_resting: false,
            fail_fast: false,
            max_tasks: None,
            budget: None,
        }
    }

    /// Checks that no task starts twice, too early, or with too many others.
    fn may_start(&self, task: u32, n_running: usize) {
        let seed = self.seed;
        assert!(
            !self.acknowledged.contains(&task),
            "seed {seed}: {task} is done, and begins"
        );
        assert!(n_running < self.slots as usize, "seed {seed}: {task} has no slot");
        let mut dependencies = self.jobs[task as usize].dependencies.iter();
        let are_done = dependencies.all(|dependency| self.done_by_log().contains(dependency));
        assert!(are_done, "seed {seed}: {task} begins before what it depends on");
    }

    /// Checks that acknowledged data exists.
    fn nothing_is_lost(&self) {
        let seed = self.seed;
        let done = self.done_by_log();
        assert!(
            self.acknowledged.is_subset(&done),
            "seed {seed}: {:?} and {done:?}",
            self.acknowledged
        );
        let text = self.workspace.text();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("first"), "seed {seed}: {text:?}");
        let found: Vec<&str> = lines.collect();
        for task in &self.written {
            let n_found = found.iter().filter(|line| **line == line_of(*task)).count();
            assert_eq!(n_found, 1, "seed {seed}: {task} in {text:?}");
        }
        let known: BTreeSet<String> = done.iter().map(|task| line_of(*task)).collect();
        let is_known = |line: &&str| known.contains(*line);
        assert!(found.iter().all(is_known), "seed {seed}: {text:?}");
    }

    /// Checks that at the end the plan has the log's results, once each, and its journal leads back to its first text.
    fn everything_is_there(&self) {
        let seed = self.seed;
        let done = self.done_by_log();
        let text = self.workspace.text();
        assert_eq!(text.lines().count(), done.len() + 1, "seed {seed}: {text:?}");
        if done.is_empty() {
            return;
        }
        let history = self.workspace.history();
        let mut reverted = text;
        for past in history.changes().to_vec().into_iter().rev() {
            if past.outcome != ChangeOutcome::Void {
                let change = past.change.text.unwrap_or_else(|| panic!("seed {seed}: no text"));
                let older = change.revert(&reverted);
                reverted = older.unwrap_or_else(|| panic!("seed {seed}: change {} does not fit", past.seq));
            }
        }
        assert_eq!(reverted, "first\n", "seed {seed}");
    }
}

fn job(chance: &mut Chance, task: u32) -> Job {
    let dependencies = (0..task).filter(|_| chance.below(3) == 0).collect();
    Job {
        dependencies,
        stage: 0,
        barrier: 0,
        turn: 0,
        is_alone: chance.below(8) == 0,
        claims: Vec::new(),
        max_attempts: 1 + chance.below(3) as u32,
        needs_review: false,
        awaits_review: false,
        state: State::Pending,
        is_wanted: true,
    }
}

fn line_of(task: u32) -> String {
    format!("task {task} is done")
}

fn starting(task: u32, attempt: u32) -> RunEvent {
    RunEvent::AttemptStarting(AttemptRecord {
        task: task.to_string(),
        attempt,
        agent: "nobody".to_owned(),
        ..AttemptRecord::default()
    })
}

fn finished(task: u32, attempt: u32, is_done: bool) -> RunEvent {
    RunEvent::AttemptEnded(AttemptEndRecord {
        task: task.to_string(),
        attempt,
        outcome: runs::Outcome::of(if is_done { "done" } else { "failed" }),
        ..AttemptEndRecord::default()
    })
}

fn verified(task: u32, attempt: u32) -> RunEvent {
    RunEvent::Verified(VerificationRecord {
        task: task.to_string(),
        attempt,
        passed: true,
        ..VerificationRecord::default()
    })
}

fn number_in(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_fault_loses_a_task_or_runs_it_twice() {
    let seeds = match number_in("SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_in("SIMULATION_SEEDS").unwrap_or(N_SEEDS),
    };
    let is_one = seeds.end - seeds.start == 1;
    let mut n_faults = 0;
    for seed in seeds {
        let mut world = World::new(seed);
        world.live();
        n_faults += world.n_faults;
    }
    assert!(n_faults > 100 || is_one, "the machine failed only {n_faults} times");
    println!("{n_faults} faults");
}
