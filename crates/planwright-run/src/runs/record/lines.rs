//! Records as lines of a log: the name of the kind, and its body as JSON.

use serde_json::value::{RawValue, to_raw_value};

use super::{OtherEvent, RunEvent, RunRecord};
use crate::journal::line::{RecordLine, write_line};

/// Maps kinds with a body to their names and back.
macro_rules! kinds {
    ($($name:literal => $kind:ident),* $(,)?) => {
        impl RunEvent {
            pub fn name(&self) -> &str {
                match self {
                    $(RunEvent::$kind(_) => $name,)*
                    RunEvent::Other(other) => &other.kind,
                }
            }

            pub fn body(&self) -> serde_json::Result<Box<RawValue>> {
                match self {
                    $(RunEvent::$kind(body) => to_raw_value(body),)*
                    RunEvent::Other(other) => Ok(other.body.clone()),
                }
            }

            /// Writes the record as JSON, in one line without its end.
            pub(in crate::runs) fn write(&self, out: &mut Vec<u8>, seq: u64, time: &str) -> serde_json::Result<()> {
                match self {
                    $(RunEvent::$kind(body) => write_line(out, seq, time, $name, body),)*
                    RunEvent::Other(other) => write_line(out, seq, time, &other.kind, &other.body),
                }
            }

            fn from_wire(name: &str, body: &RawValue) -> serde_json::Result<Self> {
                Ok(match name {
                    $($name => RunEvent::$kind(serde_json::from_str(body.get())?),)*
                    name => RunEvent::Other(OtherEvent {
                        kind: name.to_owned(),
                        body: body.to_owned(),
                    }),
                })
            }
        }
    };
}

kinds! {
    "run-begun" => Begun,
    "chosen" => Chosen,
    "starting" => Starting,
    "started" => Started,
    "finished" => Finished,
    "verified" => Verified,
    "projected" => Projected,
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
    "landing" => Landing,
    "merged" => Merged,
    "drift" => Drifted,
    "edited" => Edited,
    "remark" => Remark,
    "run-ended" => Ended,
    "cut" => Cut,
}

impl RunRecord {
    /// Returns the record as JSON in one line, as the log has it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut json = Vec::new();
        self.event.write(&mut json, self.seq, &self.time)?;
        // What serde_json writes is text.
        Ok(String::from_utf8_lossy(&json).into_owned())
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
