//! The repository around a folder: its root, uncommitted files, branches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::GitError;
use super::answers::{parts, path_line, require_id, text_of};
use super::command::{GitCall, GitLocation};
use super::names::valid_branch;
use crate::files::read_text;

/// The arguments that list ignored files; a folder that is ignored as a whole ends in `/` and is not searched.
pub(super) const LIST_IGNORED: &[&str] = &[
    "ls-files",
    "--others",
    "--ignored",
    "--exclude-standard",
    "--directory",
    "-z",
];

/// The largest number of paths that [`Repository::dirt`] returns.
pub(crate) const MAX_DIRT: usize = 1000;

/// The committer if the user has not configured one.
const FALLBACK_NAME: &str = "planwright";
const FALLBACK_EMAIL: &str = "planwright@localhost";

#[derive(Clone, Debug)]
pub struct Repository {
    pub(super) place: GitLocation,
    pub(super) common: PathBuf,
    prefix: String,
    /// The settings that replace a missing identity of the user.
    identity: OnceLock<Vec<String>>,
}

impl Repository {
    /// Finds the repository around a folder. There is none without git, and none in a bare repository, which has no working tree. It is an
    /// error if git does not trust the folder, or cannot read the repository.
    pub fn around(folder: &Path) -> Result<Option<Self>, GitError> {
        let place = GitLocation::at(folder);
        let toplevel = match place.git(&["rev-parse", "--show-toplevel"]).output() {
            Ok(output) => path_line(&output),
            Err(GitError::NoProgram) => return Ok(None),
            Err(GitError::Failed { reason, .. }) if is_about_no_repository(&reason) => return Ok(None),
            Err(error) => return Err(error),
        };
        let prefix = place.git(&["rev-parse", "--show-prefix"]).output()?;
        let common = path_line(&place.git(&["rev-parse", "--git-common-dir"]).output()?);
        Ok(Some(Repository {
            common: canonical(&folder.join(common))?,
            prefix: text_of(prefix.strip_suffix(b"\n").unwrap_or(&prefix)),
            place: GitLocation::at(&toplevel),
            identity: OnceLock::new(),
        }))
    }

    /// Returns the top of the working tree.
    pub fn toplevel(&self) -> &Path {
        &self.place.folder
    }

    /// Returns the git directory that all worktrees share.
    pub fn common_folder(&self) -> &Path {
        &self.common
    }

    /// Returns the folders of its objects: its own, and those that it borrows from other repositories, recursively.
    pub fn object_folders(&self) -> Vec<PathBuf> {
        const MAX_BORROWED: usize = 16;
        let mut folders = vec![self.common.join("objects")];
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            let listed = read_text(folder.join("info/alternates")).unwrap_or_default();
            let named = listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            for other in named.map(|line| folder.join(line)) {
                if folders.len() < MAX_BORROWED && !folders.contains(&other) {
                    folders.push(other);
                }
            }
            next += 1;
        }
        folders.push(self.common.join("lfs"));
        folders
    }

    /// Returns the prefix of paths below the folder given to `around`: empty at the top, otherwise it ends in `/`.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the checked-out commit; none before the first.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        head(&self.place)
    }

    /// Returns the checked-out branch, which need not have a commit yet; none for a detached HEAD.
    pub fn branch(&self) -> Result<Option<String>, GitError> {
        branch(&self.place)
    }

    /// Returns whether git ignores a path, from the top or absolute. A tracked path is not ignored.
    pub fn is_ignored(&self, path: &Path) -> Result<bool, GitError> {
        let call = self.place.git(&["check-ignore", "--quiet", "--"]);
        call.arg(self.toplevel().join(path)).with_common_paths().yes_or_no()
    }

    /// Returns whether git tracks a file, or a file below a folder, from the top or absolute.
    pub fn has_tracked(&self, path: &Path) -> Result<bool, GitError> {
        let call = self.place.git(&["ls-files", "-z", "--"]);
        let answer = call.arg(self.toplevel().join(path)).answer()?;
        match answer.code {
            Some(0) => Ok(!answer.output.is_empty()),
            _ => Err(answer.failure()),
        }
    }

    /// Returns changed and new uncommitted paths, without excluded ones: at most [`MAX_DIRT`] paths, sorted.
    pub fn dirt(&self, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
        dirt(&self.place, exclude)
    }

    /// Returns the paths that git ignores below a folder, relative to it; a folder that is ignored as a whole ends in `/`.
    pub(crate) fn ignored_below(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        let place = GitLocation::at(folder);
        Ok(parts(&place.git(LIST_IGNORED).output()?).map(text_of).collect())
    }

    pub fn branch_exists(&self, name: &str) -> Result<bool, GitError> {
        Ok(self.tip(name)?.is_some())
    }

    /// Returns the commit at the end of a branch; none if there is no such branch.
    pub fn tip(&self, name: &str) -> Result<Option<String>, GitError> {
        require_branch(name)?;
        let call = self
            .place
            .git(&["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        call.arg(format!("refs/heads/{name}^{{commit}}")).line()
    }

    /// Returns whether one commit contains another.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        require_id(commit)?;
        require_id(of)?;
        self.place.git(&["merge-base", "--is-ancestor", commit, of]).yes_or_no()
    }

    /// Returns the merge base of two commits; none if they have nothing in common.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        require_id(one)?;
        require_id(other)?;
        self.place.git(&["merge-base", one, other]).line()
    }

    /// Returns the paths that differ from a commit or tree in the working tree, including new ones.
    pub fn touched(&self, since: &str) -> Result<Vec<String>, GitError> {
        Ok(touched(&self.place, since)?.iter().map(|path| text_of(path)).collect())
    }

    /// Adds the committer to a command, if the user has configured none, and disables their hooks: hooks are for commits of people, and
    /// some of them ask questions.
    pub(super) fn committing<'c>(&self, call: GitCall<'c>) -> Result<GitCall<'c>, GitError> {
        let call = call.setting("i18n.commitEncoding=UTF-8");
        Ok(self
            .identity()?
            .iter()
            .fold(call, |call, setting| call.setting(setting)))
    }

    fn identity(&self) -> Result<&[String], GitError> {
        if let Some(settings) = self.identity.get() {
            return Ok(settings);
        }
        let mut settings = Vec::new();
        let is_known = |who| Ok::<_, GitError>(self.place.git(&["var", who]).answer()?.code == Some(0));
        if !(is_known("GIT_AUTHOR_IDENT")? && is_known("GIT_COMMITTER_IDENT")?) {
            for (key, value) in [("user.name", FALLBACK_NAME), ("user.email", FALLBACK_EMAIL)] {
                let own = self.place.git(&["config", "--get", key]).line()?;
                if own.is_none_or(|own| own.trim().is_empty()) {
                    settings.push(format!("{key}={value}"));
                }
            }
        }
        Ok(self.identity.get_or_init(|| settings))
    }
}

