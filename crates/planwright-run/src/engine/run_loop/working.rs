//! An attempt while its agent works: the output of the process, its end, and the verdict.

use std::time::Duration;

use planwright_core::agent::{AgentEvent, AttemptEnd, CombinedVerdict};
use planwright_core::edit::ToolCall;

use super::super::RunError;
use super::super::attempt::{AgentEndReason, AttemptPhase, RunningAttempt, mark_of_attempt};
use super::super::naming::listed;
use super::RunLoop;
use super::results::{AttemptFailure, finished};
use crate::agent_output::{AgentOutput, LEFTOVER_GRACE, RedactedAgentReport, end_all, keep_result};
use crate::clock;
use crate::config::units::duration_text;
use crate::config::{NoChanges, OnProtected};
use crate::fallback::{Continuation, reported_wait};
use crate::faults;
use crate::git::Candidate;
use crate::runs::{AttemptEndRecord, Outcome, RemarkKind, RunEvent, Spent};
use crate::worker::{self, EndCause, EndedProcess, ProcessExit, StopManner};

enum AttemptVerdict {
    Done,
    Failed(String),
    /// A stop condition was met that ends the run.
    Stopped(String),
    /// The agent's provider refuses requests, possibly for a known time.
    RateLimited {
        wait: Option<Duration>,
        why: String,
    },
    /// The agent could not work, and the task continues without a counted failure.
    Broken {
        why: String,
        way: Continuation,
    },
    /// The run ended it, or another process took the task.
    Interrupted,
}

const MAX_TOOLS: usize = 200;

