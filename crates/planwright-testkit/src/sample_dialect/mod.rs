//! A dialect that no tool uses: to-do lists. It has every optional part, and its files are those of every dialect.

mod compose;
mod current_list;
mod fields;
mod read;
mod statuses;
mod versions;

use planwright_core::dialect::{
    CannotFollow, CarrierKind, Dialect, DialectInput, DialectProfile, Embedded, Facets, FieldTable, Fit, Followed,
    Home, PlanReading, Planning, TaskListEdit,
};
use planwright_core::document::{Parsed, json};
use planwright_core::edit::Owner;
use planwright_core::plan::{Field, NO_PLAN_STATUS, Plan};
use planwright_core::text::SourceText;

/// Plans written as `{"goal": …, "todo": [{"name": …, "after": […], "ticked": true}]}`.
pub struct Todo;

/// Its constant parts.
pub static PROFILE: DialectProfile = DialectProfile {
    name: "todo",
    title: "to-do list",
    carriers: &[CarrierKind::Json],
    places: &["todo.json", ".todo/lists/*.json", current_list::PLACE],
    reads_prose: true,
    tables: &[&fields::LIST, &fields::ENTRY],
    rules: &[],
    schema: include_str!("schema.json"),
    plan_machine: &NO_PLAN_STATUS,
    facets: Facets {
        notation: None,
        writer: Some(&compose::TodoWriter),
        prompt: Some("# Entry {{task}}\n\n{{description}}\n"),
        edits: Some(&Todo),
        versions: Some(&Todo),
        pointer: Some(&Todo),
        embedded: Some(&Todo),
        planning: Some(&Planning {
            guide: include_str!("planning.md"),
            guides_of_forms: &[],
            derived_by: None,
        }),
        home: Some(&Home {
            user_places: &[".todo-lists/*.json"],
            session_place: Some(|session| format!(".todo-lists/{session}.json")),
            archive: Some("old"),
        }),
        branch: Some(|plan| plan.head_str(Field::Branch)),
    },
};

impl Dialect for Todo {
    fn profile(&self) -> &'static DialectProfile {
        &PROFILE
    }

    fn new_place(&self, id: Option<&str>, _date: &str, name: &str) -> String {
        format!(".todo/lists/{}.json", id.unwrap_or(name))
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        let has = |key: &str| input.object().is_some_and(|root| root.get(key).is_some());
        match (has("todo"), has("current_list")) {
            (true, _) => 99,
            (false, true) => 90,
            (false, false) => 0,
        }
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        read::read(input)
    }

    fn table_of(&self, _plan: &Plan, owner: Owner) -> Option<&'static FieldTable> {
        Some(match owner {
            Owner::Plan => &fields::LIST,
            Owner::Task(_) | Owner::Group(_) => &fields::ENTRY,
        })
    }
}

/// The document is the whole file, without follow-ups.
impl Embedded for Todo {
    fn document(&self, source: &SourceText) -> Option<Parsed> {
        Some(json::parse(source))
    }

    fn follow(&self, _edited: &TaskListEdit<'_>) -> Result<Option<Followed>, CannotFollow> {
        Ok(None)
    }
}

/// The same lists in a dialect without optional parts.
pub struct BareTodo;

static BARE_PROFILE: DialectProfile = DialectProfile {
    schema: "{}",
    facets: Facets::NONE,
    ..PROFILE
};

impl Dialect for BareTodo {
    fn profile(&self) -> &'static DialectProfile {
        &BARE_PROFILE
    }

    fn sniff(&self, input: &DialectInput<'_>) -> Fit {
        Todo.sniff(input)
    }

    fn read(&self, input: &DialectInput<'_>) -> PlanReading {
        Todo.read(input)
    }
}
