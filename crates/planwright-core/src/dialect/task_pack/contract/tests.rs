//! Tests of the contract, rule by rule.

use super::super::js::stringify;
use super::*;
use crate::document::json;
use crate::text::SourceText;

const BASE: &str = r#""task_id": "T1", "source_unit": "U1", "goal": "g", "dependencies": [], "files": ["a.rs"],
    "test_focus": "f", "done_signal": "d", "wave": 1, "stop_if": "s""#;

/// Returns a task like the base one; the last of two equal keys wins, so `more` can replace its members.
fn task(more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!("{{{BASE}{comma} {more}}}")
}

fn findings(contract: &str) -> (Vec<OriginalFinding>, Vec<OriginalFinding>) {
    let parsed = json::parse(&SourceText::new(contract));
    let view = JsView::of(parsed.document.root().expect("the contract is JSON"));
    let (mut errors, mut limitations) = (Vec::new(), Vec::new());
    let mut findings = ContractFindings {
        errors: &mut errors,
        limitations: &mut limitations,
    };
    check(view, &["src".to_owned()], &mut findings);
    (errors, limitations)
}

/// Returns the codes without their common prefix.
fn codes(found: &[OriginalFinding]) -> String {
    let codes = found
        .iter()
        .map(|finding| finding.code.trim_start_matches("task-pack-"));
    codes.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check_contract(waves: &str, tasks: &[String], expect: &str) -> Vec<OriginalFinding> {
    let tasks = tasks.join(",");
    let text = format!(r#"{{"schema_version": "task-pack/v1", "execution_waves": {waves}, "tasks": [{tasks}]}}"#);
    let (errors, _) = findings(&text);
    assert_eq!(codes(&errors), expect, "{text}");
    errors
}

/// Checks one task in the one wave that lists it.
#[track_caller]
fn check_task(more: &str, expect: &str) -> Vec<OriginalFinding> {
    check_contract(r#"[{"wave": 1, "tasks": ["T1"]}]"#, &[task(more)], expect)
}

/// Returns the details as JSON on one line.
fn details(finding: &OriginalFinding) -> String {
    let shown = finding
        .details
        .iter()
        .map(|(key, value)| format!("{key}={}", stringify(value).replace("\n  ", "").replace('\n', "")));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn frame_must_be_an_object_with_two_lists() {
    for (contract, expect) in [
        ("null", "contract-invalid"),
        ("\"x\"", "contract-invalid"),
        ("0", "contract-invalid"),
        ("true", "contract-invalid"),
        ("[]", "contract-schema-version-invalid contract-tasks-invalid"),
        ("{}", "contract-schema-version-invalid contract-tasks-invalid"),
        (
            r#"{"schema_version": ["task-pack/v1"], "tasks": {}, "execution_waves": []}"#,
            "contract-schema-version-invalid contract-tasks-invalid",
        ),
        (
            r#"{"schema_version": "task-pack/v1", "tasks": [], "execution_waves": null}"#,
            "contract-tasks-empty contract-execution-waves-invalid",
        ),
        (
            r#"{"schema_version": "task-pack/v1", "tasks": [], "execution_waves": []}"#,
            "contract-tasks-empty contract-execution-waves-empty",
        ),
    ] {
        assert_eq!(codes(&findings(contract).0), expect, "{contract}");
    }
}

#[test]
fn texts_must_be_filled_where_present() {
    check_task("", "");
    for field in ["goal", "test_focus", "done_signal", "stop_if"] {
        let dashed = field.replace('_', "-");
        let invalid = format!("task-{dashed}-invalid");
        let missing = format!("task-missing-{dashed}");
        for value in [
            "0",
            "false",
            "true",
            "[]",
            "{}",
            "\" \"",
            "\"\\u00a0\\ufeff\"",
            "[\"x\"]",
        ] {
            check_task(&format!("\"{field}\": {value}"), &invalid);
        }
        for value in ["null", "\"\""] {
            check_task(&format!("\"{field}\": {value}"), &missing);
        }
        check_task(&format!("\"{field}\": \"\\u0085\""), "");
    }
    for field in [
        "source_unit",
        "entry_hint",
        "risk_note",
        "notes",
        "handoff_owner",
        "review_focus",
    ] {
        let invalid = format!("task-{}-invalid", field.replace('_', "-"));
        for value in ["0", "false", "true", "[]", "{}", "\"\\t\""] {
            let refs = "\"requirement_refs\": [\"R1\"]";
            check_task(&format!("{refs}, \"{field}\": {value}"), &invalid);
        }
        check_task(&format!("\"requirement_refs\": [\"R1\"], \"{field}\": null"), "");
        check_task(&format!("\"requirement_refs\": [\"R1\"], \"{field}\": \"\""), "");
    }
}

#[test]
fn options_are_strict_where_present() {
    for value in ["null", "\"\"", "\"Required\"", "[\"optional\"]", "true", "{}"] {
        check_task(&format!("\"review_gate\": {value}"), "task-review-gate-invalid");
    }
    for value in ["null", "0", "1", "\"true\"", "[]"] {
        check_task(&format!("\"parallelizable\": {value}"), "task-parallelizable-invalid");
    }
    check_task(r#""review_gate": "optional", "parallelizable": false"#, "");
    for value in [
        "0",
        "false",
        "[]",
        "{}",
        "\" \"",
        "\"..\"",
        "\"a/\"",
        "\".claude\"",
        "\".env\"",
        "\" a\"",
    ] {
        check_task(&format!("\"target_repo\": {value}"), "task-target-repo-invalid");
    }
    for value in ["null", "\"\"", "\".\"", "\"packages/a\""] {
        check_task(&format!("\"target_repo\": {value}"), "");
    }
}

#[test]
fn an_anchor_is_a_unit_or_a_reference() {
    check_task(r#""source_unit": null"#, "task-missing-source-anchor");
    check_task(
        r#""source_unit": "", "requirement_refs": []"#,
        "task-missing-source-anchor",
    );
    check_task(
        r#""source_unit": 0, "requirement_refs": [""]"#,
        "task-source-unit-invalid task-requirement-refs-item-invalid",
    );
    check_task(
        r#""requirement_refs": "R1", "context_refs": {}"#,
        "task-requirement-refs-invalid task-context-refs-invalid",
    );
    check_task(
        r#""requirement_refs": null, "context_refs": [null, "x", " "]"#,
        "task-context-refs-item-invalid task-context-refs-item-invalid",
    );
}

#[test]
fn lists_are_missing_and_invalid_at_once() {
    check_task(
        r#""dependencies": null, "files": """#,
        "task-missing-dependencies task-missing-files task-dependencies-invalid task-files-invalid",
    );
    check_task(
        r#""dependencies": {}, "files": []"#,
        "task-dependencies-invalid task-files-empty",
    );
    let found = check_task(
        r#""dependencies": [1, null, " "]"#,
        "task-dependencies-item-invalid task-dependencies-item-invalid task-dependencies-item-invalid",
    );
    assert_eq!(details(&found[1]), r#"task_id="T1" field="dependencies" value=null"#);
}

#[test]
fn files_are_checked_one_by_one() {
    check_task(
        r#""files": ["../a", 1, null, {"a": 1}, ".claude/.env", "src", "b", "b"]"#,
        "task-file-not-concrete task-file-not-concrete task-file-not-concrete task-file-not-concrete \
         task-file-generated-runtime task-file-secret-denied task-file-is-directory task-file-duplicate \
         same-wave-file-overlap",
    );
    check_task(
        r#""expected_side_effects": ["*", "**", 1, null, ".env"]"#,
        "task-expected-side-effect-invalid task-expected-side-effect-invalid \
         task-expected-side-effect-invalid task-expected-side-effect-invalid",
    );
    check_task(r#""expected_side_effects": "x""#, "task-expected-side-effects-invalid");
    check_task(r#""expected_side_effects": null"#, "");
}

#[test]
fn odd_ids_are_shown_as_javascript_shows_them() {
    let shown = |id: &str| {
        let text = format!(
            r#"{{"schema_version": "task-pack/v1", "execution_waves": [{{"wave": 1, "tasks": []}}],
            "tasks": [{}]}}"#,
            task(&format!("\"task_id\": {id}, \"x\": 1"))
        );
        findings(&text).1[0].message.to_string()
    };
    for (id, name) in [
        ("null", "<unknown>"),
        ("\"\"", "<unknown>"),
        ("0", "<unknown>"),
        ("false", "<unknown>"),
        ("true", "true"),
        ("1.50", "1.5"),
        ("{}", "[object Object]"),
        ("[]", ""),
        ("[1, [null, 2]]", "1,,2"),
        ("\" \"", " "),
        ("\"\\ud83d\"", "\u{fffd}"),
    ] {
        assert_eq!(shown(id), format!("Task '{name}' has unknown field 'x'."));
    }
}

#[test]
fn waves_are_declared_by_their_text() {
    for wave in ["null", "1", "\"x\"", "true"] {
        check_contract(&format!("[{wave}]"), &[task("")], "wave-invalid task-wave-missing");
    }
    for wave in ["[]", "{}", r#"{"wave": null}"#, r#"{"wave": "", "tasks": []}"#] {
        check_contract(&format!("[{wave}]"), &[task("")], "wave-missing-id task-wave-missing");
    }
    for id in ["true", "false", "[1]", "{}"] {
        let waves = format!(r#"[{{"wave": {id}, "tasks": ["T1"]}}]"#);
        check_contract(&waves, &[task("")], "wave-id-invalid task-wave-missing");
    }
    for (declared, used) in [
        ("1", "\"1\""),
        ("1.0", "1"),
        ("-0", "0"),
        ("1e3", "\"1000\""),
        ("\" \"", "\" \""),
    ] {
        let waves = format!(r#"[{{"wave": {declared}, "tasks": ["T1"]}}]"#);
        check_contract(&waves, &[task(&format!("\"wave\": {used}"))], "");
    }
    let found = check_contract(
        r#"[{"wave": 1e999, "tasks": ["T1"]}]"#,
        &[task(r#""wave": 1"#)],
        "task-wave-missing task-wave-list-mismatch",
    );
    assert_eq!(
        details(&found[1]),
        r#"task_id="T1" listed_wave="Infinity" declared_wave="1""#
    );
    check_contract(r#"[{"wave": 0, "tasks": ["T1"]}]"#, &[task(r#""wave": 0"#)], "");
    check_task(r#""wave": [1]"#, "task-wave-invalid");
    check_task(
        r#""wave": true"#,
        "task-wave-invalid task-wave-missing task-wave-list-mismatch",
    );
}

#[test]
fn a_repeated_wave_replaces_the_list_but_not_its_place() {
    check_contract(
        r#"[{"wave": 1, "tasks": ["T9"]}, {"wave": "1", "tasks": ["T1"]}]"#,
        &[task("")],
        "wave-duplicate",
    );
    check_contract(
        r#"[{"wave": 1, "tasks": ["T1"]}, {"wave": 1, "tasks": 5}]"#,
        &[task("")],
        "wave-duplicate wave-tasks-invalid",
    );
    // The first wave is listed last, as its first list came last.
    let found = check_contract(
        r#"[{"wave": 1}, {"wave": 2, "tasks": ["T8"]}, {"wave": 1, "tasks": ["T1", "T9"]}]"#,
        &[task("")],
        "wave-tasks-invalid wave-duplicate wave-task-missing wave-task-missing",
    );
    assert_eq!(details(&found[2]), r#"wave="2" task_id="T8""#);
    // It counts as the third, so tasks in the second must not depend on it.
    check_contract(
        r#"[{"wave": 1, "tasks": ["T1"]}, {"wave": 2, "tasks": ["T2"]}, {"wave": 1, "tasks": ["T1"]}]"#,
        &[
            task(""),
            task(r#""task_id": "T2", "wave": 2, "files": ["b"], "dependencies": ["T1"]"#),
        ],
        "wave-duplicate task-dependency-wave-invalid",
    );
}

#[test]
fn tasks_are_listed_once_and_in_their_wave() {
    check_contract(
        r#"[{"wave": 1, "tasks": ["T1", "T1", null, ""]}]"#,
        &[task("")],
        "wave-task-duplicate wave-task-id-invalid wave-task-id-invalid",
    );
    let two = r#"[{"wave": 1, "tasks": ["T1"]}, {"wave": 2, "tasks": ["T1"]}]"#;
    let found = check_contract(two, &[task("")], "wave-task-multiple-waves task-wave-list-mismatch");
    assert_eq!(details(&found[0]), r#"task_id="T1" waves=["1","2"]"#);
    check_contract(r#"[{"wave": 1, "tasks": []}]"#, &[task("")], "task-wave-not-listed");
    check_contract("[]", &[task("")], "contract-execution-waves-empty task-wave-missing");
    check_contract(
        r#"[{"wave": 1, "tasks": []}]"#,
        &["null".into(), "[]".into(), "\"x\"".into()],
        "task-invalid task-invalid task-invalid",
    );
}

#[test]
fn dependencies_go_to_earlier_positions() {
    let waves = r#"[{"wave": 9, "tasks": ["T1"]}, {"wave": 1, "tasks": ["T2"]}]"#;
    let first = task(r#""wave": 9"#);
    let second = |more: &str| task(&format!(r#""task_id": "T2", "files": ["b"], {more}"#));
    check_contract(waves, &[first.clone(), second(r#""dependencies": ["T1", "T1"]"#)], "");
    let found = check_contract(
        waves,
        &[task(r#""wave": 9, "dependencies": ["T2", "T1"]"#), second("\"x\": 1")],
        "task-dependency-wave-invalid task-dependency-wave-invalid",
    );
    assert_eq!(
        details(&found[0]),
        r#"task_id="T1" dependency="T2" task_wave=9 dependency_wave="1""#
    );
    check_contract(
        waves,
        &[first.clone(), second(r#""dependencies": ["t1", "T1 "]"#)],
        "task-dependency-missing task-dependency-missing",
    );
    // A wave that is not declared has no position to compare.
    check_contract(
        waves,
        &[first, second(r#""wave": 5, "dependencies": ["T1", "T2"]"#)],
        "task-wave-missing task-wave-list-mismatch",
    );
}

#[test]
fn files_overlap_with_their_first_owner() {
    let waves = r#"[{"wave": 1, "tasks": ["T1", "T2", "T3"]}]"#;
    let other = |id: &str| task(&format!("\"task_id\": {id}"));
    let found = check_contract(
        waves,
        &[task(""), other("\"T2\""), other("\"T3\"")],
        "same-wave-file-overlap same-wave-file-overlap",
    );
    assert_eq!(details(&found[1]), r#"wave="1" file="a.rs" task_ids=["T1","T3"]"#);
    let nameless = r#"{"wave": 7, "files": ["z"]}"#.to_owned();
    let text =
        format!(r#"{{"schema_version": "task-pack/v1", "execution_waves": [], "tasks": [{nameless}, {nameless}]}}"#);
    let (errors, _) = findings(&text);
    let overlap = errors.last().expect("the two share a file");
    assert_eq!(
        overlap.message.to_string(),
        "Tasks 'undefined' and 'undefined' share file 'z' in wave '7'."
    );
    assert_eq!(details(overlap), r#"wave="7" file="z" task_ids=[null,null]"#);
}

#[test]
fn unknown_fields_are_remarks_in_the_order_of_keys() {
    let text = format!(
        r#"{{"schema_version": "task-pack/v1", "x": 1, "execution_waves": [{{"wave": 1, "tasks": ["T1"], "y": 1}}],
        "tasks": [{}]}}"#,
        task(r#""zeta": 1, "10": 1, "Goal": 1, "9": 1, "__proto__": 1"#)
    );
    let (errors, limitations) = findings(&text);
    assert!(errors.is_empty());
    let shown: Vec<_> = limitations.iter().map(details).collect();
    let expect = ["9", "10", "zeta", "Goal", "__proto__"].map(|key| format!(r#"task_id="T1" field="{key}""#));
    assert_eq!(shown, expect);
}

#[test]
fn large_contracts_take_linear_time() {
    // Everything collides: one wave, one file, one id, one dependency. Quadratic code would take minutes.
    let n_tasks = 10_000;
    let task_text = task("")
        .replace("[]", r#"["T1"]"#)
        .replace(r#"["a.rs"]"#, r#"["a", "a"]"#);
    let tasks = vec![task_text; n_tasks].join(",");
    let ids = vec!["\"T1\""; n_tasks].join(",");
    let text = format!(
        r#"{{"schema_version": "task-pack/v1", "execution_waves": [{{"wave": 1, "tasks": [{ids}]}}],
        "tasks": [{tasks}]}}"#
    );
    let (errors, _) = findings(&text);
    // A repeated file, a dependency in the same wave and an overlap per task; repeats of the id; the other overlap.
    assert_eq!(errors.len(), 3 * n_tasks + 2 * (n_tasks - 1) + (n_tasks - 1));
    let files: Vec<_> = (0..n_tasks).map(|ix| format!("\"f{ix}\"")).collect();
    let many = task("").replace("\"a.rs\"", &files.join(","));
    check_contract(r#"[{"wave": 1, "tasks": ["T1"]}]"#, &[many], "");
}
