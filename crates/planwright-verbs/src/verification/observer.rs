//! How a caller observes verification: it receives events, and may cancel the verb.

use std::io;

use super::report::ReceiptReport;
use crate::cancel::CancelToken;

/// An event while a verb verifies tasks.
pub enum VerificationEvent<'a> {
    /// The commands of a task are about to run.
    TaskBegins {
        task: &'a str,
        title: &'a str,
    },
    /// These files were restored before the next command.
    Restored {
        files: &'a [String],
    },
    CommandBegins {
        command: &'a [String],
    },
    CommandEnds {
        receipt: &'a ReceiptReport,
    },
    /// The commands of a task have ended; with the criteria without a rule.
    TaskEnds {
        task: &'a str,
        gaps: &'a [String],
    },
}

/// Observes a verb that verifies tasks.
pub trait VerificationObserver {
    fn happens(&mut self, _event: VerificationEvent<'_>) {}

    /// Returns the token that cancels the verb. Called when the first command is about to run.
    fn cancel_token(&mut self) -> io::Result<CancelToken>;
}
