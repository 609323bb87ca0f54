//! Every descendant of a process ends with it, even in other groups, and no other process does.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use planwright_run::worker::{
    EndCause, Process, ProcessExit, ProcessMark, SpawnedProcess, StopManner, WorkerEvent, Workers, end, orphans,
};

use crate::worker::{Yard, new_mark};

/// The variable that gives a part to this test binary when another one starts it: the mark's run.
const ROLE: &str = "PLANWRIGHT_TEST_WORKER_ROLE";

fn is_alive(pid: &str) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    line.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Returns the words after `pids:` in the log.
fn printed_pids(yard: &Yard) -> Vec<String> {
    let log = String::from_utf8(yard.logged()).expect("text");
    let words = log.lines().find_map(|line| line.strip_prefix("pids:"));
    let words = words.unwrap_or_else(|| panic!("no pids in {log:?}"));
    words.split_whitespace().map(str::to_owned).collect()
}

/// Starts a script that prints `pids:` and then `ready`, cancels it, and checks that nothing is left.
#[track_caller]
fn check_cancelled(script: &str, manner: StopManner) -> ProcessExit {
    let mut yard = Yard::new();
    let mut spec = yard.shell(script);
    spec.limits.grace = Duration::from_millis(500);
    yard.start(&spec);
    yard.wait_for_output("ready\n");
    let pids = printed_pids(&yard);
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    let ended = yard.cancelled(manner);
    assert_eq!(ended.cause, EndCause::Cancelled);
    assert!(!ended.was_outlived);
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
    assert_eq!(yard.left(), []);
    ended.exit
}

#[test]
fn grandchildren_in_their_own_session_are_ended() {
    let script = "setsid sh -c 'sleep 1000; :' & a=$!; setsid sleep 1000 & echo pids: $a $!; echo ready; wait";
    assert_eq!(check_cancelled(script, StopManner::Politely), ProcessExit::Signal(15));
    assert_eq!(check_cancelled(script, StopManner::AtOnce), ProcessExit::Signal(9));
}

#[test]
fn a_process_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let script = "trap '' TERM; echo pids: $$; echo ready; while :; do sleep 1; done";
    assert_eq!(check_cancelled(script, StopManner::Politely), ProcessExit::Signal(9));
}

#[test]
fn a_grandchild_that_ignores_sigterm_is_killed_after_its_parent_ended() {
    let script = r#"
        setsid sh -c "trap '' TERM; echo grandchild; while :; do sleep 1; done" &
        while ! grep -q grandchild log 2> /dev/null; do sleep 0.02; done
        echo pids: $!; echo ready; wait"#;
    assert_eq!(check_cancelled(script, StopManner::Politely), ProcessExit::Signal(15));
}

#[test]
fn a_child_without_the_mark_is_found_through_its_parent() {
    let script = "env -i setsid sleep 1000 & echo pids: $!; echo ready; wait";
    check_cancelled(script, StopManner::Politely);
}

#[test]
fn a_grandchild_without_a_parent_is_found_through_the_mark() {
    let script = r#"
        sh -c 'setsid sh -c "echo pids: \$\$; exec sleep 1000" &'
        while ! grep -q pids log 2> /dev/null; do sleep 0.02; done
        echo ready; sleep 1000"#;
    check_cancelled(script, StopManner::Politely);
    check_cancelled(script, StopManner::AtOnce);
}

#[test]
fn a_storm_of_forks_ends() {
    let script = r#"
        i=0; while [ $i -lt 50 ]; do
            setsid sh -c 'while :; do sleep 0.05 & sleep 0.05; done' &
            i=$((i+1))
        done
        echo pids: $!; echo ready; wait"#;
    check_cancelled(script, StopManner::AtOnce);
    check_cancelled(script, StopManner::Politely);
}

#[test]
fn sigterm_leaves_time_to_clean_up() {
    let mut yard = Yard::new();
    let script = "trap 'sleep 0.2 && sh -c \"echo cleaned\"; exit 5' TERM; echo ready; while :; do sleep 0.02; done";
    yard.start(&yard.shell(script));
    yard.wait_for_output("ready\n");
    let ended = yard.cancelled(StopManner::Politely);
    assert_eq!((ended.exit, ended.cause), (ProcessExit::Code(5), EndCause::Cancelled));
    assert!(
        ended.tail.ends_with(b"cleaned\n"),
        "{:?}",
        String::from_utf8_lossy(&ended.tail)
    );
}

