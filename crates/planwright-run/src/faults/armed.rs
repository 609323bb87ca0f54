//! Counts steps, and injects a fault at the step that the environment names.
//!
//! - `PLANWRIGHT_FAULT=KIND@STEP`, where the first step is number 0 and KIND is one of [`Kind`];
//! - `PLANWRIGHT_FAULT_COMMAND` is what `command` has `sh` do;
//! - `PLANWRIGHT_FAULT_LOG` names a file that gets a line for every step, and one with `!` where a fault struck.
//!
//! `PLANWRIGHT_CLOCK=RATE@SECONDS` has the clock run RATE times faster than the world since the given second after 1970. All processes
//! that are told the same agree on the time of day.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    /// `io`: the device fails, as `fsync` tells it.
    Io,
    /// `command`: something else happens before the step.
    Command,
    /// `clock=SECONDS`: from this step on the clock is wrong by so much.
    Clock(i64),
    /// `git-within=MICROSECONDS`: the git command of this step is killed with its children so long after it started, then the process.
    GitWithin(u64),
}

struct Plan {
    kind: Kind,
    at: u64,
}

/// What a step is like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It may fail.
    Fallible,
    /// It may fail, and it may be done in part.
    Write,
    /// It is over, and cannot fail.
    Over,
}

static N_STEPS: AtomicU64 = AtomicU64::new(0);
static CLOCK_SHIFT: AtomicI64 = AtomicI64::new(0);

/// The groups of processes that stay while others are run.
static BESIDE: Mutex<Vec<rustix::process::Pid>> = Mutex::new(Vec::new());

thread_local! {
    /// After how many microseconds the next process that this thread starts is killed.
    static GIT_DELAY: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Stands before a step that may fail.
pub fn step(name: &'static str) -> io::Result<()> {
    match struck(name, Step::Fallible) {
        None | Some(Kind::Command | Kind::Clock(_) | Kind::GitWithin(_)) => Ok(()),
        Some(Kind::Kill | Kind::Tear) => die(),
        Some(Kind::Short | Kind::Full | Kind::FullFrom) => Err(io::Error::from_raw_os_error(ENOSPC)),
        Some(Kind::Io) => Err(io::Error::from_raw_os_error(EIO)),
    }
}

/// Stands after a step, where the process may die and nothing can fail.
pub fn point(name: &'static str) {
    if let Some(Kind::Kill) = struck(name, Step::Over) {
        die();
    }
}

/// Stands after the start of a process that leads a group of its own. A fault in the middle of it kills the group, the processes that
/// stay beside it, then this process.
pub fn started(process: &std::process::Child) {
    let micros = GIT_DELAY.with(|delay| delay.take());
    if let Some(micros) = micros {
        std::thread::sleep(Duration::from_micros(micros));
        let beside = BESIDE.lock().unwrap_or_else(PoisonError::into_inner);
        for group in beside
            .iter()
            .copied()
            .chain([rustix::process::Pid::from_child(process)])
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        die();
    }
}

/// Stands after the start of a process that stays while others are run: a power cut ends it as well.
pub fn stays(process: &std::process::Child) {
    started(process);
    let mut beside = BESIDE.lock().unwrap_or_else(PoisonError::into_inner);
    beside.push(rustix::process::Pid::from_child(process));
}

/// Stands after the end of a process that stayed.
pub fn went(process: &std::process::Child) {
    let gone = rustix::process::Pid::from_child(process);
    let mut beside = BESIDE.lock().unwrap_or_else(PoisonError::into_inner);
    beside.retain(|group| *group != gone);
}

/// Writes bytes in the given way.
pub fn write(bytes: &[u8], write: impl Fn(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
    match struck("write", Step::Write) {
        None | Some(Kind::Command | Kind::Clock(_) | Kind::GitWithin(_)) => write(bytes),
        Some(Kind::Kill) => die(),
        Some(Kind::Tear) => {
            write(half)?;
            die()
        }
        Some(Kind::Short) => {
            write(half)?;
            Err(io::Error::from_raw_os_error(ENOSPC))
        }
        Some(Kind::Full | Kind::FullFrom) => Err(io::Error::from_raw_os_error(ENOSPC)),
        Some(Kind::Io) => Err(io::Error::from_raw_os_error(EIO)),
    }
}

/// Returns by how many seconds the clock is wrong.
pub fn clock_shift() -> i64 {
    CLOCK_SHIFT.load(Ordering::Relaxed)
}

/// A clock that hurries.
struct Hurry {
    rate: u32,
    /// When it began to, since 1970.
    since: Duration,
}

/// Returns how many times faster than the world the clock runs.
pub fn clock_rate() -> u32 {
    hurry().map_or(1, |hurry| hurry.rate)
}

/// Returns what a clock in a hurry shows for a moment.
pub fn hurried(real: Instant) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| real);
    first + real.saturating_duration_since(first) * clock_rate()
}

