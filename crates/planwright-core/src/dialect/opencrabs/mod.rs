//! OpenCrabs plans: the full document of a session, and the minimal form for import.

mod compose;
mod fields;
mod numbers;
mod read;
pub mod rules;
mod statuses;

use super::rules::FILE_NAME;
use super::{
    CarrierKind, Dialect, DialectInput, DialectProfile, Facets, FieldTable, Fit, Home, PlanReading, Planning, file_name,
};
use crate::diagnostic::Diagnostic;
use crate::document::NodeKind;
use crate::edit::Owner;
use crate::plan::{Field, FieldValue, Plan, RunRefusal};
use crate::text::visible;

/// The OpenCrabs dialect.
pub struct OpenCrabs;

static PROFILE: DialectProfile = DialectProfile {
    name: "opencrabs",
    title: "OpenCrabs plan",
    carriers: &[CarrierKind::Json],
    places: &[
        ".opencrabs/agents/session/.opencrabs_plan_*.json",
        "session/.opencrabs_plan_*.json",
        "plans/coding-plans/*.json",
    ],
    reads_prose: false,
    tables: &[&fields::PLAN, &fields::TASK],
    rules: rules::ALL,
    schema: include_str!("../../../schemas/opencrabs.json"),
    plan_machine: &statuses::PLAN_MACHINE,
    facets: Facets {
        writer: Some(&compose::OpenCrabsWriter),
        prompt: Some(include_str!("prompt.md")),
        edits: Some(&OpenCrabs),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[],
            derived_by: None,
        }),
        home: Some(&Home {
            user_places: &[
                ".opencrabs/agents/session/.opencrabs_plan_*.json",
                ".opencrabs/session/.opencrabs_plan_*.json",
                ".opencrabs/plans/coding-plans/*.json",
                ".opencrabs/profiles/*/agents/session/.opencrabs_plan_*.json",
                ".opencrabs/profiles/*/session/.opencrabs_plan_*.json",
                ".opencrabs/profiles/*/plans/coding-plans/*.json",
            ],
            session_place: Some(|session| format!(".opencrabs/agents/session/.opencrabs_plan_{session}.json")),
            archive: None,
        }),
        ..Facets::NONE
    },
};

impl Dialect for OpenCrabs {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn new_place(&self, _id: Option<&str>, _date: &str, name: &str) -> String {
        format!("plans/coding-plans/{name}.json")
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let Some(root) = input.object() else {
            return 0;
        };
        let has = |key: &str| root.get(key).is_some();
        let tasks = root.get("tasks");
        let list = tasks.filter(|tasks| tasks.resolved().kind() == NodeKind::Array);
        let first = list.and_then(|tasks| tasks.elements().next());
        let task_has = |key: &str| first.is_some_and(|task| task.get(key).is_some());
        if tasks.is_none() {
            return if has("session_id") && has("title") { 30 } else { 0 };
        }
        match () {
            () if task_has("task_type") => 95,
            () if has("session_id") || has("technical_stack") || has("test_strategy") => 85,
            () if has("goal") || has("meta") => 0,
            () if has("title") && has("description") => 70,
            () if task_has("title") && task_has("dependencies") => 60,
            () if has("title") || has("description") => 20,
            () if list.is_some() && first.is_none() => 10,
            () => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        read::read(input)
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        let name = file_name(path);
        let session = name
            .strip_prefix(".opencrabs_plan_")
            .and_then(|rest| rest.strip_suffix(".json"));
        let (Some(session), Some(FieldValue::Text(written))) = (session, plan.head_value(Field::SessionId)) else {
            return Vec::new();
        };
        if plan.is_doubtful || session == plan.str(written) {
            return Vec::new();
        }
        let message = format!(
            "the plan's session is `{}`, its file is that of `{session}`",
            visible(plan.str(written))
        );
        vec![
            Diagnostic::new(&FILE_NAME, plan.text_span(written), message)
                .with_help("OpenCrabs finds plans by session: rename the file, or import the plan into the session"),
        ]
    }

    fn table_of(&self, _plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan => &fields::PLAN,
            Owner::Task(_) | Owner::Group(_) => &fields::TASK,
        })
    }

    fn refuses_work(&self, plan: &Plan, _findings: &[Diagnostic]) -> Option<RunRefusal> {
        statuses::refuses_work(plan)
    }
}

/// Returns whether a text is a UUID, as OpenCrabs creates ids.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
