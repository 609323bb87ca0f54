//! Tests of single frames of the live display, at several sizes.

use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use planwright_run::runs::{RequestRecord, RunEvent, StopReason, StopRecord};
use planwright_verbs::run_history::Setting;
use planwright_verbs::text::columns;

use super::samples::{Screen, Tape, at, setting};
use crate::render::run::ScreenSize;
use crate::render::run::frame::{FrameRow, frame};
use crate::render::run::progress::Progress;
use crate::render::run::words::Moment;
use crate::render::terminal::Paint;

fn progress(tape: &Tape, setting: Setting) -> Progress {
    let mut progress = Progress::new(setting);
    for record in &tape.records {
        progress.take(record);
    }
    progress
}

fn busy() -> Progress {
    let mut progress = progress(&Tape::busy(), setting(12));
    progress.line(
        "T005",
        "\u{1b}[32m   Compiling\u{1b}[0m planwright-core v0.1.0 (/somewhere/deep/in/the/tree/of/folders)",
    );
    progress.line(
        "T007",
        "10 %\r20 %\r日本語のテストを実行しています、少々お待ちください。もうすぐ終わります。\r",
    );
    progress.line("T008", "running 12 tests");
    progress.line("T099", "nobody asked");
    progress
}

fn text_of(rows: &[FrameRow]) -> String {
    rows.iter().map(|row| format!("{}\n", row.text)).collect()
}

/// Draws without colours, and checks every row against the terminal's size.
pub(super) fn plain(progress: &Progress, now: Moment, columns_: usize, rows: usize) -> String {
    let size = ScreenSize {
        columns: columns_,
        rows,
    };
    let drawn = frame(progress, now, size, Paint::new(false));
    assert!(drawn.len() < rows.max(1), "{} rows", drawn.len());
    for row in &drawn {
        assert_eq!(columns(&row.text), row.columns, "{}", row.text);
        assert!(row.columns < columns_, "{}", row.text);
    }
    text_of(&drawn)
}

#[track_caller]
fn check_frame(progress: &Progress, columns: usize, rows: usize, expected: Expect) {
    expected.assert_eq(&plain(progress, at(300), columns, rows));
}

