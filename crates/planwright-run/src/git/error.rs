//! The errors of git operations. Every error leaves all work unchanged.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::worker::is_shortage;

/// Why something could not be done with git.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("the program `git` was not found in any folder of `PATH`")]
    NoProgram,
    /// The folder is none.
    #[error("there is no folder `{}` to run git in", .0.display())]
    NoFolder(PathBuf),
    /// The system refused to start it, or to give it something to read.
    #[error("`{command}` cannot be run")]
    Start {
        /// The command.
        command: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A folder or file cannot be used.
    #[error("`{}` cannot be used", .path.display())]
    Path {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Git said no.
    #[error("`{command}` failed: {reason}")]
    Failed {
        /// The command.
        command: String,
        /// The first line of what it said that tells why.
        reason: String,
    },
    /// Git warned that it left something out.
    #[error("`{command}` left something out: {warning}")]
    Warned {
        /// The command.
        command: String,
        /// What it said.
        warning: String,
    },
    /// A checkout is gone, or another folder has its place.
    #[error("`{}` is not the checkout that was made for the task: it was removed or replaced", .0.display())]
    LostCheckout(PathBuf),
    /// A checkout holds a repository of its own, whose files git would not take along.
    #[error("there is a git repository inside the checkout, in {}; its files cannot be committed", first(.0))]
    Nested(Vec<String>),
    /// A checkout holds work in a submodule, which git would not take along.
    #[error("there is work in the submodule {}; what is in a submodule cannot land", first(.0))]
    InSubmodule(Vec<String>),
    /// A file that must land is ignored by git.
    #[error("`{}` has to land and git ignores it, by `{}` in {}", .path.escape_debug(), .pattern.escape_debug(), .source_file.escape_debug())]
    Ignored {
        /// The file.
        path: String,
        /// The pattern that matches it.
        pattern: String,
        /// The file with the pattern, and its line.
        source_file: String,
    },
    /// Two commits have no history in common.
    #[error("the two branches have no commit in common")]
    Unrelated,
    /// The user's checkout is in the middle of something.
    #[error("`{}` is in the middle of {operation}", .path.display())]
    Busy {
        /// The checkout.
        path: PathBuf,
        /// What, as `a rebase`.
        operation: &'static str,
    },
    /// A branch is checked out by the user, and cannot be moved.
    #[error("the branch `{branch}` is checked out in `{}`: it is not moved while that is so", .path.display())]
    InUse {
        /// The branch.
        branch: String,
        /// The checkout.
        path: PathBuf,
    },
    /// Somebody else holds one of git's locks, and has not let go of it for a while.
    #[error("`{command}` failed after several tries because something of the repository is locked: {reason}")]
    Locked {
        /// The command.
        command: String,
        /// What it said last, with the path of the lock.
        reason: String,
    },
    /// It took too long and was ended.
    #[error("`{command}` was ended after {} seconds", .after.as_secs())]
    TimedOut {
        /// The command.
        command: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// It wrote more than anybody could use.
    #[error("`{command}` answers with more than can be read")]
    TooMuch {
        /// The command.
        command: String,
    },
    /// A name that git would refuse or take for something else.
    #[error("`{}` cannot be the name of {what}", .name.escape_debug())]
    BadName {
        /// The name.
        name: String,
        /// What it was to be the name of.
        what: &'static str,
    },
    /// Not the full id of a commit or a tree.
    #[error("`{}` is not the full id of a commit", .0.escape_debug())]
    NotAnId(String),
    /// There is no such branch.
    #[error("there is no branch `{0}`")]
    NoBranch(String),
    /// There is something already where a worktree is to be made.
    #[error("there is something at `{}` already", .0.display())]
    Exists(PathBuf),
    /// The user's checkout has work that is not committed.
    #[error("there is uncommitted work in `{}`: {}", .path.display(), first(.paths))]
    NotClean {
        /// The checkout.
        path: PathBuf,
        /// What is not committed.
        paths: Vec<String>,
    },
    /// Files that the user has not committed would be overwritten; nothing was changed.
    #[error("files that are not committed are in the way, as {}; nothing was changed", first(.paths))]
    InTheWay {
        /// The files.
        paths: Vec<String>,
    },
    /// The files of the user's checkout changed in part, and could not be set back.
    #[error("{error}; and the files that had changed by then could not be set back: {why}")]
    NotSetBack {
        /// Why the move failed.
        error: String,
        /// Why the files could not be set back.
        why: String,
    },
    /// Another branch, or no branch, is checked out by now; nothing was changed.
    #[error("the branch `{branch}` is not checked out any more; nothing was changed")]
    NotCheckedOut {
        /// The branch.
        branch: String,
    },
    /// A branch is not where it was, or where it is to go is not ahead of it; it was not touched.
    #[error("the branch `{branch}` was moved by another process, and was not touched")]
    Moved {
        /// The branch.
        branch: String,
    },
}

/// What git says where the machine is short of something that it may have again.
const SHORTAGES: &[&str] = &[
    "Too many open files",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "Out of memory",
];

impl GitError {
    /// Tells whether the same may succeed after a while: another process holds a lock, or the machine is short of something.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            GitError::Locked { .. } => true,
            GitError::Start { source, .. } | GitError::Path { source, .. } => is_shortage(source),
            GitError::Failed { reason, .. } => SHORTAGES.iter().any(|shortage| reason.contains(shortage)),
            _ => false,
        }
    }
}

/// Returns the first of some paths and how many more there are.
fn first(paths: &[String]) -> String {
    let name = paths.first().map_or("", String::as_str).escape_debug();
    match paths.len() {
        0 | 1 => format!("`{name}`"),
        n => format!("`{name}` and {} more", n - 1),
    }
}
