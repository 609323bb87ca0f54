//! Checks the structure of a contract as the original does: the same codes, sentences and order, in linear time.

use std::collections::HashSet;
use std::collections::hash_map::Entry;

use super::js::{JsData, JsString, JsValue, JsView, js_text};
use super::original::OriginalFinding;
use super::paths::{is_concrete, is_runtime_mirror, is_secret, is_side_effect_pattern, is_target_scope};
use super::waves::{Declared, DeclaredWaves};
use crate::text::Span;

/// The one version there is.
pub(crate) const SCHEMA_VERSION: &str = "task-pack/v1";

/// The fields of a task: first those it must have, in the order in which they are asked for.
pub const FIELDS: [&str; 20] = [
    "task_id",
    "dependencies",
    "files",
    "goal",
    "test_focus",
    "done_signal",
    "wave",
    "stop_if",
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

/// How many of the fields a task must have.
pub const N_REQUIRED: usize = 8;

/// The most errors, and limitations, that a contract is said to have. A draft may leave five fields of each task open, which the
/// original counts as errors: there is room for those of a hundred thousand tasks.
pub const MAX_FINDINGS: usize = 600_000;

/// A field of a task, by its place in [`FIELDS`].
#[derive(Clone, Copy)]
pub(super) struct FieldSlot(usize);

pub(super) const TASK_ID: FieldSlot = FieldSlot(0);
pub(super) const DEPENDENCIES: FieldSlot = FieldSlot(1);
pub(super) const FILES: FieldSlot = FieldSlot(2);
const GOAL: FieldSlot = FieldSlot(3);
const TEST_FOCUS: FieldSlot = FieldSlot(4);
const DONE_SIGNAL: FieldSlot = FieldSlot(5);
pub(super) const WAVE: FieldSlot = FieldSlot(6);
const STOP_IF: FieldSlot = FieldSlot(7);
const SOURCE_UNIT: FieldSlot = FieldSlot(8);
const REQUIREMENT_REFS: FieldSlot = FieldSlot(9);
const CONTEXT_REFS: FieldSlot = FieldSlot(10);
const ENTRY_HINT: FieldSlot = FieldSlot(11);
const PARALLELIZABLE: FieldSlot = FieldSlot(12);
const SIDE_EFFECTS: FieldSlot = FieldSlot(13);
const RISK_NOTE: FieldSlot = FieldSlot(14);
const NOTES: FieldSlot = FieldSlot(15);
const REVIEW_GATE: FieldSlot = FieldSlot(16);
const REVIEW_FOCUS: FieldSlot = FieldSlot(17);
const HANDOFF_OWNER: FieldSlot = FieldSlot(18);
const TARGET_REPO: FieldSlot = FieldSlot(19);

impl FieldSlot {
    fn name(self) -> &'static str {
        FIELDS[self.0]
    }

    /// Returns the code of a finding about the field.
    fn code(self, ending: &str) -> String {
        format!("task-pack-task-{}{ending}", self.name().replace('_', "-"))
    }
}

/// Checks a contract; `directories` are the listed files that are directories on the disk.
pub(super) fn check(
    contract: JsView<'_>,
    directories: &HashSet<String>,
    errors: &mut Vec<OriginalFinding>,
    limitations: &mut Vec<OriginalFinding>,
) {
    let Some((tasks, waves)) = check_frame(contract, errors) else {
        return;
    };
    let mut checker = Checker {
        directories,
        errors: ContractFindings(errors),
        limitations: ContractFindings(limitations),
        waves: DeclaredWaves::default(),
        declared: Declared::with_capacity(tasks.elements().count()),
    };
    for (position, wave) in waves.elements().enumerate() {
        checker.read_wave(position, wave);
    }
    let tasks: Vec<CheckedTask<'_>> = tasks.elements().filter_map(|task| checker.read_task(task)).collect();
    for task in &tasks {
        checker.check_dependencies(task);
    }
    checker.check_wave_lists();
    checker.check_file_overlap(&tasks);
}

