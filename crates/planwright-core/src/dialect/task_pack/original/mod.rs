//! The original validator's answer about a pack: identity, freshness, structure. The caller looks up files.

use super::super::{DiskFacts, SourcePlanLookup};
use super::contract;
use super::fields;
use super::finding::{ContractFindings, OriginalFinding};
use super::hash::{UNCLOSED_FRONTMATTER, is_plan_hash, plan_hash};
use super::js::{JsString, JsValue, JsView, in_key_order};
use super::paths::is_concrete;
use super::task::PackTask;
use crate::diagnostic::Diagnostic;
use crate::document::markdown::{Markdown, MarkdownSection};
use crate::document::{NodeRef, Parsed, json, rules};
use crate::text::{SourceText, Span};

/// The title of the section with the contract.
pub(super) const CONTRACT_SECTION: &str = "Task Pack Contract";

/// A pack, read without any other file.
pub struct OriginalPack {
    markdown: Markdown,
    /// The only fence of the contract's section.
    fence: Option<Parsed>,
    /// Why there is no contract to check.
    fault: Option<OriginalFinding>,
}

/// Defines an enum with the original's word for each variant.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$when:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$when])* $variant,)*
        }

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

words! {
    /// The verdict on a pack.
    Validity {
        /// No errors.
        Valid = "valid",
        /// Made for another chain: the plan's `spec_id` differs.
        WrongChain = "wrong-chain",
        /// The plan has changed since.
        Stale = "stale",
        /// The plan cannot be hashed.
        Unverifiable = "unverifiable",
        /// Any other error.
        Invalid = "invalid",
    }
}

words! {
    /// The result for one part of a pack.
    CheckState {
        /// The pack, or the source plan, could not be read.
        NotChecked = "not_checked",
        /// It is missing, or refers to no readable file.
        Missing = "missing",
        /// It has an invalid form.
        Invalid = "invalid",
        /// It differs from the plan.
        Mismatch = "mismatch",
        /// It matches the plan.
        Matched = "matched",
        /// The plan cannot be hashed.
        Unavailable = "unavailable",
        /// It is a file that was read.
        Resolved = "resolved",
        /// It has no errors.
        Valid = "valid",
    }
}

/// The original's answer about one pack.
#[derive(Clone, Debug)]
pub struct OriginalReport {
    /// The verdict.
    pub validity: Validity,
    /// The comparison of `spec_id`.
    pub spec_id: CheckState,
    /// The comparison of `source_plan_hash`.
    pub source_plan_hash: CheckState,
    /// The result for `source_plan`.
    pub source_plan_path: CheckState,
    /// The result for the contract.
    pub contract: CheckState,
    /// The errors, in the original's order.
    pub errors: Vec<OriginalFinding>,
    /// The original's remarks.
    pub limitations: Vec<OriginalFinding>,
}

impl OriginalPack {
    /// Reads a pack's text: frontmatter and contract.
    pub fn parse(source: &SourceText) -> Self {
        let markdown = Markdown::parse(source);
        let fence = parse_fence(&markdown);
        OriginalPack::new(markdown, fence)
    }

    /// Builds a pack from its carrier and the document of its contract, from [`parse_fence`].
    pub(super) fn new(markdown: Markdown, fence: Option<Parsed>) -> Self {
        OriginalPack {
            fault: find_fault(&markdown, fence.as_ref()),
            markdown,
            fence,
        }
    }

    /// Returns the carrier.
    pub fn markdown(&self) -> &Markdown {
        &self.markdown
    }

    /// Returns the keys and values of the frontmatter in JavaScript's order.
    pub fn metadata(&self) -> JsValue {
        let slice = |span| self.markdown.source().slice(span).to_owned();
        // Assigning a string to this name has no effect in JavaScript.
        let entries = self
            .markdown
            .entries()
            .iter()
            .filter(|entry| slice(entry.key) != "__proto__");
        let entries = entries.map(|entry| (slice(entry.key).into(), JsValue::string(slice(entry.content))));
        JsValue::Object(in_key_order(entries))
    }

    /// Returns the document of the contract, even if broken; none without a single fence.
    pub fn fence(&self) -> Option<&Parsed> {
        self.fence.as_ref()
    }

