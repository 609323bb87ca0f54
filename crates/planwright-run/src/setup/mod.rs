//! Sets up a workspace: its configuration file, its state folder, and the commands that verify its work.

pub mod candidates;
pub mod trial;

use std::io;
use std::path::{Path, PathBuf};

use crate::files::DiskFiles;
use crate::layout::{CONFIG_FILE, STATE_FOLDER, make_state_folder};
use crate::store::{CreateError, create};

/// Why a workspace was not begun.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It has a configuration file.
    #[error("`{}` is there already; nothing was written", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system said no.
    #[error("`{}` cannot be written", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is there, but the system could not promise that it stays after a power cut.
    #[error("`{}` was written, but the system could not confirm that it is on the disk", .path.display())]
    NotConfirmed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl SetupError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            SetupError::Exists { .. } => {
                "edit it, or remove it first; `planwright doctor` says whether anything is wrong with it"
            }
            SetupError::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                "move what is there away, and try again"
            }
            SetupError::NotConfirmed { .. } => "the file is there, and whole; look for it after a power cut",
            SetupError::Io { .. } => "check that you may write there and that there is space",
        }
    }
}

/// Makes a folder the root of a workspace: a state folder that git ignores, and a configuration file with this text. A file that
/// is there already is left alone, and nothing else is made then.
pub fn begin(folder: &Path, config: &str) -> Result<(), SetupError> {
    let path = folder.join(CONFIG_FILE);
    if path.is_symlink() || path.exists() {
        return Err(SetupError::Exists { path });
    }
    // The state first: after an interruption in between, it can be done again.
    make_state(folder)?;
    create(&path, config).map_err(|error| match error {
        CreateError::Exists { path } => SetupError::Exists { path },
        CreateError::Io { path, source } => SetupError::Io { path, source },
        CreateError::NotConfirmed { path, source } => SetupError::NotConfirmed { path, source },
    })
}

/// Makes the state folder, which git ignores, where there is none.
pub fn make_state(folder: &Path) -> Result<(), SetupError> {
    make_state_folder(&DiskFiles, folder)
        .map(drop)
        .map_err(|source| SetupError::Io {
            path: folder.join(STATE_FOLDER),
            source,
        })
}
