//! Assigns tasks to waves: after their dependencies, and never with another task on the same file. Also writes waves as values.

use std::collections::{HashMap, HashSet};

use super::super::writer::{member, number, text};
use crate::document::patch::PlainValue;

/// The part of a task that decides its wave.
#[derive(Clone, Debug, Default)]
pub(super) struct WaveTask<'a> {
    /// The indexes of its dependencies.
    pub(super) on: Vec<usize>,
    /// The files it owns.
    pub(super) files: Vec<&'a str>,
    /// The index of its wave; none for a task without one, or with an undeclared one.
    pub(super) at: Option<usize>,
    /// Whether it needs a new wave.
    pub(super) is_new: bool,
    pub(super) has_new_dependency: bool,
}

/// The waves of tasks without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AssignedWaves {
    /// The index of each task's wave; none for tasks in a cycle.
    pub(crate) positions: Vec<Option<usize>>,
    /// Whether shared files moved a task into a later wave.
    pub(crate) has_shared_files: bool,
}

/// Puts every task into the first wave after all its dependencies, and after every earlier task with a file in common. `on` and `files`
/// have an entry for each task.
pub(crate) fn fresh(on: &[Vec<usize>], files: &[Vec<String>]) -> AssignedWaves {
    let mut waves = AssignedWaves {
        positions: vec![None; on.len()],
        has_shared_files: false,
    };
    let mut last_of: HashMap<&str, usize> = HashMap::new();
    for ix in by_dependency(on) {
        let before = on[ix]
            .iter()
            .filter_map(|&on| waves.positions.get(on).copied().flatten());
        let after_all = before.max().map_or(0, |last| last + 1);
        let own = files.get(ix).map_or(&[][..], Vec::as_slice);
        let shared = own.iter().filter_map(|file| last_of.get(file.as_str())).max();
        let at = shared.map_or(0, |last| last + 1).max(after_all);
        waves.has_shared_files |= at > after_all;
        waves.positions[ix] = Some(at);
        last_of.extend(own.iter().map(|file| (file.as_str(), at)));
    }
    waves
}

/// Returns the list of waves, with tasks in their order; `waves` has the number of each task's wave, from 1.
pub(crate) fn wave_list<'i>(waves: &[usize], ids: impl Iterator<Item = &'i str>) -> PlainValue {
    let n_waves = waves.iter().max().copied().unwrap_or(0);
    let mut lists: Vec<Vec<PlainValue>> = vec![Vec::new(); n_waves];
    for (wave, id) in waves.iter().zip(ids) {
        if let Some(list) = wave.checked_sub(1).and_then(|ix| lists.get_mut(ix)) {
            list.push(text(id));
        }
    }
    let lists = lists.into_iter().zip(1..);
    PlainValue::Array(
        lists
            .map(|(list, name): (_, usize)| wave_value(number(name), list))
            .collect(),
    )
}

/// Returns one entry of the list of waves.
pub(super) fn wave_value(name: PlainValue, tasks: Vec<PlainValue>) -> PlainValue {
    PlainValue::Object(vec![member("wave", name), member("tasks", PlainValue::Array(tasks))])
}

/// Returns the tasks with each after its dependencies; otherwise in their own order. Tasks in a cycle, or waiting for one, are omitted.
fn by_dependency(on: &[Vec<usize>]) -> Vec<usize> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); on.len()];
    let mut n_open: Vec<usize> = on.iter().map(Vec::len).collect();
    for (ix, on) in on.iter().enumerate() {
        for &on in on {
            if let Some(dependents) = dependents.get_mut(on) {
                dependents.push(ix);
            }
        }
    }
    let mut order: Vec<usize> = (0..on.len()).filter(|&ix| n_open[ix] == 0).collect();
    let mut at = 0;
    while let Some(&ix) = order.get(at) {
        at += 1;
        for &dependent in &dependents[ix] {
            n_open[dependent] -= 1;
            if n_open[dependent] == 0 {
                order.push(dependent);
            }
        }
    }
    order
}

