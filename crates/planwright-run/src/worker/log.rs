//! The log of one attempt: the output of a process, up to a size. Knows no processes.
//!
//! ```text
//! | beginning: half of the cap | line that says what is missing | end: an eighth to half of the cap |
//! ```
//!
//! Output beyond the cap is written, too; when the file reaches its cap, the end is moved to the front of its part. So the
//! file can be read at any time, every byte is written twice at most, and there is nothing to do when the process is over.
//!
//! There is no file until there is something to keep.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::MIN_LOG_BYTES;
use crate::faults;
use crate::files::{OpenOwn, RealFolder, open_own};

/// How far the beginning may be shortened so that it ends with a line.
const MAX_LINE_REST: u64 = 4096;

#[derive(Debug)]
pub(super) struct OutputLog {
    path: PathBuf,
    /// None while it is empty.
    file: Option<File>,
    cap: u64,
    /// The end of the beginning, and the start of the line that says what is missing.
    head_end: u64,
    /// The start of the end, after that line.
    end_start: u64,
    length: u64,
    n_bytes: u64,
    n_left_out: u64,
    /// The first error. Nothing is written after it.
    error: Option<io::Error>,
}

impl OutputLog {
    /// Creates a log. An existing file is emptied; a missing one is created by the first output, with its folder.
    pub(super) fn create(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        // Beyond this limit the system ends the process instead of returning an error.
        let cap = max_bytes.max(MIN_LOG_BYTES).min(limit.unwrap_or(u64::MAX));
        if cap < MIN_LOG_BYTES {
            let message = format!("files may have up to {cap} bytes here (ulimit -f)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let file = match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            _ => Some(open(path)?),
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            cap,
            head_end: cap / 2,
            end_start: cap / 2,
            length: 0,
            n_bytes: 0,
            n_left_out: 0,
            error: None,
        })
    }

    /// Adds output. Never fails: a process must not stop because its log cannot be written.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.n_bytes += bytes.len() as u64;
        // A piece is small enough to fit after the end was moved.
        let size = usize::try_from(self.cap / 8).unwrap_or(usize::MAX).max(1);
        for piece in bytes.chunks(size) {
            if self.error.is_none() {
                self.error = self.append(piece).err();
            }
        }
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    pub(super) fn was_cut(&self) -> bool {
        self.n_left_out > 0
    }

    pub(super) fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        let n_bytes = piece.len() as u64;
        if self.length.saturating_add(n_bytes) > self.cap {
            self.make_room()?;
        }
        let end = self.length;
        faults::step("write log")?;
        self.file()?.write_all_at(piece, end)?;
        self.length += n_bytes;
        Ok(())
    }

    /// Moves the last lines to the front of their part, and writes how much is missing before them.
    fn make_room(&mut self) -> io::Result<()> {
        let starts_with_line_end = !self.was_cut() && !self.end_beginning_with_a_line()?;
        let keep_from = self.end_start.max(self.length.saturating_sub(self.cap / 8));
        let kept = self.read(keep_from, self.length)?;
        let kept = memchr::memchr(b'\n', &kept)
            .and_then(|at| kept.get(at + 1..))
            .filter(|lines| !lines.is_empty())
            .unwrap_or(&kept);
        self.n_left_out += self.length - self.end_start - kept.len() as u64;
        if starts_with_line_end {
            let end = self.head_end;
            self.file()?.write_all_at(b"\n", end)?;
            self.head_end += 1;
        }
        let notice = format!("[planwright: {} bytes of output left out here]\n", self.n_left_out);
        self.end_start = self.head_end + notice.len() as u64;
        let start = self.head_end;
        self.file()?.write_all_at(&[notice.as_bytes(), kept].concat(), start)?;
        self.length = self.end_start + kept.len() as u64;
        let length = self.length;
        self.file()?.set_len(length)
    }

    /// Shortens the beginning to whole lines, if it has a line end near its end. Returns whether it ends with a line now.
    fn end_beginning_with_a_line(&mut self) -> io::Result<bool> {
        let from = self.head_end.saturating_sub(MAX_LINE_REST.min(self.cap / 8));
        let bytes = self.read(from, self.head_end)?;
        let Some(at) = memchr::memrchr(b'\n', &bytes) else {
            return Ok(false);
        };
        self.head_end = from + at as u64 + 1;
        self.end_start = self.head_end;
        Ok(true)
    }

    fn file(&mut self) -> io::Result<&File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => open(&self.path)?,
        };
        Ok(self.file.insert(file))
    }

    fn read(&mut self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let n_bytes = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
        let mut bytes = vec![0; n_bytes];
        self.file()?.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }
}

