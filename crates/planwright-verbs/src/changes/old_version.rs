//! Refuses verbs on a version of a plan that another one has replaced.

use planwright_run::revise;
use planwright_run::shell::argument;

use crate::failure::{Failure, Result};
use crate::plans::FoundPlan;
use crate::workspace::from_here;

/// Refuses a plan that has a newer version, and returns the command for that one.
pub(crate) fn refuse_old_version(found: &FoundPlan, verb: &str) -> Result<()> {
    let Some(newest) = revise::newest_version(&found.path, found.forced) else {
        return Ok(());
    };
    let newest = from_here(&newest);
    Err(Failure::problem(
        format!(
            "`{}` was replanned: its newest version is `{}`",
            found.path.display(),
            newest.display()
        ),
        format!("planwright {verb} {}", argument(&newest.to_string_lossy())),
    ))
}
