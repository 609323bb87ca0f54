//! Large and hostile texts: everything finishes, and the findings grow only in proportion to the text. Time itself is measured by `cargo
//! xtask bench shapes`: here the work counts, as findings and their words.

use std::collections::HashMap;
use std::time::Duration;

use planwright_core::diagnostic::{Diagnostic, MAX_FINDINGS, Safety, Severity};
use planwright_core::dialect::task_pack::finding;
use planwright_core::dialect::task_pack::original::{OriginalPack, validate};
use planwright_core::dialect::{DIALECTS, DiskFacts};
use planwright_core::document::yaml;
use planwright_core::fix::fix;
use planwright_core::graph::TaskGraph;
use planwright_core::inspect::Inspection;
use planwright_core::plan::Readiness;
use planwright_core::text::{LineIndex, SourceText};
use planwright_testkit::cpu_time::CpuStopwatch;
use planwright_testkit::generate::{SHAPES, plan};

use crate::fixtures::{inspect_text, rule_ids, with_choice};

fn shape(name: &str, n: usize) -> String {
    let found = SHAPES.iter().find(|(known, _)| *known == name);
    let (_, generate) = found.expect("a known shape");
    generate(n)
}

fn count(inspection: &Inspection, rule: &str) -> usize {
    rule_ids(inspection).iter().filter(|id| **id == rule).count()
}

/// Returns the size of an inspection: its findings with all their words and spans.
fn n_words(diagnostics: &[Diagnostic]) -> usize {
    let of_one = |found: &Diagnostic| {
        let related: usize = found.related.iter().map(|place| place.message.len() + 8).sum();
        let edits = found.fix.iter().flat_map(|fix| &fix.edits);
        let edits: usize = edits.map(|edit| edit.text.len() + 8).sum();
        found.message.len() + found.label.len() + found.help.len() + related + edits + 64
    };
    diagnostics.iter().map(of_one).sum()
}

#[test]
fn every_shape_is_read_to_its_end() {
    for (name, generate) in SHAPES {
        let inspection = inspect_text(generate(2_000));
        if let Some(linked) = &inspection.plan {
            let readiness = Readiness::new(&linked.plan, &linked.links);
            assert!(readiness.ready().len() <= linked.plan.tasks().len(), "{name}");
            if let Ok(graph) = TaskGraph::new(&linked.plan, &linked.links) {
                assert_eq!(graph.order().len(), linked.plan.tasks().len(), "{name}");
            }
        }
    }
}

#[test]
fn findings_grow_with_the_text_and_no_faster() {
    for (name, generate) in SHAPES {
        let small = n_words(&inspect_text(generate(500)).diagnostics);
        let large = n_words(&inspect_text(generate(2_000)).diagnostics);
        // Four times the text; ids grow by a digit, and the square would be sixteen times.
        assert!(
            large <= small * 6 + 1_000,
            "{name}: {small} bytes of findings become {large}"
        );
    }
}

#[test]
fn fixes_of_every_shape_come_to_an_end() {
    for (name, generate) in SHAPES {
        let source = SourceText::new(generate(400));
        let fixed = with_choice(|choice| fix(&source, choice, Safety::Unsafe));
        let again = with_choice(|choice| fix(&fixed.source, choice, Safety::Unsafe));
        assert!(again.applied.is_empty(), "{name}: fixing it twice changes it twice");
    }
}

#[test]
fn sound_plans_stay_sound_at_any_size() {
    for dialect in DIALECTS.iter().map(|dialect| dialect.name()) {
        let inspection = inspect_text(plan(dialect, 2_000));
        let errors: Vec<_> = rule_ids(&inspection);
        assert_eq!(
            errors.iter().filter(|id| **id != "task-pack-missing-section").count(),
            0,
            "{dialect}"
        );
        let linked = inspection.plan.expect("a sound plan is read");
        assert_eq!(linked.plan.tasks().len(), 2_000, "{dialect}");
        let graph = TaskGraph::new(&linked.plan, &linked.links).expect("a sound plan has an order");
        assert_eq!(graph.order().len(), 2_000, "{dialect}");
    }
}

#[test]
fn every_repeat_of_an_id_is_found() {
    let inspection = inspect_text(shape("duplicate ids", 10_000));
    assert_eq!(count(&inspection, "duplicate-id"), 9_999);
    assert_eq!(inspection.diagnostics.len(), 9_999);
}

#[test]
fn every_unknown_dependency_is_found() {
    let inspection = inspect_text(shape("unknown dependencies", 10_000));
    assert_eq!(count(&inspection, "unknown-dependency"), 10_000);
}

#[test]
fn one_long_cycle_is_one_finding_with_every_edge() {
    let inspection = inspect_text(shape("one cycle", 10_000));
    assert_eq!(inspection.diagnostics.len(), 1);
    let cycle = &inspection.diagnostics[0];
    assert_eq!(cycle.rule.id, "dependency-cycle");
    assert_eq!(cycle.related.len() + 1, 10_000);
    assert!(cycle.message.len() < 1_000, "the headline stays short");
}

#[test]
fn many_small_cycles_are_found_each() {
    let inspection = inspect_text(shape("cycles of two", 10_000));
    assert_eq!(count(&inspection, "dependency-cycle"), 5_000);
}

#[test]
fn every_task_behind_a_cycle_has_a_finding() {
    let inspection = inspect_text(shape("chain behind a cycle", 10_000));
    assert_eq!(count(&inspection, "self-dependency"), 1);
    assert_eq!(count(&inspection, "never-ready"), 9_999);
}

