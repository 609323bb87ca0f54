//! Applies one record after another to the state of a run.

use super::super::record::{
    AgentChoiceRecord, AttemptEndRecord, AttemptRecord, CandidateRecord, ConflictRecord, DriftRecord, LandingEndRecord,
    LandingStartRecord, LogCutRecord, Outcome, PlanEditRecord, ProcessStartRecord, RetryWaitRecord, RunEndRecord,
    RunEvent, RunRecord, RunStartRecord, VerificationRecord,
};
use super::attempt_counts::CountedAttempts;
use super::failures::failed_command;
use super::task::{
    AgentReport, AttemptCheckout, AttemptLanding, AttemptProcess, AttemptRun, AttemptTimes, AttemptVerification,
    TaskRun, TaskState,
};
use super::{RunHalt, RunSettings, RunSpan, RunState, StartedProcess, TimedRemark};
use crate::clock::milliseconds_of;

impl RunState {
    pub fn apply(&mut self, record: &RunRecord) {
        let time = record.time.as_str();
        self.times.last = Some(time.to_owned());
        if let RunEvent::RunStarted(begun) = &record.event {
            self.begin(begun, time);
        }
        self.times.part.last = milliseconds_of(time).or(self.times.part.last);
        self.note_decision(&record.event);
        match &record.event {
            RunEvent::RunStarted(_) | RunEvent::Other(_) => {}
            RunEvent::AgentChosen(chosen) => self.choose(chosen, time),
            RunEvent::AttemptStarting(attempt) => self.start(attempt, time),
            RunEvent::ProcessStarted(started) => self.process_started(started, time),
            RunEvent::AttemptEnded(finished) => self.finish(finished, time),
            RunEvent::Verified(verified) => self.verify(verified, time),
            RunEvent::PlanWritten(projected) => projected.tasks.iter().for_each(|name| self.mark_in_plan_file(name)),
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
            RunEvent::Paused(asked) => self.halt.paused = Some(asked.clone()),
            RunEvent::Resumed(_) => self.halt.paused = None,
            RunEvent::Stopping(stopping) => self.halt.stopping = Some(stopping.clone()),
            RunEvent::Resting(resting) => self.rest(resting, time),
            RunEvent::Candidate(candidate) => self.keep_candidate(candidate, time),
            RunEvent::Conflicted(conflicted) => self.conflict(conflicted, time),
            RunEvent::LandingStarted(landing) => self.land(landing, time),
            RunEvent::LandingEnded(ended) => self.landing_ended(ended, time),
            RunEvent::Drifted(drifted) => self.drift(drifted),
            RunEvent::PlanEdited(edited) => self.edit(edited, time),
            RunEvent::Remark(remark) => self.note(TimedRemark {
                time: time.to_owned(),
                text: remark.text.clone(),
                task: remark.task.clone(),
                kind: remark.kind.clone(),
            }),
            RunEvent::LogCut(LogCutRecord { n_bytes, .. }) => {
                let text = format!("the last record of the log was incomplete: {n_bytes} bytes were removed");
                self.note_text(time, text, None);
            }
            RunEvent::RunEnded(ended) => self.end(ended),
        }
        self.close_reviews();
    }

