//! The dialect of a new plan without an option: `plan.dialect`, otherwise that of the existing plans, otherwise the default.

use std::path::Path;

use planwright_core::dialect::{CarrierKind, DEFAULT, DIALECTS, Dialect};
use planwright_run::config::Config;
use planwright_run::inspect_file::inspect_file;
use planwright_run::store;
use planwright_run::workspace::plans_at_home;

use crate::failure::{Failure, Result};
use crate::plans::dialect_named;

/// Returns the dialect of a new plan: the one in `--dialect`, otherwise the default of the workspace, if the extension of the new file
/// allows it.
pub fn dialect_or_default(
    named: Option<&str>,
    config: &Config,
    root: &Path,
    out: Option<&Path>,
) -> Result<&'static dyn Dialect> {
    let configured = config.plan.dialect.as_deref();
    if let Some(name) = named.or(configured) {
        return dialect_named(name);
    }
    let usual = of_existing_plans(root).unwrap_or(DEFAULT);
    let carrier = out.and_then(|out| CarrierKind::of_path(&out.to_string_lossy()));
    match carrier.filter(|carrier| !usual.carriers().contains(carrier)) {
        None => Ok(usual),
        Some(carrier) => {
            let fitting = DIALECTS.iter().filter(|dialect| dialect.carriers().contains(&carrier));
            let names: Vec<&str> = fitting.map(|dialect| dialect.name()).collect();
            Err(Failure::usage(
                format!(
                    "the new plan would be a {}, and its file has another extension",
                    usual.title()
                ),
                format!(
                    "choose the dialect with --dialect: {}; or name another file",
                    names.join(", ")
                ),
            ))
        }
    }
}

/// Returns the dialect of most plans of a workspace. Dialects whose plans are derived from other documents do not count.
fn of_existing_plans(root: &Path) -> Option<&'static dyn Dialect> {
    let mut counts: Vec<(&'static dyn Dialect, usize)> = Vec::new();
    for path in plans_at_home(root) {
        let Ok(loaded) = store::load(&path) else {
            continue;
        };
        let own = inspect_file(&loaded.source, Some(&path), None).inspection.dialect;
        let Some(own) = own.filter(|own| derived_by(*own).is_none()) else {
            continue;
        };
        match counts.iter_mut().find(|(known, _)| *known == own) {
            Some((_, n)) => *n += 1,
            None => counts.push((own, 1)),
        }
    }
    // With equal counts, the first in the order in which plans are listed.
    let most = counts.iter().map(|(_, n)| *n).max()?;
    counts.iter().find(|(_, n)| *n == most).map(|(dialect, _)| *dialect)
}

/// Returns the command that derives plans of a dialect from another document, if no planner writes them.
pub fn derived_by(dialect: &dyn Dialect) -> Option<&'static str> {
    dialect.planning().and_then(|planning| planning.derived_by)
}
