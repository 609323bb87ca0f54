//! Real plans: all are read or refused with a finding, valid ones without an error, broken ones with one.

use std::path::{Path, PathBuf};

use planwright_core::convert::{ConversionOptions, Embed, MigrationOrder, import, migrate};
use planwright_core::diagnostic::{Safety, Severity};
use planwright_core::dialect::{Choice, DIALECTS, DiskFacts, DiskLookup, Questions, SourcePlanLookup};
use planwright_core::fix::fix;
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;
use planwright_testkit::conformance::listing;
use planwright_testkit::corpus;

use crate::conversions::{convert_with, dialect, with_id_source};

/// Returns the files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = path.path();
            if path.is_dir() { &mut folders } else { &mut found }.push(path);
        }
    }
    found.sort();
    found
}

fn facts_of(questions: &Questions, root: &Path) -> DiskFacts {
    let read = |path: &String| std::fs::read(root.join(path)).ok();
    DiskFacts {
        looked: DiskLookup::Done,
        source_plan: match questions.source_plan.as_ref().and_then(read) {
            Some(bytes) => SourcePlanLookup::Bytes(bytes),
            None => SourcePlanLookup::Missing,
        },
        ..DiskFacts::default()
    }
}

/// Inspects a file with its path; paths inside it are relative to `root`.
fn inspect_file(path: &Path, root: &Path) -> Inspection {
    let source = SourceText::from_bytes(std::fs::read(path).expect("a file of the corpus"));
    let name = path.to_string_lossy();
    let choice = |facts| Choice {
        path: Some(&*name),
        ..Choice::by_content(facts)
    };
    let nothing = DiskFacts::default();
    let first = inspect(&source, &choice(&nothing));
    let facts = facts_of(&first.questions, root);
    // Fixes must not fail either, whatever they do.
    let _ = fix(&source, &choice(&facts), Safety::Unsafe);
    inspect(&source, &choice(&facts))
}