    /// Returns the contract, valid or not; none without JSON.
    pub fn contract(&self) -> Option<NodeRef<'_>> {
        let fence = self.fence.as_ref().filter(|_| self.fault.is_none());
        fence.and_then(|parsed| parsed.document.root())
    }

    /// Returns the tasks of the contract; none if it cannot be checked.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = PackTask> {
        let tasks = self.contract().and_then(|contract| contract.get("tasks"));
        tasks.into_iter().flat_map(NodeRef::elements).map(PackTask::of)
    }

    /// Returns the path of the source plan from the root of the repository, if it is a concrete path.
    pub fn source_plan(&self) -> Option<&str> {
        self.filled("source_plan").filter(|path| is_concrete(path))
    }

    /// Returns the concrete paths among the tasks' files, with repeats, for the caller to look up.
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

    /// Returns a non-empty value of the frontmatter.
    fn filled(&self, key: &str) -> Option<&str> {
        self.markdown.value(key).filter(|value| !value.is_empty())
    }

    /// Returns the span of a key of the frontmatter, otherwise of the frontmatter, otherwise the start.
    fn place_of(&self, key: &str) -> Span {
        let frontmatter = self.markdown.frontmatter().map(|found| found.span);
        self.markdown
            .entry(key)
            .map(|entry| if entry.value.is_empty() { entry.key } else { entry.value })
            .or(frontmatter)
            .unwrap_or_default()
    }
}

/// The fields of each task that the original repeats for the executing agent, in its order.
const FOCUS: [&str; 13] = [
    "task_id",
    "source_unit",
    "goal",
    "files",
    "wave",
    "dependencies",
    "test_focus",
    "done_signal",
    "stop_if",
    "review_gate",
    "review_focus",
    "target_repo",
    "expected_side_effects",
];

/// Returns the original's excerpt of each task of a contract: id and wave as written, lists that are no arrays as empty, and other falsy
/// values as null.
pub fn execution_focus(contract: NodeRef<'_>) -> JsValue {
    let focus = |task: JsView<'_>| {
        let member = |name: &'static str| {
            let value = task.get(name);
            let shown = match name {
                "task_id" | "wave" => value?.to_value(),
                name if fields::is_list(name) => {
                    let items = value.into_iter().flat_map(JsView::elements);
                    JsValue::Array(items.map(JsView::to_value).collect())
                }
                _ => value
                    .filter(|value| value.is_truthy())
                    .map_or(JsValue::Null, JsView::to_value),
            };
            Some((name.into(), shown))
        };
        JsValue::Object(FOCUS.into_iter().filter_map(member).collect())
    };
    let tasks = JsView::of(contract).get("tasks").into_iter().flat_map(JsView::elements);
    JsValue::Array(tasks.filter(|task| task.is_object()).map(focus).collect())
}

/// Returns why the original has no contract to check.
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

/// Parses the only fence of the contract's section, with spans of the file.
pub(super) fn parse_fence(markdown: &Markdown) -> Option<Parsed> {
    let section = markdown.section(CONTRACT_SECTION)?;
    match markdown.json_fences(&section).as_slice() {
        [only] => Some(json::parse_span(markdown.source(), only.inner)),
        _ => None,
    }
}

