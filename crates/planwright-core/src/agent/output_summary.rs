//! Collects what is known about an attempt so far. Knows no output format.

use std::borrow::Cow;

use super::failure_words::{self, FailureKind};
use super::usage::added;
use super::{AgentEvent, AgentOutcome, MAX_HEARD, Usage};
use crate::document::{NodeKind, NodeRef};
use crate::text::clip;

/// The longest text that is shown live or used as a reason, in bytes.
const MAX_SHOWN: usize = 500;

/// The most denied tools that are kept.
const MAX_DENIALS: usize = 100;

/// How many lines that are no events are kept, for the reason of a failure.
const MAX_NOISE: usize = 8;

/// How much of a line that is no event is searched, in bytes.
const MAX_LOOKED_AT: usize = 8 * 1024;

/// The start of a terminal's control sequence, which ends with a letter or the like.
const COLOUR: &str = "\u{1b}[";

/// Members of a tool's input that name its subject, the most informative first.
const ABOUT: &[&str] = &[
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
];

/// A rate limit of the provider that delays the agent now.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) wait: Option<u64>,
    pub(super) why: String,
}

impl Limit {
    pub(super) fn outcome(&self) -> AgentOutcome {
        AgentOutcome::RateLimited {
            wait: self.wait,
            why: self.why.clone(),
        }
    }
}

/// What is known so far.
pub(super) struct OutputSummary {
    /// How many bytes of the last message are kept.
    max_message: usize,
    heard: Vec<AgentEvent>,
    pub(super) session: Option<String>,
    pub(super) message: String,
    pub(super) usage: Usage,
    pub(super) denials: Vec<String>,
    /// Set while the agent waits for its provider, and cleared when it continues.
    pub(super) limited: Option<Limit>,
    pub(super) is_looping: bool,
    /// The last lines that are no events.
    noise: Vec<String>,
}

impl OutputSummary {
    /// Creates an empty summary that keeps this many bytes of the last message.
    pub(super) fn with_room(max_message: usize) -> Self {
        OutputSummary {
            max_message,
            heard: Vec::new(),
            session: None,
            message: String::new(),
            usage: Usage::default(),
            denials: Vec::new(),
            limited: None,
            is_looping: false,
            noise: Vec::new(),
        }
    }

    pub(super) fn take_heard(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.heard)
    }

    pub(super) fn hear(&mut self, heard: AgentEvent) {
        if self.heard.len() < MAX_HEARD {
            self.heard.push(heard);
        }
    }

    /// Records the session if it is new.
    pub(super) fn name_session(&mut self, event: NodeRef<'_>, key: &str) {
        if self.session.is_none()
            && let Some(session) = text(event, key).filter(|session| !session.is_empty())
        {
            let session = clip(&session, MAX_SHOWN).to_owned();
            self.hear(AgentEvent::Session(session.clone()));
            self.session = Some(session);
        }
    }

    /// Records a message of the agent. A message means that its wait is over.
    pub(super) fn say(&mut self, message: &str) {
        self.limited = None;
        if message.trim().is_empty() {
            return;
        }
        self.message.clear();
        self.add_to_message(message);
        self.show(message);
    }

    /// Appends to the stored message, up to its limit.
    pub(super) fn add_to_message(&mut self, more: &str) {
        let room = self.max_message.saturating_sub(self.message.len());
        self.message.push_str(clip(more, room));
    }

    /// Shows the last line of a text.
    pub(super) fn show(&mut self, message: &str) {
        let end = message.trim_end();
        let line = end.rsplit('\n').next().unwrap_or(end).trim();
        if !line.is_empty() {
            self.hear(AgentEvent::Text(clip(line, MAX_SHOWN).to_owned()));
        }
    }

    pub(super) fn use_tool(&mut self, name: &str, input: Option<NodeRef<'_>>) {
        let about = input.and_then(|input| ABOUT.iter().find_map(|key| text(input, key)));
        let about = about.as_deref().map_or("", first_line);
        self.use_tool_on(name, about);
    }

    pub(super) fn use_tool_on(&mut self, name: &str, about: &str) {
        self.limited = None;
        self.hear(AgentEvent::Tool {
            name: clip(name, MAX_SHOWN).to_owned(),
            about: clip(first_line(about), MAX_SHOWN).to_owned(),
        });
    }

    pub(super) fn tool_failed(&mut self, name: &str) {
        self.hear(AgentEvent::ToolFailed(clip(first_line(name), MAX_SHOWN).to_owned()));
    }

    pub(super) fn deny(&mut self, tool: &str) {
        let tool = clip(first_line(tool), MAX_SHOWN).to_owned();
        if self.denials.len() < MAX_DENIALS {
            self.denials.push(tool.clone());
        }
        self.hear(AgentEvent::Denied(tool));
    }

    /// Records a retry of the agent, because of a limit or for another reason.
    pub(super) fn retry(&mut self, why: &str, is_limit: bool, wait: Option<u64>) {
        let why = reason(why);
        let wait = wait.or_else(|| failure_words::wait_in(&why));
        if is_limit {
            self.limited = Some(Limit { wait, why: why.clone() });
            self.hear(AgentEvent::RateLimited { wait, why });
        } else {
            self.hear(AgentEvent::Retrying { why });
        }
    }

    /// Records a line that is no event: a notice of the agent itself, mostly on standard error.
    pub(super) fn noise(&mut self, line: &str) {
        let line = without_colours(clip(line, MAX_LOOKED_AT));
        let line = line.trim();
        // A cut event is not a notice: its text may quote a user, a file or a tool.
        if line.is_empty() || line.starts_with(['{', '[']) && line.contains('"') {
            return;
        }
        self.keep_noise(line);
        match failure_words::kind_of(line) {
            Some(FailureKind::Denied) => self.deny(failure_words::without_prefix(line)),
            Some(FailureKind::RateLimited) => self.retry(line, true, None),
            Some(FailureKind::Retry) => self.retry(line, false, None),
            Some(FailureKind::Broken) | None => {}
        }
    }

    pub(super) fn keep_noise(&mut self, line: &str) {
        if self.noise.len() >= MAX_NOISE {
            self.noise.remove(0);
        }
        self.noise.push(reason(line));
    }

    /// Returns the lines that are no events, the last ones.
    pub(super) fn last_noise(&self) -> &[String] {
        &self.noise
    }

    /// Returns a sentence with the line that explains it best: one with known words, otherwise one that mentions an error, otherwise the
    /// last.
    pub(super) fn explained(&self, sentence: &str) -> String {
        let newest = || self.noise.iter().rev();
        let found = newest()
            .find(|line| {
                matches!(
                    failure_words::kind_of(line),
                    Some(FailureKind::Broken | FailureKind::RateLimited | FailureKind::Denied)
                )
            })
            .or_else(|| newest().find(|line| line.to_ascii_lowercase().contains("error")))
            .or_else(|| newest().next());
        match found {
            Some(line) => format!("{sentence}: {line}"),
            None => sentence.to_owned(),
        }
    }

    pub(super) fn add_tokens(&mut self, tokens_in: Option<u64>, tokens_out: Option<u64>) {
        self.usage = self.usage.with(Usage {
            tokens_in,
            tokens_out,
            cost_usd: None,
        });
    }

    pub(super) fn add_cost(&mut self, cost_usd: Option<f64>) {
        self.usage = self.usage.with(Usage {
            cost_usd,
            ..Usage::default()
        });
    }
}

