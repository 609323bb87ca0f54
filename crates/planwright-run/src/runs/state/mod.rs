//! What the records of a run add up to, taken one by one: every task with its attempts, and the totals.
//!
//! A pure function of the records: knows no file, no clock and no plan. Records may come in any order that a log can have, and
//! what they do not say is left open.

use std::collections::HashMap;

use super::record::{
    Asked, Attempt, Begun, Chosen, Drifted, Edited, Ended, Finished, LogCut, Merged, Receipt, Resting, RunEvent,
    RunRecord, Stopping, Verified,
};
use crate::clock::milliseconds_of;

/// How many attempts back the one that a record is about is looked for.
const MAX_BACK: usize = 64;

/// A run as its records tell it, up to the last one that was taken.
#[derive(Clone, Debug, Default)]
pub struct RunState {
    /// How it began, or how it went on the last time.
    pub begun: Option<Begun>,
    /// When it began first.
    pub began: Option<String>,
    /// How many times it went on after an interruption.
    pub n_continued: u64,
    /// When the last record was written.
    pub last: Option<String>,
    /// What its attempts and its arbiter cost and how much they used.
    pub totals: Totals,
    /// How many tasks stand where.
    pub counts: Counts,
    /// What the user should know, in the order in which it came.
    pub remarks: Vec<Noted>,
    /// Who paused it and why, while it is paused.
    pub paused: Option<Asked>,
    /// Why nothing new starts any more.
    pub stopping: Option<Stopping>,
    /// How it ended; none while it runs, and where it was interrupted.
    pub ended: Option<Ended>,
    tasks: Vec<TaskRun>,
    places: HashMap<String, usize>,
}

/// Sums over all attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// How many attempts began.
    pub n_attempts: u64,
    /// What they cost in US dollars; none where no agent told.
    pub cost_usd: Option<f64>,
    /// How many tokens went in and came out; none where no agent told.
    pub tokens: Option<[u64; 2]>,
}

/// How many of the tasks that were mentioned stand where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Running, or being verified.
    pub n_running: u64,
    /// Between two attempts.
    pub n_resting: u64,
    /// Waiting for somebody's approval.
    pub n_review: u64,
    /// Done.
    pub n_done: u64,
    /// Of those that are done or wait for approval: how many nothing has verified.
    pub n_unverified: u64,
    /// Failed.
    pub n_failed: u64,
    /// Stopped or interrupted.
    pub n_stopped: u64,
    /// Left out because of another task.
    pub n_skipped: u64,
}

/// One task of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// Its name, in the dialect's own form.
    pub task: String,
    /// Where it stands.
    pub state: TaskState,
    /// Its attempts, the first one first.
    pub attempts: Vec<AttemptRun>,
    /// The files that it touched and its plan does not name.
    pub drift: Vec<String>,
    /// Who approved it, where somebody did: the name may be missing.
    pub approved: Option<Option<String>>,
    /// How long it waits before its next attempt, since when, and why.
    pub resting: Option<(Resting, String)>,
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Named, and not begun.
    Waiting,
    /// An attempt runs.
    Running,
    /// The agent says that it is done, and nothing has confirmed that yet.
    Verifying,
    /// Between two attempts.
    Resting,
    /// Somebody must look at it.
    Review,
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Ended by a condition that the plan names, or not tried again because the run ended.
    Stopped,
    /// The run ended in the middle of it.
    Interrupted,
    /// Left out.
    Skipped {
        /// The task that failed.
        because: String,
    },
}

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptRun {
    /// Which attempt of the run it is, counted from 1.
    pub attempt: u32,
    /// The agent.
    pub agent: String,
    /// The agent that was to do it, where that could not.
    pub instead_of: Option<String>,
    /// The slot, counted from 1; 0 where the log does not tell.
    pub slot: u32,
    /// When it started, as RFC 3339 in UTC.
    pub started: String,
    /// The process, once there is one.
    pub pid: Option<u32>,
    /// When the agent was through.
    pub ended: Option<String>,
    /// When its verification was through.
    pub verified_at: Option<String>,
    /// What came of it; none while it runs.
    pub outcome: Option<Outcome>,
    /// Why, in words.
    pub why: Option<String>,
    /// What the agent reported.
    pub output: Option<String>,
    /// How the process ended.
    pub exit: Option<String>,
    /// How long the agent took, by its own clock.
    pub milliseconds: Option<u64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens went in and came out.
    pub tokens: Option<[u64; 2]>,
    /// The agent's own name for its session.
    pub session: Option<String>,
    /// Whether verification passed; none before that.
    pub verified: Option<bool>,
    /// The commands that verified it.
    pub receipts: Vec<Receipt>,
    /// Criteria that no rule covers.
    pub unverified: Vec<String>,
    /// What came of bringing it together with the rest.
    pub merged: Option<Merged>,
    /// The files that it touched.
    pub files: Vec<String>,
    /// Its own folder.
    pub folder: Option<String>,
    /// Its own branch.
    pub branch: Option<String>,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The agent was successful, and nothing says otherwise.
    Done,
    /// It failed, or its verification did.
    Failed,
    /// It met a condition that ends the run.
    Stopped,
    /// It was ended with the run, on request, or because somebody else moved the task; or the run died in the middle of it.
    Interrupted,
    /// The agent's service refused more for now.
    RateLimited,
    /// The agent could not work, and another one takes the task.
    Broken,
    /// Something that this version does not know.
    Other(String),
}

