//! Shows a run in progress in the form that the user asked for, and asks for reviews.

use std::io::{self, IsTerminal as _, Stdout, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use planwright_run::clock;
use planwright_run::engine::Watcher;
use planwright_run::runs::state::{RunState, TaskRun, TaskState};
use planwright_run::runs::{RunEvent, RunRecord};
use planwright_verbs::planning::{PlanningEvent, PlanningObserver};
use planwright_verbs::plans::{FoundPlan, stem_of};
use planwright_verbs::proposals::{ApprovedReport, ProposalReport};
use planwright_verbs::replan::ReplanReport;
use planwright_verbs::run_history::RunReport;
use planwright_verbs::run_plan::observer::{RunBeginning, RunObserver};
use planwright_verbs::run_plan::review_answer::{ReviewAnswer, send_answer};
use planwright_verbs::text::{one_line, printable, shown_name};
use planwright_verbs::{CancelToken, Failure};

use super::answers::{self, Typed};
use super::interrupt;
use super::output::Output;
use super::planner::PlanningView;
use super::proposals;
use super::replan::draw_version;
use crate::compat::{EventForm, EventLines};
use crate::render::run::{JsonLines, LiveDisplay, PlainLines, ScreenSize, suits_live, summary};
use crate::render::workflow::GuardedWriter;

/// The requested view of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunManner {
    /// For people: live at a terminal, unless plain lines are requested.
    Shown {
        plain: bool,
    },
    Quiet,
    /// The events of its log.
    Json,
    /// The events of its log, as those of another system.
    Events(EventForm),
}

/// A run on the command line: shown while it is active, with questions about tasks that wait for review, and a summary at its end.
pub(super) struct RunView<'o> {
    output: &'o mut Output,
    manner: RunManner,
    /// Whether to ask the user at the terminal.
    asks: bool,
    by: Option<String>,
    /// Whether the plan was announced to programs that follow the events of another system.
    has_announced: bool,
    run_state: RunState,
    /// The name of the run, once it has one.
    run: String,
    shown: Shown,
    /// Asks for reviews, if a user can answer.
    gate: Option<ReviewPrompt>,
}

/// The note of a rejection without a reason.
const REJECTED: &str = "rejected at the terminal";

/// Asks the user about tasks that wait for review. Answers are sent like those of other processes.
struct ReviewPrompt {
    root: PathBuf,
    by: Option<String>,
    /// Whether the run waits for the answers.
    waits: Arc<AtomicBool>,
    /// The last task that was asked about, and whether there was an answer.
    asked: Option<(String, bool)>,
    /// Whether the user rejected it, and is asked for the reason.
    asks_why: bool,
}

impl ReviewPrompt {
    /// Returns the question about a task, and the possible answers.
    fn question(task: &TaskRun) -> String {
        format!("{} needs review. Is it good? [y / n REASON] ", shown_name(&task.task))
    }

    /// Returns the question about the reason of a rejection.
    fn why_question(task: &TaskRun) -> String {
        format!(
            "Why is {} rejected? [REASON, or Enter for none] ",
            shown_name(&task.task)
        )
    }

    /// Takes a typed line. Returns the next question, if it is no answer yet.
    fn take(&mut self, run: &str, task: &TaskRun, line: &str) -> Option<String> {
        if std::mem::take(&mut self.asks_why) {
            let line = format!("n {}", if line.is_empty() { REJECTED } else { line });
            self.answer(run, &task.task, &line);
            return None;
        }
        if matches!(line.to_lowercase().as_str(), "n" | "no") {
            self.asks_why = true;
            return Some(ReviewPrompt::why_question(task));
        }
        let is_answer = self.answer(run, &task.task, line);
        (!is_answer).then(|| format!("Please answer y, or n and a reason. {}", ReviewPrompt::question(task)))
    }

