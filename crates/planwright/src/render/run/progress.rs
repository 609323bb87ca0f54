//! The progress of a run: its state, with indexes for views.

use std::collections::{BTreeMap, HashMap};

use planwright_run::clock::milliseconds_of;
use planwright_run::runs::state::{RunState, TaskRun, TaskState};
use planwright_run::runs::{RunEvent, RunRecord};
use planwright_verbs::run_history::Setting;
use planwright_verbs::text::last_drawn;

use super::words::Moment;

/// How much of a line of output is kept.
const MAX_LINE_BYTES: usize = 2_000;

/// A task that changed its state.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) task: String,
    /// Its state before.
    pub(crate) before: TaskState,
    /// The duration of its last attempt, including verification and landing.
    pub(crate) took: Option<u64>,
}

/// A task that an agent works on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    pub(crate) task: String,
    /// When its attempt started.
    pub(crate) since: Moment,
    /// The last line that its process wrote, unchanged.
    pub(crate) line: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// The facts about the run besides its events.
    pub(crate) setting: Setting,
    pub(crate) run_state: RunState,
    /// When it started or was resumed.
    pub(crate) began: Option<Moment>,
    /// Running tasks, by the number of their start record.
    running: BTreeMap<u64, Running>,
    /// Tasks between two attempts, by the time of the next one.
    resting: BTreeMap<(Moment, u64), String>,
    places: HashMap<String, Place>,
    /// How many attempts ended by themselves, and their total duration.
    n_ended: u64,
    all_took: u64,
    /// The number of the user's interrupts at the keyboard.
    pub(crate) n_interrupts: u32,
    /// The present question to the user.
    pub(crate) question: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Running(u64),
    Resting(Moment, u64),
}

impl Progress {
    /// Returns an empty state of a run.
    pub(crate) fn new(setting: Setting) -> Self {
        Progress {
            setting,
            ..Progress::default()
        }
    }

    /// Returns the tasks that run, the oldest attempt first.
    pub(crate) fn running(&self) -> impl ExactSizeIterator<Item = &Running> {
        self.running.values()
    }

    /// Returns the tasks between two attempts with the time of the next one, the earliest first.
    pub(crate) fn resting(&self) -> impl ExactSizeIterator<Item = (Moment, &str)> {
        self.resting.iter().map(|(&(until, _), task)| (until, task.as_str()))
    }

    /// Records the last output line of a task's process. A line without visible text changes nothing.
    pub(crate) fn line(&mut self, task: &str, line: &str) {
        let Some(Place::Running(seq)) = self.places.get(task) else {
            return;
        };
        let shown = last_drawn(line);
        if let Some(running) = self.running.get_mut(seq)
            && !shown.is_empty()
        {
            running.line.clear();
            running.line.push_str(start_of(shown));
        }
    }

    /// Takes the next record, and returns the tasks with a new state.
    pub(crate) fn take(&mut self, record: &RunRecord) -> Vec<Turn> {
        let touched = tasks_of(&record.event);
        let before: Vec<TaskState> = touched.iter().map(|task| self.state(task)).collect();
        self.run_state.apply(record);
        let now = milliseconds_of(&record.time).unwrap_or(0);
        if let RunEvent::RunStarted(_) | RunEvent::RunEnded(_) = record.event {
            // All active tasks of the earlier process have ended.
            self.running.clear();
            self.resting.clear();
            self.places.clear();
        }
        if let RunEvent::RunStarted(begun) = &record.event {
            self.setting.run.clone_from(&begun.run);
            self.began = Some(now);
        }
        let mut turns = Vec::new();
        for (task, before) in touched.into_iter().zip(before) {
            self.place(task, record, now);
            if self.state(task) != before {
                turns.push(self.turn(task, before, now));
            }
        }
        turns
    }

    /// Estimates the remaining time of a run from the duration of its attempts so far; none if too little is known.
    pub(crate) fn remaining(&self, now: Moment) -> Option<u64> {
        let is_held =
            self.run_state.halt.paused.is_some() || self.run_state.halt.stopping.is_some() || self.n_interrupts > 0;
        // A task that waits for another attempt may wait for hours, and may need more than one.
        if self.n_ended < 2 || is_held || !self.resting.is_empty() || self.run_state.ended.is_some() {
            return None;
        }
        let mean = self.all_took / self.n_ended;
        let counts = &self.run_state.counts;
        let n_left = self.run_state.n_left().saturating_sub(counts.n_stopped);
        let n_waiting = n_left.saturating_sub(counts.n_running);
        // There are at most as many as slots.
        let under_way = self
            .running()
            .map(|running| mean.saturating_sub(now.saturating_sub(running.since)));
        let work = under_way.fold(mean.saturating_mul(n_waiting), u64::saturating_add);
        let slots = self.run_state.begun.as_ref().map_or(1, |begun| u64::from(begun.slots));
        (n_left > 0).then(|| work / slots.clamp(1, n_left))
    }

