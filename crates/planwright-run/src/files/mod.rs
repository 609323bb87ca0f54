//! The file system as a few operations, so that tests can fail each of them. Does not know plans.

mod real_folder;

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::fs::OFlags;

use crate::faults;

pub(crate) use real_folder::RealFolder;

/// The folder of a workspace that holds what planwright knows beyond the plans.
pub const STATE_FOLDER: &str = ".planwright";

/// File operations of the store and the journal. Each change is one system call, or close to it: a crash can happen between any two.
pub trait Files {
    /// Returns the path without links and dots.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;
    /// Returns the metadata of a file. Follows links.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    fn link_metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// Reads a file, up to a number of bytes.
    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>>;
    fn holds(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        Ok(self.read(path, bytes.len() as u64 + 1)? == bytes)
    }
    fn list_folder(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Creates a folder; fails if the path exists.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// Creates a file that only its owner may read; fails if the path exists.
    fn create_private(&self, path: &Path) -> io::Result<File>;
    /// Opens a file for appending, and creates it if it is missing. Follows no link.
    fn open_append(&self, path: &Path) -> io::Result<File>;
    /// Opens a file for reading and writing, and creates it if it is missing. Follows no link.
    fn open_shared(&self, path: &Path) -> io::Result<File>;
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, file: &File, n_bytes: u64) -> io::Result<()>;
    fn set_permissions(&self, file: &File, permissions: Permissions) -> io::Result<()>;
    /// Gives a file the owner and the group of another, if the system permits it.
    fn set_owner_like(&self, file: &File, model: &Metadata) -> io::Result<()>;
    /// Makes contents and metadata durable.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Makes contents durable, and the metadata needed to read them.
    fn sync_data(&self, file: &File) -> io::Result<()>;
    /// Renames a file atomically, and replaces the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Exchanges the names of two files atomically; fails if the system or the file system cannot.
    fn exchange(&self, _one: &Path, _other: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Renames a file to a name that must be free.
    fn name_anew(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable, if folders can be synced.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        std::fs::metadata(path)
    }

    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        std::fs::symlink_metadata(path)
    }

    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        let file = open_to_read(path)?;
        let n_bytes = file.metadata().map_or(0, |metadata| metadata.len()).min(max_bytes);
        let mut bytes = Vec::with_capacity(n_bytes as usize + 1);
        file.take(max_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn holds(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        let mut file = open_to_read(path)?;
        let mut buffer = [0; 32 * 1024];
        let mut rest = bytes;
        loop {
            let n_read = match file.read(&mut buffer) {
                Ok(n_read) => n_read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if n_read == 0 {
                return Ok(rest.is_empty());
            }
            match rest.strip_prefix(&buffer[..n_read]) {
                Some(unread) => rest = unread,
                None => return Ok(false),
            }
        }
    }

    fn list_folder(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect()
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        faults::step("create folder")?;
        std::fs::create_dir(folder)
    }

    fn create_private(&self, path: &Path) -> io::Result<File> {
        faults::step("create file")?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        faults::step("open to append")?;
        open_own(path, OpenOwn::ToAppend)
    }

    fn open_shared(&self, path: &Path) -> io::Result<File> {
        faults::step("open")?;
        open_own(path, OpenOwn::Shared)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        keep_below_limit(file, bytes.len())?;
        faults::write(bytes, |bytes| {
            let mut file = file;
            file.write_all(bytes)
        })
    }

    fn truncate(&self, file: &File, n_bytes: u64) -> io::Result<()> {
        faults::step("truncate")?;
        file.set_len(n_bytes)
    }

    fn set_permissions(&self, file: &File, permissions: Permissions) -> io::Result<()> {
        faults::step("set permissions")?;
        file.set_permissions(permissions)
    }

    #[cfg(unix)]
    fn set_owner_like(&self, file: &File, model: &Metadata) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        faults::step("set owner")?;
        let own = file.metadata()?;
        if own.gid() != model.gid() {
            fchown(file, None, Some(model.gid()))?;
        }
        if own.uid() != model.uid() {
            fchown(file, Some(model.uid()), None)?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn set_owner_like(&self, _file: &File, _model: &Metadata) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        faults::step("sync")?;
        file.sync_all()
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        faults::step("sync data")?;
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        faults::step("rename")?;
        std::fs::rename(from, to)
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        faults::step("exchange")?;
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        faults::step("remove")?;
        std::fs::remove_file(path)
    }

    fn name_anew(&self, from: &Path, to: &Path) -> io::Result<()> {
        faults::step("name anew")?;
        match rename_to_free(from, to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
            named => return named,
        }
        match std::fs::hard_link(from, to) {
            Ok(()) => {
                faults::point("named twice");
                std::fs::remove_file(from)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Some file systems have no hard links: there, a check must do.
            Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        faults::step("sync folder")?;
        if cfg!(unix) {
            File::open(folder)?.sync_all()
        } else {
            Ok(())
        }
    }
}

/// Renames atomically if the new name is free. A file never has both names, unlike after a crash between a link and the removal of the old
/// name: planwright changes no file with two names.
#[cfg(target_os = "linux")]
fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Fails: other systems, and some file systems, need other ways.
#[cfg(not(target_os = "linux"))]
fn rename_to_free(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens a file for reading. Refuses other entries without waiting for them: a pipe may have no other end.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags(OFlags::NONBLOCK));
    let file = options.open(path)?;
    match file.metadata()? {
        // Reading a folder returns its own error.
        metadata if metadata.is_file() || metadata.is_dir() => Ok(file),
        _ => Err(no_file()),
    }
}

/// Reads a file that other processes may have created. Refuses other entries without waiting for them.
pub fn read_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_to_read(path.as_ref())?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file that other processes may have created. Refuses other entries without waiting for them.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read_file(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads at most this many bytes from the end of a file. Returns their offset, too.
pub fn read_end(path: &Path, max_bytes: u64) -> io::Result<(u64, Vec<u8>)> {
    let mut file = open_to_read(path)?;
    let start = file.metadata()?.len().saturating_sub(max_bytes);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok((start, bytes))
}

/// Reads a file up to a number of bytes; refuses a longer one.
pub fn read_bounded(file: File, max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() > max_bytes {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {max_bytes} bytes"),
        )),
        false => Ok(bytes),
    }
}

/// How to open a file of planwright's own. A missing file is created, unless it is only read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpenOwn {
    ToRead,
    ToAppend,
    /// For reading and writing, with its content.
    Shared,
    /// For reading and writing, without its content.
    Emptied,
}

/// Opens a file of planwright's own. Refuses a link, also one in the state folder on the path: a stranger's checkout, or a task, could
/// point it to any file of the user. Refuses a pipe without waiting for its other end. Accepts devices: only the superuser creates them.
pub(crate) fn open_own(path: &Path, how: OpenOwn) -> io::Result<File> {
    let opened = RealFolder::above(path).and_then(|folder| folder.open(path, how));
    match opened {
        Ok(file) if is_file_or_device(&file.metadata()?) => Ok(file),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{}` is a pipe, not a file: remove it", path.display()),
        )),
        Err(error) => Err(match real_folder::link_on_the_way(path) {
            None => error,
            Some(link) => io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{}` is a link, and is not followed", link.display()),
            ),
        }),
    }
}

