//! The statuses of OpenCrabs plans and tasks: how they move, what they refuse, and the fields that a change writes.

use super::super::{Edits, LocatedPlan, RecordedMove, RequestHistory};
use super::OpenCrabs;
use crate::document::patch::PlainValue;
use crate::document::route::RouteStep;
use crate::document::{NodeKind, NodeRef};
use crate::edit::moves::retries;
use crate::edit::reasons::with_line;
use crate::edit::{FieldEdit, Owner, PlanMove, PlanRequest, ToolCall};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING};
use crate::plan::{
    Dependency, DependencyTarget, Field, FieldValue as Written, Lifecycle, Machine, Plan, PlanMachine, PlanRow,
    PlanVerb, RunLift, RunRefusal, Slots, State, StateCounts, TaskOrder, Verb,
};

pub(super) static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::File,
    slots: Slots::Fixed(1),
    may_be_empty: false,
    words: ["Pending", "InProgress", "Completed", "Failed", "Skipped"],
    machine: Machine {
        written: &State::ALL,
        can_block: true,
        counts_retries: true,
        ..Machine::PLAIN
    },
    wording: &PLAIN_WORDING,
};

/// A plan is approved before work on it starts, submitted or not. Until then, an approved plan may be rejected. A rejected plan may be
/// submitted again, and an unfinished one may be cancelled.
pub(super) static PLAN_MACHINE: PlanMachine = PlanMachine {
    rows: &[
        row(
            "Draft",
            [Some("PendingApproval"), Some("Approved"), None, Some("Cancelled")],
        ),
        row(
            "PendingApproval",
            [None, Some("Approved"), Some("Rejected"), Some("Cancelled")],
        ),
        row("Approved", [None, None, Some("Rejected"), Some("Cancelled")]),
        row("Rejected", [Some("PendingApproval"), None, None, Some("Cancelled")]),
        row("InProgress", [None, None, None, Some("Cancelled")]),
        row("Completed", [None; 4]),
        row("Cancelled", [None; 4]),
    ],
    unsaid: Some("Draft"),
    lacks: "",
    instead: "",
};

const fn row(from: &'static str, to: [Option<&'static str>; 4]) -> PlanRow {
    PlanRow { from, to }
}

