//! spec-first task packs: Markdown with frontmatter and one JSON contract, judged by the original validator's rules.

pub(crate) mod card_edits;
mod cards;
pub mod compare;
pub(crate) mod compose;
pub(crate) mod contract;
pub mod derived_contract;
pub(crate) mod derived_layout;
pub mod drift;
pub(crate) mod fields;
pub mod finding;
mod follow;
pub mod hash;
pub mod js;
mod number;
pub mod original;
mod pack_contract;
pub(crate) mod paths;
mod read;
pub mod report;
pub(crate) mod sections;
pub mod source_plan;
pub(crate) mod task;
mod wave_edits;
pub(crate) mod waves;

use super::open::{frontmatter_lines, has_heading};
use super::rules::FILE_NAME;
use super::table::FieldTable;
use super::time::is_iso_date;
use super::{
    CannotFollow, CarrierKind, Dialect, DialectInput, DialectProfile, Edits, Embedded, Facets, Fit, Followed,
    PlanReading, Planning, TaskListEdit, file_name, next_id,
};
use crate::diagnostic::{Diagnostic, Rule};
use crate::document::Parsed;
use crate::document::markdown::Markdown;
use crate::document::patch::PlainValue as PatchValue;
use crate::edit::Owner;
use crate::plan::{Field, FieldValue, Plan, PlanMachine, RunRefusal};
use crate::text::{SourceText, Span, visible};

/// The task-pack dialect.
pub struct TaskPack;

/// How a pack was made decides whether it may be worked on, not an approval.
static PLAN_MACHINE: PlanMachine = PlanMachine {
    rows: &[],
    unsaid: None,
    lacks: "a task pack is either derived from its source plan or a draft, and is not approved",
    instead: "derive a draft from its source plan with `planwright tasks regenerate PLAN_FILE`, or `planwright tasks derive PLAN` where it names none; `planwright approve TASK` and `reject TASK` answer for a task that waits \
              for review",
};

static PROFILE: DialectProfile = DialectProfile {
    name: "task-pack",
    title: "spec-first task pack",
    carriers: &[CarrierKind::Markdown],
    places: &["docs/tasks/*-tasks.md"],
    reads_prose: false,
    tables: &[&fields::FRONTMATTER, &fields::CONTRACT, &fields::TASK],
    rules: report::ALL,
    schema: include_str!("../../../schemas/task-pack.json"),
    plan_machine: &PLAN_MACHINE,
    facets: Facets {
        writer: Some(&compose::TaskPackWriter),
        prompt: Some(include_str!("prompt.md")),
        edits: Some(&TaskPack),
        embedded: Some(&TaskPack),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[],
            derived_by: Some("planwright tasks derive PLAN.md"),
        }),
        ..Facets::NONE
    },
};

/// The folder of task packs, from the root of a repository.
const PACK_HOME: &str = "docs/tasks";

impl Dialect for TaskPack {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn claims(&self, text: &str) -> Option<CarrierKind> {
        let first = text.trim_start_matches('\u{feff}').lines().next();
        let has_frontmatter = first.is_some_and(|line| line.trim_end() == "---");
        ((has_frontmatter && names_itself(text)) || has_heading(text, original::CONTRACT_SECTION))
            .then_some(CarrierKind::Markdown)
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let text = input.source.as_str();
        match (
            text.starts_with("---") && names_itself(text),
            has_heading(text, original::CONTRACT_SECTION),
        ) {
            (true, true) => 98,
            (true, false) => 90,
            (false, true) => 80,
            (false, false) => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        read::read(input)
    }

    fn check_name(&self, plan: &Plan, path: &str) -> Vec<Diagnostic> {
        check_name(plan, path)
    }

    fn new_place(&self, _id: Option<&str>, date: &str, name: &str) -> String {
        format!("{PACK_HOME}/{date}-001-feat-{name}-tasks.md")
    }

    fn table_of(&self, plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        match owner {
            Owner::Plan => None,
            Owner::Task(_) | Owner::Group(_) if plan.form == "draft" => Some(&fields::DRAFT_TASK),
            Owner::Task(_) | Owner::Group(_) => Some(&fields::EXECUTABLE_TASK),
        }
    }

    fn refuses_work(&self, plan: &Plan, findings: &[Diagnostic]) -> Option<RunRefusal> {
        let derive = "derive an executable pack from its source plan: `planwright tasks regenerate PLAN_FILE`";
        if plan.form == "draft" {
            let help = match plan.head_value(Field::SourcePlan) {
                Some(_) => derive,
                None => {
                    "write its source plan, and derive an executable pack from that: `planwright tasks derive PLAN`"
                }
            };
            return Some(RunRefusal::never(("the pack is a draft: it is not executable", help)));
        }
        let has = |rule: &'static Rule| findings.iter().any(|found| found.rule.id == rule.id);
        let unsound = [
            (
                &report::STALE,
                "the pack is stale: its source plan has changed since it was derived",
            ),
            (
                &report::WRONG_CHAIN,
                "the pack does not belong to the source plan that it names",
            ),
        ];
        let found = unsound.into_iter().find(|(rule, _)| has(rule));
        found.map(|(_, message)| RunRefusal::never((message, derive)))
    }
}

impl Edits for TaskPack {
    fn fresh_id(&self, plan: &Plan, _minted: &str, _beside: Option<usize>) -> Option<String> {
        Some(next_id(plan, "T", 3))
    }

    fn default_of(&self, field: Field) -> Option<PatchValue> {
        // No wave has this name: the follow-up finds the wave of the new task.
        (field == Field::Wave).then_some(PatchValue::Null)
    }
}

impl Embedded for TaskPack {
    fn document(&self, source: &SourceText) -> Option<Parsed> {
        original::parse_fence(&Markdown::parse(source))
    }

    fn follow(&self, edited: &TaskListEdit<'_>) -> Result<Option<Followed>, CannotFollow> {
        follow::follow_up(edited).map(Some)
    }
}

fn names_itself(text: &str) -> bool {
    frontmatter_lines(text).any(|line| line.starts_with("type:") && line.contains("task-pack"))
}

fn check_name(plan: &Plan, path: &str) -> Vec<Diagnostic> {
    let name = file_name(path);
    let in_place = path.ends_with(&format!("docs/tasks/{name}"));
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let date = stem
        .split_at_checked(10)
        .map(|(date, _)| date)
        .filter(|date| is_iso_date(date));
    let pattern = "task packs are called docs/tasks/YYYY-MM-DD-NNN-<type>-<slug>-tasks.md";
    let mut found = Vec::new();
    if in_place && !stem.ends_with("-tasks") {
        let message = format!("the name of the file is `{name}`, without the suffix `-tasks`");
        found.push(Diagnostic::new(&FILE_NAME, Span::at(plan.source().bom_len()), message).with_help(pattern));
    }
    if let (Some(date), Some(FieldValue::Text(written))) = (date, plan.head_value(Field::Date))
        && plan.str(written) != date
    {
        let message = format!("the pack is dated {}, its file {date}", visible(plan.str(written)));
        found.push(
            Diagnostic::new(&FILE_NAME, plan.text_span(written), message)
                .with_help("rename the file, or correct the date"),
        );
    }
    found
}
