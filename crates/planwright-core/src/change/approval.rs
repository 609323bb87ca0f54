//! Applies a verb to a whole plan and makes the new text: the status and its related fields. Changes no task.

use super::regressions::{Descent, new_errors};
use super::{ChangedText, Open, Problem, changeable, verify_states};
use crate::dialect::{self, Choice, Dialect, LocatedPlan, Note};
use crate::document::{NodeRef, patch};
use crate::edit::{Owner, PlanMove, PlanRefused, PlanRequest, plan_move};
use crate::plan::{Field, PlanVerb};

/// Does a verb to a whole plan. Returns the change and what became of the plan.
pub fn transition_plan(
    open: &Open,
    choice: &Choice<'_>,
    request: &PlanRequest<'_>,
) -> Result<(ChangedText, PlanMove), Problem> {
    let (linked, recorder) = changeable(&open.inspection)?;
    let dialect = linked.dialect;
    let machine = dialect.plan_machine();
    if !machine.has(request.verb) {
        plan_move(machine, None, request.verb).map_err(Problem::PlanRefused)?;
    }
    let parsed = open.document.as_ref().ok_or(Problem::NoPlan)?;
    let located = LocatedPlan::new(&linked.plan, &linked.links, &parsed.document).ok_or(Problem::NoPlan)?;
    let step = match status_of(dialect, &located) {
        None => plan_move(machine, None, request.verb),
        Some(node) => match node.resolved().text() {
            Some(status) => plan_move(machine, Some(&status), request.verb),
            None => Err(PlanRefused::UnknownStatus {
                written: node.slice().to_owned(),
            }),
        },
    };
    let step = step.map_err(Problem::PlanRefused)?;
    let changes = recorder.record_plan(&located, &step, request);
    let patches = dialect::lower(dialect, &located, &changes)?;
    let (edits, parsed) = patch::lower_parsed(&parsed.document, &patches)?;
    let new = Open::of(parsed, choice);
    let worse = new_errors(&open.inspection, &new.inspection, Descent::Same);
    if !worse.is_empty() {
        return Err(Problem::Worse(worse));
    }
    verify_states(&open.inspection, &new.inspection, &[])?;
    verify_status(&new, step.to)?;
    let mut changed = ChangedText::whole(new, edits);
    changed.notes = notes(machine.outcome(&step.from, PlanVerb::Submit).is_some(), request.verb);
    Ok((changed, step))
}

/// Returns where the file says what status the plan has.
fn status_of<'d>(dialect: &dyn Dialect, located: &LocatedPlan<'d>) -> Option<NodeRef<'d>> {
    let table = dialect.table_of(located.plan, Owner::Plan)?;
    let spec = table.fields.iter().find(|spec| spec.field == Field::Status)?;
    located.object.get(spec.name)
}

/// Makes sure that the new text gives the plan the status that was meant.
fn verify_status(new: &Open, expected: &str) -> Result<(), Problem> {
    let linked = new.inspection.plan.as_ref();
    match linked.and_then(|linked| linked.plan.head_str(Field::Status)) {
        Some(status) if status == expected => Ok(()),
        _ => Err(Problem::Mismatch(format!("the plan is not `{expected}`"))),
    }
}

/// Says that a plan was approved which nobody had asked to approve.
fn notes(could_be_submitted: bool, verb: PlanVerb) -> Vec<Note> {
    let was_not_submitted = could_be_submitted && verb == PlanVerb::Approve;
    let note = || Note::Happened("the plan had not been submitted".to_owned());
    was_not_submitted.then(note).into_iter().collect()
}
