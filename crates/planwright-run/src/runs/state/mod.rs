//! The state of a run, from its records one by one. The loop, recovery and every view use this function.
//!
//! It is a pure function of the records: no file, no clock, no plan. Records may come in any order that a log can have.

mod counts;
mod edits;
mod failures;
mod task;

use std::collections::{BTreeMap, HashMap};

use super::record::{
    AgentChoiceRecord, AttemptRecord, Begun, CandidateRecord, Conditions, Conflicted, Drifted, Finished, LandingRecord,
    LogCut, Merged, MovedTask, Outcome, PlanEditRecord, ProcessStartRecord, RemarkKind, RequestRecord, Resting,
    RunEndRecord, RunEvent, RunRecord, RunStanding, Spent, Stopping, VerificationRecord,
};
use crate::clock::milliseconds_of;
pub use counts::Counts;
use failures::{end_of, failed_command};
pub use failures::{failed_commands, verification_failure};
pub use task::{
    AgentReport, AttemptCheckout, AttemptLanding, AttemptRun, AttemptTimes, AttemptVerification, TaskRun, TaskState,
    WorkProgress,
};

/// A run up to the last record that was applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// Its last start or resumption.
    pub begun: Option<Begun>,
    pub config: Option<String>,
    /// The settings that never change, from its first record.
    pub conditions: Option<Conditions>,
    /// The states of tasks that were not pending at its last start or resumption; none in logs of earlier versions.
    pub found: Option<BTreeMap<String, String>>,
    pub times: RunTimes,
    pub counts: Counts,
    /// Remarks for the user, oldest first.
    pub remarks: Vec<TimedRemark>,
    /// The pause request, while it is paused.
    pub paused: Option<RequestRecord>,
    /// Why nothing new starts any more.
    pub stopping: Option<Stopping>,
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

#[derive(Clone, Debug, Default, PartialEq)]
struct TaskTable {
    all: Vec<TaskRun>,
    /// The tasks that are in the plan, by their names.
    places: HashMap<String, usize>,
    /// The highest number of an attempt with each name. Another task may get a name; files of attempts keep theirs.
    highest_attempts: HashMap<String, u32>,
    /// Whether a task was renamed or removed: an attempt may be recorded with a name that its task no longer has.
    has_renamed: bool,
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

