//! Ends a process with all its descendants: terminated, killed after a grace, searched until none is left. Knows no pipes or
//! limits.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use super::processes::{self, Identity, ProcessEntry, ProcessTable};
use super::{Process, ProcessMark};

/// The pause after the first read of the table. Each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

const MAX_PAUSE: Duration = Duration::from_millis(80);

/// The longest grace. A longer one might exceed the range of the clock.
const MAX_GRACE: Duration = Duration::from_secs(24 * 3600);

/// How long a killed process may take to disappear. Only one that waits for broken hardware takes longer.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How often it must have been killed in vain as well. On a very busy machine, time alone is no proof.
const MIN_KILLS: u32 = 20;

/// How often in a row nothing must be found. One read can miss a process that starts during it.
const N_EMPTY_LOOKS: u32 = 2;

#[derive(Debug)]
struct ProcessDescendants {
    mark: ProcessMark,
    /// If all children of this process belong to it: the exceptions.
    but_for: Option<Vec<Identity>>,
    /// Every process ever found, by id.
    known: HashMap<i32, u64>,
}

impl ProcessDescendants {
    fn new(mark: ProcessMark, processes: impl IntoIterator<Item = Identity>) -> Self {
        let known = processes.into_iter().map(|process| (process.pid, process.ticks));
        Self {
            mark,
            but_for: None,
            known: known.collect(),
        }
    }

    /// Returns one of all children of this process, with exceptions.
    fn of_children(but_for: Vec<Identity>) -> Self {
        Self {
            but_for: Some(but_for),
            ..Self::new(ProcessMark::default(), None)
        }
    }

    /// Returns all live processes: those known before, those with the mark, their descendants, and the members of groups and sessions that
    /// one of them leads or led.
    ///
    /// An id in `known` may belong to another process now, which the start time shows. The id of a group is not reused while the group has
    /// a member, and every group looked up here has one.
    fn look(&mut self, table: &ProcessTable) -> Vec<ProcessEntry> {
        let relations = Relations::new(table);
        let is_known = |entry: &&ProcessEntry| self.known.get(&entry.identity.pid) == Some(&entry.identity.ticks);
        let mut waiting: Vec<i32> = table
            .entries()
            .filter(is_known)
            .map(|entry| entry.identity.pid)
            .collect();
        waiting.extend(table.marked(&self.mark).iter().map(|process| process.pid));
        if let Some(but_for) = &self.but_for {
            let children = table.children().into_iter();
            let children = children.filter(|child| !but_for.contains(child));
            waiting.extend(children.map(|child| child.pid));
        }
        let mut is_led_by: HashSet<i32> = HashSet::new();
        let mut found: HashMap<i32, ProcessEntry> = HashMap::new();
        while let Some(pid) = waiting.pop() {
            let Some(entry) = relations.by_pid.get(&pid) else {
                continue;
            };
            if found.insert(pid, **entry).is_some() {
                continue;
            }
            self.known.insert(pid, entry.identity.ticks);
            waiting.extend(relations.children.get(&pid).into_iter().flatten());
            for (leader, members) in [(entry.group, &relations.groups), (entry.session, &relations.sessions)] {
                if self.known.contains_key(&leader) && is_led_by.insert(leader) {
                    waiting.extend(members.get(&leader).into_iter().flatten());
                }
            }
        }
        let mut alive: Vec<ProcessEntry> = found.into_values().filter(|entry| entry.is_alive).collect();
        alive.sort_unstable_by_key(|entry| entry.identity);
        alive
    }
}

/// The table, indexed by relations between its lines.
struct Relations<'table> {
    by_pid: HashMap<i32, &'table ProcessEntry>,
    children: HashMap<i32, Vec<i32>>,
    groups: HashMap<i32, Vec<i32>>,
    sessions: HashMap<i32, Vec<i32>>,
}

impl<'table> Relations<'table> {
    fn new(table: &'table ProcessTable) -> Self {
        let by = |key: fn(&ProcessEntry) -> i32| {
            let mut map: HashMap<i32, Vec<i32>> = HashMap::new();
            for entry in table.entries() {
                map.entry(key(entry)).or_default().push(entry.identity.pid);
            }
            map
        };
        Self {
            by_pid: table.entries().map(|entry| (entry.identity.pid, entry)).collect(),
            children: by(|entry| entry.parent),
            groups: by(|entry| entry.group),
            sessions: by(|entry| entry.session),
        }
    }
}

/// The first process, while it is our own child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeRoot {
    /// It runs, or was not waited for yet: its id is not reused.
    Ours(i32),
    Gone(i32),
    NotOurs,
}

