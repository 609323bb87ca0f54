//! Loads a plan file whole, or reports why not. Never waits for a pipe, and reads a bounded size.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use planwright_core::text::{MAX_BYTES, SourceText};

use crate::files::{DiskFiles, Files};

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The path does not exist.
    #[error("`{}` does not exist", .path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is a folder, not a plan file", .path.display())]
    Directory { path: PathBuf },
    /// The path is a pipe, a socket or a device.
    #[error("`{}` is {what}, not a regular file", .path.display())]
    Special {
        path: PathBuf,
        /// The type of the entry.
        what: &'static str,
    },
    /// The symbolic links form a loop.
    #[error("`{}` is a symbolic link that leads back to itself", .path.display())]
    LinkLoop { path: PathBuf },
    /// The file is larger than planwright reads.
    #[error("`{}` is too large: {n_bytes} bytes, and planwright reads up to {MAX_BYTES}", .path.display())]
    TooLarge { path: PathBuf, n_bytes: u64 },
    /// Another program kept writing to it.
    #[error("`{}` keeps changing while it is read", .path.display())]
    Changing { path: PathBuf },
    /// The operating system returned an error.
    #[error("`{}` cannot be read", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl LoadError {
    /// Converts an error of the system for the file at a path.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => LoadError::Missing { path },
            // The stable name of ELOOP's kind is still unstable; its text is not.
            _ if source.raw_os_error() == Some(ELOOP) => LoadError::LinkLoop { path },
            _ => LoadError::Io { path, source },
        }
    }

    /// Makes the path relative to a folder, if it is below it.
    pub(crate) fn shorten(&mut self, folder: &Path) {
        let (LoadError::Missing { path }
        | LoadError::Directory { path }
        | LoadError::Special { path, .. }
        | LoadError::LinkLoop { path }
        | LoadError::TooLarge { path, .. }
        | LoadError::Changing { path }
        | LoadError::Io { path, .. }) = self;
        if let Ok(short) = path.strip_prefix(folder) {
            *path = short.to_owned();
        }
    }

    /// Returns the next step for the user.
    pub fn help(&self) -> &'static str {
        match self {
            LoadError::Missing { .. } => "check the path; `planwright list` shows the plans of this workspace",
            LoadError::Directory { .. } => "name a file in it, or use `planwright check` for all of them",
            LoadError::Special { .. } => "to check the output of a command, use `-` for standard input",
            LoadError::LinkLoop { .. } => "remove the link, or point it at the plan",
            LoadError::TooLarge { .. } => "split the plan, or check that this is the right file",
            LoadError::Changing { .. } => "wait until the other program is done, and try again",
            LoadError::Io { .. } => "check that you may read it",
        }
    }
}

/// A file at the time when it was read.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    pub source: SourceText,
}

/// How often a file that changes under the reader is read again.
const MAX_TRIES: usize = 3;

pub fn load(path: &Path) -> Result<LoadedFile, LoadError> {
    load_from(&DiskFiles, path)
}

/// Reads a file of a file system.
pub(crate) fn load_from(files: &dyn Files, path: &Path) -> Result<LoadedFile, LoadError> {
    for _ in 0..MAX_TRIES {
        let before = look(files, path)?;
        let bytes = read(files, path)?;
        let after = look(files, path)?;
        if bytes.len() as u64 == after.len() && is_same(&before, &after) {
            return Ok(LoadedFile {
                source: SourceText::from_bytes(bytes),
            });
        }
    }
    Err(LoadError::Changing { path: path.to_owned() })
}

/// Returns whether a file has, byte for byte, the text that was read before. False for a text with replaced bytes.
pub(crate) fn holds(files: &dyn Files, path: &Path, source: &SourceText) -> Result<bool, LoadError> {
    let n_bytes = look(files, path)?.len();
    if n_bytes != source.len() as u64 || source.damage().is_some() {
        return Ok(false);
    }
    let held = files.holds(path, source.as_str().as_bytes());
    held.map_err(|source| LoadError::new(path, source))
}

/// Reads standard input, up to the same bound.
pub fn load_stdin() -> Result<LoadedFile, LoadError> {
    let path = PathBuf::from("-");
    let mut bytes = Vec::new();
    let mut input = io::stdin().lock().take(MAX_BYTES as u64 + 1);
    input.read_to_end(&mut bytes).map_err(|source| LoadError::Io {
        path: path.clone(),
        source,
    })?;
    if bytes.len() > MAX_BYTES {
        let n_bytes = bytes.len() as u64;
        return Err(LoadError::TooLarge { path, n_bytes });
    }
    Ok(LoadedFile {
        source: SourceText::from_bytes(bytes),
    })
}

/// Checks that the path is a file of a readable size, before it is opened.
fn look(files: &dyn Files, path: &Path) -> Result<Metadata, LoadError> {
    let own = path.to_owned();
    let metadata = files.metadata(path).map_err(|source| LoadError::new(path, source))?;
    if metadata.is_dir() {
        return Err(LoadError::Directory { path: own });
    }
    if !metadata.is_file() {
        let what = special_name(&metadata);
        return Err(LoadError::Special { path: own, what });
    }
    if metadata.len() > MAX_BYTES as u64 {
        let n_bytes = metadata.len();
        return Err(LoadError::TooLarge { path: own, n_bytes });
    }
    Ok(metadata)
}

#[cfg(target_os = "linux")]
const ELOOP: i32 = 40;
#[cfg(target_os = "windows")]
const ELOOP: i32 = 1921;
#[cfg(not(any(target_os = "linux", target_os = "windows")))]
const ELOOP: i32 = 62;

#[cfg(unix)]
fn special_name(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = metadata.file_type();
    match () {
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn special_name(_metadata: &Metadata) -> &'static str {
    "a device"
}

fn read(files: &dyn Files, path: &Path) -> Result<Vec<u8>, LoadError> {
    let read = files.read(path, MAX_BYTES as u64 + 1);
    read.map_err(|source| LoadError::new(path, source))
}

fn is_same(before: &Metadata, after: &Metadata) -> bool {
    before.len() == after.len() && before.modified().ok() == after.modified().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_folder_is_not_a_plan() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert!(matches!(load(folder.path()), Err(LoadError::Directory { .. })));
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert!(matches!(
            load(&folder.path().join("gone.json")),
            Err(LoadError::Missing { .. })
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_loop_is_named() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        std::os::unix::fs::symlink(&a, &b).expect("link");
        std::os::unix::fs::symlink(&b, &a).expect("link");
        assert!(matches!(load(&a), Err(LoadError::LinkLoop { .. })));
    }

    #[test]
    fn a_file_over_the_bound_is_refused_without_being_read() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("big.json");
        File::create(&path)
            .expect("file")
            .set_len(MAX_BYTES as u64 + 1)
            .expect("sparse file");
        assert!(matches!(load(&path), Err(LoadError::TooLarge { .. })));
    }
}
