//! Systems without process support: every operation is an error.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use super::{Process, ProcessMark, SpawnedProcess, Spec, StartError, StopManner, WorkerEvent};

/// Runs processes, on other systems than this.
#[derive(Debug)]
pub struct UnsupportedWorkers {
    never: Infallible,
}

/// Interrupts [`UnsupportedWorkers::wait`], on other systems than this.
#[derive(Clone, Debug)]
pub struct UnsupportedWaker {
    never: Infallible,
}

impl UnsupportedWaker {
    /// Interrupts.
    pub fn wake(&self) {
        match self.never {}
    }
}

impl UnsupportedWorkers {
    /// Fails: processes are run on Unix only.
    pub fn new() -> io::Result<Self> {
        let message = "planwright runs processes on Linux and macOS only so far";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// Returns what interrupts waiting.
    pub fn waker(&self) -> UnsupportedWaker {
        match self.never {}
    }

    /// Returns how many processes run.
    pub fn n_running(&self) -> usize {
        match self.never {}
    }

    /// Starts a process.
    pub fn start(&mut self, _key: u64, _spec: &Spec) -> Result<SpawnedProcess, StartError> {
        match self.never {}
    }

    /// Fails: processes are run on Unix only.
    pub fn sole() -> io::Result<Self> {
        Self::new()
    }

    /// Ends what processes have left behind.
    pub fn end_left(&mut self, _grace: Duration) -> usize {
        match self.never {}
    }

    /// Ends a process.
    pub fn cancel(&mut self, _key: u64, _manner: StopManner) -> bool {
        match self.never {}
    }

    /// Waits until something happens.
    pub fn wait(&mut self, _timeout: Option<Duration>) -> Vec<WorkerEvent> {
        match self.never {}
    }
}

/// Finds nothing: nothing was started here.
pub fn orphans(_mark: &ProcessMark, _recorded: &[Process]) -> Vec<Process> {
    Vec::new()
}

/// Finds nothing: nothing was started here.
pub fn values_of(_mark: &ProcessMark, _name: &str) -> Vec<String> {
    Vec::new()
}

/// Ends nothing.
pub fn end(_mark: &ProcessMark, processes: &[Process], _grace: Duration) -> Vec<Process> {
    processes.to_vec()
}

/// Returns whether a process is there: nothing is known of processes here.
pub fn is_alive(_process: &Process) -> bool {
    false
}

/// Returns when this process started: nothing is known of processes here.
pub(crate) fn own_start_time() -> Option<String> {
    None
}