    /// Returns the last commit that landed.
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
        self.find_attempt(name, number)
            .and_then(|at| self.tasks.all.get(at))
            .or_else(|| self.task(name))
    }

    /// Returns the highest number of an attempt with a name; 0 if there is none.
    pub fn highest_attempt(&self, name: &str) -> u32 {
        self.tasks.highest_attempts.get(name).copied().unwrap_or(0)
    }

    /// Returns how many selected tasks are left: neither done, failed nor skipped, and not in review.
    pub fn n_left(&self) -> u64 {
        let Counts {
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

    pub fn apply(&mut self, record: &RunRecord) {
        let time = record.time.as_str();
        self.times.last = Some(time.to_owned());
        if let RunEvent::Begun(begun) = &record.event {
            self.begin(begun, time);
        }
        self.times.part.last = milliseconds_of(time).or(self.times.part.last);
        self.note_decision(&record.event);
        match &record.event {
            RunEvent::Begun(_) | RunEvent::Other(_) => {}
            RunEvent::Chosen(chosen) => self.choose(chosen, time),
            RunEvent::Starting(attempt) => self.start(attempt, time),
            RunEvent::Started(started) => self.process_started(started, time),
            RunEvent::Finished(finished) => self.finish(finished, time),
            RunEvent::Verified(verified) => self.verify(verified, time),
            RunEvent::Projected(projected) => projected.tasks.iter().for_each(|name| self.project(name)),
            RunEvent::Skipped(skipped) => {
                let because = skipped.because.clone();
                self.change(&skipped.task, |task| {
                    task.skipped_for = Some(because.clone());
                    task.state = TaskState::Skipped { because };
                });
            }
            RunEvent::Review(review) => self.change_noted(&review.task, time, |task| task.state = TaskState::Review),
            RunEvent::Approved(approved) => self.change_noted(&approved.task, time, |task| {
                // A task is done after its work has landed.
                task.state = match approved.commit {
                    Some(_) => TaskState::Verifying,
                    None => TaskState::Done,
                };
                task.approved = Some(approved.clone());
            }),
            RunEvent::Held(held) => self.change(&held.task, |task| task.held = Some(held.clone())),
            RunEvent::Paused(asked) => self.paused = Some(asked.clone()),
            RunEvent::Resumed(_) => self.paused = None,
            RunEvent::Stopping(stopping) => self.stopping = Some(stopping.clone()),
            RunEvent::Resting(resting) => self.rest(resting, time),
            RunEvent::Candidate(candidate) => self.keep_candidate(candidate, time),
            RunEvent::Conflicted(conflicted) => self.conflict(conflicted, time),
            RunEvent::Landing(landing) => self.land(landing, time),
            RunEvent::Merged(merged) => self.merge(merged, time),
            RunEvent::Drifted(drifted) => self.drift(drifted),
            RunEvent::Edited(edited) => self.edit(edited, time),
            RunEvent::Remark(remark) => self.note(TimedRemark {
                time: time.to_owned(),
                text: remark.text.clone(),
                task: remark.task.clone(),
                kind: remark.kind.clone(),
            }),
            RunEvent::Cut(LogCut { n_bytes, .. }) => {
                let text = format!("the last record of the log was incomplete: {n_bytes} bytes were removed");
                self.note_text(time, text, None);
            }
            RunEvent::Ended(ended) => self.end(ended),
        }
        self.close_reviews();
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
    pub fn end_review(&mut self, moved: MovedTask) {
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
    pub fn landed_later(&mut self, name: &str) {
        if let Some(at) = self.tasks.places.get(name).copied() {
            self.change_at(at, |task| task.state = TaskState::Done);
            self.close_reviews();
        }
    }

    fn begin(&mut self, begun: &Begun, time: &str) {
        match self.times.began {
            None => self.times.began = Some(time.to_owned()),
            Some(_) => self.times.n_continued += 1,
        }
        // The tasks of the earlier process do not run any more.
        self.close_part();
        self.interrupt();
        if let Some(earlier) = &begun.earlier {
            self.earlier.clone_from(earlier);
        }
        self.config = begun.config.clone().or_else(|| self.config.take());
        self.conditions = self.conditions.take().or_else(|| begun.conditions.clone());
        self.found.clone_from(&begun.states);
        self.times.part_began = Some(time.to_owned());
        self.begun = Some(begun.clone());
        (self.paused, self.stopping, self.ended) = (None, None, None);
        self.decided.clear();
        self.times.part.began = milliseconds_of(time);
    }

    /// Counts the time of the finished part of the run, and the attempts without a recorded end.
    fn close_part(&mut self) {
        self.spent.pass(self.times.part.milliseconds());
        let last = self.times.part.last;
        for task in &mut self.tasks.all {
            self.spent.n_attempts += task.close_all(last);
        }
        self.times.part = RunSpan::default();
    }

    fn end(&mut self, ended: &RunEndRecord) {
        self.interrupt();
        // A run that ends has written everything, except for what it names.
        for task in &mut self.tasks.all {
            task.is_projected = !ended.unwritten.contains(&task.task);
        }
        let mut ended = ended.clone();
        if ended.n_review == 0 {
            // A log of an earlier version counts them in `n_left`.
            ended.n_review = self.counts.n_review.min(ended.n_left);
            ended.n_left -= ended.n_review;
        }
        self.ended = Some(ended);
        self.paused = None;
    }

    /// Records a decision on a review after the end of the run.
    fn note_decision(&mut self, event: &RunEvent) {
        if self.ended.is_some() {
            self.decided.extend(match event {
                RunEvent::Approved(approved) => Some(format!("`{}` was approved", approved.task)),
                RunEvent::Finished(finished) => Some(format!("`{}` was rejected", finished.task)),
                _ => None,
            });
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

    /// Adds the cost of an arbiter, and the reason if it did not choose.
    fn choose(&mut self, chosen: &AgentChoiceRecord, time: &str) {
        self.spent.pay(chosen.cost_usd, chosen.tokens);
        if let Some(why) = &chosen.why {
            let text = format!("the arbiter `{}` did not choose: {why}", chosen.arbiter);
            self.note_text(time, text, Some(chosen.task.clone()));
        }
    }

    fn start(&mut self, attempt: &AttemptRecord, time: &str) {
        self.counts.n_attempts += 1;
        self.raise(&attempt.task, attempt.attempt);
        self.change_noted(&attempt.task, time, |task| {
            task.state = TaskState::Running;
            task.resting = None;
            task.skipped_for = None;
            task.taken_over = None;
            task.drift.clear();
            task.contract = attempt.contract.clone().or_else(|| task.contract.take());
            task.attempts.push(AttemptRun {
                attempt: attempt.attempt,
                name: attempt.task.clone(),
                agent: attempt.agent.clone(),
                instead_of: attempt.instead_of.clone(),
                slot: attempt.slot,
                resolution: attempt.resolution,
                checkout: AttemptCheckout {
                    folder: attempt.folder.clone(),
                    branch: attempt.branch.clone(),
                    identity: attempt.identity.clone(),
                    base: attempt.base.clone(),
                },
                times: AttemptTimes {
                    started: time.to_owned(),
                    ended: None,
                    is_open: true,
                    is_timed: true,
                },
                ..AttemptRun::default()
            });
        });
    }

    fn process_started(&mut self, started: &ProcessStartRecord, time: &str) {
        let at = self.place_of_attempt(&started.task, started.attempt);
        let pid = Some(started.pid);
        self.change_at(at, |task| {
            let attempt = task.attempt(&started.task, started.attempt, time);
            attempt.pid = pid;
            attempt.fence.clone_from(&started.fence);
            // An agent works on it again.
            task.held = None;
        });
        self.from_agents
            .processes
            .extend(started.start_time.clone().map(|start_time| StartedProcess {
                pid: started.pid,
                start_time,
            }));
    }

    fn finish(&mut self, finished: &Finished, time: &str) {
        self.spent.pay(finished.cost_usd, finished.tokens);
        self.raise(&finished.task, finished.attempt);
        self.from_agents
            .discoveries
            .extend(finished.discoveries.iter().cloned());
        let at = self.place_of_attempt(&finished.task, finished.attempt);
        let mut counted = Accepted::default();
        let mut agent = None;
        self.change_at(at, |task| {
            task.spent.pay(finished.cost_usd, finished.tokens);
            task.pass(&finished.task, finished.attempt, finished.milliseconds, time);
            let attempt = task.attempt(&finished.task, finished.attempt, time);
            attempt.times.ended = Some(time.to_owned());
            attempt.why.clone_from(&finished.why);
            attempt.report = AgentReport::of(finished);
            attempt.outcome = Some(finished.outcome.clone());
            agent = Some(attempt.agent.clone()).filter(|agent| !agent.is_empty());
            task.state = TaskState::after(&finished.outcome, attempt.verification.passed);
            task.held = task.held.take().filter(|_| finished.outcome == Outcome::Done);
            counted = task.finished(&finished.task, finished.attempt, &finished.outcome);
            task.note(time);
        });
        self.count(&counted);
        if let Some(agent) = agent.filter(|_| finished.outcome == Outcome::RateLimited) {
            self.limit(agent, finished.limited_for, time);
        }
    }

    /// Records until when an agent's provider refuses requests. The last record counts, even without a time.
    fn limit(&mut self, agent: String, limited_for: Option<u64>, time: &str) {
        match milliseconds_of(time).zip(limited_for) {
            Some((at, wait)) => self.from_agents.provider_limits.insert(agent, at.saturating_add(wait)),
            None => self.from_agents.provider_limits.remove(&agent),
        };
    }

    fn verify(&mut self, verified: &VerificationRecord, time: &str) {
        let at = self.place_of_attempt(&verified.task, verified.attempt);
        let mut counted = Accepted::default();
        self.change_at(at, |task| {
            task.note(time);
            let attempt = task.attempt(&verified.task, verified.attempt, time);
            attempt.verification = AttemptVerification {
                passed: Some(verified.passed),
                at: Some(time.to_owned()),
                receipts: verified.receipts.clone(),
                unverified: verified.unverified.clone(),
            };
            if !verified.passed {
                attempt.why = attempt.why.take().or_else(|| failed_command(verified));
            }
            // A failed verification is a failed attempt.
            let state = match (&attempt.outcome, verified.passed) {
                // Work for a branch is done after it has landed.
                (Some(Outcome::Done), true)
                    if attempt.checkout.branch.is_some() && attempt.landing.merged.is_none() =>
                {
                    TaskState::Verifying
                }
                (Some(Outcome::Done), true) => TaskState::Done,
                (Some(Outcome::Done), false) => {
                    attempt.outcome = Some(Outcome::Failed);
                    TaskState::Failed
                }
                (Some(_), _) => return,
                (None, _) => TaskState::Verifying,
            };
            // A task that waits for review was verified before that.
            if task.state != TaskState::Review {
                task.state = state;
            }
            counted = task.verified(verified);
        });
        self.count(&counted);
    }

    fn keep_candidate(&mut self, candidate: &CandidateRecord, time: &str) {
        let at = self.place_of_attempt(&candidate.task, candidate.attempt);
        self.change_at(at, |task| {
            let attempt = task.attempt(&candidate.task, candidate.attempt, time);
            attempt.landing.candidate = Some(candidate.clone());
            task.held = None;
        });
    }

    fn land(&mut self, landing: &LandingRecord, time: &str) {
        let at = self.place_of_attempt(&landing.task, landing.attempt);
        self.change_at(at, |task| {
            let attempt = task.attempt(&landing.task, landing.attempt, time);
            attempt.landing.begun = Some(landing.clone());
        });
    }

    fn conflict(&mut self, conflicted: &Conflicted, time: &str) {
        let at = self.place_of_attempt(&conflicted.task, conflicted.attempt);
        let mut counted = Accepted::default();
        self.change_at(at, |task| {
            let attempt = task.attempt(&conflicted.task, conflicted.attempt, time);
            attempt.landing.conflict = Some(Box::new(conflicted.clone()));
            task.state = TaskState::Resting;
            counted = task.conflicted(&conflicted.task, conflicted.attempt);
        });
        self.count(&counted);
    }

    fn merge(&mut self, merged: &Merged, time: &str) {
        let at = self.place_of_attempt(&merged.task, merged.attempt);
        let mut counted = Accepted::default();
        self.change_at(at, |task| {
            task.note(time);
            let attempt = task.attempt(&merged.task, merged.attempt, time);
            attempt.landing.merged = Some(merged.clone());
            let is_done =
                merged.passed && attempt.outcome == Some(Outcome::Done) && attempt.verification.passed == Some(true);
            if is_done && task.state != TaskState::Review {
                task.state = TaskState::Done;
            }
            let attempt = task.attempt(&merged.task, merged.attempt, time);
            if !merged.passed {
                attempt.why = merged.why.clone().or_else(|| attempt.why.take());
                attempt.outcome = Some(Outcome::Failed);
                task.state = TaskState::Failed;
            }
            counted = task.merged(merged);
        });
        self.count(&counted);
    }

    fn rest(&mut self, resting: &Resting, time: &str) {
        self.change(&resting.task, |task| {
            task.state = TaskState::Resting;
            task.resting = Some((resting.clone(), time.to_owned()));
            if !task.attempts.is_empty() {
                task.note(time);
            }
        });
    }

    fn drift(&mut self, drifted: &Drifted) {
        let at = self.place_of_attempt(&drifted.task, drifted.attempt);
        self.change_at(at, |task| task.drift.clone_from(&drifted.files));
    }

    fn edit(&mut self, edited: &PlanEditRecord, time: &str) {
        self.note_text(time, edited_text(edited), None);
        self.rename(edited);
        for moved in &edited.moved {
            let is_under_way = |at: &usize| {
                use TaskState::{Interrupted, Resting, Review, Running, Stopped, Verifying};
                // A resumed run records what happened to its interrupted tasks in the meantime.
                matches!(
                    self.tasks.all[*at].state,
                    Running | Verifying | Resting | Review | Interrupted | Stopped
                )
            };
            if let Some(at) = self.tasks.places.get(&moved.task).copied().filter(is_under_way) {
                self.change_at(at, |task| task.taken_over = Some(moved.clone()));
            }
        }
    }

    /// Records that the plan file has this run's state of a task.
    fn project(&mut self, name: &str) {
        if let Some(at) = self.tasks.places.get(name) {
            self.tasks.all[*at].is_projected = true;
        }
    }

    fn count(&mut self, counted: &Accepted) {
        self.spent.n_attempts += counted.n_attempts;
        self.counts.n_accepted_unverified += counted.n_unverified;
    }

    fn raise(&mut self, name: &str, number: u32) {
        let highest = self.tasks.highest_attempts.entry(name.to_owned()).or_default();
        *highest = number.max(*highest);
    }

    fn note_text(&mut self, time: &str, text: String, task: Option<String>) {
        self.note(TimedRemark {
            time: time.to_owned(),
            text,
            task,
            kind: None,
        });
    }

    fn note(&mut self, noted: TimedRemark) {
        self.remarks.push(noted);
    }

    /// Changes a task, and adds it if it is missing.
    fn change(&mut self, name: &str, how: impl FnOnce(&mut TaskRun)) {
        let at = self.place_of(name);
        self.change_at(at, how);
    }

    /// Changes a task, and records that the plan file lacks the change.
    fn change_noted(&mut self, name: &str, time: &str, how: impl FnOnce(&mut TaskRun)) {
        self.change(name, |task| {
            how(task);
            task.note(time);
        });
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

/// What a finished attempt adds to the sums of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Accepted {
    n_attempts: u64,
    n_unverified: u64,
}

fn between(began: Option<u64>, ended: Option<u64>) -> u64 {
    began.zip(ended).map_or(0, |(began, ended)| ended.saturating_sub(began))
}

fn edited_text(edited: &PlanEditRecord) -> String {
    match edited.tasks.as_slice() {
        [] => format!("the plan file was changed: {}", edited.what),
        tasks => format!("the plan file was changed: {} ({})", edited.what, tasks.join(", ")),
    }
}
