//! The one way to change a plan: lock, read the newest text, prepare the change, write the journal, replace the file, write the
//! journal.
//!
//! A crash at any point leaves the old file or the new one, and enough in the journal to show which.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use planwright_core::text::SourceText;

use super::error::{StoreError, UpdateError};
use super::load::{LoadError, holds, load_from};
use super::replace::refuse_irreplaceable;
use super::temporary::{TemporaryFile, remove_litter};
use crate::caller;
use crate::clock;
use crate::files::{DiskFiles, Files};
use crate::journal::{
    self, ChangeOutcomeRecord, ChangeRecord, History, Journal, JournalError, JournalEvent, JournalRepair,
    ManualVerification, TextChange,
};
use crate::layout::PlanPlace;
use crate::lock::{self, LockHolder, PATIENCE, PlanLock};

/// How often a change is prepared again because a program without a lock changed the file.
const MAX_TRIES: usize = 5;

/// Changes plan files. Its dependencies are fields, so that tests can replace them.
pub struct Store<'w> {
    pub files: &'w dyn Files,
    /// Returns the present time, as RFC 3339 in UTC.
    pub clock: &'w dyn Fn() -> String,
    /// How long to wait for another writer.
    pub patience: Duration,
    /// Whether a write-protected plan is replaced too, like tools that only check the folder's permissions.
    pub replaces_protected: bool,
}

impl Default for Store<'static> {
    /// Returns the store over the files and the clock of the machine.
    fn default() -> Self {
        Store {
            files: &DiskFiles,
            clock: &clock::now,
            patience: PATIENCE,
            replaces_protected: false,
        }
    }
}

/// The plan to change.
#[derive(Clone, Copy, Debug)]
pub struct PlanFile<'a> {
    /// A link is followed, and its target changes.
    pub path: &'a Path,
    /// Its id, from [`journal::plan_id`].
    pub id: Option<&'a str>,
}

#[derive(Clone, Debug, Default)]
pub struct PreparedChange {
    /// The new text of the plan; none if only states in the journal change.
    pub text: Option<SourceText>,
    /// The record of the change. The store adds the change of the text.
    pub change: ChangeRecord,
}

#[derive(Debug)]
pub struct UpdateResult {
    /// The number of the change in the journal; none if nothing changed.
    pub change: Option<u64>,
    /// The text of the plan file now.
    pub source: SourceText,
    /// The bytes of the journal that were added.
    pub recorded: Range<u64>,
    /// Repairs and discoveries while the journal was opened.
    pub notices: Vec<JournalRepair>,
}

impl UpdateResult {
    fn new(change: Option<u64>, source: SourceText, n_before: u64, journal: Journal<'_>) -> Self {
        UpdateResult {
            change,
            source,
            recorded: n_before..journal.n_bytes(),
            notices: journal.into_notices(),
        }
    }
}

/// Returns the history of a plan. Takes no lock and writes nothing: a record in progress may be missing.
pub fn history(plan: PlanFile<'_>) -> Result<History, StoreError> {
    let place = PlanPlace::of(&DiskFiles, plan.path).map_err(|source| LoadError::new(plan.path, source))?;
    journal::history_of(&DiskFiles, &place, plan.id).map_err(|journal| StoreError::History {
        path: plan.path.to_owned(),
        journal,
    })
}

