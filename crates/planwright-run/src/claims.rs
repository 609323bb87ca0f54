//! The holders of tasks, from the journal: claims with an owner, a number and possibly a lease.

use std::collections::{HashMap, HashSet};

use planwright_core::plan::State;

use crate::journal::{ChangeOutcome, ChangeRecord, ClaimRecord, History, PastChange};

/// The verb in a plan's history for changes made by a run.
pub const RUN_VERB: &str = "run";

/// The right of one owner, or of a run, to finish a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The number of the change that made it.
    pub number: u64,
    pub holder: ClaimHolder,
    /// Since when, as RFC 3339 in UTC.
    pub since: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimHolder {
    /// A person, or an agent that a person drives.
    Owner(ClaimRecord),
    Run,
}

impl Claim {
    /// Returns whether its lease has expired at a time. A claim without a lease holds until its task moves.
    pub fn is_expired(&self, now: &str) -> bool {
        match &self.holder {
            ClaimHolder::Owner(claimed) => claimed.until.as_deref().is_some_and(|until| until <= now),
            ClaimHolder::Run => false,
        }
    }

    /// Returns the name of its owner; none for a run.
    pub fn owner(&self) -> Option<&str> {
        match &self.holder {
            ClaimHolder::Owner(claimed) => Some(&claimed.by),
            ClaimHolder::Run => None,
        }
    }

    pub fn until(&self) -> Option<&str> {
        match &self.holder {
            ClaimHolder::Owner(claimed) => claimed.until.as_deref(),
            ClaimHolder::Run => None,
        }
    }
}

/// The claims on the tasks of a plan, and the failed tasks that are offered again.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    by_task: HashMap<String, Claim>,
    /// The tasks of every claim ever made, by its number.
    made: HashMap<u64, Vec<String>>,
    /// The claims that each change ended, by the change's number. Undoing the change restores them.
    ended: HashMap<u64, Vec<(String, Claim)>>,
    offered: HashSet<String>,
}

impl Claims {
    pub fn of(history: &History) -> Self {
        let mut claims = Claims::default();
        let landed = history.changes().iter();
        for past in landed.filter(|past| past.outcome != ChangeOutcome::Void) {
            claims.apply(past);
        }
        claims
    }

    fn apply(&mut self, past: &PastChange) {
        let change = &past.change;
        for moved in change.moves.iter().chain(&change.states) {
            self.offered.remove(&moved.task);
            if let Some(claim) = self.by_task.get(&moved.task) {
                let ended = (moved.task.clone(), claim.clone());
                self.ended.entry(past.seq).or_default().push(ended);
            }
            match State::from_word(&moved.to) {
                Some(State::Running) if change.verb == RUN_VERB => {
                    self.insert(&moved.task, past, ClaimHolder::Run);
                }
                Some(State::Running) if change.claim.is_some() => {}
                Some(State::Failed) if change.verb == "retry" => drop(self.offered.insert(moved.task.clone())),
                _ => drop(self.by_task.remove(&moved.task)),
            }
        }
        self.restore(change);
        if let (true, Some(to)) = (change.verb == "rename", renamed_to(change)) {
            let held = change.tasks.first().and_then(|from| self.by_task.remove(from));
            self.by_task.extend(held.map(|claim| (to.to_owned(), claim)));
        }
        if let Some(claimed) = &change.claim {
            self.made.insert(past.seq, change.tasks.clone());
            for task in &change.tasks {
                self.insert(task, past, ClaimHolder::Owner(claimed.clone()));
            }
        }
    }

    /// Restores the claims that an undone change had ended: its tasks are running again.
    fn restore(&mut self, undo: &ChangeRecord) {
        let undone = undo.undoes.and_then(|undone| self.ended.get(&undone));
        let is_running = |task: &String| {
            let mut moves = undo.moves.iter().chain(&undo.states);
            moves.any(|moved| moved.task == *task && State::from_word(&moved.to) == Some(State::Running))
        };
        let restored = undone.into_iter().flatten().filter(|(task, _)| is_running(task));
        let restored: Vec<(String, Claim)> = restored.cloned().collect();
        self.by_task.extend(restored);
    }

