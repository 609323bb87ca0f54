//! A run as lines: one per notable event for people, one per event for programs.

use std::io::Write;

use planwright_run::runs::state::{TaskRun, TaskState};
use planwright_run::runs::{
    IsolationMode, Outcome, RequestRecord, RetryWaitRecord, RunEvent, RunRecord, RunStanding, RunStartRecord,
    StopReason, StopRecord,
};

use super::Watcher;
use super::progress::{Progress, Turn};
use super::words::{Moment, clock_at, clock_of, elapsed};
use crate::render::events::{chosen_words, conflicted_words};
use crate::render::terminal::{Paint, harmless_json};
use crate::render::wrap::hanging;
use planwright_verbs::run_history::{Setting, first_useful_line, why_of};
use planwright_verbs::text::{columns, count, duration, fill, one_line, short_commit, shown_name, some_of};

/// How long a run may be silent before a line says that it still runs.
const MAX_SILENCE: u64 = 60_000;

/// How many running tasks are named in one line.
const MAX_NAMED: usize = 6;

/// The longest name that is shown whole.
const MAX_NAME_COLUMNS: usize = 40;

/// How many files are named in one line.
const MAX_FILES: usize = 4;

/// The lines of a run: the state of every view, and the line for each event.
pub(crate) struct RunLines {
    pub(crate) progress: Progress,
    name_columns: usize,
    pub(crate) paint: Paint,
    /// Longer lines are broken between words.
    pub(crate) width: usize,
}

impl RunLines {
    pub(crate) fn new(setting: Setting, paint: Paint) -> Self {
        RunLines {
            name_columns: setting.name_columns(),
            progress: Progress::new(setting),
            paint,
            width: usize::MAX,
        }
    }

    /// Takes the next record, and returns its lines, without line breaks.
    pub(crate) fn take(&mut self, record: &RunRecord) -> Vec<String> {
        let turns = self.progress.take(record);
        let mut lines: Vec<String> = Vec::new();
        for turn in &turns {
            let told = self.turned(turn);
            lines.extend(told.map(|text| self.of_task(record, &turn.task, &text)));
        }
        lines.extend(self.happened(record));
        lines
    }

    fn of_task(&self, record: &RunRecord, task: &str, text: &str) -> String {
        let name = shown_name(task);
        let width = columns(&name).clamp(self.name_columns, MAX_NAME_COLUMNS);
        let name = self.paint.bold(&fill(&name, width));
        hanging(&format!("{}  {name}  ", self.clock(record)), text, self.width)
    }

    fn of_run(&self, record: &RunRecord, text: &str) -> String {
        hanging(&format!("{}  ", self.clock(record)), text, self.width)
    }

    fn clock(&self, record: &RunRecord) -> String {
        self.paint.dim(&clock_of(&record.time))
    }

    /// Returns the line for a task's new state.
    fn turned(&self, turn: &Turn) -> Option<String> {
        let task_run = self.progress.run_state.task(&turn.task)?;
        let why = || why_of(task_run);
        let took = turn
            .took
            .map_or_else(String::new, |took| format!(" in {}", duration(took)));
        Some(match &task_run.state {
            TaskState::Done if turn.before == TaskState::Review => return None,
            TaskState::Done => format!("{}{took}, {}", self.paint.good("done"), proof_of(task_run)),
            TaskState::Failed => format!("{}: {}", self.paint.error("failed"), why()),
            TaskState::Stopped => format!("{}: {}", self.paint.warning("stopped"), why()),
            TaskState::Interrupted => format!("{}: {}", self.paint.warning("interrupted"), why()),
            // The conflict itself follows.
            TaskState::Resting
                if task_run
                    .last()
                    .is_some_and(|attempt| attempt.landing.conflict.is_some()) =>
            {
                return None;
            }
            TaskState::Resting if task_run.resting.is_none() => {
                let what = match task_run.last().and_then(|attempt| attempt.outcome.as_ref()) {
                    Some(Outcome::Broken) => "its agent could not work",
                    _ => "rate limited",
                };
                format!("{}: {}", self.paint.warning(what), why())
            }
            TaskState::Skipped { because } => {
                format!(
                    "{} because {} failed",
                    self.paint.warning("skipped"),
                    shown_name(because)
                )
            }
            TaskState::Waiting | TaskState::Running | TaskState::Verifying | TaskState::Resting | TaskState::Review => {
                return None;
            }
        })
    }

