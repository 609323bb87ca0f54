//! The output of one process: from its pipe to the redacted log, and to reported lines.

use std::io::{self, PipeReader, Read as _};
use std::time::{Duration, Instant};

use super::ProcessSpec;
use super::log::OutputLog;
use super::recent::RecentOutput;
use crate::redaction::RedactionStream;

/// The time between two reported lines.
const LINE_INTERVAL: Duration = Duration::from_millis(250);

/// The delay of the first line, so that only the end of a very short process is reported.
const FIRST_LINE_DELAY: Duration = Duration::from_millis(60);

/// How many reads in a row one process gets before the others.
const MAX_READS: usize = 8;

#[derive(Debug)]
pub(super) struct ProcessOutput {
    /// None after its end.
    pipe: Option<PipeReader>,
    log: OutputLog,
    recent: RecentOutput,
    redaction: RedactionStream,
    /// Output that is not reported yet; none if output is not reported.
    unreported: Option<Vec<u8>>,
    last: Instant,
    next_line: Option<Instant>,
    last_line: Option<Instant>,
}

impl ProcessOutput {
    pub(super) fn new(pipe: PipeReader, log: OutputLog, spec: &ProcessSpec, started: Instant) -> Self {
        ProcessOutput {
            pipe: Some(pipe),
            log,
            recent: RecentOutput::default(),
            redaction: spec.redaction.stream(),
            unreported: spec.streams_output.then(Vec::new),
            last: started,
            next_line: None,
            last_line: None,
        }
    }

    pub(super) fn pipe(&self) -> Option<&PipeReader> {
        self.pipe.as_ref()
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Returns the time of the last output, or of its end.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    pub(super) fn next_line(&self) -> Option<Instant> {
        self.next_line
    }

    pub(super) fn log(&self) -> &OutputLog {
        &self.log
    }

    pub(super) fn tail(&self) -> &[u8] {
        self.recent.tail()
    }

    pub(super) fn take_unreported(&mut self) -> Option<Vec<u8>> {
        let bytes = self.unreported.as_mut().filter(|unreported| !unreported.is_empty())?;
        Some(std::mem::take(bytes))
    }

    pub(super) fn read(&mut self, buffer: &mut [u8], now: Instant) {
        for _ in 0..MAX_READS {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(buffer) {
                Ok(0) => {
                    self.pipe = None;
                    self.last = now;
                    self.keep_rest();
                }
                Ok(n_bytes) => self.take(buffer.get(..n_bytes).unwrap_or_default(), now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.pipe = None;
                    self.keep_rest();
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8], now: Instant) {
        let redacted = self.redaction.push(bytes);
        self.keep(&redacted);
        self.last = now;
        let due = self
            .last_line
            .map_or(now + FIRST_LINE_DELAY, |last| last + LINE_INTERVAL);
        self.next_line.get_or_insert(due.max(now));
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.log.write(bytes);
        self.recent.push(bytes);
        if let Some(unreported) = &mut self.unreported {
            unreported.extend_from_slice(bytes);
        }
    }

    /// Writes the output that was held because it could have become a secret.
    pub(super) fn keep_rest(&mut self) {
        let rest = self.redaction.finish();
        if !rest.is_empty() {
            self.keep(&rest);
        }
    }

    /// Returns the last line, if it is time to report it.
    pub(super) fn due_line(&mut self, now: Instant) -> Option<String> {
        self.next_line.take_if(|due| *due <= now)?;
        self.last_line = Some(now);
        self.recent.last_line()
    }
}
