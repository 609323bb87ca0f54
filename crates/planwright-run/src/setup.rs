//! Beginning a workspace: its configuration file, its state folder, and who the user is.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::files::DiskFiles;
use crate::place::{CONFIG_FILE, STATE_FOLDER, make_state_folder};
use crate::programs::command;
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

/// Returns who the user is: by the environment, else by git's settings, else nobody that is known.
pub fn user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| known(std::env::var(name).ok()?));
    let by_git = || {
        let asked = command("git")
            .ok()?
            .args(["config", "--get", "user.name"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        known(String::from_utf8(asked.ok()?.stdout).ok()?)
    };
    named.or_else(by_git).unwrap_or_else(|| "unknown".to_owned())
}

fn known(name: String) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Makes a folder the root of a workspace: a state folder that git ignores, and a configuration file with this text. A file that
/// is there already is left alone, and nothing else is made then.
pub fn begin(folder: &Path, config: &str) -> Result<(), SetupError> {
    let path = folder.join(CONFIG_FILE);
    if path.is_symlink() || path.exists() {
        return Err(SetupError::Exists { path });
    }
    // The state first: whoever is interrupted in between can begin again.
    make_state_folder(&DiskFiles, folder).map_err(|source| SetupError::Io {
        path: folder.join(STATE_FOLDER),
        source,
    })?;
    create(&path, config).map_err(|error| match error {
        CreateError::Exists { path } => SetupError::Exists { path },
        CreateError::Io { path, source } => SetupError::Io { path, source },
        CreateError::NotConfirmed { path, source } => SetupError::NotConfirmed { path, source },
    })
}