/// Returns whether a finding prevents JavaScript from parsing the contract.
pub(super) fn is_fault(found: &Diagnostic) -> bool {
    // JavaScript takes the last of two equal keys and keeps lone surrogates: neither is an error there.
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

/// Returns the report for a pack without a text: it does not exist, or the system's error prevents reading it.
pub fn report_unread(reason: Option<String>) -> OriginalReport {
    let mut report = OriginalReport::unchecked();
    match reason {
        None => report.error("task-pack-missing", "task-pack file is missing.", Span::default()),
        Some(reason) => report.error("task-pack-unreadable", reason, Span::default()),
    }
    report
}

/// Returns the report for a pack and the files that it refers to.
pub fn validate(pack: &OriginalPack, facts: &DiskFacts) -> OriginalReport {
    let mut report = OriginalReport::unchecked();
    report.check_identity(pack);
    report.check_plan_path(pack, facts);
    report.check_hash_form(pack);
    if report.source_plan_path == CheckState::Resolved {
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
            spec_id: CheckState::NotChecked,
            source_plan_hash: CheckState::NotChecked,
            source_plan_path: CheckState::NotChecked,
            contract: CheckState::NotChecked,
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
            self.spec_id = CheckState::Missing;
            let span = pack.place_of("spec_id");
            self.error("task-pack-missing-spec-id", "Task pack is missing spec_id.", span);
        }
    }

    fn check_plan_path(&mut self, pack: &OriginalPack, facts: &DiskFacts) {
        let (state, code, message) = if pack.filled("source_plan").is_none() {
            let message = "Task pack is missing source_plan.";
            (CheckState::Missing, "task-pack-source-plan-missing", message)
        } else if pack.source_plan().is_none() {
            let message = "source_plan must be a concrete repo-relative POSIX file path.";
            (CheckState::Invalid, "task-pack-source-plan-invalid", message)
        } else if matches!(facts.source_plan, SourcePlanLookup::Missing) {
            let message = "source_plan file does not exist.";
            (CheckState::Missing, "task-pack-source-plan-file-missing", message)
        } else {
            // A concrete path cannot leave the repository, so the original's check for that never fires.
            self.source_plan_path = CheckState::Resolved;
            return;
        };
        self.source_plan_path = state;
        self.error(code, message, pack.place_of("source_plan"));
    }

    fn check_hash_form(&mut self, pack: &OriginalPack) {
        let span = pack.place_of("source_plan_hash");
        match pack.filled("source_plan_hash") {
            None => {
                self.source_plan_hash = CheckState::Missing;
                let message = "Task pack is missing source_plan_hash.";
                self.error("task-pack-missing-source-plan-hash", message, span);
            }
            Some(hash) if !is_plan_hash(hash) => {
                self.source_plan_hash = CheckState::Invalid;
                let message = "source_plan_hash must be sha256:<64-hex>.";
                self.error("task-pack-source-plan-hash-invalid", message, span);
            }
            Some(_) => {}
        }
    }

    fn check_plan(&mut self, pack: &OriginalPack, plan: &SourcePlanLookup) {
        let place = pack.place_of("source_plan");
        let plan = match plan {
            SourcePlanLookup::Missing => return,
            SourcePlanLookup::Unreadable(reason) => {
                self.source_plan_path = CheckState::Missing;
                self.error("source-plan-unreadable", reason.clone(), place);
                return;
            }
            SourcePlanLookup::Bytes(bytes) => Markdown::parse(&SourceText::from_bytes(bytes.clone())),
        };
        let Some(current) = plan_hash(&plan) else {
            self.source_plan_hash = CheckState::Unavailable;
            self.error("source-plan-frontmatter-invalid", UNCLOSED_FRONTMATTER, place);
            return;
        };
        self.compare_spec_id(pack, &plan);
        let hash = pack.filled("source_plan_hash").filter(|hash| is_plan_hash(hash));
        if hash == Some(current.hash.as_str()) {
            self.source_plan_hash = CheckState::Matched;
        } else if let Some(hash) = hash {
            self.source_plan_hash = CheckState::Mismatch;
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
            self.spec_id = CheckState::Missing;
            let message = "Source plan is missing spec_id.";
            self.error("source-plan-missing-spec-id", message, pack.place_of("source_plan"));
            return;
        };
        if own == Some(theirs) {
            self.spec_id = CheckState::Matched;
        } else if own.is_some() {
            self.spec_id = CheckState::Mismatch;
            let message = "Task pack spec_id does not match source plan spec_id.";
            self.error("task-pack-wrong-chain", message, pack.place_of("spec_id"));
        }
    }

    fn check_contract(&mut self, pack: &OriginalPack, facts: &DiskFacts) {
        let n_errors = self.errors.len();
        if let Some(root) = pack.contract() {
            let view = JsView::of(root);
            let mut findings = ContractFindings {
                errors: &mut self.errors,
                limitations: &mut self.limitations,
            };
            contract::check(view, &facts.directories, &mut findings);
        }
        self.errors.extend(pack.fault.clone());
        self.contract = match self.errors.len() == n_errors {
            true => CheckState::Valid,
            false => CheckState::Invalid,
        };
    }

    fn verdict(&self) -> Validity {
        if self.errors.is_empty() {
            Validity::Valid
        } else if self.spec_id == CheckState::Mismatch {
            Validity::WrongChain
        } else if self.source_plan_hash == CheckState::Mismatch {
            Validity::Stale
        } else if self.source_plan_hash == CheckState::Unavailable {
            Validity::Unverifiable
        } else {
            Validity::Invalid
        }
    }
}

#[cfg(test)]
mod tests;