/// Returns the index of every task's wave. A task moves to a later wave only if it must, and its dependents move with it. Indexes after the
/// last wave are those of new waves.
pub(super) fn place(tasks: &[WaveTask<'_>]) -> Vec<Option<usize>> {
    let loose = loose(tasks);
    let mut positions: Vec<Option<usize>> = tasks.iter().map(|task| task.at).collect();
    let mut taken: HashSet<(&str, usize)> = HashSet::new();
    let mut last_of: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (ix, task) in tasks.iter().enumerate().filter(|(ix, _)| !loose.contains(ix)) {
        for (&file, at) in task.files.iter().zip(std::iter::repeat(task.at)) {
            if let Some(at) = at {
                taken.insert((file, at));
                last_of.entry(file).or_default().push((ix, at));
            }
        }
    }
    let mut placed: HashSet<(&str, usize)> = HashSet::new();
    for ix in in_order(tasks, &loose) {
        let task = &tasks[ix];
        let before = task.on.iter().filter_map(|&on| positions[on]).max();
        let after_all = before.map_or(0, |before| before + 1);
        let mut at = task.at.unwrap_or(0).max(after_all);
        if task.is_new {
            // After the earlier tasks of the list that own one of its files.
            let owners = task.files.iter().filter_map(|file| last_of.get(file)).flatten();
            let earlier = owners.filter(|(owner, _)| *owner < ix).map(|(_, at)| at + 1).max();
            at = at.max(earlier.unwrap_or(0));
        }
        // In its own wave, only tasks that have just entered are an obstacle.
        let is_free = |at: usize| {
            task.files
                .iter()
                .all(|&file| !placed.contains(&(file, at)) && (task.at == Some(at) || !taken.contains(&(file, at))))
        };
        while !is_free(at) {
            at += 1;
        }
        positions[ix] = Some(at);
        placed.extend(task.files.iter().map(|&file| (file, at)));
    }
    positions
}

/// Returns the tasks that may have to move: those with a new dependency, and all their dependents.
fn loose(tasks: &[WaveTask<'_>]) -> HashSet<usize> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (ix, task) in tasks.iter().enumerate() {
        for &on in &task.on {
            dependents[on].push(ix);
        }
    }
    let is_first = |task: &WaveTask<'_>| task.is_new || task.has_new_dependency;
    let mut open: Vec<usize> = (0..tasks.len()).filter(|&ix| is_first(&tasks[ix])).collect();
    let mut loose: HashSet<usize> = open.iter().copied().collect();
    while let Some(ix) = open.pop() {
        // The check reports a task in an undeclared wave.
        let moving = dependents[ix].iter().filter(|&&other| tasks[other].at.is_some());
        open.extend(moving.filter(|&&other| loose.insert(other)).copied());
    }
    loose
}

/// Returns the loose tasks with each after its loose dependencies. Tasks in a cycle are omitted.
fn in_order(tasks: &[WaveTask<'_>], loose: &HashSet<usize>) -> Vec<usize> {
    let loose_on = |task: &WaveTask<'_>| task.on.iter().copied().filter(|on| loose.contains(on)).collect();
    let on: Vec<Vec<usize>> = tasks.iter().map(loose_on).collect();
    by_dependency(&on).into_iter().filter(|ix| loose.contains(ix)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task<'a>(at: usize, on: &[usize], files: &[&'a str]) -> WaveTask<'a> {
        WaveTask {
            on: on.to_vec(),
            files: files.to_vec(),
            at: Some(at),
            ..WaveTask::default()
        }
    }

    fn new<'a>(on: &[usize], files: &[&'a str]) -> WaveTask<'a> {
        WaveTask {
            at: None,
            is_new: true,
            ..task(0, on, files)
        }
    }

    fn pushed<'a>(at: usize, on: &[usize], files: &[&'a str]) -> WaveTask<'a> {
        WaveTask {
            has_new_dependency: true,
            ..task(at, on, files)
        }
    }

    #[track_caller]
    fn check(tasks: &[WaveTask<'_>], expect: &[usize]) {
        let found: Vec<_> = place(tasks).into_iter().map(|at| at.unwrap_or(99)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_new_task_goes_to_the_first_wave_that_has_room() {
        check(&[task(0, &[], &["a"]), new(&[], &["b"])], &[0, 0]);
        check(&[task(0, &[], &["a"]), new(&[0], &["b"])], &[0, 1]);
        check(&[task(0, &[], &["a"]), new(&[], &["a"])], &[0, 1]);
        // A later task of the list with the same file is no reason to go after it, only not to be in the same wave.
        check(
            &[task(0, &[], &["a"]), new(&[0], &["b"]), task(1, &[], &["b"])],
            &[0, 2, 1],
        );
        check(&[new(&[], &["b"]), task(1, &[], &["b"])], &[0, 1]);
    }

    #[test]
    fn a_new_dependency_moves_tasks_to_later_waves() {
        // T1 is to wait for T2, which is in the same wave; T3 and T4 depend on T1, and T4 stands late enough.
        check(
            &[
                pushed(0, &[1], &["a"]),
                task(0, &[], &["b"]),
                task(1, &[0], &["c"]),
                task(3, &[0], &["d"]),
                task(1, &[1], &["e"]),
            ],
            &[1, 0, 2, 3, 1],
        );
        // The next wave has a task with its file: it goes one further.
        check(
            &[pushed(0, &[1], &["a"]), task(0, &[], &["b"]), task(1, &[1], &["a"])],
            &[2, 0, 1],
        );
        // What depends on it has the file, and goes with it.
        check(
            &[pushed(0, &[1], &["a"]), task(0, &[], &["b"]), task(1, &[0], &["a"])],
            &[1, 0, 2],
        );
    }

    #[test]
    fn tasks_in_a_cycle_keep_their_waves() {
        check(
            &[pushed(0, &[1], &[]), task(1, &[0], &[]), task(2, &[1], &[])],
            &[0, 1, 2],
        );
    }
}
