//! The JSON Schemas: valid themselves, accepting every good plan, rejecting gross errors, and with the same fields.

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use planwright_core::dialect::{self, CarrierKind, Choice, DIALECTS, Dialect};
use planwright_core::document::markdown::Markdown;
use planwright_core::document::patch::PlainValue;
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;
use planwright_testkit::corpus;
use serde_json::{Value, json};

use crate::fixtures::{fixtures, with_choice};

fn schema(dialect: &dyn Dialect) -> Value {
    serde_json::from_str(dialect.schema()).expect("a schema is JSON")
}

fn validator(dialect: &str) -> Validator {
    let dialect = dialect::find(dialect).expect("a known dialect");
    jsonschema::validator_for(&schema(dialect)).expect("a schema that can be used")
}

/// Returns the subject of a schema: the document as JSON data; for a task pack, its contract.
fn data_of(source: &SourceText, path: &Path) -> Option<Value> {
    let name = path.to_string_lossy();
    let inspection = with_choice(|choice| {
        let path = Some(&*name);
        inspect(source, &Choice { path, ..*choice })
    });
    let (carrier, span) = inspection.carrier?;
    let text = source.slice(span).trim_start_matches('\u{feff}');
    match carrier {
        CarrierKind::Json => serde_json::from_str(text).ok(),
        CarrierKind::Yaml => {
            let mut value: yaml_serde::Value = yaml_serde::from_str(text).ok()?;
            value.apply_merge().ok()?;
            serde_json::to_value(value).ok()
        }
        CarrierKind::Markdown if inspection.dialect?.notation().is_some() => {
            let notation = inspection.dialect?.notation()?;
            let parsed = notation(source, Some(&name)).parse(source);
            Some(json_of(&PlainValue::of(parsed.document.root()?)))
        }
        CarrierKind::Markdown => {
            let markdown = Markdown::parse(source);
            let section = markdown.section("Task Pack Contract")?;
            let fences = markdown.json_fences(&section);
            serde_json::from_str(source.slice(fences.first()?.inner)).ok()
        }
    }
}

/// Returns a value as JSON data.
fn json_of(value: &PlainValue) -> Value {
    match value {
        PlainValue::Null => Value::Null,
        PlainValue::Bool(value) => json!(value),
        PlainValue::Number(number) => serde_json::from_str(number).expect("a number"),
        PlainValue::String(text) | PlainValue::Alias(text) => json!(text),
        PlainValue::Array(items) => items.iter().map(json_of).collect(),
        PlainValue::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), json_of(value)))
            .collect(),
    }
}

/// Returns the errors of a schema for a value, one line each.
fn complaints(validator: &Validator, value: &Value) -> Vec<String> {
    let found = validator.iter_errors(value);
    found
        .map(|error| format!("  at `{}`: {error}", error.instance_path()))
        .collect()
}

#[test]
fn schemas_are_schemas() {
    for dialect in DIALECTS {
        let schema = schema(*dialect);
        assert!(jsonschema::meta::is_valid(&schema), "{}", dialect.name());
        assert!(schema["$schema"].is_string(), "{} names no draft", dialect.name());
        assert!(schema["title"].is_string(), "{} has no title", dialect.name());
        jsonschema::validator_for(&schema).expect("a schema that can be used");
    }
}

#[test]
fn every_dialect_has_its_schema_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let files = std::fs::read_dir(folder).expect("a folder of schemas").flatten();
    let files: BTreeSet<String> = files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect();
    let expected = DIALECTS.iter().map(|dialect| format!("{}.json", dialect.name()));
    // Result files are no plans, but have a schema as well.
    assert_eq!(files, expected.chain(["result-file.json".to_owned()]).collect());
}

