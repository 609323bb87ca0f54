//! The moves that a verb causes: of the task by the table, of its dependents by the dialect's policy.

use std::collections::HashMap;
use std::fmt;

use super::reasons::{causes, is_skipped_along};
pub use super::working_plan::retries;
use super::working_plan::{StopEditing, WorkingPlan};
use super::{Move, VerbRequest};
use crate::plan::lifecycle::OnFailure;
use crate::plan::{Plan, Readiness, State, Verb};
use crate::text::visible;

/// Why a verb is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerbRefusal {
    /// The table has no such transition.
    NotAllowed {
        /// The task's name.
        task: String,
        /// Its present state.
        from: State,
        /// The requested verb.
        verb: Verb,
        /// The allowed verbs.
        allowed: Vec<Verb>,
        /// Whether force would allow it.
        by_force: bool,
    },
    /// The dialect has no such state.
    NoSuchState {
        /// The task's name.
        task: String,
        /// The requested verb.
        verb: Verb,
        /// The allowed verbs.
        allowed: Vec<Verb>,
    },
    /// The task may not start yet.
    NotReady {
        /// The task's name.
        task: String,
        /// The reasons why it must wait, in words.
        waits: Vec<String>,
    },
    /// The file gives the task a status that the dialect does not know.
    UnknownStatus {
        /// The task's name.
        task: String,
        /// The status as written.
        written: String,
    },
}

impl VerbRefusal {
    /// Returns the next step for the user.
    pub fn help(&self) -> String {
        match self {
            VerbRefusal::NotAllowed { by_force: true, .. } => "--force does it anyway".to_owned(),
            VerbRefusal::NotAllowed { from: State::Done, .. } => {
                "what is done stays done; `reset --force` opens it again".to_owned()
            }
            VerbRefusal::NotAllowed { allowed, .. } => allowed_words(allowed),
            VerbRefusal::NoSuchState { allowed, .. } => {
                format!("its files cannot hold a blocked task; {}", allowed_words(allowed))
            }
            VerbRefusal::NotReady { .. } => {
                "finish those first; `planwright why TASK` shows the way. --force --note \"…\" does it anyway"
                    .to_owned()
            }
            VerbRefusal::UnknownStatus { .. } => "correct the status first: `planwright check` shows how".to_owned(),
        }
    }
}

fn phrase(verb: Verb) -> &'static str {
    match verb {
        Verb::Done => "finish",
        verb => verb.as_str(),
    }
}

fn allowed_words(allowed: &[Verb]) -> String {
    allowed_names(allowed.iter().map(|verb| verb.as_str()))
}

/// Returns a sentence with the allowed verbs.
pub(super) fn allowed_names<'a>(verbs: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = verbs.map(|verb| format!("`{verb}`")).collect();
    match names.split_last() {
        None => "nothing is allowed from here".to_owned(),
        Some((only, [])) => format!("allowed from here: {only}"),
        Some((last, others)) => format!("allowed from here: {} and {last}", others.join(", ")),
    }
}

impl fmt::Display for VerbRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerbRefusal::NotAllowed { task, from, verb, .. } => {
                write!(f, "cannot {} task `{task}`: it is {}", phrase(*verb), from.as_str())
            }
            VerbRefusal::NoSuchState { task, verb, .. } => {
                write!(f, "cannot {} task `{task}` in this dialect", phrase(*verb))
            }
            VerbRefusal::NotReady { task, waits } => {
                write!(f, "task `{task}` is not ready: {}", waits.join(", "))
            }
            VerbRefusal::UnknownStatus { task, written } => {
                write!(
                    f,
                    "task `{task}` has the status `{written}`, which its dialect does not know"
                )
            }
        }
    }
}

impl WorkingPlan<'_> {
    /// Returns the moves of all tasks that a request causes, that of the task itself first. Before any move, the text that was read is
    /// enough.
    pub(crate) fn moves(&self, task_ix: usize, request: &VerbRequest<'_>) -> Result<Vec<Move>, StopEditing> {
        let plan = self.plan();
        let task = &plan.tasks()[task_ix];
        let Some(from) = task.status.state() else {
            return Err(StopEditing::Refused(VerbRefusal::UnknownStatus {
                task: name(plan, task_ix),
                written: visible(plan.source().slice(task.status_span)).into_owned(),
            }));
        };
        let mut to = outcome(plan, task_ix, from, request)?;
        let starts = request.verb == Verb::Start || (request.verb == Verb::Retry && request.starts);
        if request.verb == Verb::Retry && starts {
            to = State::Running;
        }
        if starts && !request.force {
            refuse_unready(plan, &self.readiness()?, task_ix)?;
        }
        if request.verb == Verb::Fail && plan.lifecycle.machine.counts_retries {
            let (n_failures, max) = self.retries(task_ix);
            if n_failures < max {
                to = State::Pending;
            }
        }
        let mut moves = vec![Move {
            task_ix,
            from,
            to,
            cause: None,
        }];
        match to {
            State::Failed if plan.lifecycle.on_failure == OnFailure::DependentsSkipped => {
                skip_dependents(self, task_ix, &mut moves)?;
            }
            State::Skipped if plan.lifecycle.machine.skip_cascades && request.cascade => {
                skip_along(self, task_ix, &mut moves)?;
            }
            State::Running | State::Pending | State::Failed
                if plan.lifecycle.on_failure == OnFailure::DependentsSkipped
                    && matches!(request.verb, Verb::Retry | Verb::Reset) =>
            {
                release_dependents(self, task_ix, &mut moves)?;
            }
            State::Pending if from == State::Skipped && plan.lifecycle.machine.skip_cascades && request.cascade => {
                release_along(self, task_ix, &mut moves)?;
            }
            _ => {}
        }
        Ok(moves)
    }
}

