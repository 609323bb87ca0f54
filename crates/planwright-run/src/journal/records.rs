//! The stored form of journal records. The format is stable: fields and kinds are added, never changed; unknown ones are kept.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::hunks::Hunk;
use super::line::{RecordLine, UnknownRecord, is_false, record_kinds, write_line};
use crate::digest::Digest;

#[derive(Clone, Debug)]
pub struct JournalRecord {
    /// Its number: one more than that of the record before.
    pub seq: u64,
    /// When it was written, as RFC 3339 in UTC.
    pub time: String,
    pub kind: JournalEvent,
}

#[derive(Clone, Debug)]
pub enum JournalEvent {
    /// A change of the plan through planwright. With a new text it is an intention, durable before the file is touched, until one
    /// of the next three events records the outcome. Without one, it is done.
    Change(Box<ChangeRecord>),
    /// The text of a change is in the file.
    Landed(ChangeOutcomeRecord),
    /// The text of a change never reached the file.
    Void(ChangeOutcomeRecord),
    /// When planwright next read the file, it held neither the text before a change nor the one after it. Whether the new text was ever
    /// there is unknown.
    Lost(UnknownOutcomeRecord),
    /// Another program wrote the file since the last change.
    External(ExternalChangeRecord),
    /// A task was verified, and nothing was changed.
    Verified(Box<ManualVerification>),
    /// The plan file has another path now.
    Moved(PathChangeRecord),
    /// Planwright itself is about to move the plan file, to the archive or to the trash. It did if `Moved` to that path follows.
    Leaving(PlanMoveRecord),
    /// The plan at this path has another id now. Records about the tasks of the old one do not apply to the new one.
    Identified(IdChangeRecord),
    /// The incomplete end of the journal was cut.
    Cut(JournalCutRecord),
    /// A record of a kind that this version does not know.
    Other(UnknownRecord),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    pub verb: String,
    /// The tasks that it concerns, by the dialect's own names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The output of the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The files that the work touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Its change of the plan file, set by the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextChange>,
    /// The states that it gives to tasks in the plan file. Other states in the file are not from this change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<StateChange>,
    /// The new holder of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimRecord>,
    /// The earlier holder of its tasks, if they were taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over_from: Option<String>,
    /// The closed gates that were passed: by force, or because an original command line does not check them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_gates: Vec<String>,
    /// The approval of the whole plan, if its file cannot store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<bool>,
    /// The tasks that were done when planwright first read the plan; only in the first change that has this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_done: Option<Vec<String>>,
    /// The states that the plan file cannot store. They are valid if the text has landed, or there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// How the tasks were verified before they became done, task by task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<ManualVerification>,
}

impl ChangeRecord {
    /// Returns whether it only records which tasks were done when planwright first read the plan.
    pub fn is_beginning(&self) -> bool {
        let changes_nothing = self.text.is_none() && self.states.is_empty() && self.tasks.is_empty();
        self.found_done.is_some() && changes_nothing && self.approval.is_none()
    }
}

/// The holder of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The name given with `--by`, otherwise the user and the machine.
    pub by: String,
    /// Whether the name was given: then finishing the task requires the number of the claim.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_named: bool,
    /// When the claim expires, as RFC 3339 in UTC; none if it has no lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// How a task was verified by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManualVerification {
    /// The task, by the dialect's own name.
    pub task: String,
    /// Whether commands were run, and all of them succeeded.
    pub passed: bool,
    /// Whether the user waived verification.
    #[serde(default, skip_serializing_if = "is_false")]
    pub waived: bool,
    /// The receipts of its commands; empty if no rule covers the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// Criteria without a rule; empty if the rules were not applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// The user who verified it; none if the change names the author already, or nothing was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// One command that was run to verify a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The command, argument by argument.
    pub command: Vec<String>,
    /// How it ended: `exit 0`, `signal 9`, `timeout`.
    pub exit: String,
    pub milliseconds: u64,
    /// The digest of all its output.
    pub digest: String,
    /// The end of its output; empty in the journal of a plan if a run verified the task, since the log of the run has it.
    pub tail: String,
    /// The commit that it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree that it ran on: exactly this tree lands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Whether it prepared the checkout for the commands that verify; only failed ones have receipts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_setup: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    pub before: Digest,
    pub after: Digest,
    /// The replaced parts, in order.
    pub hunks: Vec<Hunk>,
    /// The text before and after each of them in the new text, so that it can be found again after other edits. Empty in records of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<[String; 2]>,
}

/// A change of a task's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The task, by the dialect's own name.
    pub task: String,
    /// The earlier state, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: String,
    /// The reason, if it differs from that of the whole change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The output of the task, if it differs from that of the whole change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// The change that an event settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOutcomeRecord {
    pub change: u64,
}

/// A change with an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownOutcomeRecord {
    pub change: u64,
    /// The text in the file instead.
    pub found: Digest,
}

/// A change by another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalChangeRecord {
    /// The text after the last change.
    pub before: Digest,
    /// The text that was found.
    pub after: Digest,
}

/// A change of a plan's path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChangeRecord {
    /// The earlier path, from the root of the workspace.
    pub from: String,
    pub to: String,
}

/// The start of a plan's move to another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMoveRecord {
    pub verb: String,
    /// The new path, from the root of the workspace.
    pub to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Its text then; none if that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Digest>,
}

/// A change of a plan's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdChangeRecord {
    /// The earlier id, if there was one.
    pub from: Option<String>,
    pub to: Option<String>,
}

/// The part cut from the end of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalCutRecord {
    pub offset: u64,
    pub n_bytes: u64,
    /// Its first bytes.
    pub text: String,
}

impl JournalRecord {
    /// Parses a record. An unknown kind is no error; a known kind that cannot be parsed is one.
    pub(crate) fn from_json(json: &[u8]) -> serde_json::Result<Self> {
        let line: RecordLine<'_> = serde_json::from_slice(json)?;
        Ok(JournalRecord {
            seq: line.seq,
            kind: JournalEvent::from_wire(&line.kind, line.body)?,
            time: line.time.into_owned(),
        })
    }
}

record_kinds! {
    JournalEvent,
    "change" => Change,
    "landed" => Landed,
    "void" => Void,
    "lost" => Lost,
    "external" => External,
    "verified" => Verified,
    "moved" => Moved,
    "leaving" => Leaving,
    "identified" => Identified,
    "cut" => Cut,
}
