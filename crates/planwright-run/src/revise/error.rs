//! Why a plan was not changed.

use planwright_core::change::Problem;
use planwright_core::text::SourceText;

use crate::claims::NotHolder;
use crate::gate::ClosedGate;
use crate::journal::PastChange;
use crate::store::{CreateError, LoadError, StoreError, UpdateError};

/// Why nothing was changed.
#[derive(Debug)]
pub enum ReviseError {
    NoSuchTask {
        name: String,
        /// The names of the plan's tasks; empty in a batch.
        known: Vec<String>,
    },
    /// No task has the name, and the text has syntax errors, so that the task may be in a part that cannot be read.
    DoubtfulPlan {
        name: String,
    },
    /// The name is ambiguous.
    SeveralTasks {
        name: String,
        /// The lines in which the tasks begin.
        lines: Vec<usize>,
    },
    NothingReady,
    NothingToUndo,
    /// The last change belongs to an active run of the plan.
    UndoDuringRun {
        pid: u32,
    },
    /// A run works on the task, and knows its attempt by the name of the task.
    EditDuringRun {
        task: String,
        /// The process of the run.
        pid: u32,
    },
    /// The change to undo has been edited since.
    EditedSince {
        change: Box<PastChange>,
        /// The later changes that planwright made to the text, the oldest first.
        later: Vec<PastChange>,
    },
    /// The file has changed since the editor was opened.
    ChangedMeanwhile,
    Closed(ClosedGate),
    /// The task is held by another owner.
    NotTheirs {
        task: String,
        /// Why the caller is not the holder.
        why: Box<NotHolder>,
    },
    /// The core refused the change.
    Problem(Problem),
    /// A place in this text prevents the change. The text is the plan's, or the result of earlier edits.
    ProblemInText {
        problem: Problem,
        source: SourceText,
    },
    Store(StoreError),
    /// A new file could not be created.
    Created(CreateError),
}

impl From<UpdateError<ReviseError>> for ReviseError {
    fn from(error: UpdateError<ReviseError>) -> Self {
        match error {
            UpdateError::Refused(refused) => refused,
            UpdateError::Store(error) => ReviseError::Store(error),
        }
    }
}

impl From<Problem> for ReviseError {
    fn from(problem: Problem) -> Self {
        ReviseError::Problem(problem)
    }
}

impl From<LoadError> for ReviseError {
    fn from(error: LoadError) -> Self {
        ReviseError::Store(error.into())
    }
}
