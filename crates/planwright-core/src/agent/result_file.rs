//! The file in which an agent may report its result: a small JSON object with a version. Does not know where the file is.
//!
//! ```
//! use planwright_core::agent::result_file::{ResultFile, ResultStatus};
//!
//! let file = ResultFile::read(r#"{"planwright_result": 1, "outcome": "done", "affected_files": ["src/a.rs", "../b"]}"#)
//!     .expect("a file without errors");
//! assert_eq!(file.report, ResultStatus::Done);
//! assert_eq!(file.affected_files, ["src/a.rs"]);
//! assert_eq!(file.warnings[0].rule.id, "result-path");
//! ```

use super::rules::{RESULT_FIELD, RESULT_PATH, RESULT_STOP, RESULT_TOO_LARGE, RESULT_UNKNOWN_MEMBER, RESULT_VERSION};
use super::usage::Usage;
use crate::diagnostic::{Diagnostic, Severity, nearest, push_bounded, sort};
use crate::document::{NodeKind, NodeRef, json};
use crate::text::{SourceText, Span, visible};

/// The version of the protocol.
pub const VERSION: i64 = 1;

/// The longest result file, in bytes.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// The JSON Schema of result files.
pub const SCHEMA: &str = include_str!("../../schemas/result-file.json");

/// What an agent reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultStatus {
    /// The task is done.
    Done,
    /// The task is not done.
    Failed,
    /// A stop condition was met: the whole run is to end.
    Stop,
}

/// The words for it in the file.
static REPORTS: &[(&str, ResultStatus)] = &[
    ("done", ResultStatus::Done),
    ("failed", ResultStatus::Failed),
    ("stop", ResultStatus::Stop),
];

/// Words that agents use instead, with what they probably mean.
static SYNONYMS: &[(&str, &str)] = &[
    ("success", "done"),
    ("ok", "done"),
    ("complete", "done"),
    ("completed", "done"),
    ("error", "failed"),
    ("failure", "failed"),
    ("stopped", "stop"),
    ("blocked", "stop"),
];

/// A member of the file or of its `cost`.
#[derive(Debug)]
pub struct ResultMember {
    /// Its key.
    pub name: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it must be, for messages and documentation.
    pub shape: &'static str,
}

const fn member(name: &'static str, is_required: bool, shape: &'static str) -> ResultMember {
    ResultMember {
        name,
        is_required,
        shape,
    }
}

/// The members of a result file.
pub static MEMBERS: &[ResultMember] = &[
    member("planwright_result", true, "the number 1"),
    member("outcome", true, "one of `done`, `failed` and `stop`"),
    member("output", false, "a string"),
    member("affected_files", false, "an array of strings"),
    member("notes", false, "a string"),
    member("stop_condition", false, "a string"),
    member("discoveries", false, "an array of strings"),
    member("proposed_tasks", false, "an array of objects"),
    member("reflection", false, "a string"),
    member("tools_called", false, "an array of strings"),
    member("cost", false, "an object"),
];

/// The members of its `cost`.
pub static COST_MEMBERS: &[ResultMember] = &[
    member("usd", false, "a number of at least 0"),
    member("tokens_in", false, "a whole number of at least 0"),
    member("tokens_out", false, "a whole number of at least 0"),
];

/// A result file as read.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// How it went.
    pub report: ResultStatus,
    /// What was made, in a few sentences; empty where it does not say. What depends on the task gets to read it.
    pub output: String,
    /// The files that were changed, as paths inside the workspace.
    pub affected_files: Vec<String>,
    /// Remarks for people; empty where there are none.
    pub notes: String,
    /// The stop condition that was met, where one was.
    pub stop_condition: Option<String>,
    /// What was found out that a planner should know.
    pub discoveries: Vec<String>,
    /// Tasks that the plan should have as well, each an object as it is written, in the fields of the plan's dialect.
    pub proposed_tasks: Vec<String>,
    /// What the agent thinks of its work; empty where it does not say.
    pub reflection: String,
    /// The tools that it used, by name.
    pub tools_called: Vec<String>,
    /// What it cost.
    pub usage: Usage,
    /// What is strange about it without making it useless.
    pub warnings: Vec<Diagnostic>,
}

impl ResultFile {
    /// Reads a result file; where it has errors, returns them all, with the warnings among them.
    pub fn read(text: &str) -> Result<ResultFile, Vec<Diagnostic>> {
        if text.len() > MAX_RESULT_BYTES {
            let message = format!(
                "the result file has {} bytes, and may have {MAX_RESULT_BYTES}",
                text.len()
            );
            return Err(vec![Diagnostic::of_file(&RESULT_TOO_LARGE, message)]);
        }
        let source = SourceText::new(text);
        let parsed = json::parse(&source);
        let mut reading = ResultFileReader {
            findings: parsed.diagnostics,
        };
        let file = match parsed.document.root() {
            Some(root) if root.kind() == NodeKind::Object => Some(reading.file(root)),
            Some(root) => {
                let message = format!("a result file is an object, not {}", root.describe());
                reading.field(root.span(), message);
                None
            }
            None => {
                let message = "the result file is empty";
                reading
                    .findings
                    .push(Diagnostic::of_file(&RESULT_FIELD, message).with_help(EXAMPLE));
                None
            }
        };
        let mut findings = reading.findings;
        sort(&mut findings);
        let is_broken = findings.iter().any(|finding| finding.severity == Severity::Error);
        match file.flatten() {
            Some(file) if !is_broken => Ok(ResultFile {
                warnings: findings,
                ..file
            }),
            _ => Err(findings),
        }
    }
}

