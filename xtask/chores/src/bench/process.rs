//! The cost of a process: its wall-clock time, and its own CPU time without its child processes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessTime {
    pub(crate) wall: Duration,
    /// User and system time of the process alone; none if the system does not report it.
    pub(crate) own_cpu: Option<Duration>,
}

/// Runs a command to its end; one that fails is an error.
pub(crate) fn spent(command: &mut Command) -> anyhow::Result<ProcessTime> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let own_cpu = own_cpu_at_end(child.id());
    let wall = start.elapsed();
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "{command:?} failed: {status}");
    Ok(ProcessTime { wall, own_cpu })
}

/// Waits until a child process has ended, and reads its CPU time before the system discards it.
///
/// What the system reports later includes the child's own children, which these benchmarks do not measure.
#[cfg(target_os = "linux")]
fn own_cpu_at_end(pid: u32) -> Option<Duration> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    let id = WaitId::Pid(Pid::from_raw(pid.cast_signed())?);
    while let Err(rustix::io::Errno::INTR) = waitid(id.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {}
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks = own_ticks(&line)?;
    Some(Duration::from_secs_f64(
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64,
    ))
}

#[cfg(not(target_os = "linux"))]
fn own_cpu_at_end(_pid: u32) -> Option<Duration> {
    None
}

/// Returns the user and system time of a line of `/proc/PID/stat`: the 14th and 15th field. The name before them may contain
/// anything.
#[cfg(target_os = "linux")]
fn own_ticks(line: &str) -> Option<u64> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[derive(Clone, Copy)]
pub(crate) struct CommandCost {
    pub(crate) milliseconds: f64,
    /// Peak memory.
    pub(crate) kib: f64,
}

/// Runs planwright in a separate process that reports its peak memory.
pub(crate) fn measured(folder: &Path, args: &[&str]) -> anyhow::Result<CommandCost> {
    let start = Instant::now();
    let out = Command::new(std::env::current_exe()?)
        .arg("measure")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
    let text = String::from_utf8_lossy(&out.stderr);
    anyhow::ensure!(out.status.success(), "{args:?} failed: {text}");
    let kib = reported_peak(&text)?;
    Ok(CommandCost { milliseconds, kib })
}

/// Returns the peak memory in KiB that a process reported.
pub(crate) fn reported_peak(text: &str) -> anyhow::Result<f64> {
    let peak = text.lines().rev().find_map(|line| line.strip_prefix("peak "));
    Ok(peak.context("no peak was reported")?.parse()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn time_of_child_processes_is_not_counted() {
        let line = "42 (a) b) S 1 2 3 0 -1 4194560 1 2 3 4 50 7 900 800 20 0 1 0 123456 5 6";
        assert_eq!(own_ticks(line), Some(57));
        assert_eq!(own_ticks("42 (a"), None);
    }

    #[test]
    fn a_process_that_fails_is_an_error() {
        assert!(spent(&mut Command::new("/bin/false")).is_err());
        let spent = spent(&mut Command::new("/bin/true")).expect("it succeeds");
        assert!(
            spent
                .own_cpu
                .is_some_and(|own| own <= spent.wall + Duration::from_millis(10))
        );
    }
}
