//! The fields that rawko records for a change of state: status, times, executor, result; for the plan, its status, current step
//! and time.

use super::super::{LocatedPlan, RecordedMove, Recording, RequestHistory};
use crate::document::patch::PlainValue;
use crate::document::route::RouteStep;
use crate::document::{NodeKind, NodeRef};
use crate::edit::reasons::along_line;
use crate::edit::{FieldEdit, Owner, PlanMove, PlanRequest};
use crate::plan::transition::task_to_look_at;
use crate::plan::{Field, Plan, RunLift, RunRefusal, State, StateCounts, Status, Verb};

pub(super) fn record(recording: &Recording<'_>) -> Vec<FieldEdit> {
    let mut changes = Vec::new();
    for recorded in recording.recorded_moves {
        record_step(recording.located.plan, recorded, &mut changes);
    }
    changes
}

pub(super) fn record_course(history: &RequestHistory<'_>) -> Vec<FieldEdit> {
    let mut changes = Vec::new();
    let status = plan_status(history).filter(|status| history.plan.head_str(Field::Status) != Some(status));
    changes.extend(status.map(|status| FieldEdit::text(Owner::Plan, Field::Status, status)));
    let current = PlainValue::Number(current_step(history).to_string());
    changes.push(FieldEdit::set(Owner::Plan, Field::CurrentTask, current));
    changes.push(FieldEdit::text(Owner::Plan, Field::UpdatedAt, history.last.now));
    changes
}

fn record_step(plan: &Plan, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
    let RecordedMove { step, request } = recorded;
    let owner = Owner::Task(step.task_ix);
    let task = &plan.tasks()[step.task_ix];
    changes.push(FieldEdit::text(owner, Field::Status, plan.lifecycle.word_of(step.to)));
    let mut text = |field, text: &str| changes.push(FieldEdit::text(owner, field, text));
    let stale: &[Field] = match step.to {
        State::Running => {
            text(Field::StartedAt, request.now);
            let hint = plan.task_str(task, Field::AgentHint);
            if let Some(by) = request.by.or(hint).or(request.user) {
                text(Field::ExecutedBy, by);
            }
            &[Field::CompletedAt, Field::Output, Field::Error]
        }
        State::Done => {
            text(Field::CompletedAt, request.now);
            let is_known = plan.task_str(task, Field::ExecutedBy).is_some();
            if let Some(by) = request.by.or(request.user.filter(|_| !is_known)) {
                text(Field::ExecutedBy, by);
            }
            if let Some(output) = request.said() {
                text(Field::Output, &output);
            }
            if !request.files.is_empty() {
                let files = request.files.iter().cloned().map(PlainValue::String).collect();
                changes.push(FieldEdit::set(owner, Field::Files, PlainValue::Array(files)));
            }
            &[]
        }
        State::Failed => {
            text(Field::CompletedAt, request.now);
            text(Field::Error, request.note.or(request.output).unwrap_or("failed"));
            if let (Some(output), Some(_)) = (request.output, request.note) {
                text(Field::Output, output);
            }
            &[]
        }
        State::Skipped => {
            text(Field::CompletedAt, request.now);
            text(Field::Output, &skip_output(plan, recorded));
            &[]
        }
        State::Pending | State::Blocked => &[
            Field::StartedAt,
            Field::CompletedAt,
            Field::ExecutedBy,
            Field::Output,
            Field::Error,
            Field::Files,
        ],
    };
    changes.extend(stale.iter().map(|&field| FieldEdit::remove(owner, field)));
}

/// Returns the original's words for a step that is left out.
fn skip_output(plan: &Plan, recorded: &RecordedMove<'_>) -> String {
    match (recorded.request.note, recorded.step.cause) {
        (reason, Some(cause)) => along_line(plan, &plan.task_name(cause), reason),
        (Some(reason), None) => format!("Skipped: {reason}"),
        (None, None) => "Skipped".to_owned(),
    }
}

