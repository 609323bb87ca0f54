//! A plan file from path to findings: load it, inspect it, look up what it asks for, inspect it again.

use std::path::Path;

use planwright_core::change::Open;
use planwright_core::dialect::{Choice, DIALECTS, Dialect, Facts, Looked};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::text::SourceText;

use crate::workspace::{look_up, neighbours_of, root_of, slashed};

/// Inspects a text as the file at a path, or as standard input.
pub fn examine(source: &SourceText, path: Option<&Path>, forced: Option<&'static dyn Dialect>) -> Examined {
    let name = path.map(slashed);
    let choice = |facts| Choice {
        dialects: DIALECTS,
        forced,
        path: name.as_deref(),
        facts,
    };
    let nothing = Facts {
        looked: Looked::NotYet,
        neighbours: path.and_then(neighbours_of),
        ..Facts::default()
    };
    let first = inspect(source, &choice(&nothing));
    if first.questions.is_empty() {
        return Examined {
            inspection: first,
            facts: nothing,
        };
    }
    let facts = Facts {
        neighbours: nothing.neighbours.clone(),
        ..look_up(&first.questions, &root_of(path.unwrap_or(Path::new("."))))
    };
    Examined {
        inspection: inspect(source, &choice(&facts)),
        facts,
    }
}

/// Opens a text as the file at a path, to be changed. Returns what was looked up for it as well.
pub fn open(source: &SourceText, path: &Path, forced: Option<&'static dyn Dialect>) -> (Open, Facts) {
    let name = slashed(path);
    let choice = |facts| Choice {
        dialects: DIALECTS,
        forced,
        path: Some(&name),
        facts,
    };
    let nothing = Facts {
        looked: Looked::NotYet,
        neighbours: neighbours_of(path),
        ..Facts::default()
    };
    let first = Open::new(source, &choice(&nothing));
    if first.inspection.questions.is_empty() {
        return (first, nothing);
    }
    let facts = Facts {
        neighbours: nothing.neighbours.clone(),
        ..look_up(&first.inspection.questions, &root_of(path))
    };
    (Open::new(source, &choice(&facts)), facts)
}

/// An inspection with what the disk had to say.
pub struct Examined {
    /// The inspection.
    pub inspection: Inspection,
    /// What was looked up for it.
    pub facts: Facts,
}
