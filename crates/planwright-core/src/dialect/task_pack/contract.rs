//! The contract's structure, checked as the original checks it: the same codes, sentences and order.
//! Every look-up is by hash, so that a large or hostile contract takes no longer than its length.

use std::collections::{HashMap, HashSet};

use super::js::{Data, JsString, Value, js_text};
use super::original::Finding;
use super::paths::{is_concrete, is_runtime_mirror, is_secret, is_side_effect_pattern, is_target_scope};
use crate::text::Span;

/// The one version there is.
pub const SCHEMA_VERSION: &str = "task-pack/v1";

/// The fields that every task must have, in the order in which they are asked for.
pub const REQUIRED_FIELDS: [&str; 8] = [
    "task_id",
    "dependencies",
    "files",
    "goal",
    "test_focus",
    "done_signal",
    "wave",
    "stop_if",
];

/// The fields that a task may have as well.
pub const OPTIONAL_FIELDS: [&str; 12] = [
    "source_unit",
    "requirement_refs",
    "context_refs",
    "entry_hint",
    "parallelizable",
    "expected_side_effects",
    "risk_note",
    "notes",
    "review_gate",
    "review_focus",
    "handoff_owner",
    "target_repo",
];

/// Checks a contract; `directories` are the listed files that are directories on the disk.
pub(super) fn check(
    contract: &Value,
    directories: &HashSet<String>,
    errors: &mut Vec<Finding>,
    limitations: &mut Vec<Finding>,
) {
    let Some((tasks, waves)) = check_frame(contract, errors) else {
        return;
    };
    let mut checker = Checker {
        directories,
        errors,
        limitations,
        waves: Waves::default(),
        declared: Declared::default(),
    };
    for (position, wave) in waves.iter().enumerate() {
        checker.read_wave(position, wave);
    }
    let tasks: Vec<Task<'_>> = tasks.iter().filter_map(|task| checker.read_task(task)).collect();
    for task in &tasks {
        checker.check_dependencies(task);
    }
    checker.check_wave_lists();
    checker.check_file_overlap(&tasks);
}

/// Checks the outermost members; returns the tasks and waves where both are arrays.
fn check_frame<'c>(contract: &'c Value, errors: &mut Vec<Finding>) -> Option<(&'c [Value], &'c [Value])> {
    let mut error = |code: &str, message: &str, at: Option<&Value>| {
        let span = at.map_or(contract.span, |value| value.span);
        errors.push(Finding::new(code, message, span));
    };
    if !matches!(contract.data, Data::Object(_) | Data::Array(_)) {
        let message = "Task Pack Contract must be a JSON object.";
        error("task-pack-contract-invalid", message, None);
        return None;
    }
    let version = contract.get("schema_version");
    if !version
        .and_then(Value::as_string)
        .is_some_and(|text| *text == *SCHEMA_VERSION)
    {
        let message = "Task Pack Contract schema_version must be task-pack/v1.";
        error("task-pack-contract-schema-version-invalid", message, version);
    }
    let tasks = contract.get("tasks");
    let Some(task_list) = tasks.and_then(Value::as_array) else {
        let message = "Task Pack Contract tasks must be an array.";
        error("task-pack-contract-tasks-invalid", message, tasks);
        return None;
    };
    if task_list.is_empty() {
        let message = "Task Pack Contract tasks must include at least one task.";
        error("task-pack-contract-tasks-empty", message, tasks);
    }
    let waves = contract.get("execution_waves");
    let Some(wave_list) = waves.and_then(Value::as_array) else {
        let message = "Task Pack Contract execution_waves must be an array.";
        error("task-pack-contract-execution-waves-invalid", message, waves);
        return None;
    };
    if wave_list.is_empty() {
        let message = "Task Pack Contract execution_waves must include at least one wave.";
        error("task-pack-contract-execution-waves-empty", message, waves);
    }
    Some((task_list, wave_list))
}

/// A task that is an object, with what every finding about it says.
struct Task<'c> {
    value: &'c Value,
    /// Its id as text, `<unknown>` where falsy.
    name: JsString,
    /// `String(task.wave)`.
    wave: JsString,
}

impl<'c> Task<'c> {
    fn get(&self, field: &str) -> Option<&'c Value> {
        self.value.get(field)
    }

    fn list(&self, field: &str) -> Option<&'c [Value]> {
        self.get(field).and_then(Value::as_array)
    }

    /// Returns a finding whose sentence goes on after the task's name and whose first detail is its id.
    fn finding(&self, code: impl Into<String>, sentence: &str, span: Span) -> Finding {
        let message = js_text!["Task '", self.name, "' ", sentence];
        let id = self.get("task_id").filter(|id| id.is_truthy());
        Finding::new(code, message, span).with("task_id", id.cloned().unwrap_or_else(Value::null))
    }

    /// Returns a finding about a field, placed at its value or else at the task.
    fn field_finding(&self, code: String, field: &'static str, sentence: &str) -> Finding {
        let span = self.get(field).map_or(self.place(), |value| value.span);
        self.finding(code, sentence, span).with("field", Value::string(field))
    }

    /// Returns the place of the id, or of the task where it has none.
    fn place(&self) -> Span {
        self.get("task_id").unwrap_or(self.value).span
    }
}

