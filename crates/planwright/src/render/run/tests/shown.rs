//! Tests of a run as lines, for people and for programs.

use expect_test::expect;
use planwright_run::journal::UnknownRecord;
use planwright_run::runs::{
    ApprovalRecord, DriftRecord, LandingEndRecord, PlanEditRecord, RemarkRecord, RequestRecord, RunEndRecord, RunEvent,
    RunStanding, StopReason, StopRecord, TaskRecord,
};

use super::fake_terminal::FakeTerminal;
use super::samples::{Tape, at, in_utc, setting};
use crate::render::run::lines::RunLines;
use crate::render::run::{JsonLines, Watcher as _};
use crate::render::terminal::Paint;

#[test]
fn a_run_is_shown_as_lines() {
    let asked = RequestRecord {
        by: Some("ann".to_owned()),
        why: None,
    };
    let merged = |passed: bool| LandingEndRecord {
        task: "T005".to_owned(),
        attempt: 1,
        branch: "planwright/run/T005".to_owned(),
        passed,
        commit: passed.then(|| "1a2b3c4d5e6f7a8b9c".to_owned()),
        tree: None,
        why: (!passed).then(|| "conflict in src/lib.rs".to_owned()),
    };
    let tape = Tape::busy()
        .verify(295, "T008", &["exit 0"], "")
        .add(
            300,
            RunEvent::Review(TaskRecord {
                task: "T008".to_owned(),
            }),
        )
        .add(301, RunEvent::Paused(asked.clone()))
        .add(302, RunEvent::Resumed(asked))
        .add(
            303,
            RunEvent::Approved(ApprovalRecord {
                task: "T008".to_owned(),
                by: Some("ann".to_owned()),
                ..ApprovalRecord::default()
            }),
        )
        .add(304, RunEvent::LandingEnded(merged(true)))
        .add(305, RunEvent::LandingEnded(merged(false)))
        .add(
            306,
            RunEvent::Drifted(DriftRecord {
                task: "T008".to_owned(),
                attempt: 1,
                files: ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"].map(str::to_owned).to_vec(),
            }),
        )
        .add(
            307,
            RunEvent::PlanEdited(PlanEditRecord {
                what: "T009 was renamed".to_owned(),
                tasks: Vec::new(),
                ..PlanEditRecord::default()
            }),
        )
        .add(
            308,
            RunEvent::Remark(RemarkRecord {
                text: "the checked-out branch is not `feature`".to_owned(),
                task: None,
                ..RemarkRecord::default()
            }),
        )
        .finish(309, "T007", "stopped", Some("the schema is not the plan"))
        .add(
            310,
            RunEvent::Stopping(StopRecord {
                reason: StopReason::of("condition"),
                task: Some("T007".to_owned()),
                why: Some("the schema is not the plan".to_owned()),
            }),
        )
        .end(
            320,
            RunEndRecord {
                standing: RunStanding::of("stopped"),
                milliseconds: 320_000,
                ..RunEndRecord::default()
            },
        );
    let mut story = RunLines::new(setting(12), Paint::new(false));
    let lines: Vec<String> = tape.records.iter().flat_map(|record| story.take(record)).collect();
    expect![[r#"
        05:31:00  the run begins: 12 tasks, 3 at a time
        05:31:02  T001  started  claude, attempt 1
        05:31:02  T002  started  codex, attempt 1
        05:32:50  T001  done in 1m 48s, verified by 2 commands
        05:32:50  T003  started  claude, attempt 1
        05:33:30  T002  done in 2m 28s, unverified
        05:34:25  T003  failed: `cargo test` ended with exit 101: error[E0308]: mismatched types
        05:34:25  T004  skipped because T003 failed
        05:34:25  T005  started  claude, attempt 1
        05:34:25  T006  started  opencode, attempt 1
        05:34:50  T006  rate limited: 429 too many requests
        05:34:50  T006  waits 1m 30s before attempt 2
        05:34:51  T007  started  claude, attempt 2
        05:35:00  T008  started  claude, attempt 1
        05:35:55  T008  done in 55s, verified by 1 command
        05:36:00  T008  needs review: `planwright approve T008 -p docs/tasks/pack.md`
        05:36:01  paused by ann; `planwright resume docs/tasks/pack.md` continues
        05:36:02  resumed by ann
        05:36:03  T008  approved by ann
        05:36:04  T005  landed on planwright/run/T005 as 1a2b3c4d5e
        05:36:05  T005  failed: conflict in src/lib.rs; its work is on branch planwright/run/T005
        05:36:06  T008  drift: changed a.rs, b.rs, c.rs, d.rs and 1 more, which the plan does not name
        05:36:07  the plan file was changed: T009 was renamed
        05:36:08  the checked-out branch is not `feature`
        05:36:09  T007  stopped: the schema is not the plan
        05:36:10  stopping: T007 met its stop condition: the schema is not the plan; no new task starts
    "#]]
    .assert_eq(&in_utc(&(lines.join("\n") + "\n")));
}

#[test]
fn a_silent_run_prints_a_line_per_minute() {
    let terminal = FakeTerminal::new(80, 24);
    let mut plain = terminal.plain(setting(12));
    for record in &Tape::busy().records {
        terminal.go_to(record);
        plain.event(record);
    }
    terminal.out.taken();
    for second in 291..470 {
        terminal.now.set(at(second));
        plain.tick();
    }
    expect![[r#"
        05:36:00  2 of 12 done, 1 failed, 3 running: T005 (1m 35s), T007 (1m 09s), T008 (1m 00s), 1 waiting for another attempt
        05:37:00  2 of 12 done, 1 failed, 3 running: T005 (2m 35s), T007 (2m 09s), T008 (2m 00s), 1 waiting for another attempt
        05:38:00  2 of 12 done, 1 failed, 3 running: T005 (3m 35s), T007 (3m 09s), T008 (3m 00s), 1 waiting for another attempt
    "#]].assert_eq(&in_utc(&terminal.out.taken()));
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let terminal = FakeTerminal::new(80, 24);
    let (mut plain, mut live) = (terminal.plain(setting(12)), terminal.live(setting(12)));
    let mut json = JsonLines::new(terminal.out.clone());
    terminal.out.is_broken.set(true);
    for record in &Tape::busy().records {
        plain.event(record);
        live.event(record);
        json.event(record);
    }
    terminal.out.is_broken.set(false);
    Tape::busy().records.iter().for_each(|record| plain.event(record));
    assert_eq!(terminal.out.taken(), "");
}

#[test]
fn programs_get_records_as_the_log_has_them() {
    let terminal = FakeTerminal::new(80, 24);
    let mut json = JsonLines::new(terminal.out.clone());
    let other = UnknownRecord {
        kind: "later".to_owned(),
        body: serde_json::value::to_raw_value(&serde_json::json!({"new": [1.50, "\u{9b}"]})).expect("JSON"),
    };
    let tape = Tape::begin(2, 1).skip(3, "T002", "T001").add(4, RunEvent::Other(other));
    tape.records.iter().for_each(|record| json.event(record));
    expect![[r#"
        {"seq":1,"time":"2026-11-16T05:31:00.000Z","kind":"run-begun","body":{"pid":1,"slots":1,"n_tasks":2}}
        {"seq":2,"time":"2026-11-16T05:31:03.000Z","kind":"skipped","body":{"task":"T002","because":"T001"}}
        {"seq":3,"time":"2026-11-16T05:31:04.000Z","kind":"later","body":{"new":[1.5,"\u009b"]}}
    "#]]
    .assert_eq(&terminal.out.taken());
}
