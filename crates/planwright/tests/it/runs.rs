//! The verbs that read runs and send requests to them: `runs`, `events`, `logs`, `pause`, `resume`, `stop`, `report`.

use std::path::PathBuf;
use std::time::Duration;

use planwright_run::files::DiskFiles;
use planwright_run::journal::JournalHeader;
use planwright_run::layout::{PlanPlace, make_state_folder};
use planwright_run::runs::{
    AttemptEndRecord, AttemptRecord, DriftRecord, Outcome, Receipt, RemarkRecord, ReplanOrigin, RequestReader,
    RequestRecord, RunEndRecord, RunEvent, RunLock, RunLog, RunPlace, RunStartRecord, SkippedTask, StopRecord,
    VerificationRecord,
};
use planwright_testkit::{NO_PROCESS, lend_run_lock};
use serde_json::Value;

use crate::plans;
use crate::sandbox::Sandbox;

const PLAN: &str = ".clido/plans/plan-a1b2c3d4.json";

/// Harmful text for a terminal, or a browser.
const EVIL: &str = "<script>alert(1)</script>\u{1b}[2J\u{202e}&\"'";

fn sandbox() -> Sandbox {
    Sandbox::with(&[(PLAN, plans::CLIDO)])
}

fn root(sandbox: &Sandbox) -> PathBuf {
    std::fs::canonicalize(sandbox.path()).expect("it is there")
}

/// A run written by a test: events one second apart.
struct Script {
    place: RunPlace,
    log: RunLog<'static>,
    n: u64,
}

impl Script {
    fn begin(sandbox: &Sandbox, time: &str) -> Self {
        Script::of(sandbox, time, PLAN)
    }

    fn of(sandbox: &Sandbox, time: &str, plan: &str) -> Self {
        let place = RunPlace::create(&DiskFiles, &root(sandbox), time).expect("a place");
        let header = JournalHeader {
            path: plan.to_owned(),
            id: None,
        };
        let log = RunLog::begin(&DiskFiles, &place.log(), &header).expect("a log");
        Script { place, log, n: 0 }
    }

    fn add(&mut self, event: RunEvent) -> &mut Self {
        let time = format!("2026-11-16T05:{:02}:{:02}.250Z", 30 + self.n / 60, self.n % 60);
        self.n += 1;
        self.log.add(&time, &event).expect("added");
        self.log.commit().expect("durable");
        self
    }

    fn begun(&mut self, n_tasks: u64) -> &mut Self {
        self.add(RunEvent::RunStarted(Box::new(RunStartRecord {
            pid: 7,
            slots: 2,
            n_tasks,
            by: Some("ann".to_owned()),
            ..RunStartRecord::default()
        })))
    }

    fn starting(&mut self, task: &str, attempt: u32, slot: u32) -> &mut Self {
        self.add(RunEvent::AttemptStarting(AttemptRecord {
            task: task.to_owned(),
            attempt,
            agent: "claude".to_owned(),
            slot,
            ..AttemptRecord::default()
        }))
    }

    fn finished(&mut self, task: &str, attempt: u32, outcome: &str, why: Option<&str>) -> &mut Self {
        self.add(RunEvent::AttemptEnded(AttemptEndRecord {
            task: task.to_owned(),
            attempt,
            outcome: Outcome::of(outcome),
            why: why.map(str::to_owned),
            files: vec!["src/limit.rs".to_owned()],
            exit: Some("exit 0".to_owned()),
            milliseconds: Some(133_000),
            cost_usd: Some(0.21),
            tokens: Some([12_345, 678]),
            ..AttemptEndRecord::default()
        }))
    }

    fn verified(&mut self, task: &str, attempt: u32, passed: bool) -> &mut Self {
        self.add(RunEvent::Verified(VerificationRecord {
            task: task.to_owned(),
            attempt,
            passed,
            receipts: vec![Receipt {
                is_setup: false,
                command: vec!["cargo".to_owned(), "test".to_owned()],
                exit: if passed { "exit 0" } else { "exit 101" }.to_owned(),
                milliseconds: 4_200,
                digest: "d1a0".to_owned(),
                tail: "running 3 tests\ntest result".to_owned(),
                commit: None,
                tree: None,
            }],
            unverified: vec!["It is pretty".to_owned()],
        }))
    }

