//! Merges the branch of a plan into the checked-out one, apart from every working tree, so that the result can be verified first.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::GitError;
use super::answers::{parts, require_id, text_of};
use super::messages::with_trailers;
use super::replay::Replay;
use super::repository::Repository;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandMode {
    /// A fast-forward if the checked-out branch has not moved, otherwise a merge.
    #[default]
    Auto,
    Merge,
    /// One commit with all of its changes.
    Squash,
    /// Its commits one after another, on top of the checked-out branch.
    Rebase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingCommit {
    Nothing,
    /// The new commit of the checked-out branch.
    Ready(String),
    /// Both sides changed these files.
    Conflict(Vec<String>),
}

#[derive(Clone, Copy, Debug)]
pub struct LandRequest<'a> {
    pub head: &'a str,
    pub tip: &'a str,
    pub mode: LandMode,
    /// The message of a merge or of the squashed commit.
    pub message: &'a str,
}

/// The trailer of a commit with the user's uncommitted work, which is below the work of a run and never lands.
const UNCOMMITTED: &str = "Planwright-Uncommitted";

/// Returns the message of a commit with the user's uncommitted work.
pub fn message_of_uncommitted(run: &str) -> String {
    let trailers = [(UNCOMMITTED, run.to_owned())];
    with_trailers("Uncommitted work, as it was when a run began", &trailers)
}

struct BranchCommit {
    id: String,
    is_uncommitted_work: bool,
}

impl Repository {
    /// Builds the new commit of the checked-out branch. Changes no branch and no working tree.
    pub fn build_landing(&self, request: &LandRequest<'_>) -> Result<LandingCommit, GitError> {
        require_id(request.head)?;
        require_id(request.tip)?;
        if self.has_landed(request.tip, request.head)? {
            return Ok(LandingCommit::Nothing);
        }
        let is_ahead = self.is_ancestor(request.head, request.tip)?;
        let commits = self.commits_of_branch(request.tip, request.head)?;
        if commits.iter().any(|commit| commit.is_uncommitted_work) {
            return self.without_uncommitted(request, &commits);
        }
        match request.mode {
            LandMode::Auto | LandMode::Rebase if is_ahead => Ok(LandingCommit::Ready(request.tip.to_owned())),
            LandMode::Auto | LandMode::Merge => self.as_one(request, &[request.head, request.tip]),
            LandMode::Squash => self.as_one(request, &[request.head]),
            LandMode::Rebase => self.rebased(request.head, &commits),
        }
    }

    /// Builds one commit with all changes of the branch.
    fn as_one(&self, request: &LandRequest<'_>, parents: &[&str]) -> Result<LandingCommit, GitError> {
        let Some(base) = self.merge_base(request.head, request.tip)? else {
            return Err(GitError::Unrelated);
        };
        let head = self.tree_of(request.head)?;
        let replayed = self.replay(
            &self.tree_of(&base)?,
            &self.tree_of(request.tip)?,
            &head,
            self.toplevel(),
        )?;
        match replayed {
            Replay::Clean { tree } if tree == head => Ok(LandingCommit::Nothing),
            Replay::Clean { tree } => self
                .commit_tree(&tree, parents, request.message)
                .map(LandingCommit::Ready),
            Replay::Conflict(conflict) => Ok(LandingCommit::Conflict(conflict.paths)),
        }
    }

    /// Builds the changes of a branch that includes the user's uncommitted work. A merge of the branch itself would have that work in its
    /// history.
    fn without_uncommitted(
        &self,
        request: &LandRequest<'_>,
        commits: &[BranchCommit],
    ) -> Result<LandingCommit, GitError> {
        let rebased = match self.rebased(request.head, commits)? {
            LandingCommit::Ready(commit) => commit,
            other => return Ok(other),
        };
        let parents = match request.mode {
            LandMode::Auto | LandMode::Rebase => return Ok(LandingCommit::Ready(rebased)),
            LandMode::Merge => vec![request.head, &rebased],
            LandMode::Squash => vec![request.head],
        };
        let tree = self.tree_of(&rebased)?;
        self.commit_tree(&tree, &parents, request.message)
            .map(LandingCommit::Ready)
    }

    /// Builds the commits of a branch one after another on top of another commit, without the user's uncommitted work.
    fn rebased(&self, head: &str, commits: &[BranchCommit]) -> Result<LandingCommit, GitError> {
        let mut at = head.to_owned();
        for commit in commits.iter().filter(|commit| !commit.is_uncommitted_work) {
            let onto = self.tree_of(&at)?;
            let replayed = self.replay(
                &self.tree_of(&first_parent(self, &commit.id)?)?,
                &self.tree_of(&commit.id)?,
                &onto,
                self.toplevel(),
            )?;
            match replayed {
                Replay::Clean { tree } if tree == onto => {}
                Replay::Clean { tree } => at = self.like(&commit.id, &tree, &at)?,
                Replay::Conflict(conflict) => return Ok(LandingCommit::Conflict(conflict.paths)),
            }
        }
        match at == head {
            true => Ok(LandingCommit::Nothing),
            false => Ok(LandingCommit::Ready(at)),
        }
    }