/// Returns the outcome that an error of the provider means: by its HTTP status, otherwise by its words.
pub(super) fn error_outcome(status: Option<i64>, message: &str, wait: Option<u64>) -> AgentOutcome {
    let why = reason(message);
    let is_limit = match status {
        Some(status) => failure_words::LIMIT_STATUSES.contains(&status),
        None => failure_words::kind_of(message) == Some(FailureKind::RateLimited),
    };
    let why = match (why.is_empty(), status) {
        (true, Some(status)) => format!("its provider answered with status {status}"),
        (true, None) => "it reported an error without saying which".to_owned(),
        (false, _) => why,
    };
    if is_limit {
        let wait = wait.or_else(|| failure_words::wait_in(message));
        return AgentOutcome::RateLimited { wait, why };
    }
    AgentOutcome::Broken { why }
}

/// Returns a text as a reason: its first line that is not blank, cut short.
pub(super) fn reason(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    clip(line.unwrap_or(""), MAX_SHOWN).to_owned()
}

/// Returns a line without the terminal's colour sequences.
fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains(COLOUR) {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split(COLOUR);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| ('@'..='~').contains(&c));
        plain.push_str(end.and_then(|end| part.get(end + 1..)).unwrap_or_default());
    }
    Cow::Owned(plain)
}

pub(super) fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or("").trim_end()
}

/// Returns a text member of an object.
pub(super) fn text(object: NodeRef<'_>, key: &str) -> Option<String> {
    object.get(key)?.text().map(|text| text.into_owned())
}

/// Returns whether a text member is this word.
pub(super) fn is(object: NodeRef<'_>, key: &str, word: &str) -> bool {
    object.get(key).is_some_and(|value| value.is_text(word))
}

/// Returns a member that counts something.
pub(super) fn count(object: NodeRef<'_>, key: &str) -> Option<u64> {
    u64::try_from(object.get(key)?.as_integer()?).ok()
}

/// Returns the sum of the members that exist.
pub(super) fn sum(object: NodeRef<'_>, keys: &[&str]) -> Option<u64> {
    keys.iter()
        .fold(None, |sum, key| added(sum, count(object, key), u64::saturating_add))
}

/// Returns a member that is a sum of money.
pub(super) fn money(object: NodeRef<'_>, key: &str) -> Option<f64> {
    let amount = object.get(key)?.as_number()?;
    (amount.is_finite() && amount >= 0.0).then_some(amount)
}

/// Returns a member of a member that is an object.
pub(super) fn object<'d>(node: NodeRef<'d>, key: &str) -> Option<NodeRef<'d>> {
    node.get(key).filter(|value| value.kind() == NodeKind::Object)
}
