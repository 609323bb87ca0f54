//! Verifies an attempt: runs commands one after another while other attempts continue.

use std::ffi::OsString;
use std::path::PathBuf;

use planwright_core::agent::CombinedVerdict;

use super::super::RunError;
use super::super::attempt::{AgentEndReason, AttemptCheck, AttemptPhase, RunningAttempt, mark_of_attempt};
use super::RunLoop;
use super::fences::{fence_of_command, shared_writable};
use super::results::AttemptFailure;
use crate::config::Command;
use crate::git::{Candidate, commit_at, is_repository_variable};
use crate::runs::{RunEvent, VerificationRecord};
use crate::verify::{self, Check, CheckEnvironment, TaskChecks};
use crate::worker::EndedProcess;

impl RunLoop<'_> {
    /// Starts verification after the agent has reported success.
    pub(super) fn verify(
        &mut self,
        attempt: RunningAttempt,
        conclusion: CombinedVerdict,
        candidate: Option<Candidate>,
    ) -> Result<(), RunError> {
        let checks = self.checks_of(attempt.task, &attempt.name);
        // Only receipts name the commit, and asking git takes longer than many tasks.
        let is_asked = candidate.is_none() && !checks.checks.is_empty();
        let commit = is_asked.then(|| commit_at(&attempt.location.folder)).flatten();
        let checking = AttemptCheck {
            files: conclusion.affected_files.clone(),
            conclusion,
            checks: checks.checks,
            unverified: checks.unverified,
            receipts: Vec::new(),
            commit,
        };
        match candidate {
            Some(candidate) => self.land(attempt, Box::new(checking), candidate),
            None => self.next_check(attempt, Box::new(checking)),
        }
    }

    /// Returns what verifies a task: its criteria and its type when it first started in this run.
    pub(super) fn checks_of(&self, task: u32, name: &str) -> TaskChecks {
        let rules = &self.request.config.verify;
        let allows = self.request.options.flags.allow_plan_commands || rules.allow_plan_commands;
        let run = self
            .state()
            .task(self.snapshot.name(task))
            .or_else(|| self.state().task(name));
        match run.and_then(|run| run.contract.as_ref()) {
            Some(contract) => TaskChecks::of_contract(rules, contract, allows),
            None => TaskChecks::of(rules, self.snapshot.plan(), task as usize, allows),
        }
    }

    /// Runs the next command, or concludes the verification.
    pub(super) fn next_check(
        &mut self,
        mut attempt: RunningAttempt,
        mut checking: Box<AttemptCheck>,
    ) -> Result<(), RunError> {
        let folder = attempt.location.folder.clone();
        match self.start_check(&attempt, &mut checking, folder) {
            Some(key) => {
                attempt.phase = AttemptPhase::Checking(checking);
                self.attempts.insert(key, attempt);
                Ok(())
            }
            None => self.judged(attempt, *checking),
        }
    }

    /// Starts the next command that can be started, and returns the key of its process; none if there are no more.
    pub(super) fn start_check(
        &mut self,
        attempt: &RunningAttempt,
        checking: &mut AttemptCheck,
        folder: PathBuf,
    ) -> Option<u64> {
        if checking.receipts.len() >= checking.checks.len() {
            return None;
        }
        let variables = std::env::vars_os().filter(|(name, _)| !is_repository_variable(name));
        let writable = shared_writable(&self.folders.workplace, &self.root());
        let check_environment = self.check_environment(attempt, folder, variables, &writable);
        while let Some(check) = checking.checks.get(checking.receipts.len()) {
            let log = attempt.location.place.check(checking.receipts.len() + 1);
            match self.start_command(check, &check_environment, log) {
                Ok(key) => return Some(key),
                Err(error) => {
                    let receipt = verify::receipt_of_refusal(check, &error, checking.commit.clone());
                    checking.receipts.push(receipt);
                }
            }
        }
        None
    }

    pub(super) fn setup_check(&self, command: &Command) -> Check {
        Check::of(command, self.request.config.verify.timeout)
    }

    pub(super) fn keep_receipt(&self, attempt: &RunningAttempt, ended: &EndedProcess, checking: &mut AttemptCheck) {
        let number = checking.receipts.len();
        if let Some(check) = checking.checks.get(number) {
            let log = attempt.location.place.check(number + 1);
            let receipt = verify::receipt(check, ended, &log, checking.commit.clone());
            checking.receipts.push(receipt);
        }
    }

    /// Returns how commands run for an attempt: folder, environment, and the paths that they may write to.
    pub(super) fn check_environment(
        &self,
        attempt: &RunningAttempt,
        folder: PathBuf,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        writable: &[PathBuf],
    ) -> CheckEnvironment {
        let plan = &self.snapshot.place().target;
        let environment = verify::environment(variables, plan, &attempt.name, &folder);
        CheckEnvironment {
            fence: fence_of_command(
                self.folders.fences.fencing(),
                &self.folders.workplace,
                writable,
                &environment,
            ),
            environment,
            folder,
            mark: mark_of_attempt(self.live.place.id(), plan, &attempt.name, attempt.number),
            max_log_bytes: self.request.config.run.limits.log_bytes,
            redaction: self.agents.chosen.redaction().clone(),
            grace: self.request.config.run.limits.grace,
        }
    }

    pub(super) fn checked(
        &mut self,
        attempt: RunningAttempt,
        ended: &EndedProcess,
        mut checking: Box<AttemptCheck>,
    ) -> Result<(), RunError> {
        if matches!(
            attempt.ending,
            Some(AgentEndReason::Interrupted | AgentEndReason::TakenAway)
        ) {
            return self.interrupted(attempt, None);
        }
        if ended.was_outlived {
            self.end_what_is_left(&attempt)?;
        }
        self.keep_receipt(&attempt, ended, &mut checking);
        // A verification command runs code of the task, which may have changed what the next command does.
        let mut attempt = attempt;
        let changed = self.changed_protected(&attempt, None);
        attempt.work.protected.extend(changed);
        attempt.work.protected.sort();
        attempt.work.protected.dedup();
        self.next_check(attempt, checking)
    }

    /// Records the results of a verification. Returns whether everything passed.
    pub(super) fn record_verified(
        &mut self,
        attempt: &RunningAttempt,
        checking: &AttemptCheck,
    ) -> Result<bool, RunError> {
        let passed = checking.receipts.iter().all(verify::passed);
        self.record(RunEvent::Verified(VerificationRecord {
            task: attempt.name.clone(),
            attempt: attempt.number,
            passed,
            receipts: checking.receipts.clone(),
            unverified: checking.unverified.clone(),
        }))?;
        Ok(passed)
    }

    fn judged(&mut self, attempt: RunningAttempt, checking: AttemptCheck) -> Result<(), RunError> {
        if !self.record_verified(&attempt, &checking)? {
            return self.failed(attempt, &AttemptFailure::Verification(checking.receipts), true);
        }
        self.accept(attempt, &checking)
    }
}
