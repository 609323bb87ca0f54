//! One record as a line: number, time, kind and body. Shared by journals of plans and logs of runs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A record as parsed from its line.
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

/// Returns a record as JSON, in one line.
pub(crate) fn to_line(seq: u64, time: &str, kind: &str, body: &RawValue) -> serde_json::Result<String> {
    serde_json::to_string(&OwnLine { seq, time, kind, body })
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
