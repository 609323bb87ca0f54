//! Why attempts failed, as text for the next attempt.

use super::super::record::{Receipt, VerificationRecord};
use crate::shell::command_line;

/// How much of a failure is stored for later prompts, in bytes.
const MAX_REMEMBERED: usize = 16 * 1024;

const VERIFICATION_FAILED: &str = "verification failed";

/// Returns the failure of an attempt's verification as text for the next attempt.
pub fn verification_failure(receipts: &[Receipt]) -> String {
    format!("{VERIFICATION_FAILED}\n\n{}", failed_commands(receipts))
}

pub(crate) fn failed_commands(receipts: &[Receipt]) -> String {
    let failed = receipts.iter().filter(|receipt| receipt.exit != "exit 0");
    let words = failed.map(|receipt| {
        let command = command_line(&receipt.command);
        match receipt.tail.trim_end() {
            "" => format!("`{command}` failed ({})", receipt.exit),
            tail => format!("`{command}` failed ({}):\n{tail}", receipt.exit),
        }
    });
    words.collect::<Vec<_>>().join("\n\n")
}

pub(super) fn failed_command(verified: &VerificationRecord) -> Option<String> {
    let failed = verified.receipts.iter().find(|receipt| receipt.exit != "exit 0")?;
    Some(format!(
        "`{}` ended with {}",
        command_line(&failed.command),
        failed.exit
    ))
}

/// Returns the end of a text, which has the reason of a failure.
pub(super) fn end_of(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_REMEMBERED));
    text[from..].to_owned()
}
