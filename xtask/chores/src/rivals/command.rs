//! Runs one command of a tool with a time limit, and records its time, its exit status and its output.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::tools::{ENVIRONMENT, Tool};

/// The time limit of a command, which is then killed and has no answer.
pub(super) const LIMIT: Duration = Duration::from_secs(300);

/// An installed tool.
pub(super) struct Contender {
    pub(super) tool: &'static Tool,
    pub(super) program: PathBuf,
    /// The version that it reports.
    pub(super) version: String,
    /// A separate home folder, so that the user's settings have no effect.
    pub(super) home: PathBuf,
}

pub(super) struct Outcome {
    pub(super) took: Duration,
    /// Its exit status; none if it reached the time limit.
    pub(super) status: Option<ExitStatus>,
    /// Standard output and standard error.
    pub(super) output: String,
}

impl Outcome {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

impl Contender {
    /// Runs a command in a folder to its end.
    pub(super) fn run<A: AsRef<std::ffi::OsStr>>(&self, folder: &Path, args: &[A]) -> anyhow::Result<Outcome> {
        let output = self.home.join("said");
        let start = Instant::now();
        let mut child = self.spawn(folder, args, &File::create(&output)?)?;
        let status = wait(&mut child, start)?;
        let took = start.elapsed();
        let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
        Ok(Outcome {
            took,
            status,
            output: without_folder(&text, folder),
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
        // A process group of its own, so that its descendants can be killed with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(command.spawn()?)
    }
}

/// Waits for a command, and kills it at the time limit.
pub(super) fn wait(child: &mut Child, start: Instant) -> anyhow::Result<Option<ExitStatus>> {
    let pid = child.id();
    let (is_over, over) = mpsc::channel::<()>();
    // Another thread waits for the limit, so that this one returns as soon as the command ends.
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

/// Kills a command and its descendants.
#[cfg(target_os = "linux")]
fn end(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // It may have ended already.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Kills a command and its descendants with the system's `kill`.
#[cfg(not(target_os = "linux"))]
fn end(pid: u32) {
    let _ = Command::new("kill").args(["-9", &format!("-{pid}")]).status();
}

/// Returns output without the name of the folder, which is another one each time.
fn without_folder(text: &str, folder: &Path) -> String {
    text.replace(&*folder.to_string_lossy(), ".")
}
