//! Checks tasks against waves: membership, order of dependencies, shared files.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::super::finding::{ContractFindings, OriginalFinding};
use super::super::js::{JsString, JsValue, JsView};
use super::task::{CheckedTask, concrete_file};
use crate::plan::Field;
use crate::text::Span;

/// The waves and tasks that a contract declares.
pub(super) struct Declarations<'d> {
    wave_by_key: HashMap<JsString<'d>, usize>,
    waves: Vec<DeclaredWave<'d>>,
    /// Waves with a list of tasks, in the order in which they first had one.
    listed: Vec<usize>,
    task_by_id: HashMap<JsString<'d>, usize>,
    /// Each task id in order, with the wave of its last declaration and the span of its first.
    tasks: Vec<(JsString<'d>, JsString<'d>, Span)>,
}

struct DeclaredWave<'d> {
    /// Its id as text.
    key: JsString<'d>,
    /// The position in `execution_waves` of the last wave with this id.
    position: usize,
    /// The list, an array.
    tasks: Option<JsView<'d>>,
}

impl<'d> Declarations<'d> {
    pub(super) fn with_capacity(n_tasks: usize) -> Self {
        Declarations {
            wave_by_key: HashMap::new(),
            waves: Vec::new(),
            listed: Vec::new(),
            task_by_id: HashMap::with_capacity(n_tasks),
            tasks: Vec::with_capacity(n_tasks),
        }
    }

    fn wave_of(&self, id: &JsString<'d>) -> Option<&JsString<'d>> {
        self.task_by_id.get(id).map(|&ix| &self.tasks[ix].1)
    }

    fn position(&self, key: &JsString<'d>) -> Option<usize> {
        self.wave_by_key.get(key).map(|&ix| self.waves[ix].position)
    }

    pub(super) fn read_wave(&mut self, position: usize, wave: JsView<'d>, findings: &mut ContractFindings<'_>) {
        let mut error = |code: &str, message: JsString<'static>, at: JsView<'_>, id: Option<JsView<'_>>| {
            let mut finding = OriginalFinding::new(format!("task-pack-wave-{code}"), message, at.span());
            finding.details.extend(id.map(|id| ("wave", id.to_value())));
            findings.error(finding);
        };
        if !wave.is_collection() {
            error("invalid", "Each execution wave must be an object.".into(), wave, None);
            return;
        }
        let Some(id) = wave.get("wave").filter(|id| !id.is_null_or_empty()) else {
            error("missing-id", "Execution wave is missing wave id.".into(), wave, None);
            return;
        };
        if !id.is_string_or_number() {
            let message = "Execution wave id must be a string or number.";
            error("id-invalid", message.into(), id, Some(id));
            return;
        }
        let ix = match self.wave_by_key.entry(id.to_js_string()) {
            Entry::Occupied(earlier) => {
                let message = JsString::filled("Duplicate execution wave '{}'.", &[earlier.key()]);
                error("duplicate", message, id, Some(id));
                *earlier.get()
            }
            Entry::Vacant(vacant) => {
                self.waves.push(DeclaredWave {
                    key: vacant.key().clone(),
                    position,
                    tasks: None,
                });
                *vacant.insert(self.waves.len() - 1)
            }
        };
        self.waves[ix].position = position;
        let tasks = wave.get("tasks");
        let Some(list) = tasks.filter(|tasks| tasks.is_array()) else {
            let message = "Execution wave tasks must be an array.";
            error("tasks-invalid", message.into(), tasks.unwrap_or(wave), Some(id));
            return;
        };
        // A later list replaces an earlier one in place.
        if self.waves[ix].tasks.replace(list).is_none() {
            self.listed.push(ix);
        }
    }

