//! Lands finished work: candidates queue, each is verified on top of those before it, and the branch moves by compare-and-swap.

mod queue;
mod slot_checks;

use std::time::Duration;

use super::super::RunError;
use super::super::attempt::{AgentEndReason, AttemptCheck, RunningAttempt};
use super::super::landing_site::{CommitAttribution, Replayed, Replaying};
use super::super::naming::listed;
use super::RunLoop;
use super::checkouts::{kept_candidate, short, title_of, words};
use super::results::AttemptFailure;
use crate::clock;
use crate::git::{Candidate, GitError};
use crate::runs::state::TaskRun;
use crate::runs::{self, LandingEndRecord, RequestRecord, RunEvent, UnlandedWorkRecord};

pub(super) use queue::LandingQueue;
use queue::{QueuedCandidate, ReplayState, Verification};

/// The wait before another try after an obstacle.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// The name of planwright itself as the one who paused a run.
const OURSELVES: &str = "planwright";

impl RunLoop<'_> {
    /// Queues the work of an attempt for the branch. Work with a longer chain of dependents goes first.
    pub(super) fn land(
        &mut self,
        attempt: RunningAttempt,
        checking: Box<AttemptCheck>,
        candidate: Candidate,
    ) -> Result<(), RunError> {
        let weight = self.weight_of(attempt.task);
        let is_lighter =
            |entry: &QueuedCandidate| entry.weight < weight && matches!(entry.verification, Verification::Waiting);
        let at = self
            .landing
            .queue
            .iter()
            .position(is_lighter)
            .unwrap_or(self.landing.queue.len());
        self.landing.queue.insert(
            at,
            QueuedCandidate {
                attempt,
                checking,
                candidate,
                weight,
                replay: ReplayState::Unknown,
                verification: Verification::Waiting,
                is_recorded: false,
                announced: None,
            },
        );
        self.drive_landing()
    }

    /// Returns the length of the longest chain of tasks that wait for a task.
    fn weight_of(&self, task: u32) -> u64 {
        u64::from(self.tasks.weights.get(task as usize).copied().unwrap_or(0))
    }

    /// Takes all steps towards the branch that are possible now.
    pub(super) fn drive_landing(&mut self) -> Result<(), RunError> {
        let now = clock::instant();
        if self.landing.next().is_some_and(|at| at > now) && self.tasks.schedule.stop().is_none() {
            return Ok(());
        }
        loop {
            match self.landing_step() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(LandingError::Run(error)) => return Err(error),
                Err(LandingError::Git(error)) => return self.hold_landing(&error),
            }
        }
    }

    /// Takes one step. Returns whether another one may be possible.
    fn landing_step(&mut self) -> Result<bool, LandingError> {
        if self.drop_ended()? {
            return Ok(true);
        }
        let Some(site) = self.folders.workplace.site().filter(|_| !self.landing.queue.is_empty()) else {
            self.release_landing()?;
            return Ok(false);
        };
        let tip = site.tip()?;
        let (mut below, mut onto) = (tip.clone(), site.repository().tree_of(&tip)?);
        for at in 0..self.landing.queue.len() {
            if matches!(self.landing.queue[at].verification, Verification::Ending { .. }) {
                return Ok(false);
            }
            if !self.landing.queue[at].is_on(&onto) {
                if self.end_outdated(at) {
                    return Ok(false);
                }
                self.replay_entry(at, &below, &onto)?;
            }
            let is_first = at == 0;
            let entry = &self.landing.queue[at];
            match &entry.replay {
                ReplayState::Conflict { .. } if is_first => {
                    let entry = self.landing.queue.remove(0);
                    self.conflicted(entry.attempt, entry.checking, entry.candidate, &tip)?;
                    return Ok(true);
                }
                // It may apply after those before it have landed or failed.
                ReplayState::Conflict { .. } | ReplayState::Unknown => continue,
                ReplayState::Clean(replayed) => {
                    let replayed = replayed.clone();
                    if matches!(entry.verification, Verification::Waiting) {
                        self.begin_verification(at, &replayed)?;
                    }
                    let entry = &self.landing.queue[at];
                    if entry.is_over() && is_first {
                        return self.conclude_first(&tip, &replayed);
                    }
                    // Other entries do not build on one that failed, or that may be rejected.
                    let may_land = !entry.is_over() || entry.has_passed();
                    if may_land && !self.is_for_review(&entry.attempt) {
                        (below, onto) = (replayed.commit, replayed.tree);
                    }
                }
            }
        }
        self.release_landing()?;
        Ok(false)
    }

    /// Drops entries that the run or another process has ended.
    fn drop_ended(&mut self) -> Result<bool, LandingError> {
        let ends =
            self.user.stops.ends_attempts() || (self.landing.held.is_some() && self.tasks.schedule.stop().is_some());
        let is_ended = |entry: &QueuedCandidate| {
            let is_taken = matches!(
                entry.attempt.ending,
                Some(AgentEndReason::Interrupted | AgentEndReason::TakenAway)
            );
            (is_taken || ends) && entry.key().is_none()
        };
        let Some(at) = self.landing.queue.iter().position(is_ended) else {
            return Ok(false);
        };
        let entry = self.landing.queue.remove(at);
        self.free_slot_of(entry.verification);
        self.interrupted(entry.attempt, None)?;
        Ok(true)
    }

    fn replay_entry(&mut self, at: usize, below: &str, onto: &str) -> Result<(), LandingError> {
        let entry = &self.landing.queue[at];
        let Some(site) = self.folders.workplace.site() else {
            return Ok(());
        };
        let checkout = entry.attempt.location.checkout_folder();
        let replayed = site.replay(&entry.attempt.name, &entry.candidate, below, onto, checkout)?;
        self.landing.queue[at].replay = match replayed {
            Replaying::Clean(replayed) => ReplayState::Clean(replayed),
            Replaying::Conflict(_) => ReplayState::Conflict { onto: onto.to_owned() },
        };
        Ok(())
    }

    /// Concludes the verification of the first entry: it lands, or its attempt fails.
    fn conclude_first(&mut self, tip: &str, replayed: &Replayed) -> Result<bool, LandingError> {
        let mut entry = self.landing.queue.remove(0);
        for receipt in &mut entry.checking.receipts {
            receipt.tree = Some(replayed.tree.clone());
        }
        if !entry.has_passed() {
            self.record_verified(&entry.attempt, &entry.checking)?;
            let receipts = std::mem::take(&mut entry.checking.receipts);
            self.free_slot_of(entry.verification);
            self.failed(entry.attempt, &AttemptFailure::Verification(receipts), true)?;
            return Ok(true);
        }
        if self.is_for_review(&entry.attempt) {
            self.hold_for_review(entry)?;
            return Ok(true);
        }
        match self.land_entry(tip, replayed, &mut entry) {
            Ok(commit) => {
                self.landed(entry, replayed, commit)?;
                Ok(true)
            }
            // The branch has moved: the entry is replayed and verified on the new tip.
            Err(LandingError::Git(GitError::Moved { .. })) if !self.is_tip(tip) => {
                self.landing.queue.insert(0, entry);
                Ok(true)
            }
            Err(step) => {
                self.landing.queue.insert(0, entry);
                Err(step)
            }
        }
    }

    /// Returns whether work waits for a review before it lands.
    fn is_for_review(&self, attempt: &RunningAttempt) -> bool {
        attempt.work.approved.is_none() && attempt.moved.is_none() && self.needs_review(attempt)
    }

    /// Holds verified work until a person approves it. It is not on the branch: no other work builds on it, and none is verified with it.
    fn hold_for_review(&mut self, entry: QueuedCandidate) -> Result<(), RunError> {
        let QueuedCandidate {
            attempt,
            checking,
            candidate,
            verification,
            ..
        } = entry;
        self.record_verified(&attempt, &checking)?;
        self.free_slot_of(verification);
        let held = UnlandedWorkRecord {
            task: self.snapshot.name(attempt.task).to_owned(),
            candidate: kept_candidate(&attempt, &candidate),
            is_verified: !checking.receipts.is_empty(),
            agent: attempt.agent.clone(),
            output: Some(checking.conclusion.output.clone()).filter(|output| !output.is_empty()),
            files: checking.files.clone(),
            session: checking.conclusion.session.clone(),
            folder: attempt
                .location
                .checkout
                .as_ref()
                .map(|checkout| checkout.path().display().to_string()),
            identity: attempt
                .location
                .checkout
                .as_ref()
                .map(|checkout| checkout.identity().as_str().to_owned()),
            base: attempt
                .location
                .checkout
                .as_ref()
                .map(|checkout| checkout.base().to_owned()),
        };
        if let Some(checkout) = attempt.location.checkout.clone() {
            self.disarm(attempt.task, &checkout)?;
        }
        self.landing.for_review.insert(attempt.task, held.clone());
        self.record(RunEvent::Held(Box::new(held)))?;
        self.accept(attempt, &checking)
    }

    fn is_tip(&self, commit: &str) -> bool {
        let tip = self.folders.workplace.site().map(|site| site.tip());
        matches!(tip, Some(Ok(tip)) if tip == commit)
    }

    /// Moves the branch to a verified entry. Returns the commit; none if there was nothing to land.
    fn land_entry(
        &mut self,
        tip: &str,
        replayed: &Replayed,
        entry: &mut QueuedCandidate,
    ) -> Result<Option<String>, LandingError> {
        let name = entry.attempt.name.clone();
        if !std::mem::replace(&mut entry.is_recorded, true) {
            self.record_verified(&entry.attempt, &entry.checking)?;
        }
        if replayed.tree == replayed.onto {
            return Ok(None);
        }
        let Some(site) = self.folders.workplace.site() else {
            return Ok(None);
        };
        let credit = CommitAttribution {
            task: &name,
            title: title_of(self.snapshot.plan(), entry.attempt.task),
            agent: &entry.attempt.agent,
            attempt: entry.attempt.number,
            receipts: &entry.checking.receipts,
        };
        let announced = entry.announced.take().filter(|(below, _)| below == tip);
        let commit = match announced {
            Some((_, commit)) => commit,
            None => {
                let commit = site.final_commit(tip, replayed, &entry.candidate, &credit)?;
                self.record(RunEvent::LandingStarted(runs::LandingStartRecord {
                    task: name.clone(),
                    attempt: entry.attempt.number,
                    commit: commit.clone(),
                    from: tip.to_owned(),
                }))?;
                // A later run that finds the commit on the branch must find this record.
                self.commit()?;
                commit
            }
        };
        if let Some(site) = self.folders.workplace.site() {
            let moved = site.advance(tip, &commit, &name);
            // A mere wait is not recorded again. If git does not find the commit, `git gc` may have removed it.
            if matches!(&moved, Err(error) if !matches!(error, GitError::Failed { .. } | GitError::Moved { .. })) {
                entry.announced = Some((tip.to_owned(), commit.clone()));
            }
            moved?;
        }
        Ok(Some(commit))
    }

    fn landed(&mut self, entry: QueuedCandidate, replayed: &Replayed, commit: Option<String>) -> Result<(), RunError> {
        let QueuedCandidate {
            mut attempt,
            checking,
            verification,
            ..
        } = entry;
        let branch = self.folders.workplace.branch().to_owned();
        self.record(RunEvent::LandingEnded(LandingEndRecord {
            task: attempt.name.clone(),
            attempt: attempt.number,
            branch,
            passed: true,
            commit,
            tree: Some(replayed.tree.clone()),
            why: None,
        }))?;
        // The work is on the branch, and must never be repeated.
        self.commit()?;
        self.release_landing()?;
        if let Verification::Over { slot: Some(slot) } = &verification
            && let Err(error) = slot.keep_caches()
        {
            self.remark(Some(attempt.task), words(&error))?;
        }
        self.free_slot_of(verification);
        self.clear_landed(&mut attempt)?;
        self.accept(attempt, &checking)
    }

    /// Removes the checkout of landed work, unless it has unique work.
    fn clear_landed(&mut self, attempt: &mut RunningAttempt) -> Result<(), RunError> {
        let (Some(checkout), Some(site)) = (attempt.location.checkout.take(), self.folders.workplace.site()) else {
            return Ok(());
        };
        let cleared = match site.checkouts().other_work(&checkout).is_empty() {
            true => site.clear(&checkout, &attempt.name),
            false => site.let_go(&attempt.name),
        };
        match cleared {
            Ok(()) => Ok(()),
            Err(error) => self.remark(Some(attempt.task), words(&error)),
        }
    }

    /// Waits until an obstacle to the branch is gone. No task fails because of it.
    fn hold_landing(&mut self, error: &GitError) -> Result<(), RunError> {
        let branch = self.folders.workplace.branch().to_owned();
        let why = match error {
            GitError::NoBranch(_) => format!(
                "the branch `{branch}` was deleted: restore it with `git branch {branch} {}`",
                self.last_tip()
            ),
            error => words(error),
        };
        let is_news = self.landing.held.as_ref().is_none_or(|(held, _)| *held != why);
        self.landing.held = Some((why.clone(), clock::instant() + RETRY_WAIT));
        if !is_news {
            return Ok(());
        }
        self.record(RunEvent::Paused(RequestRecord {
            by: Some(OURSELVES.to_owned()),
            why: Some(format!(
                "finished work cannot land on `{branch}` yet, and is kept: {why}"
            )),
        }))
    }

    fn last_tip(&self) -> String {
        let start = || Some(self.folders.workplace.conditions()?.start.as_str());
        short(self.state().last_landed_commit().or_else(start).unwrap_or_default()).to_owned()
    }

    fn release_landing(&mut self) -> Result<(), RunError> {
        let is_ending = self.tasks.schedule.stop().is_some();
        if self.landing.held.take().is_none() || self.user.control.is_paused() || is_ending {
            return Ok(());
        }
        self.record(RunEvent::Resumed(RequestRecord {
            by: None,
            why: Some("finished work can land again".to_owned()),
        }))
    }

    /// Reports work that is no longer on the branch: the user may remove commits, and delete branches.
    fn report_removed(&mut self) -> Result<(), RunError> {
        let Some(site) = self.folders.workplace.site() else {
            return Ok(());
        };
        let attempts = self.state().tasks().iter().filter_map(TaskRun::last);
        let landed: Vec<(&str, &str)> = attempts
            .filter_map(|attempt| Some((attempt.name.as_str(), attempt.landed()?.commit.as_deref()?)))
            .collect();
        let gone: Vec<String> = match site.not_on_branch(&landed) {
            Ok(gone) => gone.into_iter().map(str::to_owned).collect(),
            // An error of git is reported by the step that needs git.
            Err(_) => Vec::new(),
        };
        if gone.is_empty() {
            return Ok(());
        }
        let text = format!(
            "{} landed on `{}` and is no longer there: another process moved or deleted the branch",
            listed(&gone),
            site.branch()
        );
        self.remark(None, text)
    }

    pub(super) fn close_landing(&mut self) -> Result<(), RunError> {
        self.report_removed()?;
        let closed = self.folders.workplace.site().map(|site| site.close());
        match closed {
            Some(Err(error)) => self.remark(None, words(&error)),
            _ => Ok(()),
        }
    }
}

/// Why a step towards the branch failed.
pub(super) enum LandingError {
    Run(RunError),
    Git(GitError),
}

impl From<RunError> for LandingError {
    fn from(error: RunError) -> Self {
        LandingError::Run(error)
    }
}

impl From<GitError> for LandingError {
    fn from(error: GitError) -> Self {
        LandingError::Git(error)
    }
}
