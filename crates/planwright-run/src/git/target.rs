//! The branch that the work of a plan lands on. It moves by compare-and-swap only, from where it was seen, and is held by a linked
//! worktree without files so that git refuses to check it out elsewhere meanwhile.

use std::path::{Path, PathBuf};

use super::GitError;
use super::answers::require_id;
use super::borrowed::{make_folder, remove_folder};
use super::replay::Replay;
use super::repository::{Repository, branch, canonical, changed_paths, finish, require_branch};
use super::worktrees::list;
use crate::clock;
use crate::files::DiskFiles;
use crate::lock::{self, Holder, LockError, PlanLock};

/// The branch that work lands on.
#[derive(Clone, Debug)]
pub struct TargetBranch {
    repository: Repository,
    name: String,
    /// The folder of the worktree that holds it; none for the branch that the user has checked out.
    holder: Option<PathBuf>,
}

/// How a branch was found when a run began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStart {
    /// It did not exist.
    Created,
    /// It has commits that are not part of what is checked out, and continues.
    Continued,
    /// All of it had landed: it begins anew at what is checked out. Its old end is kept.
    Restarted {
        /// The old end.
        previous: String,
    },
    /// It is the branch that the user has checked out.
    Current,
}

/// What the user's checkout is in the middle of: files in its git directory.
const OPERATIONS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

impl TargetBranch {
    /// Finds or makes the branch of a plan for a new run that begins at `head`, to be held by a worktree in the folder `holder`.
    /// Returns where the work begins.
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
            target.swap(&"0".repeat(head.len()), head, "planwright: begin")?;
            return Ok((target, head.to_owned(), BranchStart::Created));
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

    /// Takes the branch that is checked out by the user.
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

    /// Takes the branch of a run that continues and that lands on the checked-out branch: it need not be checked out now.
    pub fn current_as(repository: &Repository, name: &str) -> Result<Self, GitError> {
        require_branch(name)?;
        Ok(TargetBranch {
            repository: repository.clone(),
            name: name.to_owned(),
            holder: None,
        })
    }

    /// Takes the branch of a run that continues.
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

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the commit at its end; none where it was deleted.
    pub fn tip(&self) -> Result<Option<String>, GitError> {
        self.repository.tip(&self.name)
    }

    /// Holds the branch with a linked worktree that has no files. One that another run or an interrupted one made is used as it is.
    pub fn hold(&self) -> Result<(), GitError> {
        let Some(folder) = &self.holder else {
            return Ok(());
        };
        let is_held = |listed: &super::Listed| {
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
            // Another run may have been quicker.
            Err(GitError::Failed { .. }) if list(&self.repository)?.iter().any(is_held) => Ok(()),
            made => made,
        }
    }

    /// Lets go of the branch.
    pub fn release(&self) -> Result<(), GitError> {
        self.holder.as_deref().map_or(Ok(()), |folder| self.drop_holder(folder))
    }

    /// Removes the worktree that holds a branch. There is nothing in it; one whose making was interrupted is locked by git, and has a
    /// `.git` without content, which git refuses to remove. It takes a worktree for removed that has no folder.
    fn drop_holder(&self, folder: &Path) -> Result<(), GitError> {
        remove_folder(folder).map_err(super::borrowed::path_error(folder))?;
        let is_listed = list(&self.repository)?.iter().any(|listed| listed.path == folder);
        if is_listed {
            let words = ["worktree", "remove", "--force", "--force", "--"];
            self.repository.place.git(&words).arg(folder).run()?;
        }
        Ok(())
    }

