//! Aimi tasks.json: v3 with its thirteen rules, and v2.x with `prd.json`. Findings use the `Error:` and `Fix:` sentences of the
//! specification.

mod answer;
mod migrate;
mod record;
mod v2;
mod v3;
mod write;

use super::reader::{FindingTexts, ObjectFields, PlanReader, excerpt};
use super::rules::FILE_NAME;
use super::table::{FieldShape, FieldSpec, FieldTable};
use super::time::is_iso_date;
use super::{
    CarrierKind, Dialect, DialectInput, DialectWriter, Edits, Fit, PlanReading, Planning, Recording, file_name, next_id,
};
use crate::diagnostic::{Diagnostic, Replacement, Rule, Severity, rules};
use crate::document::patch::PlainValue as PatchValue;
use crate::document::{Member, NodeKind, NodeRef};
use crate::edit::{FieldEdit, Owner};
use crate::plan::lifecycle::PLAIN_WORDING;
use crate::plan::{Field, FieldValue, Plan, Wording};
use crate::text::{Span, visible};

/// The Aimi dialect.
pub struct Aimi;

rules! {
    UNKNOWN_VERSION = "aimi-unknown-version", Error,
        "The schema version is unknown.",
        "\"3.0\" is v3, other \"3.x\" are read as v3 with a warning, \"2.x\" and a prd.json without a version are v2. Anything else is refused: guessing would change what the plan means.",
        "\"schemaVersion\": \"4.0\"",
        "\"schemaVersion\": \"3.0\"";
    NEWER_VERSION = "aimi-newer-version", Warning,
        "The schema version is a 3.x newer than 3.0.",
        "It is read as v3. Fields that a newer version added are kept but not understood.",
        "\"schemaVersion\": \"3.1\"",
        "\"schemaVersion\": \"3.0\"";
    MISSING_TYPECHECK = "aimi-missing-typecheck", Error,
        "A story's acceptance criteria lack \"Typecheck passes\".",
        "The specification requires exactly this sentence among the criteria of every story.",
        "\"acceptanceCriteria\": [\"Button is shown\"]",
        "\"acceptanceCriteria\": [\"Button is shown\", \"Typecheck passes\"]";
    DUPLICATE_PRIORITY = "aimi-duplicate-priority", Error,
        "Two stories have the same priority.",
        "Priority decides between stories that are ready at once, so each needs its own.",
        "\"priority\": 2 … \"priority\": 2",
        "\"priority\": 2 … \"priority\": 3";
    ZERO_CONCURRENCY = "aimi-zero-concurrency", Warning,
        "`maxConcurrency` is 0, which means the default of 4.",
        "The specification allows it in one place and forbids it in another. Leave the field out, or give a number.",
        "\"maxConcurrency\": 0",
        "\"maxConcurrency\": 4";
    STORY_PHRASING = "aimi-story-phrasing", Note,
        "A description is not phrased as a user story.",
        "\"As a [user], I want [feature] so that [benefit]\" is the specification's advice. Nothing depends on it.",
        "\"description\": \"Add a button\"",
        "\"description\": \"As a user, I want a button so that I can save\"";
    SUSPICIOUS_TEXT = "aimi-suspicious-text", Note,
        "A title or description has something that `aimi-cli validate-stories` calls suspicious.",
        "It looks for \"ignore previous\", \"system:\", \"instructions\", \"$(\" and backticks, in any case of letters. Agents get these texts: what reads as an order or as a command may be taken for one. Harmless texts are found too, so this is a note.",
        "\"title\": \"Run `make`\"",
        "\"title\": \"Run make\"";
    OTHER_VERSIONS_FIELD = "aimi-field-of-other-version", Warning,
        "A field belongs to the other schema version.",
        "v3 has `status` and `dependsOn`; v2.x has `passes` and `skipped`. The other version's field has no effect. An error if the version's own field is missing.",
        "\"passes\": true   (in a 3.0 file)",
        "\"status\": \"completed\"";
}

/// What the file says it is.
#[derive(Clone, Copy, PartialEq)]
enum AimiSchema {
    V3,
    V2,
    Unknown,
}

static TABLES: &[&FieldTable] = &[
    &v3::ROOT,
    &v3::METADATA,
    &v3::STORY,
    &v2::ROOT,
    &v2::METADATA,
    &v2::STORY,
    &v2::LINKED_STORY,
];

