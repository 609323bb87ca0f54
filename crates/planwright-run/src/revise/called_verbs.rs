//! Finds the verbs that other processes called on a plan, from its journal.

use std::collections::HashMap;
use std::path::Path;

use planwright_core::plan::{Plan, State};
use planwright_core::text::SourceText;

use crate::claims::RUN_VERB;
use crate::digest::Digest;
use crate::journal::{ChangeOutcome, PastChange, plan_id};
use crate::runs::MovedTask;
use crate::runs::state::{RunState, TaskRun, TaskState};
use crate::store::{PlanFile, history};

/// Returns whether the last that was recorded of a task is that it was started by hand, not by a run.
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
    /// The state that the task got; none in journals of earlier versions.
    pub(crate) to: Option<State>,
    /// Who called it, where the journal has it.
    pub(crate) by: Option<String>,
    /// Whether commands verified it before.
    pub(crate) verified: bool,
}

/// Notes in the state of a run which of its unfinished tasks another process brought to an end afterwards: a verb, or the later run
/// that landed what was approved. The journal is that of the plan at `path`.
pub fn note_take_overs(state: &mut RunState, path: &Path, id: Option<&str>) {
    let is_unfinished = |task: &&TaskRun| {
        let is_known = task.taken_over.as_ref().is_some_and(|moved| moved.verified);
        matches!(task.state, TaskState::Stopped | TaskState::Interrupted) && !is_known
    };
    let awaits_landing = |task: &&TaskRun| task.awaits_approved_landing();
    if !state
        .tasks()
        .iter()
        .any(|task| is_unfinished(&task) || awaits_landing(&task))
    {
        return;
    }
    let verbs = last_verbs_of(path, id);
    let landed = state.tasks().iter().filter(awaits_landing).filter(|task| {
        let last = verbs.get(&task.task);
        last.is_some_and(|last| last.to == Some(State::Done) && last.at > task.changed_at)
    });
    let landed: Vec<String> = landed.map(|task| task.task.clone()).collect();
    landed.iter().for_each(|task| state.landed_later(task));
    let unfinished = state.tasks().iter().filter(is_unfinished);
    let moved: Vec<MovedTask> = unfinished
        .filter_map(|task| verbs.get(&task.task)?.take_over(&task.task, &task.changed_at))
        .collect();
    moved.into_iter().for_each(|moved| state.take_over(moved));
}

impl LastVerb {
    /// Returns the move by which another process brought a task to an end after a time; none where no verb did.
    pub(crate) fn take_over(&self, task: &str, since: &str) -> Option<MovedTask> {
        let to = self
            .to
            .filter(|to| matches!(to, State::Done | State::Failed | State::Skipped))?;
        (self.verb != RUN_VERB && self.at.as_str() > since).then(|| MovedTask {
            task: task.to_owned(),
            to: to.as_str().to_owned(),
            by: self.by.clone(),
            verified: self.verified,
        })
    }
}

/// Returns for each task the last verb that moved it. A journal that cannot be read has none.
pub(crate) fn last_verbs(path: &Path, plan: &Plan) -> HashMap<String, LastVerb> {
    last_verbs_of(path, plan_id(plan))
}

/// Returns the same for a plan by its id.
pub(crate) fn last_verbs_of(path: &Path, id: Option<&str>) -> HashMap<String, LastVerb> {
    let file = PlanFile { path, id };
    let history = history(file).unwrap_or_default();
    let mut verbs = HashMap::new();
    for PastChange {
        change, time, outcome, ..
    } in history.changes()
    {
        if *outcome == ChangeOutcome::Void {
            continue;
        }
        let is_verified = |task: &str| {
            change
                .verified
                .iter()
                .any(|verified| verified.task == task && verified.passed)
        };
        let mut insert = |task: &str, to: Option<State>| {
            let verb = change.verb.clone();
            verbs.insert(
                task.to_owned(),
                LastVerb {
                    verb,
                    at: time.clone(),
                    to,
                    by: change.by.clone(),
                    verified: is_verified(task),
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

/// Returns the number that the next record of a plan's journal gets; 0 where the journal cannot be read.
pub(crate) fn next_record(path: &Path, plan: &Plan) -> u64 {
    let file = PlanFile {
        path,
        id: plan_id(plan),
    };
    history(file).map_or(0, |history| history.next_seq())
}

/// What a verb did to a task.
#[derive(Debug)]
struct CalledMove {
    verb: String,
    to: State,
    by: Option<String>,
    seq: u64,
}

/// What verbs did to a plan since a record of its journal.
#[derive(Debug, Default)]
pub(crate) struct CalledVerbs {
    /// For each task the last verb that moved it.
    moves: HashMap<String, CalledMove>,
    /// The verb of the last change, and its tasks.
    last: Option<(String, Vec<String>)>,
    /// What the last change left in the file.
    last_text: Option<Digest>,
}

impl CalledVerbs {
    /// Reads the journal of a plan. A change that never reached the file does not count; a journal that cannot be read has none.
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
                    let (verb, by, seq) = (change.verb.clone(), change.by.clone(), *seq);
                    called
                        .moves
                        .insert(moved.task.clone(), CalledMove { verb, to, by, seq });
                }
            }
            called.last = Some((change.verb.clone(), change.tasks.clone()));
        }
        called
    }

    /// Returns the last verb that moved a task, and the state that it got.
    pub(crate) fn last_move(&self, task: &str) -> Option<(&str, State)> {
        self.moves.get(task).map(|moved| (moved.verb.as_str(), moved.to))
    }

    /// Returns the number of the record of the last verb that moved a task.
    pub(crate) fn record_of_move(&self, task: &str) -> Option<u64> {
        self.moves.get(task).map(|moved| moved.seq)
    }

    /// Returns who called the last verb that moved a task, where the journal has it.
    pub(crate) fn mover(&self, task: &str) -> Option<&str> {
        self.moves.get(task)?.by.as_deref()
    }

    /// Returns the verb that made a text of the one before it by a change of a task.
    pub(crate) fn verb_of_text(&self, text: &SourceText, task: &str) -> Option<&str> {
        let (verb, tasks) = self.last.as_ref()?;
        let is_it = self.last_text == Some(Digest::of(text.as_str())) && tasks.iter().any(|named| named == task);
        is_it.then_some(verb)
    }
}
