//! The original validator's answer about a pack: identity, freshness, structure. The caller looks up files.

use std::collections::{HashMap, HashSet};

use super::contract;
use super::hash::{UNCLOSED_FRONTMATTER, is_plan_hash, plan_hash};
use super::js::{JsData, JsString, JsValue, JsView, array_index};
use super::paths::is_concrete;
use crate::diagnostic::Diagnostic;
use crate::document::markdown::{Markdown, MarkdownSection};
use crate::document::{NodeRef, Parsed, json, rules};
use crate::text::{SourceText, Span};

/// The title of the section that holds the contract.
pub(super) const CONTRACT_SECTION: &str = "Task Pack Contract";

/// A pack as far as it can be read without looking at anything else.
pub struct OriginalPack {
    markdown: Markdown,
    metadata: Vec<(String, String)>,
    /// The one fence of the contract's section.
    fence: Option<Parsed>,
    /// Why there is no contract to judge.
    fault: Option<OriginalFinding>,
}

/// One finding in the original's words.
#[derive(Clone, Debug)]
pub struct OriginalFinding {
    /// The original's code.
    pub code: String,
    /// The original's sentence.
    pub message: JsString<'static>,
    /// What else the original says of it, in its order.
    pub details: Vec<(&'static str, JsValue)>,
    /// Where in the pack it is; empty at the start for what is missing as a whole.
    pub span: Span,
}

/// What the caller found where the pack points to.
#[derive(Clone, Debug, Default)]
pub struct OriginalFacts {
    /// The file at [`OriginalPack::source_plan`], from the root of the repository.
    pub source_plan: SourcePlanText,
    /// Those of [`OriginalPack::files`] that are directories on the disk.
    pub directories: HashSet<String>,
}

/// The source plan, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub enum SourcePlanText {
    /// There is no such file, or the pack names none.
    #[default]
    Missing,
    /// It is there but cannot be read, with the system's reason.
    Unreadable(String),
    /// Its text.
    Text(SourceText),
}

/// Why a pack has no text.
#[derive(Clone, Debug)]
pub enum Unread {
    /// There is no such file.
    Missing,
    /// It is there but cannot be read, with the system's reason.
    Unreadable(String),
}

/// The verdict on a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// No errors.
    Valid,
    /// Made for another chain: the plan's `spec_id` differs.
    WrongChain,
    /// The plan has changed since.
    Stale,
    /// The plan cannot be hashed.
    Unverifiable,
    /// Any other error.
    Invalid,
}

/// How the pack's `spec_id` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecId {
    /// The plan could not be asked.
    NotChecked,
    /// The pack or the plan has none.
    Missing,
    /// They differ.
    Mismatch,
    /// They are the same.
    Matched,
}

/// How the pack's `source_plan_hash` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashState {
    /// The plan could not be asked.
    NotChecked,
    /// The pack has none.
    Missing,
    /// The pack's is no hash.
    Invalid,
    /// The plan has changed.
    Mismatch,
    /// The plan is the one the pack was made from.
    Matched,
    /// The plan cannot be hashed.
    Unavailable,
}

/// What became of the pack's `source_plan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanPath {
    /// The pack could not be read.
    NotChecked,
    /// The pack has none, or there is no readable file.
    Missing,
    /// It is no concrete path in the repository.
    Invalid,
    /// It is a file that was read.
    Resolved,
}

/// What became of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContractState {
    /// The pack could not be read.
    NotChecked,
    /// It has no errors.
    Valid,
    /// It has, or there is none.
    Invalid,
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $name {
            /// Returns the original's word for it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word),*
                }
            }
        }
    };
}

words!(Validity {
    Valid = "valid",
    WrongChain = "wrong-chain",
    Stale = "stale",
    Unverifiable = "unverifiable",
    Invalid = "invalid",
});
words!(SpecId {
    NotChecked = "not_checked",
    Missing = "missing",
    Mismatch = "mismatch",
    Matched = "matched",
});
words!(HashState {
    NotChecked = "not_checked",
    Missing = "missing",
    Invalid = "invalid",
    Mismatch = "mismatch",
    Matched = "matched",
    Unavailable = "unavailable",
});
words!(PlanPath {
    NotChecked = "not_checked",
    Missing = "missing",
    Invalid = "invalid",
    Resolved = "resolved",
});
words!(ContractState {
    NotChecked = "not_checked",
    Valid = "valid",
    Invalid = "invalid",
});

