//! Makes a new file whole: under its name there is nothing, or all of it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::temporary::{NO_LOCK, new_name};

/// Why a file was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is one already.
    #[error("`{}` is there already", .path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The system said no.
    #[error("`{}` cannot be written", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl CreateError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            CreateError::Exists { .. } => "nothing was written; name another file with --out, or move that one away",
            CreateError::Io { .. } => "nothing was written; check that the folder can be written to",
        }
    }
}

/// Makes a file with this text, and the folders above it. A file that is there is left alone.
pub fn create(path: &Path, text: &str) -> Result<(), CreateError> {
    let failed = |source| CreateError::Io {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let temporary = folder.join(new_name(NO_LOCK));
    let written = write(&temporary, text).and_then(|()| name(&temporary, path));
    std::fs::remove_file(&temporary).ok();
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists { path: path.to_owned() },
        _ => failed(source),
    })?;
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Gives a file a name that nothing has yet.
fn name(temporary: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(temporary, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Some file systems have no second names: there a look must do.
            if path.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            std::fs::rename(temporary, path)
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_left_alone() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("a/b/plan.json");
        create(&path, "mine").expect("it is new");
        assert!(matches!(create(&path, "yours"), Err(CreateError::Exists { .. })));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "mine");
        assert_eq!(std::fs::read_dir(folder.path().join("a/b")).expect("list").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_it_as_they_may_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("temp folder");
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        create(&ours, "x").expect("it is new");
        std::fs::write(&plain, "x").expect("write");
        let mode = |path: &Path| std::fs::metadata(path).expect("metadata").permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
