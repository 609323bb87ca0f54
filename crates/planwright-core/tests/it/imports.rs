//! Import, migration and new plans, by the examples of each system's own documentation.

use planwright_core::convert::{
    ConversionOptions, ConversionRefusal, Imported, MigrationOrder, import, migrate, new_plan,
};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::DIALECTS;
use planwright_core::text::SourceText;
use planwright_testkit::conformance::listing;
use serde_json::{Value, json};

use crate::conversions::{dialect, inspect_as, with_id_source};
use crate::fixtures::inspect_text;

fn import_text(text: &str, name: &str) -> Result<Imported, Vec<Diagnostic>> {
    let options = ConversionOptions {
        session: (name == "opencrabs").then(|| "0b7e4c52-33a1-4c7b-8f62-5a9d0e1f2c34".to_owned()),
        ..ConversionOptions::default()
    };
    with_id_source(|id_source| import(&SourceText::new(text), dialect(name), &options, id_source))
}

#[track_caller]
fn imported(text: &str, name: &str) -> (Value, Vec<&'static str>) {
    let imported = match import_text(text, name) {
        Ok(imported) => imported,
        Err(found) => panic!("{found:#?}"),
    };
    let found = inspect_as(&imported.text, name);
    assert_eq!(
        found.count(Severity::Warning),
        0,
        "{}\n{}",
        imported.text,
        listing(&found)
    );
    let ids = imported.notes.iter().map(|note| note.rule.id).collect();
    (serde_json::from_str(&imported.text).expect("JSON"), ids)
}

#[track_caller]
fn refused(text: &str, name: &str) -> Vec<&'static str> {
    let found = import_text(text, name).err().expect("it is refused");
    found.iter().map(|error| error.rule.id).collect()
}

/// The example of OpenCrabs' documentation.
const MINIMAL: &str = r#"{
  "title": "Add user authentication",
  "description": "Implement login/logout flow with session management",
  "tasks": [
    { "title": "Research auth patterns", "description": "Look at existing auth code and pick a pattern", "task_type": "research" },
    { "title": "Write login handler", "description": "POST /auth/login with password verification", "task_type": "create", "dependencies": [1] },
    { "title": "Add session middleware", "description": "Attach user context to requests", "task_type": "configuration", "dependencies": [2] },
    { "title": "Write auth tests", "description": "Test login, logout, and session expiry", "task_type": "test", "dependencies": [3], "complexity": 2 }
  ]
}"#;

#[test]
fn a_minimal_plan_becomes_a_stored_one() {
    let (plan, notes) = imported(MINIMAL, "opencrabs");
    assert_eq!(notes, [""; 0]);
    assert_eq!(plan["session_id"], "0b7e4c52-33a1-4c7b-8f62-5a9d0e1f2c34");
    assert_eq!(plan["status"], "Draft");
    assert_eq!(plan["created_at"], "2026-05-01T12:00:00Z");
    assert_eq!(plan["updated_at"], "2026-05-01T12:00:00Z");
    assert_eq!(
        (
            &plan["approved_at"],
            &plan["context"],
            &plan["risks"],
            &plan["technical_stack"],
            &plan["test_strategy"]
        ),
        (&Value::Null, &json!(""), &json!([]), &json!([]), &json!(""))
    );
    let tasks = plan["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 4);
    assert_eq!(tasks[0].get("dependencies"), None, "an empty list is never written");
    let expected = json!({
        "id": tasks[3]["id"], "order": 4, "title": "Write auth tests",
        "description": "Test login, logout, and session expiry", "task_type": "test",
        "dependencies": [tasks[2]["id"]], "complexity": 2, "acceptance_criteria": [], "status": "Pending", "notes": null,
        "completed_at": null, "execution_history": [], "retry_count": 0, "max_retries": 3, "artifacts": [],
        "reflection": null,
    });
    assert_eq!(tasks[3], expected);
    assert_eq!(tasks[0]["complexity"], 3);
    let ids: std::collections::BTreeSet<_> = tasks.iter().map(|task| task["id"].to_string()).collect();
    assert_eq!(ids.len(), 4);
}

#[test]
fn an_imported_full_plan_starts_as_a_draft() {
    let text = std::fs::read_to_string(crate::fixtures::root().join("convert/opencrabs/plan.json")).expect("a plan");
    let (plan, notes) = imported(&text, "opencrabs");
    let old: Value = serde_json::from_str(&text).expect("JSON");
    assert_ne!(plan["id"], old["id"]);
    assert_eq!(plan["status"], "Draft");
    assert_eq!(plan["approved_at"], Value::Null);
    assert_eq!(plan["context"], old["context"]);
    assert_eq!(plan["risks"], old["risks"]);
    let tasks = plan["tasks"].as_array().expect("tasks");
    assert!(
        tasks
            .iter()
            .all(|task| task["status"] == "Pending" && task["notes"] == Value::Null)
    );
    assert!(
        tasks
            .iter()
            .all(|task| task["execution_history"] == json!([]) && task["retry_count"] == 0)
    );
    assert_eq!(tasks[1]["max_retries"], 5);
    assert_eq!(tasks[3]["dependencies"], json!([tasks[1]["id"], tasks[2]["id"]]));
    assert_eq!(tasks[3]["device"], "an old one", "what OpenCrabs does not know stays");
    // One note per field, however many tasks have it: six of the plan, and of the tasks all but their order.
    assert_eq!(
        notes.iter().filter(|id| **id == "import-reset").count(),
        6 + 7,
        "{notes:?}"
    );
}

#[test]
fn numeric_dependencies_refer_to_orders_and_positions_become_new_orders() {
    let text = r#"{"title": "t", "description": "d", "tasks": [
        {"title": "b", "description": "d", "task_type": "edit", "order": 2, "dependencies": [1]},
        {"title": "a", "description": "d", "task_type": "edit", "order": 1}]}"#;
    let (plan, notes) = imported(text, "opencrabs");
    assert_eq!(plan["tasks"][0]["dependencies"], json!([plan["tasks"][1]["id"]]));
    assert_eq!(
        (&plan["tasks"][0]["order"], &plan["tasks"][1]["order"]),
        (&json!(1), &json!(2))
    );
    assert!(notes.contains(&"opencrabs-order-differs"), "{notes:?}");
}

