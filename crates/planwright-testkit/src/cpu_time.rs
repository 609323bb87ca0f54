//! Processor time of the calling thread: measures of growth that other processes on the machine do not disturb.

use std::time::Duration;

/// A stopwatch that runs only while the calling thread computes.
#[derive(Clone, Copy, Debug)]
pub struct CpuStopwatch {
    start: Duration,
}

impl CpuStopwatch {
    /// Starts it.
    pub fn start() -> Self {
        CpuStopwatch { start: now() }
    }

    /// Returns the processor time that this thread used since the start.
    pub fn elapsed(&self) -> Duration {
        now().saturating_sub(self.start)
    }
}

#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(unix))]
fn now() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;

    static SINCE: LazyLock<Instant> = LazyLock::new(Instant::now);
    SINCE.elapsed()
}
