//! Verification: the commands that prove that a task is done, how they run, and their receipts. Does not know agents, and changes no plan.
//!
//! [`TaskChecks::of`] finds the commands of a task. Callers that run them through [`Workers`] next to other processes use [`spec`] and
//! [`receipt`]; callers that only wait for them use [`run_all`].
//!
//! [`Workers`]: crate::worker::Workers

mod rules;
mod series;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use planwright_core::plan::{Field, Plan, Task};

pub use rules::{Check, TaskChecks, contract_of, criteria};
pub use series::{VerificationInterrupted, VerificationLogs, VerificationWatch, all_passed, run_all};

use crate::caller;
use crate::clock;
use crate::config::RunConfig;
use crate::digest::Digest;
use crate::error_chain::with_causes;
use crate::fence::Fence;
use crate::files::{OpenOwn, open_own};
use crate::journal::Receipt;
use crate::redaction::Redaction;
use crate::worker::{EndCause, EndedProcess, ProcessExit, ProcessLimits, ProcessMark, ProcessSpec, StartError, Stdin};

/// The size limit of [`Receipt::tail`], in bytes.
pub const MAX_TAIL_BYTES: usize = 8 * 1024;

/// Where and how the commands of a task run.
#[derive(Clone, Debug)]
pub struct CheckEnvironment {
    /// Their working directory; see [`folder`].
    pub folder: PathBuf,
    /// Their whole environment; see [`environment`].
    pub environment: Vec<(OsString, OsString)>,
    pub mark: ProcessMark,
    pub max_log_bytes: u64,
    pub redaction: Redaction,
    /// The time between the first signal and the kill.
    pub grace: Duration,
    /// The fence of commands that do not opt out.
    pub fence: Option<Fence>,
}

impl CheckEnvironment {
    /// Returns that of commands which belong to no attempt of a run.
    pub fn of_no_attempt(
        config: &RunConfig,
        folder: PathBuf,
        environment: Vec<(OsString, OsString)>,
        fence: Option<Fence>,
    ) -> Self {
        CheckEnvironment {
            folder,
            redaction: Redaction::of_environment(&environment),
            environment,
            mark: ProcessMark::new([("PLANWRIGHT_CHECK", format!("{}-{}", std::process::id(), clock::now()))]),
            max_log_bytes: config.limits.log_bytes,
            grace: config.limits.grace,
            fence,
        }
    }
}

/// Returns the process of a check: no shell unless the command names one, no input, no limit but its timeout. Its output goes to the log.
pub fn spec(check: &Check, check_environment: &CheckEnvironment, log: PathBuf) -> ProcessSpec {
    ProcessSpec {
        arguments: check.command.arguments().into_iter().map(OsString::from).collect(),
        folder: check_environment.folder.clone(),
        environment: check_environment.environment.clone(),
        mark: check_environment.mark.clone(),
        stdin: Stdin::Nothing,
        log,
        max_log_bytes: check_environment.max_log_bytes,
        redaction: check_environment.redaction.clone(),
        streams_output: false,
        limits: ProcessLimits {
            wall: Some(check.timeout),
            silence: None,
            grace: check_environment.grace,
        },
        fence: check_environment.fence.clone().filter(|_| !check.command.is_unfenced()),
    }
}

/// Returns the environment of verification: all of the user's, since the commands are the user's own, and the plan and the task.
///
/// Names in a plan are untrusted text: a character that no variable can hold is replaced.
pub fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    plan: &Path,
    task: &str,
    folder: &Path,
) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> = variables.into_iter().collect();
    // Test runners that watch files or ask questions do neither on CI.
    all.entry("CI".into()).or_insert_with(|| "1".into());
    all.insert(caller::PLAN.into(), plan.as_os_str().to_owned());
    all.insert(caller::TASK.into(), task.replace('\0', "\u{fffd}").into());
    all.insert(caller::FOLDER.into(), folder.as_os_str().to_owned());
    all.into_iter().collect()
}

/// The exit status of a command that could not be started.
pub(crate) const NOT_STARTED: &str = "not started";

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("`target_repo` of the task leads out of the workspace: `{0}`")]
    Outside(String),
    #[error("there is no folder `{0}`, which the task has as its `target_repo`")]
    Missing(String),
}

/// Returns the folder that a task names for its work, if it is not the root of the workspace.
pub(crate) fn named_folder<'p>(plan: &'p Plan, task: &Task) -> Option<&'p str> {
    let own = plan.task_str(task, Field::TargetRepo);
    let named = own.or_else(|| plan.head_str(Field::TargetRepo)).map(str::trim);
    named.filter(|name| !name.is_empty() && *name != ".")
}