/// Something that the user should know, and when it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// When.
    pub time: String,
    /// In words.
    pub text: String,
    /// The task that it is about.
    pub task: Option<String>,
}

impl Outcome {
    /// Returns the outcome of a name.
    pub fn of(name: &str) -> Self {
        match name {
            "done" => Outcome::Done,
            "failed" => Outcome::Failed,
            "stopped" => Outcome::Stopped,
            "interrupted" => Outcome::Interrupted,
            "rate-limited" => Outcome::RateLimited,
            "broken" => Outcome::Broken,
            name => Outcome::Other(name.to_owned()),
        }
    }

    /// Returns its name, as logs have it.
    pub fn name(&self) -> &str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Stopped => "stopped",
            Outcome::Interrupted => "interrupted",
            Outcome::RateLimited => "rate-limited",
            Outcome::Broken => "broken",
            Outcome::Other(name) => name,
        }
    }
}

impl TaskState {
    /// Returns its name, in one word.
    pub fn name(&self) -> &'static str {
        match self {
            TaskState::Waiting => "waiting",
            TaskState::Running => "running",
            TaskState::Verifying => "verifying",
            TaskState::Resting => "resting",
            TaskState::Review => "review",
            TaskState::Done => "done",
            TaskState::Failed => "failed",
            TaskState::Stopped => "stopped",
            TaskState::Interrupted => "interrupted",
            TaskState::Skipped { .. } => "skipped",
        }
    }

    /// Returns the state of a task whose last attempt ended so, before anything is known about verification.
    fn after(outcome: &Outcome, verified: Option<bool>) -> Self {
        match (outcome, verified) {
            (Outcome::Done, Some(true)) => TaskState::Done,
            (Outcome::Done, Some(false)) => TaskState::Failed,
            (Outcome::Done, None) => TaskState::Verifying,
            (Outcome::Stopped, _) => TaskState::Stopped,
            (Outcome::Interrupted, _) => TaskState::Interrupted,
            (Outcome::RateLimited | Outcome::Broken, _) => TaskState::Resting,
            (Outcome::Failed | Outcome::Other(_), _) => TaskState::Failed,
        }
    }
}

impl AttemptRun {
    /// Returns true where commands confirmed what the agent made.
    pub fn is_verified(&self) -> bool {
        self.verified == Some(true) && !self.receipts.is_empty()
    }

    /// Returns how long the agent took: as it was measured, else by the times of the records. None while it runs.
    pub fn took(&self) -> Option<u64> {
        let by_records =
            || Some(milliseconds_of(self.ended.as_ref()?)?.saturating_sub(milliseconds_of(&self.started)?));
        self.milliseconds.or_else(by_records)
    }
}

