//! Systems without process support: every operation is an error.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use super::{Process, ProcessMark, ProcessSpec, SpawnedProcess, StartError, StopManner, WorkerEvent};

#[derive(Debug)]
pub struct UnsupportedWorkers {
    never: Infallible,
}

#[derive(Clone, Debug)]
pub struct UnsupportedWaker {
    never: Infallible,
}

impl UnsupportedWaker {
    pub fn wake(&self) {
        match self.never {}
    }
}

impl UnsupportedWorkers {
    pub fn new() -> io::Result<Self> {
        let message = "planwright runs processes on Linux and macOS only so far";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    pub fn waker(&self) -> UnsupportedWaker {
        match self.never {}
    }

    pub fn n_running(&self) -> usize {
        match self.never {}
    }

    pub fn start(&mut self, _key: u64, _spec: &ProcessSpec) -> Result<SpawnedProcess, StartError> {
        match self.never {}
    }

    pub fn sole() -> io::Result<Self> {
        Self::new()
    }

    pub(crate) fn end_left(&mut self, _grace: Duration) -> usize {
        match self.never {}
    }

    pub fn cancel(&mut self, _key: u64, _manner: StopManner) -> bool {
        match self.never {}
    }

    pub fn wait(&mut self, _timeout: Option<Duration>) -> Vec<WorkerEvent> {
        match self.never {}
    }
}

pub fn orphans(_mark: &ProcessMark, _recorded: &[Process]) -> Vec<Process> {
    Vec::new()
}

pub(crate) fn values_of(_mark: &ProcessMark, _name: &str) -> Vec<String> {
    Vec::new()
}

pub fn end(_mark: &ProcessMark, processes: &[Process], _grace: Duration) -> Vec<Process> {
    processes.to_vec()
}

pub fn is_alive(_process: &Process) -> bool {
    false
}

pub(crate) fn own_start_time() -> Option<String> {
    None
}
