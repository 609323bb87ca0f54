//! The original validator's findings as diagnostics, with spans and help. Omits findings that `check` reports itself.

use std::collections::{BTreeMap, HashSet};

use super::fields;
use super::finding::{MAX_FINDINGS, OriginalFinding};
use super::hash::is_plan_hash;
use super::js::{JsString, JsValue};
use super::original::{CONTRACT_SECTION, OriginalPack, OriginalReport};
use super::sections::SECTIONS;
use crate::diagnostic::{Diagnostic, Replacement, Rule, Severity, TOO_MANY_FINDINGS, push_bounded, rules, too_many};
use crate::text::{Span, visible};

rules! {
    FRONTMATTER = "task-pack-frontmatter", Error,
        "A frontmatter field lacks the value that an executable task pack needs.",
        "`type`, `generated_by`, `status` and `mode` have fixed values. A pack that is not executable has `status: draft`.",
        "status: approved",
        "status: derived";
    IDENTITY = "task-pack-identity", Error,
        "The pack does not name its source.",
        "`spec_id`, `source_plan` and `source_plan_hash` tie a pack to its plan. Without them planwright cannot tell whether the pack is current.",
        "(no source_plan_hash)",
        "source_plan_hash: sha256:0d6d… (from `planwright hash docs/plans/p.md`)";
    SOURCE_PLAN = "task-pack-source-plan", Error,
        "The source plan cannot be used.",
        "It is missing, unreadable, its frontmatter is not closed, or it has no `spec_id`. Paths are relative to the repository's root.",
        "source_plan: docs/plans/gone.md",
        "source_plan: docs/plans/p.md";
    WRONG_CHAIN = "task-pack-wrong-chain", Error,
        "The pack was derived for another plan.",
        "Its `spec_id` is not that of the source plan. Execution must be refused; rebuild the pack with `planwright tasks regenerate PLAN_FILE`.",
        "spec_id: 2026-01-01-001-a, while the plan says 2026-01-01-001-b",
        "both say 2026-01-01-001-a";
    STALE = "task-pack-stale", Error,
        "The source plan has changed since the pack was derived.",
        "The hash of the plan's body is not the one in the pack. Execution must be refused; rebuild the pack with `planwright tasks regenerate PLAN_FILE`.",
        "source_plan_hash: sha256:(hash of last week's plan)",
        "source_plan_hash: sha256:(hash of today's plan)";
    CONTRACT = "task-pack-contract", Error,
        "The contract is missing or malformed.",
        "`## Task Pack Contract` holds exactly one ```json fence with `schema_version`, `execution_waves` and `tasks`.",
        "## Task Pack Contract\n\n(no fence)",
        "## Task Pack Contract\n\n```json\n{\"schema_version\": \"task-pack/v1\", …}\n```";
    TASK_FIELD = "task-pack-task-field", Error,
        "A field of a task is missing or malformed.",
        "Required are task_id, dependencies, files, goal, test_focus, done_signal, wave and stop_if, and one of source_unit and requirement_refs.",
        "{\"task_id\": \"T001\", \"goal\": \"\"}",
        "{\"task_id\": \"T001\", \"goal\": \"Validate identity\", …}";
    TASK_PATH = "task-pack-path", Error,
        "A path of a task is not one it may own.",
        "Files are concrete and relative to the repository, with /; no globs, no .., no folders; not in generated mirrors (.claude, .codex, .agents/skills), and not in places for secrets.",
        "\"files\": [\"../other/a.rs\", \".env\"]",
        "\"files\": [\"src/a.rs\"]";
    WAVE = "task-pack-wave", Error,
        "Waves and tasks contradict each other.",
        "Every task is listed in exactly one wave, the one it declares, and waves list only tasks that exist.",
        "wave 1 lists T001, T001 declares wave 2",
        "wave 2 lists T001, T001 declares wave 2";
    DEPENDENCY_WAVE = "task-pack-dependency-wave", Error,
        "A task depends on one in the same or a later wave.",
        "Waves run one after another in the order of the list, regardless of their numbers.",
        "T001 in wave 1 depends on T002 in wave 1",
        "T002 in wave 1, T001 in wave 2";
    FILE_OVERLAP = "task-pack-file-overlap", Error,
        "Two tasks of one wave own the same file.",
        "Tasks of a wave may run in parallel. Put them into different waves.",
        "T001 and T002 in wave 1 both own src/a.rs",
        "T001 in wave 1, T002 in wave 2";
    UNKNOWN_FIELD = "task-pack-unknown-field", Note,
        "A task has a field that the schema does not know.",
        "It is kept and ignored. The original reports it as a limitation.",
        "{\"task_id\": \"T001\", \"owner\": \"me\", …}",
        "{\"task_id\": \"T001\", \"handoff_owner\": \"me\", …}";
    DRAFT = "task-pack-draft", Note,
        "The pack is a draft and not executable.",
        "A draft may lack fields that an executable pack needs: files, anchors, test focus, done signal and stop condition of its tasks. It must not look executable: a hash that looks real, or a recommendation to hand it to spec-work, is an error.",
        "status: draft, with source_plan_hash: sha256:0d6d…",
        "status: draft, with source_plan_hash: pending";
    MISSING_SECTION = "task-pack-missing-section", Note,
        "The pack lacks a section that readers expect.",
        "Programs check only the contract; the other sections are for people.",
        "(no `## Validation Notes`)",
        "## Validation Notes\n\nDerived from docs/plans/p.md …";
}

