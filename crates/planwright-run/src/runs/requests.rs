//! Requests of other processes to a run: lines that they append to a file in the run's folder.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{Files, open_to_read};

/// The longest part of the file that is read at once.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRequest {
    /// One of `pause`, `resume`, `stop`, `kill`, `approve`, `reject`. A run ignores unknown ones.
    pub verb: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The time as RFC 3339 in UTC.
    pub time: String,
}

/// Sends a request to a run, which answers in its log.
pub fn ask(files: &dyn Files, path: &Path, ask: &ControlRequest) -> io::Result<()> {
    // A killed process may have left half a line, which must not start this one.
    let line = format!("\n{}\n", serde_json::to_string(ask)?);
    let file = files.open_append(path)?;
    // One write, so that the lines of concurrent requests do not mix.
    files.write(&file, line.as_bytes())?;
    files.sync_data(&file)
}

/// Reads the requests, each line once.
#[derive(Debug)]
pub struct RequestReader {
    path: PathBuf,
    n_bytes: u64,
}

impl RequestReader {
    /// Starts after the existing requests: those were for the process that ran then.
    pub fn from_now(path: &Path) -> Self {
        RequestReader {
            path: path.to_owned(),
            n_bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
        }
    }

    /// Returns the requests since the last call. An unfinished line is left for the next call, and an invalid one is skipped.
    pub fn more(&mut self) -> Vec<ControlRequest> {
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if length <= self.n_bytes {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        let read = open_to_read(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.n_bytes))?;
            file.take(MAX_BYTES).read_to_end(&mut bytes)
        });
        if read.is_err() {
            return Vec::new();
        }
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
        self.n_bytes += whole as u64;
        let lines = bytes.get(..whole).unwrap_or_default().split(|&byte| byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::DiskFiles;

    #[test]
    fn a_torn_request_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("requests");
        let mut requests = RequestReader::from_now(&path);
        std::fs::write(&path, "\n{\"verb\":\"pa").expect("written");
        let asked = ControlRequest {
            verb: "pause".to_owned(),
            ..ControlRequest::default()
        };
        ask(&DiskFiles, &path, &asked).expect("a line");
        assert_eq!(requests.more(), [asked]);
    }

    #[test]
    fn every_line_is_read_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("requests");
        let asked = |verb: &str| ControlRequest {
            verb: verb.to_owned(),
            ..ControlRequest::default()
        };
        ask(&DiskFiles, &path, &asked("stop")).expect("a line");
        let mut requests = RequestReader::from_now(&path);
        assert_eq!(requests.more(), []);
        ask(&DiskFiles, &path, &asked("pause")).expect("a line");
        std::fs::write(
            &path,
            std::fs::read_to_string(&path).expect("text") + "what?\n{\"verb\"",
        )
        .expect("written");
        assert_eq!(requests.more(), [asked("pause")]);
        std::fs::write(
            &path,
            std::fs::read_to_string(&path).expect("text") + ":\"resume\",\"time\":\"\"}\n",
        )
        .expect("written");
        assert_eq!(requests.more(), [asked("resume")]);
        assert_eq!(requests.more(), []);
    }
}
