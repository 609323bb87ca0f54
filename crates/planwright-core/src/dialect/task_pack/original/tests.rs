//! Tests of the original validator's answers, rule by rule.

use super::*;

const PLAN: &str = "---\nspec_id: S1\n---\nbody\n";

const FRONTMATTER: &str = "type: task-pack\nstatus: derived\nmode: derived\ngenerated_by: spec-write-tasks\n\
    spec_id: S1\nsource_plan: docs/p.md\nsource_plan_hash: HASH";

const CONTRACT: &str = r#"{"schema_version": "task-pack/v1", "execution_waves": [{"wave": 1, "tasks": ["T1"]}],
    "tasks": [{"task_id": "T1", "source_unit": "U1", "goal": "g", "dependencies": [], "files": ["a.rs"],
    "test_focus": "f", "done_signal": "d", "wave": 1, "stop_if": "s"}]}"#;

fn hash_of(plan: &str) -> String {
    let found = plan_hash(&Markdown::parse(&SourceText::new(plan)));
    found.map_or_else(String::new, |found| found.hash)
}

fn pack_text(frontmatter: &str, contract: &str) -> String {
    let frontmatter = frontmatter.replace("HASH", &hash_of(PLAN));
    format!("---\n{frontmatter}\n---\n\n# Pack\n\n## Task Pack Contract\n\n```json\n{contract}\n```\n")
}

fn report(text: &str, plan: SourcePlanLookup) -> OriginalReport {
    let facts = DiskFacts {
        source_plan: plan,
        ..DiskFacts::default()
    };
    validate(&OriginalPack::parse(&SourceText::new(text)), &facts)
}

/// Checks verdict and codes of a pack with a valid plan.
#[track_caller]
fn check(text: &str, validity: &str, expect: &str) {
    check_with(text, SourcePlanLookup::Bytes(PLAN.into()), validity, expect);
}

#[track_caller]
fn check_with(text: &str, plan: SourcePlanLookup, validity: &str, expect: &str) {
    let report = report(text, plan);
    let codes: Vec<_> = report.errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(codes.join(" "), expect, "{text}");
    assert_eq!(report.validity.as_str(), validity);
}

#[test]
fn a_sound_pack_is_valid_in_any_line_ending() {
    let text = pack_text(FRONTMATTER, CONTRACT);
    check(&text, "valid", "");
    check(&text.replace('\n', "\r\n"), "valid", "");
    check(&text.replace('\n', "\r"), "valid", "");
    check(text.trim_end(), "valid", "");
}

#[test]
fn frontmatter_values_are_compared_unquoted_and_whole() {
    let with = |from: &str, to: &str| pack_text(&FRONTMATTER.replace(from, to), CONTRACT);
    check(&with("mode: derived", "mode:   \"derived'  "), "valid", "");
    check(&with("mode: derived", "mode:derived"), "valid", "");
    check(&with("mode: derived", "mode: x\nmode: derived"), "valid", "");
    check(&with("mode: derived", "mode:\u{a0}derived\u{feff}"), "valid", "");
    for wrong in [
        "mode: derived # c",
        "mode: \" derived\"",
        "Mode: derived",
        " mode: derived",
        "mode: Derived",
        "mode:",
        "mode: derived\nmode:",
        "- mode: derived",
        "mode: derived\u{2028}",
        "mode: ''derived''",
    ] {
        check(&with("mode: derived", wrong), "invalid", "task-pack-mode-invalid");
    }
}

#[test]
fn an_unclosed_frontmatter_has_no_values_but_a_contract() {
    let text = pack_text(FRONTMATTER, CONTRACT).replacen("\n---\n", "\n--- \n", 1);
    check(
        &text,
        "invalid",
        "task-pack-frontmatter-invalid task-pack-type-invalid task-pack-generated_by-invalid \
         task-pack-status-invalid task-pack-mode-invalid task-pack-missing-spec-id \
         task-pack-source-plan-missing task-pack-missing-source-plan-hash",
    );
}

#[test]
fn the_plan_decides_between_the_verdicts() {
    let text = pack_text(FRONTMATTER, CONTRACT);
    let plan = |text: &str| SourcePlanLookup::Bytes(text.into());
    check_with(&text, plan("---\nspec_id: S1\n---\nbody"), "stale", "task-pack-stale");
    check_with(
        &text,
        plan("---\nspec_id: \"S2\"\n---\nbody\n"),
        "wrong-chain",
        "task-pack-wrong-chain",
    );
    check_with(&text, plan("---\nspec_id: 'S1'\nx: 1\n---\r\nbody\r\n"), "valid", "");
    check_with(
        &text,
        plan("---\nspec_id: S1\n"),
        "unverifiable",
        "source-plan-frontmatter-invalid",
    );
    check_with(&text, plan("body\n"), "invalid", "source-plan-missing-spec-id");
    check_with(
        &text,
        SourcePlanLookup::Missing,
        "invalid",
        "task-pack-source-plan-file-missing",
    );
    let unreadable = SourcePlanLookup::Unreadable("EISDIR".to_owned());
    check_with(&text, unreadable.clone(), "invalid", "source-plan-unreadable");
    assert_eq!(report(&text, unreadable).source_plan_path, CheckState::Missing);
    let both = pack_text(&FRONTMATTER.replace("S1", "S9"), "[]");
    check_with(
        &both,
        plan("---\nspec_id: S1\n---\nother"),
        "wrong-chain",
        "task-pack-wrong-chain task-pack-stale task-pack-contract-schema-version-invalid \
         task-pack-contract-tasks-invalid",
    );
}

