//! Shows a run in progress in the form that the user asked for, and asks for reviews.

use std::io::{IsTerminal as _, Stdout, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use planwright_run::clock;
use planwright_run::engine::Watcher;
use planwright_run::files::DiskFiles;
use planwright_run::runs::state::{RunState, TaskRun, TaskState};
use planwright_run::runs::{self, Ask, RunEvent, RunPlace, RunRecord};

use super::answers::{self, Typed};
use super::output::Output;
use crate::render::rawko_events::{RawkoEvents, RawkoLines};
use crate::render::run::{JsonLines, LiveDisplay, PlainLines, Setting, Size, suits_live};
use crate::render::terminal::{one_line, printable, shown_name};
use crate::render::workflow::GuardedWriter;

/// How the user wants to see a run.
pub(super) enum Manner {
    /// For people: live at a terminal, unless they want plain lines.
    Shown { plain: bool },
    /// Not at all.
    Quiet,
    /// As the events of its log.
    Json,
    /// As the events of rawko's specification.
    Rawko(Box<RawkoEvents>),
}

/// Passes on what happens to whoever shows it, and adds it up for the end.
pub(super) struct Told<'r> {
    pub(super) run_state: RunState,
    /// The name of the run, once it has one.
    pub(super) run: String,
    shown: Shown<'r>,
    /// Asks for reviews, where somebody is there to give them.
    gate: Option<Gate>,
}

/// Asks the user at the keyboard what tasks are worth that wait for review. Answers go the way that those of others go.
struct Gate {
    root: PathBuf,
    by: Option<String>,
    /// Whether the run waits for the answers.
    waits: Arc<AtomicBool>,
    /// The task that was asked about last, and whether there was an answer.
    asked: Option<(String, bool)>,
}

impl Gate {
    /// Returns what is asked about a task, and how to answer.
    fn question(task: &TaskRun) -> String {
        format!("{} needs review. Is it good? [y / n REASON] ", shown_name(&task.task))
    }

    /// Passes an answer on to the run; false where it is none.
    fn answer(&self, run: &str, task: &str, line: &str) -> bool {
        let (word, why) = line.split_once(' ').unwrap_or((line, ""));
        let (verb, note) = match (word.to_lowercase().as_str(), why.trim()) {
            ("y" | "yes", "") => ("approve", None),
            ("y" | "yes", why) => ("approve", Some(why)),
            ("n" | "no", "") => ("reject", Some("rejected at the terminal")),
            ("n" | "no", why) => ("reject", Some(why)),
            _ => return false,
        };
        let ask = Ask {
            verb: verb.to_owned(),
            task: Some(task.to_owned()),
            by: self.by.clone(),
            note: note.map(str::to_owned),
            time: clock::now(),
        };
        let place = RunPlace::of(&self.root, run);
        place.is_some_and(|place| runs::ask(&DiskFiles, &place.requests(), &ask).is_ok())
    }
}

/// How a run is shown while it goes on.
enum Shown<'r> {
    Live(LiveDisplay<GuardedWriter<Stdout>>, &'r AtomicU32),
    Lines(PlainLines<GuardedWriter<Stdout>>),
    Json(JsonLines<Stdout>),
    Rawko(Box<RawkoLines<Stdout>>),
    Nothing,
}

impl<'r> Told<'r> {
    /// Returns whoever shows a run in this manner. `interrupts` counts how often the user asked for its end.
    pub(super) fn new(manner: Manner, setting: Setting, interrupts: &'r AtomicU32, output: &Output) -> Self {
        let clock = || Box::new(clock::milliseconds) as Box<dyn FnMut() -> u64>;
        let is_terminal = stdout().is_terminal();
        let term = std::env::var("TERM").ok();
        let shown = match manner {
            Manner::Rawko(events) => Shown::Rawko(Box::new(RawkoLines::new(stdout(), *events))),
            Manner::Json => Shown::Json(JsonLines::new(stdout())),
            Manner::Quiet => Shown::Nothing,
            Manner::Shown { plain: false } if suits_live(is_terminal, term.as_deref()) => {
                let display = LiveDisplay::new(
                    GuardedWriter::new(stdout()),
                    setting,
                    output.paint(),
                    clock(),
                    Box::new(terminal),
                );
                Shown::Live(display, interrupts)
            }
            Manner::Shown { .. } => {
                let lines = GuardedWriter::new(stdout());
                Shown::Lines(PlainLines::new(lines, setting, output.paint(), clock()))
            }
        };
        Told {
            run_state: RunState::default(),
            run: String::new(),
            shown,
            gate: None,
        }
    }

