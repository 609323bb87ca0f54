//! Applies a verb to a whole plan and makes the new text: the status and its related fields. Changes no task.

use super::proposal::{Expected, ProposedChange, ProposedText};
use super::{ChangedText, Open, Problem, changeable};
use crate::dialect::{self, Choice, Dialect, LocatedPlan, Note};
use crate::document::NodeRef;
use crate::edit::{Owner, PlanMove, PlanRefused, PlanRequest, plan_move};
use crate::plan::{Field, PlanVerb};

/// Applies a verb to a whole plan. Returns the change and the transition of the plan.
pub fn transition_plan(
    open: &Open,
    choice: &Choice<'_>,
    request: &PlanRequest<'_>,
) -> Result<(ChangedText, PlanMove), Problem> {
    let open = open.whole(choice);
    let (linked, recorder) = changeable(&open.inspection)?;
    let dialect = linked.dialect;
    let machine = dialect.plan_machine();
    if !machine.has(request.verb) {
        plan_move(machine, None, request.verb).map_err(Problem::PlanRefused)?;
    }
    let located = open.located().ok_or(Problem::NoPlan)?;
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
    let proposal = ProposedChange {
        open,
        choice,
        content: ProposedText::Patches(located, patches),
        expected: Expected::Status(step.to),
    };
    let changed = ChangedText {
        notes: notes(machine.outcome(&step.from, PlanVerb::Submit).is_some(), request.verb),
        ..proposal.prove_whole()?
    };
    Ok((changed, step))
}

/// Returns the plan's status in the file.
fn status_of<'d>(dialect: &dyn Dialect, located: &LocatedPlan<'d>) -> Option<NodeRef<'d>> {
    let table = dialect.table_of(located.plan, Owner::Plan)?;
    let spec = table.fields.iter().find(|spec| spec.field == Field::Status)?;
    located.object.get(spec.name)
}

/// Notes that a plan was approved without being submitted before.
fn notes(could_be_submitted: bool, verb: PlanVerb) -> Vec<Note> {
    let was_not_submitted = could_be_submitted && verb == PlanVerb::Approve;
    let note = || Note::Happened("the plan had not been submitted".to_owned());
    was_not_submitted.then(note).into_iter().collect()
}
