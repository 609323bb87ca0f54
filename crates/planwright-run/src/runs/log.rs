//! The log of one run: a file of records like a journal, written only by the process of the run.
//!
//! Records are collected and made durable together: one write and one sync for all records since the last. Code that needs a
//! durable record waits for [`RunLog::commit`].

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::record::{LogCutRecord, RunEvent, RunRecord};
use crate::files::{Files, open_to_read};
use crate::journal::{JournalError, JournalHeader, VERSION, frame};

const MAX_BYTES: u64 = 1 << 32;

pub struct RunLog<'f> {
    files: &'f dyn Files,
    path: PathBuf,
    file: File,
    /// How many bytes of the file are durable.
    n_bytes: u64,
    next_seq: u64,
    /// Lines that are not in the file yet.
    waiting: Vec<u8>,
    /// Set if a record could be neither written nor removed.
    is_broken: bool,
    /// The content of the file, if other processes may write to it.
    content: Option<Vec<u8>>,
}

pub struct ResumedLog<'f> {
    pub log: RunLog<'f>,
    pub records: Vec<RunRecord>,
    /// The number of incomplete bytes cut from its end.
    pub n_cut: u64,
    /// The record of that, in the log after the next commit.
    pub cut: Option<RunRecord>,
}

impl<'f> RunLog<'f> {
    /// Creates the log of a new run; fails if one exists.
    pub fn begin(files: &'f dyn Files, path: &Path, header: &JournalHeader) -> Result<Self, JournalError> {
        let failed = |source| io_error(path, source);
        files.create_private(path).map_err(failed)?;
        // After a removed record, the next one must be written at the new end.
        let file = files.open_append(path).map_err(failed)?;
        let line = frame::header_line(header).map_err(|error| failed(error.into()))?;
        let written = files
            .write(&file, line.as_bytes())
            .and_then(|()| files.sync_data(&file));
        written.map_err(failed)?;
        files
            .sync_folder(path.parent().unwrap_or(Path::new(".")))
            .map_err(failed)?;
        Ok(RunLog {
            files,
            path: path.to_owned(),
            file,
            n_bytes: line.len() as u64,
            next_seq: 1,
            waiting: Vec::new(),
            is_broken: false,
            content: None,
        })
    }

    /// Opens the log of an interrupted run, and cuts its incomplete end.
    pub fn resume(files: &'f dyn Files, path: &Path) -> Result<ResumedLog<'f>, JournalError> {
        let failed = |source| io_error(path, source);
        let bytes = files.read(path, MAX_BYTES).map_err(failed)?;
        let ParsedLog {
            records,
            n_sound,
            version,
        } = take_apart(path, &bytes)?;
        if version > VERSION {
            let path = path.to_owned();
            return Err(JournalError::Newer { path, version });
        }
        if n_sound == 0 {
            return Err(corrupt(path, 0, "the run was stopped before it began"));
        }
        let file = files.open_append(path).map_err(failed)?;
        let n_cut = (bytes.len() - n_sound) as u64;
        let mut log = RunLog {
            files,
            path: path.to_owned(),
            file,
            n_bytes: n_sound as u64,
            next_seq: records.last().map_or(1, |record| record.seq + 1),
            waiting: Vec::new(),
            is_broken: false,
            content: None,
        };
        let mut cut = None;
        if n_cut > 0 {
            files.truncate(&log.file, log.n_bytes).map_err(failed)?;
            files.sync_data(&log.file).map_err(failed)?;
            let offset = log.n_bytes;
            let time = records.last().map_or_else(String::new, |record| record.time.clone());
            let event = RunEvent::LogCut(LogCutRecord { offset, n_bytes: n_cut });
            let seq = log.add(&time, &event)?;
            cut = Some(RunRecord { seq, time, event });
        }
        Ok(ResumedLog {
            log,
            records,
            n_cut,
            cut,
        })
    }

    /// Adds an event, which is durable after the next [`RunLog::commit`]. Returns its number.
    pub fn add(&mut self, time: &str, event: &RunEvent) -> Result<u64, JournalError> {
        let seq = self.next_seq;
        frame::add_record(&mut self.waiting, |line| event.write(line, seq, time))
            .map_err(|error| io_error(&self.path, error.into()))?;
        self.next_seq += 1;
        Ok(seq)
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Makes added events durable, all at once. On failure, none of them is in the file, and they wait for the next commit.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if self.is_broken {
            let broken = io::Error::other("an earlier record could not be written");
            return Err(io_error(&self.path, broken));
        }
        let written = self.files.write(&self.file, &self.waiting);
        if let Err(error) = written.and_then(|()| self.files.sync_data(&self.file)) {
            self.is_broken = self.files.truncate(&self.file, self.n_bytes).is_err();
            return Err(io_error(&self.path, error));
        }
        self.n_bytes += self.waiting.len() as u64;
        if let Some(content) = &mut self.content {
            content.extend_from_slice(&self.waiting);
        }
        self.waiting.clear();
        Ok(())
    }

    /// Remembers the content of the file from now on: the tasks of the run can write to it, because they share its folder.
    pub fn remember(&mut self) -> Result<(), JournalError> {
        if self.content.is_none() {
            let bytes = self.files.read(&self.path, self.n_bytes);
            self.content = Some(bytes.map_err(|error| io_error(&self.path, error))?);
        }
        Ok(())
    }

    /// Writes the file again if it no longer has the remembered content. Calls `keep` with its path first. Returns whether it had changed.
    pub fn restore(&mut self, keep: impl FnOnce(&Path)) -> Result<bool, JournalError> {
        let Some(content) = &self.content else {
            return Ok(false);
        };
        if self.files.holds(&self.path, content).unwrap_or(false) {
            return Ok(false);
        }
        let failed = |source| io_error(&self.path, source);
        keep(&self.path);
        // The folder of a run has one writer. The leftover of a killed one is useless.
        let temporary = self.path.with_extension("restoring");
        let _ = self.files.remove(&temporary);
        self.files.create_private(&temporary).map_err(failed)?;
        let file = self.files.open_append(&temporary).map_err(failed)?;
        let written = self.files.write(&file, content);
        let synced = written.and_then(|()| self.files.sync_data(&file));
        synced
            .and_then(|()| self.files.rename(&temporary, &self.path))
            .map_err(failed)?;
        self.file = file;
        self.is_broken = false;
        self.files
            .sync_folder(self.path.parent().unwrap_or(Path::new(".")))
            .map_err(failed)?;
        Ok(true)
    }
}

/// Reads the records of a log without changing it. A record in progress may be missing.
pub fn records(files: &dyn Files, path: &Path) -> Result<Vec<RunRecord>, JournalError> {
    let bytes = files.read(path, MAX_BYTES).map_err(|source| io_error(path, source))?;
    take_apart(path, &bytes).map(|read| read.records)
}

/// Returns the plan of a log, from its first line alone.
pub fn header(path: &Path) -> Result<JournalHeader, JournalError> {
    const MAX_HEADER: u64 = 64 * 1024;
    let failed = |source| io_error(path, source);
    let mut bytes = Vec::new();
    let file = open_to_read(path).map_err(failed)?;
    file.take(MAX_HEADER).read_to_end(&mut bytes).map_err(failed)?;
    let first = memchr::memchr(b'\n', &bytes).map_or(0, |end| end + 1);
    let scan = frame::scan(&bytes[..first]).map_err(|damage| corrupt(path, damage.offset, damage.what))?;
    scan.header
        .ok_or_else(|| corrupt(path, 0, "the run was stopped before it began"))
}

/// Reads the new records of a growing log.
pub struct LogFollower {
    path: PathBuf,
    /// How many bytes were read, in whole lines.
    n_bytes: u64,
}

impl LogFollower {
    /// Returns a reader that begins with the first record.
    pub fn new(path: &Path) -> Self {
        LogFollower {
            path: path.to_owned(),
            n_bytes: 0,
        }
    }

