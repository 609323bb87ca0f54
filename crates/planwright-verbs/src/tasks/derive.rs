//! The verb `tasks derive`: an executable task pack from a source plan.

use std::path::{Path, PathBuf};

use planwright_core::planning::derive::{DERIVED, SOURCE_HOME, leading_date, pack_place};
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{ChangeRecord, plan_id};
use planwright_run::layout::root_of;
use planwright_run::store::{PlanFile, Store};
use planwright_run::workspace::slashed;
use serde::{Deserialize, Serialize};

use super::derivation::{DerivedPack, PackSource, PackWork, warning_findings, warning_reports};
use super::shown;
use crate::failure::{Failure, Result};
use crate::json::DiagnosticReport;
use crate::planning::{EffortReport, PlannerRequest, PlanningObserver, SourceFindings, create_plan, is_input};
use crate::plans::no_file;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeriveRequest {
    /// The source plan, a Markdown file.
    pub plan: PathBuf,
    #[serde(default)]
    pub planner: PlannerRequest,
    /// The new file; none for `docs/tasks/DATE-NNN-TYPE-NAME-tasks.md`.
    pub out: Option<PathBuf>,
}

#[derive(Serialize)]
pub struct DeriveReport {
    pub schema_version: &'static str,
    pub source_plan: String,
    pub out: String,
    pub written: bool,
    /// Whether it is a draft, because the plan has no `spec_id`.
    pub draft: bool,
    pub n_tasks: usize,
    pub warnings: Vec<DiagnosticReport>,
    /// The planner; null if the answer was given.
    pub agent: Option<String>,
    pub effort: EffortReport,
    pub reasoning: String,
    /// The warnings, with the text for excerpts.
    #[serde(skip)]
    pub findings: SourceFindings,
}

/// Returns the prompt of the planner. Starts nothing and writes nothing.
pub fn prompt(workspace: &Workspace, request: &DeriveRequest) -> Result<String> {
    let (source, out) = opened(workspace, request)?;
    work(request, &source, &out, |work| work.prompt(workspace, &request.planner))
}

/// Has a planner derive a task pack from a source plan.
pub fn derive(
    workspace: &Workspace,
    request: &DeriveRequest,
    observer: &mut dyn PlanningObserver,
) -> Result<DeriveReport> {
    let (source, out) = opened(workspace, request)?;
    refuse_existing(&out)?;
    let pack = work(request, &source, &out, |work| {
        work.plan(workspace, &request.planner, observer)
    })?;
    create_plan(workspace, &out, pack.derived.text.as_str(), DERIVED)?;
    note(workspace, &source, &out, &pack);
    let derived = pack.derived;
    Ok(DeriveReport {
        schema_version: "planwright.derive/v1",
        source_plan: source.path,
        out: shown(&out),
        written: true,
        draft: derived.is_draft,
        n_tasks: derived.n_tasks,
        warnings: warning_reports(&derived.warnings),
        agent: pack.agent,
        effort: pack.effort.into(),
        reasoning: derived.reasoning,
        findings: warning_findings(&out, derived.warnings),
    })
}

/// Returns the source plan, and the file of its pack.
fn opened(workspace: &Workspace, request: &DeriveRequest) -> Result<(PackSource, PathBuf)> {
    let source = source_at(workspace, &request.plan)?;
    let out = match &request.out {
        Some(out) => workspace.path(out),
        None => source.root.join(pack_place(&source.path, &source.text, &today())),
    };
    Ok((source, out))
}

fn work<T>(request: &DeriveRequest, source: &PackSource, out: &Path, call: impl FnOnce(PackWork<'_>) -> T) -> T {
    call(PackWork {
        source,
        date: &date_of(out),
        previous: None,
        pack: out,
        retake: &format!("planwright tasks derive {} --from", request.plan.display()),
    })
}

/// Records how the pack was created.
fn note(workspace: &Workspace, source: &PackSource, out: &Path, pack: &DerivedPack) {
    let inspection = inspect_file(&pack.derived.text, Some(out), None).inspection;
    let id = inspection.plan.as_ref().and_then(|linked| plan_id(&linked.plan));
    let change = ChangeRecord {
        verb: "derive".to_owned(),
        by: pack.agent.clone(),
        note: Some(pack.words(&format!("derived from {}", source.path))),
        ..ChangeRecord::default()
    };
    if let Err(error) = Store::default().record_note(PlanFile { path: out, id }, change) {
        workspace.remark(&format!(
            "warning: the record of the derivation could not be written: {error}"
        ));
    }
}

/// Finds the repository of a plan, and the plan in it.
fn source_at(workspace: &Workspace, plan: &Path) -> Result<PackSource> {
    if is_input(plan) {
        return Err(no_file("name the file of the source plan, which the pack refers to"));
    }
    let plan = &workspace.path(plan);
    let absolute = std::path::absolute(plan).unwrap_or_else(|_| plan.clone());
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let mut root = root_of(plan);
    // Without a repository, the folder of plans is next to that of packs.
    if root == folder && folder.ends_with(SOURCE_HOME) {
        let n_parts = Path::new(SOURCE_HOME).components().count();
        root = folder.ancestors().nth(n_parts).unwrap_or(folder).to_owned();
    }
    let relative = absolute.strip_prefix(&root).map(slashed).map_err(|_| {
        Failure::problem(
            format!("`{}` is not in the repository {}", plan.display(), root.display()),
            "name it by a path without `..` and links",
        )
    })?;
    PackSource::load(root, relative)
}

fn refuse_existing(out: &Path) -> Result<()> {
    if out.symlink_metadata().is_err() {
        return Ok(());
    }
    let shown = shown(out);
    Err(Failure::problem(
        format!("`{shown}` exists already, and was not changed"),
        format!("rebuild it with `planwright tasks regenerate {shown}`, or name another file with --out"),
    ))
}

/// Returns the date in the name of a pack's file, otherwise today's.
pub(super) fn date_of(out: &Path) -> String {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned());
    let date = name.as_deref().and_then(leading_date).map(str::to_owned);
    date.unwrap_or_else(today)
}

fn today() -> String {
    clock::now().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_in_front_of_a_name_is_that_of_the_pack() {
        assert_eq!(
            date_of(Path::new("docs/tasks/2026-05-11-004-feat-x-tasks.md")),
            "2026-05-11"
        );
        for other in ["tasks.md", "2026-5-11-tasks.md", "", "é26-05-11-x"] {
            assert_eq!(date_of(Path::new(other)).len(), 10);
            assert_ne!(date_of(Path::new(other)), "2026-05-11");
        }
    }
}
