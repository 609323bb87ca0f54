//! The end of a verb: the exit codes, and a failure with its message, its help and its places.

use std::path::Path;

use planwright_core::diagnostic::{Diagnostic, Safety, Severity};
use planwright_core::text::{SourceText, Span};
use planwright_run::agent_query::AgentQueryError;
use planwright_run::copy_workspace::WorkspaceCopyError;
use planwright_run::error_chain::with_causes;
use planwright_run::fence::FenceError;
use planwright_run::preparation::PreparationError;
use planwright_run::setup::SetupError;
use planwright_run::shell::argument;
use planwright_run::store::{CreateError, LoadError, StoreError, UpdateError};

/// The exit codes, worst last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    #[default]
    Success = 0,
    /// The plan has errors, or the question has no answer.
    Problems = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The environment failed: a file, a lock, a missing program.
    Environment = 3,
    /// The user pressed Ctrl-C.
    Interrupted = 130,
    /// Another process terminated this one.
    Terminated = 143,
}

impl Exit {
    pub fn success_if(is_good: bool) -> Self {
        match is_good {
            true => Exit::Success,
            false => Exit::Problems,
        }
    }

    /// Returns the exit for an exit code of a compatibility command.
    pub fn of(status: u8) -> Self {
        match status {
            0 => Exit::Success,
            1 => Exit::Problems,
            2 => Exit::Usage,
            _ => Exit::Environment,
        }
    }
}

/// Returns the help for a file whose errors prevent an operation.
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
        _ => "fix them first: see the help of each error".to_owned(),
    }
}

/// An error with its exit and its help.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
    /// The next step for the user; may be empty.
    pub help: String,
    /// Its evidence in files.
    pub evidence: Vec<Evidence>,
}

/// The text that a failure concerns, and the obstacle in it.
#[derive(Debug)]
pub struct Evidence {
    /// The path of the file as shown.
    pub path: String,
    pub source: SourceText,
    /// The span that the message concerns.
    pub span: Option<Span>,
    /// The findings behind the message.
    pub findings: Vec<Diagnostic>,
    /// The parts that are drawn.
    pub drawn: Drawn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// The span that the message concerns.
    Place,
    Findings,
    /// Nothing: the message is enough.
    Nothing,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Failure::outside(format!("the result cannot be written as JSON: {error}"), "")
    }
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> Self {
        Failure {
            exit,
            message: message.into(),
            help: help.into(),
            evidence: Vec::new(),
        }
    }

    /// Returns a failure for a question about a plan that has no answer.
    pub fn problem(message: impl Into<String>, help: impl Into<String>) -> Self {
        Failure::new(Exit::Problems, message, help)
    }

    /// Returns a failure for a question about a plan that has no answer, with the obstacle.
    pub fn shown(message: impl Into<String>, help: impl Into<String>, evidence: Evidence) -> Self {
        Failure {
            evidence: vec![evidence],
            ..Failure::problem(message, help)
        }
    }

    /// Returns a failure for wrong use of the command line.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message, help)
    }

    /// Returns a failure of the environment without an error of the system.
    pub fn outside(message: impl Into<String>, help: impl Into<String>) -> Self {
        Failure::new(Exit::Environment, message, help)
    }

    /// Returns a failure for a cancelled verb, which needs no message.
    pub fn interrupted(exit: Exit) -> Self {
        Failure::new(exit, "", "")
    }

    pub fn environment(error: &(dyn std::error::Error + 'static), help: impl Into<String>) -> Self {
        let is_refusal = matches!(error.downcast_ref(), Some(StoreError::InAttempt { .. }));
        let exit = if is_refusal { Exit::Problems } else { Exit::Environment };
        Failure::new(exit, with_causes(error), help)
    }
}

/// Makes failures of the errors of the crates below, which say what to do, and here whether the environment is at fault.
macro_rules! failures {
    ($($error:ty, $name:pat => $is_environment:expr;)*) => { $(
        impl From<&$error> for Failure {
            fn from(error: &$error) -> Self {
                let $name = error;
                match $is_environment {
                    true => Failure::environment(error, error.help()),
                    false => Failure::problem(error.to_string(), error.help()),
                }
            }
        }

        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::from(&error)
            }
        }
    )* };
}

failures! {
    AgentQueryError, error => error.is_environment();
    WorkspaceCopyError, error => error.is_environment();
    CreateError, error => !matches!(error, CreateError::Exists { .. });
    SetupError, error => !matches!(error, SetupError::Exists { .. });
    // A file that is too large is a problem of the plan.
    LoadError, error => !matches!(error, LoadError::TooLarge { .. });
    StoreError, error => !matches!(error, StoreError::Load(LoadError::TooLarge { .. }));
    FenceError, _ => false;
    PreparationError, _ => false;
}

impl From<UpdateError<Failure>> for Failure {
    fn from(error: UpdateError<Failure>) -> Self {
        match error {
            UpdateError::Refused(refused) => refused,
            UpdateError::Store(error) => error.into(),
        }
    }
}
