//! The configuration that a verb works by: nothing is done by one that has errors.

use std::path::Path;

use planwright_run::config::{self, Config, ConfigInputs, Configuration};
use planwright_run::files::DiskFiles;
use planwright_run::layout::PlanPlace;
use planwright_run::store::LoadError;

use crate::config_findings::refuse_unsound;
use crate::failure::Result;
use crate::find_plan::FoundPlan;
use crate::open_plan::load_failure;
use crate::workspace::Workspace;

/// Reads the configuration of a workspace; `so` is what is not done where it has errors.
pub fn sound_config(workspace: &Workspace, root: &Path, so: &str) -> Result<Configuration> {
    let configuration = config::load(root, &ConfigInputs::of_process());
    refuse_unsound(workspace, &configuration, so)?;
    Ok(configuration)
}

/// Reads the configuration of a plan's workspace, for what a plan needs before work on it.
pub fn config_of(workspace: &Workspace, found: &FoundPlan) -> Result<Config> {
    let place = place_of(found)?;
    let so = "so what a plan needs before work on it is unknown";
    sound_config(workspace, &place.root, so).map(|configuration| configuration.config)
}

/// Returns the place of a plan in its workspace.
pub fn place_of(found: &FoundPlan) -> Result<PlanPlace> {
    PlanPlace::of(&DiskFiles, &found.path).map_err(|source| load_failure(&LoadError::new(&found.path, source)))
}