fn name(plan: &Plan, task_ix: usize) -> String {
    visible(&plan.task_name(task_ix)).into_owned()
}

fn outcome(plan: &Plan, task_ix: usize, from: State, request: &VerbRequest<'_>) -> Result<State, VerbRefusal> {
    let machine = &plan.lifecycle.machine;
    if let Some(to) = machine.outcome(from, request.verb, request.force) {
        return Ok(to);
    }
    let allowed: Vec<Verb> = machine.allowed(from).collect();
    let task = name(plan, task_ix);
    Err(if request.verb == Verb::Block && !machine.can_block {
        VerbRefusal::NoSuchState {
            task,
            verb: request.verb,
            allowed,
        }
    } else {
        VerbRefusal::NotAllowed {
            task,
            from,
            verb: request.verb,
            by_force: machine.outcome(from, request.verb, true).is_some(),
            allowed,
        }
    })
}

fn refuse_unready(plan: &Plan, readiness: &Readiness<'_>, task_ix: usize) -> Result<(), VerbRefusal> {
    let waits = readiness.waits(task_ix);
    if waits.is_empty() {
        return Ok(());
    }
    Err(VerbRefusal::NotReady {
        task: name(plan, task_ix),
        waits: waits.iter().map(|wait| wait.words(plan)).collect(),
    })
}

/// Skips all tasks that wait for a failed task. Tasks that are already skipped because of another failure get a further cause. Dependents
/// of a finished task, or of one that the user skipped, do not wait for this one. A task that has failed itself, or runs by force, stays
/// unchanged, and its dependents wait for both.
fn skip_dependents(working: &WorkingPlan<'_>, task_ix: usize, moves: &mut Vec<Move>) -> Result<(), StopEditing> {
    working.dependents().each_behind([task_ix], |dependent| {
        let state = working.state(dependent);
        let is_waiting = match state {
            Some(State::Pending) => !working.text_of(dependent)?.tasks()[dependent].held,
            Some(State::Skipped) => !causes(working.text_of(dependent)?, dependent).is_empty(),
            _ => false,
        };
        let from = state.filter(|_| is_waiting);
        moves.extend(from.map(|from| skip(dependent, from, task_ix)));
        Ok(is_waiting || matches!(state, Some(State::Failed | State::Running)))
    })
}

/// Skips all pending tasks that wait for a skipped one.
fn skip_along(working: &WorkingPlan<'_>, task_ix: usize, moves: &mut Vec<Move>) -> Result<(), StopEditing> {
    working.dependents().each_behind([task_ix], |dependent| {
        let from = working.state(dependent).filter(|state| *state == State::Pending);
        moves.extend(from.map(|from| skip(dependent, from, task_ix)));
        Ok(from.is_some())
    })
}

fn skip(task_ix: usize, from: State, cause: usize) -> Move {
    Move {
        task_ix,
        from,
        to: State::Skipped,
        cause: Some(cause),
    }
}

/// Undoes the skips by the task's failure: of exactly the tasks whose notes name it as their only cause.
fn release_dependents(working: &WorkingPlan<'_>, task_ix: usize, moves: &mut Vec<Move>) -> Result<(), StopEditing> {
    let failed = working.plan().task_name(task_ix);
    let skipped = working.skipped_for(&failed)?.iter().copied();
    let from = State::Skipped;
    for dependent in skipped.filter(|&ix| ix != task_ix && working.state(ix) == Some(from)) {
        let plan = working.text_of(dependent)?;
        let is_last = causes(plan, dependent).iter().all(|cause| *cause == failed);
        moves.push(Move {
            task_ix: dependent,
            from,
            to: if is_last { State::Pending } else { State::Skipped },
            cause: Some(task_ix),
        });
    }
    Ok(())
}

/// Undoes the skips along with the task: of the tasks that no longer wait for any skipped one.
fn release_along(working: &WorkingPlan<'_>, task_ix: usize, moves: &mut Vec<Move>) -> Result<(), StopEditing> {
    let links = working.links();
    let is_skipped = |ix: usize| working.state(ix) == Some(State::Skipped);
    let n_skipped = |ix: usize| links.of(ix).iter().filter(|edge| is_skipped(edge.to as usize)).count();
    let dependents = working.dependents();
    let mut n_open: HashMap<usize, usize> = HashMap::new();
    let mut queue = vec![task_ix];
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        for &dependent in dependents.of(at) {
            let dependent = dependent as usize;
            if dependent == task_ix
                || !is_skipped(dependent)
                || !is_skipped_along(working.text_of(dependent)?, dependent)
            {
                continue;
            }
            let n_open = n_open.entry(dependent).or_insert_with(|| n_skipped(dependent));
            *n_open = n_open.saturating_sub(1);
            if *n_open == 0 {
                queue.push(dependent);
            }
        }
    }
    moves.extend(queue.iter().skip(1).map(|&dependent| Move {
        task_ix: dependent,
        from: State::Skipped,
        to: State::Pending,
        cause: Some(task_ix),
    }));
    Ok(())
}
