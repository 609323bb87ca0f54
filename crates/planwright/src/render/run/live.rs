//! The live display: a block of rows at the bottom of the terminal, redrawn in place, while events scroll above it.
//!
//! Nothing has to be restored when the process is killed: the cursor is hidden only while a frame is drawn, and stands below the
//! block in between. No mode of the terminal is changed for longer than that.

use std::io::Write;

use planwright_run::runs::RunRecord;
use planwright_verbs::run_history::Setting;

use super::Watcher;
use super::frame::{FrameRow, ScreenSize, frame};
use super::lines::{RunLines, Sink};
use super::words::Moment;
use crate::render::terminal::Paint;

/// The shortest time between two frames, in milliseconds.
const MIN_BETWEEN: u64 = 100;

/// The assumed size of a terminal that does not report one.
const USUAL_SIZE: ScreenSize = ScreenSize { columns: 80, rows: 24 };

/// Terminals with this mode show a frame when it is complete; others ignore it.
const BEGIN_UPDATE: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END_UPDATE: &str = "\u{1b}[?25h\u{1b}[?2026l";
/// Rows are cut, and lines wrapped, if the terminal is narrower than reported: multiplexers report late.
const NO_WRAP: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";
const ERASE_BELOW: &str = "\u{1b}[J";
const ERASED_LINE: &str = "\u{1b}[2K\n";
const ERASE_TO_END_OF_LINE: &str = "\u{1b}[K";
const SAVE_CURSOR: &str = "\u{1b}7";
const RESTORE_CURSOR: &str = "\u{1b}8";

/// Returns whether a stream supports the live display: a terminal with cursor movement.
pub(crate) fn suits_live(is_terminal: bool, term: Option<&str>) -> bool {
    is_terminal && !matches!(term, None | Some("" | "dumb"))
}

pub(crate) struct LiveDisplay<W: Write> {
    out: Sink<W>,
    clock: Box<dyn FnMut() -> Moment>,
    size: Box<dyn FnMut() -> Option<ScreenSize>>,
    story: RunLines,
    /// The width in columns of each row of the block on the screen.
    drawn: Vec<usize>,
    drawn_at: Option<Moment>,
    /// The size of the terminal then.
    drawn_on: ScreenSize,
    /// Lines that are not on the screen yet.
    waiting: String,
}

impl<W: Write> LiveDisplay<W> {
    /// Draws a run on `out`; `clock` returns the present, and `size` that of the terminal now.
    pub(crate) fn new(
        out: W,
        setting: Setting,
        paint: Paint,
        clock: Box<dyn FnMut() -> Moment>,
        size: Box<dyn FnMut() -> Option<ScreenSize>>,
    ) -> Self {
        LiveDisplay {
            out: Sink::new(out),
            clock,
            size,
            story: RunLines::new(setting, paint),
            drawn: Vec::new(),
            drawn_at: None,
            drawn_on: USUAL_SIZE,
            waiting: String::new(),
        }
    }

    /// Records the number of the user's interrupts at the keyboard.
    pub(crate) fn interrupted(&mut self, n_interrupts: u32) {
        self.story.progress.n_interrupts = n_interrupts;
        self.draw_if_due();
    }

    /// Sets or removes the question to the user.
    pub(crate) fn ask(&mut self, question: Option<String>) {
        self.story.progress.question = question;
        // The question is drawn before the run waits for its answer.
        self.drawn_at = None;
        self.draw_if_due();
    }

    /// Records that the user typed a line: it is below the block, and is erased with it.
    pub(crate) fn typed(&mut self) {
        self.drawn.push(1);
    }

    /// Erases the block, and leaves only the lines of events.
    pub(crate) fn finish(&mut self) {
        let size = (self.size)().unwrap_or(USUAL_SIZE);
        self.draw(&[], size);
        self.drawn_at = None;
    }

    fn draw_if_due(&mut self) {
        let now = (self.clock)();
        let since = self.drawn_at.and_then(|drawn_at| now.checked_sub(drawn_at));
        // A clock that was set back does not stop the display.
        if since.is_some_and(|since| since < MIN_BETWEEN) {
            return;
        }
        self.drawn_at = Some(now);
        let size = (self.size)().unwrap_or(USUAL_SIZE);
        let rows = frame(&self.story.progress, now, size, self.story.paint);
        self.draw(&rows, size);
    }

    fn draw(&mut self, rows: &[FrameRow], size: ScreenSize) {
        if rows.is_empty() && self.drawn.is_empty() {
            self.out.write(&std::mem::take(&mut self.waiting));
            return;
        }
        let mut text = String::from(BEGIN_UPDATE);
        let n_lines = self.n_lines(size);
        // The user may be typing an answer below the block: that line stays as long as the block keeps its place.
        let is_asking = self.story.progress.question.is_some();
        let is_in_place = self.waiting.is_empty() && size == self.drawn_on && rows.len() == self.drawn.len();
        let keeps_typed = is_asking && is_in_place && n_lines == rows.len();
        if keeps_typed {
            text.push_str(SAVE_CURSOR);
        }
        text.push_str(&up(n_lines));
        if !self.waiting.is_empty() || rows.is_empty() || size != self.drawn_on {
            // Lines of any length replace the block. Lines that a terminal has wrapped must not be overwritten, because it joins them again
            // when it grows. One by one: a multiplexer adds text to its history that is erased at once from the top of the screen.
            text.push_str(&ERASED_LINE.repeat(n_lines));
            text.push_str(&up(n_lines));
            text.push_str(&std::mem::take(&mut self.waiting));
        }
        text.push_str(NO_WRAP);
        for row in rows {
            text.push_str(&row.text);
            text.push_str(ERASE_TO_END_OF_LINE);
            text.push('\n');
        }
        text.push_str(WRAP);
        if keeps_typed {
            text.push_str(RESTORE_CURSOR);
        } else if !rows.is_empty() {
            text.push_str(ERASE_BELOW);
        }
        text.push_str(END_UPDATE);
        self.out.write(&text);
        self.drawn_on = size;
        self.drawn = rows.iter().map(|row| row.columns).collect();
    }

    /// Returns how many lines of the screen the block takes. A narrowed terminal shows long rows as several; lines that have scrolled out
    /// cannot be reached.
    fn n_lines(&self, size: ScreenSize) -> usize {
        let width = size.columns.max(1);
        let n_lines: usize = self.drawn.iter().map(|columns| columns.div_ceil(width).max(1)).sum();
        n_lines.min(size.rows.saturating_sub(1))
    }
}

/// Returns the sequence that moves the cursor up, to the first column.
fn up(n_lines: usize) -> String {
    match n_lines {
        0 => "\r".to_owned(),
        n => format!("\r\u{1b}[{n}A"),
    }
}

impl<W: Write> Watcher for LiveDisplay<W> {
    fn event(&mut self, record: &RunRecord) {
        self.story.width = (self.size)().unwrap_or(USUAL_SIZE).columns;
        for line in self.story.take(record) {
            self.waiting.push_str(&line);
            self.waiting.push('\n');
        }
        self.draw_if_due();
    }

    fn line(&mut self, task: &str, line: &str) {
        self.story.progress.line(task, line);
    }

    fn tick(&mut self) {
        self.draw_if_due();
    }
}

impl<W: Write> Drop for LiveDisplay<W> {
    fn drop(&mut self) {
        self.finish();
    }
}
