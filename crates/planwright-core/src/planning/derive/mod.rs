//! Derives an executable task pack from a source plan and a planner's answer.
//!
//! A planner supplies only tasks. This module makes identity, hash, waves, sections and cards, so that they cannot be wrong. The
//! rules of the original validator decide whether the pack is valid.

mod answer;
pub mod rules;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::task_pack::TaskPack;
pub use crate::dialect::task_pack::compare;
pub use crate::dialect::task_pack::derived_contract::{IdChanges, Previous};
use crate::dialect::task_pack::derived_contract::{contract_of, is_plain_id, keep_ids};
use crate::dialect::task_pack::derived_layout::{PackLayout, PlannerAnswer};
pub use crate::dialect::task_pack::drift;
pub use crate::dialect::task_pack::hash::{CANONICALIZATION, plan_hash};
pub use crate::dialect::task_pack::original::OriginalPack;
use crate::dialect::task_pack::original::{Validity, validate};
use crate::dialect::task_pack::paths::is_concrete;
pub use crate::dialect::task_pack::source_plan::{PlanAnchor, SOURCE_HOME, SourcePlan, leading_date, pack_place};
use crate::dialect::task_pack::task::PackTask;
use crate::dialect::writer::cut;
use crate::dialect::{self, Choice, DIALECTS, Dialect, DiskFacts, DiskLookup};
use crate::inspect::inspect;
use crate::text::{SourceText, listed, visible};
use rules::{ANSWER, NOT_EXECUTABLE, TASK_ID, UNCOVERED, UNKNOWN_ANCHOR};

/// The dialect of what is derived.
pub const DERIVED: &dyn Dialect = &TaskPack;

/// How many names of a plan a finding lists.
const MAX_LISTED: usize = 20;

/// The inputs of a derivation.
pub struct DerivationRequest<'a> {
    /// The path of the source plan, from the root of the repository, with `/`.
    pub plan_path: &'a str,
    /// The source plan.
    pub plan: &'a SourceText,
    /// The planner's answer.
    pub answer: &'a str,
    /// The day of the pack, like `2026-03-22`.
    pub date: &'a str,
    /// Returns whether a path from the root of the repository is that of a folder.
    pub is_directory: &'a dyn Fn(&str) -> bool,
    /// The pack that the new one replaces.
    pub previous: Option<Previous<'a>>,
}

/// A pack, ready to be written.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Its text.
    pub text: SourceText,
    /// Whether it is only a draft, because its source plan has no `spec_id`.
    pub is_draft: bool,
    /// The number of its tasks.
    pub n_tasks: usize,
    /// The planner's reason for this split.
    pub reasoning: String,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// The changes of ids from the previous pack.
    pub kept: IdChanges,
}

/// Why there is no pack.
#[derive(Clone, Debug)]
pub enum DeriveError {
    /// The frontmatter of the source plan is not closed, so that it has no hash.
    UnclosedPlan,
    /// The source plan has a path that a pack must not refer to.
    PlanPath(String),
    /// The answer gives no pack, with its errors.
    Answer(Vec<Diagnostic>),
}

impl fmt::Display for DeriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeriveError::UnclosedPlan => write!(f, "the frontmatter of the source plan is not closed"),
            DeriveError::PlanPath(path) => write!(f, "a pack may not point to a plan at `{}`", visible(path)),
            DeriveError::Answer(found) if found.len() == 1 => write!(f, "the answer makes no task pack: 1 problem"),
            DeriveError::Answer(found) => write!(f, "the answer makes no task pack: {} problems", found.len()),
        }
    }
}

impl std::error::Error for DeriveError {}

/// Derives a pack from a plan and a planner's answer. The result is valid by the original's rules, or a draft without errors if the plan
/// has no `spec_id`.
pub fn derive(order: &DerivationRequest<'_>) -> Result<Derived, DeriveError> {
    check_plan(order.plan_path, order.plan)?;
    let plan = SourcePlan::read(order.plan);
    let mut answer = PlannerAnswer::read(order.answer).map_err(DeriveError::Answer)?;
    let mut findings = check_ids(&answer);
    findings.extend(check_anchors(&answer, &plan));
    let mut tasks = std::mem::take(&mut answer.tasks);
    let kept = match &order.previous {
        Some(previous) => keep_ids(&mut tasks, previous),
        None => IdChanges::default(),
    };
    let contract = contract_of(&tasks);
    let previous = order.previous.map(|previous| OriginalPack::parse(previous.pack));
    let target_repo = previous.as_ref().and_then(|pack| pack.markdown().value("target_repo"));
    let layout = PackLayout {
        plan_path: order.plan_path,
        plan: &plan,
        date: order.date,
        answer: &answer,
        contract: &contract,
        target_repo: target_repo.filter(|scope| !scope.is_empty()),
    };
    let text = SourceText::new(layout.text());
    findings.extend(judge(&text, order, &plan));
    if !findings.is_empty() {
        return Err(DeriveError::Answer(findings));
    }
    let mut warnings = std::mem::take(&mut answer.warnings);
    warnings.extend(uncovered(&tasks, &answer, &plan));
    warnings.extend(draft_warning(&plan));
    Ok(Derived {
        text,
        is_draft: plan.spec_id.is_none(),
        n_tasks: tasks.len(),
        reasoning: answer.reasoning,
        warnings,
        kept,
    })
}

/// Refuses a plan from which no pack can be derived, whatever the answer.
pub fn check_plan(plan_path: &str, plan: &SourceText) -> Result<(), DeriveError> {
    if !is_concrete(plan_path) {
        return Err(DeriveError::PlanPath(plan_path.to_owned()));
    }
    match SourcePlan::read(plan).hash {
        Some(_) => Ok(()),
        None => Err(DeriveError::UnclosedPlan),
    }
}

