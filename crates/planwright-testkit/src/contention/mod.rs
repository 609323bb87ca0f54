//! Many processes in one workspace for a while, and the report: promises, results, waiting times.
//!
//! All of them are real processes of the real binary. The report of a process counts only if the plan, its history and the ledger
//! of the agents agree with it in the end.

mod actors;
mod contest_report;
mod plans;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub use contest_report::ContestReport;
use plans::Contended;

use crate::TempFolder;

/// The limit for any command: a longer one is a deadlock.
pub const BOUND: Duration = Duration::from_secs(60);

/// How many processes change plans at the same time.
pub const N_WRITERS: usize = 16;

/// The options of a contest.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'c> {
    /// The program.
    pub binary: &'c Path,
    /// For how long.
    pub duration: Duration,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// The shared state of one contest's actors.
struct Arena {
    binary: PathBuf,
    root: PathBuf,
    plans: Vec<Contended>,
    ends: Instant,
    /// Set when all writers have ended.
    is_over: AtomicBool,
    report: Mutex<ContestReport>,
}

impl Contest<'_> {
    /// Runs the contest, and returns the report of it.
    pub fn run(&self) -> std::io::Result<ContestReport> {
        let folder = TempFolder::new()?;
        let arena = Arena {
            binary: self.binary.to_owned(),
            root: folder.path().to_owned(),
            plans: plans::write(&folder)?,
            ends: Instant::now() + self.duration,
            is_over: AtomicBool::new(false),
            report: Mutex::default(),
        };
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..N_WRITERS)
                .map(|ix| {
                    scope.spawn({
                        let arena = &arena;
                        move || actors::write(arena, ix, self.seed)
                    })
                })
                .collect();
            let runs: Vec<_> = arena
                .plans
                .iter()
                .filter(|plan| plan.is_run)
                .map(|plan| {
                    let arena = &arena;
                    scope.spawn(move || actors::run(arena, plan))
                })
                .collect();
            for plan in arena.plans.iter().filter(|plan| plan.by_hand.is_some()) {
                let arena = &arena;
                scope.spawn(move || actors::edit_by_hand(arena, plan));
            }
            scope.spawn(|| actors::read(&arena));
            scope.spawn(|| actors::look(&arena));
            let ended = writers.into_iter().chain(runs);
            ended.for_each(|actor| drop(actor.join()));
            arena.is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        actors::finish(&arena);
        let mut report = arena
            .report
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        report.settle(&arena.plans, &arena.binary, &arena.root);
        Ok(report)
    }
}
