//! The way of finished work onto the branch: candidates queue, each is verified as it will land on top of those before it, and lands by
//! compare-and-swap. The verified tree is the tree that lands.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use planwright_core::plan::State;

use super::super::RunError;
use super::super::attempt::{Attempt, Checking, Ending};
use super::super::landing_site::{Credit, Replayed, Replaying};
use super::super::recovery::Unlanded;
use super::RunLoop;
use super::checkouts::{short, title_of, words};
use super::results::Failure;
use crate::clock;
use crate::git::{Candidate, GitError, Slot};
use crate::runs::{self, Asked, Merged, RunEvent};
use crate::verify::{self, Check};
use crate::worker::{Ended, Manner, Workers};

/// How long is waited before something is tried again that keeps work from landing.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// Who pauses a run whose work cannot land.
const OURSELVES: &str = "planwright";

/// The finished work of a run that has not landed.
#[derive(Default)]
pub(super) struct Landing {
    /// In the order in which it lands.
    queue: Vec<Entry>,
    /// Work of an earlier part of the run, by task.
    unlanded: HashMap<u32, Unlanded>,
    /// Checkouts for verification that this run has and does not use now.
    free_slots: Vec<Slot>,
    /// Why nothing lands now, and when it is tried again.
    held: Option<(String, Instant)>,
}

/// A candidate on its way to the branch.
struct Entry {
    attempt: Attempt,
    checking: Box<Checking>,
    candidate: Candidate,
    /// How long the way of tasks is that wait for it: longer ways go first.
    weight: u64,
    replay: Replay,
    verification: Verification,
    /// Whether the log has the result of its verification.
    is_recorded: bool,
    /// The commit that lands and the end of the branch below it, once both are in the log.
    announced: Option<(String, String)>,
}

/// How an entry stands on what is to land before it.
enum Replay {
    /// Not looked at yet, or what is below it has changed.
    Unknown,
    /// It does not fit this tree.
    Conflict {
        onto: String,
    },
    Clean(Replayed),
}

/// How far the verification of an entry is.
enum Verification {
    Waiting,
    /// A command runs in a slot.
    Running {
        key: u64,
        slot: Slot,
        setup: Vec<Check>,
        n_set_up: usize,
    },
    /// The command of an outdated verification is being ended.
    Ending {
        key: u64,
        slot: Slot,
    },
    /// All commands ended.
    Over {
        slot: Option<Slot>,
    },
}

impl Entry {
    fn key(&self) -> Option<u64> {
        match &self.verification {
            Verification::Running { key, .. } | Verification::Ending { key, .. } => Some(*key),
            Verification::Waiting | Verification::Over { .. } => None,
        }
    }

    /// Ends the command that verifies it.
    fn cancel(&self, workers: &mut Workers, manner: Manner) {
        if let Some(key) = self.key() {
            workers.cancel(key, manner);
        }
    }

    fn has_passed(&self) -> bool {
        self.checking.receipts.iter().all(verify::passed)
    }

    fn is_over(&self) -> bool {
        matches!(self.verification, Verification::Over { .. })
    }

    /// Returns whether it was replayed onto a tree, with or without success.
    fn is_on(&self, onto: &str) -> bool {
        match &self.replay {
            Replay::Unknown => false,
            Replay::Conflict { onto: tree } => tree == onto,
            Replay::Clean(replayed) => replayed.onto == onto,
        }
    }
}

impl Landing {
    pub(super) fn new(unlanded: HashMap<u32, Unlanded>) -> Self {
        Landing {
            unlanded,
            ..Landing::default()
        }
    }

    /// Returns whether the work on a task only has to land.
    pub(super) fn has_unlanded(&self, task: u32) -> bool {
        self.unlanded.contains_key(&task)
    }

    pub(super) fn take_unlanded(&mut self, task: u32) -> Option<Unlanded> {
        self.unlanded.remove(&task)
    }

