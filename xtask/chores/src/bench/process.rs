//! What a process took: its time by the clock, and what it spent of the processor itself, without those that it started.

use std::process::Command;
use std::time::{Duration, Instant};

/// What a process took from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    /// The processor's time of the process alone, user and system; none where the system does not tell it.
    pub(crate) own_cpu: Option<Duration>,
}

/// Runs a command to its end; one that fails is an error.
pub(crate) fn spent(command: &mut Command) -> anyhow::Result<Spent> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let own_cpu = own_cpu_at_end(child.id());
    let wall = start.elapsed();
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "{command:?} failed: {status}");
    Ok(Spent { wall, own_cpu })
}

/// Waits until a child is over, and asks what it spent before the system forgets it.
///
/// What the system tells after that has the child's own children in it, which is all that these benchmarks are not about.
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

/// Returns the user and system time of a line of the process table: the 14th and 15th field. The name before them may hold
/// anything.
#[cfg(target_os = "linux")]
fn own_ticks(line: &str) -> Option<u64> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
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
