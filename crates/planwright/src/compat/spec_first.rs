//! `spec-first tasks …`: the original's options, checks, output and exit code. The dialect decides the meaning of a text.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use planwright_core::dialect::task_pack::finding::OriginalFinding;
use planwright_core::dialect::task_pack::hash::{CANONICALIZATION, PlanHash, UNCLOSED_FRONTMATTER, plan_hash};
use planwright_core::dialect::task_pack::js::{JsString, JsValue, stringify};
use planwright_core::dialect::task_pack::original::{
    OriginalPack, OriginalReport, Validity, execution_focus, report_unread, validate,
};
use planwright_core::dialect::{DiskFacts, SourcePlanLookup};
use planwright_core::document::markdown::Markdown;
use planwright_core::text::{MAX_BYTES, SourceText};

use super::Answer;

const USAGE: &str = "Usage: spec-first tasks <subcommand> [options]

Subcommands:
  hash <plan-path> [--json]                 Compute canonical source plan hash
  validate <task-pack-path> [--json] [--repo=<path>|--repo <path>]  Validate a derived task pack

Notes:
  validate only checks identity, freshness, and structure.
  It does not judge task splitting quality or business scope.
";

/// Further text that the original does not have.
const MORE: &str = "
Examples:
  planwright spec-first tasks validate docs/tasks/2026-05-11-004-feat-photos-tasks.md --json
  planwright spec-first tasks hash docs/plans/2026-05-11-004-feat-photos-plan.md

Exit status: 0 valid, or the hash; 1 not valid, or no hash; 2 wrong usage.
`planwright tasks` derives packs, rebuilds them and fixes their cards.
";

/// Runs the arguments after `spec-first`.
pub(crate) fn run(args: &[OsString]) -> Answer {
    // Arguments that are not Unicode reach the original with replacement characters, too.
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    match args.split_first() {
        Some((command, rest)) if command == "tasks" => run_tasks(rest),
        Some((command, _)) if command == "--help" || command == "-h" => Answer::out(0, format!("{USAGE}{MORE}")),
        Some((command, _)) => Answer::err(2, format!("Unknown spec-first command: {command}\n{USAGE}")),
        None => Answer::out(0, USAGE),
    }
}

fn run_tasks(args: &[String]) -> Answer {
    let subcommand = args.first().map_or("", String::as_str);
    match subcommand {
        "" | "--help" | "-h" => Answer::out(0, USAGE),
        "hash" => run_hash(&args[1..]),
        "validate" => run_validate(&args[1..]),
        unknown => {
            let message = format!("Unknown tasks subcommand: {unknown}");
            if has_json(args) {
                Answer::out(2, error_json("tasks-subcommand-unknown", &message))
            } else {
                Answer::err(2, format!("{message}\n{USAGE}"))
            }
        }
    }
}

/// A failure with its exit code, code and message.
struct SpecFirstFailure {
    status: u8,
    code: &'static str,
    message: String,
}

impl SpecFirstFailure {
    fn usage(code: &'static str, message: impl Into<String>) -> Self {
        SpecFirstFailure {
            status: 2,
            code,
            message: message.into(),
        }
    }

    fn answer(self, args: &[String]) -> Answer {
        if has_json(args) {
            Answer::out(self.status, error_json(self.code, &self.message))
        } else {
            Answer::err(self.status, format!("error: {}\n", self.message))
        }
    }
}

fn run_hash(args: &[String]) -> Answer {
    hash(args).unwrap_or_else(|failure| failure.answer(args))
}

fn hash(args: &[String]) -> Result<Answer, SpecFirstFailure> {
    refuse_unknown(args, &["--json"])?;
    let plan = first_positional(args)
        .ok_or_else(|| SpecFirstFailure::usage("tasks-plan-path-required", "plan path is required"))?;
    let path = resolve(&current_directory(), plan);
    let failure = |code, message: String| SpecFirstFailure {
        status: 1,
        code,
        message,
    };
    let text = match read(&path) {
        SourcePlanLookup::Bytes(bytes) => SourceText::from_bytes(bytes),
        SourcePlanLookup::Missing => {
            return Err(failure(
                "source-plan-missing",
                "source-plan file is missing.".to_owned(),
            ));
        }
        SourcePlanLookup::Unreadable(reason) => return Err(failure("source-plan-unreadable", reason)),
    };
    let found = plan_hash(&Markdown::parse(&text))
        .ok_or_else(|| failure("source-plan-frontmatter-invalid", UNCLOSED_FRONTMATTER.to_owned()))?;
    Ok(if has_json(args) {
        Answer::out(0, hash_json(&path, &found))
    } else {
        Answer::out(0, format!("{}\n", found.hash))
    })
}

fn run_validate(args: &[String]) -> Answer {
    validate_pack(args).unwrap_or_else(|failure| failure.answer(args))
}

