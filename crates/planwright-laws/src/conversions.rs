//! Law for any plan converted to every dialect and back, imported and migrated: the result is valid, or there is none.

use planwright_core::convert::{
    ConversionOptions, Converted, Embed, MAX_EDGES, MigrationOrder, SourcePlanRef, convert, import, migrate,
};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{DIALECTS, Dialect, find};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;

use crate::findings;
use crate::input::{ByteChoices, parts, text, with_choice, with_id_source};

pub(crate) fn hold(bytes: &[u8]) {
    let [plan, choices] = parts(bytes);
    let source = SourceText::new(text(plan));
    let mut dice = ByteChoices::new(choices);
    let inspection = with_choice(None, |choice| inspect(&source, choice));
    let options = ConversionOptions {
        embed: if dice.flip() { Embed::Originals } else { Embed::Nothing },
        source_plan: dice.flip().then(|| SourcePlanRef {
            path: "docs/plans/source.md".to_owned(),
            spec_id: dice.flip().then(|| "spec-1".to_owned()),
        }),
        session: dice.flip().then(|| "s1".to_owned()),
    };
    for target in DIALECTS {
        check_conversion(&inspection, *target, &options);
        check_import(&source, *target, &options);
    }
    check_migration(&inspection);
}

fn n_tasks(inspection: &Inspection) -> usize {
    inspection.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len())
}

fn check_conversion(inspection: &Inspection, target: &'static dyn Dialect, options: &ConversionOptions) {
    let convert = |inspection: &Inspection, target, options: &ConversionOptions| {
        with_id_source(|id_source| convert(inspection, target, options, id_source))
    };
    let converted = match convert(inspection, target, options) {
        Ok(converted) => converted,
        Err(refused) => {
            findings::check_words(&refused.to_diagnostics(), inspection.source.len());
            return;
        }
    };
    let plan = &inspection.plan.as_ref().expect("it was converted").plan;
    check_sound(inspection, target, &converted);
    for loss in &converted.losses {
        findings::check(&inspection.source, &[loss.to_diagnostic(plan)]);
    }
    let again = convert(inspection, target, options).map(|again| again.text).ok();
    assert_eq!(again.as_deref(), Some(converted.text.as_str()), "converted twice");
    let carries = target.writer().is_some_and(|writer| writer.carries_originals());
    if options.embed == Embed::Originals && carries {
        let own = find(plan.dialect).expect("a known dialect");
        let back = convert(&converted.inspection, own, &ConversionOptions::default());
        let back = back.unwrap_or_else(|refused| panic!("not back to {}: {refused}\n{}", plan.dialect, converted.text));
        assert_eq!(n_tasks(&back.inspection), n_tasks(inspection));
        assert_eq!(states(&back.inspection), states(inspection), "{}", back.text);
    }
}

fn states(inspection: &Inspection) -> Vec<(String, Option<planwright_core::plan::State>)> {
    let linked = inspection.plan.as_ref().expect("a plan");
    let tasks = linked.plan.tasks().iter();
    tasks
        .map(|task| (linked.plan.task_title(task).to_owned(), task.status.state()))
        .collect()
}

/// Checks that the new text is a plan of its dialect with as many tasks, without errors, and of bounded size.
fn check_sound(inspection: &Inspection, target: &'static dyn Dialect, converted: &Converted) {
    assert_eq!(converted.inspection.count(Severity::Error), 0, "{}", converted.text);
    let source = SourceText::new(converted.text.as_str());
    let again = with_choice(None, |choice| inspect(&source, choice));
    assert_eq!(again.dialect, Some(target), "{}", converted.text);
    assert_eq!(n_tasks(&again), n_tasks(inspection), "{}", converted.text);
    let n_edges = n_tasks(inspection).pow(2).min(MAX_EDGES);
    let most = 32 * inspection.source.len() + 2_048 * n_tasks(inspection) + 64 * n_edges + 8_192;
    assert!(
        converted.text.len() <= most,
        "{} bytes became {}",
        inspection.source.len(),
        converted.text.len()
    );
}

fn check_import(source: &SourceText, dialect: &'static dyn Dialect, options: &ConversionOptions) {
    match with_id_source(|id_source| import(source, dialect, options, id_source)) {
        Ok(imported) => {
            let stored = SourceText::new(imported.text.as_str());
            let again = with_choice(Some(dialect), |choice| inspect(&stored, choice));
            assert_eq!(again.count(Severity::Error), 0, "{}", imported.text);
            findings::check(source, &imported.notes);
        }
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            findings::check_words(&found, source.len());
        }
    }
}

fn check_migration(inspection: &Inspection) {
    let Some(dialect) = inspection.dialect else {
        return;
    };
    let order = MigrationOrder::default();
    let Ok(migrated) = with_id_source(|id_source| migrate(inspection, dialect, &order, id_source)) else {
        return;
    };
    assert_eq!(migrated.inspection.count(Severity::Error), 0, "{}", migrated.text);
    assert_eq!(n_tasks(&migrated.inspection), n_tasks(inspection));
    findings::check(&inspection.source, &migrated.notes);
    let again = with_id_source(|id_source| migrate(&migrated.inspection, dialect, &order, id_source));
    assert!(again.is_err(), "migrated twice");
}