#[test]
fn a_polite_stop_can_be_followed_by_a_kill() {
    let mut yard = Yard::new();
    yard.start(&yard.shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
    yard.wait_for_output("ready\n");
    let start = Instant::now();
    assert!(yard.workers.cancel(1, StopManner::Politely));
    assert_eq!(yard.workers.wait(Some(Duration::from_millis(100))), []);
    assert!(
        yard.workers.cancel(1, StopManner::Politely),
        "asking twice changes nothing"
    );
    assert_eq!(yard.cancelled(StopManner::AtOnce).exit, ProcessExit::Signal(9));
    assert!(start.elapsed() < Duration::from_secs(300), "the grace is ten minutes");
}

#[test]
fn limits_reach_grandchildren_too() {
    let mut yard = Yard::new();
    let mut spec = yard.shell("setsid sleep 1000 & setsid sleep 1000");
    spec.limits.silence = Some(Duration::from_millis(300));
    assert_eq!(yard.run(&spec).cause, EndCause::Silence);
    assert_eq!(yard.left(), []);
}

#[test]
fn a_stopped_process_is_killed() {
    let mut yard = Yard::new();
    let mut spec = yard.shell("echo ready; kill -STOP $$");
    spec.limits.grace = Duration::from_millis(200);
    yard.start(&spec);
    yard.wait_for_output("ready\n");
    let ended = yard.cancelled(StopManner::Politely);
    assert!(matches!(ended.exit, ProcessExit::Signal(9 | 15)), "{:?}", ended.exit);
}

#[test]
fn dropping_the_workers_ends_their_processes() {
    let mut yard = Yard::new();
    let mut workers = Workers::new().expect("workers");
    workers
        .start(1, &yard.shell("setsid sleep 1000 & echo ready; wait"))
        .expect("a process");
    yard.wait_for_output("");
    while !yard.logged().ends_with(b"ready\n") {
        workers.wait(Some(Duration::from_millis(20)));
    }
    assert_eq!(yard.left().len(), 2);
    drop(workers);
    assert_eq!(yard.left(), []);
}

#[test]
fn other_runs_are_left_alone() {
    let (mut one, mut other) = (Yard::new(), Yard::new());
    let script = "setsid sleep 1000 & echo ready; wait";
    for yard in [&mut one, &mut other] {
        yard.start(&yard.shell(script));
        yard.wait_for_output("ready\n");
    }
    one.cancelled(StopManner::AtOnce);
    assert_eq!((one.left().len(), other.left().len()), (0, 2));
    other.cancelled(StopManner::AtOnce);
}

#[test]
fn a_process_with_another_start_time_is_another_process() {
    let mut yard = Yard::new();
    let SpawnedProcess { pid, start_time } = yard.start(&yard.program(&["sleep", "1000"]));
    let (ticks, boot) = start_time.split_once('@').expect("a time");
    let ticks: u64 = ticks.parse().expect("a number");
    let process = |start_time: String| Process {
        pid,
        start_time,
        command: String::new(),
    };
    let others = [
        format!("{}@{boot}", ticks + 1),
        format!("{ticks}@another-boot"),
        String::new(),
    ]
    .map(process);
    assert_eq!(orphans(&ProcessMark::default(), &others), []);
    assert_eq!(end(&ProcessMark::default(), &others, Duration::ZERO), []);
    assert!(is_alive(&pid.to_string()));
    let found = orphans(&ProcessMark::default(), &[process(start_time)]);
    assert_eq!(found.len(), 1);
    assert_eq!(end(&ProcessMark::default(), &found, Duration::from_secs(20)), []);
    assert_eq!(yard.wait_for_end().exit, ProcessExit::Signal(15));
}

#[test]
fn reserved_and_impossible_process_ids_are_never_signalled() {
    let process = |pid| Process {
        pid,
        start_time: "1@x".to_owned(),
        command: String::new(),
    };
    let processes = [0, 1, std::process::id(), u32::MAX].map(process);
    assert_eq!(orphans(&ProcessMark::default(), &processes), []);
    assert_eq!(end(&ProcessMark::default(), &processes, Duration::ZERO), []);
}

/// Starts this binary again for one of the parts below.
fn start_part(part: &str, run: &str) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([part, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, run)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

fn run_of(mark: &ProcessMark) -> String {
    let value = mark.variables().next().expect("a variable").1;
    value.to_str().expect("text").to_owned()
}

/// Does nothing except as a part of the next test: runs a process that outlives it.
#[test]
fn part_that_is_killed() {
    let Ok(run) = std::env::var(ROLE) else { return };
    let mut yard = Yard::new();
    yard.mark = ProcessMark::new([("PLANWRIGHT_RUN", run)]);
    let script = "trap '' PIPE TERM; setsid sh -c 'sleep 1000; :' & env -i sleep 1000 & echo ready; wait";
    let started = yard.start(&yard.shell(script));
    yard.wait_for_output("ready\n");
    println!("\nstarted {} {}", started.pid, started.start_time);
    loop {
        let events = yard.workers.wait(None);
        assert!(events.iter().all(|event| matches!(event, WorkerEvent::Line { .. })));
    }
}

#[test]
fn processes_of_a_killed_planwright_are_found_and_ended() {
    let mark = new_mark();
    let mut planwright = start_part("worker_trees::part_that_is_killed", &run_of(&mark));
    let output = BufReader::new(planwright.stdout.take().expect("a pipe"));
    let line = output
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with("started "));
    planwright.kill().expect("a running process");
    planwright.wait().expect("an end");
    let line = line.expect("a line");
    let mut words = line.split(' ').skip(1);
    let mut word = || words.next().expect("a word").to_owned();
    let recorded = Process {
        pid: word().parse().expect("a number"),
        start_time: word(),
        command: String::new(),
    };
    let mark = ProcessMark::new([("PLANWRIGHT_RUN", run_of(&mark))]);
    let by_mark = orphans(&mark, &[]);
    // The shell, the one in the other session with its child, and the one without the mark, known by its parent.
    assert_eq!(by_mark.len(), 4, "{by_mark:?}");
    assert_eq!(
        orphans(&ProcessMark::default(), std::slice::from_ref(&recorded)),
        by_mark
    );
    assert!(by_mark.iter().any(|process| process.command.starts_with("sh -c trap")));
    assert_eq!(end(&mark, &[recorded], Duration::from_millis(300)), []);
    assert_eq!(orphans(&mark, &by_mark), []);
}

/// Does nothing except as a part of the next test: searches for its own run.
#[test]
fn part_that_looks_for_its_own_run() {
    let Ok(run) = std::env::var(ROLE) else { return };
    let mark = ProcessMark::new([("PLANWRIGHT_RUN", run)]);
    let found = orphans(&mark, &[]);
    end(&mark, &found, Duration::ZERO);
    println!("\nfound {}", found.len());
}

#[test]
fn a_process_never_ends_its_own_ancestors() {
    let mut yard = Yard::new();
    let binary = std::env::current_exe().expect("this binary");
    let part = "worker_trees::part_that_looks_for_its_own_run --exact --nocapture --test-threads=1";
    let mut spec = yard.shell(&format!("sleep 1000 & \"$BINARY\" {part}; echo I live"));
    spec.environment.push(("BINARY".into(), binary.into()));
    spec.environment.push((ROLE.into(), run_of(&yard.mark).into()));
    let ended = yard.run(&spec);
    let log = String::from_utf8(yard.logged()).expect("text");
    assert_eq!(ended.exit, ProcessExit::Code(0));
    assert!(log.contains("found 1\n"), "the one that sleeps; {log}");
    assert!(log.ends_with("I live\n"), "{log}");
}

/// Does nothing except as a part of the next test: runs a process and prints how it ended.
#[test]
fn part_that_runs_a_process() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let mut yard = Yard::new();
    let ended = yard.run(&yard.shell("echo out; exit 7"));
    assert_eq!(ended.tail, b"out\n");
    println!("\nended {:?}", ended.exit);
}

#[test]
fn an_exit_that_the_system_forgot_is_an_exit() {
    let binary = std::env::current_exe().expect("this binary");
    let part = "worker_trees::part_that_runs_a_process --exact --nocapture --test-threads=1";
    for (ignored, expected) in [("CHLD", "ended Unknown\n"), ("HUP", "ended Code(7)\n")] {
        let mut yard = Yard::new();
        let mut spec = yard.shell(&format!("exec env --ignore-signal={ignored} \"$BINARY\" {part}"));
        spec.environment.push(("BINARY".into(), binary.clone().into()));
        spec.environment.push((ROLE.into(), "any".into()));
        assert_eq!(yard.run(&spec).exit, ProcessExit::Code(0));
        let log = String::from_utf8(yard.logged()).expect("text");
        assert!(log.contains(expected), "{log}");
    }
}