impl TaskRun {
    fn new(task: &str) -> Self {
        TaskRun {
            task: task.to_owned(),
            state: TaskState::Waiting,
            attempts: Vec::new(),
            drift: Vec::new(),
            approved: None,
            resting: None,
        }
    }

    /// Returns its last attempt.
    pub fn last(&self) -> Option<&AttemptRun> {
        self.attempts.last()
    }

    /// Returns true where commands confirmed its last attempt.
    pub fn is_verified(&self) -> bool {
        self.last().is_some_and(AttemptRun::is_verified)
    }

    /// Returns why it failed, in words, where its last attempt says so.
    pub fn why(&self) -> Option<&str> {
        self.last()?.why.as_deref()
    }

    /// Returns what all its attempts cost, in US dollars.
    pub fn cost_usd(&self) -> Option<f64> {
        self.attempts
            .iter()
            .filter_map(|attempt| attempt.cost_usd)
            .reduce(|a, b| a + b)
    }

    /// Returns how long all its attempts took together, without those that still run.
    pub fn took(&self) -> Option<u64> {
        let each = self.attempts.iter().filter_map(AttemptRun::took);
        each.reduce(u64::saturating_add)
    }

    /// Returns the attempt of that number, which is there afterwards.
    fn attempt(&mut self, number: u32, time: &str) -> &mut AttemptRun {
        let recent = self.attempts.iter().rev().take(MAX_BACK);
        let back = recent.clone().position(|attempt| attempt.attempt == number);
        let at = match back {
            Some(back) => self.attempts.len() - 1 - back,
            None => {
                self.attempts.push(AttemptRun {
                    attempt: number,
                    started: time.to_owned(),
                    ..AttemptRun::default()
                });
                self.attempts.len() - 1
            }
        };
        &mut self.attempts[at]
    }
}

