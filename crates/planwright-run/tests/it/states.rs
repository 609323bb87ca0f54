//! The state rebuilt from the records of a run.

use planwright_run::runs::state::{RunState, TaskCounts, TaskRun};
use planwright_run::runs::{
    ApprovalRecord, AttemptEndRecord, AttemptRecord, LandingEndRecord, Outcome, PlanWriteRecord, ProcessStartRecord,
    Receipt, RemarkRecord, RequestRecord, RetryWaitRecord, RunEndRecord, RunEvent, RunRecord, RunStanding,
    RunStartRecord, SkippedTask, TaskRecord, VerificationRecord,
};

/// Returns records one second apart.
fn records(events: Vec<RunEvent>) -> Vec<RunRecord> {
    let each = events.into_iter().zip(0..).map(|(event, n)| RunRecord {
        seq: n + 1,
        time: format!("2026-11-16T05:{:02}:{:02}.000Z", n / 60, n % 60),
        event,
    });
    each.collect()
}

fn state_of(events: Vec<RunEvent>) -> RunState {
    RunState::of(&records(events))
}

fn begun(n_tasks: u64) -> RunEvent {
    RunEvent::RunStarted(Box::new(RunStartRecord {
        pid: 7,
        slots: 2,
        n_tasks,
        ..RunStartRecord::default()
    }))
}

fn starting(task: &str, attempt: u32) -> RunEvent {
    RunEvent::AttemptStarting(AttemptRecord {
        task: task.to_owned(),
        attempt,
        agent: "mock".to_owned(),
        slot: 1,
        ..AttemptRecord::default()
    })
}

fn finished(task: &str, attempt: u32, outcome: &str) -> RunEvent {
    RunEvent::AttemptEnded(AttemptEndRecord {
        task: task.to_owned(),
        attempt,
        outcome: Outcome::of(outcome),
        cost_usd: Some(0.25),
        tokens: Some([100, 10]),
        ..AttemptEndRecord::default()
    })
}

fn verified(task: &str, attempt: u32, passed: bool, n_receipts: usize) -> RunEvent {
    let receipt = Receipt {
        is_setup: false,
        command: vec!["cargo".to_owned(), "test".to_owned()],
        exit: if passed { "exit 0" } else { "exit 101" }.to_owned(),
        ..Receipt::default()
    };
    RunEvent::Verified(VerificationRecord {
        task: task.to_owned(),
        attempt,
        passed,
        receipts: vec![receipt; n_receipts],
        ..VerificationRecord::default()
    })
}

fn ended() -> RunEvent {
    RunEvent::RunEnded(RunEndRecord {
        standing: RunStanding::of("finished"),
        ..RunEndRecord::default()
    })
}

#[track_caller]
fn state(run: &RunState, task: &str) -> &'static str {
    run.task(task).expect("a task").state.name()
}

#[test]
fn a_task_is_done_when_it_is_verified() {
    let mut events = vec![begun(2), starting("a", 1)];
    assert_eq!(state(&state_of(events.clone()), "a"), "running");
    events.push(finished("a", 1, "done"));
    assert_eq!(state(&state_of(events.clone()), "a"), "verifying");
    events.push(verified("a", 1, true, 1));
    let done = state_of(events);
    assert_eq!(state(&done, "a"), "done");
    assert!(done.task("a").is_some_and(TaskRun::is_verified));
    assert_eq!((done.counts.n_done, done.counts.n_unverified, done.n_left()), (1, 0, 1));
    assert_eq!(done.task("a").and_then(TaskRun::took), Some(1_000));
}

#[test]
fn verification_may_come_before_the_end_of_the_attempt() {
    let mut events = vec![begun(1), starting("a", 1), verified("a", 1, true, 1)];
    assert_eq!(state(&state_of(events.clone()), "a"), "verifying");
    events.push(finished("a", 1, "done"));
    assert_eq!(state(&state_of(events), "a"), "done");
    let failed = state_of(vec![
        starting("a", 1),
        verified("a", 1, false, 1),
        finished("a", 1, "failed"),
    ]);
    assert_eq!(state(&failed, "a"), "failed");
}

#[test]
fn a_failed_verification_is_a_failed_attempt() {
    let mut events = vec![
        begun(1),
        starting("a", 1),
        finished("a", 1, "done"),
        verified("a", 1, false, 1),
    ];
    let failed = state_of(events.clone());
    assert_eq!(state(&failed, "a"), "failed");
    assert_eq!(
        failed.task("a").and_then(TaskRun::why),
        Some("`cargo test` ended with exit 101")
    );
    let resting = RetryWaitRecord {
        task: "a".to_owned(),
        attempt: 1,
        milliseconds: 500,
        why: None,
    };
    events.push(RunEvent::Resting(resting));
    assert_eq!(state(&state_of(events.clone()), "a"), "resting");
    events.extend([starting("a", 2), finished("a", 2, "done"), verified("a", 2, true, 1)]);
    let done = state_of(events);
    assert_eq!(state(&done, "a"), "done");
    assert_eq!(
        (done.counts.n_attempts, done.spent.cost_usd, done.spent.tokens),
        (2, Some(0.5), Some([200, 20]))
    );
    assert_eq!(
        done.counts,
        TaskCounts {
            n_attempts: 2,
            n_done: 1,
            ..TaskCounts::default()
        }
    );
}

