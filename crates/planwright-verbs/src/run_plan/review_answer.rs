//! The user's review while watching a run. It is sent like the requests of other processes.

use std::path::Path;

use planwright_run::clock;
use planwright_run::files::DiskFiles;
use planwright_run::runs::{self, ControlRequest, RunPlace};

/// The user's verdict on the work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewAnswer {
    pub task: String,
    pub is_approved: bool,
    pub note: Option<String>,
    pub by: Option<String>,
}

/// Sends a review to a run of a workspace. Returns whether it was sent.
pub fn send_answer(root: &Path, run: &str, answer: ReviewAnswer) -> bool {
    let ask = ControlRequest {
        verb: if answer.is_approved { "approve" } else { "reject" }.to_owned(),
        task: Some(answer.task),
        by: answer.by,
        note: answer.note,
        time: clock::now(),
    };
    let place = RunPlace::of(root, run);
    place.is_some_and(|place| runs::ask(&DiskFiles, &place.requests(), &ask).is_ok())
}
