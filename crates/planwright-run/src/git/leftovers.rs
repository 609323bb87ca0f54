//! Worktrees that earlier runs left, and which of them can go without loss.

use std::path::Path;

use super::GitError;
use super::answers::text_of;
use super::names::is_branch_of;
use super::repository::dirt;
use super::worktrees::{Listed, Worktrees};

/// A worktree that is still there, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The worktree.
    pub worktree: Listed,
    /// Whether it can go.
    pub state: LeftoverState,
}

/// Whether a worktree can be removed without loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// Everything is committed, and merged into the branch that was asked about.
    Removable,
    /// It holds work that is not committed.
    Dirty(Vec<String>),
    /// It holds commits that are not merged.
    Unmerged,
    /// Its folder is gone; git still lists it.
    Missing,
    /// Somebody locked it.
    Locked,
    /// Git cannot read it, for this reason.
    Broken(String),
}

/// A branch of a task that has no worktree any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Its name.
    pub branch: String,
    /// Whether everything on it is on the branch that was asked about.
    pub is_merged: bool,
}

impl Worktrees {
    /// Returns the worktrees below a folder, and whether they can go: whether they are merged into a branch and clean.
    pub fn leftovers(&self, below: &Path, into: &str) -> Result<Vec<Leftover>, GitError> {
        let below = below.canonicalize().unwrap_or_else(|_| below.to_owned());
        let tip = self.repository.tip(into)?;
        let tip = tip.ok_or_else(|| GitError::NoBranch(into.to_owned()))?;
        let listed = self.list()?.into_iter().skip(1);
        let listed = listed.filter(|worktree| worktree.path.starts_with(&below));
        let judged = listed.map(|worktree| Leftover {
            state: match self.state(&worktree, &tip) {
                Ok(state) => state,
                Err(error) => LeftoverState::Broken(error.to_string()),
            },
            worktree,
        });
        Ok(judged.collect())
    }

    fn state(&self, listed: &Listed, tip: &str) -> Result<LeftoverState, GitError> {
        if listed.is_locked {
            return Ok(LeftoverState::Locked);
        }
        if !listed.path.exists() {
            return Ok(LeftoverState::Missing);
        }
        let worktree = self.open(&listed.path, listed.branch.as_deref().unwrap_or(""))?;
        let paths = dirt(&worktree.place, &|_| false)?;
        if !paths.is_empty() {
            return Ok(LeftoverState::Dirty(paths));
        }
        Ok(match &listed.head {
            Some(head) if self.repository.is_ancestor(head, tip)? => LeftoverState::Removable,
            _ => LeftoverState::Unmerged,
        })
    }

    /// Returns the branches of the tasks of runs that are checked out nowhere: of somebody who was stopped after a worktree was gone,
    /// and before its branch was. Those of runs in use are not asked about.
    pub fn stray_branches(
        &self,
        runs: &[&str],
        is_in_use: impl Fn(&str) -> bool,
        into: &str,
    ) -> Result<Vec<Stray>, GitError> {
        let words = ["for-each-ref", "--format=%(refname:lstrip=2)"];
        let patterns = ["refs/heads/planwright", "refs/heads/planwright-*"];
        let output = self.repository.place.git(&[words, patterns].concat()).output()?;
        let listed = self.list()?;
        let mut strays = Vec::new();
        for branch in text_of(&output).lines() {
            let is_checked_out = listed.iter().any(|worktree| worktree.branch.as_deref() == Some(branch));
            // The second run of a second is called like the first, and more.
            let fitting = runs.iter().filter(|run| is_branch_of(branch, run));
            let Some(run) = fitting.max_by_key(|run| run.len()) else {
                continue;
            };
            if is_checked_out || is_in_use(run) {
                continue;
            }
            match self.repository.is_merged(branch, into) {
                Ok(is_merged) => strays.push(Stray {
                    branch: branch.to_owned(),
                    is_merged,
                }),
                // Somebody else has cleared it away meanwhile.
                Err(GitError::NoBranch(name)) if name == branch => {}
                Err(error) => return Err(error),
            }
        }
        Ok(strays)
    }

    /// Removes a worktree that is left over, with its branch, if it can go: looks again, and keeps what is not provably merged
    /// into a branch. Of one whose folder is gone the branch stays, unless that is merged.
    pub fn clear_away(&self, worktree: &Listed, into: &str) -> Result<(), GitError> {
        let tip = self.repository.tip(into)?;
        let tip = tip.ok_or_else(|| GitError::NoBranch(into.to_owned()))?;
        let path = worktree.path.clone();
        match self.state(worktree, &tip)? {
            LeftoverState::Removable | LeftoverState::Missing => self.forget(&path)?,
            LeftoverState::Dirty(paths) => return Err(GitError::NotClean { path, paths }),
            LeftoverState::Unmerged => {
                return Err(GitError::NotMerged {
                    branch: worktree.branch.clone().unwrap_or_else(|| path.display().to_string()),
                    into: into.to_owned(),
                });
            }
            LeftoverState::Locked => return Err(GitError::KeptByLock(path)),
            LeftoverState::Broken(_) => return Err(GitError::NotAWorktree(path)),
        }
        match worktree.branch.as_deref() {
            Some(name) if name != into && self.repository.is_merged(name, into)? => self.delete_branch(name, into),
            _ => Ok(()),
        }
    }
}
