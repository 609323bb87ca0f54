//! The state of a run, from its records one by one. The loop, recovery and every view use this function.
//!
//! It is a pure function of the records: no file, no clock, no plan. Records may come in any order that a log can have.

mod apply;
mod attempt_counts;
mod counts;
mod failures;
mod task;
mod task_table;

use std::collections::BTreeMap;

use super::record::{
    FixedSettings, MovedTask, RemarkKind, RequestRecord, RunEndRecord, RunRecord, RunStanding, RunStartRecord, Spent,
    StopRecord,
};
pub use counts::TaskCounts;
pub(crate) use failures::failed_commands;
pub use failures::verification_failure;
pub use task::{
    AgentReport, AttemptCheckout, AttemptLanding, AttemptProcess, AttemptRun, AttemptTimes, AttemptVerification,
    TaskInPlanFile, TaskResults, TaskRun, TaskState, WorkProgress,
};
use task_table::TaskTable;

/// A run up to the last record that was applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// Its last start or resumption.
    pub begun: Option<RunStartRecord>,
    pub settings: RunSettings,
    pub times: RunTimes,
    pub counts: TaskCounts,
    /// Remarks for the user, oldest first.
    pub remarks: Vec<TimedRemark>,
    pub halt: RunHalt,
    /// How it ended; none while it is active, and if it was interrupted.
    pub ended: Option<RunEndRecord>,
    /// The decisions on its reviews after its end, in words.
    decided: Vec<String>,
    /// What it spent. An attempt counts when it ends; time counts when a part of the run ends.
    pub spent: Spent,
    /// What the command had spent before it.
    pub earlier: Spent,
    pub from_agents: AgentFindings,
    tasks: TaskTable,
}

/// The settings that a resumed run keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSettings {
    /// Its configuration, as the text of a file.
    pub config: Option<String>,
    /// Those that never change, from its first record.
    pub fixed: Option<FixedSettings>,
}

/// Why nothing new starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHalt {
    /// The pause request, while the run is paused.
    pub paused: Option<RequestRecord>,
    /// Why the run stops: nothing new starts any more.
    pub stopping: Option<StopRecord>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    pub began: Option<String>,
    pub part_began: Option<String>,
    pub n_continued: u64,
    pub last: Option<String>,
    /// The time between the last start of the run and its last record.
    part: RunSpan,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentFindings {
    /// Until when providers refuse requests of agents, in milliseconds since 1970.
    pub provider_limits: BTreeMap<String, u64>,
    pub discoveries: Vec<String>,
    /// The processes that were started. They may have outlived the run.
    pub processes: Vec<StartedProcess>,
}

/// In milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
struct RunSpan {
    began: Option<u64>,
    last: Option<u64>,
}

impl RunSpan {
    fn milliseconds(&self) -> u64 {
        between(self.began, self.last)
    }
}

/// A remark for the user, and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedRemark {
    pub time: String,
    pub text: String,
    pub task: Option<String>,
    pub kind: Option<RemarkKind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedProcess {
    pub pid: u32,
    /// Its start time, as the system counts.
    pub start_time: String,
}

