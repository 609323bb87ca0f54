//! A worktree and a branch for each task: made one after another, committed to, and removed only when nothing is lost by it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::GitError;
use super::command::{Call, Place, line_of, parts, path_line, path_of, require_id, text_of};
use super::repository::{Repository, branch, canonical, dirt, head, require_branch, touched};

/// How long a message of a commit may be, in characters: arguments of programs have a limit.
const MAX_MESSAGE_CHARS: usize = 16 * 1024;

/// Where commits are kept that hold what was not to be committed to a task's branch.
const ASIDE: &str = "refs/planwright/aside";

/// The worktrees of a repository below one folder.
#[derive(Debug)]
pub struct Worktrees {
    repository: Repository,
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

/// A worktree that is still there, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The worktree.
    pub worktree: Listed,
    /// Whether it can go.
    pub state: LeftoverState,
}

/// Whether a worktree can be removed without loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// Everything is committed, and merged into the branch that was asked about.
    Removable,
    /// It holds work that is not committed.
    Dirty(Vec<String>),
    /// It holds commits that are not merged.
    Unmerged,
    /// Its folder is gone; git still lists it.
    Missing,
    /// Somebody locked it.
    Locked,
    /// Git cannot read it, for this reason.
    Broken(String),
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
        std::fs::create_dir_all(folder).map_err(|source| GitError::Path {
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
            place: Place {
                folder: path,
                git_dir: Some(git_dir),
            },
            branch: branch.to_owned(),
        })
    }

    /// Returns all worktrees of the repository, the user's own first.
    pub fn list(&self) -> Result<Vec<Listed>, GitError> {
        list(&self.repository)
    }

    /// Returns the worktrees below a folder, and whether they can go: whether they are merged into a branch and clean.
    pub fn leftovers(&self, below: &Path, into: &str) -> Result<Vec<Leftover>, GitError> {
        let below = below.canonicalize().unwrap_or_else(|_| below.to_owned());
        let tip = self.repository.tip(into)?;
        let tip = tip.ok_or_else(|| GitError::NoBranch(into.to_owned()))?;
        let listed = self.list()?.into_iter().skip(1);
        let listed = listed.filter(|worktree| worktree.path.starts_with(&below));
        let judged = listed.map(|worktree| Leftover {
            state: match self.state(&worktree, &tip) {
                Ok(state) => state,
                Err(error) => LeftoverState::Broken(error.to_string()),
            },
            worktree,
        });
        Ok(judged.collect())
    }

    fn state(&self, listed: &Listed, tip: &str) -> Result<LeftoverState, GitError> {
        if listed.is_locked {
            return Ok(LeftoverState::Locked);
        }
        if !listed.path.exists() {
            return Ok(LeftoverState::Missing);
        }
        let worktree = self.open(&listed.path, listed.branch.as_deref().unwrap_or(""))?;
        let paths = dirt(&worktree.place, &|_| false)?;
        if !paths.is_empty() {
            return Ok(LeftoverState::Dirty(paths));
        }
        Ok(match &listed.head {
            Some(head) if self.repository.is_ancestor(head, tip)? => LeftoverState::Removable,
            _ => LeftoverState::Unmerged,
        })
    }

    /// Removes a worktree that is left over, with its branch, if it can go: looks again, and keeps what is not provably merged
    /// into a branch. Of one whose folder is gone the branch stays, unless that is merged.
    pub fn clear_away(&self, worktree: &Listed, into: &str) -> Result<(), GitError> {
        let tip = self.repository.tip(into)?;
        let tip = tip.ok_or_else(|| GitError::NoBranch(into.to_owned()))?;
        let path = worktree.path.clone();
        match self.state(worktree, &tip)? {
            LeftoverState::Removable | LeftoverState::Missing => self.forget(&path)?,
            LeftoverState::Dirty(paths) => return Err(GitError::NotClean { path, paths }),
            LeftoverState::Unmerged => {
                return Err(GitError::NotMerged {
                    branch: worktree.branch.clone().unwrap_or_else(|| path.display().to_string()),
                    into: into.to_owned(),
                });
            }
            LeftoverState::Locked => return Err(GitError::KeptByLock(path)),
            LeftoverState::Broken(_) => return Err(GitError::NotAWorktree(path)),
        }
        match worktree.branch.as_deref() {
            Some(name) if name != into && self.repository.is_merged(name, into)? => self.delete_branch(name, into),
            _ => Ok(()),
        }
    }

    /// Returns the paths in a worktree that differ from a commit, be they committed or not, new ones included.
    pub fn changed_paths(&self, worktree: &Worktree, since: &str) -> Result<Vec<String>, GitError> {
        let paths = touched(&worktree.place, since)?;
        Ok(paths.iter().map(|path| text_of(path)).collect())
    }

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
        place.git(&["add", "--all"]).run()?;
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
            let words = ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--file=-"];
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

    /// Brings a worktree back to its branch, and the branch to where the worktree is. Returns the commit.
    fn return_to_branch(&self, worktree: &Worktree) -> Result<String, GitError> {
        let place = &worktree.place;
        let off_branch = || GitError::OffBranch {
            path: worktree.path().to_owned(),
            branch: worktree.branch.clone(),
        };
        let commit = head(place)?.ok_or_else(off_branch)?;
        if branch(place)?.as_deref() == Some(worktree.branch()) {
            return Ok(commit);
        }
        let reference = format!("refs/heads/{}", worktree.branch);
        let tip = self.repository.tip(&worktree.branch)?;
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
        let message = format!("What was not to be committed to {}", worktree.branch);
        let words = ["commit-tree", "--no-gpg-sign", "-p", before, "-m", &message, &tree];
        let commit = line_of(&self.repository.committing(place.git(&words))?.output()?);
        let reference = format!("{ASIDE}/{commit}");
        place.git(&["update-ref", "--no-deref", &reference, &commit]).run()?;
        Ok(Some(commit))
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

/// Returns a message that git takes: not empty, not endless, and without what cannot be in an argument.
pub(super) fn commit_message(text: &str) -> String {
    let message: String = text.chars().filter(|c| *c != '\0').take(MAX_MESSAGE_CHARS).collect();
    if message.trim().is_empty() {
        "Work of a task".to_owned()
    } else {
        message
    }
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

    #[test]
    fn messages_are_never_empty_or_endless() {
        assert_eq!(commit_message(" \n\0"), "Work of a task");
        assert_eq!(commit_message("a\0b"), "ab");
        assert_eq!(commit_message(&"ä".repeat(100_000)).chars().count(), MAX_MESSAGE_CHARS);
    }
}