    /// Returns whether another commit contains a commit, or its changes. The user's uncommitted work does not count.
    pub fn has_landed(&self, commit: &str, into: &str) -> Result<bool, GitError> {
        if self.is_ancestor(commit, into)? {
            return Ok(true);
        }
        let Some(base) = self.merge_base(commit, into)? else {
            return Ok(false);
        };
        let commits = self.commits_of_branch(commit, into)?;
        if commits.iter().any(|commit| commit.is_uncommitted_work) {
            return Ok(self.rebased(into, &commits)? == LandingCommit::Nothing);
        }
        let into = self.tree_of(into)?;
        let replayed = self.replay(&self.tree_of(&base)?, &self.tree_of(commit)?, &into, self.toplevel())?;
        Ok(replayed == Replay::Clean { tree: into })
    }

    /// Returns the commits of a branch that another commit lacks, oldest first.
    fn commits_of_branch(&self, tip: &str, head: &str) -> Result<Vec<BranchCommit>, GitError> {
        let format = format!("--format=%H %(trailers:key={UNCOMMITTED},valueonly,separator=%x2C)");
        let words = ["log", "--reverse", "--first-parent", "-z", &format, tip, "--not", head];
        let output = self.place.git(&words).output()?;
        let commit = |line: &[u8]| {
            let line = text_of(line);
            let (id, run) = line.split_once(' ')?;
            Some(BranchCommit {
                id: id.to_owned(),
                is_uncommitted_work: !run.trim().is_empty(),
            })
        };
        Ok(parts(&output).filter_map(commit).collect())
    }

    /// Commits a tree with the author and the message of another commit.
    fn like(&self, commit: &str, tree: &str, parent: &str) -> Result<String, GitError> {
        let words = [
            "show",
            "--no-patch",
            "--no-show-signature",
            "--format=%an%x00%ae%x00%aI%x00%B",
            commit,
        ];
        let output = self.place.git(&words).output()?;
        let mut fields = output.splitn(4, |byte| *byte == 0).map(text_of);
        let mut next = || fields.next().unwrap_or_default();
        let (name, email, date, message) = (next(), next(), next(), next());
        let words = ["commit-tree", "--no-gpg-sign", tree, "-p", parent];
        let call = self.committing(self.place.git(&words))?.setting("core.fsync=committed");
        let call = call
            .variable("GIT_AUTHOR_NAME", name)
            .variable("GIT_AUTHOR_EMAIL", email);
        let call = call.variable("GIT_AUTHOR_DATE", date).input(message.into_bytes());
        Ok(super::answers::line_of(&call.output()?))
    }

    /// Returns the tasks named in trailers of a branch's commits that another commit lacks, oldest first. Plans that share a branch may
    /// have tasks of the same name.
    pub fn tasks_beyond(&self, tip: &str, head: &str) -> Result<Vec<String>, GitError> {
        require_id(tip)?;
        require_id(head)?;
        let value = |key: &str| format!("%(trailers:key={key},valueonly,separator=%x20)");
        let format = format!("--format={}%x0a{}", value("Planwright-Task"), value("Planwright-Run"));
        let words = ["log", "--reverse", "--first-parent", "-z", &format, tip, "--not", head];
        let mut known = BTreeSet::new();
        let mut tasks = Vec::new();
        for commit in parts(&self.place.git(&words).output()?).map(text_of) {
            let (task, run) = commit.split_once('\n').unwrap_or((&commit, ""));
            let task = task.trim().to_owned();
            if !task.is_empty() && known.insert((task.clone(), run.trim().to_owned())) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }

    /// Returns the ids of all commits of one commit that another one lacks.
    pub(crate) fn ids_beyond(&self, tip: &str, head: &str) -> Result<Vec<String>, GitError> {
        require_id(tip)?;
        require_id(head)?;
        let output = self.place.git(&["rev-list", tip, "--not", head]).output()?;
        Ok(text_of(&output).lines().map(str::to_owned).collect())
    }

    /// Returns the commits of a branch that another commit lacks, oldest first, as id and subject.
    pub fn commits_beyond(&self, tip: &str, head: &str) -> Result<Vec<(String, String)>, GitError> {
        require_id(tip)?;
        require_id(head)?;
        let words = [
            "log",
            "--reverse",
            "--first-parent",
            "-z",
            "--format=%H %s",
            tip,
            "--not",
            head,
        ];
        let output = self.place.git(&words).output()?;
        let split = |line: &[u8]| {
            let line = text_of(line);
            let (id, subject) = line.split_once(' ')?;
            Some((id.to_owned(), subject.to_owned()))
        };
        Ok(parts(&output).filter_map(split).collect())
    }
}

fn first_parent(repository: &Repository, commit: &str) -> Result<String, GitError> {
    require_id(commit)?;
    let call = repository.place.git(&["rev-parse", "--verify", "--quiet"]);
    let parent = call.arg(format!("{commit}^1")).line()?;
    parent.ok_or(GitError::Unrelated)
}
