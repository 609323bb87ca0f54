//! `current-task.yaml`, the pointer file that names the active plan. Holds no plan itself.

use super::Rawko;
use super::fields::{CURRENT_PLAN_ID, CURRENT_TASK};
use super::rules::CURRENT_PLAN;
use crate::diagnostic::{Diagnostic, Replacement};
use crate::dialect::reader::{PlanReader, excerpt, requote};
use crate::dialect::words::nearest;
use crate::dialect::{DialectInput, PlanPointer, PlanReading, PointerRefusal, PointerUpdate, file_name};
use crate::document::patch::{MemberPosition, Patch, PatchRefusal, PlainValue, patch};
use crate::document::route::Route;
use crate::document::{NodeKind, NodeRef, Parsed, yaml};
use crate::plan::{Field, Plan};
use crate::text::{SourceText, visible};

/// The folder next to the file with rawko's plans.
const PLANS: &str = "plans";

/// How many plan names an id is compared with, so that a full folder stays cheap.
const MAX_COMPARISONS: usize = 1_000;

/// How many letters of a misspelled id may differ.
const MAX_SLIPS: usize = 3;

/// Where the file is, relative to a workspace.
pub(super) const PLACE: &str = ".rawko/current-task.yaml";

impl PlanPointer for Rawko {
    fn place(&self) -> &'static str {
        PLACE
    }

    fn neighbours(&self, path: &str) -> Option<&'static str> {
        (file_name(path) == "current-task.yaml").then_some(PLANS)
    }

    fn target(&self, source: &SourceText) -> Option<String> {
        let parsed = yaml::parse(source);
        let id = parsed.document.root()?.get("planId")?.text()?.into_owned();
        // Only an id that is a file name in that folder.
        (!id.is_empty() && !id.contains(['/', '\\']) && id != "..").then(|| format!("plans/{id}.yaml"))
    }

    fn file(&self, path: &str) -> Option<&'static str> {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder)?;
        folder.ends_with(".rawko/plans").then_some("../current-task.yaml")
    }

    /// Returns the file's new text. Starting work on a plan points the file at it, and so does replacing the version that it pointed at. If
    /// the file points at the plan, its status is updated.
    fn update(
        &self,
        old: Option<&SourceText>,
        plan: &Plan,
        pointing: PointerUpdate,
        now: &str,
    ) -> Result<Option<String>, PointerRefusal> {
        let (Some(id), Some(status)) = (plan.head_str(Field::Id), plan.head_str(Field::Status)) else {
            return Ok(None);
        };
        let goal = plan.head_str(Field::Goal).unwrap_or("");
        let text = |text: &str| PlainValue::String(text.to_owned());
        let Some(old) = old.filter(|old| !old.as_str().trim().is_empty()) else {
            // A file with one empty mapping, so that patches write the members in their own style.
            let empty = yaml::parse(&SourceText::new("{}\n"));
            let members = [("task", goal), ("planId", id), ("status", status), ("startedAt", now)];
            let patches: Vec<Patch> = members.iter().map(|(key, value)| insert(key, text(value))).collect();
            let is_made = pointing != PointerUpdate::Stays;
            let flow = is_made.then(|| patch(&empty.document, &patches).ok()).flatten();
            return Ok(flow.and_then(|flow| as_block(&flow)));
        };
        let parsed = yaml::parse(old);
        let root = mapping_in(&parsed)?;
        let names = |id: &str| root.get("planId").is_some_and(|own| own.is_text(id));
        let is_own = names(id);
        let says_nothing = |own: NodeRef<'_>| own.resolved().kind() == NodeKind::Null || own.value().trim().is_empty();
        let names_none = || root.get("planId").is_none_or(says_nothing);
        let is_over = || {
            root.get("status")
                .is_some_and(|own| own.is_text("complete") || own.is_text("failed"))
        };
        let moves = match pointing {
            PointerUpdate::Stays => false,
            PointerUpdate::Begins => true,
            PointerUpdate::Succeeds => names_none() || plan.head_str(Field::PreviousPlan).is_some_and(names),
            PointerUpdate::Made => names_none() || is_over(),
        };
        if !is_own && !moves {
            return Ok(None);
        }
        let mut wanted = vec![("status", status)];
        if !is_own {
            wanted.extend([("task", goal), ("planId", id), ("startedAt", now)]);
        }
        // Another version of a plan is work on the same task, in the user's original words.
        let stays = |key: &str| pointing == PointerUpdate::Succeeds && matches!(key, "task" | "startedAt");
        wanted.retain(|(key, _)| !(stays(key) && root.get(key).is_some_and(|own| !says_nothing(own))));
        let patches: Vec<Patch> = wanted
            .into_iter()
            .filter(|(key, value)| !root.get(key).is_some_and(|own| own.is_text(value)))
            .map(|(key, value)| match root.get(key) {
                Some(_) => Patch::ReplaceScalar {
                    at: Route::root().key(key),
                    value: text(value),
                },
                None => insert(key, text(value)),
            })
            .collect();
        if patches.is_empty() {
            return Ok(None);
        }
        patch(&parsed.document, &patches)
            .map(Some)
            .map_err(|refusal| unpointed(&parsed, refusal))
    }
}

