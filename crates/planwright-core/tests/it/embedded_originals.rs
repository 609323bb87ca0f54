//! Originals embedded in a converted plan: they come back unchanged, with the edits that the carrier got.

use planwright_core::convert::{ConversionOptions, Converted, LossKind};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::CarrierKind;
use planwright_core::document::patch::{Patch, patch};
use planwright_core::document::route::Route;
use planwright_core::document::{json, yaml};
use planwright_core::inspect::Inspection;
use planwright_core::plan::Field;
use planwright_testkit::conformance::listing;
use proptest::prelude::*;

use crate::conversions::{STORIES, carrying_pairs, convert_with, data, embedding, inspect_as, model};
use crate::generate::{Dice, check_law, dice};
use crate::plans::plan;

#[test]
fn embedded_originals_come_back_exactly() {
    check_law(60, dice(), |bytes| {
        for (from, to) in carrying_pairs() {
            let text = plan(from, &mut Dice::new(bytes.clone()));
            let inspection = inspect_as(&text, from);
            let Ok(there) = convert_with(&inspection, to, &embedding()) else {
                continue;
            };
            let back = convert_with(&there.inspection, from, &ConversionOptions::default());
            let back = match back {
                Ok(back) => back,
                Err(refused) => {
                    prop_assert!(false, "{} to {} and back: {:?}\n{}", from, to, refused, there.text);
                    unreachable!()
                }
            };
            prop_assert_eq!(
                model(&back.inspection),
                model(&inspection),
                "{} to {} and back:\n{}\n{}\n{}",
                from,
                to,
                text,
                there.text,
                back.text
            );
            // Unknown members are restored as well, in their old order.
            prop_assert_eq!(data(&back.inspection), data(&inspection));
            prop_assert_eq!(back.text.as_str(), text.as_str(), "{} to {} and back", from, to);
            let unsaid = |kind| back.losses.iter().all(|loss| loss.kind != kind);
            prop_assert!(
                unsaid(LossKind::Lost) && unsaid(LossKind::Invented),
                "{:?}",
                back.losses
            );
        }
        Ok(())
    });
}

/// Converts, edits the carrier's text, and converts back.
fn edited(from: &str, plan: &str, to: &str, edit: impl FnOnce(&str) -> String) -> (Converted, Inspection) {
    let source = inspect_as(plan, from);
    let there = convert_with(&source, to, &embedding()).expect("it converts");
    let text = edit(&there.text);
    assert_ne!(text, there.text, "the edit changes nothing:\n{text}");
    let inspection = inspect_as(&text, to);
    assert_eq!(inspection.count(Severity::Error), 0, "{text}\n{}", listing(&inspection));
    let back = convert_with(&inspection, from, &ConversionOptions::default()).expect("it converts back");
    (back, source)
}

/// Returns the model of each task on its own.
fn task_models(inspection: &Inspection) -> Vec<Vec<String>> {
    let mut tasks: Vec<Vec<String>> = Vec::new();
    for line in model(inspection).into_iter().skip(1) {
        match line.strip_prefix("  ") {
            None => tasks.push(vec![line]),
            Some(_) => tasks
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|task| task.push(line.clone())),
        }
    }
    tasks
}

/// The list of tasks and the text of a task, as each dialect calls them.
const TEXT_KEYS: [(&str, &str, &str); 6] = [
    ("checklist", "tasks", "title"),
    ("opencrabs", "tasks", "title"),
    ("clido", "tasks", "description"),
    ("aimi", "userStories", "title"),
    ("task-pack", "tasks", "goal"),
    ("rawko", "steps", "description"),
];

/// Gives one task of a plan another text, and changes nothing else.
fn with_other_text(inspection: &Inspection, task_ix: usize) -> String {
    let (carrier, span) = inspection.carrier.expect("a document");
    let parsed = match carrier {
        CarrierKind::Yaml => yaml::parse(&inspection.source),
        _ => json::parse_span(&inspection.source, span),
    };
    let (_, list, key) = TEXT_KEYS
        .into_iter()
        .find(|keys| Some(keys.0) == inspection.dialect_name())
        .expect("a dialect");
    let edit = Patch::ReplaceScalar {
        at: Route::root().key(list).index(task_ix).key(key),
        value: planwright_core::document::patch::PlainValue::String("Other words".to_owned()),
    };
    patch(&parsed.document, &[edit]).expect("one scalar can be replaced")
}

