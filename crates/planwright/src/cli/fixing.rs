//! `check --fix`: writes fixes and reports them. Decides nothing about them.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;

use planwright_core::fix::Fixed;
use planwright_core::inspect::Inspection;
use planwright_core::text::SourceText;
use planwright_run::journal::{Change, Notice, plan_id};
use planwright_run::store::{PlanFile, Prepared, ReplaceError, Store, UpdateError, replace};

use super::exit::Failure;
use super::output::Output;
use crate::render::terminal::printable;

/// A file and what its fixes make of it.
pub(crate) struct Fixing {
    /// Where it is; `-` for standard input, which nobody writes to.
    pub(crate) path: PathBuf,
    /// What it held.
    pub(crate) old: SourceText,
    /// What it is to hold.
    pub(crate) fixed: Fixed,
    /// What is known of that; none where nothing is fixed.
    pub(crate) after: Option<Inspection>,
}

/// How many files are written side by side: most of the time goes by waiting for the disk.
const MAX_WRITERS: usize = 8;

/// Writes the fixes of all files, and returns what came of each.
pub(crate) fn write_all(fixings: &[&Fixing]) -> Vec<anyhow::Result<Vec<Notice>>> {
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
    /// Gives the file its fixed text. A plan has a history, in which this is a change like others; what holds no plan has none.
    fn write(&self) -> anyhow::Result<Vec<Notice>> {
        let (path, text) = (self.path.as_path(), self.fixed.source.as_str());
        let Some(after) = self.after.as_ref().filter(|_| path.as_os_str() != "-") else {
            return Ok(Vec::new());
        };
        let Some(linked) = &after.plan else {
            let replaced = replace(path, &self.old, text);
            return replaced
                .map(|()| Vec::new())
                .map_err(|error| Failure::environment(&error, error.help()));
        };
        let id = plan_id(&linked.plan);
        let updated = Store::default().update(PlanFile { path, id }, "fix", |newest, _| match newest.as_str() {
            newest if newest == self.old.as_str() => Ok(Some(self.prepared())),
            // The same file under another name.
            newest if newest == text => Ok(None),
            _ => Err(ReplaceError::Changed { path: path.to_owned() }),
        });
        match updated {
            Ok(updated) => Ok(updated.notices),
            Err(UpdateError::Refused(error)) => Err(Failure::environment(&error, error.help())),
            Err(UpdateError::Store(error)) => Err(Failure::environment(&error, error.help())),
        }
    }

    fn prepared(&self) -> Prepared {
        let rules: BTreeSet<&str> = self.fixed.applied.iter().map(|applied| applied.rule).collect();
        Prepared {
            text: Some(self.fixed.source.clone()),
            change: Change {
                verb: "fix".to_owned(),
                note: Some(rules.into_iter().collect::<Vec<_>>().join(", ")),
                ..Change::default()
            },
        }
    }
}

/// Says which fixes were made, or would be, and how many were not.
pub(crate) fn say_fixed(shown: &str, fixed: &Fixed, verb: &str, output: &mut Output) {
    for applied in &fixed.applied {
        output.remark(&format!(
            "{verb} {shown}:{}: {} ({})",
            applied.line,
            printable(&applied.title),
            applied.rule
        ));
    }
    if fixed.n_refused > 0 {
        let what = match fixed.n_refused {
            1 => format!("1 fix in {shown} left out: it"),
            n => format!("{n} fixes in {shown} left out: they"),
        };
        output.remark(&format!("{what} would have made things worse"));
    }
}