#[test]
fn invalid_optional_values_become_defaults_on_import() {
    let text = r#"{"title": "t", "description": "d", "status": 7, "risks": "none", "context": "kept", "tasks": [
        {"title": "a", "description": "d", "task_type": "edit", "status": "Whatever", "max_retries": "many", "dependencies": []}]}"#;
    let (plan, notes) = imported(text, "opencrabs");
    assert_eq!((&plan["risks"], &plan["context"]), (&json!([]), &json!("kept")));
    assert_eq!(plan["tasks"][0]["max_retries"], 3);
    assert_eq!(
        notes.iter().filter(|id| **id == "import-default").count(),
        2,
        "{notes:?}"
    );
    assert!(notes.contains(&"opencrabs-empty-dependencies"), "{notes:?}");
}

#[test]
fn an_import_is_refused_with_every_problem_at_once() {
    let text = r#"{"title": "t", "tasks": [
        {"title": "a", "task_type": "edit", "description": "d", "dependencies": [9], "order": 1},
        {"title": "b", "task_type": "paint", "description": "d", "dependencies": [2], "order": 1},
        {"title": "c", "task_type": "edit", "description": "d", "dependencies": ["6a1c0c1e-7a51-4f0e-9d0f-1d2c3b4a5968"], "complexity": 9}]}"#;
    let mut ids = refused(text, "opencrabs");
    ids.sort_unstable();
    let expected = [
        "invalid-field",
        "invalid-field",
        "missing-field",
        "opencrabs-duplicate-order",
        "self-dependency",
        "unknown-dependency",
        "unknown-dependency",
    ];
    assert_eq!(ids, expected);
    assert!(refused("Here you go:\n{\"title\": \"t\", \"description\": \"d\", \"tasks\": [{\"title\": \"a\", \"description\": \"d\", \"task_type\": \"edit\"}]}", "opencrabs").contains(&"plan-in-prose"));
}

#[test]
fn a_flat_plan_in_prose_is_saved_with_its_meta() {
    let text = "Here is your plan:\n```json\n{\"goal\": \"do the thing\", \"tasks\": [{\"id\": \"a\", \"description\": \"x\"}, {\"id\": \"b\", \"description\": \"y\", \"depends_on\": [\"a\"], \"why\": \"because\"}], \"model\": \"m\"}\n```\nGood luck!\n";
    let (plan, notes) = imported(text, "clido");
    let expected = json!({
        "meta": {"id": "plan-983cbf2a", "goal": "do the thing", "created_at": "2026-05-01T12:00:00Z"},
        "tasks": [
            {"id": "a", "description": "x", "depends_on": [], "complexity": "low", "skip": false, "notes": "", "status": "pending", "tools": null},
            {"id": "b", "description": "y", "depends_on": ["a"], "complexity": "low", "skip": false, "notes": "", "status": "pending", "tools": null, "why": "because"},
        ],
        "model": "m",
    });
    assert_eq!(plan, expected);
    assert_eq!(notes, ["plan-in-prose"]);
}