fn open(path: &Path) -> io::Result<File> {
    match open_own(path, OpenOwn::Emptied) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            RealFolder::make_above(path)?;
            open_own(path, OpenOwn::Emptied)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an output in pieces of a size, and returns the log and the content of its file, which never exceeds the cap.
    #[track_caller]
    fn written(output: &[u8], size: usize, cap: u64) -> (OutputLog, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made/on/the/way.log");
        let mut log = OutputLog::create(&path, cap).expect("a log");
        for piece in output.chunks(size) {
            log.write(piece);
            assert!(log.length <= cap);
            assert_eq!(std::fs::metadata(&path).expect("a file").len(), log.length);
        }
        assert!(log.error().is_none());
        assert_eq!(log.n_bytes(), output.len() as u64);
        (log, std::fs::read(&path).expect("a file"))
    }

    #[test]
    fn the_log_is_created_on_first_output_and_truncated() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = OutputLog::create(&path, 10_000).expect("a log");
        log.write(b"");
        assert!(!path.exists());
        log.write(b"some");
        log.write(b"thing");
        assert_eq!(std::fs::read(&path).expect("a file"), b"something");
        drop(OutputLog::create(&path, 10_000).expect("a log"));
        assert_eq!(std::fs::read(&path).expect("a file"), b"");
    }

    fn numbered_lines(n_lines: usize) -> Vec<u8> {
        (0..n_lines)
            .flat_map(|number| format!("line {number}\n").into_bytes())
            .collect()
    }

    #[test]
    fn output_within_the_cap_is_kept_unchanged() {
        let output: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        for cap in [10_000, 10_001, 1 << 20] {
            let (log, file) = written(&output, 777, cap);
            assert!(!log.was_cut());
            assert_eq!(file, output);
        }
    }

    #[test]
    fn beginning_and_end_are_whole_lines_and_the_middle_is_counted() {
        let output = numbered_lines(100_000);
        for (size, cap) in [(1000, 10_000), (64 * 1024, 100_000), (13, 4096), (1 << 20, 50_000)] {
            let (log, file) = written(&output, size, cap);
            assert!(log.was_cut());
            let text = String::from_utf8(file).expect("text");
            let (start, rest) = text.split_once("[planwright: ").expect("a notice");
            let (number, end) = rest.split_once(" bytes of output left out here]\n").expect("a notice");
            assert!(output.starts_with(start.as_bytes()) && start.ends_with('\n'));
            assert!(
                output.ends_with(end.as_bytes()) && end.starts_with("line "),
                "{size} {cap}"
            );
            let n_left_out: usize = number.parse().expect("a number");
            assert_eq!(start.len() + n_left_out + end.len(), output.len());
            assert!(start.len() as u64 >= cap / 3, "{} of {cap}", start.len());
            assert!(end.len() as u64 >= cap / 10, "{} of {cap}", end.len());
        }
    }

    #[test]
    fn output_without_lines_is_cut_anywhere() {
        let output = vec![0xff; 100_000];
        let (_, file) = written(&output, 5000, 10_000);
        let text = String::from_utf8_lossy(&file);
        assert!(
            text.contains("\u{fffd}\n[planwright: "),
            "the notice is on a line of its own"
        );
        assert!(text.ends_with('\u{fffd}'));
    }

    #[test]
    fn a_cap_that_is_too_small_is_the_smallest() {
        let (log, file) = written(&numbered_lines(100), 50, MIN_LOG_BYTES);
        assert!(!log.was_cut() && !file.is_empty());
        let folder = tempfile::tempdir().expect("a folder");
        let log = OutputLog::create(&folder.path().join("log"), 0).expect("a log");
        assert_eq!(log.cap, MIN_LOG_BYTES);
    }
}
