//! Verifies an attempt: runs commands one after another while other attempts continue.

use std::ffi::OsString;
use std::path::PathBuf;

use planwright_core::agent::Conclusion;

use super::super::RunError;
use super::super::attempt::{Attempt, Checking, Ending, Stage, mark_of_attempt};
use super::RunLoop;
use super::fences::shared_writable;
use super::results::Failure;
use crate::config::Command;
use crate::git::{Candidate, commit_at, is_repository_variable};
use crate::runs::{RunEvent, Verified};
use crate::verify::{self, Check, Checks, Scene};
use crate::worker::Ended;

impl RunLoop<'_> {
    /// The agent says that it is done: the commands that prove it are run.
    pub(super) fn verify(
        &mut self,
        attempt: Attempt,
        conclusion: Conclusion,
        candidate: Option<Candidate>,
    ) -> Result<(), RunError> {
        let checks = self.checks_of(attempt.task, &attempt.name);
        // Only receipts name the commit, and asking git takes longer than many a task.
        let is_asked = candidate.is_none() && !checks.checks.is_empty();
        let commit = is_asked.then(|| commit_at(&attempt.folder)).flatten();
        let checking = Checking {
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

    /// Returns what verifies a task: by its criteria and its type when it first started in this run.
    pub(super) fn checks_of(&self, task: u32, name: &str) -> Checks {
        let rules = &self.request.config.verify;
        let allows = self.request.options.allow_plan_commands || rules.allow_plan_commands;
        let run = self
            .state()
            .task(self.snapshot.name(task))
            .or_else(|| self.state().task(name));
        match run.and_then(|run| run.contract.as_ref()) {
            Some(contract) => Checks::of_contract(rules, contract, allows),
            None => Checks::of(rules, self.snapshot.plan(), task as usize, allows),
        }
    }

    /// Runs the next command, or draws the conclusion.
    pub(super) fn next_check(&mut self, mut attempt: Attempt, mut checking: Box<Checking>) -> Result<(), RunError> {
        let folder = attempt.folder.clone();
        match self.start_check(&attempt, &mut checking, folder) {
            Some(key) => {
                attempt.stage = Stage::Checking(checking);
                self.attempts.insert(key, attempt);
                Ok(())
            }
            None => self.judged(attempt, *checking),
        }
    }

    /// Starts the next command that can be started, and returns the number of its process; none where there is no more.
    pub(super) fn start_check(&mut self, attempt: &Attempt, checking: &mut Checking, folder: PathBuf) -> Option<u64> {
        if checking.receipts.len() >= checking.checks.len() {
            return None;
        }
        let variables = std::env::vars_os().filter(|(name, _)| !is_repository_variable(name));
        let writable = shared_writable(&self.workplace, &self.root());
        let scene = self.scene(attempt, folder, variables, &writable);
        while let Some(check) = checking.checks.get(checking.receipts.len()) {
            let log = attempt.place.check(checking.receipts.len() + 1);
            match self.start_command(check, &scene, log) {
                Ok(key) => return Some(key),
                Err(error) => {
                    let receipt = verify::receipt_of_refusal(check, &error, checking.commit.clone());
                    checking.receipts.push(receipt);
                }
            }
        }
        None
    }

    /// Returns a command that sets up a checkout, as one to run.
    pub(super) fn setup_check(&self, command: &Command) -> Check {
        Check {
            command: command.clone(),
            timeout: self.request.config.verify.timeout,
            covers: Vec::new(),
            from_plan: false,
        }
    }

    /// Keeps the receipt of a command that ended.
    pub(super) fn keep_receipt(&self, attempt: &Attempt, ended: &Ended, checking: &mut Checking) {
        let number = checking.receipts.len();
        if let Some(check) = checking.checks.get(number) {
            let log = attempt.place.check(number + 1);
            let receipt = verify::receipt(check, ended, &log, checking.commit.clone());
            checking.receipts.push(receipt);
        }
    }

    /// Returns how commands are run for an attempt, in a folder and with an environment. `writable` is what they may write to.
    pub(super) fn scene(
        &self,
        attempt: &Attempt,
        folder: PathBuf,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        writable: &[PathBuf],
    ) -> Scene {
        let plan = &self.snapshot.place().target;
        let environment = verify::environment(variables, plan, &attempt.name, &folder);
        Scene {
            fence: self.fence_of_commands(writable, &environment),
            environment,
            folder,
            mark: mark_of_attempt(self.place.id(), plan, &attempt.name, attempt.number),
            max_log_bytes: self.request.config.run.log_cap,
            redaction: self.agents.redaction().clone(),
            grace: self.request.config.run.grace,
        }
    }

    pub(super) fn checked(
        &mut self,
        attempt: Attempt,
        ended: &Ended,
        mut checking: Box<Checking>,
    ) -> Result<(), RunError> {
        if matches!(attempt.ending, Some(Ending::Interrupted | Ending::TakenAway)) {
            return self.interrupted(attempt, None);
        }
        if ended.was_outlived {
            self.end_what_is_left(&attempt)?;
        }
        self.keep_receipt(&attempt, ended, &mut checking);
        // A command that verifies runs code of the task, which may have changed what the next command does.
        let mut attempt = attempt;
        let changed = self.changed_protected(&attempt, None);
        attempt.protected.extend(changed);
        attempt.protected.sort();
        attempt.protected.dedup();
        self.next_check(attempt, checking)
    }

    /// Records what verification found. Returns whether everything passed.
    pub(super) fn record_verified(&mut self, attempt: &Attempt, checking: &Checking) -> Result<bool, RunError> {
        let passed = checking.receipts.iter().all(verify::passed);
        self.record(RunEvent::Verified(Verified {
            task: attempt.name.clone(),
            attempt: attempt.number,
            passed,
            receipts: checking.receipts.clone(),
            unverified: checking.unverified.clone(),
        }))?;
        Ok(passed)
    }

    /// All commands ended.
    fn judged(&mut self, attempt: Attempt, checking: Checking) -> Result<(), RunError> {
        if !self.record_verified(&attempt, &checking)? {
            return self.failed(attempt, &Failure::Verification(checking.receipts), true);
        }
        self.accept(attempt, &checking)
    }
}