    pub(super) fn declare_task(&mut self, task: &CheckedTask<'d>, findings: &mut ContractFindings<'_>) {
        let Some(value) = task.get(Field::Id) else {
            return;
        };
        let Some(id) = value.as_filled_string() else {
            return;
        };
        match self.task_by_id.entry(id) {
            Entry::Occupied(earlier) => {
                let message = JsString::filled("Duplicate task_id '{}'.", &[earlier.key()]);
                let finding = OriginalFinding::new("task-pack-task-id-duplicate", message, value.span());
                findings.error(finding.with("task_id", value.to_value()));
                self.tasks[*earlier.get()].1 = task.wave.clone();
            }
            Entry::Vacant(vacant) => {
                let id = vacant.key().clone();
                vacant.insert(self.tasks.len());
                self.tasks.push((id, task.wave.clone(), value.span()));
            }
        }
    }

    /// Reports an undeclared wave.
    pub(super) fn check_wave(&self, task: &CheckedTask<'d>, findings: &mut ContractFindings<'_>) {
        if let Some(wave) = task
            .get(Field::Wave)
            .filter(|_| !self.wave_by_key.contains_key(&task.wave))
        {
            let sentence = "references a wave that is not declared.";
            let finding = task.finding("task-pack-task-wave-missing", sentence, &[], wave.span());
            findings.error(finding.with("wave", wave.to_value()));
        }
    }

    pub(super) fn check_dependencies(&self, task: &CheckedTask<'d>, findings: &mut ContractFindings<'_>) {
        for value in task.elements(Field::Dependencies) {
            let Some(dependency) = value.as_filled_string() else {
                continue;
            };
            let about = |code: &str, sentence: &str| {
                let finding = task.finding(code, sentence, &[&dependency], value.span());
                finding.with("dependency", value.to_value())
            };
            let Some(wave) = self.wave_of(&dependency) else {
                let code = "task-pack-task-dependency-missing";
                findings.error(about(code, "depends on unknown task '{}'."));
                continue;
            };
            if !self.is_before(wave, task) {
                let code = "task-pack-task-dependency-wave-invalid";
                let mut finding = about(code, "depends on '{}' in the same or a later wave.");
                let own = task.get(Field::Wave).map(|own| ("task_wave", own.to_value()));
                finding.details.extend(own);
                findings.error(finding.with("dependency_wave", JsValue::string(wave.clone())));
            }
        }
    }

    /// Returns true unless both waves are declared and the dependency's is at the task's position or after it.
    fn is_before(&self, dependency_wave: &JsString<'d>, task: &CheckedTask<'d>) -> bool {
        let id = task.get(Field::Id).and_then(JsView::as_string);
        // The last declaration of a task counts.
        let own_wave = id.and_then(|id| self.wave_of(&id));
        let own = own_wave.and_then(|wave| self.position(wave));
        match (self.position(dependency_wave), own) {
            (Some(theirs), Some(own)) => theirs < own,
            _ => true,
        }
    }

    pub(super) fn check_wave_lists(&self, findings: &mut ContractFindings<'_>) {
        let mut appearances = Appearances::default();
        for &ix in &self.listed {
            let wave = &self.waves[ix];
            let mut seen = HashSet::new();
            for value in wave.tasks.into_iter().flat_map(JsView::elements) {
                let id = value.as_filled_string();
                let mut error = |code: &str, rest: &str| {
                    let parts: Vec<_> = [&wave.key].into_iter().chain(&id).collect();
                    let message = JsString::filled(&format!("Wave '{{}}' {rest}"), &parts);
                    let finding = OriginalFinding::new(format!("task-pack-wave-task-{code}"), message, value.span());
                    let finding = finding.with("wave", JsValue::string(wave.key.clone()));
                    findings.error(finding.with("task_id", value.to_value()));
                };
                let Some(id) = &id else {
                    error("id-invalid", "task entries must be non-empty strings.");
                    continue;
                };
                if seen.insert(id.clone()) {
                    appearances.add(id, ix, value.span());
                } else {
                    error("duplicate", "lists duplicate task '{}'.");
                }
                if !self.task_by_id.contains_key(id) {
                    error("missing", "references unknown task '{}'.");
                }
            }
        }
        self.check_appearances(&appearances, findings);
        self.check_all_listed(&appearances, findings);
    }

