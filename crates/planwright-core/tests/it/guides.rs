//! The dialects' guides for planners: every field is real, every example is a valid plan, every rule is enforced.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use planwright_core::convert::{ConversionOptions, import};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{self, Choice, DIALECTS, Dialect, DiskFacts, FieldShape, FieldSpec, Need};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;

use crate::conversions::with_id_source;

pub(crate) fn dialect(name: &str) -> &'static dyn Dialect {
    dialect::find(name).expect("a dialect")
}

/// Tables with nothing for a planner: other versions, and files around the plan.
const NOT_PLANNED: &[&str] = &[
    "Root (v2.x)",
    "Metadata (v2.x)",
    "Story (v2.x)",
    "Story (v2.x, with dependencies)",
    "Frontmatter",
    "Current task",
];

fn specs(dialect: &dyn Dialect) -> impl Iterator<Item = &'static FieldSpec> {
    let tables = dialect.tables().iter();
    tables
        .filter(|table| !NOT_PLANNED.contains(&table.name))
        .flat_map(|table| table.fields)
}

/// Returns the fields that a guide tells planners to write, each with its text.
fn written(guide: &str) -> Vec<(&str, String)> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in guide.lines() {
        if let Some((name, about)) = line.strip_prefix("- `").and_then(|line| line.split_once("`: ")) {
            fields.push((name, about.to_owned()));
            is_open = true;
        } else if let (true, Some(more), Some(last)) = (is_open, line.strip_prefix("  "), fields.last_mut()) {
            last.1.push(' ');
            last.1.push_str(more);
        } else {
            is_open = false;
        }
    }
    fields
}

/// Returns the fields that a guide tells planners to leave to planwright.
fn minted(guide: &str) -> BTreeSet<&str> {
    let from = guide.find("Do not write ").expect("the fields that are filled in");
    let paragraph = guide[from..].split("\n\n").next().unwrap_or("");
    paragraph.split('`').skip(1).step_by(2).collect()
}

/// Returns the word that marks a guide's example, and the example.
pub(crate) fn example(guide: &str) -> (&str, &str) {
    let from = guide.find("```").expect("an example") + 3;
    let (word, rest) = guide[from..].split_once('\n').expect("a word");
    let to = rest.find("\n```").expect("an end") + 1;
    assert!(!rest[to + 3..].contains("```"), "one example is enough");
    (word, &rest[..to])
}

#[test]
fn guides_name_the_fields_of_their_dialects() {
    for dialect in DIALECTS {
        let name = dialect.name();
        let guide = guide_of(*dialect);
        let known: BTreeSet<&str> = specs(*dialect).map(|spec| spec.name).collect();
        let fields = written(guide);
        let told: BTreeSet<&str> = fields.iter().map(|(field, _)| *field).chain(minted(guide)).collect();
        assert_eq!(told, known, "{name}");
        for (field, about) in &fields {
            let specs: Vec<_> = specs(*dialect).filter(|spec| spec.name == *field).collect();
            let says = about.starts_with("required");
            let is_required = |spec: &&FieldSpec| spec.need == Need::Required;
            let agrees = specs.iter().any(|spec| is_required(spec) == says);
            assert!(agrees, "{name}: `{field}` is required, or it is not");
            for spec in specs {
                tells_bounds(name, spec, about);
            }
        }
    }
}

/// Checks that a guide lists the words and numbers that a field allows.
fn tells_bounds(dialect: &str, spec: &FieldSpec, about: &str) {
    let name = spec.name;
    match spec.shape {
        FieldShape::OneOf(words) => {
            for word in words {
                assert!(
                    about.contains(&format!("`{word}`")),
                    "{dialect}: `{name}` may be {word}"
                );
            }
        }
        FieldShape::Integer(least, most) if most < i64::from(u32::MAX) => {
            let has = |number: i64| {
                about
                    .split(|c: char| !c.is_ascii_digit())
                    .any(|word| word == number.to_string())
            };
            assert!(has(least) && has(most), "{dialect}: `{name}` is from {least} to {most}");
        }
        FieldShape::List | FieldShape::TextList | FieldShape::TextListOrNull => {
            let says = about.to_lowercase().contains("list of ");
            assert!(says, "{dialect}: `{name}` is a list");
        }
        _ => {}
    }
}

#[test]
fn guides_are_parsed_into_fields_and_examples() {
    let guide = "- `a`: required. One\n  of `b`.\n- c\n  d\n\nDo not write `e` or\n`f`: no.\n\n```json\n{}\n```\n";
    assert_eq!(written(guide), [("a", "required. One of `b`.".to_owned())]);
    assert_eq!(minted(guide).into_iter().collect::<Vec<_>>(), ["e", "f"]);
    assert_eq!(example(guide), ("json", "{}\n"));
}

