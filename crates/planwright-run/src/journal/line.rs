//! One record as a line: number, time, kind and body. Shared by journals of plans and logs of runs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(crate) struct RecordLine<'a> {
    pub(crate) seq: u64,
    #[serde(borrow)]
    pub(crate) time: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) body: &'a RawValue,
}

/// A record to write, with a body of any kind.
#[derive(Serialize)]
struct OwnLine<'a, Body: ?Sized> {
    seq: u64,
    time: &'a str,
    kind: &'a str,
    body: &'a Body,
}

/// A record of a kind that this version does not know.
#[derive(Clone, Debug)]
pub struct UnknownRecord {
    pub kind: String,
    /// The record, as JSON.
    pub body: Box<RawValue>,
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// Writes a record as JSON, in one line without its end.
pub(crate) fn write_line(
    out: &mut Vec<u8>,
    seq: u64,
    time: &str,
    kind: &str,
    body: &impl Serialize,
) -> serde_json::Result<()> {
    serde_json::to_writer(out, &OwnLine { seq, time, kind, body })
}

/// Names the kinds of an event that have a body of their own, both ways. Any other kind is kept as it was read.
macro_rules! record_kinds {
    ($event:ident, $($name:literal => $kind:ident),* $(,)?) => {
        impl $event {
            pub fn name(&self) -> &str {
                match self {
                    $($event::$kind(_) => $name,)*
                    $event::Other(other) => &other.kind,
                }
            }

            /// Writes the record as JSON, in one line without its end.
            pub(crate) fn write(&self, out: &mut Vec<u8>, seq: u64, time: &str) -> serde_json::Result<()> {
                match self {
                    $($event::$kind(body) => write_line(out, seq, time, $name, body),)*
                    $event::Other(other) => write_line(out, seq, time, &other.kind, &other.body),
                }
            }

            /// Returns the record as JSON, in one line without its end.
            pub(crate) fn to_json(&self, seq: u64, time: &str) -> serde_json::Result<String> {
                let mut json = Vec::new();
                self.write(&mut json, seq, time)?;
                // What serde_json writes is text.
                Ok(String::from_utf8_lossy(&json).into_owned())
            }

            fn from_wire(name: &str, body: &RawValue) -> serde_json::Result<Self> {
                Ok(match name {
                    $($name => $event::$kind(serde_json::from_str(body.get())?),)*
                    name => $event::Other(UnknownRecord {
                        kind: name.to_owned(),
                        body: body.to_owned(),
                    }),
                })
            }
        }
    };
}
pub(crate) use record_kinds;
