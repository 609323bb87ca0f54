//! One writer at a time, by a lock of the operating system. It ends with its holder; the lock file is never removed.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::files::{Files, is_pipe, open_to_read};

/// The default time that a writer waits for another.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    pub pid: u32,
    pub verb: String,
    pub since: String,
    /// The namespace of its process id, if the system has namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<u64>,
}

impl LockHolder {
    pub fn new(verb: String, since: String) -> Self {
        LockHolder {
            pid: std::process::id(),
            verb,
            since,
            namespace: pid_namespace(),
        }
    }
}

/// Returns the PID namespace of this process; none if the system has none.
#[cfg(unix)]
pub(crate) fn pid_namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self/ns/pid").ok().map(|data| data.ino())
}

#[cfg(not(unix))]
pub(crate) fn pid_namespace() -> Option<u64> {
    None
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}", held(.holder.as_ref(), *.waited))]
    Held {
        holder: Option<LockHolder>,
        waited: Duration,
    },
    #[error("`{}` cannot be locked", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn held(holder: Option<&LockHolder>, waited: Duration) -> String {
    let waited = waited.as_secs_f64();
    match holder {
        Some(LockHolder { pid, verb, since, .. }) => {
            format!("process {pid} (`{verb}`) holds the lock since {since}; waited {waited:.1} s")
        }
        None => format!("another process holds the lock; waited {waited:.1} s"),
    }
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct PlanLock {
    file: File,
}

impl PlanLock {
    /// Returns a handle for a process that shares the lock: it is free after both have released it.
    pub(crate) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub(crate) fn sign(&self, files: &dyn Files, me: &LockHolder) -> io::Result<()> {
        sign(files, &self.file, me)
    }
}

/// Takes a lock, and waits for it at most `patience`. It excludes other threads of this process too: each opens the file for itself.
pub fn acquire(files: &dyn Files, path: &Path, me: &LockHolder, patience: Duration) -> Result<PlanLock, LockError> {
    let failed = |source| LockError::Io {
        path: path.to_owned(),
        source,
    };
    let start = Instant::now();
    loop {
        let file = match files.open_shared(path) {
            // A task put a pipe there. It has no content, and no process can lock it.
            Err(_) if files.link_metadata(path).is_ok_and(|found| is_pipe(&found)) => {
                files.remove(path).map_err(failed)?;
                files.open_shared(path).map_err(failed)?
            }
            opened => opened.map_err(failed)?,
        };
        match file.try_lock() {
            // Another process may have removed the file (`git clean`) before it was locked. Then this lock excludes no process.
            Ok(()) if is_at(files, &file, path) => {
                sign(files, &file, me).map_err(failed)?;
                return Ok(PlanLock { file });
            }
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
        let waited = start.elapsed();
        if waited >= patience {
            let holder = holder_of(files, path);
            return Err(LockError::Held { holder, waited });
        }
        std::thread::sleep(pause_after(waited).min(patience - waited));
    }
}

/// Returns how long to sleep after having waited for some time: 8 ms at first, 1 ms after a second, 0.1 ms after ten. A process that has
/// waited longer tries more often, so that later ones do not overtake it repeatedly.
fn pause_after(waited: Duration) -> Duration {
    let milliseconds = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    Duration::from_micros(1_000_000 / milliseconds.saturating_add(125))
}

/// Returns the present holder of a lock, without waiting and without creating anything.
pub(crate) fn held_by(files: &dyn Files, path: &Path) -> Option<LockHolder> {
    let file = open_to_read(path).ok()?;
    match file.try_lock_shared() {
        Err(std::fs::TryLockError::WouldBlock) => holder_of(files, path),
        _ => None,
    }
}

/// Writes the holder into the lock, for waiting processes.
fn sign(files: &dyn Files, file: &File, me: &LockHolder) -> io::Result<()> {
    let line = serde_json::to_string(me)? + "\n";
    files.truncate(file, 0)?;
    // After an earlier signature of this holder, the file position is behind that signature.
    (&*file).rewind()?;
    files.write(file, line.as_bytes())
}

/// Reads the holder of a lock; none if a locked file cannot be read, as on Windows.
fn holder_of(files: &dyn Files, path: &Path) -> Option<LockHolder> {
    let bytes = files.read(path, 4096).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(unix)]
fn is_at(files: &dyn Files, file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(own), Ok(there)) = (file.metadata(), files.metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// Returns true: on other systems an open file cannot be removed.
#[cfg(not(unix))]
fn is_at(_files: &dyn Files, _file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_process_has_waited_the_more_often_it_tries() {
        let pauses = [0, 100, 1_000, 9_999, u64::MAX].map(|waited| pause_after(Duration::from_millis(waited)));
        assert!(pauses.is_sorted_by(|before, after| before > after), "{pauses:?}");
        assert_eq!(pauses[0], Duration::from_millis(8));
    }
}