    fn ended(&mut self, standing: &str) -> &mut Self {
        self.add(RunEvent::RunEnded(RunEndRecord {
            standing: planwright_run::runs::RunStanding::of(standing),
            n_done: 1,
            n_failed: 1,
            n_skipped: 1,
            milliseconds: 400_000,
            cost_usd: Some(0.63),
            next: Some("planwright run --retry-failed".to_owned()),
            ..RunEndRecord::default()
        }))
    }

    /// Writes a whole run: one task done at the second attempt, one failed, one skipped.
    fn whole(&mut self) -> &mut Self {
        self.begun(3);
        self.starting("t1", 1, 1).starting("t2", 1, 2);
        self.finished("t1", 1, "done", None).verified("t1", 1, false);
        self.finished("t2", 1, "failed", Some("the agent gave up"));
        self.starting("t1", 2, 1)
            .finished("t1", 2, "done", None)
            .verified("t1", 2, true);
        self.add(RunEvent::Drifted(DriftRecord {
            task: "t1".to_owned(),
            attempt: 2,
            files: vec!["README.md".to_owned()],
        }));
        self.add(RunEvent::Skipped(SkippedTask {
            task: "t3".to_owned(),
            because: "t2".to_owned(),
        }));
        self.add(RunEvent::Remark(RemarkRecord {
            text: "the branch is not the plan's".to_owned(),
            task: None,
            ..RemarkRecord::default()
        }));
        self.ended("stuck")
    }

    /// Makes this process the one that holds the run.
    fn live(&self, sandbox: &Sandbox) -> RunLock {
        let plan = PlanPlace::of(&DiskFiles, &sandbox.path().join(PLAN)).expect("a plan");
        make_state_folder(&DiskFiles, &plan.root).expect("folders");
        let live = RunLock::acquire(&DiskFiles, &plan, self.place.id(), "now").expect("nobody runs it");
        lend_run_lock(&plan.lock()).expect("ours");
        live
    }

    fn add_output(&self, task: &str, attempt: u32, text: &str) {
        use std::io::Write as _;
        let log = self.place.attempt(task, attempt).output();
        let mut file = std::fs::OpenOptions::new().append(true).open(log).expect("ours");
        file.write_all(text.as_bytes()).expect("ours");
    }

    fn output(&self, task: &str, attempt: u32, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.place.attempt(task, attempt).output(), bytes).expect("ours");
    }
}

const TIME: &str = "2026-11-16T05:30:00.000Z";

// runs

#[test]
fn runs_are_listed_newest_first_with_their_state() {
    let sandbox = sandbox();
    let none = sandbox.run(&["runs"]).exits(0);
    assert!(
        none.stdout.is_empty() && none.stderr.contains("there are no runs in this workspace;"),
        "{}",
        none.text()
    );
    let elsewhere = Sandbox::new();
    let path = elsewhere.path().canonicalize().expect("it is there");
    let path = path.to_str().expect("text");
    let none = sandbox.run(&["runs", path]).exits(0);
    let words = format!("there are no runs in the workspace `{path}`;");
    assert!(none.stderr.contains(&words), "{}", none.text());
    Script::begin(&sandbox, "2026-11-14T05:30:00.000Z").whole();
    Script::begin(&sandbox, "2026-11-15T05:30:00.000Z")
        .begun(3)
        .starting("t1", 1, 1);
    let mut third = Script::begin(&sandbox, TIME);
    third.begun(3).starting("t1", 1, 1);
    let live = third.live(&sandbox);
    let report = sandbox.run(&["runs", "--json"]).exits(0).json();
    assert_eq!(report["schema_version"], "planwright.runs/v1");
    let fields = |field: &str| -> Vec<Value> {
        let runs = report["runs"].as_array().expect("a list");
        runs.iter().map(|run| run[field].clone()).collect()
    };
    assert_eq!(fields("standing"), ["running", "interrupted", "stuck"]);
    assert_eq!(fields("run"), ["20261116-053000", "20261115-053000", "20261114-053000"]);
    assert_eq!(report["runs"][0]["pid"], NO_PROCESS);
    assert_eq!(report["runs"][1]["pid"], Value::Null);
    assert_eq!(fields("n_left"), [3, 3, 0]);
    assert_eq!(report["runs"][2]["cost_usd"], 0.63);
    assert_eq!(report["runs"][2]["next"], Value::Null, "a later run continued");
    drop(live);
    sandbox.run(&["runs"]).exits(0).is_decent().is_as_in("runs");
    let one = sandbox.run(&["runs", "a1b2", "--limit", "1"]).exits(0);
    assert!(one.stderr.contains("2 older"), "{}", one.text());
}

