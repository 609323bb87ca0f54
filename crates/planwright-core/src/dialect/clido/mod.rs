//! clido plans: the saved form with `meta`, and the flat form that planners return.

mod compose;
mod fields;
mod read;
mod statuses;

use super::{CarrierKind, Dialect, DialectInput, DialectProfile, Facets, FieldTable, Fit, PlanReading, Planning};
use crate::diagnostic::Diagnostic;
use crate::document::NodeKind;
use crate::edit::Owner;
use crate::plan::{NO_PLAN_STATUS, Plan};

/// The clido dialect.
pub struct Clido;

static PROFILE: DialectProfile = DialectProfile {
    name: "clido",
    title: "clido plan",
    carriers: &[CarrierKind::Json],
    places: &[".clido/plans/*.json"],
    reads_prose: true,
    tables: &[&fields::SAVED, &fields::META, &fields::FLAT, &fields::TASK],
    rules: &[],
    schema: include_str!("../../../schemas/clido.json"),
    plan_machine: &NO_PLAN_STATUS,
    facets: Facets {
        writer: Some(&compose::ClidoWriter),
        prompt: Some(include_str!("prompt.md")),
        edits: Some(&Clido),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[],
            derived_by: None,
        }),
        ..Facets::NONE
    },
};

impl Dialect for Clido {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn new_place(&self, id: Option<&str>, _date: &str, name: &str) -> String {
        format!(".clido/plans/{}.json", id.unwrap_or(name))
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.object() else {
            return 0;
        };
        let tasks = root.get("tasks");
        let list = tasks.filter(|tasks| tasks.resolved().kind() == NodeKind::Array);
        let first = list.and_then(|tasks| tasks.elements().next());
        let task_has = |key: &str| first.is_some_and(|task| task.get(key).is_some());
        let meta = root
            .get("meta")
            .is_some_and(|meta| meta.resolved().kind() == NodeKind::Object);
        match (meta, root.get("goal").is_some(), tasks.is_some()) {
            (true, _, true) => 90,
            (_, true, true) => 80,
            (true, _, false) => 30,
            (false, false, true) if task_has("depends_on") || (task_has("id") && !task_has("title")) => 40,
            (false, false, true) if list.is_some() && first.is_none() => 10,
            _ => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        read::read(input)
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        super::id_against_name(plan, path, self.name()).into_iter().collect()
    }

    fn table_of(&self, plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan if plan.form == "saved" => &fields::SAVED,
            Owner::Plan => &fields::FLAT,
            Owner::Task(_) | Owner::Group(_) => &fields::TASK,
        })
    }
}
