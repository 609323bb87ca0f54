//! Injects faults into the real binary for tests: a kill, a torn write, an error, a clock jump, another process. A step changes
//! something outside.
//!
//! Faults exist only with the feature `crash-points` and debug assertions, which no release has. Without them a step does
//! nothing.

#[cfg(all(feature = "crash-points", debug_assertions, unix))]
mod armed;

#[cfg(all(feature = "crash-points", debug_assertions, unix))]
pub use armed::{
    clock_rate, clock_shift, companion_ended, companion_started, fast, fast_date, point, started, step, write,
};

#[cfg(not(all(feature = "crash-points", debug_assertions, unix)))]
pub use unarmed::{
    clock_rate, clock_shift, companion_ended, companion_started, fast, fast_date, point, started, step, write,
};

#[cfg(not(all(feature = "crash-points", debug_assertions, unix)))]
mod unarmed {
    use std::io;
    use std::time::{Duration, Instant};

    #[inline(always)]
    pub fn step(_name: &'static str) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    pub fn point(_name: &'static str) {}

    #[inline(always)]
    pub fn started(_process: &std::process::Child) {}

    #[inline(always)]
    pub fn companion_started(_process: &std::process::Child) {}

    #[inline(always)]
    pub fn companion_ended(_process: &std::process::Child) {}

    #[inline(always)]
    pub fn write(bytes: &[u8], write: impl Fn(&[u8]) -> io::Result<()>) -> io::Result<()> {
        write(bytes)
    }

    #[inline(always)]
    pub fn clock_shift() -> i64 {
        0
    }

    #[inline(always)]
    pub fn clock_rate() -> u32 {
        1
    }

    #[inline(always)]
    pub fn fast(real: Instant) -> Instant {
        real
    }

    #[inline(always)]
    pub fn fast_date(real: Duration) -> Duration {
        real
    }
}
