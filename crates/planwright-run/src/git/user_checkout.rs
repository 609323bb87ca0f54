//! The user's own checkout: whether it may be changed, and moving its branch together with its files.
//!
//! The branch, HEAD and the index are locked first. Then the files change, then the index, then the branch. A note in the git
//! directory records a move in progress: after an error or a crash in between, the files are restored.

use std::path::PathBuf;

use super::GitError;
use super::answers::{path_line, require_id};
use super::own_git_dir::path_error;
use super::prepared_update::PreparedUpdate;
use super::repository::{Repository, branch, changed_paths};
use super::target::TargetBranch;
use super::unfinished_move::{BegunMove, remove_own_locks};
use crate::faults;
use crate::lock::PlanLock;

/// Operations in progress in the user's checkout, by the files in its git directory.
const OPERATIONS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

impl TargetBranch {
    /// Moves the branch that the user has checked out, with its files. Requires that nothing is uncommitted or in progress, and that no
    /// ignored or untracked file would be overwritten.
    pub fn advance_checkout(
        &self,
        from: &str,
        to: &str,
        why: &str,
        is_own: &dyn Fn(&str) -> bool,
    ) -> Result<(), GitError> {
        require_id(from)?;
        require_id(to)?;
        let repository = &self.repository;
        let place = &repository.place;
        let only = repository.lock_checkout()?;
        repository.undo_move()?;
        self.require_checked_out()?;
        if self.tip()?.as_deref() != Some(from) {
            return Err(self.moved());
        }
        repository.require_idle(is_own)?;
        // Git treats a file with another time as changed. Real changes were excluded above.
        place.git(&["update-index", "-q", "--refresh"]).answer()?;
        let update = match PreparedUpdate::prepare(place, &self.name, from, to, why) {
            Err(GitError::Failed { .. }) if self.tip()?.as_deref() != Some(from) => return Err(self.moved()),
            prepared => prepared?,
        };
        // From here on git lets no other process commit, or check out another branch.
        self.require_checked_out()?;
        repository.require_no_operation()?;
        let paths = repository.files_in_the_way(from, to)?;
        if !paths.is_empty() {
            return Err(GitError::WouldOverwrite { paths });
        }
        repository.move_files(&self.name, from, to, update, &only)
    }

    fn moved(&self) -> GitError {
        GitError::Moved {
            branch: self.name.clone(),
        }
    }

    fn require_checked_out(&self) -> Result<(), GitError> {
        match branch(&self.repository.place)?.as_deref() == Some(self.name.as_str()) {
            true => Ok(()),
            false => Err(GitError::NotCheckedOut {
                branch: self.name.clone(),
            }),
        }
    }
}

impl Repository {
    /// Changes the files from one commit to another, and moves the branch that was locked for it. Changes nothing on failure.
    fn move_files(
        &self,
        branch: &str,
        from: &str,
        to: &str,
        update: PreparedUpdate,
        only: &PlanLock,
    ) -> Result<(), GitError> {
        let git_dir = self.git_dir()?;
        let begun = BegunMove::new(branch, from, to, &self.locks_of_update(branch)?)?.note(&git_dir)?;
        let moved = self.with_own_index(&git_dir, |place| {
            let call = place.git(&["read-tree", "-m", "-u", "--no-recurse-submodules", from, to]);
            // If planwright is killed now, git continues: it holds planwright's lock until it has ended.
            let held = only.share().map_err(path_error(&git_dir))?;
            call.holding(held).run().map_err(|error| match error {
                GitError::Failed { ref reason, .. } => in_the_way_by(reason).unwrap_or(error),
                error => error,
            })
        });
        faults::point("files are moved");
        let done = match moved {
            Ok(()) => update.commit(),
            Err(error) => {
                // Git releases its locks.
                drop(update);
                Err(error)
            }
        };
        let done = match done {
            Err(_) if self.tip(branch)?.as_deref() == Some(to) => Ok(()),
            done => done,
        };
        // A killed git has left its own.
        remove_own_locks(&begun.locks)?;
        if let Err(error) = done {
            self.set_back(from, to).map_err(|why| GitError::NotSetBack {
                error: error.to_string(),
                why: why.to_string(),
            })?;
            BegunMove::forget(&git_dir)?;
            return Err(error);
        }
        BegunMove::forget(&git_dir)
    }

    /// Returns an error if the user's checkout has uncommitted work, or an operation in progress.
    pub fn require_idle(&self, is_own: &dyn Fn(&str) -> bool) -> Result<(), GitError> {
        self.require_no_operation()?;
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

    fn require_no_operation(&self) -> Result<(), GitError> {
        match self.operation()? {
            None => Ok(()),
            Some(operation) => Err(GitError::Busy {
                path: self.toplevel().to_owned(),
                operation,
            }),
        }
    }

    /// Returns the operation in progress in the user's checkout, in words.
    pub fn operation(&self) -> Result<Option<&'static str>, GitError> {
        let git_dir = self.git_dir()?;
        let found = OPERATIONS.iter().find(|(name, _)| git_dir.join(name).exists());
        Ok(found.map(|(_, operation)| *operation))
    }

    /// Returns the git directory of the user's checkout, which a linked worktree has for itself.
    pub fn git_dir(&self) -> Result<PathBuf, GitError> {
        let output = self.place.git(&["rev-parse", "--absolute-git-dir"]).output()?;
        Ok(path_line(&output))
    }
}

/// Returns the error for a file that git would not overwrite, in the words of git's inner commands.
fn in_the_way_by(reason: &str) -> Option<GitError> {
    let is_refusal = reason.contains("would be overwritten by merge")
        || reason.contains("not uptodate. Cannot merge")
        || reason.contains("would lose untracked files");
    let path = reason.split('\'').nth(1).filter(|_| is_refusal)?;
    Some(GitError::WouldOverwrite {
        paths: vec![path.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_git_name_the_file() {
        let path = |reason| match in_the_way_by(reason) {
            Some(GitError::WouldOverwrite { paths }) => paths,
            _ => Vec::new(),
        };
        assert_eq!(
            path("Untracked working tree file 'a b' would be overwritten by merge."),
            ["a b"]
        );
        assert_eq!(path("Entry 'x' not uptodate. Cannot merge."), ["x"]);
        assert_eq!(path("Updating 'd' would lose untracked files in it"), ["d"]);
        assert_eq!(path("unable to write 'x'"), [""; 0]);
    }
}
