//! Checks tasks against waves: membership, order of dependencies, shared files.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::contract::{CheckedTask, Checker, DEPENDENCIES, FILES, TASK_ID, WAVE, concrete_file};
use super::js::{JsData, JsString, JsValue, JsView, js_text};
use super::original::OriginalFinding;
use crate::text::Span;

/// The waves as declared, by their id as text.
#[derive(Default)]
pub(super) struct DeclaredWaves<'d> {
    pub(super) by_key: HashMap<JsString<'d>, usize>,
    declared: Vec<DeclaredWave<'d>>,
    /// Waves with a list of tasks, in the order in which they first had one.
    listed: Vec<usize>,
}

struct DeclaredWave<'d> {
    key: JsString<'d>,
    /// The position in `execution_waves` of the last wave with this id.
    position: usize,
    /// The list, an array.
    tasks: Option<JsView<'d>>,
    /// The task ids in the list.
    members: HashSet<JsString<'d>>,
}

/// The declared task ids in order, each with the wave of its last declaration.
pub(super) struct Declared<'d> {
    pub(super) by_id: HashMap<JsString<'d>, usize>,
    /// Id, wave, and where the id stands.
    pub(super) tasks: Vec<(JsString<'d>, JsString<'d>, Span)>,
}

impl<'d> Declared<'d> {
    pub(super) fn with_capacity(n_tasks: usize) -> Self {
        Declared {
            by_id: HashMap::with_capacity(n_tasks),
            tasks: Vec::with_capacity(n_tasks),
        }
    }

