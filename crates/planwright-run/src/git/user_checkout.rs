//! The user's own checkout: whether it may be changed, and moving its branch together with its files.
//!
//! The branch, HEAD and the index are locked first. Then the files change, then the index, then the branch. A note in the git
//! directory records a move in progress: after an error or a crash in between, the files are restored.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use super::GitError;
use super::answers::{parts, path_line, path_of, require_id, text_of};
use super::borrowed::path_error;
use super::command::{GitLocation, LOCK_PAUSES};
use super::prepared_update::PreparedUpdate;
use super::repository::{Repository, branch, changed_paths};
use super::target::TargetBranch;
use super::unfinished_move::{BegunMove, remove_own_locks};
use crate::clock;
use crate::faults;
use crate::files::DiskFiles;
use crate::lock::{self, LockError, LockHolder, PlanLock};

/// What the user's checkout is in the middle of: files in its git directory.
const OPERATIONS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// The index that git works with while the files change; the user's own is locked, and replaced by it.
const INDEX: &str = "planwright-index";

/// A file that differs between the two ends of a move.
pub(super) struct ChangedFile {
    pub(super) path: Vec<u8>,
    pub(super) change: FileChange,
    pub(super) old_mode: String,
    pub(super) old_id: String,
    pub(super) new_mode: String,
    pub(super) new_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Added,
    Removed,
    /// It is there at both ends, perhaps as something else: a link for a file.
    Other,
}

impl ChangedFile {
    /// Reads what `git diff-tree --raw` says of a file.
    fn of(kinds: &[u8], path: &[u8]) -> Option<Self> {
        let kinds = text_of(kinds);
        let mut words = kinds.strip_prefix(':')?.split(' ').map(str::to_owned);
        let (old_mode, new_mode) = (words.next()?, words.next()?);
        let (old_id, new_id) = (words.next()?, words.next()?);
        let change = match words.next()?.as_str() {
            "A" => FileChange::Added,
            "D" => FileChange::Removed,
            _ => FileChange::Other,
        };
        Some(ChangedFile {
            path: path.to_vec(),
            change,
            old_mode,
            old_id,
            new_mode,
            new_id,
        })
    }
}

impl TargetBranch {
    /// Moves the branch that the user has checked out, and the files with it. Only where nothing is uncommitted, nothing is in
    /// progress, and no ignored or untracked file would be overwritten.
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
        // Git takes a file for changed whose time differs. Files that really are changed were looked for above.
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
            return Err(GitError::InTheWay { paths });
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
    /// Changes the files from one commit to another, and moves the branch that was locked for it. Nothing is changed where it fails.
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
            // Where planwright is ended meanwhile, git goes on: it holds the lock of planwright until it is over.
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
                // Git lets go of its locks.
                drop(update);
                Err(error)
            }
        };
        let done = match done {
            Err(_) if self.tip(branch)?.as_deref() == Some(to) => Ok(()),
            done => done,
        };
        // A git that was killed has left its own.
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

    /// Does something with an index of planwright's own that takes the place of the user's afterwards, which is locked meanwhile. A git that
    /// is killed leaves no lock of the user's index then.
    pub(super) fn with_own_index(
        &self,
        git_dir: &Path,
        work: impl FnOnce(&GitLocation) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        let lock = lock_index(git_dir)?;
        faults::point("the index is locked");
        let index = git_dir.join("index");
        let own = git_dir.join(INDEX);
        let replace = || {
            remove_own_index(git_dir)?;
            let copied = faults::step("copy index").and_then(|()| fs::copy(&index, &own));
            copied.map_err(path_error(&own))?;
            work(&self.place.clone().with_index(&own))?;
            let replaced = faults::step("replace index").and_then(|()| fs::rename(&own, &index));
            replaced.map_err(path_error(&index))
        };
        let done = replace();
        let cleared = remove_own_index(git_dir);
        fs::remove_file(&lock).map_err(path_error(&lock))?;
        done.and(cleared)
    }

    /// Returns the untracked and ignored files that a move of the checkout would overwrite or remove.
    pub fn files_in_the_way(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        require_id(from)?;
        require_id(to)?;
        let changed = self.changed_between(from, to)?;
        Ok(in_the_way(self.toplevel(), &changed, self.ignores_case()?))
    }

    /// Returns the files that differ between two commits.
    pub(super) fn changed_between(&self, from: &str, to: &str) -> Result<Vec<ChangedFile>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            from,
            to,
        ];
        let output = self.place.git(&words).output()?;
        let mut fields = parts(&output);
        let mut changed = Vec::new();
        while let (Some(kinds), Some(path)) = (fields.next(), fields.next()) {
            changed.extend(ChangedFile::of(kinds, path));
        }
        Ok(changed)
    }

    fn ignores_case(&self) -> Result<bool, GitError> {
        let call = self.place.git(&["config", "--type=bool", "--get", "core.ignoreCase"]);
        Ok(call.line()?.as_deref() == Some("true"))
    }

    /// Has one process of ours move a checked-out branch at a time.
    pub(super) fn lock_checkout(&self) -> Result<PlanLock, GitError> {
        let me = LockHolder::new("land".to_owned(), clock::now());
        let path = self.common_folder().join("planwright.lock");
        lock::acquire(&DiskFiles, &path, &me, lock::PATIENCE).map_err(|error| match error {
            LockError::Held { .. } => GitError::Locked {
                command: "planwright land".to_owned(),
                reason: error.to_string(),
            },
            LockError::Io { path, source } => GitError::Path { path, source },
        })
    }

    /// Returns an error where the user's checkout has uncommitted work, or is in the middle of something.
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

    /// Returns what the user's checkout is in the middle of, in words.
    pub fn operation(&self) -> Result<Option<&'static str>, GitError> {
        let git_dir = self.git_dir()?;
        let found = OPERATIONS.iter().find(|(name, _)| git_dir.join(name).exists());
        Ok(found.map(|(_, operation)| *operation))
    }

    /// Returns the git directory of the user's checkout, which is its own where it is a linked worktree.
    pub fn git_dir(&self) -> Result<PathBuf, GitError> {
        let output = self.place.git(&["rev-parse", "--absolute-git-dir"]).output()?;
        Ok(path_line(&output))
    }
}

