//! Inspects a plan file: loads it, inspects it, looks up the facts that it needs, inspects it again.

use std::path::Path;

use planwright_core::change::Open;
use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts, DiskLookup};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;

use crate::shell::{FILE_PLACEHOLDER, with_file};
use crate::workspace::{look_up, neighbours_of, root_of, slashed};

/// Inspects a text as the file at a path, or as standard input.
pub fn inspect_file(source: &SourceText, path: Option<&Path>, forced: Option<&'static dyn Dialect>) -> InspectedFile {
    let (mut inspection, facts) = look(path, forced, |choice| inspect(source, choice), |seen| seen);
    if let Some(path) = path {
        let path = path.to_string_lossy();
        let path = path.strip_prefix("./").unwrap_or(&path);
        for found in inspection
            .diagnostics
            .iter_mut()
            .filter(|found| found.help.contains(FILE_PLACEHOLDER))
        {
            found.help = with_file(&found.help, path);
        }
    }
    InspectedFile { inspection, facts }
}

/// Opens a text for a change, as the file at a path or as standard input. Returns the facts that were looked up for it as well.
pub fn open(source: &SourceText, path: Option<&Path>, forced: Option<&'static dyn Dialect>) -> (Open, DiskFacts) {
    look(
        path,
        forced,
        |choice| Open::new(source, choice),
        |open| &open.inspection,
    )
}

/// Reads once, looks up the requested facts on the disk, and reads again if there were any.
fn look<T>(
    path: Option<&Path>,
    forced: Option<&'static dyn Dialect>,
    read: impl Fn(&Choice<'_>) -> T,
    seen: impl Fn(&T) -> &Inspection,
) -> (T, DiskFacts) {
    let name = path.map(slashed);
    let choice = |facts| Choice {
        dialects: DIALECTS,
        forced,
        path: name.as_deref(),
        facts,
    };
    let nothing = DiskFacts {
        looked: DiskLookup::NotYet,
        neighbours: path.and_then(neighbours_of),
        ..DiskFacts::default()
    };
    let first = read(&choice(&nothing));
    let questions = &seen(&first).questions;
    if questions.is_empty() {
        // There was nothing to look up: facts that a later change of the text needs are not found by waiting.
        let facts = DiskFacts {
            looked: DiskLookup::Done,
            ..nothing
        };
        return (first, facts);
    }
    let facts = DiskFacts {
        neighbours: nothing.neighbours.clone(),
        ..look_up(questions, &root_of(path.unwrap_or(Path::new("."))))
    };
    (read(&choice(&facts)), facts)
}

/// An inspection with the facts from the disk.
pub struct InspectedFile {
    pub inspection: Inspection,
    pub facts: DiskFacts,
}
