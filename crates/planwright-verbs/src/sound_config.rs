//! The configuration that a verb works by: nothing is done by one that has errors.

use std::path::Path;

use planwright_core::diagnostic::Severity;
use planwright_run::config::{self, Config, Configuration, Surroundings};
use planwright_run::files::DiskFiles;
use planwright_run::layout::PlanPlace;
use planwright_run::store::LoadError;

use crate::failure::{Drawn, Evidence, Exit, Failure, Result};
use crate::find_plan::FoundPlan;
use crate::open_plan::load_failure;
use crate::quantity::count;
use crate::workspace::from_here;

/// Reads the configuration of a workspace; `so` is what is not done where it has errors.
pub fn sound_config(root: &Path, so: &str) -> Result<Configuration> {
    let configuration = config::load(root, &Surroundings::of_process());
    refuse_unsound(&configuration, so)?;
    Ok(configuration)
}

/// Reads the configuration of a plan's workspace, for what a plan needs before work on it.
pub fn config_of(found: &FoundPlan) -> Result<Config> {
    let place = place_of(found)?;
    let so = "so what a plan needs before work on it is unknown";
    sound_config(&place.root, so).map(|configuration| configuration.config)
}

/// Returns the place of a plan in its workspace.
pub fn place_of(found: &FoundPlan) -> Result<PlanPlace> {
    PlanPlace::of(&DiskFiles, &found.path).map_err(|source| load_failure(&LoadError::new(&found.path, source)))
}

/// Refuses to act on a configuration with errors; `so` is what is not done.
pub fn refuse_unsound(configuration: &Configuration, so: &str) -> Result<()> {
    if !configuration.has_errors() {
        return Ok(());
    }
    let all = configuration.sources.iter().flat_map(|source| &source.findings);
    let n_errors = all.filter(|finding| finding.severity == Severity::Error).count();
    let (exit, message) = match configuration.is_unread() {
        true => (Exit::Environment, format!("the configuration cannot be read, and {so}")),
        false => (
            Exit::Problems,
            format!("the configuration has {}, and {so}", count(n_errors as u64, "error")),
        ),
    };
    Err(Failure {
        exit,
        message,
        help: "correct it; `planwright config` shows what holds, and every finding".to_owned(),
        evidence: evidence_of(configuration),
    })
}

/// Returns what is wrong with a configuration.
pub fn evidence_of(configuration: &Configuration) -> Vec<Evidence> {
    let sources = configuration
        .sources
        .iter()
        .filter(|source| !source.findings.is_empty());
    let evidence = sources.map(|source| Evidence {
        path: from_here(&source.name()).to_string_lossy().into_owned(),
        source: source.text.clone(),
        span: None,
        findings: source.findings.clone(),
        drawn: Drawn::Findings,
    });
    evidence.collect()
}
