//! The system's processes, and signals to them. Does not decide which to end.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::{Pid, Signal};

use super::{Process, ProcessMark};
pub(super) use crate::process_table::{Identity, ProcessEntry, entry_of};
use crate::process_table::{environment_of, value_in};
use crate::programs::OWN_COMMAND;

const MAX_COMMAND_BYTES: usize = 200;

#[derive(Debug)]
pub(super) struct ProcessTable {
    entries: Vec<ProcessEntry>,
    /// This process and its ancestors, which are never touched.
    untouchable: HashSet<i32>,
    /// The environments of the user's processes; those of other users are empty. Read when a mark is searched.
    environments: OnceCell<Vec<Vec<u8>>>,
}

impl ProcessTable {
    /// Reads the table; none on systems without `/proc`, or with another format of it.
    pub(super) fn read() -> Option<Self> {
        let own_pid = rustix::process::getpid().as_raw_pid();
        entry_of(own_pid)?;
        let names = std::fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.file_name()));
        let pids = names.filter_map(|name| name.to_str()?.parse().ok());
        let entries: Vec<ProcessEntry> = pids.filter_map(entry_of).collect();
        Some(Self {
            untouchable: line_of_ancestors(own_pid, &entries),
            entries,
            environments: OnceCell::new(),
        })
    }

    /// Returns the processes that may be touched.
    pub(super) fn entries(&self) -> impl Iterator<Item = &ProcessEntry> {
        let may_be = |entry: &&ProcessEntry| entry.identity.pid > 1 && !self.untouchable.contains(&entry.identity.pid);
        self.entries.iter().filter(may_be)
    }

    /// Returns the children of this process, without its own commands, which are marked, and their leftovers.
    pub(super) fn children(&self) -> Vec<Identity> {
        let own_pid = rustix::process::getpid().as_raw_pid();
        let is_stray = |entry: &&ProcessEntry| entry.parent == own_pid && !is_own_command(&environment_of(entry));
        self.entries().filter(is_stray).map(|entry| entry.identity).collect()
    }

    /// Returns this user's processes with a mark.
    pub(super) fn marked(&self, mark: &ProcessMark) -> Vec<Identity> {
        self.with_mark(mark).map(|(entry, _)| entry.identity).collect()
    }

    /// Returns the values of a variable in processes with a mark.
    pub(super) fn values_of(&self, mark: &ProcessMark, name: &str) -> Vec<String> {
        let values = self.with_mark(mark).filter_map(|(_, environment)| {
            let value = value_in(environment, name.as_bytes())?;
            Some(String::from_utf8_lossy(value).into_owned())
        });
        values.collect()
    }

    fn with_mark(&self, mark: &ProcessMark) -> impl Iterator<Item = (&ProcessEntry, &[u8])> {
        let environments = match mark.variables.is_empty() {
            // No process has an empty mark.
            true => &[],
            false => {
                let read = || self.entries().map(environment_of).collect();
                self.environments.get_or_init(read).as_slice()
            }
        };
        let with_environment = self.entries().zip(environments.iter().map(Vec::as_slice));
        with_environment.filter(|(_, environment)| has_mark(environment, mark))
    }
}

fn line_of_ancestors(pid: i32, entries: &[ProcessEntry]) -> HashSet<i32> {
    let parents: HashMap<i32, i32> = entries.iter().map(|entry| (entry.identity.pid, entry.parent)).collect();
    let mut line = HashSet::new();
    let mut next = Some(&pid);
    while let Some(pid) = next.filter(|pid| line.insert(**pid)) {
        next = parents.get(pid);
    }
    line
}

/// Returns the start time of this process, in the form of the log.
pub(crate) fn own_start_time() -> Option<String> {
    let own = entry_of(i32::try_from(std::process::id()).ok()?)?;
    Some(start_time(&boot(), own.identity.ticks))
}

/// Returns whether a recorded process still runs.
pub fn is_alive(process: &Process) -> bool {
    let known = identity(process, &boot());
    let is_known = |known: Identity| entry_of(known.pid).is_some_and(|entry| entry.is_alive && entry.identity == known);
    known.is_some_and(is_known)
}

fn is_own_command(environment: &[u8]) -> bool {
    value_in(environment, OWN_COMMAND.as_bytes()).is_some()
}

/// Has the system reparent orphans of our descendants to this process, which then waits for them. Does nothing if the system cannot.
#[cfg(target_os = "linux")]
pub(super) fn adopt() {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
}

/// Does nothing: this system cannot reparent orphans.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt() {}

/// Reaps a child that has ended, so that the system can drop it.
pub(super) fn reap(process: Identity) {
    if let Some(pid) = touchable(process.pid) {
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG).ok();
    }
}

fn has_mark(environment: &[u8], mark: &ProcessMark) -> bool {
    let has = |name: &OsStr, value: &OsStr| value_in(environment, name.as_bytes()) == Some(value.as_bytes());
    mark.variables().all(|(name, value)| has(name, value))
}

