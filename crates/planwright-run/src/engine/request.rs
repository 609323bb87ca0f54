//! The user's request for a run, and its options.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use planwright_core::dialect::Dialect;
use serde::Deserialize;

use crate::config::Config;
use crate::runs::{ReplanOrigin, Spent};

#[derive(Clone, Copy)]
pub struct RunRequest<'a> {
    pub path: &'a Path,
    /// The dialect to read it in, if the user forces one.
    pub forced: Option<&'static dyn Dialect>,
    pub config: &'a Config,
    pub options: &'a RunOptions,
}

#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub selection: TaskSelection,
    /// The other options of the user.
    pub flags: RunFlags,
    /// Whether only existing work lands: no agent is started.
    pub lands_only: bool,
    /// The configuration as one text, for the log; see [`crate::config::Configuration::frozen`].
    pub config_text: String,
    /// Further remarks for the user.
    pub remarks: Vec<String>,
    pub replanning: Replanning,
    /// Whether to wait for approvals instead of ending when nothing else is left. The caller that asks for approvals may clear it.
    pub waits_for_review: Arc<AtomicBool>,
    /// The command line options that a command to resume needs again.
    pub again: Vec<String>,
    /// The planwright binary that starts fenced processes; see [`crate::fence::own_program`]. Without it there is no fence.
    pub fence_program: Option<PathBuf>,
    /// The path and text of the template for prompts; none for the dialect's own.
    pub template: Option<(PathBuf, String)>,
}

/// The place of a run among the runs of a command that replans after failures.
#[derive(Clone, Debug, Default)]
pub struct Replanning {
    /// Whether a planner takes over after tasks have failed.
    pub takes_over: bool,
    /// Whether the run is the command's last one for the plan, even if it does not finish it.
    pub is_last: bool,
    /// What the command has spent before this run, on earlier versions of the plan and on planners.
    pub earlier: Spent,
    /// Why the plan is a new version; none if it is the user's own.
    pub origin: Option<ReplanOrigin>,
}

/// The user's options for a run, in addition to the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunFlags {
    /// The agent for all tasks.
    pub agent: Option<String>,
    /// The agent that chooses the agent of each task.
    pub arbiter: Option<String>,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// Whether dependents of a failed task are skipped, even if the dialect would have them wait.
    pub cascade_skip: bool,
    /// Whether tasks are refused that no configured rule verifies.
    pub require_verification: bool,
    /// Whether a task fails if it touches files that its plan does not name.
    pub strict_files: bool,
    /// Whether tasks that agents propose are added to the plan at once.
    pub accept_proposals: bool,
    /// Whether a resumed run may use a changed configuration.
    pub accept_config: bool,
    /// The branch that work lands on, which overrides the configuration; `current` is the one that is checked out.
    pub branch: Option<String>,
    /// Whether tasks see the user's uncommitted work.
    pub include_uncommitted: bool,
    /// Whether commands between backticks in the plan's criteria may verify it.
    pub allow_plan_commands: bool,
    /// Whether running an unapproved plan approves it.
    pub yes: bool,
    /// The user who runs it.
    pub by: Option<String>,
}

/// The tasks of a plan that a run works on; all by default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaskSelection {
    pub only: Vec<String>,
    /// Only these tasks and their dependents.
    pub from: Vec<String>,
    /// Only these tasks and their dependencies.
    pub until: Vec<String>,
    /// The largest number of tasks to start.
    pub max_tasks: Option<u32>,
    /// Whether tasks that failed before are tried again.
    pub retry_failed: bool,
}

impl TaskSelection {
    /// Returns whether the selection names tasks.
    pub fn is_part(&self) -> bool {
        !(self.only.is_empty() && self.from.is_empty() && self.until.is_empty())
    }
}
