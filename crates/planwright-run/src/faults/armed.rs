//! Counts steps, and injects a fault at the step that the environment names.
//!
//! - `PLANWRIGHT_FAULT=KIND@STEP`, where the first step is number 0 and KIND is one of [`FaultKind`];
//! - `PLANWRIGHT_FAULT_COMMAND` is what `command` has `sh` do;
//! - `PLANWRIGHT_FAULT_LOG` names a file that gets a line for every step, and one with `!` where a fault struck.
//!
//! `PLANWRIGHT_CLOCK=RATE@SECONDS` has the clock run RATE times faster than the world since the given second after 1970. All processes
//! with the same value agree on the time of day.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    /// `kill`: the process is killed before the step.
    Kill,
    /// `tear`: half of a write arrives, and the process is killed.
    Tear,
    /// `short`: half of a write arrives, and the disk is full.
    Short,
    /// `full`: there is no room for this step.
    Full,
    /// `full-from`: there is no room from this step on.
    FullFrom,
    /// `io`: the device fails, as `fsync` reports it.
    Io,
    /// `command`: a shell command runs before the step.
    Command,
    /// `clock=SECONDS`: from this step on, the clock is off by this much.
    Clock(i64),
    /// `git-within=MICROSECONDS`: this long after the start of the step's git command, it is killed with its children, then the process.
    GitWithin(u64),
}

struct FaultPlan {
    kind: FaultKind,
    at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Fallible,
    /// It may fail, and it may be partly done.
    Write,
    /// It has happened, and cannot fail.
    Over,
}

static N_STEPS: AtomicU64 = AtomicU64::new(0);
static CLOCK_SHIFT: AtomicI64 = AtomicI64::new(0);

/// The process groups that stay while others run.
static COMPANIONS: Mutex<Vec<rustix::process::Pid>> = Mutex::new(Vec::new());

thread_local! {
    /// The microseconds after which the next process of this thread is killed.
    static GIT_DELAY: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Is called before a step that may fail.
pub fn step(name: &'static str) -> io::Result<()> {
    match struck(name, StepKind::Fallible) {
        None | Some(FaultKind::Command | FaultKind::Clock(_) | FaultKind::GitWithin(_)) => Ok(()),
        Some(FaultKind::Kill | FaultKind::Tear) => die(),
        Some(FaultKind::Short | FaultKind::Full | FaultKind::FullFrom) => Err(io::Error::from_raw_os_error(ENOSPC)),
        Some(FaultKind::Io) => Err(io::Error::from_raw_os_error(EIO)),
    }
}

/// Is called after a step, where the process may die and nothing can fail.
pub fn point(name: &'static str) {
    if let Some(FaultKind::Kill) = struck(name, StepKind::Over) {
        die();
    }
}

/// Is called after the start of a process that leads its own group. A fault here kills the group, the processes registered by [`companion_started`],
/// then this process.
pub fn started(process: &std::process::Child) {
    let micros = GIT_DELAY.with(|delay| delay.take());
    if let Some(micros) = micros {
        std::thread::sleep(Duration::from_micros(micros));
        let companions = COMPANIONS.lock().unwrap_or_else(PoisonError::into_inner);
        for group in companions
            .iter()
            .copied()
            .chain([rustix::process::Pid::from_child(process)])
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        die();
    }
}

/// Is called after the start of a process that stays while others run: a power cut ends it as well.
pub fn companion_started(process: &std::process::Child) {
    started(process);
    let mut companions = COMPANIONS.lock().unwrap_or_else(PoisonError::into_inner);
    companions.push(rustix::process::Pid::from_child(process));
}

/// Is called after the end of such a process.
pub fn companion_ended(process: &std::process::Child) {
    let gone = rustix::process::Pid::from_child(process);
    let mut companions = COMPANIONS.lock().unwrap_or_else(PoisonError::into_inner);
    companions.retain(|group| *group != gone);
}

pub fn write(bytes: &[u8], write: impl Fn(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
    match struck("write", StepKind::Write) {
        None | Some(FaultKind::Command | FaultKind::Clock(_) | FaultKind::GitWithin(_)) => write(bytes),
        Some(FaultKind::Kill) => die(),
        Some(FaultKind::Tear) => {
            write(half)?;
            die()
        }
        Some(FaultKind::Short) => {
            write(half)?;
            Err(io::Error::from_raw_os_error(ENOSPC))
        }
        Some(FaultKind::Full | FaultKind::FullFrom) => Err(io::Error::from_raw_os_error(ENOSPC)),
        Some(FaultKind::Io) => Err(io::Error::from_raw_os_error(EIO)),
    }
}

/// Returns by how many seconds the clock is off.
pub fn clock_shift() -> i64 {
    CLOCK_SHIFT.load(Ordering::Relaxed)
}

struct FastClock {
    rate: u32,
    /// The start of the faster clock, since 1970.
    since: Duration,
}

/// Returns how many times faster than real time the clock runs.
pub fn clock_rate() -> u32 {
    hurry().map_or(1, |hurry| hurry.rate)
}

/// Returns an instant of the faster clock.
pub fn fast(real: Instant) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| real);
    first + real.saturating_duration_since(first) * clock_rate()
}

