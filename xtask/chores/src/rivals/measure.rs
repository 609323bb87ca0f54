//! Runs the tools: judges each answer, and measures times in turn.

use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use planwright_testkit::TempFolder;

use super::command::{Contender, LIMIT, wait};
use super::graph::Graph;
use super::judge::{self, CycleNaming, LineChanges};
use super::tools::{ChangeCommand, Tool};
use crate::bench::{Median, milliseconds};

/// The size of the graph for checks and changes.
pub(super) const N_TASKS: usize = 100;
/// The size of the graph for runs.
pub(super) const N_RUN: usize = 1_000;
/// The number of parallel writers.
pub(super) const N_WRITERS: usize = 16;
/// Measured rounds; a round of warm-up comes before them.
pub(super) const ROUNDS: usize = 5;
/// Rounds of parallel writers.
pub(super) const WRITING_ROUNDS: usize = 3;
/// A tool that has spent this on one kind of work gets no further round of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How a command for one graph ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExitResult {
    status: Option<ExitStatus>,
}

impl ExitResult {
    pub(super) fn is_success(self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Returns whether it ended by itself with a failure status.
    pub(super) fn is_refusal(self) -> bool {
        self.status.is_some_and(|status| !status.success())
    }

    pub(super) fn shown(self) -> String {
        match self.status {
            None => format!("no answer in {} s", LIMIT.as_secs()),
            Some(status) => match status.code() {
                Some(code) => format!("exit {code}"),
                None => status.to_string(),
            },
        }
    }
}

/// The answers of one check command to three graphs.
pub(super) struct CheckAnswer {
    pub(super) command: &'static [&'static str],
    pub(super) sound: ExitResult,
    pub(super) cycle: (bool, CycleNaming, ExitResult),
    /// Whether the missing task was named, and whether together with its dependent.
    pub(super) dangling: (bool, bool, ExitResult),
}

/// Runs a tool's checks on a sound graph, one with a cycle, and one with a dangling reference.
pub(super) fn check(contender: &Contender) -> anyhow::Result<Vec<CheckAnswer>> {
    let sound = Graph::new(N_TASKS)?;
    let (with_cycle, path) = sound.clone().with_cycle();
    let (with_dangling, who, missing) = sound.clone().with_dangling();
    let spelling = contender.tool.spelling;
    let mut answers = Vec::new();
    for command in contender.tool.checks {
        let of = |graph: &Graph| {
            let folder = workspace(contender.tool, graph)?;
            contender.run(folder.path(), command)
        };
        let (sound, cycle, dangling) = (of(&sound)?, of(&with_cycle)?, of(&with_dangling)?);
        let (is_found, named) = judge::cycle(&judge::new_lines(&cycle.output, &sound.output), &path, spelling);
        let lines = judge::new_lines(&dangling.output, &sound.output);
        let (is_named, is_both) = judge::dangling(&lines, who, missing, spelling);
        answers.push(CheckAnswer {
            command,
            sound: ExitResult { status: sound.status },
            cycle: (is_found, named, ExitResult { status: cycle.status }),
            dangling: (
                is_named,
                is_both,
                ExitResult {
                    status: dangling.status,
                },
            ),
        });
    }
    Ok(answers)
}

/// A tool's answer for the next task.
pub(super) struct NextAnswer {
    pub(super) named: Option<usize>,
    /// Whether that task may start.
    pub(super) is_right: bool,
    pub(super) ended: ExitResult,
}

/// Asks a tool for a task that may start; none if it has no such command.
pub(super) fn next(contender: &Contender) -> anyhow::Result<Option<NextAnswer>> {
    let Some(next) = &contender.tool.next else {
        return Ok(None);
    };
    let graph = Graph::new(N_TASKS)?.begun();
    let folder = workspace(contender.tool, &graph)?;
    let outcome = contender.run(folder.path(), next.command)?;
    let answer = outcome.output.split_once(next.after).map_or("", |(_, answer)| answer);
    let all: Vec<usize> = graph.tasks.iter().map(|task| task.number).collect();
    let named = judge::first_named(answer, &all, contender.tool.spelling);
    Ok(Some(NextAnswer {
        named,
        is_right: named.is_some_and(|named| graph.ready().contains(&named)),
        ended: ExitResult { status: outcome.status },
    }))
}

