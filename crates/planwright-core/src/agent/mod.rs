//! The output of an agent's command line: its lines, how it ended, and the verdict from both. Knows the formats, not how agents
//! are started.
//!
//! An exit status of 0 is never enough: several agents end with it after denied tools, interrupts and server errors. Only the
//! closing event of the format is a success. Memory is bounded for any output.
//!
//! ```
//! use planwright_core::agent::{AgentEvent, AgentExit, AgentOutcome, EventFormat, Listener};
//!
//! let mut listener = Listener::new(EventFormat::Claude);
//! let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I will write it."}]}}"#;
//! assert_eq!(listener.line(said), [AgentEvent::Text("I will write it.".to_owned())]);
//! listener.line(r#"{"type":"result","is_error":false,"total_cost_usd":0.25}"#);
//! let verdict = listener.finish(AgentExit::Code(0));
//! assert_eq!(verdict.outcome, AgentOutcome::Done);
//! assert_eq!(verdict.usage.cost_usd, Some(0.25));
//!
//! // Without its closing event an agent has not said that it is done.
//! let mut listener = Listener::new(EventFormat::Claude);
//! listener.line(said);
//! assert!(matches!(listener.finish(AgentExit::Code(0)).outcome, AgentOutcome::Broken { .. }));
//! ```

mod aider;
mod claude;
mod clock_time;
mod codex;
mod combined_verdict;
mod events;
mod failure_words;
mod gemini;
mod opencode;
mod output_summary;
mod plain;
pub mod result_file;
pub mod rules;
mod usage;

use std::fmt;

use crate::document::NodeRef;
pub use clock_time::{ClockTime, clock_time_in};
pub use combined_verdict::{AttemptEnd, CombinedVerdict, VerdictSource, combine_verdicts};
use events::{OutputLine, Splitter};
use output_summary::OutputSummary;
pub use result_file::ResultFile;
pub use usage::Usage;

/// The default limit for the final message of an agent, in bytes.
pub const MAX_MESSAGE: usize = 64 * 1024;

/// The most events from one line. Events that an agent prints all at once at its end are no longer news.
pub const MAX_HEARD: usize = 256;

/// The format of an agent's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventFormat {
    /// Claude Code with `--output-format stream-json`, or `json` as one array of events.
    Claude,
    /// Codex with `exec --json`.
    Codex,
    /// Gemini CLI with `--output-format stream-json`.
    Gemini,
    /// opencode with `run --format json`.
    Opencode,
    /// Qwen Code with `--output-format stream-json`, or `json` as one array of events.
    Qwen,
    /// aider: text for people, and an exit code without meaning.
    Aider,
    /// Any other command: text for people, and an exit code that decides.
    Plain,
}

impl EventFormat {
    /// All formats.
    pub const ALL: &'static [EventFormat] = &[
        EventFormat::Claude,
        EventFormat::Codex,
        EventFormat::Gemini,
        EventFormat::Opencode,
        EventFormat::Qwen,
        EventFormat::Aider,
        EventFormat::Plain,
    ];

    /// Returns its name in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            EventFormat::Claude => "claude",
            EventFormat::Codex => "codex",
            EventFormat::Gemini => "gemini",
            EventFormat::Opencode => "opencode",
            EventFormat::Qwen => "qwen",
            EventFormat::Aider => "aider",
            EventFormat::Plain => "plain",
        }
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<EventFormat> {
        EventFormat::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    /// Returns whether the output consists of JSON events, and other lines are notices.
    fn has_events(self) -> bool {
        !matches!(self, EventFormat::Aider | EventFormat::Plain)
    }
}

/// How an agent's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentExit {
    /// By itself, with this status.
    Code(i32),
    /// By a signal that planwright did not send.
    Signal(i32),
    /// By planwright: cancelled, or after a time limit.
    Stopped,
}

impl fmt::Display for AgentExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentExit::Code(code) => write!(f, "exit status {code}"),
            AgentExit::Signal(signal) => write!(f, "signal {signal}"),
            AgentExit::Stopped => f.write_str("stopped by planwright"),
        }
    }
}

