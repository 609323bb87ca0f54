//! The verbs `submit` and `cancel`, and what they share with `approve` and `reject`: changing the state of a whole plan.

use planwright_core::edit::PlanRequest;
use planwright_core::plan::PlanVerb;
use planwright_run::clock;
use planwright_run::gate::GatePolicy;
use planwright_run::revise::transition_plan;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, plan_words, refuse_during_run, revise_failure};
use crate::configuration::config_of;
use crate::{FoundPlan, PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanTransitionRequest {
    pub plan: PlanChoice,
    /// The reason, for the plan's history, and for the plan if the dialect has a field for it.
    pub note: Option<String>,
    pub change: ChangeMode,
}

/// Submits a plan for approval.
pub fn submit(workspace: &Workspace, request: &PlanTransitionRequest) -> Result<ChangeReport> {
    change_named_plan(workspace, PlanVerb::Submit, request)
}

pub fn cancel(workspace: &Workspace, request: &PlanTransitionRequest) -> Result<ChangeReport> {
    change_named_plan(workspace, PlanVerb::Cancel, request)
}

fn change_named_plan(workspace: &Workspace, verb: PlanVerb, request: &PlanTransitionRequest) -> Result<ChangeReport> {
    let found = request.plan.find(workspace, "name its file")?;
    change_plan(workspace, &found, verb, request.note.as_deref(), &request.change)
}

/// Changes the state of a whole plan.
pub(crate) fn change_plan(
    workspace: &Workspace,
    found: &FoundPlan,
    verb: PlanVerb,
    note: Option<&str>,
    mode: &ChangeMode,
) -> Result<ChangeReport> {
    if matches!(verb, PlanVerb::Reject | PlanVerb::Cancel) {
        // A run does not continue with a rejected or cancelled plan, so it must end first.
        refuse_during_run(found, &format!("{} this plan", verb.as_str()))?;
    }
    let (now, who) = (clock::now(), mode.who());
    let request = PlanRequest {
        note,
        by: Some(&who),
        ..PlanRequest::new(verb, &now)
    };
    let policy = GatePolicy::of(&config_of(workspace, found)?);
    let revised = transition_plan(found.target(mode.is_dry()), &request, policy)
        .map_err(|error| revise_failure(found, &error))?;
    let words = match plan_words(&revised) {
        words if verb == PlanVerb::Approve && !words.is_something => {
            ChangeWords::unchanged("the plan is approved already")
        }
        words => words,
    };
    let subject = (found.path.as_path(), verb.as_str());
    Ok(ChangeReport::of(workspace, subject, &revised, mode, &[], words))
}