/// The state of a file after one change of a status.
pub(super) enum Fidelity {
    Kept {
        /// Changed lines in addition to the intended one.
        other_lines: LineChanges,
        /// The parts that are unchanged, by name.
        kept: Vec<(&'static str, bool)>,
    },
    /// The change was not made; the tool's first line of output.
    Refused(String),
}

/// Changes one status with a tool in a file with unknown fields; none if the tool changes none.
pub(super) fn fidelity(contender: &Contender) -> anyhow::Result<Option<Fidelity>> {
    let Some(change) = &contender.tool.change else {
        return Ok(None);
    };
    let graph = Graph::new(N_TASKS)?.begun();
    let number = first_ready(&graph)?;
    let graph = graph.odd(number);
    let folder = workspace(contender.tool, &graph)?;
    let path = folder.path().join((change.file)(number));
    let before = std::fs::read_to_string(&path)?;
    let outcome = contender.run(folder.path(), &(change.command)(number))?;
    let after = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
    if !outcome.is_success() || (change.is_started)(&after, number) != Some(true) {
        let first = outcome.output.lines().find(|line| !line.trim().is_empty());
        return Ok(Some(Fidelity::Refused(first.unwrap_or_default().trim().to_owned())));
    }
    let mut other_lines = judge::line_changes(&before, &after);
    // The intended line.
    other_lines.n_gone = other_lines.n_gone.saturating_sub(1);
    other_lines.n_new = other_lines.n_new.saturating_sub(1);
    let kept = change.marks.iter().map(|(name, mark)| (*name, mark.is_in(&after)));
    Ok(Some(Fidelity::Kept {
        other_lines,
        kept: kept.collect(),
    }))
}

/// The results of parallel writers, over all rounds.
#[derive(Default)]
pub(super) struct WriteTally {
    pub(super) n_rounds: usize,
    pub(super) n_writers: usize,
    /// Writers that reported a failure.
    pub(super) n_refused: usize,
    /// Changes that were reported as made and are missing.
    pub(super) n_lost: usize,
    /// Rounds after which a file could not be read.
    pub(super) n_unreadable: usize,
    pub(super) n_reads: usize,
    /// Parallel reads that found no complete file.
    pub(super) n_broken: usize,
    pub(super) took: Vec<f64>,
}

/// Starts many processes of a tool, each changing another task's status, and reads the files meanwhile; none if the tool
/// changes none.
pub(super) fn write_at_once(contender: &Contender) -> anyhow::Result<Option<WriteTally>> {
    let Some(change) = &contender.tool.change else {
        return Ok(None);
    };
    let graph = Graph::new(N_TASKS)?.begun();
    let numbers: Vec<usize> = graph.ready().into_iter().take(N_WRITERS).collect();
    let mut written = WriteTally::default();
    let start = Instant::now();
    while written.n_rounds < WRITING_ROUNDS && (written.n_rounds == 0 || start.elapsed() < PATIENCE) {
        let folder = workspace(contender.tool, &graph)?;
        written.n_rounds += 1;
        writing_round(contender, change, folder.path(), &numbers, &mut written)?;
    }
    Ok(Some(written))
}

fn writing_round(
    contender: &Contender,
    change: &ChangeCommand,
    folder: &Path,
    numbers: &[usize],
    written: &mut WriteTally,
) -> anyhow::Result<()> {
    let is_over = AtomicBool::new(false);
    let (ended, (n_reads, n_broken)) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_on(change, folder, numbers, &is_over));
        let ended = write_all(contender, change, folder, numbers, written);
        is_over.store(true, Ordering::Relaxed);
        (ended, reader.join().unwrap_or_default())
    });
    let started: Vec<Option<bool>> = numbers.iter().map(|number| look(change, folder, *number)).collect();
    for (is_done, is_started) in ended?.iter().zip(&started) {
        written.n_refused += usize::from(!is_done);
        written.n_lost += usize::from(*is_done && *is_started != Some(true));
    }
    written.n_unreadable += usize::from(started.contains(&None));
    written.n_writers += numbers.len();
    written.n_reads += n_reads;
    written.n_broken += n_broken;
    Ok(())
}

/// Starts all writers and waits for them; returns which of them reported success.
fn write_all(
    contender: &Contender,
    change: &ChangeCommand,
    folder: &Path,
    numbers: &[usize],
    written: &mut WriteTally,
) -> anyhow::Result<Vec<bool>> {
    let output = File::create(contender.home.join("said"))?;
    let start = Instant::now();
    let mut children = Vec::new();
    for number in numbers {
        children.push(contender.spawn(folder, &(change.command)(*number), &output)?);
    }
    let mut ended = Vec::new();
    for child in &mut children {
        ended.push(wait(child, start)?.is_some_and(|status| status.success()));
    }
    written.took.push(milliseconds(start.elapsed()));
    Ok(ended)
}

