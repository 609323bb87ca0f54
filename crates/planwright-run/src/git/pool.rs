//! Checkouts for verification: one folder per slot. Ignored files, such as build products, are kept only from work that has
//! landed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::GitError;
use super::answers::{parts, path_of, require_id};
use super::checkout::FolderIdentity;
use super::command::GitLocation;
use super::own_git_dir::{
    FrozenSettings, make_folder, mounted_below, path_error, remove_folder, remove_locks, set_refs, write,
};
use super::repository::LIST_IGNORED;
use super::special_files::remove_special_files;
use crate::clock;
use crate::config::Cleaning;
use crate::files::{DiskFiles, read_file, read_text};
use crate::lock::{self, LockError, LockHolder, PlanLock};

/// How many verifications can run at once on a machine, over all runs.
const MAX_SLOTS: u32 = 256;

/// The state of a slot whose caches are those of landed work.
const LANDED: &[u8] = b"landed\n";

#[derive(Clone, Debug)]
pub struct Pool {
    folder: PathBuf,
}

/// A checkout in which one verification runs at a time.
#[derive(Debug)]
pub struct CheckoutSlot {
    folder: PathBuf,
    git_dir: PathBuf,
    frozen: FrozenSettings,
    /// The identity of the folder: a command may replace it.
    identity: FolderIdentity,
    /// Held as long as the slot.
    _lock: PlanLock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedSlot {
    /// Whether there are no caches, so that the setup commands must run.
    pub is_fresh: bool,
}

impl Pool {
    pub fn open(folder: &Path) -> Result<Self, GitError> {
        make_folder(folder)?;
        Ok(Pool {
            folder: super::repository::canonical(folder)?,
        })
    }

    /// Empties the slots that no process uses. They hold nothing but commits and build products. Returns how many there were.
    pub fn clear(&self) -> Result<usize, GitError> {
        let mut n_cleared = 0;
        for number in 1..=MAX_SLOTS {
            let folder = self.folder.join(number.to_string());
            if !folder.join("git").exists() {
                continue;
            }
            if let Ok(_lock) = lock::acquire(&DiskFiles, &folder.join("lock"), &holder(), Duration::ZERO) {
                for name in ["git", "tree"] {
                    let folder = folder.join(name);
                    remove_folder(&folder).map_err(path_error(&folder))?;
                }
                n_cleared += 1;
            }
        }
        Ok(n_cleared)
    }

    /// Removes the locks that a killed git left in slots that no process uses.
    pub(crate) fn remove_stale_locks(&self) {
        for number in 1..=MAX_SLOTS {
            let folder = self.folder.join(number.to_string());
            let git_dir = folder.join("git");
            if !is_folder(&git_dir) {
                break;
            }
            if let Ok(_lock) = lock::acquire(&DiskFiles, &folder.join("lock"), &holder(), Duration::ZERO) {
                let seen = folder.join("tree/.git");
                [git_dir, seen]
                    .iter()
                    .filter(|git_dir| is_folder(git_dir))
                    .for_each(|git_dir| remove_locks(git_dir));
            }
        }
    }

    pub fn take(&self, frozen: &FrozenSettings) -> Result<CheckoutSlot, GitError> {
        for number in 1..=MAX_SLOTS {
            let folder = self.folder.join(number.to_string());
            put_aside_link(&folder)?;
            make_folder(&folder)?;
            let path = folder.join("lock");
            match lock::acquire(&DiskFiles, &path, &holder(), Duration::ZERO) {
                Ok(lock) => return CheckoutSlot::open(folder, frozen, lock),
                Err(LockError::Held { .. }) => {}
                Err(LockError::Io { path, source }) => return Err(GitError::Path { path, source }),
            }
        }
        Err(GitError::Exists(self.folder.clone()))
    }
}

fn holder() -> LockHolder {
    LockHolder::new("verify".to_owned(), clock::now())
}

impl CheckoutSlot {
    fn open(folder: PathBuf, frozen: &FrozenSettings, lock: PlanLock) -> Result<Self, GitError> {
        let git_dir = folder.join("git");
        let identity = FolderIdentity::of(&folder).ok_or_else(|| GitError::LostCheckout(folder.clone()))?;
        let slot = CheckoutSlot {
            git_dir,
            identity,
            folder,
            frozen: frozen.clone(),
            _lock: lock,
        };
        let is_whole = is_folder(&slot.git_dir) && slot.git_dir.join("config.plain").exists();
        match is_whole && slot.is_own_tree() {
            true => {
                remove_locks(&slot.git_dir);
                slot.frozen.settle(&slot.git_dir)?;
            }
            false => slot.begin()?,
        }
        Ok(slot)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join("tree")
    }

    pub(crate) fn record_of_copies(&self) -> PathBuf {
        self.folder.join("copies")
    }

    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![("GIT_CEILING_DIRECTORIES".into(), self.folder.clone().into())]
    }

    /// Creates the slot again, empty. Moves foreign entries away without reading them.
    fn begin(&self) -> Result<(), GitError> {
        remove_any(&self.record_of_copies())?;
        put_aside_link(&self.git_dir)?;
        remove_folder(&self.git_dir).map_err(path_error(&self.git_dir))?;
        match self.is_own_tree() {
            true => remove_folder(&self.path()).map_err(path_error(&self.path()))?,
            false => put_aside(&self.path())?,
        }
        make_folder(&self.path())?;
        let identity = FolderIdentity::of(&self.path()).ok_or_else(|| GitError::LostCheckout(self.path()))?;
        remove_any(&self.identity_file())?;
        write(&self.identity_file(), identity.as_str().as_bytes())?;
        self.frozen.init_bare(&self.git_dir)?;
        Ok(())
    }

