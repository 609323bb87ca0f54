//! Runs the user's command for the end of a run, and the `post-merge` hook.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::RunOutcome;
use super::attempt::mark_of_attempt;
use crate::agent_output::end_all;
use crate::config::Command;
use crate::git::{GitError, Repository};
use crate::redaction::Redaction;
use crate::worker::{
    EndCause, ProcessExit, ProcessLimits, ProcessMark, ProcessSpec, Stdin, StopManner, WorkerEvent, Workers,
};

/// The time limit of the command for the end of a run.
const NOTIFY_LIMIT: Duration = Duration::from_secs(60);

/// The time limit of a hook: some install packages.
const HOOK_LIMIT: Duration = Duration::from_secs(600);

const MAX_LOG_BYTES: u64 = 100_000;

/// The hook that git runs when a merge has changed the files.
const POST_MERGE: &str = "post-merge";

/// Runs the user's command for the end of a run, with the result in the environment. Returns why it failed, in words.
pub fn notify(
    workers: &mut Workers,
    command: &Command,
    plan: &Path,
    outcome: &RunOutcome,
    n_asked: &AtomicU32,
) -> Option<String> {
    let ended = &outcome.ended;
    let number = |n: u64| OsString::from(n.to_string());
    let variables: [(&str, OsString); 10] = [
        ("PLANWRIGHT_STANDING", ended.standing.as_str().into()),
        ("PLANWRIGHT_DONE", number(ended.n_done)),
        ("PLANWRIGHT_FAILED", number(ended.n_failed)),
        ("PLANWRIGHT_SKIPPED", number(ended.n_skipped)),
        ("PLANWRIGHT_REVIEW", number(ended.n_review)),
        ("PLANWRIGHT_LEFT", number(ended.n_left)),
        ("PLANWRIGHT_UNVERIFIED", number(ended.n_unverified)),
        ("PLANWRIGHT_UNCHANGED", number(ended.n_unchanged)),
        ("PLANWRIGHT_WHY", variable_text(ended.why.as_deref())),
        ("PLANWRIGHT_NEXT", variable_text(ended.next.as_deref())),
    ];
    let own = variables.map(|(name, value)| (OsString::from(name), value));
    let spec = spec(
        command.arguments().into_iter().map(OsString::from).collect(),
        outcome.place.root(),
        std::env::vars_os().chain(own).collect(),
        mark_of_attempt(outcome.place.id(), plan, "", 0),
        outcome.place.folder().join("notify.log"),
        NOTIFY_LIMIT,
    );
    wait_for(workers, &spec, n_asked)
}

/// Runs the user's `post-merge` hook, as git does after files have changed. Returns why it failed, in words. The files stay changed even if
/// it fails.
pub fn run_hook(
    workers: &mut Workers,
    repository: &Repository,
    log: PathBuf,
    mark: ProcessMark,
    n_asked: &AtomicU32,
) -> Result<Option<String>, GitError> {
    let Some(hook) = repository.hook(POST_MERGE)? else {
        return Ok(None);
    };
    let spec = spec(
        // Git passes whether the merge was a squash.
        vec![hook.into(), "0".into()],
        repository.toplevel(),
        std::env::vars_os().collect(),
        mark,
        log,
        HOOK_LIMIT,
    );
    Ok(wait_for(workers, &spec, n_asked))
}

fn spec(
    arguments: Vec<OsString>,
    folder: &Path,
    environment: Vec<(OsString, OsString)>,
    mark: ProcessMark,
    log: PathBuf,
    limit: Duration,
) -> ProcessSpec {
    ProcessSpec {
        arguments,
        folder: folder.to_owned(),
        redaction: Redaction::of_environment(&environment),
        environment,
        mark,
        stdin: Stdin::Nothing,
        log,
        max_log_bytes: MAX_LOG_BYTES,
        streams_output: false,
        limits: ProcessLimits {
            wall: Some(limit),
            silence: None,
            grace: Duration::from_secs(2),
        },
        fence: None,
    }
}

/// Runs a command to its end, or until the user interrupts again. Returns why it failed, in words.
fn wait_for(workers: &mut Workers, spec: &ProcessSpec, n_asked: &AtomicU32) -> Option<String> {
    const KEY: u64 = u64::MAX;
    let before = n_asked.load(Ordering::Relaxed);
    if let Err(error) = workers.start(KEY, spec) {
        return Some(error.to_string());
    }
    loop {
        let events = workers.wait(None);
        match n_asked.load(Ordering::Relaxed).saturating_sub(before) {
            0 => {}
            1 => drop(workers.cancel(KEY, StopManner::Politely)),
            _ => drop(workers.cancel(KEY, StopManner::AtOnce)),
        }
        for event in events {
            let WorkerEvent::Ended(ended) = event else {
                continue;
            };
            if ended.was_outlived {
                end_all(&spec.mark);
            }
            return match (ended.cause, ended.exit) {
                (EndCause::Itself, ProcessExit::Code(0)) => None,
                (EndCause::Itself, ProcessExit::Code(code)) => Some(format!("it ended with status {code}")),
                (EndCause::WallLimit, _) => {
                    let limit = spec.limits.wall.unwrap_or_default();
                    Some(format!("it took longer than {} seconds", limit.as_secs()))
                }
                _ => Some("it was ended".to_owned()),
            };
        }
    }
}

fn variable_text(text: Option<&str>) -> OsString {
    text.unwrap_or("").replace('\0', "\u{fffd}").into()
}
