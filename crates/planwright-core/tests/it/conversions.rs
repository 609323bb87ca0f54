//! Conversion, import, migration and new plans: the result is valid, and the original can be restored.

use planwright_core::convert::{
    ConversionOptions, ConversionRefusal, Converted, Embed, LossKind, MigrationOrder, convert, import, migrate,
};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::{CarrierKind, Choice, DIALECTS, Dialect, DiskFacts, DiskLookup, find};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::{Field, FieldValue, Plan};
use planwright_core::text::SourceText;
use planwright_testkit::conformance::listing;
use planwright_testkit::generate::SHAPES;
use proptest::prelude::*;

use crate::fixtures::{fixtures, inspect_text};
use crate::generate::{Dice, TEXTS, check_law, dice, mutated};
use crate::plans::plan;

pub(crate) fn dialect(name: &str) -> &'static dyn Dialect {
    find(name).expect("a known dialect")
}

/// Inspects a text as a plan of one dialect.
pub(crate) fn inspect_as(text: &str, name: &str) -> Inspection {
    let facts = DiskFacts::default();
    let choice = Choice {
        dialects: DIALECTS,
        forced: Some(dialect(name)),
        path: None,
        facts: &facts,
    };
    inspect(&SourceText::new(text), &choice)
}

/// Converts with a source of ids that always makes the same.
pub(crate) fn convert_with(
    inspection: &Inspection,
    target: &str,
    options: &ConversionOptions,
) -> Result<Converted, ConversionRefusal> {
    with_id_source(|id_source| convert(inspection, dialect(target), options, id_source))
}

/// Calls a function with a source of ids that counts.
pub(crate) fn with_id_source<T>(run: impl FnOnce(&mut IdSource<'_>) -> T) -> T {
    let mut counter = 0u128;
    let mut fresh = || {
        counter = counter.wrapping_add(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        counter
    };
    run(&mut IdSource::new("2026-05-01T12:00:00Z", &mut fresh))
}

pub(crate) fn embedding() -> ConversionOptions {
    ConversionOptions {
        embed: Embed::Originals,
        ..ConversionOptions::default()
    }
}

pub(crate) const STORIES: &str = r#"{
  "schemaVersion": "3.0",
  "metadata": {"title": "feat: x", "type": "bug", "branchName": "feat/x", "createdAt": "2026-02-27", "brainstormPath": "b.md"},
  "userStories": [
    {"id": "US-007", "title": "One", "description": "As a user, I want one", "acceptanceCriteria": ["c", "Typecheck passes"],
     "priority": 5, "status": "pending", "dependsOn": [], "notes": "", "size": 3},
    {"id": "US-009", "title": "Two", "description": "As a user, I want two", "acceptanceCriteria": ["Typecheck passes"],
     "priority": 2, "status": "pending", "dependsOn": ["US-007"], "notes": "n"}
  ]
}"#;

/// The whole model of a plan, without spans.
pub(crate) fn model(inspection: &Inspection) -> Vec<String> {
    let linked = inspection.plan.as_ref().expect("a plan");
    let plan = &linked.plan;
    let mut lines = vec![format!("{} {} {:?}", plan.dialect, plan.form, plan.slots)];
    let mut head: Vec<String> = plan
        .head()
        .iter()
        .filter_map(|entry| line(plan, entry.field, entry.value))
        .collect();
    head.sort();
    lines.extend(head);
    for (ix, task) in plan.tasks().iter().enumerate() {
        let edges: Vec<u32> = linked.links.of(ix).iter().map(|edge| edge.to).collect();
        let reason = match task.status {
            planwright_core::plan::Status::Blocked(reason) => plan.str(reason),
            _ => "",
        };
        lines.push(format!(
            "{} {} {reason:?} {:?} {} {} {} {edges:?}",
            plan.task_name(ix),
            task.status.as_str(),
            task.priority,
            task.stage,
            task.held,
            task.alone
        ));
        let mut entries: Vec<String> = plan
            .entries(task)
            .iter()
            .filter_map(|entry| line(plan, entry.field, entry.value))
            .collect();
        entries.sort();
        lines.extend(entries);
    }
    lines
}

/// Returns the whole document as data, with its members in order; for a Markdown file also the text around it.
pub(crate) fn data(inspection: &Inspection) -> (String, String) {
    let (carrier, span) = inspection.carrier.expect("a document");
    let source = &inspection.source;
    match carrier {
        CarrierKind::Json => (json_data(source.slice(span)), String::new()),
        CarrierKind::Yaml => {
            let value: yaml_serde::Value = yaml_serde::from_str(source.as_str()).expect("YAML");
            (serde_json::to_string(&value).expect("data"), String::new())
        }
        CarrierKind::Markdown if inspection.dialect_name() == Some("checklist") => {
            (source.as_str().to_owned(), String::new())
        }
        CarrierKind::Markdown => {
            let around = source.as_str().replacen(source.slice(span), "", 1);
            (json_data(source.slice(span)), around)
        }
    }
}

fn json_data(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    value.to_string()
}

fn line(plan: &Plan, field: Field, value: FieldValue) -> Option<String> {
    if matches!(
        field,
        Field::Tasks | Field::Metadata | Field::Dependencies | Field::Waves
    ) {
        return None;
    }
    Some(format!("  {field:?} = {}", shown(plan, value)))
}

fn shown(plan: &Plan, value: FieldValue) -> String {
    match value {
        FieldValue::Text(text) => format!("{:?}", plan.str(text)),
        FieldValue::Number(span) => plan.source().slice(span).to_owned(),
        FieldValue::True(_) => "true".to_owned(),
        FieldValue::False(_) => "false".to_owned(),
        FieldValue::Null(_) => "null".to_owned(),
        FieldValue::List(list) => {
            let items: Vec<String> = plan.items(list).iter().map(|&item| shown(plan, item)).collect();
            format!("[{}]", items.join(", "))
        }
        FieldValue::Opaque(span) => {
            let slice = plan.source().slice(span);
            serde_json::from_str::<serde_json::Value>(slice).map_or(slice.to_owned(), |value| value.to_string())
        }
    }
}

/// Returns every pair of different dialects.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let names = || DIALECTS.iter().map(|dialect| dialect.name());
    names().flat_map(move |from| names().filter(move |to| *to != from).map(move |to| (from, to)))
}