    /// Returns the line for an event, if that is more than a new state.
    fn happened(&self, record: &RunRecord) -> Option<String> {
        let paint = self.paint;
        let (task, text) = match &record.event {
            RunEvent::RunStarted(begun) => (None, begun_words(begun)),
            RunEvent::ProcessStarted(started) => (Some(&started.task), self.started_words(&started.task)?),
            RunEvent::Review(review) => {
                let command = self.progress.setting.task_command("approve", &review.task, "");
                let held = self.progress.run_state.task(&review.task).and_then(|task| task.held.as_ref());
                let commit = held.map(|held| one_line(short_commit(&held.candidate.commit)));
                let look = commit.map_or_else(String::new, |commit| format!("`git show {commit}`, then "));
                let words = format!("{}: {look}`{command}`", paint.warning("needs review"));
                (Some(&review.task), words)
            }
            RunEvent::Approved(approved) => (Some(&approved.task), format!("approved{}", by(approved.by.as_deref()))),
            // planwright resumes by itself what it paused by itself.
            RunEvent::Paused(asked) if asked.by.as_deref() == Some("planwright") => {
                // The obstacle for the user is at the end, and is not cut.
                let why = one_line(asked.why.as_deref().unwrap_or_default());
                (None, format!("{}: {why}", paint.warning("paused")))
            }
            RunEvent::Paused(asked) => {
                let command = self.progress.setting.plan_command("resume");
                (None, format!("{}; `{command}` continues", asked_words(&paint.warning("paused"), asked)))
            }
            RunEvent::Resumed(asked) => (None, asked_words("resumed", asked)),
            RunEvent::Stopping(stopping) => {
                let why = stopping_words(stopping);
                (None, format!("{}: {why}; no new task starts", paint.warning("stopping")))
            }
            RunEvent::Resting(resting) => {
                (Some(&resting.task), self.resting_words(resting))
            }
            RunEvent::Conflicted(conflicted) => (Some(&conflicted.task), conflicted_words(conflicted, paint)),
            RunEvent::LandingEnded(ended) if ended.passed => {
                let branch = one_line(&ended.branch);
                let words = match ended.commit.as_deref().map(|commit| one_line(short_commit(commit))) {
                    Some(commit) => format!("landed on {branch} as {commit}"),
                    None => format!("has nothing to land on {branch}"),
                };
                (Some(&ended.task), words)
            }
            RunEvent::Drifted(drifted) => {
                let files = files_words(&drifted.files);
                let what = paint.warning("drift");
                (Some(&drifted.task), format!("{what}: changed {files}, which the plan does not name"))
            }
            RunEvent::PlanEdited(edited) => (None, format!("the plan file was changed: {}", one_line(&edited.what))),
            RunEvent::Remark(remark) => (remark.task.as_ref(), one_line(&remark.text)),
            RunEvent::AgentChosen(chosen) => (Some(&chosen.task), chosen_words(chosen)),
            RunEvent::LogCut(cut) => {
                let bytes = count(cut.n_bytes, "byte");
                (None, format!("the last record of the run's log was incomplete: {bytes} removed"))
            }
            RunEvent::AttemptStarting(_)
            | RunEvent::AttemptEnded(_)
            | RunEvent::Verified(_)
            | RunEvent::PlanWritten(_)
            | RunEvent::Skipped(_)
            | RunEvent::Candidate(_)
            | RunEvent::Held(_)
            | RunEvent::LandingStarted(_)
            | RunEvent::LandingEnded(_)
            // A more detailed summary follows.
            | RunEvent::RunEnded(_)
            | RunEvent::Other(_) => return None,
        };
        Some(match task {
            Some(task) => self.of_task(record, task, &text),
            None => self.of_run(record, &text),
        })
    }

    fn started_words(&self, task: &str) -> Option<String> {
        let attempt = self.progress.run_state.task(task)?.last()?;
        let agent = match attempt.agent.as_str() {
            "" => String::new(),
            agent => format!("{}, ", one_line(agent)),
        };
        let instead = attempt.instead_of.as_deref();
        let instead = instead.map_or_else(String::new, |other| format!(", instead of {}", one_line(other)));
        Some(format!("started  {agent}attempt {}{instead}", attempt.attempt))
    }