/// The original's answer about one pack.
#[derive(Clone, Debug)]
pub struct OriginalReport {
    /// The verdict.
    pub validity: Validity,
    /// How `spec_id` compares.
    pub spec_id: SpecId,
    /// How `source_plan_hash` compares.
    pub source_plan_hash: HashState,
    /// What became of `source_plan`.
    pub source_plan_path: PlanPath,
    /// What became of the contract.
    pub contract: ContractState,
    /// What is wrong, in the original's order.
    pub errors: Vec<OriginalFinding>,
    /// What the original only remarks upon.
    pub limitations: Vec<OriginalFinding>,
}

/// What the original repeats of a task for whoever executes it. None stands for null.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionFocus<'p> {
    /// As written; none where absent.
    pub task_id: Option<&'p JsValue>,
    /// None where falsy, as are all the others.
    pub source_unit: Option<&'p JsValue>,
    /// The goal.
    pub goal: Option<&'p JsValue>,
    /// The files; empty where they are no array.
    pub files: &'p [JsValue],
    /// As written; none where absent.
    pub wave: Option<&'p JsValue>,
    /// The dependencies; empty where they are no array.
    pub dependencies: &'p [JsValue],
    /// What to test.
    pub test_focus: Option<&'p JsValue>,
    /// How to know that it is done.
    pub done_signal: Option<&'p JsValue>,
    /// When to stop.
    pub stop_if: Option<&'p JsValue>,
    /// Whether a review is wanted.
    pub review_gate: Option<&'p JsValue>,
    /// What to review.
    pub review_focus: Option<&'p JsValue>,
    /// Where to work.
    pub target_repo: Option<&'p JsValue>,
    /// What else may change; empty where it is no array.
    pub expected_side_effects: &'p [JsValue],
}

impl OriginalPack {
    /// Reads a pack's text: frontmatter and contract.
    pub fn parse(source: &SourceText) -> Self {
        let markdown = Markdown::parse(source);
        let fence = parse_fence(&markdown);
        OriginalPack::new(markdown, fence)
    }

    /// Puts a pack together from its carrier and the document of its contract, as [`parse_fence`] returns it.
    pub(super) fn new(markdown: Markdown, fence: Option<Parsed>) -> Self {
        OriginalPack {
            metadata: metadata_of(&markdown),
            fault: find_fault(&markdown, fence.as_ref()),
            markdown,
            fence,
        }
    }

    /// Returns the carrier.
    pub fn markdown(&self) -> &Markdown {
        &self.markdown
    }

    /// Returns the keys and values of the frontmatter in the order in which JavaScript would list them.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// Returns the document of the contract, however broken; none where there is no single fence.
    pub fn fence(&self) -> Option<&Parsed> {
        self.fence.as_ref()
    }

    /// Returns the contract, whatever it is; none where there is no JSON.
    pub fn contract(&self) -> Option<NodeRef<'_>> {
        let fence = self.fence.as_ref().filter(|_| self.fault.is_none());
        fence.and_then(|parsed| parsed.document.root())
    }

    /// Returns the path of the source plan from the root of the repository, where it is a concrete path.
    pub fn source_plan(&self) -> Option<&str> {
        self.filled("source_plan").filter(|path| is_concrete(path))
    }

    /// Returns the concrete paths among the tasks' files, repeats included, for the caller to look up.
    pub fn files(&self) -> impl Iterator<Item = String> {
        let tasks = self.contract().and_then(|contract| JsView::of(contract).get("tasks"));
        tasks
            .into_iter()
            .flat_map(JsView::elements)
            .filter_map(|task| task.get("files"))
            .flat_map(JsView::elements)
            .filter_map(JsView::as_string)
            .map(|file| file.text().into_owned())
            .filter(|file| is_concrete(file))
    }

    /// Returns a value of the frontmatter that is not empty.
    fn filled(&self, key: &str) -> Option<&str> {
        self.markdown.value(key).filter(|value| !value.is_empty())
    }

    /// Returns the place of a key of the frontmatter, else of the frontmatter, else the start.
    fn place_of(&self, key: &str) -> Span {
        let frontmatter = self.markdown.frontmatter().map(|found| found.span);
        self.markdown
            .entry(key)
            .map(|entry| if entry.value.is_empty() { entry.key } else { entry.value })
            .or(frontmatter)
            .unwrap_or_default()
    }
}