    fn state(&self, task: &str) -> TaskState {
        self.run_state
            .task(task)
            .map_or(TaskState::Waiting, |task| task.state.clone())
    }

    /// Adds a task to the collection for its state while it is active.
    fn place(&mut self, task: &str, record: &RunRecord, now: Moment) {
        let Some(run_state) = self.run_state.task(task) else {
            return;
        };
        let place = match run_state.state {
            TaskState::Running | TaskState::Verifying => match self.places.get(task) {
                Some(Place::Running(seq)) if !matches!(record.event, RunEvent::AttemptStarting(_)) => {
                    Place::Running(*seq)
                }
                _ => Place::Running(record.seq),
            },
            TaskState::Resting => Place::Resting(until(run_state).unwrap_or(now), record.seq),
            _ => return self.remove(task),
        };
        if let (Place::Running(new), Some(Place::Running(old))) = (place, self.places.get(task))
            && new == *old
        {
            return;
        }
        let since = run_state
            .last()
            .and_then(|attempt| milliseconds_of(&attempt.times.started));
        self.remove(task);
        self.places.insert(task.to_owned(), place);
        match place {
            Place::Running(seq) => {
                let running = Running {
                    task: task.to_owned(),
                    since: since.unwrap_or(now),
                    line: String::new(),
                };
                self.running.insert(seq, running);
            }
            Place::Resting(until, seq) => {
                self.resting.insert((until, seq), task.to_owned());
            }
        }
    }

    fn remove(&mut self, task: &str) {
        match self.places.remove(task) {
            Some(Place::Running(seq)) => {
                self.running.remove(&seq);
            }
            Some(Place::Resting(until, seq)) => {
                self.resting.remove(&(until, seq));
            }
            None => {}
        }
    }

    fn turn(&mut self, task: &str, before: TaskState, now: Moment) -> Turn {
        let run_state = self.run_state.task(task);
        let last = run_state.and_then(TaskRun::last);
        let started = last.and_then(|attempt| milliseconds_of(&attempt.times.started));
        let took = started.map(|started| now.saturating_sub(started));
        let was_at_work = matches!(before, TaskState::Running | TaskState::Verifying);
        let came_to_an_end = run_state.is_some_and(|task| matches!(task.state, TaskState::Done | TaskState::Failed));
        if let Some(took) = took
            && was_at_work
            && came_to_an_end
        {
            self.n_ended += 1;
            self.all_took = self.all_took.saturating_add(took);
        }
        Turn {
            task: task.to_owned(),
            before,
            took,
        }
    }
}

/// Returns when the next attempt of a resting task starts.
fn until(task: &TaskRun) -> Option<Moment> {
    let (resting, since) = task.resting.as_ref()?;
    Some(milliseconds_of(since)?.saturating_add(resting.milliseconds))
}

/// Returns the tasks whose state an event may change, except those that the start or the end of a run interrupts.
fn tasks_of(event: &RunEvent) -> Vec<&str> {
    let task = match event {
        RunEvent::PlanWritten(projected) => return projected.tasks.iter().map(String::as_str).collect(),
        RunEvent::AttemptStarting(attempt) => &attempt.task,
        RunEvent::ProcessStarted(started) => &started.task,
        RunEvent::AttemptEnded(finished) => &finished.task,
        RunEvent::Verified(verified) => &verified.task,
        RunEvent::Skipped(skipped) => &skipped.task,
        RunEvent::Review(review) => &review.task,
        RunEvent::Held(held) => &held.task,
        RunEvent::Approved(approved) => &approved.task,
        RunEvent::Resting(resting) => &resting.task,
        RunEvent::Candidate(candidate) => &candidate.task,
        RunEvent::Conflicted(conflicted) => &conflicted.task,
        RunEvent::LandingStarted(landing) => &landing.task,
        RunEvent::LandingEnded(ended) => &ended.task,
        RunEvent::Drifted(drifted) => &drifted.task,
        RunEvent::RunStarted(_)
        | RunEvent::AgentChosen(_)
        | RunEvent::Paused(_)
        | RunEvent::Resumed(_)
        | RunEvent::Stopping(_)
        | RunEvent::PlanEdited(_)
        | RunEvent::Remark(_)
        | RunEvent::RunEnded(_)
        | RunEvent::LogCut(_)
        | RunEvent::Other(_) => return Vec::new(),
    };
    vec![task]
}

fn start_of(line: &str) -> &str {
    let mut end = line.len().min(MAX_LINE_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}
