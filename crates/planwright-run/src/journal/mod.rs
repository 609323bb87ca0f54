//! The journal of a plan: one append-only file of records, durable before a change is acknowledged.
//!
//! A change of the file is two records: the change before the file is touched, and its landing afterwards. After a crash in
//! between, the text in the file shows which applies. A run has a log of its own in the same format (`runs`).

mod find;
pub(crate) mod frame;
mod history;
mod hunks;
pub(crate) mod line;
mod records;

use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use find::{follow, history_of, open_for};
pub use find::{is_known_id, plan_id};
pub use frame::{JournalHeader, VERSION};
pub use history::{ChangeOutcome, History, JournalTaskState, PastChange};
pub use hunks::Hunk;
pub use line::UnknownRecord;
pub use records::{
    ChangeOutcomeRecord, ChangeRecord, ClaimRecord, ExternalChangeRecord, IdChangeRecord, JournalCutRecord,
    JournalEvent, JournalRecord, ManualVerification, PathChangeRecord, PlanMoveRecord, Receipt, StateChange,
    TextChange, UnknownOutcomeRecord,
};

use planwright_core::text::count;

use crate::digest::Digest;
use crate::files::Files;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It was written by a later planwright, and adding to it could break it.
    #[error("the journal `{}` has version {version}; this planwright writes {VERSION}", .path.display())]
    Newer { path: PathBuf, version: u32 },
    /// It is damaged before its end.
    #[error("the journal `{}` is damaged at byte {offset}: {what}", .path.display())]
    Corrupt {
        path: PathBuf,
        /// The first byte of the damaged line.
        offset: usize,
        /// The kind of damage.
        what: &'static str,
    },
    /// The journal of a plan that was moved is in use at its old place.
    #[error("the plan was moved here from `{from}`, and its journal is still in use there")]
    InUse {
        /// The old path, from the root of the workspace.
        from: String,
    },
    /// The operating system returned an error.
    #[error("the journal `{}` cannot be used", .path.display())]
    Io {
        /// The journal, or its folder.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl JournalError {
    /// Returns the kind of the error of the operating system, if it returned one.
    pub(crate) fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            JournalError::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Returns the next step for the user.
    pub fn help(&self) -> &'static str {
        match self {
            JournalError::Newer { .. } => "use a newer planwright for this workspace; `planwright check` still works",
            JournalError::Corrupt { .. } => {
                "look at that line: restore the file from a backup, or move it away to begin a new history"
            }
            JournalError::InUse { .. } => "wait until the other planwright is done, and try again",
            JournalError::Io { .. } => "check that you may write to `.planwright` and that there is space",
        }
    }
}

/// A repair or a discovery while a journal was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalRepair {
    /// The incomplete end of the journal was cut.
    TornTail { journal: PathBuf, n_bytes: u64 },
    /// A change was interrupted, and the file shows its outcome.
    Settled { change: u64, outcome: ChangeOutcome },
    /// Another program changed the file since planwright last wrote it.
    External,
    /// The plan was moved, and its journal was moved with it.
    Moved {
        /// The old path, from the root of the workspace.
        from: String,
    },
    /// The plan at this path has another id than the plan of this journal.
    Identified {
        /// The earlier id, if there was one.
        from: Option<String>,
    },
    /// The change is in the file and will stay, but the journal does not record that yet.
    NotMarked,
}

impl std::fmt::Display for JournalRepair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JournalRepair::TornTail { journal, n_bytes } => {
                write!(
                    f,
                    "removed an incomplete record from the end of `{}` ({})",
                    journal.display(),
                    count(*n_bytes, "byte")
                )
            }
            JournalRepair::Settled { change, outcome } => {
                let what = match outcome {
                    ChangeOutcome::Landed => "it is in the file",
                    ChangeOutcome::Void => "it never reached the file",
                    ChangeOutcome::Lost | ChangeOutcome::Pending => {
                        "the file has been changed since, so whether it was there is unknown"
                    }
                };
                write!(f, "change {change} was interrupted; {what}")
            }
            JournalRepair::External => f.write_str("another program changed the file since planwright last wrote it"),
            JournalRepair::Moved { from } => write!(f, "the plan was moved here from `{from}`, with its history"),
            JournalRepair::Identified { from: Some(id) } => {
                write!(
                    f,
                    "the plan at this path was `{id}` before; its history is kept for it, and this plan begins its own"
                )
            }
            JournalRepair::Identified { from: None } => f.write_str("the plan has an id now"),
            JournalRepair::NotMarked => f.write_str(
                "the change is written, but the journal could not record its end; the next change records it",
            ),
        }
    }
}

