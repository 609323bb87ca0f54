//! Folders that are reached without links. A task that shares a folder with a run may replace any folder by a link at any time. Files
//! opened or created here stay in the folder that was found. On systems that cannot hold folders open, paths are used.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, open, openat, renameat};
#[cfg(unix)]
use rustix::io::Errno;

use super::{OpenOwn, STATE_FOLDER};

pub(crate) struct RealFolder {
    #[cfg(unix)]
    folder: std::os::fd::OwnedFd,
}

/// Whether to create missing folders on the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolders {
    Made,
    AnError,
}

#[cfg(unix)]
impl RealFolder {
    /// Opens the folder of a file of planwright's own. In a state folder, refuses a link on the path.
    pub(super) fn above(path: &Path) -> io::Result<Self> {
        let (root, below) = split_at_state(path);
        RealFolder::enter(root, below, MissingFolders::AnError)
    }

    /// Opens the folder of a file of planwright's own, and creates its missing parts. In a state folder, refuses a link on the path.
    pub(crate) fn make_above(path: &Path) -> io::Result<Self> {
        let (root, below) = split_at_state(path);
        if below.as_os_str().is_empty() {
            std::fs::create_dir_all(root)?;
        }
        RealFolder::enter(root, below, MissingFolders::Made)
    }

    /// Opens a folder whose path is resolved, and creates its missing parts. Refuses a link on the path.
    pub(crate) fn make_resolved(folder: &Path) -> io::Result<Self> {
        let root = Path::new("/");
        RealFolder::make(root, folder.strip_prefix(root).map_err(io::Error::other)?)
    }

    /// Opens a folder below another one, and creates its missing parts. Refuses a link on the path.
    pub(crate) fn make(root: &Path, below: &Path) -> io::Result<Self> {
        RealFolder::enter(root, below, MissingFolders::Made)
    }

    fn enter(root: &Path, below: &Path, missing: MissingFolders) -> io::Result<Self> {
        // A folder on the path need not be readable, if the system does not require that.
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = open(root, flags, Mode::empty())?;
        for name in below.iter() {
            let enter = || openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty());
            let entered = match enter() {
                Err(Errno::NOENT) if missing == MissingFolders::Made => {
                    match mkdirat(&folder, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                        Ok(()) | Err(Errno::EXIST) => enter(),
                        Err(error) => Err(error),
                    }
                }
                entered => entered,
            };
            folder = entered?;
        }
        Ok(RealFolder { folder })
    }

    /// Opens the file named by `path` in this folder. Follows no link, and waits for no pipe.
    pub(super) fn open(&self, path: &Path, how: OpenOwn) -> io::Result<File> {
        let flags = match how {
            OpenOwn::ToRead => OFlags::RDONLY,
            OpenOwn::ToAppend => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
            OpenOwn::Shared => OFlags::RDWR | OFlags::CREATE,
            OpenOwn::Emptied => OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC,
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.folder, name_of(path), flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Links a file to the name of `path` in this folder.
    pub(crate) fn link(&self, file: &Path, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, file, &self.folder, name_of(path), AtFlags::empty())?)
    }

    /// Creates a new file with the name of `path`.
    pub(crate) fn create_new(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&self.folder, name_of(path), flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Renames a file in this folder, and replaces the target.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(renameat(&self.folder, name_of(from), &self.folder, name_of(to))?)
    }
}

#[cfg(unix)]
fn name_of(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or_default()
}

/// Splits the folder of a path into the parent of its state folder, and the path from there. The parent is the user's, who may use links.
/// The second part is empty if there is no state folder.
fn split_at_state(path: &Path) -> (&Path, &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let state = folder.ancestors().find(|above| above.ends_with(STATE_FOLDER));
    match state.and_then(Path::parent) {
        Some(root) if root.as_os_str().is_empty() => (Path::new("."), folder),
        Some(root) => (root, folder.strip_prefix(root).unwrap_or(Path::new(""))),
        None => (folder, Path::new("")),
    }
}

