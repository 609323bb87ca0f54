//! Writes the fixes of files. Does not choose them.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;

use planwright_core::fix::Fixed;
use planwright_core::inspect::Inspection;
use planwright_core::text::SourceText;
use planwright_run::journal::{ChangeRecord, JournalRepair, plan_id};
use planwright_run::store::{PlanFile, PreparedChange, Store, StoreError, UpdateError, replace};

use crate::failure::Result;

/// A file and its fixed text.
pub(super) struct Fixing {
    /// Its path; `-` for standard input, which is not written.
    pub(super) path: PathBuf,
    pub(super) old: SourceText,
    /// The fixed text.
    pub(super) fixed: Fixed,
    /// The inspection of the fixed text; none without fixes.
    pub(super) after: Option<Inspection>,
}

/// How many files are written in parallel: most of the time is spent waiting for the disk.
const MAX_WRITERS: usize = 8;

/// Writes the fixes of all files, and returns the result of each.
pub(super) fn write_all(fixings: &[&Fixing]) -> Vec<Result<Vec<JournalRepair>>> {
    let n_each = fixings.len().div_ceil(MAX_WRITERS).max(1);
    std::thread::scope(|scope| {
        let write_some = |some: &[&Fixing]| some.iter().map(|one| one.write()).collect::<Vec<_>>();
        let writers: Vec<_> = fixings
            .chunks(n_each)
            .map(|some| scope.spawn(move || write_some(some)))
            .collect();
        let results = writers.into_iter().map(|writer| writer.join());
        results
            .flat_map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

impl Fixing {
    /// Writes the fixed text. For a plan, this is a change in its history like any other.
    fn write(&self) -> Result<Vec<JournalRepair>> {
        let (path, text) = (self.path.as_path(), self.fixed.source.as_str());
        let Some(after) = self.after.as_ref().filter(|_| path.as_os_str() != "-") else {
            return Ok(Vec::new());
        };
        let Some(linked) = &after.plan else {
            replace(path, &self.old, text)?;
            return Ok(Vec::new());
        };
        let id = plan_id(&linked.plan);
        let updated = Store::default().update(PlanFile { path, id }, "fix", |newest, _| match newest.as_str() {
            newest if newest == self.old.as_str() => Ok(Some(self.prepared())),
            // The same file under another name.
            newest if newest == text => Ok(None),
            _ => Err(StoreError::Changed { path: path.to_owned() }),
        });
        match updated {
            Ok(updated) => Ok(updated.notices),
            Err(UpdateError::Refused(error) | UpdateError::Store(error)) => Err(error.into()),
        }
    }

    fn prepared(&self) -> PreparedChange {
        let rules: BTreeSet<&str> = self.fixed.applied.iter().map(|applied| applied.rule).collect();
        PreparedChange {
            text: Some(self.fixed.source.clone()),
            change: ChangeRecord {
                verb: "fix".to_owned(),
                note: Some(rules.into_iter().collect::<Vec<_>>().join(", ")),
                ..ChangeRecord::default()
            },
        }
    }
}
