//! Handles the end of an attempt for the schedule and the plan file: done, failed, stopped or interrupted.

use planwright_core::agent::CombinedVerdict;
use planwright_core::edit::WorkReport;
use planwright_core::plan::{State, Verb};
use planwright_core::schedule::{Phase, ScheduleEvent};

use super::super::RunError;
use super::super::attempt::{AgentEndReason, AttemptCheck, RunningAttempt};
use super::super::naming::listed;
use super::super::status_updates::StatusUpdate;
use super::RunLoop;
use super::reconcile::{interrupted_updates, keeps_output};
use crate::clock;
use crate::config::OnProtected;
use crate::failure_line::failure_line;
use crate::fallback::grown;
use crate::runs::state::verification_failure;
use crate::runs::{AttemptEndRecord, Outcome, PlanWriteRecord, Receipt, RemarkKind, RunEvent};
use crate::verify;
use crate::worker::{EndedProcess, ProcessExit};

/// How much of a task's output is remembered for its dependents, in bytes, and how much of it goes into the plan file.
const MAX_REMEMBERED: usize = 16 * 1024;
const MAX_NOTE: usize = 4 * 1024;
const MAX_SHORT_NOTE: usize = 300;

pub(super) enum AttemptFailure {
    Verification(Vec<Receipt>),
    Other(String),
}

impl AttemptFailure {
    pub(super) fn text(&self) -> String {
        match self {
            AttemptFailure::Verification(receipts) => verification_failure(receipts),
            AttemptFailure::Other(why) => why.clone(),
        }
    }

    fn after(&self, before: &str) -> AttemptFailure {
        AttemptFailure::Other(format!("{before}; {}", self.text()))
    }

    /// Returns the reason in one line. For a failed verification, it includes the command and its failure line.
    fn line(&self) -> String {
        let text = self.text();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        match self {
            AttemptFailure::Verification(receipts) => {
                let what = lines.next().unwrap_or_default().trim_end_matches(':');
                let failed = receipts.iter().find(|receipt| !verify::passed(receipt));
                let why = failed.and_then(|receipt| failure_line(&receipt.tail, |line| line.trim().to_owned()));
                let why = why.map_or_else(String::new, |line| format!(": {line}"));
                format!("{}: {what}{why}", first.trim_end_matches(':'))
            }
            AttemptFailure::Other(_) => first.trim_end_matches(':').to_owned(),
        }
    }
}

impl From<&str> for AttemptFailure {
    fn from(why: &str) -> Self {
        AttemptFailure::Other(why.to_owned())
    }
}