/// Checks the outermost members; returns the tasks and waves where both are arrays.
fn check_frame<'d>(contract: JsView<'d>, errors: &mut Vec<OriginalFinding>) -> Option<(JsView<'d>, JsView<'d>)> {
    let mut error = |code: &str, message: &'static str, at: Option<JsView<'_>>| {
        let span = at.unwrap_or(contract).span();
        errors.push(OriginalFinding::new(code, message, span));
    };
    if !contract.is_collection() {
        let message = "Task Pack Contract must be a JSON object.";
        error("task-pack-contract-invalid", message, None);
        return None;
    }
    let version = contract.get("schema_version");
    let is_known = |version: JsString<'_>| version == *SCHEMA_VERSION;
    if !version.and_then(JsView::as_string).is_some_and(is_known) {
        let message = "Task Pack Contract schema_version must be task-pack/v1.";
        error("task-pack-contract-schema-version-invalid", message, version);
    }
    let tasks = contract.get("tasks");
    let Some(task_list) = tasks.filter(|tasks| tasks.is_array()) else {
        let message = "Task Pack Contract tasks must be an array.";
        error("task-pack-contract-tasks-invalid", message, tasks);
        return None;
    };
    if task_list.elements().next().is_none() {
        let message = "Task Pack Contract tasks must include at least one task.";
        error("task-pack-contract-tasks-empty", message, tasks);
    }
    let waves = contract.get("execution_waves");
    let Some(wave_list) = waves.filter(|waves| waves.is_array()) else {
        let message = "Task Pack Contract execution_waves must be an array.";
        error("task-pack-contract-execution-waves-invalid", message, waves);
        return None;
    };
    if wave_list.elements().next().is_none() {
        let message = "Task Pack Contract execution_waves must include at least one wave.";
        error("task-pack-contract-execution-waves-empty", message, waves);
    }
    Some((task_list, wave_list))
}

/// A task that is an object, with what every finding about it says.
pub(super) struct CheckedTask<'d> {
    view: JsView<'d>,
    slots: [Option<JsView<'d>>; FIELDS.len()],
    has_unknown: bool,
    /// Its id as text, `<unknown>` where falsy.
    pub(super) name: JsString<'d>,
    /// `String(task.wave)`.
    pub(super) wave: JsString<'d>,
}

impl<'d> CheckedTask<'d> {
    fn new(view: JsView<'d>) -> Self {
        let mut slots = [None; FIELDS.len()];
        let mut has_unknown = false;
        for (key, value) in view.members() {
            // The last of two equal keys counts.
            match FIELDS.iter().position(|field| key.is_text(field)) {
                Some(ix) => slots[ix] = Some(value),
                None => has_unknown = true,
            }
        }
        let id = slots[TASK_ID.0].filter(|id| id.is_truthy());
        CheckedTask {
            view,
            slots,
            has_unknown,
            name: id.map_or_else(|| "<unknown>".into(), JsView::to_js_string),
            wave: slots[WAVE.0].map_or_else(|| "undefined".into(), JsView::to_js_string),
        }
    }

    pub(super) fn get(&self, field: FieldSlot) -> Option<JsView<'d>> {
        self.slots[field.0]
    }

    /// Returns a field that is an array.
    fn list(&self, field: FieldSlot) -> Option<JsView<'d>> {
        self.get(field).filter(|value| value.is_array())
    }

    /// Returns the elements of a field that is an array.
    pub(super) fn elements(&self, field: FieldSlot) -> impl Iterator<Item = JsView<'d>> + use<'d> {
        self.get(field).into_iter().flat_map(JsView::elements)
    }

    /// Returns a finding whose sentence goes on after the task's name and whose first detail is its id.
    pub(super) fn finding(&self, code: impl Into<String>, sentence: &str, span: Span) -> OriginalFinding {
        let message = js_text!["Task '", self.name, "' ", sentence];
        let id = self.get(TASK_ID).filter(|id| id.is_truthy());
        OriginalFinding::new(code, message, span).with("task_id", id.map_or_else(JsValue::null, JsView::to_value))
    }

    /// Returns a finding about a field, placed at its value or else at the task.
    fn field_finding(&self, code: String, field: FieldSlot, sentence: &str) -> OriginalFinding {
        let span = self.get(field).map_or(self.place(), JsView::span);
        let name = JsValue::string(field.name());
        self.finding(code, sentence, span).with("field", name)
    }

    /// Returns the place of the id, or of the task where it has none.
    fn place(&self) -> Span {
        self.get(TASK_ID).unwrap_or(self.view).span()
    }
}

