//! Prepares a checkout for verification: the commit, the copied files, the setup commands, the environment.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::Preparation;
use crate::config::{Cleaning, Command};
use crate::git::{CheckoutSlot, GitError};

/// Why a checkout for verification cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    #[error(transparent)]
    Git(#[from] GitError),
    /// The files of the workspace cannot be copied.
    #[error(transparent)]
    Copy(#[from] io::Error),
}

impl Preparation {
    /// Checks out a commit in a slot, and copies the files of the workspace. `folder` is the root of the workspace in the slot. Returns the
    /// setup commands that must run first: in a slot with caches, only configured ones.
    pub fn prepare_slot(
        &self,
        slot: &CheckoutSlot,
        commit: &str,
        cleaning: Cleaning,
        root: &Path,
        folder: &Path,
    ) -> Result<&[Command], SlotError> {
        let record = slot.record_of_copies();
        slot.require_own()?;
        self.remove_outdated(root, folder, &record)?;
        let prepared = slot.prepare(commit, cleaning)?;
        self.copy_again(root, folder, &record)?;
        Ok(match prepared.is_fresh || self.is_setup_configured {
            true => &self.setup,
            false => &[],
        })
    }

    /// Returns the environment of a command in a slot.
    pub fn slot_environment(&self, slot: &CheckoutSlot, root: &Path, folder: &Path) -> Vec<(OsString, OsString)> {
        let mut variables = self.environment(std::env::vars_os(), root, folder);
        variables.extend(slot.environment());
        variables
    }
}
