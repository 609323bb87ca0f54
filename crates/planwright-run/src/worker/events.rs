//! The one loop over all processes: waits for output, exits and deadlines.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::processes::Identity;
use super::running::{CachedTable, RunningProcess};
use super::{EndCause, ProcessSpec, SpawnedProcess, StartError, StopManner, WorkerEvent, process_tree, processes};

/// How much is read at once: the usual capacity of a pipe.
const BUFFER_BYTES: usize = 64 * 1024;

/// The longest single wait, because some systems limit it.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// How long processes that were left behind have to end when `Workers` is dropped.
const LAST_GRACE: Duration = Duration::from_secs(1);

/// After how many ended processes adopted children are reaped.
const REAP_INTERVAL: usize = 100;

/// The pause after the system fails to wait for events.
const PAUSE: Duration = Duration::from_millis(10);

/// Processes that run in parallel.
///
/// Dropping it kills them, with everything that they started.
#[derive(Debug)]
pub struct Workers {
    running: Vec<RunningProcess>,
    buffer: Vec<u8>,
    bell: PipeReader,
    waker: Waker,
    boot: String,
    /// If all other children of this process are leftovers: the children that it had before.
    earlier: Option<Vec<Identity>>,
    /// Whether a process was started since leftovers were last ended.
    may_be_left: bool,
    /// How many processes have ended since adopted children were last reaped.
    n_ended: usize,
}

/// Interrupts [`Workers::wait`] from another thread.
#[derive(Clone, Debug)]
pub struct Waker {
    pipe: Arc<PipeWriter>,
}

impl Waker {
    /// Makes the present or the next wait return at once. Never blocks.
    pub fn wake(&self) {
        // A full pipe wakes the loop as well.
        let _ = (&*self.pipe).write(&[1]);
    }
}

impl Workers {
    /// Creates it without processes.
    pub fn new() -> io::Result<Self> {
        let (bell, pipe) = io::pipe()?;
        rustix::io::ioctl_fionbio(&bell, true)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            running: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            bell,
            waker: Waker { pipe: Arc::new(pipe) },
            boot: processes::boot(),
            earlier: None,
            may_be_left: false,
            n_ended: 0,
        })
    }

    /// Creates it for a program whose only children are started here and by [`command`](crate::programs::command). If the system can, this
    /// process adopts what processes leave behind, and finds it even without its mark. [`Self::end_left`] ends it, and so does dropping.
    pub fn sole() -> io::Result<Self> {
        let mut workers = Self::new()?;
        workers.earlier = Some(process_tree::children());
        processes::adopt();
        Ok(workers)
    }

    /// Ends what processes have left behind, when none is running any more. Returns how many there were.
    pub(crate) fn end_left(&mut self, grace: Duration) -> usize {
        match &self.earlier {
            Some(earlier) if self.running.is_empty() && self.may_be_left && process_tree::has_children() => {
                self.may_be_left = false;
                process_tree::end_children(earlier, grace)
            }
            _ => 0,
        }
    }

    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Returns how many processes were started and have not been reported as ended.
    pub fn n_running(&self) -> usize {
        self.running.len()
    }

    /// Starts a process under a key that no running one has.
    pub fn start(&mut self, key: u64, spec: &ProcessSpec) -> Result<SpawnedProcess, StartError> {
        if self.running.iter().any(|running| running.key == key) {
            return Err(StartError::KeyInUse(key));
        }
        let (running, started) = RunningProcess::start(key, spec, &self.boot)?;
        self.may_be_left = true;
        self.running.push(running);
        Ok(started)
    }

    /// Ends a process and everything that it started. Returns whether there is one with this key; [`WorkerEvent::Ended`] follows then.
    ///
    /// A process that is ending politely can still be killed.
    pub fn cancel(&mut self, key: u64, manner: StopManner) -> bool {
        let running = self.running.iter_mut().find(|running| running.key == key);
        running.is_some_and(|running| {
            running.end(EndCause::Cancelled, manner, Instant::now());
            true
        })
    }

    /// Waits for an event, a [`Waker`] or the timeout; without a timeout for any time. Must be called repeatedly while processes run:
    /// output is read and limits are enforced only here.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Vec<WorkerEvent> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let was_woken = self.turn(until);
            let events = self.advance();
            if was_woken || !events.is_empty() || until.is_some_and(|until| until <= Instant::now()) {
                return events;
            }
        }
    }

    /// Waits once, and handles every process. Returns whether a [`Waker`] woke it.
    fn turn(&mut self, until: Option<Instant>) -> bool {
        let deadlines = self.running.iter().filter_map(RunningProcess::deadline);
        let pause = pause_until(deadlines.chain(until).min());
        let mut watched = vec![PollFd::new(&self.bell, PollFlags::IN)];
        self.running.iter().for_each(|running| running.watch(&mut watched));
        let ready = match poll(&mut watched, Some(&pause)) {
            Ok(_) => watched.iter().map(|one| !one.revents().is_empty()).collect(),
            Err(rustix::io::Errno::INTR) => vec![false; watched.len()],
            Err(_) => {
                std::thread::sleep(PAUSE);
                vec![true; watched.len()]
            }
        };
        let mut ready = ready.into_iter();
        let was_woken = ready.next().unwrap_or(true) && self.silence_bell();
        let now = Instant::now();
        for running in &mut self.running {
            running.act(&mut ready, &mut self.buffer, now);
        }
        was_woken
    }

    /// Applies timeouts to every process, and drops those that have ended.
    fn advance(&mut self) -> Vec<WorkerEvent> {
        let now = Instant::now();
        let mut look = CachedTable::default();
        let mut events = Vec::new();
        self.running.retain_mut(|running| {
            events.extend(running.take_output());
            let event = running.advance(&mut look, now);
            let is_over = matches!(event, Some(WorkerEvent::Ended(_)));
            events.extend(event);
            self.n_ended += usize::from(is_over);
            !is_over
        });
        if let Some(earlier) = self.earlier.as_ref().filter(|_| self.n_ended >= REAP_INTERVAL) {
            self.n_ended = 0;
            let own: Vec<i32> = self.running.iter().map(RunningProcess::pid).collect();
            process_tree::reap_children(earlier, &own);
        }
        events
    }

    fn silence_bell(&mut self) -> bool {
        let mut has_rung = false;
        while self.bell.read(&mut self.buffer).is_ok_and(|n_bytes| n_bytes > 0) {
            has_rung = true;
        }
        has_rung
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let now = Instant::now();
        for running in &mut self.running {
            running.end(EndCause::Cancelled, StopManner::AtOnce, now);
        }
        while !self.running.is_empty() {
            self.wait(None);
        }
        self.end_left(LAST_GRACE);
    }
}

fn pause_until(deadline: Option<Instant>) -> Timespec {
    let pause = deadline.map_or(MAX_WAIT, |deadline| deadline.saturating_duration_since(Instant::now()));
    Timespec::try_from(pause.min(MAX_WAIT)).unwrap_or_default()
}
