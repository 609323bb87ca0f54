//! The state of a run is the same live, in parts, and from its log: for random records, and for logs of earlier versions.

use std::path::Path;

use planwright_run::files::DiskFiles;
use planwright_run::journal::JournalHeader;
use planwright_run::runs::state::{RunState, TaskState, WorkProgress};
use planwright_run::runs::{
    AgentChoiceRecord, ApprovalRecord, AttemptEndRecord, AttemptRecord, DriftRecord, IsolationMode, LandingEndRecord,
    Outcome, PlanEditRecord, PlanWriteRecord, ProcessStartRecord, Receipt, RemarkKind, RemarkRecord, RenamedTask,
    RequestRecord, RetryWaitRecord, RunEndRecord, RunEvent, RunLog, RunRecord, RunStanding, RunStartRecord,
    SkippedTask, Spent, StopReason, StopRecord, TaskRecord, VerificationRecord, records,
};
use planwright_testkit::torture::chance::Chance;

/// How many random logs are folded.
const N_SEEDS: u64 = 200;

/// The longest of them, in records.
const MAX_RECORDS: u64 = 80;

const NAMES: [&str; 5] = ["1", "2", "3", "a\u{e9}", ""];

struct Random(Chance);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound as usize) as u64
    }

    fn name(&mut self) -> String {
        NAMES[self.below(NAMES.len() as u64) as usize].to_owned()
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 0
    }

    fn some<T>(&mut self, value: T) -> Option<T> {
        self.yes().then_some(value)
    }

    fn number(&mut self) -> u32 {
        1 + self.below(3) as u32
    }

    fn cost(&mut self) -> Option<f64> {
        let cost = self.below(1_000_003) as f64 / 7.0;
        self.some(cost)
    }

    fn tokens(&mut self) -> Option<[u64; 2]> {
        let tokens = [self.below(1000), self.below(1000)];
        self.some(tokens)
    }

    fn word<T>(&mut self, of: impl Fn(&str) -> T, words: &[&str]) -> T {
        of(words[self.below(words.len() as u64) as usize])
    }

    fn outcome(&mut self) -> Outcome {
        let words = [
            "done",
            "done",
            "failed",
            "stopped",
            "interrupted",
            "rate-limited",
            "broken",
            "odd",
        ];
        self.word(Outcome::of, &words)
    }

    fn receipts(&mut self) -> Vec<Receipt> {
        let receipt = Receipt {
            is_setup: false,
            command: vec!["cargo".to_owned(), "test".to_owned()],
            exit: if self.yes() { "exit 0" } else { "exit 1" }.to_owned(),
            tail: "an end".to_owned(),
            ..Receipt::default()
        };
        vec![receipt; self.below(3) as usize]
    }

    fn time(&mut self, nth: u64) -> String {
        match self.below(20) {
            0 => "some day".to_owned(),
            _ => format!("2026-11-16T05:{:02}:{:02}.{:03}Z", nth / 60, nth % 60, self.below(1000)),
        }
    }

    fn begun(&mut self) -> RunEvent {
        let earlier = Spent {
            cost_usd: self.cost(),
            tokens: self.tokens(),
            n_attempts: self.below(3),
            milliseconds: self.below(1000),
        };
        RunEvent::RunStarted(Box::new(RunStartRecord {
            n_tasks: self.below(6),
            isolation: Some(self.word(IsolationMode::of, &["shared", "worktrees", "elsewhere"])),
            earlier: self.some(earlier),
            ..RunStartRecord::default()
        }))
    }

    fn starting(&mut self) -> RunEvent {
        let agent = self.word(str::to_owned, &["one", "two", ""]);
        RunEvent::AttemptStarting(AttemptRecord {
            task: self.name(),
            attempt: self.number(),
            agent,
            branch: self.some("branch".to_owned()),
            folder: self.some("folder".to_owned()),
            ..AttemptRecord::default()
        })
    }

    fn finished(&mut self) -> RunEvent {
        let (milliseconds, limited_for) = (self.below(1000), self.below(100_000));
        RunEvent::AttemptEnded(AttemptEndRecord {
            task: self.name(),
            attempt: self.number(),
            outcome: self.outcome(),
            why: self.some("because".to_owned()),
            output: self.some("output".to_owned()),
            milliseconds: self.some(milliseconds),
            cost_usd: self.cost(),
            tokens: self.tokens(),
            limited_for: self.some(limited_for),
            ..AttemptEndRecord::default()
        })
    }

    fn edited(&mut self) -> RunEvent {
        let renamed = (0..self.below(3)).map(|_| RenamedTask::new(&self.name(), &self.name()));
        let renamed = renamed.collect();
        RunEvent::PlanEdited(PlanEditRecord {
            what: "something".to_owned(),
            renamed,
            removed: (0..self.below(2)).map(|_| self.name()).collect(),
            ..PlanEditRecord::default()
        })
    }

    fn of_attempt(&mut self) -> RunEvent {
        let (task, attempt) = (self.name(), self.number());
        match self.below(4) {
            0 => RunEvent::ProcessStarted(ProcessStartRecord {
                task,
                attempt,
                pid: 7,
                start_time: self.some("then".to_owned()),
                fence: None,
            }),
            1 => RunEvent::LandingEnded(LandingEndRecord {
                task,
                attempt,
                passed: self.yes(),
                why: self.some("conflict".to_owned()),
                ..LandingEndRecord::default()
            }),
            2 => RunEvent::Drifted(DriftRecord {
                task,
                attempt,
                files: vec!["file".to_owned()],
            }),
            _ => RunEvent::Verified(VerificationRecord {
                task,
                attempt,
                passed: self.yes(),
                receipts: self.receipts(),
                ..VerificationRecord::default()
            }),
        }
    }

    fn of_task(&mut self) -> RunEvent {
        let task = self.name();
        match self.below(6) {
            0 => RunEvent::Skipped(SkippedTask {
                task,
                because: self.name(),
            }),
            1 => RunEvent::Review(TaskRecord { task }),
            2 => RunEvent::Approved(ApprovalRecord {
                task,
                by: self.some("ann".to_owned()),
                ..ApprovalRecord::default()
            }),
            3 => RunEvent::Resting(RetryWaitRecord {
                task,
                milliseconds: 5,
                ..RetryWaitRecord::default()
            }),
            4 => RunEvent::AgentChosen(AgentChoiceRecord {
                task,
                cost_usd: self.cost(),
                tokens: self.tokens(),
                why: self.some("no answer".to_owned()),
                ..AgentChoiceRecord::default()
            }),
            _ => RunEvent::PlanWritten(PlanWriteRecord {
                tasks: vec![task],
                change: None,
            }),
        }
    }

    fn of_run(&mut self) -> RunEvent {
        match self.below(6) {
            0 => self.begun(),
            1 => RunEvent::Paused(RequestRecord::default()),
            2 => RunEvent::Resumed(RequestRecord::default()),
            3 => RunEvent::Stopping(StopRecord {
                reason: self.word(StopReason::of, &["budget", "requested", "boredom"]),
                ..StopRecord::default()
            }),
            4 => RunEvent::Remark(RemarkRecord {
                text: "mind the gap".to_owned(),
                task: None,
                kind: Some(self.word(RemarkKind::of, &["fallback", "news"])),
            }),
            _ => RunEvent::RunEnded(RunEndRecord {
                standing: self.word(RunStanding::of, &["finished", "stuck", "bored"]),
                unwritten: vec![self.name()],
                ..RunEndRecord::default()
            }),
        }
    }

    fn event(&mut self) -> RunEvent {
        match self.below(20) {
            0..6 => self.starting(),
            6..10 => self.finished(),
            10..14 => self.of_attempt(),
            14..17 => self.of_task(),
            17 => self.edited(),
            _ => self.of_run(),
        }
    }

    fn records(&mut self) -> Vec<RunRecord> {
        let n_records = 1 + self.below(MAX_RECORDS);
        let record = |nth: u64| RunRecord {
            seq: nth + 1,
            time: self.time(nth),
            event: if nth == 0 { self.begun() } else { self.event() },
        };
        (0..n_records).map(record).collect()
    }
}

