//! What a run needs of git: where a folder stands, what changed in it, a worktree and a branch for each task, and merges that
//! are proven before anybody sees them. Knows nothing of plans, runs or agents.
//!
//! Everything is done by the `git` program of the user, without a shell. Nothing here forces anything: no branch is moved but
//! forwards, no worktree is removed that is not clean, and nothing of the user's working tree is reset. The one place where
//! leftovers are thrown away is the worktree of an [`Integration`], in which nobody works.
//!
//! Names and commits are looked at before they become arguments, and paths are given to git literally. Paths in answers begin
//! at the top of the repository and have `/` between their parts; bytes that are not UTF-8 are replaced for display, while git
//! itself is always given the bytes.

mod answers;
mod borrowed;
mod candidate;
mod checkout;
mod command;
mod committing;
mod condition;
mod error;
mod land;
mod leftovers;
mod merging;
mod messages;
mod names;
mod pool;
mod refs;
mod replay;
mod repository;
mod snapshot;
mod target;
mod worktrees;

pub use borrowed::FrozenSettings;
pub use candidate::{Candidate, SnapshotRequest};
pub use checkout::{Checkouts, FolderIdentity, TaskCheckout};
pub use command::is_repository_variable;
pub use committing::Committed;
pub use error::GitError;
pub use land::{Built, LandMode, LandRequest};
pub use leftovers::{Leftover, LeftoverState, Stray};
pub use merging::{Integration, Merge};
pub use messages::{subject, with_trailers};
pub use names::{BranchShape, branch_name, valid_branch};
pub use pool::{Pool, Prepared, Slot};
pub use refs::OwnRef;
pub use replay::Replay;
pub use repository::{MAX_DIRT, Repository, commit_at};
pub use snapshot::Snapshot;
pub use target::{BranchStart, TargetBranch};
pub use worktrees::{Listed, Worktree, Worktrees};
