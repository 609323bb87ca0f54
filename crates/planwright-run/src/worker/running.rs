//! One process from start to end: output, input, limits. The loop passes it events and the time; it never waits.

use std::io::{self, PipeWriter, Write as _};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::child::{ChildProcess, ExitedProcess};
use super::launch::{Launched, launch};
use super::log::OutputLog;
use super::output::ProcessOutput;
use super::process_tree::EndingTree;
use super::processes::{self, ProcessTable};
use super::{
    EndCause, EndedProcess, ProcessExit, ProcessLimits, ProcessMark, ProcessSpec, SpawnedProcess, StartError, Stdin,
    StopManner, WorkerEvent,
};

/// How long to wait for the end of the output after everything else has ended, because a descendant holds it open.
const OUTPUT_PATIENCE: Duration = Duration::from_millis(500);

/// The shortest and the longest interval at which a process is polled for its end, if the system does not report it. In between, the
/// interval is a tenth of the time since its last output, or since it closed that, which is often its last act.
const ASK_INTERVALS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// A process that runs, or has ended and is not reported yet.
#[derive(Debug)]
pub(super) struct RunningProcess {
    pub(super) key: u64,
    child: ChildProcess,
    output: ProcessOutput,
    input: Option<PendingInput>,
    limits: ProcessLimits,
    mark: ProcessMark,
    started: Instant,
    cause: EndCause,
    ending: Option<EndingTree>,
    /// Since when only its output is awaited.
    done_since: Option<Instant>,
}

#[derive(Debug)]
struct PendingInput {
    pipe: PipeWriter,
    bytes: Vec<u8>,
    n_written: usize,
}

/// The table of processes, read at most once per turn of the loop.
#[derive(Debug, Default)]
pub(super) struct CachedTable {
    table: Option<Option<ProcessTable>>,
}

impl CachedTable {
    fn table(&mut self) -> Option<&ProcessTable> {
        self.table.get_or_insert_with(ProcessTable::read).as_ref()
    }
}

impl RunningProcess {
    pub(super) fn start(key: u64, spec: &ProcessSpec, boot: &str) -> Result<(Self, SpawnedProcess), StartError> {
        let log = OutputLog::create(&spec.log, spec.max_log_bytes).map_err(|source| StartError::Log {
            path: spec.log.clone(),
            source,
        })?;
        let started = Instant::now();
        let Launched { child, output, input } = launch(spec)?;
        let child = ChildProcess::new(child);
        let identity = child.identity();
        let mut running = Self {
            key,
            child,
            output: ProcessOutput::new(output, log, spec, started),
            input: input.zip(bytes_of(&spec.stdin)).map(|(pipe, bytes)| PendingInput {
                pipe,
                bytes,
                n_written: 0,
            }),
            limits: spec.limits,
            mark: spec.mark.clone(),
            started,
            cause: EndCause::Itself,
            ending: None,
            done_since: None,
        };
        running.write_input();
        let start_time = identity.map_or_else(String::new, |identity| processes::start_time(boot, identity.ticks));
        let pid = running.child.pid().cast_unsigned();
        Ok((running, SpawnedProcess { pid, start_time }))
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.pid()
    }