fn is_about_no_repository(reason: &str) -> bool {
    reason.contains("not a git repository (or any") || reason.contains("must be run in a work tree")
}

pub(super) fn canonical(path: &Path) -> Result<PathBuf, GitError> {
    path.canonicalize().map_err(|source| GitError::Path {
        path: path.to_owned(),
        source,
    })
}

pub(super) fn require_branch(name: &str) -> Result<(), GitError> {
    valid_branch(name).then_some(()).ok_or_else(|| GitError::BadName {
        name: name.to_owned(),
        what: "a branch",
    })
}

/// Returns the commit that is checked out in a folder; none without git, a repository or a commit.
pub fn commit_at(folder: &Path) -> Option<String> {
    head(&GitLocation::at(folder)).ok().flatten()
}

/// Returns the commit that is checked out in a place.
pub(super) fn head(place: &GitLocation) -> Result<Option<String>, GitError> {
    place.git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).line()
}

pub(super) fn branch(place: &GitLocation) -> Result<Option<String>, GitError> {
    let name = place.git(&["symbolic-ref", "--quiet", "HEAD"]).line()?;
    Ok(name.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())))
}

/// Returns changed and new uncommitted paths in a location.
pub(super) fn dirt(place: &GitLocation, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
    uncommitted(place, "--untracked-files=all", exclude)
}

/// Returns changed uncommitted paths in a location, without untracked files.
pub(super) fn changed_paths(place: &GitLocation, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
    uncommitted(place, "--untracked-files=no", exclude)
}

fn uncommitted(place: &GitLocation, untracked: &str, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
    let words = ["status", "--porcelain=v1", "-z", untracked, "--no-renames"];
    let answer = place.git(&words).answer()?;
    if answer.code != Some(0) {
        return Err(answer.failure());
    }
    let paths = status_paths(&answer.output).into_iter().map(text_of);
    let paths: BTreeSet<String> = paths.filter(|path| !exclude(path)).take(MAX_DIRT).collect();
    Ok(paths.into_iter().collect())
}

/// Returns the paths in the output of `git status -z`: two letters, a space and a path, and for renames another path.
fn status_paths(output: &[u8]) -> Vec<&[u8]> {
    let mut paths = Vec::new();
    let mut parts = parts(output);
    while let Some(part) = parts.next() {
        let Some((state, path)) = part.split_at_checked(3) else {
            continue;
        };
        paths.push(path);
        if state.iter().any(|letter| matches!(letter, b'R' | b'C')) {
            paths.extend(parts.next());
        }
    }
    paths
}

/// Returns the paths that differ from a commit or tree in the working tree of a location, including new ones.
pub(super) fn touched(place: &GitLocation, since: &str) -> Result<BTreeSet<Vec<u8>>, GitError> {
    require_id(since)?;
    let words = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        since,
        "--",
    ];
    let changed = place.git(&words).output()?;
    let new = place
        .git(&["ls-files", "-z", "--others", "--exclude-standard"])
        .output()?;
    Ok(parts(&changed).chain(parts(&new)).map(<[u8]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_rename_are_named() {
        let paths = status_paths(b" M a\0R  new\0old\0?? x y\0\0ZZ");
        assert_eq!(paths, [&b"a"[..], b"new", b"old", b"x y"]);
    }
}
