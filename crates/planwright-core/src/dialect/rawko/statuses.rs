//! The statuses of rawko plans and steps: how they move, what they refuse, and the fields that a change writes.

use super::super::{Edits, LocatedPlan, RecordedMove, RequestHistory};
use super::Rawko;
use crate::document::patch::PlainValue;
use crate::document::route::RouteStep;
use crate::document::{NodeKind, NodeRef};
use crate::edit::reasons::along_line;
use crate::edit::{FieldEdit, Owner, PlanMove, PlanRequest};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING, Wording};
use crate::plan::transition::task_to_look_at;
use crate::plan::{
    Field, Lifecycle, Machine, Plan, PlanMachine, PlanRow, RunLift, RunRefusal, Slots, State, StateCounts, Status,
    TaskOrder, Verb,
};

pub(super) static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: false,
    on_failure: OnFailure::Replan,
    order: TaskOrder::File,
    slots: Slots::Fixed(1),
    may_be_empty: false,
    words: ["pending", "in_progress", "complete", "failed", "skipped"],
    machine: Machine {
        skip_cascades: true,
        ..Machine::PLAIN
    },
    wording: &WORDING,
};

static WORDING: Wording = Wording {
    task: "step",
    self_dependency: |step| {
        (
            format!("step {step} depends on itself"),
            "remove the dependency: a step that waits for itself never starts".to_owned(),
        )
    },
    unknown_dependency: |step, dependency| {
        (
            format!("step {step} depends on step {dependency}, which does not exist"),
            "steps are counted from 0: name one that exists, or remove the dependency".to_owned(),
        )
    },
    cycle: |path| {
        (
            format!("the steps depend on each other in a cycle: {path}"),
            "remove one of these dependencies: none of the steps can ever start".to_owned(),
        )
    },
    duplicate_id: PLAIN_WORDING.duplicate_id,
    empty: || {
        (
            "the plan has no steps".to_owned(),
            "add at least one step under `steps`".to_owned(),
        )
    },
    after_stop: PLAIN_WORDING.after_stop,
    after_failure: "the plan is in `replanning`: `planwright replan` has a new version made; `run --retry-failed` tries again",
    stage: PLAIN_WORDING.stage,
    held: PLAIN_WORDING.held,
};

/// Plans are not approved here: the first start starts one. An abandoned plan has failed.
pub(super) static PLAN_MACHINE: PlanMachine = PlanMachine {
    rows: &[
        row("draft", Some("failed")),
        row("in_progress", Some("failed")),
        row("replanning", Some("failed")),
        row("complete", None),
        row("failed", None),
    ],
    unsaid: None,
    lacks: "rawko plans are not approved before they are worked on",
    instead: "`planwright start` begins the plan as it is, `planwright cancel` gives it up",
};

const fn row(from: &'static str, cancel: Option<&'static str>) -> PlanRow {
    PlanRow {
        from,
        to: [None, None, None, cancel],
    }
}

impl Edits for Rawko {
    fn numbering(&self, _plan: &Plan) -> Option<usize> {
        Some(0)
    }

    fn omits_empty_dependencies(&self) -> bool {
        true
    }

    /// Returns the status that follows from the states of all steps, if it changes: a plan is complete when all steps have ended, and needs
    /// no replanning if none has failed.
    fn settled(&self, status: Option<&str>, tasks: &StateCounts) -> Option<&'static str> {
        match status {
            Some("complete") => (!tasks.is_over()).then_some("in_progress"),
            _ if tasks.is_over() => Some("complete"),
            Some("replanning") if !tasks.has(State::Failed) => Some("in_progress"),
            _ => None,
        }
    }

    fn record(&self, located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
        let RecordedMove { step, request } = recorded;
        let plan = located.plan;
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

    fn record_course(&self, history: &RequestHistory<'_>) -> Vec<FieldEdit> {
        let mut changes = Vec::new();
        let status = plan_status(history).filter(|status| history.plan.head_str(Field::Status) != Some(status));
        changes.extend(status.map(|status| FieldEdit::text(Owner::Plan, Field::Status, status)));
        let current = PlainValue::Number(current_step(history).to_string());
        changes.push(FieldEdit::set(Owner::Plan, Field::CurrentTask, current));
        changes.push(FieldEdit::text(Owner::Plan, Field::UpdatedAt, history.last.now));
        changes
    }

    /// Returns the fields to write for an abandoned plan: its status, the reason among its constraints, as in the original, and the time of
    /// the change.
    fn record_plan(&self, located: &LocatedPlan<'_>, step: &PlanMove, request: &PlanRequest<'_>) -> Vec<FieldEdit> {
        let mut changes = vec![FieldEdit::text(Owner::Plan, Field::Status, step.to)];
        changes.extend(
            request
                .note
                .and_then(|note| constraint(located, format!("Failed: {note}"))),
        );
        changes.push(FieldEdit::text(Owner::Plan, Field::UpdatedAt, request.now));
        changes
    }
}

/// Returns the original's output for a skipped step.
fn skip_output(plan: &Plan, recorded: &RecordedMove<'_>) -> String {
    match (recorded.request.note, recorded.step.cause) {
        (reason, Some(cause)) => along_line(plan, &plan.task_name(cause), reason),
        (Some(reason), None) => format!("Skipped: {reason}"),
        (None, None) => "Skipped".to_owned(),
    }
}

/// Returns the status of the plan after the last request; none if no request sets one.
fn plan_status(history: &RequestHistory<'_>) -> Option<&'static str> {
    let mut new = None;
    history.each(|request, _, tally| {
        let old = new.or(history.plan.head_str(Field::Status));
        let status = match request.verb {
            _ if tally.is_over() => Some("complete"),
            Verb::Start | Verb::Retry => Some("in_progress"),
            Verb::Fail => Some("replanning"),
            _ => Rawko.settled(old, tally),
        };
        new = status.or(new);
    });
    new
}

/// Returns the current step: a failed one before ready ones, because replanning starts there.
fn current_step(history: &RequestHistory<'_>) -> usize {
    let states: Vec<_> = (0..history.plan.tasks().len()).map(|ix| history.after(ix)).collect();
    task_to_look_at(&states, |ix| history.links.of(ix).iter().map(|edge| edge.to as usize))
}

/// Returns why no step of a plan may be worked on: the plan has failed, or one of its steps has and was not resolved.
pub(super) fn refuses_work(plan: &Plan) -> Option<RunRefusal> {
    let has_failed = || plan.tasks().iter().any(|step| step.status == Status::Failed);
    match plan.head_str(Field::Status)? {
        "failed" => Some(RunRefusal::never((
            "the plan has failed or was cancelled",
            "`planwright undo` reverts a cancellation; else make a new plan of what is left",
        ))),
        "replanning" if has_failed() => Some(RunRefusal {
            lift: RunLift::Retry,
            message: "a step has failed, and the plan waits for a new version",
            help: "`planwright replan` has a new version made; `planwright retry STEP` tries it again, and so does a run with --retry-failed",
        }),
        _ => None,
    }
}

/// Adds to the constraints, and creates the list and its parent if they are missing. If another value is in their place, it stays, and only
/// the history has the reason.
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
