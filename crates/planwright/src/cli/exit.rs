//! Exit statuses, and failures with their help.

use std::path::Path;

use planwright_core::diagnostic::{Diagnostic, Safety, Severity};
use planwright_core::text::{SourceText, Span};
use planwright_run::error_chain::with_causes;
use planwright_run::shell::argument;
use planwright_run::store::StoreError;

/// The exit statuses, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All is well.
    Success = 0,
    /// The plan has problems, or the question has no answer.
    Problems = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The environment failed: a file, a lock, a missing program.
    Environment = 3,
    /// Somebody pressed Ctrl-C.
    Interrupted = 130,
    /// Somebody asked the process to end.
    Terminated = 143,
}

impl Exit {
    /// Returns the exit for a status of a compatibility command.
    pub(crate) fn of(status: u8) -> Self {
        match status {
            0 => Exit::Success,
            1 => Exit::Problems,
            2 => Exit::Usage,
            _ => Exit::Environment,
        }
    }
}

/// Returns what to do about a file whose errors are in the way.
pub(crate) fn fix_first(path: &Path, findings: &[Diagnostic]) -> String {
    let errors = || findings.iter().filter(|found| found.severity == Severity::Error);
    let is_safe = |found: &Diagnostic| found.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe);
    match path.to_str() {
        _ if errors().any(|found| found.rule.id == "merge-conflict") => {
            "edit the file by hand: keep one side of each conflict, and remove the marks".to_owned()
        }
        Some(path) if path != "-" && errors().any(is_safe) => format!(
            "fix them first; `planwright check --fix {}` applies the safe fixes",
            argument(path)
        ),
        _ => "fix them first: each error says how".to_owned(),
    }
}

/// An error with the exit it leads to and advice.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the command ends.
    pub(crate) exit: Exit,
    /// What went wrong.
    pub(crate) message: String,
    /// What to do; empty where there is no advice.
    pub(crate) help: String,
    /// What it rests on, where that is in a file.
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// The text that a failure is about, and what is in the way there.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The path of the file as shown.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) source: SourceText,
    /// The place that the message is about.
    pub(crate) span: Option<Span>,
    /// The findings that the message rests on.
    pub(crate) findings: Vec<Diagnostic>,
    /// What of it people see.
    pub(crate) drawn: Drawn,
}

/// What is drawn of what is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// The place that the message is about.
    Place,
    /// The findings.
    Findings,
    /// Nothing: the message says it all.
    Nothing,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// Returns a question about a plan that has no answer.
    pub(crate) fn problem(message: impl Into<String>, help: impl Into<String>) -> anyhow::Error {
        Failure {
            exit: Exit::Problems,
            message: message.into(),
            help: help.into(),
            evidence: None,
        }
        .into()
    }

    /// Returns a question about a plan that has no answer, with what is in the way.
    pub(crate) fn shown(message: impl Into<String>, help: impl Into<String>, evidence: Evidence) -> anyhow::Error {
        Failure {
            exit: Exit::Problems,
            message: message.into(),
            help: help.into(),
            evidence: Some(Box::new(evidence)),
        }
        .into()
    }

    /// Returns a wrong use of the command line.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> anyhow::Error {
        Failure {
            exit: Exit::Usage,
            message: message.into(),
            help: help.into(),
            evidence: None,
        }
        .into()
    }

    /// Returns a failure of what is around planwright, where no error of the system tells of it.
    pub(crate) fn outside(message: impl Into<String>, help: impl Into<String>) -> anyhow::Error {
        Failure {
            exit: Exit::Environment,
            message: message.into(),
            help: help.into(),
            evidence: None,
        }
        .into()
    }

    /// Returns a failure of the environment.
    pub(crate) fn environment(error: &(dyn std::error::Error + 'static), help: impl Into<String>) -> anyhow::Error {
        let is_refusal = matches!(error.downcast_ref(), Some(StoreError::InAttempt { .. }));
        Failure {
            exit: if is_refusal { Exit::Problems } else { Exit::Environment },
            message: with_causes(error),
            help: help.into(),
            evidence: None,
        }
        .into()
    }
}
