//! The output of an agent's process and its meaning, and the environment that the process gets. Knows no plans, and not what the
//! agent was asked.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use planwright_core::agent::result_file::MAX_RESULT_BYTES;
use planwright_core::agent::{self, Conclusion, End, Heard, Listener, MAX_MESSAGE, ResultFile, conclude};
use planwright_core::diagnostic::Severity;

use crate::config::{Agent, Config, Format};
use crate::files::{open_own, read_bounded, write_own};
use crate::worker::{Cause, DEFAULT_ALLOWED, Ended, Exit, Mark, Secret, allowed_environment, end, orphans, secrets_of};

/// The longest line of output that is listened to, in bytes; what comes after it is not heard.
const MAX_LINE: usize = 8 << 20;

/// An agent that would wait longer than this by itself is ended, in seconds.
pub(crate) const MAX_OWN_WAIT: u64 = 300;

/// How long what an agent left behind has to end.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

/// The output of an agent so far.
pub(crate) struct AgentOutput {
    listener: Listener,
    format: agent::Format,
    /// A line that has not ended yet.
    line: Vec<u8>,
    /// The end of all that it wrote, where that is its message.
    words: Option<Words>,
}

/// The end of a text, up to a size.
struct Words {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl Words {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // In large steps, so that what comes in small pieces costs little.
        if self.bytes.len() > self.max_bytes.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let n_over = self.bytes.len().saturating_sub(self.max_bytes);
        self.bytes.drain(..n_over);
    }

    fn text(mut self) -> String {
        self.cut();
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl AgentOutput {
    /// Begins to listen to an agent with a format.
    pub(crate) fn new(format: Format) -> Self {
        AgentOutput::with_room(format, MAX_MESSAGE)
    }

    /// Begins to listen to an agent whose answer is wanted word for word, up to so many bytes. Where its output is text for
    /// people, all of that is the answer.
    pub(crate) fn for_answer(format: Format, max_bytes: usize) -> Self {
        let words = Words {
            bytes: Vec::new(),
            max_bytes,
        };
        AgentOutput {
            words: matches!(format, Format::Plain | Format::Aider).then_some(words),
            ..AgentOutput::with_room(format, max_bytes)
        }
    }

    fn with_room(format: Format, max_message: usize) -> Self {
        let format = format_of(format);
        AgentOutput {
            listener: Listener::with_room(format, max_message),
            format,
            line: Vec::new(),
            words: None,
        }
    }

    /// Takes in what an agent wrote, and returns what is news in it.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Heard> {
        if let Some(words) = &mut self.words {
            words.add(bytes);
        }
        let mut news = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            if self.line.is_empty() && end <= MAX_LINE {
                news.extend(hear(&mut self.listener, line));
            } else {
                self.keep(line);
                news.extend(self.end_line());
            }
            rest = &rest[end + 1..];
        }
        self.keep(rest);
        news
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) -> Vec<Heard> {
        let line = std::mem::take(&mut self.line);
        hear(&mut self.listener, &line)
    }

    /// Returns what all of it amounts to, with the file in which the agent may have reported.
    pub(crate) fn conclude(mut self, ended: &Ended, result: &Path) -> (Conclusion, Vec<String>) {
        if !self.line.is_empty() {
            self.end_line();
        }
        let exit = match (ended.cause, ended.exit) {
            (Cause::Itself, Exit::Code(code)) => agent::Exit::Code(code),
            (Cause::Itself, Exit::Signal(signal)) => agent::Exit::Signal(signal),
            (Cause::Itself, Exit::Unknown) | (Cause::WallLimit | Cause::Silence | Cause::Cancelled, _) => {
                agent::Exit::Stopped
            }
        };
        let mut verdict = self.listener.finish(exit);
        if let Some(words) = self.words {
            verdict.final_message = words.text();
        }
        match read_result(result) {
            Ok(file) => {
                let warnings = file.iter().flat_map(|file| &file.warnings).take(5);
                let remarks = warnings
                    .map(|found| format!("its result file: {}", found.message))
                    .collect();
                (conclude(verdict, file, self.format), remarks)
            }
            Err(why) => {
                // It had something to say, and perhaps not that it is done.
                let mut conclusion = conclude(verdict, None, self.format);
                if conclusion.end == End::Done {
                    let why = format!("its result file cannot be used: {why}");
                    conclusion.end = End::Failed { why };
                }
                (conclusion, Vec::new())
            }
        }
    }
}