#[test]
fn a_replay_gives_the_state_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let header = JournalHeader {
        path: "plan.json".to_owned(),
        id: None,
    };
    for seed in 0..N_SEEDS {
        let mut random = Random(Chance::new(seed));
        let made = random.records();
        let path = folder.path().join(format!("{seed}.journal"));
        let mut log = RunLog::begin(&DiskFiles, &path, &header).expect("a log");
        for record in &made {
            log.add(&record.time, &record.event).expect("added");
        }
        log.commit().expect("written");
        let read = records(&DiskFiles, &path).expect("read");
        let live = RunState::of(&made);
        assert_eq!(RunState::of(&read), live, "seed {seed}");
        let n_first = random.below(made.len() as u64 + 1) as usize;
        let mut in_parts = RunState::of(&made[..n_first]);
        made[n_first..].iter().for_each(|record| in_parts.apply(record));
        assert_eq!(in_parts, live, "seed {seed}, after {n_first}");
        assert_eq!(
            RunState::of(&read[..n_first]),
            RunState::of(&made[..n_first]),
            "seed {seed}"
        );
    }
}

/// A log of a run that was killed and resumed, from when outcomes were strings. It is never rewritten.
const RESUMED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/run-v1-resumed.journal");

#[test]
fn a_log_from_before_the_enums_gives_the_same_state() {
    let records = records(&DiskFiles, Path::new(RESUMED)).expect("a log that can be read");
    let state = RunState::of(&records);
    let states = ["t1", "t2", "t3", "t4", "t5"].map(|task| state.task(task).expect("a task").state.name());
    assert_eq!(states, ["done", "failed", "skipped", "done", "done"]);
    assert_eq!(
        state.ended.as_ref().map(|ended| &ended.standing),
        Some(&RunStanding::Stuck)
    );
    assert_eq!(
        state.begun.as_ref().and_then(|begun| begun.isolation.clone()),
        Some(IsolationMode::Worktrees)
    );
    // The attempt that the provider refused does not count; the one that the kill ended does.
    assert_eq!((state.counts.n_attempts, state.spent.n_attempts), (8, 7));
    assert_eq!(["t2", "t4", "t5"].map(|task| state.highest_attempt(task)), [3, 2, 2]);
    assert_eq!(state.task("t5").map(|task| task.spent.n_attempts), Some(2));
    assert_eq!(
        state.task("t1").and_then(|task| task.results.output.as_deref()),
        Some("made it")
    );
    assert_eq!(state.from_agents.provider_limits.len(), 1);
    assert_eq!(
        (
            state.from_agents.processes.len(),
            state.times.n_continued,
            state.counts.n_accepted_unverified
        ),
        (8, 1, 0)
    );
    assert!(state.tasks().iter().all(|task| task.plan_file.is_current));
    let killed = RunState::of(records.iter().take_while(|record| record.seq < 31));
    assert_eq!(killed.ended, None);
    let progress = ["t1", "t2", "t5"].map(|task| killed.task(task).expect("a task").progress());
    assert_eq!(
        progress,
        [WorkProgress::Done, WorkProgress::Failed, WorkProgress::Running]
    );
    assert!(!killed.task("t2").expect("a task").plan_file.is_current);
    assert_eq!(killed.spent_until_last_record().n_attempts, 5);
}

