//! What is asked of a run, and what that means for the configuration and the engine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_run::config::{self, ConfigInputs, ConfigSource, Configuration, Flag, SourceKind};
use planwright_run::engine::RunOptions;
use planwright_run::fence;
use planwright_run::files::open_to_read;
use planwright_run::runs::Spent;
use serde::Deserialize;

use crate::face::Result;
use crate::planning::{read_template, unreadable_template};
use crate::plans::PlanChoice;

/// What is asked of a run. Settings that are none are as the configuration or the plan has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunPlanRequest {
    pub plan: PlanChoice,
    /// The agent for all tasks.
    pub agent: Option<String>,
    /// The agent that is asked which agent takes each task.
    pub arbiter: Option<String>,
    /// How many tasks may run side by side.
    pub slots: Option<u32>,
    /// How often a task is tried in all.
    pub attempts: Option<u32>,
    /// Only these tasks.
    pub only: Vec<String>,
    /// Only these tasks and what depends on them.
    pub from: Vec<String>,
    /// Only these tasks and what they depend on.
    pub until: Vec<String>,
    pub max_tasks: Option<u32>,
    /// Tries tasks again that failed before.
    pub retry_failed: bool,
    /// Ends the run with the first failure.
    pub fail_fast: bool,
    pub keep_going: bool,
    /// Skips what depends on a failed task, where the dialect would have it wait.
    pub cascade_skip: bool,
    /// What becomes of tasks that were running when a run was interrupted: `retry`, `fail` or `ask`.
    pub on_interrupted: Option<String>,
    /// How often the planner may make a new version of the plan when tasks have failed.
    pub replan: Option<u32>,
    /// Refuses tasks that no rule of the configuration verifies.
    pub require_verification: bool,
    /// Takes tasks that agents propose into the plan at once.
    pub accept_proposals: bool,
    /// Fails a task that touches files that its plan does not name.
    pub strict_files: bool,
    /// Also runs criteria that are a command between backticks.
    pub allow_plan_commands: bool,
    /// Approves the plan, where it needs an approval.
    pub yes: bool,
    /// Where tasks work: `auto`, `checkouts` or `shared`.
    pub isolation: Option<String>,
    /// The branch on which work lands; `current` is the one that is checked out.
    pub branch: Option<String>,
    /// Has tasks see uncommitted work.
    pub include_uncommitted: bool,
    /// Continues an interrupted run with the configuration of now.
    pub accept_config: bool,
    /// Runs the plan in a copy of its workspace, which is made in this folder first.
    pub copy_to: Option<PathBuf>,
    pub wall_limit: Option<String>,
    pub silence_limit: Option<String>,
    pub max_cost: Option<String>,
    pub max_tokens: Option<String>,
    pub max_attempts: Option<String>,
    pub max_duration: Option<String>,
    /// What is done about verification that fails before the first attempt: `check`, `allow-failing` or `skip`.
    pub baseline: Option<String>,
    pub by: Option<String>,
    /// A file with a template for prompts.
    pub template: Option<PathBuf>,
    /// Has no effect any more.
    pub switch: bool,
    /// Has no effect any more.
    pub allow_dirty: bool,
}

impl RunPlanRequest {
    /// Returns whether only some tasks are asked for.
    pub(super) fn is_part(&self) -> bool {
        !(self.only.is_empty() && self.from.is_empty() && self.until.is_empty())
    }
}

pub(super) fn is_wrong_flag(source: &ConfigSource) -> bool {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    matches!(source.kind, SourceKind::Flag(_)) && source.findings.iter().any(is_error)
}

/// Reads the configuration, with the flags that are settings.
pub(super) fn configured(flags: &[Flag], root: &Path) -> Configuration {
    let mut surroundings = ConfigInputs::of_process();
    surroundings.flags = flags.to_vec();
    config::load(root, &surroundings)
}

