//! Approves or rejects a task that waits for review: through the active run, otherwise in the plan. Decides nothing about tasks.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use planwright_core::edit::VerbRequest;
use planwright_core::plan::{State, Verb};

use crate::caller;
use crate::claims::RUN_VERB;
use crate::clock;
use crate::files::{DiskFiles, Files};
use crate::inspect_file::open;
use crate::journal::{JournalError, plan_id};
use crate::layout::PlanPlace;
use crate::lock::LockError;
use crate::revise::{
    ChangeTarget, LastVerb, ReviseError, RevisedPlan, TaskSelector, VerbCall, last_verbs_of, task_named, transition_by,
};
use crate::runs::state::{RunState, TaskRun, TaskState};
use crate::runs::{
    self, ApprovalRecord, AttemptEndRecord, ControlRequest, LogFollower, Outcome, RunEvent, RunLock, RunLog, RunPlace,
    RunRecord, SkippedTask, UnlandedWorkRecord, ask, holder, records,
};
use crate::store::{StoreError, load};

/// The default time that a run has to answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The pause between two reads of a run's answer.
const PAUSE: Duration = Duration::from_millis(25);

/// A reviewer's verdict on the work of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The task is done.
    Approve,
    /// The task has failed.
    Reject,
}

impl ReviewVerdict {
    /// Returns its name on the command line and in a run's requests.
    pub fn as_str(self) -> &'static str {
        match self {
            ReviewVerdict::Approve => "approve",
            ReviewVerdict::Reject => "reject",
        }
    }

    fn task_verb(self) -> Verb {
        match self {
            ReviewVerdict::Approve => Verb::Done,
            ReviewVerdict::Reject => Verb::Fail,
        }
    }
}

/// A reviewer's verdict on a task.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    /// The task, by the plan's own name.
    pub task: &'a str,
    pub verdict: ReviewVerdict,
    pub by: Option<&'a str>,
    pub note: Option<&'a str>,
    /// How long an active run has to answer.
    pub patience: Duration,
}

impl Review<'_> {
    fn approval(&self, task: &str, commit: Option<String>) -> ApprovalRecord {
        ApprovalRecord {
            task: task.to_owned(),
            by: self.by.map(str::to_owned),
            note: self.note.map(str::to_owned),
            commit,
        }
    }
}

pub enum ReviewResult {
    /// The active run received the verdict.
    Run {
        run: String,
        /// The task, by the plan's own name.
        task: String,
        /// The run's answer: `approved`, or the outcome of the task; none in a dry run, which sends no request.
        answer: Option<String>,
    },
    /// No run is active. The approval is in the log of the last run, and the next run lands the work.
    ToLand {
        /// The task, by the plan's own name.
        task: String,
        commit: String,
        /// The branch that it lands on, as the value for a run's option.
        branch: Option<String>,
    },
    /// No run is active, and the plan was changed.
    Plan {
        /// The run that left the task for review.
        run: String,
        /// The task, by the plan's own name.
        task: String,
        revised: Box<RevisedPlan>,
        /// The commit with its work, if that is on no branch.
        commit: Option<String>,
    },
}

