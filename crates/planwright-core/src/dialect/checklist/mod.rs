//! Markdown checklists: task lines with boxes, as people, agents, spec-kit, OpenSpec and Kiro write them.

mod compose;
mod details;
mod fields;
mod lines;
mod names;
mod notation;
mod read;
pub mod rules;
mod statuses;
mod tags;
mod task_line;
mod variant;

use super::{
    CarrierKind, Dialect, DialectInput, DialectProfile, Facets, FieldTable, Fit, PlanReading, Planning,
};
use crate::edit::Owner;
use crate::plan::{NO_PLAN_STATUS, Plan};
use lines::Lines;
use variant::EXPLICIT;

/// The checklist dialect.
pub struct Checklist;

static PROFILE: DialectProfile = DialectProfile {
    name: "checklist",
    title: "Markdown checklist",
    carriers: &[CarrierKind::Markdown],
    places: &["PLAN.md", "specs/*/tasks.md", "openspec/changes/*/tasks.md", ".kiro/specs/*/tasks.md"],
    reads_prose: false,
    tables: &[&fields::PLAN, &fields::TASK],
    rules: rules::ALL,
    schema: include_str!("../../../schemas/checklist.json"),
    plan_machine: &NO_PLAN_STATUS,
    facets: Facets {
        writer: Some(&compose::ChecklistWriter),
        prompt: Some(include_str!("prompt.md")),
        edits: Some(&Checklist),
        notation: Some(notation::notation_of),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[],
            derived_by: None,
        }),
        ..Facets::NONE
    },
};

impl Dialect for Checklist {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn new_place(&self, _id: Option<&str>, _date: &str, _name: &str) -> String {
        "PLAN.md".to_owned()
    }

    fn claims(&self, text: &str) -> Option<CarrierKind> {
        let has_marker = memchr::memmem::find(text.as_bytes(), b"<!-- planwright").is_some();
        (has_marker || first_line_is_box(text)).then_some(CarrierKind::Markdown)
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let lines = Lines::read(input.source);
        let marker = lines.marker.map(|words| input.source.slice(words));
        match (lines.items.is_empty(), marker) {
            (_, Some(words)) if words.contains(EXPLICIT) => 97,
            (_, Some(_)) => 95,
            (false, None) => 60,
            (true, None) => 1,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        read::read(input)
    }

    fn table_of(&self, _plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        match owner {
            Owner::Plan => Some(&fields::PLAN),
            Owner::Task(_) | Owner::Group(_) => Some(&fields::TASK),
        }
    }
}

/// Returns whether the first line with a bullet is a task line: such a text is a list, not YAML.
fn first_line_is_box(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| lines::bullet_len(line).is_some());
    first.is_some_and(|line| line[lines::bullet_len(line).unwrap_or(0)..].starts_with('['))
}