/// Reads the changed files in turn until `is_over`: returns the number of reads, and of failed ones.
fn read_on(change: &ChangeCommand, folder: &Path, numbers: &[usize], is_over: &AtomicBool) -> (usize, usize) {
    let (mut n_reads, mut n_broken) = (0, 0);
    for number in numbers.iter().cycle() {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        n_reads += 1;
        n_broken += usize::from(look(change, folder, *number).is_none());
    }
    (n_reads, n_broken)
}

/// Returns whether a task is in progress according to its file; none if the file is not complete.
fn look(change: &ChangeCommand, folder: &Path, number: usize) -> Option<bool> {
    let text = std::fs::read_to_string(folder.join((change.file)(number))).ok()?;
    (change.is_started)(&text, number)
}

/// A kind of measured work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimedWork {
    Check,
    Next,
    Change,
    Run,
}

/// The time of a tool for some work.
#[derive(Clone, Debug)]
pub(super) enum WorkTime {
    HasNone,
    /// It failed, for this reason.
    Failed(String),
    /// The median in milliseconds, and the number of runs.
    Took(Median, usize),
}

/// Measures all tools in turn, so that other load on the machine affects them equally.
pub(super) fn times(contenders: &[Contender], work: TimedWork) -> anyhow::Result<Vec<WorkTime>> {
    let graph = match work {
        TimedWork::Check => Graph::new(N_TASKS)?,
        TimedWork::Next | TimedWork::Change => Graph::new(N_TASKS)?.begun(),
        TimedWork::Run => Graph::new(N_RUN)?,
    };
    let number = first_ready(&graph)?;
    let mut clocks: Vec<WorkTimer> = contenders.iter().map(|one| WorkTimer::new(one, work, number)).collect();
    for round in 0..=ROUNDS {
        for (contender, clock) in contenders.iter().zip(&mut clocks) {
            clock.take(contender, &graph, round)?;
        }
    }
    Ok(clocks.into_iter().map(WorkTimer::timed).collect())
}

/// The measurements of one tool.
struct WorkTimer {
    command: Option<Vec<String>>,
    /// Its working folder; each run gets a new one, so that it finds no earlier results.
    folder: Option<TempFolder>,
    is_run: bool,
    took: Vec<f64>,
    spent: Duration,
    failed: Option<String>,
}

impl WorkTimer {
    fn new(contender: &Contender, work: TimedWork, number: usize) -> Self {
        let tool = contender.tool;
        let owned = |args: &[&str]| args.iter().copied().map(str::to_owned).collect();
        let command = match work {
            TimedWork::Check => tool.checks.first().copied().map(owned),
            TimedWork::Next => tool.next.as_ref().map(|next| owned(next.command)),
            TimedWork::Change => tool.change.as_ref().map(|change| (change.command)(number)),
            TimedWork::Run => tool.run.map(owned),
        };
        WorkTimer {
            command,
            folder: None,
            is_run: work == TimedWork::Run,
            took: Vec::new(),
            spent: Duration::ZERO,
            failed: None,
        }
    }

    /// Measures once; the first round is the warm-up.
    fn take(&mut self, contender: &Contender, graph: &Graph, round: usize) -> anyhow::Result<()> {
        let Some(command) = &self.command else {
            return Ok(());
        };
        if self.failed.is_some() || (round > 1 && self.spent > PATIENCE) {
            return Ok(());
        }
        let folder = match self.folder.take().filter(|_| !self.is_run) {
            Some(folder) => folder,
            None => TempFolder::new()?,
        };
        (contender.tool.write)(graph, folder.path())?;
        let outcome = contender.run(folder.path(), command)?;
        self.spent += outcome.took;
        if !outcome.is_success() {
            let ended = ExitResult { status: outcome.status };
            self.failed = Some(ended.shown());
        } else if round > 0 {
            self.took.push(milliseconds(outcome.took));
        }
        self.folder = Some(folder);
        Ok(())
    }

    fn timed(self) -> WorkTime {
        match (self.command, self.failed) {
            (None, _) => WorkTime::HasNone,
            (_, Some(reason)) => WorkTime::Failed(reason),
            _ => {
                let n_runs = self.took.len();
                WorkTime::Took(Median::of(self.took), n_runs)
            }
        }
    }
}

fn workspace(tool: &Tool, graph: &Graph) -> anyhow::Result<TempFolder> {
    let folder = TempFolder::new()?;
    (tool.write)(graph, folder.path())?;
    Ok(folder)
}

fn first_ready(graph: &Graph) -> anyhow::Result<usize> {
    graph.ready().first().copied().context("no task may start")
}