/// Returns whether a pack declares itself not executable.
pub(super) fn is_draft(pack: &OriginalPack) -> bool {
    pack.markdown().value("status") == Some("draft")
}

/// Returns the findings that `check` shows; those about the source plan only if the caller has looked for it.
pub(super) fn diagnostics(
    pack: &OriginalPack,
    report: &OriginalReport,
    excused: &[MisnamedField],
    looked: bool,
) -> Vec<Diagnostic> {
    let draft = is_draft(pack);
    let mut found: Vec<Diagnostic> = byte_order_mark(pack).into_iter().collect();
    // After a byte order mark, or without its end, the frontmatter is not found: findings about its fields follow from this.
    let is_unclosed = pack
        .markdown()
        .frontmatter()
        .is_some_and(|frontmatter| !frontmatter.is_closed);
    let is_unseen = is_unclosed || !found.is_empty();
    let missing = missing_lists(&report.errors);
    let excused: HashSet<_> = excused.iter().map(|excuse| (excuse.task, excuse.field)).collect();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &report.errors {
        let rule = rule_of(&finding.code).map(|(rule, _)| rule);
        let about_frontmatter = rule == Some(&FRONTMATTER) || rule == Some(&IDENTITY);
        if is_unseen && about_frontmatter && finding.code != "task-pack-frontmatter-invalid" {
            continue;
        }
        if is_echo(finding, &missing) || is_excused(finding, &excused) {
            continue;
        }
        let needs_disk = finding.code == "task-pack-source-plan-file-missing";
        if (needs_disk && !looked) || (draft && excused_in_draft(&finding.code)) {
            continue;
        }
        if let Some(field) = open_in_draft(&finding.code).filter(|_| draft) {
            *open.entry(field).or_insert(0) += 1;
            continue;
        }
        if let Some(diagnostic) = diagnostic(finding) {
            push_bounded(&mut found, || diagnostic);
        }
    }
    for limitation in &report.limitations {
        push_bounded(&mut found, || {
            let message = visible(&limitation.message.text()).into_owned();
            Diagnostic::new(&UNKNOWN_FIELD, limitation.span, message)
                .with_origin(&limitation.code)
                .with_help("it is kept and ignored")
        });
    }
    // Findings above the limit are unknown.
    let is_cut = report.errors.len().max(report.limitations.len()) >= MAX_FINDINGS;
    if is_cut && !found.iter().any(|found| found.rule == &TOO_MANY_FINDINGS) {
        found.push(too_many());
    }
    if draft {
        check_draft(pack, &open, &mut found);
    }
    found.extend(missing_sections(pack));
    found
}

/// Returns the finding for a byte order mark, which keeps the original from seeing the frontmatter.
fn byte_order_mark(pack: &OriginalPack) -> Option<Diagnostic> {
    let source = pack.markdown().source();
    let mark = Span::new(0, source.bom_len());
    (!mark.is_empty() && source.as_str()[mark.range().end..].starts_with("---")).then(|| {
        Diagnostic::new(&FRONTMATTER, mark, "a byte order mark hides the frontmatter")
            .with_help("save the file as UTF-8 without a byte order mark")
            .with_safe_fix("remove the byte order mark", vec![Replacement::delete(mark)])
    })
}