    fn wave_of(&self, id: &JsString<'d>) -> Option<&JsString<'d>> {
        self.by_id.get(id).map(|&ix| &self.tasks[ix].1)
    }
}

impl<'d> Checker<'d, '_> {
    pub(super) fn read_wave(&mut self, position: usize, wave: JsView<'d>) {
        let mut error = |code: &str, message: JsString<'static>, at: JsView<'_>, id: Option<JsView<'_>>| {
            let mut finding = OriginalFinding::new(code, message, at.span());
            if let Some(id) = id {
                finding = finding.with("wave", id.to_value());
            }
            self.errors.push(finding);
        };
        if !wave.is_collection() {
            error(
                "task-pack-wave-invalid",
                "Each execution wave must be an object.".into(),
                wave,
                None,
            );
            return;
        }
        let Some(id) = wave.get("wave").filter(|id| !id.is_null_or_empty()) else {
            error(
                "task-pack-wave-missing-id",
                "Execution wave is missing wave id.".into(),
                wave,
                None,
            );
            return;
        };
        if !id.is_string_or_number() {
            let message = "Execution wave id must be a string or number.";
            error("task-pack-wave-id-invalid", message.into(), id, Some(id));
            return;
        }
        let key = id.to_js_string();
        let ix = match self.waves.by_key.get(&key) {
            Some(&ix) => {
                let message = js_text!["Duplicate execution wave '", key, "'."];
                error("task-pack-wave-duplicate", message, id, Some(id));
                ix
            }
            None => self.waves.declare(key),
        };
        self.waves.declared[ix].position = position;
        let tasks = wave.get("tasks");
        match tasks.filter(|tasks| tasks.is_array()) {
            Some(tasks) => self.waves.list(ix, tasks),
            None => {
                let at = tasks.unwrap_or(wave);
                let message = "Execution wave tasks must be an array.";
                error("task-pack-wave-tasks-invalid", message.into(), at, Some(id));
            }
        }
    }

    pub(super) fn check_dependencies(&mut self, task: &CheckedTask<'d>) {
        for value in task.elements(DEPENDENCIES) {
            let Some(dependency) = value.as_filled_string() else {
                continue;
            };
            let Some(wave) = self.declared.wave_of(&dependency) else {
                let mut finding = task.finding("task-pack-task-dependency-missing", "", value.span());
                finding.message = js_text!["Task '", task.name, "' depends on unknown task '", dependency, "'."];
                self.errors.push(finding.with("dependency", value.to_value()));
                continue;
            };
            if !self.is_before(wave, task) {
                let mut finding = task.finding("task-pack-task-dependency-wave-invalid", "", value.span());
                let end = "' in the same or a later wave.";
                finding.message = js_text!["Task '", task.name, "' depends on '", dependency, end];
                finding = finding.with("dependency", value.to_value());
                if let Some(wave) = task.get(WAVE) {
                    finding = finding.with("task_wave", wave.to_value());
                }
                self.errors
                    .push(finding.with("dependency_wave", JsValue::string(wave.clone())));
            }
        }
    }

    /// Returns true unless both waves are declared and the dependency's is at the task's position or after it.
    fn is_before(&self, dependency_wave: &JsString<'d>, task: &CheckedTask<'d>) -> bool {
        let id = task.get(TASK_ID).and_then(JsView::as_string);
        // A task that is declared twice counts where it was declared last.
        let own_wave = id.and_then(|id| self.declared.wave_of(&id));
        let own = own_wave.and_then(|wave| self.waves.position(wave));
        match (self.waves.position(dependency_wave), own) {
            (Some(theirs), Some(own)) => theirs < own,
            _ => true,
        }
    }

    pub(super) fn check_wave_lists(&mut self) {
        let mut appearances = Appearances::default();
        for &ix in &self.waves.listed {
            let wave = &self.waves.declared[ix];
            let mut seen = HashSet::new();
            for value in wave.tasks.into_iter().flat_map(JsView::elements) {
                let mut error = |code: &str, message: JsString<'static>| {
                    let finding = OriginalFinding::new(code, message, value.span());
                    let finding = finding.with("wave", JsValue::string(wave.key.clone()));
                    self.errors.push(finding.with("task_id", value.to_value()));
                };
                let Some(id) = value.as_filled_string() else {
                    let message = js_text!["Wave '", wave.key, "' task entries must be non-empty strings."];
                    error("task-pack-wave-task-id-invalid", message);
                    continue;
                };
                if seen.insert(id.clone()) {
                    appearances.add(&id, ix, value.span());
                } else {
                    let message = js_text!["Wave '", wave.key, "' lists duplicate task '", id, "'."];
                    error("task-pack-wave-task-duplicate", message);
                }
                if !self.declared.by_id.contains_key(&id) {
                    let message = js_text!["Wave '", wave.key, "' references unknown task '", id, "'."];
                    error("task-pack-wave-task-missing", message);
                }
            }
        }
        self.check_appearances(&appearances);
        self.check_all_listed();
    }

    fn check_appearances(&mut self, appearances: &Appearances<'d>) {
        for (id, places) in &appearances.tasks {
            let key = |ix: usize| &self.waves.declared[ix].key;
            let id_value = JsValue::string(id.clone());
            if let [_, (_, second), ..] = places.as_slice() {
                let message = js_text!["Task '", id, "' is listed in multiple execution waves."];
                let waves = places.iter().map(|&(ix, _)| JsValue::string(key(ix).clone())).collect();
                let finding = OriginalFinding::new("task-pack-wave-task-multiple-waves", message, *second)
                    .with("task_id", id_value.clone())
                    .with("waves", JsValue::nowhere(JsData::Array(waves)));
                self.errors.push(finding);
            }
            let Some(declared) = self.declared.wave_of(id) else {
                continue;
            };
            for &(ix, span) in places.iter().filter(|&&(ix, _)| key(ix) != declared) {
                let listed = key(ix);
                let message = js_text![
                    "Task '",
                    id,
                    "' is listed in wave '",
                    listed,
                    "' but declares wave '",
                    declared,
                    "'."
                ];
                let finding = OriginalFinding::new("task-pack-task-wave-list-mismatch", message, span)
                    .with("task_id", id_value.clone())
                    .with("listed_wave", JsValue::string(listed.clone()))
                    .with("declared_wave", JsValue::string(declared.clone()));
                self.errors.push(finding);
            }
        }
    }

    fn check_all_listed(&mut self) {
        for (id, wave, span) in &self.declared.tasks {
            let Some(&ix) = self.waves.by_key.get(wave) else {
                continue;
            };
            let list = &self.waves.declared[ix];
            if list.tasks.is_some() && !list.members.contains(id) {
                let end = "' but is not listed in that execution wave.";
                let message = js_text!["Task '", id, "' declares wave '", wave, end];
                let finding = OriginalFinding::new("task-pack-task-wave-not-listed", message, *span)
                    .with("wave", JsValue::string(wave.clone()))
                    .with("task_id", JsValue::string(id.clone()));
                self.errors.push(finding);
            }
        }
    }

    pub(super) fn check_file_overlap(&mut self, tasks: &[CheckedTask<'d>]) {
        let mut by_wave: HashMap<&JsString<'d>, usize> = HashMap::new();
        let mut groups: Vec<Vec<&CheckedTask<'d>>> = Vec::new();
        for task in tasks {
            let ix = *by_wave.entry(&task.wave).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[ix].push(task);
        }
        for group in groups {
            self.check_group_overlap(&group);
        }
    }

    fn check_group_overlap(&mut self, tasks: &[&CheckedTask<'d>]) {
        let mut owners: HashMap<JsString<'d>, Option<JsView<'d>>> = HashMap::new();
        for task in tasks {
            let id = task.get(TASK_ID);
            for file in task.elements(FILES) {
                let Some(name) = concrete_file(file) else {
                    continue;
                };
                let entry = match owners.entry(name) {
                    Entry::Occupied(entry) => entry,
                    Entry::Vacant(vacant) => {
                        vacant.insert(id);
                        continue;
                    }
                };
                let (owner, name) = (*entry.get(), entry.key());
                let shown = |id: Option<JsView<'d>>| id.map_or_else(|| "undefined".into(), JsView::to_js_string);
                let (first, second) = (shown(owner), shown(id));
                let message = js_text![
                    "Tasks '",
                    first,
                    "' and '",
                    second,
                    "' share file '",
                    name,
                    "' in wave '",
                    task.wave,
                    "'."
                ];
                let ids = [owner, id].map(|id| id.map_or_else(JsValue::null, JsView::to_value));
                let finding = OriginalFinding::new("task-pack-same-wave-file-overlap", message, file.span())
                    .with("wave", JsValue::string(task.wave.clone()))
                    .with("file", file.to_value())
                    .with("task_ids", JsValue::nowhere(JsData::Array(ids.to_vec())));
                self.errors.push(finding);
            }
        }
    }
}

impl<'d> DeclaredWaves<'d> {
    fn declare(&mut self, key: JsString<'d>) -> usize {
        let ix = self.declared.len();
        self.by_key.insert(key.clone(), ix);
        self.declared.push(DeclaredWave {
            key,
            position: 0,
            tasks: None,
            members: HashSet::new(),
        });
        ix
    }

    /// Gives a wave its list of tasks; a later list replaces an earlier one at the earlier one's place.
    fn list(&mut self, ix: usize, tasks: JsView<'d>) {
        let wave = &mut self.declared[ix];
        if wave.tasks.is_none() {
            self.listed.push(ix);
        }
        wave.tasks = Some(tasks);
        wave.members = tasks.elements().filter_map(JsView::as_string).collect();
    }

    fn position(&self, key: &JsString<'d>) -> Option<usize> {
        self.by_key.get(key).map(|&ix| self.declared[ix].position)
    }
}

/// In which waves each task id is listed, both in the order of their first appearance.
#[derive(Default)]
struct Appearances<'d> {
    by_id: HashMap<JsString<'d>, usize>,
    tasks: Vec<(JsString<'d>, Vec<(usize, Span)>)>,
}

impl<'d> Appearances<'d> {
    fn add(&mut self, id: &JsString<'d>, wave_ix: usize, span: Span) {
        let ix = *self.by_id.entry(id.clone()).or_insert_with(|| {
            self.tasks.push((id.clone(), Vec::new()));
            self.tasks.len() - 1
        });
        self.tasks[ix].1.push((wave_ix, span));
    }
}
