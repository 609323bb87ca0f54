//! Creates files whole: a new name has nothing or all of the text; an existing one has the old text or the new one.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::temporary::{NO_LOCK, new_name};
use crate::files::{DiskFiles, Files};

/// Why a file was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("`{}` is there already", .path.display())]
    Exists { path: PathBuf },
    /// The operating system returned an error.
    #[error("`{}` cannot be written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It exists, but the system could not guarantee that it survives a power cut.
    #[error("`{}` was written, but the system could not confirm that it is on the disk", .path.display())]
    NotConfirmed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl CreateError {
    /// Returns the next step for the user.
    pub fn help(&self) -> &'static str {
        match self {
            CreateError::Exists { .. } => "nothing was written; name another file with --out, or move that one away",
            CreateError::Io { .. } => "nothing was written; check that the folder can be written to",
            CreateError::NotConfirmed { .. } => "the file is complete; check it after a power failure",
        }
    }
}

/// Creates a file with this text, and the folders above it. Never changes an existing file.
pub fn create(path: &Path, text: &str) -> Result<(), CreateError> {
    create_with(path, text, None)
}

/// Creates a copy of a file with the same read permissions.
pub fn create_like(path: &Path, text: &str, model: &Path) -> Result<(), CreateError> {
    let metadata = DiskFiles.metadata(model).map_err(|source| CreateError::Io {
        path: path.to_owned(),
        source,
    })?;
    create_with(path, text, Some(&metadata))
}

fn create_with(path: &Path, text: &str, model: Option<&Metadata>) -> Result<(), CreateError> {
    let failed = |source| CreateError::Io {
        path: path.to_owned(),
        source,
    };
    let folder = folder_of(path);
    let files = &DiskFiles;
    create_folders(files, folder).map_err(failed)?;
    let temporary = folder.join(new_name(NO_LOCK));
    let written = write(files, &temporary, text, model).and_then(|()| files.name_anew(&temporary, path));
    written.map_err(|source| {
        files.remove(&temporary).ok();
        match source.kind() {
            io::ErrorKind::AlreadyExists => CreateError::Exists { path: path.to_owned() },
            _ => failed(source),
        }
    })?;
    files.sync_folder(folder).map_err(|source| CreateError::NotConfirmed {
        path: path.to_owned(),
        source,
    })
}

/// Overwrites a file of planwright's own, with the same read permissions. Replaces a link instead of following it. The result may not
/// survive a power cut.
pub fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    let files = &DiskFiles;
    let temporary = folder_of(path).join(new_name(NO_LOCK));
    let model = files.link_metadata(path).ok().filter(Metadata::is_file);
    let written = write(files, &temporary, text, model.as_ref()).and_then(|()| files.rename(&temporary, path));
    if written.is_err() {
        files.remove(&temporary).ok();
    }
    written
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a folder and its parents.
fn create_folders(files: &dyn Files, folder: &Path) -> io::Result<()> {
    if files.metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_folders(files, above)?;
    }
    match files.create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write(files: &dyn Files, path: &Path, text: &str, model: Option<&Metadata>) -> io::Result<()> {
    let file = match model {
        None => files.open_append(path)?,
        Some(model) => {
            let file = files.create_private(path)?;
            // If the system does not permit the change of owner, the file stays ours, with the same permissions.
            files.set_owner_like(&file, model).ok();
            files.set_permissions(&file, model.permissions())?;
            file
        }
    };
    files.write(&file, text.as_bytes())?;
    files.sync(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn private_files_stay_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("page.html");
        overwrite(&path, "old").expect("it is new");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("ours");
        overwrite(&path, "new").expect("it is ours");
        let metadata = path.metadata().expect("it is there");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "new");
        assert_eq!(std::fs::read_dir(folder.path()).expect("list").count(), 1);
    }

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
    fn a_copy_has_the_permissions_of_its_original() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("temp folder");
        let (plan, copy) = (folder.path().join("plan"), folder.path().join("plan.bak"));
        std::fs::write(&plan, "x").expect("write");
        std::fs::set_permissions(&plan, std::fs::Permissions::from_mode(0o600)).expect("mode");
        create_like(&copy, "x", &plan).expect("it is new");
        let mode = std::fs::metadata(&copy).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(
            create_like(&copy, "y", &plan),
            Err(CreateError::Exists { .. })
        ));
    }

    #[cfg(unix)]
    #[test]
    fn new_files_have_the_default_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("temp folder");
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        create(&ours, "x").expect("it is new");
        std::fs::write(&plain, "x").expect("write");
        let mode = |path: &Path| std::fs::metadata(path).expect("metadata").permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