impl RunLoop<'_> {
    pub(super) fn handle(&mut self, event: worker::WorkerEvent) -> Result<(), RunError> {
        match event {
            worker::WorkerEvent::Line { key, line } => {
                let name = self.attempts.get(key).map(|attempt| attempt.name.as_str());
                if let Some(name) = name.or_else(|| self.landing.name_of(key)) {
                    self.recorder.watcher().line(name, &line);
                }
                Ok(())
            }
            worker::WorkerEvent::Output { key, bytes } => {
                if !self.agents.arbiter.hear(self.workers, key, &bytes) {
                    self.hear(key, &bytes);
                }
                Ok(())
            }
            worker::WorkerEvent::Ended(ended) => {
                let task = self.attempts.get(ended.key).map(|attempt| attempt.task);
                // Before git reads files that a task may have changed.
                self.keep_state()?;
                self.restore_shared(task)?;
                let key = ended.key;
                let handled = self.process_is_over(ended);
                self.folders.fences.ended(key);
                handled
            }
        }
    }

    fn process_is_over(&mut self, ended: EndedProcess) -> Result<(), RunError> {
        // The status in the plan file of an active task is only a claim.
        self.follow_plan()?;
        if let Some(asking) = self.agents.arbiter.take_question(ended.key) {
            return self.arbiter_ended(asking, &ended);
        }
        match self.attempts.remove(ended.key) {
            Some(attempt) => self.process_ended(attempt, ended),
            None => self.verification_ended(&ended).map(drop),
        }
    }

    /// Reads output of an agent, and ends the agent if it would only waste time.
    fn hear(&mut self, key: u64, bytes: &[u8]) {
        let Some(attempt) = self.attempts.get_mut(key) else {
            return;
        };
        let AttemptPhase::Working(output) = &mut attempt.phase else {
            return;
        };
        for heard in output.take(bytes) {
            let ending = match heard {
                AgentEvent::Tool { name, about } if attempt.work.tools.len() < MAX_TOOLS => {
                    attempt.work.tools.push(ToolCall {
                        name,
                        input: about,
                        at: clock::now(),
                        has_failed: false,
                    });
                    continue;
                }
                AgentEvent::Denied(name) | AgentEvent::ToolFailed(name) => {
                    let mut used = attempt.work.tools.iter_mut().rev();
                    if let Some(call) = used.find(|call| call.name == name) {
                        call.has_failed = true;
                    }
                    continue;
                }
                heard => AgentEndReason::of(heard),
            };
            if attempt.ending.is_none() && ending.is_some() {
                attempt.ending = ending;
                self.workers.cancel(key, StopManner::Politely);
            }
        }
    }

    fn process_ended(&mut self, mut attempt: RunningAttempt, ended: EndedProcess) -> Result<(), RunError> {
        let phase = std::mem::replace(
            &mut attempt.phase,
            AttemptPhase::Working(Box::new(AgentOutput::plain(self.agents.chosen.redaction()))),
        );
        match phase {
            AttemptPhase::Working(output) => {
                let RedactedAgentReport {
                    conclusion,
                    remarks,
                    result,
                } = output.conclude(&ended, &attempt.location.result);
                if let Some(text) = result.filter(|_| attempt.location.checkout.is_some()) {
                    // The checkout's copy is removed with it. This copy is for people, so a failed copy is ignored.
                    let kept =
                        faults::step("keep result").and_then(|()| keep_result(&attempt.location.place.result(), &text));
                    kept.ok();
                }
                for text in remarks {
                    self.remark(Some(attempt.task), text)?;
                }
                self.worked(attempt, &ended, conclusion)
            }
            AttemptPhase::Checking(checking) => self.checked(attempt, &ended, checking),
            AttemptPhase::SettingUp(prompt) => self.set_up(attempt, &ended, prompt),
        }
    }

    fn worked(
        &mut self,
        mut attempt: RunningAttempt,
        ended: &EndedProcess,
        mut conclusion: CombinedVerdict,
    ) -> Result<(), RunError> {
        if let Some(error) = &ended.log_error {
            let text = format!("the end of its output is not in its log: {error}");
            self.remark(Some(attempt.task), text)?;
        }
        self.end_leftover_processes(&attempt, ended)?;
        attempt.work.reflection.clone_from(&conclusion.reflection);
        if attempt.work.tools.is_empty() {
            let named = conclusion.tools_called.iter().take(MAX_TOOLS);
            attempt.work.tools = named
                .map(|name| ToolCall {
                    name: name.clone(),
                    input: String::new(),
                    at: clock::now(),
                    has_failed: false,
                })
                .collect();
        }
        if attempt.ending.is_none() && !attempt.is_gone() {
            self.propose(&attempt, &conclusion.proposed_tasks)?;
        }
        let mut candidate = None;
        if conclusion.end == AttemptEnd::Done && attempt.ending.is_none() {
            candidate = self.inspect_work(&mut attempt, &mut conclusion)?;
        }
        let verdict = self.verdict(&attempt, ended, &conclusion);
        self.follow_verdict(attempt, ended, conclusion, verdict, candidate)
    }

    /// Ends the processes that an agent left running: nothing may write to its work any more.
    fn end_leftover_processes(&mut self, attempt: &RunningAttempt, ended: &EndedProcess) -> Result<(), RunError> {
        // Not even a process in a session of its own.
        if ended.was_outlived || attempt.location.checkout.is_some() {
            self.end_what_is_left(attempt)?;
        }
        // A process without its environment is only known as a child of this process, while no other process is active.
        let n_ended = self.workers.end_left(LEFTOVER_GRACE);
        if n_ended > 0 {
            let text = format!("ended {} that its agent left running", processes(n_ended));
            self.remark(Some(attempt.task), text)?;
        }
        Ok(())
    }

    /// Gathers the files of a successful agent, and fails the attempt for what they lack or must not have. Returns the candidate.
    fn inspect_work(
        &mut self,
        attempt: &mut RunningAttempt,
        conclusion: &mut CombinedVerdict,
    ) -> Result<Option<Candidate>, RunError> {
        let mut candidate = None;
        match self.gather(attempt, conclusion) {
            Ok(found) => candidate = found,
            Err(why) => conclusion.end = AttemptEnd::Failed { why },
        }
        let is_taken = conclusion.end == AttemptEnd::Done;
        attempt.work.is_unchanged = is_taken && self.is_unchanged(attempt, conclusion, candidate.as_ref());
        if attempt.work.is_unchanged && self.request.config.run.no_changes == NoChanges::Fail {
            let why = "it reported success and changed no file (run.no_changes)".to_owned();
            conclusion.end = AttemptEnd::Failed { why };
        }
        attempt.work.protected = self.changed_protected(attempt, candidate.as_ref());
        if let Some(why) = self.report_protected(attempt)? {
            conclusion.end = AttemptEnd::Failed { why };
        }
        if let Some(why) = self.unresolved(attempt, candidate.as_ref()) {
            conclusion.end = AttemptEnd::Failed { why };
        }
        if let Some(why) = self.look_for_drift(attempt, conclusion)? {
            conclusion.end = AttemptEnd::Failed { why };
        }
        Ok(candidate)
    }

    /// Reports that an attempt changed files that verify it. Returns the failure, if that fails the task.
    fn report_protected(&mut self, attempt: &RunningAttempt) -> Result<Option<String>, RunError> {
        if attempt.work.protected.is_empty() {
            return Ok(None);
        }
        let files = listed(&attempt.work.protected);
        let what = match attempt.location.checkout {
            Some(_) => format!("it changed or removed files that verify it: {files}"),
            // Another task, or a person, may have done it.
            None => format!("files that verify it were changed or removed while it worked: {files}"),
        };
        match self.request.config.verify.on_protected {
            OnProtected::Fail => Ok(Some(format!("{what} (verify.on_protected)"))),
            how => {
                let follows = match how {
                    OnProtected::Warn => "",
                    _ => ". It waits for a review when its verification passes",
                };
                let text = format!("{what}{follows}");
                self.remark_kind(Some(attempt.task), RemarkKind::ProtectedChanged, text)?;
                Ok(None)
            }
        }
    }

    fn verdict(
        &mut self,
        attempt: &RunningAttempt,
        ended: &EndedProcess,
        conclusion: &CombinedVerdict,
    ) -> AttemptVerdict {
        match (&attempt.ending, &conclusion.end) {
            (Some(AgentEndReason::Interrupted | AgentEndReason::TakenAway), _) => AttemptVerdict::Interrupted,
            (Some(AgentEndReason::RateLimited { wait, why }), _) => AttemptVerdict::RateLimited {
                wait: reported_wait(Some(*wait), why),
                why: why.clone(),
            },
            (_, AttemptEnd::RateLimited { wait, why }) => AttemptVerdict::RateLimited {
                wait: reported_wait(*wait, why),
                why: why.clone(),
            },
            (_, AttemptEnd::Done) => AttemptVerdict::Done,
            (_, AttemptEnd::Stopped { condition }) => AttemptVerdict::Stopped(condition.clone()),
            (_, AttemptEnd::Broken { why }) => match self.way_around(attempt, &spent_by(ended, conclusion)) {
                Some(way) => AttemptVerdict::Broken { why: why.clone(), way },
                None => AttemptVerdict::Failed(why.clone()),
            },
            (_, AttemptEnd::Failed { why }) => AttemptVerdict::Failed(why.clone()),
            (_, AttemptEnd::Interrupted) => AttemptVerdict::Failed(self.limit_words(ended)),
        }
    }

    /// Records the end of an agent, and continues with its task.
    fn follow_verdict(
        &mut self,
        attempt: RunningAttempt,
        ended: &EndedProcess,
        conclusion: CombinedVerdict,
        verdict: AttemptVerdict,
        candidate: Option<Candidate>,
    ) -> Result<(), RunError> {
        let event = |outcome: Outcome, why: Option<&str>| finished(&attempt, outcome, why, ended, &conclusion);
        match verdict {
            AttemptVerdict::Interrupted => self.interrupted(attempt, Some((ended, &conclusion))),
            AttemptVerdict::Done => {
                let event = event(Outcome::Done, None);
                self.record_cost(RunEvent::AttemptEnded(event))?;
                if let Some(candidate) = &candidate {
                    self.record_candidate(&attempt, candidate)?;
                }
                self.verify(attempt, conclusion, candidate)
            }
            AttemptVerdict::Stopped(condition) => {
                let event = event(Outcome::Stopped, Some(&condition));
                self.record_cost(RunEvent::AttemptEnded(event))?;
                self.met_condition(attempt, &condition)
            }
            AttemptVerdict::RateLimited { wait, why } => {
                let limited_for = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let event = AttemptEndRecord {
                    limited_for,
                    ..event(Outcome::RateLimited, Some(&why))
                };
                self.record_cost(RunEvent::AttemptEnded(event))?;
                self.deferred(attempt, wait, &why)
            }
            AttemptVerdict::Broken { why, way } => {
                let event = event(Outcome::Broken, Some(&why));
                self.record_cost(RunEvent::AttemptEnded(event))?;
                self.go_another_way(attempt, way, "could not work", &why)
            }
            AttemptVerdict::Failed(why) => {
                let event = event(Outcome::Failed, Some(&why));
                self.record_cost(RunEvent::AttemptEnded(event))?;
                self.failed(attempt, &AttemptFailure::Other(why), true)
            }
        }
    }

    pub(super) fn end_what_is_left(&mut self, attempt: &RunningAttempt) -> Result<(), RunError> {
        self.end_left_of(attempt.task, &attempt.name, attempt.number)
    }

    pub(super) fn end_left_of(&mut self, task: u32, name: &str, number: u32) -> Result<(), RunError> {
        let plan = &self.snapshot.place().target;
        let mark = mark_of_attempt(self.live.place.id(), plan, name, number);
        let n_ended = end_all(&mark);
        if n_ended > 0 {
            let text = format!("ended {} that its agent left running", processes(n_ended));
            self.remark(Some(task), text)?;
        }
        Ok(())
    }

    /// Returns why an attempt ended that neither the run nor the user ended.
    fn limit_words(&self, ended: &EndedProcess) -> String {
        let config = &self.request.config.run;
        match (ended.cause, ended.exit) {
            (EndCause::WallLimit, _) => format!(
                "it took longer than {} (run.wall_limit) and was ended",
                duration_text(config.limits.wall)
            ),
            (EndCause::Silence, _) => format!(
                "it printed nothing for {} (run.silence_limit) and was ended",
                duration_text(config.limits.silence)
            ),
            (_, ProcessExit::Signal(signal)) => format!("it was ended by signal {signal} before it was done"),
            _ => "it was interrupted before it was done".to_owned(),
        }
    }
}

pub(super) fn processes(n: usize) -> String {
    match n {
        1 => "a process".to_owned(),
        n => format!("{n} processes"),
    }
}

fn spent_by(ended: &EndedProcess, conclusion: &CombinedVerdict) -> Spent {
    let mut spent = Spent::default();
    spent.pay(conclusion.usage.cost_usd, conclusion.usage.tokens());
    spent.pass(u64::try_from(clock::shown(ended.duration).as_millis()).unwrap_or(u64::MAX));
    spent
}