#[test]
fn an_edit_of_one_task_wins_there_and_nowhere_else() {
    check_law(60, dice(), |bytes| {
        for (from, to) in carrying_pairs() {
            let mut dice = Dice::new(bytes.clone());
            let text = plan(from, &mut dice);
            let source = inspect_as(&text, from);
            let n_tasks = source.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len());
            let Ok(there) = convert_with(&source, to, &embedding()) else {
                continue;
            };
            if n_tasks == 0 {
                continue;
            }
            let task_ix = dice.roll(n_tasks);
            let edited = inspect_as(&with_other_text(&there.inspection, task_ix), to);
            let back = convert_with(&edited, from, &ConversionOptions::default()).expect("it converts back");
            let (before, after) = (task_models(&source), task_models(&back.inspection));
            prop_assert_eq!(before.len(), after.len());
            for (ix, (before, after)) in before.iter().zip(&after).enumerate() {
                match ix == task_ix {
                    true => prop_assert!(
                        after.iter().any(|line| line.contains("Other words")),
                        "{} to {}: {:?}",
                        from,
                        to,
                        after
                    ),
                    false if from == "checklist" => {
                        // A checklist that is written again has explicit dependencies, no headings, and no marks of other tools.
                        let is_gone = |line: &&String| {
                            ["  Parallelizable", "  SourceUnit", "  Section"]
                                .iter()
                                .any(|field| line.starts_with(field))
                        };
                        let kept = |lines: &[String]| -> Vec<String> {
                            let kept = lines.iter().skip(1).filter(|line| !is_gone(line));
                            kept.cloned().collect()
                        };
                        prop_assert_eq!(kept(before), kept(after), "{} to {}", from, to);
                    }
                    false => prop_assert_eq!(before, after, "{} to {}\n{}", from, to, edited.source.as_str()),
                }
            }
        }
        Ok(())
    });
}

/// Returns the lines of one model that the other lacks.
fn difference(found: &Inspection, expected: &Inspection) -> (Vec<String>, Vec<String>) {
    let (found, expected) = (model(found), model(expected));
    let only = |one: &[String], other: &[String]| one.iter().filter(|line| !other.contains(line)).cloned().collect();
    (only(&found, &expected), only(&expected, &found))
}

#[test]
fn an_edited_status_wins_and_all_else_comes_back() {
    let (back, source) = edited("aimi", STORIES, "clido", |text| {
        text.replacen("\"status\": \"pending\"", "\"status\": \"done\"", 1)
    });
    let (new, old) = difference(&back.inspection, &source);
    assert_eq!(new.len(), 2, "{new:?}");
    assert_eq!(old.len(), 1, "{old:?}");
    assert!(new.contains(&"  Status = \"completed\"".to_owned()), "{new:?}");
    assert!(
        back.text.contains("\"size\": 3") && back.text.contains("\"brainstormPath\": \"b.md\""),
        "{}",
        back.text
    );
}

#[test]
fn an_edited_text_wins_and_all_else_comes_back() {
    for (_, to) in carrying_pairs().filter(|(from, _)| *from == "aimi") {
        let (back, source) = edited("aimi", STORIES, to, |text| {
            // Each dialect holds the sentence once where it counts, and again in what it carries.
            let at = text.find("I want two").expect("it is there");
            format!("{}I want three{}", &text[..at], &text[at + "I want two".len()..])
        });
        let (new, old) = difference(&back.inspection, &source);
        assert!(
            new.iter().any(|line| line.contains("I want three")),
            "{to}: {new:?}\n{}",
            back.text
        );
        assert!(new.iter().all(|line| line.contains("three")), "{to}: {new:?}");
        assert!(
            old.iter().all(|line| line.contains("two") || line.contains("Two")),
            "{to}: {old:?}"
        );
    }
}

#[test]
fn a_task_that_came_later_is_converted_and_the_others_come_back() {
    let (back, source) = edited("aimi", STORIES, "clido", |text| {
        let end = text.rfind("    }\n  ],").expect("the end of the tasks");
        let new = ",\n    {\"id\": \"later\", \"description\": \"A third\", \"depends_on\": [\"US-009\"]}";
        format!(
            "{}    }}{new}\n  ],{}",
            &text[..end],
            &text[end + "    }\n  ],".len()..]
        )
    });
    let (new, old) = difference(&back.inspection, &source);
    assert_eq!(old, [""; 0]);
    assert!(new.iter().any(|line| line.contains("A third")), "{new:?}");
    assert!(back.text.contains("\"US-009\"\n      ]"), "{}", back.text);
    assert!(
        back.losses
            .iter()
            .any(|loss| loss.kind == LossKind::Invented && loss.field == "acceptanceCriteria")
    );
}

#[test]
fn tasks_that_are_gone_or_moved_take_their_references_along() {
    let rawko = "id: p\ntask: t\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\ncreatedAt: 2026-01-01T00:00:00Z\nupdatedAt: 2026-01-01T00:00:00Z\ncreatedBy: me\nsteps:\n  - {index: 0, description: zero, status: pending}\n  - {index: 1, description: one, status: pending, output: kept}\n  - {index: 2, description: two, status: pending, dependsOn: [1], executedBy: somebody}\n";
    let (back, _) = edited("rawko", rawko, "clido", |text| {
        let mut plan: serde_json::Value = serde_json::from_str(text).expect("JSON");
        plan["tasks"].as_array_mut().expect("tasks").remove(0);
        plan.to_string()
    });
    let linked = back.inspection.plan.as_ref().expect("a plan");
    assert_eq!(linked.plan.tasks().len(), 2);
    assert_eq!(linked.links.of(1).iter().map(|edge| edge.to).collect::<Vec<_>>(), [0]);
    assert!(
        back.text.contains("executedBy: somebody") && back.text.contains("output: kept"),
        "{}",
        back.text
    );
    assert!(back.text.contains("- index: 0\n    description: one"), "{}", back.text);
}

