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
    /// Where it stood.
    pub(crate) before: TaskState,
    /// How long its last attempt has taken, with all that followed.
    pub(crate) took: Option<u64>,
}

/// A task that an agent works on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    pub(crate) task: String,
    /// When its attempt began.
    pub(crate) since: Moment,
    /// The last line that its process wrote, unchanged.
    pub(crate) line: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// What is known of the run in addition to its events.
    pub(crate) setting: Setting,
    pub(crate) run_state: RunState,
    /// When it began, or went on.
    pub(crate) began: Option<Moment>,
    /// Tasks that run, by the number of the record that began them.
    running: BTreeMap<u64, Running>,
    /// Tasks between two attempts, by the moment of the next one.
    resting: BTreeMap<(Moment, u64), String>,
    places: HashMap<String, Place>,
    /// How many attempts came to their end by themselves, and how long they took together.
    n_ended: u64,
    all_took: u64,
    /// How often the user has asked for the end at the keyboard.
    pub(crate) n_interrupts: u32,
    /// The question that the user is asked now.
    pub(crate) question: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Running(u64),
    Resting(Moment, u64),
}

impl Progress {
    /// Returns a run of which nothing is known yet.
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

    /// Returns the tasks between two attempts and the moment of the next one, the earliest first.
    pub(crate) fn resting(&self) -> impl ExactSizeIterator<Item = (Moment, &str)> {
        self.resting.iter().map(|(&(until, _), task)| (until, task.as_str()))
    }

    /// Takes note of what a task's process wrote last. A line that shows nothing changes nothing.
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

    /// Takes the next record, and returns which tasks stand elsewhere now.
    pub(crate) fn take(&mut self, record: &RunRecord) -> Vec<Turn> {
        let touched = tasks_of(&record.event);
        let before: Vec<TaskState> = touched.iter().map(|task| self.state(task)).collect();
        self.run_state.apply(record);
        let now = milliseconds_of(&record.time).unwrap_or(0);
        if let RunEvent::Begun(_) | RunEvent::Ended(_) = record.event {
            // Whatever went on does so no longer.
            self.running.clear();
            self.resting.clear();
            self.places.clear();
        }
        if let RunEvent::Begun(begun) = &record.event {
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

    /// Returns how long a run will still take, by how long attempts took until now; none where too little is known.
    pub(crate) fn remaining(&self, now: Moment) -> Option<u64> {
        let is_held = self.run_state.paused.is_some() || self.run_state.stopping.is_some() || self.n_interrupts > 0;
        // A task that waits for another attempt may wait for hours, and may need more than one.
        if self.n_ended < 2 || is_held || !self.resting.is_empty() || self.run_state.ended.is_some() {
            return None;
        }
        let mean = self.all_took / self.n_ended;
        let counts = &self.run_state.counts;
        let n_left = self.run_state.n_left().saturating_sub(counts.n_stopped);
        let n_waiting = n_left.saturating_sub(counts.n_running);
        // There are no more of these than slots.
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

    /// Puts a task where it is found while it is worked on.
    fn place(&mut self, task: &str, record: &RunRecord, now: Moment) {
        let Some(run_state) = self.run_state.task(task) else {
            return;
        };
        let place = match run_state.state {
            TaskState::Running | TaskState::Verifying => match self.places.get(task) {
                Some(Place::Running(seq)) if !matches!(record.event, RunEvent::Starting(_)) => Place::Running(*seq),
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

/// Returns when the next attempt of a resting task begins.
fn until(task: &TaskRun) -> Option<Moment> {
    let (resting, since) = task.resting.as_ref()?;
    Some(milliseconds_of(since)?.saturating_add(resting.milliseconds))
}

/// Returns the tasks whose state an event may change, without those that the beginning or the end of a run interrupts.
fn tasks_of(event: &RunEvent) -> Vec<&str> {
    let task = match event {
        RunEvent::Projected(projected) => return projected.tasks.iter().map(String::as_str).collect(),
        RunEvent::Starting(attempt) => &attempt.task,
        RunEvent::Started(started) => &started.task,
        RunEvent::Finished(finished) => &finished.task,
        RunEvent::Verified(verified) => &verified.task,
        RunEvent::Skipped(skipped) => &skipped.task,
        RunEvent::Review(review) => &review.task,
        RunEvent::Held(held) => &held.task,
        RunEvent::Approved(approved) => &approved.task,
        RunEvent::Resting(resting) => &resting.task,
        RunEvent::Candidate(candidate) => &candidate.task,
        RunEvent::Conflicted(conflicted) => &conflicted.task,
        RunEvent::Landing(landing) => &landing.task,
        RunEvent::Merged(merged) => &merged.task,
        RunEvent::Drifted(drifted) => &drifted.task,
        RunEvent::Begun(_)
        | RunEvent::Chosen(_)
        | RunEvent::Paused(_)
        | RunEvent::Resumed(_)
        | RunEvent::Stopping(_)
        | RunEvent::Edited(_)
        | RunEvent::Remark(_)
        | RunEvent::Ended(_)
        | RunEvent::Cut(_)
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