/// An event while the agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// The agent named its session, which can be resumed.
    Session(String),
    /// The agent wrote a message; one shortened line, to be shown.
    Text(String),
    /// The agent uses a tool.
    Tool {
        /// The tool's name.
        name: String,
        /// Its subject, as a path or a command; empty if unknown.
        about: String,
    },
    /// A tool reported an error, by its name.
    ToolFailed(String),
    /// A tool was denied: the attempt cannot succeed any more.
    Denied(String),
    /// The agent tries a request again.
    Retrying {
        /// The agent's reason.
        why: String,
    },
    /// The provider's rate limit delays the agent, which would wait by itself, perhaps for long.
    RateLimited {
        /// How many seconds to wait, if known.
        wait: Option<u64>,
        /// The agent's message.
        why: String,
    },
    /// The agent repeats itself without progress: it should be ended.
    Looping,
}

/// The outcome of an attempt, as far as the agent's output shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentOutcome {
    /// The agent reports that its task is done.
    Done,
    /// The agent worked and did not finish the task.
    Failed {
        /// The reason.
        why: String,
    },
    /// The provider's rate limit was reached. A later try may succeed.
    RateLimited {
        /// How many seconds to wait, if known.
        wait: Option<u64>,
        /// The agent's message.
        why: String,
    },
    /// The agent could not work: its setup, its network or its provider failed.
    Broken {
        /// The reason.
        why: String,
    },
    /// The agent was ended before it was done.
    Interrupted,
}

/// The verdict from an agent's whole output.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentVerdict {
    /// The outcome of the attempt.
    pub outcome: AgentOutcome,
    /// Its last message; the end of its output if the format does not separate messages.
    pub final_message: String,
    /// The session, if the agent names it.
    pub session: Option<String>,
    /// What it reports of its cost.
    pub usage: Usage,
    /// The tools that were denied, by name; at most a hundred.
    pub denials: Vec<String>,
}

/// The meaning of an agent's closing event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ClosingStatus {
    Well,
    Badly(AgentOutcome),
}

/// One format: reads events and other lines, and returns the closing status at the end.
trait FormatReader {
    /// Reads an event of the format.
    fn event(&mut self, _event: NodeRef<'_>, _summary: &mut OutputSummary) {}

    /// Reads a line that is no event.
    fn line(&mut self, line: &str, summary: &mut OutputSummary) {
        summary.noise(line);
    }

    /// Returns the status of the closing event; none without one.
    fn closing_status(&self, summary: &OutputSummary, exit: AgentExit) -> Option<ClosingStatus>;

    /// Returns the meaning of an exit code other than 0 in this format.
    fn meaning_of(&self, _code: i32, _summary: &OutputSummary) -> Option<AgentOutcome> {
        None
    }
}

/// Reads the output of one attempt of an agent.
pub struct Listener {
    format: EventFormat,
    reader: Box<dyn FormatReader + Send>,
    summary: OutputSummary,
    splitter: Splitter,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Listener {
    /// Creates a reader for a format.
    pub fn new(format: EventFormat) -> Self {
        Listener::with_room(format, MAX_MESSAGE)
    }

    /// Creates a reader for an agent whose final message is the answer, of which this many bytes are kept. For text output, only the end is
    /// kept in any case.
    pub fn with_room(format: EventFormat, max_message: usize) -> Self {
        let reader: Box<dyn FormatReader + Send> = match format {
            EventFormat::Claude => Box::new(claude::Claude::new()),
            EventFormat::Qwen => Box::new(claude::Claude::qwen()),
            EventFormat::Codex => Box::new(codex::Codex::default()),
            EventFormat::Gemini => Box::new(gemini::Gemini::default()),
            EventFormat::Opencode => Box::new(opencode::Opencode::default()),
            EventFormat::Aider => Box::new(aider::Aider::default()),
            EventFormat::Plain => Box::new(plain::Plain),
        };
        Listener {
            format,
            reader,
            summary: OutputSummary::with_room(max_message),
            splitter: Splitter::default(),
        }
    }

    /// Reads a line of standard output or standard error, without its line break, and returns its events.
    pub fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let (reader, summary) = (&mut self.reader, &mut self.summary);
        if self.format.has_events() {
            self.splitter.line(line, &mut |part| match part {
                OutputLine::Event(event) => reader.event(event, summary),
                OutputLine::Other(line) => reader.line(line, summary),
            });
        } else {
            reader.line(line, summary);
        }
        summary.take_heard()
    }