/// Inspects every file below a folder of the corpus; `expected` returns whether it has errors, if known.
fn check_folder(test: &str, folder: &str, dialect: Option<&str>, has_errors: impl Fn(&str) -> Option<bool>) {
    let Some(corpus) = corpus(test) else {
        return;
    };
    let root = corpus.join(folder);
    let files = files_below(&root);
    assert!(!files.is_empty(), "{folder} is empty");
    let mut failures = Vec::new();
    for path in files {
        let inspection = inspect_file(&path, &root);
        let name = path.strip_prefix(&root).expect("it lies below").to_string_lossy();
        let n_errors = inspection.count(Severity::Error);
        let expected = has_errors(&name);
        if expected.is_some_and(|expected| expected != (n_errors > 0)) {
            failures.push(format!("{folder}/{name}: {n_errors} errors\n{}", listing(&inspection)));
        }
        if inspection.plan.is_none() && inspection.dialect.is_none() && n_errors == 0 {
            failures.push(format!("{folder}/{name}: neither read nor refused"));
        }
        if expected == Some(false) && dialect.is_some() && inspection.dialect_name() != dialect {
            failures.push(format!("{folder}/{name}: read as {:?}", inspection.dialect));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Upstream tests name in their file names what must be refused.
fn by_name(name: &str) -> Option<bool> {
    Some(name.starts_with("test_invalid_"))
}

#[test]
fn clido_plans() {
    check_folder("corpus::clido_plans", "clido", Some("clido"), by_name);
}

#[test]
fn opencrabs_plans() {
    check_folder("corpus::opencrabs_plans", "opencrabs", Some("opencrabs"), by_name);
}

#[test]
fn rawko_plans() {
    check_folder("corpus::rawko_plans", "rawko", Some("rawko"), by_name);
}

/// The one complete example; the others are fragments made for one command, and lack required fields.
#[test]
fn aimi_files() {
    check_folder("corpus::aimi_files", "aimi/real", Some("aimi"), |name| {
        let is_whole = name == "seed-complete-example.json" || name.starts_with("2026-02-24-aimi-cli-script-tasks");
        is_whole.then_some(false)
    });
}

#[test]
fn aimi_cases() {
    let broken = [
        "empty.json",
        "not-json.json",
        "v3-cycle2.json",
        "v3-self.json",
        "v3-dep-missing.json",
        "v3-dup-ids.json",
        "v3-bad-status.json",
        "v3-no-status.json",
        "v3-no-title.json",
        "v3-no-description.json",
        "v3-no-stories-key.json",
        "v3-maxc-neg.json",
        "v3-branch-semi.json",
        "v3-branch-dollar.json",
        "v3-branch-space.json",
        "v3-priority-string.json",
        "v3-all-errors.json",
        "ver-number.json",
    ];
    check_folder("corpus::aimi_cases", "aimi/cases", None, |name| {
        broken.contains(&name).then_some(true)
    });
}

#[test]
fn ralph_files_are_read_or_refused() {
    check_folder("corpus::ralph_files_are_read_or_refused", "ralph", None, |_| None);
}

/// The original's verdict on each pack: `expected.jsonl` has its answers.
#[test]
fn task_packs() {
    let Some(corpus) = corpus("corpus::task_packs") else {
        return;
    };
    let root = corpus.join("task-pack/real");
    let answers = std::fs::read_to_string(corpus.join("task-pack/expected.jsonl")).expect("the original's answers");
    let mut n_packs = 0;
    for line in answers.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
        if answer["command"] != "validate" {
            continue;
        }
        let path = answer["path"].as_str().expect("a path");
        let inspection = inspect_file(&root.join(path), &root);
        assert_eq!(inspection.dialect_name(), Some("task-pack"), "{path}");
        let is_valid = answer["exit"] == 0;
        assert_eq!(
            inspection.count(Severity::Error) == 0,
            is_valid,
            "{path}:\n{}",
            listing(&inspection)
        );
        let is_stale = answer["json"]["task_pack_validity"] == "stale";
        let says_stale = inspection
            .diagnostics
            .iter()
            .any(|found| found.rule.id == "task-pack-stale");
        assert_eq!(says_stale, is_stale, "{path}");
        n_packs += 1;
    }
    assert!(n_packs >= 8, "only {n_packs} packs were looked at");
}

/// Markdown next to the packs is a checklist where it has boxes; the rest is refused with a finding.
#[test]
fn source_plans_are_no_packs() {
    let Some(corpus) = corpus("corpus::source_plans_are_no_packs") else {
        return;
    };
    let root = corpus.join("task-pack/real/docs/plans");
    let (mut n_checklists, mut n_refused) = (0, 0);
    for path in files_below(&root) {
        let text = std::fs::read_to_string(&path).expect("a text of the corpus");
        let has_boxes = text.lines().any(|line| line.starts_with("- [ ] "));
        let inspection = inspect_file(&path, &root);
        assert_eq!(inspection.plan.is_some(), has_boxes, "{}", path.display());
        assert_eq!(inspection.dialect_name(), Some("checklist"), "{}", path.display());
        let is_refused = inspection.count(Severity::Error) > 0;
        assert_eq!(is_refused, !has_boxes, "{}:\n{}", path.display(), listing(&inspection));
        *(if has_boxes { &mut n_checklists } else { &mut n_refused }) += 1;
    }
    assert!(n_checklists >= 1 && n_refused >= 10, "{n_checklists} and {n_refused}");
}

/// Every valid plan of the corpus converts to every other dialect or is refused with a reason; the same for import and migration.
#[test]
fn every_real_plan_converts_or_is_refused_with_a_reason() {
    let Some(corpus) = corpus("corpus::every_real_plan_converts_or_is_refused_with_a_reason") else {
        return;
    };
    let (mut n_converted, mut refusals) = (0, Vec::new());
    for folder in ["clido", "opencrabs", "rawko", "aimi", "ralph", "task-pack/real"] {
        let root = corpus.join(folder);
        for path in files_below(&root) {
            let inspection = inspect_file(&path, &root);
            let Some(own) = inspection.dialect_name().filter(|_| inspection.plan.is_some()) else {
                continue;
            };
            for target in DIALECTS.iter().filter(|target| target.name() != own) {
                for embed in [Embed::Nothing, Embed::Originals] {
                    let options = ConversionOptions {
                        embed,
                        ..ConversionOptions::default()
                    };
                    match convert_with(&inspection, target.name(), &options) {
                        Ok(converted) => {
                            n_converted += 1;
                            assert_eq!(converted.inspection.count(Severity::Error), 0, "{}", path.display());
                        }
                        Err(refused) => {
                            assert!(!refused.to_diagnostics().is_empty());
                            // A plan without tasks is sound in some dialects only.
                            if inspection.count(Severity::Error) == 0 && !has_no_tasks(&inspection) {
                                refusals.push(format!("{} to {}: {refused}", path.display(), target.name()));
                            }
                        }
                    }
                }
            }
            import_and_migrate(&inspection, own);
        }
    }
    assert!(n_converted > 100, "only {n_converted} conversions");
    assert!(refusals.is_empty(), "{refusals:#?}");
}

fn has_no_tasks(inspection: &Inspection) -> bool {
    inspection
        .plan
        .as_ref()
        .is_none_or(|linked| linked.plan.tasks().is_empty())
}

fn import_and_migrate(inspection: &Inspection, name: &str) {
    let (dialect, options) = (dialect(name), ConversionOptions::default());
    let imported = with_id_source(|id_source| import(&inspection.source, dialect, &options, id_source));
    assert!(imported.is_ok() || inspection.count(Severity::Error) > 0);
    let migrated = with_id_source(|id_source| migrate(inspection, dialect, &MigrationOrder::default(), id_source));
    if let Ok(migrated) = migrated {
        assert_eq!(migrated.inspection.count(Severity::Error), 0);
    }
}
