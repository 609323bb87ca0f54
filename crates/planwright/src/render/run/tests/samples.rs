//! Sample runs for tests, and a small terminal that shows the drawing.

use planwright_run::runs::{
    AttemptEndRecord, AttemptRecord, Outcome, ProcessStartRecord, Receipt, RetryWaitRecord, RunEndRecord, RunEvent,
    RunRecord, RunStartRecord, SkippedTask, VerificationRecord,
};
use planwright_verbs::run_history::Setting;

use crate::render::run::words::{Moment, clock_at};

/// When sample runs begin: 2026-11-16T05:31:00Z.
pub(super) const BEGAN: Moment = 1_794_807_060_000;

pub(super) fn at(seconds: u64) -> Moment {
    BEGAN + seconds * 1_000
}

/// Returns lines with the times of sample runs in UTC, on a machine in any zone.
pub(super) fn in_utc(lines: &str) -> String {
    let mut text = lines.to_owned();
    for seconds in 0..1_000 {
        let of_day = (BEGAN / 1_000 + seconds) % 86_400;
        let utc = format!("{:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60);
        text = text.replace(&format!("{}  ", clock_at(at(seconds))), &format!("{utc}  "));
    }
    text
}

/// Returns a plan of several tasks with titles.
pub(super) fn setting(n_tasks: usize) -> Setting {
    let titles = [
        "Read the seeds",
        "Write the parser",
        "Add tests for every rule of the grammar",
        "日本語の文書を書く",
    ];
    Setting {
        run: "20261116-053100".to_owned(),
        plan: "docs/tasks/pack.md".to_owned(),
        titles: (1..=n_tasks)
            .map(|n| (format!("T{n:03}"), titles[n % titles.len()].to_owned()))
            .collect(),
        is_derived: true,
    }
}

/// A sequence of records.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) records: Vec<RunRecord>,
}

impl Tape {
    pub(super) fn begin(n_tasks: u64, slots: u32) -> Self {
        Tape::default().add(
            0,
            RunEvent::RunStarted(Box::new(RunStartRecord {
                pid: 1,
                slots,
                n_tasks,
                ..RunStartRecord::default()
            })),
        )
    }

    pub(super) fn add(mut self, seconds: u64, event: RunEvent) -> Self {
        let seconds = at(seconds) / 1_000;
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        self.records.push(RunRecord {
            seq: self.records.len() as u64 + 1,
            time: format!("2026-11-16T{hour:02}:{minute:02}:{second:02}.000Z"),
            event,
        });
        self
    }

    pub(super) fn start(self, seconds: u64, task: &str, attempt: u32, agent: &str) -> Self {
        let starting = AttemptRecord {
            task: task.to_owned(),
            attempt,
            agent: agent.to_owned(),
            ..AttemptRecord::default()
        };
        let started = ProcessStartRecord {
            task: task.to_owned(),
            attempt,
            pid: 7,
            start_time: None,
            fence: None,
        };
        self.add(seconds, RunEvent::AttemptStarting(starting))
            .add(seconds, RunEvent::ProcessStarted(started))
    }

    pub(super) fn finish(self, seconds: u64, task: &str, outcome: &str, why: Option<&str>) -> Self {
        self.add(
            seconds,
            RunEvent::AttemptEnded(AttemptEndRecord {
                task: task.to_owned(),
                attempt: 1,
                outcome: Outcome::of(outcome),
                why: why.map(str::to_owned),
                cost_usd: Some(0.21),
                tokens: Some([10_000, 2_300]),
                ..AttemptEndRecord::default()
            }),
        )
    }

    pub(super) fn verify(self, seconds: u64, task: &str, exits: &[&str], tail: &str) -> Self {
        let receipts = exits.iter().map(|exit| Receipt {
            is_setup: false,
            command: vec!["cargo".to_owned(), "test".to_owned()],
            exit: (*exit).to_owned(),
            tail: tail.to_owned(),
            ..Receipt::default()
        });
        self.add(
            seconds,
            RunEvent::Verified(VerificationRecord {
                task: task.to_owned(),
                attempt: 1,
                passed: exits.iter().all(|exit| *exit == "exit 0"),
                receipts: receipts.collect(),
                unverified: Vec::new(),
            }),
        )
    }

