//! The errors of a run: why it does not begin, or why it cannot continue.

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

/// Why a plan is not run, or not any further.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The plan has errors.
    #[error("the plan has errors, and is not run")]
    Errors(Box<Erroneous>),
    /// The plan, the folder or the configuration does not allow it.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do.
        help: String,
    },
    /// Nobody has approved the plan.
    #[error("{message}")]
    NotApproved {
        /// How it stands.
        message: String,
        /// What to do.
        help: String,
    },
    /// The run that continues began with another configuration, which holds until its end.
    #[error("the run began with another configuration")]
    OtherConfig {
        /// That configuration, as the text of a file.
        text: String,
    },
    /// What was recorded of the plan, or of an earlier run, cannot be read.
    #[error("{message}")]
    Damaged {
        /// Where, and what is wrong.
        message: String,
        /// What to do.
        help: String,
    },
    /// There is nobody to give tasks to.
    #[error("{message}")]
    NoAgent {
        /// Who is missing.
        message: String,
        /// What to do.
        help: String,
    },
    /// A task was interrupted, and the user is to say what becomes of it.
    #[error("`{task}` was interrupted, and run.on_interrupted is \"ask\": decide whether it is tried again")]
    Interrupted {
        /// The task.
        task: String,
    },
    /// A name that no task has.
    #[error("there is no task `{name}` in this plan")]
    NoSuchTask {
        /// The name.
        name: String,
        /// Names that there are.
        known: Vec<String>,
    },
    /// Somebody runs it already.
    #[error("{}", running(.live.as_ref()))]
    Running {
        /// Who.
        live: Option<LiveRun>,
    },
    /// The plan file could not be changed.
    #[error("the plan could not be brought up to date")]
    Revise(Box<ReviseError>),
    /// The run's log cannot be written or read.
    #[error(transparent)]
    Log(#[from] JournalError),
    /// Something of the machine's failed.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A plan with errors.
pub struct Erroneous {
    /// The plan file.
    pub path: PathBuf,
    /// What is known of it.
    pub inspection: Inspection,
}

impl std::fmt::Debug for Erroneous {
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

    /// Returns what to do about it.
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
                "run it again: it continues with that; --accept-config takes the new one".to_owned()
            }
            RunError::NoSuchTask { .. } => "`planwright show` lists the tasks".to_owned(),
            RunError::Running { .. } => {
                "follow it with `planwright events --follow`, or end it with `planwright stop`".to_owned()
            }
            RunError::Log(error) => error.help().to_owned(),
            RunError::Io { .. } => {
                "look whether there is room on the disk, and whether you may write there; then run again".to_owned()
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
