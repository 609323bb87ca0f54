//! Reads the output of Gemini CLI: messages in pieces, tools, and a `result` with a status. Its exit status is an HTTP status
//! modulo 256.

use super::account::{Account, clip, count, error_outcome, is, object, text};
use super::signs::{self, Sign};
use super::{Ear, Exit, Outcome, Told};
use crate::document::NodeRef;

/// Exit statuses of its own, which are no statuses of HTTP; the flag tells a task that failed from a broken set-up.
static CODES: &[(i32, bool, &str)] = &[
    (41, false, "it is not logged in"),
    (42, false, "it does not understand its input"),
    (44, false, "its sandbox does not work"),
    (52, false, "its settings are wrong"),
    (53, true, "it reached its limit of turns"),
];

/// Events after which the next piece begins another message.
static ENDS_OF_MESSAGES: &[&str] = &["init", "tool_use", "tool_result", "result"];

/// Listens to Gemini.
#[derive(Default)]
pub(super) struct Gemini {
    told: Option<Told>,
    /// Whether the next piece belongs to the message before it.
    in_message: bool,
    /// The words of the last error.
    error: String,
}

impl Gemini {
    fn message(&mut self, event: NodeRef<'_>, account: &mut Account) {
        let content = text(event, "content").unwrap_or_default();
        let is_piece = event.get("delta").and_then(NodeRef::as_bool) == Some(true);
        if self.in_message && is_piece {
            account.limited = None;
            account.add_to_message(&content);
            // The line under way may have begun in an earlier piece.
            let tail_at = account.message.len().saturating_sub(200);
            let tail = account.message.ceil_char_boundary(tail_at);
            let tail = account.message.get(tail..).unwrap_or("").to_owned();
            account.show(&tail);
        } else {
            account.say(&content);
        }
        self.in_message = is_piece;
    }

    fn result(&mut self, event: NodeRef<'_>, account: &mut Account) {
        if let Some(stats) = object(event, "stats") {
            account.tokens_in = count(stats, "input_tokens");
            account.tokens_out = count(stats, "output_tokens");
        }
        if is(event, "status", "success") {
            self.told = Some(Told::Well);
            return;
        }
        let error = object(event, "error");
        let message = error.and_then(|error| text(error, "message").or_else(|| text(error, "type")));
        if let Some(message) = message {
            self.error = clip(&message, 2_000).to_owned();
        }
        self.told = Some(Told::Badly(error_outcome(None, &self.error, None)));
    }
}

impl Ear for Gemini {
    fn event(&mut self, event: NodeRef<'_>, account: &mut Account) {
        let kind = text(event, "type").unwrap_or_default();
        // What others say in between does not end a message.
        if ENDS_OF_MESSAGES.contains(&kind.as_str()) {
            self.in_message = false;
        }
        match kind.as_str() {
            "init" => account.name_session(event, "session_id"),
            "message" if is(event, "role", "assistant") => self.message(event, account),
            "message" => self.in_message = false,
            "tool_use" => {
                let name = text(event, "tool_name").unwrap_or_default();
                account.use_tool(&name, object(event, "parameters"));
            }
            "error" => {
                let message = text(event, "message").unwrap_or_default();
                account.keep_noise(&message);
                // The closing event may leave it at that.
                self.error = clip(&message, 2_000).to_owned();
                account.retry(&message, signs::of(&message) == Some(Sign::RateLimited), None);
            }
            "result" => self.result(event, account),
            _ => {}
        }
    }

    fn told(&self, _account: &Account, _exit: Exit) -> Option<Told> {
        self.told.clone()
    }

    fn meaning_of(&self, code: i32, account: &Account) -> Option<Outcome> {
        if let Some((_, is_task, why)) = CODES.iter().find(|(known, ..)| *known == code) {
            return Some(match is_task {
                true => Outcome::Failed { why: (*why).to_owned() },
                false => Outcome::Broken {
                    why: account.explained(why),
                },
            });
        }
        let status = signs::http_status_of(code)?;
        let wait = account.limited.as_ref().and_then(|limit| limit.wait);
        let words = match self.error.is_empty() {
            true => account.explained(&format!("its provider answered with status {status}")),
            false => self.error.clone(),
        };
        Some(error_outcome(Some(status), &words, wait))
    }
}
