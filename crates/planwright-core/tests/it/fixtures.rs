//! The fixtures of every dialect as values, for tests that want them all.

use std::path::PathBuf;

use planwright_core::dialect::{Choice, DIALECTS, DiskFacts};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;
use planwright_testkit::repository;

/// One file below `fixtures/<dialect>/<kind>/`.
pub(crate) struct Fixture {
    pub(crate) dialect: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Fixture {
    pub(crate) fn source(&self) -> SourceText {
        SourceText::from_bytes(self.bytes.clone())
    }
}

/// Returns the folder with one folder of fixtures per dialect.
pub(crate) fn root() -> PathBuf {
    repository().join("crates/planwright-core/fixtures")
}

/// Returns the plans among the fixtures of one kind: `accept`, `reject` or `fix`.
pub(crate) fn fixtures(kind: &str) -> Vec<Fixture> {
    let mut found = Vec::new();
    for dialect in DIALECTS {
        let folder = root().join(dialect.name()).join(kind);
        let entries = std::fs::read_dir(&folder).expect("every dialect has fixtures");
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_answer = path.extension().is_some_and(|name| name == "expect" || name == "after");
            if !is_answer {
                found.push(Fixture {
                    dialect: dialect.name(),
                    bytes: std::fs::read(&path).expect("a readable fixture"),
                    path,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Calls a function with the choice among all dialects, without a path and without facts from the disk.
pub(crate) fn with_choice<T>(run: impl FnOnce(&Choice<'_>) -> T) -> T {
    let facts = DiskFacts::default();
    run(&Choice::by_content(&facts))
}

/// Inspects a text on its own.
pub(crate) fn inspect_text(text: impl Into<String>) -> Inspection {
    with_choice(|choice| inspect(&SourceText::new(text), choice))
}

/// Returns the ids of all findings, in order.
pub(crate) fn rule_ids(inspection: &Inspection) -> Vec<&'static str> {
    inspection.diagnostics.iter().map(|found| found.rule.id).collect()
}