#[test]
fn runs_of_one_plan_are_its_own_and_outlive_it() {
    let sandbox = sandbox();
    sandbox.write("other.json", plans::CLIDO);
    Script::begin(&sandbox, TIME).whole();
    Script::of(&sandbox, TIME, "other.json").whole();
    let ids = |plan: &str| {
        let report = sandbox.run(&["runs", plan, "--json"]).exits(0).json();
        let runs = report["runs"].as_array().expect("a list").clone();
        runs.iter()
            .map(|run| run["run"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(PLAN), [Some("20261116-053000".to_owned())]);
    assert_eq!(ids("other.json"), [Some("20261116-053000-2".to_owned())]);
    std::fs::remove_file(sandbox.path().join("other.json")).expect("ours");
    assert_eq!(ids("other.json"), [Some("20261116-053000-2".to_owned())]);
    sandbox.run(&["runs", "no-such-plan"]).exits(1);
}

#[test]
fn damaged_runs_are_listed_as_such() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.whole();
    damage(&script, 300);
    let report = sandbox.run(&["runs", "--json"]).exits(0).json();
    assert_eq!(report["runs"][0]["standing"], "damaged");
    std::fs::write(script.place.log(), "something else\n").expect("ours");
    let report = sandbox.run(&["runs", "--json"]).exits(0).json();
    assert_eq!(report["runs"][0]["standing"], "damaged");
    sandbox.run(&["runs"]).exits(0).is_decent();
    sandbox.run(&["events"]).exits(3).is_decent();
}

fn damage(script: &Script, at: usize) {
    let mut bytes = std::fs::read(script.place.log()).expect("a log");
    bytes[at] ^= 1;
    std::fs::write(script.place.log(), bytes).expect("ours");
}

// events

#[test]
fn events_are_lines() {
    let sandbox = sandbox();
    sandbox.run(&["events"]).exits(1);
    Script::begin(&sandbox, "2026-11-15T05:30:00.000Z").begun(1);
    Script::begin(&sandbox, TIME).whole();
    sandbox.run(&["events"]).exits(0).is_decent().is_as_in("events");
    for run in ["last", "20261116", "20261116-053000"] {
        assert_eq!(
            sandbox.run(&["events", run]).exits(0).stdout.lines().count(),
            13,
            "{run}"
        );
    }
    assert_eq!(sandbox.run(&["events", "20261115"]).exits(0).stdout.lines().count(), 1);
    let several = sandbox.run(&["events", "2026111"]).exits(1);
    assert!(several.stderr.contains("several runs match"), "{}", several.text());
    sandbox.run(&["events", "2027"]).exits(1);
    sandbox.run(&["events", "../.."]).exits(1);
    let t2 = sandbox.run(&["events", "--task", "t2"]).exits(0);
    assert_eq!(t2.stdout.lines().count(), 2, "{}", t2.text());
    sandbox.run(&["events", "--task", "t9"]).exits(1);
}

#[test]
fn events_are_the_records_of_the_log() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.whole();
    let log = std::fs::read_to_string(script.place.log()).expect("a log");
    let expected: String = log.lines().skip(1).map(|line| format!("{}\n", &line[9..])).collect();
    assert_eq!(sandbox.run(&["events", "--json"]).exits(0).stdout, expected);
    let first: Value = serde_json::from_str(expected.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["seq"], &first["kind"]), (&1.into(), &"run-begun".into()));
}

#[test]
fn a_torn_end_is_no_error_and_a_damaged_middle_is() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.whole();
    let bytes = std::fs::read(script.place.log()).expect("a log");
    std::fs::write(script.place.log(), &bytes[..bytes.len() - 3]).expect("ours");
    assert_eq!(sandbox.run(&["events"]).exits(0).stdout.lines().count(), 12);
    let report = sandbox.run(&["runs", "--json"]).exits(0).json();
    assert_eq!(report["runs"][0]["standing"], "interrupted");
    std::fs::write(script.place.log(), &bytes).expect("ours");
    let fourth: usize = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .take(3)
        .map(<[u8]>::len)
        .sum();
    damage(&script, fourth + 20);
    let ran = sandbox.run(&["events"]).exits(3);
    assert_eq!(
        ran.is_decent().stdout.lines().count(),
        2,
        "what stands before it is shown: {}",
        ran.text()
    );
    for word in ["run.journal", &format!("byte {fourth}"), "keep the file"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.text());
    }
}

