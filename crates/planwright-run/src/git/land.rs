//! Bringing the branch of a plan into the one that is checked out: built apart from every working tree, so that it can be verified before
//! it is visible anywhere.

use super::GitError;
use super::answers::{parts, require_id, text_of};
use super::replay::Replay;
use super::repository::Repository;

/// How a branch is brought into another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LandMode {
    /// As it is where nothing else happened, else by a merge.
    #[default]
    Auto,
    /// By a merge commit.
    Merge,
    /// By one commit with all of its changes.
    Squash,
    /// By its commits one after another, on top of what is there.
    Rebase,
}

/// The result of building it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// Everything is there already.
    Nothing,
    /// The commit that the checked-out branch would be at.
    Ready(String),
    /// Both sides changed these files.
    Conflict(Vec<String>),
}

/// What is to be landed.
#[derive(Clone, Copy, Debug)]
pub struct LandRequest<'a> {
    /// The commit that is checked out.
    pub head: &'a str,
    /// The end of the branch.
    pub tip: &'a str,
    /// A commit of the user's uncommitted work below the branch, which is left out.
    pub without: Option<&'a str>,
    /// How.
    pub mode: LandMode,
    /// The message of a merge or of one commit for all.
    pub message: &'a str,
}

impl Repository {
    /// Builds the commit that the checked-out branch would be at. Touches no branch and no working tree.
    pub fn build_landing(&self, request: &LandRequest<'_>) -> Result<Built, GitError> {
        require_id(request.head)?;
        require_id(request.tip)?;
        if self.is_ancestor(request.tip, request.head)? {
            return Ok(Built::Nothing);
        }
        let is_ahead = request.without.is_none() && self.is_ancestor(request.head, request.tip)?;
        match request.mode {
            LandMode::Auto if is_ahead => Ok(Built::Ready(request.tip.to_owned())),
            // A merge would bring the uncommitted work along.
            LandMode::Auto | LandMode::Merge if request.without.is_some() => self.rebased(request),
            LandMode::Auto | LandMode::Merge => self.as_one(request, true),
            LandMode::Squash => self.as_one(request, false),
            LandMode::Rebase if is_ahead => Ok(Built::Ready(request.tip.to_owned())),
            LandMode::Rebase => self.rebased(request),
        }
    }

    /// Builds one commit with all changes of the branch.
    fn as_one(&self, request: &LandRequest<'_>, is_merge: bool) -> Result<Built, GitError> {
        let base = match request.without {
            Some(without) => without.to_owned(),
            None => match self.merge_base(request.head, request.tip)? {
                Some(base) => base,
                None => return Err(GitError::Unrelated),
            },
        };
        let head = self.tree_of(request.head)?;
        let replayed = self.replay(
            &self.tree_of(&base)?,
            &self.tree_of(request.tip)?,
            &head,
            self.toplevel(),
        )?;
        let tree = match replayed {
            Replay::Clean { tree } if tree == head => return Ok(Built::Nothing),
            Replay::Clean { tree } => tree,
            Replay::Conflict { paths, .. } => return Ok(Built::Conflict(paths)),
        };
        let mut parents = vec![request.head];
        parents.extend(is_merge.then_some(request.tip));
        self.commit_tree(&tree, &parents, request.message).map(Built::Ready)
    }

    /// Builds the commits of the branch one after another on top of what is checked out.
    fn rebased(&self, request: &LandRequest<'_>) -> Result<Built, GitError> {
        let words = [
            "rev-list",
            "--reverse",
            "--first-parent",
            request.tip,
            "--not",
            request.head,
        ];
        let call = request
            .without
            .into_iter()
            .fold(self.place.git(&words), |call, without| call.arg(without));
        let commits = text_of(&call.output()?);
        let mut at = request.head.to_owned();
        for commit in commits.lines() {
            let onto = self.tree_of(&at)?;
            let replayed = self.replay(
                &self.tree_of(&first_parent(self, commit)?)?,
                &self.tree_of(commit)?,
                &onto,
                self.toplevel(),
            )?;
            match replayed {
                Replay::Clean { tree } if tree == onto => {}
                Replay::Clean { tree } => at = self.like(commit, &tree, &at)?,
                Replay::Conflict { paths, .. } => return Ok(Built::Conflict(paths)),
            }
        }
        match at == request.head {
            true => Ok(Built::Nothing),
            false => Ok(Built::Ready(at)),
        }
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

    /// Returns the tasks that commits of a branch name in their trailers, where another commit does not have these, oldest first.
    pub fn tasks_beyond(&self, tip: &str, head: &str) -> Result<Vec<String>, GitError> {
        require_id(tip)?;
        require_id(head)?;
        let format = "--format=%(trailers:key=Planwright-Task,valueonly,separator=%x00)%x00";
        let words = ["log", "--reverse", "--first-parent", "-z", format, tip, "--not", head];
        let mut tasks: Vec<String> = Vec::new();
        for task in parts(&self.place.git(&words).output()?).map(text_of) {
            let task = task.trim().to_owned();
            if !task.is_empty() && !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }

    /// Returns the commits of a branch that another commit does not have, oldest first, as id and subject.
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
