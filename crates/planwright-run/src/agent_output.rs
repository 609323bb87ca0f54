//! The output of an agent's process, its environment, and the meaning of its end. Knows neither plans nor the prompt.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use planwright_core::agent::result_file::MAX_RESULT_BYTES;
use planwright_core::agent::{self, AgentEvent, AttemptEnd, Conclusion, Listener, MAX_MESSAGE, ResultFile, conclude};
use planwright_core::diagnostic::Severity;

use crate::config::{Agent, Config, OutputFormat};
use crate::faults;
use crate::files::{OpenOwn, open_own, read_bounded, write_own};
use crate::redaction::{RedactedText, Redaction};
use crate::worker::{
    DEFAULT_ALLOWED, EndCause, EndedProcess, ProcessExit, ProcessMark, allowed_environment, end, orphans,
};

/// The longest line of output that is listened to, in bytes; what comes after it is not heard.
const MAX_LINE: usize = 8 << 20;

/// An agent that would wait longer than this by itself is ended, in seconds.
const MAX_OWN_WAIT: u64 = 300;

/// How long what an agent left behind has to end.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

/// The output of an agent so far.
pub(crate) struct AgentOutput {
    listener: Listener,
    format: agent::EventFormat,
    /// A line that has not ended yet.
    line: Vec<u8>,
    /// The end of all that it wrote, where that is its message.
    words: Option<TextTail>,
    redaction: Redaction,
}

/// Why an agent is ended before it is through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgentEndReason {
    /// The user wants the end.
    Interrupted,
    /// The agent goes round in circles.
    Looping,
    /// The agent would wait for its provider for long.
    RateLimited {
        /// How many seconds.
        wait: u64,
        why: String,
    },
    /// Another process moved or removed the task.
    TakenAway,
}

impl AgentEndReason {
    /// Returns why an agent would only waste time after an event.
    pub(crate) fn of(event: AgentEvent) -> Option<Self> {
        match event {
            AgentEvent::Looping => Some(AgentEndReason::Looping),
            AgentEvent::RateLimited { wait: Some(wait), why } if wait > MAX_OWN_WAIT => {
                Some(AgentEndReason::RateLimited { wait, why })
            }
            _ => None,
        }
    }
}

/// What an agent reported. It has no secrets.
pub(crate) struct RedactedAgentReport {
    pub(crate) conclusion: Conclusion,
    /// What the user should know about its result file.
    pub(crate) remarks: Vec<String>,
    /// Its result file, where that could be read.
    pub(crate) result: Option<RedactedText>,
}

/// The end of a text, up to a size.
struct TextTail {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl TextTail {
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
    /// Begins to listen to a process whose output is text for people.
    pub(crate) fn plain(redaction: &Redaction) -> Self {
        AgentOutput::with_room(OutputFormat::Plain, MAX_MESSAGE, redaction)
    }

    /// Begins to listen to an agent that works on a task.
    pub(crate) fn of_attempt(config: &Config, agent: &str, redaction: &Redaction) -> Self {
        AgentOutput::with_room(output_of(config, agent), MAX_MESSAGE, redaction)
    }

    /// Begins to listen to an agent whose answer is wanted word for word, up to so many bytes. Where its output is text for
    /// people, all of that is the answer.
    pub(crate) fn of_answer(config: &Config, agent: &str, max_bytes: usize, redaction: &Redaction) -> Self {
        let format = output_of(config, agent);
        let words = TextTail {
            bytes: Vec::new(),
            max_bytes,
        };
        AgentOutput {
            words: matches!(format, OutputFormat::Plain | OutputFormat::Aider).then_some(words),
            ..AgentOutput::with_room(format, max_bytes, redaction)
        }
    }

    fn with_room(format: OutputFormat, max_message: usize, redaction: &Redaction) -> Self {
        let format = format_of(format);
        AgentOutput {
            listener: Listener::with_room(format, max_message),
            format,
            line: Vec::new(),
            words: None,
            redaction: redaction.clone(),
        }
    }