#[derive(Debug)]
pub(super) struct EndingTree {
    tree: ProcessDescendants,
    kill_at: Instant,
    first_kill: Option<Instant>,
    n_kills: u32,
    next_look: Instant,
    pause: Duration,
    has_asked: bool,
    asked: HashSet<Identity>,
    n_empty_looks: u32,
}

impl EndingTree {
    /// Starts to end the descendants of some processes, or the processes with a mark. Nothing happens before the first step.
    pub(super) fn new(
        mark: ProcessMark,
        processes: impl IntoIterator<Item = Identity>,
        now: Instant,
        grace: Duration,
    ) -> Self {
        Self::of(ProcessDescendants::new(mark, processes), now, grace)
    }

    fn of(tree: ProcessDescendants, now: Instant, grace: Duration) -> Self {
        let kill_at = now + grace.min(MAX_GRACE);
        Self {
            tree,
            kill_at,
            first_kill: None,
            n_kills: 0,
            next_look: now,
            pause: FIRST_PAUSE,
            has_asked: false,
            asked: HashSet::new(),
            n_empty_looks: 0,
        }
    }

    pub(super) fn hurry(&mut self, now: Instant) {
        self.kill_at = self.kill_at.min(now);
        self.look_soon(now);
    }

    /// Makes the next read happen now, because the processes have changed.
    pub(super) fn look_soon(&mut self, now: Instant) {
        self.next_look = now;
        self.pause = FIRST_PAUSE;
    }

    pub(super) fn next_step(&self) -> Instant {
        self.next_look
    }

    pub(super) fn is_over(&self) -> bool {
        self.n_empty_looks >= N_EMPTY_LOOKS
    }

    pub(super) fn is_hopeless(&self, now: Instant) -> bool {
        let has_been_patient = |first: Instant| now >= first + KILL_PATIENCE;
        self.n_kills >= MIN_KILLS && self.first_kill.is_some_and(has_been_patient)
    }

