//! Reads the output of Codex: items within turns; a turn completes or fails.

use super::failure_words::{self, FailureKind};
use super::output_summary::{OutputSummary, count, error_outcome, is, object, text};
use super::{AgentExit, ClosingStatus, FormatReader};
use crate::document::NodeRef;

/// Kinds of items that are tools, with the member that names their subject.
static TOOLS: &[(&str, &str)] = &[
    ("command_execution", "command"),
    ("mcp_tool_call", "tool"),
    ("web_search", "query"),
];

#[derive(Default)]
pub(super) struct Codex {
    closing_status: Option<ClosingStatus>,
}

fn item_started(item: NodeRef<'_>, summary: &mut OutputSummary) {
    if let Some((kind, about)) = TOOLS.iter().find(|(kind, _)| is(item, "type", kind)) {
        summary.use_tool_on(kind, &text(item, about).unwrap_or_default());
    }
}

fn item_completed(item: NodeRef<'_>, summary: &mut OutputSummary) {
    let kind = text(item, "type").unwrap_or_default();
    if is(item, "status", "declined") {
        summary.deny(&kind);
    }
    match kind.as_str() {
        "agent_message" => summary.say(&text(item, "text").unwrap_or_default()),
        "file_change" => {
            let changes = item.get("changes");
            let first = changes.into_iter().flat_map(NodeRef::elements).next();
            let path = first.and_then(|change| text(change, "path"));
            summary.use_tool_on(&kind, path.as_deref().unwrap_or(""));
        }
        _ => {}
    }
}

impl FormatReader for Codex {
    fn event(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        let kind = text(event, "type").unwrap_or_default();
        let item = object(event, "item");
        match (kind.as_str(), item) {
            ("thread.started", _) => summary.name_session(event, "thread_id"),
            ("item.started", Some(item)) => item_started(item, summary),
            ("item.completed", Some(item)) => item_completed(item, summary),
            ("turn.started", _) => self.closing_status = None,
            ("turn.completed", _) => {
                if let Some(usage) = object(event, "usage") {
                    summary.add_tokens(count(usage, "input_tokens"), count(usage, "output_tokens"));
                }
                self.closing_status = Some(ClosingStatus::Well);
            }
            ("turn.failed", _) => {
                let message = object(event, "error").and_then(|error| text(error, "message"));
                let outcome = error_outcome(None, message.as_deref().unwrap_or(""), None);
                self.closing_status = Some(ClosingStatus::Badly(outcome));
            }
            // An error between turns announces a retry; the end of the turn decides.
            ("error", _) => {
                let message = text(event, "message").unwrap_or_default();
                let is_limit = failure_words::kind_of(&message) == Some(FailureKind::RateLimited);
                summary.keep_noise(&message);
                summary.retry(&message, is_limit, None);
            }
            _ => {}
        }
    }

    fn closing_status(&self, _summary: &OutputSummary, _exit: AgentExit) -> Option<ClosingStatus> {
        self.closing_status.clone()
    }
}
