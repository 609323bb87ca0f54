//! The arguments of a run.

use std::path::PathBuf;

use clap::ValueEnum;
use planwright_verbs::Result;
use planwright_verbs::run_plan::{RunFlags, RunPlanRequest, TaskSelection};

use super::super::answers;
use super::super::plan_arg::PlanArgument;
use super::super::run_view::RunManner;
use crate::compat::EventForm;

/// Run a plan: have agents do its tasks, and verify the results.
///
/// The plan file is kept up to date. A task is done when its agent reports success and its verification passes. Every event is
/// written to a log first: to continue a killed run, run the same command again.
/// After Ctrl-C no new task starts, and running tasks finish. A second Ctrl-C sends them SIGTERM, a third SIGKILL.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright run                                   or continue a run
  planwright run --agent claude -j 2 plan-5f0c2a9e
  planwright run --dry-run                         show what would be run
  planwright run --dry-run --prompts=t1            and the prompt of a task
  planwright run --only US-003 --retry-failed
  planwright run --replan 3 --max-cost 20 --max-duration 8h")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) plan: PlanArgument,

    /// The agent for all tasks. Default: each task's own hint, else run.types, else run.agent of the configuration.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Ask this agent before each task which agent takes it. Without a usable answer, --agent and its defaults decide.
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    arbiter: Option<String>,

    /// The number of tasks that may run in parallel. Default: from the configuration or the plan.
    #[arg(long, short = 'j', value_name = "N")]
    slots: Option<u32>,

    /// The total number of attempts per task. Default: from the configuration or the plan.
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,

    /// Run only this task; may be given several times.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    pub(super) only: Vec<String>,

    /// Run only this task and its dependents.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    pub(super) from: Vec<String>,

    /// Run only this task and its dependencies.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    pub(super) until: Vec<String>,

    /// Start at most this many tasks.
    #[arg(long, value_name = "N", help_heading = "Which tasks")]
    max_tasks: Option<u32>,

    /// Also retry tasks that failed in earlier runs.
    #[arg(long, help_heading = "Which tasks")]
    pub(super) retry_failed: bool,

    /// End the run with the first failure.
    #[arg(long, help_heading = "When something fails")]
    fail_fast: bool,

    /// Continue with tasks that do not depend on a failed one. This is the default.
    #[arg(long, conflicts_with = "fail_fast", help_heading = "When something fails")]
    keep_going: bool,

    /// Skip the dependents of a failed task, even if the dialect keeps them waiting.
    #[arg(long, help_heading = "When something fails")]
    cascade_skip: bool,

    /// How to treat tasks that were running when a run was interrupted.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "When something fails")]
    pub(super) on_interrupted: Option<Interrupted>,

    /// After failures, have the planner make a new version of the plan and continue with it, at most this many times. Default: 3
    /// for rawko plans if plan.agent is configured, else 0.
    #[arg(long, value_name = "N", help_heading = "When something fails")]
    pub(super) replan: Option<u32>,

    /// Refuse tasks that no rule of the configuration verifies.
    #[arg(long, help_heading = "Trust")]
    require_verification: bool,

    /// Add tasks that agents propose to the plan at once, and run them. By default they wait for `planwright approve --proposed`.
    #[arg(long, help_heading = "Trust")]
    accept_proposals: bool,

    /// Fail a task that changes files that the plan does not name for it.
    #[arg(long, help_heading = "Trust")]
    strict_files: bool,

    /// Also run criteria that are a command between backticks. They come from the plan: read them first.
    #[arg(long, help_heading = "Trust")]
    allow_plan_commands: bool,

    /// Approve the plan first, if it needs approval.
    #[arg(long, help_heading = "Trust")]
    yes: bool,

    /// Where tasks work: each in its own checkout, or all in the folder of the workspace.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Where")]
    isolation: Option<IsolationArg>,

    /// Land work on this branch; `current` is the one that is checked out. Default: the plan's own branch.
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    branch: Option<String>,

    /// Include uncommitted work in the checkouts of tasks. It does not land.
    #[arg(long, help_heading = "Where")]
    include_uncommitted: bool,

    /// Continue an interrupted run with the current configuration, instead of its original one.
    #[arg(long, help_heading = "Trust")]
    pub(super) accept_config: bool,

    /// Has no effect any more: work lands on the branch that the plan names.
    #[arg(long, hide = true)]
    pub(super) switch: bool,

    /// Copy the workspace to this folder and run the plan there. An existing copy is continued.
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run", help_heading = "Where")]
    pub(super) copy_to: Option<PathBuf>,

    /// Has no effect any more: uncommitted work is left out and not touched.
    #[arg(long, hide = true)]
    pub(super) allow_dirty: bool,

    /// The time limit of an attempt, as 45m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    wall_limit: Option<String>,

    /// The time limit of an attempt without output, as 10m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    silence_limit: Option<String>,

    /// The limit of costs in US dollars, as reported by agents.
    #[arg(long, value_name = "DOLLARS", help_heading = "Limits")]
    max_cost: Option<String>,

    /// The limit of tokens, as reported by agents.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<String>,

    /// The limit of attempts of all tasks together. Attempts that do not count for a task do not count here.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_attempts: Option<String>,

    /// The time after which no new task starts, as 8h.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_duration: Option<String>,

    /// How to treat verification that fails before the first attempt: check, allow-failing or skip.
    #[arg(long, value_name = "HOW", value_parser = ["check", "allow-failing", "skip"])]
    baseline: Option<String>,

    /// Your name, for the plan and its history.
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,

    /// A file with a template for prompts, instead of the dialect's own.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// Print what would be run: rounds, agents, branch, verification, budget. No agent is started, nothing is written.
    #[arg(long, visible_alias = "plan-dry-run")]
    pub(super) dry_run: bool,

    /// With --dry-run: also print the prompts, or the prompt of one task.
    #[arg(long, value_name = "TASK", num_args = 0..=1, require_equals = true, default_missing_value = "", requires = "dry_run")]
    pub(super) prompts: Option<String>,

    /// Print a line for each event, even at a terminal.
    #[arg(long)]
    pub(super) plain: bool,

    /// Print one JSON object per event, as the run's log has them.
    #[arg(long)]
    pub(super) json: bool,

    /// Print one JSON object per event, in another system's names and payloads.
    #[arg(long, value_enum, value_name = "SYSTEM", conflicts_with_all = ["json", "plain", "dry_run"])]
    pub(super) json_events: Option<EventForm>,
}

