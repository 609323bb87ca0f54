//! The verb `verify`: runs what verifies tasks, in any state, and changes none of them.

use std::collections::HashSet;

use planwright_core::plan::{Plan, Status};
use planwright_run::journal::{ManualVerification, plan_id};
use planwright_run::store::{PlanFile, Store};
use serde::{Deserialize, Serialize};

use crate::changes::notice_words;
use crate::failure::{Exit, Result};
use crate::plans::{FoundPlan, OpenedPlan, PlanChoice, open_as, refuse_own_plan, task_named};
use crate::verification::{VerificationEvent, VerificationObserver, VerifiedReport, Verifier};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyRequest {
    pub plan: PlanChoice,
    /// The tasks, in any state; none for every done task.
    pub tasks: Vec<String>,
    pub by: Option<String>,
    /// Also runs criteria that are a command between backticks.
    pub allow_plan_commands: bool,
}

#[derive(Serialize)]
pub struct VerifyReport {
    pub schema_version: &'static str,
    pub plan: String,
    /// Whether no command failed.
    pub passed: bool,
    pub n_passed: usize,
    pub n_failed: usize,
    /// The number of tasks without commands.
    pub n_unverified: usize,
    pub tasks: Vec<VerifiedReport>,
    pub notices: Vec<String>,
    /// Whether there is a rule that could verify a task.
    #[serde(skip)]
    pub has_rules: bool,
}

impl VerifyReport {
    pub fn exit(&self) -> Exit {
        Exit::success_if(self.passed)
    }
}

/// Runs the commands that verify tasks.
pub fn verify(
    workspace: &Workspace,
    request: &VerifyRequest,
    observer: &mut dyn VerificationObserver,
) -> Result<VerifyReport> {
    let found = request.plan.find(workspace, "name its file with --plan")?;
    refuse_own_plan(&found, "verify tasks of its own plan")?;
    let opened = open_as(&found.path, found.forced)?;
    let plan = &opened.linked()?.plan;
    let tasks = wanted(request, &opened)?;
    let mut verifier = Verifier::open(workspace, &found, request.allow_plan_commands)?;
    let mut all = Vec::new();
    let mut notices = Vec::new();
    for &task_ix in &tasks {
        let name = plan.task_name(task_ix);
        let task = plan.tasks().get(task_ix);
        observer.happens(VerificationEvent::TaskBegins {
            task: &name,
            title: task.map_or("", |task| plan.task_subject(task)),
        });
        let checks = verifier.checks(plan, task_ix);
        let verdict = verifier.run(plan, task_ix, checks, observer)?;
        let gaps = &verdict.gaps();
        observer.happens(VerificationEvent::TaskEnds { task: &name, gaps });
        let verified = ManualVerification {
            by: request.by.clone(),
            ..verdict.verified(&name)
        };
        if !verified.receipts.is_empty() {
            record(&found, plan, &verified, &mut notices)?;
        }
        all.push(verified);
    }
    let n_passed = all.iter().filter(|verified| verified.passed).count();
    let n_unverified = all.iter().filter(|verified| verified.receipts.is_empty()).count();
    let n_failed = all.len() - n_passed - n_unverified;
    for notice in &notices {
        workspace.remark(&format!("note: {notice}"));
    }
    Ok(VerifyReport {
        schema_version: "planwright.verify/v1",
        plan: opened.path.clone(),
        passed: n_failed == 0,
        n_passed,
        n_failed,
        n_unverified,
        tasks: all.iter().map(VerifiedReport::from).collect(),
        notices,
        has_rules: verifier.has_rules(),
    })
}

/// Returns the requested tasks, each once.
fn wanted(request: &VerifyRequest, opened: &OpenedPlan) -> Result<Vec<usize>> {
    let linked = opened.linked()?;
    if request.tasks.is_empty() {
        let tasks = linked.plan.tasks().iter().enumerate();
        let done = tasks.filter(|(_, task)| task.status == Status::Done);
        return Ok(done.map(|(task_ix, _)| task_ix).collect());
    }
    let mut seen = HashSet::new();
    let named = request.tasks.iter().map(|name| task_named(linked, name));
    named
        .filter(|found| found.as_ref().map_or(true, |&task_ix| seen.insert(task_ix)))
        .collect()
}

fn record(found: &FoundPlan, plan: &Plan, verified: &ManualVerification, notices: &mut Vec<String>) -> Result<()> {
    let file = PlanFile {
        path: &found.path,
        id: plan_id(plan),
    };
    let noted = Store::default().record_verified(file, verified.clone())?;
    for notice in noted.iter().map(notice_words) {
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    Ok(())
}