impl Store<'_> {
    /// Checks that a plan could be changed, without changing it: that its file can be replaced, and its journal extended.
    pub fn try_out(&self, plan: PlanFile<'_>, source: &SourceText) -> Result<(), StoreError> {
        let session = UpdateSession::open(self, plan, "try")?;
        let _lock = session.lock()?;
        session.journal()?;
        session.temporary(source, source.as_str())?.discard(self.files);
        Ok(())
    }

    /// Changes a plan. `prepare` gets the newest text and what is recorded, and returns a change, nothing, or why it refuses. It
    /// is called again if a program that takes no lock changed the file in the meantime.
    ///
    /// When this returns, the change is on the disk and in the journal.
    pub fn update<E>(
        &self,
        plan: PlanFile<'_>,
        verb: &str,
        prepare: impl FnMut(&SourceText, &History) -> Result<Option<PreparedChange>, E>,
    ) -> Result<UpdateResult, UpdateError<E>> {
        self.update_known(plan, verb, None, prepare)
    }

    /// Changes a plan for a caller that has read the file before. An unchanged file is only compared, and not read again.
    pub(crate) fn update_known<E>(
        &self,
        plan: PlanFile<'_>,
        verb: &str,
        known: Option<&SourceText>,
        mut prepare: impl FnMut(&SourceText, &History) -> Result<Option<PreparedChange>, E>,
    ) -> Result<UpdateResult, UpdateError<E>> {
        let session = UpdateSession::open(self, plan, verb)?;
        let _lock = session.lock()?;
        let mut journal = session.journal()?;
        let n_before = journal.n_bytes();
        for _ in 0..MAX_TRIES {
            let source = session.load(&mut journal, known)?;
            let prepared = prepare(&source, journal.history()).map_err(UpdateError::Refused)?;
            let Some(work) = PlannedUpdate::new(&source, prepared) else {
                return Ok(UpdateResult::new(None, source, n_before, journal));
            };
            if let Some(change) = session.make(&mut journal, &source, &work)? {
                let source = work.text.unwrap_or(source);
                return Ok(UpdateResult::new(Some(change), source, n_before, journal));
            }
        }
        let path = plan.path.to_owned();
        Err(StoreError::Changing { path }.into())
    }
}

impl Store<'_> {
    /// Records a note about a plan, such as its origin, without a change of its text or a state. The record is durable when this returns.
    pub fn record_note(&self, plan: PlanFile<'_>, change: ChangeRecord) -> Result<(), StoreError> {
        let session = UpdateSession::open(self, plan, &change.verb)?;
        let _lock = session.lock()?;
        let mut journal = session.journal()?;
        let appended = journal.append_change(&(self.clock)(), change);
        appended.map(drop).map_err(|error| session.journal_error(error))
    }

    /// Records that a task was verified, and changes nothing. The record is durable when this returns.
    pub fn record_verified(
        &self,
        plan: PlanFile<'_>,
        verified: ManualVerification,
    ) -> Result<Vec<JournalRepair>, StoreError> {
        let session = UpdateSession::open(self, plan, "verify")?;
        let _lock = session.lock()?;
        let mut journal = session.journal()?;
        let appended = journal.append(&(self.clock)(), JournalEvent::Verified(Box::new(verified)));
        appended.map_err(|error| session.journal_error(error))?;
        Ok(journal.into_notices())
    }
}

pub(super) struct UpdateSession<'a> {
    pub(super) store: &'a Store<'a>,
    pub(super) plan: PlanFile<'a>,
    pub(super) place: PlanPlace,
    me: LockHolder,
}

/// An update with an effect.
struct PlannedUpdate {
    /// The new text, if it differs.
    text: Option<SourceText>,
    change: ChangeRecord,
}

impl PlannedUpdate {
    fn new(source: &SourceText, prepared: Option<PreparedChange>) -> Option<Self> {
        let PreparedChange { text, change } = prepared?;
        let text = text.filter(|text| text.as_str() != source.as_str());
        let is_work = text.is_some() || !change.states.is_empty() || !change.moves.is_empty();
        let is_work = is_work || change.claim.is_some() || change.approval.is_some();
        is_work.then_some(PlannedUpdate { text, change })
    }
}

impl<'a> UpdateSession<'a> {
    pub(super) fn open(store: &'a Store<'a>, plan: PlanFile<'a>, verb: &str) -> Result<Self, StoreError> {
        let place = PlanPlace::of(store.files, plan.path).map_err(|source| LoadError::new(plan.path, source))?;
        if let Some(attempt) = caller::attempt_on(&place, plan.id) {
            let path = plan.path.to_owned();
            return Err(StoreError::InAttempt { path, attempt });
        }
        Ok(UpdateSession {
            store,
            plan,
            place,
            me: LockHolder::new(verb.to_owned(), (store.clock)()),
        })
    }

    pub(super) fn lock(&self) -> Result<PlanLock, StoreError> {
        let made = self.place.make_state_folder(self.store.files);
        made.map_err(|source| self.untouched(source))?;
        self.lock_at(&self.place)
    }

    /// Takes the lock of another place in the same workspace.
    pub(super) fn lock_at(&self, place: &PlanPlace) -> Result<PlanLock, StoreError> {
        let lock = lock::acquire(self.store.files, &place.lock(), &self.me, self.store.patience);
        lock.map_err(|error| StoreError::lock(self.plan.path, error))
    }