/// Returns the untracked and ignored files in a checkout that the move of a clean checkout would overwrite or remove, from its top.
fn in_the_way(top: &Path, changed: &[ChangedFile], ignores_case: bool) -> Vec<String> {
    let of = |change: FileChange| changed.iter().filter(move |changed| changed.change == change);
    let removed: BTreeSet<&[u8]> = of(FileChange::Removed).map(|changed| changed.path.as_slice()).collect();
    let lower: BTreeSet<Vec<u8>> = match ignores_case {
        true => removed.iter().map(|path| path.to_ascii_lowercase()).collect(),
        false => BTreeSet::new(),
    };
    let is_removed = |path: &[u8]| removed.contains(path) || lower.contains(&path.to_ascii_lowercase());
    let mut found = BTreeSet::new();
    for changed in changed.iter().filter(|changed| changed.change != FileChange::Removed) {
        let path = changed.path.as_slice();
        let mut folders = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| path.get(..at).unwrap_or(path));
        let is_file = |path: &&[u8]| {
            let found = top.join(path_of(path)).symlink_metadata();
            found.is_ok_and(|found| !found.is_dir())
        };
        if let Some(file) = folders.find(is_file) {
            found.extend((!is_removed(file)).then(|| file.to_vec()));
            continue;
        }
        match top.join(path_of(path)).symlink_metadata() {
            Ok(there) if there.is_dir() => files_below(top, path, &mut |file| {
                found.extend((!is_removed(file)).then(|| file.to_vec()));
            }),
            Ok(_) if changed.change == FileChange::Added && !is_removed(path) => {
                found.insert(path.to_vec());
            }
            _ => {}
        }
    }
    found.iter().map(|path| text_of(path)).collect()
}

/// Calls a function for each file and link below a folder, by its path from the top. Folders that cannot be read count as files.
fn files_below(top: &Path, folder: &[u8], each: &mut dyn FnMut(&[u8])) {
    let Ok(entries) = top.join(path_of(folder)).read_dir() else {
        return each(folder);
    };
    for entry in entries.flatten() {
        let mut path = folder.to_vec();
        path.push(b'/');
        path.extend_from_slice(entry.file_name().as_encoded_bytes());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(top, &path, each),
            _ => each(&path),
        }
    }
}

