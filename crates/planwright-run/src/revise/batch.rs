//! Applies many verbs to many tasks, by their names, as one change.

use std::borrow::Cow;
use std::collections::HashMap;

use planwright_core::change::{self, RequestResult, TaskRequest};
use planwright_core::edit::VerbRequest;
use planwright_core::plan::{Field, Plan};

use super::error::ReviseError;
use super::pending_change::{PendingChange, located};
use super::plan_states::is_all_written;
use super::revision::revise;
use super::{ChangeTarget, RevisedPlan, TaskTransition, each_once};
use crate::journal::ManualVerification;

/// One verb for one task, as part of a batch.
#[derive(Clone, Debug)]
pub struct BatchRequest<'a> {
    pub task: String,
    pub request: VerbRequest<'a>,
    /// The user or process that decided, if another one did the work.
    pub decided_by: Option<&'a str>,
    pub verified: Option<ManualVerification>,
}

/// Applies verbs to tasks, one after another, as one change of the file and of the history, which records this verb. Each may be refused
/// separately, and each result has its index. If all are refused, nothing is written. The error for an unknown name does not list known
/// names.
pub fn transitions(
    target: ChangeTarget<'_>,
    verb: &str,
    requests: &[BatchRequest<'_>],
) -> Result<(RevisedPlan, Vec<Result<(), ReviseError>>), ReviseError> {
    let mut results = Vec::new();
    let revised = revise(target, verb, |pending| {
        let asked = requests.iter().map(|request| (request.task.as_str(), request.request));
        results = pending.transitions(&asked.collect::<Vec<_>>(), NotePlacement::ByState)?;
        let made = requests.iter().zip(&results).filter(|(_, result)| result.is_ok());
        let made: Vec<&BatchRequest<'_>> = made.map(|(request, _)| request).collect();
        pending.is_idle = made.is_empty();
        pending.change.tasks = each_once(made.iter().map(|request| &request.task));
        pending.change.verified = made.iter().filter_map(|request| request.verified.clone()).collect();
        let by = made
            .iter()
            .filter_map(|request| request.decided_by.or(request.request.by));
        let by = each_once(&by.map(str::to_owned).collect::<Vec<_>>());
        pending.change.by = (!by.is_empty()).then(|| by.join(", "));
        if let [only] = made.as_slice() {
            pending.change.files = only.request.files.to_vec();
            pending.change.note = only.request.note.map(str::to_owned);
            pending.change.output = only.request.output.map(str::to_owned);
        }
        Ok(())
    })?;
    Ok((revised, results))
}

/// Where the notes for states that only the journal holds are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NotePlacement {
    /// With the change, for all states.
    ByChange,
    /// With each state.
    ByState,
}

/// The tasks of a plan by their names for users.
struct TaskNames<'p> {
    names: HashMap<Cow<'p, str>, usize>,
    /// The ids of tasks that have another name.
    ids: HashMap<&'p str, usize>,
}

impl<'p> TaskNames<'p> {
    fn of(plan: &'p Plan) -> Self {
        let mut known = TaskNames {
            names: HashMap::with_capacity(plan.tasks().len()),
            ids: HashMap::new(),
        };
        for (task_ix, task) in plan.tasks().iter().enumerate() {
            known.names.entry(plan.task_name(task_ix)).or_insert(task_ix);
            if let Some(id) = plan.task_str(task, Field::Id) {
                known.ids.entry(id).or_insert(task_ix);
            }
        }
        known
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).or_else(|| self.ids.get(name)).copied()
    }
}

impl PendingChange<'_> {
    /// Applies verbs to tasks by their names, one after another, and returns the result of each.
    pub(super) fn transitions(
        &mut self,
        asked: &[(&str, VerbRequest<'_>)],
        kept: NotePlacement,
    ) -> Result<Vec<Result<(), ReviseError>>, ReviseError> {
        let plan = &self.linked()?.plan;
        let is_all_written = is_all_written(plan);
        let places: Vec<Option<usize>> = match asked {
            [(only, _)] => vec![plan.find_task(only)],
            asked => {
                let names = TaskNames::of(plan);
                asked.iter().map(|(name, _)| names.find(name)).collect()
            }
        };
        let found = asked.iter().zip(&places);
        let found = found.filter_map(|(&(_, request), &task_ix)| {
            let task_ix = task_ix?;
            Some(TaskRequest { task_ix, request })
        });
        let found: Vec<TaskRequest<'_>> = found.collect();
        let batch = self.with_choice(|open, choice| change::transitions(open, choice, &found));
        let mut results = Vec::with_capacity(asked.len());
        let mut came_of_found = batch.results.into_iter();
        for ((name, request), place) in asked.iter().zip(places) {
            let result = match place.and_then(|_| came_of_found.next()) {
                None => Err(ReviseError::NoSuchTask {
                    name: (*name).to_owned(),
                    known: Vec::new(),
                }),
                Some(Err(unmade)) => Err(located(unmade.problem, &unmade.source)),
                Some(Ok(made)) => {
                    let steps = steps_of(&self.linked()?.plan, &made);
                    let words = Some(request).filter(|_| kept == NotePlacement::ByState);
                    for step in steps.iter().filter(|_| !is_all_written) {
                        self.record_state(&step.task, Some(step.from), Some(step.to), words);
                    }
                    self.steps.extend(steps);
                    Ok(())
                }
            };
            results.push(result);
        }
        self.open.take(batch.changed);
        self.take_states();
        Ok(results)
    }
}

fn steps_of(plan: &Plan, made: &RequestResult) -> Vec<TaskTransition> {
    let name_of = |ix: usize| plan.task_name(ix).into_owned();
    // A further skip cause is no move.
    let moves = made
        .moves
        .iter()
        .filter(|step| step.cause.is_none() || step.from != step.to);
    let steps = moves.map(|step| TaskTransition {
        task: name_of(step.task_ix),
        from: step.from,
        to: step.to,
        cause: step.cause.map(name_of),
        attempt: made.attempt.filter(|_| step.cause.is_none()),
    });
    steps.collect()
}