    /// Sends an answer to the run; false if the line is none.
    fn answer(&self, run: &str, task: &str, line: &str) -> bool {
        let (word, why) = line.split_once(' ').unwrap_or((line, ""));
        let (is_approved, note) = match (word.to_lowercase().as_str(), why.trim()) {
            ("y" | "yes", "") => (true, None),
            ("y" | "yes", why) => (true, Some(why)),
            ("n" | "no", why) => (false, Some(why)),
            _ => return false,
        };
        let answer = ReviewAnswer {
            task: task.to_owned(),
            is_approved,
            note: note.map(str::to_owned),
            by: self.by.clone(),
        };
        send_answer(&self.root, run, answer)
    }
}

/// The view of an active run.
enum Shown {
    Live(LiveDisplay<GuardedWriter<Stdout>>, CancelToken),
    Lines(PlainLines<GuardedWriter<Stdout>>),
    Json(JsonLines<Stdout>),
    Events(Box<EventLines<Stdout>>),
    Nothing,
}

impl<'o> RunView<'o> {
    /// Returns the view of a command; `asks` is whether to ask the user at the terminal.
    pub(super) fn new(manner: RunManner, asks: bool, by: Option<&str>, output: &'o mut Output) -> Self {
        RunView {
            output,
            manner,
            asks,
            by: by.map(str::to_owned),
            has_announced: false,
            run_state: RunState::default(),
            run: String::new(),
            shown: Shown::Nothing,
            gate: None,
        }
    }

    /// Returns whether only events are printed to standard output.
    fn is_for_programs(&self) -> bool {
        matches!(self.manner, RunManner::Json | RunManner::Events(_))
    }

    /// Returns the view of an agent that replans.
    fn planning(&mut self) -> PlanningView<'_> {
        PlanningView {
            is_silent: self.is_for_programs(),
            output: self.output,
        }
    }

    fn shown_for(&self, beginning: &RunBeginning<'_>) -> Shown {
        let clock = || Box::new(clock::milliseconds) as Box<dyn FnMut() -> u64>;
        let setting = beginning.setting.clone();
        let is_terminal = stdout().is_terminal();
        let term = std::env::var("TERM").ok();
        match self.manner {
            RunManner::Events(form) => {
                let name = stem_of(Path::new(&setting.plan));
                let events = form.converter(beginning.plan, beginning.links, &name);
                let lines = EventLines::new(stdout(), events.knowing_plan(self.has_announced));
                Shown::Events(Box::new(lines))
            }
            RunManner::Json => Shown::Json(JsonLines::new(stdout())),
            RunManner::Quiet => Shown::Nothing,
            RunManner::Shown { plain: false } if suits_live(is_terminal, term.as_deref()) => {
                let display = LiveDisplay::new(
                    GuardedWriter::new(stdout()),
                    setting,
                    self.output.paint(),
                    clock(),
                    Box::new(terminal),
                );
                Shown::Live(display, beginning.cancel.clone())
            }
            RunManner::Shown { .. } => {
                let lines = GuardedWriter::new(stdout());
                Shown::Lines(PlainLines::new(lines, setting, self.output.paint(), clock()))
            }
        }
    }

    fn watcher(&mut self) -> Option<&mut dyn Watcher> {
        Some(match &mut self.shown {
            Shown::Live(display, _) => display,
            Shown::Lines(lines) => lines,
            Shown::Json(lines) => lines,
            Shown::Events(lines) => &mut **lines,
            Shown::Nothing => return None,
        })
    }

    /// Asks for reviews, and reads typed lines.
    fn poll_keyboard(&mut self) {
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
            gate.asks_why = false;
            show_question(&mut self.shown, ReviewPrompt::question(task));
        }
        let is_answered = gate.asked.as_ref().is_some_and(|(_, is_answered)| *is_answered);
        match answers::glance() {
            Typed::Nothing => {}
            // The earlier answer has been sent.
            Typed::End if is_answered => {}
            Typed::End => gate.waits.store(false, Ordering::Relaxed),
            Typed::Line(line) => {
                if let Shown::Live(display, _) = &mut self.shown {
                    display.typed();
                }
                let question = match is_answered {
                    true => None,
                    false => gate.take(&self.run, task, &line),
                };
                match question {
                    Some(question) => show_question(&mut self.shown, question),
                    None => gate.asked = Some((task.task.clone(), true)),
                }
            }
        }
    }
}