/// A journal that the holder of the plan's lock may append to.
pub(crate) struct Journal<'f> {
    files: &'f dyn Files,
    path: PathBuf,
    /// The first line, if it must be written.
    beginning: JournalHeader,
    /// The permissions for a journal that must be created, taken from the plan file.
    permissions: Option<Permissions>,
    file: Option<File>,
    history: History,
    /// The events that must precede the next record.
    first: Vec<JournalEvent>,
    notices: Vec<JournalRepair>,
    /// Set if a record could be neither written nor removed: records after it would be lost.
    is_broken: bool,
}

impl<'f> Journal<'f> {
    /// Opens the journal at a path, and cuts its incomplete end. A missing one is created by the first write.
    fn open(files: &'f dyn Files, path: PathBuf, beginning: JournalHeader) -> Result<Self, JournalError> {
        let (history, n_sound) = take_apart(&path, read(files, &path)?)?;
        if history.version() > VERSION {
            let version = history.version();
            return Err(JournalError::Newer { path, version });
        }
        let mut journal = Journal {
            files,
            path,
            beginning,
            permissions: None,
            file: None,
            history,
            first: Vec::new(),
            notices: Vec::new(),
            is_broken: false,
        };
        journal.cut(n_sound).map_err(|source| journal.failed(source))?;
        Ok(journal)
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Returns its length in bytes.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.history.bytes.len() as u64
    }

    /// Adds a notice for the user.
    pub(crate) fn notice(&mut self, notice: JournalRepair) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    pub(crate) fn into_notices(self) -> Vec<JournalRepair> {
        self.notices
    }

    /// Determines the outcome of an interrupted change from the present text of the file.
    pub(crate) fn settle(&mut self, found: &str, time: &str) -> Result<(), JournalError> {
        let Some((change, text)) = self.history.pending() else {
            return Ok(());
        };
        let found = Digest::of(found);
        let (kind, outcome) = match found {
            found if found == text.after => (
                JournalEvent::Landed(ChangeOutcomeRecord { change }),
                ChangeOutcome::Landed,
            ),
            found if found == text.before => (JournalEvent::Void(ChangeOutcomeRecord { change }), ChangeOutcome::Void),
            found => (
                JournalEvent::Lost(UnknownOutcomeRecord { change, found }),
                ChangeOutcome::Lost,
            ),
        };
        self.append(time, kind)?;
        self.notice(JournalRepair::Settled { change, outcome });
        Ok(())
    }

    /// Appends a change. If another program changed the file before it, records that first. Returns the number of the change.
    pub(crate) fn append_change(&mut self, time: &str, change: ChangeRecord) -> Result<u64, JournalError> {
        if let Some(after) = change.text.as_ref().map(|text| text.before)
            && let Some(before) = self.history.last_seen()
            && before != after
        {
            self.notice(JournalRepair::External);
            self.first
                .push(JournalEvent::External(ExternalChangeRecord { before, after }));
        }
        self.append(time, JournalEvent::Change(Box::new(change)))
    }

    /// Appends a record and the events that must precede it in one durable step, and returns its number. Appends nothing on failure.
    pub(crate) fn append(&mut self, time: &str, kind: JournalEvent) -> Result<u64, JournalError> {
        let mut lines = String::new();
        let is_new = self.history.bytes.is_empty();
        if is_new {
            lines = frame::header_line(&self.beginning).map_err(|error| self.failed(error.into()))?;
        }
        let mut records = Vec::new();
        let mut seq = self.history.next_seq();
        for kind in self.first.iter().chain([&kind]) {
            let json = kind.to_json(seq, time).map_err(|error| self.failed(error.into()))?;
            lines += &frame::record_line(&json);
            let end = self.history.bytes.len() + lines.len() - 1;
            records.push(end - json.len()..end);
            seq += 1;
        }
        self.write(lines.as_bytes()).map_err(|source| self.failed(source))?;
        self.first.clear();
        self.history.extend(&lines, records, &self.beginning);
        Ok(seq - 1)
    }

