//! Aimi tasks.json: v3 with its thirteen rules, and v2.x with `prd.json`. Findings use the `Error:` and `Fix:` sentences of the
//! specification.

mod answer;
mod compose;
mod fields;
mod migrate;
mod read_shared;
mod read_v2;
mod read_v3;
pub mod rules;
mod schema_version;
mod statuses;

use super::rules::FILE_NAME;
use super::time::is_iso_date;
use super::{
    CarrierKind, Dialect, DialectInput, DialectProfile, Facets, FieldTable, Fit, PlanReading, Planning, file_name,
};
use crate::diagnostic::Diagnostic;
use crate::edit::Owner;
use crate::plan::{Field, FieldValue, NO_PLAN_STATUS, Plan};
use crate::text::{Span, visible};

/// The Aimi dialect.
pub struct Aimi;

/// The name of the two older forms: ordered by priorities, and by dependencies.
const V2_FORM: &str = "v2";
const LINKED_V2_FORM: &str = "prd";

static PROFILE: DialectProfile = DialectProfile {
    name: "aimi",
    title: "Aimi tasks.json",
    carriers: &[CarrierKind::Json],
    places: &[".aimi/tasks/*-tasks.json", "prd.json"],
    reads_prose: false,
    tables: &[
        &fields::ROOT,
        &fields::METADATA,
        &fields::STORY,
        &fields::V2_ROOT,
        &fields::V2_METADATA,
        &fields::V2_STORY,
        &fields::LINKED_V2_STORY,
    ],
    rules: rules::ALL,
    schema: include_str!("../../../schemas/aimi.json"),
    plan_machine: &NO_PLAN_STATUS,
    facets: Facets {
        writer: Some(&compose::AimiWriter),
        prompt: Some(include_str!("prompt.md")),
        edits: Some(&Aimi),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[(V2_FORM, V2_GUIDE), (LINKED_V2_FORM, V2_GUIDE)],
            derived_by: None,
        }),
        branch: Some(|plan| plan.head_str(Field::Branch)),
        ..Facets::NONE
    },
};

const V2_GUIDE: &str = include_str!("planning_v2.md");

impl Dialect for Aimi {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn new_place(&self, _id: Option<&str>, date: &str, name: &str) -> String {
        format!(".aimi/tasks/{date}-{name}-tasks.json")
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.object() else {
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
        schema_version::read(input)
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        check_name(plan, path)
    }

    fn table_of(&self, plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match (owner, plan.form) {
            (Owner::Plan, form) if is_v2(form) => &fields::V2_ROOT,
            (Owner::Plan, _) => &fields::ROOT,
            (Owner::Task(_) | Owner::Group(_), V2_FORM) => &fields::V2_STORY,
            (Owner::Task(_) | Owner::Group(_), LINKED_V2_FORM) => &fields::LINKED_V2_STORY,
            (Owner::Task(_) | Owner::Group(_), _) => &fields::STORY,
        })
    }
}

/// Returns whether a form is one of the older ones.
fn is_v2(form: &str) -> bool {
    form == V2_FORM || form == LINKED_V2_FORM
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether an id is `US-`, three digits or more, and an optional lower-case letter.
fn is_story_id(id: &str) -> bool {
    let Some(rest) = id.strip_prefix("US-") else {
        return false;
    };
    let digits = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    digits.len() >= 3 && is_digits(digits)
}

/// Returns whether the specification allows the name of a branch.
pub fn is_branch(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-'))
}

/// Returns the part of a text that `aimi-cli validate-stories` calls suspicious.
pub fn suspicious_part(text: &str) -> Option<&'static str> {
    const PARTS: [&str; 5] = ["ignore previous", "system:", "instructions", "$(", "`"];
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // The original's regular expressions match these characters to letters, ignoring case.
            'ſ' => folded.push('s'),
            'ﬅ' | 'ﬆ' => folded.push_str("st"),
            c => folded.push(c.to_ascii_lowercase()),
        }
    }
    PARTS.into_iter().find(|part| folded.contains(part))
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
            format!("the name of the file is `{name}`, without the suffix `-tasks`"),
            pattern,
        );
    }
    let Some((date, rest)) = dated else {
        note(
            start,
            format!("the name of the file is `{name}`, without a date in front"),
            pattern,
        );
        return found;
    };
    // After an unbalanced bracket, the title or date may belong to another object.
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
