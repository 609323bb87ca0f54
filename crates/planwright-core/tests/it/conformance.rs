//! The fixtures match their expectations, every finding has one, and every finding is in the documentation.

use std::collections::BTreeSet;

use planwright_core::document::MAX_NODES;
use planwright_core::inspect::{Inspection, rules};
use planwright_core::plan::Field;
use planwright_testkit::conformance::run;
use planwright_testkit::repository;

use crate::fixtures::{inspect_text, root, rule_ids};

/// Findings that need a text too large for a fixture; the tests below make one.
const GENERATED: &[&str] = &["too-large", "too-many-aliases", "too-many-findings"];

/// Findings about files and the configuration, which the core does not report.
const OF_FILES: &[&str] = &[
    "unreadable-file",
    "config-unreadable",
    "config-syntax",
    "config-unknown-key",
    "config-type",
    "config-value",
    "config-missing",
    "config-user-only",
    "config-loosened",
    "config-command-words",
];

#[test]
fn fixtures_hold() {
    let outcome = run(&root());
    assert!(outcome.failures.is_empty(), "{}", outcome.failures.join("\n\n"));
    assert!(outcome.n_fixtures > 200, "only {} fixtures ran", outcome.n_fixtures);
}

#[test]
fn every_finding_has_a_fixture() {
    let triggered = run(&root()).triggered;
    let untested: Vec<&str> = rules()
        .iter()
        .map(|rule| rule.id)
        .filter(|id| !triggered.contains(id) && !GENERATED.contains(id))
        .collect();
    assert_eq!(untested, [""; 0], "findings that no fixture triggers");
    let known: BTreeSet<&str> = rules().iter().map(|rule| rule.id).collect();
    let unlisted: Vec<_> = triggered.iter().filter(|id| !known.contains(*id)).collect();
    assert_eq!(unlisted, [&""; 0], "findings that `rules()` does not list");
}

#[test]
fn rule_ids_are_unique_and_well_formed() {
    let mut seen = BTreeSet::new();
    for rule in rules() {
        assert!(seen.insert(rule.id), "`{}` is the id of two rules", rule.id);
        let is_kebab = rule.id.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
        assert!(is_kebab, "`{}` is not kebab-case", rule.id);
        for text in [rule.summary, rule.details] {
            assert!(text.ends_with('.'), "`{}`: `{text}` is no sentence", rule.id);
        }
        assert!(
            !rule.wrong.is_empty() && !rule.right.is_empty(),
            "`{}` has no example",
            rule.id
        );
        assert_ne!(rule.wrong, rule.right, "`{}`: right is as wrong", rule.id);
    }
}

#[test]
fn every_finding_is_documented_and_nothing_else() {
    let page = std::fs::read_to_string(repository().join("docs/diagnostics.md")).expect("a readable page");
    let documented: BTreeSet<&str> = headings(&page).into_iter().collect();
    let known: BTreeSet<&str> = rules()
        .iter()
        .map(|rule| rule.id)
        .chain(OF_FILES.iter().copied())
        .chain(planwright_core::convert::rules::ALL.iter().map(|rule| rule.id))
        .chain(planwright_core::outline::rules::ALL.iter().map(|rule| rule.id))
        .chain(planwright_core::planning::rules::ALL.iter().map(|rule| rule.id))
        .chain(planwright_core::planning::derive::drift::ALL.iter().map(|rule| rule.id))
        .chain(planwright_core::planning::derive::rules::ALL.iter().map(|rule| rule.id))
        .collect();
    let missing: Vec<_> = known.difference(&documented).collect();
    let strange: Vec<_> = documented.difference(&known).collect();
    assert!(missing.is_empty(), "not in docs/diagnostics.md: {missing:?}");
    assert!(strange.is_empty(), "in docs/diagnostics.md without a rule: {strange:?}");
}

/// Returns the headings of the third level that do not stand in a fence.
fn headings(page: &str) -> Vec<&str> {
    let mut in_fence = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("````") {
            in_fence = !in_fence;
        }
        found.extend(line.strip_prefix("### ").filter(|_| !in_fence));
    }
    found
}

