//! Reads Aimi's files as plans: finds the version that a file has.

use super::super::reader::{excerpt, opening};
use super::super::rules::MISSING_FIELD;
use super::super::{DialectInput, PlanReading};
use super::rules::{NEWER_VERSION, UNKNOWN_VERSION};
use super::{is_digits, read_v2, read_v3};
use crate::diagnostic::{Diagnostic, Replacement};
use crate::document::{NodeKind, NodeRef};

/// The version that a file declares.
#[derive(Clone, Copy, PartialEq)]
enum AimiSchema {
    V3,
    V2,
    Unknown,
}

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    let Some(root) = input.root else {
        return read_v3::read(input, None, Vec::new());
    };
    let mut found = Vec::new();
    match schema_of(root, &mut found) {
        AimiSchema::V3 => read_v3::read(input, Some(root), found),
        AimiSchema::V2 => read_v2::read(input, root, found),
        AimiSchema::Unknown => PlanReading {
            diagnostics: found,
            ..PlanReading::default()
        },
    }
}

/// Finds the schema version, and reports an unusual, missing or unknown one.
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

/// Returns v2 for a file without a version if its stories have `passes` or it has the shape of a `prd.json`.
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
        &MISSING_FIELD,
        opening(root),
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
