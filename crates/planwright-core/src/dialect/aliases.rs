//! Names that other dialects and language models use for a field, to find misnamed fields.

use super::rules::MISNAMED_FIELD;
use super::table::{FieldTable, Need};
use crate::diagnostic::{Diagnostic, Replacement, Severity};
use crate::document::{DocumentFormat, Member, NodeRef, Style};
use crate::plan::Field;
use crate::text::visible;

/// Known names by meaning, in lower case without separators.
static ALIASES: &[(Field, &[&str])] = &[
    (
        Field::Dependencies,
        &[
            "dependson",
            "depends",
            "deps",
            "dependencies",
            "dependency",
            "dependencyids",
            "blockedby",
            "requires",
            "needs",
            "prereqs",
            "prerequisite",
            "prerequisites",
            "after",
        ],
    ),
    (
        Field::Criteria,
        &["acceptancecriteria", "criteria", "acceptance", "successcriteria"],
    ),
    (Field::TaskKind, &["tasktype", "type", "kind"]),
    (Field::Status, &["status", "state"]),
    (Field::Id, &["id", "taskid", "storyid"]),
    (Field::Title, &["title", "name"]),
    (Field::Description, &["description", "desc", "details"]),
    (Field::Complexity, &["complexity"]),
    (Field::Notes, &["notes", "note"]),
    (Field::Tools, &["tools", "toolnames"]),
    (Field::AgentHint, &["suggestedagent", "agent", "handoffowner"]),
    (Field::Files, &["files", "affectedfiles"]),
    (Field::MaxConcurrency, &["maxconcurrency", "maxparallel"]),
    (Field::Branch, &["branchname", "branch"]),
    (Field::CreatedAt, &["createdat"]),
    (Field::UpdatedAt, &["updatedat"]),
    (Field::Goal, &["goal"]),
    (Field::Tasks, &["tasks", "steps", "userstories", "stories"]),
    (Field::SchemaVersion, &["schemaversion"]),
];

/// Returns the meaning of a name, if known.
pub(crate) fn meaning(name: &str) -> Option<Field> {
    let plain = normal(name);
    let known = ALIASES.iter().find(|(_, names)| names.contains(&plain.as_str()));
    known.map(|(field, _)| *field)
}

/// Returns findings for unknown members that are a field of this table under another name, each with that field's index.
pub(crate) fn misnamed(
    unknown: &[Member<'_>],
    table: &'static FieldTable,
    is_absent: &dyn Fn(usize) -> bool,
    owner: &dyn Fn() -> String,
) -> Vec<(usize, Diagnostic)> {
    let meant = |member: &Member<'_>| {
        let plain = normal(&member.key.value());
        let (field, _) = ALIASES.iter().find(|(_, names)| names.contains(&plain.as_str()))?;
        let spec_ix = table.fields.iter().position(|spec| spec.field == *field)?;
        Some((spec_ix, table.fields[spec_ix].name))
    };
    let mut taken = Vec::new();
    let mut found = Vec::new();
    for member in unknown {
        let Some((spec_ix, name)) = meant(member) else {
            continue;
        };
        let is_dependency = table.fields[spec_ix].field == Field::Dependencies;
        if !is_absent(spec_ix) || taken.contains(&spec_ix) {
            // The field also exists under its right name; a second list of dependencies is lost even so.
            if is_dependency {
                found.push((spec_ix, beside(member.key, name, &owner())));
            }
        } else {
            taken.push(spec_ix);
            let diagnostic = finding(member.key, name, &owner());
            // Without a required field, or without its order, the plan has an error, even if a mere typing error lost it.
            let is_required = table.fields[spec_ix].need == Need::Required;
            let severity = if is_required || is_dependency {
                Severity::Error
            } else {
                diagnostic.severity
            };
            found.push((spec_ix, diagnostic.with_severity(severity)));
        }
    }
    found
}

fn beside(key: NodeRef<'_>, name: &str, owner: &str) -> Diagnostic {
    let written = visible(&key.value()).into_owned();
    let message = format!("`{written}` of {owner} is not read: `{name}` is there, too");
    Diagnostic::new(&MISNAMED_FIELD, key.span(), message).with_help(format!("move what it says to `{name}`"))
}

fn finding(key: NodeRef<'_>, name: &str, owner: &str) -> Diagnostic {
    let written = visible(&key.value()).into_owned();
    let diagnostic = Diagnostic::new(
        &MISNAMED_FIELD,
        key.span(),
        format!("`{written}` of {owner} is not read: this dialect calls it `{name}`"),
    )
    .with_help(format!("rename it to `{name}`"));
    let text = match key.style() {
        Style::Double => format!("\"{name}\""),
        Style::Single if key.document().format() == DocumentFormat::Yaml => format!("'{name}'"),
        Style::Plain if key.document().format() == DocumentFormat::Yaml => name.to_owned(),
        _ => return diagnostic,
    };
    diagnostic.with_safe_fix(
        format!("rename `{written}` to `{name}`"),
        vec![Replacement::new(key.span(), text)],
    )
}

fn normal(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(40)
        .collect()
}