/// Why a review changes nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// No run waits for a review of this task.
    #[error("task `{task}` does not wait for review")]
    NothingWaits {
        task: String,
        /// The tasks that wait for a review.
        waiting: Vec<String>,
    },
    /// The run is active and does not answer. It may still follow the request.
    #[error("run {run} has not answered within {} s", .patience.as_secs_f64())]
    NoAnswer { run: String, patience: Duration },
    /// The plan could not be changed.
    #[error("the plan was not changed")]
    Revise(ReviseError),
    /// The log of a run cannot be read.
    #[error(transparent)]
    Log(#[from] JournalError),
    /// A run has just started.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The request cannot be sent, or the run cannot be found.
    #[error("`{}` cannot be used", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Sends a reviewer's verdict on a task to the active run, or records it if no run is active.
pub fn review(target: ChangeTarget<'_>, review: &Review<'_>) -> Result<ReviewResult, ReviewError> {
    let files = &DiskFiles;
    let place = PlanPlace::of(files, target.path).map_err(|source| ReviewError::Io {
        path: target.path.to_owned(),
        source,
    })?;
    let (task, id) = task_and_plan(target, review.task)?;
    if let Some(attempt) = caller::attempt_on(&place, id.as_deref()) {
        let path = target.path.to_owned();
        let refused = ReviseError::Store(StoreError::InAttempt { path, attempt });
        return Err(ReviewError::Revise(refused));
    }
    let live = holder(files, &place).and_then(|live| RunPlace::of(&place.root, &live.id?));
    if let Some(run) = live
        && let Some(reviewed) = ask_run(files, target, &place, &run, &task, review)?
    {
        return Ok(reviewed);
    }
    let waiting = waiting_since(files, &place, id.as_deref(), &task)?;
    let verbs = last_verbs_of(target.path, id.as_deref());
    if is_decided(&verbs, &task, &waiting.work.since) {
        return Err(nothing_waits(&task, &BTreeMap::new()));
    }
    match (&waiting.work.held, review.verdict) {
        (Some(held), ReviewVerdict::Approve) => approve_landing(target, &place, &waiting.run, held, &task, review),
        _ => change_plan(target, &place, waiting, task, review),
    }
}

/// Records the approval of work that the next run lands.
fn approve_landing(
    target: ChangeTarget<'_>,
    place: &PlanPlace,
    run: &RunPlace,
    held: &UnlandedWorkRecord,
    task: &str,
    review: &Review<'_>,
) -> Result<ReviewResult, ReviewError> {
    let files = &DiskFiles;
    let commit = held.candidate.commit.clone();
    if !target.dry {
        let approved = review.approval(task, Some(commit.clone()));
        add_to_log(files, place, run, &clock::now(), &[RunEvent::Approved(approved)])?;
    }
    let conditions = RunState::of(&records(files, &run.log())?).settings.fixed;
    Ok(ReviewResult::ToLand {
        task: task.to_owned(),
        commit,
        branch: conditions.map(|conditions| match conditions.is_current {
            true => "current".to_owned(),
            false => conditions.branch,
        }),
    })
}

/// Gives a task the state that the review decides.
fn change_plan(
    target: ChangeTarget<'_>,
    place: &PlanPlace,
    waiting: TaskInReview,
    task: String,
    review: &Review<'_>,
) -> Result<ReviewResult, ReviewError> {
    let (now, work) = (clock::now(), &waiting.work);
    let verb = VerbRequest::new(review.verdict.task_verb(), &now);
    let request = match review.verdict {
        ReviewVerdict::Approve => VerbRequest {
            note: review.note,
            output: work.output.as_deref(),
            files: &work.files,
            ..verb
        },
        ReviewVerdict::Reject => VerbRequest {
            note: review.note,
            ..verb
        },
    };
    let call = VerbCall {
        name: Some(review.verdict.as_str()),
        decided_by: review.by,
        // The run that held it has ended, and waits for this.
        takes_over: true,
        ..VerbCall::default()
    };
    let names = [task.clone()];
    let revised = transition_by(target, TaskSelector::Named(&names), &request, &call).map_err(ReviewError::Revise)?;
    if !target.dry {
        // The log of the run must show the verdict. The plan's history has it in any case, even if an ending run still holds the lock.
        let mut events = vec![match review.verdict {
            ReviewVerdict::Approve => RunEvent::Approved(review.approval(&task, None)),
            ReviewVerdict::Reject => RunEvent::AttemptEnded(rejection(task.clone(), work.attempt, review.note)),
        }];
        let skipped = revised.steps.iter().filter(|step| step.to == State::Skipped);
        events.extend(skipped.map(|step| {
            RunEvent::Skipped(SkippedTask {
                task: step.task.clone(),
                because: task.clone(),
            })
        }));
        match add_to_log(&DiskFiles, place, &waiting.run, &now, &events) {
            Ok(()) | Err(ReviewError::Locked(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ReviewResult::Plan {
        run: waiting.run.id().to_owned(),
        task,
        revised: Box::new(revised),
        commit: waiting.work.held.map(|held| held.candidate.commit),
    })
}

/// Returns the plan's own name of a task, and the plan's id.
fn task_and_plan(target: ChangeTarget<'_>, task: &str) -> Result<(String, Option<String>), ReviewError> {
    let revise = |error: ReviseError| ReviewError::Revise(error);
    let source = load(target.path).map_err(|error| revise(error.into()))?.source;
    let inspection = open(&source, Some(target.path), target.forced).0.inspection;
    let no_plan = || revise(planwright_core::change::Problem::NoPlan.into());
    let plan = &inspection.plan.as_ref().ok_or_else(no_plan)?.plan;
    let task_ix = task_named(plan, task).map_err(revise)?;
    Ok((plan.task_name(task_ix).into_owned(), plan_id(plan).map(str::to_owned)))
}

/// Sends the verdict to an active run, and waits for its answer; none if it has ended without one.
fn ask_run(
    files: &dyn Files,
    target: ChangeTarget<'_>,
    place: &PlanPlace,
    run: &RunPlace,
    task: &str,
    review: &Review<'_>,
) -> Result<Option<ReviewResult>, ReviewError> {
    let mut follower = LogFollower::new(&run.log());
    let so_far = follower.more()?;
    let words = last_words(&RunState::of(&so_far));
    if !words.get(task).is_some_and(LastReviewEvent::is_review) {
        return Err(nothing_waits(task, &words));
    }
    let reviewed = |answer| {
        Some(ReviewResult::Run {
            run: run.id().to_owned(),
            task: task.to_owned(),
            answer,
        })
    };
    if target.dry {
        return Ok(reviewed(None));
    }
    let asked = ControlRequest {
        verb: review.verdict.as_str().to_owned(),
        task: Some(task.to_owned()),
        by: review.by.map(str::to_owned),
        note: review.note.map(str::to_owned),
        time: clock::now(),
    };
    ask(files, &run.requests(), &asked).map_err(|source| ReviewError::Io {
        path: run.requests(),
        source,
    })?;
    let start = Instant::now();
    loop {
        // Whether the run is active is checked before its log is read, so that its last records are seen.
        let is_there = holder(files, place).is_some();
        let new = follower.more()?;
        if let Some(answer) = new.iter().find_map(|record| answer_in(record, task)) {
            return Ok(reviewed(Some(answer)));
        }
        let has_ended = new.iter().any(|record| matches!(record.event, RunEvent::RunEnded(_)));
        if has_ended || !is_there {
            return Ok(None);
        }
        if start.elapsed() >= review.patience {
            return Err(ReviewError::NoAnswer {
                run: run.id().to_owned(),
                patience: review.patience,
            });
        }
        std::thread::sleep(PAUSE);
    }
}

fn answer_in(record: &RunRecord, task: &str) -> Option<String> {
    match &record.event {
        RunEvent::Approved(approved) if approved.task == task => Some("approved".to_owned()),
        RunEvent::AttemptEnded(finished) if finished.task == task => Some(finished.outcome.to_string()),
        _ => None,
    }
}

/// A task that a run left for review.
struct TaskInReview {
    run: RunPlace,
    work: ReviewedWork,
}

pub(crate) fn rejection(task: String, attempt: u32, note: Option<&str>) -> AttemptEndRecord {
    AttemptEndRecord {
        task,
        attempt: attempt.max(1),
        outcome: Outcome::Failed,
        why: Some(format!("rejected: {}", note.unwrap_or("rejected"))),
        ..AttemptEndRecord::default()
    }
}

/// The work of the last attempt at a task.
#[derive(Default)]
struct ReviewedWork {
    attempt: u32,
    /// Since when it waits for review.
    since: String,
    output: Option<String>,
    files: Vec<String>,
    /// The work that lands after the approval.
    held: Option<Box<UnlandedWorkRecord>>,
}

/// The last record of a run about a task, as far as reviews are concerned.
enum LastReviewEvent {
    /// A reviewer must decide about its work.
    Review(ReviewedWork),
    /// Anything else.
    Other,
}

impl LastReviewEvent {
    fn is_review(&self) -> bool {
        matches!(self, LastReviewEvent::Review(_))
    }
}

/// Returns the newest run of a plan with records about a task, if the task waits for a review.
fn waiting_since(
    files: &dyn Files,
    place: &PlanPlace,
    id: Option<&str>,
    task: &str,
) -> Result<TaskInReview, ReviewError> {
    let own = runs::of_plan(files, place, id).map_err(|source| ReviewError::Io {
        path: place.root.clone(),
        source,
    })?;
    let mut newest: BTreeMap<String, LastReviewEvent> = BTreeMap::new();
    for run in own {
        for (task, word) in last_words(&run.state(files)?) {
            newest.entry(task).or_insert(word);
        }
        match newest.remove(task) {
            Some(LastReviewEvent::Review(work)) => {
                let run = run.place;
                return Ok(TaskInReview { run, work });
            }
            Some(LastReviewEvent::Other) => break,
            None => {}
        }
    }
    Err(nothing_waits(task, &newest))
}

/// Writes the verdict into the log of the run that left the task for review. No run of the plan starts meanwhile.
fn add_to_log(
    files: &dyn Files,
    place: &PlanPlace,
    run: &RunPlace,
    now: &str,
    events: &[RunEvent],
) -> Result<(), ReviewError> {
    let _live = RunLock::acquire(files, place, "", now)?;
    let mut log = RunLog::resume(files, &run.log())?.log;
    for event in events {
        log.add(now, event)?;
    }
    Ok(log.commit()?)
}

/// Returns whether a verb has moved a task since it was left for review.
fn is_decided(verbs: &HashMap<String, LastVerb>, task: &str, since: &str) -> bool {
    verbs
        .get(task)
        .is_some_and(|last| last.verb != RUN_VERB && last.at.as_str() > since)
}

/// Returns the tasks of a plan that wait for a review, with the commit that lands after the approval.
pub fn waiting_tasks(path: &Path, id: Option<&str>) -> BTreeMap<String, Option<String>> {
    let files = &DiskFiles;
    let newest = PlanPlace::of(files, path).ok().and_then(|place| {
        let mut own = runs::of_plan(files, &place, id).ok()?;
        own.next()?.state(files).ok()
    });
    let verbs = last_verbs_of(path, id);
    let words = newest.as_ref().map(last_words).unwrap_or_default().into_iter();
    let waiting = words.filter_map(|(task, word)| match word {
        LastReviewEvent::Review(work) if !is_decided(&verbs, &task, &work.since) => {
            Some((task, work.held.map(|held| held.candidate.commit)))
        }
        _ => None,
    });
    waiting.collect()
}

fn nothing_waits(task: &str, words: &BTreeMap<String, LastReviewEvent>) -> ReviewError {
    let waiting = words.iter().filter(|(_, word)| word.is_review());
    ReviewError::NothingWaits {
        task: task.to_owned(),
        waiting: waiting.map(|(task, _)| task.clone()).collect(),
    }
}

fn last_words(state: &RunState) -> BTreeMap<String, LastReviewEvent> {
    let tasks = state.tasks().iter().filter(|task| !task.plan_file.is_removed);
    // A task that only waited for its agent has no such record.
    let known = tasks.filter(|task| task.state != TaskState::Resting || !task.attempts.is_empty());
    known.map(|task| (task.task.clone(), word_of(task))).collect()
}

fn word_of(task: &TaskRun) -> LastReviewEvent {
    if task.state != TaskState::Review && !task.awaits_approved_landing() {
        return LastReviewEvent::Other;
    }
    let last = task.last().cloned().unwrap_or_default();
    LastReviewEvent::Review(ReviewedWork {
        attempt: last.attempt,
        since: task.plan_file.changed_at.clone(),
        output: last.report.output,
        files: last.report.files,
        held: task.held_work(),
    })
}