/// What was found, up to a number that nobody reads to the end of.
pub(super) struct ContractFindings<'o>(&'o mut Vec<OriginalFinding>);

impl ContractFindings<'_> {
    pub(super) fn push(&mut self, finding: OriginalFinding) {
        if self.0.len() < MAX_FINDINGS {
            self.0.push(finding);
        }
    }
}

/// A check under way: what was found, and what was declared so far.
pub(super) struct Checker<'d, 'o> {
    directories: &'o HashSet<String>,
    pub(super) errors: ContractFindings<'o>,
    limitations: ContractFindings<'o>,
    pub(super) waves: DeclaredWaves<'d>,
    pub(super) declared: Declared<'d>,
}

impl<'d> Checker<'d, '_> {
    /// Checks one task by itself; none where it is no object.
    fn read_task(&mut self, view: JsView<'d>) -> Option<CheckedTask<'d>> {
        if !view.is_object() {
            let finding = OriginalFinding::new("task-pack-task-invalid", "Each task must be an object.", view.span());
            self.errors.push(finding);
            return None;
        }
        let task = CheckedTask::new(view);
        self.note_unknown_fields(&task);
        self.check_texts(&task);
        self.check_options(&task);
        self.check_presence(&task);
        self.declare(&task);
        self.check_wave_type(&task);
        self.check_dependency_list(&task);
        self.check_files(&task);
        self.check_text_list(&task, REQUIREMENT_REFS);
        self.check_text_list(&task, CONTEXT_REFS);
        self.check_side_effects(&task);
        self.check_wave_declared(&task);
        Some(task)
    }

    fn note_unknown_fields(&mut self, task: &CheckedTask<'d>) {
        if !task.has_unknown {
            return;
        }
        let JsData::Object(members) = task.view.to_value().data else {
            return;
        };
        for member in members
            .iter()
            .filter(|member| !FIELDS.iter().any(|field| member.key == **field))
        {
            let mut finding = task.finding("task-pack-task-unknown-field", "", member.key_span);
            finding.message = js_text!["Task '", task.name, "' has unknown field '", member.key, "'."];
            self.limitations
                .push(finding.with("field", JsValue::string(member.key.clone())));
        }
    }

    fn check_texts(&mut self, task: &CheckedTask<'d>) {
        for field in [TASK_ID, GOAL, TEST_FOCUS, DONE_SIGNAL, STOP_IF] {
            self.check_text(task, field, "must be a non-empty string.");
        }
        for field in [SOURCE_UNIT, ENTRY_HINT, RISK_NOTE, NOTES, HANDOFF_OWNER] {
            self.check_text(task, field, "must be a non-empty string when provided.");
        }
    }

    /// Reports a field that is there and not a string with something in it.
    fn check_text(&mut self, task: &CheckedTask<'d>, field: FieldSlot, sentence: &str) {
        let present = task.get(field).filter(|value| !value.is_null_or_empty());
        if present.is_some_and(|value| value.as_filled_string().is_none()) {
            let sentence = format!("'{}' {sentence}", field.name());
            self.errors
                .push(task.field_finding(field.code("-invalid"), field, &sentence));
        }
    }

    fn check_options(&mut self, task: &CheckedTask<'d>) {
        self.check_target_repo(task);
        let is_gate = |value: JsView<'_>| {
            value
                .as_string()
                .is_some_and(|text| text == *"optional" || text == *"required")
        };
        if task.get(REVIEW_GATE).is_some_and(|value| !is_gate(value)) {
            let sentence = "'review_gate' must be 'optional' or 'required' when provided.";
            self.errors
                .push(task.field_finding(REVIEW_GATE.code("-invalid"), REVIEW_GATE, sentence));
        }
        self.check_text(task, REVIEW_FOCUS, "must be a non-empty string when provided.");
        if task.get(PARALLELIZABLE).is_some_and(|value| !value.is_bool()) {
            let sentence = "'parallelizable' must be a boolean when provided.";
            let finding = task.field_finding(PARALLELIZABLE.code("-invalid"), PARALLELIZABLE, sentence);
            self.errors.push(finding);
        }
    }

    fn check_target_repo(&mut self, task: &CheckedTask<'d>) {
        let field = TARGET_REPO;
        let Some(value) = task.get(field).filter(|value| !value.is_null_or_empty()) else {
            return;
        };
        let Some(scope) = value.as_filled_string() else {
            self.check_text(task, field, "must be a non-empty string.");
            return;
        };
        if !is_target_scope(&scope.text()) {
            let sentence = "'target_repo' must be a safe repo-relative scope.";
            let finding = task.field_finding(field.code("-invalid"), field, sentence);
            self.errors.push(finding.with("value", value.to_value()));
        }
    }

    fn check_presence(&mut self, task: &CheckedTask<'d>) {
        for field in (0..N_REQUIRED).map(FieldSlot) {
            if task.get(field).is_none_or(JsView::is_null_or_empty) {
                let code = format!("task-pack-task-missing-{}", field.name().replace('_', "-"));
                let sentence = format!("is missing '{}'.", field.name());
                self.errors.push(task.field_finding(code, field, &sentence));
            }
        }
        let has_unit = task.get(SOURCE_UNIT).is_some_and(JsView::is_truthy);
        let has_refs = task.elements(REQUIREMENT_REFS).next().is_some();
        if !has_unit && !has_refs {
            let code = "task-pack-task-missing-source-anchor";
            let sentence = "must include source_unit or requirement_refs.";
            self.errors.push(task.finding(code, sentence, task.place()));
        }
    }

    fn declare(&mut self, task: &CheckedTask<'d>) {
        let Some(value) = task.get(TASK_ID) else {
            return;
        };
        let Some(id) = value.as_filled_string() else {
            return;
        };
        match self.declared.by_id.entry(id) {
            Entry::Occupied(earlier) => {
                let message = js_text!["Duplicate task_id '", earlier.key(), "'."];
                let finding = OriginalFinding::new("task-pack-task-id-duplicate", message, value.span());
                self.errors.push(finding.with("task_id", value.to_value()));
                self.declared.tasks[*earlier.get()].1 = task.wave.clone();
            }
            Entry::Vacant(vacant) => {
                let id = vacant.key().clone();
                vacant.insert(self.declared.tasks.len());
                self.declared.tasks.push((id, task.wave.clone(), value.span()));
            }
        }
    }

    fn check_wave_type(&mut self, task: &CheckedTask<'d>) {
        let wave = task.get(WAVE).filter(|wave| !wave.is_null_or_empty());
        if let Some(wave) = wave.filter(|wave| !wave.is_string_or_number()) {
            let sentence = "wave must be a string or number.";
            let finding = task.finding("task-pack-task-wave-invalid", sentence, wave.span());
            self.errors.push(finding.with("wave", wave.to_value()));
        }
    }

    fn check_dependency_list(&mut self, task: &CheckedTask<'d>) {
        if task.list(DEPENDENCIES).is_some() {
            self.check_text_list(task, DEPENDENCIES);
            return;
        }
        let span = task.get(DEPENDENCIES).map_or(task.place(), JsView::span);
        let sentence = "dependencies must be an array.";
        self.errors
            .push(task.finding("task-pack-task-dependencies-invalid", sentence, span));
    }

    /// Checks a field that may be absent or null and else is a list of strings.
    fn check_text_list(&mut self, task: &CheckedTask<'d>, field: FieldSlot) {
        let Some(value) = task.get(field).filter(|value| !value.is_null()) else {
            return;
        };
        if !value.is_array() {
            let sentence = format!("'{}' must be an array.", field.name());
            self.errors
                .push(task.field_finding(field.code("-invalid"), field, &sentence));
            return;
        }
        for item in value.elements().filter(|item| item.as_filled_string().is_none()) {
            let sentence = format!("'{}' entries must be non-empty strings.", field.name());
            let finding = task.finding(field.code("-item-invalid"), &sentence, item.span());
            let finding = finding.with("field", JsValue::string(field.name()));
            self.errors.push(finding.with("value", item.to_value()));
        }
    }

    fn check_files(&mut self, task: &CheckedTask<'d>) {
        let span = task.get(FILES).map_or(task.place(), JsView::span);
        let Some(files) = task.list(FILES) else {
            let sentence = "files must be an array.";
            self.errors
                .push(task.finding("task-pack-task-files-invalid", sentence, span));
            return;
        };
        let mut seen = HashSet::new();
        let mut files = files.elements().peekable();
        if files.peek().is_none() {
            let sentence = "files must include at least one concrete repo-relative file path.";
            self.errors
                .push(task.finding("task-pack-task-files-empty", sentence, span));
        }
        while let Some(file) = files.next() {
            let is_only = seen.is_empty() && files.peek().is_none();
            self.check_file(task, file, |name| is_only || seen.insert(name));
        }
    }

    fn check_file(&mut self, task: &CheckedTask<'d>, file: JsView<'d>, is_new: impl FnOnce(JsString<'d>) -> bool) {
        let mut error = |code: &str, sentence: &str| {
            let finding = task.finding(code, sentence, file.span());
            self.errors.push(finding.with("file", file.to_value()));
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
        let message = || js_text!["Task '", task.name, "' lists duplicate file '", name, "'."];
        if !is_new(name.clone()) {
            let mut finding = task.finding("task-pack-task-file-duplicate", "", file.span());
            finding.message = message();
            self.errors.push(finding.with("file", file.to_value()));
        }
    }

    fn check_side_effects(&mut self, task: &CheckedTask<'d>) {
        let field = SIDE_EFFECTS;
        let Some(value) = task.get(field).filter(|value| !value.is_null()) else {
            return;
        };
        if !value.is_array() {
            let sentence = "'expected_side_effects' must be an array.";
            self.errors
                .push(task.field_finding(field.code("-invalid"), field, sentence));
            return;
        }
        let is_allowed = |item: JsView<'_>| {
            item.as_string()
                .is_some_and(|text| is_side_effect_pattern(&text.text()))
        };
        for item in value.elements().filter(|item| !is_allowed(*item)) {
            let sentence =
                "expected_side_effects entries must be repo-relative exact paths or bounded globs without **.";
            let finding = task.finding("task-pack-task-expected-side-effect-invalid", sentence, item.span());
            let finding = finding.with("field", JsValue::string(field.name()));
            self.errors.push(finding.with("value", item.to_value()));
        }
    }

    fn check_wave_declared(&mut self, task: &CheckedTask<'d>) {
        let Some(wave) = task.get(WAVE) else {
            return;
        };
        if !self.waves.by_key.contains_key(&task.wave) {
            let sentence = "references a wave that is not declared.";
            let finding = task.finding("task-pack-task-wave-missing", sentence, wave.span());
            self.errors.push(finding.with("wave", wave.to_value()));
        }
    }
}

/// Returns a file's name where it is a concrete path.
pub(super) fn concrete_file(file: JsView<'_>) -> Option<JsString<'_>> {
    file.as_string().filter(|name| is_concrete(&name.text()))
}

#[cfg(test)]
mod tests;