    pub(super) fn journal(&self) -> Result<Journal<'a>, StoreError> {
        let journal = journal::open_for(self.store.files, &self.place, self.plan.id, &self.me);
        journal.map_err(|error| self.journal_error(error))
    }

    /// Reads the newest text, and determines the outcome of an interrupted change from it.
    pub(super) fn load(&self, journal: &mut Journal<'_>, known: Option<&SourceText>) -> Result<SourceText, StoreError> {
        let (files, target) = (self.store.files, &self.place.target);
        let source = match known {
            Some(known) if holds(files, target, known)? => known.clone(),
            _ => load_from(files, target)?.source,
        };
        let settled = journal.settle(source.as_str(), &(self.store.clock)());
        settled.map_err(|error| self.journal_error(error))?;
        Ok(source)
    }

    /// Makes a change and returns its number; none if the file has changed since the change was prepared.
    fn make(
        &self,
        journal: &mut Journal<'_>,
        source: &SourceText,
        work: &PlannedUpdate,
    ) -> Result<Option<u64>, StoreError> {
        let Some(text) = &work.text else {
            let recorded = journal.append_change(&(self.store.clock)(), work.change.clone());
            return recorded.map(Some).map_err(|error| self.journal_error(error));
        };
        let temporary = self.temporary(source, text.as_str())?;
        let change = ChangeRecord {
            text: Some(TextChange::between(source.as_str(), text.as_str())),
            ..work.change.clone()
        };
        match journal.append_change(&(self.store.clock)(), change) {
            Ok(seq) => self.land(journal, source, temporary, seq),
            Err(error) => {
                temporary.discard(self.store.files);
                Err(self.journal_error(error))
            }
        }
    }

    /// Writes the new text next to the old one.
    fn temporary<'t>(&self, source: &SourceText, text: &'t str) -> Result<TemporaryFile<'t>, StoreError> {
        let (files, target) = (self.store.files, &self.place.target);
        if source.damage().is_some() {
            let path = self.plan.path.to_owned();
            return Err(StoreError::NotUtf8 { path });
        }
        let metadata = files
            .metadata(target)
            .map_err(|source| LoadError::new(self.plan.path, source))?;
        refuse_irreplaceable(self.plan.path, &metadata, self.store.replaces_protected)?;
        let plan = self.place.key.hash();
        let foreign = remove_litter(files, self.place.folder(), &plan);
        let written = TemporaryFile::write(files, target, &metadata, &plan, text);
        let temporary = written.map_err(|source| self.untouched(source))?;
        foreign.remove_old(files, &temporary);
        Ok(temporary)
    }

    /// Replaces the file, if it has not changed since it was read.
    fn land(
        &self,
        journal: &mut Journal<'_>,
        source: &SourceText,
        temporary: TemporaryFile<'_>,
        change: u64,
    ) -> Result<Option<u64>, StoreError> {
        let (files, target) = (self.store.files, &self.place.target);
        let void = |journal: &mut Journal<'_>| {
            let settled = journal.append(
                &(self.store.clock)(),
                JournalEvent::Void(ChangeOutcomeRecord { change }),
            );
            settled.map(|_| None).map_err(|error| self.journal_error(error))
        };
        let found = holds(files, target, source);
        if !matches!(found, Ok(true)) {
            temporary.discard(files);
            let settled = void(journal);
            found?;
            return settled;
        }
        match temporary.land(files, target, source.as_str()) {
            Ok(true) => {}
            Ok(false) => return void(journal),
            Err(error) => {
                // An error does not prove that nothing happened: the file is read again. If that fails, the next writer reads it.
                self.load(journal, None).ok();
                return Err(self.untouched(error));
            }
        }
        files
            .sync_folder(self.place.folder())
            .map_err(|source| StoreError::NotConfirmed {
                path: self.plan.path.to_owned(),
                source,
            })?;
        // The change is durable in both places now. The next writer can infer that it landed, even without a record.
        if journal
            .append(
                &(self.store.clock)(),
                JournalEvent::Landed(ChangeOutcomeRecord { change }),
            )
            .is_err()
        {
            journal.notice(JournalRepair::NotMarked);
        }
        Ok(Some(change))
    }

    pub(super) fn untouched(&self, source: io::Error) -> StoreError {
        StoreError::untouched(self.plan.path, source)
    }

    pub(super) fn journal_error(&self, error: JournalError) -> StoreError {
        StoreError::journal(self.plan.path, error)
    }
}