fn at(seq: u64, event: RunEvent) -> RunRecord {
    RunRecord {
        seq,
        time: format!("2026-11-16T05:00:{seq:02}.000Z"),
        event,
    }
}

/// Tasks without ids are named by their position: an edit before them renames them.
#[test]
fn attempts_follow_their_task_when_an_edit_renames_it() {
    let starting = |task: &str, attempt| {
        RunEvent::AttemptStarting(AttemptRecord {
            task: task.to_owned(),
            attempt,
            ..AttemptRecord::default()
        })
    };
    let done = |task: &str, attempt| {
        RunEvent::AttemptEnded(AttemptEndRecord {
            task: task.to_owned(),
            attempt,
            outcome: Outcome::Done,
            ..AttemptEndRecord::default()
        })
    };
    let edited = PlanEditRecord {
        renamed: vec![RenamedTask::new("1", "2")],
        removed: vec!["2".to_owned()],
        ..PlanEditRecord::default()
    };
    let state = RunState::of(&[
        at(1, starting("1", 1)),
        at(2, starting("2", 1)),
        at(3, RunEvent::PlanEdited(edited)),
        // Both attempts are recorded with the names of their tasks when they started.
        at(4, done("1", 1)),
        at(5, starting("1", 2)),
    ]);
    let renamed = state.task("2").expect("it has its new name");
    assert_eq!(
        (renamed.state.clone(), renamed.attempts.len()),
        (TaskState::Verifying, 1)
    );
    assert_eq!(state.task("1").map(|task| task.state.clone()), Some(TaskState::Running));
    assert_eq!(state.task_of_attempt("1", 1), Some(renamed));
    assert_eq!(
        state.task_of_attempt("2", 1).map(|task| task.plan_file.is_removed),
        Some(true)
    );
    assert_eq!((state.highest_attempt("1"), state.highest_attempt("2")), (2, 1));
}