    /// Returns how many attempts wait to land.
    pub(super) fn n_queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether nothing waits to land.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns whether something keeps work from landing: nothing new starts meanwhile.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Returns when something is tried again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.held.as_ref().map(|(_, at)| *at)
    }

    /// Returns whether the work on a task waits to land.
    pub(super) fn is_queued(&self, task: u32) -> bool {
        self.queue.iter().any(|entry| entry.attempt.task == task)
    }

    /// Returns the task whose verification a process is.
    pub(super) fn name_of(&self, key: u64) -> Option<&str> {
        let mut entries = self.queue.iter();
        entries
            .find(|entry| entry.key() == Some(key))
            .map(|entry| entry.attempt.name.as_str())
    }

    /// Has work that waits to land follow another process that moved its task. Returns whether there is any.
    pub(super) fn follow(&mut self, task: u32, to: State, workers: &mut Workers) -> bool {
        let Some(entry) = self.queue.iter_mut().find(|entry| entry.attempt.task == task) else {
            return false;
        };
        if !matches!(to, State::Running | State::Done) {
            entry.attempt.ending.get_or_insert(Ending::TakenAway);
            entry.cancel(workers, Manner::Politely);
        }
        entry.attempt.moved = Some(to).filter(|to| *to != State::Running);
        true
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>, workers: &mut Workers) {
        super::renumber(&mut self.unlanded, new_of);
        for entry in &mut self.queue {
            if entry.attempt.renumber(new_of) {
                entry.cancel(workers, Manner::Politely);
            }
        }
    }

    /// Ends all verifications because the run ends.
    pub(super) fn interrupt(&mut self, workers: &mut Workers, manner: Manner) {
        for entry in &mut self.queue {
            entry.attempt.ending.get_or_insert(Ending::Interrupted);
            entry.cancel(workers, manner);
        }
    }
}

