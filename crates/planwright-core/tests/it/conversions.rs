//! Conversion, import, migration and new plans: what comes out is sound, and what went in can be had back.

use planwright_core::convert::{Converted, Embed, Options, Refused, convert};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::mint::Mint;
use planwright_core::dialect::{Choice, DIALECTS, Dialect, Facts, find};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::{Field, Plan, Value};
use planwright_core::text::SourceText;
use planwright_testkit::conformance::listing;
use proptest::prelude::*;

use crate::fixtures::inspect_text;
use crate::generate::{Dice, check_law, dice};
use crate::plans::plan;

pub(crate) fn dialect(name: &str) -> &'static dyn Dialect {
    find(name).expect("a known dialect")
}

/// Inspects a text as a plan of one dialect.
pub(crate) fn inspect_as(text: &str, name: &str) -> Inspection {
    let facts = Facts::default();
    let choice = Choice {
        dialects: DIALECTS,
        forced: Some(dialect(name)),
        path: None,
        facts: &facts,
    };
    inspect(&SourceText::new(text), &choice)
}

/// Converts with a mint that always makes the same.
pub(crate) fn convert_with(inspection: &Inspection, target: &str, options: &Options) -> Result<Converted, Refused> {
    with_mint(|mint| convert(inspection, dialect(target), options, mint))
}

/// Calls a function with a mint that counts.
pub(crate) fn with_mint<T>(run: impl FnOnce(&mut Mint<'_>) -> T) -> T {
    let mut counter = 0u128;
    let mut fresh = || {
        counter += 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        counter
    };
    run(&mut Mint::new("2026-05-01T12:00:00Z", &mut fresh))
}

pub(crate) fn embedding() -> Options {
    Options {
        embed: Embed::Originals,
        ..Options::default()
    }
}

/// All that the model says of a plan, apart from places in the text.
fn model(inspection: &Inspection) -> Vec<String> {
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

fn line(plan: &Plan, field: Field, value: Value) -> Option<String> {
    if matches!(
        field,
        Field::Tasks | Field::Metadata | Field::Dependencies | Field::Waves
    ) {
        return None;
    }
    Some(format!("  {field:?} = {}", shown(plan, value)))
}

fn shown(plan: &Plan, value: Value) -> String {
    match value {
        Value::Text(text) => format!("{:?}", plan.str(text)),
        Value::Number(span) => plan.source().slice(span).to_owned(),
        Value::True(_) => "true".to_owned(),
        Value::False(_) => "false".to_owned(),
        Value::Null(_) => "null".to_owned(),
        Value::List(list) => {
            let items: Vec<String> = plan.items(list).iter().map(|&item| shown(plan, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Opaque(span) => {
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

#[test]
fn there_are_twenty_pairs() {
    assert_eq!(pairs().count(), 20);
}

#[test]
fn generated_plans_are_sound() {
    check_law(200, dice(), |bytes| {
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
    check_law(150, dice(), |bytes| {
        for (from, to) in pairs() {
            let text = plan(from, &mut Dice::new(bytes.clone()));
            let inspection = inspect_as(&text, from);
            let n_tasks = inspection.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len());
            for options in [Options::default(), embedding()] {
                match convert_with(&inspection, to, &options) {
                    Ok(converted) => {
                        prop_assert_eq!(converted.inspection.count(Severity::Error), 0);
                        let again = inspect_text(converted.text.clone());
                        prop_assert_eq!(again.dialect, Some(to), "{}", converted.text);
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

#[test]
fn embedded_originals_come_back_exactly() {
    check_law(150, dice(), |bytes| {
        for (from, to) in pairs() {
            let text = plan(from, &mut Dice::new(bytes.clone()));
            let inspection = inspect_as(&text, from);
            let Ok(there) = convert_with(&inspection, to, &embedding()) else {
                continue;
            };
            let back = convert_with(&there.inspection, from, &Options::default());
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
        }
        Ok(())
    });
}
