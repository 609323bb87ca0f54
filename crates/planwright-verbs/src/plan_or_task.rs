//! A word that names a plan or a task of the plan. A word that names a plan means the plan.

use crate::failure::{Failure, Result};
use crate::find_plan::{FoundPlan, PlanChoice, PlanNaming, naming};
use crate::open_plan::OpenedPlan;
use crate::workspace::Workspace;

pub enum PlanOrTask<P> {
    Plan(P),
    /// The plan, and the word, which need not be the name of a task there.
    Task(P, String),
    /// The word names no plan, and no task of the only plan.
    Neither {
        failure: Failure,
        /// The only plan, where there is one.
        only: Option<P>,
        /// Whether the word looks like the name of a plan.
        is_like_plan: bool,
    },
}

/// A plan that is looked into for a task.
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

/// Distinguishes a plan from a task of the plan that `choice` names.
pub fn plan_or_task<P: HasTasks>(
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