    fn begin(&mut self, begun: &RunStartRecord, time: &str) {
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
        let RunSettings { config, fixed } = &mut self.settings;
        *config = begun.config.clone().or_else(|| config.take());
        *fixed = fixed.take().or_else(|| begun.conditions.clone());
        self.tasks.found.clone_from(&begun.states);
        self.times.part_began = Some(time.to_owned());
        self.begun = Some(begun.clone());
        self.halt = RunHalt::default();
        self.ended = None;
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
            task.plan_file.is_current = !ended.unwritten.contains(&task.task);
        }
        let mut ended = ended.clone();
        if ended.n_review == 0 {
            // A log of an earlier version counts them in `n_left`.
            ended.n_review = self.counts.n_review.min(ended.n_left);
            ended.n_left -= ended.n_review;
        }
        self.ended = Some(ended);
        self.halt.paused = None;
    }

    /// Records a decision on a review after the end of the run.
    fn note_decision(&mut self, event: &RunEvent) {
        if self.ended.is_some() {
            self.decided.extend(match event {
                RunEvent::Approved(approved) => Some(format!("`{}` was approved", approved.task)),
                RunEvent::AttemptEnded(finished) => Some(format!("`{}` was rejected", finished.task)),
                _ => None,
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
        self.tasks.raise(&attempt.task, attempt.attempt);
        self.change_noted(&attempt.task, time, |task| {
            task.state = TaskState::Running;
            task.resting = None;
            task.skipped_for = None;
            task.taken_over = None;
            task.results.drift.clear();
            task.contract = attempt.contract.clone().or_else(|| task.contract.take());
            task.attempts.push(AttemptRun {
                attempt: attempt.attempt,
                name: attempt.task.clone(),
                agent: attempt.agent.clone(),
                instead_of: attempt.instead_of.clone(),
                process: AttemptProcess {
                    slot: attempt.slot,
                    ..AttemptProcess::default()
                },
                landing: AttemptLanding {
                    resolution: attempt.resolution,
                    ..AttemptLanding::default()
                },
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
        let at = self.tasks.place_of_attempt(&started.task, started.attempt);
        let pid = Some(started.pid);
        self.change_at(at, |task| {
            let attempt = task.attempt(&started.task, started.attempt, time);
            attempt.process.pid = pid;
            attempt.process.fence.clone_from(&started.fence);
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

    fn finish(&mut self, finished: &AttemptEndRecord, time: &str) {
        self.spent.pay(finished.cost_usd, finished.tokens);
        self.tasks.raise(&finished.task, finished.attempt);
        self.from_agents
            .discoveries
            .extend(finished.discoveries.iter().cloned());
        let at = self.tasks.place_of_attempt(&finished.task, finished.attempt);
        let mut counted = CountedAttempts::default();
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
        let at = self.tasks.place_of_attempt(&verified.task, verified.attempt);
        let mut counted = CountedAttempts::default();
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
                (Some(Outcome::Done), true) if attempt.checkout.branch.is_some() && attempt.landing.ended.is_none() => {
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
        let at = self.tasks.place_of_attempt(&candidate.task, candidate.attempt);
        self.change_at(at, |task| {
            let attempt = task.attempt(&candidate.task, candidate.attempt, time);
            attempt.landing.candidate = Some(candidate.clone());
            task.held = None;
        });
    }

    fn land(&mut self, landing: &LandingStartRecord, time: &str) {
        let at = self.tasks.place_of_attempt(&landing.task, landing.attempt);
        self.change_at(at, |task| {
            let attempt = task.attempt(&landing.task, landing.attempt, time);
            attempt.landing.begun = Some(landing.clone());
        });
    }

    fn conflict(&mut self, conflicted: &ConflictRecord, time: &str) {
        let at = self.tasks.place_of_attempt(&conflicted.task, conflicted.attempt);
        let mut counted = CountedAttempts::default();
        self.change_at(at, |task| {
            let attempt = task.attempt(&conflicted.task, conflicted.attempt, time);
            attempt.landing.conflict = Some(Box::new(conflicted.clone()));
            task.state = TaskState::Resting;
            counted = task.conflicted(&conflicted.task, conflicted.attempt);
        });
        self.count(&counted);
    }

    fn landing_ended(&mut self, ended: &LandingEndRecord, time: &str) {
        let at = self.tasks.place_of_attempt(&ended.task, ended.attempt);
        let mut counted = CountedAttempts::default();
        self.change_at(at, |task| {
            task.note(time);
            let attempt = task.attempt(&ended.task, ended.attempt, time);
            attempt.landing.ended = Some(ended.clone());
            let is_done =
                ended.passed && attempt.outcome == Some(Outcome::Done) && attempt.verification.passed == Some(true);
            if is_done && task.state != TaskState::Review {
                task.state = TaskState::Done;
            }
            let attempt = task.attempt(&ended.task, ended.attempt, time);
            if !ended.passed {
                attempt.why = ended.why.clone().or_else(|| attempt.why.take());
                attempt.outcome = Some(Outcome::Failed);
                task.state = TaskState::Failed;
            }
            counted = task.landing_ended(ended);
        });
        self.count(&counted);
    }

    fn rest(&mut self, resting: &RetryWaitRecord, time: &str) {
        self.change(&resting.task, |task| {
            task.state = TaskState::Resting;
            task.resting = Some((resting.clone(), time.to_owned()));
            if !task.attempts.is_empty() {
                task.note(time);
            }
        });
    }

    fn drift(&mut self, drifted: &DriftRecord) {
        let at = self.tasks.place_of_attempt(&drifted.task, drifted.attempt);
        self.change_at(at, |task| task.results.drift.clone_from(&drifted.files));
    }

    fn edit(&mut self, edited: &PlanEditRecord, time: &str) {
        self.note_text(time, edited_text(edited), None);
        self.tasks.rename(edited);
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
    fn mark_in_plan_file(&mut self, name: &str) {
        if let Some(at) = self.tasks.places.get(name) {
            self.tasks.all[*at].plan_file.is_current = true;
        }
    }

    fn count(&mut self, counted: &CountedAttempts) {
        self.spent.n_attempts += counted.n_attempts;
        self.counts.n_accepted_unverified += counted.n_unverified;
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
        let at = self.tasks.place_of(name);
        self.change_at(at, how);
    }

    /// Changes a task, and records that the plan file lacks the change.
    fn change_noted(&mut self, name: &str, time: &str, how: impl FnOnce(&mut TaskRun)) {
        self.change(name, |task| {
            how(task);
            task.note(time);
        });
    }
}

fn edited_text(edited: &PlanEditRecord) -> String {
    match edited.tasks.as_slice() {
        [] => format!("the plan file was changed: {}", edited.what),
        tasks => format!("the plan file was changed: {} ({})", edited.what, tasks.join(", ")),
    }
}
