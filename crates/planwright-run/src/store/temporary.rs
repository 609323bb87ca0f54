//! The new text of a plan in a temporary file: complete and durable before the rename. Also removes files of crashed writers.

use std::fs::Metadata;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::files::Files;

/// The lock's name in a file name if the writer holds no plan's lock.
pub(crate) const NO_LOCK: &str = "0000000000000000";

const PREFIX: &str = ".planwright-";
const SUFFIX: &str = ".tmp";

/// The age after which a temporary file belongs to no running writer.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// A file that will replace another.
#[must_use = "it must land or be discarded"]
pub(crate) struct TemporaryFile<'t> {
    path: PathBuf,
    text: &'t str,
}

impl<'t> TemporaryFile<'t> {
    /// Writes a text next to `target`, with the permissions of `metadata` and, if the system permits it, the owner.
    pub(crate) fn write(
        files: &dyn Files,
        target: &Path,
        metadata: &Metadata,
        plan: &str,
        text: &'t str,
    ) -> io::Result<Self> {
        let path = target.with_file_name(new_name(plan));
        let file = files.create_private(&path)?;
        let temporary = TemporaryFile { path, text };
        // Only the superuser can change owners. Otherwise the new file is ours, as with every editor.
        files.set_owner_like(&file, metadata).ok();
        let written = files
            .write(&file, text.as_bytes())
            .and_then(|()| files.set_permissions(&file, metadata.permissions()))
            .and_then(|()| files.sync(&file));
        match written {
            Ok(()) => Ok(temporary),
            Err(error) => {
                drop(file);
                temporary.discard(files);
                Err(error)
            }
        }
    }

    /// Replaces a file with the content `expected`, or is removed. Returns false if the file has another content: a program without a lock
    /// wrote to it after the last read, and its text is restored.
    pub(crate) fn land(self, files: &dyn Files, target: &Path, expected: &str) -> io::Result<bool> {
        let landed = match files.exchange(&self.path, target) {
            // The files were exchanged, so that the replaced one can still be compared.
            Ok(()) => match files.holds(&self.path, expected.as_bytes()) {
                Ok(true) => Ok(true),
                _ => return self.give_back(files, target),
            },
            Err(error) if cannot_exchange(&error) => {
                return match files.rename(&self.path, target) {
                    Ok(()) => Ok(true),
                    Err(error) => {
                        self.discard(files);
                        Err(error)
                    }
                };
            }
            Err(error) => Err(error),
        };
        self.discard(files);
        landed
    }

    /// Undoes the replacement of a file that had another content.
    fn give_back(self, files: &dyn Files, target: &Path) -> io::Result<bool> {
        files.exchange(&self.path, target)?;
        // If a program has replaced this text too, that program wins.
        if !matches!(files.holds(&self.path, self.text.as_bytes()), Ok(true)) {
            files.exchange(&self.path, target)?;
        }
        self.discard(files);
        Ok(false)
    }

    /// Removes it. If that fails, the next writer removes it.
    pub(crate) fn discard(self, files: &dyn Files) {
        files.remove(&self.path).ok();
    }
}

/// Returns whether files cannot be exchanged on this file system.
fn cannot_exchange(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::Unsupported, io::ErrorKind::InvalidInput];
    kinds.contains(&error.kind())
}

/// The temporary files of other plans in a folder. Most belong to active writers.
pub(crate) struct OtherTemporaries(Vec<PathBuf>);

impl OtherTemporaries {
    /// Removes those that are so old that their writers must have died. Our own new file shows the present time: the disk may be on another
    /// machine, with its own clock.
    pub(crate) fn remove_old(self, files: &dyn Files, own: &TemporaryFile<'_>) {
        let now = match &*self.0 {
            [] => return,
            _ => files.link_metadata(&own.path).and_then(|metadata| metadata.modified()),
        };
        let Ok(now) = now else {
            return;
        };
        let is_old = |path: &&PathBuf| {
            let metadata = files.link_metadata(path);
            metadata.is_ok_and(|metadata| metadata.is_file() && is_old(&metadata, now))
        };
        for path in self.0.iter().filter(is_old) {
            files.remove(path).ok();
        }
    }
}

/// Removes the temporary files of a plan in its folder, and returns those of other plans. No other writer can exist while we hold its lock,
/// so all of them go, whatever their age.
pub(crate) fn remove_litter(files: &dyn Files, folder: &Path, plan: &str) -> OtherTemporaries {
    let mut foreign = Vec::new();
    for name in files.list_folder(folder).unwrap_or_default() {
        let Some(writer) = name.to_str().and_then(writer_of) else {
            continue;
        };
        let path = folder.join(&name);
        let is_own = writer == plan && writer != NO_LOCK;
        match is_own && files.link_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            true => drop(files.remove(&path)),
            false => foreign.push(path),
        }
    }
    OtherTemporaries(foreign)
}

/// Returns what dead writers have left in a folder: files, and copies of workspaces. Recent ones, by the given time, may belong to a
/// running writer.
pub(crate) fn stale_temporaries(files: &dyn Files, folder: &Path, now: SystemTime) -> Vec<PathBuf> {
    let names = files.list_folder(folder).unwrap_or_default();
    let ours = names.iter().filter(|name| name.to_str().and_then(writer_of).is_some());
    let paths = ours.map(|name| folder.join(name));
    let is_stale = |path: &PathBuf| {
        let metadata = files.link_metadata(path);
        metadata.is_ok_and(|metadata| !metadata.is_symlink() && is_old(&metadata, now))
    };
    paths.filter(is_stale).collect()
}

