//! planwright's own refs in the user's repository, below `refs/planwright/`: they keep work alive.

use std::fs;
use std::path::Path;

use super::GitError;
use super::answers::{require_id, text_of};
use super::command::GitCall;
use super::own_git_dir::remove_locks_below;
use super::repository::Repository;

const OWN: &str = "refs/planwright";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRef {
    /// Its name, below `refs/planwright/`.
    pub name: String,
    pub commit: String,
}

impl Repository {
    /// Keeps a commit alive under a name, and replaces an earlier commit of that name.
    pub fn keep(&self, name: &str, commit: &str) -> Result<(), GitError> {
        require_id(commit)?;
        let reference = format!("{OWN}/{name}");
        self.writing(name, || {
            self.place.git(&["update-ref", "--no-deref", &reference, commit])
        })
    }

    pub fn kept(&self, name: &str) -> Result<Option<String>, GitError> {
        let call = self
            .place
            .git(&["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        call.arg(format!("{OWN}/{name}^{{commit}}")).line()
    }

    /// Runs a command that writes a ref of ours. Such a ref has the name of its run, and no other process writes it: a remaining lock was
    /// left by a killed git, and is removed.
    fn writing<'r>(&'r self, name: &str, call: impl Fn() -> GitCall<'r>) -> Result<(), GitError> {
        let lock = self.common_folder().join(format!("{OWN}/{name}.lock"));
        match call().run() {
            Err(GitError::Locked { .. }) if fs::remove_file(&lock).is_ok() => call().run(),
            done => done,
        }
    }

    /// Deletes a name that still points at a commit.
    pub fn let_go(&self, name: &str, commit: &str) -> Result<(), GitError> {
        require_id(commit)?;
        let reference = format!("{OWN}/{name}");
        self.writing(name, || {
            self.place.git(&["update-ref", "-d", "--no-deref", &reference, commit])
        })
    }

    /// Removes the locks of the refs named after a run, which a killed git left. No git of the run may be active.
    pub(crate) fn remove_locks_of(&self, run: &str) {
        let own = self.common_folder().join(OWN);
        for kind in fs::read_dir(own).into_iter().flatten().flatten() {
            let _ = fs::remove_file(kind.path().join(format!("{run}.lock")));
            remove_locks_below(&kind.path().join(run));
        }
    }

    pub fn all_kept(&self, below: &str) -> Result<Vec<OwnRef>, GitError> {
        let pattern = format!("{OWN}/{below}");
        let output = self
            .place
            .git(&["for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", &pattern])
            .output()?;
        let line = |line: &str| {
            let (commit, name) = line.split_once(' ')?;
            Some(OwnRef {
                name: name.to_owned(),
                commit: commit.to_owned(),
            })
        };
        Ok(text_of(&output).lines().filter_map(line).collect())
    }

    /// Fetches a commit with all its objects from a git directory of ours into this repository, under a name. Git checks that the objects
    /// are complete.
    pub(super) fn fetch_candidate(
        &self,
        from: &Path,
        reference: &str,
        name: &str,
        commit: &str,
    ) -> Result<(), GitError> {
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--no-show-forced-updates",
            "--force",
            "--",
        ];
        self.writing(name, || {
            let call = self.place.git(&words).setting("protocol.file.allow=always");
            let call = call.setting("core.fsync=committed").setting("fetch.unpackLimit=1000");
            call.arg(from).arg(format!("+{reference}:{OWN}/{name}"))
        })?;
        match self.kept(name)?.as_deref() == Some(commit) {
            true => Ok(()),
            false => Err(GitError::Moved {
                branch: format!("{OWN}/{name}"),
            }),
        }
    }
}
