//! Reads the output of any other command: text for people, and an exit code that decides.

use super::failure_words::{self, FailureKind, INTERRUPTED_CODES};
use super::output_summary::{OutputSummary, error_outcome};
use super::{AgentExit, AgentOutcome, ClosingStatus, FormatReader};
use crate::text::clip;

/// How much of the end of the output is kept as the message, in bytes.
const MAX_TAIL: usize = 8 * 1024;

/// The exit codes of a shell for a missing command, or one that cannot be executed.
static NO_COMMAND: &[i32] = &[126, 127];

/// Reads the output of a command without a format.
pub(super) struct Plain;

/// Shows a line and keeps it as the end of the message.
pub(super) fn remember(line: &str, summary: &mut OutputSummary) {
    let line = clip(line, MAX_TAIL / 2).trim_end();
    if line.is_empty() {
        return;
    }
    summary.show(line);
    summary.keep_noise(line);
    let message = &mut summary.message;
    if !message.is_empty() {
        message.push('\n');
    }
    message.push_str(line);
    // Cut in large steps, so that a line costs little on average.
    if message.len() > 2 * MAX_TAIL {
        let cut = message.ceil_char_boundary(message.len() - MAX_TAIL);
        let cut = message
            .get(cut..)
            .and_then(|rest| rest.find('\n'))
            .map_or(cut, |at| cut + at + 1);
        message.drain(..cut);
    }
}

impl FormatReader for Plain {
    fn line(&mut self, line: &str, summary: &mut OutputSummary) {
        remember(line, summary);
    }

    fn closing_status(&self, summary: &OutputSummary, exit: AgentExit) -> Option<ClosingStatus> {
        let AgentExit::Code(code) = exit else {
            return None;
        };
        if code == 0 {
            return Some(ClosingStatus::Well);
        }
        if INTERRUPTED_CODES.contains(&code) {
            return None;
        }
        let sentence = summary.explained(&format!("it ended with {exit}"));
        if NO_COMMAND.contains(&code) {
            return Some(ClosingStatus::Badly(AgentOutcome::Broken { why: sentence }));
        }
        // Only the last line is from the command itself: the lines above may be the output of tests that it ran.
        let last = summary.last_noise().last();
        let limit = last.filter(|line| failure_words::kind_of(line) == Some(FailureKind::RateLimited));
        Some(ClosingStatus::Badly(match limit {
            Some(line) => error_outcome(None, line, None),
            None => AgentOutcome::Failed { why: sentence },
        }))
    }
}