#[test]
fn every_repeat_of_a_key_is_found() {
    for name in ["duplicate keys", "yaml duplicate keys"] {
        let inspection = inspect_text(shape(name, 10_000));
        assert_eq!(count(&inspection, "duplicate-key"), 9_999, "{name}");
    }
}

#[test]
fn a_hundred_thousand_levels_are_skipped_with_a_finding() {
    for name in [
        "levels of nesting",
        "unclosed brackets",
        "yaml levels of nesting",
        "yaml block levels",
    ] {
        let inspection = inspect_text(shape(name, 100_000));
        assert!(
            inspection.diagnostics.len() < 400,
            "{name}: {}",
            inspection.diagnostics.len()
        );
        let ids = rule_ids(&inspection);
        assert!(ids.contains(&"too-deep"), "{name}: {ids:?}");
    }
}

#[test]
fn places_on_one_long_line_are_cheap() {
    // A plan without line breaks, as programs write it: every place is asked for.
    let text = "\"é\", ".repeat(30_000);
    let index = LineIndex::new(&text);
    let start = CpuStopwatch::start();
    for n in 0..3_000u32 {
        let position = index.position(n * 60);
        assert_eq!((position.line, position.column as u32), (1, n * 50 + 1));
    }
    // Counting from the beginning of the line each time takes a hundred times as long, also when optimised.
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn keys_without_values_on_one_long_line_are_cheap() {
    let keys: Vec<String> = (0..50_000).map(|n| format!("k{n}")).collect();
    let text = format!("{{{}}}", keys.join(","));
    let start = CpuStopwatch::start();
    let document = yaml::parse(&SourceText::new(text)).document;
    assert_eq!(document.n_nodes(), 100_001);
    // Reading on to the end of the line for each key takes more than ten times as long.
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

/// Applies safe fixes and returns how many errors are left.
fn n_errors_after_fix(text: String) -> usize {
    let fixed = with_choice(|choice| fix(&SourceText::new(text), choice, Safety::Safe));
    inspect_text(fixed.source.as_str()).count(Severity::Error)
}

#[test]
fn as_many_syntax_errors_as_are_shown_are_fixed() {
    assert_eq!(n_errors_after_fix(shape("commas too many", 40)), 0);
}

#[test]
fn more_syntax_errors_than_are_shown_are_fixed() {
    // A language model that writes Python: every key and text in single quotes.
    let python = shape("dependents of one task", 20).replace('"', "'");
    assert_eq!(n_errors_after_fix(python), 0, "single quotes");
    assert_eq!(n_errors_after_fix(shape("commas too many", 100)), 0, "commas");
}

#[test]
fn findings_are_bounded() {
    let numbers = vec!["0"; 150_000].join(",");
    let found = inspect_text(format!("{{\"goal\": \"x\", \"tasks\": [{numbers}]}}"));
    assert!(found.diagnostics.len() <= 100_002, "{}", found.diagnostics.len());
    assert_eq!(
        rule_ids(&found).iter().filter(|id| **id == "too-many-findings").count(),
        1
    );
    let twins = vec!["{\"id\": \"a\", \"description\": \"d\"}"; 150_000].join(",");
    let found = inspect_text(format!("{{\"goal\": \"x\", \"tasks\": [{twins}]}}"));
    assert_eq!(found.diagnostics.len(), 100_001);
}

#[test]
fn findings_are_bounded_for_every_kind_of_error() {
    const N: usize = 120_000;
    let many = |text: &str| vec![text; N].join(",");
    let clido = |tasks: &str| format!("{{\"goal\": \"x\", \"tasks\": [{tasks}]}}");
    let aimi = |stories: &str| format!("{{\"schemaVersion\": \"3.0\", \"userStories\": [{stories}]}}");
    let cases = [
        ("comments", format!("{}{}", "//\n".repeat(N), clido(""))),
        ("escapes", clido(&format!("\"{}\"", "\\q".repeat(N)))),
        ("halves of characters", clido(&format!("\"{}\"", "\\ud800".repeat(N)))),
        ("keys", format!("{{{}}}", many("\"goal\": \"x\""))),
        ("keys of YAML", "task: x\n".repeat(N)),
        ("aliases", format!("task: x\nsteps:\n{}", "  - *nobody\n".repeat(N))),
        ("misnamed fields", clido(&many("{\"deps\": []}"))),
        ("fields of another version", aimi(&many("{\"passes\": true}"))),
    ];
    for (name, text) in cases {
        let inspection = inspect_text(text);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for id in rule_ids(&inspection) {
            *counts.entry(id).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count).expect("findings");
        assert!(most.1 > 1_000 && most.1 <= MAX_FINDINGS, "{name}: {most:?}");
    }
}

#[test]
fn a_pack_with_errors_everywhere_has_bounded_findings() {
    let tasks = vec!["{}"; 60_000].join(",");
    let contract = format!("{{\"schema_version\": \"task-pack/v1\", \"execution_waves\": [], \"tasks\": [{tasks}]}}");
    let text = format!("---\ntype: task-pack\n---\n\n## Task Pack Contract\n\n```json\n{contract}\n```\n");
    let n_errors = validate(
        &OriginalPack::parse(&SourceText::new(text.as_str())),
        &DiskFacts::default(),
    )
    .errors
    .len();
    assert_eq!(n_errors, finding::MAX_FINDINGS);
    let inspection = inspect_text(text);
    assert!(inspection.diagnostics.len() <= 2 * MAX_FINDINGS);
    assert_eq!(count(&inspection, "too-many-findings"), 1);
}
