//! Has tools do the work: each answer is judged, each time is taken in turn with the others'.

use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use planwright_testkit::TempFolder;

use super::command::{Contender, LIMIT, wait};
use super::graph::Graph;
use super::judge::{self, LineChanges, Named};
use super::tools::{Change, Tool};
use crate::bench::{Sample, milliseconds};

/// Tasks of the graph that is checked and changed.
pub(super) const N_TASKS: usize = 100;
/// Tasks of the graph that is run.
pub(super) const N_RUN: usize = 1_000;
/// Processes that write at once.
pub(super) const N_WRITERS: usize = 16;
/// How often each contender is timed, after once to warm up.
pub(super) const ROUNDS: usize = 5;
/// How often many write at once.
pub(super) const WRITING_ROUNDS: usize = 3;
/// A contender that has spent this on one kind of work goes into no further round of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What a command answered to one graph, and how it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    status: Option<ExitStatus>,
}

impl Ended {
    pub(super) fn is_success(self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Returns whether it ended by itself and said by its status that something is wrong.
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

/// What one command for checking said of three graphs.
pub(super) struct Checked {
    pub(super) command: &'static [&'static str],
    pub(super) sound: Ended,
    pub(super) cycle: (bool, Named, Ended),
    /// Whether what is missing was named, whether together with who wants it.
    pub(super) dangling: (bool, bool, Ended),
}

/// Has a tool check a sound graph, one with a cycle, one with a dangling reference.
pub(super) fn check(contender: &Contender) -> anyhow::Result<Vec<Checked>> {
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
        let (is_found, named) = judge::cycle(&judge::new_lines(&cycle.said, &sound.said), &path, spelling);
        let lines = judge::new_lines(&dangling.said, &sound.said);
        let (is_named, is_both) = judge::dangling(&lines, who, missing, spelling);
        answers.push(Checked {
            command,
            sound: Ended { status: sound.status },
            cycle: (is_found, named, Ended { status: cycle.status }),
            dangling: (
                is_named,
                is_both,
                Ended {
                    status: dangling.status,
                },
            ),
        });
    }
    Ok(answers)
}

/// What a tool answered when asked for a task that may start.
pub(super) struct NextAnswer {
    pub(super) named: Option<usize>,
    /// Whether that one may start indeed.
    pub(super) is_right: bool,
    pub(super) ended: Ended,
}

/// Asks a tool for a task that may start; none where it has no such command.
pub(super) fn next(contender: &Contender) -> anyhow::Result<Option<NextAnswer>> {
    let Some(next) = &contender.tool.next else {
        return Ok(None);
    };
    let graph = Graph::new(N_TASKS)?.begun();
    let folder = workspace(contender.tool, &graph)?;
    let outcome = contender.run(folder.path(), next.command)?;
    let answer = outcome.said.split_once(next.after).map_or("", |(_, answer)| answer);
    let all: Vec<usize> = graph.tasks.iter().map(|task| task.number).collect();
    let named = judge::first_named(answer, &all, contender.tool.spelling);
    Ok(Some(NextAnswer {
        named,
        is_right: named.is_some_and(|named| graph.ready().contains(&named)),
        ended: Ended { status: outcome.status },
    }))
}

/// What became of a file after one change of a status.
pub(super) enum Fidelity {
    Kept {
        /// Lines beside the one that was meant.
        beside: LineChanges,
        /// What is still as it was, by name.
        kept: Vec<(&'static str, bool)>,
    },
    /// The change was not made, and this was said.
    Refused(String),
}

/// Has a tool change one status in a file that holds what it does not know; none where it changes none.
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
        let first = outcome.said.lines().find(|line| !line.trim().is_empty());
        return Ok(Some(Fidelity::Refused(first.unwrap_or_default().trim().to_owned())));
    }
    let mut beside = judge::line_changes(&before, &after);
    // The one line that was to change.
    beside.n_gone = beside.n_gone.saturating_sub(1);
    beside.n_new = beside.n_new.saturating_sub(1);
    let kept = change.marks.iter().map(|(name, mark)| (*name, mark.is_in(&after)));
    Ok(Some(Fidelity::Kept {
        beside,
        kept: kept.collect(),
    }))
}