    fn check_appearances(&self, appearances: &Appearances<'d>, findings: &mut ContractFindings<'_>) {
        for (id, places) in &appearances.tasks {
            let key = |ix: usize| &self.waves[ix].key;
            let error = |code: &str, template: &str, parts: &[&JsString<'_>], span: Span| {
                let message = JsString::filled(template, parts);
                OriginalFinding::new(code, message, span).with("task_id", JsValue::string(id.clone()))
            };
            if let [_, (_, second), ..] = places.as_slice() {
                let code = "task-pack-wave-task-multiple-waves";
                let template = "Task '{}' is listed in multiple execution waves.";
                let waves = places.iter().map(|&(ix, _)| JsValue::string(key(ix).clone()));
                let waves = JsValue::Array(waves.collect());
                findings.error(error(code, template, &[id], *second).with("waves", waves));
            }
            let Some(declared) = self.wave_of(id) else {
                continue;
            };
            for &(ix, span) in places.iter().filter(|&&(ix, _)| key(ix) != declared) {
                let (code, listed) = ("task-pack-task-wave-list-mismatch", key(ix));
                let template = "Task '{}' is listed in wave '{}' but declares wave '{}'.";
                let finding = error(code, template, &[id, listed, declared], span)
                    .with("listed_wave", JsValue::string(listed.clone()))
                    .with("declared_wave", JsValue::string(declared.clone()));
                findings.error(finding);
            }
        }
    }

    fn check_all_listed(&self, appearances: &Appearances<'d>, findings: &mut ContractFindings<'_>) {
        for (id, wave, span) in &self.tasks {
            let Some(&ix) = self.wave_by_key.get(wave) else {
                continue;
            };
            if self.waves[ix].tasks.is_some() && !appearances.are_in(id, ix) {
                let template = "Task '{}' declares wave '{}' but is not listed in that execution wave.";
                let message = JsString::filled(template, &[id, wave]);
                let finding = OriginalFinding::new("task-pack-task-wave-not-listed", message, *span)
                    .with("wave", JsValue::string(wave.clone()))
                    .with("task_id", JsValue::string(id.clone()));
                findings.error(finding);
            }
        }
    }
}

/// Reports files that two tasks of one wave own.
pub(super) fn check_file_overlap(tasks: &[CheckedTask<'_>], findings: &mut ContractFindings<'_>) {
    let mut by_wave: HashMap<&JsString<'_>, usize> = HashMap::new();
    let mut groups: Vec<Vec<&CheckedTask<'_>>> = Vec::new();
    for task in tasks {
        let ix = *by_wave.entry(&task.wave).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[ix].push(task);
    }
    for group in groups {
        check_group_overlap(&group, findings);
    }
}

fn check_group_overlap<'d>(tasks: &[&CheckedTask<'d>], findings: &mut ContractFindings<'_>) {
    let mut owners: HashMap<JsString<'d>, Option<JsView<'d>>> = HashMap::new();
    for task in tasks {
        let id = task.get(Field::Id);
        for file in task.elements(Field::Files) {
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
            let both = [*entry.get(), id];
            let [first, second] = both.map(|id| id.map_or_else(|| "undefined".into(), JsView::to_js_string));
            let template = "Tasks '{}' and '{}' share file '{}' in wave '{}'.";
            let message = JsString::filled(template, &[&first, &second, entry.key(), &task.wave]);
            let ids = both.map(|id| id.map_or(JsValue::Null, JsView::to_value));
            let finding = OriginalFinding::new("task-pack-same-wave-file-overlap", message, file.span())
                .with("wave", JsValue::string(task.wave.clone()))
                .with("file", file.to_value())
                .with("task_ids", JsValue::Array(ids.to_vec()));
            findings.error(finding);
        }
    }
}

/// The waves that list each task id, both in the order of their first appearance.
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

    /// Returns whether a wave lists a task.
    fn are_in(&self, id: &JsString<'d>, wave_ix: usize) -> bool {
        let places = self.by_id.get(id).map(|&ix| &self.tasks[ix].1);
        places.is_some_and(|places| places.iter().any(|(ix, _)| *ix == wave_ix))
    }
}
