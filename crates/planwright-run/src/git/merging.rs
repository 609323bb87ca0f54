//! Merges that are proven before anybody sees them: made in a worktree of their own, looked at there, and only then given to the
//! branch, which moves forwards or not at all.

use super::GitError;
use super::answers::require_id;
use super::command::Place;
use super::committing::conflicts;
use super::messages::commit_message;
use super::repository::{Repository, branch, dirt, finish, head, require_branch};
use super::worktrees::{Worktree, Worktrees, list};
use crate::faults;
use crate::files::write_own;

/// The file, beside what git knows of a worktree, that says what the worktree is for.
const MARK: &str = "planwright-integration";

/// A worktree in which merges are tried. Nobody works there: what a merge or a verification left is thrown away before the next.
/// What git ignores stays, so that compilers need not begin anew.
#[derive(Debug)]
pub struct Integration<'w> {
    worktrees: &'w Worktrees,
    worktree: Worktree,
}

/// What came of trying a merge. The branch that is merged into was not touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// There is nothing to merge: everything is there already.
    Nothing,
    /// The merge has this commit. It is checked out in the worktree of the integration, to be verified.
    Candidate(String),
    /// Both sides changed these files.
    Conflict(Vec<String>),
}

impl<'w> Integration<'w> {
    /// Makes the worktree, or takes the one that an interrupted run left.
    pub fn open(worktrees: &'w Worktrees, name: &str, at: &str) -> Result<Self, GitError> {
        let worktree = worktrees.detached(name, at)?;
        require_mark(&worktree)?;
        Ok(Integration { worktrees, worktree })
    }

    /// Returns its worktree, whose folder is where a candidate is to be verified.
    pub fn worktree(&self) -> &Worktree {
        &self.worktree
    }

    /// Merges a commit into another one, and leaves the result checked out.
    pub fn merge(&self, into: &str, commit: &str, message: &str) -> Result<Merge, GitError> {
        require_id(into)?;
        require_id(commit)?;
        if self.repository().is_ancestor(commit, into)? {
            return Ok(Merge::Nothing);
        }
        self.check_out(into)?;
        let place = &self.worktree.place;
        let words = [
            "merge",
            "--quiet",
            "--no-ff",
            "--no-edit",
            "--no-verify",
            "--no-gpg-sign",
            "--no-log",
            "--cleanup=whitespace",
            "--no-stat",
            "--no-verify-signatures",
            "--no-rerere-autoupdate",
        ];
        let call = self.repository().committing(place.git(&words))?;
        let answer = call.arg("-m").arg(commit_message(message)).arg(commit).answer()?;
        if answer.code == Some(0) {
            let candidate = head(place)?.filter(|candidate| candidate != into);
            return candidate.map(Merge::Candidate).ok_or_else(|| answer.failure());
        }
        let paths = conflicts(place)?;
        self.check_out(into)?;
        if paths.is_empty() {
            return Err(answer.failure());
        }
        Ok(Merge::Conflict(paths))
    }

    /// Moves a branch from one commit forwards to another. Where the branch is checked out, the files there follow; files that
    /// are not committed stay as they are, or nothing happens if they are in the way.
    pub fn advance(&self, name: &str, from: &str, to: &str) -> Result<(), GitError> {
        advance(self.repository(), name, from, to)
    }

    /// Removes the worktree. A candidate that was given to no branch is forgotten; the branch that it was made of is there.
    pub fn close(self) -> Result<(), GitError> {
        self.clear()?;
        self.worktrees.forget(self.worktree.path())
    }

    fn repository(&self) -> &Repository {
        self.worktrees.repository()
    }

    fn check_out(&self, commit: &str) -> Result<(), GitError> {
        self.clear()?;
        let words = [
            "checkout",
            "--quiet",
            "--detach",
            "--no-recurse-submodules",
            commit,
            "--",
        ];
        self.repository().committing(self.worktree.place.git(&words))?.run()
    }

    /// Throws away what is not committed in the worktree of the integration; see [`Place::git_dir`] for why it can be no other.
    fn clear(&self) -> Result<(), GitError> {
        let place: &Place = &self.worktree.place;
        if branch(place)?.is_some() || place.git_dir.is_none() {
            return Err(GitError::NotAWorktree(place.folder.clone()));
        }
        place
            .git(&["reset", "--quiet", "--hard", "--no-recurse-submodules"])
            .run()?;
        place.git(&["clean", "--quiet", "--force", "-d"]).run()
    }
}

/// Makes sure that a worktree is one for merges, before anything in it is thrown away: it was marked as such, or holds nothing.
fn require_mark(worktree: &Worktree) -> Result<(), GitError> {
    let place = &worktree.place;
    let not_ours = || GitError::NotAWorktree(place.folder.clone());
    let mark = place.git_dir.as_ref().ok_or_else(not_ours)?.join(MARK);
    if mark.exists() {
        return Ok(());
    }
    if branch(place)?.is_some() || !dirt(place, &|_| false)?.is_empty() {
        return Err(not_ours());
    }
    let marked = faults::step("mark worktree").and_then(|()| write_own(&mark, b""));
    marked.map_err(|source| GitError::Path { path: mark, source })
}

fn advance(repository: &Repository, name: &str, from: &str, to: &str) -> Result<(), GitError> {
    require_branch(name)?;
    let moved = || GitError::Moved {
        branch: name.to_owned(),
    };
    if repository.tip(name)?.as_deref() != Some(from) || !repository.is_ancestor(from, to)? {
        return Err(moved());
    }
    let worktrees = list(repository)?;
    let user = worktrees
        .into_iter()
        .find(|worktree| worktree.branch.as_deref() == Some(name));
    let done = match user {
        Some(worktree) => {
            let place = Place::at(&worktree.path);
            if branch(&place)?.as_deref() != Some(name) {
                return Err(moved());
            }
            let words = [
                "merge",
                "--quiet",
                "--ff-only",
                "--no-verify",
                "--no-autostash",
                "--no-squash",
                "--no-stat",
                to,
            ];
            finish(place.git(&words).setting("merge.verifySignatures=false"))
        }
        None => {
            let reference = format!("refs/heads/{name}");
            let words = [
                "update-ref",
                "--no-deref",
                "-m",
                "planwright: merge",
                &reference,
                to,
                from,
            ];
            repository.place.git(&words).run()
        }
    };
    // Somebody may have been quicker in between; git has refused then.
    let tip = repository.tip(name)?;
    match done {
        Ok(()) | Err(GitError::Failed { .. }) if tip.as_deref() == Some(to) => Ok(()),
        Err(GitError::Failed { .. }) if tip.as_deref() == Some(from) => done,
        Ok(()) | Err(GitError::Failed { .. }) => Err(moved()),
        done => done,
    }
}
