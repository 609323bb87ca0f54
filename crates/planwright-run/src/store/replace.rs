//! Replaces a file whole: it has the old bytes or the new ones, never a mixture.

use std::fs::Metadata;
use std::path::Path;

use planwright_core::text::SourceText;

use super::error::StoreError;
use super::load::holds;
use super::temporary::{NO_LOCK, TemporaryFile, n_hard_links};
use crate::files::{DiskFiles, Files as _};

/// Replaces the text of a file if it is still `old`. Follows a symbolic link and replaces its target. Refuses a file with several hard
/// links: a rename gives one of them the new text, and anything else could lose the old one.
pub fn replace(path: &Path, old: &SourceText, new: &str) -> Result<(), StoreError> {
    let files = &DiskFiles;
    let own = || path.to_owned();
    let failed = |source| StoreError::Io { path: own(), source };
    let target = files.canonical(path).map_err(failed)?;
    let metadata = files.metadata(&target).map_err(failed)?;
    refuse_irreplaceable(path, &metadata, false)?;
    let temporary = TemporaryFile::write(files, &target, &metadata, NO_LOCK, new).map_err(failed)?;
    let is_same = holds(files, &target, old);
    if !matches!(is_same, Ok(true)) {
        temporary.discard(files);
        is_same?;
        return Err(StoreError::Changed { path: own() });
    }
    if !temporary.land(files, &target, old.as_str()).map_err(failed)? {
        return Err(StoreError::Changed { path: own() });
    }
    files
        .sync_folder(target.parent().unwrap_or(Path::new(".")))
        .map_err(|source| StoreError::Unconfirmed { path: own(), source })
}

/// Refuses a file with other hard links, which would keep the old text, and a write-protected one, unless protection is ignored.
pub(super) fn refuse_irreplaceable(
    path: &Path,
    metadata: &Metadata,
    replaces_protected: bool,
) -> Result<(), StoreError> {
    let path = path.to_owned();
    let n_links = n_hard_links(metadata);
    if n_links > 1 {
        return Err(StoreError::HardLinked { path, n_links });
    }
    match metadata.permissions().readonly() && !replaces_protected {
        true => Err(StoreError::Protected { path }),
        false => Ok(()),
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
        assert!(matches!(result, Err(StoreError::Changed { .. })));
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
        assert!(matches!(result, Err(StoreError::HardLinked { n_links: 2, .. })));
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
        assert!(matches!(result, Err(StoreError::Protected { .. })));
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