/// Returns findings about ids that cards cannot contain.
fn check_ids(answer: &PlannerAnswer) -> Vec<Diagnostic> {
    let ids = answer.tasks.iter().map(|task| task.text("task_id"));
    let odd = ids.filter(|id| !id.is_empty() && !is_plain_id(id));
    odd.map(|id| {
        let message = format!("`{}` cannot be the id of a task", visible(&cut(id, 60)));
        Diagnostic::of_file(&TASK_ID, message).with_help("call tasks T001, T002, …")
    })
    .collect()
}

/// Returns findings about references of tasks that the plan lacks.
fn check_anchors(answer: &PlannerAnswer, plan: &SourcePlan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut report = |message: String, help: &str| {
        if seen.insert(message.clone()) {
            found.push(Diagnostic::of_file(&UNKNOWN_ANCHOR, message).with_help(help));
        }
    };
    let anchors = plan.units.iter().chain(&plan.requirements);
    let known: Vec<&str> = anchors.map(|anchor| anchor.id.as_str()).take(MAX_LISTED).collect();
    let help = match known.is_empty() {
        true => "refer to units, requirements or headings of the plan, as they are written there".to_owned(),
        false => format!("the plan has {}", known.join(", ")),
    };
    for task in &answer.tasks {
        let unit = Some(task.text("source_unit")).filter(|unit| !unit.is_empty());
        for (field, name) in unit
            .map(|unit| ("source_unit", unit))
            .into_iter()
            .chain(task.texts("requirement_refs").map(|name| ("requirement_refs", name)))
            .filter(|(_, name)| !name.is_empty() && !plan.names(name))
        {
            let id = visible(task.text("task_id")).into_owned();
            let name = visible(&cut(name, 60)).into_owned();
            report(
                format!("`{field}` of task `{id}` names `{name}`, which the source plan does not have"),
                &help,
            );
        }
    }
    for section in answer
        .sections
        .iter()
        .filter(|section| !plan.sections.contains(section))
    {
        let section = visible(&cut(section, 60)).into_owned();
        report(
            format!("`source_sections` names `{section}`, which is no section of the source plan"),
            "name the headings of level 2 as they are written",
        );
    }
    found
}

/// Returns the errors of a pack: those of `check`, and further ones of the original's validator.
fn judge(text: &SourceText, order: &DerivationRequest<'_>, plan: &SourcePlan) -> Vec<Diagnostic> {
    let pack = OriginalPack::parse(text);
    let files: BTreeSet<String> = pack.files().collect();
    let directories: Vec<String> = files.into_iter().filter(|file| (order.is_directory)(file)).collect();
    let facts = DiskFacts {
        looked: DiskLookup::Done,
        source_plan: dialect::SourcePlanLookup::Bytes(order.plan.as_str().as_bytes().to_vec()),
        directories,
        neighbours: None,
        order: None,
    };
    let choice = Choice {
        dialects: DIALECTS,
        forced: Some(&TaskPack),
        path: None,
        facts: &facts,
    };
    let found = inspect(text, &choice).diagnostics.into_iter();
    let mut found: Vec<Diagnostic> = found.filter(|found| found.severity == Severity::Error).collect();
    if plan.spec_id.is_some() && found.is_empty() {
        found.extend(original_findings(&pack, &facts));
    }
    if found.is_empty() {
        found.extend(drift::drift(text).unwrap_or_default());
    }
    found.into_iter().map(|found| without_place(found, text)).collect()
}

/// Returns a finding about a text that was never written: with the text at its span instead of the span.
fn without_place(found: Diagnostic, text: &SourceText) -> Diagnostic {
    let written = found.span.map_or("", |span| text.slice(span)).trim();
    let is_quoted = written.is_empty() || written.contains('\n') || found.message.contains(written.trim_matches('"'));
    let message = match is_quoted {
        true => found.message.clone(),
        false => format!("{} It is {}.", found.message, visible(&cut(written, 80))),
    };
    Diagnostic {
        message,
        ..found.without_places()
    }
}

fn original_findings(pack: &OriginalPack, facts: &DiskFacts) -> Vec<Diagnostic> {
    let report = validate(pack, facts);
    if report.validity == Validity::Valid {
        return Vec::new();
    }
    let errors = report.errors.iter();
    errors
        .map(|error| Diagnostic::of_file(&ANSWER, error.message.to_string()))
        .collect()
}

/// Returns the units and requirements without a task, unless the planner gives a reason.
fn uncovered(tasks: &[PackTask], answer: &PlannerAnswer, plan: &SourcePlan) -> Option<Diagnostic> {
    let mut served: HashSet<&str> = answer.uncovered.iter().map(|(id, _)| id.as_str()).collect();
    for task in tasks {
        served.insert(task.text("source_unit"));
        served.extend(task.texts("requirement_refs"));
    }
    let anchors = plan.units.iter().chain(&plan.requirements);
    let open: Vec<&str> = anchors
        .map(|anchor| anchor.id.as_str())
        .filter(|id| !served.contains(id))
        .collect();
    (!open.is_empty()).then(|| {
        let open = listed(open.iter(), MAX_LISTED);
        Diagnostic::of_file(&UNCOVERED, format!("no task serves {open}"))
            .with_help("the Traceability Matrix shows them as open; look whether that is meant")
    })
}

fn draft_warning(plan: &SourcePlan) -> Option<Diagnostic> {
    plan.spec_id.is_none().then(|| {
        Diagnostic::of_file(
            &NOT_EXECUTABLE,
            "the source plan has no `spec_id`: the pack is a draft and does not run",
        )
        .with_help("add `spec_id` to the frontmatter of the plan, and derive the pack again")
    })
}