#[test]
fn a_task_without_a_passed_command_is_unverified() {
    let empty = state_of(vec![
        starting("a", 1),
        finished("a", 1, "done"),
        verified("a", 1, true, 0),
    ]);
    assert_eq!((state(&empty, "a"), empty.counts.n_unverified), ("done", 1));
}

#[test]
fn writing_the_plan_file_changes_no_task_state() {
    let projected = RunEvent::PlanWritten(PlanWriteRecord {
        tasks: vec!["a".to_owned(), "unknown".to_owned()],
        change: Some(1),
    });
    let begun = state_of(vec![begun(2), starting("a", 1), finished("a", 1, "done"), projected]);
    assert_eq!((state(&begun, "a"), begun.counts.n_done), ("verifying", 0));
}

#[test]
fn tasks_running_at_the_end_of_the_run_are_interrupted() {
    let mut events = vec![begun(3), starting("a", 1), starting("b", 1), finished("b", 1, "done")];
    events.push(verified("b", 1, true, 1));
    let started = ProcessStartRecord {
        task: "a".to_owned(),
        attempt: 1,
        pid: 4711,
        start_time: None,
        fence: None,
    };
    events.push(RunEvent::ProcessStarted(started));
    events.push(begun(3));
    let again = state_of(events.clone());
    assert_eq!(
        (state(&again, "a"), state(&again, "b"), again.times.n_continued),
        ("interrupted", "done", 1)
    );
    events.extend([finished("a", 1, "interrupted"), starting("a", 2), ended()]);
    let over = state_of(events.clone());
    assert_eq!(state(&over, "a"), "interrupted");
    assert_eq!(over.task("a").map(|task| task.attempts.len()), Some(2));
    assert_eq!(
        over.ended.as_ref().map(|ended| ended.standing.as_str()),
        Some("finished")
    );
    events.push(begun(3));
    assert_eq!(state_of(events).ended, None);
}

#[test]
fn reviews_skips_pauses_and_remarks_are_recorded() {
    let review = |task: &str| RunEvent::Review(TaskRecord { task: task.to_owned() });
    let mut events = vec![
        begun(3),
        starting("a", 1),
        finished("a", 1, "done"),
        verified("a", 1, true, 1),
        review("a"),
    ];
    events.push(RunEvent::Skipped(SkippedTask {
        task: "b".to_owned(),
        because: "c".to_owned(),
    }));
    events.push(RunEvent::Paused(RequestRecord {
        by: Some("ann".to_owned()),
        why: None,
    }));
    events.push(RunEvent::Remark(RemarkRecord {
        text: "mind the gap".to_owned(),
        ..RemarkRecord::default()
    }));
    let paused = state_of(events.clone());
    assert_eq!((state(&paused, "a"), state(&paused, "b")), ("review", "skipped"));
    assert_eq!(
        paused.halt.paused.as_ref().and_then(|asked| asked.by.as_deref()),
        Some("ann")
    );
    assert_eq!(paused.remarks.len(), 1);
    events.push(RunEvent::Resumed(RequestRecord::default()));
    events.push(RunEvent::Approved(ApprovalRecord {
        task: "a".to_owned(),
        by: None,
        ..ApprovalRecord::default()
    }));
    let approved = state_of(events);
    assert_eq!((state(&approved, "a"), approved.halt.paused.is_none()), ("done", true));
    assert_eq!((approved.counts.n_skipped, approved.n_left()), (1, 1));
}

#[test]
fn a_conflict_fails_the_task() {
    let merged = RunEvent::LandingEnded(LandingEndRecord {
        task: "a".to_owned(),
        attempt: 1,
        branch: "planwright/a".to_owned(),
        passed: false,
        why: Some("conflict in `x`".to_owned()),
        ..LandingEndRecord::default()
    });
    let failed = state_of(vec![
        starting("a", 1),
        finished("a", 1, "done"),
        verified("a", 1, true, 1),
        merged,
    ]);
    assert_eq!(state(&failed, "a"), "failed");
    assert_eq!(failed.task("a").and_then(TaskRun::why), Some("conflict in `x`"));
}

#[test]
fn inconsistent_records_are_tolerated() {
    let odd = state_of(vec![
        ended(),
        finished("a", 9, "danced"),
        verified("b", 1, true, 0),
        starting("a", 1),
    ]);
    assert_eq!(state(&odd, "a"), "running");
    assert_eq!(odd.task("a").map(|task| task.attempts.len()), Some(2));
    assert_eq!(
        odd.task("a").and_then(|task| task.attempts[0].outcome.clone()),
        Some(Outcome::Other("danced".to_owned()))
    );
}