impl RunState {
    /// Adds up all records of a log.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r RunRecord>) -> Self {
        let mut account = RunState::default();
        records.into_iter().for_each(|record| account.apply(record));
        account
    }

    /// Returns the tasks in the order in which the log names them first.
    pub fn tasks(&self) -> &[TaskRun] {
        &self.tasks
    }

    /// Returns a task by its name.
    pub fn task(&self, name: &str) -> Option<&TaskRun> {
        self.tasks.get(*self.places.get(name)?)
    }

    /// Returns how many of the tasks that are to run have not come to an end: neither done, failed nor skipped.
    pub fn n_left(&self) -> u64 {
        let Counts {
            n_done,
            n_failed,
            n_skipped,
            ..
        } = &self.counts;
        let n_tasks = self.begun.as_ref().map_or(0, |begun| begun.n_tasks);
        n_tasks
            .max(self.tasks.len() as u64)
            .saturating_sub(n_done + n_failed + n_skipped)
    }

    /// Takes the next record.
    pub fn apply(&mut self, record: &RunRecord) {
        let time = record.time.as_str();
        self.last = Some(time.to_owned());
        match &record.event {
            RunEvent::Begun(begun) => self.begin(begun, time),
            RunEvent::Chosen(chosen) => self.choose(chosen, time),
            RunEvent::Starting(attempt) => self.start(attempt, time),
            RunEvent::Started(started) => {
                let pid = Some(started.pid);
                self.change(&started.task, |task| task.attempt(started.attempt, time).pid = pid);
            }
            RunEvent::Finished(finished) => self.finish(finished, time),
            RunEvent::Verified(verified) => self.verify(verified, time),
            // That it was begun may be written as late as when it is verified: the plan file knows less than the log.
            RunEvent::Projected(_) => {}
            RunEvent::Skipped(skipped) => {
                let because = skipped.because.clone();
                self.change(&skipped.task, |task| task.state = TaskState::Skipped { because });
            }
            RunEvent::Review(review) => self.change(&review.task, |task| task.state = TaskState::Review),
            RunEvent::Approved(approved) => self.change(&approved.task, |task| {
                task.state = TaskState::Done;
                task.approved = Some(approved.by.clone());
            }),
            RunEvent::Paused(asked) => self.paused = Some(asked.clone()),
            RunEvent::Resumed(_) => self.paused = None,
            RunEvent::Stopping(stopping) => self.stopping = Some(stopping.clone()),
            RunEvent::Resting(resting) => self.change(&resting.task, |task| {
                task.state = TaskState::Resting;
                task.resting = Some((resting.clone(), time.to_owned()));
            }),
            RunEvent::Merged(merged) => self.merge(merged, time),
            RunEvent::Drifted(Drifted { task, files, .. }) => self.change(task, |task| task.drift.clone_from(files)),
            RunEvent::Edited(edited) => self.note(time, edited_text(edited), None),
            RunEvent::Remark(remark) => self.note(time, remark.text.clone(), remark.task.clone()),
            RunEvent::Cut(LogCut { n_bytes, .. }) => {
                let text = format!("the end of the log was not written whole: {n_bytes} bytes were cut");
                self.note(time, text, None);
            }
            RunEvent::Ended(ended) => self.end(ended),
            RunEvent::Other(_) => {}
        }
    }

    fn begin(&mut self, begun: &Begun, time: &str) {
        match self.began {
            None => self.began = Some(time.to_owned()),
            Some(_) => self.n_continued += 1,
        }
        // What ran when the process before ended runs no longer.
        self.interrupt();
        self.begun = Some(begun.clone());
        (self.paused, self.stopping, self.ended) = (None, None, None);
    }

    fn end(&mut self, ended: &Ended) {
        self.interrupt();
        self.ended = Some(ended.clone());
        self.paused = None;
    }

    /// Gives up on everything that was going on.
    fn interrupt(&mut self) {
        if self.counts.n_running + self.counts.n_resting == 0 {
            return;
        }
        for at in 0..self.tasks.len() {
            self.change_at(at, |task| match task.state {
                TaskState::Running | TaskState::Verifying => task.state = TaskState::Interrupted,
                TaskState::Resting => task.state = TaskState::Stopped,
                _ => {}
            });
        }
    }

    /// Adds what an arbiter cost, and why it did not choose.
    fn choose(&mut self, chosen: &Chosen, time: &str) {
        add(&mut self.totals, chosen.cost_usd, chosen.tokens);
        if let Some(why) = &chosen.why {
            let text = format!("the arbiter `{}` did not choose: {why}", chosen.arbiter);
            self.note(time, text, Some(chosen.task.clone()));
        }
    }

    fn start(&mut self, attempt: &Attempt, time: &str) {
        self.totals.n_attempts += 1;
        self.change(&attempt.task, |task| {
            task.state = TaskState::Running;
            task.resting = None;
            task.drift.clear();
            task.attempts.push(AttemptRun {
                attempt: attempt.attempt,
                agent: attempt.agent.clone(),
                instead_of: attempt.instead_of.clone(),
                slot: attempt.slot,
                started: time.to_owned(),
                folder: attempt.folder.clone(),
                branch: attempt.branch.clone(),
                ..AttemptRun::default()
            });
        });
    }

    fn finish(&mut self, finished: &Finished, time: &str) {
        add(&mut self.totals, finished.cost_usd, finished.tokens);
        let outcome = Outcome::of(&finished.outcome);
        self.change(&finished.task, |task| {
            let attempt = task.attempt(finished.attempt, time);
            attempt.ended = Some(time.to_owned());
            attempt.why.clone_from(&finished.why);
            attempt.output.clone_from(&finished.output);
            attempt.exit.clone_from(&finished.exit);
            attempt.milliseconds = finished.milliseconds;
            attempt.cost_usd = finished.cost_usd;
            attempt.tokens = finished.tokens;
            attempt.session.clone_from(&finished.session);
            attempt.files.clone_from(&finished.files);
            let state = TaskState::after(&outcome, attempt.verified);
            attempt.outcome = Some(outcome);
            task.state = state;
        });
    }

    fn verify(&mut self, verified: &Verified, time: &str) {
        self.change(&verified.task, |task| {
            let attempt = task.attempt(verified.attempt, time);
            attempt.verified = Some(verified.passed);
            attempt.verified_at = Some(time.to_owned());
            attempt.receipts.clone_from(&verified.receipts);
            attempt.unverified.clone_from(&verified.unverified);
            if !verified.passed {
                attempt.why = attempt.why.take().or_else(|| failed_command(verified));
            }
            // A failed verification is a failed attempt.
            let state = match (&attempt.outcome, verified.passed) {
                (Some(Outcome::Done), true) => TaskState::Done,
                (Some(Outcome::Done), false) => {
                    attempt.outcome = Some(Outcome::Failed);
                    TaskState::Failed
                }
                (Some(_), _) => return,
                (None, _) => TaskState::Verifying,
            };
            // A task that somebody must look at was confirmed before that.
            if task.state != TaskState::Review {
                task.state = state;
            }
        });
    }

    fn merge(&mut self, merged: &Merged, time: &str) {
        self.change(&merged.task, |task| {
            let attempt = task.attempt(merged.attempt, time);
            attempt.merged = Some(merged.clone());
            if !merged.passed {
                attempt.why = merged.why.clone().or_else(|| attempt.why.take());
                attempt.outcome = Some(Outcome::Failed);
                task.state = TaskState::Failed;
            }
        });
    }

    fn note(&mut self, time: &str, text: String, task: Option<String>) {
        let time = time.to_owned();
        self.remarks.push(Noted { time, text, task });
    }

    /// Changes a task, which is there afterwards.
    fn change(&mut self, name: &str, how: impl FnOnce(&mut TaskRun)) {
        let at = match self.places.get(name) {
            Some(at) => *at,
            None => {
                self.tasks.push(TaskRun::new(name));
                self.places.insert(name.to_owned(), self.tasks.len() - 1);
                self.tasks.len() - 1
            }
        };
        self.change_at(at, how);
    }

    /// Changes a task and keeps the counts in step: the one place where states change.
    fn change_at(&mut self, at: usize, how: impl FnOnce(&mut TaskRun)) {
        let Some(task) = self.tasks.get_mut(at) else {
            return;
        };
        self.counts.leave(task);
        how(task);
        self.counts.enter(task);
    }
}

