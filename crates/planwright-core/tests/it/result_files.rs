//! Result files: their fields, their errors, and the outcome of an attempt with one.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use planwright_core::agent::result_file::{
    COST_MEMBERS, MAX_RESULT_BYTES, MEMBERS, ResultMember, ResultStatus, SCHEMA,
};
use planwright_core::agent::{
    AgentOutcome, AgentVerdict, AttemptEnd, CombinedVerdict, EventFormat, ResultFile, Usage, VerdictSource,
    combine_verdicts, rules,
};
use planwright_core::diagnostic::Diagnostic;
use planwright_core::text::SourceText;
use planwright_testkit::repository;
use proptest::prelude::*;

/// Lists findings, one to a line, with their places.
fn listed(text: &str, findings: &[Diagnostic]) -> String {
    let source = SourceText::new(text);
    let index = source.line_index();
    let line = |finding: &Diagnostic| {
        let place = finding.span.map(|span| index.position(span.start));
        let place = place.map_or("-".to_owned(), |at| format!("{}:{}", at.line, at.column));
        let help = if finding.help.is_empty() {
            String::new()
        } else {
            format!(" ({})", finding.help)
        };
        format!(
            "{place} {} {}: {}{help}\n",
            finding.severity.as_str(),
            finding.rule.id,
            finding.message
        )
    };
    findings.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let found = match ResultFile::read(text) {
        Ok(file) => format!("{:?}\n{}", file.report, listed(text, &file.warnings)),
        Err(findings) => listed(text, &findings),
    };
    expected.assert_eq(&found);
}

const FULL: &str = r#"{
  "planwright_result": 1, "outcome": "done", "output": "Made it.", "affected_files": ["src/a.rs", "b c.txt"],
  "notes": "Mind the gap.", "stop_condition": null, "discoveries": ["It is deep."],
  "proposed_tasks": [{"description": "Fill it"}], "reflection": "It went well.", "tools_called": ["Edit"],
  "cost": {"usd": 0.5, "tokens_in": 10, "tokens_out": 2}
}"#;

#[test]
fn everything_in_a_file_is_read() {
    let expected = ResultFile {
        report: ResultStatus::Done,
        output: "Made it.".to_owned(),
        affected_files: vec!["src/a.rs".to_owned(), "b c.txt".to_owned()],
        notes: "Mind the gap.".to_owned(),
        stop_condition: None,
        discoveries: vec!["It is deep.".to_owned()],
        proposed_tasks: vec!["{\"description\": \"Fill it\"}".to_owned()],
        reflection: "It went well.".to_owned(),
        tools_called: vec!["Edit".to_owned()],
        usage: Usage {
            cost_usd: Some(0.5),
            tokens_in: Some(10),
            tokens_out: Some(2),
        },
        warnings: Vec::new(),
    };
    assert_eq!(ResultFile::read(FULL), Ok(expected));
    let least = ResultFile::read("\u{feff}{\"planwright_result\": 1, \"outcome\": \"failed\"}\n").expect("a good file");
    assert_eq!(
        (least.report, least.output.as_str(), least.usage.cost_usd),
        (ResultStatus::Failed, "", None)
    );
}