pub(crate) fn is_temporary(name: &str) -> bool {
    writer_of(name).is_some()
}

fn is_old(metadata: &Metadata, now: SystemTime) -> bool {
    let modified = metadata.modified().ok();
    let age = modified.and_then(|modified| now.duration_since(modified).ok());
    age.is_some_and(|age| age > MAX_AGE)
}

/// Returns a unique name for a file that is removed or renamed at once. If its writer dies, the name marks it as a temporary file.
pub(crate) fn new_temporary_name() -> String {
    new_name(NO_LOCK)
}

/// Returns a unique name of plan, process and a random number.
pub(super) fn new_name(plan: &str) -> String {
    let chance = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{plan}-{}-{chance:016x}{SUFFIX}", std::process::id())
}

/// Returns the plan of a temporary file; none for other names.
fn writer_of(name: &str) -> Option<&str> {
    let inner = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let mut parts = inner.split('-');
    let (plan, pid, chance) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = is_hex(plan) && pid.parse::<u32>().is_ok() && is_hex(chance) && parts.next().is_none();
    is_ours.then_some(plan)
}

/// Returns the number of a file's hard links.
#[cfg(unix)]
pub(crate) fn n_hard_links(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.nlink()
}

/// Returns one: on other systems the standard library does not report it.
#[cfg(not(unix))]
pub(crate) fn n_hard_links(_metadata: &Metadata) -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::DiskFiles;

    #[test]
    fn only_planwrights_temporary_names_match() {
        assert_eq!(writer_of(&new_name(NO_LOCK)), Some(NO_LOCK));
        for name in [
            ".planwright-notes.tmp",
            ".planwright-",
            ".planwright-0000000000000000-1-0000000000000000",
            ".planwright-0000000000000000-x-0000000000000000.tmp",
            ".planwright-0000000000000000-1-000000000000000.tmp",
            ".planwright-0000000000000000-1-0000000000000000-2.tmp",
            "planwright-0000000000000000-1-0000000000000000.tmp",
        ] {
            assert_eq!(writer_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_file_written_at_the_last_moment_is_kept() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("plan.json");
        for (found, expected, landed) in [
            ("old", "old", true),
            ("theirs", "old", false),
            ("old and more", "old", false),
        ] {
            std::fs::write(&path, found).expect("written");
            let metadata = std::fs::metadata(&path).expect("metadata");
            let temporary = TemporaryFile::write(&DiskFiles, &path, &metadata, NO_LOCK, "new").expect("written");
            // If files cannot be exchanged, only an earlier read can detect the change.
            let can_exchange = cfg!(any(target_os = "linux", target_vendor = "apple"));
            let came = temporary.land(&DiskFiles, &path, expected).expect("it lands or not");
            if can_exchange {
                assert_eq!(came, landed, "{found}");
                let text = std::fs::read_to_string(&path).expect("read");
                assert_eq!(text, if landed { "new" } else { found });
            }
            assert_eq!(std::fs::read_dir(folder.path()).expect("list").count(), 1);
        }
    }

    #[test]
    fn stale_temporary_files_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (own, other) = ("1111111111111111", "2222222222222222");
        let write = |name: &str, age: u64| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").expect("write");
            let time = SystemTime::now() - Duration::from_secs(age);
            let file = std::fs::File::options().write(true).open(&path).expect("open");
            file.set_modified(time).expect("time");
            path
        };
        let gone = [
            write(&new_name(own), 0),
            write(&new_name(other), 4_000),
            write(&new_name(NO_LOCK), 4_000),
        ];
        let kept = [
            write(&new_name(other), 3_000),
            write(&new_name(NO_LOCK), 3_000),
            write(".planwright-mine.tmp", 4_000),
            write("plan.json", 4_000),
        ];
        let nested = folder.path().join(new_name(own));
        std::fs::create_dir(&nested).expect("folder");
        let foreign = remove_litter(&DiskFiles, folder.path(), own);
        assert!(!gone[0].exists() && gone[1].exists());
        let temporary = TemporaryFile {
            path: write(&new_name(own), 0),
            text: "",
        };
        foreign.remove_old(&DiskFiles, &temporary);
        assert!(gone.iter().all(|path| !path.exists()));
        assert!(kept.iter().chain([&nested, &temporary.path]).all(|path| path.exists()));
        temporary.discard(&DiskFiles);
    }

    #[test]
    fn the_age_of_files_is_measured_by_the_disks_clock() {
        let folder = tempfile::tempdir().expect("temp folder");
        let plan = "1111111111111111";
        // A disk whose clock is two hours behind, and one that is two hours ahead.
        let (now, hours) = (SystemTime::now(), Duration::from_secs(7_200));
        for disk in [now - hours, now + hours] {
            let written = |name: String, age: u64| {
                let path = folder.path().join(name);
                std::fs::write(&path, "").expect("write");
                let file = std::fs::File::options().write(true).open(&path).expect("open");
                file.set_modified(disk - Duration::from_secs(age)).expect("time");
                path
            };
            let (living, dead) = (written(new_name(NO_LOCK), 1), written(new_name(NO_LOCK), 4_000));
            let foreign = remove_litter(&DiskFiles, folder.path(), plan);
            let temporary = TemporaryFile {
                path: written(new_name(plan), 0),
                text: "",
            };
            foreign.remove_old(&DiskFiles, &temporary);
            assert!(living.exists() && !dead.exists());
            std::fs::remove_file(living).expect("ours");
            temporary.discard(&DiskFiles);
        }
    }
}