fn inspect_in(dialect: &'static dyn Dialect, text: &str) -> Inspection {
    let facts = DiskFacts::default();
    let choice = Choice {
        dialects: &[dialect],
        forced: Some(dialect),
        path: None,
        facts: &facts,
    };
    inspect(&SourceText::new(text), &choice)
}

/// Inspects a guide's example and checks that it only lacks what planwright fills in.
#[track_caller]
fn check_example(name: &str, text: &str, expected: Expect) {
    let dialect = dialect(name);
    let inspection = inspect_in(dialect, text);
    let minted = minted(guide_of(dialect));
    let mut lines = String::new();
    for found in inspection
        .diagnostics
        .iter()
        .filter(|found| found.severity > Severity::Note)
    {
        lines.push_str(&format!("{}: {}\n", found.rule.id, found.message));
        assert_eq!(found.rule.id, "missing-field", "{}", found.message);
        let names_it = |field: &&str| found.message.split(['`', '.', ' ']).any(|word| word == *field);
        assert!(minted.iter().any(names_it), "{}", found.message);
    }
    let linked = inspection.plan.expect("a plan");
    assert_eq!((linked.plan.tasks().len(), linked.links.n_edges()), (2, 1), "{name}");
    expected.assert_eq(&lines);
}

#[test]
fn examples_lack_only_what_planwright_fills_in() {
    let text = |name: &str| example(guide_of(dialect(name))).1;
    check_example("opencrabs", text("opencrabs"), expect![""]);
    check_example("clido", text("clido"), expect![""]);
    check_example(
        "aimi",
        text("aimi"),
        expect![[r#"
        missing-field: Invalid tasks.json - schemaVersion is missing or invalid.
        missing-field: Invalid tasks.json - metadata.createdAt is missing or invalid.
        missing-field: Invalid tasks.json - US-001.status is missing or invalid.
        missing-field: Invalid tasks.json - US-002.status is missing or invalid.
    "#]],
    );
    check_example(
        "rawko",
        text("rawko"),
        expect![[r#"
        missing-field: the plan has no `createdAt`
        missing-field: the plan has no `createdBy`
        missing-field: the plan has no `currentStepIndex`
        missing-field: the plan has no `id`
        missing-field: the plan has no `status`
        missing-field: the plan has no `updatedAt`
        missing-field: the plan has no `version`
        missing-field: step 0 has no `index`
        missing-field: step 0 has no `status`
        missing-field: step 1 has no `index`
        missing-field: step 1 has no `status`
    "#]],
    );
    check_example("task-pack", &pack(text("task-pack")), expect![""]);
}

/// Puts a pack around tasks, with a wave for each, as planwright does.
fn pack(tasks: &str) -> String {
    let mut contract: serde_json::Value = serde_json::from_str(tasks).expect("JSON");
    contract["schema_version"] = "task-pack/v1".into();
    let mut waves = Vec::new();
    for (ix, task) in contract["tasks"].as_array_mut().expect("tasks").iter_mut().enumerate() {
        task["wave"] = (ix + 1).into();
        waves.push(serde_json::json!({"wave": ix + 1, "tasks": [task["task_id"]]}));
    }
    contract["execution_waves"] = waves.into();
    let hash = "53e82b7773fffd70861694432a86ad4d2fe51d33ceaabb9546dcc350feb289fd";
    format!(
        "---\ntitle: T\ntype: task-pack\nstatus: derived\nspec_id: s\nsource_plan: plans/p.md\n\
         source_plan_hash: sha256:{hash}\ngenerated_by: spec-write-tasks\nmode: derived\n---\n\n\
         # T\n\n## Task Pack Contract\n\n```json\n{contract:#}\n```\n"
    )
}

#[test]
fn examples_in_an_import_form_are_imported() {
    for name in ["opencrabs", "clido"] {
        let text = SourceText::new(example(guide_of(dialect(name))).1);
        let imported =
            with_id_source(|id_source| import(&text, dialect(name), &ConversionOptions::default(), id_source));
        let imported = imported.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let stored = inspect_in(dialect(name), &imported.text);
        assert_eq!(stored.plan.expect("a plan").plan.tasks().len(), 2);
    }
}

/// Possible errors of a planner, one per line: in the example of a dialect this text becomes that, and a check finds it.
const SLIPS: &str = r#"
clido | ["t1"] | ["t2"] | self-dependency
clido | ["t1"] | ["t9"] | unknown-dependency
clido | "complexity": "low" | "depends_on": ["t2"] | dependency-cycle
clido | "id": "t2" | "id": "t1" | duplicate-id
clido | depends_on | dependsOn | misnamed-field
clido | medium | hard | invalid-field
opencrabs | [1] | [2] | self-dependency
opencrabs | [1] | [0] | index-base
opencrabs | [1] | [3] | unknown-dependency
opencrabs | [1] | ["1"] | quoted-value
opencrabs | "complexity": 1 | "dependencies": [2] | dependency-cycle
opencrabs | "complexity": 2 | "complexity": 6 | invalid-field
opencrabs | "edit" | "improve" | invalid-field
opencrabs | dependencies | depends_on | misnamed-field
aimi | ["US-001"] | ["US-002"] | self-dependency
aimi | ["US-001"] | ["US-009"] | unknown-dependency
aimi | "dependsOn": [] | "dependsOn": ["US-002"] | dependency-cycle
aimi | "id": "US-002" | "id": "US-001" | duplicate-id
aimi | "id": "US-002" | "id": "S2" | invalid-field
aimi | "priority": 2 | "priority": 1 | aimi-duplicate-priority
aimi | "priority": 2 | "priority": "2" | quoted-value
aimi | "Typecheck passes"] | "Compiles"] | aimi-missing-typecheck
aimi | feat/version-flag | feat version | invalid-field
aimi | "feat" | "feature" | invalid-field
rawko | [0] | [0, 1] | self-dependency
rawko | [0] | [1] | index-base
rawko | [0] | [7] | unknown-dependency
rawko | description: Make | "dependsOn": [1]\n    description: Make | dependency-cycle
rawko | complexity: 2 | complexity: 11 | invalid-field
rawko | dependsOn | depends_on | misnamed-field
task-pack | ["T001"] | ["T009"] | unknown-dependency
task-pack | ["T001"] | ["T002"] | self-dependency
task-pack | "dependencies": [] | "dependencies": ["T002"] | dependency-cycle
task-pack | "task_id": "T002" | "task_id": "T001" | duplicate-id
task-pack | "source_unit": "U1", | | task-pack-task-field
task-pack | src/version.rs | src/*.rs | task-pack-path
task-pack | src/version.rs | src/token.rs | task-pack-path
task-pack | src/version.rs | .claude/a.md | task-pack-path
"#;

#[test]
fn rules_in_guides_are_enforced() {
    let mut missed = Vec::new();
    for line in SLIPS.lines().filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, from, to, rule] = cells[..] else {
            panic!("four cells: {line}");
        };
        let text = example(guide_of(dialect(name))).1;
        assert!(text.contains(from), "{name}: {from}");
        let text = text.replacen(from, &to.replace("\\n", "\n"), 1);
        let text = if name == "task-pack" { pack(&text) } else { text };
        let inspection = inspect_in(dialect(name), &text);
        let errors = inspection
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error);
        let rules: BTreeSet<&str> = errors.map(|found| found.rule.id).collect();
        if !rules.contains(rule) {
            missed.push(format!("{line}: {rules:?}"));
        }
    }
    assert_eq!(missed, [""; 0]);
}

#[test]
fn lengths_in_guides_are_the_maximum_lengths() {
    let text = example(guide_of(dialect("aimi"))).1;
    let errors_of = |text: &str| {
        let inspection = inspect_in(dialect("aimi"), text);
        let invalid = inspection
            .diagnostics
            .iter()
            .filter(|found| found.rule.id == "invalid-field");
        invalid.count()
    };
    let fields = [
        ("title", "Add the flag", 200),
        (
            "description",
            "As a user, I want the flag --version so that I can say which version I have.",
            500,
        ),
        ("acceptanceCriteria", "An integration test covers it", 300),
    ];
    for (field, old, most) in fields {
        let about = written(guide_of(dialect("aimi")));
        let told = format!("at most {most} characters");
        assert!(
            about
                .iter()
                .any(|(name, about)| *name == field && about.contains(&told)),
            "{field}"
        );
        let long = |n: usize| text.replacen(old, &"x".repeat(n), 1);
        assert_eq!((errors_of(&long(most)), errors_of(&long(most + 1))), (0, 1), "{field}");
    }
}

#[test]
fn a_task_of_opencrabs_that_stays_keeps_its_id() {
    let id = "11111111-1111-4111-8111-111111111111";
    let text = example(guide_of(dialect("opencrabs"))).1;
    let text = text.replacen("\"title\": \"Make", &format!("\"id\": \"{id}\", \"title\": \"Make"), 1);
    for text in [text.clone(), text.replacen("[1]", &format!("[\"{id}\"]"), 1)] {
        let inspection = inspect_in(dialect("opencrabs"), &text);
        let is_error = |found: &&planwright_core::diagnostic::Diagnostic| found.severity > Severity::Note;
        let errors: Vec<&str> = inspection
            .diagnostics
            .iter()
            .filter(is_error)
            .map(|found| found.rule.id)
            .collect();
        assert_eq!(errors, [""; 0]);
        assert_eq!(inspection.plan.expect("a plan").links.n_edges(), 1);
    }
}

/// Returns the guide of a dialect for planners.
pub(crate) fn guide_of(dialect: &dyn Dialect) -> &'static str {
    dialect.planning().expect("a guide").guide
}