impl RunLoop<'_> {
    pub(super) fn accept(&mut self, attempt: RunningAttempt, checking: &AttemptCheck) -> Result<(), RunError> {
        let task = attempt.task;
        self.attempts.free_slot(&attempt);
        self.check_budget();
        self.agents.earlier.accepted(task);
        self.landing.conflicts.close(task);
        if let Some(moved) = attempt.moved {
            // Another process moved the task, and its state is valid.
            self.happened(ScheduleEvent::Moved { task, to: moved });
            return self.is_known(&attempt);
        }
        match &attempt.work.approved {
            // The review is over.
            Some(_) => self.happened(ScheduleEvent::Moved { task, to: State::Done }),
            None if self.is_in_doubt(&attempt) => self.happened(ScheduleEvent::DoneForReview { task }),
            None => self.happened(ScheduleEvent::Done { task }),
        }
        if self.phase(task) != Phase::Review {
            let update = self.done_update(&attempt, checking);
            self.update_plan(update);
        }
        Ok(())
    }

    /// Returns whether a person must approve the work of an attempt: its plan requires it, or it changed files that verify it.
    pub(super) fn needs_review(&self, attempt: &RunningAttempt) -> bool {
        let job = self.tasks.schedule.jobs().get(attempt.task as usize);
        job.is_some_and(|job| job.needs_review) || self.is_in_doubt(attempt)
    }

    /// Returns whether an attempt changed files that verify it, so that a person must decide.
    fn is_in_doubt(&self, attempt: &RunningAttempt) -> bool {
        self.request.config.verify.on_protected == OnProtected::Review && !attempt.work.protected.is_empty()
    }

    /// Records that the plan file has the state of a task: another process wrote it.
    fn is_known(&mut self, attempt: &RunningAttempt) -> Result<(), RunError> {
        let tasks = vec![attempt.name.clone()];
        self.record(RunEvent::PlanWritten(PlanWriteRecord { tasks, change: None }))
    }

    fn done_update(&self, attempt: &RunningAttempt, checking: &AttemptCheck) -> StatusUpdate {
        let output = checking.conclusion.output.trim();
        let keeps = keeps_output(self.snapshot.linked()) && !output.is_empty();
        let remarks = checking.conclusion.notes.trim();
        let approved_note = attempt
            .work
            .approved
            .as_ref()
            .and_then(|approved| approved.note.clone());
        StatusUpdate {
            output: keeps.then(|| cut(output, MAX_NOTE)),
            files: checking.files.clone(),
            by: Some(attempt.agent.clone()),
            note: approved_note.or_else(|| (!remarks.is_empty()).then(|| cut(remarks, MAX_NOTE))),
            decided_by: attempt.work.approved.as_ref().and_then(|approved| approved.by.clone()),
            receipts: Some(checking.receipts.clone()),
            work: work_of(attempt),
            ..self.plain_update(attempt.task, Verb::Done)
        }
    }

    /// Handles a failed attempt; another one may follow.
    pub(super) fn failed(
        &mut self,
        attempt: RunningAttempt,
        why: &AttemptFailure,
        may_retry: bool,
    ) -> Result<(), RunError> {
        if attempt.resolution.is_some() && may_retry && attempt.moved.is_none() {
            return self.not_resolved(attempt, why);
        }
        self.check_budget();
        let Some(spent) = self.over_task_budget(&attempt).filter(|_| may_retry) else {
            return self.fail(attempt, why, may_retry);
        };
        self.remark_kind(
            Some(attempt.task),
            RemarkKind::BudgetSpent,
            format!("{spent}: it is not tried again"),
        )?;
        self.fail(attempt, &why.after(&spent), false)
    }

    /// Fails a task, by an attempt that counts or without one.
    pub(super) fn fail(
        &mut self,
        mut attempt: RunningAttempt,
        why: &AttemptFailure,
        may_retry: bool,
    ) -> Result<(), RunError> {
        let task = attempt.task;
        self.attempts.free_slot(&attempt);
        let kept = self.keep_checkout(&mut attempt)?;
        if let Some(moved) = attempt.moved {
            self.happened(ScheduleEvent::Moved { task, to: moved });
            return self.is_known(&attempt);
        }
        let wait = grown(self.request.config.run.retry.backoff, attempt.number.saturating_sub(1));
        self.waits.rests.plan(task, wait, String::new());
        let counts = self.snapshot.plan().lifecycle.machine.counts_retries;
        self.happened(ScheduleEvent::Failed { task, may_retry });
        let is_over = self.phase(task) != Phase::Resting;
        // If the dialect does not count attempts, the task is running until the last of them.
        if is_over || counts {
            if is_over {
                drop(self.folders.checkouts.take(task));
            }
            if let Some(kept) = kept.filter(|_| is_over) {
                // Paths of this machine do not belong into a plan.
                self.remark(Some(task), kept)?;
            }
            self.update_plan(StatusUpdate {
                note: Some(self.note_of(why)),
                by: Some(attempt.agent.clone()),
                work: work_of(&attempt),
                ..self.plain_update(task, Verb::Fail)
            });
            if counts && !is_over {
                self.plan_file.writer.intend(task, State::Pending);
            }
        }
        match is_over {
            true => self.stop_for_changed(task, &attempt.name),
            false => Ok(()),
        }
    }

    /// Ends the run if a task that is not accepted has changed files in the shared folder that verify others.
    pub(super) fn stop_for_changed(&mut self, task: u32, name: &str) -> Result<(), RunError> {
        let is_shared = self.folders.workplace.site().is_none();
        if !is_shared || self.request.config.verify.on_protected == OnProtected::Warn {
            return Ok(());
        }
        let changed = self.changed_in_folder(task, name);
        if changed.is_empty() {
            return Ok(());
        }
        let files = listed(&changed);
        let text = format!(
            "{files} decides whether tasks pass, was changed by a task that is not accepted, and is still changed"
        );
        self.remark_kind(Some(task), RemarkKind::ProtectedChanged, text)?;
        self.user
            .stops
            .explain(|| format!("{files} was changed by `{name}`: restore it, and run again"));
        self.happened(ScheduleEvent::StopRequested);
        Ok(())
    }

    /// Returns the note of a failure for the plan: its first lines if the plan has a field for them, otherwise the first line.
    fn note_of(&self, why: &AttemptFailure) -> String {
        if keeps_output(self.snapshot.linked()) {
            return cut(first_lines(&why.text()), MAX_NOTE);
        }
        // The note stays when the task is done later, so it has a date.
        format!("failed on {}: {}", clock::today(), cut(&why.line(), MAX_SHORT_NOTE))
    }

    /// Ends the run because a stop condition was met.
    pub(super) fn met_condition(&mut self, mut attempt: RunningAttempt, condition: &str) -> Result<(), RunError> {
        let task = attempt.task;
        self.attempts.free_slot(&attempt);
        self.check_budget();
        self.keep_checkout(&mut attempt)?;
        self.user.stops.explain_by(condition);
        self.happened(ScheduleEvent::Stopped { task });
        self.update_plan(StatusUpdate {
            note: Some(cut(&format!("stopped: {condition}"), MAX_NOTE)),
            by: Some(attempt.agent.clone()),
            ..self.plain_update(task, Verb::Fail)
        });
        Ok(())
    }

    /// Handles an attempt that the run ended, or whose task another process took.
    pub(super) fn interrupted(
        &mut self,
        mut attempt: RunningAttempt,
        known: Option<(&EndedProcess, &CombinedVerdict)>,
    ) -> Result<(), RunError> {
        let task = attempt.task;
        self.attempts.free_slot(&attempt);
        self.keep_checkout(&mut attempt)?;
        let why = match attempt.ending {
            Some(AgentEndReason::TakenAway) if attempt.is_gone() => "another process removed or renamed the task",
            Some(AgentEndReason::TakenAway) => "another process moved the task",
            _ => "the run was stopped",
        };
        let event = match known {
            Some((ended, conclusion)) => finished(&attempt, Outcome::Interrupted, Some(why), ended, conclusion),
            None => attempt.ended(Outcome::Interrupted, why),
        };
        self.record_cost(RunEvent::AttemptEnded(event))?;
        match attempt.moved {
            Some(to) => self.happened(ScheduleEvent::Moved { task, to }),
            None if attempt.ending == Some(AgentEndReason::TakenAway) => {}
            None => {
                let policy = self.request.config.run.on_interrupted;
                let updates = interrupted_updates(self.request, self.snapshot.plan(), task, policy);
                updates.into_iter().for_each(|update| self.update_plan(update));
                if let Some(to) = self.plan_file.writer.intended(task) {
                    self.happened(ScheduleEvent::Moved { task, to });
                }
            }
        }
        Ok(())
    }
}