/// Returns what a clock in a hurry shows for a time since 1970.
pub fn hurried_date(real: Duration) -> Duration {
    hurry().map_or(real, |hurry| {
        hurry.since + real.saturating_sub(hurry.since) * hurry.rate
    })
}

fn hurry() -> Option<&'static Hurry> {
    static HURRY: OnceLock<Option<Hurry>> = OnceLock::new();
    let read = || {
        let text = std::env::var("PLANWRIGHT_CLOCK").ok()?;
        let (rate, since) = text.split_once('@')?;
        Some(Hurry {
            rate: rate.parse().ok().filter(|rate| *rate > 0)?,
            since: Duration::from_secs(since.parse().ok()?),
        })
    };
    HURRY.get_or_init(read).as_ref()
}

/// Counts a step and returns what goes wrong at it. What only needs to be done once is done.
fn struck(name: &str, step: Step) -> Option<Kind> {
    let number = N_STEPS.fetch_add(1, Ordering::SeqCst);
    // What makes room needs none.
    let needs_room = !matches!(name, "truncate" | "remove");
    let kind = plan().and_then(|plan| plan.strikes(number, name, step, needs_room));
    note(name, step, kind.is_some());
    match kind {
        Some(Kind::Command) => run_command(),
        Some(Kind::Clock(seconds)) => CLOCK_SHIFT.store(seconds, Ordering::Relaxed),
        Some(Kind::GitWithin(micros)) => GIT_DELAY.with(|delay| delay.set(Some(micros))),
        _ => {}
    }
    kind
}

impl Plan {
    fn strikes(&self, number: u64, name: &str, step: Step, needs_room: bool) -> Option<Kind> {
        let is_reached = match self.kind {
            Kind::FullFrom => number >= self.at,
            _ => number == self.at,
        };
        let is_possible = match self.kind {
            Kind::Kill | Kind::Command | Kind::Clock(_) => true,
            Kind::Tear | Kind::Short => step == Step::Write,
            Kind::Full | Kind::FullFrom => step != Step::Over && needs_room,
            Kind::Io => step != Step::Over,
            Kind::GitWithin(_) => name == "git",
        };
        (is_reached && is_possible).then_some(self.kind)
    }
}

fn plan() -> Option<&'static Plan> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    PLAN.get_or_init(|| parse(&std::env::var("PLANWRIGHT_FAULT").ok()?))
        .as_ref()
}

fn parse(text: &str) -> Option<Plan> {
    let (kind, at) = text.split_once('@')?;
    let kind = match kind {
        "kill" => Kind::Kill,
        "tear" => Kind::Tear,
        "short" => Kind::Short,
        "full" => Kind::Full,
        "full-from" => Kind::FullFrom,
        "io" => Kind::Io,
        "command" => Kind::Command,
        _ => match kind.split_once('=')? {
            ("clock", seconds) => Kind::Clock(seconds.parse().ok()?),
            ("git-within", micros) => Kind::GitWithin(micros.parse().ok()?),
            _ => return None,
        },
    };
    let at = at.parse().ok()?;
    Some(Plan { kind, at })
}

fn note(name: &str, step: Step, is_struck: bool) {
    let Some(path) = std::env::var_os("PLANWRIGHT_FAULT_LOG") else {
        return;
    };
    let kind = match step {
        Step::Fallible => "step",
        Step::Write => "write",
        Step::Over => "point",
    };
    let mark = if is_struck { "!" } else { "" };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        // Who asked for it sees that it is missing.
        let _ = file.write_all(format!("{mark}{kind} {name}\n").as_bytes());
    }
}

fn run_command() {
    let script = std::env::var_os("PLANWRIGHT_FAULT_COMMAND").unwrap_or_default();
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null());
    // What it does is seen by what it leaves.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Ends the process as a signal does that cannot be heard.
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
