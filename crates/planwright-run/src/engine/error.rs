//! The errors of a run: why it does not start, or why it cannot continue.

use std::io;
use std::path::PathBuf;

use planwright_core::inspect::Inspection;

use crate::clock::to_the_second;
use crate::journal::JournalError;
use crate::lock::LockError;
use crate::revise::ReviseError;
use crate::runs::LiveRun;
use crate::shell::argument;
use crate::store::LoadError;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the plan has errors, and is not run")]
    Errors(Box<PlanWithErrors>),
    #[error("{message}")]
    Refused { message: String, help: String },
    #[error("{message}")]
    NotApproved { message: String, help: String },
    #[error("the run began with another configuration")]
    OtherConfig { text: String },
    #[error("{message}")]
    Damaged { message: String, help: String },
    #[error("{message}")]
    NoAgent { message: String, help: String },
    #[error("`{task}` was interrupted, and run.on_interrupted is \"ask\": decide whether it is tried again")]
    Interrupted { task: String },
    #[error("there is no task `{name}` in this plan")]
    NoSuchTask { name: String, known: Vec<String> },
    #[error("{}", running(.live.as_ref()))]
    Running { live: Option<LiveRun> },
    #[error("the plan file could not be updated")]
    Revise(Box<ReviseError>),
    #[error(transparent)]
    Log(#[from] JournalError),
    #[error("{what}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

pub struct PlanWithErrors {
    pub path: PathBuf,
    pub inspection: Inspection,
}

impl std::fmt::Debug for PlanWithErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Erroneous")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn running(live: Option<&LiveRun>) -> String {
    match live {
        Some(LiveRun { pid, id, since, .. }) => {
            let id = id.as_deref().unwrap_or("(about to begin)");
            format!(
                "the plan is being run already: run {id}, process {pid}, since {}",
                to_the_second(since)
            )
        }
        None => "the plan is being run already by another process".to_owned(),
    }
}

impl RunError {
    pub(super) fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        RunError::Refused {
            message: message.into(),
            help: help.into(),
        }
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        |source| RunError::Io { what, source }
    }

    pub fn help(&self) -> String {
        match self {
            RunError::Refused { help, .. }
            | RunError::NotApproved { help, .. }
            | RunError::NoAgent { help, .. }
            | RunError::Damaged { help, .. } => help.clone(),
            RunError::Interrupted { task } => format!(
                "run again with --on-interrupted retry or --on-interrupted fail, or settle it by hand: `planwright done {0} --take-over --note \"…\"`, \
                 `planwright reset {0}`",
                argument(task)
            ),
            RunError::Errors(_) => "fix them first: `planwright check` shows them".to_owned(),
            RunError::OtherConfig { .. } => {
                "run it again: it continues with that configuration; --accept-config uses the new one".to_owned()
            }
            RunError::NoSuchTask { .. } => "`planwright show` lists the tasks".to_owned(),
            RunError::Running { .. } => {
                "follow it with `planwright events --follow`, or end it with `planwright stop`".to_owned()
            }
            RunError::Log(error) => error.help().to_owned(),
            RunError::Io { .. } => {
                "check that there is space on the disk, and that you may write there; then run again".to_owned()
            }
            RunError::Load(error) => error.help().to_owned(),
            RunError::Revise(_) => String::new(),
        }
    }

    /// Returns whether the machine failed, not the plan or its user.
    pub fn is_environment(&self) -> bool {
        match self {
            RunError::Load(_) | RunError::Log(_) | RunError::Io { .. } => true,
            RunError::NoAgent { .. } | RunError::Damaged { .. } | RunError::Running { .. } => true,
            RunError::Revise(error) => matches!(**error, ReviseError::Store(_)),
            RunError::Errors(_)
            | RunError::Refused { .. }
            | RunError::NotApproved { .. }
            | RunError::OtherConfig { .. }
            | RunError::Interrupted { .. }
            | RunError::NoSuchTask { .. } => false,
        }
    }
}

impl From<ReviseError> for RunError {
    fn from(error: ReviseError) -> Self {
        RunError::Revise(Box::new(error))
    }
}

impl From<LockError> for RunError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held { holder, .. } => RunError::Running {
                live: holder.map(LiveRun::from),
            },
            LockError::Io { path, source } => RunError::Io {
                what: format!("`{}` cannot be locked", path.display()),
                source,
            },
        }
    }
}
