//! The user's command that is started when a run is over.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::RunOutcome;
use super::attempt::mark_of_attempt;
use crate::agent_output::end_all;
use crate::config::Command;
use crate::worker::{Cause, Event, Exit, Spec, Stdin, Workers};

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How long its output may be.
const MAX_LOG_BYTES: u64 = 100_000;

/// Runs the user's command for the end of a run, with the result in the environment. Returns why that failed, in words.
pub fn notify(workers: &mut Workers, command: &Command, plan: &Path, outcome: &RunOutcome) -> Option<String> {
    let ended = &outcome.ended;
    let number = |n: u64| OsString::from(n.to_string());
    let told: [(&str, OsString); 8] = [
        ("PLANWRIGHT_STANDING", ended.standing.as_str().into()),
        ("PLANWRIGHT_DONE", number(ended.n_done)),
        ("PLANWRIGHT_FAILED", number(ended.n_failed)),
        ("PLANWRIGHT_SKIPPED", number(ended.n_skipped)),
        ("PLANWRIGHT_LEFT", number(ended.n_left)),
        ("PLANWRIGHT_UNVERIFIED", number(ended.n_unverified)),
        ("PLANWRIGHT_WHY", told_text(ended.why.as_deref())),
        ("PLANWRIGHT_NEXT", told_text(ended.next.as_deref())),
    ];
    let own = told.map(|(name, value)| (OsString::from(name), value));
    let log = outcome.place.folder().join("notify.log");
    let spec = Spec {
        arguments: command.arguments().into_iter().map(OsString::from).collect(),
        folder: outcome.place.root().to_owned(),
        environment: std::env::vars_os().chain(own).collect(),
        mark: mark_of_attempt(outcome.place.id(), plan, "", 0),
        stdin: Stdin::Nothing,
        log,
        max_log_bytes: MAX_LOG_BYTES,
        secrets: Vec::new(),
        tells_output: false,
        wall_limit: Some(LIMIT),
        silence_limit: None,
        grace: Duration::from_secs(2),
    };
    if let Err(error) = workers.start(u64::MAX, &spec) {
        return Some(error.to_string());
    }
    loop {
        for event in workers.wait(None) {
            let Event::Ended(ended) = event else {
                continue;
            };
            if ended.was_outlived {
                end_all(&spec.mark);
            }
            return match (ended.cause, ended.exit) {
                (Cause::Itself, Exit::Code(0)) => None,
                (Cause::Itself, Exit::Code(code)) => Some(format!("it ended with status {code}")),
                (Cause::WallLimit, _) => Some(format!("it took longer than {} seconds", LIMIT.as_secs())),
                _ => Some("it was ended".to_owned()),
            };
        }
    }
}

/// Returns a text as a variable can hold it.
fn told_text(text: Option<&str>) -> OsString {
    text.unwrap_or("").replace('\0', "\u{fffd}").into()
}
