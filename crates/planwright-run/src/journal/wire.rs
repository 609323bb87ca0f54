//! The records of a journal as they are written. The format is stable: fields and kinds are added, never changed; unknown ones
//! are kept.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::hunks::Hunk;
use super::line::{RecordLine, UnknownRecord, is_false, record_kinds, write_line};
use crate::digest::Digest;

/// One record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its number: one more than that of the record before.
    pub seq: u64,
    /// When it was written, as RFC 3339 in UTC.
    pub time: String,
    /// What happened.
    pub kind: JournalEvent,
}

/// What can happen to a plan.
#[derive(Clone, Debug)]
pub enum JournalEvent {
    /// A change of the plan through planwright. With a new text it is an intention, durable before the file is touched, until one
    /// of the next three events records the outcome. Without one, it is done.
    Change(Box<ChangeRecord>),
    /// The text of a change is in the file.
    Landed(SettledChange),
    /// The text of a change never reached the file.
    Void(SettledChange),
    /// The file held neither the text before a change nor the one after it when planwright next looked. Whether the new text was
    /// ever there is unknown.
    Lost(Lost),
    /// The file is not what the last change left: another program wrote it.
    External(External),
    /// A task was verified, and nothing was changed.
    Verified(Box<ManualVerification>),
    /// The plan file has another path now.
    Moved(PathChange),
    /// Planwright itself is about to move the plan file, to an archive or to the trash. It did where `Moved` to that path follows.
    Leaving(DepartureRecord),
    /// The plan at this path has another id now. What was known of the tasks of the old one does not hold for the new one.
    Identified(Identified),
    /// The end of the journal was not written whole, and was cut.
    Cut(CutTail),
    /// Something that this version does not know.
    Other(UnknownRecord),
}

/// A change of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The verb that made it.
    pub verb: String,
    /// The tasks it is about, by the dialect's own names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What they had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came out of the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The files that were touched for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What it does to the plan file. The store fills this in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextChange>,
    /// The states that it gives to tasks in the plan file: what else stands there was not set by this change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<StateChange>,
    /// Who holds its tasks from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claimed>,
    /// Who held its tasks until then, where they were taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over_from: Option<String>,
    /// The gates that were closed and were passed: by force, or because an original command line does not ask them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_gates: Vec<String>,
    /// Whether the plan as a whole may be worked on from now on, where its file has no place for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<bool>,
    /// The tasks that were done when planwright first read the plan; only in the first change that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_done: Option<Vec<String>>,
    /// What it does to states that the plan file cannot hold. They count if the text has landed, or there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateChange>,
    /// The change that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// How the tasks were verified before they were said to be done, task by task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<ManualVerification>,
}

impl ChangeRecord {
    /// Returns whether it only records what was done when planwright first read the plan.
    pub fn is_beginning(&self) -> bool {
        let changes_nothing = self.text.is_none() && self.states.is_empty() && self.tasks.is_empty();
        self.found_done.is_some() && changes_nothing && self.approval.is_none()
    }
}

/// The holder of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// Who: the name given with `--by`, else the user and the machine.
    pub by: String,
    /// Whether the name was given: then finishing the task takes the number of the claim.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_named: bool,
    /// When the claim is over, as RFC 3339 in UTC; none where it has no lease.
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
    /// What was run; empty where no rule covers the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// Criteria that no rule covers; empty where the rules were not consulted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// Who verified it; none where the change names the author already, or where nothing was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// One command that was run to verify a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The command, word by word.
    pub command: Vec<String>,
    /// How it ended: `exit 0`, `signal 9`, `timeout`.
    pub exit: String,
    /// How long it took.
    pub milliseconds: u64,
    /// The digest of all its output.
    pub digest: String,
    /// The end of its output; empty in the journal of a plan where a run verified the task, since the log of the run has it.
    pub tail: String,
    /// The commit that it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree that it ran on: what lands has exactly this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// One text becoming another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// The text before.
    pub before: Digest,
    /// The text after.
    pub after: Digest,
    /// What was replaced, in order.
    pub hunks: Vec<Hunk>,
    /// What stands before and behind each of them in the text after, so that it is found again after other edits. Empty in
    /// records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<[String; 2]>,
}

/// The state of a task becoming another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The task, by the dialect's own name.
    pub task: String,
    /// The state before, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// Why, where it is another reason than that of the whole change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came out of the task, where it is not what came out of the whole change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Which change something is known of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledChange {
    /// The number of the change.
    pub change: u64,
}

/// A change of which nothing can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The number of the change.
    pub change: u64,
    /// What the file held instead.
    pub found: Digest,
}

/// A change by another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct External {
    /// What the last change had left.
    pub before: Digest,
    /// What was found.
    pub after: Digest,
}

/// A path becoming another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// The path before, from the root of the workspace.
    pub from: String,
    /// The path after.
    pub to: String,
}

/// A plan on its way to another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartureRecord {
    /// The verb that moves it.
    pub verb: String,
    /// The path that it gets, from the root of the workspace.
    pub to: String,
    /// Who moves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What it held by then; none where that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Digest>,
}

/// An id becoming another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identified {
    /// The id before, where there was one.
    pub from: Option<String>,
    /// The id after.
    pub to: Option<String>,
}

/// What was cut from the end of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutTail {
    /// Where it began.
    pub offset: u64,
    /// How long it was.
    pub n_bytes: u64,
    /// How it began.
    pub text: String,
}

impl Record {
    /// Reads a record. A kind that is not known is no error; a known kind that cannot be read is one.
    pub(crate) fn from_json(json: &[u8]) -> serde_json::Result<Self> {
        let line: RecordLine<'_> = serde_json::from_slice(json)?;
        Ok(Record {
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