impl Args {
    pub(super) fn request(&self) -> Result<RunPlanRequest> {
        Ok(RunPlanRequest {
            plan: self.plan.choice()?,
            selection: TaskSelection {
                only: self.only.clone(),
                from: self.from.clone(),
                until: self.until.clone(),
                max_tasks: self.max_tasks,
                retry_failed: self.retry_failed,
            },
            flags: RunFlags {
                agent: self.agent.clone(),
                arbiter: self.arbiter.clone(),
                fail_fast: self.fail_fast,
                cascade_skip: self.cascade_skip,
                require_verification: self.require_verification,
                strict_files: self.strict_files,
                accept_proposals: self.accept_proposals,
                accept_config: self.accept_config,
                branch: self.branch.clone(),
                include_uncommitted: self.include_uncommitted,
                allow_plan_commands: self.allow_plan_commands,
                yes: self.yes,
                by: self.by.clone(),
            },
            slots: self.slots,
            attempts: self.attempts,
            keep_going: self.keep_going,
            on_interrupted: word_of(self.on_interrupted),
            replan: self.replan,
            isolation: word_of(self.isolation),
            copy_to: self.copy_to.clone(),
            wall_limit: self.wall_limit.clone(),
            silence_limit: self.silence_limit.clone(),
            max_cost: self.max_cost.clone(),
            max_tokens: self.max_tokens.clone(),
            max_attempts: self.max_attempts.clone(),
            max_duration: self.max_duration.clone(),
            baseline: self.baseline.clone(),
            template: self.template.clone(),
            switch: self.switch,
            allow_dirty: self.allow_dirty,
        })
    }

    pub(super) fn manner(&self, is_quiet: bool) -> RunManner {
        match self.json_events {
            Some(form) => RunManner::Events(form),
            None if self.json => RunManner::Json,
            None if is_quiet => RunManner::Quiet,
            None => RunManner::Shown { plain: self.plain },
        }
    }

    /// Returns whether only events are printed to standard output.
    pub(super) fn is_for_programs(&self) -> bool {
        self.json || self.json_events.is_some()
    }

    /// Returns whether the user could answer questions.
    pub(super) fn may_ask(&self) -> bool {
        !self.is_for_programs() && answers::may_ask()
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Interrupted {
    /// Retry them.
    Retry,
    /// Mark them as failed.
    Fail,
    /// Ask. Without a terminal, the plan is not run.
    Ask,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum IsolationArg {
    /// Checkouts in a git repository with a commit, else the folder of the workspace.
    Auto,
    /// Each task in its own checkout.
    #[value(alias = "worktrees")]
    Checkouts,
    /// All in the folder of the workspace.
    Shared,
}

/// Returns a value as it is written on the command line.
fn word_of<T: ValueEnum>(value: Option<T>) -> Option<String> {
    let value = value.and_then(|value| value.to_possible_value());
    value.map(|value| value.get_name().to_owned())
}