impl Edits for OpenCrabs {
    fn needed(&self) -> Option<&'static str> {
        Some("task_type=edit")
    }

    fn refuses_changes(&self, plan: &Plan) -> Option<(&'static str, &'static str)> {
        refuses(plan)
    }

    fn numbering(&self, _plan: &Plan) -> Option<usize> {
        Some(1)
    }

    fn reference(&self, plan: &Plan, task_ix: usize) -> PlainValue {
        let is_number = |dependency: &Dependency| !matches!(dependency.target, DependencyTarget::Id(_));
        let id = plan.tasks().get(task_ix).and_then(|task| plan.task_id(task));
        match id.filter(|_| !plan.all_dependencies().iter().any(is_number)) {
            Some(id) => PlainValue::String(plan.str(id).to_owned()),
            None => PlainValue::Number(plan.task_name(task_ix).into_owned()),
        }
    }

    fn fresh_id(&self, _plan: &Plan, minted: &str, _beside: Option<usize>) -> Option<String> {
        Some(minted.to_owned())
    }

    fn omits_empty_dependencies(&self) -> bool {
        true
    }

    /// Returns the status that follows from the states of all tasks, if it changes: a plan is finished if all of them are, and not before.
    fn settled(&self, status: Option<&str>, tasks: &StateCounts) -> Option<&'static str> {
        match status.unwrap_or("Draft") {
            "Rejected" | "Cancelled" => None,
            "Completed" => (!tasks.is_over()).then_some("InProgress"),
            _ => tasks.is_over().then_some("Completed"),
        }
    }

    fn record(&self, located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
        let RecordedMove { step, request } = recorded;
        let plan = located.plan;
        let owner = Owner::Task(step.task_ix);
        let task = &plan.tasks()[step.task_ix];
        let status = match step.to {
            State::Blocked => {
                let reason = PlainValue::String(request.note.unwrap_or("").to_owned());
                PlainValue::Object(vec![("Blocked".to_owned(), reason)])
            }
            state => word(plan.lifecycle.word_of(state)),
        };
        changes.push(FieldEdit::set(owner, Field::Status, status));
        // The reason for a block is in the status.
        let notes = match step.to {
            State::Blocked => request.output.map(str::to_owned),
            State::Done if request.keeps_notes => {
                let old = plan.task_str(task, Field::Notes).unwrap_or_default();
                request.said().map(|said| with_line(old, &said))
            }
            // The history has the note.
            _ if request.keeps_notes => None,
            _ => request.said(),
        };
        changes.extend(notes.map(|notes| FieldEdit::text(owner, Field::Notes, notes)));
        match step.to {
            State::Running => changes.push(FieldEdit::push(owner, Field::History, attempt(request.now))),
            State::Done => {
                changes.push(FieldEdit::text(owner, Field::CompletedAt, request.now));
                let known = plan.task_list(task, Field::Artifacts);
                let new = request.files.iter().filter(|file| !known.contains(&file.as_str()));
                changes
                    .extend(new.map(|file| FieldEdit::push(owner, Field::Artifacts, PlainValue::String(file.clone()))));
            }
            _ => {}
        }
        if request.verb == Verb::Fail {
            let (n_failures, _) = retries(plan, step.task_ix);
            changes.push(FieldEdit::set(
                owner,
                Field::RetryCount,
                PlainValue::Number(n_failures.to_string()),
            ));
        }
        if request.verb == Verb::Reset {
            // As if it had never started: only existing fields are reset.
            let is_set = |field| plan.value(task, field).is_some();
            if is_set(Field::CompletedAt) {
                changes.push(FieldEdit::set(owner, Field::CompletedAt, PlainValue::Null));
            }
            if is_set(Field::RetryCount) {
                changes.push(FieldEdit::set(
                    owner,
                    Field::RetryCount,
                    PlainValue::Number("0".to_owned()),
                ));
            }
        }
        if step.from == State::Running {
            let reflection = request.work.and_then(|work| work.reflection.as_deref());
            changes.extend(reflection.map(|reflection| FieldEdit::text(owner, Field::Reflection, reflection)));
            close_attempt(located, recorded, changes);
        }
    }

    fn record_course(&self, history: &RequestHistory<'_>) -> Vec<FieldEdit> {
        let status = plan_status(history).map(|status| FieldEdit::text(Owner::Plan, Field::Status, status));
        let updated = FieldEdit::text(Owner::Plan, Field::UpdatedAt, history.last.now);
        status.into_iter().chain([updated]).collect()
    }

    /// Returns the fields to write for a move of the whole plan: its status, the time of its approval, and the time of the change. The time
    /// of a revoked approval is removed.
    fn record_plan(&self, located: &LocatedPlan<'_>, step: &PlanMove, request: &PlanRequest<'_>) -> Vec<FieldEdit> {
        let mut changes = vec![FieldEdit::text(Owner::Plan, Field::Status, step.to)];
        match request.verb {
            PlanVerb::Approve => changes.push(FieldEdit::text(Owner::Plan, Field::ApprovedAt, request.now)),
            PlanVerb::Submit | PlanVerb::Reject if is_said(located.plan, Field::ApprovedAt) => {
                changes.push(FieldEdit::set(Owner::Plan, Field::ApprovedAt, PlainValue::Null));
            }
            PlanVerb::Submit | PlanVerb::Reject | PlanVerb::Cancel => {}
        }
        changes.push(FieldEdit::text(Owner::Plan, Field::UpdatedAt, request.now));
        changes
    }
}

fn word(word: &str) -> PlainValue {
    PlainValue::String(word.to_owned())
}

fn attempt(now: &str) -> PlainValue {
    let member = |key: &str, value| (key.to_owned(), value);
    PlainValue::Object(vec![
        member("started_at", word(now)),
        member("ended_at", PlainValue::Null),
        member("tools_called", PlainValue::Array(Vec::new())),
        member("output", PlainValue::Null),
        member("error", PlainValue::Null),
        member("success", PlainValue::Bool(false)),
    ])
}