    fn resting_words(&self, resting: &RetryWaitRecord) -> String {
        let task_run = self.progress.run_state.task(&resting.task);
        let said = task_run.and_then(TaskRun::why);
        // The end of the attempt was already reported, with its reason.
        let new = resting.why.as_deref().filter(|why| said != Some(*why));
        let why = new.and_then(first_useful_line);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let next = resting.attempt.saturating_add(1);
        match resting.milliseconds {
            0 => format!("continues at once with attempt {next}{why}"),
            wait => format!("waits {} before attempt {next}{why}", duration(wait)),
        }
    }

    /// Returns the line that the run is still active: `3 of 12 done, 2 running: T004 (4m 02s), T005 (12s)`.
    fn still(&self, now: Moment) -> Option<String> {
        let run_state = &self.progress.run_state;
        let (running, resting) = (self.progress.running(), self.progress.resting());
        let (n_running, n_resting) = (running.len(), resting.len());
        if n_running + n_resting == 0 {
            return None;
        }
        let mut text = format!("{}  {}", self.paint.dim(&clock_at(now)), done_words(&self.progress));
        if run_state.counts.n_failed > 0 {
            text.push_str(&format!(", {} failed", run_state.counts.n_failed));
        }
        if n_running > 0 {
            let named = running.take(MAX_NAMED);
            let named: Vec<String> = named
                .map(|it| format!("{} ({})", shown_name(&it.task), elapsed(now.saturating_sub(it.since))))
                .collect();
            let more = match n_running - named.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            text.push_str(&format!(", {n_running} running: {}{more}", named.join(", ")));
        }
        if n_resting > 0 {
            text.push_str(&format!(", {n_resting} waiting for another attempt"));
        }
        Some(text)
    }
}

/// Returns how much is done: `3 of 12 done`.
pub(crate) fn done_words(progress: &Progress) -> String {
    let counts = &progress.run_state.counts;
    let n_over = counts.n_done + counts.n_failed + counts.n_skipped + counts.n_review;
    match n_over + progress.run_state.n_left() {
        0 => "no task started yet".to_owned(),
        n_tasks => format!("{} of {n_tasks} done", counts.n_done),
    }
}

/// Returns the verification of a done task: `verified by 2 commands`.
fn proof_of(task: &TaskRun) -> String {
    let changes = if task.is_unchanged() { ", no changes" } else { "" };
    let Some(attempt) = task.last().filter(|attempt| attempt.is_verified()) else {
        return format!("unverified{changes}");
    };
    let by = count(attempt.verification.receipts.len() as u64, "command");
    let open = match attempt.verification.unverified.len() {
        0 => String::new(),
        1 => ", 1 criterion unverified".to_owned(),
        n => format!(", {n} criteria unverified"),
    };
    format!("verified by {by}{open}{changes}")
}

fn begun_words(begun: &RunStartRecord) -> String {
    let how = if begun.continues {
        "the run continues"
    } else {
        "the run begins"
    };
    let beside = match begun.slots {
        0 | 1 => "one at a time".to_owned(),
        n => format!("{n} at a time"),
    };
    let where_ = match begun.isolation {
        Some(IsolationMode::Checkouts) => ", each in its own checkout",
        Some(IsolationMode::Worktrees) => ", each in its own worktree",
        _ => "",
    };
    format!("{how}: {}, {beside}{where_}", count(begun.n_tasks, "task"))
}

pub(crate) fn standing_words(standing: &RunStanding) -> String {
    match standing {
        RunStanding::Finished => "finished".to_owned(),
        RunStanding::Stuck => "got stuck".to_owned(),
        RunStanding::Stopped => "was stopped".to_owned(),
        RunStanding::Paused => "ended paused".to_owned(),
        RunStanding::AwaitsReview => "waits for review".to_owned(),
        RunStanding::Reviewed => "ended".to_owned(),
        RunStanding::Other(other) => format!("ended as {}", one_line(other)),
    }
}