/// Returns a text of at most this many bytes, with a mark if it was cut.
fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
}

/// Returns the first lines of a text, if there is only room for those.
fn first_lines(text: &str) -> &str {
    let end = text.match_indices('\n').nth(20).map_or(text.len(), |(at, _)| at);
    text[..end].trim_end()
}

fn work_of(attempt: &RunningAttempt) -> WorkReport {
    WorkReport {
        tools: attempt.work.tools.clone(),
        reflection: attempt.work.reflection.as_deref().map(|text| cut(text, MAX_NOTE)),
    }
}

pub(super) fn finished(
    attempt: &RunningAttempt,
    outcome: Outcome,
    why: Option<&str>,
    ended: &EndedProcess,
    conclusion: &CombinedVerdict,
) -> AttemptEndRecord {
    let output = conclusion.output.trim();
    let exit = match ended.exit {
        ProcessExit::Code(code) => Some(format!("exit {code}")),
        ProcessExit::Signal(signal) => Some(format!("signal {signal}")),
        ProcessExit::Unknown => None,
    };
    AttemptEndRecord {
        task: attempt.name.clone(),
        attempt: attempt.number,
        outcome,
        why: why.map(|why| cut(why, MAX_REMEMBERED)),
        output: (!output.is_empty()).then(|| cut(output, MAX_REMEMBERED)),
        files: conclusion.affected_files.clone(),
        exit,
        milliseconds: u64::try_from(clock::shown(ended.duration).as_millis()).ok(),
        cost_usd: conclusion.usage.cost_usd,
        tokens: conclusion.usage.tokens(),
        session: conclusion.session.clone(),
        discoveries: conclusion.discoveries.clone(),
        limited_for: None,
        no_changes: attempt.work.is_unchanged,
    }
}