impl Dialect for Aimi {
    fn name(&self) -> &'static str {
        "aimi"
    }

    fn title(&self) -> &'static str {
        "Aimi tasks.json"
    }

    fn carriers(&self) -> &'static [CarrierKind] {
        &[CarrierKind::Json]
    }

    fn places(&self) -> &'static [&'static str] {
        &[".aimi/tasks/*-tasks.json", "prd.json"]
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.root.filter(|root| root.kind() == NodeKind::Object) else {
            return 0;
        };
        match (root.get("userStories").is_some(), root.get("schemaVersion").is_some()) {
            (true, true) => 98,
            (true, false) => 90,
            (false, true) if root.get("metadata").is_some() || root.get("tasks").is_none() => 50,
            _ => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        let Some(root) = input.root else {
            return v3::read(input, None, Vec::new());
        };
        let mut found = Vec::new();
        match schema_of(root, &mut found) {
            AimiSchema::V3 => v3::read(input, Some(root), found),
            AimiSchema::V2 => v2::read(input, root, found),
            AimiSchema::Unknown => PlanReading {
                diagnostics: found,
                ..PlanReading::default()
            },
        }
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        check_name(plan, path)
    }

    fn new_place(&self, _id: Option<&str>, date: &str, name: &str) -> String {
        format!(".aimi/tasks/{date}-{name}-tasks.json")
    }

    fn table_of(&self, plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match (owner, plan.form) {
            (Owner::Plan, form) if v2::is_form(form) => &v2::ROOT,
            (Owner::Plan, _) => &v3::ROOT,
            (Owner::Task(_), v2::FORM) => &v2::STORY,
            (Owner::Task(_), v2::LINKED_FORM) => &v2::LINKED_STORY,
            (Owner::Task(_), _) => &v3::STORY,
        })
    }

    fn tables(&self) -> &'static [&'static FieldTable] {
        TABLES
    }

    fn rules(&self) -> &'static [&'static Rule] {
        ALL
    }

    fn schema(&self) -> &'static str {
        include_str!("../../../schemas/aimi.json")
    }

    fn writer(&self) -> Option<&'static dyn DialectWriter> {
        Some(&write::AimiWriter)
    }

    fn prompt(&self) -> Option<&'static str> {
        Some(include_str!("prompt.md"))
    }

    fn edits(&self) -> Option<&'static dyn Edits> {
        Some(&Aimi)
    }

    fn planning(&self) -> Option<&'static dyn Planning> {
        Some(&Aimi)
    }
}

impl Edits for Aimi {
    fn fresh_id(&self, plan: &Plan, _minted: &str) -> Option<String> {
        Some(next_id(plan, "US-", 3))
    }

    fn default_of(&self, field: Field) -> Option<PatchValue> {
        // The seed has every story end with this one.
        let criterion = || PatchValue::String("Typecheck passes".to_owned());
        (field == Field::Criteria).then(|| PatchValue::Array(vec![criterion()]))
    }

    fn record(&self, recording: &Recording<'_>) -> Vec<FieldEdit> {
        record::record(recording)
    }
}

impl Planning for Aimi {
    fn guide(&self) -> &'static str {
        include_str!("planning.md")
    }

    fn guide_of(&self, form: &str) -> &'static str {
        match v2::is_form(form) {
            true => include_str!("planning_v2.md"),
            false => self.guide(),
        }
    }
}