fn detail(finding: &OriginalFinding, key: &str) -> Option<JsString<'static>> {
    finding.detail(key).map(JsValue::to_js_string)
}

/// Returns the tasks with their missing fields, if any finding may repeat one of them.
fn missing_lists(errors: &[OriginalFinding]) -> HashSet<(JsString<'static>, &str)> {
    let missing = |finding| Some((detail(finding, "task_id")?, missing_field(finding)?));
    match errors.iter().any(|finding| malformed_field(finding).is_some()) {
        true => errors.iter().filter_map(missing).collect(),
        false => HashSet::new(),
    }
}

fn missing_field(finding: &OriginalFinding) -> Option<&str> {
    finding.code.strip_prefix("task-pack-task-missing-")
}

fn malformed_field(finding: &OriginalFinding) -> Option<&str> {
    finding.code.strip_prefix("task-pack-task-")?.strip_suffix("-invalid")
}

/// Returns whether a finding repeats another: a missing list is also no list, and a file that a task names twice is shared with itself.
fn is_echo(finding: &OriginalFinding, missing: &HashSet<(JsString<'static>, &str)>) -> bool {
    if let ("task-pack-same-wave-file-overlap", Some(JsValue::Array(pair))) =
        (finding.code.as_str(), finding.detail("task_ids"))
    {
        return matches!(pair.as_slice(), [first, second] if first.to_js_string() == second.to_js_string());
    }
    malformed_field(finding)
        .zip(detail(finding, "task_id"))
        .is_some_and(|(field, task)| missing.contains(&(task, field)))
}

/// Returns whether a missing field exists under another name.
fn is_excused(finding: &OriginalFinding, excused: &HashSet<(Span, &'static str)>) -> bool {
    let is_field =
        |name: &str| excused.contains(&(finding.span, name)) && finding.code.ends_with(&name.replace('_', "-"));
    !excused.is_empty() && missing_field(finding).is_some() && fields::names().any(is_field)
}

/// What an executable pack requires and a draft may lack.
fn excused_in_draft(code: &str) -> bool {
    matches!(
        code,
        "task-pack-status-invalid"
            | "task-pack-mode-invalid"
            | "task-pack-missing-spec-id"
            | "task-pack-source-plan-missing"
            | "task-pack-missing-source-plan-hash"
            | "task-pack-source-plan-hash-invalid"
            | "source-plan-missing-spec-id"
            | "task-pack-stale"
    )
}

/// Returns the field of a task that an executable pack requires and a draft leaves open.
fn open_in_draft(code: &str) -> Option<&'static str> {
    Some(match code {
        "task-pack-task-missing-files" | "task-pack-task-files-empty" => "files",
        "task-pack-task-missing-test-focus" => "test_focus",
        "task-pack-task-missing-done-signal" => "done_signal",
        "task-pack-task-missing-stop-if" => "stop_if",
        "task-pack-task-missing-source-anchor" => "source_unit or requirement_refs",
        _ => return None,
    })
}

const REBUILD: &str = "rebuild the pack from its source plan: `planwright tasks regenerate PLAN_FILE`";
const REPOSITORY_PATH: &str = "write a path from the repository's root, with / and without .. or globs";

/// Returns the rule and the advice for one of the original's codes; none where `check` has a rule of its own.
fn rule_of(code: &str) -> Option<(&'static Rule, &'static str)> {
    Some(match code {
        "task-pack-contract-json-invalid"
        | "task-pack-contract-tasks-empty"
        | "task-pack-task-dependency-missing"
        | "task-pack-task-id-duplicate" => return None,
        "task-pack-frontmatter-invalid" => (&FRONTMATTER, "close the frontmatter with a line `---`"),
        "task-pack-type-invalid" | "task-pack-generated_by-invalid" => (&FRONTMATTER, "write exactly this value"),
        "task-pack-status-invalid" | "task-pack-mode-invalid" => (
            &FRONTMATTER,
            "set the field, or mark the pack as a draft with `status: draft`",
        ),
        "task-pack-missing-spec-id" => (&IDENTITY, "copy `spec_id` from the source plan"),
        "task-pack-source-plan-missing" => (&IDENTITY, "name the source plan: `source_plan: docs/plans/….md`"),
        "task-pack-source-plan-invalid" | "task-pack-source-plan-outside-repo" => (&IDENTITY, REPOSITORY_PATH),
        "task-pack-missing-source-plan-hash" | "task-pack-source-plan-hash-invalid" => {
            (&IDENTITY, "write what `planwright hash` prints for the source plan")
        }
        "task-pack-source-plan-file-missing" | "source-plan-missing" | "source-plan-unreadable" => {
            (&SOURCE_PLAN, "correct the path; it is taken from the repository's root")
        }
        "source-plan-frontmatter-invalid" => (&SOURCE_PLAN, "close the plan's frontmatter with a line `---`"),
        "source-plan-missing-spec-id" => (
            &SOURCE_PLAN,
            "add `spec_id` to the plan's frontmatter, then derive again",
        ),
        "task-pack-wrong-chain" => (&WRONG_CHAIN, REBUILD),
        "task-pack-stale" => (&STALE, REBUILD),
        "task-pack-same-wave-file-overlap" => (&FILE_OVERLAP, "put the tasks into different waves"),
        "task-pack-task-dependency-wave-invalid" => (&DEPENDENCY_WAVE, "move the task to a later wave"),
        "task-pack-task-file-duplicate" => (&TASK_PATH, "name each file once"),
        "task-pack-task-file-generated-runtime" => (&TASK_PATH, "name the source it is generated from"),
        "task-pack-task-file-secret-denied" => (
            &TASK_PATH,
            "agents get no files that may hold secrets: rename it or leave it out",
        ),
        "task-pack-task-file-is-directory" => (&TASK_PATH, "name the files in it"),
        "task-pack-task-file-not-concrete" | "task-pack-task-file-outside-repo" => (&TASK_PATH, REPOSITORY_PATH),
        "task-pack-task-expected-side-effect-invalid" => (
            &TASK_PATH,
            "write a path from the repository's root; * and ? are allowed, ** is not",
        ),
        "task-pack-task-target-repo-invalid" => (&TASK_PATH, "write `.` or a folder inside the repository"),
        "task-pack-task-wave-missing" => (&WAVE, "declare the wave in execution_waves, or correct the task"),
        "task-pack-task-wave-list-mismatch" | "task-pack-task-wave-not-listed" => {
            (&WAVE, "list each task in the one wave it declares")
        }
        "task-pack-contract-schema-version-invalid" => (&CONTRACT, "write \"schema_version\": \"task-pack/v1\""),
        "task-pack-contract-tasks-invalid" => (&CONTRACT, "write the tasks as a list: \"tasks\": [ … ]"),
        "task-pack-contract-execution-waves-invalid" | "task-pack-contract-execution-waves-empty" => (
            &CONTRACT,
            "write the waves as a list: \"execution_waves\": [{\"wave\": 1, \"tasks\": [\"T001\"]}]",
        ),
        "task-pack-contract-invalid" => (&CONTRACT, "write the contract as an object"),
        "task-pack-wave-invalid"
        | "task-pack-wave-missing-id"
        | "task-pack-wave-id-invalid"
        | "task-pack-wave-tasks-invalid"
        | "task-pack-wave-task-id-invalid" => (&WAVE, "write a wave as {\"wave\": 1, \"tasks\": [\"T001\"]}"),
        "task-pack-wave-duplicate" => (&WAVE, "give each wave an id of its own: 1 and \"1\" are the same"),
        "task-pack-task-missing-source-anchor" => (
            &TASK_FIELD,
            "name the plan's unit in source_unit, or its requirements in requirement_refs",
        ),
        code if code.starts_with("task-pack-wave-") => (&WAVE, "list each task in exactly one wave"),
        code if code.starts_with("task-pack-contract-") => {
            (&CONTRACT, "write one ```json fence under `## Task Pack Contract`")
        }
        code if code.starts_with("task-pack-task-") => {
            (&TASK_FIELD, "the dialect's page lists every field and its type")
        }
        _ => (&CONTRACT, ""),
    })
}

fn diagnostic(finding: &OriginalFinding) -> Option<Diagnostic> {
    let (rule, help) = rule_of(&finding.code)?;
    // A task that blocks itself is a self-dependency, which `check` reports.
    if rule == &DEPENDENCY_WAVE && detail(finding, "task_id") == detail(finding, "dependency") {
        return None;
    }
    let mut diagnostic = Diagnostic::new(rule, finding.span, visible(&finding.message.text()).into_owned())
        .with_origin(&finding.code)
        .with_help(help);
    if rule == &STALE
        && let Some(expected) = detail(finding, "expected_hash")
    {
        diagnostic = diagnostic.with_label(format!("the plan's hash is now {}", expected.text()));
    }
    Some(diagnostic)
}

fn check_draft(pack: &OriginalPack, open: &BTreeMap<&str, usize>, found: &mut Vec<Diagnostic>) {
    let markdown = pack.markdown();
    let place = |key: &str| markdown.entry(key).map_or(Span::at(0), |entry| entry.content);
    if markdown.value("source_plan_hash").is_some_and(is_plan_hash) {
        found.push(
            Diagnostic::new(
                &DRAFT,
                place("source_plan_hash"),
                "a draft carries a hash that looks real",
            )
            .with_severity(Severity::Error)
            .with_help("write a placeholder, or make the pack executable with `status: derived`"),
        );
    }
    if let Some(span) = handoff_line(pack) {
        found.push(
            Diagnostic::new(&DRAFT, span, "a draft recommends handing it to spec-work")
                .with_severity(Severity::Error)
                .with_help("say that it is not executable, and derive an executable pack first: `planwright tasks regenerate PLAN_FILE`"),
        );
    }
    let note = Diagnostic::new(&DRAFT, place("status"), "the pack is a draft: it is not executable");
    let open: Vec<String> = open
        .iter()
        .map(|(field, n_tasks)| format!("{field} ({n_tasks})"))
        .collect();
    found.push(match open.is_empty() {
        true => note,
        false => note.with_help(format!("open, with the number of tasks: {}", open.join(", "))),
    });
}

/// Returns a line that sends the reader to spec-work without a negation.
fn handoff_line(pack: &OriginalPack) -> Option<Span> {
    const GO: &[&str] = &[
        "hand off",
        "handoff",
        "hand over",
        "proceed",
        "ready for",
        "run ",
        "continue with",
        "start ",
    ];
    const NO: &[&str] = &[
        "not ",
        "never",
        "cannot",
        "n't",
        "non-executable",
        "before",
        "until",
        "without",
        "no ",
    ];
    let source = pack.markdown().source();
    let body = pack.markdown().body();
    let mut at = body.start as usize;
    for line in source.slice(body).split_inclusive('\n') {
        if names_spec_work(line) {
            let lower = line.to_lowercase();
            let has = |word: &&str| lower.contains(word);
            if GO.iter().any(has) && !NO.iter().any(has) {
                return Some(Span::new(at, at + line.trim_end().len()));
            }
        }
        at += line.len();
    }
    None
}

fn names_spec_work(line: &str) -> bool {
    const NAME: &[u8] = b"spec-work";
    let mut places = line.as_bytes().windows(NAME.len());
    places.any(|place| place[0] | 0x20 == b's' && place.eq_ignore_ascii_case(NAME))
}

fn missing_sections(pack: &OriginalPack) -> Option<Diagnostic> {
    let source = pack.markdown().source();
    let has = |title: &str| {
        let mut headings = pack.markdown().headings().iter();
        headings.any(|heading| source.slice(heading.title).trim() == title)
    };
    // A pack without its contract has an error for that.
    let missing = |title: &&str| *title != CONTRACT_SECTION && !has(title);
    let missing: Vec<_> = SECTIONS.into_iter().filter(missing).collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!("sections are missing: {}", missing.join(", "));
    Some(Diagnostic::of_file(&MISSING_SECTION, message).with_help("readers and reviewers look for them"))
}

/// A field that a task has under another name.
pub(super) struct MisnamedField {
    /// The span of the task's id, or of the task if it has none.
    pub(super) task: Span,
    /// The field's right name.
    pub(super) field: &'static str,
}
