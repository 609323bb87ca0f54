//! Work on a copy of a plan's workspace, for `run --copy-to`: the original stays as it is.

use std::path::Path;

use planwright_run::copy_workspace::duplicate;

use crate::failure::{Failure, Result};
use crate::find_plan::FoundPlan;
use crate::quantity::count;
use crate::sound_config::place_of;
use crate::workspace::Workspace;

/// How many paths that were left out are named.
const MAX_NAMED: usize = 5;

/// Copies the workspace of a plan to a folder, or finds the copy that is there, and returns the plan in it.
pub fn copied(workspace: &Workspace, found: &FoundPlan, folder: &Path) -> Result<FoundPlan> {
    let folder = workspace.path(folder);
    let copy = duplicate(&place_of(found)?, &folder).map_err(|error| match error.is_environment() {
        true => Failure::environment(&error, error.help()),
        false => Failure::problem(error.to_string(), error.help()),
    })?;
    let shown = folder.display();
    match copy.n_copied {
        Some(n_copied) => workspace.remark(&format!("copied {} to {shown}", count(n_copied as u64, "file"))),
        None => workspace.remark(&format!("{shown} is a copy already: the run continues in it")),
    }
    for path in copy.left_out.iter().take(MAX_NAMED) {
        workspace.remark(&format!("left out {}: it leads out of the workspace", path.display()));
    }
    if copy.left_out.len() > MAX_NAMED {
        workspace.remark(&format!("left out {} more", copy.left_out.len() - MAX_NAMED));
    }
    Ok(FoundPlan {
        path: copy.plan,
        forced: found.forced,
    })
}