fn validate_pack(args: &[String]) -> Result<Answer, SpecFirstFailure> {
    refuse_unknown(args, &["--json", "--repo"])?;
    let current = current_directory();
    let root = match repo_argument(args)? {
        Some(repo) => resolve(&current, repo),
        None => current.clone(),
    };
    let path = first_positional(args)
        .ok_or_else(|| SpecFirstFailure::usage("tasks-task-pack-path-required", "task pack path is required"))?;
    let checked = check_pack(&resolve(&current, path), root);
    let status = u8::from(checked.report.validity != Validity::Valid);
    Ok(if has_json(args) {
        Answer::out(status, checked.to_json())
    } else if status == 0 {
        Answer::out(0, "task pack valid\n")
    } else {
        Answer::err(status, checked.to_plain())
    })
}

fn has_json(args: &[String]) -> bool {
    args.iter().any(|arg| arg == "--json")
}

fn refuse_unknown(args: &[String], allowed: &[&str]) -> Result<(), SpecFirstFailure> {
    let is_unknown = |arg: &&String| {
        let flag = arg.split('=').next().unwrap_or(arg);
        arg.starts_with('-') && !allowed.contains(&flag)
    };
    match args.iter().find(is_unknown) {
        Some(arg) => Err(SpecFirstFailure::usage(
            "tasks-unknown-option",
            format!("unknown option: {arg}"),
        )),
        None => Ok(()),
    }
}

/// Returns the first argument that is neither an option nor an option's value; an empty one counts as none.
fn first_positional(args: &[String]) -> Option<&str> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--repo" {
            args.next();
        } else if !arg.starts_with('-') {
            return Some(arg.as_str()).filter(|arg| !arg.is_empty());
        }
    }
    None
}

/// Returns the value of `--repo`; the form with `=` wins in any order.
fn repo_argument(args: &[String]) -> Result<Option<&str>, SpecFirstFailure> {
    let joined = args.iter().find_map(|arg| arg.strip_prefix("--repo="));
    let value = match (joined, args.iter().position(|arg| arg == "--repo")) {
        (Some(value), _) => value,
        (None, Some(at)) => match args.get(at + 1) {
            Some(value) if !value.starts_with('-') => value,
            _ => "",
        },
        (None, None) => return Ok(None),
    };
    if value.is_empty() {
        let message = "repo path is required after --repo";
        return Err(SpecFirstFailure::usage("tasks-repo-path-required", message));
    }
    Ok(Some(value))
}

