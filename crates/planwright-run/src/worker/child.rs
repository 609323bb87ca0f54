//! A process that is our own child: its id, its identity, and how it ended. Knows nothing of its output.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;

use super::ProcessExit;
use super::process_tree::TreeRoot;
use super::processes::{self, Identity, ProcessEntry};

#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    pid: i32,
    /// Its line in the table; none without a table.
    identity: Option<Identity>,
    /// Reports its end, if the system can. None after its end.
    handle: Option<OwnedFd>,
    exited: Option<ExitedProcess>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ExitedProcess {
    pub(super) exit: ProcessExit,
    pub(super) at: Instant,
}

impl ChildProcess {
    pub(super) fn new(child: Child) -> Self {
        let pid = child.id().cast_signed();
        ChildProcess {
            child,
            pid,
            identity: processes::entry_of(pid).map(|entry| entry.identity),
            handle: exit_handle(pid),
            exited: None,
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    pub(super) fn exited(&self) -> Option<ExitedProcess> {
        self.exited
    }

    pub(super) fn has_exited(&self) -> bool {
        self.exited.is_some()
    }

    /// Returns whether only asking shows whether it has ended: the system does not report it.
    pub(super) fn must_be_asked(&self) -> bool {
        self.handle.is_none() && !self.has_exited()
    }

    pub(super) fn watch<'own>(&'own self, watched: &mut Vec<PollFd<'own>>) {
        if let Some(handle) = &self.handle {
            watched.push(PollFd::new(handle, PollFlags::IN));
        }
    }

    /// Returns whether it may have ended, by the answer to [`Self::watch`].
    pub(super) fn may_have_ended(&self, ready: &mut impl Iterator<Item = bool>) -> bool {
        match self.handle {
            Some(_) => ready.next().unwrap_or(true),
            None => !self.has_exited(),
        }
    }

    /// Asks the system whether it has ended. Returns whether it has.
    pub(super) fn ask_whether_ended(&mut self, now: Instant) -> bool {
        let exit = match self.child.try_wait() {
            Ok(Some(status)) => exit_of(status),
            Ok(None) => return false,
            Err(_) => ProcessExit::Unknown,
        };
        self.exited = Some(ExitedProcess { exit, at: now });
        self.handle = None;
        true
    }

    pub(super) fn root(&self) -> TreeRoot {
        match self.exited {
            None => TreeRoot::Ours(self.pid),
            Some(_) => TreeRoot::Gone(self.pid),
        }
    }

    pub(super) fn is_in_group(&self, entry: &ProcessEntry) -> bool {
        entry.group == self.pid && entry.is_alive
    }

    #[cfg(test)]
    pub(super) fn forget_handle(&mut self) {
        self.handle = None;
    }
}

fn exit_of(status: ExitStatus) -> ProcessExit {
    let signal = || status.signal().map_or(ProcessExit::Unknown, ProcessExit::Signal);
    status.code().map_or_else(signal, ProcessExit::Code)
}

/// Returns a descriptor that becomes readable when a process has ended. The process is our child and was not waited for, so its id is not
/// reused.
#[cfg(target_os = "linux")]
fn exit_handle(pid: i32) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// Returns none: on other systems the process is polled.
#[cfg(not(target_os = "linux"))]
fn exit_handle(_pid: i32) -> Option<OwnedFd> {
    None
}
