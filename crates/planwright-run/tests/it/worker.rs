//! Processes with their output, their input and their limits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use planwright_run::redaction::Redaction;
use planwright_run::worker::{
    EndCause, EndedProcess, Process, ProcessExit, ProcessLimits, ProcessMark, ProcessSpec, SpawnedProcess, StartError,
    Stdin, StopManner, TAIL_BYTES, WorkerEvent, Workers, end, orphans,
};
use tempfile::TempDir;

/// The time after which a process here counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

static N_MARKS: AtomicU32 = AtomicU32::new(0);

/// Makes a unique mark.
pub(crate) fn new_mark() -> ProcessMark {
    let number = N_MARKS.fetch_add(1, Ordering::Relaxed);
    let run = format!("test-{}-{number}", std::process::id());
    ProcessMark::new([("PLANWRIGHT_RUN", run.as_str()), ("PLANWRIGHT_ATTEMPT", "1")])
}

/// Workers in a folder of their own, and their events so far.
pub(crate) struct Yard {
    pub(crate) folder: TempDir,
    pub(crate) workers: Workers,
    pub(crate) mark: ProcessMark,
    pub(crate) output: Vec<u8>,
    lines: Vec<String>,
    pub(crate) ended: Vec<EndedProcess>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            workers: Workers::new().expect("workers"),
            mark: new_mark(),
            output: Vec::new(),
            lines: Vec::new(),
            ended: Vec::new(),
        }
    }

    pub(crate) fn program(&self, arguments: &[&str]) -> ProcessSpec {
        let path = std::env::var_os("PATH").expect("PATH");
        ProcessSpec {
            arguments: arguments.iter().map(OsString::from).collect(),
            folder: self.folder.path().to_owned(),
            environment: vec![("PATH".into(), path)],
            mark: self.mark.clone(),
            stdin: Stdin::Nothing,
            log: self.log(),
            max_log_bytes: 1 << 20,
            redaction: Redaction::of([]),
            streams_output: false,
            limits: ProcessLimits {
                wall: None,
                silence: None,
                grace: Duration::from_secs(600),
            },
            fence: None,
        }
    }

    pub(crate) fn shell(&self, script: &str) -> ProcessSpec {
        self.program(&["sh", "-c", script])
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Returns the content of the log; empty if there is none, because nothing was written.
    pub(crate) fn logged(&self) -> Vec<u8> {
        std::fs::read(self.log()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn start(&mut self, spec: &ProcessSpec) -> SpawnedProcess {
        self.workers.start(1, spec).expect("a process")
    }

    /// Waits until a condition holds.
    #[track_caller]
    fn wait_until(&mut self, mut is_so: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "it hangs; lines {:?}", self.lines);
            for event in self.workers.wait(Some(Duration::from_millis(100))) {
                match event {
                    WorkerEvent::Line { line, .. } => self.lines.push(line),
                    WorkerEvent::Output { bytes, .. } => {
                        assert!(self.ended.is_empty(), "nothing is told after the end");
                        self.output.extend(bytes);
                    }
                    WorkerEvent::Ended(ended) => self.ended.push(ended),
                }
            }
        }
    }

    /// Waits until the log has a text.
    #[track_caller]
    pub(crate) fn wait_for_output(&mut self, text: &str) {
        self.wait_until(|yard| String::from_utf8_lossy(&yard.logged()).contains(text));
    }

    #[track_caller]
    pub(crate) fn wait_for_end(&mut self) -> EndedProcess {
        self.wait_until(|yard| !yard.ended.is_empty());
        self.ended.pop().expect("an end")
    }

    #[track_caller]
    pub(crate) fn run(&mut self, spec: &ProcessSpec) -> EndedProcess {
        self.start(spec);
        self.wait_for_end()
    }

    #[track_caller]
    pub(crate) fn cancelled(&mut self, manner: StopManner) -> EndedProcess {
        assert!(self.workers.cancel(1, manner));
        self.wait_for_end()
    }

    /// Returns the live processes with the mark.
    pub(crate) fn left(&self) -> Vec<Process> {
        orphans(&self.mark, &[])
    }
}

/// Ends every process of a test, even if it failed.
impl Drop for Yard {
    fn drop(&mut self) {
        end(&self.mark, &[], Duration::ZERO);
    }
}

