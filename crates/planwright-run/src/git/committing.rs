//! Everything that a task left in its worktree as commits on its branch, and what does not belong there kept aside.

use std::collections::BTreeSet;
use std::io;

use super::GitError;
use super::answers::{line_of, parts, require_id, text_of};
use super::command::Place;
use super::messages::commit_message;
use super::repository::{branch, head};
use super::worktrees::{Worktree, Worktrees};
use crate::faults;

/// Where commits are kept that hold what was not to be committed to a task's branch.
const ASIDE: &str = "refs/planwright/aside";

/// What came of committing all that a task left in its worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The end of the branch, be it new or not: this is what is to be merged.
    pub commit: String,
    /// Whether there was something to commit.
    pub was_made: bool,
    /// The excluded paths that were changed. On the branch they are what they were at the beginning.
    pub put_aside: Vec<String>,
    /// A commit outside of all branches with the changes of those, where they were not committed already.
    pub aside: Option<String>,
}

impl Worktrees {
    /// Commits everything in a worktree that is not committed and not ignored to its branch, but for what is excluded: on the
    /// branch that is as it was in `since`, whoever changed it, and a change that was not committed is kept aside.
    ///
    /// Where somebody left the worktree's branch for another one or for none, and is ahead of it, the branch follows.
    pub fn commit_all(
        &self,
        worktree: &Worktree,
        since: &str,
        message: &str,
        exclude: &dyn Fn(&str) -> bool,
    ) -> Result<Committed, GitError> {
        require_id(since)?;
        let place = &worktree.place;
        require_no_conflicts(worktree)?;
        let before = self.return_to_branch(worktree)?;
        place.git(&["add", "--all"]).setting("core.safecrlf=false").run()?;
        let excluded = staged_exclusions(worktree, since, exclude)?;
        let aside = self.put_aside(worktree, &before, &excluded)?;
        restore(place, since, &excluded)?;
        let is_merging = place
            .git_dir
            .as_ref()
            .is_some_and(|dir| dir.join("MERGE_HEAD").exists());
        let is_same = place
            .git(&["diff", "--cached", "--quiet", "--no-ext-diff", &before, "--"])
            .yes_or_no()?;
        let was_made = is_merging || !is_same;
        if was_made {
            let words = [
                "commit",
                "--quiet",
                "--no-verify",
                "--no-gpg-sign",
                "--cleanup=whitespace",
                "--file=-",
            ];
            let call = self.repository.committing(place.git(&words))?;
            call.input(commit_message(message).into_bytes()).run()?;
        }
        Ok(Committed {
            commit: head(place)?.unwrap_or(before),
            was_made,
            put_aside: excluded.iter().map(|path| text_of(path)).collect(),
            aside,
        })
    }

    /// Moves the locks aside that a git left in a worktree when it was killed, and tells whether there were any. Only for a worktree
    /// in which nothing runs any more, as when the whole tree of an agent's processes was ended.
    pub fn move_locks_aside(&self, worktree: &Worktree) -> Result<bool, GitError> {
        let mut were_any = false;
        for name in ["index.lock", "HEAD.lock"] {
            let Some(folder) = &worktree.place.git_dir else {
                continue;
            };
            let path = folder.join(name);
            faults::point("move lock aside");
            match std::fs::rename(&path, folder.join(format!("{name}.left"))) {
                Ok(()) => were_any = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(GitError::Path { path, source }),
            }
        }
        Ok(were_any)
    }

    /// Brings a worktree back to its branch, and the branch to where the worktree is. Returns the commit.
    fn return_to_branch(&self, worktree: &Worktree) -> Result<String, GitError> {
        let place = &worktree.place;
        let off_branch = || GitError::OffBranch {
            path: worktree.path().to_owned(),
            branch: worktree.branch().to_owned(),
        };
        let commit = head(place)?.ok_or_else(off_branch)?;
        if branch(place)?.as_deref() == Some(worktree.branch()) {
            return Ok(commit);
        }
        let reference = format!("refs/heads/{}", worktree.branch());
        let tip = self.repository.tip(worktree.branch())?;
        if let Some(tip) = &tip
            && !self.repository.is_ancestor(tip, &commit)?
        {
            return Err(off_branch());
        }
        let old = tip.unwrap_or_else(|| "0".repeat(commit.len()));
        place
            .git(&["update-ref", "--no-deref", &reference, &commit, &old])
            .run()?;
        place.git(&["symbolic-ref", "HEAD", &reference]).run()?;
        Ok(commit)
    }

    /// Keeps what is staged of some paths in a commit outside of all branches, if it is not in the one that is checked out.
    fn put_aside(
        &self,
        worktree: &Worktree,
        before: &str,
        paths: &BTreeSet<Vec<u8>>,
    ) -> Result<Option<String>, GitError> {
        let place = &worktree.place;
        let words = [
            "diff",
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            before,
            "--",
        ];
        let staged = place.git(&words).output()?;
        if !parts(&staged).any(|path| paths.contains(path)) {
            return Ok(None);
        }
        let tree = line_of(&place.git(&["write-tree"]).output()?);
        let message = format!("What was not to be committed to {}", worktree.branch());
        let words = ["commit-tree", "--no-gpg-sign", "-p", before, "-m", &message, &tree];
        let commit = line_of(&self.repository.committing(place.git(&words))?.output()?);
        let reference = format!("{ASIDE}/{commit}");
        place.git(&["update-ref", "--no-deref", &reference, &commit]).run()?;
        Ok(Some(commit))
    }
}

/// Refuses to commit the marks of conflicts.
fn require_no_conflicts(worktree: &Worktree) -> Result<(), GitError> {
    let paths = conflicts(&worktree.place)?;
    if paths.is_empty() {
        return Ok(());
    }
    Err(GitError::Unfinished {
        path: worktree.path().to_owned(),
        paths,
    })
}

/// Returns the files with conflicts in a place.
pub(super) fn conflicts(place: &Place) -> Result<Vec<String>, GitError> {
    let words = ["diff", "--name-only", "-z", "--diff-filter=U", "--no-ext-diff", "--"];
    let paths: BTreeSet<String> = parts(&place.git(&words).output()?).map(text_of).collect();
    Ok(paths.into_iter().collect())
}

/// Returns the excluded paths that are staged and differ from a commit, after a look at what must not be staged at all.
fn staged_exclusions(
    worktree: &Worktree,
    since: &str,
    exclude: &dyn Fn(&str) -> bool,
) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let words = [
        "diff",
        "--cached",
        "--raw",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        since,
        "--",
    ];
    let output = worktree.place.git(&words).output()?;
    let mut parts = parts(&output);
    let (mut excluded, mut embedded) = (BTreeSet::new(), Vec::new());
    while let (Some(kinds), Some(path)) = (parts.next(), parts.next()) {
        if exclude(&text_of(path)) {
            excluded.insert(path.to_vec());
        } else if !kinds.starts_with(b":160000 ") && kinds.get(8..14) == Some(b"160000") {
            embedded.push(text_of(path));
        }
    }
    if embedded.is_empty() {
        return Ok(excluded);
    }
    Err(GitError::Embedded {
        path: worktree.path().to_owned(),
        paths: embedded,
    })
}

/// Makes some paths what they are in a commit.
fn restore(place: &Place, since: &str, paths: &BTreeSet<Vec<u8>>) -> Result<(), GitError> {
    if paths.is_empty() {
        return Ok(());
    }
    let source = format!("--source={since}");
    let words = [
        "restore",
        &source,
        "--staged",
        "--worktree",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
    ];
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path);
        input.push(0);
    }
    place.git(&words).input(input).run()
}