    /// Tells whether a worktree only holds the branch. Where the repository was moved, or the folder for checkouts is another one by now,
    /// that of an earlier run is elsewhere: it has the name that ours has, and no files.
    fn is_held_by(&self, listed: &super::Listed) -> bool {
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

    /// Returns an error where the branch is checked out anywhere but in its own worktree.
    pub fn require_unused(&self) -> Result<(), GitError> {
        let is_user =
            |listed: &super::Listed| listed.branch.as_deref() == Some(self.name.as_str()) && !self.is_held_by(listed);
        match list(&self.repository)?.into_iter().find(is_user) {
            Some(listed) => Err(GitError::InUse {
                branch: self.name.clone(),
                path: listed.path,
            }),
            None => Ok(()),
        }
    }

    /// Moves the branch from one commit to another, or not at all.
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

    /// Moves the branch that the user has checked out, and the files with it. Only where nothing is uncommitted, nothing is in
    /// progress, and no ignored or untracked file would be overwritten.
    pub fn advance_checkout(&self, from: &str, to: &str, is_own: &dyn Fn(&str) -> bool) -> Result<(), GitError> {
        require_id(from)?;
        require_id(to)?;
        let _only = self.lock_checkout()?;
        let place = &self.repository.place;
        let moved = || GitError::Moved {
            branch: self.name.clone(),
        };
        if branch(place)?.as_deref() != Some(self.name.as_str()) {
            return Err(GitError::NotCheckedOut {
                branch: self.name.clone(),
            });
        }
        if self.tip()?.as_deref() != Some(from) {
            return Err(moved());
        }
        self.repository.require_idle(is_own)?;
        self.require_unlocked(from)?;
        let words = [
            "merge",
            "--quiet",
            "--ff-only",
            "--no-verify",
            "--no-autostash",
            "--no-squash",
            "--no-stat",
            "--no-overwrite-ignore",
            to,
        ];
        // The user may have settings for merges into this branch, as to make a commit of each.
        let settings = format!("branch.{}.mergeOptions=", self.name);
        let call = place
            .git(&words)
            .setting("merge.verifySignatures=false")
            .setting(settings);
        let done = finish(call);
        let error = match (done, self.tip()?) {
            (_, Some(tip)) if tip == to => return Ok(()),
            (Err(error), Some(tip)) if tip == from => error,
            _ => moved(),
        };
        if !matches!(error, GitError::InTheWay { .. }) {
            // Git moves the branch last: where another process moved it first, the files are those of `to` already. Where git failed
            // before that, this changes nothing. A file that the user has changed since is kept.
            place.git(&["read-tree", "-m", "-u", to, from]).run()?;
        }
        Err(error)
    }

    /// Has one process of ours move a checked-out branch at a time.
    fn lock_checkout(&self) -> Result<PlanLock, GitError> {
        let me = Holder {
            pid: std::process::id(),
            verb: "land".to_owned(),
            since: clock::now(),
        };
        let path = self.repository.common_folder().join("planwright.lock");
        lock::acquire(&DiskFiles, &path, &me, lock::PATIENCE).map_err(|error| match error {
            LockError::Held { .. } => GitError::Locked {
                command: "planwright land".to_owned(),
                reason: error.to_string(),
            },
            LockError::Io { path, source } => GitError::Path { path, source },
        })
    }

    /// Returns an error where git could not move the branch from a commit: it would notice only after it had changed the files.
    fn require_unlocked(&self, from: &str) -> Result<(), GitError> {
        let reference = format!("refs/heads/{}", self.name);
        let rehearsal = format!("start\nupdate {reference} {from} {from}\nprepare\nabort\n");
        let call = self.repository.place.git(&["update-ref", "--no-deref", "--stdin"]);
        call.input(rehearsal.into_bytes()).run()
    }
}

impl Repository {
    /// Returns the checkout of the user's that has a branch checked out; worktrees below `holders` only hold branches.
    pub fn worktree_of(&self, name: &str, holders: &Path) -> Result<Option<PathBuf>, GitError> {
        let holders = holders.canonicalize().unwrap_or_else(|_| holders.to_owned());
        let is_user =
            |listed: &super::Listed| listed.branch.as_deref() == Some(name) && !listed.path.starts_with(&holders);
        Ok(list(self)?.into_iter().find(is_user).map(|listed| listed.path))
    }

    /// Returns the branches that worktrees below a folder hold.
    pub fn held_branches(&self, holders: &Path) -> Result<Vec<String>, GitError> {
        let holders = holders.canonicalize().unwrap_or_else(|_| holders.to_owned());
        let held = list(self)?
            .into_iter()
            .filter(|listed| listed.path.starts_with(&holders));
        Ok(held.filter_map(|listed| listed.branch).collect())
    }

    /// Tells whether a commit brings nothing that another one does not have: it is part of it, or its changes are.
    pub fn has_landed(&self, commit: &str, into: &str) -> Result<bool, GitError> {
        if self.is_ancestor(commit, into)? {
            return Ok(true);
        }
        let Some(base) = self.merge_base(commit, into)? else {
            return Ok(false);
        };
        let into = self.tree_of(into)?;
        let replayed = self.replay(&self.tree_of(&base)?, &self.tree_of(commit)?, &into, self.toplevel())?;
        Ok(replayed == Replay::Clean { tree: into })
    }

    /// Returns an error where the user's checkout has uncommitted work, or is in the middle of something.
    pub fn require_idle(&self, is_own: &dyn Fn(&str) -> bool) -> Result<(), GitError> {
        if let Some(operation) = self.operation()? {
            return Err(GitError::Busy {
                path: self.toplevel().to_owned(),
                operation,
            });
        }
        // Git itself overwrites no untracked file.
        let paths = changed_paths(&self.place, is_own)?;
        match paths.is_empty() {
            true => Ok(()),
            false => Err(GitError::NotClean {
                path: self.toplevel().to_owned(),
                paths,
            }),
        }
    }

    /// Returns what the user's checkout is in the middle of, in words.
    pub fn operation(&self) -> Result<Option<&'static str>, GitError> {
        let git_dir = self.git_dir()?;
        let found = OPERATIONS.iter().find(|(name, _)| git_dir.join(name).exists());
        Ok(found.map(|(_, operation)| *operation))
    }

    /// Returns the git directory of the user's checkout, which is its own where it is a linked worktree.
    pub fn git_dir(&self) -> Result<PathBuf, GitError> {
        let output = self.place.git(&["rev-parse", "--absolute-git-dir"]).output()?;
        Ok(super::answers::path_line(&output))
    }
}
