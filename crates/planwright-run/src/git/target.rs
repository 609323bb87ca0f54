//! The branch that work lands on. It moves by compare-and-swap, and a linked worktree without files prevents other checkouts of
//! it.

use std::path::{Path, PathBuf};

use super::GitError;
use super::answers::require_id;
use super::own_git_dir::{make_folder, remove_folder};
use super::repository::{Repository, canonical, require_branch};
use super::worktrees::list;
use crate::clock;
use crate::files::DiskFiles;
use crate::lock::{self, LockError, LockHolder, PlanLock};

#[derive(Clone, Debug)]
pub struct TargetBranch {
    pub(super) repository: Repository,
    pub(super) name: String,
    /// The folder of the worktree that holds it; none for the branch that the user has checked out.
    holder: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStart {
    Created,
    /// It has commits that are not in the checked-out commit, and continues.
    Continued,
    /// All of it had landed: it starts again at the checked-out commit. Its old tip is kept.
    Restarted {
        previous: String,
    },
    Current,
}

impl TargetBranch {
    /// Finds or creates the branch of a plan for a new run that starts at `head`. A worktree in the folder `holder` will hold it. Returns
    /// where the work starts.
    pub fn begin(
        repository: &Repository,
        name: &str,
        head: &str,
        holder: &Path,
    ) -> Result<(Self, String, BranchStart), GitError> {
        require_id(head)?;
        let target = Self::again(repository, name, holder)?;
        target.require_unused()?;
        let Some(tip) = repository.tip(name)? else {
            return match target.swap(&"0".repeat(head.len()), head, "planwright: begin") {
                Ok(()) => Ok((target, head.to_owned(), BranchStart::Created)),
                // Another run has created it in the meantime.
                Err(_) if repository.tip(name)?.is_some() => Self::begin(repository, name, head, holder),
                Err(error) => Err(error),
            };
        };
        if !repository.has_landed(&tip, head)? {
            return Ok((target, tip, BranchStart::Continued));
        }
        if tip != head {
            let short = tip.get(..12).unwrap_or(&tip);
            repository.keep(&format!("previous/{name}/{short}"), &tip)?;
            target.swap(&tip, head, "planwright: begin anew")?;
        }
        Ok((target, head.to_owned(), BranchStart::Restarted { previous: tip }))
    }

    pub fn current(repository: &Repository) -> Result<Self, GitError> {
        let name = repository
            .branch()?
            .ok_or_else(|| GitError::NoBranch("HEAD".to_owned()))?;
        Ok(TargetBranch {
            repository: repository.clone(),
            name,
            holder: None,
        })
    }

    /// Takes the branch of a resumed run that lands on the user's branch: it need not be checked out now.
    pub fn current_as(repository: &Repository, name: &str) -> Result<Self, GitError> {
        require_branch(name)?;
        Ok(TargetBranch {
            repository: repository.clone(),
            name: name.to_owned(),
            holder: None,
        })
    }

