//! The verb `doctor`: whether plans can run here, and what to fix if not.

mod overview;

use std::path::Path;

use planwright_core::diagnostic::Diagnostic;
use planwright_run::config::Configuration;
use planwright_run::doctor::{DoctorFinding, diagnose};
use planwright_run::files::DiskFiles;
use planwright_run::runs;
use planwright_run::workspace::root_of;
use serde::{Deserialize, Serialize};

pub use self::overview::DoctorFact;
use self::overview::facts;
use crate::configuration::FenceSupport;
use crate::failure::{Exit, Result};
use crate::json::RangeReport;
use crate::plans::{PlanChoice, open_checklists};
use crate::run_plan::{RunObstacle, RunPlanRequest, obstacle};
use crate::verification::VerificationObserver;
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DoctorRequest {
    /// Run the commands that verify tasks, once each, in a clean checkout.
    pub run: bool,
}

#[derive(Serialize)]
pub struct DoctorReport {
    pub schema_version: &'static str,
    pub root: String,
    /// Whether `planwright run` could start.
    pub healthy: bool,
    pub facts: Vec<DoctorFact>,
    pub n_plans: usize,
    pub n_journals: usize,
    /// The kernel's support for the fence of agents.
    pub fence: FenceSupport,
    /// The findings, those about the configuration first.
    pub findings: Vec<DoctorFindingReport>,
    /// How many findings concern the configuration.
    #[serde(skip)]
    pub n_in_configuration: usize,
    #[serde(skip)]
    pub configuration: Configuration,
    /// Whether a run is active now.
    #[serde(skip)]
    pub is_running: bool,
    /// Whether a run needs the name of its plan, because there are several.
    #[serde(skip)]
    pub has_several_plans: bool,
}

impl DoctorReport {
    pub fn exit(&self) -> Exit {
        Exit::success_if(self.healthy)
    }
}

#[derive(Serialize)]
pub struct DoctorFindingReport {
    pub id: &'static str,
    /// `error` if something does not work until it is fixed, otherwise `warning`.
    pub severity: &'static str,
    /// From the root of the workspace.
    pub path: Option<String>,
    pub message: String,
    pub help: String,
    /// The place in that file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<RangeReport>,
}

pub fn doctor(
    workspace: &Workspace,
    request: &DoctorRequest,
    observer: &mut dyn VerificationObserver,
) -> Result<DoctorReport> {
    let root = root_of(workspace.folder());
    let mut findings = diagnose(&root);
    let mut facts = facts(&root, &mut findings, request.run, observer)?;
    if findings.n_plans == 0 {
        let lists = open_checklists(&root);
        facts.extend(lists.iter().map(|list| DoctorFact {
            name: "found",
            words: list.words(),
        }));
    }
    let live = runs::live_runs(&DiskFiles, &root);
    let only_plan = PlanChoice::default().find(workspace, "name its file");
    if let Some(run) = live.first() {
        let words = format!("process {} is running a plan now", run.pid);
        facts.push(DoctorFact { name: "run", words });
    } else if let Ok(found) = &only_plan
        && !findings.has_errors()
    {
        let obstacle = obstacle(&RunPlanRequest::default(), found);
        let finding = |RunObstacle { message, help }| DoctorFinding::cannot_run(&message, help);
        findings.findings.extend(obstacle.map(finding));
    }
    let mut reports: Vec<DoctorFindingReport> = in_configuration(&findings.configuration, &root).collect();
    let n_in_configuration = reports.len();
    reports.extend(findings.findings.iter().map(finding));
    Ok(DoctorReport {
        schema_version: "planwright.doctor/v1",
        root: match from_here(&root) {
            path if path.as_os_str().is_empty() => ".".to_owned(),
            path => path.to_string_lossy().into_owned(),
        },
        healthy: !findings.has_errors(),
        facts,
        n_plans: findings.n_plans,
        n_journals: findings.n_journals,
        fence: FenceSupport::of(&findings.configuration.config),
        findings: reports,
        n_in_configuration,
        is_running: !live.is_empty(),
        has_several_plans: findings.n_plans > 1 && only_plan.is_err(),
        configuration: findings.configuration,
    })
}

fn finding(found: &DoctorFinding) -> DoctorFindingReport {
    DoctorFindingReport {
        id: found.id,
        severity: found.severity.as_str(),
        path: found.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        message: found.message.clone(),
        help: found.help.clone(),
        range: None,
    }
}

fn in_configuration<'c>(
    configuration: &'c Configuration,
    root: &'c Path,
) -> impl Iterator<Item = DoctorFindingReport> + 'c {
    configuration.sources.iter().flat_map(move |source| {
        let index = source.text.line_index();
        let name = source.name();
        let path = name.strip_prefix(root).unwrap_or(&name).to_string_lossy().into_owned();
        let finding = move |found: &Diagnostic| DoctorFindingReport {
            id: found.rule.id,
            severity: found.severity.as_str(),
            path: Some(path.clone()),
            message: found.message.clone(),
            help: match found.help.as_str() {
                "" => found.label.clone(),
                help => help.to_owned(),
            },
            range: found.span.map(|span| RangeReport::new(span, &index)),
        };
        source.findings.iter().map(finding)
    })
}
