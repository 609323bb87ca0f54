//! From a planner's tasks to a contract: ids that old tasks keep, waves by dependencies and files, fields in one order.

use std::collections::{HashMap, HashSet};

use super::answer::PlannerAnswer;
use super::rules::TASK_ID;
use super::{IdChanges, Previous};
use crate::diagnostic::Diagnostic;
use crate::dialect::FieldSpec;
use crate::dialect::task_pack::contract::SCHEMA_VERSION;
use crate::dialect::task_pack::fields;
use crate::dialect::task_pack::original::OriginalPack;
use crate::dialect::task_pack::rewave;
use crate::dialect::task_pack::sections::{get, line, list};
use crate::dialect::task_pack::write::wave_list;
use crate::dialect::write::{cut, number, text};
use crate::document::patch::PlainValue;
use crate::plan::Field;
use crate::text::{SourceText, visible};

/// A task on its way into the contract.
pub(super) type DerivedTask = Vec<(&'static str, PlainValue)>;

/// Returns the contract of tasks.
pub(super) fn contract_of(tasks: &[DerivedTask]) -> PlainValue {
    let ids: Vec<&str> = tasks.iter().map(|task| text_of(task, "task_id")).collect();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (ix, id) in ids.iter().enumerate() {
        by_id.entry(id).or_insert(ix);
    }
    let on = |task: &DerivedTask| -> Vec<usize> {
        let mut on: Vec<usize> = texts_of(task, "dependencies")
            .filter_map(|id| by_id.get(id).copied())
            .collect();
        on.sort_unstable();
        on.dedup();
        on
    };
    let on: Vec<Vec<usize>> = tasks.iter().map(on).collect();
    let files = |task: &DerivedTask| texts_of(task, "files").map(str::to_owned).collect();
    let files: Vec<Vec<String>> = tasks.iter().map(files).collect();
    let fresh = rewave::fresh(&on, &files);
    let n_waves = fresh.positions.iter().flatten().max().map_or(0, |last| last + 1);
    // What waits for itself has no place: it is put behind all others, and the judge says why that is wrong.
    let waves: Vec<usize> = fresh.positions.iter().map(|at| at.unwrap_or(n_waves) + 1).collect();
    let tasks = tasks.iter().zip(&waves).map(|(task, wave)| task_value(task, *wave));
    PlainValue::Object(vec![
        ("schema_version".to_owned(), text(SCHEMA_VERSION)),
        ("execution_waves".to_owned(), wave_list(&waves, ids.iter().copied())),
        ("tasks".to_owned(), PlainValue::Array(tasks.collect())),
    ])
}

fn task_value(task: &DerivedTask, wave: usize) -> PlainValue {
    let member = |spec: &FieldSpec| {
        let value = match spec.field {
            Field::Wave => number(wave),
            _ => task.iter().find(|(own, _)| *own == spec.name)?.1.clone(),
        };
        Some((spec.name.to_owned(), value))
    };
    PlainValue::Object(fields::as_written().into_iter().filter_map(member).collect())
}

/// Returns a text of a task; empty where it has none.
pub(super) fn text_of<'t>(task: &'t DerivedTask, name: &str) -> &'t str {
    match task.iter().find(|(own, _)| *own == name) {
        Some((_, PlainValue::String(text))) => text,
        _ => "",
    }
}

/// Returns the texts of a list of a task.
pub(super) fn texts_of<'t>(task: &'t DerivedTask, name: &str) -> impl Iterator<Item = &'t str> {
    let items: &[PlainValue] = match task.iter().find(|(own, _)| *own == name) {
        Some((_, PlainValue::Array(items))) => items,
        _ => &[],
    };
    items.iter().filter_map(|item| match item {
        PlainValue::String(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Returns the ids that cards cannot carry.
pub(super) fn check_ids(answer: &PlannerAnswer) -> Vec<Diagnostic> {
    let ids = answer.tasks.iter().map(|task| text_of(task, "task_id"));
    let odd = ids.filter(|id| !id.is_empty() && !is_plain_id(id));
    odd.map(|id| {
        let message = format!("`{}` cannot be the id of a task", visible(&cut(id, 60)));
        Diagnostic::of_file(&TASK_ID, message).with_help("call tasks T001, T002, …")
    })
    .collect()
}

fn is_plain_id(id: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    id.len() <= 64 && id.chars().all(is_part) && is_end(id.chars().next()) && is_end(id.chars().next_back())
}

/// A task of the pack before.
struct PreviousTask {
    id: String,
    goal: String,
    files: Vec<String>,
}

fn old_tasks(pack: &SourceText) -> Vec<PreviousTask> {
    let pack = OriginalPack::parse(pack);
    let contract = pack.contract().map(PlainValue::of).unwrap_or(PlainValue::Null);
    let tasks = list(&contract, "tasks").iter();
    tasks
        .map(|task| PreviousTask {
            id: get(task, "task_id").map(line).unwrap_or_default(),
            goal: get(task, "goal").map(line).unwrap_or_default(),
            files: sorted(list(task, "files").iter().map(line)),
        })
        .collect()
}

fn sorted(files: impl Iterator<Item = String>) -> Vec<String> {
    let mut files: Vec<String> = files.collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Gives tasks that the pack before had, with the same goal and the same files, the ids they had there; and another id to
/// tasks that would take over what is recorded of an old one. Returns what became of which.
pub(super) fn keep_ids(tasks: &mut [DerivedTask], previous: &Previous<'_>) -> IdChanges {
    let own: Vec<String> = tasks.iter().map(|task| text_of(task, "task_id").to_owned()).collect();
    let distinct: HashSet<&str> = own.iter().map(String::as_str).collect();
    // Tasks that share an id, or have none, are for the judge.
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
        for (name, value) in task.iter_mut() {
            match value {
                PlainValue::String(own) if *name == "task_id" => own.clone_from(id),
                PlainValue::Array(items) if *name == "dependencies" => rename(items, &names),
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

fn new_ids(tasks: &[DerivedTask], own: &[String], old: &[PreviousTask], previous: &Previous<'_>) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut ids: Vec<Option<String>> = tasks
        .iter()
        .map(|task| {
            let goal = line(&text(text_of(task, "goal")));
            let files = sorted(texts_of(task, "files").map(|file| line(&text(file))));
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