#[test]
fn events_are_followed_to_the_end() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.begun(1).starting("t1", 1, 1);
    let live = script.live(&sandbox);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| sandbox.run(&["events", "-f"]).exits(0));
        std::thread::sleep(Duration::from_millis(300));
        script
            .finished("t1", 1, "done", None)
            .verified("t1", 1, true)
            .ended("finished");
        let ran = reader.join().expect("it ends");
        assert_eq!(ran.stdout.lines().count(), 5, "{}", ran.text());
    });
    // The verb does not wait for a run that died.
    drop(live);
    Script::begin(&sandbox, "2026-11-17T05:30:00.000Z").begun(1);
    assert_eq!(sandbox.run(&["events", "-f"]).exits(0).stdout.lines().count(), 1);
}

#[test]
fn following_continues_with_the_next_run() {
    let sandbox = sandbox();
    let mut last: Option<String> = None;
    for _ in 0..11 {
        let mut script = Script::begin(&sandbox, TIME);
        script.add(RunEvent::RunStarted(Box::new(RunStartRecord {
            replanned: last.map(|run| ReplanOrigin {
                run: Some(run),
                ..ReplanOrigin::default()
            }),
            ..RunStartRecord::default()
        })));
        script.ended("stuck");
        last = Some(script.place.id().to_owned());
    }
    let ran = sandbox.run(&["events", "-f", "20261116-053000"]).exits(0);
    assert_eq!(ran.stdout.lines().count(), 22, "{}", ran.text());
}

#[test]
fn a_log_does_not_control_the_terminal() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script
        .begun(2)
        .starting(EVIL, 1, 1)
        .finished(EVIL, 1, EVIL, Some(EVIL))
        .verified(EVIL, 1, false);
    script.add(RunEvent::Stopping(StopRecord {
        reason: planwright_run::runs::StopReason::of(EVIL),
        task: Some(EVIL.to_owned()),
        why: Some(EVIL.to_owned()),
    }));
    script.add(RunEvent::Paused(RequestRecord {
        by: Some(EVIL.to_owned()),
        why: Some(EVIL.to_owned()),
    }));
    script.ended(EVIL);
    for args in [
        &["runs"][..],
        &["events"],
        &["logs"],
        &["events", "--task", EVIL],
        &["logs", EVIL],
    ] {
        let ran = sandbox.run(args);
        ran.is_decent();
        assert!(!ran.text().contains('\u{202e}'), "{}", ran.text());
    }
}

// logs

#[test]
fn logs_are_those_of_the_newest_attempt() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.whole();
    script.output("t1", 1, "first\n");
    script.output("t1", 2, "se\u{1b}[31mcond\r\nline\tx");
    std::fs::write(script.place.attempt("t1", 2).prompt(), "Do it.\n").expect("ours");
    std::fs::write(script.place.attempt("t1", 2).check(1), "all of the tests\n").expect("ours");
    // A newer run that has not tried the task.
    Script::begin(&sandbox, "2026-11-17T05:30:00.000Z").begun(3);
    let out = |args: &[&str]| sandbox.run(args).exits(0).stdout;
    assert_eq!(out(&["logs", "t1"]), "se\u{1b}[31mcond\r\nline\tx");
    assert_eq!(out(&["logs", "t1", "-f"]), "se\u{1b}[31mcond\r\nline\tx");
    assert_eq!(out(&["logs", "t1", "--attempt", "1"]), "first\n");
    assert_eq!(out(&["logs", "t1", "--prompt"]), "Do it.\n");
    assert_eq!(out(&["logs", "t1", "--checks"]), "all of the tests\n");
    assert_eq!(
        out(&["logs", "t1", "--checks", "--attempt", "1"]),
        "running 3 tests\ntest result"
    );
    sandbox
        .run(&["logs", "--run", "20261116"])
        .exits(0)
        .is_decent()
        .is_as_in("logs");
    sandbox.run(&["logs", "t9"]).exits(1).is_decent();
    // An agent without output has no log.
    let silent = sandbox.run(&["logs", "t2"]);
    assert_eq!(silent.exits(0).is_decent().stdout, "");
    sandbox.run(&["logs", "t1", "--attempt", "7"]).exits(1);
    sandbox.run(&["logs", "t1", "--run", "last"]).exits(1);
    sandbox.run(&["logs", "--prompt"]).exits(2);
    let report = sandbox.run(&["logs", "t1", "--json"]).exits(0).json();
    assert_eq!(report["tasks"][0]["attempts"][1]["n_bytes"], 19);
    assert_eq!(report["tasks"][0]["attempts"][0]["prompt"], Value::Null);
}