    pub(super) fn rest(self, seconds: u64, task: &str, wait: u64, why: &str) -> Self {
        self.add(
            seconds,
            RunEvent::Resting(RetryWaitRecord {
                task: task.to_owned(),
                attempt: 1,
                milliseconds: wait * 1_000,
                why: Some(why.to_owned()),
            }),
        )
    }

    pub(super) fn skip(self, seconds: u64, task: &str, because: &str) -> Self {
        self.add(
            seconds,
            RunEvent::Skipped(SkippedTask {
                task: task.to_owned(),
                because: because.to_owned(),
            }),
        )
    }

    pub(super) fn end(self, seconds: u64, ended: RunEndRecord) -> Self {
        self.add(seconds, RunEvent::RunEnded(ended))
    }

    /// A run of twelve tasks after a few minutes: three done, one failed, one skipped, three running, one resting.
    pub(super) fn busy() -> Self {
        Tape::begin(12, 3)
            .start(2, "T001", 1, "claude")
            .start(2, "T002", 1, "codex")
            .finish(100, "T001", "done", None)
            .verify(110, "T001", &["exit 0", "exit 0"], "")
            .start(110, "T003", 1, "claude")
            .finish(150, "T002", "done", None)
            .verify(150, "T002", &[], "")
            .finish(200, "T003", "done", None)
            .verify(
                205,
                "T003",
                &["exit 101"],
                "running 1 test\nerror[E0308]: mismatched types\n",
            )
            .skip(205, "T004", "T003")
            .start(205, "T005", 1, "claude")
            .start(205, "T006", 1, "opencode")
            .finish(230, "T006", "rate-limited", Some("429 too many requests"))
            .rest(230, "T006", 90, "429 too many requests")
            .start(231, "T007", 2, "claude")
            .start(240, "T008", 1, "claude")
            .finish(290, "T008", "done", None)
    }
}

/// A terminal with only the features that the live display needs.
pub(super) struct Screen {
    columns: usize,
    rows: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    wraps: bool,
    is_cursor_hidden: bool,
}

impl Screen {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Screen {
            columns,
            rows,
            lines: vec![Vec::new()],
            row: 0,
            column: 0,
            wraps: true,
            is_cursor_hidden: false,
        }
    }

    /// Returns everything that was shown, including scrolled lines.
    pub(super) fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>());
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Returns whether everything that a frame changed was restored.
    pub(super) fn is_as_before(&self) -> bool {
        self.wraps && !self.is_cursor_hidden && self.column == 0
    }

    pub(super) fn take(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\n' => self.next_line(),
                '\r' => self.column = 0,
                '\u{1b}' => {
                    assert_eq!(chars.next(), Some('['), "an unknown escape");
                    let mut parameters = String::new();
                    let last = chars.find(|c| {
                        let is_last = c.is_ascii_alphabetic();
                        parameters.extend((!is_last).then_some(*c));
                        is_last
                    });
                    self.control(&parameters, last.expect("an end"));
                }
                c => self.show(c),
            }
        }
    }

    fn control(&mut self, parameters: &str, last: char) {
        match (parameters, last) {
            ("?2026", 'h' | 'l') => {}
            ("?7", last) => self.wraps = last == 'h',
            ("?25", last) => self.is_cursor_hidden = last == 'l',
            (_, 'm') => {}
            ("", 'K') => self.lines[self.row].truncate(self.column),
            ("2", 'K') => self.lines[self.row].clear(),
            ("", 'J') => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            (n, 'A') => {
                // Scrolled lines cannot be reached.
                let top = self.lines.len().saturating_sub(self.rows);
                self.row = self.row.saturating_sub(n.parse().expect("a number")).max(top);
            }
            other => panic!("an unknown control sequence: {other:?}"),
        }
    }

    fn next_line(&mut self) {
        (self.row, self.column) = (self.row + 1, 0);
        if self.row == self.lines.len() {
            self.lines.push(Vec::new());
        }
    }

    fn show(&mut self, c: char) {
        assert!(!c.is_control(), "a control character: {c:?}");
        if self.column == self.columns {
            assert!(self.wraps, "a row that is too wide");
            self.next_line();
        }
        let column = self.column;
        let line = &mut self.lines[self.row];
        if line.len() <= column {
            line.resize(column + 1, ' ');
        }
        line[column] = c;
        self.column += 1;
    }
}
