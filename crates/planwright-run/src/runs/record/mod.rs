//! The records of a run as they are written. The format is stable: fields and kinds are added, never changed; unknown ones are
//! kept.

mod landing;
mod lines;
mod redact;
mod spent;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::journal::UnknownRecord;
use crate::journal::line::is_false;

pub use crate::journal::Receipt;
pub use landing::{CandidateRecord, Conditions, Conflicted, HeldWork, LandingRecord, Merged};
pub use spent::Spent;
pub use words::{IsolationMode, Outcome, RemarkKind, RunStanding, StopReason};

#[derive(Clone, Debug)]
pub struct RunRecord {
    /// Its number: one more than that of the record before.
    pub seq: u64,
    /// When it was written, as RFC 3339 in UTC.
    pub time: String,
    pub event: RunEvent,
}

#[derive(Clone, Debug)]
pub enum RunEvent {
    Begun(Box<Begun>),
    Chosen(AgentChoiceRecord),
    /// An attempt is about to begin. Durable before there is a process.
    Starting(AttemptRecord),
    Started(ProcessStartRecord),
    /// An attempt is over. Durable before it is reported.
    Finished(Finished),
    Verified(VerificationRecord),
    /// The plan file says of these tasks what the run knows.
    Projected(Projected),
    Skipped(SkippedTask),
    Review(TaskRecord),
    /// Finished work lands when it is approved.
    Held(Box<HeldWork>),
    Approved(Approved),
    Paused(RequestRecord),
    Resumed(RequestRecord),
    Stopping(Stopping),
    Resting(Resting),
    Candidate(CandidateRecord),
    /// A candidate does not fit what has landed since it was begun.
    Conflicted(Conflicted),
    Landing(LandingRecord),
    Merged(Merged),
    Drifted(Drifted),
    Edited(PlanEditRecord),
    Remark(RemarkRecord),
    Ended(RunEndRecord),
    /// The end of the log was not written whole, and was cut.
    Cut(LogCut),
    Other(UnknownRecord),
}

/// The beginning of a run, or of its going on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    pub pid: u32,
    /// When that process started, as the system counts; tells it from later ones with its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// How many tasks run side by side.
    pub slots: u32,
    pub n_tasks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationMode>,
    /// The configuration that it runs by, as the text of a file; none where it continues with that of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// What holds until its end; none where tasks share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// The folder of the workspace; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceFolder>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub continues: bool,
    /// What the command that began it had spent by then, on earlier versions of the plan and on planners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Spent>,
    /// That the plan is a new version, made because an earlier run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replanned: Option<Replanned>,
    /// The states of the tasks that are not pending, as the run found them; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<BTreeMap<String, String>>,
    /// The tasks that the plan marks as ones to skip, as the run found them; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_skip: Option<Vec<String>>,
}

/// The folder of a workspace when a run began. A copy of it has the log as well, and is another workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceFolder {
    pub path: String,
    pub identity: String,
}

/// The origin of a plan that replaces one that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replanned {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The plan that it was about, from the root of the workspace.
    pub plan: String,
    pub agent: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentChoiceRecord {
    pub task: String,
    pub arbiter: String,
    /// Who takes it; empty where it does not begin any more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// Why, in the arbiter's words; none where it did not choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the arbiter did not choose, in words; none where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[u64; 2]>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    pub task: String,
    /// Which attempt of this run it is, counted from 1.
    pub attempt: u32,
    pub agent: String,
    /// The agent that was to do it, where that could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// The slot that it takes, counted from 1.
    #[serde(default)]
    pub slot: u32,
    /// The folder that it works in, where that is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The branch that its work lands on, where it has a folder of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What its folder is known by, whatever has its path later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The commit that its folder builds on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Which attempt to resolve conflicts of the task it is, counted from 1; such attempts do not count as failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u32>,
    /// What the task is verified by from now on in this run; none where that was recorded with an earlier attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<VerificationContract>,
}

/// What a plan says about how a task is verified. A run keeps that of the task's first start: an agent that edits its own
/// criteria does not change what it is judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationContract {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Files that verify it and that it is to change by its own text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<String>,
    /// What the files that verify it were like before its first attempt, where tasks share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<BTreeMap<String, Digest>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStartRecord {
    pub task: String,
    pub attempt: u32,
    pub pid: u32,
    /// When it started, as the system counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// How strictly it is fenced; none where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    pub task: String,
    pub attempt: u32,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How the process ended: `exit 0`, `signal 9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[u64; 2]>,
    /// The agent's own name for its session, by which it can be found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What it found out that a planner should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discoveries: Vec<String>,
    /// How long its agent is to be waited for from now on, in milliseconds, where its provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_for: Option<u64>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_changes: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationRecord {
    pub task: String,
    pub attempt: u32,
    pub passed: bool,
    /// What was run; empty where no rule covers the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// Criteria that no rule covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
}

/// A change of the plan file that brought it up to the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projected {
    pub tasks: Vec<String>,
    /// The number of the change in the plan's journal; none where there was nothing to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedTask {
    pub task: String,
    pub because: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    pub task: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The commit that is to land now; none where nothing has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A request of a user or of the run itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why nothing new starts any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    pub reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resting {
    pub task: String,
    pub attempt: u32,
    pub milliseconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Files that a task touched and its plan does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drifted {
    pub task: String,
    pub attempt: u32,
    pub files: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEditRecord {
    pub what: String,
    /// The tasks whose state in the file differs from the run's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The tasks of the run that have another name now: tasks without an id are named by their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<RenamedTask>,
    /// The tasks of the run that are no longer in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// The tasks that a verb of another process moved; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedTask>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedTask {
    pub task: String,
    pub to: String,
    /// Who called the verb, where the history has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub verified: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamedTask {
    pub from: String,
    pub to: String,
}

impl RenamedTask {
    /// Returns a task that was called `from` and is called `to`.
    pub fn new(from: &str, to: &str) -> Self {
        RenamedTask {
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RemarkRecord {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RemarkKind>,
}

impl RemarkRecord {
    /// Returns a remark about the whole run.
    pub fn new(text: impl Into<String>) -> Self {
        RemarkRecord {
            text: text.into(),
            ..RemarkRecord::default()
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEndRecord {
    pub standing: RunStanding,
    /// How many tasks are done, failed, skipped and left.
    pub n_done: u64,
    pub n_failed: u64,
    pub n_skipped: u64,
    /// Waiting for a review; logs of earlier versions count them among `n_left`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_review: u64,
    pub n_left: u64,
    /// How many of those that this run finished nothing has verified.
    #[serde(default)]
    pub n_unverified: u64,
    /// How many of those that this run finished changed no file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_unchanged: u64,
    /// How long it took, since it began or went on.
    #[serde(default)]
    pub milliseconds: u64,
    /// What its attempts cost, in US dollars, where agents told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How many tokens went in and came out, where agents told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The tasks of which the plan file could not be told what became of them; the next run does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwritten: Vec<String>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCut {
    pub offset: u64,
    pub n_bytes: u64,
}