#[test]
fn a_pack_that_was_edited_in_another_dialect_comes_back_as_a_draft() {
    let pack = plan("task-pack", &mut Dice::new(vec![1]));
    let (back, _) = edited("task-pack", &pack, "clido", |text| {
        text.replacen("\"status\": \"pending\"", "\"status\": \"done\"", 1)
    });
    assert!(
        back.text.contains("source_plan_hash: \"sha256"),
        "a status is nothing to a pack:\n{}",
        back.text
    );
    let (back, _) = edited("task-pack", &pack, "clido", |text| {
        text.replacen("\"description\": \"", "\"description\": \"new ", 1)
    });
    let plan = &back.inspection.plan.as_ref().expect("a plan").plan;
    assert_eq!(plan.form, "draft");
    assert_eq!(plan.head_str(Field::SourcePlanHash), Some("pending"));
    assert_eq!(plan.head_str(Field::SpecId), Some("2026-04-26-001-photos"));
}

#[test]
fn originals_come_back_through_three_dialects() {
    let source = inspect_as(STORIES, "aimi");
    let one = convert_with(&source, "clido", &embedding()).expect("there");
    let two = convert_with(&one.inspection, "rawko", &embedding()).expect("and further");
    let three = convert_with(&two.inspection, "clido", &ConversionOptions::default()).expect("back");
    assert_eq!(three.text, one.text);
    let four = convert_with(&three.inspection, "aimi", &ConversionOptions::default()).expect("home");
    assert_eq!(model(&four.inspection), model(&source));
}

#[test]
fn invalid_records_of_the_original_are_ignored() {
    let source = inspect_as(STORIES, "aimi");
    let there = convert_with(&source, "clido", &embedding()).expect("it converts");
    let plain = convert_with(
        &inspect_as(&without_records(&there.text), "clido"),
        "aimi",
        &ConversionOptions::default(),
    );
    let plain = plain.expect("it converts").text;
    let edits: [fn(&mut serde_json::Value); 7] = [
        |plan| plan["x-planwright"] = "none".into(),
        |plan| plan["x-planwright"]["version"] = 2.into(),
        |plan| plan["x-planwright"]["from"] = "rawko".into(),
        |plan| plan["x-planwright"]["original"] = serde_json::json!([]),
        |plan| plan["x-planwright"]["original"] = serde_json::json!({}),
        |plan| plan["x-planwright"]["written"] = serde_json::json!({"meta": 1}),
        |plan| plan["tasks"][0]["x-planwright"]["original"] = serde_json::json!({"id": "nonsense"}),
    ];
    for (ix, edit) in edits.iter().enumerate() {
        let mut value: serde_json::Value = serde_json::from_str(&there.text).expect("JSON");
        edit(&mut value);
        let carrier = inspect_as(&value.to_string(), "clido");
        let back = convert_with(&carrier, "aimi", &ConversionOptions::default()).expect("it converts");
        assert_eq!(back.text, plain, "edit {ix}");
    }
}

fn without_records(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    value.as_object_mut().expect("a plan").remove("x-planwright");
    for task in value["tasks"].as_array_mut().expect("tasks") {
        task.as_object_mut().expect("a task").remove("x-planwright");
    }
    value.to_string()
}

#[test]
fn a_prd_with_dependencies_comes_back_with_its_edits() {
    let story = |id: u32, on: &str| {
        format!(r#"{{"id": "US-00{id}", "title": "T{id}", "priority": 1, "passes": false, "dependsOn": [{on}]}}"#)
    };
    let text = format!(
        r#"{{"name": "App", "branchName": "x", "userStories": [{}, {}]}}"#,
        story(1, ""),
        story(2, "\"US-001\"")
    );
    let source = inspect_as(&text, "aimi");
    let there = convert_with(&source, "clido", &embedding()).expect("it converts");
    let edited = there
        .text
        .replacen("\"status\": \"pending\"", "\"status\": \"done\"", 1);
    let edited = inspect_as(&edited, "clido");
    let back = convert_with(&edited, "aimi", &ConversionOptions::default()).expect("it converts back");
    let plan: serde_json::Value = serde_json::from_str(&back.text).expect("JSON");
    assert_eq!(plan["userStories"][1]["dependsOn"][0], "US-001", "{}", back.text);
    assert_eq!(plan["userStories"][0]["passes"], true, "{}", back.text);
    assert_eq!(
        (&plan["name"], plan.get("schemaVersion")),
        (&"App".into(), None),
        "{}",
        back.text
    );
}
