//! Reads the output of Codex: items within turns; a turn completes or fails.

use super::account::{Account, count, error_outcome, is, object, text};
use super::signs::{self, Sign};
use super::{Ear, Exit, Told};
use crate::document::NodeRef;

/// Kinds of items that are tools, with the member that says what they are used on.
static TOOLS: &[(&str, &str)] = &[
    ("command_execution", "command"),
    ("mcp_tool_call", "tool"),
    ("web_search", "query"),
];

/// Listens to Codex.
#[derive(Default)]
pub(super) struct Codex {
    told: Option<Told>,
}

fn item_started(item: NodeRef<'_>, account: &mut Account) {
    if let Some((kind, about)) = TOOLS.iter().find(|(kind, _)| is(item, "type", kind)) {
        account.use_tool_on(kind, &text(item, about).unwrap_or_default());
    }
}

fn item_completed(item: NodeRef<'_>, account: &mut Account) {
    let kind = text(item, "type").unwrap_or_default();
    if is(item, "status", "declined") {
        account.deny(&kind);
    }
    match kind.as_str() {
        "agent_message" => account.say(&text(item, "text").unwrap_or_default()),
        "file_change" => {
            let changes = item.get("changes");
            let first = changes.into_iter().flat_map(NodeRef::elements).next();
            let path = first.and_then(|change| text(change, "path"));
            account.use_tool_on(&kind, path.as_deref().unwrap_or(""));
        }
        _ => {}
    }
}

impl Ear for Codex {
    fn event(&mut self, event: NodeRef<'_>, account: &mut Account) {
        let kind = text(event, "type").unwrap_or_default();
        let item = object(event, "item");
        match (kind.as_str(), item) {
            ("thread.started", _) => account.name_session(event, "thread_id"),
            ("item.started", Some(item)) => item_started(item, account),
            ("item.completed", Some(item)) => item_completed(item, account),
            ("turn.started", _) => self.told = None,
            ("turn.completed", _) => {
                if let Some(usage) = object(event, "usage") {
                    account.add_tokens(count(usage, "input_tokens"), count(usage, "output_tokens"));
                }
                self.told = Some(Told::Well);
            }
            ("turn.failed", _) => {
                let message = object(event, "error").and_then(|error| text(error, "message"));
                let outcome = error_outcome(None, message.as_deref().unwrap_or(""), None);
                self.told = Some(Told::Badly(outcome));
            }
            // An error between turns is a notice that something is tried again; what it comes to is the turn's to say.
            ("error", _) => {
                let message = text(event, "message").unwrap_or_default();
                let is_limit = signs::of(&message) == Some(Sign::RateLimited);
                account.keep_noise(&message);
                account.retry(&message, is_limit, None);
            }
            _ => {}
        }
    }

    fn told(&self, _account: &Account, _exit: Exit) -> Option<Told> {
        self.told.clone()
    }
}
