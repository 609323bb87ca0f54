//! Words of the log that the code compares, as enums written as strings. An unknown word is kept, and is no error.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defines an enum of words, with its form in logs.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $variant:ident => $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant,)*
            Other(String),
        }

        impl $name {
            pub fn of(word: &str) -> Self {
                match word {
                    $($word => $name::$variant,)*
                    word => $name::Other(word.to_owned()),
                }
            }

            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)*
                    $name::Other(word) => word,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::Other(String::new())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok($name::of(&String::deserialize(deserializer)?))
            }
        }
    };
}

words! {
    Outcome {
        /// The agent reported success. Verification may still contradict it.
        Done => "done",
        /// It failed, or its verification did.
        Failed => "failed",
        /// It met a condition that ends the run.
        Stopped => "stopped",
        /// The run or the user ended it, another process moved the task, or the run died during it.
        Interrupted => "interrupted",
        /// The agent's provider refused more requests for now. The attempt does not count.
        RateLimited => "rate-limited",
        /// The agent could not work, and another agent takes the task. The attempt does not count.
        Broken => "broken",
    }
}

words! {
    RunStanding {
        /// All its tasks are done or skipped.
        Finished => "finished",
        /// No task can start any more.
        Stuck => "stuck",
        Stopped => "stopped",
        /// It ended while it was paused.
        Paused => "paused",
        AwaitsReview => "awaits-review",
        /// Its reviews were decided after its end, and none of its tasks failed. Unfinished tasks remain.
        Reviewed => "reviewed",
    }
}

words! {
    /// Why a run starts no more tasks.
    StopReason {
        /// The user requested it.
        Requested => "requested",
        /// A signal requested it, as Ctrl-C sends one.
        Signal => "signal",
        /// The machine prevents the run from continuing.
        Hindered => "hindered",
        /// A task met its stop condition.
        Condition => "condition",
        /// A task failed, and failures end the run.
        Failure => "failure",
        /// The limit of `--max-tasks` is reached.
        MaxTasks => "max-tasks",
        Budget => "budget",
    }
}

words! {
    IsolationMode {
        /// All in the folder of the workspace.
        Shared => "shared",
        Checkouts => "checkouts",
        /// Each in its own git worktree, in runs of earlier versions.
        Worktrees => "worktrees",
    }
}

words! {
    RemarkKind {
        /// The plan names another branch than the one that is checked out.
        OtherBranch => "other-branch",
        /// An agent was asked which agent takes a task.
        ArbiterAsked => "arbiter-asked",
        /// Another agent takes a task.
        Fallback => "fallback",
        BudgetSpent => "budget-spent",
        /// A task waits until running tasks leave something of the budget.
        AwaitsBudget => "awaits-budget",
        /// A task was interrupted in an earlier part of the run, or in an earlier run.
        WasInterrupted => "was-interrupted",
        /// The plan file could not be written.
        PlanUnwritten => "plan-unwritten",
        Proposed => "proposed",
        /// The plan file had a status that the run does not know: it does not count, and the file is set back.
        StatusSetBack => "status-set-back",
        /// A task changed or removed files that verify it.
        ProtectedChanged => "protected-changed",
        /// A task changed settings or hooks of the shared repository, or the configuration: they are restored.
        GuardedRestored => "guarded-restored",
        /// Settings, hooks or configuration were changed while a task was at work, and stay changed.
        GuardedChanged => "guarded-changed",
        /// Agents run without a fence, although it was not turned off.
        NotFenced => "not-fenced",
        /// The plan file has other criteria or another type for a task than when the task started.
        ContractEdited => "contract-edited",
    }
}

impl Outcome {
    /// Returns whether an attempt with this outcome counts towards budgets and limits of attempts.
    pub fn counts(&self) -> bool {
        !matches!(self, Outcome::RateLimited | Outcome::Broken)
    }
}