#[test]
fn accepted_fixtures_are_valid() {
    let mut failures = Vec::new();
    for fixture in fixtures("accept") {
        let name = fixture.path.display();
        match data_of(&fixture.source(), &fixture.path) {
            None => failures.push(format!("{name}: holds no data")),
            Some(data) => {
                let found = complaints(&validator(fixture.dialect), &data);
                if !found.is_empty() {
                    failures.push(format!("{name}:\n{}", found.join("\n")));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns a small sound plan of each dialect, as data.
fn sound(dialect: &str) -> Value {
    match dialect {
        "opencrabs" => json!({
            "title": "t", "description": "d",
            "tasks": [
                {"title": "a", "description": "d", "task_type": "edit", "complexity": 3, "acceptance_criteria": ["x"]},
                {"title": "b", "description": "d", "task_type": "test", "dependencies": [1]},
            ],
        }),
        "clido" => json!({
            "meta": {"id": "plan-a1b2c3d4", "goal": "g", "created_at": "2026-03-22T10:00:00Z"},
            "tasks": [
                {"id": "t1", "description": "d", "depends_on": [], "complexity": "low", "status": "done"},
                {"id": "t2", "description": "d", "depends_on": ["t1"], "skip": false, "notes": ""},
            ],
        }),
        "aimi" => json!({
            "schemaVersion": "3.0",
            "metadata": {
                "title": "feat: x", "type": "feat", "branchName": "feat/x", "createdAt": "2026-02-27",
                "planPath": null, "maxConcurrency": 2,
            },
            "userStories": [{
                "id": "US-001", "title": "t", "description": "As a user, I want x so that y",
                "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "status": "pending", "dependsOn": [],
                "notes": "",
            }],
        }),
        "task-pack" => json!({
            "schema_version": "task-pack/v1",
            "execution_waves": [{"wave": 1, "tasks": ["T001"]}],
            "tasks": [{
                "task_id": "T001", "source_unit": "U1", "goal": "g", "dependencies": [], "files": ["src/a.rs"],
                "test_focus": "f", "done_signal": "d", "wave": 1, "stop_if": "s",
            }],
        }),
        "rawko" => json!({
            "id": "plan-20260123-x", "task": "t", "status": "draft", "currentStepIndex": 0, "version": 1,
            "createdAt": "2026-01-23T10:00:00Z", "updatedAt": "2026-01-23T10:00:00Z", "createdBy": "planner",
            "metadata": {"complexity": 3, "tags": ["a"]},
            "steps": [
                {"index": 0, "description": "d", "status": "pending"},
                {"index": 1, "description": "d", "status": "pending", "dependsOn": [0]},
            ],
        }),
        "checklist" => json!({
            "title": "t",
            "tasks": [
                {"status": "x", "id": "T1", "title": "a", "criteria": ["x"], "files": ["a.rs"]},
                {"status": " ", "id": "T2", "title": "b", "needs": ["T1"], "description": "d"},
            ],
        }),
        other => panic!("no plan in `{other}`"),
    }
}

/// What must be refused: the place, and the value to put there; no value removes the member.
static GROSS: &[(&str, &str, &str)] = &[
    ("opencrabs", "/title", ""),
    ("opencrabs", "/title", "7"),
    ("opencrabs", "/tasks", ""),
    ("opencrabs", "/tasks", "{}"),
    ("opencrabs", "/tasks/0", "\"a\""),
    ("opencrabs", "/tasks/0/title", ""),
    ("opencrabs", "/tasks/0/task_type", "\"ponder\""),
    ("opencrabs", "/tasks/0/complexity", "\"3\""),
    ("opencrabs", "/tasks/0/complexity", "6"),
    ("opencrabs", "/tasks/0/acceptance_criteria", "\"x\""),
    ("opencrabs", "/tasks/1/dependencies", "[true]"),
    ("opencrabs", "/tasks/1/dependencies", "1"),
    ("clido", "/meta", "\"plan\""),
    ("clido", "/meta/id", ""),
    ("clido", "/meta/id", "\" \""),
    ("clido", "/meta/goal", "null"),
    ("clido", "/tasks", ""),
    ("clido", "/tasks", "\"t1\""),
    ("clido", "/tasks/0", "null"),
    ("clido", "/tasks/0/id", ""),
    ("clido", "/tasks/0/id", "1"),
    ("clido", "/tasks/0/description", ""),
    ("clido", "/tasks/0/complexity", "\"hard\""),
    ("clido", "/tasks/0/status", "\"finished\""),
    ("clido", "/tasks/1/skip", "\"false\""),
    ("clido", "/tasks/1/depends_on", "\"t1\""),
    ("clido", "/tasks/1/depends_on", "[1]"),
    ("aimi", "/schemaVersion", "3"),
    ("aimi", "/schemaVersion", "\"9.0\""),
    ("aimi", "/metadata", ""),
    ("aimi", "/metadata/branchName", ""),
    ("aimi", "/metadata/branchName", "\"a b;c\""),
    ("aimi", "/metadata/maxConcurrency", "-1"),
    ("aimi", "/metadata/maxConcurrency", "1.5"),
    ("aimi", "/userStories", ""),
    ("aimi", "/userStories", "[]"),
    ("aimi", "/userStories/0/id", "\"1\""),
    ("aimi", "/userStories/0/priority", "\"1\""),
    ("aimi", "/userStories/0/status", "\"done\""),
    ("aimi", "/userStories/0/status", ""),
    ("aimi", "/userStories/0/dependsOn", ""),
    ("aimi", "/userStories/0/acceptanceCriteria", "\"Typecheck passes\""),
    ("task-pack", "/schema_version", "\"task-pack/v2\""),
    ("task-pack", "/schema_version", ""),
    ("task-pack", "/execution_waves", ""),
    ("task-pack", "/execution_waves", "[]"),
    ("task-pack", "/execution_waves/0/tasks", "\"T001\""),
    ("task-pack", "/tasks", "[]"),
    ("task-pack", "/tasks/0/task_id", "\"\""),
    ("task-pack", "/tasks/0/goal", ""),
    ("task-pack", "/tasks/0/files", "[]"),
    ("task-pack", "/tasks/0/files", "\"src/a.rs\""),
    ("task-pack", "/tasks/0/dependencies", "null"),
    ("task-pack", "/tasks/0/wave", ""),
    ("task-pack", "/tasks/0/wave", "[]"),
    ("task-pack", "/tasks/0/stop_if", "false"),
    ("task-pack", "/tasks/0/source_unit", ""),
    ("checklist", "/tasks", ""),
    ("checklist", "/tasks", "[]"),
    ("checklist", "/tasks/0/status", ""),
    ("checklist", "/tasks/0/status", "\"done\""),
    ("checklist", "/tasks/0/title", "\" \""),
    ("checklist", "/tasks/1/needs", "\"T1\""),
    ("checklist", "/tasks/1/needs", "[1]"),
    ("checklist", "/title", "7"),
    ("rawko", "/id", ""),
    ("rawko", "/id", "\"\""),
    ("rawko", "/status", "\"done\""),
    ("rawko", "/version", "0"),
    ("rawko", "/version", "\"1\""),
    ("rawko", "/currentStepIndex", "-1"),
    ("rawko", "/metadata", "[]"),
    ("rawko", "/metadata/complexity", "11"),
    ("rawko", "/steps", "[]"),
    ("rawko", "/steps", "{}"),
    ("rawko", "/steps/0", "\"do it\""),
    ("rawko", "/steps/0/index", ""),
    ("rawko", "/steps/0/status", "\"completed\""),
    ("rawko", "/steps/1/dependsOn", "[\"0\"]"),
    ("rawko", "/steps/1/dependsOn", "0"),
];

fn spoiled(mut plan: Value, pointer: &str, new: &str) -> Value {
    let (owner, member) = pointer.rsplit_once('/').expect("a pointer to a member");
    if new.is_empty() {
        let owner = plan.pointer_mut(owner).and_then(Value::as_object_mut);
        let gone = owner.and_then(|owner| owner.remove(member));
        assert!(gone.is_some(), "there is no {pointer}");
    } else {
        let slot = plan.pointer_mut(pointer).expect("a pointer to something");
        *slot = serde_json::from_str(new).expect("a value");
    }
    plan
}

#[test]
fn gross_errors_are_refused() {
    let mut passed = Vec::new();
    for dialect in DIALECTS.iter().map(|dialect| dialect.name()) {
        let validator = validator(dialect);
        assert_eq!(complaints(&validator, &sound(dialect)), [""; 0], "{dialect}");
        for (_, pointer, new) in GROSS.iter().filter(|case| case.0 == dialect) {
            if validator.is_valid(&spoiled(sound(dialect), pointer, new)) {
                passed.push(format!("{dialect}: {pointer} = `{new}`"));
            }
        }
        for nothing in [json!([]), json!("plan"), json!(null), json!(1), json!({})] {
            if validator.is_valid(&nothing) {
                passed.push(format!("{dialect}: {nothing}"));
            }
        }
    }
    assert!(passed.is_empty(), "the schemas let pass:\n{}", passed.join("\n"));
}

#[test]
fn unknown_fields_are_allowed() {
    for dialect in DIALECTS.iter().map(|dialect| dialect.name()) {
        let mut plan = sound(dialect);
        plan["x-own"] = json!({"any": ["thing"]});
        assert_eq!(complaints(&validator(dialect), &plan), [""; 0], "{dialect}");
    }
}

/// Collects the names under every `properties` of a schema.
fn properties(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                if let ("properties", Value::Object(named)) = (key.as_str(), value) {
                    found.extend(named.keys().cloned());
                    named.values().for_each(|value| properties(value, found));
                } else {
                    properties(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| properties(item, found)),
        _ => {}
    }
}

#[test]
fn schemas_know_the_fields_of_the_tables() {
    for dialect in DIALECTS {
        let mut described = BTreeSet::new();
        properties(&schema(*dialect), &mut described);
        // Frontmatter is no JSON, so the schema does not cover it.
        let tables = dialect.tables().iter().filter(|table| table.name != "Frontmatter");
        for spec in tables.flat_map(|table| table.fields) {
            assert!(
                described.contains(spec.name),
                "the schema of {} lacks `{}`",
                dialect.name(),
                spec.name
            );
        }
    }
}

/// Files of the corpus that their own tools accept.
static REAL: &[(&str, &str, &[&str])] = &[
    (
        "clido",
        "clido",
        &[
            "devdocs_plan-mode_flat-with-id.json",
            "test_flat_complex-seven-tasks.json",
            "test_flat_three-tasks.json",
        ],
    ),
    (
        "opencrabs",
        "opencrabs",
        &[
            "python-fast.json",
            "python-full.json",
            "python-medium.json",
            "rust-fast.json",
            "rust-medium.json",
            "sample-coding-plan.json",
            "test_minimal_no-optional-fields.json",
        ],
    ),
    (
        "rawko",
        "rawko",
        &["seed-current-task.yaml", "seed-plan-20260123-auth-feature.yaml"],
    ),
    ("aimi", "aimi/real", &["seed-complete-example.json"]),
    (
        "task-pack",
        "task-pack/real",
        &[
            "docs/tasks/2026-06-07-001-feat-tasks-split-and-chain-review-tasks.md",
            "docs/tasks/2026-06-12-007-refactor-agent-native-architecture-governance-tasks.md",
            "tests/fixtures/spec-write-tasks/high-risk-review/task-pack.md",
            "tests/fixtures/spec-write-tasks/valid/task-pack.md",
        ],
    ),
];

#[test]
fn real_plans_are_valid() {
    let Some(corpus) = corpus("schemas::real_plans_are_valid") else {
        return;
    };
    let mut failures = Vec::new();
    for (dialect, folder, files) in REAL {
        let validator = validator(dialect);
        for file in *files {
            let path = corpus.join(folder).join(file);
            let source = SourceText::from_bytes(std::fs::read(&path).expect("a file of the corpus"));
            let data = data_of(&source, &path).expect("a real plan holds data");
            let found = complaints(&validator, &data);
            if !found.is_empty() {
                failures.push(format!("{folder}/{file}:\n{}", found.join("\n")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
