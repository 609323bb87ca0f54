//! From a planner's tasks to a contract: ids that old tasks keep, waves by dependencies and files, fields in a fixed order.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::writer::{member, number, one_line, text};
use super::contract::SCHEMA_VERSION;
use super::fields;
use super::original::OriginalPack;
use super::task::PackTask;
use super::waves;
use crate::document::patch::PlainValue;
use crate::plan::Field;
use crate::text::SourceText;

/// A pack to rebuild.
#[derive(Clone, Copy)]
pub struct Previous<'a> {
    /// Its text.
    pub pack: &'a SourceText,
    /// Returns whether one of its tasks has records: it was started, done, failed or skipped.
    pub is_touched: &'a dyn Fn(&str) -> bool,
}

/// The changes of ids in a rebuilt pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdChanges {
    /// Ids from the planner, and the tasks' new names.
    pub renamed: Vec<(String, String)>,
    /// Ids of old tasks that no task has any more.
    pub gone: Vec<String>,
}

pub(crate) struct DerivedContract {
    /// The tasks with their waves, with their fields in written order.
    pub(crate) tasks: Vec<PackTask>,
    /// The whole contract.
    pub(crate) value: PlainValue,
}

pub(crate) fn contract_of(tasks: &[PackTask]) -> DerivedContract {
    let ids: Vec<&str> = tasks.iter().map(|task| task.text("task_id")).collect();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (ix, id) in ids.iter().enumerate() {
        by_id.entry(id).or_insert(ix);
    }
    let on = |task: &PackTask| -> Vec<usize> {
        let on: BTreeSet<usize> = task
            .texts("dependencies")
            .filter_map(|id| by_id.get(id).copied())
            .collect();
        on.into_iter().collect()
    };
    let on: Vec<Vec<usize>> = tasks.iter().map(on).collect();
    let files = |task: &PackTask| task.texts("files").map(str::to_owned).collect();
    let files: Vec<Vec<String>> = tasks.iter().map(files).collect();
    let fresh = waves::fresh(&on, &files);
    let n_waves = fresh.positions.iter().flatten().max().map_or(0, |last| last + 1);
    // A task that depends on itself has no position: it is put after all others, and the check reports the error.
    let waves: Vec<usize> = fresh.positions.iter().map(|at| at.unwrap_or(n_waves) + 1).collect();
    let wave_list = waves::wave_list(&waves, ids.iter().copied());
    let tasks: Vec<PackTask> = tasks
        .iter()
        .zip(waves)
        .map(|(task, wave)| in_wave(task, wave))
        .collect();
    let value = PlainValue::Object(vec![
        member("schema_version", text(SCHEMA_VERSION)),
        member("execution_waves", wave_list),
        member(
            "tasks",
            PlainValue::Array(tasks.iter().map(PackTask::to_value).collect()),
        ),
    ]);
    DerivedContract { tasks, value }
}

fn in_wave(task: &PackTask, wave: usize) -> PackTask {
    let mut placed = PackTask::default();
    for spec in fields::as_written() {
        match (spec.field, task.get(spec.name)) {
            (Field::Wave, _) => placed.set(spec.name, number(wave)),
            (_, Some(value)) => placed.set(spec.name, value.clone()),
            (_, None) => {}
        }
    }
    placed
}

/// Returns whether cards can contain an id.
pub(crate) fn is_plain_id(id: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    id.len() <= 64 && id.chars().all(is_part) && is_end(id.chars().next()) && is_end(id.chars().next_back())
}

struct PreviousTask {
    id: String,
    goal: String,
    files: Vec<String>,
}

fn old_tasks(pack: &SourceText) -> Vec<PreviousTask> {
    let pack = OriginalPack::parse(pack);
    let previous = |task: PackTask| PreviousTask {
        id: task.line("task_id"),
        goal: task.line("goal"),
        files: sorted(task.lines("files").into_iter()),
    };
    pack.tasks().map(previous).collect()
}

fn sorted(files: impl Iterator<Item = String>) -> Vec<String> {
    let mut files: Vec<String> = files.collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Gives tasks of the previous pack, with the same goal and files, their old ids. Gives another id to tasks that would inherit the records
/// of an old one. Returns the changes.
pub(crate) fn keep_ids(tasks: &mut [PackTask], previous: &Previous<'_>) -> IdChanges {
    let own: Vec<String> = tasks.iter().map(|task| task.text("task_id").to_owned()).collect();
    let distinct: HashSet<&str> = own.iter().map(String::as_str).collect();
    // The check reports tasks that share an id, or have none.
    if distinct.len() < own.len() || distinct.contains("") {
        return IdChanges::default();
    }
    let old = old_tasks(previous.pack);
    let ids = new_ids(tasks, &own, &old, previous);
    let names: HashMap<&str, &str> = own
        .iter()
        .map(String::as_str)
        .zip(ids.iter().map(String::as_str))
        .collect();
    for (task, id) in tasks.iter_mut().zip(&ids) {
        for (name, value) in task.values_mut() {
            match value {
                PlainValue::String(own) if name == "task_id" => own.clone_from(id),
                PlainValue::Array(items) if name == "dependencies" => rename(items, &names),
                _ => {}
            }
        }
    }
    let taken: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let gone = old.iter().filter(|old| !taken.contains(old.id.as_str()));
    let pairs = own.iter().zip(&ids);
    IdChanges {
        renamed: pairs
            .filter(|(own, id)| own != id)
            .map(|(own, id)| (own.clone(), id.clone()))
            .collect(),
        gone: gone.map(|old| old.id.clone()).collect(),
    }
}

fn rename(items: &mut [PlainValue], names: &HashMap<&str, &str>) {
    for item in items {
        if let PlainValue::String(id) = item
            && let Some(new) = names.get(id.as_str())
        {
            *id = (*new).to_owned();
        }
    }
}

fn new_ids(tasks: &[PackTask], own: &[String], old: &[PreviousTask], previous: &Previous<'_>) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut ids: Vec<Option<String>> = tasks
        .iter()
        .map(|task| {
            let goal = one_line(task.text("goal"));
            let files = sorted(task.texts("files").map(one_line));
            let same = |old: &&PreviousTask| old.goal == goal && old.files == files && is_plain_id(&old.id);
            let mut found = old.iter().filter(same).filter(|old| !taken.contains(&old.id));
            let id = found.next().map(|old| old.id.clone())?;
            taken.insert(id.clone());
            Some(id)
        })
        .collect();
    let mut next = own
        .iter()
        .map(String::as_str)
        .chain(old.iter().map(|old| old.id.as_str()))
        .filter_map(|id| id.strip_prefix('T')?.parse::<u32>().ok())
        .max()
        .unwrap_or(0);
    for (id, own) in ids.iter_mut().zip(own).filter(|(id, _)| id.is_none()) {
        let is_free = !taken.contains(own) && !(previous.is_touched)(own);
        let fresh = if is_free {
            own.clone()
        } else {
            next = next.saturating_add(1);
            format!("T{next:03}")
        };
        taken.insert(fresh.clone());
        *id = Some(fresh);
    }
    ids.into_iter().flatten().collect()
}
