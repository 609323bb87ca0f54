//! Tests of the summary of a run.

use expect_test::expect;
use planwright_run::runs::state::RunState;
use planwright_run::runs::{DriftRecord, RunEndRecord, RunEvent, RunStanding, TaskRecord};
use planwright_verbs::run_history::{RunReport, Setting};

use super::samples::{Tape, setting};
use crate::render::run::summary;
use crate::render::terminal::Paint;

fn ended_badly() -> (Setting, RunState) {
    let drifted = DriftRecord {
        task: "T001".to_owned(),
        attempt: 1,
        files: vec!["Cargo.lock".to_owned()],
    };
    let tape = Tape::busy()
        .add(291, RunEvent::Drifted(drifted))
        .verify(295, "T008", &["exit 0"], "")
        .add(
            300,
            RunEvent::Review(TaskRecord {
                task: "T008".to_owned(),
            }),
        )
        .skip(300, "T009", "T003")
        .finish(301, "T005", "interrupted", None)
        .finish(
            302,
            "T007",
            "failed",
            Some("Traceback (most recent call last):\n  File \"x\"\nKeyError: 'y'"),
        )
        .end(
            320,
            RunEndRecord {
                standing: RunStanding::of("stuck"),
                n_done: 5,
                n_failed: 2,
                n_skipped: 2,
                n_review: 1,
                n_left: 2,
                n_unchanged: 0,
                n_unverified: 1,
                milliseconds: 3_840_000,
                cost_usd: Some(1.05),
                tokens: Some([50_000, 11_500]),
                why: Some("T010 depends on tasks that failed".to_owned()),
                next: Some("planwright run docs/tasks/pack.md --retry-failed".to_owned()),
                unwritten: Vec::new(),
            },
        );
    (setting(12), RunState::of(&tape.records))
}