    pub(super) fn watch<'own>(&'own self, watched: &mut Vec<PollFd<'own>>) {
        if let Some(pipe) = self.output.pipe() {
            watched.push(PollFd::new(pipe, PollFlags::IN));
        }
        if let Some(input) = &self.input {
            watched.push(PollFd::new(&input.pipe, PollFlags::OUT));
        }
        self.child.watch(watched);
    }

    /// Handles what [`Self::watch`] added, in the same order. Missing answers count as ready.
    pub(super) fn act(&mut self, ready: &mut impl Iterator<Item = bool>, buffer: &mut [u8], now: Instant) {
        let has_output = self.output.is_open() && ready.next().unwrap_or(true);
        let takes_input = self.input.is_some() && ready.next().unwrap_or(true);
        let may_have_ended = self.child.may_have_ended(ready);
        if has_output {
            self.output.read(buffer, now);
        }
        if takes_input {
            self.write_input();
        }
        if may_have_ended && !self.child.has_exited() {
            self.ask_whether_ended(now);
            // Everything written before the exit is in the pipe now.
            self.output.read(buffer, now);
        }
    }

    /// Starts to end it. A process that has already ended is not cancelled, but its leftovers are ended.
    pub(super) fn end(&mut self, cause: EndCause, manner: StopManner, now: Instant) {
        if self.ending.is_none() {
            if !self.child.has_exited() {
                self.cause = cause;
            }
            self.done_since = None;
            self.ending = Some(EndingTree::new(
                self.mark.clone(),
                self.child.identity(),
                now,
                self.limits.grace,
            ));
        }
        if let Some(ending) = self.ending.as_mut().filter(|_| manner == StopManner::AtOnce) {
            ending.hurry(now);
        }
    }

    pub(super) fn take_output(&mut self) -> Option<WorkerEvent> {
        let bytes = self.output.take_unreported()?;
        Some(WorkerEvent::Output { key: self.key, bytes })
    }

    pub(super) fn advance(&mut self, look: &mut CachedTable, now: Instant) -> Option<WorkerEvent> {
        if self.ending.is_none() && !self.child.has_exited() {
            let exceeds = |limit: Option<Duration>, since: Instant| limit.is_some_and(|limit| now - since >= limit);
            if exceeds(self.limits.wall, self.started) {
                self.end(EndCause::WallLimit, StopManner::Politely, now);
            } else if exceeds(self.limits.silence, self.output.last()) {
                self.end(EndCause::Silence, StopManner::Politely, now);
            }
        }
        let root = self.child.root();
        if let Some(ending) = self.ending.as_mut().filter(|ending| ending.next_step() <= now) {
            ending.step(look.table(), root, now);
        }
        if self.done_since.is_none() && self.child.has_exited() && self.ending.as_ref().is_none_or(EndingTree::is_over)
        {
            self.done_since = Some(now);
        }
        if self.is_finished(now) {
            if self.output.is_open() {
                self.output.keep_rest();
            }
            return Some(WorkerEvent::Ended(self.report(look, now)));
        }
        let line = self.output.due_line(now)?;
        Some(WorkerEvent::Line { key: self.key, line })
    }

    /// Returns when [`Self::advance`] has something to do even without events.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let after = |since: Instant, limit: Option<Duration>| limit.and_then(|limit| since.checked_add(limit));
        let is_limited = self.ending.is_none() && !self.child.has_exited();
        let wall = after(self.started, self.limits.wall).filter(|_| is_limited);
        let silence = after(self.output.last(), self.limits.silence).filter(|_| is_limited);
        let step = self.ending.as_ref().map(EndingTree::next_step);
        let output = self.done_since.map(|since| since + OUTPUT_PATIENCE);
        let must_ask = self.child.must_be_asked();
        let ask = must_ask.then(|| Instant::now() + ask_interval(self.output.last().elapsed()));
        [wall, silence, step, output, ask, self.output.next_line()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Writes as much as the pipe takes. A process that does not read its input is not an error.
    fn write_input(&mut self) {
        while let Some(input) = &mut self.input {
            let rest = input.bytes.get(input.n_written..).unwrap_or_default();
            match input.pipe.write(rest) {
                Ok(n_bytes) if n_bytes < rest.len() => input.n_written += n_bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => self.input = None,
            }
        }
    }

    fn ask_whether_ended(&mut self, now: Instant) {
        if !self.child.ask_whether_ended(now) {
            return;
        }
        self.input = None;
        if let Some(ending) = &mut self.ending {
            ending.look_soon(now);
        }
    }

    fn is_finished(&self, now: Instant) -> bool {
        let is_hopeless = self
            .ending
            .as_ref()
            .is_some_and(|ending| ending.is_hopeless(now) && !ending.is_over());
        let may_have_output = |since: Instant| self.output.is_open() && now < since + OUTPUT_PATIENCE;
        is_hopeless || self.done_since.is_some_and(|since| !may_have_output(since))
    }

    fn report(&self, look: &mut CachedTable, now: Instant) -> EndedProcess {
        let exited = self.child.exited().unwrap_or(ExitedProcess {
            exit: ProcessExit::Unknown,
            at: now,
        });
        EndedProcess {
            key: self.key,
            exit: exited.exit,
            cause: self.cause,
            duration: exited.at - self.started,
            n_bytes: self.output.log().n_bytes(),
            tail: self.output.tail().to_vec(),
            log_was_cut: self.output.log().was_cut(),
            log_error: self.output.log().error().map(ToString::to_string),
            was_outlived: self.output.is_open() || self.has_left_processes(look),
        }
    }

    /// Returns whether a process that it started may be alive. Usually the system reports at once that the group is empty.
    /// Otherwise the process table decides, and without a table the group counts as alive.
    fn has_left_processes(&self, look: &mut CachedTable) -> bool {
        if let Some(ending) = &self.ending {
            return !ending.is_over();
        }
        let has_member = |table: &ProcessTable| table.entries().any(|entry| self.child.is_in_group(entry));
        processes::has_members(self.pid()) && look.table().is_none_or(has_member)
    }
}

fn ask_interval(since_output: Duration) -> Duration {
    let (shortest, longest) = ASK_INTERVALS;
    (since_output / 10).clamp(shortest, longest)
}

fn bytes_of(stdin: &Stdin) -> Option<Vec<u8>> {
    match stdin {
        Stdin::Nothing => None,
        Stdin::Bytes(bytes) => Some(bytes.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redaction::Redaction;

    #[test]
    fn the_end_of_a_process_is_seen_without_pidfd() {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = ProcessSpec {
            arguments: ["/bin/sh", "-c", "echo out; sleep 0.05; exit 6"]
                .map(Into::into)
                .to_vec(),
            folder: folder.path().to_owned(),
            environment: Vec::new(),
            mark: ProcessMark::default(),
            stdin: Stdin::Nothing,
            log: folder.path().join("log"),
            max_log_bytes: 10_000,
            redaction: Redaction::of([]),
            streams_output: false,
            limits: ProcessLimits {
                wall: None,
                silence: None,
                grace: Duration::ZERO,
            },
            fence: None,
        };
        let (mut running, _) = RunningProcess::start(1, &spec, "").expect("a process");
        running.child.forget_handle();
        let mut buffer = [0; 100];
        let ended = loop {
            let pause = running.deadline().expect("a time to ask") - Instant::now();
            assert!(pause <= ASK_INTERVALS.1);
            std::thread::sleep(pause);
            running.act(&mut std::iter::repeat(true), &mut buffer, Instant::now());
            if let Some(WorkerEvent::Ended(ended)) = running.advance(&mut CachedTable::default(), Instant::now()) {
                break ended;
            }
        };
        assert_eq!(
            (ended.exit, ended.tail.as_slice()),
            (ProcessExit::Code(6), &b"out\n"[..])
        );
    }

    #[test]
    fn processes_with_recent_output_are_polled_more_often() {
        for (since_output, expected) in [(0, 1), (5, 1), (100, 10), (500, 50), (3_600_000, 50)] {
            assert_eq!(ask_interval(Duration::from_millis(since_output)).as_millis(), expected);
        }
    }
}
