//! The verbs `approve` and `reject`: the review of a plan, or of the work of a task.

use planwright_core::plan::PlanVerb;
use planwright_run::review::{PATIENCE, Review, ReviewError, ReviewResult, ReviewVerdict, review};
use planwright_run::revise::{ChangeTarget, RevisedPlan};
use planwright_run::store;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, RunAnswer, revise_failure, step_words};
use crate::failure::{Exit, Failure, Result};
use crate::plan_transition::change_plan;
use crate::plans::{FoundPlan, PlanChoice, find, find_named, plan_xor_task};
use crate::run_plan::approved::{ApprovedLanding, Landed};
use crate::run_plan::observer::RunObserver;
use crate::text::{one_line, shown_name};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The plan, or a task of the only plan or of the one in `plan`.
    pub what: Option<String>,
    pub plan: PlanChoice,
    /// The reason, for the plan's history, and for the plan if the dialect has a field for it. Required for a rejection.
    pub note: Option<String>,
    pub change: ChangeMode,
}

impl ApprovalRequest {
    pub fn find_plan(&self, workspace: &Workspace) -> Result<FoundPlan> {
        match self.what.as_deref() {
            Some(what) => find_named(workspace, &self.plan, what),
            None => find(workspace, &self.plan),
        }
    }
}

/// Approves a plan, or the work of a task.
///
/// If no active run lands the work, a run without agents does, and the observer receives its events.
pub fn approve(
    workspace: &Workspace,
    request: &ApprovalRequest,
    observer: &mut dyn RunObserver,
) -> Result<ChangeReport> {
    let (found, task) = plan_xor_task(workspace, request.what.as_deref(), &request.plan, "approve")?;
    let Some(task) = task else {
        let (note, mode) = (request.note.as_deref(), &request.change);
        return change_plan(workspace, &found, PlanVerb::Approve, note, mode);
    };
    let task_review = TaskReview::new(&found, &task, ReviewVerdict::Approve, request)?;
    // Work that certainly cannot land is not approved.
    let landing = match task_review.ask(true)? {
        ReviewResult::ToLand { task, branch, .. } => {
            let landing = ApprovedLanding::prepare(&found, &task, branch, &task_review.who, workspace)?;
            Some(landing)
        }
        _ => None,
    };
    let is_dry = request.change.is_dry();
    match (task_review.ask(is_dry)?, landing.filter(|_| !is_dry)) {
        (ReviewResult::ToLand { task, .. }, Some(landing)) => {
            let result = landing.land(&task, observer)?;
            Ok(landed_report(&found, &task, &result))
        }
        (reviewed, _) => Ok(task_review.report(workspace, reviewed)),
    }
}

/// Rejects a plan, or the work of a task.
pub fn reject(workspace: &Workspace, request: &ApprovalRequest) -> Result<ChangeReport> {
    refuse_without_reason(request.note.as_deref())?;
    let (found, task) = plan_xor_task(workspace, request.what.as_deref(), &request.plan, "reject")?;
    let Some(task) = task else {
        let (note, mode) = (request.note.as_deref(), &request.change);
        return change_plan(workspace, &found, PlanVerb::Reject, note, mode);
    };
    let task_review = TaskReview::new(&found, &task, ReviewVerdict::Reject, request)?;
    let reviewed = task_review.ask(request.change.is_dry())?;
    Ok(task_review.report(workspace, reviewed))
}

pub fn refuse_without_reason(note: Option<&str>) -> Result<()> {
    match note.is_none_or(|note| note.trim().is_empty()) {
        true => Err(Failure::usage(
            "a rejection needs a reason",
            "name what is to be corrected: --note \"…\"",
        )),
        false => Ok(()),
    }
}

/// The review of a task's work: it goes to the active run, otherwise to the plan.
struct TaskReview<'a> {
    found: &'a FoundPlan,
    task: &'a str,
    verdict: ReviewVerdict,
    who: String,
    request: &'a ApprovalRequest,
}

