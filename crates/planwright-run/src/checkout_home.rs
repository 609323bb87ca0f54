//! The folder for checkouts, outside of every repository, because package managers and git search parent folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::git::{CheckoutSlot, FrozenSettings, GitError, Pool, Repository};
use crate::layout::PlanKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutHome {
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckoutHomeError {
    #[error("there is no folder for checkouts: neither HOME nor XDG_STATE_HOME is set")]
    Unknown,
    #[error("the folder for checkouts lies inside of the repository: `{}`", .0.display())]
    Inside(PathBuf),
}

impl CheckoutHome {
    /// Returns the folder of a repository: the configured one, or one in the user's state folder.
    pub fn of(configured: Option<&str>, repository: &Repository) -> Result<Self, CheckoutHomeError> {
        let top = repository.toplevel();
        let common = repository.common_folder();
        // Readable, and unique for each repository.
        let key = PlanKey::of(&common.to_string_lossy()).to_string();
        let hash = key.rsplit('-').next().unwrap_or(&key);
        let name = PlanKey::of(&top.file_name().unwrap_or_default().to_string_lossy()).to_string();
        let name = name.rsplit_once('-').map_or("", |(name, _)| name);
        let folder = match configured {
            Some(path) => expanded(path).unwrap_or_else(|| top.join(path)),
            None => state_folder(top).ok_or(CheckoutHomeError::Unknown)?,
        };
        if folder.starts_with(top) {
            return Err(CheckoutHomeError::Inside(folder));
        }
        Ok(CheckoutHome {
            folder: folder.join(format!("{name}-{hash}").trim_start_matches('-')),
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tries whether checkouts can be made there, and leaves nothing.
    pub fn probe(&self) -> io::Result<()> {
        let is_new = !self.folder.is_dir();
        let probe = self.folder.join(format!("probe-{}", std::process::id()));
        fs::create_dir_all(&probe)?;
        fs::remove_dir(&probe)?;
        match is_new {
            true => fs::remove_dir(&self.folder),
            false => Ok(()),
        }
    }

    pub fn run(&self, run: &str) -> PathBuf {
        self.folder.join("runs").join(run)
    }

    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    pub fn pool(&self) -> PathBuf {
        self.folder.join("pool")
    }

    /// Takes a slot outside of a run. The user's git settings of now are copied to a folder.
    pub fn take_slot(&self, repository: &Repository, settings: &Path) -> Result<CheckoutSlot, GitError> {
        fs::remove_dir_all(settings).ok();
        let frozen = FrozenSettings::freeze(repository, settings)?;
        Pool::open(&self.pool())?.take(&frozen)
    }

    /// Returns the folder of the worktrees that hold branches.
    pub fn holders(&self) -> PathBuf {
        self.folder.join("branches")
    }

    /// Returns the worktree that holds a branch while runs land on it.
    pub fn holder(&self, branch: &str) -> PathBuf {
        self.folder
            .join("branches")
            .join(format!("planwright-{}", PlanKey::of(branch)))
    }
}

/// Returns a path of the configuration, if it is absolute or begins with `~/`.
fn expanded(path: &str) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(below) => Some(absolute("HOME")?.join(below)),
        None => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
    }
}

fn absolute(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    folder.filter(|folder| folder.is_absolute())
}

/// Returns the folder for planwright in the user's state folder.
pub(crate) fn state_home() -> Option<PathBuf> {
    let usual = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(usual.join("planwright"))
}

/// Returns the user's state folder; none if that folder is itself in a repository.
fn state_folder(top: &Path) -> Option<PathBuf> {
    let usual = state_home()?;
    match usual.starts_with(top) {
        true => Some(PathBuf::from("/var/tmp").join(format!("planwright-{}", user_number()))),
        false => Some(usual),
    }
}

#[cfg(unix)]
fn user_number() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(not(unix))]
fn user_number() -> u32 {
    0
}