/// Returns a date of the faster clock, since 1970.
pub fn fast_date(real: Duration) -> Duration {
    hurry().map_or(real, |hurry| {
        hurry.since + real.saturating_sub(hurry.since) * hurry.rate
    })
}

fn hurry() -> Option<&'static FastClock> {
    static HURRY: OnceLock<Option<FastClock>> = OnceLock::new();
    let read = || {
        let text = std::env::var("PLANWRIGHT_CLOCK").ok()?;
        let (rate, since) = text.split_once('@')?;
        Some(FastClock {
            rate: rate.parse().ok().filter(|rate| *rate > 0)?,
            since: Duration::from_secs(since.parse().ok()?),
        })
    };
    HURRY.get_or_init(read).as_ref()
}

/// Counts a step and returns its fault. Performs faults that only happen once.
fn struck(name: &str, step: StepKind) -> Option<FaultKind> {
    let number = N_STEPS.fetch_add(1, Ordering::SeqCst);
    // Steps that free space need none.
    let needs_room = !matches!(name, "truncate" | "remove");
    let kind = plan().and_then(|plan| plan.strikes(number, name, step, needs_room));
    note(name, step, kind.is_some());
    match kind {
        Some(FaultKind::Command) => run_command(),
        Some(FaultKind::Clock(seconds)) => CLOCK_SHIFT.store(seconds, Ordering::Relaxed),
        Some(FaultKind::GitWithin(micros)) => GIT_DELAY.with(|delay| delay.set(Some(micros))),
        _ => {}
    }
    kind
}

impl FaultPlan {
    fn strikes(&self, number: u64, name: &str, step: StepKind, needs_room: bool) -> Option<FaultKind> {
        let is_reached = match self.kind {
            FaultKind::FullFrom => number >= self.at,
            _ => number == self.at,
        };
        let is_possible = match self.kind {
            FaultKind::Kill | FaultKind::Command | FaultKind::Clock(_) => true,
            FaultKind::Tear | FaultKind::Short => step == StepKind::Write,
            FaultKind::Full | FaultKind::FullFrom => step != StepKind::Over && needs_room,
            FaultKind::Io => step != StepKind::Over,
            FaultKind::GitWithin(_) => name == "git",
        };
        (is_reached && is_possible).then_some(self.kind)
    }
}

fn plan() -> Option<&'static FaultPlan> {
    static PLAN: OnceLock<Option<FaultPlan>> = OnceLock::new();
    PLAN.get_or_init(|| parse(&std::env::var("PLANWRIGHT_FAULT").ok()?))
        .as_ref()
}

fn parse(text: &str) -> Option<FaultPlan> {
    let (kind, at) = text.split_once('@')?;
    let kind = match kind {
        "kill" => FaultKind::Kill,
        "tear" => FaultKind::Tear,
        "short" => FaultKind::Short,
        "full" => FaultKind::Full,
        "full-from" => FaultKind::FullFrom,
        "io" => FaultKind::Io,
        "command" => FaultKind::Command,
        _ => match kind.split_once('=')? {
            ("clock", seconds) => FaultKind::Clock(seconds.parse().ok()?),
            ("git-within", micros) => FaultKind::GitWithin(micros.parse().ok()?),
            _ => return None,
        },
    };
    let at = at.parse().ok()?;
    Some(FaultPlan { kind, at })
}

fn note(name: &str, step: StepKind, is_struck: bool) {
    let Some(path) = std::env::var_os("PLANWRIGHT_FAULT_LOG") else {
        return;
    };
    let kind = match step {
        StepKind::Fallible => "step",
        StepKind::Write => "write",
        StepKind::Over => "point",
    };
    let mark = if is_struck { "!" } else { "" };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        // The test that asked for it notices a missing line.
        let _ = file.write_all(format!("{mark}{kind} {name}\n").as_bytes());
    }
}

fn run_command() {
    let script = std::env::var_os("PLANWRIGHT_FAULT_COMMAND").unwrap_or_default();
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null());
    // Its effects are visible in the files that it leaves.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Ends the process like SIGKILL.
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