    fn insert(&mut self, task: &str, past: &PastChange, holder: ClaimHolder) {
        let claim = Claim {
            number: past.seq,
            holder,
            since: past.time.clone(),
        };
        self.by_task.insert(task.to_owned(), claim);
    }

    pub fn on(&self, task: &str) -> Option<&Claim> {
        self.by_task.get(task)
    }

    /// Returns the tasks of an active or ended claim; none if no claim has this number.
    pub fn tasks_of(&self, number: u64) -> Option<&[String]> {
        self.made.get(&number).map(Vec::as_slice)
    }

    /// Returns whether a retry offers a failed task again.
    pub fn is_offered(&self, task: &str) -> bool {
        self.offered.contains(task)
    }

    /// Returns the tasks whose lease has expired at a time.
    pub fn expired(&self, now: &str) -> Vec<(&str, &Claim)> {
        let mut expired: Vec<(&str, &Claim)> = self.all().filter(|(_, claim)| claim.is_expired(now)).collect();
        expired.sort_by_key(|(_, claim)| claim.number);
        expired
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &Claim)> {
        self.by_task.iter().map(|(task, claim)| (task.as_str(), claim))
    }
}

/// Returns the new name of a task that was renamed while it was running.
fn renamed_to(change: &ChangeRecord) -> Option<&str> {
    let moved = change.moves.iter().chain(&change.states);
    let mut renamed = moved.filter(|moved| moved.from.is_none() && State::from_word(&moved.to) == Some(State::Running));
    renamed.next().map(|moved| moved.task.as_str())
}

#[derive(Clone, Copy, Debug)]
pub struct ClaimAuthority<'a> {
    pub owner: &'a str,
    /// The number of the claim that the caller names, if any.
    pub claim: Option<u64>,
    pub takes_over: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotHolder {
    Held(Claim),
    /// Another owner holds the task, and the verb cannot take it over.
    HeldAgainst(Claim),
    /// The caller names an earlier claim on it.
    OldNumber(Claim),
    /// The caller names a claim on another task.
    OfOtherTask {
        claim: Claim,
        number: u64,
        task: String,
    },
    NoSuchClaim {
        claim: Claim,
        number: u64,
    },
    /// The claim was made by name, and the caller gives no number.
    NoNumber(Claim),
    OfRun(Claim),
}

impl ClaimAuthority<'_> {
    /// Refuses to finish a task for a caller that does not hold it.
    pub fn refuse(&self, task: &str, claims: &Claims) -> Result<(), NotHolder> {
        let Some(claim) = claims.on(task).filter(|_| !self.takes_over) else {
            return Ok(());
        };
        let own = || claim.clone();
        match &claim.holder {
            // A run that has ended may have left the task for a review, and one that was killed resumes it.
            ClaimHolder::Run => Err(NotHolder::OfRun(own())),
            ClaimHolder::Owner(_) if self.claim.is_some_and(|number| number != claim.number) => {
                let number = self.claim.unwrap_or_default();
                Err(match claims.tasks_of(number) {
                    None => NotHolder::NoSuchClaim { claim: own(), number },
                    Some(tasks) if tasks.iter().any(|named| named == task) => NotHolder::OldNumber(own()),
                    Some(tasks) => NotHolder::OfOtherTask {
                        claim: own(),
                        number,
                        task: tasks.first().cloned().unwrap_or_default(),
                    },
                })
            }
            ClaimHolder::Owner(claimed) if claimed.by != self.owner => Err(NotHolder::Held(own())),
            ClaimHolder::Owner(claimed) if claimed.is_named && self.claim.is_none() => Err(NotHolder::NoNumber(own())),
            ClaimHolder::Owner(_) => Ok(()),
        }
    }
}