/// Returns what the original repeats of each task of a contract.
pub fn execution_focus(contract: &JsValue) -> impl Iterator<Item = ExecutionFocus<'_>> {
    let tasks = contract.get("tasks").and_then(JsValue::as_array).unwrap_or(&[]);
    let objects = tasks.iter().filter(|task| matches!(task.data, JsData::Object(_)));
    objects.map(|task| {
        let truthy = |field| task.get(field).filter(|value| value.is_truthy());
        let list = |field| task.get(field).and_then(JsValue::as_array).unwrap_or(&[]);
        ExecutionFocus {
            task_id: task.get("task_id"),
            source_unit: truthy("source_unit"),
            goal: truthy("goal"),
            files: list("files"),
            wave: task.get("wave"),
            dependencies: list("dependencies"),
            test_focus: truthy("test_focus"),
            done_signal: truthy("done_signal"),
            stop_if: truthy("stop_if"),
            review_gate: truthy("review_gate"),
            review_focus: truthy("review_focus"),
            target_repo: truthy("target_repo"),
            expected_side_effects: list("expected_side_effects"),
        }
    })
}

impl OriginalFinding {
    pub(super) fn new(code: impl Into<String>, message: impl Into<JsString<'static>>, span: Span) -> Self {
        OriginalFinding {
            code: code.into(),
            message: message.into(),
            details: Vec::new(),
            span,
        }
    }

    pub(super) fn with(mut self, key: &'static str, value: JsValue) -> Self {
        self.details.push((key, value));
        self
    }
}

/// Lists the entries as the original's plain object would: whole numbers first, a repeated key at its first place.
fn metadata_of(markdown: &Markdown) -> Vec<(String, String)> {
    let slice = |span| markdown.source().slice(span).to_owned();
    let mut metadata: Vec<(String, String)> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for entry in markdown.entries() {
        let (key, value) = (slice(entry.key), slice(entry.content));
        // Assigning a string to this name changes nothing in JavaScript.
        if key == "__proto__" {
            continue;
        }
        match seen.get(&key) {
            Some(&ix) => metadata[ix].1 = value,
            None => {
                seen.insert(key.clone(), metadata.len());
                metadata.push((key, value));
            }
        }
    }
    metadata.sort_by_key(|(key, _)| array_index(key.as_bytes()).unwrap_or(u32::MAX));
    metadata
}

/// Returns why the original has no contract to judge.
fn find_fault(markdown: &Markdown, fence: Option<&Parsed>) -> Option<OriginalFinding> {
    let Some(section) = markdown.section(CONTRACT_SECTION) else {
        let message = "Task Pack Contract section is missing.";
        return Some(OriginalFinding::new(
            "task-pack-contract-missing",
            message,
            Span::default(),
        ));
    };
    let fences = markdown.json_fences(&section);
    let wrong_count = |code: &str, span| {
        let message = "Task Pack Contract must contain exactly one fenced json block.";
        Some(OriginalFinding::new(code, message, span))
    };
    match fences.as_slice() {
        [] => wrong_count("task-pack-contract-json-missing", section.heading),
        [only] => find_json_fault(markdown, &section, only.inner, fence),
        [_, second, ..] => wrong_count("task-pack-contract-json-ambiguous", second.span),
    }
}

/// Parses the one fence of the contract's section, at its place in the file.
pub(super) fn parse_fence(markdown: &Markdown) -> Option<Parsed> {
    let section = markdown.section(CONTRACT_SECTION)?;
    match markdown.json_fences(&section).as_slice() {
        [only] => Some(json::parse_span(markdown.source(), only.inner)),
        _ => None,
    }
}

