//! The states of a plan's tasks, with those that only the journal holds, and how they differ between two texts.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Plan, State};
use planwright_core::text::SourceText;

use crate::claims::Claims;
use crate::inspect_file::open;
use crate::journal::{JournalTaskState, StateChange, plan_id};
use crate::store::{PlanFile, StoreError, history};

/// Gives a plan the states that only the journal holds, and returns all of them. Does not read the journal if the plan's own file has all
/// states.
pub fn take_states(inspection: &mut Inspection, path: &Path) -> Result<BTreeMap<String, JournalTaskState>, StoreError> {
    let needs_journal = |linked: &&mut LinkedPlan| !is_all_written(&linked.plan) || may_be_offered(&linked.plan);
    let Some(linked) = inspection.plan.as_mut().filter(needs_journal) else {
        return Ok(BTreeMap::new());
    };
    let id = plan_id(&linked.plan).map(str::to_owned);
    let history = history(PlanFile {
        path,
        id: id.as_deref(),
    })?;
    let known = history.task_states_in(inspection.source.as_str());
    let state_of = |name: &str| known.get(name).and_then(|known| State::from_word(&known.state.to));
    linked.plan.take_states(state_of);
    if may_be_offered(&linked.plan) {
        let claims = Claims::of(&history);
        linked.plan.offer_again(|name| claims.is_offered(name));
    }
    Ok(known)
}

/// Returns whether the journal may offer a failed task again.
fn may_be_offered(plan: &Plan) -> bool {
    let is_failed = || {
        plan.tasks()
            .iter()
            .any(|task| task.status.state() == Some(State::Failed))
    };
    plan.lifecycle.machine.retry_stays_failed && is_failed()
}

pub(super) fn is_all_written(plan: &Plan) -> bool {
    let machine = &plan.lifecycle.machine;
    State::ALL
        .into_iter()
        .all(|state| machine.is_written(state) || (state == State::Blocked && !machine.can_block))
}

/// Returns the states of a plan's tasks by their names.
pub(super) fn states_by_name(plan: &Plan) -> BTreeMap<String, State> {
    let tasks = plan.tasks().iter().enumerate();
    let named = tasks.filter_map(|(ix, task)| Some((plan.task_name(ix).into_owned(), task.status.state()?)));
    named.collect()
}

/// Returns the tasks in a state, in the order of the plan.
pub(crate) fn names_in(plan: &Plan, state: State) -> Vec<String> {
    let tasks = plan.tasks().iter().enumerate();
    let found = tasks.filter(|(_, task)| task.status.state() == Some(state));
    found.map(|(ix, _)| plan.task_name(ix).into_owned()).collect()
}

/// Returns the state changes from one text of a plan to the next.
pub fn moves_between(path: &Path, before: &SourceText, after: &SourceText) -> Vec<StateChange> {
    let states = |text: &SourceText| {
        let linked = open(text, Some(path), None).0.inspection.plan;
        linked.map_or_else(BTreeMap::new, |linked| states_by_name(&linked.plan))
    };
    moved_states(&states(before), states(after))
}

pub(super) fn moved_states(before: &BTreeMap<String, State>, after: BTreeMap<String, State>) -> Vec<StateChange> {
    let moved = after.into_iter().filter_map(|(task, to)| {
        let from = before.get(&task).copied();
        (from.unwrap_or(State::Pending) != to).then(|| StateChange {
            task,
            from: from.map(|from| from.as_str().to_owned()),
            to: to.as_str().to_owned(),
            ..StateChange::default()
        })
    });
    moved.collect()
}
