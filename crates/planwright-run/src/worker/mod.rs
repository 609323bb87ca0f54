//! Runs local processes: starts them in groups of their own, keeps their output in logs, watches their limits, and ends them with
//! everything they started. Does not know plans, agents or the meaning of an exit status.
//!
//! There is one loop, in [`Workers::wait`], and no thread per process. What belongs to a process is found in the process table by
//! parents, groups and sessions, and by a [`ProcessMark`] in the environment, which also finds what left its group and lost its
//! parent. Where there is no `/proc` (macOS) only the process group is ended, and nothing is found after a crash. A process that
//! clears its environment, leaves its session and loses its parent before the table is read is found only on Linux, by
//! [`Workers::sole`], whose child it becomes.

mod environment;

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod events;
#[cfg(unix)]
mod launch;
#[cfg(unix)]
mod log;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod process_tree;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod recent;
#[cfg(unix)]
mod running;
#[cfg(not(unix))]
mod unsupported;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::fence::{Fence, TemporaryFolders};
use crate::redaction::Redaction;

pub(crate) use environment::{DEFAULT_ALLOWED, allowed_environment};
#[cfg(unix)]
pub use events::{Waker, Workers};
#[cfg(unix)]
pub(crate) use process_tree::values_of;
#[cfg(unix)]
pub use process_tree::{end, orphans};
#[cfg(unix)]
pub use processes::is_alive;
#[cfg(unix)]
pub(crate) use processes::own_start_time;
#[cfg(not(unix))]
pub use unsupported::{UnsupportedWaker as Waker, UnsupportedWorkers as Workers, end, is_alive, orphans};
#[cfg(not(unix))]
pub(crate) use unsupported::{own_start_time, values_of};

/// The size limit of [`EndedProcess::tail`], in bytes.
pub const TAIL_BYTES: usize = 8 * 1024;

/// The size limit of a line in [`WorkerEvent::Line`], in bytes.
pub const LINE_BYTES: usize = 400;

/// The smallest cap of a log; a smaller one is raised to this.
pub const MIN_LOG_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// The program and its arguments, without a shell. A name without a slash is searched in the `PATH` of `environment`; a relative path
    /// is relative to `folder`.
    pub arguments: Vec<OsString>,
    pub folder: PathBuf,
    /// Its whole environment, except the mark. See [`allowed_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// The variables that mark its descendants.
    pub mark: ProcessMark,
    pub stdin: Stdin,
    /// The log of its standard output and standard error, in the order in which they arrive. An existing file is replaced, a missing folder
    /// is created. A process that writes nothing has no log.
    pub log: PathBuf,
    /// The size limit of the log. Of longer output the beginning and the end are kept, with a line in between that says how much was
    /// omitted. A reader that follows a log restarts when it has become shorter.
    pub max_log_bytes: u64,
    /// The redaction of its output before that is logged or reported.
    pub redaction: Redaction,
    /// Whether all of its output is also reported, by [`WorkerEvent::Output`].
    pub streams_output: bool,
    pub limits: ProcessLimits,
    pub fence: Option<Fence>,
}

/// When a process is ended, and how much time it has for that.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessLimits {
    pub wall: Option<Duration>,
    /// The longest time without output.
    pub silence: Option<Duration>,
    /// The time between the first signal and the kill. At most a day.
    pub grace: Duration,
}

impl ProcessSpec {
    /// Gives its fence, if it has one, a folder for temporary files.
    pub fn give_temporary(&mut self, temporary: &mut TemporaryFolders, key: u64) -> Result<(), StartError> {
        let Some(fence) = &mut self.fence else {
            return Ok(());
        };
        let program = self.arguments.first().cloned().unwrap_or_default();
        let made = temporary.make(key).and_then(|folder| {
            fence.give_temporary(folder);
            fence.private_home(&self.environment)
        });
        let own = made.map_err(|source| StartError::Refused { program, source })?;
        self.environment.extend(own);
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// No input: end of file at once.
    Nothing,
    /// These bytes, through a pipe.
    Bytes(Vec<u8>),
}

/// Environment variables that mark the descendants of a process, even in other groups.
///
/// A process has the mark if it was started with all of these variables. No process has an empty mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessMark {
    variables: Vec<(OsString, OsString)>,
}

