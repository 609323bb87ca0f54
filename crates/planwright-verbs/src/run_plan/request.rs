//! The request for a run, and its effect on the configuration and the engine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_run::config::{self, ConfigFlag, ConfigInputs, ConfigSource, Configuration, SourceKind};
use planwright_run::engine::{RunFlags, RunOptions, TaskSelection};
use planwright_run::fence;
use planwright_run::files::open_to_read;
use serde::Deserialize;

use crate::planning::{read_template, unreadable_template};
use crate::{PlanChoice, Result};

/// The request for a run. Settings that are none are taken from the configuration or the plan.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunPlanRequest {
    pub plan: PlanChoice,
    #[serde(flatten)]
    pub selection: TaskSelection,
    #[serde(flatten)]
    pub flags: RunFlags,
    /// How many tasks may run in parallel.
    pub slots: Option<u32>,
    /// How often a task is tried in total.
    pub attempts: Option<u32>,
    pub keep_going: bool,
    /// What to do with tasks that were running when a run was interrupted: `retry`, `fail` or `ask`.
    pub on_interrupted: Option<String>,
    /// How often the planner may make a new version of the plan after tasks have failed.
    pub replan: Option<u32>,
    /// Where tasks work: `auto`, `checkouts` or `shared`.
    pub isolation: Option<String>,
    /// Runs the plan in a copy of its workspace in this folder.
    pub copy_to: Option<PathBuf>,
    pub wall_limit: Option<String>,
    pub silence_limit: Option<String>,
    pub max_cost: Option<String>,
    pub max_tokens: Option<String>,
    pub max_attempts: Option<String>,
    pub max_duration: Option<String>,
    /// What to do about verification that fails before the first attempt: `check`, `allow-failing` or `skip`.
    pub baseline: Option<String>,
    /// A file with a template for prompts.
    pub template: Option<PathBuf>,
    /// Has no effect any more.
    pub switch: bool,
    /// Has no effect any more.
    pub allow_dirty: bool,
}

pub(super) fn is_wrong_flag(source: &ConfigSource) -> bool {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    matches!(source.kind, SourceKind::Flag(_)) && source.findings.iter().any(is_error)
}

/// Reads the configuration, with the flags that are settings.
pub(super) fn configured(flags: &[ConfigFlag], root: &Path) -> Configuration {
    let mut surroundings = ConfigInputs::of_process();
    surroundings.flags = flags.to_vec();
    config::load(root, &surroundings)
}

/// The name of an option of `run` that is a setting, the setting, and its value in this run.
type SettingOption = (&'static str, &'static str, Option<String>);

fn setting_options(request: &RunPlanRequest, on_interrupted: Option<&str>) -> [SettingOption; 11] {
    let on_interrupted = on_interrupted.map(str::to_owned);
    [
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
    ]
}

pub(super) fn flags_of(request: &RunPlanRequest, on_interrupted: Option<&str>) -> Vec<ConfigFlag> {
    let all = setting_options(request, on_interrupted).into_iter();
    let set = all.filter_map(|(name, key, value)| {
        Some(ConfigFlag {
            name: name.to_owned(),
            key,
            value: value?,
        })
    });
    set.collect()
}

/// Returns the options of this run; `template` is from the configuration.
pub(super) fn options(request: &RunPlanRequest, template: Option<PathBuf>, may_ask: bool) -> Result<RunOptions> {
    // A user who names a pipe wants it; the configuration names files.
    let typed = request.template.as_ref().map(|path| (path, File::open(path)));
    let set = || template.as_ref().map(|path| (path, open_to_read(path)));
    let template = typed.or_else(set).map(|(path, file)| {
        let read = file.and_then(read_template).map(|text| (path.to_owned(), text));
        read.map_err(|error| unreadable_template(path, &error))
    });
    let flags = &request.flags;
    Ok(RunOptions {
        selection: request.selection.clone(),
        flags: RunFlags {
            fail_fast: flags.fail_fast && !request.keep_going,
            ..flags.clone()
        },
        remarks: gone_flags(request),
        waits_for_review: Arc::new(AtomicBool::new(may_ask)),
        again: repeated(request),
        fence_program: fence::own_program(),
        template: template.transpose()?,
        ..RunOptions::default()
    })
}

/// Returns remarks about flags without effect.
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

/// Returns the options that a command to continue this run repeats: the agent, the isolation, the tasks, and the strictness.
fn repeated(request: &RunPlanRequest) -> Vec<String> {
    let (flags, mut words) = (&request.flags, Vec::new());
    let settings = setting_options(request, request.on_interrupted.as_deref());
    let [
        (.., slots),
        (.., attempts),
        limits @ ..,
        isolation,
        baseline,
        on_interrupted,
    ] = settings;
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--agent", flags.agent.clone());
    option("--arbiter", flags.arbiter.clone());
    option("-j", slots);
    option("--attempts", attempts);
    for (name, tasks) in [
        ("--only", &request.selection.only),
        ("--from", &request.selection.from),
        ("--until", &request.selection.until),
    ] {
        for task in tasks {
            option(name, Some(task.clone()));
        }
    }
    option("--max-tasks", request.selection.max_tasks.map(|n| n.to_string()));
    for (name, _, value) in [on_interrupted, isolation, baseline] {
        option(name, value);
    }
    option("--branch", flags.branch.clone());
    for (name, _, value) in limits {
        option(name, value);
    }
    option("--replan", request.replan.map(|n| n.to_string()));
    option("--by", flags.by.clone());
    option(
        "--template",
        request.template.as_ref().map(|path| path.display().to_string()),
    );
    for (name, is_set) in [
        ("--cascade-skip", flags.cascade_skip),
        ("--fail-fast", flags.fail_fast),
        ("--require-verification", flags.require_verification),
        ("--strict-files", flags.strict_files),
        ("--accept-proposals", flags.accept_proposals),
        ("--allow-plan-commands", flags.allow_plan_commands),
        ("--include-uncommitted", flags.include_uncommitted),
    ] {
        words.extend(is_set.then(|| name.to_owned()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_fields_are_flat_in_json_and_unknown_fields_are_refused() {
        let text = r#"{"only": ["t1"], "max_tasks": 3, "agent": "a", "yes": true, "slots": 2}"#;
        let request: RunPlanRequest = serde_json::from_str(text).expect("a request");
        assert_eq!(
            (request.selection.only.len(), request.selection.max_tasks),
            (1, Some(3))
        );
        assert_eq!((request.flags.agent.as_deref(), request.flags.yes), (Some("a"), true));
        assert_eq!(request.slots, Some(2));
        let unknown = serde_json::from_str::<RunPlanRequest>(r#"{"only": [], "slot": 2}"#);
        assert!(
            unknown
                .expect_err("refused")
                .to_string()
                .contains("unknown field `slot`")
        );
    }
}
