//! Finds the verbs that other processes called on a plan, from its journal.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use planwright_core::plan::{Plan, State};
use planwright_core::text::SourceText;

use crate::claims::RUN_VERB;
use crate::digest::Digest;
use crate::journal::{ChangeOutcome, ChangeRecord, PastChange, plan_id};
use crate::runs::MovedTask;
use crate::runs::state::{RunState, TaskRun, TaskState};
use crate::store::{PlanFile, history};

/// Returns whether the last record of a task is that a person started it, not a run.
pub(crate) fn was_started_by_hand(path: &Path, plan: &Plan, task: &str) -> bool {
    last_verbs(path, plan)
        .get(task)
        .is_some_and(|last| matches!(last.verb.as_str(), "start" | "retry"))
}

/// The last verb that moved a task.
#[derive(Clone, Debug)]
pub(crate) struct LastVerb {
    pub(crate) verb: String,
    /// When it was called, as RFC 3339 in UTC.
    pub(crate) at: String,
    /// The new state of the task; none in journals of earlier versions.
    pub(crate) to: Option<State>,
    /// The caller, if the journal has it.
    pub(crate) by: Option<String>,
    /// Whether commands verified it before.
    pub(crate) verified: bool,
}

/// Adds to the state of a run which of its unfinished tasks another process finished afterwards, by a verb or by a later run that landed
/// approved work. The journal is that of the plan at `path`.
pub fn note_take_overs(state: &mut RunState, path: &Path, id: Option<&str>) {
    let is_unfinished = |task: &&TaskRun| {
        let is_known = task.taken_over.as_ref().is_some_and(|moved| moved.verified);
        matches!(task.state, TaskState::Stopped | TaskState::Interrupted) && !is_known
    };
    let awaits_landing = |task: &&TaskRun| task.awaits_approved_landing();
    let awaits_review = |task: &&TaskRun| task.state == TaskState::Review;
    if !state
        .tasks()
        .iter()
        .any(|task| is_unfinished(&task) || awaits_landing(&task) || awaits_review(&task))
    {
        return;
    }
    let verbs = last_verbs_of(path, id);
    let reviews = state.tasks().iter().filter(awaits_review);
    let decided: Vec<MovedTask> = reviews
        .filter_map(|task| verbs.get(&task.task)?.moved(&task.task, &task.plan_file.changed_at))
        .collect();
    decided.into_iter().for_each(|moved| state.end_review(moved));
    let landed = state.tasks().iter().filter(awaits_landing).filter(|task| {
        let last = verbs.get(&task.task);
        last.is_some_and(|last| last.to == Some(State::Done) && last.at > task.plan_file.changed_at)
    });
    let landed: Vec<String> = landed.map(|task| task.task.clone()).collect();
    landed.iter().for_each(|task| state.landed_later(task));
    let unfinished = state.tasks().iter().filter(is_unfinished);
    let moved: Vec<MovedTask> = unfinished
        .filter_map(|task| verbs.get(&task.task)?.take_over(&task.task, &task.plan_file.changed_at))
        .collect();
    moved.into_iter().for_each(|moved| state.take_over(moved));
}

impl LastVerb {
    /// Returns the move by which another process finished a task after a time; none if no verb did.
    pub(crate) fn take_over(&self, task: &str, since: &str) -> Option<MovedTask> {
        let is_end = matches!(self.to, Some(State::Done | State::Failed | State::Skipped));
        is_end.then(|| self.moved(task, since)).flatten()
    }

    /// Returns the move of a task by another process after a time; none if no verb moved it.
    fn moved(&self, task: &str, since: &str) -> Option<MovedTask> {
        let to = self.to.filter(|_| self.verb != RUN_VERB && self.at.as_str() > since)?;
        Some(MovedTask {
            task: task.to_owned(),
            to: to.as_str().to_owned(),
            by: self.by.clone(),
            verified: self.verified,
        })
    }
}

/// Returns the last verb that moved each task; empty if the journal cannot be read.
pub(crate) fn last_verbs(path: &Path, plan: &Plan) -> HashMap<String, LastVerb> {
    last_verbs_of(path, plan_id(plan))
}