#[test]
fn a_frame_fits_a_terminal_of_any_usual_size() {
    let busy = busy();
    check_frame(
        &busy,
        120,
        24,
        expect![[r#"
            █████░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
            5m 00s · 1 verified, 1 unverified · $1.05 · 61.5k tokens
            ⠋ T005  Write the parser               claude     1m 35s  Compiling planwright-core v0.1.0 (/somewhere/deep/in/the/tre…
            ⠋ T007  日本語の文書を書く             claude #2  1m 09s  日本語のテストを実行しています、少々お待ちください。もうすぐ…
            ⠋ T008  Read the seeds                 claude     1m 00s  verifying: running 12 tests
            ◷ T006  Add tests for every rule of…   opencode           attempt 2 in 20s: 429 too many requests
        "#]],
    );
    check_frame(
        &busy,
        80,
        24,
        expect![[r#"
            █████░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
            5m 00s · 1 verified, 1 unverified · $1.05 · 61.5k tokens
            ⠋ T005  Write the parser     claude     1m 35s  Compiling planwright-core v0.1…
            ⠋ T007  日本語の文書を書く   claude #2  1m 09s  日本語のテストを実行しています…
            ⠋ T008  Read the seeds       claude     1m 00s  verifying: running 12 tests
            ◷ T006  Add tests for ever…  opencode           attempt 2 in 20s: 429 too many…
        "#]],
    );
    check_frame(
        &busy,
        40,
        24,
        expect![[r#"
            2 of 12 done, 1 failed, 1 skipped
            5m 00s · 1 verified, 1 unverified
            ⠋ T005  1m 35s  Compiling planwright-c…
            ⠋ T007  1m 09s  日本語のテストを実行し…
            ⠋ T008  1m 00s  verifying: running 12…
            ◷ T006          attempt 2 in 20s: 429…
        "#]],
    );
    check_frame(
        &busy,
        120,
        5,
        expect![[r#"
            █████░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
            5m 00s · 1 verified, 1 unverified · $1.05 · 61.5k tokens
            ⠋ T005  Write the parser  claude  1m 35s  Compiling planwright-core v0.1.0 (/somewhere/deep/in/the/tree/of/folders)
              … and 3 more
        "#]],
    );
    check_frame(
        &busy,
        80,
        5,
        expect![[r#"
            █████░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
            5m 00s · 1 verified, 1 unverified · $1.05 · 61.5k tokens
            ⠋ T005  Write the parser  claude  1m 35s  Compiling planwright-core v0.1.0 (/s…
              … and 3 more
        "#]],
    );
    check_frame(
        &busy,
        40,
        5,
        expect![[r#"
            2 of 12 done, 1 failed, 1 skipped
            5m 00s · 1 verified, 1 unverified
            ⠋ T005  1m 35s  Compiling planwright-c…
              … and 3 more
        "#]],
    );
}

#[test]
fn a_frame_fits_a_terminal_of_any_size() {
    let mut busy = busy();
    for n_interrupts in 0..2 {
        for columns in 0..130 {
            for rows in 0..30 {
                plain(&busy, at(300), columns, rows);
            }
        }
        busy.n_interrupts = n_interrupts + 1;
    }
    assert_eq!(plain(&busy, at(300), 80, 1), "");
}

#[test]
fn a_banner_says_why_nothing_starts_and_what_the_keys_do() {
    let asked = RequestRecord {
        by: Some("ann".to_owned()),
        why: Some("I want to look at T003 before anything else is built upon it".to_owned()),
    };
    let paused = Tape::busy().add(299, RunEvent::Paused(asked));
    check_frame(
        &progress(&paused, setting(12)),
        80,
        5,
        expect![[r#"
            █████░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
            ⠋ T005  Write the parser  claude  1m 35s
              … and 3 more
            paused by ann: I want to look at T003 before anyt… · Ctrl-C: no new task starts
        "#]],
    );
    let stopping = StopRecord {
        reason: StopReason::of("failure"),
        task: Some("T003".to_owned()),
        why: None,
    };
    let stopping = Tape::busy().add(299, RunEvent::Stopping(stopping));
    let mut stopping = progress(&stopping, setting(12));
    check_frame(
        &stopping,
        80,
        6,
        expect![[r#"
            █████░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
            5m 00s · 1 verified, 1 unverified · $1.05 · 61.5k tokens
            ⠋ T005  Write the parser  claude  1m 35s
              … and 3 more
            stopping, 3 tasks still at work: T003 failed · Ctrl-C twice ends them
        "#]],
    );
    let banner = |progress: &Progress| plain(progress, at(300), 80, 24).lines().last().map(str::to_owned);
    stopping.n_interrupts = 1;
    expect![[r#"
        Some(
            "stopping, 3 tasks still at work: T003 failed · Ctrl-C again ends them",
        )
    "#]]
    .assert_debug_eq(&banner(&stopping));
    stopping.n_interrupts = 2;
    expect![[r#"
        Some(
            "ending 3 tasks · Ctrl-C again ends them at once",
        )
    "#]]
    .assert_debug_eq(&banner(&stopping));
    stopping.n_interrupts = 3;
    expect![[r#"
        Some(
            "ending 3 tasks",
        )
    "#]]
    .assert_debug_eq(&banner(&stopping));
}

#[test]
fn colours_take_no_columns() {
    let size = ScreenSize { columns: 80, rows: 24 };
    let plain = frame(&busy(), at(300), size, Paint::new(false));
    let coloured = frame(&busy(), at(300), size, Paint::new(true));
    for (plain, coloured) in plain.iter().zip(&coloured) {
        assert_eq!(plain.columns, coloured.columns);
        let mut screen = Screen::new(200, 5);
        screen.take(&coloured.text);
        assert_eq!(screen.text(), plain.text.trim_end());
    }
    assert_ne!(text_of(&plain), text_of(&coloured));
}

#[test]
fn an_end_is_estimated_from_the_second_finished_task_on() {
    let one = Tape::begin(10, 2)
        .start(0, "T001", 1, "a")
        .finish(60, "T001", "done", None)
        .verify(60, "T001", &[], "");
    assert_eq!(progress(&one, setting(10)).remaining(at(60)), None);
    let two = one
        .start(60, "T002", 1, "a")
        .finish(180, "T002", "failed", Some("no"))
        .start(180, "T003", 1, "a");
    let two = progress(&two, setting(10));
    // Seven tasks of 90 s each, and the rest of one, in parallel.
    assert_eq!(two.remaining(at(210)), Some((7 * 90 + 60) * 1_000 / 2));
    assert_eq!(two.remaining(at(999)), Some(7 * 90 * 1_000 / 2));
    let paused = Tape::busy().add(299, RunEvent::Paused(RequestRecord::default()));
    assert_eq!(progress(&paused, setting(12)).remaining(at(300)), None);
}

#[test]
fn the_cost_of_a_frame_does_not_grow_with_the_plan() {
    let mut tape = Tape::begin(40_000, 4);
    for n in 0..40_000 {
        let task = format!("T{n}");
        tape = tape.start(n, &task, 1, "a");
        if n < 39_000 {
            tape = tape.finish(n, &task, "done", None).verify(n, &task, &[], "");
        }
    }
    let progress = progress(&tape, Setting::default());
    let began = Instant::now();
    for _ in 0..100 {
        let drawn = plain(&progress, at(40_000), 80, 24);
        assert!(drawn.contains("… and 987 more"), "{drawn}");
    }
    // A hundred frames take about ten milliseconds; visiting all tasks for each frame would take minutes.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