impl RunLoop<'_> {
    /// Queues the work of an attempt for the branch. What more tasks wait for goes first.
    pub(super) fn land(
        &mut self,
        attempt: Attempt,
        checking: Box<Checking>,
        candidate: Candidate,
    ) -> Result<(), RunError> {
        let weight = self.weight_of(attempt.task);
        let is_lighter = |entry: &Entry| entry.weight < weight && matches!(entry.verification, Verification::Waiting);
        let at = self
            .landing
            .queue
            .iter()
            .position(is_lighter)
            .unwrap_or(self.landing.queue.len());
        self.landing.queue.insert(
            at,
            Entry {
                attempt,
                checking,
                candidate,
                weight,
                replay: Replay::Unknown,
                verification: Verification::Waiting,
                is_recorded: false,
                announced: None,
            },
        );
        self.drive_landing()
    }

    /// Returns how many tasks the longest way has that waits for a task.
    fn weight_of(&self, task: u32) -> u64 {
        u64::from(self.weights.get(task as usize).copied().unwrap_or(0))
    }

    /// Takes all steps towards the branch that can be taken now.
    pub(super) fn drive_landing(&mut self) -> Result<(), RunError> {
        let now = clock::instant();
        if self.landing.next().is_some_and(|at| at > now) && self.schedule.stop().is_none() {
            return Ok(());
        }
        loop {
            match self.landing_step() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Step::Run(error)) => return Err(error),
                Err(Step::Git(error)) => return self.hold_landing(&error),
            }
        }
    }

    /// Takes one step. Returns whether there may be another one.
    fn landing_step(&mut self) -> Result<bool, Step> {
        if self.drop_ended()? {
            return Ok(true);
        }
        let Some(site) = self.workplace.site().filter(|_| !self.landing.queue.is_empty()) else {
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
                Replay::Conflict { .. } if is_first => {
                    let entry = self.landing.queue.remove(0);
                    self.conflicted(entry.attempt, entry.checking, entry.candidate, &tip)?;
                    return Ok(true);
                }
                // It may fit when those before it have landed or failed.
                Replay::Conflict { .. } | Replay::Unknown => continue,
                Replay::Clean(replayed) => {
                    let replayed = replayed.clone();
                    if matches!(entry.verification, Verification::Waiting) {
                        self.begin_verification(at, &replayed)?;
                    }
                    let entry = &self.landing.queue[at];
                    if entry.is_over() && is_first {
                        return self.conclude_first(&tip, &replayed);
                    }
                    // What failed for itself is not what others build on.
                    if !entry.is_over() || entry.has_passed() {
                        (below, onto) = (replayed.commit, replayed.tree);
                    }
                }
            }
        }
        self.release_landing()?;
        Ok(false)
    }

    /// Lets go of entries that the run or another process has ended.
    fn drop_ended(&mut self) -> Result<bool, Step> {
        let ends = self.stops.ends_attempts() || (self.landing.held.is_some() && self.schedule.stop().is_some());
        let is_ended = |entry: &Entry| {
            let is_taken = matches!(entry.attempt.ending, Some(Ending::Interrupted | Ending::TakenAway));
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

    /// Ends the verification of an entry that stands on something else now. Returns whether that has to be waited for.
    fn end_outdated(&mut self, at: usize) -> bool {
        let entry = &mut self.landing.queue[at];
        let verification = std::mem::replace(&mut entry.verification, Verification::Waiting);
        entry.checking.receipts.clear();
        entry.announced = None;
        match verification {
            Verification::Running { key, slot, .. } => {
                self.workers.cancel(key, Manner::Politely);
                self.landing.queue[at].verification = Verification::Ending { key, slot };
                true
            }
            other => {
                self.free_slot_of(other);
                false
            }
        }
    }

    fn free_slot_of(&mut self, verification: Verification) {
        match verification {
            Verification::Running { slot, .. } | Verification::Ending { slot, .. } => {
                self.landing.free_slots.push(slot)
            }
            Verification::Over { slot } => self.landing.free_slots.extend(slot),
            Verification::Waiting => {}
        }
    }

    fn replay_entry(&mut self, at: usize, below: &str, onto: &str) -> Result<(), Step> {
        let entry = &self.landing.queue[at];
        let Some(site) = self.workplace.site() else {
            return Ok(());
        };
        let checkout = entry.attempt.checkout.as_ref().map(|checkout| checkout.path());
        let replayed = site.replay(&entry.attempt.name, &entry.candidate, below, onto, checkout)?;
        self.landing.queue[at].replay = match replayed {
            Replaying::Clean(replayed) => Replay::Clean(replayed),
            Replaying::Conflict { .. } => Replay::Conflict { onto: onto.to_owned() },
        };
        Ok(())
    }

    /// Begins to verify an entry as it would land.
    fn begin_verification(&mut self, at: usize, replayed: &Replayed) -> Result<(), Step> {
        let entry = &mut self.landing.queue[at];
        entry.is_recorded = false;
        entry.checking.receipts.clear();
        entry.checking.commit = Some(replayed.commit.clone());
        if entry.checking.checks.is_empty() {
            entry.verification = Verification::Over { slot: None };
            return Ok(());
        }
        let Some(site) = self.workplace.site() else {
            return Ok(());
        };
        let slot = match self.landing.free_slots.pop() {
            Some(slot) => slot,
            None => site.take_slot()?,
        };
        let prepared = site.prepare(&slot, &replayed.commit)?;
        let is_configured = self.request.config.run.setup.is_some();
        let setup = match prepared.is_fresh || is_configured {
            true => site
                .preparation()
                .setup
                .iter()
                .map(|command| self.setup_check(command))
                .collect(),
            false => Vec::new(),
        };
        self.next_command(at, slot, setup, 0)
    }

    /// Starts the next command of an entry's verification, or ends it.
    fn next_command(&mut self, at: usize, slot: Slot, setup: Vec<Check>, n_set_up: usize) -> Result<(), Step> {
        let Some(site) = self.workplace.site() else {
            return Ok(());
        };
        let entry = &self.landing.queue[at];
        let root = site.root_in(&slot.path());
        let folder = match verify::folder(&root, self.snapshot.plan(), entry.attempt.task as usize) {
            Ok(folder) => folder,
            Err(error) => {
                // The candidate has no such folder: there is nothing that could be verified.
                let entry = &mut self.landing.queue[at];
                entry.checking.receipts = entry
                    .checking
                    .checks
                    .iter()
                    .map(|check| verify::not_run(check, &error))
                    .collect();
                entry.verification = Verification::Over { slot: Some(slot) };
                return Ok(());
            }
        };
        let variables = site
            .environment(std::env::vars_os(), &slot.path())
            .into_iter()
            .chain(slot.environment());
        let scene = self.scene(&entry.attempt, folder, variables);
        let mut n_set_up = n_set_up;
        loop {
            let entry = &mut self.landing.queue[at];
            let n_receipts = entry.checking.receipts.len();
            let has_failed = !entry.has_passed();
            let next = match setup.get(n_set_up) {
                Some(command) => Some((
                    command,
                    entry.attempt.place.check(n_set_up + 1).with_extension("setup.log"),
                )),
                None => entry
                    .checking
                    .checks
                    .get(n_receipts)
                    .map(|check| (check, entry.attempt.place.check(n_receipts + 1))),
            };
            // What fails while the checkout is set up has nothing to verify behind it.
            let Some((check, log)) = next.filter(|_| !(has_failed && n_set_up < setup.len())) else {
                entry.verification = Verification::Over { slot: Some(slot) };
                return Ok(());
            };
            let key = self.attempts.new_key();
            match self.workers.start(key, &verify::spec(check, &scene, log)) {
                Ok(_) => {
                    self.landing.queue[at].verification = Verification::Running {
                        key,
                        slot,
                        setup,
                        n_set_up,
                    };
                    return Ok(());
                }
                Err(error) => {
                    let receipt = verify::receipt_of_refusal(check, &error, None);
                    let is_setup = n_set_up < setup.len();
                    self.landing.queue[at].checking.receipts.push(receipt);
                    n_set_up += usize::from(is_setup);
                }
            }
        }
    }

    /// A command of a verification ended. Returns whether the process was one.
    pub(super) fn verification_ended(&mut self, ended: &Ended) -> Result<bool, RunError> {
        let Some(at) = self
            .landing
            .queue
            .iter()
            .position(|entry| entry.key() == Some(ended.key))
        else {
            return Ok(false);
        };
        if ended.was_outlived {
            let attempt = &self.landing.queue[at].attempt;
            let (task, name, number) = (attempt.task, attempt.name.clone(), attempt.number);
            self.end_left_of(task, &name, number)?;
        }
        let entry = &mut self.landing.queue[at];
        let is_ended = matches!(entry.attempt.ending, Some(Ending::Interrupted | Ending::TakenAway));
        match std::mem::replace(&mut entry.verification, Verification::Waiting) {
            Verification::Running {
                slot, setup, n_set_up, ..
            } if !is_ended => {
                let n_set_up = self.keep_command(at, ended, &setup, n_set_up);
                if let Err(step) = self.next_command(at, slot, setup, n_set_up) {
                    self.landing.queue[at].verification = Verification::Waiting;
                    match step {
                        Step::Run(error) => return Err(error),
                        Step::Git(error) => self.hold_landing(&error)?,
                    }
                }
            }
            other => self.free_slot_of(other),
        }
        self.drive_landing()?;
        Ok(true)
    }

    /// Keeps the receipt of a command. Returns how many commands of the set-up are through.
    fn keep_command(&mut self, at: usize, ended: &Ended, setup: &[Check], n_set_up: usize) -> usize {
        let entry = &mut self.landing.queue[at];
        if let Some(command) = setup.get(n_set_up) {
            let log = entry.attempt.place.check(n_set_up + 1).with_extension("setup.log");
            let receipt = verify::receipt(command, ended, &log, entry.checking.commit.clone());
            if !verify::passed(&receipt) {
                entry.checking.receipts.push(receipt);
            }
            return n_set_up + 1;
        }
        let number = entry.checking.receipts.len();
        if let Some(check) = entry.checking.checks.get(number) {
            let log = entry.attempt.place.check(number + 1);
            let receipt = verify::receipt(check, ended, &log, entry.checking.commit.clone());
            entry.checking.receipts.push(receipt);
        }
        n_set_up
    }

    /// Concludes the verification of the first entry: it lands, or its attempt has failed.
    fn conclude_first(&mut self, tip: &str, replayed: &Replayed) -> Result<bool, Step> {
        let mut entry = self.landing.queue.remove(0);
        for receipt in &mut entry.checking.receipts {
            receipt.tree = Some(replayed.tree.clone());
        }
        if !entry.has_passed() {
            self.record_verified(&entry.attempt, &entry.checking)?;
            let receipts = std::mem::take(&mut entry.checking.receipts);
            self.free_slot_of(entry.verification);
            self.failed(entry.attempt, &Failure::Verification(receipts), true)?;
            return Ok(true);
        }
        match self.land_entry(tip, replayed, &mut entry) {
            Ok(commit) => {
                self.landed(entry, replayed, commit)?;
                Ok(true)
            }
            // The branch has moved: the entry is replayed and verified on top of that.
            Err(Step::Git(GitError::Moved { .. })) if !self.is_tip(tip) => {
                self.landing.queue.insert(0, entry);
                Ok(true)
            }
            Err(step) => {
                self.landing.queue.insert(0, entry);
                Err(step)
            }
        }
    }

    fn is_tip(&self, commit: &str) -> bool {
        let tip = self.workplace.site().map(|site| site.tip());
        matches!(tip, Some(Ok(tip)) if tip == commit)
    }

    /// Moves the branch to a verified entry. Returns the commit; none where there was nothing to land.
    fn land_entry(&mut self, tip: &str, replayed: &Replayed, entry: &mut Entry) -> Result<Option<String>, Step> {
        let name = entry.attempt.name.clone();
        if !std::mem::replace(&mut entry.is_recorded, true) {
            self.record_verified(&entry.attempt, &entry.checking)?;
        }
        if replayed.tree == replayed.onto {
            return Ok(None);
        }
        let Some(site) = self.workplace.site() else {
            return Ok(None);
        };
        let credit = Credit {
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
                self.record(RunEvent::Landing(runs::Landing {
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
        if let Some(site) = self.workplace.site() {
            let moved = site.advance(tip, &commit, &name);
            // What only waits is not recorded again. A clean-up may have removed a commit that git does not find.
            if matches!(&moved, Err(error) if !matches!(error, GitError::Failed { .. } | GitError::Moved { .. })) {
                entry.announced = Some((tip.to_owned(), commit.clone()));
            }
            moved?;
        }
        Ok(Some(commit))
    }

    /// The work of an attempt has landed.
    fn landed(&mut self, entry: Entry, replayed: &Replayed, commit: Option<String>) -> Result<(), RunError> {
        let Entry {
            mut attempt,
            checking,
            verification,
            ..
        } = entry;
        let branch = self.workplace.site().map_or("", |site| site.branch()).to_owned();
        self.record(RunEvent::Merged(Merged {
            task: attempt.name.clone(),
            attempt: attempt.number,
            branch,
            passed: true,
            commit,
            tree: Some(replayed.tree.clone()),
            why: None,
        }))?;
        // The work is on the branch, and must not be done again whatever happens from here.
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

    /// Removes the checkout of work that has landed, unless it holds something that is nowhere else.
    fn clear_landed(&mut self, attempt: &mut Attempt) -> Result<(), RunError> {
        let (Some(checkout), Some(site)) = (attempt.checkout.take(), self.workplace.site()) else {
            return Ok(());
        };
        let cleared = match site.other_work(&checkout).is_empty() {
            true => site.clear(&checkout, &attempt.name),
            false => site.let_go(&attempt.name),
        };
        match cleared {
            Ok(()) => Ok(()),
            Err(error) => self.remark(Some(attempt.task), words(&error)),
        }
    }

    /// Waits until something is no longer in the way of the branch. No task fails because of it.
    fn hold_landing(&mut self, error: &GitError) -> Result<(), RunError> {
        let branch = self.workplace.site().map_or("", |site| site.branch()).to_owned();
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
        self.record(RunEvent::Paused(Asked {
            by: Some(OURSELVES.to_owned()),
            why: Some(format!(
                "finished work cannot land on `{branch}` yet, and is kept: {why}"
            )),
        }))
    }

    /// Returns the commit that the branch was seen at last.
    fn last_tip(&self) -> String {
        let tasks = self.state().tasks().iter();
        let landed = tasks.flat_map(|task| &task.attempts).filter_map(|attempt| {
            let merged = attempt.merged.as_ref().filter(|merged| merged.passed)?;
            Some((attempt.verified_at.clone()?, merged.commit.clone()?))
        });
        let start = self
            .workplace
            .conditions()
            .map_or("", |conditions| conditions.start.as_str());
        let last = landed.max().map_or_else(|| start.to_owned(), |(_, commit)| commit);
        short(&last).to_owned()
    }

    fn release_landing(&mut self) -> Result<(), RunError> {
        if self.landing.held.take().is_none() || self.control.is_paused() {
            return Ok(());
        }
        self.record(RunEvent::Resumed(Asked {
            by: None,
            why: Some("finished work can land again".to_owned()),
        }))
    }

    /// Lets go of the branch at the end of the run.
    pub(super) fn close_landing(&mut self) -> Result<(), RunError> {
        let closed = self.workplace.site().map(|site| site.close());
        match closed {
            Some(Err(error)) => self.remark(None, words(&error)),
            _ => Ok(()),
        }
    }
}

/// Why a step towards the branch was not taken.
pub(super) enum Step {
    /// The run cannot continue.
    Run(RunError),
    /// Git is in the way, for now.
    Git(GitError),
}

impl From<RunError> for Step {
    fn from(error: RunError) -> Self {
        Step::Run(error)
    }
}

impl From<GitError> for Step {
    fn from(error: GitError) -> Self {
        Step::Git(error)
    }
}
