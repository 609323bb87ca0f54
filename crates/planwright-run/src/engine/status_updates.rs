//! Statuses for the plan file: collected while many events arrive, and written in batches.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use planwright_core::edit::{VerbRequest, WorkReport};
use planwright_core::plan::{State, Verb};

use super::naming::and_more;
use super::{PlanSnapshot, RunRequest};
use crate::claims::RUN_VERB;
use crate::clock;
use crate::error_chain::with_causes;
use crate::journal::{ManualVerification, Receipt};
use crate::redaction::Redaction;
use crate::revise::{self, BatchRequest, ChangeTarget, ReviseError};
use crate::runs::{RemarkKind, RemarkRecord, SkippedTask};

/// The verb in a plan's history for changes made by a run.
pub(super) const VERB: &str = RUN_VERB;

/// How many times the duration of the last write the next one waits: updates in between are written together.
const PATIENCE: u32 = 50;

const MAX_WAIT: Duration = Duration::from_secs(15);

/// The wait after a failed write.
const RETRY_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct StatusUpdate {
    pub(super) task: u32,
    pub(super) verb: Verb,
    pub(super) note: Option<String>,
    pub(super) output: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) by: Option<String>,
    /// The user or process that decided, if another one did the work.
    pub(super) decided_by: Option<String>,
    pub(super) now: String,
    /// For a done task, what verified it; empty if nothing did.
    pub(super) receipts: Option<Vec<Receipt>>,
    pub(super) work: WorkReport,
}

impl StatusUpdate {
    pub(super) fn redact(&mut self, redaction: &Redaction) {
        let receipts = self.receipts.iter_mut().flatten();
        let commands = receipts.flat_map(|receipt| &mut receipt.command);
        let texts = self.note.iter_mut().chain(&mut self.output).chain(&mut self.files);
        let tools = self.work.tools.iter_mut();
        let tools = tools.flat_map(|call| [&mut call.name, &mut call.input]);
        let texts = texts.chain(commands).chain(&mut self.work.reflection).chain(tools);
        redaction.clean_all(texts);
    }

    fn named(&self, snapshot: &PlanSnapshot) -> BatchRequest<'_> {
        let task = snapshot.name(self.task).to_owned();
        BatchRequest {
            request: VerbRequest {
                note: self.note.as_deref(),
                output: self.output.as_deref(),
                files: &self.files,
                by: self.by.as_deref(),
                // The scheduler has decided that the task may start, and only unproven tasks are reopened.
                force: matches!(self.verb, Verb::Start | Verb::Reset),
                keeps_notes: true,
                // A run that tries a failed task again starts it.
                starts: true,
                work: Some(&self.work),
                ..VerbRequest::new(self.verb, &self.now)
            },
            decided_by: self.decided_by.as_deref(),
            verified: self.receipts.as_ref().map(|receipts| ManualVerification {
                task: task.clone(),
                passed: !receipts.is_empty(),
                receipts: receipts.iter().map(without_output).collect(),
                ..ManualVerification::default()
            }),
            task,
        }
    }
}

/// Returns a receipt for the history of the plan. The log of the run has the output.
fn without_output(receipt: &Receipt) -> Receipt {
    Receipt {
        is_setup: false,
        tail: String::new(),
        ..receipt.clone()
    }
}