impl Counts {
    fn enter(&mut self, task: &TaskRun) {
        self.of(task).into_iter().flatten().for_each(|count| *count += 1);
    }

    fn leave(&mut self, task: &TaskRun) {
        self.of(task).into_iter().flatten().for_each(|count| *count -= 1);
    }

    /// Returns the counts that a task is in.
    fn of(&mut self, task: &TaskRun) -> [Option<&mut u64>; 2] {
        let unverified = (!task.is_verified()).then_some(&mut self.n_unverified);
        match task.state {
            TaskState::Waiting => [None, None],
            TaskState::Running | TaskState::Verifying => [Some(&mut self.n_running), None],
            TaskState::Resting => [Some(&mut self.n_resting), None],
            TaskState::Review => [Some(&mut self.n_review), unverified],
            TaskState::Done => [Some(&mut self.n_done), unverified],
            TaskState::Failed => [Some(&mut self.n_failed), None],
            TaskState::Stopped | TaskState::Interrupted => [Some(&mut self.n_stopped), None],
            TaskState::Skipped { .. } => [Some(&mut self.n_skipped), None],
        }
    }
}

fn add(totals: &mut Totals, cost_usd: Option<f64>, tokens: Option<[u64; 2]>) {
    if let Some(cost) = cost_usd {
        totals.cost_usd = Some(totals.cost_usd.unwrap_or(0.0) + cost);
    }
    if let Some([n_in, n_out]) = tokens {
        let [all_in, all_out] = totals.tokens.unwrap_or_default();
        totals.tokens = Some([all_in.saturating_add(n_in), all_out.saturating_add(n_out)]);
    }
}

fn failed_command(verified: &Verified) -> Option<String> {
    let failed = verified.receipts.iter().find(|receipt| receipt.exit != "exit 0")?;
    Some(format!("`{}` ended with {}", failed.command.join(" "), failed.exit))
}

fn edited_text(edited: &Edited) -> String {
    match edited.tasks.as_slice() {
        [] => format!("the plan file was changed: {}", edited.what),
        tasks => format!("the plan file was changed: {} ({})", edited.what, tasks.join(", ")),
    }
}