/// Returns the last verbs of a plan with this id.
pub(crate) fn last_verbs_of(path: &Path, id: Option<&str>) -> HashMap<String, LastVerb> {
    let file = PlanFile { path, id };
    let history = history(file).unwrap_or_default();
    // An undone verb leaves the tasks as the one before it did. Changes by a run are different: undoing them makes the tasks pending.
    let is_undone = |past: &&PastChange| past.undone_by.is_some() && past.change.verb != RUN_VERB;
    let undone: HashSet<u64> = history
        .changes()
        .iter()
        .filter(is_undone)
        .map(|past| past.seq)
        .collect();
    let is_gone = |past: &PastChange| {
        let undoes = past.change.undoes.is_some_and(|seq| undone.contains(&seq));
        past.outcome == ChangeOutcome::Void || undone.contains(&past.seq) || undoes
    };
    let mut verbs = HashMap::new();
    for past in history.changes().iter().filter(|past| !is_gone(past)) {
        let PastChange { change, time, .. } = past;
        let mut insert = |task: &str, to: Option<State>| {
            let verb = change.verb.clone();
            verbs.insert(
                task.to_owned(),
                LastVerb {
                    verb,
                    at: time.clone(),
                    to,
                    by: change.by.clone(),
                    verified: is_verified(change, task),
                },
            );
        };
        if change.moves.is_empty() {
            change.tasks.iter().for_each(|task| insert(task, None));
        }
        for moved in change.states.iter().chain(&change.moves) {
            insert(&moved.task, State::from_word(&moved.to));
        }
    }
    verbs
}

/// Returns whether commands verified a task before a change moved it.
fn is_verified(change: &ChangeRecord, task: &str) -> bool {
    let mut verified = change.verified.iter();
    verified.any(|verified| verified.task == task && verified.passed)
}

/// Returns the number of the next record in a plan's journal; 0 if the journal cannot be read.
pub(crate) fn next_record(path: &Path, plan: &Plan) -> u64 {
    let file = PlanFile {
        path,
        id: plan_id(plan),
    };
    history(file).map_or(0, |history| history.next_seq())
}

#[derive(Debug)]
struct CalledMove {
    verb: String,
    to: State,
    by: Option<String>,
    verified: bool,
    seq: u64,
}

/// The verbs called on a plan since a record of its journal.
#[derive(Debug, Default)]
pub(crate) struct CalledVerbs {
    /// The last verb that moved each task.
    moves: HashMap<String, CalledMove>,
    /// The verb of the last change, and its tasks.
    last: Option<(String, Vec<String>)>,
    /// The text after the last change.
    last_text: Option<Digest>,
}

impl CalledVerbs {
    /// Reads the journal of a plan. A change that never reached the file does not count. A journal that cannot be read has no verbs.
    pub(crate) fn since(path: &Path, plan: &Plan, since: u64) -> Self {
        let file = PlanFile {
            path,
            id: plan_id(plan),
        };
        let Ok(history) = history(file) else {
            return CalledVerbs::default();
        };
        let mut called = CalledVerbs {
            last_text: history.last_seen(),
            ..CalledVerbs::default()
        };
        let holds = |past: &&PastChange| past.seq >= since && past.outcome != ChangeOutcome::Void;
        for PastChange { change, seq, .. } in history.changes().iter().filter(holds) {
            for moved in change.moves.iter().chain(&change.states) {
                if let Some(to) = State::from_word(&moved.to) {
                    let called_move = CalledMove {
                        verb: change.verb.clone(),
                        to,
                        by: change.by.clone(),
                        verified: is_verified(change, &moved.task),
                        seq: *seq,
                    };
                    called.moves.insert(moved.task.clone(), called_move);
                }
            }
            called.last = Some((change.verb.clone(), change.tasks.clone()));
        }
        called
    }

    pub(crate) fn last_move(&self, task: &str) -> Option<(&str, State)> {
        self.moves.get(task).map(|moved| (moved.verb.as_str(), moved.to))
    }

    /// Returns the number of the record of the last verb that moved a task.
    pub(crate) fn record_of_move(&self, task: &str) -> Option<u64> {
        self.moves.get(task).map(|moved| moved.seq)
    }

    /// Returns the caller of the last verb that moved a task, if the journal has it.
    pub(crate) fn mover(&self, task: &str) -> Option<&str> {
        self.moves.get(task)?.by.as_deref()
    }

    /// Returns whether commands verified a task before the last verb moved it.
    pub(crate) fn is_verified(&self, task: &str) -> bool {
        self.moves.get(task).is_some_and(|moved| moved.verified)
    }

    /// Returns the verb that produced a text by a change of a task.
    pub(crate) fn verb_of_text(&self, text: &SourceText, task: &str) -> Option<&str> {
        let (verb, tasks) = self.last.as_ref()?;
        let is_it = self.last_text == Some(Digest::of(text.as_str())) && tasks.iter().any(|named| named == task);
        is_it.then_some(verb)
    }
}