#[test]
fn the_observer_gets_all_output_even_if_the_log_drops_some() {
    let mut yard = Yard::new();
    let script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done";
    let spec = ProcessSpec {
        streams_output: true,
        max_log_bytes: 5_000,
        ..yard.shell(script)
    };
    let ended = yard.run(&spec);
    assert!(ended.log_was_cut);
    let expected: String = (0..3000).map(|n| format!("line {n}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&yard.output), expected);
}

#[test]
fn secrets_are_neither_logged_nor_reported() {
    let mut yard = Yard::new();
    let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let redaction = Redaction::of_environment(&[
        variable("HOUSE_KEY", "correct-horse"),
        variable("HOME", "/home/somebody"),
    ]);
    let spec = ProcessSpec {
        redaction,
        streams_output: true,
        ..yard.shell("printf 'it is correct-'; sleep 0.05; printf 'horse\\n'; echo /home/somebody; printf 'correct-'")
    };
    let ended = yard.run(&spec);
    let expected = "it is [HOUSE_KEY]\n/home/somebody\ncorrect-";
    assert_eq!(String::from_utf8_lossy(&yard.logged()), expected);
    assert_eq!(String::from_utf8_lossy(&yard.output), expected);
    assert_eq!(String::from_utf8_lossy(&ended.tail), expected);
}

#[test]
fn both_streams_are_logged_in_the_order_of_writing() {
    let mut yard = Yard::new();
    let ended = yard.run(&yard.shell("echo a; echo b >&2; echo c; echo d >&2"));
    assert_eq!(yard.logged(), b"a\nb\nc\nd\n");
    assert_eq!((ended.exit, ended.cause), (ProcessExit::Code(0), EndCause::Itself));
    assert_eq!((ended.n_bytes, ended.tail.as_slice()), (8, &b"a\nb\nc\nd\n"[..]));
    assert!(!ended.log_was_cut && !ended.was_outlived && ended.log_error.is_none());
    assert_eq!(yard.workers.n_running(), 0);
}

#[test]
fn the_exit_is_a_status_or_a_signal() {
    let mut yard = Yard::new();
    assert_eq!(yard.run(&yard.shell("exit 7")).exit, ProcessExit::Code(7));
    assert_eq!(yard.run(&yard.shell("kill -9 $$")).exit, ProcessExit::Signal(9));
}

#[test]
fn no_shell_looks_at_the_arguments() {
    let mut yard = Yard::new();
    yard.run(&yard.program(&["printf", "%s|", "$HOME", "`id`; *", ""]));
    assert_eq!(yard.logged(), b"$HOME|`id`; *||");
}

#[test]
fn the_environment_has_only_the_given_variables_and_the_mark() {
    let mut yard = Yard::new();
    let mut spec = yard.program(&["env"]);
    spec.environment.push(("ODD".into(), "a=b c".into()));
    yard.run(&spec);
    let mut expected: Vec<String> = spec
        .environment
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .chain(
            yard.mark
                .variables()
                .map(|(name, value)| format!("{}={}", name.display(), value.display())),
        )
        .collect();
    expected.sort();
    let output = String::from_utf8(yard.logged()).expect("text");
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn it_runs_in_its_folder_and_relative_programs_are_there() {
    let mut yard = Yard::new();
    let folder = yard.folder.path().canonicalize().expect("a folder");
    write_program(&folder.join("here"), "#!/bin/sh\npwd -P\n");
    yard.run(&yard.program(&["./here"]));
    assert_eq!(yard.logged(), format!("{}\n", folder.display()).into_bytes());
}

fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

#[test]
fn a_program_that_cannot_start_is_named() {
    let mut yard = Yard::new();
    let mut message = |spec: &ProcessSpec| yard.workers.start(1, spec).expect_err("no process").to_string();
    let other = Yard::new();
    let mut spec = other.program(&["no-such-agent"]);
    spec.environment = vec![("PATH".into(), "/nowhere:/bin".into())];
    assert_eq!(message(&spec), "the program `no-such-agent` was not found on `PATH`");
    assert_eq!(message(&other.program(&["./x"])), "the program `./x` was not found");
    assert_eq!(message(&other.program(&[])), "no program is given");
    assert!(message(&other.program(&[""])).starts_with("the program `` was not found"));
    let mut spec = other.program(&["true"]);
    spec.folder = "/no/such/folder".into();
    assert_eq!(
        message(&spec),
        "there is no folder `/no/such/folder` to start a program in"
    );
    let mut spec = other.program(&["true"]);
    spec.log = other.folder.path().to_owned();
    assert!(message(&spec).starts_with("the log `"));
    std::fs::write(other.folder.path().join("text"), "no program").expect("a file");
    assert_eq!(
        message(&other.program(&["./text"])),
        "the program `./text` cannot be started"
    );
    assert_eq!(
        message(&other.program(&["sh", "a\0b"])),
        "the program `sh` cannot be started"
    );
    assert_eq!(yard.workers.n_running(), 0);
}

#[test]
fn a_key_is_used_once_at_a_time() {
    let mut yard = Yard::new();
    let spec = yard.program(&["sleep", "100"]);
    yard.start(&spec);
    assert!(matches!(yard.workers.start(1, &spec), Err(StartError::KeyInUse(1))));
    yard.cancelled(StopManner::AtOnce);
    assert!(!yard.workers.cancel(1, StopManner::AtOnce), "nobody is there");
    assert_eq!(yard.run(&yard.program(&["true"])).exit, ProcessExit::Code(0));
}

#[test]
fn input_and_output_of_two_megabytes_do_not_wait_for_each_other() {
    let mut yard = Yard::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(2_000_000).collect();
    let mut spec = yard.program(&["cat"]);
    spec.stdin = Stdin::Bytes(bytes.clone());
    spec.max_log_bytes = 4 << 20;
    let ended = yard.run(&spec);
    assert_eq!(ended.exit, ProcessExit::Code(0));
    assert_eq!(ended.tail, bytes.get(bytes.len() - TAIL_BYTES..).expect("bytes"));
    assert!(yard.logged() == bytes, "any bytes are kept");
}

#[test]
fn input_may_be_empty_or_never_read() {
    let mut yard = Yard::new();
    for (script, n_bytes) in [
        ("wc -c", 0),
        ("sleep 0.1; echo 0", 2_000_000),
        ("exec <&-; sleep 0.1; echo 0", 2_000_000),
        ("sleep 0.2 & exec <&-; echo 0; wait", 10),
    ] {
        let mut spec = yard.shell(script);
        spec.stdin = Stdin::Bytes(vec![b'x'; n_bytes]);
        let ended = yard.run(&spec);
        assert_eq!(
            (ended.exit, ended.tail.trim_ascii()),
            (ProcessExit::Code(0), &b"0"[..]),
            "{script}"
        );
    }
    let ended = yard.run(&yard.program(&["cat"]));
    assert_eq!((ended.exit, ended.n_bytes), (ProcessExit::Code(0), 0));
}

#[test]
fn closing_the_output_is_not_the_end() {
    let mut yard = Yard::new();
    let ended = yard.run(&yard.shell("echo first; exec >&- 2>&-; sleep 0.3; exit 3"));
    assert_eq!(
        (ended.exit, ended.tail.as_slice()),
        (ProcessExit::Code(3), &b"first\n"[..])
    );
    assert!(ended.duration >= Duration::from_millis(300));
}

#[test]
fn a_grandchild_with_the_output_is_not_waited_for() {
    let mut yard = Yard::new();
    let ended = yard.run(&yard.shell("sleep 1000 & echo done"));
    assert_eq!((ended.exit, ended.cause), (ProcessExit::Code(0), EndCause::Itself));
    assert!(ended.was_outlived);
    assert!(
        ended.duration < Duration::from_secs(300),
        "the time of the process itself"
    );
    if cfg!(target_os = "linux") {
        let left = yard.left();
        let commands: Vec<&str> = left.iter().map(|process| process.command.as_str()).collect();
        assert_eq!(commands, ["sleep 1000"]);
        assert_eq!(end(&yard.mark, &left, Duration::from_secs(20)), []);
        assert_eq!(yard.left(), []);
    }
}

#[test]
fn fifty_megabytes_leave_a_log_of_one() {
    let mut yard = Yard::new();
    let ended = yard.run(&yard.shell("echo begin; yes 'a line of output' | head -c 52428800; echo; echo end"));
    assert_eq!(ended.exit, ProcessExit::Code(0));
    assert_eq!(ended.n_bytes, 52_428_800 + 11);
    assert!(ended.log_was_cut && ended.tail.ends_with(b"\nend\n"));
    let log = String::from_utf8(yard.logged()).expect("text");
    assert!(log.len() <= 1 << 20 && log.len() >= 600_000, "{}", log.len());
    assert!(log.starts_with("begin\na line") && log.ends_with("\nend\n"));
    assert_eq!(log.matches("\n[planwright: ").count(), 1);
}

#[test]
fn output_without_line_ends_and_of_any_bytes_is_shown_bounded() {
    let mut yard = Yard::new();
    yard.start(&yard.shell("head -c 300000 /dev/urandom | tr -d '\\n\\r'; sleep 0.4"));
    let ended = yard.wait_for_end();
    assert_eq!(ended.tail.len(), TAIL_BYTES);
    assert!(yard.lines.iter().all(|line| line.len() <= 400));
}

#[test]
fn lines_are_reported_a_few_times_per_second() {
    let mut yard = Yard::new();
    let script = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; sleep 0.01; done";
    let ended = yard.run(&yard.shell(script));
    let n_lines = yard.lines.len() as u128;
    assert!(n_lines >= 2, "{:?}", yard.lines);
    assert!(n_lines <= 2 + ended.duration.as_millis() / 250, "{:?}", yard.lines);
    assert!(yard.lines.iter().all(|line| line.starts_with("line ")));
}

#[test]
fn the_log_can_be_read_while_it_grows() {
    let mut yard = Yard::new();
    yard.start(&yard.shell("echo so far; sleep 1000"));
    yard.wait_for_output("so far\n");
    yard.wait_until(|yard| yard.lines == ["so far"]);
    yard.cancelled(StopManner::AtOnce);
}

#[test]
fn the_wall_limit_ends_processes_that_print_all_the_time() {
    let mut yard = Yard::new();
    let mut spec = yard.shell("while :; do echo x; sleep 0.02; done");
    spec.limits.wall = Some(Duration::from_millis(400));
    spec.limits.silence = Some(PATIENCE);
    let ended = yard.run(&spec);
    assert_eq!(
        (ended.exit, ended.cause),
        (ProcessExit::Signal(15), EndCause::WallLimit)
    );
    assert!(ended.duration >= Duration::from_millis(400));
    assert_eq!(yard.left(), []);
}

#[test]
fn silence_is_counted_from_the_last_output() {
    let mut yard = Yard::new();
    let mut spec = yard.shell("for i in 1 2 3 4 5 6 7 8; do printf x; sleep 0.25; done");
    spec.limits.silence = Some(Duration::from_millis(1500));
    let ended = yard.run(&spec);
    assert_eq!((ended.exit, ended.cause), (ProcessExit::Code(0), EndCause::Itself));
    let mut spec = yard.shell("echo x; sleep 1000");
    spec.limits.silence = Some(Duration::from_millis(300));
    let ended = yard.run(&spec);
    assert_eq!((ended.exit, ended.cause), (ProcessExit::Signal(15), EndCause::Silence));
    assert_eq!(yard.left(), []);
}

#[test]
fn two_hundred_in_a_row_leave_nothing_open() {
    let mut yard = Yard::new();
    let spec = yard.program(&["true"]);
    yard.run(&spec);
    let n_open = n_open_files();
    for _ in 0..200 {
        assert_eq!(yard.run(&spec).exit, ProcessExit::Code(0));
    }
    // Other tests of this process open and close files of their own.
    assert!(n_open_files() < n_open + 100);
}

fn n_open_files() -> usize {
    std::fs::read_dir("/dev/fd").map_or(0, Iterator::count)
}

#[test]
fn many_at_once_are_kept_apart() {
    let mut yard = Yard::new();
    for key in 0..60 {
        let mut spec = yard.shell(&format!("echo {key}; exit {key}"));
        spec.log = yard.folder.path().join(format!("log-{key}"));
        yard.workers.start(key, &spec).expect("a process");
    }
    yard.wait_until(|yard| yard.ended.len() == 60);
    for ended in &yard.ended {
        assert_eq!(ended.exit, ProcessExit::Code(i32::try_from(ended.key).expect("small")));
        assert_eq!(ended.tail, format!("{}\n", ended.key).into_bytes());
    }
}

#[test]
fn waiting_ends_on_a_wake_up_or_a_timeout() {
    let mut yard = Yard::new();
    assert_eq!(yard.workers.wait(Some(Duration::ZERO)), []);
    let waker = yard.workers.waker();
    for _ in 0..100_000 {
        waker.wake();
    }
    assert_eq!(yard.workers.wait(None), [], "a full pipe wakes as well");
    let start = Instant::now();
    assert_eq!(yard.workers.wait(Some(Duration::from_millis(50))), []);
    assert!(
        start.elapsed() >= Duration::from_millis(50),
        "it was woken once for all"
    );
    yard.start(&yard.program(&["sleep", "1000"]));
    let thread = std::thread::spawn(move || waker.wake());
    assert_eq!(yard.workers.wait(None), []);
    thread.join().expect("a thread");
    assert_eq!(yard.cancelled(StopManner::AtOnce).exit, ProcessExit::Signal(9));
}

#[test]
fn a_process_continues_if_its_log_cannot_be_written() {
    let mut yard = Yard::new();
    let mut spec = yard.shell("yes | head -c 100000; exit 4");
    spec.log = "/dev/full".into();
    if !spec.log.exists() {
        return;
    }
    let ended = yard.run(&spec);
    assert_eq!((ended.exit, ended.n_bytes), (ProcessExit::Code(4), 100_000));
    assert!(ended.log_error.is_some());
}
