//! Hard links to the files of `.planwright` while tasks share its folder, so that `git clean -fdx` by a task loses nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::files::RealFolder;

const MAX_FILES: usize = 20_000;

#[derive(Debug)]
pub(super) struct StateLinks {
    state: PathBuf,
    links: PathBuf,
}

impl StateLinks {
    /// Creates the links in the first folder on the same file system. None if there is no such folder.
    pub(super) fn make(state: &Path, folders: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let mut made = folders.into_iter().map(|links| StateLinks {
            state: state.to_owned(),
            links,
        });
        made.find(|made| {
            // A killed run may have left some.
            fs::remove_dir_all(&made.links).ok();
            fs::create_dir_all(&made.links).is_ok() && made.renew(state).is_ok()
        })
    }

    /// Links the files below a folder that are new or replaced.
    pub(super) fn renew(&self, folder: &Path) -> io::Result<()> {
        // A walk would follow a link at its start.
        if fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
            return Ok(());
        }
        let all = WalkBuilder::new(folder).standard_filters(false).build().flatten();
        for entry in all.take(MAX_FILES) {
            let Some(link) = self.link_of(entry.path()) else {
                continue;
            };
            match entry.file_type() {
                Some(kind) if kind.is_dir() => fs::create_dir_all(&link)?,
                Some(kind) if kind.is_file() && !is_same_file(entry.path(), &link) => {
                    fs::remove_file(&link).ok();
                    match fs::hard_link(entry.path(), &link) {
                        // It existed only briefly.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        done => done?,
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves away an entry that a task put in place of a folder, as a link or a file. Returns whether there was one.
    pub(super) fn clear_the_way(&self) -> io::Result<bool> {
        let mut found_any = false;
        let all = WalkBuilder::new(&self.links).standard_filters(false).build().flatten();
        let folders = all
            .take(MAX_FILES)
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_dir()));
        for folder in folders {
            let path = match folder.path().strip_prefix(&self.links) {
                // A path that ends with a slash would follow a link.
                Ok(below) if below.as_os_str().is_empty() => self.state.clone(),
                Ok(below) => self.state.join(below),
                Err(_) => continue,
            };
            if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
                let mut free = (1..).map(|number: u32| self.links.with_extension(format!("found-{number}")));
                let aside = free.find(|aside| fs::symlink_metadata(aside).is_err());
                fs::rename(&path, aside.unwrap_or_else(|| self.links.with_extension("found")))?;
                found_any = true;
            }
        }
        Ok(found_any)
    }

    /// Returns whether a file with a hard link no longer exists.
    pub(super) fn has_lost(&self, path: &Path) -> bool {
        let link = self.link_of(path);
        link.is_some_and(|link| link.is_file() && !is_same_file(path, &link))
    }

    /// Restores a file from its hard link. Moves another file of that name with `aside`.
    pub(super) fn put_back(&self, path: &Path, aside: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let Some(link) = self.link_of(path) else {
            return Ok(());
        };
        let above = self.real_folder(path.parent().unwrap_or(&self.state))?;
        if fs::symlink_metadata(path).is_ok() {
            aside(path)?;
        }
        above.link(&link, path)
    }

    /// Restores all missing files from their hard links. Returns their number.
    pub(super) fn put_all_back(&self) -> io::Result<usize> {
        let mut n_back = 0;
        let all = WalkBuilder::new(&self.links).standard_filters(false).build().flatten();
        for entry in all.take(MAX_FILES) {
            let below = entry.path().strip_prefix(&self.links).ok();
            let Some(path) = below.map(|below| self.state.join(below)) else {
                continue;
            };
            match entry.file_type() {
                Some(kind) if kind.is_dir() => drop(self.real_folder(&path)?),
                Some(_) if fs::symlink_metadata(&path).is_err() => {
                    let above = self.real_folder(path.parent().unwrap_or(&self.state))?;
                    above.link(entry.path(), &path)?;
                    n_back += 1;
                }
                _ => {}
            }
        }
        Ok(n_back)
    }

    /// Opens a folder of the state, and creates its missing parts.
    fn real_folder(&self, folder: &Path) -> io::Result<RealFolder> {
        let root = self.state.parent().unwrap_or(&self.state);
        let below = folder.strip_prefix(root).map_err(io::Error::other)?;
        RealFolder::make(root, below)
    }

    fn link_of(&self, path: &Path) -> Option<PathBuf> {
        Some(self.links.join(path.strip_prefix(&self.state).ok()?))
    }
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path: &Path| fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
fn is_same_file(one: &Path, other: &Path) -> bool {
    one.exists() && other.exists()
}

impl Drop for StateLinks {
    fn drop(&mut self) {
        // The links are second names: removing them loses nothing, and the next run removes what stays.
        let _ = fs::remove_dir_all(&self.links);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn removed_state_is_restored_as_the_same_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        fs::create_dir_all(state.join("journal")).expect("a folder");
        fs::create_dir_all(state.join("empty")).expect("a folder");
        let journal = state.join("journal/plan");
        let mut log = fs::File::create(&journal).expect("a file");
        log.write_all(b"one\n").expect("room");
        let links = StateLinks::make(&state, [folder.path().join("links")]).expect("links");
        assert!(!links.has_lost(&journal));
        fs::remove_dir_all(&state).expect("it is there");
        assert!(links.has_lost(&journal));
        assert_eq!(links.put_all_back().expect("links"), 1);
        log.write_all(b"two\n").expect("room");
        assert_eq!(fs::read_to_string(&journal).expect("a file"), "one\ntwo\n");
        assert!(state.join("empty").is_dir());
        drop(links);
        assert!(!folder.path().join("links").exists() && journal.exists());
    }

    #[test]
    fn replaced_state_is_kept_under_another_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        fs::create_dir_all(&state).expect("a folder");
        let log = state.join("log");
        fs::write(&log, "mine").expect("room");
        let links = StateLinks::make(&state, [folder.path().join("links")]).expect("links");
        fs::remove_file(&log).expect("it is there");
        fs::write(&log, "other").expect("room");
        assert!(links.has_lost(&log));
        let aside = folder.path().join("aside");
        links.put_back(&log, |path| fs::rename(path, &aside)).expect("links");
        assert_eq!(fs::read_to_string(&log).expect("a file"), "mine");
        assert_eq!(fs::read_to_string(&aside).expect("a file"), "other");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_put_back_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, other) = (folder.path().join(".planwright"), folder.path().join("other"));
        let log = state.join("runs/1/run.journal");
        fs::create_dir_all(state.join("runs/1")).expect("a folder");
        fs::create_dir(&other).expect("a folder");
        fs::write(&log, "log").expect("a file");
        let links = StateLinks::make(&state, [folder.path().join("links")]).expect("links");
        fs::remove_dir_all(state.join("runs")).expect("removed");
        std::os::unix::fs::symlink(&other, state.join("runs")).expect("a link");
        // As if the link had come after the path was cleared.
        assert!(links.put_all_back().is_err());
        assert!(links.put_back(&log, |_| Ok(())).is_err());
        assert_eq!(fs::read_dir(&other).expect("a folder").count(), 0);
        assert!(links.clear_the_way().expect("moved"));
        assert_eq!(links.put_all_back().expect("put back"), 1);
        assert_eq!(fs::read_to_string(&log).expect("a file"), "log");
    }
}