/// Sends a signal to a process, unless its id was reused.
#[cfg(target_os = "linux")]
pub(super) fn signal(process: Identity, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let Some(pid) = touchable(process.pid) else { return };
    // The handle comes first: if the id still belongs to this process afterwards, the handle does too.
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if entry_of(process.pid).is_none_or(|entry| entry.identity != process) {
        return;
    }
    // It may have ended, or its id may be another user's now. The next read of the table shows that.
    let _ = match handle {
        Ok(handle) => pidfd_send_signal(handle, signal),
        Err(_) => rustix::process::kill_process(pid, signal),
    };
}

/// Sends a signal to a process, unless its id was reused.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal(process: Identity, signal: Signal) {
    let Some(pid) = touchable(process.pid) else { return };
    if entry_of(process.pid).is_some_and(|entry| entry.identity == process) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Sends a signal to a process group. Its id is not reused until its leader is waited for, and then while it has a member.
pub(super) fn signal_group(leader: i32, signal: Signal) {
    if let Some(group) = touchable(leader) {
        // The group may be empty.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Returns whether a group has a member, even one that has ended and was not waited for yet.
pub(super) fn has_members(group: i32) -> bool {
    touchable(group).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

/// Returns the id of a process, except the first one, this one, and special values of the system.
fn touchable(pid: i32) -> Option<Pid> {
    if pid <= 1 || pid == rustix::process::getpid().as_raw_pid() {
        return None;
    }
    Pid::from_raw(pid)
}

/// Identifies one boot of the system, because start times restart with it. Empty if unknown.
pub(super) fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

pub(super) fn start_time(boot: &str, ticks: u64) -> String {
    format!("{ticks}@{boot}")
}

/// Returns the identity of a recorded process, if it was started since the last boot.
pub(super) fn identity(process: &Process, boot: &str) -> Option<Identity> {
    let (ticks, then) = process.start_time.split_once('@')?;
    let is_comparable = then == boot && !boot.is_empty();
    let ticks = ticks.parse().ok().filter(|_| is_comparable)?;
    let pid = i32::try_from(process.pid).ok()?;
    Some(Identity { pid, ticks })
}

pub(super) fn describe(process: Identity, boot: &str) -> Process {
    let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let line = line.get(..MAX_COMMAND_BYTES).unwrap_or(&line);
    let words = String::from_utf8_lossy(line).replace('\0', " ");
    Process {
        pid: process.pid.unsigned_abs(),
        start_time: start_time(boot, process.ticks),
        command: words.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_needs_all_its_variables_and_an_empty_one_matches_nothing() {
        let mark = ProcessMark::new([("RUN", "r1"), ("ATTEMPT", "2")]);
        assert!(has_mark(b"A=1\0ATTEMPT=2\0RUN=r1\0", &mark));
        assert!(has_mark(b"RUN=r1\0ATTEMPT=2", &mark));
        assert!(!has_mark(b"RUN=r1\0ATTEMPT=22\0", &mark));
        assert!(!has_mark(b"RUN=r1\0XATTEMPT=2\0", &mark));
        assert!(!has_mark(b"", &mark));
        if let Some(table) = ProcessTable::read() {
            assert_eq!(table.marked(&ProcessMark::default()), []);
        }
    }

    #[test]
    fn the_search_for_ancestors_ends_in_a_cyclic_table() {
        let entry = |pid, parent| ProcessEntry {
            identity: Identity { pid, ticks: 1 },
            parent,
            group: pid,
            session: pid,
            is_alive: true,
        };
        let line = line_of_ancestors(5, &[entry(5, 4), entry(4, 3), entry(3, 5), entry(9, 5)]);
        assert_eq!(line, HashSet::from([5, 4, 3]));
    }

    #[test]
    fn the_first_process_and_this_one_are_never_touched() {
        let own = rustix::process::getpid().as_raw_pid();
        for pid in [i32::MIN, -1, 0, 1, own] {
            assert_eq!(touchable(pid), None);
        }
        if let Some(table) = ProcessTable::read() {
            assert!(
                table
                    .entries()
                    .all(|entry| entry.identity.pid > 1 && entry.identity.pid != own)
            );
        }
    }

    #[test]
    fn times_of_another_start_of_the_system_are_not_comparable() {
        let process = |start_time: &str| Process {
            pid: 42,
            start_time: start_time.to_owned(),
            command: String::new(),
        };
        let expected = Some(Identity { pid: 42, ticks: 7 });
        assert_eq!(identity(&process(&start_time("b1", 7)), "b1"), expected);
        assert_eq!(identity(&process("7@b2"), "b1"), None);
        assert_eq!(identity(&process("7@"), ""), None);
        assert_eq!(identity(&process(""), "b1"), None);
    }
}
