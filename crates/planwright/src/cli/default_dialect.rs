//! The dialect of a plan that no option names one for: `plan.dialect`, else that of the plans that exist, else clido.

use std::path::Path;

use planwright_core::dialect::{self, CarrierKind, Dialect};
use planwright_run::config::Config;
use planwright_run::examine::examine;
use planwright_run::store;
use planwright_run::workspace::plans_at_home;

use super::plan_arg::dialect_named;

/// The dialect where nothing else decides.
const USUAL: &str = "clido";

/// Returns the dialect that a new plan has: the one named by `--dialect`, else the default of the workspace.
pub(crate) fn dialect_or_default(
    named: Option<&str>,
    config: &Config,
    root: &Path,
) -> anyhow::Result<&'static dyn Dialect> {
    let configured = config.plan.dialect.as_deref();
    match named.or(configured) {
        Some(name) => dialect_named(name),
        None => match of_existing_plans(root) {
            Some(dialect) => Ok(dialect),
            None => dialect_named(USUAL),
        },
    }
}

/// Returns the dialect of most plans of a workspace. Task packs do not count: they are derived from a Markdown plan.
fn of_existing_plans(root: &Path) -> Option<&'static dyn Dialect> {
    let mut counts: Vec<(&'static dyn Dialect, usize)> = Vec::new();
    for path in plans_at_home(root) {
        let Ok(loaded) = store::load(&path) else {
            continue;
        };
        let own = examine(&loaded.source, Some(&path), None).inspection.dialect;
        let own = own.and_then(dialect::find);
        let Some(own) = own.filter(|own| own.carriers().first() != Some(&CarrierKind::Markdown)) else {
            continue;
        };
        match counts.iter_mut().find(|(known, _)| known.name() == own.name()) {
            Some((_, n)) => *n += 1,
            None => counts.push((own, 1)),
        }
    }
    // The first of those with the same count, in the order in which plans are listed.
    let most = counts.iter().map(|(_, n)| *n).max()?;
    counts.iter().find(|(_, n)| *n == most).map(|(dialect, _)| *dialect)
}
