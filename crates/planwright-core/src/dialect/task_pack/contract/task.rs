//! Checks one task of a contract by itself, as the original does.

use std::collections::HashSet;

use super::super::fields::{N_FIELDS, REQUIRED, TASK, find, name, place};
use super::super::finding::{ContractFindings, OriginalFinding};
use super::super::js::{JsString, JsValue, JsView};
use super::super::paths::{is_concrete, is_runtime_mirror, is_secret, is_side_effect_pattern, is_target_scope};
use crate::plan::Field;
use crate::text::Span;

/// A task that is an object, with the data of every finding about it.
pub(super) struct CheckedTask<'d> {
    view: JsView<'d>,
    /// The values of the fields, by their indexes in the table.
    values: [Option<JsView<'d>>; N_FIELDS],
    has_unknown: bool,
    /// Its id as text, `<unknown>` where falsy.
    pub(super) name: JsString<'d>,
    /// `String(task.wave)`.
    pub(super) wave: JsString<'d>,
}

impl<'d> CheckedTask<'d> {
    pub(super) fn new(view: JsView<'d>) -> Self {
        let mut values = [None; N_FIELDS];
        let mut has_unknown = false;
        for (key, value) in view.members() {
            // The last of two equal keys wins.
            match TASK.fields.iter().position(|spec| key.is_text(spec.name)) {
                Some(ix) => values[ix] = Some(value),
                None => has_unknown = true,
            }
        }
        let mut task = CheckedTask {
            view,
            values,
            has_unknown,
            name: "<unknown>".into(),
            wave: "undefined".into(),
        };
        if let Some(id) = task.get(Field::Id).filter(|id| id.is_truthy()) {
            task.name = id.to_js_string();
        }
        if let Some(wave) = task.get(Field::Wave) {
            task.wave = wave.to_js_string();
        }
        task
    }

