//! Markdown checklists: task lines with boxes, as people, agents, spec-kit, OpenSpec and Kiro write them.

mod adopt;
mod compose;
mod details;
mod fields;
mod ids;
mod lines;
mod names;
mod notation;
mod read;
pub mod rules;
mod statuses;
mod tags;
mod task_line;
mod variant;

use super::{CarrierKind, Dialect, DialectInput, DialectProfile, Facets, FieldTable, Fit, PlanReading, Planning};
use crate::document::markdown::fence_mark;
use crate::edit::Owner;
use crate::plan::{NO_PLAN_STATUS, Plan};
use crate::text::SourceText;
use lines::Lines;
use variant::{Marker, Variant};

/// The checklist dialect.
pub struct Checklist;

static PROFILE: DialectProfile = DialectProfile {
    name: "checklist",
    title: "Markdown checklist",
    carriers: &[CarrierKind::Markdown],
    places: &[
        "specs/*/tasks.md",
        "openspec/changes/*/tasks.md",
        ".kiro/specs/*/tasks.md",
    ],
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
        let has_marker = || self.is_marked(text);
        let is_list = || count_task_lines(text) > if quotes_plan(text) { 2 } else { 0 };
        (is_list() || has_marker()).then_some(CarrierKind::Markdown)
    }

    fn is_marked(&self, beginning: &str) -> bool {
        beginning.contains("<!-- planwright") && Lines::glance(&SourceText::new(beginning)).marker.is_some()
    }

    fn is_free_form(&self, plan: &Plan) -> bool {
        Variant::of_form(plan.form) == Variant::Plain
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let lines = Lines::glance(input.source);
        match (lines.items.is_empty(), Marker::of(input.source, &lines)) {
            (_, Some(marker)) if marker.is_explicit => 97,
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

/// Counts the first task lines of a text outside of code fences.
fn count_task_lines(text: &str) -> usize {
    let mut is_fenced = false;
    let task_lines = text.lines().map(str::trim_start).filter(|line| {
        let is_fence = fence_mark(line).is_some();
        is_fenced ^= is_fence;
        let rest = lines::bullet_len(line).map_or("", |n_bullet| &line[n_bullet..]);
        !is_fenced && ["[ ]", "[x]", "[X]"].iter().any(|mark| rest.starts_with(mark))
    });
    task_lines.take(3).count()
}

/// Returns whether a text quotes a plan in JSON, as a model's answer may do after a list.
fn quotes_plan(text: &str) -> bool {
    text.contains("\"tasks\"") || text.contains("\"steps\"") || text.contains("\"userStories\"")
}