#[test]
fn the_source_plan_is_looked_up_only_for_concrete_paths() {
    let asked = |path: &str| {
        let text = pack_text(&FRONTMATTER.replace("docs/p.md", path), CONTRACT);
        OriginalPack::parse(&SourceText::new(text))
            .source_plan()
            .map(str::to_owned)
    };
    assert_eq!(asked("'docs/a b.md'").as_deref(), Some("docs/a b.md"));
    for path in [
        "",
        "../p.md",
        "/p.md",
        "docs\\p.md",
        "docs/",
        "docs/*.md",
        "docs/nul.md",
    ] {
        assert_eq!(asked(path), None, "{path}");
    }
    let hash_only = FRONTMATTER.replace("HASH", "sha256:zz").replace("docs/p.md", "..");
    check(
        &pack_text(&hash_only, CONTRACT),
        "invalid",
        "task-pack-source-plan-invalid task-pack-source-plan-hash-invalid",
    );
}

#[test]
fn metadata_is_ordered_as_an_object() {
    let text = "---\nb: 1\n10: x\na: 2\n__proto__: y\n9: z\nb: 3\n01: w\n---\n";
    let pack = OriginalPack::parse(&SourceText::new(text));
    let JsValue::Object(members) = pack.metadata() else {
        panic!("it is an object");
    };
    let shown = members
        .iter()
        .map(|(key, value)| format!("{key}={}", value.to_js_string()));
    assert_eq!(shown.collect::<Vec<_>>(), ["9=z", "10=x", "b=3", "a=2", "01=w"]);
}

#[test]
fn the_contract_must_be_one_json_value_in_one_fence() {
    let with = |section: &str| pack_text(FRONTMATTER, "x").replace("```json\nx\n```", section);
    let fenced = format!("```json\n{CONTRACT}\n```");
    check(&with(&fenced.replace('\n', "")), "valid", "");
    check(&with(&format!("{fenced}\n\n## Other\n\n{fenced}")), "valid", "");
    check(&with(&format!("~~~json\n1\n~~~\n```\n1\n```\n{fenced}")), "valid", "");
    for (section, code) in [
        (String::new(), "task-pack-contract-json-missing"),
        (fenced.to_uppercase(), "task-pack-contract-json-missing"),
        (format!("## \n{fenced}"), "task-pack-contract-json-missing"),
        (
            format!("{fenced}\n# One\n### Three\n{fenced}"),
            "task-pack-contract-json-ambiguous",
        ),
        ("```json\n```".to_owned(), "task-pack-contract-json-invalid"),
        ("```json\n{},\n```".to_owned(), "task-pack-contract-json-invalid"),
        ("```json\n{} // c\n```".to_owned(), "task-pack-contract-json-invalid"),
        (
            "```json\n{\"a\": 01}\n```".to_owned(),
            "task-pack-contract-json-invalid",
        ),
        (
            "```json\n{\"a\": 'b'}\n```".to_owned(),
            "task-pack-contract-json-invalid",
        ),
        (
            "```json\n{\"a\": \"\t\"}\n```".to_owned(),
            "task-pack-contract-json-invalid",
        ),
        ("```json\n{} {}\n```".to_owned(), "task-pack-contract-json-invalid"),
        ("```json\n{}\u{85}\n```".to_owned(), "task-pack-contract-json-invalid"),
        ("```json\n{\u{a0}}\n```".to_owned(), "task-pack-contract-json-invalid"),
        ("```json\nNaN\n```".to_owned(), "task-pack-contract-json-invalid"),
        ("```json\nnull\n```".to_owned(), "task-pack-contract-invalid"),
    ] {
        check(&with(&section), "invalid", code);
    }
    let lone = CONTRACT.replace("\"g\"", "\"\\ud83d\", \"goal\": \"\\ud83d\"");
    check(&pack_text(FRONTMATTER, &lone), "valid", "");
}

#[test]
fn findings_have_their_places_in_the_text() {
    let text = pack_text(FRONTMATTER, &CONTRACT.replace("\"g\"", "5")).replace("mode: derived", "mode: draft");
    let report = report(&text, SourcePlanLookup::Bytes(PLAN.into()));
    let source = SourceText::new(text);
    let shown: Vec<_> = report.errors.iter().map(|error| source.slice(error.span)).collect();
    assert_eq!(shown, ["draft", "5"]);
}

#[test]
fn an_unreadable_pack_is_reported() {
    let missing = report_unread(None);
    assert_eq!(missing.errors[0].code, "task-pack-missing");
    assert_eq!(missing.contract, CheckState::NotChecked);
    let unreadable = report_unread(Some("EACCES".to_owned()));
    assert_eq!(unreadable.errors[0].message.to_string(), "EACCES");
}