    /// Takes in what an agent wrote, and returns what is news in it.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<AgentEvent> {
        if let Some(words) = &mut self.words {
            words.add(bytes);
        }
        let mut news = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            if self.line.is_empty() && end <= MAX_LINE {
                news.extend(hear(&mut self.listener, line, &self.redaction));
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

    fn end_line(&mut self) -> Vec<AgentEvent> {
        let line = std::mem::take(&mut self.line);
        hear(&mut self.listener, &line, &self.redaction)
    }

    /// Returns what all of it amounts to, with the file in which the agent may have reported. That file has no secrets afterwards.
    pub(crate) fn conclude(mut self, ended: &EndedProcess, result: &Path) -> RedactedAgentReport {
        if !self.line.is_empty() {
            self.end_line();
        }
        let exit = match (ended.cause, ended.exit) {
            (EndCause::Itself, ProcessExit::Code(code)) => agent::AgentExit::Code(code),
            (EndCause::Itself, ProcessExit::Signal(signal)) => agent::AgentExit::Signal(signal),
            (EndCause::Itself, ProcessExit::Unknown)
            | (EndCause::WallLimit | EndCause::Silence | EndCause::Cancelled, _) => agent::AgentExit::Stopped,
        };
        let mut verdict = self.listener.finish(exit);
        if let Some(words) = self.words {
            verdict.final_message = words.text();
        }
        let mut remarks = Vec::new();
        let text = result_text(result, &self.redaction, &mut remarks);
        let read = text.as_ref().map_err(Clone::clone).and_then(|text| match text {
            Some(text) => read_result(text),
            None => Ok(None),
        });
        let mut conclusion = match read {
            Ok(file) => {
                let warnings = file.iter().flat_map(|file| &file.warnings).take(5);
                remarks.extend(warnings.map(|found| format!("its result file: {}", found.message)));
                conclude(verdict, file, self.format)
            }
            Err(why) => {
                // It had something to say, and perhaps not that it is done.
                let mut conclusion = conclude(verdict, None, self.format);
                if conclusion.end == AttemptEnd::Done {
                    let why = format!("its result file cannot be used: {why}");
                    conclusion.end = AttemptEnd::Failed { why };
                }
                conclusion
            }
        };
        redact(&mut conclusion, &self.redaction);
        RedactedAgentReport {
            conclusion,
            remarks,
            result: text.ok().flatten(),
        }
    }
}

/// Removes secrets from a conclusion. Those that an agent told in pieces are whole only here.
fn redact(conclusion: &mut Conclusion, redaction: &Redaction) {
    let Conclusion {
        end,
        basis: _,
        output,
        affected_files,
        notes,
        discoveries,
        proposed_tasks,
        reflection,
        tools_called,
        session,
        usage: _,
        denials,
    } = conclusion;
    match end {
        AttemptEnd::Failed { why } | AttemptEnd::RateLimited { why, .. } | AttemptEnd::Broken { why } => {
            redaction.clean(why)
        }
        AttemptEnd::Stopped { condition } => redaction.clean(condition),
        AttemptEnd::Done | AttemptEnd::Interrupted => {}
    }
    let texts = [output, notes].into_iter().chain(session).chain(reflection);
    let texts = texts.chain(affected_files).chain(discoveries);
    redaction.clean_all(texts.chain(tools_called).chain(denials));
    for task in proposed_tasks {
        *task = redaction.json(task).into_string();
    }
}

/// Gives a line to a listener, and returns what is news in it.
fn hear(listener: &mut Listener, line: &[u8], redaction: &Redaction) -> Vec<AgentEvent> {
    let line = String::from_utf8_lossy(line);
    let line = line.strip_suffix('\r').unwrap_or(&line);
    // The bytes of the line have no secrets any more; what escapes in it stand for may.
    match memchr::memchr(b'\\', line.as_bytes()) {
        Some(_) => listener.line(&redaction.json(line)),
        None => listener.line(line),
    }
}

/// Keeps what an agent reported next to its log.
pub(crate) fn keep_result(to: &Path, text: &RedactedText) -> io::Result<()> {
    write_own(to, text.as_bytes())
}

/// Reads what an agent reported; an empty text is as none. The error is why it cannot be used, in words.
fn read_result(text: &RedactedText) -> Result<Option<ResultFile>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    ResultFile::read(text).map(Some).map_err(|findings| {
        let worst = findings.iter().find(|found| found.severity == Severity::Error);
        worst
            .or(findings.first())
            .map_or_else(String::new, |found| found.message.clone())
    })
}

/// Returns the text of the file in which an agent may have reported, without secrets; none where there is none. Where the file had
/// secrets it is written again without them. The error is why it cannot be used, in words.
fn result_text(path: &Path, redaction: &Redaction, remarks: &mut Vec<String>) -> Result<Option<RedactedText>, String> {
    let Some(bytes) = result_bytes(path)? else {
        return Ok(None);
    };
    let text = redaction.json(&String::from_utf8_lossy(&bytes));
    if text.as_bytes() != bytes {
        let written = faults::step("redact result").and_then(|()| write_own(path, text.as_bytes()));
        if let Err(error) = written {
            remarks.push(format!(
                "its result file may hold secrets and cannot be written without them: {error}"
            ));
        }
    }
    Ok(Some(text))
}

/// Returns what is in the file; none where there is none. It is an agent's: it may be a link, a pipe, or without end.
fn result_bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return Ok(None);
    };
    // Paths of runs and checkouts have no links in them, unless an agent made one.
    let is_own = |folder: &Path| std::fs::canonicalize(folder).is_ok_and(|found| found == folder);
    if cfg!(unix) && !path.parent().is_some_and(is_own) {
        return Err("its folder is a link".to_owned());
    }
    if !metadata.is_file() {
        return Err("it is no file".to_owned());
    }
    if metadata.len() > MAX_RESULT_BYTES as u64 {
        // Nothing is kept of it: who looks into the folder of a run later finds no secrets.
        std::fs::remove_file(path).ok();
        return Err(format!("it has {} bytes", metadata.len()));
    }
    let read = open_own(path, OpenOwn::ToRead).and_then(|file| read_bounded(file, MAX_RESULT_BYTES));
    read.map(Some).map_err(|error| error.to_string())
}

