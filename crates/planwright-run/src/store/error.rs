//! The errors of changing a plan. Every message reports the state of the file, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::load::LoadError;
use crate::caller::{self, CallingAttempt};
use crate::journal::JournalError;
use crate::lock::LockError;

/// Why a plan was not changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The plan cannot be read: it does not exist, or is not a file.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An attempt of a run wants to change the plan of its own run.
    #[error("`{}` was not changed: {attempt} called this, and an attempt cannot change its own run", .path.display())]
    InAttempt { path: PathBuf, attempt: CallingAttempt },
    /// Another process is changing the plan.
    #[error("`{}` is being changed by another process: {lock}", .path.display())]
    Locked {
        path: PathBuf,
        /// The holder of the lock, and how long this process waited.
        lock: LockError,
    },
    /// A run works on the plan.
    #[error("a run works on `{}` (process {pid}): it was not moved", .path.display())]
    BeingRun { path: PathBuf, pid: u32 },
    /// Its journal cannot be used.
    #[error("{}; `{}` was not changed", with_reason(.journal), .path.display())]
    Journal { path: PathBuf, journal: JournalError },
    /// Its history cannot be read.
    #[error("the history of `{}` cannot be read: {}", .path.display(), with_reason(.journal))]
    History { path: PathBuf, journal: JournalError },
    /// Its file has other hard links, which would keep the old text.
    #[error("`{}` is one of {n_links} hard links to one file, and replacing it would separate it from the other names", .path.display())]
    HardLinked {
        path: PathBuf,
        /// The number of hard links.
        n_links: u64,
    },
    /// It is write-protected, which a rename would not check.
    #[error("`{}` is write-protected, and was not changed", .path.display())]
    Protected { path: PathBuf },
    /// The folder of its history is no folder.
    #[error("there is no place for the history of `{}`, which was not changed", .path.display())]
    NoStateFolder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It holds bytes that are not UTF-8, which would be lost.
    #[error("`{}` is not UTF-8, and was not changed: writing it would lose bytes", .path.display())]
    NotUtf8 { path: PathBuf },
    /// A file without a journal has changed since it was read.
    #[error("another process changed `{}`", .path.display())]
    Changed { path: PathBuf },
    /// A program that takes no lock kept changing it.
    #[error("`{}` keeps being changed by another process; nothing was written", .path.display())]
    Changing { path: PathBuf },
    #[error("there is no space left to write `{}`; it was not changed", .path.display())]
    Full {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The folder of the plan or of its journal is not writable.
    #[error("`{}` cannot be replaced, and was not changed: its folder or `.planwright` is not writable", .path.display())]
    ReadOnly {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The operating system returned another error.
    #[error("`{}` cannot be written; it was not changed", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The new path exists.
    #[error("`{to}` exists already; `{}` was not changed", .path.display())]
    Occupied {
        path: PathBuf,
        /// The new path, from the root of the workspace.
        to: String,
    },
    #[error("`{}` is a symbolic link to a plan; neither was changed", .path.display())]
    Link { path: PathBuf },
    /// A link in the new path leads out of the workspace.
    #[error("`{to}` is outside of the workspace, by a link in its path; `{}` was not changed", .path.display())]
    Outside {
        path: PathBuf,
        /// The new path, from the root of the workspace.
        to: String,
    },
    /// It was moved, but the system could not guarantee that the move survives a power cut.
    #[error("`{}` was moved to `{to}`, but the system could not confirm that this is on the disk", .path.display())]
    MoveNotConfirmed {
        path: PathBuf,
        /// The new path, from the root of the workspace.
        to: String,
        #[source]
        source: io::Error,
    },
    /// A file without a journal was written, but may not survive a power cut.
    #[error("`{}` was replaced, but the system could not confirm that the new text is on the disk", .path.display())]
    Unconfirmed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The new text is written, but the system could not guarantee that it survives a power cut.
    #[error("`{}` was replaced, but the system could not confirm that the new text is on the disk", .path.display())]
    NotConfirmed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Returns the error of a journal with the system's message.
fn with_reason(journal: &JournalError) -> String {
    match journal {
        JournalError::Io { source, .. } => format!("{journal}: {source}"),
        _ => journal.to_string(),
    }
}

impl StoreError {
    /// Converts an error of the system for a plan that was not changed.
    pub(super) fn untouched(path: &Path, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        match source.kind() {
            Kind::StorageFull | Kind::QuotaExceeded => StoreError::Full { path, source },
            Kind::ReadOnlyFilesystem | Kind::PermissionDenied => StoreError::ReadOnly { path, source },
            Kind::NotADirectory => StoreError::NoStateFolder { path, source },
            _ => StoreError::Io { path, source },
        }
    }

    /// Converts an error of the journal for a plan that was not changed.
    pub(super) fn journal(path: &Path, journal: JournalError) -> Self {
        match journal {
            JournalError::Io { source, .. } if is_common(&source) => StoreError::untouched(path, source),
            journal => StoreError::Journal {
                path: path.to_owned(),
                journal,
            },
        }
    }

    /// Converts an error of the lock for a plan that was not changed.
    pub(super) fn lock(path: &Path, lock: LockError) -> Self {
        match lock {
            LockError::Io { source, .. } => StoreError::untouched(path, source),
            lock => StoreError::Locked {
                path: path.to_owned(),
                lock,
            },
        }
    }

    /// Returns the next step for the user.
    pub fn help(&self) -> &'static str {
        match self {
            StoreError::Load(error) => error.help(),
            StoreError::InAttempt { .. } => caller::HELP,
            StoreError::Locked { .. } => {
                "nothing was written; wait until the other process is done, or end it, and try again"
            }
            StoreError::History {
                journal: JournalError::Io { .. },
                ..
            } => "check that you may read `.planwright` at the root of the workspace",
            StoreError::Journal { journal, .. } | StoreError::History { journal, .. } => journal.help(),
            StoreError::HardLinked { .. } => {
                "nothing was written; make it a file of its own first: copy it, and move the copy to its name"
            }
            StoreError::BeingRun { .. } => "wait for the run, or end it with `planwright stop`",
            StoreError::Protected { .. } => {
                "nothing was written; if it may be changed, make it writable first: chmod u+w"
            }
            StoreError::NoStateFolder { .. } => {
                "nothing was written; move the existing `.planwright` away: planwright makes a folder there"
            }
            StoreError::NotUtf8 { .. } => "nothing was written; `planwright check` shows where the bytes are",
            StoreError::Changing { .. } => "wait until the other program is done, and try again",
            StoreError::Full { .. } => {
                "nothing was written; make space on the disk of the plan and of `.planwright`, and try again"
            }
            StoreError::ReadOnly { .. } => {
                "nothing was written; check who may write to the plan's folder and to `.planwright` at the root of the workspace"
            }
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
                "nothing was written; raise the limit, or make the plan smaller"
            }
            StoreError::Changed { .. } | StoreError::Io { .. } => "nothing was written; try again",
            StoreError::Unconfirmed { .. } => "check it after a power failure: it has the old text or the new one",
            StoreError::Occupied { .. } => "nothing is overwritten; give one of the two another name, and try again",
            StoreError::Link { .. } => "name the file that it leads to, or remove the link",
            StoreError::Outside { .. } => "remove the link, and try again",
            StoreError::MoveNotConfirmed { .. } => "check both paths after a power failure: one of them has the plan",
            StoreError::NotConfirmed { .. } => "the next change records the result; `planwright history` shows it then",
        }
    }
}

/// Returns whether an error is better reported for the plan than for its journal.
fn is_common(source: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        source.kind(),
        Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::ReadOnlyFilesystem
            | Kind::PermissionDenied
            | Kind::NotADirectory
    )
}

/// Why an update failed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E> {
    /// The caller's `prepare` refused the change.
    #[error("{0}")]
    Refused(E),
    #[error(transparent)]
    Store(#[from] StoreError),
}