fn tool_called(call: &ToolCall) -> PlainValue {
    let member = |key: &str, value| (key.to_owned(), value);
    PlainValue::Object(vec![
        member("tool_name", word(&call.name)),
        member("input", word(&call.input)),
        // Agents report which tool they use, but not its result.
        member("output", word("")),
        member("success", PlainValue::Bool(!call.has_failed)),
        member("timestamp", word(&call.at)),
    ])
}

/// Ends the last attempt of the history, if it is still open.
fn close_attempt(located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
    let RecordedMove { step, request } = recorded;
    let node = located.task(step.task_ix);
    let Some(history) = node.and_then(|node| node.get("execution_history")) else {
        return;
    };
    let is_open = |attempt: &NodeRef<'_>| {
        attempt.kind() == NodeKind::Object
            && attempt
                .get("ended_at")
                .is_none_or(|ended| ended.kind() == NodeKind::Null)
    };
    let Some((last, _)) = history
        .elements()
        .enumerate()
        .last()
        .filter(|(_, attempt)| is_open(attempt))
    else {
        return;
    };
    let mut set = |key: &str, value| {
        let way = [RouteStep::Index(last), RouteStep::Key(key.to_owned())];
        changes.push(FieldEdit::set(Owner::Task(step.task_ix), Field::History, value).within(way));
    };
    set("ended_at", word(request.now));
    if let Some(work) = request.work.filter(|work| !work.tools.is_empty()) {
        set(
            "tools_called",
            PlainValue::Array(work.tools.iter().map(tool_called).collect()),
        );
    }
    let is_success = step.to == State::Done;
    set("success", PlainValue::Bool(is_success));
    if let Some(output) = request.output.or(request.note.filter(|_| is_success)) {
        set("output", word(output));
    }
    let reason = match request.verb {
        Verb::Fail => request.note.or(request.output).or(Some("Task failed.")),
        _ => request.note,
    };
    if let Some(error) = reason.filter(|_| !is_success) {
        set("error", word(error));
    }
}

/// Returns the plan's new status, if it changes.
fn plan_status(history: &RequestHistory<'_>) -> Option<&'static str> {
    let mut new = None;
    history.each(|_, recorded_moves, tally| {
        let old = new.or(history.plan.head_str(Field::Status));
        let has_begun = recorded_moves.iter().any(|recorded| recorded.step.to == State::Running);
        let status = OpenCrabs.settled(old, tally).or_else(|| match old.unwrap_or("Draft") {
            "Rejected" | "Cancelled" | "InProgress" | "Completed" => None,
            _ => has_begun.then_some("InProgress"),
        });
        new = status.or(new);
    });
    new
}

/// Returns why a plan cannot be changed.
fn refuses(plan: &Plan) -> Option<(&'static str, &'static str)> {
    (plan.form == "minimal").then_some((
        "an import form cannot be run: it has no ids and no states",
        "make it a plan first: `planwright import FILE`",
    ))
}

/// Returns why no task of a plan may be worked on: a person must approve it first.
pub(super) fn refuses_work(plan: &Plan) -> Option<RunRefusal> {
    if let Some(refused) = refuses(plan) {
        return Some(RunRefusal::never(refused));
    }
    let unapproved = |message, help| {
        Some(RunRefusal {
            lift: RunLift::Approval,
            message,
            help,
        })
    };
    match plan.head_str(Field::Status) {
        Some("Approved" | "InProgress" | "Completed") => None,
        Some("PendingApproval") => unapproved(
            "the plan waits for approval",
            "approve it: `planwright approve`, or run it with --yes",
        ),
        Some("Rejected") => Some(RunRefusal::never((
            "the plan was rejected",
            "correct it, then `planwright submit` asks for approval again",
        ))),
        Some("Cancelled") => Some(RunRefusal::never((
            "the plan was cancelled",
            "`planwright undo` reverts the last change",
        ))),
        _ => unapproved(
            "the plan is a draft that is not approved",
            "`planwright submit` asks for approval, `planwright approve` gives it, or run it with --yes",
        ),
    }
}

fn is_said(plan: &Plan, field: Field) -> bool {
    plan.head_value(field)
        .is_some_and(|value| !matches!(value, Written::Null(_)))
}