/// Finds the schema version; says so where it is unusual, missing or unknown.
fn schema_of(root: NodeRef<'_>, found: &mut Vec<Diagnostic>) -> AimiSchema {
    let Some(node) = root.get("schemaVersion") else {
        return schema_of_unversioned(root, found);
    };
    let version = node.value();
    let is_text = node.resolved().kind() == NodeKind::String;
    match version.split_once('.') {
        Some(("3", "0")) if is_text => return AimiSchema::V3,
        Some(("3", minor)) if is_text && is_digits(minor) => {
            let message = format!("schema version {version} is newer than 3.0: it is read as v3");
            found.push(
                Diagnostic::new(&NEWER_VERSION, node.span(), message)
                    .with_help("fields that only the newer version knows are kept, but not understood"),
            );
            return AimiSchema::V3;
        }
        Some(("2", minor)) if is_text && is_digits(minor) => return AimiSchema::V2,
        _ => {}
    }
    if node.kind() == NodeKind::Invalid {
        return AimiSchema::V3;
    }
    let message = format!("Unknown schema version: {}", excerpt(&version));
    let diagnostic = Diagnostic::new(&UNKNOWN_VERSION, node.span(), message);
    let meant = match &*version {
        "3" | "3.0" | "3.00" | "v3" | "v3.0" => Some("3.0"),
        "2.2" | "v2.2" => Some("2.2"),
        "2.1" | "v2.1" => Some("2.1"),
        _ => None,
    };
    let Some(meant) = meant else {
        found.push(diagnostic.with_help("Set schemaVersion to \"3.0\", or use a planwright that knows this version."));
        return AimiSchema::Unknown;
    };
    let fix = vec![Replacement::new(node.span(), format!("\"{meant}\""))];
    found.push(
        diagnostic
            .with_help(format!("Set schemaVersion to the string \"{meant}\"."))
            .with_safe_fix(format!("write \"{meant}\""), fix),
    );
    if meant == "3.0" { AimiSchema::V3 } else { AimiSchema::V2 }
}

/// A file without a version is v2 if its stories say `passes` or it has the shape of a `prd.json`.
fn schema_of_unversioned(root: NodeRef<'_>, found: &mut Vec<Diagnostic>) -> AimiSchema {
    let stories = root.get("userStories");
    let any_has =
        |key: &str| stories.is_some_and(|list| list.elements().take(100).any(|story| story.get(key).is_some()));
    let prd_shape =
        root.get("metadata").is_none() && (root.get("project").is_some() || root.get("branchName").is_some());
    if any_has("passes") || (prd_shape && !any_has("status")) {
        return AimiSchema::V2;
    }
    let insert = root.members().next().map(|member| member.key.span().start);
    let diagnostic = Diagnostic::new(
        &super::rules::MISSING_FIELD,
        super::reader::opening(root),
        "Invalid tasks.json - schemaVersion is missing or invalid.",
    )
    .with_help("Add \"schemaVersion\": \"3.0\".");
    let diagnostic = Diagnostic {
        missing: Some("schemaVersion"),
        ..diagnostic
    };
    found.push(match insert {
        Some(at) => diagnostic.with_safe_fix(
            "add the schema version",
            vec![Replacement::insert(at, "\"schemaVersion\": \"3.0\", ")],
        ),
        None => diagnostic,
    });
    AimiSchema::V3
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The specification's sentences about fields.
static VOICE: FindingTexts = FindingTexts {
    missing: |owner, spec| {
        (
            missing_or_invalid(owner, spec.name),
            format!("Add {}: {}.", field_of(owner, spec.name), fix_of(spec)),
        )
    },
    invalid: |owner, spec, found| {
        let now = match found.kind() {
            NodeKind::Object | NodeKind::Array => found.describe().to_owned(),
            _ => excerpt(found.slice()),
        };
        (
            missing_or_invalid(owner, spec.name),
            format!("Set {} to {}; it is {now}.", field_of(owner, spec.name), fix_of(spec)),
        )
    },
    quoted: |owner, spec, bare| format!("Set {} to {bare}, without quotes.", field_of(owner, spec.name)),
};

fn missing_or_invalid(owner: &str, field: &str) -> String {
    format!("Invalid tasks.json - {} is missing or invalid.", field_of(owner, field))
}

/// Returns a field's full name, as `metadata.title` or `US-003.priority`.
fn field_of(owner: &str, field: &str) -> String {
    let dot = if owner.is_empty() { "" } else { "." };
    format!("{owner}{dot}{field}")
}

/// Says what a field must be, more closely than its shape does.
fn fix_of(spec: &FieldSpec) -> String {
    match (spec.field, spec.shape) {
        (Field::Id, _) => "an id like \"US-001\"".to_owned(),
        (Field::PlanKind, _) => "one of feat, ref, bug, chore".to_owned(),
        (Field::Branch, _) => "a branch name like \"feat/add-user-auth\" (letters, digits, /, _ and -)".to_owned(),
        (Field::CreatedAt, _) => "a date like \"2026-02-27\"".to_owned(),
        (Field::Status, _) => format!("one of {}", v3::WORDS.join(", ")),
        (Field::Dependencies, _) => "a list of story ids, [] for none".to_owned(),
        (Field::Criteria, _) => "a list of strings that includes \"Typecheck passes\"".to_owned(),
        (Field::MaxConcurrency, _) => "a positive integer, or leave it out for 4".to_owned(),
        (Field::Tasks, _) => "a list with at least one story".to_owned(),
        (_, shape) => shape.describe().into_owned(),
    }
}

/// The specification's sentences about the graph.
static WORDING: Wording = Wording {
    task: "story",
    self_dependency: |story| {
        (
            format!("Story {story} depends on itself."),
            format!("Remove \"{story}\" from {story}.dependsOn."),
        )
    },
    unknown_dependency: |story, reference| {
        (
            format!("Invalid tasks.json - {story}.dependsOn references \"{reference}\" which does not exist."),
            format!("Remove \"{reference}\" from {story}.dependsOn or add a story with id \"{reference}\"."),
        )
    },
    cycle: |path| {
        (
            format!("Invalid tasks.json - Circular dependency detected: {path}."),
            "Remove one of the dependency edges to break the cycle.".to_owned(),
        )
    },
    duplicate_id: |id| {
        (
            missing_or_invalid(id, "id"),
            format!("Give each story its own id: \"{id}\" is used twice."),
        )
    },
    empty: || {
        (
            "Invalid tasks.json - userStories is missing or invalid.".to_owned(),
            "Add at least one story to userStories.".to_owned(),
        )
    },
    after_stop: PLAIN_WORDING.after_stop,
    after_failure: "",
};

/// Reports something among the stories that is none; it keeps its place.
fn report_no_story<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, position: usize) {
    if node.kind() != NodeKind::Invalid {
        let message = format!("Invalid tasks.json - userStories[{position}] is missing or invalid.");
        let help = format!("Replace it with a story object; it is {}.", node.describe());
        reader.report(Diagnostic::new(&super::rules::INVALID_FIELD, node.span(), message).with_help(help));
    }
    reader.placeholder(node);
}