#[test]
fn logs_are_followed_until_the_attempt_is_over() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.begun(1).starting("t1", 1, 1);
    let _live = script.live(&sandbox);
    script.output("t1", 1, "a long beginning\n");
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| sandbox.run(&["logs", "t1", "-f"]).exits(0));
        std::thread::sleep(Duration::from_millis(500));
        script.output("t1", 1, "anew\n");
        std::thread::sleep(Duration::from_millis(500));
        // Appended, like agents' output: a file that is rewritten is briefly empty.
        script.add_output("t1", 1, "and more");
        script.finished("t1", 1, "done", None);
        let ran = reader.join().expect("it ends");
        assert_eq!(ran.stdout, "a long beginning\nanew\nand more", "{}", ran.text());
    });
}

#[cfg(unix)]
#[test]
fn logs_and_records_do_not_control_the_terminal() {
    use crate::terminal::{EVIL, check_both};
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script
        .begun(1)
        .starting("t1", 1, 1)
        .finished("t1", 1, "failed", Some(&format!("why{EVIL}")));
    script.output("t1", 1, format!("\u{1b}[31mred\u{1b}[0m{EVIL}"));
    let test = "logs_and_records_do_not_control_the_terminal";
    let exact = format!("\u{1b}[31mred\u{1b}[0m{EVIL}");
    check_both(test, &sandbox, &["logs", "t1"], &exact, "red\\u{9b}31m\\u{202e}");
    let harmless = "why\\u009b31m\\u202e";
    check_both(test, &sandbox, &["events", "--json"], harmless, harmless);
}

// pause, resume, stop

