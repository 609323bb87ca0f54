//! Sums over the tasks and attempts of a run.

use super::super::record::RunEndRecord;
use super::task::{TaskRun, TaskState};

/// The number of tasks in the log by state, and the number of attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    pub n_attempts: u64,
    /// How many tasks were accepted without verification by a command.
    pub n_accepted_unverified: u64,
    /// Running, or being verified.
    pub n_running: u64,
    /// Between two attempts.
    pub n_resting: u64,
    pub n_review: u64,
    pub n_done: u64,
    /// How many tasks that are done or wait for review no command verified.
    pub n_unverified: u64,
    /// How many tasks that are done or wait for review changed no file.
    pub n_unchanged: u64,
    pub n_failed: u64,
    /// Stopped or interrupted.
    pub n_stopped: u64,
    pub n_skipped: u64,
}

impl TaskCounts {
    pub(super) fn enter(&mut self, task: &TaskRun) {
        self.of(task).into_iter().flatten().for_each(|count| *count += 1);
    }

    pub(super) fn leave(&mut self, task: &TaskRun) {
        self.of(task).into_iter().flatten().for_each(|count| *count -= 1);
    }

    /// Updates the numbers of a run's end after later decisions. `before` are the earlier counts.
    pub(super) fn follow(&self, before: &TaskCounts, ended: &mut RunEndRecord) {
        let n_all = ended.n_done + ended.n_failed + ended.n_skipped + ended.n_review + ended.n_left;
        let moved = |n: u64, before: u64, after: u64| (n + after).saturating_sub(before);
        ended.n_done = moved(ended.n_done, before.n_done, self.n_done);
        ended.n_failed = moved(ended.n_failed, before.n_failed, self.n_failed);
        ended.n_skipped = moved(ended.n_skipped, before.n_skipped, self.n_skipped);
        ended.n_review = moved(ended.n_review, before.n_review, self.n_review);
        let n_over = ended.n_done + ended.n_failed + ended.n_skipped + ended.n_review;
        ended.n_left = n_all.saturating_sub(n_over);
    }

    fn of(&mut self, task: &TaskRun) -> [Option<&mut u64>; 3] {
        let unverified = (!task.is_verified()).then_some(&mut self.n_unverified);
        let unchanged = task.is_unchanged().then_some(&mut self.n_unchanged);
        match task.current_state() {
            TaskState::Waiting => [None, None, None],
            TaskState::Running | TaskState::Verifying => [Some(&mut self.n_running), None, None],
            TaskState::Resting => [Some(&mut self.n_resting), None, None],
            TaskState::Review => [Some(&mut self.n_review), unverified, unchanged],
            TaskState::Done => [Some(&mut self.n_done), unverified, unchanged],
            TaskState::Failed => [Some(&mut self.n_failed), None, None],
            TaskState::Stopped | TaskState::Interrupted => [Some(&mut self.n_stopped), None, None],
            TaskState::Skipped { .. } => [Some(&mut self.n_skipped), None, None],
        }
    }
}
