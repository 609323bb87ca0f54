//! Requests of other processes to the run: pause, resume, stop, kill, approve, reject.

use std::path::Path;

use planwright_core::plan::{State, Verb};
use planwright_core::schedule::{Phase, ScheduleEvent};

use super::super::RunError;
use super::super::recovery::UnlandedWork;
use super::super::status_updates::StatusUpdate;
use super::RunLoop;
use super::reconcile::keeps_output;
use crate::review::rejection;
use crate::runs::state::TaskRun;
use crate::runs::{ApprovalRecord, ControlRequest, RequestReader, RequestRecord, RunEvent};
use crate::user::user;
use crate::worker::StopManner;

pub(super) struct ControlRequests {
    requests: RequestReader,
    is_paused: bool,
}

impl ControlRequests {
    /// Follows the file of requests from its present end.
    pub(super) fn from_now(path: &Path) -> Self {
        ControlRequests {
            requests: RequestReader::from_now(path),
            is_paused: false,
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }
}

impl RunLoop<'_> {
    pub(super) fn handle_requests(&mut self) -> Result<(), RunError> {
        for ask in self.user.control.requests.more() {
            self.handle_request(&ask)?;
        }
        Ok(())
    }

    fn handle_request(&mut self, ask: &ControlRequest) -> Result<(), RunError> {
        let asked = RequestRecord {
            by: ask.by.clone(),
            why: ask.note.clone(),
        };
        match ask.verb.as_str() {
            "pause" if !self.user.control.is_paused => {
                self.user.control.is_paused = true;
                self.happened(ScheduleEvent::Paused);
                self.record(RunEvent::Paused(asked))?;
            }
            "resume" if self.user.control.is_paused => {
                self.user.control.is_paused = false;
                self.record(RunEvent::Resumed(asked))?;
                self.resumed()?;
            }
            "stop" | "kill" => {
                let who = ask.by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
                self.user.stops.explain(|| format!("stopped on request{who}"));
                self.happened(ScheduleEvent::StopRequested);
                if ask.verb == "kill" {
                    self.end_attempts(StopManner::Politely);
                }
            }
            "approve" => self.review(ask, true)?,
            "reject" => self.review(ask, false)?,
            _ => {}
        }
        Ok(())
    }

    /// Applies a review. It is a separate change in the plan's history, with the reviewer, not joined with earlier or later updates.
    fn review(&mut self, ask: &ControlRequest, approves: bool) -> Result<(), RunError> {
        self.write_plan()?;
        let named = ask.task.as_deref().and_then(|name| self.snapshot.named(name).ok());
        if let Some(task) = named.filter(|&task| self.phase(task) == Phase::Review) {
            let by = ask.by.clone().or_else(|| self.request.options.flags.by.clone());
            let by = by.unwrap_or_else(user);
            match approves {
                true => self.approved(task, ask, by)?,
                false => self.rejected(task, ask, by)?,
            }
        }
        self.write_plan()
    }

    fn approved(&mut self, task: u32, ask: &ControlRequest, by: String) -> Result<(), RunError> {
        let held = self.landing.take_for_review(task);
        let approved = ApprovalRecord {
            task: self.snapshot.name(task).to_owned(),
            by: Some(by.clone()),
            note: ask.note.clone(),
            commit: held.as_ref().map(|held| held.candidate.commit.clone()),
        };
        self.record(RunEvent::Approved(approved.clone()))?;
        if let Some(held) = held {
            // The task is done when its work has landed.
            let unlanded = UnlandedWork::of_held(&held, Some(&approved));
            self.landing.add_unlanded(task, unlanded);
            self.happened(ScheduleEvent::Moved {
                task,
                to: State::Pending,
            });
            return Ok(());
        }
        self.happened(ScheduleEvent::Approved { task });
        let output = self.output_of(task).map(str::to_owned);
        self.update_plan(StatusUpdate {
            note: ask.note.clone(),
            output: output.filter(|_| keeps_output(self.snapshot.linked())),
            by: None,
            decided_by: Some(by),
            receipts: self.state().task(self.snapshot.name(task)).map(TaskRun::receipts),
            ..self.plain_update(task, Verb::Done)
        });
        Ok(())
    }

    fn rejected(&mut self, task: u32, ask: &ControlRequest, by: String) -> Result<(), RunError> {
        self.landing.take_for_review(task);
        let why = ask.note.clone().unwrap_or_else(|| "rejected".to_owned());
        let name = self.snapshot.name(task).to_owned();
        let attempt = self.state().highest_attempt(&name);
        self.record(RunEvent::AttemptEnded(rejection(name, attempt, ask.note.as_deref())))?;
        self.happened(ScheduleEvent::Rejected { task });
        self.update_plan(StatusUpdate {
            note: Some(why),
            decided_by: Some(by),
            ..self.plain_update(task, Verb::Fail)
        });
        let name = self.snapshot.name(task).to_owned();
        self.stop_for_changed(task, &name)
    }
}
