//! The errors of git operations. Every error leaves all work unchanged.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::worker::is_shortage;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("the program `git` was not found in any folder of `PATH`")]
    NoProgram,
    #[error("there is no folder `{}` to run git in", .0.display())]
    NoFolder(PathBuf),
    #[error("`{command}` cannot be run")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("`{}` cannot be used", .path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{command}` failed: {reason}")]
    Failed { command: String, reason: String },
    #[error("`{command}` left something out: {warning}")]
    Warned { command: String, warning: String },
    #[error("`{}` is not the checkout of the task: it was removed or replaced", .0.display())]
    LostCheckout(PathBuf),
    #[error("there is a git repository inside the checkout, in {}; its files cannot be committed", first(.0))]
    Nested(Vec<String>),
    #[error("there is work in the submodule {}; what is in a submodule cannot land", first(.0))]
    InSubmodule(Vec<String>),
    #[error("`{}` has to land and git ignores it, by `{}` in {}", .path.escape_debug(), .pattern.escape_debug(), .source_file.escape_debug())]
    Ignored {
        path: String,
        pattern: String,
        source_file: String,
    },
    #[error("the two branches have no commit in common")]
    Unrelated,
    #[error("`{}` has an unfinished {operation}", .path.display())]
    Busy { path: PathBuf, operation: &'static str },
    #[error("the branch `{branch}` is checked out in `{}`: it is not moved while that is so", .path.display())]
    InUse { branch: String, path: PathBuf },
    #[error("`{command}` failed after several tries: the repository is locked: {reason}")]
    Locked { command: String, reason: String },
    #[error("`{command}` was ended after {} seconds", .after.as_secs())]
    TimedOut { command: String, after: Duration },
    #[error("the output of `{command}` is too large")]
    TooMuch { command: String },
    #[error("`{}` cannot be the name of {what}", .name.escape_debug())]
    BadName { name: String, what: &'static str },
    #[error("`{}` is not the full id of a commit", .0.escape_debug())]
    NotAnId(String),
    #[error("there is no branch `{0}`")]
    NoBranch(String),
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    #[error("there is uncommitted work in `{}`: {}", .path.display(), first(.paths))]
    NotClean { path: PathBuf, paths: Vec<String> },
    #[error("uncommitted files would be overwritten, as {}; nothing was changed", first(.paths))]
    WouldOverwrite { paths: Vec<String> },
    #[error("{error}; and the files that it had changed could not be restored: {why}")]
    NotSetBack { error: String, why: String },
    #[error("the branch `{branch}` is not checked out any more; nothing was changed")]
    NotCheckedOut { branch: String },
    #[error("the branch `{branch}` was moved by another process, and was not touched")]
    Moved { branch: String },
}

/// Messages of git if the machine is temporarily short of a resource.
const SHORTAGES: &[&str] = &[
    "Too many open files",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "Out of memory",
];

impl GitError {
    /// Returns whether a later retry may succeed: another process holds a lock, or the machine is short of a resource.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            GitError::Locked { .. } => true,
            GitError::Start { source, .. } | GitError::Path { source, .. } => is_shortage(source),
            GitError::Failed { reason, .. } => SHORTAGES.iter().any(|shortage| reason.contains(shortage)),
            _ => false,
        }
    }
}

fn first(paths: &[String]) -> String {
    let name = paths.first().map_or("", String::as_str).escape_debug();
    match paths.len() {
        0 | 1 => format!("`{name}`"),
        n => format!("`{name}` and {} more", n - 1),
    }
}