#[test]
fn import_resets_states_of_answers_and_keeps_those_of_files() {
    let file = "{\"goal\": \"g\", \"tasks\": [{\"id\": \"a\", \"description\": \"x\", \"status\": \"done\"}, {\"id\": \"b\", \"description\": \"y\", \"status\": \"pending\"}]}";
    let (plan, notes) = imported(file, "clido");
    assert_eq!(plan["tasks"][0]["status"], "done");
    assert_eq!(notes, Vec::<&str>::new());
    let (plan, notes) = imported(&format!("Here you are:\n{file}\n"), "clido");
    assert_eq!(plan["tasks"][0]["status"], "pending");
    assert_eq!(notes, ["plan-in-prose", "import-reset"]);
}

#[test]
fn plans_are_extracted_from_surrounding_text() {
    let story = json!({
        "schemaVersion": "3.0",
        "metadata": {"title": "t", "type": "feat", "branchName": "b", "createdAt": "2026-01-01"},
        "userStories": [{"id": "US-001", "title": "t", "description": "As a user", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "status": "pending", "dependsOn": []}],
    });
    let imported = import_text(&format!("Sure!\n```json\n{story}\n```\n"), "aimi").expect("it is imported");
    assert_eq!(imported.text, format!("{story}\n"));
    assert!(!refused("```json\n{\"userStories\": []}\n```", "aimi").is_empty());
}

fn migrated(text: &str, order: MigrationOrder) -> Result<(String, Vec<String>), ConversionRefusal> {
    let found = inspect_as(text, "aimi");
    let migrated = with_id_source(|id_source| migrate(&found, dialect("aimi"), &order, id_source))?;
    assert_eq!(migrated.inspection.count(Severity::Error), 0);
    let notes = migrated.notes.iter().map(|note| note.message.clone()).collect();
    Ok((migrated.text, notes))
}

fn story_v2(id: &str, priority: usize, rest: &str) -> String {
    format!(
        "    {{\n      \"id\": \"{id}\",\n      \"title\": \"T\",\n      \"description\": \"As a user\",\n      \
         \"acceptanceCriteria\": [\"Typecheck passes\"],\n      \"priority\": {priority},\n      {rest},\n      \"extra\": [1,  2]\n    }}"
    )
}

fn file_v2(stories: &[String]) -> String {
    format!(
        "{{\n  \"schemaVersion\": \"2.2\",\n  \"metadata\": {{\n    \"title\": \"feat: x\",\n    \"type\": \"feat\",\n    \
         \"branchName\": \"feat/x\",\n    \"createdAt\": \"2026-01-01\"\n  }},\n  \"userStories\": [\n{}\n  ],\n  \"more\": null\n}}\n",
        stories.join(",\n")
    )
}

/// The example of Aimi's specification: priorities 1, 2, 2, 3.
#[test]
fn layers_become_edges_to_the_layer_before() {
    let text = file_v2(&[
        story_v2("US-001", 1, "\"passes\": true,\n      \"skipped\": true"),
        story_v2("US-002", 2, "\"passes\": false,\n      \"skipped\": true"),
        story_v2("US-003", 2, "\"passes\": false"),
        story_v2("US-004", 3, "\"passes\": false,\n      \"skipped\": false"),
    ]);
    let (text, notes) = migrated(&text, MigrationOrder::default()).expect("it migrates");
    let plan: Value = serde_json::from_str(&text).expect("JSON");
    let column = |key: &str| -> Vec<Value> {
        let stories = plan["userStories"].as_array().expect("stories").iter();
        stories.map(|story| story[key].clone()).collect()
    };
    assert_eq!(plan["schemaVersion"], "3.0");
    assert_eq!(plan["metadata"]["maxConcurrency"], 4);
    assert_eq!(column("status"), ["completed", "skipped", "pending", "pending"]);
    assert_eq!(
        column("dependsOn"),
        [
            json!([]),
            json!(["US-001"]),
            json!(["US-001"]),
            json!(["US-002", "US-003"])
        ]
    );
    assert_eq!(column("priority"), [1, 2, 3, 4]);
    assert!(column("passes").iter().chain(&column("skipped")).all(Value::is_null));
    assert_eq!(
        notes,
        ["`US-002` and `US-003` have the same priority: the stories are numbered again from 1 to 4"]
    );
    // Parts outside the specification stay unchanged, to the byte.
    assert_eq!(text.matches("\"extra\": [1,  2]").count(), 4);
    assert!(text.ends_with("  ],\n  \"more\": null\n}\n"), "{text}");
}

