//! Verification in a run: the commands that prove what an agent made, one after another, beside everything else that runs.

use std::ffi::OsString;
use std::path::PathBuf;

use planwright_core::agent::Conclusion;

use super::super::RunError;
use super::super::attempt::{Attempt, Checking, Ending, Stage, mark_of_attempt};
use super::RunLoop;
use super::results::VERIFICATION_FAILED;
use crate::git::commit_at;
use crate::runs::{self, RunEvent, Verified};
use crate::verify::{self, Checks, Scene};
use crate::worker::Ended;

/// Variables that have several worktrees build into one folder.
const SHARED_BUILDS: &[&str] = &["CARGO_TARGET_DIR"];

impl RunLoop<'_> {
    /// The agent says that it is done: the commands that prove it are run.
    pub(super) fn verify(
        &mut self,
        attempt: Attempt,
        conclusion: Conclusion,
        commit: Option<String>,
    ) -> Result<(), RunError> {
        let options = self.request.options;
        let allows = options.allow_plan_commands || self.request.config.verify.allow_plan_commands;
        let checks = Checks::of(
            &self.request.config.verify,
            self.snapshot.plan(),
            attempt.task as usize,
            allows,
        );
        // Only receipts name the commit, and asking git takes longer than many a task.
        let has_checks = !checks.checks.is_empty();
        let asked = || has_checks.then(|| commit_at(&attempt.folder)).flatten();
        let checking = Checking {
            files: conclusion.affected_files.clone(),
            conclusion,
            checks: checks.checks,
            unverified: checks.unverified,
            receipts: Vec::new(),
            commit: commit.or_else(asked),
        };
        self.next_check(attempt, Box::new(checking))
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
        let scene = self.scene(attempt, folder);
        while let Some(check) = checking.checks.get(checking.receipts.len()) {
            let log = attempt.place.check(checking.receipts.len() + 1);
            let spec = verify::spec(check, &scene, log);
            let key = self.next_key;
            self.next_key += 1;
            match self.workers.start(key, &spec) {
                Ok(_) => return Some(key),
                Err(error) => {
                    let receipt = verify::receipt_of_refusal(check, &error, checking.commit.clone());
                    checking.receipts.push(receipt);
                }
            }
        }
        None
    }

    /// Keeps what came of the command that has ended.
    pub(super) fn keep_receipt(&self, attempt: &Attempt, ended: &Ended, checking: &mut Checking) {
        let number = checking.receipts.len();
        if let Some(check) = checking.checks.get(number) {
            let log = attempt.place.check(number + 1);
            let receipt = verify::receipt(check, ended, &log, checking.commit.clone());
            checking.receipts.push(receipt);
        }
    }

    fn scene(&self, attempt: &Attempt, folder: PathBuf) -> Scene {
        let plan = &self.snapshot.place().target;
        // Compilers do not tell worktrees apart that share a folder for what they make.
        let is_kept = |(name, _): &(OsString, OsString)| {
            attempt.tree.is_none() || !SHARED_BUILDS.iter().any(|shared| name == shared)
        };
        let variables = std::env::vars_os().filter(is_kept);
        Scene {
            folder,
            environment: verify::environment(variables, plan, &attempt.name),
            mark: mark_of_attempt(self.place.id(), plan, &attempt.name, attempt.number),
            max_log_bytes: self.request.config.run.log_cap,
            secrets: self.secrets.clone(),
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
        self.next_check(attempt, checking)
    }

    /// Writes down what verification found; returns what failed, in words.
    pub(super) fn record_verified(
        &mut self,
        attempt: &Attempt,
        checking: &Checking,
    ) -> Result<Option<String>, RunError> {
        let receipts = checking.receipts.iter();
        let failures: Vec<String> = receipts
            .filter(|receipt| !verify::passed(receipt))
            .map(failure_words)
            .collect();
        self.record(RunEvent::Verified(Verified {
            task: attempt.name.clone(),
            attempt: attempt.number,
            passed: failures.is_empty(),
            receipts: checking.receipts.clone(),
            unverified: checking.unverified.clone(),
        }))?;
        Ok((!failures.is_empty()).then(|| failures.join("\n\n")))
    }

    /// All commands were run.
    pub(super) fn judged(&mut self, attempt: Attempt, checking: Checking) -> Result<(), RunError> {
        if let Some(words) = self.record_verified(&attempt, &checking)? {
            return self.failed(attempt, &format!("{VERIFICATION_FAILED}\n\n{words}"), true);
        }
        if attempt.tree.is_some() {
            self.merges.push_back((attempt, Box::new(checking)));
            return self.merge_next();
        }
        self.accept(attempt, &checking)
    }
}

/// Returns what the next attempt has to know of a command that failed.
fn failure_words(receipt: &runs::Receipt) -> String {
    let command = receipt.command.join(" ");
    format!("`{command}` failed ({}):\n{}", receipt.exit, receipt.tail.trim_end())
}
