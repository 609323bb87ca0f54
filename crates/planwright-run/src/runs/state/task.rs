//! One task of a run and its attempts, from the records of the run.

use super::super::record::{
    ApprovalRecord, AttemptEndRecord, CandidateRecord, ConflictRecord, LandingEndRecord, LandingStartRecord, MovedTask,
    Outcome, Receipt, RetryWaitRecord, Spent, UnlandedWorkRecord, VerificationContract,
};
use super::failures::end_of;
use crate::clock::milliseconds_of;

/// How many attempts back the attempt of a record is searched.
const MAX_BACK: usize = 64;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskRun {
    /// Its name now, in the dialect's own form.
    pub task: String,
    pub state: TaskState,
    pub attempts: Vec<AttemptRun>,
    pub approved: Option<ApprovalRecord>,
    /// Finished work that waits for a review, or for the run that lands it.
    pub held: Option<Box<UnlandedWorkRecord>>,
    /// The length of its wait before the next attempt, since when, and why.
    pub resting: Option<(RetryWaitRecord, String)>,
    pub results: TaskResults,
    /// The failed task that caused its skip; none after its next attempt started.
    pub skipped_for: Option<String>,
    pub plan_file: TaskInPlanFile,
    /// What its attempts spent. An attempt counts when it ends.
    pub spent: Spent,
    /// The verb of another process that moved it while the run worked on it; none after its next attempt started.
    pub taken_over: Option<MovedTask>,
    /// What verifies it; none before its first attempt, and in logs of earlier versions.
    pub contract: Option<VerificationContract>,
}

/// What the attempts at a task left for the prompts of others and of its next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskResults {
    /// The output of its last attempt that was accepted.
    pub output: Option<String>,
    /// Why its last attempt failed; none after an attempt that was accepted.
    pub failure: Option<String>,
    /// The files that its last attempt touched and that it does not declare.
    pub drift: Vec<String>,
}

impl TaskResults {
    /// Takes the output of an accepted attempt. An empty one does not replace an earlier one.
    pub(super) fn accept(&mut self, output: Option<&str>) {
        if let Some(output) = output.map(str::trim).filter(|output| !output.is_empty()) {
            self.output = Some(output.to_owned());
        }
        self.failure = None;
    }

