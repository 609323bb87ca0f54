//! One writer at a time, by a lock of the operating system. It ends with its holder; the lock file is never removed.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
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
        let locked = match file.try_lock() {
            Ok(()) => Some(file),
            Err(std::fs::TryLockError::WouldBlock) => {
                wait_for(file, patience.saturating_sub(start.elapsed())).map_err(failed)?
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
        };
        match locked {
            // Another process may have removed the file (`git clean`) before it was locked. Then this lock excludes no process.
            Some(file) if is_at(files, &file, path) => {
                sign(files, &file, me).map_err(failed)?;
                return Ok(PlanLock { file });
            }
            _ if start.elapsed() < patience => {}
            _ => {
                let holder = holder_of(files, path);
                let waited = start.elapsed();
                return Err(LockError::Held { holder, waited });
            }
        }
    }
}

/// Waits until a file is locked; none after `patience`. The system gives a lock to the waiting processes in their order. A process
/// that only tried now and then would be overtaken again and again by those that come later.
fn wait_for(file: File, patience: Duration) -> io::Result<Option<File>> {
    if patience.is_zero() {
        return Ok(None);
    }
    let (granted, wait) = mpsc::channel();
    // After the patience, nothing receives the file: the thread drops it as soon as it is locked, which unlocks it.
    std::thread::Builder::new().spawn(move || {
        let locked = file.lock().map(|()| file);
        granted.send(locked).ok();
    })?;
    match wait.recv_timeout(patience) {
        Ok(locked) => locked.map(Some),
        Err(_) => Ok(None),
    }
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::sync::Mutex;

    use super::*;
    use crate::files::DiskFiles;

    #[test]
    fn waiting_processes_get_the_lock_in_their_order() {
        const N_WAITERS: usize = 12;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.lock");
        let me = LockHolder::new("test".to_owned(), String::new());
        let minute = Duration::from_secs(60);
        let held = acquire(&DiskFiles, &path, &me, minute).expect("the lock is free");
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for n in 0..N_WAITERS {
                let (order, path, me) = (&order, &path, &me);
                scope.spawn(move || {
                    let _lock = acquire(&DiskFiles, path, me, minute).expect("the lock in its turn");
                    order.lock().expect("no panic").push(n);
                });
                while n_waiting(path) <= n {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            drop(held);
        });
        let order = order.into_inner().expect("no panic");
        assert_eq!(order, (0..N_WAITERS).collect::<Vec<_>>());
    }

    /// Returns how many threads and processes wait for the lock of a file, as the kernel lists them.
    fn n_waiting(path: &Path) -> usize {
        let inode = format!(":{} ", fs::metadata(path).expect("a file").ino());
        let locks = fs::read_to_string("/proc/locks").expect("the kernel lists its locks");
        locks
            .lines()
            .filter(|line| line.contains("->") && line.contains(&inode))
            .count()
    }
}
