//! Shared by the readers of both versions of Aimi's files: sentences, and checks of names, lengths and members.

use super::super::reader::{FindingTexts, PlanReader, excerpt};
use super::super::rules::INVALID_FIELD;
use super::super::table::FieldSpec;
use super::is_branch;
use super::rules::OTHER_VERSIONS_FIELD;
use crate::diagnostic::{Diagnostic, Replacement, Severity};
use crate::document::{Member, NodeKind, NodeRef};
use crate::plan::{DependencyTarget, Field};
use crate::text::{Span, visible};

/// The specification's sentences about fields.
pub(super) static VOICE: FindingTexts = FindingTexts {
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

pub(super) fn missing_or_invalid(owner: &str, field: &str) -> String {
    format!("Invalid tasks.json - {} is missing or invalid.", field_of(owner, field))
}

/// Returns a field's full name, as `metadata.title` or `US-003.priority`.
fn field_of(owner: &str, field: &str) -> String {
    let dot = if owner.is_empty() { "" } else { "." };
    format!("{owner}{dot}{field}")
}

/// Returns the requirement for a field, in more detail than its shape.
fn fix_of(spec: &FieldSpec) -> String {
    match (spec.field, spec.shape) {
        (Field::Id, _) => "an id like \"US-001\"".to_owned(),
        (Field::PlanKind, _) => "one of feat, ref, bug, chore".to_owned(),
        (Field::Branch, _) => "a branch name like \"feat/add-user-auth\" (letters, digits, /, _ and -)".to_owned(),
        (Field::CreatedAt, _) => "a date like \"2026-02-27\"".to_owned(),
        (Field::Dependencies, _) => "a list of story ids, [] for none".to_owned(),
        (Field::Criteria, _) => "a list of strings that includes \"Typecheck passes\"".to_owned(),
        (Field::MaxConcurrency, _) => "a positive integer, or leave it out for 4".to_owned(),
        (Field::Tasks, _) => "a list with at least one story".to_owned(),
        (_, shape) => shape.describe().into_owned(),
    }
}

/// Reports a story that is no object; it keeps its position.
pub(super) fn report_no_story<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, position: usize) {
    if node.kind() != NodeKind::Invalid {
        let message = format!("Invalid tasks.json - userStories[{position}] is missing or invalid.");
        let help = format!("Replace it with a story object; it is {}.", node.describe());
        reader.report(Diagnostic::new(&INVALID_FIELD, node.span(), message).with_help(help));
    }
    reader.placeholder(node);
}

/// Returns the specification's name for a story: its id, otherwise its position.
pub(super) fn story_label(id: Option<NodeRef<'_>>, position: usize) -> String {
    match id.and_then(NodeRef::text) {
        Some(id) if !id.is_empty() => excerpt(&id),
        _ => format!("userStories[{position}]"),
    }
}

/// Reports a text that is longer than the specification allows; characters are Unicode scalar values.
pub(super) fn check_length(
    node: NodeRef<'_>,
    owner: &dyn Fn() -> String,
    field: &str,
    most: usize,
) -> Option<Diagnostic> {
    // Bytes bound characters, so short texts need no count.
    if node.span().len() <= most {
        return None;
    }
    let n_chars = node.text()?.chars().count();
    (n_chars > most).then(|| {
        Diagnostic::new(&INVALID_FIELD, node.span(), missing_or_invalid(&owner(), field))
            .with_help(format!("Shorten it to {most} characters: it has {n_chars}."))
    })
}

/// What to do with a member of the other schema version.
pub(super) enum MemberFix {
    /// Replace it with this text.
    Write(String),
    /// Remove it, with its comma.
    Remove(Span),
}

/// Reports a member that belongs to the other schema version.
pub(super) fn other_version(
    unknown: &[Member<'_>],
    key: &str,
    owner: &dyn Fn() -> String,
    meant: &dyn Fn(NodeRef<'_>) -> (String, Option<MemberFix>),
) -> Option<Diagnostic> {
    let member = unknown.iter().find(|member| member.key.is_text(key))?;
    let (help, fix) = meant(member.value);
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
    Some(match fix {
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

/// Reports a branch whose name the specification does not allow.
pub(super) fn check_branch(node: Option<NodeRef<'_>>, owner: &str, severity: Severity) -> Option<Diagnostic> {
    let node = node?;
    let name = node.text()?;
    (!is_branch(&name)).then(|| {
        Diagnostic::new(&INVALID_FIELD, node.span(), missing_or_invalid(owner, "branchName"))
            .with_severity(severity)
            .with_help("Use letters, digits, /, _ and - only, beginning with a letter or digit.")
    })
}

/// Reports criteria that are too long.
pub(super) fn check_criteria<'d>(
    list: Option<NodeRef<'d>>,
    owner: &'d dyn Fn() -> String,
) -> impl Iterator<Item = Diagnostic> + 'd {
    let items = list.into_iter().flat_map(NodeRef::elements);
    items.filter_map(move |item| check_length(item, owner, "acceptanceCriteria", 300))
}

/// Returns whether a list of texts contains exactly this one.
pub(super) fn contains_text(list: NodeRef<'_>, text: &str) -> bool {
    list.elements().any(|item| item.is_text(text))
}

/// Returns the target of an item in a list of ids.
pub(super) fn id_target<'d>(reader: &mut PlanReader<'d>, item: NodeRef<'d>) -> DependencyTarget {
    match item.resolved().kind() {
        NodeKind::String => DependencyTarget::Id(reader.text(item)),
        _ => DependencyTarget::Unreadable,
    }
}