/// Returns the link by which an own file must not be reached: the file itself, or the first one in its state folder.
pub(super) fn link_on_the_way(path: &Path) -> Option<PathBuf> {
    let (_, below) = split_at_state(path);
    let own = path.ancestors().take(below.iter().count() + 1);
    own.filter(|own| own.is_symlink()).last().map(Path::to_owned)
}

#[cfg(not(unix))]
#[expect(clippy::unused_self, reason = "the paths are all there is")]
impl RealFolder {
    pub(super) fn above(_path: &Path) -> io::Result<Self> {
        Ok(RealFolder {})
    }

    pub(crate) fn make_above(path: &Path) -> io::Result<Self> {
        let (root, below) = split_at_state(path);
        RealFolder::make(root, below)
    }

    pub(crate) fn make_resolved(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder).map(|()| RealFolder {})
    }

    pub(crate) fn make(root: &Path, below: &Path) -> io::Result<Self> {
        RealFolder::make_resolved(&root.join(below))
    }

    pub(super) fn open(&self, path: &Path, how: OpenOwn) -> io::Result<File> {
        let mut options = std::fs::OpenOptions::new();
        match how {
            OpenOwn::ToRead => options.read(true),
            OpenOwn::ToAppend => options.append(true).create(true),
            OpenOwn::Shared => options.read(true).write(true).create(true).truncate(false),
            OpenOwn::Emptied => options.read(true).write(true).create(true).truncate(true),
        };
        options.open(path)
    }

    pub(crate) fn link(&self, file: &Path, path: &Path) -> io::Result<()> {
        std::fs::hard_link(file, path)
    }

    pub(crate) fn create_new(&self, path: &Path) -> io::Result<File> {
        File::create_new(path)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::files::{open_own, write_own};
    use std::fs;

    #[test]
    fn the_state_folder_divides_a_path_into_the_users_part_and_our_own() {
        let split = |path: &str| {
            let (root, below) = split_at_state(Path::new(path));
            (root.display().to_string(), below.display().to_string())
        };
        let own = |root: &str, below: &str| (root.to_owned(), below.to_owned());
        assert_eq!(split("/a/.planwright/runs/1/log"), own("/a", ".planwright/runs/1"));
        assert_eq!(split(".planwright/log"), own(".", ".planwright"));
        assert_eq!(
            split("/a/.planwright/b/.planwright/log"),
            own("/a/.planwright/b", ".planwright")
        );
        assert_eq!(split("/tmp/x/log"), own("/tmp/x", ""));
        assert_eq!(split("log"), own(".", ""));
    }

    #[test]
    fn own_files_are_not_opened_through_a_link_in_the_state_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let [project, other, linked] = ["project", "other", "linked"].map(|name| folder.path().join(name));
        let runs = project.join(".planwright/runs");
        fs::create_dir_all(&runs).expect("a folder");
        fs::create_dir(&other).expect("a folder");
        std::os::unix::fs::symlink(&project, &linked).expect("a link");
        // The user's own link to the project is followed.
        write_own(&linked.join(".planwright/runs/log"), b"log").expect("a file");
        assert_eq!(fs::read(runs.join("log")).expect("a file"), b"log");
        fs::rename(&runs, project.join("aside")).expect("renamed");
        std::os::unix::fs::symlink(&other, &runs).expect("a link");
        for how in [OpenOwn::ToAppend, OpenOwn::Shared, OpenOwn::Emptied] {
            let error = open_own(&runs.join("log"), how).expect_err("a link");
            let expected = format!("`{}` is a link, and is not followed", runs.display());
            assert_eq!(error.to_string(), expected);
        }
        assert!(RealFolder::make_above(&runs.join("1/attempts/log")).is_err());
        assert_eq!(fs::read_dir(&other).expect("a folder").count(), 0);
    }
}
