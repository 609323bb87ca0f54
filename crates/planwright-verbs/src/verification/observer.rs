//! How a face takes part while a verb verifies tasks: it hears what happens, and may end it.

use std::io;

use super::report::ReceiptReport;
use crate::face::CancelToken;

/// What happens while a verb verifies tasks.
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
    /// The commands of a task are over; what no rule covers.
    TaskEnds {
        task: &'a str,
        gaps: &'a [String],
    },
}

/// A face, while a verb verifies tasks.
pub trait VerificationObserver {
    fn happens(&mut self, _event: VerificationEvent<'_>) {}

    /// Returns the token that ends the verb. It is asked for when the first command is about to run.
    fn cancel_token(&mut self) -> io::Result<CancelToken>;
}
