//! The statuses of checklists: a box holds whether a task is done; the rest is in the journal. Groups follow their tasks.

use super::super::{CannotFollow, Edits, GroupChange, LocatedPlan, RecordedMove, RequestHistory, next_id};
use super::variant::Variant;
use super::{Checklist, adopt};
use crate::document::patch::PlainValue;
use crate::edit::{FieldEdit, Owner};
use crate::plan::lifecycle::{OnFailure, PLAIN_WORDING, Wording};
use crate::plan::{Field, Lifecycle, Machine, Plan, Slots, State, Status, TaskName, TaskOrder};

/// A box holds whether a task is done.
pub(super) static LIFECYCLE: Lifecycle = Lifecycle {
    skipped_satisfies: true,
    on_failure: OnFailure::DependentsWait,
    order: TaskOrder::File,
    slots: Slots::Fixed(1),
    may_be_empty: false,
    words: [""; 5],
    machine: Machine {
        written: &[State::Pending, State::Done],
        ..Machine::PLAIN
    },
    wording: &WORDING,
};

static WORDING: Wording = Wording {
    stage: "the tasks above it",
    held: "a person: the star marks it as optional; `planwright start TASK --force --note \"…\"` starts it",
    ..PLAIN_WORDING
};

/// Kiro marks a running task as well.
pub(super) static KIRO_LIFECYCLE: Lifecycle = Lifecycle {
    machine: Machine {
        written: &[State::Pending, State::Running, State::Done],
        ..Machine::PLAIN
    },
    ..LIFECYCLE
};

impl Edits for Checklist {
    fn reference(&self, plan: &Plan, task_ix: usize) -> PlainValue {
        PlainValue::String(plan.task_name(task_ix).into_owned())
    }

    fn fresh_id(&self, plan: &Plan, _minted: &str, beside: Option<usize>) -> Option<String> {
        fresh_id(plan, beside)
    }

    fn default_of(&self, field: Field) -> Option<PlainValue> {
        (field == Field::Status).then(|| PlainValue::String(" ".to_owned()))
    }

    fn adopted(&self, plan: &Plan, order: Option<&str>) -> Option<Result<String, CannotFollow>> {
        Some(adopt::adopted(plan.source(), order))
    }

    fn omits_empty_dependencies(&self) -> bool {
        true
    }

    fn record(&self, located: &LocatedPlan<'_>, recorded: &RecordedMove<'_>, changes: &mut Vec<FieldEdit>) {
        let (plan, step) = (located.plan, &recorded.step);
        let is_written = |state| plan.lifecycle.machine.is_written(state);
        let mark = match step.to {
            State::Done => done_mark(plan),
            State::Running if is_written(State::Running) => "-",
            // A mark of someone else stays while nothing is known about the task.
            _ if is_written(step.from) && step.from != State::Pending => " ",
            _ => return,
        };
        changes.push(FieldEdit::text(Owner::Task(step.task_ix), Field::Status, mark));
    }

    /// Unticks the groups that an open task joins, and ticks those whose last open task leaves.
    fn regrouped(&self, plan: &Plan, change: GroupChange) -> Vec<FieldEdit> {
        let task_ix = match change {
            GroupChange::Joined { beside } => match beside {
                None if !Variant::of_form(plan.form).is_numbered() => return Vec::new(),
                _ => beside.or_else(|| plan.tasks().len().checked_sub(1)),
            },
            GroupChange::Left { task_ix } => Some(task_ix),
        };
        let changes = task_ix.into_iter().flat_map(|task_ix| plan.groups_around(task_ix));
        let changes = changes.filter_map(|group_ix| {
            let is_done = |task_ix: usize| plan.tasks()[task_ix].status == Status::Done;
            let mut required: Vec<usize> = plan.required_tasks(group_ix).collect();
            let was_done = required.iter().all(|task_ix| is_done(*task_ix));
            let is_done = match change {
                GroupChange::Joined { .. } => false,
                GroupChange::Left { task_ix } => {
                    required.retain(|other| *other != task_ix);
                    !required.is_empty() && required.iter().all(|task_ix| is_done(*task_ix))
                }
            };
            let mark = if is_done { done_mark(plan) } else { " " };
            let is_ticked = plan.groups()[group_ix].is_ticked;
            (was_done != is_done && is_done != is_ticked)
                .then(|| FieldEdit::text(Owner::Group(group_ix), Field::Status, mark))
        });
        changes.collect()
    }

    /// Ticks the groups whose required tasks are done now, and unticks those with an open one.
    fn record_course(&self, course: &RequestHistory<'_>) -> Vec<FieldEdit> {
        let plan = course.plan;
        let moved = (0..plan.tasks().len()).filter(|task_ix| course.has_moved(*task_ix));
        let mut touched: Vec<usize> = moved.flat_map(|task_ix| plan.groups_around(task_ix)).collect();
        touched.sort_unstable();
        touched.dedup();
        let changes = touched.into_iter().filter_map(|group_ix| {
            let is_done = plan
                .required_tasks(group_ix)
                .all(|task_ix| course.after(task_ix) == Some(State::Done));
            let mark = if is_done { done_mark(plan) } else { " " };
            let is_ticked = plan.groups()[group_ix].is_ticked;
            (is_done != is_ticked).then(|| FieldEdit::text(Owner::Group(group_ix), Field::Status, mark))
        });
        changes.collect()
    }
}

/// Returns the mark of done tasks in a file: a capital one if its done boxes have that.
fn done_mark(plan: &Plan) -> &'static str {
    let (mut n_small, mut n_capital) = (0, 0);
    for task in plan.tasks() {
        let mark = plan.source().slice(task.status_span);
        n_small += usize::from(mark == "x");
        n_capital += usize::from(mark == "X");
    }
    if n_capital > n_small { "X" } else { "x" }
}

/// Returns the id of a new task, in the style of the file.
fn fresh_id(plan: &Plan, beside: Option<usize>) -> Option<String> {
    let has_ids = plan.tasks().iter().any(|task| matches!(task.name, TaskName::Id(_)));
    match Variant::of_form(plan.form) {
        Variant::Own => Some(next_id(plan, "T", 0)),
        Variant::SpecKit => Some(next_id(plan, "T", 3)),
        Variant::OpenSpec | Variant::Kiro if has_ids => next_number(plan, beside),
        Variant::OpenSpec | Variant::Kiro | Variant::Plain => None,
    }
}

/// Returns the next free number in the group of a task, the last one by default: `2.4` next to `2.3`.
fn next_number(plan: &Plan, beside: Option<usize>) -> Option<String> {
    let id_of = |task_ix: usize| match plan.tasks().get(task_ix)?.name {
        TaskName::Id(id) => Some(plan.str(id)),
        _ => None,
    };
    let neighbour = id_of(beside.or_else(|| plan.tasks().len().checked_sub(1))?)?;
    let (group, _) = neighbour.rsplit_once('.').unwrap_or(("", neighbour));
    let own = (0..plan.tasks().len()).filter_map(id_of);
    let groups = plan.groups().iter().map(|group| plan.str(group.name));
    let numbers = own.chain(groups).filter_map(|id| {
        let (its_group, last) = id.rsplit_once('.').unwrap_or(("", id));
        (its_group == group).then(|| last.trim_end_matches(char::is_alphabetic).parse::<u64>().ok())?
    });
    let next = numbers.max().unwrap_or(0).saturating_add(1);
    Some(match group {
        "" => next.to_string(),
        group => format!("{group}.{next}"),
    })
}
