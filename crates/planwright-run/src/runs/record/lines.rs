//! Records as lines of a log: the name of the kind, and its body as JSON.

use serde_json::value::RawValue;

use super::{RunEvent, RunRecord};
use crate::journal::line::{RecordLine, UnknownRecord, record_kinds, write_line};

record_kinds! {
    RunEvent,
    "run-begun" => RunStarted,
    "chosen" => AgentChosen,
    "starting" => AttemptStarting,
    "started" => ProcessStarted,
    "finished" => AttemptEnded,
    "verified" => Verified,
    "projected" => PlanWritten,
    "skipped" => Skipped,
    "review" => Review,
    "held" => Held,
    "approved" => Approved,
    "paused" => Paused,
    "resumed" => Resumed,
    "stopping" => Stopping,
    "resting" => Resting,
    "candidate" => Candidate,
    "conflict" => Conflicted,
    "landing" => LandingStarted,
    "merged" => LandingEnded,
    "drift" => Drifted,
    "edited" => PlanEdited,
    "remark" => Remark,
    "run-ended" => RunEnded,
    "cut" => LogCut,
}

impl RunRecord {
    /// Returns the record as JSON in one line, as the log has it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        self.event.to_json(self.seq, &self.time)
    }

    /// Parses a record. An unknown kind is no error; a known kind that cannot be parsed is one.
    pub(crate) fn from_json(json: &[u8]) -> serde_json::Result<Self> {
        let line: RecordLine<'_> = serde_json::from_slice(json)?;
        Ok(RunRecord {
            seq: line.seq,
            event: RunEvent::from_wire(&line.kind, line.body)?,
            time: line.time.into_owned(),
        })
    }
}