    pub(super) fn fail(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.failure = Some(end_of(why));
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskInPlanFile {
    /// Whether it has this run's state of the task.
    pub is_current: bool,
    /// When that state last changed.
    pub changed_at: String,
    /// Whether the task is not in the plan any more.
    pub is_removed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TaskState {
    #[default]
    Waiting,
    Running,
    /// The agent reported success, and verification is not complete.
    Verifying,
    /// Between two attempts.
    Resting,
    Review,
    Done,
    Failed,
    /// Ended by a stop condition of the plan, or not tried again because the run ended.
    Stopped,
    /// The run ended during an attempt.
    Interrupted,
    Skipped {
        because: String,
    },
}

/// The progress of the work on a task, even if its run was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkProgress {
    Unknown,
    /// An attempt was running, being verified, or waiting to land.
    Running,
    /// An attempt had failed, and another one was due.
    Resting,
    /// Done, but for a review.
    Review,
    Done,
    Failed,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptRun {
    /// The number of the attempt in the run, from 1.
    pub attempt: u32,
    /// The name of its task when it started: records and files of the attempt use it.
    pub name: String,
    pub agent: String,
    /// The agent that it replaces, if any.
    pub instead_of: Option<String>,
    pub process: AttemptProcess,
    pub checkout: AttemptCheckout,
    pub times: AttemptTimes,
    /// Its result; none while it runs.
    pub outcome: Option<Outcome>,
    pub why: Option<String>,
    pub report: AgentReport,
    pub verification: AttemptVerification,
    pub landing: AttemptLanding,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptProcess {
    /// The slot of the attempt, from 1; 0 if the log has none.
    pub slot: u32,
    /// None before it starts.
    pub pid: Option<u32>,
    /// The mode of its fence; none if it is not fenced.
    pub fence: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptCheckout {
    pub folder: Option<String>,
    /// The branch that its work lands on.
    pub branch: Option<String>,
    pub identity: Option<String>,
    /// The commit that the folder is based on.
    pub base: Option<String>,
}

/// Times as RFC 3339 in UTC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptTimes {
    pub started: String,
    pub ended: Option<String>,
    /// Whether it has started and not ended: it counts after its end.
    pub(super) is_open: bool,
    /// Whether its time is not counted yet.
    pub(super) is_timed: bool,
}

/// What the end of an agent's process reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentReport {
    pub output: Option<String>,
    pub exit: Option<String>,
    /// How long the agent took, by its own measurement.
    pub milliseconds: Option<u64>,
    pub cost_usd: Option<f64>,
    /// Tokens sent and received.
    pub tokens: Option<[u64; 2]>,
    /// The agent's own id of its session.
    pub session: Option<String>,
    pub files: Vec<String>,
    /// Whether it reported success and changed no file.
    pub no_changes: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptVerification {
    /// None before its end.
    pub passed: Option<bool>,
    /// When it ended.
    pub at: Option<String>,
    pub receipts: Vec<Receipt>,
    /// Criteria without a rule.
    pub unverified: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptLanding {
    /// The number of the attempt to resolve conflicts of the task.
    pub resolution: Option<u32>,
    /// The work of the agent, as a commit.
    pub candidate: Option<CandidateRecord>,
    pub begun: Option<LandingStartRecord>,
    pub ended: Option<LandingEndRecord>,
    /// A conflict with landed work.
    pub conflict: Option<Box<ConflictRecord>>,
}

impl TaskState {
    pub fn name(&self) -> &'static str {
        match self {
            TaskState::Waiting => "waiting",
            TaskState::Running => "running",
            TaskState::Verifying => "verifying",
            TaskState::Resting => "resting",
            TaskState::Review => "review",
            TaskState::Done => "done",
            TaskState::Failed => "failed",
            TaskState::Stopped => "stopped",
            TaskState::Interrupted => "interrupted",
            TaskState::Skipped { .. } => "skipped",
        }
    }

    /// Returns the state of a task after the end of its last attempt.
    pub(super) fn after(outcome: &Outcome, verified: Option<bool>) -> Self {
        match (outcome, verified) {
            (Outcome::Done, Some(true)) => TaskState::Done,
            (Outcome::Done, Some(false)) => TaskState::Failed,
            (Outcome::Done, None) => TaskState::Verifying,
            (Outcome::Stopped, _) => TaskState::Stopped,
            (Outcome::Interrupted, _) => TaskState::Interrupted,
            (Outcome::RateLimited | Outcome::Broken, _) => TaskState::Resting,
            (Outcome::Failed | Outcome::Other(_), _) => TaskState::Failed,
        }
    }
}

impl AttemptCheckout {
    /// Returns the folder, its identity and its base commit, if the log has all of them.
    pub fn known(&self) -> Option<[&str; 3]> {
        Some([
            self.folder.as_deref()?,
            self.identity.as_deref()?,
            self.base.as_deref()?,
        ])
    }
}

impl AgentReport {
    pub(super) fn of(finished: &AttemptEndRecord) -> Self {
        AgentReport {
            output: finished.output.clone(),
            exit: finished.exit.clone(),
            milliseconds: finished.milliseconds,
            cost_usd: finished.cost_usd,
            tokens: finished.tokens,
            session: finished.session.clone(),
            files: finished.files.clone(),
            no_changes: finished.no_changes,
        }
    }
}

impl AttemptRun {
    /// Returns whether commands verified the agent's work.
    pub fn is_verified(&self) -> bool {
        self.verification.passed == Some(true) && !self.verification.receipts.is_empty()
    }

    /// Returns how its work landed; none where it did not.
    pub fn landed(&self) -> Option<&LandingEndRecord> {
        self.landing.ended.as_ref().filter(|ended| ended.passed)
    }

    /// Returns how long the agent took: as measured, otherwise by the times of the records. None while it runs.
    pub fn took(&self) -> Option<u64> {
        let by_records = || {
            let ended = milliseconds_of(self.times.ended.as_ref()?)?;
            Some(ended.saturating_sub(milliseconds_of(&self.times.started)?))
        };
        self.report.milliseconds.or_else(by_records)
    }

    /// Returns whether its agent was successful and its work is a candidate that has not landed.
    pub(crate) fn awaits_landing(&self) -> bool {
        // If the run was interrupted during the wait, the next run lands the work.
        let has_ended = matches!(self.outcome, Some(Outcome::Done | Outcome::Interrupted));
        let AttemptLanding {
            candidate,
            ended,
            conflict,
            ..
        } = &self.landing;
        let is_open = self.verification.passed != Some(false) && ended.is_none() && conflict.is_none();
        has_ended && is_open && candidate.is_some()
    }
}

impl TaskRun {
    pub(super) fn new(task: &str) -> Self {
        TaskRun {
            task: task.to_owned(),
            ..TaskRun::default()
        }
    }

    pub fn last(&self) -> Option<&AttemptRun> {
        self.attempts.last()
    }

    /// Returns how often agents tried it. An approval resumes with the work of an earlier attempt, and starts no agent.
    pub fn n_tries(&self) -> usize {
        let is_resumed =
            |attempt: &&AttemptRun| attempt.process.pid.is_none() && attempt.outcome == Some(Outcome::Done);
        let n_resumed = self.attempts.iter().skip(1).filter(is_resumed).count();
        self.attempts.len() - n_resumed
    }

    /// Returns how the work of its last attempt landed; none where it did not.
    pub fn landed(&self) -> Option<&LandingEndRecord> {
        self.last()?.landed()
    }

    /// Returns whether commands verified its last attempt.
    pub fn is_verified(&self) -> bool {
        let is_held = self.held.as_ref().is_some_and(|held| held.is_verified);
        let by_verb = self.taken_over.as_ref().is_some_and(|moved| moved.verified);
        is_held || by_verb || self.last().is_some_and(AttemptRun::is_verified)
    }

    /// Returns the state after verbs of users: a verb decides the state of a task that the run did not finish.
    pub fn current_state(&self) -> TaskState {
        let moved = self.taken_over.as_ref().map(|moved| moved.to.as_str());
        match (&self.state, moved) {
            (TaskState::Stopped | TaskState::Interrupted, Some("done")) => TaskState::Done,
            (TaskState::Stopped | TaskState::Interrupted, Some("failed")) => TaskState::Failed,
            (TaskState::Stopped | TaskState::Interrupted, Some("skipped")) => {
                TaskState::Skipped { because: String::new() }
            }
            (state, _) => state.clone(),
        }
    }

    /// Returns the receipts of its last attempt; empty without commands.
    pub fn receipts(&self) -> Vec<Receipt> {
        let last = self.last().filter(|last| last.is_verified());
        last.map_or_else(Vec::new, |last| last.verification.receipts.clone())
    }

    /// Returns whether its last attempt reported success and changed no file.
    pub fn is_unchanged(&self) -> bool {
        self.last().is_some_and(|last| last.report.no_changes)
    }

    /// Returns why it failed, if its last attempt has a reason.
    pub fn why(&self) -> Option<&str> {
        self.last()?.why.as_deref()
    }

    pub fn cost_usd(&self) -> Option<f64> {
        self.attempts
            .iter()
            .filter_map(|attempt| attempt.report.cost_usd)
            .reduce(|a, b| a + b)
    }

    /// Returns how long all its attempts took together, without running ones.
    pub fn took(&self) -> Option<u64> {
        let each = self.attempts.iter().filter_map(AttemptRun::took);
        each.reduce(u64::saturating_add)
    }

    pub(crate) fn held_work(&self) -> Option<Box<UnlandedWorkRecord>> {
        let of_attempt = || {
            let last = self.last().filter(|last| last.awaits_landing())?;
            Some(Box::new(UnlandedWorkRecord {
                task: self.task.clone(),
                candidate: last.landing.candidate.clone()?,
                is_verified: last.is_verified(),
                agent: last.agent.clone(),
                output: last.report.output.clone(),
                files: last.report.files.clone(),
                session: last.report.session.clone(),
                folder: last.checkout.folder.clone(),
                identity: last.checkout.identity.clone(),
                base: last.checkout.base.clone(),
            }))
        };
        self.held.clone().or_else(of_attempt)
    }

    pub(crate) fn awaits_approved_landing(&self) -> bool {
        let approved = self.approved.as_ref().and_then(|approved| approved.commit.as_ref());
        let is_open = matches!(self.state, TaskState::Verifying | TaskState::Interrupted);
        let is_it = |held: Box<UnlandedWorkRecord>| Some(&held.candidate.commit) == approved;
        is_open && self.held_work().is_some_and(is_it)
    }

    /// Returns the progress of the work on it for the next run.
    pub fn progress(&self) -> WorkProgress {
        let last = self.last();
        match self.state {
            TaskState::Waiting | TaskState::Skipped { .. } => WorkProgress::Unknown,
            TaskState::Running | TaskState::Verifying | TaskState::Interrupted => WorkProgress::Running,
            // A task that waits for an agent before its first attempt has not started.
            TaskState::Resting | TaskState::Stopped if last.is_none() => WorkProgress::Unknown,
            TaskState::Stopped if last.is_some_and(|last| last.outcome == Some(Outcome::Stopped)) => {
                WorkProgress::Failed
            }
            TaskState::Resting | TaskState::Stopped => WorkProgress::Resting,
            TaskState::Review => WorkProgress::Review,
            TaskState::Done if last.is_some_and(AttemptRun::awaits_landing) && self.approved.is_none() => {
                WorkProgress::Running
            }
            TaskState::Done => WorkProgress::Done,
            TaskState::Failed => WorkProgress::Failed,
        }
    }

    /// Returns the index of the attempt with this number and this name at its start.
    pub(super) fn find(&self, name: &str, number: u32) -> Option<usize> {
        let recent = self.attempts.iter().enumerate().rev().take(MAX_BACK);
        let mut fitting = recent.filter(|(_, attempt)| attempt.attempt == number && attempt.name == name);
        fitting.next().map(|(at, _)| at)
    }

    /// Returns the attempt with this number, and adds it if it is missing.
    pub(super) fn attempt(&mut self, name: &str, number: u32, time: &str) -> &mut AttemptRun {
        let at = self.find(name, number).unwrap_or_else(|| {
            self.attempts.push(AttemptRun {
                attempt: number,
                name: name.to_owned(),
                times: AttemptTimes {
                    started: time.to_owned(),
                    ..AttemptTimes::default()
                },
                ..AttemptRun::default()
            });
            self.attempts.len() - 1
        });
        &mut self.attempts[at]
    }
}
