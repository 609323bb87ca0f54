//! Replaces a plan file whole: the old bytes or the new ones, never a mixture, never neither.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use planwright_core::text::SourceText;

use super::load::{LoadError, load};

/// Why a file was left as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// It is no longer what was read.
    #[error("`{}` was changed by somebody else in the meantime", .path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// It can no longer be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The system said no; the old file is intact.
    #[error("`{}` cannot be written; it is as it was", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Replaces the text of a file if it is still `old`. A symbolic link stays; what it points at is replaced.
pub fn replace(path: &Path, old: &SourceText, new: &str) -> Result<(), ReplaceError> {
    let failed = |source| ReplaceError::Io {
        path: path.to_owned(),
        source,
    };
    let target = std::fs::canonicalize(path).map_err(failed)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let permissions = std::fs::metadata(&target).map_err(failed)?.permissions();
    let mut file = tempfile::Builder::new()
        .prefix(".planwright-")
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(new.as_bytes()).map_err(failed)?;
    file.as_file().set_permissions(permissions).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    if load(&target)?.source.as_str() != old.as_str() || old.damage().is_some() {
        return Err(ReplaceError::Changed { path: path.to_owned() });
    }
    file.persist(&target).map_err(|error| failed(error.error))?;
    sync_folder(folder).map_err(failed)
}

/// Makes the new name durable, where folders can be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changed_in_the_meantime_is_left_alone() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("plan.json");
        std::fs::write(&path, "theirs").expect("write");
        let result = replace(&path, &SourceText::new("mine"), "new");
        assert!(matches!(result, Err(ReplaceError::Changed { .. })));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "theirs");
        assert_eq!(std::fs::read_dir(folder.path()).expect("list").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_survive() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("temp folder");
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        std::fs::write(&real, "old").expect("write");
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("mode");
        std::os::unix::fs::symlink(&real, &link).expect("link");
        replace(&link, &SourceText::new("old"), "new").expect("replace");
        assert!(std::fs::symlink_metadata(&link).expect("link").is_symlink());
        assert_eq!(std::fs::read_to_string(&real).expect("read"), "new");
        let mode = std::fs::metadata(&real).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}