#[test]
fn a_summary_has_the_results_of_a_run_and_the_next_command() {
    let (setting, run_state) = ended_badly();
    let report = RunReport::new(&setting, &run_state);
    expect![[r#"

        Run 20261116-053100 got stuck after 1h 04m: T010 depends on tasks that failed
          1 verified by commands
          1 unverified: T002
          $1.05, 50.0k tokens in, 11.5k out
          look first at T003 (failed), T007 (failed), T002 (unverified)

        Failed
          T003  日本語の文書を書く
            `cargo test` ended with exit 101: error[E0308]: mismatched types
            planwright logs T003 --run 20261116-053100 --checks
          T007  日本語の文書を書く (attempt 2)
            KeyError: 'y'
            planwright logs T007 --run 20261116-053100

        Skipped
          T004, T009, because T003 failed

        Not finished
          T005  interrupted before it was finished
            planwright logs T005 --run 20261116-053100
          T006  429 too many requests
            planwright logs T006 --run 20261116-053100

        Waiting for review
          T008  Read the seeds
            planwright approve T008 -p docs/tasks/pack.md
            planwright reject T008 -p docs/tasks/pack.md --note "…"

        Drift
          T001 changed Cargo.lock, which the plan does not name

        Changes
          T001  Write the parser                         verified by 2 commands, $0.21
          T002  Add tests for every rule of the grammar  unverified, $0.21
          T008  Read the seeds                           passed 1 command, in review, $0.21

        5 done, 2 failed, 2 skipped, 1 in review, 2 left

        To continue
          planwright run docs/tasks/pack.md --retry-failed
    "#]]
    .assert_eq(&summary(&report, Paint::new(false), 100));
    let value = serde_json::to_string_pretty(&report).expect("JSON");
    expect![[r#"
        {
          "schema_version": "planwright.run/v1",
          "run": "20261116-053100",
          "plan": "docs/tasks/pack.md",
          "standing": "stuck",
          "why": "T010 depends on tasks that failed",
          "counts": {
            "done": 5,
            "failed": 2,
            "skipped": 2,
            "left": 2,
            "review": 1,
            "verified": 1,
            "unverified": 1,
            "unchanged": 0
          },
          "milliseconds": 3840000,
          "cost_usd": 1.05,
          "tokens": {
            "input": 50000,
            "output": 11500
          },
          "failed": [
            {
              "task": "T003",
              "title": "日本語の文書を書く",
              "attempts": 1,
              "why": "`cargo test` ended with exit 101: error[E0308]: mismatched types",
              "log": "planwright logs T003 --run 20261116-053100 --checks",
              "checkout": null
            },
            {
              "task": "T007",
              "title": "日本語の文書を書く",
              "attempts": 2,
              "why": "KeyError: 'y'",
              "log": "planwright logs T007 --run 20261116-053100",
              "checkout": null
            }
          ],
          "skipped": [
            {
              "task": "T004",
              "because": "T003"
            },
            {
              "task": "T009",
              "because": "T003"
            }
          ],
          "review": [
            {
              "task": "T008",
              "title": "Read the seeds",
              "approve": "planwright approve T008 -p docs/tasks/pack.md",
              "reject": "planwright reject T008 -p docs/tasks/pack.md --note \"…\""
            }
          ],
          "unverified": [
            "T002"
          ],
          "unverified_criteria": [],
          "unchanged": [],
          "stopped": [
            {
              "task": "T005",
              "why": null,
              "log": "planwright logs T005 --run 20261116-053100",
              "checkout": null
            },
            {
              "task": "T006",
              "why": "429 too many requests",
              "log": "planwright logs T006 --run 20261116-053100",
              "checkout": null
            }
          ],
          "taken_over": [],
          "drift": [
            {
              "task": "T001",
              "files": [
                "Cargo.lock"
              ]
            }
          ],
          "fallbacks": [],
          "changes": [
            {
              "task": "T001",
              "title": "Write the parser",
              "commit": null,
              "files": 0,
              "added": null,
              "removed": null,
              "verified_by": 2,
              "attempts": 1,
              "cost_usd": 0.21,
              "no_changes": false
            },
            {
              "task": "T002",
              "title": "Add tests for every rule of the grammar",
              "commit": null,
              "files": 0,
              "added": null,
              "removed": null,
              "verified_by": 0,
              "attempts": 1,
              "cost_usd": 0.21,
              "no_changes": false
            },
            {
              "task": "T008",
              "title": "Read the seeds",
              "commit": null,
              "files": 0,
              "added": null,
              "removed": null,
              "verified_by": 1,
              "attempts": 1,
              "cost_usd": 0.21,
              "no_changes": false
            }
          ],
          "look_first": [
            {
              "task": "T003",
              "why": "failed"
            },
            {
              "task": "T007",
              "why": "failed"
            },
            {
              "task": "T002",
              "why": "unverified"
            }
          ],
          "remarks": [],
          "landed": null,
          "next": "planwright run docs/tasks/pack.md --retry-failed",
          "replan": null,
          "paused": false,
          "later_run": null
        }"#]]
    .assert_eq(&value);
}

#[test]
fn a_successful_run_has_a_short_summary() {
    let tape = Tape::begin(1, 1)
        .start(0, "T001", 1, "claude")
        .finish(60, "T001", "done", None)
        .verify(70, "T001", &["exit 0"], "")
        .end(
            71,
            RunEndRecord {
                standing: RunStanding::of("finished"),
                n_done: 1,
                milliseconds: 71_000,
                ..RunEndRecord::default()
            },
        );
    let report = RunReport::new(&setting(1), &RunState::of(&tape.records));
    expect![[r#"

        Run 20261116-053100 finished after 1m 11s
          1 verified by commands
          $0.21, 10.0k tokens in, 2.3k out

        Changes
          T001  Write the parser  verified by 1 command, $0.21

        1 done
    "#]]
    .assert_eq(&summary(&report, Paint::new(false), 100));
}

#[test]
fn a_run_that_was_cut_off_has_a_summary_too() {
    let report = RunReport::new(&setting(12), &RunState::of(&Tape::busy().records));
    let text = summary(&report, Paint::new(false), 100);
    assert!(text.starts_with("\nRun 20261116-053100 was interrupted\n"), "{text}");
    let nothing = RunReport::new(&Setting::default(), &RunState::default());
    assert_eq!(
        summary(&nothing, Paint::new(false), 100),
        "\nThe run was interrupted\n\n0 done\n\nTo continue\n  planwright run\n"
    );
}

#[test]
fn a_summary_of_thousands_stays_short() {
    let mut tape = Tape::begin(9_000, 1);
    for n in 0..3_000 {
        let task = format!("T{n}");
        tape = tape.start(1, &task, 1, "a").finish(1, &task, "failed", Some("no"));
        tape = tape.skip(1, &format!("S{n}"), "T0").skip(1, &format!("R{n}"), &task);
    }
    let report = RunReport::new(&Setting::default(), &RunState::of(&tape.records));
    let text = summary(&report, Paint::new(false), 100);
    assert!(text.lines().count() < 100, "{text}");
    assert!(text.contains("  … and 2980 more\n"), "{text}");
    assert!(
        text.contains("S0, R0, S1, S2, S3, S4, S5, S6 and 2993 more, because T0 failed"),
        "{text}"
    );
}
