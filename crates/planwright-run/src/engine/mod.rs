//! Runs a plan: connects the scheduler, agents, verification, the run's log and the plan file. Prints nothing.
//!
//! The order of steps makes a run safe to kill: the start of an attempt is durable before it has a process, its end before it is
//! reported, and the plan file follows the log, never the reverse.

mod agent_choice;
mod attempt;
mod baseline;
mod branch_choice;
mod budget;
mod drift;
mod error;
mod folder_print;
mod held_tasks;
mod isolation;
mod landing_site;
mod leftovers;
mod naming;
mod own_files;
mod plan_snapshot;
mod prepare;
mod preview;
mod protected;
mod recovery;
mod request;
mod run_loop;
mod shared_guard;
mod state_links;
mod status_updates;
mod user_command;

pub use branch_choice::{branch_preview, refuse_branch_in_use, refuse_unusable_checkouts};
pub use error::RunError;
pub use held_tasks::HeldTask;
pub use isolation::{Isolation, undo_unfinished_move};
pub use leftovers::{Leftover, LeftoverState, Leftovers};
pub use own_files::OwnFiles;
pub use plan_snapshot::PlanSnapshot;
pub use prepare::{PreparedRun, USUAL_ATTEMPTS, prepare};
pub use preview::{Preview, VerificationPreview, prompt_of, verification_of};
pub use request::{Replanning, RunFlags, RunOptions, RunRequest, TaskSelection};
pub use run_loop::{RunOutcome, run};
pub use user_command::{notify, run_hook};

use crate::runs::RunRecord;

/// Receives the events of a run.
pub trait Watcher {
    /// Receives an event after it is durable.
    fn event(&mut self, record: &RunRecord);

    /// Receives the last line of output of a task's process, unchecked.
    fn line(&mut self, _task: &str, _line: &str) {}

    /// Is called a few times per second, even without events.
    fn tick(&mut self) {}

    /// Receives a command of the baseline before it runs. The baseline verifies every task before the first attempt.
    fn baseline(&mut self, _command: &str) {}

    /// Returns whether the run starts although commands of the baseline failed. Shows the failures.
    fn accepts_failing_baseline(&mut self, _failures: &str) -> bool {
        false
    }
}
