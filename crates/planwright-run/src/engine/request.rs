//! The user's request for a run, and its options.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use planwright_core::dialect::Dialect;
use serde::Deserialize;

use crate::config::Config;
use crate::runs::{Replanned, Spent};

#[derive(Clone, Copy)]
pub struct RunRequest<'a> {
    pub path: &'a Path,
    /// The dialect to read it in, whatever it looks like.
    pub forced: Option<&'static dyn Dialect>,
    pub config: &'a Config,
    pub options: &'a RunOptions,
}

#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The tasks that it works on.
    pub selection: TaskSelection,
    /// What else the user asks for.
    pub asked: AskedRun,
    /// Whether only work lands that is there already: no agent is started.
    pub lands_only: bool,
    /// The configuration as one text, for the log; see [`crate::config::Configuration::frozen`].
    pub config_text: String,
    /// What else the user should know.
    pub remarks: Vec<String>,
    /// Whether a planner takes over when tasks have failed.
    pub replans: bool,
    /// What the command has spent before this run, on earlier versions of the plan and on planners.
    pub earlier: Spent,
    /// Whether the plan is given up where this run does not finish it.
    pub is_last: bool,
    /// Whether to wait for approvals instead of ending when nothing else is left. The face that asks for them may give up meanwhile.
    pub waits_for_review: Arc<AtomicBool>,
    pub replanned: Option<Replanned>,
    /// The words of the command line that a command which continues has to have again.
    pub again: Vec<String>,
    /// The planwright that fenced processes start as; see [`crate::fence::own_program`]. Without it there is no fence.
    pub fence_program: Option<PathBuf>,
    /// The template for prompts, by its path, and its text; none for the dialect's own.
    pub template: Option<(PathBuf, String)>,
}

/// What the user asks of a run, in addition to the settings of the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AskedRun {
    /// The agent for all tasks.
    pub agent: Option<String>,
    /// The agent that is asked which agent takes each task.
    pub arbiter: Option<String>,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// Whether what depends on a failed task is skipped, where the dialect would have it wait.
    pub cascade_skip: bool,
    /// Whether tasks are refused that no rule of the configuration verifies.
    pub require_verification: bool,
    /// Whether a task that touches other files than its plan names has failed.
    pub strict_files: bool,
    /// Whether tasks that agents propose are taken into the plan at once.
    pub accept_proposals: bool,
    /// Whether a run that continues takes another configuration than it began with.
    pub accept_config: bool,
    /// The branch that work lands on, whatever is configured; `current` is the one that is checked out.
    pub branch: Option<String>,
    /// Whether tasks see the user's uncommitted work.
    pub include_uncommitted: bool,
    /// Whether commands between backticks in the plan's criteria may verify it.
    pub allow_plan_commands: bool,
    /// Whether a plan that is not approved is approved by being run.
    pub yes: bool,
    /// Who runs it.
    pub by: Option<String>,
}

/// Which tasks of a plan a run works on; all where it says nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaskSelection {
    /// Only these tasks.
    pub only: Vec<String>,
    /// Only these tasks, and what depends on them.
    pub from: Vec<String>,
    /// Only these tasks, and what they depend on.
    pub until: Vec<String>,
    /// How many tasks to begin at most.
    pub max_tasks: Option<u32>,
    /// Whether tasks that failed before are tried again.
    pub retry_failed: bool,
}

impl TaskSelection {
    /// Returns whether only some tasks are named.
    pub fn is_part(&self) -> bool {
        !(self.only.is_empty() && self.from.is_empty() && self.until.is_empty())
    }
}