/// Returns the status that the plan has after the last request; none where nothing follows from any of them.
fn plan_status(history: &RequestHistory<'_>) -> Option<&'static str> {
    let mut new = None;
    history.each(|request, _, tally| {
        let old = new.or(history.plan.head_str(Field::Status));
        let status = match request.verb {
            _ if tally.is_over() => Some("complete"),
            Verb::Start | Verb::Retry => Some("in_progress"),
            Verb::Fail => Some("replanning"),
            _ => settled(old, tally),
        };
        new = status.or(new);
    });
    new
}

/// Returns the status that follows from the states of all steps, where it is another one: a plan is complete when all
/// steps are over, and there is nothing to plan anew when none has failed.
pub(super) fn settled(status: Option<&str>, tally: &StateCounts) -> Option<&'static str> {
    match status {
        Some("complete") => (!tally.is_over()).then_some("in_progress"),
        _ if tally.is_over() => Some("complete"),
        Some("replanning") if !tally.has(State::Failed) => Some("in_progress"),
        _ => None,
    }
}

/// Returns the step to look at: a failed one before those that are ready, for a new plan begins there.
fn current_step(history: &RequestHistory<'_>) -> usize {
    let states: Vec<_> = (0..history.plan.tasks().len()).map(|ix| history.after(ix)).collect();
    task_to_look_at(&states, |ix| history.links.of(ix).iter().map(|edge| edge.to as usize))
}

/// Returns why no step of a plan may be worked on: it has failed, or one of its steps has and nothing was done about it.
pub(super) fn refuses_work(plan: &Plan) -> Option<RunRefusal> {
    let has_failed = || plan.tasks().iter().any(|step| step.status == Status::Failed);
    match plan.head_str(Field::Status)? {
        "failed" => Some(RunRefusal::never((
            "the plan has failed or was cancelled",
            "`planwright undo` takes back a cancellation; else make a new plan of what is left",
        ))),
        "replanning" if has_failed() => Some(RunRefusal {
            lift: RunLift::Retry,
            message: "a step has failed, and the plan waits to be planned anew",
            help: "`planwright replan` has a new version made; `planwright retry STEP` tries it again, and so does a run with --retry-failed",
        }),
        _ => None,
    }
}

/// Returns what is written of a plan that is given up: its status, the reason among its constraints, where the original has it,
/// and when it was touched.
pub(super) fn record_plan(located: &LocatedPlan<'_>, step: &PlanMove, request: &PlanRequest<'_>) -> Vec<FieldEdit> {
    let mut changes = vec![FieldEdit::text(Owner::Plan, Field::Status, step.to)];
    changes.extend(
        request
            .note
            .and_then(|note| constraint(located, format!("Failed: {note}"))),
    );
    changes.push(FieldEdit::text(Owner::Plan, Field::UpdatedAt, request.now));
    changes
}

/// Adds to the constraints, making the list and what it stands in where they are absent. Where something else stands there, it
/// stays, and the history alone has the reason.
fn constraint(located: &LocatedPlan<'_>, text: String) -> Option<FieldEdit> {
    let text = PlainValue::String(text);
    let is_absent = |node: Option<NodeRef<'_>>| node.is_none_or(|node| node.kind() == NodeKind::Null);
    let metadata = located.object.get("metadata");
    if is_absent(metadata) {
        let list = PlainValue::Array(vec![text]);
        let object = PlainValue::Object(vec![("constraints".to_owned(), list)]);
        return Some(FieldEdit::set(Owner::Plan, Field::Metadata, object));
    }
    let constraints = metadata
        .filter(|node| node.kind() == NodeKind::Object)?
        .get("constraints");
    let takes_it = is_absent(constraints) || constraints.is_some_and(|node| node.kind() == NodeKind::Array);
    let within = [RouteStep::Key("constraints".to_owned())];
    takes_it.then(|| FieldEdit::push(Owner::Plan, Field::Metadata, text).within(within))
}
