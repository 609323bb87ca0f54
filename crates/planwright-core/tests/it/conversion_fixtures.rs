//! One rich plan per dialect, converted to every other: the texts and the reports of changes, as files.
//!
//! `fixtures/convert/<dialect>/plan.ext` is the plan; `to-<target>.ext` what becomes of it and `to-<target>.losses` the account.
//! Set `PLANWRIGHT_BLESS=1` to write what comes out, then read the difference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planwright_core::convert::{ConversionOptions, Converted};
use planwright_core::dialect::{CarrierKind, DIALECTS, Dialect};
use planwright_core::inspect::Inspection;

use crate::conversions::{convert_with, inspect_as};
use crate::fixtures::root;

fn folder(dialect: &str) -> PathBuf {
    root().join("convert").join(dialect)
}

fn extension(dialect: &dyn Dialect) -> &'static str {
    match dialect.carriers() {
        [CarrierKind::Yaml, ..] => "yaml",
        [CarrierKind::Markdown, ..] => "md",
        _ => "json",
    }
}

/// Returns the rich plan of a dialect.
pub(crate) fn rich(dialect: &dyn Dialect) -> Inspection {
    let path = folder(dialect.name()).join(format!("plan.{}", extension(dialect)));
    let text = std::fs::read_to_string(path).expect("a rich plan");
    inspect_as(&text, dialect.name())
}

/// Returns one line per loss: what, whose, which field, where, in which words.
fn account(converted: &Converted, source: &Inspection) -> String {
    let index = source.source.line_index();
    let mut out = String::new();
    for loss in &converted.losses {
        let plan = &source.plan.as_ref().expect("a plan").plan;
        let task = loss.task.map_or("-".into(), |task_ix| plan.task_name(task_ix));
        let place = loss.span.map_or("-".to_owned(), |span| {
            let at = index.position(span.start);
            format!("{}:{}", at.line, at.column)
        });
        out.push_str(&format!(
            "{} {task} {} {place} {}\n",
            loss.kind.as_str(),
            loss.field,
            loss.message
        ));
    }
    out
}

fn compare(path: &Path, found: &str, failures: &mut Vec<String>) {
    if std::env::var_os("PLANWRIGHT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, found).expect("a file");
        return;
    }
    match std::fs::read_to_string(path) {
        Ok(expected) if expected == found => {}
        Ok(expected) => failures.push(format!("{}: expected\n{expected}\nfound\n{found}", path.display())),
        Err(_) => failures.push(format!("{} is missing; found\n{found}", path.display())),
    }
}

#[test]
fn rich_plans_convert_to_the_expected_files() {
    let mut failures = Vec::new();
    let mut known = BTreeSet::new();
    for from in DIALECTS {
        let source = rich(*from);
        let folder = folder(from.name());
        known.insert(folder.join(format!("plan.{}", extension(*from))));
        for to in DIALECTS.iter().filter(|to| to.name() != from.name()) {
            let converted =
                convert_with(&source, to.name(), &ConversionOptions::default()).expect("a rich plan converts");
            let name = format!("to-{}", to.name());
            let text = folder.join(format!("{name}.{}", extension(*to)));
            let losses = folder.join(format!("{name}.losses"));
            compare(&text, &converted.text, &mut failures);
            compare(&losses, &account(&converted, &source), &mut failures);
            known.extend([text, losses]);
        }
    }
    for from in DIALECTS {
        let files = std::fs::read_dir(folder(from.name())).expect("a folder").flatten();
        let strays = files.map(|file| file.path()).filter(|path| !known.contains(path));
        failures.extend(strays.map(|path| format!("{} belongs to no conversion", path.display())));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