/// Returns the error for a file that git would not overwrite, as its inner commands word it.
fn in_the_way_by(reason: &str) -> Option<GitError> {
    let is_refusal = reason.contains("would be overwritten by merge")
        || reason.contains("not uptodate. Cannot merge")
        || reason.contains("would lose untracked files");
    let path = reason.split('\'').nth(1).filter(|_| is_refusal)?;
    Some(GitError::InTheWay {
        paths: vec![path.to_owned()],
    })
}

/// Removes the index that git worked with, and its lock.
pub(super) fn remove_own_index(git_dir: &Path) -> Result<(), GitError> {
    for left in [git_dir.join(INDEX), git_dir.join(format!("{INDEX}.lock"))] {
        match fs::remove_file(&left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(path_error(&left)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// What the lock of the index holds where it is planwright's. Git writes the index itself into it.
const OWN_LOCK: &[u8] = b"planwright\n";

/// Locks the index as git does. Returns the lock. One that planwright left when it was ended is taken over: who calls holds the lock of
/// planwright.
fn lock_index(git_dir: &Path) -> Result<PathBuf, GitError> {
    let lock = git_dir.join("index.lock");
    let take = || {
        remove_own_index_lock(git_dir)?;
        let taken = fs::File::options().write(true).create_new(true).open(&lock);
        taken.and_then(|mut file| file.write_all(OWN_LOCK))
    };
    for pause in LOCK_PAUSES {
        match take() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => thread::sleep(clock::real(pause)),
            taken => return taken.map(|()| lock.clone()).map_err(path_error(&lock)),
        }
    }
    take().map(|()| lock.clone()).map_err(|_| GitError::Locked {
        command: "git read-tree".to_owned(),
        reason: format!("`{}` exists; remove it if no git command is running", lock.display()),
    })
}

/// Tells whether the lock of the index is planwright's.
pub(super) fn is_own_index_lock(git_dir: &Path) -> bool {
    fs::read(git_dir.join("index.lock")).is_ok_and(|text| text == OWN_LOCK)
}

/// Removes the lock of the index where planwright left it.
pub(super) fn remove_own_index_lock(git_dir: &Path) -> io::Result<()> {
    match is_own_index_lock(git_dir) {
        true => fs::remove_file(git_dir.join("index.lock")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untracked_files_of_any_kind_block_a_checkout() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        for path in ["a", "deep/tracked", "deep/ignored", "plain/x", "link-to"] {
            fs::create_dir_all(top.join(path).parent().expect("a folder")).expect("made");
            fs::write(top.join(path), "x").expect("written");
        }
        fs::create_dir_all(top.join("empty/folder")).expect("made");
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", top.join("broken")).expect("linked");
        let check = |changed: &[(&str, FileChange)], ignores_case: bool, expected: &[&str]| {
            let changed: Vec<ChangedFile> = changed
                .iter()
                .map(|(path, change)| {
                    let status = match change {
                        FileChange::Added => "A",
                        FileChange::Removed => "D",
                        FileChange::Other => "M",
                    };
                    let kinds = format!(":100644 100644 1 2 {status}");
                    ChangedFile::of(kinds.as_bytes(), path.as_bytes()).expect("a line")
                })
                .collect();
            assert_eq!(in_the_way(top, &changed, ignores_case), expected);
        };
        check(&[("new", FileChange::Added), ("a", FileChange::Other)], false, &[]);
        check(&[("a", FileChange::Added)], false, &["a"]);
        #[cfg(unix)]
        check(&[("broken", FileChange::Added)], false, &["broken"]);
        check(&[("a/below", FileChange::Added)], false, &["a"]);
        check(
            &[("a/below", FileChange::Added), ("a", FileChange::Removed)],
            false,
            &[],
        );
        check(
            &[("deep", FileChange::Added), ("deep/tracked", FileChange::Removed)],
            false,
            &["deep/ignored"],
        );
        check(&[("plain", FileChange::Other)], false, &["plain/x"]);
        check(&[("empty", FileChange::Added)], false, &[]);
        check(&[("A", FileChange::Added), ("a", FileChange::Removed)], true, &[]);
    }

    #[test]
    fn refusals_of_git_name_the_file() {
        let path = |reason| match in_the_way_by(reason) {
            Some(GitError::InTheWay { paths }) => paths,
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