#[test]
fn headings_in_examples_do_not_count() {
    let page = "## a\n### b\n````text\n### c\n```json\n```\n````\n### d\n";
    assert_eq!(headings(page), ["b", "d"]);
}

#[test]
fn more_values_than_the_table_holds_are_too_large() {
    let zeros = "0,".repeat(MAX_NODES);
    let found = inspect_text(format!("{{\"goal\": \"x\", \"tasks\": [], \"more\": [{zeros}0]}}"));
    let ids = rule_ids(&found);
    assert_eq!(ids.iter().filter(|id| **id == "too-large").count(), 1, "{ids:?}");
    assert!(ids.len() < 10, "{} findings", ids.len());
}

/// Returns a plan whose steps are all one step of `n_rows` values, repeated through aliases.
fn aliased(n_rows: usize, n_aliases: usize) -> String {
    // The step itself, three members without a list, the key of the list and the list.
    let n_criteria = n_rows - 9;
    let criteria = "x,".repeat(n_criteria);
    let step = format!("{{index: 0, description: x, status: pending, acceptanceCriteria: [{criteria}]}}");
    format!(
        "id: a\ntask: x\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\ncreatedBy: planner\n\
         createdAt: 2026-01-01T00:00:00Z\nupdatedAt: 2026-01-01T00:00:00Z\nsteps:\n  - &s {step}\n{}",
        "  - *s\n".repeat(n_aliases)
    )
}

#[test]
fn more_values_behind_aliases_than_are_read_are_reported_once() {
    let ids = |n_rows: usize, n_aliases: usize| rule_ids(&inspect_text(aliased(n_rows, n_aliases)));
    let count = |ids: &[&str]| ids.iter().filter(|id| **id == "too-many-aliases").count();
    assert_eq!(count(&ids(10_001, 99)), 0);
    assert_eq!(count(&ids(10_001, 120)), 1);
}

/// Returns a plan in which one text of `n_bytes` is that of `n_uses` steps, in one of the ways that YAML has for it.
fn repeated(way: &str, n_bytes: usize, n_uses: usize) -> String {
    let long = "and words ".repeat(n_bytes / 10);
    let steps = (1..n_uses).map(|index| match way {
        "text" => format!("  - {{index: {index}, description: *t, status: pending}}\n"),
        "list" => format!("  - {{index: {index}, description: d, status: pending, acceptanceCriteria: [*t]}}\n"),
        _ => format!("  - {{index: {index}, status: pending, <<: *m}}\n"),
    });
    let steps: String = steps.collect();
    format!(
        "id: a\ntask: x\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\ncreatedBy: planner\n\
         createdAt: 2026-01-01T00:00:00Z\nupdatedAt: 2026-01-01T00:00:00Z\nsteps:\n  \
         - &m {{index: 0, status: pending, description: &t \"{long}\"}}\n{steps}"
    )
}

#[test]
fn a_long_text_that_is_repeated_too_often_is_reported_once() {
    let count = |found: &Inspection| rule_ids(found).iter().filter(|id| **id == "too-many-aliases").count();
    for way in ["text", "list", "merge"] {
        assert_eq!(count(&inspect_text(repeated(way, 100_000, 300))), 0, "{way}");
        let found = inspect_text(repeated(way, 100_000, 500));
        assert_eq!(count(&found), 1, "{way}: {:?}", rule_ids(&found));
        let plan = &found.plan.as_ref().expect("a plan").plan;
        let read = plan
            .tasks()
            .iter()
            .filter_map(|task| plan.task_str(task, Field::Description));
        let n_bytes: usize = read.map(str::len).sum();
        assert!(n_bytes < 40_000_000, "{way}: {n_bytes}");
    }
}

#[test]
fn a_budget_for_aliases_that_is_spent_exactly_is_reported_too() {
    let found = inspect_text(aliased(10_000, 120));
    let ids: BTreeSet<&str> = rule_ids(&found).into_iter().collect();
    assert!(ids.contains("too-many-aliases"), "{ids:?}");
}