/// Returns every pair whose second dialect can carry the original of the first.
pub(crate) fn carrying_pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    pairs().filter(|(_, to)| dialect(to).writer().is_some_and(|writer| writer.carries_originals()))
}

#[test]
fn there_are_thirty_pairs() {
    assert_eq!(pairs().count(), 30);
}

#[test]
fn generated_plans_are_sound() {
    check_law(100, dice(), |bytes| {
        for dialect in DIALECTS {
            let text = plan(dialect.name(), &mut Dice::new(bytes.clone()));
            let found = inspect_as(&text, dialect.name());
            prop_assert_eq!(found.count(Severity::Error), 0, "{}\n{}", text, listing(&found));
        }
        Ok(())
    });
}

#[test]
fn every_plan_converts_to_every_other_dialect() {
    check_law(60, dice(), |bytes| {
        for (from, to) in pairs() {
            let text = plan(from, &mut Dice::new(bytes.clone()));
            let inspection = inspect_as(&text, from);
            let n_tasks = inspection.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len());
            for options in [ConversionOptions::default(), embedding()] {
                match convert_with(&inspection, to, &options) {
                    Ok(converted) => {
                        prop_assert_eq!(converted.inspection.count(Severity::Error), 0);
                        let again = inspect_text(converted.text.clone());
                        prop_assert_eq!(again.dialect_name(), Some(to), "{}", converted.text);
                        let linked = again.plan.expect("it is a plan");
                        prop_assert_eq!(linked.plan.tasks().len(), n_tasks);
                    }
                    Err(refused) => prop_assert!(n_tasks == 0, "{} to {}: {:?}\n{}", from, to, refused, text),
                }
            }
        }
        Ok(())
    });
}

/// Returns a clido plan of one task with these texts.
fn clido_with(description: &str, notes: &str) -> String {
    let plan = serde_json::json!({
        "meta": {"id": "plan-1", "goal": format!("g{description}"), "created_at": "2026-03-22T10:00:00Z"},
        "tasks": [{"id": "t1", "description": description, "depends_on": [], "notes": notes}],
    });
    plan.to_string()
}