impl PlanningObserver for RunView<'_> {
    fn happens(&mut self, event: PlanningEvent<'_>) {
        self.planning().happens(event);
    }

    fn cancel_token(&mut self) -> io::Result<CancelToken> {
        interrupt::cancel_token()
    }
}

impl RunObserver for RunView<'_> {
    fn replanned(&mut self, plan: &FoundPlan, report: &ReplanReport) {
        if !self.is_for_programs() {
            draw_version(report, self.output);
        }
        if self.has_announced
            && let RunManner::Events(form) = self.manner
            && let Some(linked) = plan.linked()
            && let Some(event) = form.plan_replanned(&linked.plan, &linked.links, &stem_of(&plan.path))
        {
            self.output.line(&event);
        }
        self.output.flush();
    }

    fn takes_proposals(&mut self, proposals: &[ProposalReport]) -> bool {
        if !self.asks {
            return false;
        }
        proposals::list(proposals, self.output);
        self.output
            .note("Agents propose tasks for this plan (`planwright proposals`). Add them to it, and continue? [y/N] ");
        answers::is_yes()
    }

    fn proposals_taken(&mut self, report: &ApprovedReport) {
        proposals::draw_approved(report, false, self.output);
    }

    fn begins(&mut self, beginning: &RunBeginning<'_>) {
        self.shown = self.shown_for(beginning);
        self.has_announced = matches!(self.manner, RunManner::Events(_));
        (self.run_state, self.run) = (RunState::default(), String::new());
        self.gate = self.asks.then(|| ReviewPrompt {
            root: beginning.root.to_owned(),
            by: self.by.clone(),
            waits: Arc::clone(beginning.waits_for_review),
            asked: None,
            asks_why: false,
        });
    }

    fn is_over(&mut self) {
        if let Shown::Live(display, _) = &mut self.shown {
            display.finish();
        }
    }

    fn ended(&mut self, report: &RunReport) {
        if matches!(self.manner, RunManner::Shown { .. }) {
            let text = summary(report, self.output.paint(), self.output.width());
            self.output.write(&text);
            self.output.flush();
        }
    }

    fn fails(&mut self, failure: &Failure) {
        self.output.complain(failure);
    }

    fn may_ask(&self) -> bool {
        self.asks
    }

    fn is_approved(&mut self, plan: &Path, message: &str) -> bool {
        let path = one_line(&plan.display().to_string());
        self.output
            .note(&format!("{path}: {message}. Approve it, and run it? [y/N] "));
        answers::is_yes()
    }

    fn on_interrupted(&mut self, task: &str) -> Option<&'static str> {
        loop {
            self.output.note(&format!(
                "{} was interrupted. Retry it, or mark it as failed? [retry/fail/quit] ",
                shown_name(task)
            ));
            match answers::line().as_deref() {
                Some("r" | "retry") => return Some("retry"),
                Some("f" | "fail") => return Some("fail"),
                Some("q" | "quit") | None => return None,
                Some(_) => {}
            }
        }
    }
}

impl Watcher for RunView<'_> {
    fn event(&mut self, record: &RunRecord) {
        self.run_state.apply(record);
        if let RunEvent::RunStarted(begun) = &record.event {
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
        if let Shown::Live(display, cancel) = &mut self.shown {
            display.interrupted(cancel.n_asked().load(Ordering::Relaxed));
        }
        if let Some(watcher) = self.watcher() {
            watcher.tick();
        }
        self.poll_keyboard();
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
        eprint!("Start anyway? [y/N] ");
        answers::is_yes()
    }
}

/// Asks the user something while a run is shown.
#[expect(
    clippy::print_stderr,
    reason = "a question must be seen at once, and is not for who reads the output"
)]
fn show_question(shown: &mut Shown, question: String) {
    match shown {
        Shown::Live(display, _) => display.ask(Some(question)),
        _ => eprint!("{question}"),
    }
}

fn terminal() -> Option<ScreenSize> {
    let (columns, rows) = terminal_size::terminal_size()?;
    Some(ScreenSize {
        columns: usize::from(columns.0),
        rows: usize::from(rows.0),
    })
}