pub(super) struct WrittenUpdates {
    pub(super) moved: Vec<(String, State)>,
    /// The tasks that were skipped along with failed ones.
    pub(super) along: Vec<SkippedTask>,
    pub(super) change: Option<u64>,
    /// Updates that the plan refused, and why: another process was first.
    pub(super) refused: Vec<(StatusUpdate, String)>,
    /// Files next to the plan that could not be updated.
    pub(super) remarks: Vec<String>,
}

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

    pub(super) fn tasks(&self) -> impl Iterator<Item = u32> {
        let tasks: BTreeSet<u32> = self.pending.iter().map(|update| update.task).collect();
        tasks.into_iter()
    }

    pub(super) fn concerns(&self, task: u32) -> bool {
        self.pending.iter().any(|update| update.task == task)
    }

    /// Returns when to write; none without updates.
    pub(super) fn due(&self) -> Option<Instant> {
        let now = clock::instant();
        (!self.pending.is_empty()).then(|| self.not_before.unwrap_or(now))
    }

    /// Gives the tasks their new numbers, and drops updates of removed tasks.
    pub(super) fn renumber(&mut self, new_of: impl Fn(u32) -> Option<u32>) {
        self.pending.retain_mut(|update| match new_of(update.task) {
            Some(task) => {
                update.task = task;
                true
            }
            None => false,
        });
    }

    /// Writes the updates. If that fails, all of them keep waiting.
    pub(super) fn write(&mut self, snapshot: &mut PlanSnapshot) -> Result<WrittenUpdates, ReviseError> {
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

fn write(updates: &[StatusUpdate], snapshot: &mut PlanSnapshot) -> Result<WrittenUpdates, ReviseError> {
    let target = ChangeTarget {
        path: snapshot.path(),
        forced: snapshot.forced(),
        dry: false,
    };
    let named: Vec<BatchRequest<'_>> = updates.iter().map(|update| update.named(snapshot)).collect();
    let (revised, results) = revise::transitions(target, VERB, &named)?;
    let refused = updates
        .iter()
        .zip(results)
        .filter_map(|(update, result)| Some((update.clone(), why(&result.err()?))));
    let refused = refused.collect();
    snapshot.wrote(&revised.before, &revised.text, &revised.recorded);
    let along = revised.steps.iter().filter(|step| step.to == State::Skipped);
    let along = along.filter_map(|step| {
        Some(SkippedTask {
            task: step.task.clone(),
            because: step.cause.clone()?,
        })
    });
    Ok(WrittenUpdates {
        along: along.collect(),
        moved: revised.steps.into_iter().map(|step| (step.task, step.to)).collect(),
        change: revised.change,
        refused,
        remarks: revised.pointer.iter().map(ToString::to_string).collect(),
    })
}

/// Returns the verbs from the state in the file to the intended one.
pub(super) fn way_back(found: State, to: State) -> &'static [Verb] {
    match (found, to) {
        (State::Running, State::Done) => &[Verb::Done],
        (State::Running, State::Failed) => &[Verb::Fail],
        (State::Pending, State::Running) => &[Verb::Start],
        (State::Pending, State::Done) => &[Verb::Start, Verb::Done],
        (State::Pending, State::Failed) => &[Verb::Start, Verb::Fail],
        (State::Pending, State::Skipped) => &[Verb::Skip],
        (State::Pending, State::Blocked) => &[Verb::Block],
        (_, State::Pending) => &[Verb::Reset],
        (_, State::Running) => &[Verb::Reset, Verb::Start],
        (_, State::Done) => &[Verb::Reset, Verb::Start, Verb::Done],
        (_, State::Failed) => &[Verb::Reset, Verb::Start, Verb::Fail],
        (_, State::Skipped) => &[Verb::Reset, Verb::Skip],
        (_, State::Blocked) => &[Verb::Reset, Verb::Block],
    }
}

/// The remark about a task that an edit marks to be skipped.
pub(super) const NOT_SKIPPED: &str =
    "the plan file marks it as one to skip, and no verb did: it is run. To leave it out, call `planwright skip`";

/// Returns the remark about statuses in the plan file that do not count: the task, the found state, and the valid state.
pub(super) fn set_back_remark(tasks: &[(&str, State, State)]) -> RemarkRecord {
    let words =
        |(name, found, holds): &(&str, State, State)| format!("`{name}` from {} to {}", found.as_str(), holds.as_str());
    let text = format!(
        "the plan file has statuses that this run did not set. They do not count and are set back: {}. To move a task \
         during a run, call a verb from outside of it, for example `planwright skip`, or `planwright done --take-over --note`",
        and_more(tasks.iter().map(words))
    );
    let task = match tasks {
        [(only, ..)] => Some((*only).to_owned()),
        _ => None,
    };
    RemarkRecord {
        kind: Some(RemarkKind::StatusSetBack),
        task,
        ..RemarkRecord::new(text)
    }
}

/// Returns an update without a note, an output or files.
pub(super) fn plain(request: &RunRequest<'_>, task: u32, verb: Verb) -> StatusUpdate {
    StatusUpdate {
        task,
        verb,
        note: None,
        output: None,
        files: Vec::new(),
        by: request.options.flags.by.clone(),
        decided_by: None,
        now: clock::now(),
        receipts: None,
        work: WorkReport::default(),
    }
}

/// Returns why the plan refused a change, or could not be written, in words.
pub(super) fn why(error: &ReviseError) -> String {
    match error {
        ReviseError::Store(error) => with_causes(error),
        ReviseError::Problem(problem) | ReviseError::ProblemInText { problem, .. } => problem.to_string(),
        ReviseError::Created(error) => error.to_string(),
        ReviseError::Closed(closed) => closed.message.clone(),
        ReviseError::NotTheirs { task, .. } => format!("`{task}` is held by another owner"),
        ReviseError::NoSuchTask { name, .. } | ReviseError::DoubtfulPlan { name } => {
            format!("there is no task `{name}` any more")
        }
        ReviseError::SeveralTasks { name, .. } => format!("several tasks have the id `{name}` now"),
        ReviseError::NothingReady
        | ReviseError::NothingToUndo
        | ReviseError::UndoDuringRun { .. }
        | ReviseError::EditDuringRun { .. }
        | ReviseError::EditedSince { .. }
        | ReviseError::ChangedMeanwhile => "there was nothing to change".to_owned(),
    }
}