#[track_caller]
fn check_text(text: &str) {
    // A blank text is replaced.
    if text.trim().is_empty() {
        return;
    }
    let source = inspect_as(&clido_with(text, text), "clido");
    for (to, said, noted) in [
        ("opencrabs", Field::Description, Field::Notes),
        ("rawko", Field::Description, Field::Instructions),
        ("task-pack", Field::Goal, Field::Notes),
        ("aimi", Field::Description, Field::Notes),
    ] {
        let converted = convert_with(&source, to, &embedding()).expect("it converts");
        let plan = &converted.inspection.plan.as_ref().expect("a plan").plan;
        let task = &plan.tasks()[0];
        assert_eq!(plan.task_str(task, said), Some(text), "{to}:\n{}", converted.text);
        if to == "rawko" || to == "task-pack" || to == "aimi" {
            assert_eq!(plan.task_str(task, noted), Some(text), "{to}:\n{}", converted.text);
        }
        let back = convert_with(&converted.inspection, "clido", &ConversionOptions::default()).expect("and back");
        assert_eq!(model(&back.inspection), model(&source), "{to}:\n{}", converted.text);
    }
}

#[test]
fn unusual_texts_are_converted_unchanged() {
    for text in TEXTS {
        check_text(text);
    }
    for text in [
        "yes",
        "null",
        "007",
        "1.0",
        "\u{feff}mark",
        "mark\u{feff}",
        " lead and trail ",
        "- ",
        "```json\n{}\n```",
        "## Task Pack Contract",
        "a\n## Overview\nb",
        "---\ntype: task-pack\n---",
        "\u{1}\u{1f}\u{7f}\u{9f}",
        "\u{2028}\u{2029}\u{200b}\u{202e}",
        "👩‍👩‍👧‍👦 é e\u{301}",
        "{\"a\": [1, 2]}",
        "key: value # comment",
        "%TAG ! tag:",
        "\\u0041 \\n \\",
        "\u{10ffff}\u{fffd}\u{e000}",
    ] {
        check_text(text);
    }
}

#[test]
fn random_texts_arrive_as_they_were() {
    check_law(300, "\\PC{0,20}|[\\x00-\\x7f]{0,20}|(\\s|[-:#\"'`{}\\[\\]])*", |text| {
        check_text(&text);
        Ok(())
    });
}

#[test]
fn a_plan_that_is_not_utf8_is_not_converted() {
    let bytes = b"{\"goal\": \"caf\xe9\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Read\"}]}";
    let facts = DiskFacts::default();
    let inspection = inspect(&SourceText::from_bytes(bytes.to_vec()), &Choice::by_content(&facts));
    let refused = convert_with(&inspection, "rawko", &ConversionOptions::default())
        .map(|converted| converted.text)
        .expect_err("its text is not known for certain");
    assert_eq!(
        refused.to_string(),
        "the plan has an error: not UTF-8: bad byte at offset 13"
    );
}

#[test]
fn inconvertible_plans_are_refused_with_a_reason() {
    let refused = |text: &str, from: &str, to: &str| {
        let found = convert_with(&inspect_as(text, from), to, &ConversionOptions::default())
            .err()
            .expect("it is refused");
        assert!(!found.to_diagnostics().is_empty());
        found.to_string()
    };
    assert_eq!(
        refused(STORIES, "aimi", "aimi"),
        "the plan is in the dialect `aimi` already"
    );
    let cycle = r#"{"goal": "x", "tasks": [{"id": "a", "description": "d", "depends_on": ["a"]}]}"#;
    assert_eq!(
        refused(cycle, "clido", "rawko"),
        "the plan has an error: task `a` depends on itself"
    );
    let empty = r#"{"goal": "x", "tasks": []}"#;
    assert!(refused(empty, "clido", "rawko").starts_with("the result would have an error"));
    let pointer = "task: x\nplanId: p\nstatus: in_progress\n";
    assert_eq!(refused(pointer, "rawko", "clido"), "there is no plan in this text");
}

