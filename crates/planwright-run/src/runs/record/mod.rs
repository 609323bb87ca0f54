//! The stored form of a run's records. The format is stable: fields and kinds are added, never changed; unknown ones are kept.

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
pub use landing::{
    CandidateRecord, ConflictRecord, FixedSettings, LandingEndRecord, LandingStartRecord, UnlandedWorkRecord,
};
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
    RunStarted(Box<RunStartRecord>),
    AgentChosen(AgentChoiceRecord),
    /// An attempt is about to start. Durable before its process exists.
    AttemptStarting(AttemptRecord),
    ProcessStarted(ProcessStartRecord),
    /// An attempt has ended. Durable before it is reported.
    AttemptEnded(AttemptEndRecord),
    Verified(VerificationRecord),
    /// The plan file has the run's state of these tasks.
    PlanWritten(PlanWriteRecord),
    Skipped(SkippedTask),
    Review(TaskRecord),
    /// Finished work that lands after its approval.
    Held(Box<UnlandedWorkRecord>),
    Approved(ApprovalRecord),
    Paused(RequestRecord),
    Resumed(RequestRecord),
    Stopping(StopRecord),
    Resting(RetryWaitRecord),
    Candidate(CandidateRecord),
    /// A candidate conflicts with work that landed after the start of its attempt.
    Conflicted(ConflictRecord),
    LandingStarted(LandingStartRecord),
    LandingEnded(LandingEndRecord),
    Drifted(DriftRecord),
    PlanEdited(PlanEditRecord),
    Remark(RemarkRecord),
    RunEnded(RunEndRecord),
    /// The incomplete end of the log was cut.
    LogCut(LogCutRecord),
    Other(UnknownRecord),
}

/// Written when a run starts or resumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStartRecord {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    pub pid: u32,
    /// The start time of that process, as the system counts; with its id it identifies the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// How many tasks run in parallel.
    pub slots: u32,
    pub n_tasks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationMode>,
    /// Its configuration, as the text of a file; none if it resumes with the earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The settings that never change; none if tasks share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<FixedSettings>,
    /// The folder of the workspace; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceFolder>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub continues: bool,
    /// What the command had spent before the run, on earlier versions of the plan and on planners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Spent>,
    /// Why the plan is a new version, made because an earlier run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replanned: Option<ReplanOrigin>,
    /// The states of the tasks that are not pending, as the run found them; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<BTreeMap<String, String>>,
    /// The tasks that the plan marked to be skipped at the start; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_skip: Option<Vec<String>>,
}

/// The folder of a workspace at the start of a run. A copy of it has the log as well, and is another workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceFolder {
    pub path: String,
    pub identity: String,
}

/// The origin of a plan that replaces one that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplanOrigin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The plan that failed, from the root of the workspace.
    pub plan: String,
    pub agent: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentChoiceRecord {
    pub task: String,
    pub arbiter: String,
    /// The agent of the task; empty if the task does not start any more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The arbiter's reason; none if it did not choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the arbiter did not choose; none if it did.
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
    /// The number of the attempt in this run, from 1.
    pub attempt: u32,
    pub agent: String,
    /// The agent that it replaces, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Its slot, from 1.
    #[serde(default)]
    pub slot: u32,
    /// The folder that it works in, if it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The branch that its work lands on, if it has its own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The identity of its folder, in case another one has the same path later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The commit that its folder is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The number of the attempt to resolve conflicts of the task, from 1; such attempts do not count as failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u32>,
    /// What verifies the task from now on in this run; none if an earlier attempt recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<VerificationContract>,
}

/// What a plan requires to verify a task. A run keeps the contract of the task's first start: an agent that edits its own criteria does not
/// change what verifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationContract {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Files that verify it and that its own text tells it to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<String>,
    /// The state of the files that verify it before its first attempt, if tasks share the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<BTreeMap<String, Digest>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStartRecord {
    pub task: String,
    pub attempt: u32,
    pub pid: u32,
    /// Its start time, as the system counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// The mode of its fence; none if it is not fenced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptEndRecord {
    pub task: String,
    pub attempt: u32,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The exit status of the process: `exit 0`, `signal 9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[u64; 2]>,
    /// The agent's own id of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Discoveries that a planner should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discoveries: Vec<String>,
    /// How long its agent is rate limited from now on, in milliseconds, if its provider reported that.
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
    /// The receipts of its commands; empty if no rule covers the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// Criteria without a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
}

/// A change of the plan file that wrote updates of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanWriteRecord {
    pub tasks: Vec<String>,
    /// The number of the change in the plan's journal; none if nothing had to change.
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
pub struct ApprovalRecord {
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The commit to land now; none if there is nothing to land.
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
pub struct StopRecord {
    pub reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryWaitRecord {
    pub task: String,
    pub attempt: u32,
    pub milliseconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Files that a task touched and does not declare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftRecord {
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
    /// The tasks of the run that have another name now: tasks without an id are named by their position.
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
    /// The caller of the verb, if the history has it.
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
    /// How many tasks that this run finished are unverified.
    #[serde(default)]
    pub n_unverified: u64,
    /// How many tasks that this run finished changed no file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_unchanged: u64,
    /// How long it took since it started or resumed.
    #[serde(default)]
    pub milliseconds: u64,
    /// What its attempts cost in US dollars, as far as agents reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The tokens sent and received, as far as agents reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Tasks whose final state could not be written to the plan file; the next run writes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwritten: Vec<String>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCutRecord {
    pub offset: u64,
    pub n_bytes: u64,
}
