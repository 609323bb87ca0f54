//! Sets up a workspace: its configuration file, its state folder, and the commands that verify its work.

pub mod candidates;
pub mod trial;

use std::io;
use std::path::{Path, PathBuf};

use crate::files::DiskFiles;
use crate::layout::{CONFIG_FILE, STATE_FOLDER, make_state_folder};
use crate::store::{CreateError, create};

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("`{}` exists already; nothing was written", .path.display())]
    Exists { path: PathBuf },
    #[error(transparent)]
    NotCreated(CreateError),
}

impl SetupError {
    pub fn help(&self) -> &'static str {
        match self {
            SetupError::Exists { .. } => "edit it, or remove it first; `planwright doctor` checks it",
            SetupError::NotCreated(CreateError::Io { source, .. }) => match source.kind() {
                io::ErrorKind::NotADirectory => "move the existing file away, and try again",
                _ => "check that you may write there and that there is space",
            },
            SetupError::NotCreated(error) => error.help(),
        }
    }
}

/// Makes a folder the root of a workspace: a state folder that git ignores, and a configuration file with this text. If the file already
/// exists, nothing is changed.
pub fn begin(folder: &Path, config: &str) -> Result<(), SetupError> {
    let path = folder.join(CONFIG_FILE);
    if path.is_symlink() || path.exists() {
        return Err(SetupError::Exists { path });
    }
    // The state folder first: an interrupted call can be repeated.
    make_state(folder)?;
    create(&path, config).map_err(|error| match error {
        CreateError::Exists { path } => SetupError::Exists { path },
        error => SetupError::NotCreated(error),
    })
}

/// Creates the state folder, which git ignores, if it is missing.
pub fn make_state(folder: &Path) -> Result<(), SetupError> {
    let made = make_state_folder(&DiskFiles, folder).map_err(|source| {
        let path = folder.join(STATE_FOLDER);
        SetupError::NotCreated(CreateError::Io { path, source })
    });
    made.map(drop)
}
