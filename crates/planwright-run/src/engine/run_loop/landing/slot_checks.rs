//! Runs the commands that verify a candidate in a slot, one after another.

use super::super::super::RunError;
use super::super::super::attempt::AgentEndReason;
use super::super::super::landing_site::Replayed;
use super::super::super::naming::listed;
use super::super::RunLoop;
use super::LandingError;
use super::queue::{QueuedCandidate, Verification};
use crate::agent_output::LEFTOVER_GRACE;
use crate::git::CheckoutSlot;
use crate::journal::Receipt;
use crate::runs::RemarkKind;
use crate::verify::{self, Check};
use crate::worker::{EndedProcess, StopManner};

impl RunLoop<'_> {
    /// Ends the outdated verification of an entry that is replayed on another tree now. Returns whether the end must be awaited.
    pub(super) fn end_outdated(&mut self, at: usize) -> bool {
        let entry = &mut self.landing.queue[at];
        let verification = std::mem::replace(&mut entry.verification, Verification::Waiting);
        entry.checking.receipts.clear();
        entry.announced = None;
        match verification {
            Verification::Running { key, slot, .. } => {
                self.workers.cancel(key, StopManner::Politely);
                self.landing.queue[at].verification = Verification::Ending { key, slot };
                true
            }
            other => {
                self.free_slot_of(other);
                false
            }
        }
    }

    pub(super) fn free_slot_of(&mut self, verification: Verification) {
        match verification {
            Verification::Running { slot, .. } | Verification::Ending { slot, .. } => {
                self.landing.free_slots.push(slot)
            }
            Verification::Over { slot } => self.landing.free_slots.extend(slot),
            Verification::Waiting => {}
        }
    }

    pub(super) fn begin_verification(&mut self, at: usize, replayed: &Replayed) -> Result<(), LandingError> {
        let entry = &mut self.landing.queue[at];
        entry.is_recorded = false;
        entry.checking.receipts.clear();
        entry.checking.commit = Some(replayed.commit.clone());
        if entry.checking.checks.is_empty() {
            entry.verification = Verification::Over { slot: None };
            return Ok(());
        }
        let Some(site) = self.folders.workplace.site() else {
            return Ok(());
        };
        let slot = match self.landing.free_slots.pop().filter(CheckoutSlot::is_whole) {
            Some(slot) => slot,
            None => site.take_slot()?,
        };
        let setup = site.prepare(&slot, &replayed.commit)?.iter();
        let setup = setup.map(|command| self.setup_check(command)).collect();
        self.next_command(at, slot, setup, 0)
    }

    /// Starts the next command of an entry's verification, or ends it.
    fn next_command(
        &mut self,
        at: usize,
        slot: CheckoutSlot,
        setup: Vec<Check>,
        n_set_up: usize,
    ) -> Result<(), LandingError> {
        let Some(site) = self.folders.workplace.site() else {
            return Ok(());
        };
        let root = site.root_in(&slot.path());
        let task = self.landing.queue[at].attempt.task;
        let folder = match verify::folder(&root, self.snapshot.plan(), task as usize) {
            Ok(folder) => folder,
            Err(error) => {
                // The candidate has no such folder: there is nothing to verify.
                let entry = &mut self.landing.queue[at];
                let checks = entry.checking.checks.iter();
                entry.checking.receipts = checks.map(|check| verify::not_run(check, &error)).collect();
                entry.verification = Verification::Over { slot: Some(slot) };
                return Ok(());
            }
        };
        let variables = site.slot_environment(&slot);
        let check_environment =
            self.check_environment(&self.landing.queue[at].attempt, folder, variables, &[slot.path()]);
        let mut n_set_up = n_set_up;
        loop {
            let Some((check, log)) = self.landing.queue[at].next_check(&setup, n_set_up) else {
                self.landing.queue[at].verification = Verification::Over { slot: Some(slot) };
                return Ok(());
            };
            let is_setup = n_set_up < setup.len();
            let is_first = n_set_up + self.landing.queue[at].checking.receipts.len() == 0;
            if !is_setup && !is_first {
                self.restore_slot(task, &slot)?;
            }
            match self.start_command(&check, &check_environment, log) {
                Ok(key) => {
                    self.landing.queue[at].verification = Verification::Running {
                        key,
                        slot,
                        setup,
                        n_set_up,
                    };
                    return Ok(());
                }
                Err(error) => {
                    let receipt = Receipt {
                        is_setup,
                        ..verify::receipt_of_refusal(&check, &error, None)
                    };
                    self.landing.queue[at].checking.receipts.push(receipt);
                    n_set_up += usize::from(is_setup);
                }
            }
        }
    }

    /// Restores the files of a slot before the next command, which must find them as they would land.
    fn restore_slot(&mut self, task: u32, slot: &CheckoutSlot) -> Result<(), LandingError> {
        // Processes that an earlier command left running could change them again.
        self.workers.end_left(LEFTOVER_GRACE);
        let changed = slot.restore_tracked()?;
        if !changed.is_empty() {
            let files = listed(&changed);
            let text = format!("restored before the next command: an earlier one changed {files}");
            self.remark_kind(Some(task), RemarkKind::GuardedRestored, text)?;
        }
        Ok(())
    }

    /// Handles the end of a verification command. Returns whether the process was one.
    pub(in super::super) fn verification_ended(&mut self, ended: &EndedProcess) -> Result<bool, RunError> {
        let Some(at) = self
            .landing
            .queue
            .iter()
            .position(|entry| entry.key() == Some(ended.key))
        else {
            return Ok(false);
        };
        if ended.was_outlived {
            self.end_left_of_entry(at)?;
        }
        let entry = &mut self.landing.queue[at];
        let is_ended = matches!(
            entry.attempt.ending,
            Some(AgentEndReason::Interrupted | AgentEndReason::TakenAway)
        );
        match std::mem::replace(&mut entry.verification, Verification::Waiting) {
            Verification::Running {
                slot, setup, n_set_up, ..
            } if !is_ended => {
                let n_set_up = self.keep_command(at, ended, &setup, n_set_up);
                if let Err(step) = self.next_command(at, slot, setup, n_set_up) {
                    self.landing.queue[at].verification = Verification::Waiting;
                    match step {
                        LandingError::Run(error) => return Err(error),
                        LandingError::Git(error) => self.hold_landing(&error)?,
                    }
                }
                // The next commit that is verified here must be alone.
                if self.landing.queue.get(at).is_some_and(QueuedCandidate::is_over) {
                    self.end_left_of_entry(at)?;
                }
            }
            other => {
                self.end_left_of_entry(at)?;
                self.free_slot_of(other);
            }
        }
        self.drive_landing()?;
        Ok(true)
    }

    /// Ends processes that the commands of a verification left running.
    fn end_left_of_entry(&mut self, at: usize) -> Result<(), RunError> {
        let Some(entry) = self.landing.queue.get(at) else {
            return Ok(());
        };
        let attempt = &entry.attempt;
        let (task, name, number) = (attempt.task, attempt.name.clone(), attempt.number);
        self.end_left_of(task, &name, number)
    }

    /// Saves the receipt of a command. Returns how many setup commands have ended.
    fn keep_command(&mut self, at: usize, ended: &EndedProcess, setup: &[Check], n_set_up: usize) -> usize {
        let entry = &mut self.landing.queue[at];
        if let Some(command) = setup.get(n_set_up) {
            let log = entry.setup_log(n_set_up);
            let receipt = verify::receipt(command, ended, &log, entry.checking.commit.clone());
            if !verify::passed(&receipt) {
                entry.checking.receipts.push(Receipt {
                    is_setup: true,
                    ..receipt
                });
            }
            return n_set_up + 1;
        }
        let number = entry.checking.receipts.len();
        if let Some(check) = entry.checking.checks.get(number) {
            let log = entry.attempt.location.place.check(number + 1);
            let receipt = verify::receipt(check, ended, &log, entry.checking.commit.clone());
            entry.checking.receipts.push(receipt);
        }
        n_set_up
    }
}