    /// Ends the output and returns the verdict.
    pub fn finish(self, exit: AgentExit) -> AgentVerdict {
        let outcome = self.outcome(exit);
        let summary = self.summary;
        AgentVerdict {
            outcome,
            final_message: summary.message,
            session: summary.session,
            usage: summary.usage,
            denials: summary.denials,
        }
    }

    fn outcome(&self, exit: AgentExit) -> AgentOutcome {
        let summary = &self.summary;
        if summary.is_looping {
            let why = "it was in a loop: step after step without text or a tool".to_owned();
            return AgentOutcome::Broken { why };
        }
        let by_code = match exit {
            AgentExit::Code(code) if code != 0 => self.reader.meaning_of(code, summary),
            _ => None,
        };
        if let Some(outcome) = by_code {
            return outcome;
        }
        match (self.reader.closing_status(summary, exit), exit) {
            (Some(ClosingStatus::Badly(outcome)), _) => outcome,
            // A signal may arrive after the work is done; an exit code contradicts the agent's own closing event.
            (Some(ClosingStatus::Well), AgentExit::Code(code)) if code != 0 => AgentOutcome::Broken {
                why: summary.explained(&format!("it said that it was done, and ended with {exit}")),
            },
            (Some(ClosingStatus::Well), _) if !summary.denials.is_empty() => denied(summary),
            (Some(ClosingStatus::Well), _) => AgentOutcome::Done,
            (None, exit) => self.without_a_close(exit),
        }
    }

    /// Returns the outcome without a closing event.
    fn without_a_close(&self, exit: AgentExit) -> AgentOutcome {
        if let Some(limit) = &self.summary.limited {
            return limit.outcome();
        }
        match exit {
            AgentExit::Stopped | AgentExit::Signal(_) => AgentOutcome::Interrupted,
            // opencode stops after a denial without another event, and exits with success.
            AgentExit::Code(0) if !self.summary.denials.is_empty() => denied(&self.summary),
            AgentExit::Code(code) if failure_words::INTERRUPTED_CODES.contains(&code) => AgentOutcome::Interrupted,
            AgentExit::Code(_) => AgentOutcome::Broken {
                why: self.summary.explained(&format!("it ended without a result ({exit})")),
            },
        }
    }
}

fn denied(summary: &OutputSummary) -> AgentOutcome {
    let why = format!("tools were denied to it: {}", summary.denials.join(", "));
    AgentOutcome::Failed { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Listener {
        /// Returns how many bytes are held.
        fn held(&self) -> usize {
            let summary = &self.summary;
            let noise: usize = summary.last_noise().iter().map(String::capacity).sum();
            let denials: usize = summary.denials.iter().map(String::capacity).sum();
            self.splitter.held() + summary.message.capacity() + noise + denials
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_output() {
        let lines = [
            "{",
            "   \"never\": [",
            "some noise of an agent, with status 429 and a patch rejected",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a long word of an agent"}]}}"#,
            r#"{"type":"message","role":"assistant","content":"piece by piece ","delta":true}"#,
            r#"{"type":"text","part":{"text":"and so on"}}"#,
        ];
        for format in EventFormat::ALL {
            let mut listener = Listener::new(*format);
            for line in lines.iter().cycle().take(60_000) {
                listener.line(line);
            }
            for line in ["{", "  and a line of noise inside of it"]
                .iter()
                .cycle()
                .take(1)
                .chain(&["  x"; 60_000])
            {
                listener.line(line);
            }
            assert!(
                listener.held() < 512 * 1024,
                "{format:?} holds {} bytes",
                listener.held()
            );
        }
    }
}
