//! The verbs `start`, `fail`, `skip`, `retry`, `block` and `reset`, and what they share with `done`: tasks change their states by one
//! table.

use planwright_core::edit::VerbRequest;
use planwright_core::plan::Verb;
use planwright_run::clock;
use planwright_run::gate::GatePolicy;
use planwright_run::journal::ManualVerification;
use planwright_run::revise::{self, PreviewedChange, TaskSelector, VerbCall, transition_by};
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, lease_end, refuse_without_note, revise_failure, step_words};
use crate::configuration::config_of;
use crate::failure::{Failure, Result};
use crate::plans::{FoundPlan, PlanChoice, refuse_own_plan};
use crate::text::one_line;
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransitionRequest {
    pub plan: PlanChoice,
    /// The tasks, by the plan's own names.
    pub tasks: Vec<String>,
    /// The reason, for the plan's history, and for the plan if the dialect has a field for it.
    pub note: Option<String>,
    /// The output of the work.
    pub output: Option<String>,
    pub files: Vec<String>,
    /// Starts a task that is not ready, finishes one that another owner holds (both need a note); resets a done one.
    pub force: bool,
    /// Skips or resets only these tasks, even if the dialect would include their dependents.
    pub no_cascade: bool,
    /// The number of the claim on the task.
    pub claim: Option<u64>,
    /// Takes the tasks over from their holder; needs a note.
    pub take_over: bool,
    /// How long the claim on a started task lasts, as `30m` or `2h`.
    pub lease: Option<String>,
    /// For `retry`: starts the tasks in the same step.
    pub start: bool,
    pub change: ChangeMode,
}

/// Changes the states of tasks. Refuses `done` without verification if the configuration requires one: see [`done`](crate::done::done).
pub fn transition(workspace: &Workspace, verb: Verb, request: &TransitionRequest) -> Result<ChangeReport> {
    transition_verified(workspace, verb, request, |_, _, _| Ok((Vec::new(), None)))
}

/// The verifications of tasks, and their change if it was prepared.
pub(crate) type VerifiedChange<'f> = (Vec<ManualVerification>, Option<PreviewedChange<'f>>);

/// Changes the states of tasks, and records the result of `verify` with the change.
pub(crate) fn transition_verified(
    workspace: &Workspace,
    verb: Verb,
    request: &TransitionRequest,
    verify: impl for<'f> FnOnce(&'f FoundPlan, &VerbRequest<'_>, &VerbCall<'_>) -> Result<VerifiedChange<'f>>,
) -> Result<ChangeReport> {
    refuse_incomplete(verb, request)?;
    let found = request.plan.find(workspace, "name its file with --plan")?;
    // Before the table and the claims, whose help is for users who may change the plan.
    refuse_own_plan(&found, "change its own run")?;
    if let Some(newest) = revise::newest_version(&found.path, found.forced) {
        workspace.remark(&format!(
            "note: this version was replanned: the newest is {}",
            one_line(&from_here(&newest).to_string_lossy())
        ));
    }
    let config = config_of(workspace, &found)?;
    let now = clock::now();
    let edit = VerbRequest {
        verb,
        note: request.note.as_deref(),
        output: request.output.as_deref(),
        files: &request.files,
        by: request.change.by.as_deref(),
        user: None,
        now: &now,
        force: request.force,
        cascade: !request.no_cascade,
        keeps_notes: false,
        work: None,
        starts: request.start,
    };
    let call = VerbCall {
        policy: GatePolicy::of(&config),
        owner: request.change.by.as_deref(),
        claim: request.claim,
        takes_over: request.take_over,
        until: lease_end(request.lease.as_deref())?,
        ..VerbCall::default()
    };
    let (verified, foreseen) = verify(&found, &edit, &call)?;
    let call = VerbCall {
        verified: &verified,
        ..call
    };
    let pick = TaskSelector::Named(&request.tasks);
    let revised = match foreseen {
        Some(foreseen) => foreseen.make(pick, &edit, &call),
        None => transition_by(found.target(request.change.is_dry()), pick, &edit, &call),
    };
    let revised = revised.map_err(|error| revise_failure(&found, &error))?;
    let (subject, words) = ((found.path.as_path(), verb.as_str()), step_words(&found.path, &revised));
    Ok(ChangeReport::of(
        workspace,
        subject,
        &revised,
        &request.change,
        &request.tasks,
        words,
    ))
}

/// Refuses requests that lack a reason, or that do not match their verb.
fn refuse_incomplete(verb: Verb, request: &TransitionRequest) -> Result<()> {
    let note = request.note.as_deref();
    lease_end(request.lease.as_deref())?;
    if verb == Verb::Retry && request.lease.is_some() && !request.start {
        return Err(Failure::usage(
            "--lease is only for a task that starts",
            "add --start, or leave --lease out",
        ));
    }
    if verb == Verb::Block && note.is_none_or(|note| note.trim().is_empty()) {
        return Err(Failure::usage(
            "a blocked task needs a reason",
            "name what it waits for: --note \"…\"",
        ));
    }
    refuse_without_note("--take-over", request.take_over, note)?;
    let overrides = matches!(verb, Verb::Start | Verb::Retry | Verb::Done | Verb::Fail | Verb::Block);
    refuse_without_note("--force", request.force && overrides, note)
}
