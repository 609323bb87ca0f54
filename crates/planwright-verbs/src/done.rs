//! The verb `done`: marks tasks as done after verifying them.

use planwright_core::edit::VerbRequest;
use planwright_core::plan::Verb;
use planwright_run::journal::ManualVerification;
use planwright_run::revise::{TaskSelector, VerbCall, each_once, preview_change, task_named};
use serde::Deserialize;

use crate::changes::{ChangeReport, refuse_without_note, revise_failure};
use crate::text::shown_name;
use crate::transition::{TransitionRequest, VerifiedChange, transition_verified};
use crate::verification::{VerificationEvent, VerificationObserver, VerificationVerdict, Verifier, command_words};
use crate::{Failure, FoundPlan, Result, Workspace};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DoneRequest {
    pub transition: TransitionRequest,
    /// Skips verification, and records that in the history.
    pub unverified: bool,
    /// Refuses tasks that no configured rule verifies.
    pub require_verification: bool,
    /// Also runs criteria that are a command between backticks.
    pub allow_plan_commands: bool,
}

/// Marks tasks as done after verifying them.
pub fn done(
    workspace: &Workspace,
    request: &DoneRequest,
    observer: &mut dyn VerificationObserver,
) -> Result<ChangeReport> {
    transition_verified(workspace, Verb::Done, &request.transition, |found, edit, call| {
        verify(workspace, request, (found, edit, call), observer)
    })
}

/// Verifies tasks before they are marked as done, and returns the records. Takes no lock, because it may take long.
fn verify<'f>(
    workspace: &Workspace,
    request: &DoneRequest,
    (found, edit, call): (&'f FoundPlan, &VerbRequest<'_>, &VerbCall<'_>),
    observer: &mut dyn VerificationObserver,
) -> Result<VerifiedChange<'f>> {
    let names = each_once(&request.transition.tasks);
    let unrun = |waived: bool| {
        let tasks = names.iter().cloned();
        tasks.map(move |task| ManualVerification {
            task,
            waived,
            ..ManualVerification::default()
        })
    };
    let mut verifier = Verifier::open(workspace, found, request.allow_plan_commands)?;
    let is_required = call.policy.verification_required;
    if request.unverified {
        refuse_waiver(is_required, verifier.allows_waivers(), edit.note)?;
        return Ok((unrun(true).collect(), None));
    }
    let may_waive = (!is_required || verifier.allows_waivers()) && !request.require_verification;
    let is_required = is_required || request.require_verification;
    if !verifier.has_rules() && !is_required {
        return Ok((unrun(false).collect(), None));
    }
    let target = found.target(request.transition.change.is_dry());
    // A change that would be refused is not verified.
    let foreseen = preview_change(target, TaskSelector::Named(&names), edit, call)
        .map_err(|error| revise_failure(found, &error))?;
    let Some(linked) = foreseen.plan() else {
        return Ok((Vec::new(), None));
    };
    let mut wanted = Vec::new();
    for name in &names {
        let task_ix = task_named(&linked.plan, name).map_err(|error| revise_failure(found, &error))?;
        let checks = verifier.checks(&linked.plan, task_ix);
        if is_required && !checks.is_covered {
            return Err(Failure::problem(
                format!("no rule verifies `{}`", shown_name(name)),
                "verification is required: add a rule to `[verify]` in `planwright.toml`",
            ));
        }
        wanted.push((name, task_ix, checks));
    }
    if target.dry {
        for (name, _, checks) in &wanted {
            for check in &checks.checks {
                let words = command_words(&check.command.arguments());
                workspace.remark(&format!("would verify {}: {words}", shown_name(name)));
            }
        }
        return Ok((Vec::new(), Some(foreseen)));
    }
    let mut verdicts: Vec<(&String, VerificationVerdict)> = Vec::new();
    for (name, task_ix, checks) in wanted {
        if checks.is_covered {
            let task = linked.plan.tasks().get(task_ix);
            let title = task.map_or("", |task| linked.plan.task_subject(task));
            observer.happens(VerificationEvent::TaskBegins { task: name, title });
        }
        let verdict = verifier.run(&linked.plan, task_ix, checks, observer)?;
        let gaps = &verdict.gaps();
        observer.happens(VerificationEvent::TaskEnds { task: name, gaps });
        verdicts.push((name, verdict));
    }
    let refusal = |(name, verdict): &(&String, VerificationVerdict)| verdict.refusal(name, may_waive);
    match verdicts.iter().find_map(refusal) {
        Some(refusal) => Err(refusal),
        None => {
            let verified = verdicts.iter().map(|(name, verdict)| verdict.verified(name)).collect();
            Ok((verified, Some(foreseen)))
        }
    }
}

/// Refuses to waive a required verification, unless the user's own settings allow it and there is a reason.
fn refuse_waiver(is_required: bool, is_allowed: bool, note: Option<&str>) -> Result<()> {
    if !is_required {
        return Ok(());
    }
    if !is_allowed {
        return Err(Failure::problem(
            "verification is required (verify.required), so --unverified is refused",
            "leave --unverified out; or set verify.allow_unverified = true in your own configuration file, which a project \
             cannot do",
        ));
    }
    refuse_without_note("--unverified", true, note)
}
