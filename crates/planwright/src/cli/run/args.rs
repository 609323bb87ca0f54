//! The arguments of a run.

use std::path::PathBuf;

use clap::ValueEnum;
use planwright_verbs::Result;
use planwright_verbs::run_plan::{RunFlags, RunPlanRequest, TaskSelection};

use super::super::answers;
use super::super::plan_arg::PlanArgument;
use super::super::run_view::RunManner;

/// Run a plan: have agents do its tasks, and verify the results.
///
/// The plan file is kept up to date. A task is done when its agent reports success and its verification passes. What happens is
/// written to a log first, so that a killed run continues where it was: run the same command again.
/// After Ctrl-C nothing new starts, and running tasks finish. A second one sends them SIGTERM, a third SIGKILL.
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

    /// The agent for all tasks; else each task's own hint, then run.types, then run.agent of the configuration.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Ask this agent which agent takes each task, before it begins; else, and where it has no answer, as without.
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    arbiter: Option<String>,

    /// How many tasks may run in parallel; else as the configuration or the plan has it.
    #[arg(long, short = 'j', value_name = "N")]
    slots: Option<u32>,

    /// How often a task is tried in all; else as the configuration or the plan has it.
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,

    /// Only this task; may be given several times.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    pub(super) only: Vec<String>,

    /// Only this task and what depends on it.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    pub(super) from: Vec<String>,

    /// Only this task and what it depends on.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    pub(super) until: Vec<String>,

    /// Begin this many tasks at most.
    #[arg(long, value_name = "N", help_heading = "Which tasks")]
    max_tasks: Option<u32>,

    /// Try tasks again that failed before.
    #[arg(long, help_heading = "Which tasks")]
    pub(super) retry_failed: bool,

    /// End the run with the first failure; else everything that does not depend on it continues.
    #[arg(long, help_heading = "When something fails")]
    fail_fast: bool,

    /// Go on with everything that does not depend on a failure, which is the default.
    #[arg(long, conflicts_with = "fail_fast", help_heading = "When something fails")]
    keep_going: bool,

    /// Skip what depends on a failed task, where the dialect would have it wait.
    #[arg(long, help_heading = "When something fails")]
    cascade_skip: bool,

    /// How to treat tasks that were running when a run was interrupted.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "When something fails")]
    pub(super) on_interrupted: Option<Interrupted>,

    /// Have the planner make a new version of the plan when tasks have failed, and continue with it, this many times at most. Default: 3
    /// for rawko plans where plan.agent is configured, else not at all.
    #[arg(long, value_name = "N", help_heading = "When something fails")]
    pub(super) replan: Option<u32>,

    /// Refuse tasks that no rule of the configuration verifies.
    #[arg(long, help_heading = "Trust")]
    require_verification: bool,

    /// Take tasks that agents propose into the plan at once, and run them; else they are held for `planwright approve --proposed`.
    #[arg(long, help_heading = "Trust")]
    accept_proposals: bool,

    /// Fail a task that touches files that its plan does not name.
    #[arg(long, help_heading = "Trust")]
    strict_files: bool,

    /// Also run criteria that are a command between backticks. They are the plan's words: look at them first.
    #[arg(long, help_heading = "Trust")]
    allow_plan_commands: bool,

    /// Approve the plan and run it, where it needs an approval.
    #[arg(long, help_heading = "Trust")]
    yes: bool,

    /// Where tasks work: each in a checkout of its own, or all in the folder of the workspace.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Where")]
    isolation: Option<IsolationArg>,

    /// Land work on this branch; `current` is the one that is checked out. Default: the plan's own branch.
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    branch: Option<String>,

    /// Have tasks see uncommitted work. It does not land with theirs.
    #[arg(long, help_heading = "Where")]
    include_uncommitted: bool,

    /// Continue an interrupted run with the current configuration, instead of the one that it began with.
    #[arg(long, help_heading = "Trust")]
    pub(super) accept_config: bool,

    /// Has no effect any more: work lands on the branch that the plan names.
    #[arg(long, hide = true)]
    pub(super) switch: bool,

    /// Run it in a copy of its workspace, which is made in this folder first; an existing copy is continued.
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run", help_heading = "Where")]
    pub(super) copy_to: Option<PathBuf>,

    /// Has no effect any more: uncommitted work is left out and not touched.
    #[arg(long, hide = true)]
    pub(super) allow_dirty: bool,

    /// How long an attempt may take, as 45m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    wall_limit: Option<String>,

    /// How long an attempt may print nothing, as 10m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    silence_limit: Option<String>,

    /// What the run may cost, in US dollars, as reported by agents.
    #[arg(long, value_name = "DOLLARS", help_heading = "Limits")]
    max_cost: Option<String>,

    /// How many tokens the run may use, as reported by agents.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<String>,

    /// How many attempts the run may make in all, those that count.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_attempts: Option<String>,

    /// How long the run may start new tasks, as 8h.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_duration: Option<String>,

    /// What is done about verification that fails before the first attempt: check, allow-failing or skip.
    #[arg(long, value_name = "HOW", value_parser = ["check", "allow-failing", "skip"])]
    baseline: Option<String>,

    /// Who runs it, for the plan and its history.
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,

    /// A file with a template for prompts, in place of the dialect's own.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// Show what would be run: rounds, agents, branch, verification, budget. Starts nothing and writes nothing.
    #[arg(long, visible_alias = "plan-dry-run")]
    pub(super) dry_run: bool,

    /// With --dry-run: show the prompts as well, or that of one task.
    #[arg(long, value_name = "TASK", num_args = 0..=1, require_equals = true, default_missing_value = "", requires = "dry_run")]
    pub(super) prompts: Option<String>,

    /// A line for each event, also at a terminal.
    #[arg(long)]
    pub(super) plain: bool,

    /// Print one JSON object per event, as the run's log has them.
    #[arg(long)]
    pub(super) json: bool,

    /// Print one JSON object per event, in another system's names and payloads.
    #[arg(long, value_enum, value_name = "SYSTEM", conflicts_with_all = ["json", "plain", "dry_run"])]
    pub(super) json_events: Option<EventForm>,
}

/// Whose events a run prints.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EventForm {
    /// Those of rawko's SPEC-0010: PLAN_CREATED, STEP_STARTED, STEP_COMPLETED, STEP_FAILED, PLAN_REPLANNED.
    Rawko,
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
            Some(EventForm::Rawko) => RunManner::Rawko,
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
    /// They are tried again.
    Retry,
    /// They have failed.
    Fail,
    /// You are asked; without a terminal, nothing is run.
    Ask,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum IsolationArg {
    /// In checkouts in a git repository with a commit, else in the folder of the workspace.
    Auto,
    /// Each in a checkout of its own.
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