    /// Asks at the keyboard for the reviews that tasks wait for. `waits` is whether the run waits for them.
    pub(super) fn ask_for_reviews(&mut self, root: &Path, by: Option<&str>, waits: &Arc<AtomicBool>) {
        self.gate = Some(Gate {
            root: root.to_owned(),
            by: by.map(str::to_owned),
            waits: Arc::clone(waits),
            asked: None,
        });
    }

    fn watcher(&mut self) -> Option<&mut dyn Watcher> {
        Some(match &mut self.shown {
            Shown::Live(display, _) => display,
            Shown::Lines(lines) => lines,
            Shown::Json(lines) => lines,
            Shown::Rawko(lines) => &mut **lines,
            Shown::Nothing => return None,
        })
    }

    /// Asks for reviews, and hears what is typed.
    fn heed_keyboard(&mut self) {
        let Some(gate) = &mut self.gate else {
            return;
        };
        let waiting = match self.run_state.counts.n_review {
            0 => None,
            _ => self
                .run_state
                .tasks()
                .iter()
                .find(|task| task.state == TaskState::Review),
        };
        let Some(task) = waiting else {
            if gate.asked.take().is_some()
                && let Shown::Live(display, _) = &mut self.shown
            {
                display.ask(None);
            }
            return;
        };
        if gate.asked.as_ref().is_none_or(|(asked, _)| *asked != task.task) {
            gate.asked = Some((task.task.clone(), false));
            pose(&mut self.shown, Gate::question(task));
        }
        let is_answered = gate.asked.as_ref().is_some_and(|(_, is_answered)| *is_answered);
        match answers::glance() {
            Typed::Nothing => {}
            // What was said before is on its way.
            Typed::End if is_answered => {}
            Typed::End => gate.waits.store(false, Ordering::Relaxed),
            Typed::Line(line) => {
                if let Shown::Live(display, _) = &mut self.shown {
                    display.typed();
                }
                if is_answered || gate.answer(&self.run, &task.task, &line) {
                    gate.asked = Some((task.task.clone(), true));
                } else {
                    pose(&mut self.shown, Gate::question(task));
                }
            }
        }
    }

    /// Leaves only what happened.
    pub(super) fn finish(&mut self) {
        if let Shown::Live(display, _) = &mut self.shown {
            display.finish();
        }
    }
}

impl Watcher for Told<'_> {
    fn event(&mut self, record: &RunRecord) {
        self.run_state.apply(record);
        if let RunEvent::Begun(begun) = &record.event {
            self.run.clone_from(&begun.run);
        }
        if let Some(watcher) = self.watcher() {
            watcher.event(record);
        }
    }

    fn line(&mut self, task: &str, line: &str) {
        if let Some(watcher) = self.watcher() {
            watcher.line(task, line);
        }
    }

    fn tick(&mut self) {
        if let Shown::Live(display, interrupts) = &mut self.shown {
            display.interrupted(interrupts.load(Ordering::Relaxed));
        }
        if let Some(watcher) = self.watcher() {
            watcher.tick();
        }
        self.heed_keyboard();
    }

    #[expect(clippy::print_stderr, reason = "progress, which is not for who reads the output")]
    fn baseline(&mut self, command: &str) {
        if matches!(self.shown, Shown::Live(..) | Shown::Lines(_)) {
            eprintln!("checking the base before the first attempt: {}", one_line(command));
        }
    }

    #[expect(clippy::print_stderr, reason = "a question must be seen at once")]
    fn accepts_failing_baseline(&mut self, failures: &str) -> bool {
        if !matches!(self.shown, Shown::Live(..) | Shown::Lines(_)) || !answers::may_ask() {
            return false;
        }
        eprintln!(
            "verification fails before any task has changed anything:\n\n{}",
            printable(failures)
        );
        eprint!("Begin anyway? [y/N] ");
        answers::is_yes()
    }
}

/// Asks the user something while a run is shown.
#[expect(
    clippy::print_stderr,
    reason = "a question must be seen at once, and is not for who reads the output"
)]
fn pose(shown: &mut Shown<'_>, question: String) {
    match shown {
        Shown::Live(display, _) => display.ask(Some(question)),
        _ => eprint!("{question}"),
    }
}

fn terminal() -> Option<Size> {
    let (columns, rows) = terminal_size::terminal_size()?;
    Some(Size {
        columns: usize::from(columns.0),
        rows: usize::from(rows.0),
    })
}
