//! A worktree and a branch for each task: made one after another, committed to, and removed only when nothing is lost by it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::GitError;
use super::answers::{path_line, path_of, require_id, text_of};
use super::command::{Call, Place};
use super::repository::{Repository, branch, canonical, dirt, head, require_branch, touched};
use crate::faults;

/// The worktrees of a repository below one folder.
#[derive(Debug)]
pub struct Worktrees {
    pub(super) repository: Repository,
    folder: PathBuf,
    /// Git itself is not good at making several at once.
    turn: Mutex<()>,
}

/// A worktree that was made for a task.
#[derive(Clone, Debug)]
pub struct Worktree {
    pub(super) place: Place,
    branch: String,
}

/// A worktree as git lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is, or was.
    pub path: PathBuf,
    /// The commit that is checked out; none before the first.
    pub head: Option<String>,
    /// The branch that is checked out; none where a commit is.
    pub branch: Option<String>,
    /// Whether somebody locked it so that it stays.
    pub is_locked: bool,
}

impl Worktree {
    /// Returns its folder.
    pub fn path(&self) -> &Path {
        &self.place.folder
    }

    /// Returns its branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns the variables for processes that work in it: with them a git that does not find the worktree's own `.git` finds
    /// nothing, and not the repository around it.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let above = self.path().parent().unwrap_or(self.path());
        vec![("GIT_CEILING_DIRECTORIES".into(), above.into())]
    }
}

impl Worktrees {
    /// Takes a folder for worktrees, and makes it if it is not there.
    pub fn new(repository: &Repository, folder: &Path) -> Result<Self, GitError> {
        let made = faults::step("make folder of worktrees").and_then(|()| std::fs::create_dir_all(folder));
        made.map_err(|source| GitError::Path {
            path: folder.to_owned(),
            source,
        })?;
        Ok(Worktrees {
            repository: repository.clone(),
            folder: canonical(folder)?,
            turn: Mutex::new(()),
        })
    }

    /// Returns the repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Makes a worktree with a new branch that begins at a commit.
    pub fn create(&self, name: &str, branch: &str, at: &str) -> Result<Worktree, GitError> {
        require_branch(branch)?;
        require_id(at)?;
        let path = self.free_path(name)?;
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Apart from the worktree, so that a second try after a lock does not stumble over the branch of the first.
        let reference = format!("refs/heads/{branch}");
        let nothing = "0".repeat(at.len());
        let place = &self.repository.place;
        place
            .git(&["update-ref", "--no-deref", &reference, at, &nothing])
            .run()?;
        let call = place.git(&["worktree", "add", "--quiet", "--"]).arg(&path).arg(branch);
        let made = self.add(call, &path, branch);
        if made.is_err() {
            drop(place.git(&["update-ref", "-d", "--no-deref", &reference, at]).run());
        }
        made
    }

    /// Makes a worktree without a branch, or finds the one that was made before.
    pub(super) fn detached(&self, name: &str, at: &str) -> Result<Worktree, GitError> {
        require_id(at)?;
        let path = self.path_of(name)?;
        if !path.exists() {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let call = self
                .repository
                .place
                .git(&["worktree", "add", "--quiet", "--detach", "--"]);
            return self.add(call.arg(&path).arg(at), &path, "");
        }
        self.open(&path, "")
    }

    /// Runs the command that makes a worktree. Git removes what it could not make whole: a worktree that is there after a failure
    /// is a good one, and what failed is a hook of the user's that runs after it.
    fn add(&self, call: Call<'_>, path: &Path, branch: &str) -> Result<Worktree, GitError> {
        match call.run() {
            Ok(()) => self.open(path, branch),
            Err(error) => self.open(path, branch).map_err(|_| error),
        }
    }

    /// Returns a worktree that was made before, by its path and the branch that it was given.
    pub fn open(&self, path: &Path, branch: &str) -> Result<Worktree, GitError> {
        let path = canonical(path)?;
        let not_ours = || GitError::NotAWorktree(path.clone());
        let above = path.parent().ok_or_else(not_ours)?;
        let call = Place::at(&path);
        let call = call.git(&["rev-parse", "--absolute-git-dir"]);
        let git_dir = match call.variable("GIT_CEILING_DIRECTORIES", above).output() {
            Ok(output) => canonical(&path_line(&output))?,
            Err(GitError::Failed { .. }) => return Err(not_ours()),
            Err(error) => return Err(error),
        };
        if git_dir.parent() != Some(&self.repository.common.join("worktrees")) {
            return Err(not_ours());
        }
        Ok(Worktree {
            place: Place::with_git_dir(&path, &git_dir),
            branch: branch.to_owned(),
        })
    }

    /// Returns all worktrees of the repository, the user's own first.
    pub fn list(&self) -> Result<Vec<Listed>, GitError> {
        list(&self.repository)
    }

    /// Returns the paths in a worktree that differ from a commit, be they committed or not, new ones included.
    pub fn changed_paths(&self, worktree: &Worktree, since: &str) -> Result<Vec<String>, GitError> {
        let paths = touched(&worktree.place, since)?;
        Ok(paths.iter().map(|path| text_of(path)).collect())
    }

