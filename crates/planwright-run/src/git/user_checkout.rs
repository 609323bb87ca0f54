//! The user's own checkout: whether it may be changed, and moving the branch that is checked out in it together with its files.
//!
//! The branch is locked first. Then the files change, then the branch moves. A note in the git directory tells of a move that has begun:
//! where something fails in between, or planwright is ended, the files are set back to what they were.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::GitError;
use super::answers::{parts, path_line, path_of, require_id, text_of};
use super::borrowed::{path_error, write};
use super::checkout::identity_of;
use super::prepared_update::PreparedUpdate;
use super::repository::{Repository, branch, changed_paths};
use super::target::TargetBranch;
use crate::clock;
use crate::faults;
use crate::files::DiskFiles;
use crate::lock::{self, Holder, LockError, PlanLock};

/// What the user's checkout is in the middle of: files in its git directory.
const OPERATIONS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// The note of a move that has begun, in the git directory of the checkout.
const NOTE: &str = "planwright-move.json";

/// A move that has begun.
#[derive(Debug, Deserialize, Serialize)]
struct BegunMove {
    branch: String,
    from: String,
    to: String,
    /// The locks of git that it holds, with what tells them from others of the same name.
    locks: Vec<(PathBuf, String)>,
}

/// A file that differs between the two ends of a move.
struct Changed {
    path: Vec<u8>,
    change: Change,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    /// It is there at both ends, perhaps as something else: a link for a file.
    Other,
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
        let _only = repository.lock_checkout()?;
        repository.set_back_unfinished()?;
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
        let changed = repository.changed_between(from, to)?;
        let paths = in_the_way(repository.toplevel(), &changed, repository.ignores_case()?);
        if !paths.is_empty() {
            return Err(GitError::InTheWay { paths });
        }
        let note = repository.note_move(&self.name, from, to)?;
        let files = place.git(&["read-tree", "-m", "-u", "--no-recurse-submodules", from, to]);
        let files = files.run().map_err(|error| match error {
            GitError::Failed { ref reason, .. } => in_the_way_by(reason).unwrap_or(error),
            error => error,
        });
        faults::point("files are moved");
        let done = files.and_then(|()| update.commit());
        let done = match done {
            Err(_) if self.tip()?.as_deref() == Some(to) => Ok(()),
            done => done,
        };
        if done.is_err() {
            repository.set_back(from, to)?;
        }
        fs::remove_file(&note).map_err(path_error(&note))?;
        done
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
    /// Sets the files of the user's checkout back where a move of its branch was interrupted. Files that the user has changed since stay.
    /// Tells whether there was one.
    pub fn undo_unfinished_move(&self) -> Result<bool, GitError> {
        match self.git_dir()?.join(NOTE).exists() {
            true => {
                let _only = self.lock_checkout()?;
                self.set_back_unfinished()
            }
            false => Ok(false),
        }
    }

