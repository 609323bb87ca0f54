//! Reads the output of opencode: steps that finish with a reason; `stop` as the last reason means success.

use super::failure_words::{self, FailureKind};
use super::output_summary::{OutputSummary, count, error_outcome, money, object, text};
use super::{AgentEvent, AgentExit, AgentOutcome, ClosingStatus, FormatReader};
use crate::document::NodeRef;

/// This many empty steps in a row mean that it would never end, because its provider answers with nonsense.
const LOOP_SIGN: usize = 5;

/// Reasons of a last step that are no success, whether the task is their cause, and the message.
static REASONS: &[(&str, bool, &str)] = &[
    ("length", true, "its answer was cut at the limit of its provider"),
    ("content-filter", true, "its provider refused to answer"),
    ("error", false, "its provider failed"),
    ("unknown", false, "its provider answered with nothing that makes sense"),
];

/// Response headers with a wait, and how many milliseconds one of their units has.
static WAIT_HEADERS: &[(&str, f64)] = &[("retry-after-ms", 1.0), ("retry-after", 1_000.0)];

#[derive(Default)]
pub(super) struct Opencode {
    closing_status: Option<ClosingStatus>,
    n_empty_steps: usize,
}

impl Opencode {
    fn step_finish(&mut self, part: NodeRef<'_>, summary: &mut OutputSummary) {
        let tokens = object(part, "tokens");
        let (tokens_in, tokens_out) = match tokens {
            Some(tokens) => (count(tokens, "input"), count(tokens, "output")),
            None => (None, None),
        };
        summary.add_tokens(tokens_in, tokens_out);
        summary.add_cost(money(part, "cost"));
        let reason = text(part, "reason").unwrap_or_default();
        let is_empty = reason == "unknown" && tokens_in.unwrap_or(0) == 0 && tokens_out.unwrap_or(0) == 0;
        self.n_empty_steps = if is_empty { self.n_empty_steps + 1 } else { 0 };
        summary.is_looping = self.n_empty_steps >= LOOP_SIGN;
        if self.n_empty_steps == LOOP_SIGN {
            summary.hear(AgentEvent::Looping);
        }
        self.closing_status = closing_status(&reason);
    }

    fn tool(&self, part: NodeRef<'_>, summary: &mut OutputSummary) {
        let name = text(part, "tool").unwrap_or_default();
        let state = object(part, "state");
        summary.use_tool(&name, state.and_then(|state| object(state, "input")));
        let error = state.and_then(|state| text(state, "error"));
        if error.is_some_and(|error| failure_words::kind_of(&error) == Some(FailureKind::Denied)) {
            summary.deny(&name);
        }
    }
}

fn closing_status(reason: &str) -> Option<ClosingStatus> {
    if reason == "stop" {
        return Some(ClosingStatus::Well);
    }
    let (_, is_task, why) = REASONS.iter().find(|(known, ..)| *known == reason)?;
    let why = (*why).to_owned();
    Some(ClosingStatus::Badly(match is_task {
        true => AgentOutcome::Failed { why },
        false => AgentOutcome::Broken { why },
    }))
}

fn failure(error: NodeRef<'_>) -> AgentOutcome {
    if text(error, "name").is_some_and(|name| name.contains("Aborted")) {
        return AgentOutcome::Interrupted;
    }
    let data = object(error, "data");
    let message = data.and_then(|data| text(data, "message"));
    let message = message
        .or_else(|| text(error, "message"))
        .or_else(|| text(error, "name"));
    let status = data.and_then(|data| data.get("statusCode")?.as_integer());
    let headers = data.and_then(|data| object(data, "responseHeaders"));
    let wait = headers.and_then(|headers| {
        WAIT_HEADERS.iter().find_map(|(key, factor)| {
            let value = headers.get(key)?;
            let number = value.as_number().or_else(|| value.text()?.trim().parse().ok())?;
            Some(failure_words::seconds(number * factor))
        })
    });
    error_outcome(status, message.as_deref().unwrap_or(""), wait)
}

impl FormatReader for Opencode {
    fn event(&mut self, event: NodeRef<'_>, summary: &mut OutputSummary) {
        summary.name_session(event, "sessionID");
        let kind = text(event, "type").unwrap_or_default();
        match (kind.as_str(), object(event, "part"), object(event, "error")) {
            // An event after a closing event revokes it.
            ("step_start", ..) => self.closing_status = None,
            ("text", Some(part), _) => summary.say(&text(part, "text").unwrap_or_default()),
            ("tool_use", Some(part), _) => self.tool(part, summary),
            ("step_finish", Some(part), _) => self.step_finish(part, summary),
            ("error", _, Some(error)) => self.closing_status = Some(ClosingStatus::Badly(failure(error))),
            _ => {}
        }
    }

    fn closing_status(&self, _summary: &OutputSummary, _exit: AgentExit) -> Option<ClosingStatus> {
        self.closing_status.clone()
    }
}
