//! The output of an agent's process, its environment, and the meaning of its end. Knows neither plans nor the prompt.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use planwright_core::agent::result_file::MAX_RESULT_BYTES;
use planwright_core::agent::{
    self, AgentEvent, AttemptEnd, CombinedVerdict, Listener, MAX_MESSAGE, ResultFile, combine_verdicts,
};
use planwright_core::diagnostic::Severity;

use crate::config::{Agent, Config, OutputFormat};
use crate::faults;
use crate::files::{OpenOwn, open_own, read_bounded, write_own};
use crate::redaction::{RedactedText, Redaction};
use crate::worker::{
    DEFAULT_ALLOWED, EndCause, EndedProcess, ProcessExit, ProcessMark, allowed_environment, end, orphans,
};

/// The longest line of output that is parsed, in bytes. The rest of a longer line is ignored.
const MAX_LINE: usize = 8 << 20;

/// An agent that would wait longer than this before it retries is ended, in seconds.
const MAX_OWN_WAIT: u64 = 300;

/// The time that processes left behind by an agent have to end.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

/// The output of an agent so far.
pub(crate) struct AgentOutput {
    listener: Listener,
    format: agent::EventFormat,
    /// A line without its line break so far.
    line: Vec<u8>,
    /// The end of the output, if the output is the agent's message.
    words: Option<TextTail>,
    redaction: Redaction,
}

/// Why the run ends an agent early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgentEndReason {
    /// The user interrupted the run.
    Interrupted,
    /// The agent repeats itself.
    Looping,
    /// The agent would wait long for its provider's rate limit.
    RateLimited {
        /// In seconds.
        wait: u64,
        why: String,
    },
    /// Another process moved or removed the task.
    TakenAway,
}

impl AgentEndReason {
    /// Returns the reason to end an agent after an event, if it would only waste time.
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

/// What an agent reported, without secrets.
pub(crate) struct RedactedAgentReport {
    pub(crate) conclusion: CombinedVerdict,
    /// Notes about its result file for the user.
    pub(crate) remarks: Vec<String>,
    /// Its result file, if it could be read.
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
        // Cut in large steps, so that many small pieces cost little.
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
    /// Reads a process whose output is text for people.
    pub(crate) fn plain(redaction: &Redaction) -> Self {
        AgentOutput::with_room(OutputFormat::Plain, MAX_MESSAGE, redaction)
    }

    /// Reads an agent that works on a task.
    pub(crate) fn of_attempt(config: &Config, agent: &str, redaction: &Redaction) -> Self {
        AgentOutput::with_room(output_of(config, agent), MAX_MESSAGE, redaction)
    }

    /// Reads an agent whose whole answer is needed, up to `max_bytes`. Output that is text for people is all part of the answer.
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

    /// Returns the verdict from the output, the end of the process and the result file. Removes secrets from that file.
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
                combine_verdicts(verdict, file, self.format)
            }
            Err(why) => {
                // An error of the agent, which need not be a failure of the task.
                let mut conclusion = combine_verdicts(verdict, None, self.format);
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

/// Removes secrets from a conclusion. A secret that came in pieces is whole only here.
fn redact(conclusion: &mut CombinedVerdict, redaction: &Redaction) {
    let CombinedVerdict {
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

/// Passes a line to a listener, and returns the events in it.
fn hear(listener: &mut Listener, line: &[u8], redaction: &Redaction) -> Vec<AgentEvent> {
    let line = String::from_utf8_lossy(line);
    let line = line.strip_suffix('\r').unwrap_or(&line);
    // The bytes of the line have no secrets; its decoded escapes may.
    match memchr::memchr(b'\\', line.as_bytes()) {
        Some(_) => listener.line(&redaction.json(line)),
        None => listener.line(line),
    }
}

/// Saves the result file of an agent next to its log.
pub(crate) fn keep_result(to: &Path, text: &RedactedText) -> io::Result<()> {
    write_own(to, text.as_bytes())
}

/// Parses a result file; none if the text is empty. The error says why the file cannot be used.
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

/// Returns the text of an agent's result file without secrets; none if there is no file. A file that had secrets is rewritten without them.
/// The error says why the file cannot be used.
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

/// Returns the bytes of a result file; none if there is no file. An agent wrote it: it may be a link, a pipe, or endless.
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
        // Nothing of it stays: the folder of a run must not keep secrets.
        std::fs::remove_file(path).ok();
        return Err(format!("it has {} bytes", metadata.len()));
    }
    let read = open_own(path, OpenOwn::ToRead).and_then(|file| read_bounded(file, MAX_RESULT_BYTES));
    read.map(Some).map_err(|error| error.to_string())
}

/// Returns the environment of an agent's processes: what they inherit and what is set for them. It is the same for all attempts.
pub fn environment_of(agent: &Agent) -> Vec<(OsString, OsString)> {
    let own = agent.env.iter().map(String::as_str);
    let allowed: Vec<&str> = DEFAULT_ALLOWED.iter().copied().chain(own).collect();
    let set = agent.set.iter().map(|(name, value)| (name.into(), value.into()));
    allowed_environment(std::env::vars_os(), &allowed, set)
}

/// Returns the redaction for the output of agents and commands: the secrets that reach them.
pub fn redaction_of(config: &Config) -> Redaction {
    let agents = config.agents.values();
    let set = agents.flat_map(|agent| agent.set.iter().map(|(name, value)| (name.into(), value.into())));
    let all: Vec<(OsString, OsString)> = std::env::vars_os().chain(set).collect();
    Redaction::of_environment(&all)
}

/// Ends every process with a mark, and returns how many there were. Processes that end by themselves in a moment, as git's own housekeeping
/// does, are not counted.
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