#[test]
fn errors_are_reported_with_their_place() {
    check(
        "",
        expect![[r#"
        - error result-field: the result file is empty (the least there can be is {"planwright_result": 1, "outcome": "done"})
        1:1 error json-syntax: the text holds no JSON value
    "#]],
    );
    check(
        "[]",
        expect![[r#"
            1:1 error result-field: a result file is an object, not an array
        "#]],
    );
    check(
        "{}",
        expect![[r#"
        1:1 error result-field: `outcome` is missing: how did it go? (the least there can be is {"planwright_result": 1, "outcome": "done"})
        1:1 error result-version: `planwright_result` is missing: the version of the protocol (add "planwright_result": 1)
    "#]],
    );
    check(
        r#"{"planwright_result": 2, "outcome": "done"}"#,
        expect![[r#"
        1:23 error result-version: this planwright knows version 1 of result files, not 2 (write "planwright_result": 1)
    "#]],
    );
    check(
        r#"{"planwright_result": "1", "outcome": "doen"}"#,
        expect![[r#"
            1:23 error result-version: `planwright_result` must be the number 1, not a string (write "planwright_result": 1)
            1:39 error result-field: `doen` is none of `done`, `failed` and `stop`: did you mean `done`?
        "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "success"}"#,
        expect![[r#"
            1:37 error result-field: `success` is none of `done`, `failed` and `stop`: did you mean `done`?
        "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": true, "output": 7, "affected_files": "a", "notes": [], "cost": 3}"#,
        expect![[r#"
            1:37 error result-field: `outcome` must be one of `done`, `failed` and `stop`, not a boolean
            1:53 error result-field: `output` must be a string, not 7
            1:74 error result-field: `affected_files` must be an array of strings, not a string
            1:88 error result-field: `notes` must be a string, not an array
            1:100 error result-field: `cost` must be an object, not 3
        "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "done", "affected_files": [1], "cost": {"usd": -1, "tokens_in": 1.5, "tokens_out": "9"}}"#,
        expect![[r#"
            1:64 error result-field: an affected file is a string, not a number
            1:84 error result-field: `usd` must be a number of at least 0, not -1
            1:101 error result-field: `tokens_in` must be a whole number of at least 0, not 1.5
            1:120 error result-field: `tokens_out` must be a whole number of at least 0, not a string
        "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "done",}"#,
        expect![[r#"
        1:43 error json-trailing-comma: a comma before a closing bracket (remove the comma)
    "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "done"#,
        expect![[r#"
        1:37 error json-unclosed: the text ends inside the string (close the string and what is open around it, or restore the rest of the file: it may be cut off)
    "#]],
    );
}

#[test]
fn unknown_members_are_warnings() {
    check(
        r#"{"planwright_result": 1, "outcome": "done", "note": "x", "colour": "red", "cost": {"dollars": 1}}"#,
        expect![[r#"
            Done
            1:45 warning result-unknown-member: `note` is no member of a result file: ignored (did you mean `notes`?)
            1:58 warning result-unknown-member: `colour` is no member of a result file: ignored
            1:84 warning result-unknown-member: `dollars` is no member of a result file: ignored
        "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "done", "affected_files": ["/etc/passwd", "a/../../b", "C:\\x", "ok.rs", "", "a\nb"]}"#,
        expect![[r#"
            Done
            1:64 warning result-path: `/etc/passwd` is not a path inside the workspace: left out (write paths relative to the folder that the agent works in)
            1:79 warning result-path: `a/../../b` is not a path inside the workspace: left out (write paths relative to the folder that the agent works in)
            1:92 warning result-path: `C:\x` is not a path inside the workspace: left out (write paths relative to the folder that the agent works in)
            1:110 warning result-path: `` is not a path inside the workspace: left out (write paths relative to the folder that the agent works in)
            1:114 warning result-path: `a\nb` is not a path inside the workspace: left out (write paths relative to the folder that the agent works in)
        "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "stop"}"#,
        expect![[r#"
        Stop
        1:37 warning result-stop: it asks to stop without naming the condition
    "#]],
    );
    check(
        r#"{"planwright_result": 1, "outcome": "done", "stop_condition": "x"}"#,
        expect![[r#"
            Done
            1:63 warning result-stop: it names a stop condition, but its outcome is not `stop`: the run continues
        "#]],
    );
}

#[test]
fn large_files_are_refused() {
    let text = format!(
        "{{\"planwright_result\": 1, \"outcome\": \"done\", \"notes\": \"{}\"}}",
        "x".repeat(MAX_RESULT_BYTES)
    );
    let findings = ResultFile::read(&text).expect_err("too large");
    assert_eq!(findings[0].rule.id, "result-too-large");
}

fn verdict(outcome: AgentOutcome) -> AgentVerdict {
    AgentVerdict {
        outcome,
        final_message: "I am happy.".to_owned(),
        session: Some("s".to_owned()),
        usage: Usage {
            cost_usd: None,
            tokens_in: Some(7),
            tokens_out: None,
        },
        denials: Vec::new(),
    }
}

fn conclusion(outcome: AgentOutcome, file: Option<&str>, format: EventFormat) -> CombinedVerdict {
    let file = file.map(|text| ResultFile::read(text).expect("a good file"));
    combine_verdicts(verdict(outcome), file, format)
}

#[track_caller]
fn check_end(outcome: AgentOutcome, file: Option<&str>, expected: AttemptEnd, basis: VerdictSource) {
    let found = conclusion(outcome, file, EventFormat::Claude);
    assert_eq!((found.end, found.basis), (expected, basis));
}

const STOP: &str = r#"{"planwright_result": 1, "outcome": "stop", "stop_condition": "the schema must change"}"#;
const FAILED: &str = r#"{"planwright_result": 1, "outcome": "failed", "notes": "No compiler."}"#;

#[test]
fn the_worse_of_exit_status_and_result_file_counts() {
    let why = || "x".to_owned();
    let limited = || AgentOutcome::RateLimited {
        wait: Some(3),
        why: why(),
    };
    let stopped = || AttemptEnd::Stopped {
        condition: "the schema must change".to_owned(),
    };
    let no_compiler = || AttemptEnd::Failed {
        why: "No compiler.".to_owned(),
    };
    check_end(AgentOutcome::Done, None, AttemptEnd::Done, VerdictSource::ClosingEvent);
    check_end(
        AgentOutcome::Done,
        Some(FULL),
        AttemptEnd::Done,
        VerdictSource::ResultFile,
    );
    check_end(
        AgentOutcome::Done,
        Some(FAILED),
        no_compiler(),
        VerdictSource::ResultFile,
    );
    check_end(AgentOutcome::Done, Some(STOP), stopped(), VerdictSource::ResultFile);
    check_end(
        AgentOutcome::Failed { why: why() },
        Some(FULL),
        AttemptEnd::Failed { why: why() },
        VerdictSource::ClosingEvent,
    );
    check_end(
        AgentOutcome::Failed { why: why() },
        Some(FAILED),
        no_compiler(),
        VerdictSource::ResultFile,
    );
    check_end(
        AgentOutcome::Broken { why: why() },
        Some(FULL),
        AttemptEnd::Broken { why: why() },
        VerdictSource::ClosingEvent,
    );
    check_end(
        AgentOutcome::Broken { why: why() },
        Some(FAILED),
        AttemptEnd::Broken { why: why() },
        VerdictSource::ClosingEvent,
    );
    check_end(
        AgentOutcome::Broken { why: why() },
        Some(STOP),
        stopped(),
        VerdictSource::ResultFile,
    );
    check_end(
        AgentOutcome::Interrupted,
        Some(FULL),
        AttemptEnd::Interrupted,
        VerdictSource::ClosingEvent,
    );
    let still_limited = AttemptEnd::RateLimited {
        wait: Some(3),
        why: why(),
    };
    check_end(limited(), Some(FULL), still_limited, VerdictSource::ClosingEvent);
    check_end(limited(), Some(STOP), stopped(), VerdictSource::ResultFile);
}

#[test]
fn output_and_result_file_are_combined() {
    let found = conclusion(AgentOutcome::Done, Some(FULL), EventFormat::Claude);
    assert_eq!(found.output, "Made it.");
    assert_eq!(found.affected_files, ["src/a.rs", "b c.txt"]);
    assert_eq!(
        (found.usage.cost_usd, found.usage.tokens_in, found.usage.tokens_out),
        (Some(0.5), Some(7), Some(2))
    );
    assert_eq!(found.session.as_deref(), Some("s"));
    let alone = conclusion(AgentOutcome::Done, None, EventFormat::Plain);
    assert_eq!(
        (alone.output.as_str(), alone.basis),
        ("I am happy.", VerdictSource::ExitStatus)
    );
    assert_eq!(
        conclusion(AgentOutcome::Done, None, EventFormat::Aider).basis,
        VerdictSource::Text
    );
}

/// Reads the tables of the page: member, required.
fn documented(page: &str, heading: &str) -> BTreeMap<String, bool> {
    let section = page
        .split("\n### ")
        .find(|section| section.starts_with(heading))
        .expect("a heading");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`').to_owned();
        Some((name, cells.next()? == "yes"))
    });
    rows.collect()
}

fn coded(members: &[ResultMember]) -> BTreeMap<String, bool> {
    members
        .iter()
        .map(|member| (member.name.to_owned(), member.is_required))
        .collect()
}

#[test]
fn the_page_lists_the_members() {
    let page = std::fs::read_to_string(repository().join("docs/result-file.md")).expect("a page");
    assert_eq!(documented(&page, "The file"), coded(MEMBERS));
    assert_eq!(documented(&page, "Cost"), coded(COST_MEMBERS));
    for rule in rules::ALL {
        assert!(
            page.contains(&format!("`{}`", rule.id)),
            "{} is not on the page",
            rule.id
        );
    }
    let examples = page
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = examples.collect();
    assert!(!examples.is_empty());
    for example in examples {
        let file = ResultFile::read(example).expect("examples are good");
        assert_eq!(file.warnings, []);
    }
}

#[test]
fn the_schema_agrees_with_the_reader() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("a schema is JSON");
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).expect("a schema that can be used");
    let names =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    let coded =
        |members: &[ResultMember]| -> Vec<String> { members.iter().map(|member| member.name.to_owned()).collect() };
    assert_eq!(names(&schema["properties"]), coded(MEMBERS));
    assert_eq!(names(&schema["properties"]["cost"]["properties"]), coded(COST_MEMBERS));
    let texts = [
        FULL,
        STOP,
        FAILED,
        "[]",
        "{}",
        r#"{"planwright_result": 2, "outcome": "done"}"#,
        r#"{"planwright_result": 1, "outcome": "doen"}"#,
        r#"{"planwright_result": 1, "outcome": "done", "output": 7}"#,
        r#"{"planwright_result": 1, "outcome": "done", "cost": {"usd": -1}}"#,
        r#"{"planwright_result": 1, "outcome": "done", "cost": {"tokens_in": 1.5}}"#,
        r#"{"planwright_result": 1, "outcome": "done", "affected_files": [1]}"#,
    ];
    for text in texts {
        let value = serde_json::from_str(text).expect("JSON");
        assert_eq!(validator.is_valid(&value), ResultFile::read(text).is_ok(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in ".{0,200}", at in 0_usize..300, cut in 0_usize..300) {
        let _ = ResultFile::read(&text);
        let mut damaged = FULL.to_owned();
        damaged.insert_str(at.min(damaged.len()), &text);
        let _ = ResultFile::read(&damaged);
        let _ = ResultFile::read(&FULL[..cut.min(FULL.len())]);
    }
}