    pub fn again(repository: &Repository, name: &str, holder: &Path) -> Result<Self, GitError> {
        require_branch(name)?;
        let above = holder.parent().unwrap_or(holder);
        make_folder(above)?;
        Ok(TargetBranch {
            repository: repository.clone(),
            name: name.to_owned(),
            holder: Some(canonical(above)?.join(holder.file_name().unwrap_or_default())),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its commit; none if it was deleted.
    pub fn tip(&self) -> Result<Option<String>, GitError> {
        self.repository.tip(&self.name)
    }

    /// Removes a branch that a run created and that has no commits of its own.
    pub(crate) fn remove_at(&self, commit: &str) -> Result<(), GitError> {
        require_id(commit)?;
        let reference = format!("refs/heads/{}", self.name);
        let words = ["update-ref", "-d", "--no-deref", &reference, commit];
        self.repository.place.git(&words).run()
    }

    /// Ensures that one planwright process at a time creates or removes a worktree that holds a branch.
    fn lock_holder(&self, folder: &Path) -> Result<PlanLock, GitError> {
        let me = LockHolder::new("run".to_owned(), clock::now());
        let path = folder.with_file_name("lock");
        lock::acquire(&DiskFiles, &path, &me, lock::PATIENCE).map_err(|error| match error {
            LockError::Held { .. } => GitError::Locked {
                command: "git worktree add".to_owned(),
                reason: error.to_string(),
            },
            LockError::Io { path, source } => GitError::Path { path, source },
        })
    }

    /// Holds the branch with a linked worktree without files. Reuses a worktree of another run or an interrupted one.
    pub fn hold(&self) -> Result<(), GitError> {
        let Some(folder) = &self.holder else {
            return Ok(());
        };
        let _only = self.lock_holder(folder)?;
        let is_held = |listed: &super::ListedWorktree| {
            let is_whole = !listed.is_locked && folder.join(".git").exists();
            listed.path == *folder && listed.branch.as_deref() == Some(self.name.as_str()) && is_whole
        };
        if list(&self.repository)?.iter().any(is_held) {
            return Ok(());
        }
        self.drop_holder(folder)?;
        for stale in list(&self.repository)?.iter().filter(|listed| self.is_held_by(listed)) {
            self.drop_holder(&stale.path)?;
        }
        let words = ["worktree", "add", "--quiet", "--no-checkout", "--no-guess-remote", "--"];
        let call = self.repository.place.git(&words).arg(folder).arg(&self.name);
        match call.run() {
            // Another run may have been faster.
            Err(GitError::Failed { .. }) if list(&self.repository)?.iter().any(is_held) => Ok(()),
            made => made,
        }
    }

    pub fn release(&self) -> Result<(), GitError> {
        let Some(folder) = &self.holder else {
            return Ok(());
        };
        let _only = self.lock_holder(folder)?;
        self.drop_holder(folder)
    }

    /// Removes the worktree that holds a branch. It is empty. If its creation was interrupted, git has locked it, and its `.git` is empty,
    /// which git refuses to remove. Git treats a worktree without a folder as removed.
    fn drop_holder(&self, folder: &Path) -> Result<(), GitError> {
        remove_folder(folder).map_err(super::own_git_dir::path_error(folder))?;
        let is_listed = list(&self.repository)?.iter().any(|listed| listed.path == folder);
        if is_listed {
            let words = ["worktree", "remove", "--force", "--force", "--"];
            self.repository.place.git(&words).arg(folder).run()?;
        }
        Ok(())
    }

    /// Returns whether a worktree only holds the branch. If the repository was moved, or the folder for checkouts was changed, that of an
    /// earlier run is elsewhere: it has the same name as ours, and no files.
    fn is_held_by(&self, listed: &super::ListedWorktree) -> bool {
        let Some(holder) = &self.holder else {
            return false;
        };
        let has_no_files = || {
            let entries = listed.path.read_dir().into_iter().flatten().flatten();
            entries.into_iter().all(|entry| entry.file_name() == ".git")
        };
        let is_same = listed.path == *holder || listed.path.file_name() == holder.file_name() && has_no_files();
        is_same && listed.branch.as_deref() == Some(self.name.as_str())
    }

    /// Returns an error if the branch is checked out anywhere but in its own worktree.
    pub fn require_unused(&self) -> Result<(), GitError> {
        let is_user = |listed: &super::ListedWorktree| {
            listed.branch.as_deref() == Some(self.name.as_str()) && !self.is_held_by(listed)
        };
        match list(&self.repository)?.into_iter().find(is_user) {
            Some(listed) => Err(GitError::InUse {
                branch: self.name.clone(),
                path: listed.path,
            }),
            None => Ok(()),
        }
    }

    /// Moves the branch from one commit to another, atomically.
    pub fn advance(&self, from: &str, to: &str, why: &str) -> Result<(), GitError> {
        require_id(from)?;
        require_id(to)?;
        self.require_unused()?;
        let moved = self.swap(from, to, why);
        let tip = self.tip()?;
        match (moved, tip) {
            (_, None) => Err(GitError::NoBranch(self.name.clone())),
            (_, Some(tip)) if tip == to => Ok(()),
            (Err(error), Some(tip)) if tip == from => Err(error),
            (_, Some(_)) => Err(GitError::Moved {
                branch: self.name.clone(),
            }),
        }
    }

    fn swap(&self, from: &str, to: &str, why: &str) -> Result<(), GitError> {
        let reference = format!("refs/heads/{}", self.name);
        let words = [
            "update-ref",
            "--no-deref",
            "--create-reflog",
            "-m",
            why,
            &reference,
            to,
            from,
        ];
        self.repository.place.git(&words).run()
    }
}

impl Repository {
    /// Returns the user's checkout in which a branch is checked out; worktrees below `holders` only hold branches.
    pub(crate) fn worktree_of(&self, name: &str, holders: &Path) -> Result<Option<PathBuf>, GitError> {
        let holders = holders.canonicalize().unwrap_or_else(|_| holders.to_owned());
        let is_user = |listed: &super::ListedWorktree| {
            listed.branch.as_deref() == Some(name) && !listed.path.starts_with(&holders)
        };
        Ok(list(self)?.into_iter().find(is_user).map(|listed| listed.path))
    }

    /// Returns the branches that worktrees below a folder hold.
    pub(crate) fn held_branches(&self, holders: &Path) -> Result<Vec<String>, GitError> {
        let holders = holders.canonicalize().unwrap_or_else(|_| holders.to_owned());
        let held = list(self)?
            .into_iter()
            .filter(|listed| listed.path.starts_with(&holders));
        Ok(held.filter_map(|listed| listed.branch).collect())
    }
}