    /// Removes a worktree in which everything is committed, and never another one. Its branch stays. What git ignores, as the
    /// products of compilers, goes with it.
    pub fn remove(&self, worktree: &Worktree) -> Result<(), GitError> {
        if worktree.path().exists() {
            let paths = dirt(&worktree.place, &|_| false)?;
            if !paths.is_empty() {
                return Err(GitError::NotClean {
                    path: worktree.path().to_owned(),
                    paths,
                });
            }
            self.require_kept(worktree)?;
        }
        self.forget(worktree.path())
    }

    /// Checks that a commit that is checked out without a branch is on the worktree's branch at least.
    fn require_kept(&self, worktree: &Worktree) -> Result<(), GitError> {
        let (None, Some(commit)) = (branch(&worktree.place)?, head(&worktree.place)?) else {
            return Ok(());
        };
        let tip = match worktree.branch() {
            "" => None,
            name => self.repository.tip(name)?,
        };
        match tip {
            Some(tip) if self.repository.is_ancestor(&commit, &tip)? => Ok(()),
            _ => Err(GitError::OffBranch {
                path: worktree.path().to_owned(),
                branch: worktree.branch.clone(),
            }),
        }
    }

    /// Makes git remove a worktree as far as it thinks that right: also one whose folder is gone.
    pub fn forget(&self, path: &Path) -> Result<(), GitError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.repository.place.git(&["worktree", "remove", "--"]).arg(path).run()
    }

    /// Deletes a branch if everything on it is on another one, and it is checked out nowhere.
    pub fn delete_branch(&self, name: &str, into: &str) -> Result<(), GitError> {
        let tip = self.repository.tip(name)?;
        let tip = tip.ok_or_else(|| GitError::NoBranch(name.to_owned()))?;
        if name == into || !self.repository.is_merged(name, into)? {
            return Err(GitError::NotMerged {
                branch: name.to_owned(),
                into: into.to_owned(),
            });
        }
        let is_there = |worktree: &Listed| worktree.branch.as_deref() == Some(name);
        if let Some(worktree) = self.list()?.into_iter().find(is_there) {
            return Err(GitError::CheckedOut {
                branch: name.to_owned(),
                path: worktree.path,
            });
        }
        // Only while it is what was looked at.
        let reference = format!("refs/heads/{name}");
        let words = ["update-ref", "-d", "--no-deref", &reference, &tip];
        self.repository.place.git(&words).run()
    }

    fn path_of(&self, name: &str) -> Result<PathBuf, GitError> {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = name.chars().all(is_safe) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !is_name || name.len() > 128 {
            return Err(GitError::BadName {
                name: name.to_owned(),
                what: "a worktree",
            });
        }
        Ok(self.folder.join(name))
    }

    fn free_path(&self, name: &str) -> Result<PathBuf, GitError> {
        let path = self.path_of(name)?;
        if path.symlink_metadata().is_ok() {
            return Err(GitError::Exists(path));
        }
        Ok(path)
    }
}

/// Returns all worktrees of a repository.
pub(super) fn list(repository: &Repository) -> Result<Vec<Listed>, GitError> {
    let answer = repository
        .place
        .git(&["worktree", "list", "--porcelain", "-z"])
        .answer()?;
    match answer.code {
        Some(0) => Ok(parse_list(&answer.output, 0)),
        // Before git 2.36 there are only lines.
        Some(129) => {
            let output = repository.place.git(&["worktree", "list", "--porcelain"]).output()?;
            Ok(parse_list(&output, b'\n'))
        }
        _ => Err(answer.failure()),
    }
}

/// Reads a list of worktrees: for each a line with its path first, and others about it.
fn parse_list(output: &[u8], end: u8) -> Vec<Listed> {
    let mut list: Vec<Listed> = Vec::new();
    for line in output.split(|byte| *byte == end) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            list.push(Listed {
                path: path_of(path),
                head: None,
                branch: None,
                is_locked: false,
            });
        } else if let Some(last) = list.last_mut() {
            if let Some(id) = line.strip_prefix(b"HEAD ") {
                let is_born = id.iter().any(|byte| *byte != b'0');
                last.head = is_born.then(|| text_of(id));
            } else if let Some(name) = line.strip_prefix(b"branch refs/heads/") {
                last.branch = Some(text_of(name));
            }
            last.is_locked |= line == b"locked" || line.starts_with(b"locked ");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_and_without_zeros() {
        let text = "worktree /a b\nHEAD 12\nbranch refs/heads/x/y\n\nworktree /c\nHEAD 00\ndetached\nlocked by me\n\n";
        let expected = [
            Listed {
                path: PathBuf::from("/a b"),
                head: Some("12".to_owned()),
                branch: Some("x/y".to_owned()),
                is_locked: false,
            },
            Listed {
                path: PathBuf::from("/c"),
                head: None,
                branch: None,
                is_locked: true,
            },
        ];
        assert_eq!(parse_list(text.as_bytes(), b'\n'), expected);
        assert_eq!(parse_list(text.replace('\n', "\0").as_bytes(), 0), expected);
    }
}
