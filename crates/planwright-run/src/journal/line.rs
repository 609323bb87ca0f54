//! One record as its line has it: a number, a time, a kind, and what belongs to that kind. Shared by the journals of plans and
//! the logs of runs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A record as its line has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Line<'a> {
    pub(crate) seq: u64,
    #[serde(borrow)]
    pub(crate) time: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) body: &'a RawValue,
}

/// Returns a record as JSON, in one line.
pub(crate) fn to_line(seq: u64, time: &str, kind: &str, body: &RawValue) -> serde_json::Result<String> {
    serde_json::to_string(&Line {
        seq,
        time: Cow::Borrowed(time),
        kind: Cow::Borrowed(kind),
        body,
    })
}
