//! Reads the output of Claude Code and Qwen Code: the same kinds of events, closed by a `result`.

use std::collections::VecDeque;

use super::failure_words::{self, FailureKind};
use super::output_summary::{OutputSummary, count, error_outcome, is, money, object, reason, sum, text};
use super::{AgentExit, AgentOutcome, ClosingStatus, FormatReader};
use crate::document::NodeRef;

/// A wait of this many milliseconds before Qwen's next try means that its provider's rate limit is reached.
const LONG_WAIT_MS: f64 = 60_000.0;

/// Members of a retry notice with the wait, and how many milliseconds one of their units has.
static DELAYS: &[(&str, f64)] = &[
    ("delayMs", 1.0),
    ("delay_ms", 1.0),
    ("retry_delay_ms", 1.0),
    ("retry_in_ms", 1.0),
    ("retry_after_ms", 1.0),
    ("retry_after", 1_000.0),
];

/// Errors that Claude's retry notices name when its provider asks it to wait.
static LIMIT_ERRORS: &[&str] = &["rate_limit", "overloaded"];

/// Values of `subtype` or `terminal_reason` that mean that a limit ended the session before the task was done.
static ROOM_SPENT: &[(&str, &str)] = &[
    ("error_max_turns", "it reached its limit of turns"),
    ("max_turns", "it reached its limit of turns"),
    ("error_max_budget_usd", "it spent its budget"),
    ("budget_exhausted", "it spent its budget"),
];

/// Exit codes of Qwen with the same meaning, without a closing event.
static QWEN_CODES: &[(i32, &str)] = &[
    (53, "it reached its limit of turns"),
    (55, "it reached its limit of tool calls or of time"),
];

/// The counts that make up Claude's sent tokens: reads from and writes to its cache are counted separately.
static CLAUDE_TOKENS_IN: &[&str] = &["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// The counts that make up Qwen's sent tokens.
static QWEN_TOKENS_IN: &[&str] = &["input_tokens"];

/// Reads the output of Claude or Qwen.
pub(super) struct Claude {
    tokens_in: &'static [&'static str],
    codes: &'static [(i32, &'static str)],
    closing_status: Option<ClosingStatus>,
    /// The last tools that it used, by the ids of their uses.
    tools: VecDeque<(String, String)>,
}

/// How many uses of tools are remembered until their results arrive.
const MAX_TOOLS: usize = 100;

impl Claude {
    pub(super) fn new() -> Self {
        Claude {
            tokens_in: CLAUDE_TOKENS_IN,
            codes: &[],
            closing_status: None,
            tools: VecDeque::new(),
        }
    }

    pub(super) fn qwen() -> Self {
        Claude {
            tokens_in: QWEN_TOKENS_IN,
            codes: QWEN_CODES,
            closing_status: None,
            tools: VecDeque::new(),
        }
    }

    fn result(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        if let Some(message) = text(event, "result").filter(|message| !message.trim().is_empty()) {
            summary.message.clear();
            summary.add_to_message(&message);
        }
        if let Some(usage) = object(event, "usage") {
            summary.usage.tokens_in = sum(usage, self.tokens_in);
            summary.usage.tokens_out = count(usage, "output_tokens");
        }
        summary.usage.cost_usd = money(event, "total_cost_usd").or(summary.usage.cost_usd);
        let denials = event.get("permission_denials").into_iter().flat_map(NodeRef::elements);
        for denial in denials {
            let tool = text(denial, "tool_name").or_else(|| denial.text().map(|name| name.into_owned()));
            summary.deny(tool.as_deref().unwrap_or("a tool"));
        }
        self.closing_status = Some(closing_status(event));
    }

    fn assistant(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        for block in blocks(event) {
            if is(block, "type", "text") {
                summary.say(&text(block, "text").unwrap_or_default());
            } else if is(block, "type", "tool_use") {
                let name = text(block, "name").unwrap_or_default();
                summary.use_tool(&name, object(block, "input"));
                self.tools.truncate(MAX_TOOLS);
                self.tools.push_front((text(block, "id").unwrap_or_default(), name));
            }
        }
    }