fn current_directory() -> String {
    // If the current folder is missing, every lookup fails anyway.
    std::env::current_dir().map_or_else(|_| "/".to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Returns the absolute path of `path` in `base`, computed from the text alone.
fn resolve(base: &str, path: &str) -> String {
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{base}/{path}")
    };
    let mut segments: Vec<&str> = Vec::new();
    for segment in joined.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Reads a file of bounded size. A file that would block, such as a named pipe, counts as unreadable.
fn read(path: &str) -> SourcePlanLookup {
    // An inaccessible file, as in a missing or forbidden folder, counts as missing.
    let Ok(metadata) = fs::metadata(path) else {
        return SourcePlanLookup::Missing;
    };
    match read_file(path, &metadata) {
        Ok(bytes) => SourcePlanLookup::Bytes(bytes),
        Err(reason) => SourcePlanLookup::Unreadable(reason),
    }
}

fn read_file(path: &str, metadata: &fs::Metadata) -> Result<Vec<u8>, String> {
    if metadata.is_dir() {
        return Err("EISDIR: illegal operation on a directory, read".to_owned());
    }
    if !metadata.is_file() {
        return Err("EINVAL: not a regular file, open".to_owned());
    }
    let mut bytes = Vec::new();
    // The file may grow during the read.
    if metadata.len() <= MAX_BYTES as u64 {
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| describe(&error, path))?;
    }
    match metadata.len() > MAX_BYTES as u64 || bytes.len() > MAX_BYTES {
        true => Err(format!("EFBIG: file too large, more than {MAX_BYTES} bytes, read")),
        false => Ok(bytes),
    }
}

/// Describes an error of the system in Node's style.
fn describe(error: &io::Error, path: &str) -> String {
    let (code, text) = match error.kind() {
        io::ErrorKind::PermissionDenied => ("EACCES", "permission denied"),
        io::ErrorKind::NotFound => ("ENOENT", "no such file or directory"),
        io::ErrorKind::IsADirectory => ("EISDIR", "illegal operation on a directory"),
        io::ErrorKind::NotADirectory => ("ENOTDIR", "not a directory"),
        io::ErrorKind::InvalidInput => ("EINVAL", "invalid argument"),
        _ => return format!("EIO: {error}, open '{path}'"),
    };
    format!("{code}: {text}, open '{path}'")
}

/// A pack's report and its subject.
struct CheckedPack {
    path: String,
    root: String,
    pack: Option<OriginalPack>,
    report: OriginalReport,
}

fn check_pack(path: &str, root: String) -> CheckedPack {
    let (pack, report) = match read(path) {
        SourcePlanLookup::Bytes(bytes) => {
            let pack = OriginalPack::parse(&SourceText::from_bytes(bytes));
            let report = validate(&pack, &look_up(&pack, &root));
            (Some(pack), report)
        }
        SourcePlanLookup::Missing => (None, report_unread(None)),
        SourcePlanLookup::Unreadable(reason) => (None, report_unread(Some(reason))),
    };
    CheckedPack {
        path: path.to_owned(),
        root,
        pack,
        report,
    }
}

/// Looks up the files that the pack refers to.
fn look_up(pack: &OriginalPack, root: &str) -> DiskFacts {
    let source_plan = pack.source_plan().map(|plan| read(&resolve(root, plan)));
    let files: HashSet<String> = pack.files().collect();
    let is_directory = |file: &String| Path::new(&resolve(root, file)).is_dir();
    DiskFacts {
        source_plan: source_plan.unwrap_or_default(),
        directories: files.into_iter().filter(is_directory).collect(),
        ..DiskFacts::default()
    }
}

impl CheckedPack {
    fn to_plain(&self) -> String {
        let mut out = format!("task pack invalid: {}\n", self.report.validity.as_str());
        for error in &self.report.errors {
            out.push_str(&format!("- {}: {}\n", error.code, error.message));
        }
        out
    }

    fn to_json(&self) -> String {
        let report = &self.report;
        let pack = self.pack.as_ref();
        let plan = pack.and_then(OriginalPack::source_plan);
        let contract = pack.and_then(OriginalPack::contract);
        let source_plan = JsValue::object([
            ("path", text_or_null(plan)),
            (
                "absolute_path",
                text_or_null(plan.map(|plan| resolve(&self.root, plan))),
            ),
        ]);
        let task_pack = JsValue::object([
            ("metadata", pack.map_or(JsValue::object([]), OriginalPack::metadata)),
            ("contract", contract.map_or(JsValue::Null, JsValue::of)),
            (
                "execution_focus",
                contract.map_or(JsValue::Array(Vec::new()), execution_focus),
            ),
        ]);
        let validation = JsValue::object([
            ("spec_id", JsValue::string(report.spec_id.as_str())),
            ("source_plan_hash", JsValue::string(report.source_plan_hash.as_str())),
            ("hash_tool", JsValue::string("available")),
            ("source_plan_path", JsValue::string(report.source_plan_path.as_str())),
            ("task_pack_contract", JsValue::string(report.contract.as_str())),
        ]);
        json_line([
            ("schema_version", JsValue::string("task-pack-validation/v1")),
            ("task_pack_path", JsValue::string(self.path.as_str())),
            ("repo_root", JsValue::string(self.root.as_str())),
            ("task_pack_validity", JsValue::string(report.validity.as_str())),
            (
                "deterministic_handoff",
                JsValue::Bool(report.validity == Validity::Valid),
            ),
            ("validity_scope", JsValue::string("identity-freshness-structure-only")),
            ("source_plan", source_plan),
            ("task_pack", task_pack),
            ("validation", validation),
            (
                "errors",
                JsValue::Array(report.errors.iter().map(finding_value).collect()),
            ),
            (
                "limitations",
                JsValue::Array(report.limitations.iter().map(finding_value).collect()),
            ),
        ])
    }
}

fn text_or_null<'t>(text: Option<impl Into<JsString<'t>>>) -> JsValue {
    text.map_or(JsValue::Null, JsValue::string)
}

fn finding_value(finding: &OriginalFinding) -> JsValue {
    let code = ("code", JsValue::string(finding.code.as_str()));
    let message = ("message", JsValue::String(finding.message.clone()));
    let members = [code, message].into_iter().chain(finding.details.iter().cloned());
    JsValue::Object(members.map(|(key, value)| (key.into(), value)).collect())
}

fn hash_json(path: &str, found: &PlanHash) -> String {
    json_line([
        ("schema_version", JsValue::string("task-plan-hash/v1")),
        ("plan_path", JsValue::string(path)),
        ("hash", JsValue::string(found.hash.as_str())),
        ("canonicalization_version", JsValue::string(CANONICALIZATION)),
        ("removed_frontmatter", JsValue::Bool(found.removed_frontmatter)),
        ("canonical_body_bytes", JsValue::Number(found.n_body_bytes as f64)),
    ])
}

fn error_json(code: &str, message: &str) -> String {
    let error = JsValue::object([("code", JsValue::string(code)), ("message", JsValue::string(message))]);
    json_line([("ok", JsValue::Bool(false)), ("error", error)])
}

/// Returns an object as JSON, with a final newline.
fn json_line<const N: usize>(members: [(&'static str, JsValue); N]) -> String {
    stringify(&JsValue::object(members)) + "\n"
}
