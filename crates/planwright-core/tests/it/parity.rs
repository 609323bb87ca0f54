//! The dialects' pages and tables agree: no field in one alone, required in both or neither.

use std::collections::BTreeMap;

use planwright_core::dialect::{DIALECTS, Dialect, Need};
use planwright_testkit::repository;

/// The fields that the original requires of a task of a pack, and those that it allows.
const REQUIRED_IN_PACKS: &str = "task_id dependencies files goal test_focus done_signal wave stop_if";
const OPTIONAL_IN_PACKS: &str = "source_unit requirement_refs context_refs entry_hint parallelizable expected_side_effects \
    risk_note notes review_gate review_focus handoff_owner target_repo";

/// Fields by name, with whether each is required, by the object they belong to.
type Tables = BTreeMap<String, BTreeMap<String, bool>>;

fn coded(dialect: &dyn Dialect) -> Tables {
    let mut tables = Tables::new();
    for table in dialect.tables() {
        let fields = table
            .fields
            .iter()
            .map(|spec| (spec.name.to_owned(), spec.need == Need::Required));
        let is_new = tables.insert(table.name.to_owned(), fields.collect()).is_none();
        assert!(is_new, "{} has two tables called `{}`", dialect.name(), table.name);
    }
    tables
}

/// Reads the tables below headings of the third level whose first column is called Field.
fn documented(page: &str) -> Tables {
    let mut tables = Tables::new();
    let mut heading = None;
    let mut in_fields = false;
    for line in page.lines() {
        if line.starts_with('#') {
            heading = line.strip_prefix("### ");
            in_fields = false;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(heading), ["", first, second, ..]) = (heading, cells.as_slice()) else {
            continue;
        };
        if (*first, *second) == ("Field", "Required") {
            in_fields = true;
        } else if let Some(name) = first.strip_prefix('`').and_then(|name| name.strip_suffix('`'))
            && in_fields
        {
            let is_required = match *second {
                "yes" => true,
                "no" => false,
                other => panic!("`{heading}.{name}`: required is yes or no, not `{other}`"),
            };
            let table = tables.entry(heading.to_owned()).or_default();
            let is_new = table.insert(name.to_owned(), is_required).is_none();
            assert!(is_new, "`{heading}` documents `{name}` twice");
        }
    }
    tables
}

/// Returns every difference, one line each.
fn differences(coded: &Tables, documented: &Tables) -> Vec<String> {
    let mut found = Vec::new();
    let empty = BTreeMap::new();
    for table in coded
        .keys()
        .chain(documented.keys().filter(|name| !coded.contains_key(*name)))
    {
        let (code, page) = (
            coded.get(table).unwrap_or(&empty),
            documented.get(table).unwrap_or(&empty),
        );
        for (field, is_required) in code {
            match page.get(field) {
                None => found.push(format!("{table}.{field} is not documented")),
                Some(documented) if documented != is_required => {
                    found.push(format!("{table}.{field}: required is {is_required} in the code"));
                }
                Some(_) => {}
            }
        }
        let strange = page.keys().filter(|field| !code.contains_key(*field));
        found.extend(strange.map(|field| format!("{table}.{field} is documented, but nobody reads it")));
    }
    found
}

#[test]
fn pages_and_tables_agree() {
    for dialect in DIALECTS {
        let path = repository().join(format!("docs/dialects/{}.md", dialect.name()));
        let page = std::fs::read_to_string(&path).expect("every dialect has a page");
        let found = differences(&coded(*dialect), &documented(&page));
        assert!(found.is_empty(), "{}:\n{}", dialect.name(), found.join("\n"));
    }
}

#[test]
fn tasks_of_packs_have_the_fields_of_the_original() {
    let pack = DIALECTS.iter().find(|dialect| dialect.name() == "task-pack");
    let tables = coded(*pack.expect("task packs are a dialect"));
    let required = REQUIRED_IN_PACKS.split_whitespace().map(|name| (name.to_owned(), true));
    let optional = OPTIONAL_IN_PACKS
        .split_whitespace()
        .map(|name| (name.to_owned(), false));
    let original: BTreeMap<String, bool> = required.chain(optional).collect();
    assert_eq!(tables["Task"], original);
    assert_eq!(original.len(), 20);
}

#[test]
fn the_comparison_can_fail() {
    let page = "### Task\n\n| Field | Required | Type |\n| --- | --- | --- |\n| `id` | yes | x |\n| `a` | no | x |\n\
                \n### Other\n\n| Word | Field |\n| `x` | y |\n\n## Next\n\n| `b` | yes |\n";
    let page = documented(page);
    assert_eq!(page.len(), 1);
    let mut code = page.clone();
    assert_eq!(differences(&code, &page), [""; 0]);
    let task = code.get_mut("Task").expect("the page has it");
    task.insert("a".to_owned(), true);
    task.insert("c".to_owned(), false);
    task.remove("id");
    let expected = [
        "Task.a: required is true in the code",
        "Task.c is not documented",
        "Task.id is documented, but nobody reads it",
    ];
    assert_eq!(differences(&code, &page), expected);
}