#[test]
fn a_task_pack_draft_names_its_source_and_no_hash() {
    let options = ConversionOptions {
        source_plan: Some(planwright_core::convert::SourcePlanRef {
            path: "docs/plans/p.md".to_owned(),
            spec_id: Some("2026-05-01-001-x".to_owned()),
        }),
        ..ConversionOptions::default()
    };
    let draft = convert_with(&inspect_as(STORIES, "aimi"), "task-pack", &options).expect("a draft");
    let plan = &draft.inspection.plan.as_ref().expect("a plan").plan;
    assert_eq!(plan.form, "draft");
    assert_eq!(plan.head_str(Field::SourcePlan), Some("docs/plans/p.md"));
    assert_eq!(plan.head_str(Field::SpecId), Some("2026-05-01-001-x"));
    assert!(!draft.text.contains("sha256"), "{}", draft.text);
}

#[test]
fn a_task_pack_draft_names_no_unverified_source() {
    let stories = STORIES.replace(
        "\"brainstormPath\"",
        "\"planPath\": \"docs/plans/p.md\", \"brainstormPath\"",
    );
    let draft = convert_with(
        &inspect_as(&stories, "aimi"),
        "task-pack",
        &ConversionOptions::default(),
    )
    .expect("a draft");
    assert!(!draft.text.contains("source_plan:"), "{}", draft.text);
    let is_told = |loss: &planwright_core::convert::Loss| loss.kind == LossKind::Lost && loss.field == "planPath";
    assert!(draft.losses.iter().any(is_told), "{:?}", draft.losses);
    // A user who has checked it sets the option, and then nothing is lost.
    let options = ConversionOptions {
        source_plan: Some(planwright_core::convert::SourcePlanRef {
            path: "docs/plans/p.md".to_owned(),
            spec_id: None,
        }),
        ..ConversionOptions::default()
    };
    let draft = convert_with(&inspect_as(&stories, "aimi"), "task-pack", &options).expect("a draft");
    assert!(
        draft.text.contains("source_plan: \"docs/plans/p.md\"\n"),
        "{}",
        draft.text
    );
    assert!(!draft.losses.iter().any(is_told), "{:?}", draft.losses);
}

#[test]
fn a_pack_without_its_source_plan_converts_with_a_remark() {
    let pack = include_str!("../../../../examples/task-pack/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
    let facts = DiskFacts {
        looked: DiskLookup::Done,
        ..DiskFacts::default()
    };
    let choice = Choice::by_content(&facts);
    let inspection = inspect(&SourceText::new(pack), &choice);
    assert_eq!(inspection.count(Severity::Error), 1);
    for target in DIALECTS.iter().map(|to| to.name()).filter(|to| *to != "task-pack") {
        let converted = convert_with(&inspection, target, &ConversionOptions::default()).expect("its tasks are sound");
        let told = converted
            .losses
            .iter()
            .find(|loss| loss.message.contains("does not exist"));
        assert_eq!(
            told.map(|loss| (&*loss.field, &*loss.message)),
            Some((
                "source_plan",
                "source_plan file does not exist; the tasks are taken as they are"
            ))
        );
    }
    // Its own errors still prevent the conversion.
    let broken = inspect(
        &SourceText::new(pack.replacen("\"dependencies\": []", "\"dependencies\": [\"T999\"]", 1)),
        &choice,
    );
    let refused = convert_with(&broken, "clido", &ConversionOptions::default()).err();
    assert!(matches!(refused, Some(ConversionRefusal::Unsound(_))), "{refused:?}");
}

#[test]
fn too_many_dependencies_for_the_waves_are_refused() {
    let story = |ix: usize, priority: usize| {
        format!("{{\"id\": \"US-{ix:05}\", \"title\": \"t\", \"priority\": {priority}, \"passes\": false}}")
    };
    let stories: Vec<String> = (0..2400).map(|ix| story(ix, ix / 1200)).collect();
    let text = format!(
        "{{\"schemaVersion\": \"2.2\", \"userStories\": [{}]}}",
        stories.join(",")
    );
    let refused = convert_with(&inspect_as(&text, "aimi"), "clido", &ConversionOptions::default()).err();
    assert_eq!(refused, Some(ConversionRefusal::TooManyEdges(1_440_000)));
}

#[test]
fn accepted_fixtures_convert_and_come_back() {
    for fixture in fixtures("accept") {
        let source = inspect_as(fixture.source().as_str(), fixture.dialect);
        let n_tasks = source.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len());
        for to in DIALECTS.iter().filter(|to| to.name() != fixture.dialect && n_tasks > 0) {
            let path = fixture.path.display();
            let there = match convert_with(&source, to.name(), &embedding()) {
                Ok(there) => there,
                // Only what needs the disk to be judged has errors here.
                Err(refused) => panic!("{path} to {}: {refused}", to.name()),
            };
            let back = convert_with(&there.inspection, fixture.dialect, &ConversionOptions::default())
                .expect("it converts back");
            if !to.writer().is_some_and(|writer| writer.carries_originals()) {
                continue;
            }
            assert_eq!(
                model(&back.inspection),
                model(&source),
                "{path} to {} and back",
                to.name()
            );
        }
    }
}