/// Returns how the specification names a story: its id, else its place.
fn story_label(id: Option<NodeRef<'_>>, position: usize) -> String {
    match id.and_then(NodeRef::text) {
        Some(id) if !id.is_empty() => excerpt(&id),
        _ => format!("userStories[{position}]"),
    }
}

/// Returns true for `US-`, three digits or more, and an optional lower-case letter.
fn is_story_id(id: &str) -> bool {
    let Some(rest) = id.strip_prefix("US-") else {
        return false;
    };
    let digits = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    digits.len() >= 3 && is_digits(digits)
}

/// Returns true for what the specification lets a branch be called.
pub fn is_branch(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-'))
}

/// Returns what in a text `aimi-cli validate-stories` calls suspicious.
pub fn suspicious_part(text: &str) -> Option<&'static str> {
    const PARTS: [&str; 5] = ["ignore previous", "system:", "instructions", "$(", "`"];
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // What the original's regular expressions take for these letters when case does not count.
            'ſ' => folded.push('s'),
            'ﬅ' | 'ﬆ' => folded.push_str("st"),
            c => folded.push(c.to_ascii_lowercase()),
        }
    }
    PARTS.into_iter().find(|part| folded.contains(part))
}

/// Reports a text that is longer than the specification allows; characters are Unicode scalar values.
fn check_length(node: NodeRef<'_>, owner: &dyn Fn() -> String, field: &str, most: usize) -> Option<Diagnostic> {
    // Bytes bound characters, so short texts need not be counted.
    if node.span().len() <= most {
        return None;
    }
    let n_chars = node.text()?.chars().count();
    (n_chars > most).then(|| {
        Diagnostic::new(
            &super::rules::INVALID_FIELD,
            node.span(),
            missing_or_invalid(&owner(), field),
        )
        .with_help(format!("Shorten it to {most} characters: it has {n_chars}."))
    })
}

