//! Tests of the live display on a terminal, frame after frame.

use super::fake_terminal::FakeTerminal;
use super::samples::{Screen, Tape, at, setting};
use crate::render::run::{ScreenSize, Watcher as _, suits_live};

fn plain_lines(tape: &Tape) -> String {
    let terminal = FakeTerminal::new(80, 24);
    let mut plain = terminal.plain(setting(12));
    tape.records.iter().for_each(|record| plain.event(record));
    terminal.out.taken()
}

/// Draws a run on a terminal, with output and ticks in between, and returns the final screen.
fn live_screen(tape: &Tape, columns: usize, rows: usize) -> String {
    let terminal = FakeTerminal::new(columns, rows);
    let mut live = terminal.live(setting(12));
    let mut screen = Screen::new(columns, rows);
    for record in &tape.records {
        terminal.go_to(record);
        live.event(record);
        for n in 0..3 {
            live.line("T005", &format!("line {n} of {}", "x".repeat(200)));
            terminal.now.set(terminal.now.get() + 150);
            live.tick();
            screen.take(&terminal.out.taken());
            assert!(screen.is_as_before());
        }
    }
    drop(live);
    screen.take(&terminal.out.taken());
    screen.text()
}

#[test]
fn the_live_display_prints_the_same_lines_as_plain_output() {
    let expected = plain_lines(&Tape::busy());
    assert_eq!(live_screen(&Tape::busy(), 200, 24), expected.trim_end());
    assert_eq!(live_screen(&Tape::busy(), 200, 5), expected.trim_end());
    assert_eq!(live_screen(&Tape::busy(), 200, 2), expected.trim_end());
    // Wrapped lines have the same letters.
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    for columns in 20..90 {
        assert_eq!(letters(&live_screen(&Tape::busy(), columns, 9)), letters(&expected));
    }
}

#[test]
fn frames_do_not_come_too_fast() {
    let terminal = FakeTerminal::new(80, 24);
    let mut live = terminal.live(setting(12));
    let tape = Tape::busy();
    live.event(&tape.records[0]);
    assert!(terminal.out.taken().contains("the run begins"));
    tape.records[1..].iter().for_each(|record| live.event(record));
    terminal.now.set(at(0) + 99);
    live.tick();
    assert_eq!(terminal.out.taken(), "");
    terminal.now.set(at(0) + 100);
    live.tick();
    let drawn = terminal.out.taken();
    assert!(
        drawn.contains("T001") && drawn.matches("\u{1b}[?2026h").count() == 1,
        "{drawn}"
    );
    // A clock that was set back must not stop the display.
    terminal.now.set(at(0));
    live.tick();
    assert_ne!(terminal.out.taken(), "");
}

#[test]
fn an_interrupt_is_shown_at_once() {
    let terminal = FakeTerminal::new(80, 24);
    let mut live = terminal.live(setting(12));
    Tape::busy().records.iter().for_each(|record| live.event(record));
    terminal.now.set(at(300));
    live.interrupted(1);
    assert!(terminal.out.taken().contains("Ctrl-C again ends them"));
}

#[test]
fn the_display_is_redrawn_when_the_terminal_shrinks() {
    let terminal = FakeTerminal::new(100, 24);
    let mut live = terminal.live(setting(12));
    Tape::busy().records.iter().for_each(|record| live.event(record));
    terminal.now.set(at(300));
    live.tick();
    terminal.out.taken();
    terminal.size.set(ScreenSize { columns: 30, rows: 4 });
    terminal.now.set(at(301));
    live.tick();
    let drawn = terminal.out.taken();
    assert!(drawn.contains("\r\u{1b}[3A"), "{drawn:?}");
    let frame = drawn.rsplit("\u{1b}[3A").next().expect("a frame");
    assert_eq!(frame.matches('\n').count(), 3, "{drawn:?}");
}

#[test]
fn only_a_terminal_that_moves_its_cursor_is_drawn_on() {
    assert!(suits_live(true, Some("xterm-256color")));
    assert!(!suits_live(false, Some("xterm-256color")));
    assert!(!suits_live(true, Some("dumb")));
    assert!(!suits_live(true, None));
}