#[test]
fn damaged_carriers_convert_or_are_refused() {
    check_law(40, (dice(), dice()), |(bytes, damage)| {
        let mut damage = Dice::new(damage);
        for (from, to) in pairs() {
            let source = inspect_as(&plan(from, &mut Dice::new(bytes.clone())), from);
            let Ok(there) = convert_with(&source, to, &embedding()) else {
                continue;
            };
            let damaged = inspect_as(&mutated(&there.text, &mut damage), to);
            for target in [from, "aimi", "rawko"] {
                match convert_with(&damaged, target, &embedding()) {
                    Ok(converted) => prop_assert_eq!(converted.inspection.count(Severity::Error), 0),
                    Err(refused) => prop_assert!(!refused.to_diagnostics().is_empty()),
                }
            }
            with_id_source(|id_source| import(&damaged.source, dialect(to), &ConversionOptions::default(), id_source))
                .ok();
            with_id_source(|id_source| migrate(&damaged, dialect(to), &MigrationOrder::default(), id_source)).ok();
        }
        Ok(())
    });
}

#[test]
fn every_shape_converts_or_is_refused() {
    for (name, generate) in SHAPES {
        let source = inspect_text(generate(1_500));
        for to in DIALECTS {
            match convert_with(&source, to.name(), &embedding()) {
                Ok(converted) => assert!(converted.text.len() > 1_500, "{name}"),
                Err(refused) => assert!(!refused.to_diagnostics().is_empty(), "{name}"),
            }
        }
    }
}

#[test]
fn values_without_a_place_in_the_original_are_reported() {
    let minimal =
        r#"{"title": "P", "description": "D", "tasks": [{"title": "a", "description": "b", "task_type": "edit"}]}"#;
    let v2 =
        r#"{"schemaVersion": "2.2", "userStories": [{"id": "US-001", "title": "A", "priority": 1, "passes": false}]}"#;
    let rawko = "# why\nid: p\ntask: T\nstatus: draft\ncurrentStepIndex: 0\ncreatedAt: \"2026-01-01T00:00:00Z\"\nupdatedAt: \"2026-01-01T00:00:00Z\"\ncreatedBy: a\nversion: 1\nsteps:\n  - index: 0\n    description: A\n    status: pending\n";
    for (from, text, old, new, lost) in [
        (
            "opencrabs",
            minimal,
            "\"status\": \"pending\"",
            "\"status\": \"done\"",
            "status",
        ),
        (
            "aimi",
            v2,
            "\"status\": \"pending\"",
            "\"status\": \"failed\"",
            "status",
        ),
        ("rawko", rawko, "\"notes\": \"\"", "\"notes\": \"more\"", "comments"),
    ] {
        let source = inspect_as(text, from);
        let there = convert_with(&source, "clido", &embedding()).expect("it converts");
        let edited = there.text.replacen(old, new, 1);
        assert_ne!(edited, there.text, "{from}");
        let edited = inspect_as(&edited, "clido");
        let back = convert_with(&edited, from, &ConversionOptions::default()).expect("it converts back");
        let losses = back.losses.iter().filter(|loss| loss.kind == LossKind::Lost);
        let fields: Vec<&str> = losses.map(|loss| &*loss.field).collect();
        assert!(fields.contains(&lost), "{from}: {:?}\n{}", back.losses, back.text);
    }
}