impl RunState {
    pub fn of<'r>(records: impl IntoIterator<Item = &'r RunRecord>) -> Self {
        let mut state = RunState::default();
        records.into_iter().for_each(|record| state.apply(record));
        state
    }

    /// Returns the tasks in the order in which the log names them first.
    pub fn tasks(&self) -> &[TaskRun] {
        &self.tasks.all
    }

    pub fn last_landed_commit(&self) -> Option<&str> {
        let attempts = self.tasks().iter().flat_map(|task| &task.attempts);
        let landed = attempts
            .filter_map(|attempt| Some((attempt.verification.at.as_deref(), attempt.landed()?.commit.as_deref()?)));
        landed.max().map(|(_, commit)| commit)
    }

    pub fn task(&self, name: &str) -> Option<&TaskRun> {
        self.tasks.all.get(*self.tasks.places.get(name)?)
    }

    /// Returns the task of an attempt, by the task's name when the attempt started.
    pub fn task_of_attempt(&self, name: &str, number: u32) -> Option<&TaskRun> {
        self.tasks
            .find_attempt(name, number)
            .and_then(|at| self.tasks.all.get(at))
            .or_else(|| self.task(name))
    }

    /// Returns the states of tasks that were not pending at its last start or resumption, by their names now. None in logs of earlier
    /// versions.
    pub(crate) fn found_states(&self) -> Option<&BTreeMap<String, String>> {
        self.tasks.found.as_ref()
    }

    /// Returns the highest number of an attempt with a name; 0 if there is none.
    pub fn highest_attempt(&self, name: &str) -> u32 {
        self.tasks.highest_attempts.get(name).copied().unwrap_or(0)
    }

    /// Returns how many selected tasks are left: neither done, failed nor skipped, and not in review.
    pub fn n_left(&self) -> u64 {
        let TaskCounts {
            n_done,
            n_failed,
            n_skipped,
            n_review,
            ..
        } = &self.counts;
        let n_tasks = self.begun.as_ref().map_or(0, |begun| begun.n_tasks);
        n_tasks
            .max(self.tasks.all.len() as u64)
            .saturating_sub(n_done + n_failed + n_skipped + n_review)
    }

    /// Returns what it spent up to its last record: with the unfinished attempts, and with the time since it started or resumed.
    pub fn spent_until_last_record(&self) -> Spent {
        let mut spent = self.spent.clone();
        let open = self.tasks.all.iter().map(TaskRun::n_open).sum();
        spent.n_attempts = spent.n_attempts.saturating_add(open);
        spent.pass(self.times.part.milliseconds());
        spent
    }

    /// Marks every active task as interrupted: the process of the run is gone, and its log has no end.
    pub fn mark_interrupted(&mut self) {
        self.interrupt();
    }

    /// Records that a verb of another process moved a task that this run did not finish.
    pub fn take_over(&mut self, moved: MovedTask) {
        if let Some(at) = self.tasks.places.get(&moved.task).copied() {
            self.change_at(at, |task| task.taken_over = Some(moved));
        }
    }

    /// Records that a verb of another process moved a task that waited for review, so that no review is needed any more.
    pub(crate) fn end_review(&mut self, moved: MovedTask) {
        let Some(at) = self.tasks.places.get(&moved.task).copied() else {
            return;
        };
        if let Some(ended) = &mut self.ended {
            ended.n_review = ended.n_review.saturating_sub(1);
            ended.n_left += 1;
        }
        self.decided
            .push(format!("`{}` is {} by another command", moved.task, moved.to));
        self.change_at(at, |task| {
            task.state = TaskState::Stopped;
            task.taken_over = Some(moved);
        });
        self.close_reviews();
    }

    /// Records that a later run landed the approved work of a task.
    pub(crate) fn landed_later(&mut self, name: &str) {
        if let Some(at) = self.tasks.places.get(name).copied() {
            self.change_at(at, |task| task.state = TaskState::Done);
            self.close_reviews();
        }
    }

    /// Updates the end of a run whose last review was decided after it.
    fn close_reviews(&mut self) {
        let is_decided = self.counts.n_review == 0;
        let Some(ended) = self.ended.as_mut().filter(|_| is_decided) else {
            return;
        };
        if !matches!(ended.standing, RunStanding::AwaitsReview | RunStanding::Reviewed) {
            return;
        }
        ended.standing = match (ended.n_failed, ended.n_left) {
            (0, 0) => RunStanding::Finished,
            (0, _) => RunStanding::Reviewed,
            _ => RunStanding::Stuck,
        };
        ended.why = Some(self.decided.join(", "));
        ended.next = None;
    }

    fn interrupt(&mut self) {
        if self.counts.n_running + self.counts.n_resting == 0 {
            return;
        }
        for at in 0..self.tasks.all.len() {
            self.change_at(at, |task| match task.state {
                TaskState::Running | TaskState::Verifying => task.state = TaskState::Interrupted,
                TaskState::Resting => task.state = TaskState::Stopped,
                _ => {}
            });
        }
    }

    /// Changes a task and updates the counts: the one place where states change.
    fn change_at(&mut self, at: usize, how: impl FnOnce(&mut TaskRun)) {
        let Some(task) = self.tasks.all.get_mut(at) else {
            return;
        };
        let before = self.counts.clone();
        self.counts.leave(task);
        how(task);
        self.counts.enter(task);
        if let Some(ended) = &mut self.ended {
            self.counts.follow(&before, ended);
        }
    }
}

fn between(began: Option<u64>, ended: Option<u64>) -> u64 {
    began.zip(ended).map_or(0, |(began, ended)| ended.saturating_sub(began))
}
