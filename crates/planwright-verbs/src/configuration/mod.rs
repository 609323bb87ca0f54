//! The configuration of a verb, and its findings: errors are reported, and a reason to refuse.

mod fence_support;

use std::path::Path;

use planwright_core::diagnostic::Severity;
use planwright_run::config::{self, Config, ConfigInputs, Configuration};
use planwright_run::files::DiskFiles;
use planwright_run::layout::PlanPlace;
use planwright_run::store::LoadError;

pub use self::fence_support::FenceSupport;

use crate::failure::{Exit, Failure, Result};
use crate::plans::FoundPlan;
use crate::text::count;
use crate::workspace::{FileFindings, Workspace, from_here};

/// Returns the findings about each file, variable and flag of a configuration.
pub fn findings_of(configuration: &Configuration) -> Vec<FileFindings> {
    let sources = configuration.sources.iter().map(|source| FileFindings {
        path: from_here(&source.name()).to_string_lossy().into_owned(),
        source: source.text.clone(),
        findings: source.findings.clone(),
    });
    sources.collect()
}

/// Returns how many errors a configuration has, in words; none where it has no errors.
pub fn error_count(found: &[FileFindings]) -> Option<String> {
    let findings = found.iter().flat_map(|file| &file.findings);
    let n_errors = findings.filter(|found| found.severity == Severity::Error).count();
    (n_errors > 0).then(|| format!("the configuration has {}", count(n_errors as u64, "error")))
}

/// Reports the findings about a configuration to the user.
pub(crate) fn report_findings(workspace: &Workspace, configuration: &Configuration) {
    let found = findings_of(configuration);
    found.iter().for_each(|file| workspace.report_findings(file));
    if let Some(words) = error_count(&found) {
        workspace.remark(&words);
    }
}

/// Reports the findings about a configuration with errors, and refuses to use it; `so` names the consequence.
pub(crate) fn refuse_unsound(workspace: &Workspace, configuration: &Configuration, so: &str) -> Result<()> {
    if !configuration.has_errors() {
        return Ok(());
    }
    report_findings(workspace, configuration);
    let help = "correct it; `planwright config` shows the effective settings, and every finding";
    Err(match configuration.is_unread() {
        true => Failure::outside(format!("the configuration cannot be read, and {so}"), help),
        false => Failure::problem(format!("the configuration has errors, and {so}"), help),
    })
}

/// Returns the exit of a verb that shows a configuration.
pub fn exit_of(configuration: &Configuration) -> Exit {
    match () {
        () if configuration.is_unread() => Exit::Environment,
        () if configuration.has_errors() => Exit::Problems,
        () => Exit::Success,
    }
}

/// Reads the configuration of a workspace; `so` names the consequence if it has errors.
pub(crate) fn sound_config(workspace: &Workspace, root: &Path, so: &str) -> Result<Configuration> {
    let configuration = config::load(root, &ConfigInputs::of_process());
    refuse_unsound(workspace, &configuration, so)?;
    Ok(configuration)
}

/// Reads the configuration of a plan's workspace, for the requirements of work on the plan.
pub(crate) fn config_of(workspace: &Workspace, found: &FoundPlan) -> Result<Config> {
    let place = place_of(found)?;
    let so = "so what a plan needs before work on it is unknown";
    sound_config(workspace, &place.root, so).map(|configuration| configuration.config)
}

pub fn place_of(found: &FoundPlan) -> Result<PlanPlace> {
    PlanPlace::of(&DiskFiles, &found.path).map_err(|source| Failure::from(LoadError::new(&found.path, source)))
}