/// What came of many writers at once, over all rounds.
#[derive(Default)]
pub(super) struct Written {
    pub(super) n_rounds: usize,
    pub(super) n_writers: usize,
    /// Writers that said that they could not.
    pub(super) n_refused: usize,
    /// Changes that were said to be made and are not there.
    pub(super) n_lost: usize,
    /// Rounds after which a file could not be read.
    pub(super) n_unreadable: usize,
    pub(super) n_reads: usize,
    /// Reads in the meantime that found no whole file.
    pub(super) n_broken: usize,
    pub(super) took: Vec<f64>,
}

/// Has many processes of a tool each change another task's status at once, and reads on in the meantime; none where it
/// changes none.
pub(super) fn write_at_once(contender: &Contender) -> anyhow::Result<Option<Written>> {
    let Some(change) = &contender.tool.change else {
        return Ok(None);
    };
    let graph = Graph::new(N_TASKS)?.begun();
    let numbers: Vec<usize> = graph.ready().into_iter().take(N_WRITERS).collect();
    let mut written = Written::default();
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
    change: &Change,
    folder: &Path,
    numbers: &[usize],
    written: &mut Written,
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

/// Starts all writers and waits for them; returns which of them said that it is done.
fn write_all(
    contender: &Contender,
    change: &Change,
    folder: &Path,
    numbers: &[usize],
    written: &mut Written,
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

/// Reads the files that are written, one after the other, until it is over: how often, and how often in vain.
fn read_on(change: &Change, folder: &Path, numbers: &[usize], is_over: &AtomicBool) -> (usize, usize) {
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

/// Returns whether a task is in progress by what its file says now; none where that is no whole file.
fn look(change: &Change, folder: &Path, number: usize) -> Option<bool> {
    let text = std::fs::read_to_string(folder.join((change.file)(number))).ok()?;
    (change.is_started)(&text, number)
}

/// Work whose time is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Check,
    Next,
    Change,
    Run,
}

/// The time of a contender for some work.
#[derive(Clone, Debug)]
pub(super) enum Timed {
    HasNone,
    /// It did not do it, for this reason.
    Failed(String),
    /// Milliseconds, over this many runs.
    Took(Sample, usize),
}

/// Takes the times of all contenders in turn, so that what else the machine does hits them alike.
pub(super) fn times(contenders: &[Contender], work: Work) -> anyhow::Result<Vec<Timed>> {
    let graph = match work {
        Work::Check => Graph::new(N_TASKS)?,
        Work::Next | Work::Change => Graph::new(N_TASKS)?.begun(),
        Work::Run => Graph::new(N_RUN)?,
    };
    let number = first_ready(&graph)?;
    let mut clocks: Vec<Clock> = contenders.iter().map(|one| Clock::new(one, work, number)).collect();
    for round in 0..=ROUNDS {
        for (contender, clock) in contenders.iter().zip(&mut clocks) {
            clock.take(contender, &graph, round)?;
        }
    }
    Ok(clocks.into_iter().map(Clock::timed).collect())
}

/// The times of one contender so far.
struct Clock {
    command: Option<Vec<String>>,
    /// Where it works; a run has a folder of its own each time, so that it finds nothing done.
    folder: Option<TempFolder>,
    is_run: bool,
    took: Vec<f64>,
    spent: Duration,
    failed: Option<String>,
}

impl Clock {
    fn new(contender: &Contender, work: Work, number: usize) -> Self {
        let tool = contender.tool;
        let owned = |args: &[&str]| args.iter().copied().map(str::to_owned).collect();
        let command = match work {
            Work::Check => tool.checks.first().copied().map(owned),
            Work::Next => tool.next.as_ref().map(|next| owned(next.command)),
            Work::Change => tool.change.as_ref().map(|change| (change.command)(number)),
            Work::Run => tool.run.map(owned),
        };
        Clock {
            command,
            folder: None,
            is_run: work == Work::Run,
            took: Vec::new(),
            spent: Duration::ZERO,
            failed: None,
        }
    }

    /// Takes the time once; the first round only warms up.
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
            let ended = Ended { status: outcome.status };
            self.failed = Some(ended.shown());
        } else if round > 0 {
            self.took.push(milliseconds(outcome.took));
        }
        self.folder = Some(folder);
        Ok(())
    }

    fn timed(self) -> Timed {
        match (self.command, self.failed) {
            (None, _) => Timed::HasNone,
            (_, Some(reason)) => Timed::Failed(reason),
            _ => {
                let n_runs = self.took.len();
                Timed::Took(Sample::of(self.took), n_runs)
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
