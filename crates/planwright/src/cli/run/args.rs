//! The options of `run`, and their meaning for the configuration and the engine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_run::config::{self, Configuration, Flag, Source, SourceKind, Surroundings};
use planwright_run::engine::Options;
use planwright_run::fence;
use planwright_run::files::open_to_read;
use planwright_run::runs::Spent;

use super::super::answers;
use super::super::plan_arg::TargetArgument;
use super::super::planner::{read_template, unreadable_template};

/// Run a plan: have agents do its tasks, and verify what they make.
///
/// The plan file is kept up to date. A task is done when its agent reports success and its verification passes. What happens is
/// written to a log first, so that a killed run continues where it was: run the same command again.
/// Ctrl-C starts nothing new and waits for what runs; a second one ends that politely, a third at once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright run                                   or go on with a run
  planwright run --agent claude -j 2 plan-5f0c2a9e
  planwright run --dry-run                         show what would be run
  planwright run --dry-run --prompts=t1            and the prompt of a task
  planwright run --only US-003 --retry-failed
  planwright run --replan 3 --max-cost 20 --max-duration 8h")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) plan: TargetArgument,

    /// The agent for all tasks; else each task's own hint, then run.types, then run.agent of the configuration.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Ask this agent which agent takes each task, before it begins; else, and where it has no answer, as without.
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    arbiter: Option<String>,

    /// How many tasks may run side by side; else as the configuration or the plan has it.
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

    /// What becomes of tasks that were running when a run was interrupted.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "When something fails")]
    pub(super) on_interrupted: Option<Interrupted>,

    /// Have the planner make a new version of the plan when tasks have failed, and go on with it, this many times at most. Default: 3
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
    isolation: Option<Isolation>,

    /// Land work on this branch; `current` is the one that is checked out. Default: the plan's own branch.
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    branch: Option<String>,

    /// Have tasks see uncommitted work. It does not land with theirs.
    #[arg(long, help_heading = "Where")]
    include_uncommitted: bool,

    /// Continue an interrupted run with the configuration of now, instead of the one that it began with.
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

    /// How long an attempt may say nothing, as 10m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    silence_limit: Option<String>,

    /// What the run may cost, in US dollars, as far as agents tell.
    #[arg(long, value_name = "DOLLARS", help_heading = "Limits")]
    max_cost: Option<String>,

    /// How many tokens the run may use, as far as agents tell.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<String>,

    /// How many attempts the run may make in all, those that count.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_attempts: Option<String>,

    /// How long the run may go on beginning tasks, as 8h.
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

/// Whose events a run is told in.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EventForm {
    /// Those of rawko's SPEC-0010: PLAN_CREATED, STEP_STARTED, STEP_COMPLETED, STEP_FAILED, PLAN_REPLANNED.
    Rawko,
}

impl Args {
    /// Returns whether nothing but events is to stand on standard output.
    pub(super) fn is_for_programs(&self) -> bool {
        self.json || self.json_events.is_some()
    }