#[cfg(unix)]
fn is_file_or_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    metadata.is_file() || metadata.file_type().is_char_device()
}

/// Returns whether a pipe or a socket is in place of a file of planwright's own.
#[cfg(unix)]
pub(crate) fn is_pipe(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    found.file_type().is_fifo() || found.file_type().is_socket()
}

#[cfg(not(unix))]
pub(crate) fn is_pipe(_found: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_file_or_device(metadata: &Metadata) -> bool {
    metadata.is_file()
}

/// Writes a file of planwright's own, and replaces its content. Follows no link.
pub(crate) fn write_own(path: &Path, bytes: &[u8]) -> io::Result<()> {
    open_own(path, OpenOwn::Emptied)?.write_all(bytes)
}

#[cfg(unix)]
fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or_default()
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a file")
}

/// Refuses to write beyond the user's file size limit: the system would end the process with a signal instead of returning an error.
#[cfg(unix)]
fn keep_below_limit(file: &File, n_more: usize) -> io::Result<()> {
    let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current else {
        return Ok(());
    };
    let n_bytes = file.metadata()?.len().saturating_add(n_more as u64);
    if n_bytes <= limit {
        return Ok(());
    }
    let message = format!("it would have {n_bytes} bytes, and files may have up to {limit} here (ulimit -f)");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
}

/// Does nothing: other systems have no such limit.
#[cfg(not(unix))]
fn keep_below_limit(_file: &File, _n_more: usize) -> io::Result<()> {
    Ok(())
}

/// Gives the user access to a folder and everything below it, so that it can be removed: build tools make folders read-only.
#[cfg(unix)]
pub(crate) fn open_folders(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(entries.filter(is_folder).map(|entry| entry.path()));
    }
}

#[cfg(not(unix))]
pub(crate) fn open_folders(_folder: &Path) {}

#[cfg(unix)]
pub(crate) fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
pub(crate) fn symlink(_target: &Path, _at: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the free bytes for the user on the file system of a path; none if unknown.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Returns the free bytes for the user on the file system of a path; none if unknown.
#[cfg(not(unix))]
pub fn free_bytes(_path: &Path) -> Option<u64> {
    None
}
