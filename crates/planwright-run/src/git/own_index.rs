//! An index of planwright's own that replaces the user's, and the locks that it needs.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use super::GitError;
use super::command::{GitLocation, LOCK_PAUSES};
use super::own_git_dir::path_error;
use super::repository::Repository;
use crate::clock;
use crate::faults;
use crate::files::{DiskFiles, read_file};
use crate::lock::{self, LockError, LockHolder, PlanLock};

/// The index that git works with while the files change; the user's own is locked, and replaced by it.
const INDEX: &str = "planwright-index";

impl Repository {
    /// Ensures that one planwright process at a time moves a checked-out branch.
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

    /// Runs a function with an index of planwright's own, which then replaces the user's. The user's index is locked meanwhile. A killed
    /// git leaves no lock of the user's index.
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

/// The content of the index lock if it is planwright's. Git writes the index itself into it.
const OWN_LOCK: &[u8] = b"planwright\n";

/// Locks the index as git does, and returns the lock. A lock that a killed planwright left is taken over: the caller holds the lock of
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

pub(super) fn is_own_index_lock(git_dir: &Path) -> bool {
    read_file(git_dir.join("index.lock")).is_ok_and(|text| text == OWN_LOCK)
}

pub(super) fn remove_own_index_lock(git_dir: &Path) -> io::Result<()> {
    match is_own_index_lock(git_dir) {
        true => fs::remove_file(git_dir.join("index.lock")),
        false => Ok(()),
    }
}