    /// Returns whether somebody is there who could answer.
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
pub(super) enum Isolation {
    /// In checkouts in a git repository with a commit, else in the folder of the workspace.
    Auto,
    /// Each in a checkout of its own.
    #[value(alias = "worktrees")]
    Checkouts,
    /// All in the folder of the workspace.
    Shared,
}

pub(super) fn is_wrong_flag(source: &Source) -> bool {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    matches!(source.kind, SourceKind::Flag(_)) && source.findings.iter().any(is_error)
}

/// Reads the configuration, with the flags that are settings.
pub(super) fn configured(flags: &[Flag], root: &Path) -> Configuration {
    let mut surroundings = Surroundings::of_process();
    surroundings.flags = flags.to_vec();
    config::load(root, &surroundings)
}

/// Returns the flags that are settings.
pub(super) fn flags_of(args: &Args, on_interrupted: Option<Interrupted>) -> Vec<Flag> {
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let isolation = args.isolation.and_then(|isolation| isolation.to_possible_value());
    let on_interrupted = on_interrupted.and_then(|what| what.to_possible_value());
    let all = [
        ("--slots", "run.slots", args.slots.map(|n| n.to_string())),
        ("--attempts", "run.attempts", args.attempts.map(|n| n.to_string())),
        ("--wall-limit", "run.wall_limit", args.wall_limit.clone()),
        ("--silence-limit", "run.silence_limit", args.silence_limit.clone()),
        ("--max-cost", "run.budget.cost", args.max_cost.clone()),
        ("--max-tokens", "run.budget.tokens", args.max_tokens.clone()),
        ("--max-attempts", "run.budget.attempts", args.max_attempts.clone()),
        ("--max-duration", "run.budget.duration", args.max_duration.clone()),
        ("--isolation", "run.isolation", word(isolation)),
        ("--baseline", "verify.baseline", args.baseline.clone()),
        ("--on-interrupted", "run.on_interrupted", word(on_interrupted)),
    ];
    let set = all.into_iter().filter_map(|(name, key, value)| {
        Some(Flag {
            name: name.to_owned(),
            key,
            value: value?,
        })
    });
    set.collect()
}

/// Returns what is wanted of this run; `template` is the configuration's.
pub(super) fn options(args: &Args, template: Option<PathBuf>) -> anyhow::Result<Options> {
    // Whoever types the name of a pipe means it; that of the configuration is a file.
    let typed = args.template.as_ref().map(|path| (path, File::open(path)));
    let set = || template.as_ref().map(|path| (path, open_to_read(path)));
    let template = typed.or_else(set).map(|(path, file)| {
        let read = file.and_then(read_template).map(|text| (path.to_owned(), text));
        read.map_err(|error| unreadable_template(path, &error))
    });
    Ok(Options {
        agent: args.agent.clone(),
        arbiter: args.arbiter.clone(),
        only: args.only.clone(),
        from: args.from.clone(),
        until: args.until.clone(),
        lands_only: false,
        max_tasks: args.max_tasks,
        fail_fast: args.fail_fast && !args.keep_going,
        retry_failed: args.retry_failed,
        cascade_skip: args.cascade_skip,
        require_verification: args.require_verification,
        strict_files: args.strict_files,
        accept_proposals: args.accept_proposals,
        config_text: String::new(),
        accept_config: args.accept_config,
        remarks: gone_flags(args),
        branch: args.branch.clone(),
        include_uncommitted: args.include_uncommitted,
        allow_plan_commands: args.allow_plan_commands,
        yes: args.yes,
        by: args.by.clone(),
        waits_for_review: Arc::new(AtomicBool::new(args.may_ask())),
        replans: false,
        earlier: Spent::default(),
        is_last: false,
        replanned: None,
        again: repeated(args),
        fence_program: fence::own_program(),
        template: template.transpose()?,
    })
}

/// Returns what the user should know of flags that have no effect any more.
fn gone_flags(args: &Args) -> Vec<String> {
    let gone = [
        (
            args.switch,
            "--switch has no effect any more: work lands on the branch that the plan names",
        ),
        (
            args.allow_dirty,
            "--allow-dirty has no effect any more: uncommitted work is left out and not touched",
        ),
    ];
    let gone = gone.into_iter().filter(|(is_set, _)| *is_set);
    gone.map(|(_, text)| text.to_owned()).collect()
}

/// Returns the words that a command has to have again which goes on with this run: who works, where, on what, and how strictly.
fn repeated(args: &Args) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    option("--agent", args.agent.clone());
    option("--arbiter", args.arbiter.clone());
    option("-j", args.slots.map(|n| n.to_string()));
    option("--attempts", args.attempts.map(|n| n.to_string()));
    for (name, tasks) in [("--only", &args.only), ("--from", &args.from), ("--until", &args.until)] {
        for task in tasks {
            option(name, Some(task.clone()));
        }
    }
    option("--max-tasks", args.max_tasks.map(|n| n.to_string()));
    let what = args.on_interrupted.and_then(|what| what.to_possible_value());
    option("--on-interrupted", word(what));
    option(
        "--isolation",
        word(args.isolation.and_then(|how| how.to_possible_value())),
    );
    option("--baseline", args.baseline.clone());
    option("--branch", args.branch.clone());
    option("--wall-limit", args.wall_limit.clone());
    option("--silence-limit", args.silence_limit.clone());
    option("--max-cost", args.max_cost.clone());
    option("--max-tokens", args.max_tokens.clone());
    option("--max-attempts", args.max_attempts.clone());
    option("--max-duration", args.max_duration.clone());
    option("--replan", args.replan.map(|n| n.to_string()));
    option("--by", args.by.clone());
    option(
        "--template",
        args.template.as_ref().map(|path| path.display().to_string()),
    );
    for (name, is_set) in [
        ("--cascade-skip", args.cascade_skip),
        ("--fail-fast", args.fail_fast),
        ("--require-verification", args.require_verification),
        ("--strict-files", args.strict_files),
        ("--accept-proposals", args.accept_proposals),
        ("--allow-plan-commands", args.allow_plan_commands),
        ("--include-uncommitted", args.include_uncommitted),
    ] {
        words.extend(is_set.then(|| name.to_owned()));
    }
    words
}