    /// Returns whether its folder is still the one that was locked.
    pub fn is_whole(&self) -> bool {
        FolderIdentity::of(&self.folder).as_ref() == Some(&self.identity)
    }

    fn require_whole(&self) -> Result<(), GitError> {
        match self.is_whole() {
            true => Ok(()),
            false => Err(GitError::LostCheckout(self.folder.clone())),
        }
    }

    /// Creates the slot again if the folder of its commands is not the original one.
    pub(crate) fn require_own(&self) -> Result<(), GitError> {
        self.require_whole()?;
        match self.is_own_tree() {
            true => Ok(()),
            false => self.begin(),
        }
    }

    fn identity_file(&self) -> PathBuf {
        self.folder.join("identity")
    }

    /// Returns whether the folder of its commands is the original one: a command may have replaced it.
    fn is_own_tree(&self) -> bool {
        let made = read_text(self.identity_file()).unwrap_or_default();
        let is_it = FolderIdentity::of(&self.path()).is_some_and(|found| found.as_str() == made);
        is_it && mounted_below(&self.path()).is_none()
    }

    /// Checks out a commit, and removes the files of earlier verifications.
    pub fn prepare(&self, commit: &str, cleaning: Cleaning) -> Result<PreparedSlot, GitError> {
        require_id(commit)?;
        self.require_whole()?;
        let state = self.folder.join("state");
        let are_landed = cleaning == Cleaning::KeepCaches && read_file(&state).is_ok_and(|text| text == LANDED);
        let has_caches = are_landed && self.is_own_tree();
        remove_link(&state)?;
        write(&state, b"in use\n")?;
        if !has_caches {
            self.begin()?;
        }
        // The git directory of the commands is created again each time, so that changes to it have no effect.
        let seen = self.path().join(".git");
        remove_any(&seen)?;
        let place = GitLocation::with_git_dir(&self.path(), &self.git_dir);
        if let Err(error) = self.check_out(&place, commit) {
            if !has_caches {
                return Err(error);
            }
            // The obstacle for git is only in this folder.
            self.begin()?;
            self.check_out(&place, commit)?;
        }
        let git_dir = self.frozen.init_work_tree(&self.path())?;
        set_refs(&git_dir, "verification", commit, b"")?;
        GitLocation::with_git_dir(&self.path(), &git_dir)
            .git(&["read-tree", commit])
            .run()?;
        Ok(PreparedSlot { is_fresh: !has_caches })
    }

    /// Restores the files of the commit, and returns those that differed. A verification command runs code of the task, which must not
    /// decide what the next command does. Files that are not in the commit stay.
    pub fn restore_tracked(&self) -> Result<Vec<String>, GitError> {
        self.require_whole()?;
        remove_special_files(&self.path());
        let place = GitLocation::with_git_dir(&self.path(), &self.git_dir);
        let changed = place.git(&["diff-files", "--name-only", "-z"]).output()?;
        let changed: Vec<String> = parts(&changed)
            .map(|path| path_of(path).to_string_lossy().into_owned())
            .collect();
        if !changed.is_empty() {
            let _ = fs::remove_file(self.git_dir.join("index.lock"));
            place
                .git(&["checkout-index", "--quiet", "--force", "--all", "--index"])
                .run()?;
        }
        Ok(changed)
    }

    fn check_out(&self, place: &GitLocation, commit: &str) -> Result<(), GitError> {
        remove_special_files(&self.path());
        let _ = fs::remove_file(self.git_dir.join("index.lock"));
        place.git(&["read-tree", "--reset", "-u", commit]).run()?;
        place.git(&["clean", "--quiet", "-ff", "-d"]).run()?;
        self.drop_bytecode(place)
    }

    /// Removes compiled Python files: Python compares them with newer sources by time and size alone, in seconds.
    fn drop_bytecode(&self, place: &GitLocation) -> Result<(), GitError> {
        for path in parts(&place.git(LIST_IGNORED).output()?) {
            if path.ends_with(b"__pycache__/") || path.ends_with(b".pyc") {
                remove_any(&self.path().join(path_of(path)))?;
            }
        }
        Ok(())
    }

    /// Keeps the caches of the last verification, because its work has landed.
    pub fn keep_caches(&self) -> Result<(), GitError> {
        self.require_whole()?;
        write(&self.folder.join("state"), LANDED)
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Renames an entry to a free name next to it.
fn put_aside(path: &Path) -> Result<(), GitError> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1..).map(|n| path.with_file_name(format!("{name}.foreign-{n}")));
    let mut free = free.filter(|path| path.symlink_metadata().is_err());
    let aside = free.next().unwrap_or_else(|| path.with_extension("foreign"));
    fs::rename(path, &aside).map_err(path_error(path))
}

/// Moves a link or a file away that is in place of a folder.
fn put_aside_link(path: &Path) -> Result<(), GitError> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_dir() => put_aside(path),
        _ => Ok(()),
    }
}

/// Removes a link that is in place of a file.
fn remove_link(path: &Path) -> Result<(), GitError> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => remove_any(path),
        _ => Ok(()),
    }
}

fn remove_any(path: &Path) -> Result<(), GitError> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => remove_folder(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(path_error(path))
}