/// Returns whether a file has the name, or the fields, of the pointer file.
pub(super) fn is_current_task(input: &DialectInput<'_>) -> bool {
    input.path.and_then(|path| Rawko.neighbours(path)).is_some() || input.root.is_some_and(has_its_fields)
}

/// Returns whether an object names a plan and is none itself.
pub(super) fn has_its_fields(root: NodeRef<'_>) -> bool {
    root.get("planId").is_some() && root.get("steps").is_none()
}

pub(super) fn read<'d>(mut reader: PlanReader<'d>, root: NodeRef<'d>, input: &DialectInput<'d>) -> PlanReading {
    let found = reader.sort(root, &CURRENT_TASK);
    reader.record(&found, &CURRENT_TASK, &|| "the current task".to_owned());
    if let (Some(id), Some(files)) = (found.get(CURRENT_PLAN_ID), &input.facts.neighbours) {
        check_plan(&mut reader, id, files);
    }
    PlanReading {
        diagnostics: reader.diagnostics,
        ..PlanReading::default()
    }
}

/// Reports an id that is the name of no plan's file: rawko finds plans by name only.
fn check_plan<'d>(reader: &mut PlanReader<'d>, id: NodeRef<'d>, files: &[String]) {
    let written = id.value();
    let plans = || files.iter().filter_map(|file| file.strip_suffix(".yaml"));
    // A value that is no text, or blank, has its own finding.
    let is_name = id.resolved().kind() == NodeKind::String && !written.trim().is_empty();
    if !is_name || plans().any(|plan| plan == written) {
        return;
    }
    let message = format!(
        "there is no plan `{}` in `{PLANS}` next to this file",
        excerpt(&written)
    );
    let mut diagnostic = Diagnostic::new(&CURRENT_PLAN, id.span(), message)
        .with_help("name a plan that is there, or remove the file where nothing is being worked on");
    if let Some(plan) = meant(&written, plans()) {
        diagnostic = diagnostic.with_label(format!("did you mean `{}`?", visible(plan)));
        let is_simple = plan.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if let Some(text) = requote(id, plan).filter(|_| is_simple) {
            let edits = vec![Replacement::new(id.span(), text)];
            diagnostic = diagnostic.with_unsafe_fix(format!("point at `{plan}`"), edits);
        }
    }
    reader.report(diagnostic);
}

/// Returns the plan that a wrong id probably means: one that differs in a few letters, or the only one that begins with it.
fn meant<'f>(written: &str, plans: impl Iterator<Item = &'f str>) -> Option<&'f str> {
    let is_like = |plan: &&str| plan.starts_with(written) || plan.len().abs_diff(written.len()) <= MAX_SLIPS;
    let likely: Vec<&str> = plans.filter(is_like).take(MAX_COMPARISONS).collect();
    nearest(written, &likely)
        .filter(|plan| plan.starts_with(written) || strsim::damerau_levenshtein(written, plan) <= MAX_SLIPS)
}

/// Returns the mapping that the file should be.
fn mapping_in(parsed: &Parsed) -> Result<NodeRef<'_>, PointerRefusal> {
    match parsed.document.root() {
        Some(root) if root.kind() == NodeKind::Object => Ok(root),
        Some(root) if !parsed.document.is_broken() => Err(unpointed(
            parsed,
            PatchRefusal::WrongKind {
                expected: "a mapping",
                found: root.describe(),
                span: root.span(),
            },
        )),
        _ => Err(unpointed(parsed, PatchRefusal::Broken)),
    }
}

/// Returns a refusal with its span: for an unreadable text, that of its first error.
fn unpointed(parsed: &Parsed, refusal: PatchRefusal) -> PointerRefusal {
    let first_error = || parsed.diagnostics.iter().find_map(|found| found.span);
    PointerRefusal {
        span: refusal.span().or_else(first_error),
        refusal,
    }
}

fn insert(key: &str, value: PlainValue) -> Patch {
    Patch::InsertMember {
        object: Route::root(),
        key: key.to_owned(),
        value,
        place: MemberPosition::Last,
    }
}

/// Returns a flow mapping of scalars as lines.
fn as_block(flow: &str) -> Option<String> {
    let parsed = yaml::parse(&SourceText::new(flow));
    let lines = parsed
        .document
        .root()?
        .own_members()
        .map(|member| format!("{}: {}\n", member.key.slice(), member.value.slice()));
    Some(lines.collect())
}