    pub(super) fn get(&self, field: Field) -> Option<JsView<'d>> {
        self.values.get(place(field)).copied().flatten()
    }

    /// Returns the elements of a field that is an array.
    pub(super) fn elements(&self, field: Field) -> impl Iterator<Item = JsView<'d>> + use<'d> {
        self.get(field).into_iter().flat_map(JsView::elements)
    }

    /// Returns a finding whose sentence continues after the task's name, with its placeholders filled, and with the id as its first detail.
    pub(super) fn finding(
        &self,
        code: impl Into<String>,
        sentence: &str,
        parts: &[&JsString<'_>],
        span: Span,
    ) -> OriginalFinding {
        let message = JsString::filled(&format!("Task '{{}}' {sentence}"), &[&[&self.name], parts].concat());
        let id = self.get(Field::Id).filter(|id| id.is_truthy());
        OriginalFinding::new(code, message, span).with("task_id", id.map_or(JsValue::Null, JsView::to_value))
    }

    /// Returns the span of a field's value, otherwise of the id, otherwise of the task.
    fn place_of(&self, field: Field) -> Span {
        let value = self.get(field).or(self.get(Field::Id));
        value.unwrap_or(self.view).span()
    }

    /// Returns a finding about a whole field.
    fn field_finding(&self, code: String, field: Field, sentence: &str) -> OriginalFinding {
        let finding = self.finding(code, sentence, &[], self.place_of(field));
        finding.with("field", JsValue::string(name(field)))
    }

    fn invalid(&self, field: Field, rule: &str) -> OriginalFinding {
        let sentence = format!("'{}' {rule}", name(field));
        self.field_finding(code_of(field, "-invalid"), field, &sentence)
    }

    /// Checks the fields with one value each, and that none is missing.
    pub(super) fn check_values(&self, findings: &mut ContractFindings<'_>) {
        const OPTIONAL: &str = "must be a non-empty string when provided.";
        self.note_unknown_fields(findings);
        for field in [
            Field::Id,
            Field::Goal,
            Field::TestFocus,
            Field::DoneSignal,
            Field::StopIf,
        ] {
            self.check_text(field, "must be a non-empty string.", findings);
        }
        for field in [
            Field::SourceUnit,
            Field::EntryHint,
            Field::RiskNote,
            Field::Notes,
            Field::AgentHint,
        ] {
            self.check_text(field, OPTIONAL, findings);
        }
        self.check_target_repo(findings);
        let is_gate = |text: JsString<'_>| text == *"optional" || text == *"required";
        let gate = self.get(Field::ReviewGate);
        if gate.is_some_and(|value| !value.as_string().is_some_and(is_gate)) {
            let rule = "must be 'optional' or 'required' when provided.";
            findings.error(self.invalid(Field::ReviewGate, rule));
        }
        self.check_text(Field::ReviewFocus, OPTIONAL, findings);
        if self.get(Field::Parallelizable).is_some_and(|value| !value.is_bool()) {
            findings.error(self.invalid(Field::Parallelizable, "must be a boolean when provided."));
        }
        self.check_presence(findings);
    }

    fn note_unknown_fields(&self, findings: &mut ContractFindings<'_>) {
        if !self.has_unknown {
            return;
        }
        for (key, span, _) in self.view.listed_members() {
            if find(|name| key == *name).is_none() {
                let code = "task-pack-task-unknown-field";
                let finding = self.finding(code, "has unknown field '{}'.", &[&key], span);
                findings.limitation(finding.with("field", JsValue::string(key)));
            }
        }
    }

    /// Reports a field that exists and is not a non-empty string.
    fn check_text(&self, field: Field, rule: &str, findings: &mut ContractFindings<'_>) {
        let present = self.get(field).filter(|value| !value.is_null_or_empty());
        if present.is_some_and(|value| value.as_filled_string().is_none()) {
            findings.error(self.invalid(field, rule));
        }
    }

    fn check_target_repo(&self, findings: &mut ContractFindings<'_>) {
        let field = Field::TargetRepo;
        self.check_text(field, "must be a non-empty string.", findings);
        if let Some(value) = self.get(field)
            && let Some(scope) = value.as_filled_string()
            && !is_target_scope(&scope.text())
        {
            let finding = self.invalid(field, "must be a safe repo-relative scope.");
            findings.error(finding.with("value", value.to_value()));
        }
    }

    fn check_presence(&self, findings: &mut ContractFindings<'_>) {
        for field in REQUIRED {
            if self.get(field).is_none_or(JsView::is_null_or_empty) {
                let code = format!("task-pack-task-missing-{}", name(field).replace('_', "-"));
                let sentence = format!("is missing '{}'.", name(field));
                findings.error(self.field_finding(code, field, &sentence));
            }
        }
        let has_unit = self.get(Field::SourceUnit).is_some_and(JsView::is_truthy);
        if !has_unit && self.elements(Field::RequirementRefs).next().is_none() {
            let code = "task-pack-task-missing-source-anchor";
            let sentence = "must include source_unit or requirement_refs.";
            findings.error(self.finding(code, sentence, &[], self.place_of(Field::Id)));
        }
    }

    /// Checks the type of the wave and the list fields; `directories` are the files that are directories on disk.
    pub(super) fn check_lists(&self, directories: &HashSet<&str>, findings: &mut ContractFindings<'_>) {
        let wave = self.get(Field::Wave).filter(|wave| !wave.is_null_or_empty());
        if let Some(wave) = wave.filter(|wave| !wave.is_string_or_number()) {
            let sentence = "wave must be a string or number.";
            let finding = self.finding("task-pack-task-wave-invalid", sentence, &[], wave.span());
            findings.error(finding.with("wave", wave.to_value()));
        }
        if self.check_array(Field::Dependencies, findings) {
            self.check_texts(Field::Dependencies, findings);
        }
        if self.check_array(Field::Files, findings) {
            self.check_files(directories, findings);
        }
        self.check_texts(Field::RequirementRefs, findings);
        self.check_texts(Field::ContextRefs, findings);
        let code = "task-pack-task-expected-side-effect-invalid";
        let sentence = "expected_side_effects entries must be repo-relative exact paths or bounded globs without **.";
        let is_pattern = |text: JsString<'_>| is_side_effect_pattern(&text.text());
        let is_allowed = |item: JsView<'_>| item.as_string().is_some_and(is_pattern);
        self.check_items(Field::SideEffects, code, sentence, is_allowed, findings);
    }

    /// Reports a required list that is no array; returns whether it is one.
    fn check_array(&self, field: Field, findings: &mut ContractFindings<'_>) -> bool {
        let is_array = self.get(field).is_some_and(JsView::is_array);
        if !is_array {
            let sentence = format!("{} must be an array.", name(field));
            findings.error(self.finding(code_of(field, "-invalid"), &sentence, &[], self.place_of(field)));
        }
        is_array
    }

    fn check_texts(&self, field: Field, findings: &mut ContractFindings<'_>) {
        let sentence = format!("'{}' entries must be non-empty strings.", name(field));
        let is_filled = |item: JsView<'_>| item.as_filled_string().is_some();
        self.check_items(field, &code_of(field, "-item-invalid"), &sentence, is_filled, findings);
    }

    /// Checks an optional list: absent, null, or a list of valid items.
    fn check_items(
        &self,
        field: Field,
        code: &str,
        sentence: &str,
        is_allowed: impl Fn(JsView<'_>) -> bool,
        findings: &mut ContractFindings<'_>,
    ) {
        let Some(value) = self.get(field).filter(|value| !value.is_null()) else {
            return;
        };
        if !value.is_array() {
            findings.error(self.invalid(field, "must be an array."));
            return;
        }
        for item in value.elements().filter(|item| !is_allowed(*item)) {
            let finding = self.finding(code, sentence, &[], item.span());
            let finding = finding.with("field", JsValue::string(name(field)));
            findings.error(finding.with("value", item.to_value()));
        }
    }

    fn check_files(&self, directories: &HashSet<&str>, findings: &mut ContractFindings<'_>) {
        let mut files = self.elements(Field::Files).peekable();
        if files.peek().is_none() {
            let sentence = "files must include at least one concrete repo-relative file path.";
            let span = self.place_of(Field::Files);
            findings.error(self.finding("task-pack-task-files-empty", sentence, &[], span));
        }
        let mut seen = HashSet::new();
        while let Some(file) = files.next() {
            let is_only = seen.is_empty() && files.peek().is_none();
            self.check_file(file, directories, |name| is_only || seen.insert(name), findings);
        }
    }

    fn check_file(
        &self,
        file: JsView<'d>,
        directories: &HashSet<&str>,
        is_new: impl FnOnce(JsString<'d>) -> bool,
        findings: &mut ContractFindings<'_>,
    ) {
        let mut error = |code: &str, sentence: &str, parts: &[&JsString<'_>]| {
            let finding = self.finding(code, sentence, parts, file.span());
            findings.error(finding.with("file", file.to_value()));
        };
        let Some(name) = concrete_file(file) else {
            let sentence = "has non-concrete repo-relative file path.";
            error("task-pack-task-file-not-concrete", sentence, &[]);
            return;
        };
        let path = name.text();
        for (is_wrong, code, sentence) in [
            (
                is_runtime_mirror(&path),
                "task-pack-task-file-generated-runtime",
                "file points at a generated runtime mirror path.",
            ),
            (
                is_secret(&path),
                "task-pack-task-file-secret-denied",
                "file points at a secret-denied path.",
            ),
            (
                directories.contains(&*path),
                "task-pack-task-file-is-directory",
                "file path points to a directory.",
            ),
        ] {
            if is_wrong {
                error(code, sentence, &[]);
            }
        }
        if !is_new(name.clone()) {
            let code = "task-pack-task-file-duplicate";
            error(code, "lists duplicate file '{}'.", &[&name]);
        }
    }
}

/// Returns the code of a finding about a field.
fn code_of(field: Field, ending: &str) -> String {
    format!("task-pack-task-{}{ending}", name(field).replace('_', "-"))
}

/// Returns a file's name if it is a concrete path.
pub(super) fn concrete_file(file: JsView<'_>) -> Option<JsString<'_>> {
    file.as_string().filter(|name| is_concrete(&name.text()))
}