    /// Takes all steps, and waits in between. Reports after each read how many processes are alive.
    fn play_out(&mut self, mut report: impl FnMut(usize)) {
        while !self.is_over() && !self.is_hopeless(Instant::now()) {
            let Some(table) = ProcessTable::read() else { break };
            report(self.step(Some(&table), TreeRoot::NotOurs, Instant::now()));
            if !self.is_over() {
                std::thread::sleep(self.next_step().saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Reads the table once, and sends the signals that are due. Returns how many processes are alive.
    pub(super) fn step(&mut self, table: Option<&ProcessTable>, root: TreeRoot, now: Instant) -> usize {
        let alive = match table {
            Some(table) => self.tree.look(table),
            None => Vec::new(),
        };
        let is_empty = match root {
            TreeRoot::Ours(_) => false,
            TreeRoot::Gone(group) if table.is_none() => !processes::has_members(group),
            TreeRoot::Gone(_) | TreeRoot::NotOurs => alive.is_empty(),
        };
        self.n_empty_looks = if is_empty { self.n_empty_looks + 1 } else { 0 };
        if now < self.kill_at {
            self.ask(&alive, root, table.is_some());
            self.next_look = self.kill_at.min(now + self.pause);
        } else {
            self.first_kill.get_or_insert(now);
            self.n_kills += 1;
            self.kill(&alive, root, table.is_some());
            self.next_look = now + self.pause;
        }
        self.pause = MAX_PAUSE.min(self.pause * 2);
        alive.len()
    }

    fn kill(&self, alive: &[ProcessEntry], root: TreeRoot, has_table: bool) {
        match root {
            TreeRoot::Ours(group) => processes::signal_group(group, Signal::KILL),
            TreeRoot::Gone(group) if !has_table => processes::signal_group(group, Signal::KILL),
            TreeRoot::Gone(_) | TreeRoot::NotOurs => {}
        }
        for entry in alive {
            processes::signal(entry.identity, Signal::KILL);
        }
    }

    /// Terminates each process once. A process that appears later may be cleaning up, so it is left alone during the grace period as long
    /// as the first process exists.
    fn ask(&mut self, alive: &[ProcessEntry], root: TreeRoot, has_table: bool) {
        let is_first = !std::mem::replace(&mut self.has_asked, true);
        let group = match root {
            TreeRoot::Ours(_) if !is_first => return,
            TreeRoot::Ours(group) => Some(group),
            TreeRoot::Gone(group) if is_first && !has_table => Some(group),
            TreeRoot::Gone(_) | TreeRoot::NotOurs => None,
        };
        if let Some(group) = group {
            processes::signal_group(group, Signal::TERM);
        }
        for entry in alive {
            // Some programs treat a second signal as "at once".
            if self.asked.insert(entry.identity) && Some(entry.group) != group {
                processes::signal(entry.identity, Signal::TERM);
            }
        }
    }
}

/// Finds what an earlier planwright left behind: processes with the mark, recorded processes that are still the same, and their
/// descendants. Never this process or its ancestors.
///
/// Finds nothing without `/proc`.
pub fn orphans(mark: &ProcessMark, recorded: &[Process]) -> Vec<Process> {
    let boot = processes::boot();
    let recorded = recorded
        .iter()
        .filter_map(|process| processes::identity(process, &boot));
    let mut tree = ProcessDescendants::new(mark.clone(), recorded);
    let found = ProcessTable::read().map_or_else(Vec::new, |table| tree.look(&table));
    found
        .iter()
        .map(|entry| processes::describe(entry.identity, &boot))
        .collect()
}

/// Returns the different values of a variable in processes with a mark.
///
/// Finds nothing without `/proc`.
pub(crate) fn values_of(mark: &ProcessMark, name: &str) -> Vec<String> {
    let mut values = ProcessTable::read().map_or_else(Vec::new, |table| table.values_of(mark, name));
    values.sort_unstable();
    values.dedup();
    values
}

/// Ends processes and their descendants: terminates, waits for the grace, kills. Returns those that still exist.
///
/// Never touches another process with a reused id.
pub fn end(mark: &ProcessMark, processes: &[Process], grace: Duration) -> Vec<Process> {
    let boot = processes::boot();
    let recorded = processes
        .iter()
        .filter_map(|process| processes::identity(process, &boot));
    let mut ending = EndingTree::new(mark.clone(), recorded, Instant::now(), grace);
    ending.play_out(|_| {});
    if ending.is_over() {
        return Vec::new();
    }
    let left = ProcessTable::read().map_or_else(Vec::new, |table| ending.tree.look(&table));
    left.iter()
        .map(|entry| processes::describe(entry.identity, &boot))
        .collect()
}

pub(super) fn children() -> Vec<Identity> {
    ProcessTable::read().map_or_else(Vec::new, |table| table.children())
}

/// Returns whether this process has a child, as far as the system reports that quickly.
pub(super) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Ends all children of this process except some, even without a mark, and their descendants. Returns how many there were.
pub(super) fn end_children(but_for: &[Identity], grace: Duration) -> usize {
    let mut ending = EndingTree::of(ProcessDescendants::of_children(but_for.to_vec()), Instant::now(), grace);
    let mut n_alive = 0;
    ending.play_out(|alive| n_alive = n_alive.max(alive));
    reap_children(but_for, &[]);
    n_alive
}

/// Reaps the children of this process that have ended, except those that other code waits for.
pub(super) fn reap_children(but_for: &[Identity], own: &[i32]) {
    let is_adopted = |child: &Identity| !but_for.contains(child) && !own.contains(&child.pid);
    children().into_iter().filter(is_adopted).for_each(processes::reap);
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Ends a group without the table, as on systems without one, and returns the signal that ended its leader.
    fn end_group(script: &str, grace: Duration) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt as _;
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut output = child.stdout.take().expect("a pipe");
        output.read_exact(&mut [0; 6]).expect("`ready` and a line end");
        let pid = child.id().cast_signed();
        let mut ending = EndingTree::new(ProcessMark::default(), None, Instant::now(), grace);
        let mut status = None;
        // If the first process waits for its children late, they stay in the group until then.
        while !ending.is_over() && !ending.is_hopeless(Instant::now()) {
            status = status.or_else(|| child.try_wait().expect("our child"));
            let root = status.map_or(TreeRoot::Ours(pid), |_| TreeRoot::Gone(pid));
            ending.step(None, root, Instant::now());
            std::thread::sleep(ending.next_step().saturating_duration_since(Instant::now()));
        }
        output.read_to_end(&mut Vec::new()).expect("nobody holds the pipe");
        child.wait().expect("an end").signal()
    }

    #[test]
    fn without_a_table_the_group_is_ended() {
        let script = "sleep 1000 & echo ready; wait";
        assert_eq!(end_group(script, Duration::from_secs(20)), Some(15));
        let script = "trap '' TERM; sleep 1000 & echo ready; wait";
        assert_eq!(end_group(script, Duration::from_millis(100)), Some(9));
    }

    #[test]
    fn a_member_that_outlives_its_leader_is_ended_too() {
        let script = "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done' & wait";
        assert_eq!(end_group(script, Duration::from_millis(100)), Some(15));
    }
}