/// Gives a line to a listener, and returns what is news in it.
fn hear(listener: &mut Listener, line: &[u8]) -> Vec<Heard> {
    let line = String::from_utf8_lossy(line);
    listener.line(line.strip_suffix('\r').unwrap_or(&line))
}

/// Keeps what an agent reported next to its log, where that could be read.
pub(crate) fn keep_result(from: &Path, to: &Path) -> io::Result<()> {
    match result_bytes(from) {
        Ok(Some(bytes)) => write_own(to, &bytes),
        _ => Ok(()),
    }
}

/// Reads the file in which an agent may have reported; an empty one is as none. The error is why it cannot be used, in words.
fn read_result(path: &Path) -> Result<Option<ResultFile>, String> {
    let Some(bytes) = result_bytes(path)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return Ok(None);
    }
    ResultFile::read(&text).map(Some).map_err(|findings| {
        let worst = findings.iter().find(|found| found.severity == Severity::Error);
        worst
            .or(findings.first())
            .map_or_else(String::new, |found| found.message.clone())
    })
}

/// Returns what is in the file; none where there is none. It is an agent's: it may be a link, a pipe, or without end.
fn result_bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return Ok(None);
    };
    if !metadata.is_file() {
        return Err("it is no file".to_owned());
    }
    if metadata.len() > MAX_RESULT_BYTES as u64 {
        return Err(format!("it has {} bytes", metadata.len()));
    }
    let read = open_own(OpenOptions::new().read(true), path).and_then(|file| read_bounded(file, MAX_RESULT_BYTES));
    read.map(Some).map_err(|error| error.to_string())
}

/// Returns what processes of an agent get of the environment, and what is set for them: the same for all of its attempts.
pub(crate) fn environment_of(agent: &Agent) -> Vec<(OsString, OsString)> {
    let own = agent.env.iter().map(String::as_str);
    let allowed: Vec<&str> = DEFAULT_ALLOWED.iter().copied().chain(own).collect();
    let set = agent.set.iter().map(|(name, value)| (name.into(), value.into()));
    allowed_environment(std::env::vars_os(), &allowed, set)
}

/// Returns the secrets that reach agents and commands.
pub(crate) fn all_secrets(config: &Config) -> Vec<Secret> {
    let agents = config.agents.values();
    let set = agents.flat_map(|agent| agent.set.iter().map(|(name, value)| (name.into(), value.into())));
    let all: Vec<(OsString, OsString)> = std::env::vars_os().chain(set).collect();
    secrets_of(&all)
}

/// Ends everything with a mark; returns how many processes that were. What ends by itself in a moment, as git's own housekeeping
/// does, is not counted.
pub(crate) fn end_all(mark: &Mark) -> usize {
    const MOMENT: Duration = Duration::from_millis(100);
    if orphans(mark, &[]).is_empty() {
        return 0;
    }
    std::thread::sleep(MOMENT);
    let left = orphans(mark, &[]);
    if !left.is_empty() {
        end(mark, &left, LEFTOVER_GRACE);
    }
    left.len()
}

fn format_of(format: Format) -> agent::Format {
    match format {
        Format::ClaudeStreamJson => agent::Format::Claude,
        Format::CodexJson => agent::Format::Codex,
        Format::GeminiStreamJson => agent::Format::Gemini,
        Format::OpencodeJson => agent::Format::Opencode,
        Format::QwenStreamJson => agent::Format::Qwen,
        Format::Aider => agent::Format::Aider,
        Format::Plain => agent::Format::Plain,
    }
}