    /// Appends bytes durably, or removes them again.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier record could not be written"));
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => self.opened()?,
        };
        let n_before = self.history.bytes.len();
        let written = self.write_durably(&file, bytes);
        if written.is_err() {
            self.is_broken = self.files.truncate(&file, n_before as u64).is_err();
        }
        self.file = Some(file);
        written
    }

    /// Opens the file to append to it. If it was removed or emptied, its known content is written again: records need those before them.
    fn opened(&self) -> io::Result<File> {
        let file = self.files.open_append(&self.path)?;
        let known = &self.history.bytes;
        if file.metadata()?.len() < known.len() as u64 {
            self.files.truncate(&file, 0)?;
            self.files.write(&file, known)?;
        }
        Ok(file)
    }

    fn write_durably(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let is_new = self.history.bytes.is_empty();
        if is_new && let Some(permissions) = &self.permissions {
            self.files.set_permissions(file, permissions.clone())?;
        }
        self.files.write(file, bytes)?;
        self.files.sync_data(file)?;
        match self.path.parent() {
            Some(folder) if is_new => self.files.sync_folder(folder),
            _ => Ok(()),
        }
    }

    /// Cuts the incomplete end. It was never acknowledged, but its first bytes are recorded for diagnosis.
    fn cut(&mut self, n_sound: usize) -> io::Result<()> {
        const N_KEPT: usize = 1024;
        let torn = self.history.bytes.split_off(n_sound);
        if torn.is_empty() {
            return Ok(());
        }
        let file = self.files.open_append(&self.path)?;
        self.files.truncate(&file, n_sound as u64)?;
        self.files.sync_data(&file)?;
        self.file = Some(file);
        let n_bytes = torn.len() as u64;
        self.notices.push(JournalRepair::TornTail {
            journal: self.path.clone(),
            n_bytes,
        });
        self.first.push(JournalEvent::Cut(JournalCutRecord {
            offset: n_sound as u64,
            n_bytes,
            text: String::from_utf8_lossy(torn.get(..N_KEPT).unwrap_or(&torn)).into_owned(),
        }));
        Ok(())
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// A summary of a journal, read without a lock.
#[derive(Clone, Debug)]
pub struct JournalSummary {
    /// The last recorded plan of the journal; none if it is empty.
    pub owner: Option<JournalHeader>,
    /// The number of unfinished bytes at its end.
    pub n_torn: u64,
}

/// Reads a journal, and changes nothing. A later version is an error: it can be read, but not extended.
pub(crate) fn look(files: &dyn Files, path: &Path) -> Result<JournalSummary, JournalError> {
    let bytes = read(files, path)?;
    let n_bytes = bytes.len();
    let (history, n_sound) = take_apart(path, bytes)?;
    match history.version() {
        version if version > VERSION => {
            let path = path.to_owned();
            Err(JournalError::Newer { path, version })
        }
        _ => Ok(JournalSummary {
            owner: history.owner(),
            n_torn: n_bytes.saturating_sub(n_sound) as u64,
        }),
    }
}

/// The longest journal that can be read.
const MAX_BYTES: u64 = 1 << 30;

/// Reads a journal; a missing one is empty.
fn read(files: &dyn Files, path: &Path) -> Result<Vec<u8>, JournalError> {
    let failed = |source| JournalError::Io {
        path: path.to_owned(),
        source,
    };
    let bytes = match files.read(path, MAX_BYTES + 1) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes.map_err(failed)?,
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::from(io::ErrorKind::FileTooLarge)));
    }
    Ok(bytes)
}

/// Returns the records of a journal, and the length of its sound part.
fn take_apart(path: &Path, bytes: Vec<u8>) -> Result<(History, usize), JournalError> {
    let corrupt = |offset, what| JournalError::Corrupt {
        path: path.to_owned(),
        offset,
        what,
    };
    let scan = frame::scan(&bytes);
    if let Some(version) = frame::version_of(&bytes)
        && version > VERSION
        && !matches!(&scan, Ok(scan) if scan.header.is_some())
    {
        let path = path.to_owned();
        return Err(JournalError::Newer { path, version });
    }
    let scan = scan.map_err(|damage| corrupt(damage.offset, damage.what))?;
    let n_sound = scan.n_sound;
    let history = History::new(bytes, scan);
    let last = history.records.last().map_or(0, |range| range.start);
    let last_record = history.json().next_back().map(JournalRecord::from_json);
    match last_record {
        _ if history.version() > VERSION => Ok((history, n_sound)),
        Some(Err(_)) => Err(corrupt(last, "its last record cannot be read")),
        _ => Ok((history, n_sound)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::DiskFiles;

    #[test]
    fn a_journal_that_is_removed_while_it_is_open_is_written_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.journal");
        let open = || {
            let header = JournalHeader {
                path: "plan.json".to_owned(),
                id: None,
            };
            Journal::open(&DiskFiles, path.clone(), header).expect("a journal")
        };
        let add = |journal: &mut Journal<'_>| {
            let change = ChangeRecord {
                verb: "set".to_owned(),
                ..ChangeRecord::default()
            };
            journal.append_change("2026-01-01T00:00:00Z", change).expect("room")
        };
        add(&mut open());
        let mut journal = open();
        std::fs::remove_file(&path).expect("it is there");
        add(&mut journal);
        assert_eq!(open().history().json().count(), 2);
        let mut journal = open();
        std::fs::write(&path, "").expect("it is there");
        add(&mut journal);
        assert_eq!(open().history().json().count(), 3);
    }
}