    /// Records the results of tools.
    fn answered(&self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        for block in blocks(event) {
            let is_error = block.get("is_error").and_then(NodeRef::as_bool) == Some(true);
            let id = text(block, "tool_use_id").filter(|_| is_error);
            let used = id.and_then(|id| self.tools.iter().find(|(own, _)| *own == id));
            if let Some((_, name)) = used {
                summary.tool_failed(name);
            }
        }
    }
}

/// Returns the blocks of a message.
fn blocks(event: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let content = object(event, "message").and_then(|message| message.get("content"));
    content.into_iter().flat_map(NodeRef::elements)
}

fn retry(event: NodeRef<'_>, summary: &mut OutputSummary) {
    let error = text(event, "error").or_else(|| object(event, "error").and_then(|error| text(error, "message")));
    let message = error.or_else(|| text(event, "message")).unwrap_or_default();
    // Qwen has it one level deeper.
    let places = [Some(event), object(event, "data")];
    let delay = places.into_iter().flatten().find_map(|place| {
        let mut known = DELAYS.iter();
        known.find_map(|(key, factor)| Some(place.get(key)?.as_number()? * factor))
    });
    let status = event.get("error_status").and_then(NodeRef::as_integer);
    let is_limit = LIMIT_ERRORS.contains(&message.as_str())
        || status.is_some_and(|status| failure_words::LIMIT_STATUSES.contains(&status))
        || failure_words::kind_of(&message) == Some(FailureKind::RateLimited)
        || (is(event, "subtype", "retry") && delay.is_some_and(|delay| delay >= LONG_WAIT_MS));
    let why = if message.is_empty() { "it tries again" } else { &message };
    summary.retry(why, is_limit, delay.map(failure_words::seconds));
}

/// Returns the status of a `result`. Its `subtype` is `success` even if the provider failed.
fn closing_status(event: NodeRef<'_>) -> ClosingStatus {
    let end = text(event, "terminal_reason").unwrap_or_default();
    let subtype = text(event, "subtype").unwrap_or_default();
    if end.starts_with("aborted") {
        return ClosingStatus::Badly(AgentOutcome::Interrupted);
    }
    if let Some((_, why)) = ROOM_SPENT.iter().find(|(word, _)| *word == end || *word == subtype) {
        let why = (*why).to_owned();
        return ClosingStatus::Badly(AgentOutcome::Failed { why });
    }
    let status = event.get("api_error_status").and_then(NodeRef::as_integer);
    let is_error = event.get("is_error").and_then(NodeRef::as_bool);
    if is_error == Some(false) && status.is_none() && end != "api_error" {
        return ClosingStatus::Well;
    }
    if is_error.is_none() && status.is_none() {
        let why = "its closing event does not report success or failure".to_owned();
        return ClosingStatus::Badly(AgentOutcome::Broken { why });
    }
    ClosingStatus::Badly(error_outcome(status, &message_of(event), None))
}

/// Returns the words of an error: those of `error`, else of `result`, else of the first of `errors`.
fn message_of(event: NodeRef<'_>) -> String {
    let error = object(event, "error").and_then(|error| text(error, "message"));
    let error = error.or_else(|| text(event, "error"));
    let error = error.or_else(|| text(event, "result"));
    let listed = || {
        event
            .get("errors")?
            .elements()
            .next()?
            .text()
            .map(|text| text.into_owned())
    };
    reason(&error.or_else(listed).unwrap_or_default())
}

impl FormatReader for Claude {
    fn event(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        summary.name_session(event, "session_id");
        let kind = text(event, "type").unwrap_or_default();
        match kind.as_str() {
            "assistant" => self.assistant(event, summary),
            "user" => self.answered(event, summary),
            "result" => self.result(event, summary),
            "system" if is(event, "subtype", "api_retry") || is(event, "subtype", "retry") => retry(event, summary),
            _ => {}
        }
    }

    fn closing_status(&self, _summary: &OutputSummary, _exit: AgentExit) -> Option<ClosingStatus> {
        self.closing_status.clone()
    }

    fn meaning_of(&self, code: i32, _summary: &OutputSummary) -> Option<AgentOutcome> {
        let (_, why) = self.codes.iter().find(|(known, _)| *known == code)?;
        let why = (*why).to_owned();
        Some(AgentOutcome::Failed { why })
    }
}
