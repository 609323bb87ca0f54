//! What users see of runs, at several sizes, from friendly and hostile texts.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use planwright_run::runs::account::Account;
use planwright_run::runs::{
    Approved, Asked, Drifted, Edited, Ended, Merged, OtherEvent, Remark, RunEvent, RunRecord, Stopping, TaskName,
};

use super::columns::columns;
use super::frame::{Row, frame};
use super::lines::Story;
use super::progress::Progress;
use super::samples::{Screen, Tape, at, setting};
use super::words::Moment;
use super::{JsonLines, LiveDisplay, PlainLines, RunReport, Setting, Size, Watcher as _, suits_live, summary};
use crate::render::terminal::{Paint, json_text};

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

fn text_of(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("{}\n", row.text)).collect()
}

/// Draws without colours, and holds every row to the terminal's size.
fn plain(progress: &Progress, now: Moment, columns_: usize, rows: usize) -> String {
    let size = Size {
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
        █████▓▓▓▒▒░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
        5m 00s · about 4 min left · 1 verified, 1 unverified · $1.05 · 61.5k tokens
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
        █████▓▓▓▒▒░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
        5m 00s · about 4 min left · 1 verified, 1 unverified · $1.05 · 61.5k tokens
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
        5m 00s · about 4 min left
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
        █████▓▓▓▒▒░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
        5m 00s · about 4 min left · 1 verified, 1 unverified · $1.05 · 61.5k tokens
        ⠋ T005  Write the parser  claude  1m 35s  Compiling planwright-core v0.1.0 (/somewhere/deep/in/the/tree/of/folders)
          … and 3 more
    "#]],
    );
    check_frame(
        &busy,
        80,
        5,
        expect![[r#"
        █████▓▓▓▒▒░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
        5m 00s · about 4 min left · 1 verified, 1 unverified · $1.05 · 61.5k tokens
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
        5m 00s · about 4 min left
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
        busy.set_interrupts(n_interrupts + 1);
    }
    assert_eq!(plain(&busy, at(300), 80, 1), "");
}

#[test]
fn a_banner_says_why_nothing_starts_and_what_the_keys_do() {
    let asked = Asked {
        by: Some("ann".to_owned()),
        why: Some("I want to look at T003 before anything else is built upon it".to_owned()),
    };
    let paused = Tape::busy().add(299, RunEvent::Paused(asked));
    check_frame(
        &progress(&paused, setting(12)),
        80,
        5,
        expect![[r#"
        █████▓▓▓▒▒░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
        ⠋ T005  Write the parser  claude  1m 35s
          … and 3 more
        paused by ann: I want to look at T003 before anyth… · Ctrl-C starts nothing new
    "#]],
    );
    let stopping = Stopping {
        reason: "failure".to_owned(),
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
        █████▓▓▓▒▒░░░░░░░░░░░░░░░░░░░░░░  2 of 12 done, 1 failed, 1 skipped, 8 left
        5m 00s · 1 verified, 1 unverified · $1.05 · 61.5k tokens
        ⠋ T005  Write the parser  claude  1m 35s
          … and 3 more
        stopping, 3 tasks still at work: T003 failed · Ctrl-C twice ends them
    "#]],
    );
    let banner = |progress: &Progress| plain(progress, at(300), 80, 24).lines().last().map(str::to_owned);
    stopping.set_interrupts(1);
    expect![[r#"
        Some(
            "stopping, 3 tasks still at work: T003 failed · Ctrl-C again ends them",
        )
    "#]]
    .assert_debug_eq(&banner(&stopping));
    stopping.set_interrupts(2);
    expect![[r#"
        Some(
            "ending 3 tasks · Ctrl-C again ends them at once",
        )
    "#]]
    .assert_debug_eq(&banner(&stopping));
    stopping.set_interrupts(3);
    expect![[r#"
        Some(
            "ending 3 tasks",
        )
    "#]]
    .assert_debug_eq(&banner(&stopping));
}

#[test]
fn colours_take_no_columns() {
    let size = Size { columns: 80, rows: 24 };
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
    // Seven tasks of 90 s each, and what is left of one, side by side.
    assert_eq!(two.remaining(at(210)), Some((7 * 90 + 60) * 1_000 / 2));
    assert_eq!(two.remaining(at(999)), Some(7 * 90 * 1_000 / 2));
    let paused = Tape::busy().add(299, RunEvent::Paused(Asked::default()));
    assert_eq!(progress(&paused, setting(12)).remaining(at(300)), None);
}

#[test]
fn a_frame_costs_what_it_shows_and_not_what_the_plan_holds() {
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
    // A hundred frames take some ten milliseconds; looking at all tasks, with what is drawn of each, would take minutes.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_run_is_told_in_lines() {
    let asked = Asked {
        by: Some("ann".to_owned()),
        why: None,
    };
    let merged = |passed: bool| Merged {
        task: "T005".to_owned(),
        attempt: 1,
        branch: "planwright/run/T005".to_owned(),
        passed,
        commit: passed.then(|| "1a2b3c4d5e6f7a8b9c".to_owned()),
        why: (!passed).then(|| "conflict in src/lib.rs".to_owned()),
    };
    let tape = Tape::busy()
        .verify(295, "T008", &["exit 0"], "")
        .add(
            300,
            RunEvent::Review(TaskName {
                task: "T008".to_owned(),
            }),
        )
        .add(301, RunEvent::Paused(asked.clone()))
        .add(302, RunEvent::Resumed(asked))
        .add(
            303,
            RunEvent::Approved(Approved {
                task: "T008".to_owned(),
                by: Some("ann".to_owned()),
            }),
        )
        .add(304, RunEvent::Merged(merged(true)))
        .add(305, RunEvent::Merged(merged(false)))
        .add(
            306,
            RunEvent::Drifted(Drifted {
                task: "T008".to_owned(),
                attempt: 1,
                files: ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"].map(str::to_owned).to_vec(),
            }),
        )
        .add(
            307,
            RunEvent::Edited(Edited {
                what: "T009 was renamed".to_owned(),
                tasks: Vec::new(),
            }),
        )
        .add(
            308,
            RunEvent::Remark(Remark {
                text: "the checked-out branch is not `feature`".to_owned(),
                task: None,
            }),
        )
        .finish(309, "T007", "stopped", Some("the schema is not what the plan says"))
        .add(
            310,
            RunEvent::Stopping(Stopping {
                reason: "condition".to_owned(),
                task: Some("T007".to_owned()),
                why: Some("the schema is not what the plan says".to_owned()),
            }),
        )
        .end(
            320,
            Ended {
                standing: "stopped".to_owned(),
                milliseconds: 320_000,
                ..Ended::default()
            },
        );
    let mut story = Story::new(setting(12), Paint::new(false));
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
        05:36:00  T008  needs review: planwright approve T008 -p docs/tasks/pack.md
        05:36:01  paused by ann; planwright resume docs/tasks/pack.md goes on
        05:36:02  resumed by ann
        05:36:03  T008  approved by ann
        05:36:04  T005  merged as 1a2b3c4d5e
        05:36:05  T005  failed: conflict in src/lib.rs; its work is on branch planwright/run/T005
        05:36:06  T008  drift: touched a.rs, b.rs, c.rs, d.rs and 1 more, which the plan does not name
        05:36:07  the plan file was changed: T009 was renamed
        05:36:08  the checked-out branch is not `feature`
        05:36:09  T007  stopped: the schema is not what the plan says
        05:36:10  stopping: T007 met its stop condition: the schema is not what the plan says; nothing new starts
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

/// Text that would do harm wherever it is printed as it is.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\r\n\u{9b}31m\u{202e}\u{0}";

fn hostile() -> Tape {
    let text = || HOSTILE.to_owned();
    let asked = || Asked {
        by: Some(text()),
        why: Some(text()),
    };
    Tape::begin(3, 1)
        .start(0, HOSTILE, 1, HOSTILE)
        .finish(1, HOSTILE, "done", None)
        .verify(2, HOSTILE, &[HOSTILE], HOSTILE)
        .rest(2, HOSTILE, 1, HOSTILE)
        .start(3, HOSTILE, 2, HOSTILE)
        .skip(4, "é", HOSTILE)
        .add(4, RunEvent::Review(TaskName { task: text() }))
        .add(4, RunEvent::Paused(asked()))
        .add(4, RunEvent::Resumed(asked()))
        .add(
            5,
            RunEvent::Drifted(Drifted {
                task: text(),
                attempt: 1,
                files: vec![text()],
            }),
        )
        .add(
            5,
            RunEvent::Merged(Merged {
                task: text(),
                branch: text(),
                commit: Some(text()),
                why: Some(text()),
                ..Merged::default()
            }),
        )
        .add(
            5,
            RunEvent::Remark(Remark {
                text: text(),
                task: Some(text()),
            }),
        )
        .start(6, HOSTILE, 3, HOSTILE)
        .add(
            6,
            RunEvent::Stopping(Stopping {
                reason: text(),
                task: Some(text()),
                why: Some(text()),
            }),
        )
}

#[track_caller]
fn assert_harmless(text: &str) {
    let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(bad), "{text:?}");
}

#[test]
fn strangers_text_does_not_drive_the_terminal() {
    let setting = Setting {
        run: HOSTILE.to_owned(),
        plan: HOSTILE.to_owned(),
        titles: [(HOSTILE.to_owned(), HOSTILE.to_owned())].into(),
    };
    let tape = hostile();
    let mut story = Story::new(setting.clone(), Paint::new(false));
    for record in &tape.records {
        for line in story.take(record) {
            assert_harmless(&line);
            assert!(!line.contains('\n'), "{line:?}");
        }
        story.progress_mut().line(HOSTILE, HOSTILE);
        for columns in [40, 80, 120] {
            assert_harmless(&plain(story.progress(), at(9), columns, 24));
        }
    }
    let next = Ended {
        standing: HOSTILE.to_owned(),
        why: Some(HOSTILE.to_owned()),
        next: Some(HOSTILE.to_owned()),
        ..Ended::default()
    };
    let tape = tape.end(9, next);
    let report = RunReport::new(&setting, &Account::of(&tape.records));
    assert_harmless(&summary(&report, Paint::new(false)));
    assert_harmless(&json_text(&report).expect("JSON"));
    for record in &tape.records {
        assert_harmless(&super::lines::json_line(record).expect("JSON"));
    }
}

/// A place to write to that can be looked at, and that can break.
#[derive(Clone, Default)]
struct Shared {
    text: Rc<RefCell<Vec<u8>>>,
    is_broken: Rc<Cell<bool>>,
}

impl Shared {
    fn taken(&self) -> String {
        String::from_utf8(self.text.take()).expect("text")
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.text.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A clock and a terminal's size that a test sets.
struct Stage {
    out: Shared,
    now: Rc<Cell<Moment>>,
    size: Rc<Cell<Size>>,
}

impl Stage {
    fn new(columns: usize, rows: usize) -> Self {
        Stage {
            out: Shared::default(),
            now: Rc::new(Cell::new(at(0))),
            size: Rc::new(Cell::new(Size { columns, rows })),
        }
    }

    fn clock(&self) -> Box<dyn FnMut() -> Moment> {
        let now = Rc::clone(&self.now);
        Box::new(move || now.get())
    }

    fn live(&self, setting: Setting) -> LiveDisplay<Shared> {
        let size = Rc::clone(&self.size);
        let size = Box::new(move || Some(size.get()));
        LiveDisplay::new(self.out.clone(), setting, Paint::new(true), self.clock(), size)
    }

    fn plain(&self, setting: Setting) -> PlainLines<Shared> {
        PlainLines::new(self.out.clone(), setting, Paint::new(false), self.clock())
    }

    fn go_to(&self, record: &RunRecord) {
        let time = planwright_run::clock::milliseconds_of(&record.time);
        self.now.set(time.expect("a time"));
    }
}

fn plain_lines(tape: &Tape) -> String {
    let stage = Stage::new(80, 24);
    let mut plain = stage.plain(setting(12));
    tape.records.iter().for_each(|record| plain.event(record));
    stage.out.taken()
}

/// Draws a run on a terminal, with output and ticks in between, and returns what is left on it in the end.
fn live_screen(tape: &Tape, columns: usize, rows: usize) -> String {
    let stage = Stage::new(columns, rows);
    let mut live = stage.live(setting(12));
    let mut screen = Screen::new(columns, rows);
    for record in &tape.records {
        stage.go_to(record);
        live.event(record);
        for n in 0..3 {
            live.line("T005", &format!("line {n} of {}", "x".repeat(200)));
            stage.now.set(stage.now.get() + 150);
            live.tick();
            screen.take(&stage.out.taken());
            assert!(screen.is_as_before());
        }
    }
    drop(live);
    screen.take(&stage.out.taken());
    screen.text()
}

#[test]
fn what_scrolls_by_is_what_lines_would_say() {
    let expected = plain_lines(&Tape::busy());
    assert_eq!(live_screen(&Tape::busy(), 200, 24), expected.trim_end());
    assert_eq!(live_screen(&Tape::busy(), 200, 5), expected.trim_end());
    assert_eq!(live_screen(&Tape::busy(), 200, 2), expected.trim_end());
    // Where lines are wrapped, the same letters are there.
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    for columns in 20..90 {
        assert_eq!(letters(&live_screen(&Tape::busy(), columns, 9)), letters(&expected));
    }
}

#[test]
fn frames_do_not_come_too_fast() {
    let stage = Stage::new(80, 24);
    let mut live = stage.live(setting(12));
    let tape = Tape::busy();
    live.event(&tape.records[0]);
    assert!(stage.out.taken().contains("the run begins"));
    tape.records[1..].iter().for_each(|record| live.event(record));
    stage.now.set(at(0) + 99);
    live.tick();
    assert_eq!(stage.out.taken(), "");
    stage.now.set(at(0) + 100);
    live.tick();
    let drawn = stage.out.taken();
    assert!(
        drawn.contains("T001") && drawn.matches("\u{1b}[?2026h").count() == 1,
        "{drawn}"
    );
    // A clock that was set back is no reason to stand still.
    stage.now.set(at(0));
    live.tick();
    assert_ne!(stage.out.taken(), "");
}

#[test]
fn keys_show_at_once() {
    let stage = Stage::new(80, 24);
    let mut live = stage.live(setting(12));
    Tape::busy().records.iter().for_each(|record| live.event(record));
    stage.now.set(at(300));
    live.interrupted(1);
    assert!(stage.out.taken().contains("Ctrl-C again ends them"));
}

#[test]
fn a_terminal_that_shrinks_is_drawn_anew() {
    let stage = Stage::new(100, 24);
    let mut live = stage.live(setting(12));
    Tape::busy().records.iter().for_each(|record| live.event(record));
    stage.now.set(at(300));
    live.tick();
    stage.out.taken();
    stage.size.set(Size { columns: 30, rows: 4 });
    stage.now.set(at(301));
    live.tick();
    let drawn = stage.out.taken();
    assert!(drawn.contains("\r\u{1b}[3A"), "{drawn:?}");
    let frame = drawn.rsplit("\u{1b}[3A").next().expect("a frame");
    assert_eq!(frame.matches('\n').count(), 3, "{drawn:?}");
}

#[test]
fn a_silent_run_says_once_a_minute_that_it_runs() {
    let stage = Stage::new(80, 24);
    let mut plain = stage.plain(setting(12));
    for record in &Tape::busy().records {
        stage.go_to(record);
        plain.event(record);
    }
    stage.out.taken();
    for second in 291..470 {
        stage.now.set(at(second));
        plain.tick();
    }
    expect![[r#"
        05:36:00  2 of 12 done, 1 failed, 3 running: T005 (1m 35s), T007 (1m 09s), T008 (1m 00s), 1 waiting for another attempt
        05:37:00  2 of 12 done, 1 failed, 3 running: T005 (2m 35s), T007 (2m 09s), T008 (2m 00s), 1 waiting for another attempt
        05:38:00  2 of 12 done, 1 failed, 3 running: T005 (3m 35s), T007 (3m 09s), T008 (3m 00s), 1 waiting for another attempt
    "#]].assert_eq(&stage.out.taken());
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let stage = Stage::new(80, 24);
    let (mut plain, mut live) = (stage.plain(setting(12)), stage.live(setting(12)));
    let mut json = JsonLines::new(stage.out.clone());
    stage.out.is_broken.set(true);
    for record in &Tape::busy().records {
        plain.event(record);
        live.event(record);
        json.event(record);
    }
    stage.out.is_broken.set(false);
    Tape::busy().records.iter().for_each(|record| plain.event(record));
    assert_eq!(stage.out.taken(), "");
}

#[test]
fn programs_get_records_as_the_log_has_them() {
    let stage = Stage::new(80, 24);
    let mut json = JsonLines::new(stage.out.clone());
    let other = OtherEvent {
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
    .assert_eq(&stage.out.taken());
}

fn ended_badly() -> (Setting, Account) {
    let drifted = Drifted {
        task: "T001".to_owned(),
        attempt: 1,
        files: vec!["Cargo.lock".to_owned()],
    };
    let tape = Tape::busy()
        .add(291, RunEvent::Drifted(drifted))
        .verify(295, "T008", &["exit 0"], "")
        .add(
            300,
            RunEvent::Review(TaskName {
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
            Ended {
                standing: "stuck".to_owned(),
                n_done: 5,
                n_failed: 2,
                n_skipped: 2,
                n_left: 3,
                n_unverified: 1,
                milliseconds: 3_840_000,
                cost_usd: Some(1.05),
                tokens: Some([50_000, 11_500]),
                why: Some("T010 depends on tasks that failed".to_owned()),
                next: Some("planwright run docs/tasks/pack.md --retry-failed".to_owned()),
            },
        );
    (setting(12), Account::of(&tape.records))
}

#[test]
fn a_summary_says_what_came_of_a_run_and_how_to_go_on() {
    let (setting, account) = ended_badly();
    let report = RunReport::new(&setting, &account);
    expect![[r#"

        Run 20261116-053100 got stuck after 1h 04m: T010 depends on tasks that failed
          5 done, 2 failed, 2 skipped, 1 in review, 3 left
          2 verified by commands
          1 unverified: T002
          $1.05, 50.0k tokens in, 11.5k out

        Failed
          T003  日本語の文書を書く
            `cargo test` ended with exit 101: error[E0308]: mismatched types
            planwright logs T003 --run 20261116-053100
          T007  日本語の文書を書く (attempt 2)
            KeyError: 'y'
            planwright logs T007 --run 20261116-053100

        Skipped
          T004, T009, because T003 failed

        Not finished
          T005  it was ended before it was through
            planwright logs T005 --run 20261116-053100
          T006  429 too many requests
            planwright logs T006 --run 20261116-053100

        Waiting for review
          T008  Read the seeds
            planwright approve T008 -p docs/tasks/pack.md

        Drift
          T001 touched Cargo.lock, which the plan does not name

        To go on
          planwright run docs/tasks/pack.md --retry-failed
    "#]]
    .assert_eq(&summary(&report, Paint::new(false)));
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
            "left": 3,
            "review": 1,
            "verified": 2,
            "unverified": 1
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
              "log": "planwright logs T003 --run 20261116-053100"
            },
            {
              "task": "T007",
              "title": "日本語の文書を書く",
              "attempts": 2,
              "why": "KeyError: 'y'",
              "log": "planwright logs T007 --run 20261116-053100"
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
              "approve": "planwright approve T008 -p docs/tasks/pack.md"
            }
          ],
          "unverified": [
            "T002"
          ],
          "stopped": [
            {
              "task": "T005",
              "why": null,
              "log": "planwright logs T005 --run 20261116-053100"
            },
            {
              "task": "T006",
              "why": "429 too many requests",
              "log": "planwright logs T006 --run 20261116-053100"
            }
          ],
          "drift": [
            {
              "task": "T001",
              "files": [
                "Cargo.lock"
              ]
            }
          ],
          "remarks": [],
          "next": "planwright run docs/tasks/pack.md --retry-failed"
        }"#]]
    .assert_eq(&value);
}

#[test]
fn a_good_end_is_short() {
    let tape = Tape::begin(1, 1)
        .start(0, "T001", 1, "claude")
        .finish(60, "T001", "done", None)
        .verify(70, "T001", &["exit 0"], "")
        .end(
            71,
            Ended {
                standing: "finished".to_owned(),
                n_done: 1,
                milliseconds: 71_000,
                ..Ended::default()
            },
        );
    let report = RunReport::new(&setting(1), &Account::of(&tape.records));
    expect![[r#"

        Run 20261116-053100 finished after 1m 11s
          1 done
          1 verified by commands
          $0.21, 10.0k tokens in, 2.3k out
    "#]]
    .assert_eq(&summary(&report, Paint::new(false)));
}

#[test]
fn a_run_that_was_cut_off_has_a_summary_too() {
    let report = RunReport::new(&setting(12), &Account::of(&Tape::busy().records));
    let text = summary(&report, Paint::new(false));
    assert!(text.starts_with("\nRun 20261116-053100 was interrupted\n"), "{text}");
    let nothing = RunReport::new(&Setting::default(), &Account::default());
    assert_eq!(
        summary(&nothing, Paint::new(false)),
        "\nThe run was interrupted\n  0 done\n"
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
    let report = RunReport::new(&Setting::default(), &Account::of(&tape.records));
    let text = summary(&report, Paint::new(false));
    assert!(text.lines().count() < 100, "{text}");
    assert!(text.contains("  … and 2980 more\n"), "{text}");
    assert!(
        text.contains("S0, R0, S1, S2, S3, S4, S5, S6 and 2993 more, because T0 failed"),
        "{text}"
    );
}

#[test]
fn only_a_terminal_that_moves_its_cursor_is_drawn_on() {
    assert!(suits_live(true, Some("xterm-256color")));
    assert!(!suits_live(false, Some("xterm-256color")));
    assert!(!suits_live(true, Some("dumb")));
    assert!(!suits_live(true, None));
}
