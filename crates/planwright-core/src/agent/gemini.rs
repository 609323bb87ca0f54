//! Reads the output of Gemini CLI: messages in pieces, tools, and a `result` with a status. Its exit code is an HTTP status modulo 256.

use super::failure_words::{self, FailureKind};
use super::output_summary::{OutputSummary, count, error_outcome, is, object, text};
use super::{AgentExit, AgentOutcome, ClosingStatus, FormatReader};
use crate::document::NodeRef;
use crate::text::clip;

/// Its own exit codes, which are no HTTP statuses. The flag distinguishes a failed task from a broken setup.
static CODES: &[(i32, bool, &str)] = &[
    (41, false, "it is not logged in"),
    (42, false, "it does not understand its input"),
    (44, false, "its sandbox does not work"),
    (52, false, "its settings are wrong"),
    (53, true, "it reached its limit of turns"),
];

/// Events after which the next piece starts another message.
static ENDS_OF_MESSAGES: &[&str] = &["init", "tool_use", "tool_result", "result"];

#[derive(Default)]
pub(super) struct Gemini {
    closing_status: Option<ClosingStatus>,
    /// Whether the next piece belongs to the message before it.
    in_message: bool,
    /// The words of the last error.
    error: String,
}

impl Gemini {
    fn message(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        let content = text(event, "content").unwrap_or_default();
        let is_piece = event.get("delta").and_then(NodeRef::as_bool) == Some(true);
        if self.in_message && is_piece {
            summary.limited = None;
            summary.add_to_message(&content);
            // The current line may have started in an earlier piece.
            let tail_at = summary.message.len().saturating_sub(200);
            let tail = summary.message.ceil_char_boundary(tail_at);
            let tail = summary.message.get(tail..).unwrap_or("").to_owned();
            summary.show(&tail);
        } else {
            summary.say(&content);
        }
        self.in_message = is_piece;
    }

    fn result(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        if let Some(stats) = object(event, "stats") {
            summary.usage.tokens_in = count(stats, "input_tokens");
            summary.usage.tokens_out = count(stats, "output_tokens");
        }
        if is(event, "status", "success") {
            self.closing_status = Some(ClosingStatus::Well);
            return;
        }
        let error = object(event, "error");
        let message = error.and_then(|error| text(error, "message").or_else(|| text(error, "type")));
        if let Some(message) = message {
            self.error = clip(&message, 2_000).to_owned();
        }
        self.closing_status = Some(ClosingStatus::Badly(error_outcome(None, &self.error, None)));
    }
}

impl FormatReader for Gemini {
    fn event(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        let kind = text(event, "type").unwrap_or_default();
        // Other events in between do not end a message.
        if ENDS_OF_MESSAGES.contains(&kind.as_str()) {
            self.in_message = false;
        }
        match kind.as_str() {
            "init" => summary.name_session(event, "session_id"),
            "message" if is(event, "role", "assistant") => self.message(event, summary),
            "message" => self.in_message = false,
            "tool_use" => {
                let name = text(event, "tool_name").unwrap_or_default();
                summary.use_tool(&name, object(event, "parameters"));
            }
            "error" => {
                let message = text(event, "message").unwrap_or_default();
                summary.keep_noise(&message);
                // The closing event may have no error of its own.
                self.error = clip(&message, 2_000).to_owned();
                summary.retry(
                    &message,
                    failure_words::kind_of(&message) == Some(FailureKind::RateLimited),
                    None,
                );
            }
            "result" => self.result(event, summary),
            _ => {}
        }
    }

    fn closing_status(&self, _summary: &OutputSummary, _exit: AgentExit) -> Option<ClosingStatus> {
        self.closing_status.clone()
    }

    fn meaning_of(&self, code: i32, summary: &OutputSummary) -> Option<AgentOutcome> {
        if let Some((_, is_task, why)) = CODES.iter().find(|(known, ..)| *known == code) {
            return Some(match is_task {
                true => AgentOutcome::Failed { why: (*why).to_owned() },
                false => AgentOutcome::Broken {
                    why: summary.explained(why),
                },
            });
        }
        let status = failure_words::http_status_of(code)?;
        let wait = summary.limited.as_ref().and_then(|limit| limit.wait);
        let words = match self.error.is_empty() {
            true => summary.explained(&format!("its provider answered with status {status}")),
            false => self.error.clone(),
        };
        Some(error_outcome(Some(status), &words, wait))
    }
}
