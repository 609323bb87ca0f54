//! Decides whether an argument names a plan or a task. A name of a plan takes precedence.

use planwright_run::shell::{argument, task_command};

use super::{FoundPlan, OpenedPlan, PlanChoice, PlanNaming, archived_plan, naming};
use crate::failure::{Failure, Result};
use crate::text::{cut, shown_name};
use crate::workspace::Workspace;

pub enum PlanOrTask<P> {
    Plan(P),
    /// The plan, and the argument, which need not be the name of a task in it.
    Task(P, String),
    /// The argument names no plan, and no task of the only plan.
    Neither {
        failure: Failure,
        /// The only plan, if there is one.
        only: Option<P>,
        /// Whether the argument looks like the name of a plan.
        is_like_plan: bool,
    },
}

/// A plan that is searched for a task.
pub trait HasTasks {
    fn has_task(&self, name: &str) -> bool;
}

impl HasTasks for OpenedPlan {
    fn has_task(&self, name: &str) -> bool {
        let linked = self.inspection.plan.as_ref();
        linked.is_some_and(|linked| linked.plan.find_task(name).is_some())
    }
}

impl HasTasks for FoundPlan {
    fn has_task(&self, name: &str) -> bool {
        self.linked()
            .is_some_and(|linked| linked.plan.find_task(name).is_some())
    }
}

/// Decides whether an argument is a plan or a task of the plan in `choice`.
pub(crate) fn plan_or_task<P: HasTasks>(
    workspace: &Workspace,
    word: Option<&str>,
    choice: &PlanChoice,
    open: impl Fn(&PlanChoice) -> Result<P>,
) -> Result<PlanOrTask<P>> {
    let Some(word) = word else {
        return open(choice).map(PlanOrTask::Plan);
    };
    if let Some(named) = choice.plan.as_deref() {
        let plan = open(choice)?;
        return Ok(match named != word || plan.has_task(word) {
            true => PlanOrTask::Task(plan, word.to_owned()),
            false => PlanOrTask::Plan(plan),
        });
    }
    let naming = match word {
        "-" => PlanNaming::Whole,
        word => naming(workspace, word, choice.user),
    };
    let named = choice.with_name(word);
    if naming == PlanNaming::Whole {
        return open(&named).map(PlanOrTask::Plan);
    }
    let only = match open(choice) {
        Ok(plan) if plan.has_task(word) => return Ok(PlanOrTask::Task(plan, word.to_owned())),
        only => only.ok(),
    };
    Ok(match open(&named) {
        Ok(plan) => PlanOrTask::Plan(plan),
        Err(failure) => PlanOrTask::Neither {
            failure,
            only,
            is_like_plan: naming == PlanNaming::Partly,
        },
    })
}

/// Finds the plan that an argument names, or the plan and its task. If it names neither, the only plan is used: a missing task is the more
/// helpful error.
pub(crate) fn plan_before_task(
    workspace: &Workspace,
    what: Option<&str>,
    plan: &PlanChoice,
) -> Result<(FoundPlan, Option<String>)> {
    match plan_or_task(workspace, what, plan, |choice| find(workspace, choice))? {
        PlanOrTask::Plan(found) => Ok((found, None)),
        PlanOrTask::Task(found, task) => Ok((found, Some(task))),
        PlanOrTask::Neither { failure, only, .. } => match (only, what) {
            (Some(only), Some(what)) => Ok((only, Some(what.to_owned()))),
            _ => Err(failure),
        },
    }
}

/// Decides between a plan and a task for a verb with different results for both: an ambiguous name is refused.
pub(crate) fn plan_xor_task(
    workspace: &Workspace,
    what: Option<&str>,
    plan: &PlanChoice,
    verb: &str,
) -> Result<(FoundPlan, Option<String>)> {
    let Some(what) = what else {
        return find(workspace, plan).map(|found| (found, None));
    };
    if what == "-" {
        return find_named(workspace, plan, what).map(|found| (found, None));
    }
    if plan.plan.is_some() {
        return of_named_plan(workspace, what, plan);
    }
    let only = find(workspace, plan).ok().filter(|found| found.has_task(what));
    match (naming(workspace, what, plan.user), only) {
        (PlanNaming::Whole, Some(found)) => Err(two_readings(what, &found, verb)),
        (_, Some(found)) => Ok((found, Some(what.to_owned()))),
        (PlanNaming::Whole | PlanNaming::Partly, None) => find_named(workspace, plan, what).map(|found| (found, None)),
        (PlanNaming::No, None) => Err(archived_plan(workspace, what).unwrap_or_else(|| {
            Failure::problem(
                format!("there is no plan or task `{}`", cut(&shown_name(what), 60)),
                "`planwright list` shows the plans of this workspace; a task of one of several plans needs it: -p PLAN",
            )
        })),
    }
}

/// Returns the meaning of an argument next to a plan that the request names: a task of it, unless both are the same.
fn of_named_plan(workspace: &Workspace, what: &str, plan: &PlanChoice) -> Result<(FoundPlan, Option<String>)> {
    let found = find(workspace, plan)?;
    Ok(match plan.plan.as_deref() == Some(what) && !found.has_task(what) {
        true => (found, None),
        false => (found, Some(what.to_owned())),
    })
}

pub(crate) fn find(workspace: &Workspace, plan: &PlanChoice) -> Result<FoundPlan> {
    plan.find(workspace, "name its file with --plan")
}

pub(crate) fn find_named(workspace: &Workspace, plan: &PlanChoice, name: &str) -> Result<FoundPlan> {
    plan.with_name(name).find(workspace, "name its file")
}

fn two_readings(what: &str, found: &FoundPlan, verb: &str) -> Failure {
    let path = found.path.to_string_lossy();
    let of_task = task_command(verb, what, &path, "");
    Failure::problem(
        format!(
            "`{}` is the name of a plan, and of a task of `{path}`",
            shown_name(what)
        ),
        format!(
            "`planwright {verb} -p {}` means the plan, `{of_task}` the task",
            argument(what)
        ),
    )
}