impl<'a> TaskReview<'a> {
    fn new(found: &'a FoundPlan, task: &'a str, verdict: ReviewVerdict, request: &'a ApprovalRequest) -> Result<Self> {
        store::load(&found.path)?;
        Ok(TaskReview {
            found,
            task,
            verdict,
            who: request.change.who(),
            request,
        })
    }

    fn ask(&self, is_dry: bool) -> Result<ReviewResult> {
        let target: ChangeTarget<'_> = self.found.target(is_dry);
        let asked = Review {
            task: self.task,
            verdict: self.verdict,
            by: Some(&self.who),
            note: self.request.note.as_deref(),
            patience: PATIENCE,
        };
        review(target, &asked).map_err(|error| review_failure(self.found, &error))
    }

    fn report(&self, workspace: &Workspace, reviewed: ReviewResult) -> ChangeReport {
        let (path, verb) = (&self.found.path, self.verdict.as_str());
        match reviewed {
            ReviewResult::Run { run, task, answer } => {
                let run = RunAnswer { id: run, answer };
                ChangeReport::of_run(path, verb, &task, run)
            }
            ReviewResult::ToLand { task, commit, .. } => {
                let words = format!("would be approved, and land as commit {} has it", short(&commit));
                ChangeReport::of_task(path, "approve", &task, words, false)
            }
            ReviewResult::Plan {
                task, revised, commit, ..
            } => self.plan_report(workspace, task, &revised, commit.as_deref()),
        }
    }

    fn plan_report(
        &self,
        workspace: &Workspace,
        task: String,
        revised: &RevisedPlan,
        commit: Option<&str>,
    ) -> ChangeReport {
        match (self.verdict, commit) {
            (ReviewVerdict::Approve, _) => {}
            (ReviewVerdict::Reject, Some(commit)) => workspace.remark(&format!(
                "note: its work is kept as commit {}, on no branch",
                short(commit)
            )),
            (ReviewVerdict::Reject, None) => workspace
                .remark("note: the changes of the task are still in the folder; check them before you run again"),
        }
        let words = step_words(&self.found.path, revised);
        let subject = (self.found.path.as_path(), self.verdict.as_str());
        ChangeReport::of(workspace, subject, revised, &self.request.change, &[task], words)
    }
}

fn landed_report(found: &FoundPlan, task: &str, result: &Landed) -> ChangeReport {
    let (words, exit) = match result {
        Landed::On { branch, commit } => {
            let commit = commit.as_deref().map(|commit| format!(" as {}", short(commit)));
            let commit = commit.unwrap_or_default();
            let words = format!("approved, and landed on {}{commit}", one_line(branch));
            (words, Exit::Success)
        }
        Landed::NotYet(why) => {
            let why = one_line(why);
            let words = format!(
                "approved, and not landed yet: {why}; `planwright run` lands it, and `planwright reject` revokes the approval"
            );
            (words, Exit::Problems)
        }
    };
    let is_written = exit == Exit::Success;
    ChangeReport {
        exit,
        ..ChangeReport::of_task(&found.path, "approve", task, words, is_written)
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn review_failure(found: &FoundPlan, error: &ReviewError) -> Failure {
    match error {
        ReviewError::NothingWaits { task, waiting } => {
            let names: Vec<String> = waiting.iter().take(8).map(|name| shown_name(name)).collect();
            let help = match names.len() {
                0 => "no task of this plan needs review; `planwright done` and `fail` finish a task".to_owned(),
                _ => format!("these wait: {}", names.join(", ")),
            };
            Failure::problem(format!("task `{}` does not wait for review", shown_name(task)), help)
        }
        ReviewError::Revise(error) => revise_failure(found, error),
        ReviewError::Log(error) => Failure::environment(error, error.help()),
        ReviewError::NoAnswer { .. } => Failure::environment(
            error,
            "the run has the request, and may still carry it out: `planwright show` shows the state of the task",
        ),
        ReviewError::Locked(_) => Failure::environment(error, "a run of the plan has just started: approve again"),
        ReviewError::Io { .. } => Failure::environment(error, "check that you may write to `.planwright`"),
    }
}