/// The waves as declared, by their id as text.
#[derive(Default)]
struct Waves<'c> {
    by_key: HashMap<JsString, usize>,
    declared: Vec<Wave<'c>>,
    /// Waves with a list of tasks, in the order in which they first had one.
    listed: Vec<usize>,
}

struct Wave<'c> {
    key: JsString,
    /// The position in `execution_waves` of the last wave with this id.
    position: usize,
    tasks: Option<&'c [Value]>,
    /// The task ids in the list.
    members: HashSet<&'c JsString>,
}

/// The declared task ids in order, each with the wave of its last declaration.
#[derive(Default)]
struct Declared<'c> {
    by_id: HashMap<&'c JsString, usize>,
    tasks: Vec<(&'c JsString, JsString, Span)>,
}

impl Declared<'_> {
    fn wave_of(&self, id: &JsString) -> Option<&JsString> {
        self.by_id.get(id).map(|&ix| &self.tasks[ix].1)
    }
}

struct Checker<'c, 'o> {
    directories: &'o HashSet<String>,
    errors: &'o mut Vec<Finding>,
    limitations: &'o mut Vec<Finding>,
    waves: Waves<'c>,
    declared: Declared<'c>,
}

impl<'c> Checker<'c, '_> {
    fn read_wave(&mut self, position: usize, wave: &'c Value) {
        let mut error = |code: &str, message: JsString, at: &Value, id: Option<&Value>| {
            let mut finding = Finding::new(code, message, at.span);
            finding.details.extend(id.map(|id| ("wave", id.clone())));
            self.errors.push(finding);
        };
        if !matches!(wave.data, Data::Object(_) | Data::Array(_)) {
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
        match wave.get("tasks").and_then(Value::as_array) {
            Some(tasks) => self.waves.list(ix, tasks),
            None => {
                let at = wave.get("tasks").unwrap_or(wave);
                let message = "Execution wave tasks must be an array.";
                error("task-pack-wave-tasks-invalid", message.into(), at, Some(id));
            }
        }
    }

    /// Checks one task by itself; none where it is no object.
    fn read_task(&mut self, value: &'c Value) -> Option<Task<'c>> {
        if value.as_object().is_none() {
            let finding = Finding::new("task-pack-task-invalid", "Each task must be an object.", value.span);
            self.errors.push(finding);
            return None;
        }
        let id = value.get("task_id").filter(|id| id.is_truthy());
        let task = Task {
            value,
            name: id.map_or_else(|| "<unknown>".into(), Value::to_js_string),
            wave: value
                .get("wave")
                .map_or_else(|| "undefined".into(), Value::to_js_string),
        };
        self.note_unknown_fields(&task);
        self.check_texts(&task);
        self.check_options(&task);
        self.check_presence(&task);
        self.declare(&task);
        self.check_wave_type(&task);
        self.check_dependency_list(&task);
        self.check_files(&task);
        self.check_text_list(&task, "requirement_refs");
        self.check_text_list(&task, "context_refs");
        self.check_side_effects(&task);
        self.check_wave_declared(&task);
        Some(task)
    }

    fn note_unknown_fields(&mut self, task: &Task<'c>) {
        for member in task.value.as_object().unwrap_or(&[]) {
            let is_known = |field: &str| member.key == *field;
            if !REQUIRED_FIELDS
                .iter()
                .chain(&OPTIONAL_FIELDS)
                .any(|field| is_known(field))
            {
                let mut finding = task.finding("task-pack-task-unknown-field", "", member.key_span);
                finding.message = js_text!["Task '", task.name, "' has unknown field '", member.key, "'."];
                self.limitations
                    .push(finding.with("field", Value::string(member.key.clone())));
            }
        }
    }

    fn check_texts(&mut self, task: &Task<'c>) {
        for field in ["task_id", "goal", "test_focus", "done_signal", "stop_if"] {
            self.check_text(task, field, "must be a non-empty string.");
        }
        for field in ["source_unit", "entry_hint", "risk_note", "notes", "handoff_owner"] {
            self.check_text(task, field, "must be a non-empty string when provided.");
        }
    }

    /// Reports a field that is there and not a string with something in it.
    fn check_text(&mut self, task: &Task<'c>, field: &'static str, sentence: &str) {
        let present = task.get(field).filter(|value| !value.is_null_or_empty());
        if present.is_some_and(|value| value.as_filled_string().is_none()) {
            let sentence = format!("'{field}' {sentence}");
            self.errors
                .push(task.field_finding(code(field, "-invalid"), field, &sentence));
        }
    }

    fn check_options(&mut self, task: &Task<'c>) {
        self.check_target_repo(task);
        let gate = task.get("review_gate");
        let is_gate = |value: &Value| {
            value
                .as_string()
                .is_some_and(|text| *text == *"optional" || *text == *"required")
        };
        if gate.is_some_and(|value| !is_gate(value)) {
            let sentence = "'review_gate' must be 'optional' or 'required' when provided.";
            self.errors
                .push(task.field_finding(code("review_gate", "-invalid"), "review_gate", sentence));
        }
        self.check_text(task, "review_focus", "must be a non-empty string when provided.");
        let parallelizable = task.get("parallelizable");
        if parallelizable.is_some_and(|value| !matches!(value.data, Data::Bool(_))) {
            let sentence = "'parallelizable' must be a boolean when provided.";
            let finding = task.field_finding(code("parallelizable", "-invalid"), "parallelizable", sentence);
            self.errors.push(finding);
        }
    }

    fn check_target_repo(&mut self, task: &Task<'c>) {
        let field = "target_repo";
        let Some(value) = task.get(field).filter(|value| !value.is_null_or_empty()) else {
            return;
        };
        let Some(scope) = value.as_filled_string() else {
            self.check_text(task, field, "must be a non-empty string.");
            return;
        };
        if !is_target_scope(&scope.text()) {
            let sentence = "'target_repo' must be a safe repo-relative scope.";
            let finding = task.field_finding(code(field, "-invalid"), field, sentence);
            self.errors.push(finding.with("value", value.clone()));
        }
    }

    fn check_presence(&mut self, task: &Task<'c>) {
        for field in REQUIRED_FIELDS {
            if task.get(field).is_none_or(Value::is_null_or_empty) {
                let code = format!("task-pack-task-missing-{}", field.replace('_', "-"));
                let sentence = format!("is missing '{field}'.");
                self.errors.push(task.field_finding(code, field, &sentence));
            }
        }
        let has_unit = task.get("source_unit").is_some_and(Value::is_truthy);
        let has_refs = task.list("requirement_refs").is_some_and(|refs| !refs.is_empty());
        if !has_unit && !has_refs {
            let code = "task-pack-task-missing-source-anchor";
            let sentence = "must include source_unit or requirement_refs.";
            self.errors.push(task.finding(code, sentence, task.place()));
        }
    }

    fn declare(&mut self, task: &Task<'c>) {
        let Some(value) = task.get("task_id") else {
            return;
        };
        let Some(id) = value.as_filled_string() else {
            return;
        };
        match self.declared.by_id.get(id) {
            Some(&ix) => {
                let message = js_text!["Duplicate task_id '", id, "'."];
                let finding = Finding::new("task-pack-task-id-duplicate", message, value.span);
                self.errors.push(finding.with("task_id", value.clone()));
                self.declared.tasks[ix].1 = task.wave.clone();
            }
            None => {
                self.declared.by_id.insert(id, self.declared.tasks.len());
                self.declared.tasks.push((id, task.wave.clone(), value.span));
            }
        }
    }

    fn check_wave_type(&mut self, task: &Task<'c>) {
        let wave = task.get("wave").filter(|wave| !wave.is_null_or_empty());
        if let Some(wave) = wave.filter(|wave| !wave.is_string_or_number()) {
            let sentence = "wave must be a string or number.";
            let finding = task.finding("task-pack-task-wave-invalid", sentence, wave.span);
            self.errors.push(finding.with("wave", wave.clone()));
        }
    }

    fn check_dependency_list(&mut self, task: &Task<'c>) {
        if task.list("dependencies").is_some() {
            self.check_text_list(task, "dependencies");
            return;
        }
        let span = task.get("dependencies").map_or(task.place(), |value| value.span);
        let sentence = "dependencies must be an array.";
        self.errors
            .push(task.finding("task-pack-task-dependencies-invalid", sentence, span));
    }

    /// Checks a field that may be absent or null and else is a list of strings.
    fn check_text_list(&mut self, task: &Task<'c>, field: &'static str) {
        let Some(value) = task.get(field).filter(|value| !matches!(value.data, Data::Null)) else {
            return;
        };
        let Some(items) = value.as_array() else {
            let sentence = format!("'{field}' must be an array.");
            self.errors
                .push(task.field_finding(code(field, "-invalid"), field, &sentence));
            return;
        };
        let sentence = format!("'{field}' entries must be non-empty strings.");
        for item in items.iter().filter(|item| item.as_filled_string().is_none()) {
            let finding = task.finding(code(field, "-item-invalid"), &sentence, item.span);
            let finding = finding.with("field", Value::string(field));
            self.errors.push(finding.with("value", item.clone()));
        }
    }

    fn check_files(&mut self, task: &Task<'c>) {
        let span = task.get("files").map_or(task.place(), |value| value.span);
        match task.list("files") {
            None => {
                let sentence = "files must be an array.";
                self.errors
                    .push(task.finding("task-pack-task-files-invalid", sentence, span));
            }
            Some([]) => {
                let sentence = "files must include at least one concrete repo-relative file path.";
                self.errors
                    .push(task.finding("task-pack-task-files-empty", sentence, span));
            }
            Some(files) => {
                let mut seen = HashSet::new();
                for file in files {
                    self.check_file(task, file, &mut seen);
                }
            }
        }
    }

    fn check_file(&mut self, task: &Task<'c>, file: &'c Value, seen: &mut HashSet<&'c JsString>) {
        let mut error = |code: &str, sentence: &str| {
            let finding = task.finding(code, sentence, file.span);
            self.errors.push(finding.with("file", file.clone()));
        };
        let Some(name) = concrete_file(file) else {
            let sentence = "has non-concrete repo-relative file path.";
            error("task-pack-task-file-not-concrete", sentence);
            return;
        };
        let path = name.text();
        if is_runtime_mirror(&path) {
            let sentence = "file points at a generated runtime mirror path.";
            error("task-pack-task-file-generated-runtime", sentence);
        }
        if is_secret(&path) {
            error(
                "task-pack-task-file-secret-denied",
                "file points at a secret-denied path.",
            );
        }
        if self.directories.contains(&*path) {
            error("task-pack-task-file-is-directory", "file path points to a directory.");
        }
        if !seen.insert(name) {
            let mut finding = task.finding("task-pack-task-file-duplicate", "", file.span);
            finding.message = js_text!["Task '", task.name, "' lists duplicate file '", name, "'."];
            self.errors.push(finding.with("file", file.clone()));
        }
    }

    fn check_side_effects(&mut self, task: &Task<'c>) {
        let field = "expected_side_effects";
        let Some(value) = task.get(field).filter(|value| !matches!(value.data, Data::Null)) else {
            return;
        };
        let Some(items) = value.as_array() else {
            let sentence = "'expected_side_effects' must be an array.";
            self.errors
                .push(task.field_finding(code(field, "-invalid"), field, sentence));
            return;
        };
        let is_allowed = |item: &Value| {
            item.as_string()
                .is_some_and(|text| is_side_effect_pattern(&text.text()))
        };
        for item in items.iter().filter(|item| !is_allowed(item)) {
            let sentence =
                "expected_side_effects entries must be repo-relative exact paths or bounded globs without **.";
            let finding = task.finding("task-pack-task-expected-side-effect-invalid", sentence, item.span);
            let finding = finding.with("field", Value::string(field));
            self.errors.push(finding.with("value", item.clone()));
        }
    }

    fn check_wave_declared(&mut self, task: &Task<'c>) {
        let Some(wave) = task.get("wave") else {
            return;
        };
        if !self.waves.by_key.contains_key(&task.wave) {
            let sentence = "references a wave that is not declared.";
            let finding = task.finding("task-pack-task-wave-missing", sentence, wave.span);
            self.errors.push(finding.with("wave", wave.clone()));
        }
    }

    fn check_dependencies(&mut self, task: &Task<'c>) {
        for value in task.list("dependencies").unwrap_or(&[]) {
            let Some(dependency) = value.as_filled_string() else {
                continue;
            };
            let Some(wave) = self.declared.wave_of(dependency) else {
                let mut finding = task.finding("task-pack-task-dependency-missing", "", value.span);
                finding.message = js_text!["Task '", task.name, "' depends on unknown task '", dependency, "'."];
                self.errors.push(finding.with("dependency", value.clone()));
                continue;
            };
            if !self.is_before(wave, task) {
                let mut finding = task.finding("task-pack-task-dependency-wave-invalid", "", value.span);
                let end = "' in the same or a later wave.";
                finding.message = js_text!["Task '", task.name, "' depends on '", dependency, end];
                finding = finding.with("dependency", value.clone());
                finding
                    .details
                    .extend(task.get("wave").map(|wave| ("task_wave", wave.clone())));
                self.errors
                    .push(finding.with("dependency_wave", Value::string(wave.clone())));
            }
        }
    }

    /// Returns true unless both waves are declared and the dependency's is at the task's position or after it.
    fn is_before(&self, dependency_wave: &JsString, task: &Task<'c>) -> bool {
        let id = task.get("task_id").and_then(Value::as_string);
        // A task that is declared twice counts where it was declared last.
        let own_wave = id.and_then(|id| self.declared.wave_of(id));
        let own = own_wave.and_then(|wave| self.waves.position(wave));
        match (self.waves.position(dependency_wave), own) {
            (Some(theirs), Some(own)) => theirs < own,
            _ => true,
        }
    }

    fn check_wave_lists(&mut self) {
        let mut appearances = Appearances::default();
        for &ix in &self.waves.listed {
            let wave = &self.waves.declared[ix];
            let mut seen = HashSet::new();
            for value in wave.tasks.unwrap_or(&[]) {
                let mut error = |code: &str, message: JsString| {
                    let finding = Finding::new(code, message, value.span);
                    let finding = finding.with("wave", Value::string(wave.key.clone()));
                    self.errors.push(finding.with("task_id", value.clone()));
                };
                let Some(id) = value.as_filled_string() else {
                    let message = js_text!["Wave '", wave.key, "' task entries must be non-empty strings."];
                    error("task-pack-wave-task-id-invalid", message);
                    continue;
                };
                if seen.insert(id) {
                    appearances.add(id, ix, value.span);
                } else {
                    let message = js_text!["Wave '", wave.key, "' lists duplicate task '", id, "'."];
                    error("task-pack-wave-task-duplicate", message);
                }
                if !self.declared.by_id.contains_key(id) {
                    let message = js_text!["Wave '", wave.key, "' references unknown task '", id, "'."];
                    error("task-pack-wave-task-missing", message);
                }
            }
        }
        self.check_appearances(&appearances);
        self.check_all_listed();
    }

    fn check_appearances(&mut self, appearances: &Appearances<'c>) {
        for (id, places) in &appearances.tasks {
            let key = |ix: usize| &self.waves.declared[ix].key;
            let id_value = Value::string((*id).clone());
            if let [_, (_, second), ..] = places.as_slice() {
                let message = js_text!["Task '", id, "' is listed in multiple execution waves."];
                let waves = places.iter().map(|&(ix, _)| Value::string(key(ix).clone())).collect();
                let finding = Finding::new("task-pack-wave-task-multiple-waves", message, *second)
                    .with("task_id", id_value.clone())
                    .with("waves", Value::nowhere(Data::Array(waves)));
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
                let finding = Finding::new("task-pack-task-wave-list-mismatch", message, span)
                    .with("task_id", id_value.clone())
                    .with("listed_wave", Value::string(listed.clone()))
                    .with("declared_wave", Value::string(declared.clone()));
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
                let finding = Finding::new("task-pack-task-wave-not-listed", message, *span)
                    .with("wave", Value::string(wave.clone()))
                    .with("task_id", Value::string((*id).clone()));
                self.errors.push(finding);
            }
        }
    }

    fn check_file_overlap(&mut self, tasks: &[Task<'c>]) {
        let mut by_wave: HashMap<&JsString, usize> = HashMap::new();
        let mut groups: Vec<Vec<&Task<'c>>> = Vec::new();
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

    fn check_group_overlap(&mut self, tasks: &[&Task<'c>]) {
        let mut owners: HashMap<&JsString, Option<&Value>> = HashMap::new();
        for task in tasks {
            let id = task.get("task_id");
            for file in task.list("files").unwrap_or(&[]) {
                let Some(name) = concrete_file(file) else {
                    continue;
                };
                let Some(&owner) = owners.get(name) else {
                    owners.insert(name, id);
                    continue;
                };
                let shown = |id: Option<&Value>| id.map_or_else(|| "undefined".into(), Value::to_js_string);
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
                let ids = [owner, id].map(|id| id.cloned().unwrap_or_else(Value::null));
                let finding = Finding::new("task-pack-same-wave-file-overlap", message, file.span)
                    .with("wave", Value::string(task.wave.clone()))
                    .with("file", file.clone())
                    .with("task_ids", Value::nowhere(Data::Array(ids.to_vec())));
                self.errors.push(finding);
            }
        }
    }
}

impl<'c> Waves<'c> {
    fn declare(&mut self, key: JsString) -> usize {
        let ix = self.declared.len();
        self.by_key.insert(key.clone(), ix);
        self.declared.push(Wave {
            key,
            position: 0,
            tasks: None,
            members: HashSet::new(),
        });
        ix
    }

    /// Gives a wave its list of tasks; a later list replaces an earlier one at the earlier one's place.
    fn list(&mut self, ix: usize, tasks: &'c [Value]) {
        let wave = &mut self.declared[ix];
        if wave.tasks.is_none() {
            self.listed.push(ix);
        }
        wave.tasks = Some(tasks);
        wave.members = tasks.iter().filter_map(Value::as_string).collect();
    }

    fn position(&self, key: &JsString) -> Option<usize> {
        self.by_key.get(key).map(|&ix| self.declared[ix].position)
    }
}

/// In which waves each task id is listed, both in the order of their first appearance.
#[derive(Default)]
struct Appearances<'c> {
    by_id: HashMap<&'c JsString, usize>,
    tasks: Vec<(&'c JsString, Vec<(usize, Span)>)>,
}

impl<'c> Appearances<'c> {
    fn add(&mut self, id: &'c JsString, wave_ix: usize, span: Span) {
        let ix = *self.by_id.entry(id).or_insert_with(|| {
            self.tasks.push((id, Vec::new()));
            self.tasks.len() - 1
        });
        self.tasks[ix].1.push((wave_ix, span));
    }
}

/// Returns a file's name where it is a concrete path.
fn concrete_file(file: &Value) -> Option<&JsString> {
    file.as_string().filter(|name| is_concrete(&name.text()))
}

/// Returns the code of a finding about a task's field.
fn code(field: &str, ending: &str) -> String {
    format!("task-pack-task-{}{ending}", field.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::json;
    use crate::text::SourceText;

    const BASE: &str = r#""task_id": "T1", "source_unit": "U1", "goal": "g", "dependencies": [], "files": ["a.rs"],
        "test_focus": "f", "done_signal": "d", "wave": 1, "stop_if": "s""#;

    /// Returns a task like the base one; as the last of two equal keys counts, `more` can replace its members.
    fn task(more: &str) -> String {
        let comma = if more.is_empty() { "" } else { "," };
        format!("{{{BASE}{comma} {more}}}")
    }

    fn findings(contract: &str) -> (Vec<Finding>, Vec<Finding>) {
        let parsed = json::parse(&SourceText::new(contract));
        let value = Value::of(parsed.document.root().expect("the contract is JSON"));
        let directories = HashSet::from(["src".to_owned()]);
        let (mut errors, mut limitations) = (Vec::new(), Vec::new());
        check(&value, &directories, &mut errors, &mut limitations);
        (errors, limitations)
    }

    /// Returns the codes without what all of them begin with.
    fn codes(found: &[Finding]) -> Vec<&str> {
        found
            .iter()
            .map(|finding| finding.code.trim_start_matches("task-pack-"))
            .collect()
    }

    #[track_caller]
    fn check_contract(waves: &str, tasks: &[String], expect: &[&str]) -> Vec<Finding> {
        let tasks = tasks.join(",");
        let text = format!(r#"{{"schema_version": "task-pack/v1", "execution_waves": {waves}, "tasks": [{tasks}]}}"#);
        let (errors, _) = findings(&text);
        assert_eq!(codes(&errors), expect, "{text}");
        errors
    }

    /// Checks one task in the one wave that lists it.
    #[track_caller]
    fn check_task(more: &str, expect: &[&str]) -> Vec<Finding> {
        check_contract(r#"[{"wave": 1, "tasks": ["T1"]}]"#, &[task(more)], expect)
    }

    /// Returns the details as JSON on one line.
    fn details(finding: &Finding) -> String {
        let shown = finding.details.iter().map(|(key, value)| {
            let mut printer = super::super::js::Printer::default();
            printer.value(value);
            format!("{key}={}", printer.finish().replace("\n  ", "").replace('\n', ""))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn frame_must_be_an_object_with_two_lists() {
        for (contract, expect) in [
            ("null", &["contract-invalid"][..]),
            ("\"x\"", &["contract-invalid"]),
            ("0", &["contract-invalid"]),
            ("true", &["contract-invalid"]),
            ("[]", &["contract-schema-version-invalid", "contract-tasks-invalid"]),
            ("{}", &["contract-schema-version-invalid", "contract-tasks-invalid"]),
            (
                r#"{"schema_version": ["task-pack/v1"], "tasks": {}, "execution_waves": []}"#,
                &["contract-schema-version-invalid", "contract-tasks-invalid"],
            ),
            (
                r#"{"schema_version": "task-pack/v1", "tasks": [], "execution_waves": null}"#,
                &["contract-tasks-empty", "contract-execution-waves-invalid"],
            ),
            (
                r#"{"schema_version": "task-pack/v1", "tasks": [], "execution_waves": []}"#,
                &["contract-tasks-empty", "contract-execution-waves-empty"],
            ),
        ] {
            assert_eq!(codes(&findings(contract).0), expect, "{contract}");
        }
    }

    #[test]
    fn texts_must_be_filled_where_present() {
        check_task("", &[]);
        for field in ["goal", "test_focus", "done_signal", "stop_if"] {
            let dashed = field.replace('_', "-");
            let invalid = format!("task-{dashed}-invalid");
            let missing = format!("task-missing-{dashed}");
            for value in [
                "0",
                "false",
                "true",
                "[]",
                "{}",
                "\" \"",
                "\"\\u00a0\\ufeff\"",
                "[\"x\"]",
            ] {
                check_task(&format!("\"{field}\": {value}"), &[&invalid]);
            }
            for value in ["null", "\"\""] {
                check_task(&format!("\"{field}\": {value}"), &[&missing]);
            }
            check_task(&format!("\"{field}\": \"\\u0085\""), &[]);
        }
        for field in [
            "source_unit",
            "entry_hint",
            "risk_note",
            "notes",
            "handoff_owner",
            "review_focus",
        ] {
            let invalid = format!("task-{}-invalid", field.replace('_', "-"));
            for value in ["0", "false", "true", "[]", "{}", "\"\\t\""] {
                let refs = "\"requirement_refs\": [\"R1\"]";
                check_task(&format!("{refs}, \"{field}\": {value}"), &[&invalid]);
            }
            check_task(&format!("\"requirement_refs\": [\"R1\"], \"{field}\": null"), &[]);
            check_task(&format!("\"requirement_refs\": [\"R1\"], \"{field}\": \"\""), &[]);
        }
    }

    #[test]
    fn options_are_strict_where_present() {
        for value in ["null", "\"\"", "\"Required\"", "[\"optional\"]", "true", "{}"] {
            check_task(&format!("\"review_gate\": {value}"), &["task-review-gate-invalid"]);
        }
        for value in ["null", "0", "1", "\"true\"", "[]"] {
            check_task(
                &format!("\"parallelizable\": {value}"),
                &["task-parallelizable-invalid"],
            );
        }
        check_task(r#""review_gate": "optional", "parallelizable": false"#, &[]);
        for value in [
            "0",
            "false",
            "[]",
            "{}",
            "\" \"",
            "\"..\"",
            "\"a/\"",
            "\".claude\"",
            "\".env\"",
            "\" a\"",
        ] {
            check_task(&format!("\"target_repo\": {value}"), &["task-target-repo-invalid"]);
        }
        for value in ["null", "\"\"", "\".\"", "\"packages/a\""] {
            check_task(&format!("\"target_repo\": {value}"), &[]);
        }
    }

    #[test]
    fn an_anchor_is_a_unit_or_a_reference() {
        check_task(r#""source_unit": null"#, &["task-missing-source-anchor"]);
        check_task(
            r#""source_unit": "", "requirement_refs": []"#,
            &["task-missing-source-anchor"],
        );
        check_task(
            r#""source_unit": 0, "requirement_refs": [""]"#,
            &["task-source-unit-invalid", "task-requirement-refs-item-invalid"],
        );
        check_task(
            r#""requirement_refs": "R1", "context_refs": {}"#,
            &["task-requirement-refs-invalid", "task-context-refs-invalid"],
        );
        check_task(
            r#""requirement_refs": null, "context_refs": [null, "x", " "]"#,
            &["task-context-refs-item-invalid", "task-context-refs-item-invalid"],
        );
    }

    #[test]
    fn lists_are_missing_and_invalid_at_once() {
        check_task(
            r#""dependencies": null, "files": """#,
            &[
                "task-missing-dependencies",
                "task-missing-files",
                "task-dependencies-invalid",
                "task-files-invalid",
            ],
        );
        check_task(
            r#""dependencies": {}, "files": []"#,
            &["task-dependencies-invalid", "task-files-empty"],
        );
        let found = check_task(
            r#""dependencies": [1, null, " "]"#,
            &["task-dependencies-item-invalid"; 3],
        );
        assert_eq!(details(&found[1]), r#"task_id="T1" field="dependencies" value=null"#);
    }

    #[test]
    fn files_are_checked_one_by_one() {
        check_task(
            r#""files": ["../a", 1, null, {"a": 1}, ".claude/.env", "src", "b", "b"]"#,
            &[
                "task-file-not-concrete",
                "task-file-not-concrete",
                "task-file-not-concrete",
                "task-file-not-concrete",
                "task-file-generated-runtime",
                "task-file-secret-denied",
                "task-file-is-directory",
                "task-file-duplicate",
                "same-wave-file-overlap",
            ],
        );
        check_task(
            r#""expected_side_effects": ["*", "**", 1, null, ".env"]"#,
            &[
                "task-expected-side-effect-invalid",
                "task-expected-side-effect-invalid",
                "task-expected-side-effect-invalid",
                "task-expected-side-effect-invalid",
            ],
        );
        check_task(
            r#""expected_side_effects": "x""#,
            &["task-expected-side-effects-invalid"],
        );
        check_task(r#""expected_side_effects": null"#, &[]);
    }

    #[test]
    fn odd_ids_are_shown_as_javascript_shows_them() {
        let shown = |id: &str| {
            let text = format!(
                r#"{{"schema_version": "task-pack/v1", "execution_waves": [{{"wave": 1, "tasks": []}}],
                "tasks": [{}]}}"#,
                task(&format!("\"task_id\": {id}, \"x\": 1"))
            );
            findings(&text).1[0].message.to_string()
        };
        for (id, name) in [
            ("null", "<unknown>"),
            ("\"\"", "<unknown>"),
            ("0", "<unknown>"),
            ("false", "<unknown>"),
            ("true", "true"),
            ("1.50", "1.5"),
            ("{}", "[object Object]"),
            ("[]", ""),
            ("[1, [null, 2]]", "1,,2"),
            ("\" \"", " "),
            ("\"\\ud83d\"", "\u{fffd}"),
        ] {
            assert_eq!(shown(id), format!("Task '{name}' has unknown field 'x'."));
        }
    }

    #[test]
    fn waves_are_declared_by_their_text() {
        for wave in ["null", "1", "\"x\"", "true"] {
            check_contract(
                &format!("[{wave}]"),
                &[task("")],
                &["wave-invalid", "task-wave-missing"],
            );
        }
        for wave in ["[]", "{}", r#"{"wave": null}"#, r#"{"wave": "", "tasks": []}"#] {
            check_contract(
                &format!("[{wave}]"),
                &[task("")],
                &["wave-missing-id", "task-wave-missing"],
            );
        }
        for id in ["true", "false", "[1]", "{}"] {
            let waves = format!(r#"[{{"wave": {id}, "tasks": ["T1"]}}]"#);
            check_contract(&waves, &[task("")], &["wave-id-invalid", "task-wave-missing"]);
        }
        for (declared, used) in [
            ("1", "\"1\""),
            ("1.0", "1"),
            ("-0", "0"),
            ("1e3", "\"1000\""),
            ("\" \"", "\" \""),
        ] {
            let waves = format!(r#"[{{"wave": {declared}, "tasks": ["T1"]}}]"#);
            check_contract(&waves, &[task(&format!("\"wave\": {used}"))], &[]);
        }
        let found = check_contract(
            r#"[{"wave": 1e999, "tasks": ["T1"]}]"#,
            &[task(r#""wave": 1"#)],
            &["task-wave-missing", "task-wave-list-mismatch"],
        );
        assert_eq!(
            details(&found[1]),
            r#"task_id="T1" listed_wave="Infinity" declared_wave="1""#
        );
        check_contract(r#"[{"wave": 0, "tasks": ["T1"]}]"#, &[task(r#""wave": 0"#)], &[]);
        check_task(r#""wave": [1]"#, &["task-wave-invalid"]);
        check_task(
            r#""wave": true"#,
            &["task-wave-invalid", "task-wave-missing", "task-wave-list-mismatch"],
        );
    }

    #[test]
    fn a_repeated_wave_replaces_the_list_but_not_its_place() {
        check_contract(
            r#"[{"wave": 1, "tasks": ["T9"]}, {"wave": "1", "tasks": ["T1"]}]"#,
            &[task("")],
            &["wave-duplicate"],
        );
        check_contract(
            r#"[{"wave": 1, "tasks": ["T1"]}, {"wave": 1, "tasks": 5}]"#,
            &[task("")],
            &["wave-duplicate", "wave-tasks-invalid"],
        );
        // The first wave is listed last, as its first list came last.
        let found = check_contract(
            r#"[{"wave": 1}, {"wave": 2, "tasks": ["T8"]}, {"wave": 1, "tasks": ["T1", "T9"]}]"#,
            &[task("")],
            &[
                "wave-tasks-invalid",
                "wave-duplicate",
                "wave-task-missing",
                "wave-task-missing",
            ],
        );
        assert_eq!(details(&found[2]), r#"wave="2" task_id="T8""#);
        // It counts as the third, so what is in the second may not depend on it.
        check_contract(
            r#"[{"wave": 1, "tasks": ["T1"]}, {"wave": 2, "tasks": ["T2"]}, {"wave": 1, "tasks": ["T1"]}]"#,
            &[
                task(""),
                task(r#""task_id": "T2", "wave": 2, "files": ["b"], "dependencies": ["T1"]"#),
            ],
            &["wave-duplicate", "task-dependency-wave-invalid"],
        );
    }

    #[test]
    fn tasks_are_listed_once_and_in_their_wave() {
        check_contract(
            r#"[{"wave": 1, "tasks": ["T1", "T1", null, ""]}]"#,
            &[task("")],
            &["wave-task-duplicate", "wave-task-id-invalid", "wave-task-id-invalid"],
        );
        let two = r#"[{"wave": 1, "tasks": ["T1"]}, {"wave": 2, "tasks": ["T1"]}]"#;
        let found = check_contract(
            two,
            &[task("")],
            &["wave-task-multiple-waves", "task-wave-list-mismatch"],
        );
        assert_eq!(details(&found[0]), r#"task_id="T1" waves=["1","2"]"#);
        check_contract(r#"[{"wave": 1, "tasks": []}]"#, &[task("")], &["task-wave-not-listed"]);
        check_contract(
            "[]",
            &[task("")],
            &["contract-execution-waves-empty", "task-wave-missing"],
        );
        check_contract(
            r#"[{"wave": 1, "tasks": []}]"#,
            &["null".into(), "[]".into(), "\"x\"".into()],
            &["task-invalid", "task-invalid", "task-invalid"],
        );
    }

    #[test]
    fn dependencies_go_to_earlier_positions() {
        let waves = r#"[{"wave": 9, "tasks": ["T1"]}, {"wave": 1, "tasks": ["T2"]}]"#;
        let first = task(r#""wave": 9"#);
        let second = |more: &str| task(&format!(r#""task_id": "T2", "files": ["b"], {more}"#));
        check_contract(waves, &[first.clone(), second(r#""dependencies": ["T1", "T1"]"#)], &[]);
        let found = check_contract(
            waves,
            &[task(r#""wave": 9, "dependencies": ["T2", "T1"]"#), second("\"x\": 1")],
            &["task-dependency-wave-invalid", "task-dependency-wave-invalid"],
        );
        assert_eq!(
            details(&found[0]),
            r#"task_id="T1" dependency="T2" task_wave=9 dependency_wave="1""#
        );
        check_contract(
            waves,
            &[first.clone(), second(r#""dependencies": ["t1", "T1 "]"#)],
            &["task-dependency-missing", "task-dependency-missing"],
        );
        // A wave that is not declared has no position to compare.
        check_contract(
            waves,
            &[first, second(r#""wave": 5, "dependencies": ["T1", "T2"]"#)],
            &["task-wave-missing", "task-wave-list-mismatch"],
        );
    }

    #[test]
    fn files_overlap_with_their_first_owner() {
        let waves = r#"[{"wave": 1, "tasks": ["T1", "T2", "T3"]}]"#;
        let other = |id: &str| task(&format!("\"task_id\": {id}"));
        let found = check_contract(
            waves,
            &[task(""), other("\"T2\""), other("\"T3\"")],
            &["same-wave-file-overlap", "same-wave-file-overlap"],
        );
        assert_eq!(details(&found[1]), r#"wave="1" file="a.rs" task_ids=["T1","T3"]"#);
        let nameless = r#"{"wave": 7, "files": ["z"]}"#.to_owned();
        let text = format!(
            r#"{{"schema_version": "task-pack/v1", "execution_waves": [], "tasks": [{nameless}, {nameless}]}}"#
        );
        let (errors, _) = findings(&text);
        let overlap = errors.last().expect("the two share a file");
        assert_eq!(
            overlap.message.to_string(),
            "Tasks 'undefined' and 'undefined' share file 'z' in wave '7'."
        );
        assert_eq!(details(overlap), r#"wave="7" file="z" task_ids=[null,null]"#);
    }

    #[test]
    fn unknown_fields_are_remarks_in_the_order_of_keys() {
        let text = format!(
            r#"{{"schema_version": "task-pack/v1", "x": 1, "execution_waves": [{{"wave": 1, "tasks": ["T1"], "y": 1}}],
            "tasks": [{}]}}"#,
            task(r#""zeta": 1, "10": 1, "Goal": 1, "9": 1, "__proto__": 1"#)
        );
        let (errors, limitations) = findings(&text);
        assert!(errors.is_empty());
        let shown: Vec<_> = limitations.iter().map(details).collect();
        let expect = ["9", "10", "zeta", "Goal", "__proto__"].map(|key| format!(r#"task_id="T1" field="{key}""#));
        assert_eq!(shown, expect);
    }

    #[test]
    fn large_contracts_take_linear_time() {
        // Everything collides: one wave, one file, one id, one dependency. Quadratic code would take minutes.
        let n_tasks = 10_000;
        let task_text = task("")
            .replace("[]", r#"["T1"]"#)
            .replace(r#"["a.rs"]"#, r#"["a", "a"]"#);
        let tasks = vec![task_text; n_tasks].join(",");
        let ids = vec!["\"T1\""; n_tasks].join(",");
        let text = format!(
            r#"{{"schema_version": "task-pack/v1", "execution_waves": [{{"wave": 1, "tasks": [{ids}]}}],
            "tasks": [{tasks}]}}"#
        );
        let (errors, _) = findings(&text);
        // A repeated file, a dependency in the same wave and an overlap per task; repeats of the id; the other overlap.
        assert_eq!(errors.len(), 3 * n_tasks + 2 * (n_tasks - 1) + (n_tasks - 1));
        let files: Vec<_> = (0..n_tasks).map(|ix| format!("\"f{ix}\"")).collect();
        let many = task("").replace("\"a.rs\"", &files.join(","));
        check_contract(r#"[{"wave": 1, "tasks": ["T1"]}]"#, &[many], &[]);
    }
}
