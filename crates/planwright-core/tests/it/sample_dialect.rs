//! A dialect that the core does not know is recognised, read, checked and written like the built-in ones.

use planwright_core::convert::{ConversionOptions, ConversionRefusal, convert};
use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts};
use planwright_core::fix::fix;
use planwright_core::graph::TaskGraph;
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::Readiness;
use planwright_core::text::SourceText;
use planwright_testkit::generate;
use planwright_testkit::sample_dialect::{BareTodo, Todo};

use crate::conversions::with_id_source;
use crate::fixtures::rule_ids;

fn all_and_it() -> Vec<&'static dyn Dialect> {
    DIALECTS.iter().copied().chain([&Todo as &dyn Dialect]).collect()
}

fn inspect_among_all(text: &str, path: Option<&str>) -> Inspection {
    let (dialects, facts) = (all_and_it(), DiskFacts::default());
    let choice = Choice {
        dialects: &dialects,
        forced: None,
        path,
        facts: &facts,
    };
    inspect(&SourceText::new(text), &choice)
}

const LIST: &str = r#"{"todo": [
  {"name": "bread", "ticked": true},
  {"name": "butter", "after": ["bread"]},
  {"name": "breakfast", "after": ["bread", "butter"]}
]}"#;

#[test]
fn the_sample_dialect_is_detected_and_read() {
    let inspection = inspect_among_all(LIST, None);
    assert_eq!(inspection.dialect_name(), Some("todo"));
    assert_eq!(rule_ids(&inspection), [""; 0]);
    let linked = inspection.plan.expect("it is read");
    assert_eq!(linked.links.n_edges(), 3);
    let readiness = Readiness::new(&linked.plan, &linked.links);
    assert_eq!(readiness.ready(), [1usize]);
    assert_eq!(readiness.free_slots(), 2);
    let graph = TaskGraph::new(&linked.plan, &linked.links).expect("it has an order");
    assert_eq!(graph.order(), [0u32, 1, 2]);
}

#[test]
fn the_sample_dialect_is_checked_by_the_common_rules() {
    let text = LIST
        .replace("\"ticked\": true", "\"after\": [\"breakfast\"]")
        .replace("[\"bread\"]", "[\"bred\", \"butter\"]");
    let inspection = inspect_among_all(&text, None);
    let ids = rule_ids(&inspection);
    for rule in ["dependency-cycle", "unknown-dependency", "self-dependency"] {
        assert!(ids.contains(&rule), "{ids:?}");
    }
    let unknown = inspection
        .diagnostics
        .iter()
        .find(|found| found.rule.id == "unknown-dependency");
    assert_eq!(unknown.map(|found| found.label.as_str()), Some("did you mean `bread`?"));
}

#[test]
fn the_sample_dialect_has_fixes() {
    let (dialects, facts) = (all_and_it(), DiskFacts::default());
    let choice = Choice {
        dialects: &dialects,
        forced: None,
        path: None,
        facts: &facts,
    };
    let broken = SourceText::new(LIST.replace("]}\n]}", "],}\n]}"));
    let fixed = fix(&broken, &choice, planwright_core::diagnostic::Safety::Safe);
    assert_eq!(fixed.source.as_str(), LIST);
}

#[test]
fn the_sample_dialect_claims_no_file_of_the_others() {
    for dialect in DIALECTS {
        let text = generate::plan(dialect.name(), 3);
        assert_eq!(inspect_among_all(&text, None).dialect_name(), Some(dialect.name()));
    }
    assert_eq!(
        inspect_among_all("{\"other\": 1}", Some("todo.json")).dialect_name(),
        Some("todo")
    );
    assert_eq!(inspect_among_all("{\"other\": 1}", Some("x.json")).dialect, None);
}

#[test]
fn no_plan_converts_to_a_dialect_without_a_writer() {
    let source = crate::fixtures::inspect_text(generate::plan("clido", 3));
    let converted = with_id_source(|id_source| convert(&source, &BareTodo, &ConversionOptions::default(), id_source));
    assert_eq!(converted.err(), Some(ConversionRefusal::NotWritable("todo")));
}

#[test]
fn files_of_an_unregistered_dialect_are_unknown() {
    let inspection = crate::fixtures::inspect_text(LIST);
    assert_eq!(rule_ids(&inspection), ["unknown-dialect"]);
}

#[test]
fn it_is_converted_to_every_dialect_and_back() {
    for dialect in DIALECTS {
        let there = inspect_among_all(LIST, None);
        let there = with_id_source(|id_source| convert(&there, *dialect, &ConversionOptions::default(), id_source));
        let there = inspect_among_all(there.expect("it is converted").text.as_str(), None);
        assert_eq!(there.dialect_name(), Some(dialect.name()));
        let back = with_id_source(|id_source| convert(&there, &Todo, &ConversionOptions::default(), id_source));
        let back = inspect_among_all(back.expect("it is converted back").text.as_str(), None);
        assert_eq!(rule_ids(&back), [""; 0], "{}", dialect.name());
        let linked = back.plan.expect("a list");
        assert_eq!(linked.plan.tasks().len(), 3, "{}", dialect.name());
        assert!(linked.links.n_edges() >= 2, "{}", dialect.name());
    }
}
