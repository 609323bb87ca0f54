//! The output and the exit code of an original tool's command.

/// The output and the exit code of a command.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit code.
    pub(crate) status: u8,
    /// For standard output.
    pub(crate) stdout: String,
    /// For standard error.
    pub(crate) stderr: String,
}

impl Answer {
    /// Returns an answer on standard output.
    pub(crate) fn out(status: u8, stdout: impl Into<String>) -> Self {
        Answer {
            status,
            stdout: stdout.into(),
            stderr: String::new(),
        }
    }

    /// Returns an answer on standard error.
    pub(crate) fn err(status: u8, stderr: impl Into<String>) -> Self {
        Answer {
            status,
            stdout: String::new(),
            stderr: stderr.into(),
        }
    }
}