pub(super) fn flags_of(request: &RunPlanRequest, on_interrupted: Option<&str>) -> Vec<Flag> {
    let on_interrupted = on_interrupted.map(str::to_owned);
    let all = [
        ("--slots", "run.slots", request.slots.map(|n| n.to_string())),
        ("--attempts", "run.attempts", request.attempts.map(|n| n.to_string())),
        ("--wall-limit", "run.wall_limit", request.wall_limit.clone()),
        ("--silence-limit", "run.silence_limit", request.silence_limit.clone()),
        ("--max-cost", "run.budget.cost", request.max_cost.clone()),
        ("--max-tokens", "run.budget.tokens", request.max_tokens.clone()),
        ("--max-attempts", "run.budget.attempts", request.max_attempts.clone()),
        ("--max-duration", "run.budget.duration", request.max_duration.clone()),
        ("--isolation", "run.isolation", request.isolation.clone()),
        ("--baseline", "verify.baseline", request.baseline.clone()),
        ("--on-interrupted", "run.on_interrupted", on_interrupted),
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
pub(super) fn options(request: &RunPlanRequest, template: Option<PathBuf>, may_ask: bool) -> Result<RunOptions> {
    // A user who types the name of a pipe means it; that of the configuration is a file.
    let typed = request.template.as_ref().map(|path| (path, File::open(path)));
    let set = || template.as_ref().map(|path| (path, open_to_read(path)));
    let template = typed.or_else(set).map(|(path, file)| {
        let read = file.and_then(read_template).map(|text| (path.to_owned(), text));
        read.map_err(|error| unreadable_template(path, &error))
    });
    Ok(RunOptions {
        agent: request.agent.clone(),
        arbiter: request.arbiter.clone(),
        only: request.only.clone(),
        from: request.from.clone(),
        until: request.until.clone(),
        lands_only: false,
        max_tasks: request.max_tasks,
        fail_fast: request.fail_fast && !request.keep_going,
        retry_failed: request.retry_failed,
        cascade_skip: request.cascade_skip,
        require_verification: request.require_verification,
        strict_files: request.strict_files,
        accept_proposals: request.accept_proposals,
        config_text: String::new(),
        accept_config: request.accept_config,
        remarks: gone_flags(request),
        branch: request.branch.clone(),
        include_uncommitted: request.include_uncommitted,
        allow_plan_commands: request.allow_plan_commands,
        yes: request.yes,
        by: request.by.clone(),
        waits_for_review: Arc::new(AtomicBool::new(may_ask)),
        replans: false,
        earlier: Spent::default(),
        is_last: false,
        replanned: None,
        again: repeated(request),
        fence_program: fence::own_program(),
        template: template.transpose()?,
    })
}

/// Returns what the user should know of flags that have no effect any more.
fn gone_flags(request: &RunPlanRequest) -> Vec<String> {
    let gone = [
        (
            request.switch,
            "--switch has no effect any more: work lands on the branch that the plan names",
        ),
        (
            request.allow_dirty,
            "--allow-dirty has no effect any more: uncommitted work is left out and not touched",
        ),
    ];
    let gone = gone.into_iter().filter(|(is_set, _)| *is_set);
    gone.map(|(_, text)| text.to_owned()).collect()
}

/// Returns the options that a command repeats to continue this run: who works, where, on what, and how strictly.
fn repeated(request: &RunPlanRequest) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--agent", request.agent.clone());
    option("--arbiter", request.arbiter.clone());
    option("-j", request.slots.map(|n| n.to_string()));
    option("--attempts", request.attempts.map(|n| n.to_string()));
    for (name, tasks) in [
        ("--only", &request.only),
        ("--from", &request.from),
        ("--until", &request.until),
    ] {
        for task in tasks {
            option(name, Some(task.clone()));
        }
    }
    option("--max-tasks", request.max_tasks.map(|n| n.to_string()));
    option("--on-interrupted", request.on_interrupted.clone());
    option("--isolation", request.isolation.clone());
    option("--baseline", request.baseline.clone());
    option("--branch", request.branch.clone());
    option("--wall-limit", request.wall_limit.clone());
    option("--silence-limit", request.silence_limit.clone());
    option("--max-cost", request.max_cost.clone());
    option("--max-tokens", request.max_tokens.clone());
    option("--max-attempts", request.max_attempts.clone());
    option("--max-duration", request.max_duration.clone());
    option("--replan", request.replan.map(|n| n.to_string()));
    option("--by", request.by.clone());
    option(
        "--template",
        request.template.as_ref().map(|path| path.display().to_string()),
    );
    for (name, is_set) in [
        ("--cascade-skip", request.cascade_skip),
        ("--fail-fast", request.fail_fast),
        ("--require-verification", request.require_verification),
        ("--strict-files", request.strict_files),
        ("--accept-proposals", request.accept_proposals),
        ("--allow-plan-commands", request.allow_plan_commands),
        ("--include-uncommitted", request.include_uncommitted),
    ] {
        words.extend(is_set.then(|| name.to_owned()));
    }
    words
}