    /// Returns the records added since the last call. An unfinished line is left for the next call.
    pub fn more(&mut self) -> Result<Vec<RunRecord>, JournalError> {
        let new = self.more_as_written()?;
        Ok(new.into_iter().map(|(record, _)| record).collect())
    }

    /// Returns the new records, each with its JSON line from the log.
    ///
    /// An unreadable line is damage if sound ones follow. Otherwise it is the end: it may be torn, or not complete yet. Records before
    /// damage are returned first, and the damage by the next call.
    pub fn more_as_written(&mut self) -> Result<Vec<(RunRecord, String)>, JournalError> {
        let failed = |source| io_error(&self.path, source);
        let mut file = open_to_read(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.n_bytes)).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        let mut new = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some(length) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(length + 1);
            let offset = self.n_bytes as usize;
            match whole_line(line, offset) {
                Some(Some(record)) => new.push(record),
                // The first line names the plan of the log.
                Some(None) => {}
                None if !new.is_empty() || !has_sound_line(behind) => break,
                None => return Err(corrupt(&self.path, offset, "this record cannot be read")),
            }
            self.n_bytes += line.len() as u64;
            rest = behind;
        }
        Ok(new)
    }
}

/// Returns the record of a log's line, none for the first line; none if it cannot be read.
fn whole_line(line: &[u8], offset: usize) -> Option<Option<(RunRecord, String)>> {
    if offset == 0 {
        let scan = frame::scan(line).ok()?;
        return scan.header.map(|_| None);
    }
    let json = frame::json_of(line.strip_suffix(b"\n")?)?;
    let record = RunRecord::from_json(json).ok()?;
    Some(Some((record, str::from_utf8(json).ok()?.to_owned())))
}

fn has_sound_line(bytes: &[u8]) -> bool {
    bytes
        .split(|&byte| byte == b'\n')
        .any(|line| frame::json_of(line).is_some())
}

struct ParsedLog {
    records: Vec<RunRecord>,
    n_sound: usize,
    version: u32,
}

fn take_apart(path: &Path, bytes: &[u8]) -> Result<ParsedLog, JournalError> {
    let scan = frame::scan(bytes).map_err(|damage| corrupt(path, damage.offset, damage.what))?;
    let mut records = Vec::with_capacity(scan.records.len());
    for range in &scan.records {
        let record = RunRecord::from_json(&bytes[range.clone()]);
        records.push(record.map_err(|_| corrupt(path, range.start, "this record cannot be read"))?);
    }
    Ok(ParsedLog {
        records,
        n_sound: scan.n_sound,
        version: scan.version,
    })
}

fn corrupt(path: &Path, offset: usize, what: &'static str) -> JournalError {
    JournalError::Corrupt {
        path: path.to_owned(),
        offset,
        what,
    }
}

fn io_error(path: &Path, source: io::Error) -> JournalError {
    JournalError::Io {
        path: path.to_owned(),
        source,
    }
}