/// Returns the folder in which a task is verified: the root of the workspace, or the subfolder that a task pack names.
pub fn folder(root: &Path, plan: &Plan, task_ix: usize) -> Result<PathBuf, FolderError> {
    let task = plan.tasks().get(task_ix);
    let Some(named) = task.and_then(|task| named_folder(plan, task)) else {
        return Ok(root.to_owned());
    };
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let outside = || FolderError::Outside(named.to_owned());
    if !Path::new(named).components().all(is_below) || named.contains(['\0', '\\']) {
        return Err(outside());
    }
    let missing = |_| FolderError::Missing(named.to_owned());
    let folder = root.join(named);
    let real = std::fs::canonicalize(&folder).map_err(missing)?;
    let real_root = std::fs::canonicalize(root).map_err(missing)?;
    // A link may lead anywhere.
    if !real.starts_with(real_root) {
        return Err(outside());
    }
    match real.is_dir() {
        true => Ok(folder),
        false => Err(FolderError::Missing(named.to_owned())),
    }
}

/// Returns the receipt of a command that ran.
pub fn receipt(check: &Check, ended: &EndedProcess, log: &Path, commit: Option<String>) -> Receipt {
    Receipt {
        is_setup: false,
        command: check.command.arguments(),
        exit: exit_words(ended),
        milliseconds: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
        digest: digest_words(ended, log),
        tail: tail_text(&ended.tail),
        commit,
        tree: None,
    }
}

/// Returns the receipt of a command that could not be started: it has failed, with the reason.
pub(crate) fn receipt_of_refusal(check: &Check, error: &StartError, commit: Option<String>) -> Receipt {
    Receipt {
        is_setup: false,
        command: check.command.arguments(),
        exit: NOT_STARTED.to_owned(),
        milliseconds: 0,
        digest: Digest::of("").to_string(),
        tail: tail_text(with_causes(error).as_bytes()),
        commit,
        tree: None,
    }
}

/// Returns the receipt of a command without a folder to run in: it has failed, with the reason.
pub(crate) fn not_run(check: &Check, error: &FolderError) -> Receipt {
    Receipt {
        is_setup: false,
        command: check.command.arguments(),
        exit: NOT_STARTED.to_owned(),
        digest: Digest::of("").to_string(),
        tail: error.to_string(),
        ..Receipt::default()
    }
}

pub fn passed(receipt: &Receipt) -> bool {
    receipt.exit == "exit 0"
}

fn exit_words(ended: &EndedProcess) -> String {
    match (ended.cause, ended.exit) {
        (EndCause::WallLimit | EndCause::Silence, _) => "timeout".to_owned(),
        (EndCause::Cancelled, _) => "cancelled".to_owned(),
        (EndCause::Itself, ProcessExit::Code(code)) => format!("exit {code}"),
        (EndCause::Itself, ProcessExit::Signal(signal)) => format!("signal {signal}"),
        (EndCause::Itself, ProcessExit::Unknown) => "unknown".to_owned(),
    }
}

/// Returns the digest of the output, marked if it is only of a part.
fn digest_words(ended: &EndedProcess, log: &Path) -> String {
    if ended.n_bytes == 0 {
        return Digest::of("").to_string();
    }
    // The log is within reach of the started processes: it may now be a link, a pipe, or endless.
    let own = open_own(log, OpenOwn::ToRead);
    // The marks for secrets and omitted output may be longer than the replaced text.
    let most = ended.n_bytes.saturating_mul(4).saturating_add(64 * 1024);
    let own = own.and_then(|file| match file.metadata()?.len() <= most {
        true => Digest::of_all(file.take(most)),
        false => Err(io::ErrorKind::FileTooLarge.into()),
    });
    let Ok(digest) = own else {
        return "none: the output cannot be read".to_owned();
    };
    match ended.log_was_cut || ended.log_error.is_some() {
        true => format!("{digest} of a shortened log"),
        false => digest.to_string(),
    }
}

/// Returns the end of an output as text, cut between characters.
fn tail_text(bytes: &[u8]) -> String {
    let is_inside = |byte: &u8| matches!(byte, 0x80..=0xbf);
    // The first character may have been split; its rest is at most three bytes.
    let n_rest = match bytes.len() >= MAX_TAIL_BYTES {
        true => bytes.iter().take(3).take_while(|byte| is_inside(byte)).count(),
        false => 0,
    };
    let text = String::from_utf8_lossy(bytes.get(n_rest..).unwrap_or_default());
    // Invalid UTF-8 grows when it is decoded.
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_TAIL_BYTES));
    text.get(start..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_outputs_are_cut_between_characters() {
        assert_eq!(tail_text(b"all\xff good\n"), "all\u{fffd} good\n");
        let mut bytes = "é".repeat(MAX_TAIL_BYTES / 2).into_bytes();
        bytes.push(b'!');
        bytes.remove(0);
        assert_eq!(bytes.len(), MAX_TAIL_BYTES);
        let text = tail_text(&bytes);
        assert!(text.starts_with('é') && text.ends_with("é!"), "{text}");
        let grown = tail_text(&[0xff; MAX_TAIL_BYTES]);
        assert!(
            grown.len() <= MAX_TAIL_BYTES && grown.chars().all(|c| c == '\u{fffd}'),
            "{}",
            grown.len()
        );
    }
}