const EXAMPLE: &str = "the least there can be is {\"planwright_result\": 1, \"outcome\": \"done\"}";

struct ResultFileReader {
    findings: Vec<Diagnostic>,
}

impl ResultFileReader {
    /// Reads the object; none where it has no outcome.
    fn file(&mut self, root: NodeRef<'_>) -> Option<ResultFile> {
        self.unknown_members(root, MEMBERS);
        self.version(root);
        let report = self.outcome(root);
        let stop_condition = self.text(root, "stop_condition");
        let cost = root.get("cost").filter(|cost| cost.kind() != NodeKind::Null);
        let cost = cost.filter(|&cost| self.has_kind(cost, "cost", cost.kind() == NodeKind::Object, MEMBERS));
        if let Some(cost) = cost {
            self.unknown_members(cost, COST_MEMBERS);
        }
        let file = ResultFile {
            report: report.unwrap_or(ResultStatus::Failed),
            output: self.text(root, "output").unwrap_or_default(),
            affected_files: self.paths(root),
            notes: self.text(root, "notes").unwrap_or_default(),
            usage: Usage {
                cost_usd: cost.and_then(|cost| self.amount(cost, "usd")),
                tokens_in: cost.and_then(|cost| self.whole(cost, "tokens_in")),
                tokens_out: cost.and_then(|cost| self.whole(cost, "tokens_out")),
            },
            stop_condition: stop_condition.filter(|condition| !condition.trim().is_empty()),
            discoveries: self.items(root, "discoveries", NodeKind::String),
            proposed_tasks: self.items(root, "proposed_tasks", NodeKind::Object),
            reflection: self.text(root, "reflection").unwrap_or_default(),
            tools_called: self.items(root, "tools_called", NodeKind::String),
            warnings: Vec::new(),
        };
        self.stop(root, &file, report);
        report.map(|_| file)
    }

    fn field(&mut self, span: Span, message: String) {
        push_bounded(&mut self.findings, || Diagnostic::new(&RESULT_FIELD, span, message));
    }

    fn version(&mut self, root: NodeRef<'_>) {
        let Some(version) = root.get("planwright_result") else {
            let message = "`planwright_result` is missing: the version of the protocol";
            let finding = Diagnostic::new(&RESULT_VERSION, opening(root), message);
            self.findings.push(finding.with_help("add \"planwright_result\": 1"));
            return;
        };
        let message = match version.as_integer() {
            Some(VERSION) => return,
            Some(newer) if newer > VERSION => {
                format!("this planwright knows version {VERSION} of result files, not {newer}")
            }
            Some(other) => format!("there is no version {other} of result files"),
            None => format!(
                "`planwright_result` must be the number {VERSION}, not {}",
                version.describe()
            ),
        };
        let finding = Diagnostic::new(&RESULT_VERSION, version.span(), message);
        self.findings.push(finding.with_help("write \"planwright_result\": 1"));
    }

    fn outcome(&mut self, root: NodeRef<'_>) -> Option<ResultStatus> {
        let Some(outcome) = root.get("outcome") else {
            let finding = Diagnostic::new(&RESULT_FIELD, opening(root), "`outcome` is missing: how did it go?");
            self.findings.push(finding.with_help(EXAMPLE));
            return None;
        };
        let Some(word) = outcome.text() else {
            let message = format!(
                "`outcome` must be one of `done`, `failed` and `stop`, not {}",
                outcome.describe()
            );
            self.field(outcome.span(), message);
            return None;
        };
        let found = REPORTS.iter().find(|(known, _)| *known == word);
        if found.is_none() {
            let synonym = SYNONYMS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
            let meant = synonym.map(|&(_, report)| report);
            let meant = meant.or_else(|| nearest(&word, REPORTS.iter().map(|(known, _)| *known)));
            let hint = meant.map_or(String::new(), |known| format!(": did you mean `{known}`?"));
            let message = format!("{} is none of `done`, `failed` and `stop`{hint}", shown(outcome));
            self.field(outcome.span(), message);
        }
        found.map(|&(_, report)| report)
    }

    /// Returns whether a member is what it must be, and says so where it is not.
    fn has_kind(&mut self, value: NodeRef<'_>, name: &str, is_right: bool, members: &[ResultMember]) -> bool {
        if !is_right && value.kind() != NodeKind::Invalid {
            let shape = members
                .iter()
                .find(|member| member.name == name)
                .map_or("", |member| member.shape);
            let message = match value.kind() {
                NodeKind::Number => format!("`{name}` must be {shape}, not {}", value.slice()),
                _ => format!("`{name}` must be {shape}, not {}", value.describe()),
            };
            self.field(value.span(), message);
        }
        is_right
    }

