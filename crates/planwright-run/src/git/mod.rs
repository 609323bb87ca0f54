//! Git for runs: repository state, checkouts, candidates, branches. Does not know plans, runs or agents.
//!
//! Everything is done by the `git` program of the user, without a shell. Nothing of the user's checkout, index, stash, configuration or
//! branches is touched: the branch of a plan moves by compare-and-swap, and refs of our own lie below `refs/planwright/`. The exception
//! is what the user asks for: [`TargetBranch::advance_checkout`].
//!
//! Names and commits are looked at before they become arguments, and paths are given to git literally. Paths in answers begin
//! at the top of the repository and have `/` between their parts; bytes that are not UTF-8 are replaced for display, while git
//! itself is always given the bytes.

mod answers;
mod candidate;
mod changed_files;
mod checkout;
mod command;
mod complaint;
mod condition;
mod diffstat;
mod error;
mod land;
mod messages;
mod names;
mod own_git_dir;
mod own_index;
mod pool;
mod prepared_update;
mod refs;
mod replay;
mod repository;
mod snapshot;
mod special_files;
mod target;
mod unfinished_move;
mod user_checkout;
mod worktrees;

pub use candidate::{Candidate, SnapshotRequest};
pub use checkout::{Checkouts, FolderIdentity, TaskCheckout};
pub(crate) use command::is_repository_variable;
pub use diffstat::Diffstat;
pub use error::GitError;
pub use land::{LandMode, LandRequest, LandingCommit, message_of_uncommitted};
pub use messages::{subject, trailer_value, with_trailers};
pub use names::valid_branch;
pub use own_git_dir::FrozenSettings;
pub use pool::{CheckoutSlot, Pool, PreparedSlot};
pub use refs::OwnRef;
pub use replay::{Replay, ReplayConflict};
pub use repository::{Repository, commit_at};
pub use snapshot::Snapshot;
pub use target::{BranchStart, TargetBranch};
pub use unfinished_move::UndoneMove;
pub use worktrees::ListedWorktree;