/// Returns true for a finding that keeps JavaScript from parsing the contract.
pub(super) fn is_fault(found: &Diagnostic) -> bool {
    // JavaScript takes the last of two equal keys and keeps halves of surrogate pairs: neither is an error to it.
    let tolerated = [&rules::DUPLICATE_KEY, &rules::JSON_SURROGATE, &rules::TOO_DEEP];
    !tolerated.contains(&found.rule)
}

fn find_json_fault(
    markdown: &Markdown,
    section: &MarkdownSection,
    inner: Span,
    fence: Option<&Parsed>,
) -> Option<OriginalFinding> {
    let fault = |message: String, span| Some(OriginalFinding::new("task-pack-contract-json-invalid", message, span));
    let first = fence.and_then(|parsed| parsed.diagnostics.iter().find(|found| is_fault(found)));
    if let Some(first) = first {
        return fault(first.message.clone(), first.span.unwrap_or(inner));
    }
    let Some(root) = fence.and_then(|parsed| parsed.document.root()) else {
        return fault("Unexpected end of JSON input".to_owned(), section.heading);
    };
    let after = Span::new(root.span().end as usize, inner.end as usize);
    let is_json_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    if !markdown.source().slice(after).bytes().all(is_json_space) {
        return fault("text after the end of the JSON value".to_owned(), after);
    }
    None
}

/// Answers for a pack that has no text.
pub fn report_unread(unread: Unread) -> OriginalReport {
    let (code, message) = match unread {
        Unread::Missing => ("task-pack-missing", "task-pack file is missing.".to_owned()),
        Unread::Unreadable(reason) => ("task-pack-unreadable", reason),
    };
    let mut report = OriginalReport::unchecked();
    report.error(code, message, Span::default());
    report
}

/// Answers for a pack, given what was found where it points to.
pub fn validate(pack: &OriginalPack, facts: &OriginalFacts) -> OriginalReport {
    let mut report = OriginalReport::unchecked();
    report.check_identity(pack);
    report.check_plan_path(pack, facts);
    report.check_hash_form(pack);
    if report.source_plan_path == PlanPath::Resolved {
        report.check_plan(pack, &facts.source_plan);
    }
    report.check_contract(pack, facts);
    report.validity = report.verdict();
    report
}

impl OriginalReport {
    fn unchecked() -> Self {
        OriginalReport {
            validity: Validity::Invalid,
            spec_id: SpecId::NotChecked,
            source_plan_hash: HashState::NotChecked,
            source_plan_path: PlanPath::NotChecked,
            contract: ContractState::NotChecked,
            errors: Vec::new(),
            limitations: Vec::new(),
        }
    }

    fn error(&mut self, code: &str, message: impl Into<JsString<'static>>, span: Span) {
        self.errors.push(OriginalFinding::new(code, message, span));
    }

    fn check_identity(&mut self, pack: &OriginalPack) {
        if let Some(open) = pack.markdown.frontmatter().filter(|found| !found.is_closed) {
            self.error("task-pack-frontmatter-invalid", UNCLOSED_FRONTMATTER, open.span);
        }
        for (field, expected) in [
            ("type", "task-pack"),
            ("generated_by", "spec-write-tasks"),
            ("status", "derived"),
            ("mode", "derived"),
        ] {
            if pack.markdown.value(field) != Some(expected) {
                let message = format!("Task pack frontmatter field '{field}' must be '{expected}'.");
                let finding = OriginalFinding::new(format!("task-pack-{field}-invalid"), message, pack.place_of(field));
                self.errors.push(finding.with("field", JsValue::string(field)));
            }
        }
        if pack.filled("spec_id").is_none() {
            self.spec_id = SpecId::Missing;
            let span = pack.place_of("spec_id");
            self.error("task-pack-missing-spec-id", "Task pack is missing spec_id.", span);
        }
    }

