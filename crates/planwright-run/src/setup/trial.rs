//! A clean checkout of the last commit, prepared as for a run, to try commands in.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::checkout_home::{CheckoutHome, CheckoutHomeError};
use crate::config::{Command, Config};
use crate::git::{CheckoutSlot, GitError, Repository};
use crate::preparation::{Preparation, PreparationError, SlotError};
use crate::verify;

#[derive(Debug)]
pub struct TrialCheckout {
    /// The root of the workspace in the checkout.
    pub folder: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    /// Commands that prepare the checkout. They run first.
    pub setup: Vec<Command>,
    pub commit: String,
    /// The checkout, which no other process can take while this exists.
    pub slot: CheckoutSlot,
    /// Folders outside of the checkout that git reads from.
    pub object_folders: Vec<PathBuf>,
    /// The git settings of this process: several may try commands at the same time.
    _settings: OwnFolder,
}

#[derive(Debug)]
struct OwnFolder(PathBuf);

impl Drop for OwnFolder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Home(#[from] CheckoutHomeError),
    #[error(transparent)]
    Preparation(#[from] PreparationError),
    #[error("a checkout cannot be prepared")]
    Io(#[from] io::Error),
}

impl From<SlotError> for TrialError {
    fn from(error: SlotError) -> Self {
        match error {
            SlotError::Git(error) => TrialError::Git(error),
            SlotError::Copy(error) => TrialError::Io(error),
        }
    }
}

impl TrialCheckout {
    /// Opens a checkout of the last commit in the repository around a workspace; none without a commit. The user's own files are never used
    /// for a trial.
    pub fn open(root: &Path, config: &Config) -> Result<Option<Self>, TrialError> {
        let repository = Repository::around(root)?;
        let head = repository.as_ref().map(Repository::head).transpose()?.flatten();
        let (Some(repository), Some(commit)) = (repository, head) else {
            return Ok(None);
        };
        let preparation = Preparation::of(&config.run, &repository, root)?;
        let home = CheckoutHome::of(config.run.checkouts.folder.as_deref(), &repository)?;
        let settings = OwnFolder(home.folder().join("trial").join(std::process::id().to_string()));
        std::fs::create_dir_all(home.folder().join("trial"))?;
        let slot = home.take_slot(&repository, &settings.0)?;
        let folder = slot.path().join(repository.prefix());
        let setup = preparation.prepare_slot(&slot, &commit, config.verify.clean, root, &folder)?;
        let variables = preparation.slot_environment(&slot, root, &folder);
        Ok(Some(TrialCheckout {
            environment: verify::environment(variables, root, "", &folder),
            setup: setup.to_vec(),
            object_folders: repository.object_folders(),
            commit,
            slot,
            folder,
            _settings: settings,
        }))
    }
}