fn check_name(plan: &Plan, path: &str) -> Vec<Diagnostic> {
    let name = file_name(path);
    let in_place = path.ends_with(&format!(".aimi/tasks/{name}"));
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let dated = stem.split_at_checked(10).filter(|(date, _)| is_iso_date(date));
    if !in_place && dated.is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let start = Span::at(plan.source().bom_len());
    let mut note = |span: Span, message: String, help: &str| {
        found.push(Diagnostic::new(&FILE_NAME, span, message).with_help(help));
    };
    let pattern = "Aimi finds plans as .aimi/tasks/YYYY-MM-DD-[feature-name]-tasks.json";
    if !stem.ends_with("-tasks") {
        note(
            start,
            format!("the file is called `{name}`, without the suffix `-tasks`"),
            pattern,
        );
    }
    let Some((date, rest)) = dated else {
        note(
            start,
            format!("the file is called `{name}`, without a date in front"),
            pattern,
        );
        return found;
    };
    // After a bad bracket nobody knows whose title or date was read.
    if plan.is_doubtful {
        return found;
    }
    if let Some(FieldValue::Text(created)) = plan.head_value(Field::CreatedAt)
        && !plan.str(created).starts_with(date)
    {
        let message = format!(
            "the plan was created {}, its file says {date}",
            visible(plan.str(created))
        );
        note(plan.text_span(created), message, "rename the file, or correct the date");
    }
    let feature = rest.trim_start_matches('-').strip_suffix("-tasks").unwrap_or("");
    let words = [plan.head_str(Field::Branch), plan.head_str(Field::Title)];
    let known = words
        .iter()
        .flatten()
        .map(|text| text.to_lowercase())
        .collect::<String>();
    let mut parts = feature.split('-').filter(|part| part.len() > 2).peekable();
    if parts.peek().is_some()
        && !known.is_empty()
        && !parts.any(|part| known.contains(&part.to_lowercase()))
        && let Some(value) = plan.head_value(Field::Branch).or_else(|| plan.head_value(Field::Title))
    {
        let message = format!("the file is about `{feature}`, the plan's branch and title are not");
        note(
            plan.span(value),
            message,
            "rename the file, or check that this is the right plan",
        );
    }
    found
}

/// What to do with a member of the other schema version.
enum MemberFix {
    /// Write this in its place.
    Write(String),
    /// Remove it, with the comma that goes with it.
    Remove(Span),
}

/// Reports a member that belongs to the other schema version.
fn other_version(
    unknown: &[Member<'_>],
    key: &str,
    owner: &dyn Fn() -> String,
    meant: &dyn Fn(NodeRef<'_>) -> (String, Option<MemberFix>),
) -> Option<Diagnostic> {
    let member = unknown.iter().find(|member| member.key.is_text(key))?;
    let (help, mend) = meant(member.value);
    let diagnostic = Diagnostic::new(
        &OTHER_VERSIONS_FIELD,
        member.key.span(),
        format!(
            "`{key}` of {} belongs to the other schema version and is ignored",
            owner()
        ),
    )
    .with_help(help);
    let whole = member.key.span().to(member.value.span());
    Some(match mend {
        Some(MemberFix::Write(text)) => {
            let written = member.value.document().source().slice(whole);
            let title = format!("write {text} instead of `{}`", visible(written));
            diagnostic.with_safe_fix(title, vec![Replacement::new(whole, text)])
        }
        Some(MemberFix::Remove(cut)) => {
            diagnostic.with_unsafe_fix(format!("remove `{key}`"), vec![Replacement::delete(cut)])
        }
        None => diagnostic,
    })
}

/// Reports a branch that the specification does not let be called so.
fn check_branch(node: Option<NodeRef<'_>>, owner: &str, severity: Severity) -> Option<Diagnostic> {
    let node = node?;
    let name = node.text()?;
    (!is_branch(&name)).then(|| {
        Diagnostic::new(
            &super::rules::INVALID_FIELD,
            node.span(),
            missing_or_invalid(owner, "branchName"),
        )
        .with_severity(severity)
        .with_help("Use letters, digits, /, _ and - only, beginning with a letter or digit.")
    })
}

/// Reports criteria that are too long.
fn check_criteria<'d>(
    list: Option<NodeRef<'d>>,
    owner: &'d dyn Fn() -> String,
) -> impl Iterator<Item = Diagnostic> + 'd {
    let items = list.into_iter().flat_map(NodeRef::elements);
    items.filter_map(move |item| check_length(item, owner, "acceptanceCriteria", 300))
}

/// Returns whether a list of texts holds one exactly.
fn contains_text(list: NodeRef<'_>, text: &str) -> bool {
    list.elements().any(|item| item.is_text(text))
}

/// Returns a story's id, where it is text; `at` is its place in the table of the version.
fn story_id<'d>(found: &ObjectFields<'d>, at: usize) -> Option<NodeRef<'d>> {
    found.get_kind(at, NodeKind::String)
}

/// What most fields of both versions are.
const TEXT: FieldShape = FieldShape::Text;