    /// As [`Repository::undo_unfinished_move`], for who holds the lock: the process that noted the move is over.
    fn set_back_unfinished(&self) -> Result<bool, GitError> {
        let note = self.git_dir()?.join(NOTE);
        let text = match fs::read(&note) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            text => text.map_err(path_error(&note))?,
        };
        // The note is written before anything changes: one that cannot be read was not finished.
        if let Ok(begun) = serde_json::from_slice::<BegunMove>(&text) {
            for (lock, identity) in &begun.locks {
                if lock
                    .symlink_metadata()
                    .is_ok_and(|found| identity_of(&found) == *identity)
                {
                    fs::remove_file(lock).map_err(path_error(lock))?;
                }
            }
            let is_where_it_was = branch(&self.place)?.as_deref() == Some(begun.branch.as_str())
                && self.tip(&begun.branch)?.as_deref() == Some(begun.from.as_str());
            // Elsewhere the move was made, or the user has gone on.
            if is_where_it_was {
                self.set_back(&begun.from, &begun.to)?;
            }
        }
        fs::remove_file(&note).map_err(path_error(&note))?;
        Ok(true)
    }

    /// Notes that a move begins, with the locks that are held for it.
    fn note_move(&self, branch: &str, from: &str, to: &str) -> Result<PathBuf, GitError> {
        let mut locks = Vec::new();
        for lock in self.locks_of_update(branch)? {
            let found = lock.symlink_metadata().map_err(path_error(&lock))?;
            locks.push((lock, identity_of(&found)));
        }
        let begun = BegunMove {
            branch: branch.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            locks,
        };
        let note = self.git_dir()?.join(NOTE);
        let text = serde_json::to_vec(&begun).map_err(|error| GitError::Path {
            path: note.clone(),
            source: error.into(),
        })?;
        write(&note, &text)?;
        let synced = fs::File::open(&note).and_then(|file| file.sync_all());
        synced.map_err(path_error(&note))?;
        Ok(note)
    }

    /// Gives the files that differ between two commits the content of the first, where they have that of the second, or the part of it
    /// that was written. HEAD is at the first.
    fn set_back(&self, from: &str, to: &str) -> Result<(), GitError> {
        // A git that goes on without us holds the lock of the index until it is through.
        self.place.git(&["update-index", "-q", "--refresh"]).answer()?;
        let changed = self.changed_between(from, to)?;
        if !self.index_differs(to, &changed)? {
            return self.place.git(&["read-tree", "-m", "-u", to, from]).run();
        }
        if self.index_differs(from, &changed)? {
            // The user has staged something since.
            return Ok(());
        }
        let changed = self.moved_files(from, to, changed)?;
        let top = self.toplevel();
        for added in changed.iter().filter(|changed| changed.change == Change::Added) {
            remove_with_empty_folders(top, &path_of(&added.path))?;
        }
        let mut paths = Vec::new();
        let is_restored = |changed: &&Changed| changed.change != Change::Added && is_free(top, &path_of(&changed.path));
        for changed in changed.iter().filter(is_restored) {
            paths.extend_from_slice(&changed.path);
            paths.push(0);
        }
        if paths.is_empty() {
            return Ok(());
        }
        let words = ["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"];
        self.place.git(&words).input(paths).run()
    }

    /// Returns those of the files which differ between two commits that a move which stopped in the middle has left as they are.
    fn moved_files(&self, from: &str, to: &str, changed: Vec<Changed>) -> Result<Vec<Changed>, GitError> {
        let unlike_from = self.files_unlike(from)?;
        let unlike_to = self.files_unlike(to)?;
        let words = ["ls-files", "-z", "-t"];
        let listed = self.place.git(&words).output()?;
        // A sparse checkout leaves them out.
        let left_out: BTreeSet<&[u8]> = parts(&listed).filter_map(|line| line.strip_prefix(b"S ")).collect();
        let mut moved = Vec::new();
        for changed in changed {
            let path = &changed.path;
            let found = self.toplevel().join(path_of(path)).symlink_metadata();
            let is_moved = match (found, changed.change) {
                (Err(_), Change::Added) => false,
                (Err(_), _) => !left_out.contains(path.as_slice()),
                (Ok(found), Change::Removed) => found.is_dir(),
                (Ok(_), Change::Other) if !unlike_from.contains(path) => false,
                (Ok(found), _) if !found.is_dir() => {
                    !unlike_to.contains(path) || found.is_file() && self.is_beginning_of(path, to)?
                }
                (Ok(_), _) => false,
            };
            if is_moved {
                moved.push(changed);
            }
        }
        Ok(moved)
    }

    /// Returns the files of the checkout that are not as in a commit, or not there.
    fn files_unlike(&self, commit: &str) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let index = self.git_dir()?.join("planwright-index");
        let _ = fs::remove_file(&index);
        let place = self.place.clone().with_index(&index);
        let output = place
            .git(&["read-tree", commit])
            .run()
            .and_then(|()| place.git(&["diff-files", "--name-only", "-z"]).output());
        let _ = fs::remove_file(&index);
        Ok(parts(&output?).map(<[u8]>::to_vec).collect())
    }

    /// Tells whether a file of the checkout is a part of what a commit has there, from its beginning.
    fn is_beginning_of(&self, path: &[u8], commit: &str) -> Result<bool, GitError> {
        let mut object = format!("{commit}:").into_bytes();
        object.extend_from_slice(path);
        let call = self.place.git(&["cat-file", "--filters"]).arg(path_of(&object));
        let whole = call.output()?;
        let found = fs::read(self.toplevel().join(path_of(path))).unwrap_or_default();
        Ok(whole.starts_with(&found))
    }

    /// Tells whether the index has another version of one of these files than a commit.
    fn index_differs(&self, commit: &str, changed: &[Changed]) -> Result<bool, GitError> {
        let words = ["diff-index", "--cached", "--name-only", "-z", "--no-renames", commit];
        let output = self.place.git(&words).output()?;
        let other: BTreeSet<&[u8]> = parts(&output).collect();
        Ok(changed.iter().any(|changed| other.contains(changed.path.as_slice())))
    }

    /// Returns the files that differ between two commits.
    fn changed_between(&self, from: &str, to: &str) -> Result<Vec<Changed>, GitError> {
        let words = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to];
        let output = self.place.git(&words).output()?;
        let mut fields = parts(&output);
        let mut changed = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            changed.push(Changed {
                path: path.to_vec(),
                change: match status {
                    b"A" => Change::Added,
                    b"D" => Change::Removed,
                    _ => Change::Other,
                },
            });
        }
        Ok(changed)
    }

    fn ignores_case(&self) -> Result<bool, GitError> {
        let call = self.place.git(&["config", "--type=bool", "--get", "core.ignoreCase"]);
        Ok(call.line()?.as_deref() == Some("true"))
    }

    /// Has one process of ours move a checked-out branch at a time.
    fn lock_checkout(&self) -> Result<PlanLock, GitError> {
        let me = Holder {
            pid: std::process::id(),
            verb: "land".to_owned(),
            since: clock::now(),
        };
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
fn in_the_way(top: &Path, changed: &[Changed], ignores_case: bool) -> Vec<String> {
    let of = |change: Change| changed.iter().filter(move |changed| changed.change == change);
    let removed: BTreeSet<&[u8]> = of(Change::Removed).map(|changed| changed.path.as_slice()).collect();
    let lower: BTreeSet<Vec<u8>> = match ignores_case {
        true => removed.iter().map(|path| path.to_ascii_lowercase()).collect(),
        false => BTreeSet::new(),
    };
    let is_removed = |path: &[u8]| removed.contains(path) || lower.contains(&path.to_ascii_lowercase());
    let mut found = BTreeSet::new();
    for changed in changed.iter().filter(|changed| changed.change != Change::Removed) {
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
            Ok(_) if changed.change == Change::Added && !is_removed(path) => {
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

/// Tells whether a file can be written without removing anything but another file in its place. Empty folders are removed.
fn is_free(top: &Path, path: &Path) -> bool {
    let _ = fs::remove_dir(top.join(path));
    let is_folder = |path: &Path| top.join(path).symlink_metadata().map_or(true, |found| found.is_dir());
    let is_taken = top.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
    !is_taken && path.ancestors().skip(1).all(is_folder)
}

/// Removes a file, and the folders above it that are empty then.
fn remove_with_empty_folders(top: &Path, path: &Path) -> Result<(), GitError> {
    let file = top.join(path);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(path_error(&file)(error)),
        _ => {}
    }
    let mut above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    // A folder that is not empty stays, and so do those above it.
    above.all(|folder| fs::remove_dir(top.join(folder)).is_ok());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_git_does_not_keep_are_in_the_way_whatever_their_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        for path in ["a", "deep/tracked", "deep/ignored", "plain/x", "link-to"] {
            fs::create_dir_all(top.join(path).parent().expect("a folder")).expect("made");
            fs::write(top.join(path), "x").expect("written");
        }
        fs::create_dir_all(top.join("empty/folder")).expect("made");
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", top.join("broken")).expect("linked");
        let check = |changed: &[(&str, Change)], ignores_case: bool, expected: &[&str]| {
            let changed: Vec<Changed> = changed
                .iter()
                .map(|(path, change)| Changed {
                    path: path.as_bytes().to_vec(),
                    change: *change,
                })
                .collect();
            assert_eq!(in_the_way(top, &changed, ignores_case), expected);
        };
        check(&[("new", Change::Added), ("a", Change::Other)], false, &[]);
        check(&[("a", Change::Added)], false, &["a"]);
        #[cfg(unix)]
        check(&[("broken", Change::Added)], false, &["broken"]);
        check(&[("a/below", Change::Added)], false, &["a"]);
        check(&[("a/below", Change::Added), ("a", Change::Removed)], false, &[]);
        check(
            &[("deep", Change::Added), ("deep/tracked", Change::Removed)],
            false,
            &["deep/ignored"],
        );
        check(&[("plain", Change::Other)], false, &["plain/x"]);
        check(&[("empty", Change::Added)], false, &[]);
        check(&[("A", Change::Added), ("a", Change::Removed)], true, &[]);
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