pub(crate) fn stopping_words(stopping: &StopRecord) -> String {
    let task = stopping.task.as_deref().map(shown_name);
    let what = match (&stopping.reason, task) {
        (StopReason::Signal, _) => "interrupted by the user".to_owned(),
        (StopReason::Requested, _) => "the user asked for it".to_owned(),
        (StopReason::Hindered, _) => "it cannot continue".to_owned(),
        (StopReason::Condition, Some(task)) => format!("{task} met its stop condition"),
        (StopReason::Condition, None) => "a stop condition was met".to_owned(),
        (StopReason::Failure, Some(task)) => format!("{task} failed"),
        (StopReason::Failure, None) => "a task failed".to_owned(),
        (StopReason::MaxTasks, _) => "the limit of tasks was reached".to_owned(),
        (StopReason::Budget, _) => "the budget is spent".to_owned(),
        (StopReason::Other(other), _) => one_line(other),
    };
    match stopping.why.as_deref().and_then(first_useful_line) {
        // The run may have requested it itself: then the author and the reason are enough.
        Some(why) if matches!(stopping.reason, StopReason::Requested | StopReason::Signal) => why,
        Some(why) => format!("{what}: {why}"),
        None => what,
    }
}

pub(crate) fn asked_words(what: &str, asked: &RequestRecord) -> String {
    let by = by(asked.by.as_deref());
    match asked.why.as_deref().and_then(first_useful_line) {
        Some(why) => format!("{what}{by}: {why}"),
        None => format!("{what}{by}"),
    }
}

fn by(who: Option<&str>) -> String {
    who.map_or_else(String::new, |who| format!(" by {}", one_line(who)))
}

pub(crate) fn files_words(files: &[String]) -> String {
    some_of(files.iter().map(|file| shown_name(file)), MAX_FILES)
}

/// A run as lines for people, without a terminal to draw on.
pub(crate) struct PlainLines<W: Write> {
    out: Sink<W>,
    clock: Box<dyn FnMut() -> Moment>,
    story: RunLines,
    /// The time of the last line.
    said: Option<Moment>,
}

impl<W: Write> PlainLines<W> {
    /// Prints a run to `out`; `clock` returns the present.
    pub(crate) fn new(out: W, setting: Setting, paint: Paint, clock: Box<dyn FnMut() -> Moment>) -> Self {
        PlainLines {
            out: Sink::new(out),
            clock,
            story: RunLines::new(setting, paint),
            said: None,
        }
    }
}

impl<W: Write> Watcher for PlainLines<W> {
    fn event(&mut self, record: &RunRecord) {
        let lines = self.story.take(record);
        if !lines.is_empty() {
            self.out.write(&(lines.join("\n") + "\n"));
            self.said = Some((self.clock)());
        }
    }

    fn tick(&mut self) {
        let now = (self.clock)();
        let said = *self.said.get_or_insert(now);
        if now.saturating_sub(said) < MAX_SILENCE {
            return;
        }
        if let Some(line) = self.story.still(now) {
            self.out.write(&(line + "\n"));
        }
        self.said = Some(now);
    }
}

/// A run for programs: every event, as in the log.
pub(crate) struct JsonLines<W: Write> {
    out: Sink<W>,
}

impl<W: Write> JsonLines<W> {
    pub(crate) fn new(out: W) -> Self {
        JsonLines { out: Sink::new(out) }
    }
}

impl<W: Write> Watcher for JsonLines<W> {
    fn event(&mut self, record: &RunRecord) {
        // A record can always be written as JSON.
        if let Ok(line) = json_line(record) {
            self.out.write(&line);
        }
    }
}

/// Returns a record as in the log, as one line with its line break, without terminal control sequences.
pub(crate) fn json_line(record: &RunRecord) -> serde_json::Result<String> {
    Ok(format!("{}\n", harmless_json(&record.to_json()?)))
}

/// The output of a run. A closed pipe does not end the run: the rest is discarded.
pub(crate) struct Sink<W: Write> {
    out: W,
    is_broken: bool,
}

impl<W: Write> Sink<W> {
    pub(crate) fn new(out: W) -> Self {
        Sink { out, is_broken: false }
    }

    pub(crate) fn write(&mut self, text: &str) {
        if self.is_broken || text.is_empty() {
            return;
        }
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.is_broken = written.is_err();
    }
}