    fn check_plan_path(&mut self, pack: &OriginalPack, facts: &OriginalFacts) {
        let (state, code, message) = if pack.filled("source_plan").is_none() {
            let message = "Task pack is missing source_plan.";
            (PlanPath::Missing, "task-pack-source-plan-missing", message)
        } else if pack.source_plan().is_none() {
            let message = "source_plan must be a concrete repo-relative POSIX file path.";
            (PlanPath::Invalid, "task-pack-source-plan-invalid", message)
        } else if matches!(facts.source_plan, SourcePlanText::Missing) {
            let message = "source_plan file does not exist.";
            (PlanPath::Missing, "task-pack-source-plan-file-missing", message)
        } else {
            // A concrete path cannot leave the repository, so the original's check for that never fires.
            self.source_plan_path = PlanPath::Resolved;
            return;
        };
        self.source_plan_path = state;
        self.error(code, message, pack.place_of("source_plan"));
    }

    fn check_hash_form(&mut self, pack: &OriginalPack) {
        let span = pack.place_of("source_plan_hash");
        match pack.filled("source_plan_hash") {
            None => {
                self.source_plan_hash = HashState::Missing;
                let message = "Task pack is missing source_plan_hash.";
                self.error("task-pack-missing-source-plan-hash", message, span);
            }
            Some(hash) if !is_plan_hash(hash) => {
                self.source_plan_hash = HashState::Invalid;
                let message = "source_plan_hash must be sha256:<64-hex>.";
                self.error("task-pack-source-plan-hash-invalid", message, span);
            }
            Some(_) => {}
        }
    }

    fn check_plan(&mut self, pack: &OriginalPack, plan: &SourcePlanText) {
        let place = pack.place_of("source_plan");
        let plan = match plan {
            SourcePlanText::Missing => return,
            SourcePlanText::Unreadable(reason) => {
                self.source_plan_path = PlanPath::Missing;
                self.error("source-plan-unreadable", reason.clone(), place);
                return;
            }
            SourcePlanText::Text(text) => Markdown::parse(text),
        };
        let Some(current) = plan_hash(&plan) else {
            self.source_plan_hash = HashState::Unavailable;
            self.error("source-plan-frontmatter-invalid", UNCLOSED_FRONTMATTER, place);
            return;
        };
        self.compare_spec_id(pack, &plan);
        let hash = pack.filled("source_plan_hash").filter(|hash| is_plan_hash(hash));
        if hash == Some(current.hash.as_str()) {
            self.source_plan_hash = HashState::Matched;
        } else if let Some(hash) = hash {
            self.source_plan_hash = HashState::Mismatch;
            let message = "Task pack source_plan_hash does not match current source plan hash.";
            let stale = OriginalFinding::new("task-pack-stale", message, pack.place_of("source_plan_hash"))
                .with("expected_hash", JsValue::string(current.hash))
                .with("actual_hash", JsValue::string(hash));
            self.errors.push(stale);
        }
    }

    fn compare_spec_id(&mut self, pack: &OriginalPack, plan: &Markdown) {
        let own = pack.filled("spec_id");
        let Some(theirs) = plan.value("spec_id").filter(|value| !value.is_empty()) else {
            self.spec_id = SpecId::Missing;
            let message = "Source plan is missing spec_id.";
            self.error("source-plan-missing-spec-id", message, pack.place_of("source_plan"));
            return;
        };
        if own == Some(theirs) {
            self.spec_id = SpecId::Matched;
        } else if own.is_some() {
            self.spec_id = SpecId::Mismatch;
            let message = "Task pack spec_id does not match source plan spec_id.";
            self.error("task-pack-wrong-chain", message, pack.place_of("spec_id"));
        }
    }

    fn check_contract(&mut self, pack: &OriginalPack, facts: &OriginalFacts) {
        let n_errors = self.errors.len();
        if let Some(root) = pack.contract() {
            let view = JsView::of(root);
            contract::check(view, &facts.directories, &mut self.errors, &mut self.limitations);
        }
        self.errors.extend(pack.fault.clone());
        self.contract = if self.errors.len() == n_errors {
            ContractState::Valid
        } else {
            ContractState::Invalid
        };
    }

    fn verdict(&self) -> Validity {
        if self.errors.is_empty() {
            Validity::Valid
        } else if self.spec_id == SpecId::Mismatch {
            Validity::WrongChain
        } else if self.source_plan_hash == HashState::Mismatch {
            Validity::Stale
        } else if self.source_plan_hash == HashState::Unavailable {
            Validity::Unverifiable
        } else {
            Validity::Invalid
        }
    }
}

#[cfg(test)]
mod tests;
