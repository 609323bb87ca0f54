//! One word that names a plan, or a task of the only plan or of the one that a request names.

use crate::failure::{Failure, Result};
use crate::find_plan::{FoundPlan, PlanChoice, PlanNaming, naming};
use crate::plain_text::{cut, shown_name};
use crate::workspace::Workspace;

/// What a word names.
pub(crate) enum PlanOrTask {
    Plan(FoundPlan),
    Task(FoundPlan, String),
}

/// Distinguishes a plan from a task of one: a word that names a plan means the plan.
pub(crate) fn plan_before_task(workspace: &Workspace, what: Option<&str>, plan: &PlanChoice) -> Result<PlanOrTask> {
    let Some(what) = what else {
        return find(workspace, plan).map(PlanOrTask::Plan);
    };
    if plan.plan.is_some() {
        return of_named_plan(workspace, what, plan);
    }
    if naming(workspace, what, plan.user) == PlanNaming::Whole {
        return find_named(workspace, plan, what).map(PlanOrTask::Plan);
    }
    match find(workspace, plan) {
        Ok(found) if has_task(&found, what) => Ok(PlanOrTask::Task(found, what.to_owned())),
        only => match (find_named(workspace, plan, what), only) {
            // The only plan has no such task: that says more than that no plan has such a name.
            (Err(_), Ok(found)) => Ok(PlanOrTask::Task(found, what.to_owned())),
            (named, _) => named.map(PlanOrTask::Plan),
        },
    }
}

/// Distinguishes a plan from a task of one, for a verb with different results for both: a word that names both is refused.
pub(crate) fn plan_xor_task(
    workspace: &Workspace,
    what: Option<&str>,
    plan: &PlanChoice,
    verb: &str,
) -> Result<PlanOrTask> {
    let Some(what) = what else {
        return find(workspace, plan).map(PlanOrTask::Plan);
    };
    if what == "-" {
        return find_named(workspace, plan, what).map(PlanOrTask::Plan);
    }
    if plan.plan.is_some() {
        return of_named_plan(workspace, what, plan);
    }
    let only = find(workspace, plan).ok().filter(|found| has_task(found, what));
    match (naming(workspace, what, plan.user), only) {
        (PlanNaming::Whole, Some(found)) => Err(two_readings(what, &found, verb)),
        (_, Some(found)) => Ok(PlanOrTask::Task(found, what.to_owned())),
        (PlanNaming::Whole | PlanNaming::Partly, None) => find_named(workspace, plan, what).map(PlanOrTask::Plan),
        (PlanNaming::No, None) => Err(Failure::problem(
            format!("no plan and no task is called `{}`", cut(&shown_name(what), 60)),
            "`planwright list` shows the plans of this workspace; a task of one of several plans needs it: -p PLAN",
        )),
    }
}

/// Returns what a word means next to a plan that the request names: a task of it, unless both are the same word.
fn of_named_plan(workspace: &Workspace, what: &str, plan: &PlanChoice) -> Result<PlanOrTask> {
    let found = find(workspace, plan)?;
    Ok(match plan.plan.as_deref() == Some(what) && !has_task(&found, what) {
        true => PlanOrTask::Plan(found),
        false => PlanOrTask::Task(found, what.to_owned()),
    })
}

pub(crate) fn find(workspace: &Workspace, plan: &PlanChoice) -> Result<FoundPlan> {
    plan.find(workspace, "name its file with --plan")
}

pub(crate) fn find_named(workspace: &Workspace, plan: &PlanChoice, name: &str) -> Result<FoundPlan> {
    plan.with_name(name).find(workspace, "name its file")
}

fn has_task(found: &FoundPlan, name: &str) -> bool {
    let linked = found.linked();
    linked.is_some_and(|linked| linked.plan.find_task(name).is_some())
}

fn two_readings(what: &str, found: &FoundPlan, verb: &str) -> Failure {
    let (name, path) = (shown_name(what), found.path.display());
    Failure::problem(
        format!("`{name}` is the name of a plan, and that of a task of `{path}`"),
        format!("`planwright {verb} -p {name}` means the plan, `planwright {verb} {name} -p {path}` the task"),
    )
}
