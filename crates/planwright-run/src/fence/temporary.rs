//! Temporary folders of fenced processes: one each, with short paths for sockets, removed with the process.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::open_folders;

/// The prefix of our folders' names, before the id of the process that owns them.
const PREFIX: &str = "planwright-tmp-";

/// How long the folder of a missing process is kept: the process may be in another container.
const STALE_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

const MAX_NAMES: u32 = 1_000;

/// The folders of one planwright process. They are removed with it.
#[derive(Debug, Default)]
pub struct TemporaryFolders {
    folder: Option<PathBuf>,
    of_keys: HashMap<u64, PathBuf>,
}

impl TemporaryFolders {
    pub fn make(&mut self, key: u64) -> io::Result<PathBuf> {
        let above = match &self.folder {
            Some(folder) if folder.is_dir() => folder.clone(),
            _ => {
                let system = std::env::temp_dir();
                remove_stale(&system);
                self.folder.insert(make_own(&system)?).clone()
            }
        };
        let folder = above.join(key.to_string());
        make_private(&folder)?;
        self.of_keys.insert(key, folder.clone());
        Ok(folder)
    }

    /// Removes the folder of an ended process. A folder that cannot be removed now is removed with the others.
    pub fn remove(&mut self, key: u64) {
        if let Some(folder) = self.of_keys.remove(&key) {
            remove(&folder);
        }
    }
}

impl Drop for TemporaryFolders {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            remove(folder);
        }
    }
}

/// Creates a folder that only this user can read.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn make_own(system: &Path) -> io::Result<PathBuf> {
    let system = fs::canonicalize(system)?;
    let process = std::process::id();
    for number in 0..MAX_NAMES {
        let folder = system.join(format!("{PREFIX}{process}-{number}"));
        match make_private(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes a folder of ours. Build tools make folders read-only: these are made writable first.
fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        open_folders(folder);
        let _ = fs::remove_dir_all(folder);
    }
}

/// Removes the folders of processes that were killed. Those of other users cannot be removed, and stay.
fn remove_stale(system: &Path) {
    // Without a process table, nothing is known about processes.
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(system).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner_of);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_over = |owner: u32| !Path::new("/proc").join(owner.to_string()).exists();
        let age = entry
            .metadata()
            .and_then(|found| found.modified())
            .map(|time| time.elapsed());
        let is_old = matches!(age, Ok(Ok(age)) if age > STALE_AFTER);
        if is_folder && is_old && owner.is_some_and(is_over) {
            remove(&entry.path());
        }
    }
}

/// Returns the process that owns a folder, by its name.
fn owner_of(name: &str) -> Option<u32> {
    let (process, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    process.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_folder_of_its_own_while_it_runs() {
        let mut folders = TemporaryFolders::default();
        let (one, two) = (folders.make(1).expect("a folder"), folders.make(2).expect("a folder"));
        assert_ne!(one, two);
        fs::write(one.join("file"), "x").expect("ours");
        folders.remove(1);
        assert!(!one.exists() && two.exists());
        drop(folders);
        assert!(!two.exists());
    }

    #[test]
    fn temporary_folders_name_their_owners() {
        assert_eq!(owner_of("planwright-tmp-12-0"), Some(12));
        for name in [
            "planwright-tmp-1000",
            "planwright-tmp-x-1",
            "planwright-tmp-1-x",
            "planwright-1-1",
        ] {
            assert_eq!(owner_of(name), None, "{name}");
        }
    }
}