impl ProcessMark {
    /// Creates a mark from variables that together are unique to a run.
    pub fn new<Name: Into<OsString>, Value: Into<OsString>>(
        variables: impl IntoIterator<Item = (Name, Value)>,
    ) -> Self {
        let pair = |(name, value): (Name, Value)| (name.into(), value.into());
        Self {
            variables: variables.into_iter().map(pair).collect(),
        }
    }

    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// A started process, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnedProcess {
    pub pid: u32,
    /// Its start time by the system; see [`Process::start_time`].
    pub start_time: String,
}

/// The identity of a process, which a later one with the same id does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Its start time in the system's own format, only for comparison. Empty if the system does not report it; then it equals none.
    pub start_time: String,
    /// Its command line for people, shortened.
    pub command: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopManner {
    /// It is terminated, and killed after its grace.
    Politely,
    AtOnce,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerEvent {
    /// It wrote output. Reported a few times per second at most.
    Line {
        key: u64,
        /// The last line, possibly incomplete: at most [`LINE_BYTES`], lossily decoded. It may contain escape sequences.
        line: String,
    },
    /// It wrote these bytes. Reported in order, and before [`WorkerEvent::Ended`].
    Output {
        key: u64,
        /// Lines and characters may be split.
        bytes: Vec<u8>,
    },
    /// It has ended, and after a limit or a cancellation everything that it started has ended too.
    Ended(EndedProcess),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedProcess {
    pub key: u64,
    pub exit: ProcessExit,
    pub cause: EndCause,
    pub duration: Duration,
    /// The size of its output, including omitted parts.
    pub n_bytes: u64,
    /// The last [`TAIL_BYTES`] of its output.
    pub tail: Vec<u8>,
    pub log_was_cut: bool,
    /// Why the log is incomplete, as when the disk was full.
    pub log_error: Option<String>,
    /// Whether a process that it started still exists: one holds the output open, is in the process group, or could not be ended.
    /// [`orphans`] finds it.
    pub was_outlived: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
    /// Unknown. The process was killed and still exists, as when it waits for a disk that does not answer. Or planwright was started by a
    /// program that ignores the ends of its children, so that the system drops their status.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    Itself,
    /// [`ProcessLimits::wall`].
    WallLimit,
    /// [`ProcessLimits::silence`].
    Silence,
    /// [`Workers::cancel`].
    Cancelled,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("no program is given")]
    NoProgram,
    #[error("a process with the key {0} is still running")]
    KeyInUse(u64),
    #[error("the program `{}` was not found{}", .program.display(), searched(.path.as_deref()))]
    NotFound { program: OsString, path: Option<OsString> },
    #[error("there is no folder `{}` to start a program in", .0.display())]
    NoFolder(PathBuf),
    #[error("the log `{}` cannot be made", .path.display())]
    Log {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the program `{}` cannot be started", .program.display())]
    Refused {
        program: OsString,
        #[source]
        source: io::Error,
    },
}

impl StartError {
    /// Returns whether the machine is temporarily short of a resource: processes, open files, memory.
    pub(crate) fn is_shortage(&self) -> bool {
        let (StartError::Log { source, .. } | StartError::Refused { source, .. }) = self else {
            return false;
        };
        is_shortage(source)
    }
}

/// Returns whether the system refused a resource that it may grant later.
#[cfg(unix)]
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let short = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    short
        .iter()
        .any(|short| error.raw_os_error() == Some(short.raw_os_error()))
}

/// Returns whether the system refused a resource that it may grant later.
#[cfg(not(unix))]
pub(crate) fn is_shortage(_error: &io::Error) -> bool {
    false
}

fn searched(path: Option<&OsStr>) -> String {
    path.map_or_else(String::new, |_| " on `PATH`".to_owned())
}