#[test]
fn distinct_priorities_are_kept_and_slots_come_from_the_option() {
    let text = file_v2(&[
        story_v2("US-002", 20, "\"passes\": false"),
        story_v2("US-001", 10, "\"passes\": false"),
    ]);
    let order = MigrationOrder {
        max_concurrency: Some(1),
    };
    let (text, notes) = migrated(&text, order).expect("it migrates");
    assert_eq!(notes, [""; 0]);
    let plan: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(plan["metadata"]["maxConcurrency"], 1);
    assert_eq!(plan["userStories"][0]["dependsOn"], json!(["US-001"]));
    assert_eq!(plan["userStories"][0]["priority"], 20);
    assert_eq!(plan["userStories"][1]["dependsOn"], json!([]));
}

#[test]
fn a_prd_gets_its_metadata() {
    let text = format!(
        "{{\n  \"project\": \"Turds\",\n  \"branchName\": \"ralph/sync\",\n  \"description\": \"Sync them\",\n  \"userStories\": [\n{}\n  ]\n}}\n",
        story_v2(
            "US-001",
            1,
            "\"passes\": false,\n      \"status\": \"odd\",\n      \"dependsOn\": []"
        )
    );
    let (text, notes) = migrated(&text, MigrationOrder::default()).expect("it migrates");
    let plan: Value = serde_json::from_str(&text).expect("JSON");
    let expected = json!({
        "title": "Turds", "type": "feat", "branchName": "ralph/sync", "createdAt": "2026-05-01", "planPath": null,
        "maxConcurrency": 4,
    });
    assert_eq!(plan["metadata"], expected);
    assert_eq!(plan["description"], "Sync them");
    assert_eq!(plan.get("project"), None);
    assert_eq!(plan["userStories"][0]["status"], "pending");
    assert_eq!(plan["userStories"][0]["dependsOn"], json!([]));
    assert_eq!(notes.len(), 1);
}

#[test]
fn a_prd_with_dependencies_keeps_them() {
    let stories = [
        story_v2("US-001", 1, "\"passes\": true"),
        story_v2("US-002", 1, "\"passes\": false,\n      \"dependsOn\": [\"US-001\"]"),
        story_v2("US-003", 3, "\"passes\": false,\n      \"dependsOn\": [\"US-001\"]"),
    ];
    let text = format!(
        "{{\n  \"project\": \"Turds\",\n  \"userStories\": [\n{}\n  ]\n}}\n",
        stories.join(",\n")
    );
    let (text, _) = migrated(&text, MigrationOrder::default()).expect("it migrates");
    let plan: Value = serde_json::from_str(&text).expect("JSON");
    let depends_on = |ix: usize| plan["userStories"][ix]["dependsOn"].clone();
    assert_eq!(depends_on(0), json!([]));
    assert_eq!(depends_on(1), json!(["US-001"]));
    assert_eq!(depends_on(2), json!(["US-001"]));
}

#[test]
fn a_migration_with_errors_is_refused() {
    let text = file_v2(&[story_v2("US-001", 1, "\"passes\": false")]);
    let untested = text.replace("Typecheck passes", "Looks good");
    let refused = migrated(&untested, MigrationOrder::default()).expect_err("it is refused");
    assert!(
        matches!(&refused, ConversionRefusal::Invalid { diagnostics, .. } if diagnostics[0].rule.id == "aimi-missing-typecheck")
    );
    let v3 = migrated(&text, MigrationOrder::default()).expect("it migrates").0;
    assert_eq!(
        migrated(&v3, MigrationOrder::default()).err(),
        Some(ConversionRefusal::UpToDate("aimi"))
    );
    let wide: Vec<String> = (0..2002)
        .map(|ix| story_v2(&format!("US-{ix:04}"), ix % 2, "\"passes\": false"))
        .collect();
    let refused = migrated(&file_v2(&wide), MigrationOrder::default()).err();
    assert_eq!(refused, Some(ConversionRefusal::TooManyEdges(1001 * 1001)));
}

#[test]
fn new_plans_are_sound_and_of_their_dialect() {
    for dialect in DIALECTS {
        for title in ["Ship it", "", "a: \"b\" # c\nd", "日本語", "## Task Pack Contract"] {
            let (text, _) = with_id_source(|id_source| new_plan(*dialect, title, id_source)).expect("a new plan");
            let found = inspect_text(text.clone());
            assert_eq!(found.dialect_name(), Some(dialect.name()), "{text}");
            assert_eq!(found.count(Severity::Error), 0, "{text}\n{}", listing(&found));
        }
    }
}

#[test]
fn a_reset_status_is_reported_as_one_note() {
    let text = r#"{"title": "t", "description": "d", "status": "Completed", "tasks": [
        {"title": "a", "description": "d", "task_type": "edit", "status": "Pending"}]}"#;
    let (_, notes) = imported(text, "opencrabs");
    assert_eq!(notes, ["import-reset"]);
}
