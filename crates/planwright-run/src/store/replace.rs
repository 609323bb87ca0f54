//! Replaces a file whole: it has the old bytes or the new ones, never a mixture.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::text::SourceText;

use super::load::{LoadError, holds};
use super::temporary::{NO_LOCK, Temporary, n_hard_links};
use crate::files::{DiskFiles, Files as _};

/// Why a file was left as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// It is no longer what was read.
    #[error("`{}` was changed by another process in the meantime", .path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// It has other names, which would keep the old text.
    #[error("`{}` is one of {n_links} hard links to one file, and replacing it would part it from the others", .path.display())]
    HardLinked {
        /// The path.
        path: PathBuf,
        /// How many names the file has.
        n_links: u64,
    },
    /// Nobody may write to it, which a rename would not ask about.
    #[error("`{}` is write-protected, and is as it was", .path.display())]
    Protected {
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
    /// The new text is there, but the system could not promise that it stays after a power cut.
    #[error("`{}` was replaced, but the system could not confirm that the new text is on the disk", .path.display())]
    NotConfirmed {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ReplaceError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ReplaceError::HardLinked { .. } => {
                "nothing was written; make it a file of its own first: copy it, and move the copy to its name"
            }
            ReplaceError::Protected { .. } => {
                "nothing was written; if it may be changed, make it writable first: chmod u+w"
            }
            ReplaceError::Changed { .. } | ReplaceError::Load(_) | ReplaceError::Io { .. } => {
                "nothing was written; try again"
            }
            ReplaceError::NotConfirmed { .. } => "look at it after a power cut: it holds the old text or the new one",
        }
    }
}

/// Replaces the text of a file if it is still `old`. A symbolic link stays; what it points at is replaced. A file with
/// several hard links is left alone: a rename gives one of them the new text, and anything else could lose the old one.
pub fn replace(path: &Path, old: &SourceText, new: &str) -> Result<(), ReplaceError> {
    let files = &DiskFiles;
    let failed = |source| ReplaceError::Io {
        path: path.to_owned(),
        source,
    };
    let target = files.canonical(path).map_err(failed)?;
    let metadata = files.metadata(&target).map_err(failed)?;
    let n_links = n_hard_links(&metadata);
    if n_links > 1 {
        let path = path.to_owned();
        return Err(ReplaceError::HardLinked { path, n_links });
    }
    if metadata.permissions().readonly() {
        return Err(ReplaceError::Protected { path: path.to_owned() });
    }
    let temporary = Temporary::write(files, &target, &metadata, NO_LOCK, new).map_err(failed)?;
    let is_same = holds(files, &target, old);
    if !matches!(is_same, Ok(true)) {
        temporary.discard(files);
        is_same?;
        return Err(ReplaceError::Changed { path: path.to_owned() });
    }
    if !temporary.land(files, &target, old.as_str()).map_err(failed)? {
        return Err(ReplaceError::Changed { path: path.to_owned() });
    }
    files
        .sync_folder(target.parent().unwrap_or(Path::new(".")))
        .map_err(|source| ReplaceError::NotConfirmed {
            path: path.to_owned(),
            source,
        })
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
    fn a_file_with_other_names_is_left_alone() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (one, other) = (folder.path().join("one.json"), folder.path().join("other.json"));
        std::fs::write(&one, "old").expect("write");
        std::fs::hard_link(&one, &other).expect("link");
        let result = replace(&one, &SourceText::new("old"), "new");
        assert!(matches!(result, Err(ReplaceError::HardLinked { n_links: 2, .. })));
        for path in [&one, &other] {
            assert_eq!(std::fs::read_to_string(path).expect("read"), "old");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("list").count(), 2);
        std::fs::remove_file(&other).expect("remove");
        replace(&one, &SourceText::new("old"), "new").expect("it has one name now");
    }

    #[test]
    fn a_write_protected_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("plan.json");
        std::fs::write(&path, "old").expect("write");
        let mut permissions = std::fs::metadata(&path).expect("metadata").permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).expect("mode");
        let result = replace(&path, &SourceText::new("old"), "new");
        assert!(matches!(result, Err(ReplaceError::Protected { .. })));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "old");
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