#[test]
fn control_requests_are_answered_by_the_run() {
    let sandbox = sandbox();
    let mut script = Script::begin(&sandbox, TIME);
    script.begun(1).starting("t1", 1, 1);
    let live = script.live(&sandbox);
    let requests = script.place.requests();
    let mut asked = RequestReader::from_now(&requests);
    let mut answered = |args: &[&str], answer: RunEvent| {
        std::thread::scope(|scope| {
            let client = scope.spawn(|| sandbox.run(args).exits(0).stdout);
            loop {
                if let [ask] = asked.more().as_slice() {
                    script.add(answer);
                    return (ask.clone(), client.join().expect("it ends"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let (ask, said) = answered(
        &["pause", "--by", "me", "--note", "lunch"],
        RunEvent::Paused(RequestRecord::default()),
    );
    assert_eq!(
        (ask.verb.as_str(), ask.by.as_deref(), ask.note.as_deref()),
        ("pause", Some("me"), Some("lunch"))
    );
    assert!(said.contains("is paused"), "{said}");
    assert!(sandbox.run(&["pause"]).exits(0).stdout.contains("paused already"));
    let (ask, said) = answered(&["resume", PLAN], RunEvent::Resumed(RequestRecord::default()));
    assert_eq!((ask.verb.as_str(), said.contains("continues")), ("resume", true));
    assert!(sandbox.run(&["resume"]).exits(0).stdout.contains("is not paused"));
    let (ask, said) = answered(&["stop", "--json"], RunEvent::Stopping(StopRecord::default()));
    assert_eq!(ask.verb, "stop");
    let report: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        (&report["asked"], &report["answer"]),
        (&"stop".into(), &"stopping".into())
    );
    // A run that is already stopping answers by ending its tasks.
    let interrupted = RunEvent::AttemptEnded(AttemptEndRecord {
        task: "t1".to_owned(),
        attempt: 1,
        outcome: Outcome::of("interrupted"),
        ..AttemptEndRecord::default()
    });
    let (ask, said) = answered(&["stop", "--now"], interrupted);
    assert_eq!((ask.verb.as_str(), said.contains("ends what runs")), ("kill", true));
    let (ask, said) = answered(&["stop", "--now"], RunEvent::RunEnded(RunEndRecord::default()));
    assert_eq!((ask.verb.as_str(), said.contains("is over")), ("kill", true));
    let silent = sandbox.run(&["stop", "--now"]).exits(3);
    assert!(silent.stderr.contains("has not answered"), "{}", silent.text());
    assert!(
        sandbox
            .run(&["stop", "--now", "--no-wait"])
            .exits(0)
            .stdout
            .contains("was asked")
    );
    drop(live);
    let gone = sandbox.run(&["pause"]).exits(1);
    assert!(
        gone.stderr.contains("the last run was 20261116-053000"),
        "{}",
        gone.text()
    );
}

#[test]
fn control_requests_without_a_live_run_are_refused() {
    let sandbox = sandbox();
    for verb in ["pause", "resume", "stop"] {
        let ran = sandbox.run(&[verb]).exits(1);
        assert!(ran.is_decent().stderr.contains("no run is active"), "{}", ran.text());
    }
    Script::begin(&sandbox, TIME).whole();
    let ran = sandbox.run(&["stop", PLAN]).exits(1);
    assert!(ran.stderr.contains("20261116-053000 (stuck)"), "{}", ran.text());
}

// report

/// Returns the elements of a page that were opened and never closed, or closed and never opened.
fn unbalanced(html: &str) -> Vec<String> {
    const VOID: [&str; 7] = ["meta", "br", "line", "path", "rect", "!doctype", "!--"];
    let mut open: Vec<String> = Vec::new();
    for part in html.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '\n']).next().unwrap_or("").trim_end_matches('/');
        match name.strip_prefix('/') {
            Some(name) if open.last().is_some_and(|last| last == name) => drop(open.pop()),
            Some(name) => open.push(format!("/{name}")),
            None if VOID.contains(&name) && (tag.ends_with('/') || name != "rect") => {}
            None => open.push(name.to_owned()),
        }
    }
    open
}

#[test]
fn a_report_is_one_page() {
    let sandbox = sandbox();
    sandbox.run(&["report"]).exits(1);
    let mut script = Script::begin(&sandbox, TIME);
    script.whole();
    script.output("t1", 2, (0..300).map(|n| format!("line {n}\n")).collect::<String>());
    let ran = sandbox.run(&["report"]).exits(0);
    assert_eq!(ran.stdout, ".planwright/runs/20261116-053000/report.html\n");
    let html = sandbox.read(ran.stdout.trim_end());
    assert_eq!(unbalanced(&html), [""; 0]);
    for words in [
        "Split the parser",
        "Cut out the lexer",
        "the agent gave up",
        "because t2 failed",
        "drift: README.md",
        "$ cargo test",
        "digest d1a0",
        "line 299",
        "line 100\n",
        "It is pretty",
        "the branch is not the plan&#39;s",
        "planwright run --retry-failed",
        "$0.63",
        "<svg",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(words), "{words} is not in the page");
    }
    assert!(!html.contains("line 99\n"), "200 lines are enough");
    for absent in ["http://", "https://", "<script", "url(", "@import", "src="] {
        assert!(!html.contains(absent), "{absent}");
    }
    // Again, elsewhere, and not over another file.
    sandbox.run(&["report", "last", "--json"]).exits(0);
    let out = sandbox.run(&["report", "--out", "-"]).exits(0).stdout;
    assert!(out.starts_with("<!doctype html>"), "{out}");
    sandbox.run(&["report", "--out", "a.html"]).exits(0);
    sandbox.run(&["report", "--out", "a.html"]).exits(0);
    let refused = sandbox.run(&["report", "--out", PLAN]).exits(1);
    assert!(refused.stderr.contains("is not a report"), "{}", refused.text());
    assert_eq!(sandbox.read(PLAN), plans::CLIDO);
    sandbox.run(&["report", "--out", "no/such/folder.html"]).exits(3);
    sandbox.run(&["report", "--out", "-", "--json"]).exits(2);
}

#[test]
fn nothing_in_a_report_is_markup() {
    let sandbox = sandbox();
    let evil = serde_json::to_string(&format!("{EVIL}\u{7}")).expect("JSON");
    sandbox.write(
        PLAN,
        format!("{{\"meta\": {{\"id\": {evil}, \"goal\": {evil}}}, \"tasks\": [{{\"id\": {evil}, \"description\": {evil}, \"depends_on\": []}}, {{\"id\": \"b\", \"description\": \"x\", \"depends_on\": [{evil}]}}]}}"),
    );
    let name = format!("{EVIL}\u{7}");
    let mut script = Script::begin(&sandbox, TIME);
    let evil = || Some(EVIL.to_owned());
    script.begun(2);
    script.add(RunEvent::AttemptStarting(AttemptRecord {
        task: name.clone(),
        attempt: 1,
        agent: EVIL.to_owned(),
        instead_of: evil(),
        slot: 1,
        folder: evil(),
        branch: evil(),
        ..AttemptRecord::default()
    }));
    script.add(RunEvent::AttemptEnded(AttemptEndRecord {
        task: name.clone(),
        attempt: 1,
        outcome: planwright_run::runs::Outcome::of(EVIL),
        why: evil(),
        output: evil(),
        files: vec![EVIL.to_owned()],
        exit: evil(),
        session: evil(),
        ..AttemptEndRecord::default()
    }));
    script.add(RunEvent::Verified(VerificationRecord {
        task: name.clone(),
        attempt: 1,
        passed: false,
        receipts: vec![Receipt {
            is_setup: false,
            command: vec![EVIL.to_owned()],
            exit: EVIL.to_owned(),
            digest: EVIL.to_owned(),
            tail: EVIL.to_owned(),
            commit: evil(),
            tree: None,
            ..Receipt::default()
        }],
        unverified: vec![EVIL.to_owned()],
    }));
    script.add(RunEvent::Drifted(DriftRecord {
        task: name.clone(),
        attempt: 1,
        files: vec![EVIL.to_owned()],
    }));
    script.add(RunEvent::Skipped(SkippedTask {
        task: "b".to_owned(),
        because: EVIL.to_owned(),
    }));
    script.add(RunEvent::Remark(RemarkRecord {
        text: EVIL.to_owned(),
        task: evil(),
        ..RemarkRecord::default()
    }));
    script.add(RunEvent::RunEnded(RunEndRecord {
        standing: planwright_run::runs::RunStanding::of(EVIL),
        why: evil(),
        next: evil(),
        ..RunEndRecord::default()
    }));
    script.output(&name, 1, EVIL);
    let html = sandbox
        .run(&["report", "--out", "-"])
        .exits(0)
        .is_decent()
        .stdout
        .clone();
    assert_eq!(unbalanced(&html), [""; 0]);
    assert!(html.contains("&lt;script&gt;alert(1)"), "it is shown");
    assert!(!html.contains("<script") && !html.contains('\u{202e}'), "{html}");
}

#[test]
fn reports_of_large_runs_and_of_plans_that_are_gone_stay_small() {
    let sandbox = sandbox();
    let tasks: Vec<String> = (0..800)
        .map(|n| match n {
            0..20 => format!("{{\"id\": \"t{n}\", \"description\": \"Do {n}\", \"depends_on\": []}}"),
            n => format!(
                "{{\"id\": \"t{n}\", \"description\": \"Do {n}\", \"depends_on\": [\"t{}\"]}}",
                n - 20
            ),
        })
        .collect();
    sandbox.write(
        PLAN,
        format!("{{\"goal\": \"Much\", \"tasks\": [{}]}}", tasks.join(",")),
    );
    let mut script = Script::begin(&sandbox, TIME);
    script.begun(800);
    for n in 0..800 {
        script.starting(&format!("t{n}"), 1, n % 8 + 1);
        script.finished(&format!("t{n}"), 1, "done", None);
    }
    let html = sandbox.run(&["report", "--out", "-"]).exits(0).stdout;
    assert_eq!(unbalanced(&html), [""; 0]);
    assert!(
        html.contains("slot 8") && html.contains("counted by level"),
        "neither timeline nor levels"
    );
    assert!(html.len() < 2_000_000, "{}", html.len());
    std::fs::remove_file(sandbox.path().join(PLAN)).expect("ours");
    let html = sandbox.run(&["report", "--out", "-"]).exits(0).stdout;
    assert!(
        html.contains("<b>t799</b>") && !html.contains("<h2>Graph</h2>"),
        "a run outlives its plan"
    );
}
