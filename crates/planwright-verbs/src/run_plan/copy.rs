//! `run --copy-to`: runs in a copy of the workspace, and leaves the original unchanged.

use std::path::Path;

use planwright_run::copy_workspace::duplicate;
use planwright_run::files::DiskFiles;
use planwright_run::layout::PlanPlace;
use planwright_run::store::LoadError;

use crate::failure::{Failure, Result};
use crate::plans::FoundPlan;
use crate::text::count;
use crate::workspace::Workspace;

/// How many of the omitted entries are named.
const MAX_NAMED: usize = 5;

/// Copies the workspace of a plan to a folder, or finds the existing copy, and returns the plan in it.
pub(super) fn copied(workspace: &Workspace, found: &FoundPlan, folder: &Path) -> Result<FoundPlan> {
    let place =
        PlanPlace::of(&DiskFiles, &found.path).map_err(|source| Failure::from(LoadError::new(&found.path, source)))?;
    let copy = duplicate(&place, folder)?;
    let shown = folder.display();
    match copy.n_copied {
        Some(n_copied) => workspace.remark(&format!("copied {} to {shown}", count(n_copied as u64, "file"))),
        None => workspace.remark(&format!("{shown} is a copy already: the run continues in it")),
    }
    for path in copy.left_out.iter().take(MAX_NAMED) {
        workspace.remark(&format!(
            "left out {}: it is a link out of the workspace",
            path.display()
        ));
    }
    if copy.left_out.len() > MAX_NAMED {
        workspace.remark(&format!("left out {} more", copy.left_out.len() - MAX_NAMED));
    }
    Ok(FoundPlan {
        path: copy.plan,
        forced: found.forced,
    })
}