/// Returns what processes of an agent get of the environment, and what is set for them: the same for all of its attempts.
pub fn environment_of(agent: &Agent) -> Vec<(OsString, OsString)> {
    let own = agent.env.iter().map(String::as_str);
    let allowed: Vec<&str> = DEFAULT_ALLOWED.iter().copied().chain(own).collect();
    let set = agent.set.iter().map(|(name, value)| (name.into(), value.into()));
    allowed_environment(std::env::vars_os(), &allowed, set)
}

/// Returns what is removed from the text of agents and commands: the secrets that reach them.
pub fn redaction_of(config: &Config) -> Redaction {
    let agents = config.agents.values();
    let set = agents.flat_map(|agent| agent.set.iter().map(|(name, value)| (name.into(), value.into())));
    let all: Vec<(OsString, OsString)> = std::env::vars_os().chain(set).collect();
    Redaction::of_environment(&all)
}

/// Ends everything with a mark; returns how many processes that were. What ends by itself in a moment, as git's own housekeeping
/// does, is not counted.
pub(crate) fn end_all(mark: &ProcessMark) -> usize {
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

fn output_of(config: &Config, agent: &str) -> OutputFormat {
    let agent = config.agents.get(agent);
    agent.map_or(OutputFormat::Plain, |agent| agent.output)
}

fn format_of(format: OutputFormat) -> agent::EventFormat {
    match format {
        OutputFormat::ClaudeStreamJson => agent::EventFormat::Claude,
        OutputFormat::CodexJson => agent::EventFormat::Codex,
        OutputFormat::GeminiStreamJson => agent::EventFormat::Gemini,
        OutputFormat::OpencodeJson => agent::EventFormat::Opencode,
        OutputFormat::QwenStreamJson => agent::EventFormat::Qwen,
        OutputFormat::Aider => agent::EventFormat::Aider,
        OutputFormat::Plain => agent::EventFormat::Plain,
    }
}
