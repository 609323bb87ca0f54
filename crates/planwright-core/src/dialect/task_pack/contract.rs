//! The contract's structure, checked as the original checks it: the same codes, sentences and order.
//! Every look-up is by hash, so that a large or hostile contract takes no longer than its length.

use std::collections::HashSet;

use super::js::{Data, JsString, Value, js_text};
use super::original::Finding;
use super::paths::{is_concrete, is_runtime_mirror, is_secret, is_side_effect_pattern, is_target_scope};
use super::waves::{Declared, Waves};
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
pub(super) struct Task<'c> {
    value: &'c Value,
    /// Its id as text, `<unknown>` where falsy.
    pub(super) name: JsString,
    /// `String(task.wave)`.
    pub(super) wave: JsString,
}

impl<'c> Task<'c> {
    pub(super) fn get(&self, field: &str) -> Option<&'c Value> {
        self.value.get(field)
    }

    pub(super) fn list(&self, field: &str) -> Option<&'c [Value]> {
        self.get(field).and_then(Value::as_array)
    }

    /// Returns a finding whose sentence goes on after the task's name and whose first detail is its id.
    pub(super) fn finding(&self, code: impl Into<String>, sentence: &str, span: Span) -> Finding {
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

/// A check under way: what was found, and what was declared so far.
pub(super) struct Checker<'c, 'o> {
    directories: &'o HashSet<String>,
    pub(super) errors: &'o mut Vec<Finding>,
    limitations: &'o mut Vec<Finding>,
    pub(super) waves: Waves<'c>,
    pub(super) declared: Declared<'c>,
}

impl<'c> Checker<'c, '_> {
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
        for item in items.iter().filter(|item| item.as_filled_string().is_none()) {
            let sentence = format!("'{field}' entries must be non-empty strings.");
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
}

/// Returns a file's name where it is a concrete path.
pub(super) fn concrete_file(file: &Value) -> Option<&JsString> {
    file.as_string().filter(|name| is_concrete(&name.text()))
}

/// Returns the code of a finding about a task's field.
fn code(field: &str, ending: &str) -> String {
    format!("task-pack-task-{}{ending}", field.replace('_', "-"))
}

#[cfg(test)]
mod tests;