    fn text(&mut self, object: NodeRef<'_>, name: &str) -> Option<String> {
        let value = object.get(name).filter(|value| value.kind() != NodeKind::Null)?;
        let is_text = value.kind() == NodeKind::String;
        self.has_kind(value, name, is_text, MEMBERS);
        value.text().map(|text| text.into_owned())
    }

    fn amount(&mut self, object: NodeRef<'_>, name: &str) -> Option<f64> {
        let value = object.get(name).filter(|value| value.kind() != NodeKind::Null)?;
        let amount = value.as_number().filter(|amount| amount.is_finite() && *amount >= 0.0);
        self.has_kind(value, name, amount.is_some(), COST_MEMBERS);
        amount
    }

    fn whole(&mut self, object: NodeRef<'_>, name: &str) -> Option<u64> {
        let value = object.get(name).filter(|value| value.kind() != NodeKind::Null)?;
        let whole = value.as_integer().and_then(|whole| u64::try_from(whole).ok());
        self.has_kind(value, name, whole.is_some(), COST_MEMBERS);
        whole
    }

    /// Reads a list of values of one kind: texts as they are meant, objects as they are written.
    fn items(&mut self, root: NodeRef<'_>, name: &str, kind: NodeKind) -> Vec<String> {
        let Some(list) = root.get(name).filter(|list| list.kind() != NodeKind::Null) else {
            return Vec::new();
        };
        self.has_kind(list, name, list.kind() == NodeKind::Array, MEMBERS);
        let mut items = Vec::new();
        for item in list.elements() {
            match item.kind() {
                own if own != kind => self.has_kind(item, name, false, MEMBERS),
                NodeKind::String => {
                    items.extend(item.text().map(std::borrow::Cow::into_owned));
                    true
                }
                _ => {
                    items.push(item.slice().to_owned());
                    true
                }
            };
        }
        items
    }

    fn paths(&mut self, root: NodeRef<'_>) -> Vec<String> {
        let Some(list) = root.get("affected_files").filter(|list| list.kind() != NodeKind::Null) else {
            return Vec::new();
        };
        self.has_kind(list, "affected_files", list.kind() == NodeKind::Array, MEMBERS);
        let mut paths = Vec::new();
        for item in list.elements() {
            match item.text() {
                Some(path) if is_inside(&path) => paths.push(path.into_owned()),
                Some(_) => push_bounded(&mut self.findings, || {
                    let message = format!("{} is not a path inside the workspace: left out", shown(item));
                    let help = "write paths relative to the folder that the agent works in";
                    Diagnostic::new(&RESULT_PATH, item.span(), message).with_help(help)
                }),
                None => self.field(
                    item.span(),
                    format!("an affected file is a string, not {}", item.describe()),
                ),
            }
        }
        paths
    }

    fn stop(&mut self, root: NodeRef<'_>, file: &ResultFile, report: Option<ResultStatus>) {
        let message = match (report, &file.stop_condition) {
            (Some(ResultStatus::Stop), None) => "it asks to stop without naming the condition",
            (Some(ResultStatus::Done | ResultStatus::Failed), Some(_)) => {
                "it names a stop condition, but its outcome is not `stop`: the run continues"
            }
            _ => return,
        };
        let at = root.get("stop_condition").or_else(|| root.get("outcome"));
        let span = at.map_or(opening(root), NodeRef::span);
        self.findings.push(Diagnostic::new(&RESULT_STOP, span, message));
    }

    fn unknown_members(&mut self, object: NodeRef<'_>, known: &[ResultMember]) {
        for found in object.own_members() {
            let is_known = known.iter().any(|member| found.key.is_text(member.name));
            if is_known {
                continue;
            }
            push_bounded(&mut self.findings, || {
                let message = format!("{} is no member of a result file: ignored", shown(found.key));
                let finding = Diagnostic::new(&RESULT_UNKNOWN_MEMBER, found.key.span(), message);
                match nearest(&found.key.value(), known.iter().map(|member| member.name)) {
                    Some(name) => finding.with_help(format!("did you mean `{name}`?")),
                    None => finding,
                }
            });
        }
    }
}

/// Returns the place of an object's opening bracket.
fn opening(object: NodeRef<'_>) -> Span {
    let start = object.span().start as usize;
    Span::new(start, start + 1)
}

/// Returns a text of the file for a message, cut short.
fn shown(node: NodeRef<'_>) -> String {
    let start: String = node.value().chars().take(80).collect();
    format!("`{}`", visible(&start))
}

/// Returns whether a path is relative and stays below where it begins, on any system.
fn is_inside(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':');
    !path.trim().is_empty()
        && !path.starts_with(['/', '\\', '~'])
        && !has_drive
        && !path.chars().any(char::is_control)
        && path.split(['/', '\\']).all(|part| part != "..")
}
