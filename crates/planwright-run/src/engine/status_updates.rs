//! Statuses to be written to the plan file: collected while much happens, written at once when little does.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use planwright_core::plan::{State, Verb};

use super::{PlanSnapshot, RunRequest};
use crate::causes::with_causes;
use crate::clock;
use crate::revise::{self, ReviseError, Target};
use crate::runs::Skipped;

/// What the history of a plan calls what a run does.
pub(super) const VERB: &str = "run";

/// How much longer than the last writing took the next one waits: what happens meanwhile is written together.
const PATIENCE: u32 = 50;

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// How long a writing that failed waits to be tried again.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// A status to be written to the plan file.
#[derive(Clone, Debug)]
pub(super) struct StatusUpdate {
    /// The task.
    pub(super) task: u32,
    pub(super) verb: Verb,
    /// Why.
    pub(super) note: Option<String>,
    /// What was made.
    pub(super) output: Option<String>,
    /// The files that were touched.
    pub(super) files: Vec<String>,
    /// Who did it.
    pub(super) by: Option<String>,
    /// Who said so, where that is not who did it.
    pub(super) word_of: Option<String>,
    /// When.
    pub(super) now: String,
}

impl StatusUpdate {
    fn named(&self, snapshot: &PlanSnapshot) -> revise::Deed {
        revise::Deed {
            note: self.note.clone(),
            output: self.output.clone(),
            files: self.files.clone(),
            by: self.by.clone(),
            word_of: self.word_of.clone(),
            // Whether it may start was the scheduler's to say, and what is done is only opened again where it was not proven.
            force: matches!(self.verb, Verb::Start | Verb::Reset),
            keeps_notes: true,
            ..revise::Deed::new(snapshot.name(self.task), self.verb, self.now.as_str())
        }
    }
}

/// What was written.
pub(super) struct Written {
    /// The tasks that moved, and where they are now.
    pub(super) moved: Vec<(String, State)>,
    /// The tasks that were skipped along with others that failed.
    pub(super) along: Vec<Skipped>,
    /// The number of the change in the plan's journal.
    pub(super) change: Option<u64>,
    /// Updates that the plan refused, and why: another process was first.
    pub(super) refused: Vec<(StatusUpdate, String)>,
    /// Files next to the plan that could not be updated.
    pub(super) remarks: Vec<String>,
}

/// What waits to be written.
#[derive(Default)]
pub(super) struct PendingUpdates {
    pending: Vec<StatusUpdate>,
    not_before: Option<Instant>,
}

impl PendingUpdates {
    pub(super) fn add(&mut self, update: StatusUpdate) {
        self.pending.push(update);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns the tasks about which something waits.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u32> {
        let tasks: BTreeSet<u32> = self.pending.iter().map(|update| update.task).collect();
        tasks.into_iter()
    }

    /// Returns whether something about a task waits.
    pub(super) fn concerns(&self, task: u32) -> bool {
        self.pending.iter().any(|update| update.task == task)
    }

    /// Returns when there is something to write; none where there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        let now = clock::instant();
        (!self.pending.is_empty()).then(|| self.not_before.unwrap_or(now))
    }

    /// Gives the tasks other numbers; what was about one that is gone is dropped.
    pub(super) fn renumber(&mut self, new_of: impl Fn(u32) -> Option<u32>) {
        self.pending.retain_mut(|update| match new_of(update.task) {
            Some(task) => {
                update.task = task;
                true
            }
            None => false,
        });
    }

    /// Writes what waits. Where that fails all of it waits on.
    pub(super) fn write(&mut self, snapshot: &mut PlanSnapshot) -> Result<Written, ReviseError> {
        let began = clock::instant();
        let written = write(&self.pending, snapshot);
        let wait = match &written {
            Ok(_) => (clock::since(began) * PATIENCE).min(MAX_WAIT),
            Err(_) => RETRY_WAIT,
        };
        self.not_before = Some(clock::instant() + wait);
        if written.is_ok() {
            self.pending.clear();
        }
        written
    }
}

fn write(updates: &[StatusUpdate], snapshot: &mut PlanSnapshot) -> Result<Written, ReviseError> {
    let target = Target {
        path: snapshot.path(),
        forced: snapshot.forced(),
        dry: false,
    };
    let named: Vec<revise::Deed> = updates.iter().map(|update| update.named(snapshot)).collect();
    let (revised, results) = revise::transitions(target, VERB, &named)?;
    let refused = updates
        .iter()
        .zip(results)
        .filter_map(|(update, result)| Some((update.clone(), why(&result.err()?))));
    let refused = refused.collect();
    snapshot.wrote(&revised.before, &revised.text, &revised.recorded);
    let along = revised.steps.iter().filter(|step| step.to == State::Skipped);
    let along = along.filter_map(|step| {
        Some(Skipped {
            task: step.task.clone(),
            because: step.cause.clone()?,
        })
    });
    Ok(Written {
        along: along.collect(),
        moved: revised.steps.into_iter().map(|step| (step.task, step.to)).collect(),
        change: revised.change,
        refused,
        remarks: revised.pointer.iter().map(ToString::to_string).collect(),
    })
}

/// Returns an update without a note, an output or files.
pub(super) fn plain(request: &RunRequest<'_>, task: u32, verb: Verb) -> StatusUpdate {
    StatusUpdate {
        task,
        verb,
        note: None,
        output: None,
        files: Vec::new(),
        by: request.options.by.clone(),
        word_of: None,
        now: clock::now(),
    }
}

/// Returns why the plan would not take something, or could not be written, in words.
pub(super) fn why(error: &ReviseError) -> String {
    match error {
        ReviseError::Store(error) => with_causes(error),
        ReviseError::Problem(problem) | ReviseError::InTheWay { problem, .. } => problem.to_string(),
        ReviseError::Created(error) => error.to_string(),
        ReviseError::NoSuchTask { name, .. } => format!("there is no task `{name}` any more"),
        ReviseError::NothingReady | ReviseError::NothingToUndo | ReviseError::EditedSince { .. } => {
            "there was nothing to change".to_owned()
        }
    }
}
