//! Reads the output of aider: text for people, and exit status 0 in any case. Only an applied edit or a commit is a sign of
//! success.

use super::output_summary::{OutputSummary, error_outcome};
use super::plain::remember;
use super::{AgentExit, AgentOutcome, ClosingStatus, FormatReader};
use crate::text::clip;

/// The start of a line that reports an edit.
const EDIT: &str = "Applied edit to ";

/// The start of a line that reports a commit, before its number.
const COMMIT: &str = "Commit ";

/// The prefix of an error's kind in its library for providers.
const PROVIDER: &str = "litellm.";

/// Lines that it prints when the user interrupts it.
static INTERRUPTS: &[&str] = &["^C again to exit", "^C KeyboardInterrupt"];

#[derive(Default)]
pub(super) struct Aider {
    has_worked: bool,
    is_interrupted: bool,
    /// The last error, if no success followed it.
    error: Option<AgentOutcome>,
}

impl FormatReader for Aider {
    fn line(&mut self, line: &str, summary: &mut OutputSummary) {
        remember(line, summary);
        let line = clip(line, 4_096).trim();
        if line.starts_with(EDIT) || is_commit(line) {
            self.has_worked = true;
            self.recover(summary);
        } else if let Some(tokens) = line.strip_prefix("Tokens: ") {
            count_tokens(tokens, summary);
            self.recover(summary);
        } else if INTERRUPTS.iter().any(|words| line.contains(words)) {
            self.is_interrupted = true;
        } else if is_provider_error(line) {
            let outcome = error_outcome(None, line, None);
            summary.retry(line, matches!(outcome, AgentOutcome::RateLimited { .. }), None);
            self.error = Some(outcome);
        }
    }

    fn closing_status(&self, _summary: &OutputSummary, exit: AgentExit) -> Option<ClosingStatus> {
        if self.is_interrupted {
            return Some(ClosingStatus::Badly(AgentOutcome::Interrupted));
        }
        if let (Some(error), AgentExit::Code(_)) = (&self.error, exit) {
            return Some(ClosingStatus::Badly(error.clone()));
        }
        match (self.has_worked, exit) {
            (true, AgentExit::Code(_)) => Some(ClosingStatus::Well),
            (false, AgentExit::Code(0)) => {
                let why = "it applied no edit".to_owned();
                Some(ClosingStatus::Badly(AgentOutcome::Failed { why }))
            }
            _ => None,
        }
    }
}

impl Aider {
    fn recover(&mut self, summary: &mut OutputSummary) {
        self.error = None;
        summary.limited = None;
    }
}

/// Returns whether a line reports a commit: sentences of models begin with the same word.
fn is_commit(line: &str) -> bool {
    let number = line.strip_prefix(COMMIT).and_then(|rest| rest.split(' ').next());
    number.is_some_and(|number| number.len() >= 7 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_provider_error(line: &str) -> bool {
    line.find(PROVIDER).is_some_and(|at| {
        let name = line.get(at + PROVIDER.len()..).unwrap_or("");
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        name.get(..end).is_some_and(|name| name.ends_with("Error"))
    })
}

/// Reads `2.1k sent, 89 received. Cost: $0.01 message, $0.03 session.`
fn count_tokens(line: &str, summary: &mut OutputSummary) {
    let before = |words: &str| {
        let number = line.split_once(words)?.0.trim_end();
        let start = number.rfind([' ', '$']).map_or(0, |at| at + 1);
        number.get(start..)
    };
    summary.add_tokens(before("sent").and_then(quantity), before("received").and_then(quantity));
    let cost = before("session").and_then(|cost| cost.parse::<f64>().ok());
    summary.usage.cost_usd = cost
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
        .or(summary.usage.cost_usd);
}

/// Reads `89`, `1,234`, `2.1k`, `1.2M`.
fn quantity(text: &str) -> Option<u64> {
    let text = text.replace(',', "");
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1_000.0),
        None => text
            .strip_suffix(['m', 'M'])
            .map_or((text.as_str(), 1.0), |number| (number, 1_000_000.0)),
    };
    let number = number
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)?;
    Some((number * factor).round() as u64)
}
