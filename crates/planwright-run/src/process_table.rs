//! The system's process table from `/proc`: parents, groups, start times, environments. Reads only.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

/// The identity of a process: process ids are reused, but not with the same start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    /// Its start time, in ticks since the system's start.
    pub(crate) ticks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    pub(crate) identity: Identity,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Whether it is running. The table also has processes that have ended and were not waited for yet.
    pub(crate) is_alive: bool,
}

pub(crate) fn entry_of(pid: i32) -> Option<ProcessEntry> {
    // The system writes a line as a whole if it fits, and every line fits here.
    let mut line = [0; 2048];
    let n_bytes = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse_entry(line.get(..n_bytes)?)
}

/// Parses `pid (name) state parent group session …`. The name may contain anything, including parentheses and line ends. The start time is
/// the 22nd field.
fn parse_entry(line: &[u8]) -> Option<ProcessEntry> {
    let name_start = memchr::memchr(b' ', line)?;
    let name_end = memchr::memrchr(b')', line)?;
    let pid = std::str::from_utf8(line.get(..name_start)?).ok()?.parse().ok()?;
    let mut fields = std::str::from_utf8(line.get(name_end + 1..)?)
        .ok()?
        .split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    let ticks = fields.nth(15)?.parse().ok()?;
    Some(ProcessEntry {
        identity: Identity { pid, ticks },
        parent,
        group,
        session,
        is_alive: !matches!(state, "Z" | "X" | "x"),
    })
}

/// Reads the environment of a process at its start, if the process is the user's own and readable.
pub(crate) fn environment_of(entry: &ProcessEntry) -> Vec<u8> {
    let folder = format!("/proc/{}", entry.identity.pid);
    let own_user = rustix::process::geteuid().as_raw();
    let is_own = std::fs::metadata(&folder).is_ok_and(|data| data.uid() == own_user);
    if !is_own {
        return Vec::new();
    }
    std::fs::read(folder + "/environ").unwrap_or_default()
}

pub(crate) fn value_in<'e>(environment: &'e [u8], name: &[u8]) -> Option<&'e [u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(name)?.strip_prefix(b"="))
}

/// How many ancestors of a process are read: more than any real chain has.
const MAX_ANCESTORS: usize = 256;

/// Returns the ancestors of this process, the parent first.
pub(crate) fn ancestors() -> Vec<ProcessEntry> {
    let parent = |pid: i32| entry_of(entry_of(pid)?.parent);
    let line = std::iter::successors(own_pid().and_then(parent), |entry| parent(entry.identity.pid));
    line.take(MAX_ANCESTORS).collect()
}

/// Returns the id of this process in the table. In a PID namespace its own id differs.
fn own_pid() -> Option<i32> {
    std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_cannot_mislead() {
        let line = b"42 (a) R 1 1 1 (b\n) S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 5 6\n";
        let expected = ProcessEntry {
            identity: Identity {
                pid: 42,
                ticks: 123_456,
            },
            parent: 7,
            group: 8,
            session: 9,
            is_alive: true,
        };
        assert_eq!(parse_entry(line), Some(expected));
        let dead = b"42 (a) Z 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 5 6\n";
        assert_eq!(parse_entry(dead).map(|entry| entry.is_alive), Some(false));
        for broken in [
            &b""[..],
            b"42",
            b"42 (a)",
            b"42 (a) S 1 2",
            b"x (a) S 7 8 9",
            b"\xff (\xff) \xff",
        ] {
            assert_eq!(parse_entry(broken), None);
        }
    }

    #[test]
    fn the_first_ancestor_is_the_parent() {
        let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
        if let Some(first) = ancestors().first() {
            assert_eq!(Some(first.identity.pid), parent);
        }
    }
}
