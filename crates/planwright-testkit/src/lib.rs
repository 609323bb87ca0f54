//! Shared code of planwright's tests. Not shipped.

pub mod conformance;
#[cfg(unix)]
pub mod contention;
pub mod cpu_time;
pub mod generate;
pub mod judge;
pub mod loopback;
pub mod model_server;
pub mod module_headers;
pub mod patches;
pub mod sample_dialect;
pub mod samples;
pub mod scripted_agent;
#[cfg(target_os = "linux")]
pub mod torture;
pub mod wiring;

use std::io;
use std::path::{Path, PathBuf};

/// A temporary folder, removed at the end of the test.
pub struct TempFolder {
    folder: tempfile::TempDir,
}

impl TempFolder {
    /// Creates an empty folder.
    pub fn new() -> io::Result<Self> {
        Ok(TempFolder {
            folder: tempfile::tempdir()?,
        })
    }

    /// Creates an empty folder in memory if the system supports that: for thousands of small files.
    pub fn in_memory() -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        match tempfile::tempdir_in(memory) {
            Ok(folder) => Ok(TempFolder { folder }),
            Err(_) => TempFolder::new(),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, creates its folders, and returns its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

/// A process id that no process has.
pub const NO_PROCESS: u32 = 4_000_000;

/// Makes the lock of a run that a test holds name another process, so that the commands of the test are no attempts of that run.
pub fn lend_run_lock(plan_lock: &Path) -> io::Result<()> {
    let path = plan_lock.with_extension("lock.run");
    let text = std::fs::read_to_string(&path)?;
    let own = format!("\"pid\":{}", std::process::id());
    std::fs::write(&path, text.replace(&own, &format!("\"pid\":{NO_PROCESS}")))
}

/// Returns the root of planwright's repository.
pub fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Returns the corpus of real plans if it is next to the checkout, and prints a note if not.
#[expect(clippy::print_stderr, reason = "a skipped test must say that it was skipped")]
pub fn corpus(test: &str) -> Option<PathBuf> {
    let corpus = repository().parent()?.join("shared/corpus");
    if corpus.is_dir() {
        return Some(corpus);
    }
    eprintln!("{test}: skipped, there is no corpus beside this checkout");
    None
}
