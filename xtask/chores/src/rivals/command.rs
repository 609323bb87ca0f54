//! Runs one command of a tool: how long it took, how it ended, what it said. It has a limit of time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::tools::{ENVIRONMENT, Tool};

/// After this a command is ended, and has no answer.
pub(super) const LIMIT: Duration = Duration::from_secs(300);

/// A tool that is there.
pub(super) struct Contender {
    pub(super) tool: &'static Tool,
    pub(super) program: PathBuf,
    /// What it says of its version.
    pub(super) version: String,
    /// Its own home, so that the user's settings take no part.
    pub(super) home: PathBuf,
}

/// What came of a command.
pub(super) struct Outcome {
    pub(super) took: Duration,
    /// How it ended; none where it was ended for the time that it took.
    pub(super) status: Option<ExitStatus>,
    /// What it printed on both streams.
    pub(super) said: String,
}

impl Outcome {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

impl Contender {
    /// Runs a command in a folder to its end.
    pub(super) fn run<A: AsRef<std::ffi::OsStr>>(&self, folder: &Path, args: &[A]) -> anyhow::Result<Outcome> {
        let said = self.home.join("said");
        let start = Instant::now();
        let mut child = self.spawn(folder, args, &File::create(&said)?)?;
        let status = wait(&mut child, start)?;
        let took = start.elapsed();
        let text = String::from_utf8_lossy(&std::fs::read(&said)?).into_owned();
        Ok(Outcome {
            took,
            status,
            said: without_folder(&text, folder),
        })
    }

    /// Starts a command whose output goes into a file.
    pub(super) fn spawn<A: AsRef<std::ffi::OsStr>>(
        &self,
        folder: &Path,
        args: &[A],
        output: &File,
    ) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(folder)
            .envs(ENVIRONMENT.iter().copied())
            .env("HOME", &self.home)
            .env("DAGU_HOME", self.home.join("dagu"))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?);
        // What it starts itself is ended with it, where it has to be.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(command.spawn()?)
    }
}

/// Waits for a command, or ends it at the limit.
pub(super) fn wait(child: &mut Child, start: Instant) -> anyhow::Result<Option<ExitStatus>> {
    let pid = child.id();
    let (is_over, over) = mpsc::channel::<()>();
    // Another thread watches the clock, so that this one learns at once when the command is over.
    let watch = move || {
        let left = LIMIT.saturating_sub(start.elapsed());
        let is_late = over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
        if is_late {
            end(pid);
        }
        is_late
    };
    let watcher = std::thread::spawn(watch);
    let status = child.wait();
    drop(is_over);
    let is_late = watcher.join().unwrap_or(false);
    Ok(Some(status?).filter(|_| !is_late))
}

/// Ends a command and what it has started.
#[cfg(target_os = "linux")]
fn end(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // Where it is over by now, there is nothing to end.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Ends a command where the shell's own way is at hand.
#[cfg(not(target_os = "linux"))]
fn end(pid: u32) {
    let _ = Command::new("kill").args(["-9", &format!("-{pid}")]).status();
}

/// Returns what was said with the folder left out: it has another name each time.
fn without_folder(text: &str, folder: &Path) -> String {
    text.replace(&*folder.to_string_lossy(), ".")
}
