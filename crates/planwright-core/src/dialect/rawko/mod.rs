//! rawko-sdk plans (SPEC-0010), and the `current-task.yaml` that names one.

mod compose;
mod current_task;
mod fields;
mod read;
pub mod rules;
mod statuses;
mod versions;

use super::{CarrierKind, Dialect, DialectInput, DialectProfile, Facets, FieldTable, Fit, Home, PlanReading, Planning};
use crate::diagnostic::Diagnostic;
use crate::document::{NodeKind, NodeRef};
use crate::edit::Owner;
use crate::plan::{Plan, RunRefusal};

/// The rawko dialect.
pub struct Rawko;

static PROFILE: DialectProfile = DialectProfile {
    name: "rawko",
    title: "rawko-sdk plan",
    carriers: &[CarrierKind::Yaml, CarrierKind::Json],
    places: &[".rawko/plans/*.yaml", current_task::PLACE],
    reads_prose: false,
    tables: &[&fields::PLAN, &fields::META, &fields::STEP, &fields::CURRENT_TASK],
    rules: rules::ALL,
    schema: include_str!("../../../schemas/rawko.json"),
    plan_machine: &statuses::PLAN_MACHINE,
    facets: Facets {
        writer: Some(&compose::RawkoWriter),
        prompt: Some(include_str!("prompt.md")),
        edits: Some(&Rawko),
        versions: Some(&Rawko),
        pointer: Some(&Rawko),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[],
            derived_by: None,
        }),
        home: Some(&Home {
            user_places: &[],
            session_place: None,
            archive: Some("archive"),
        }),
        ..Facets::NONE
    },
};

impl Dialect for Rawko {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn new_place(&self, id: Option<&str>, _date: &str, name: &str) -> String {
        format!(".rawko/plans/{}.yaml", id.unwrap_or(name))
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.object() else {
            return 0;
        };
        let has = |key: &str| root.get(key).is_some();
        match () {
            () if has("steps") && (has("currentStepIndex") || has("task")) => 95,
            () if current_task::has_its_fields(root) => 90,
            () if root.get("steps").is_some_and(are_steps) => 60,
            () if has("currentStepIndex") => 50,
            () if input.carrier == CarrierKind::Yaml && has("task") => 30,
            () => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        read::read(input)
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        super::id_against_name(plan, path, self.name()).into_iter().collect()
    }

    fn table_of(&self, _plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan => &fields::PLAN,
            Owner::Task(_) | Owner::Group(_) => &fields::STEP,
        })
    }

    fn refuses_work(&self, plan: &Plan, _findings: &[Diagnostic]) -> Option<RunRefusal> {
        statuses::refuses_work(plan)
    }
}

/// Returns whether a list looks like the steps of a plan. Many tools have a list of that name, with commands in it.
fn are_steps(list: NodeRef<'_>) -> bool {
    const OWN: [&str; 3] = ["description", "suggestedAgent", "acceptanceCriteria"];
    const OF_OTHERS: [&str; 8] = [
        "command", "commands", "run", "script", "uses", "image", "executor", "call",
    ];
    let any_has = |keys: &[&str]| {
        let mut first = list.elements().take(20);
        first.any(|step| keys.iter().any(|key| step.get(key).is_some()))
    };
    let is_empty = list.kind() == NodeKind::Array && list.elements().next().is_none();
    is_empty || (any_has(&OWN) && !any_has(&OF_OTHERS))
}
