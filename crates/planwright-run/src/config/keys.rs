//! Every setting as one table: path, allowed values, default. Documentation, reader and suggestions follow from it.

use super::agent::{CHANNELS, FORMATS};
use super::presets::PRESET_NAMES;
use SettingType::{Choice, Commands, Count, Flag, Money, Ports, Program, Size, Text, Variables, Words};

#[derive(Debug)]
pub struct ConfigKey {
    /// Its path; `NAME` and `VARIABLE` stand for names that the user chooses, `[]` for each table of a list.
    pub path: &'static str,
    pub kind: SettingType,
    /// The default as it would be written; none if it depends on something else, or there is none.
    pub default: Option<&'static str>,
    pub has_variable: bool,
    pub is_user_only: bool,
    /// Its values from the loosest to the strictest, if a project must not loosen the user's setting.
    pub ranks: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingType {
    /// Any non-empty text.
    Text,
    Choice(&'static [&'static str]),
    Dialect,
    /// A command as a list of arguments, the program first, without a shell.
    Program,
    Words,
    /// A list of variable names; `*` at the end of one matches any ending.
    Variables,
    /// A whole number from one number to another.
    Count {
        least: u64,
        most: u64,
    },
    /// A duration as `90s`, at least this many milliseconds.
    Duration {
        least: u64,
    },
    /// A size as `10MB`.
    Size,
    Money,
    Flag,
    /// A command: a list of arguments, or a line for the shell.
    Command,
    Commands,
    Ports,
}

impl SettingType {
    pub fn wanted(self) -> &'static str {
        match self {
            SettingType::Text | SettingType::Choice(_) | SettingType::Dialect => "a string",
            SettingType::Program => "a list of words, as in [\"my-agent\", \"--json\"]",
            SettingType::Words => "a list of strings",
            SettingType::Variables => "a list of names of variables, as in [\"MY_API_KEY\"]",
            SettingType::Count { .. } => "an integer",
            SettingType::Duration { .. } => "a duration, as \"90s\", \"15m\" or \"2h\"",
            SettingType::Size => "a size, as \"10MB\"",
            SettingType::Money => "a number of US dollars",
            SettingType::Flag => "true or false",
            SettingType::Command => "a command: a list of words, or a string for the shell",
            SettingType::Commands => {
                "a list of commands, each a list of words, a string for the shell, or { run = …, fence = \"off\" }"
            }
            SettingType::Ports => "a list of ports, as [5432]",
        }
    }
}

const fn key(path: &'static str, kind: SettingType) -> ConfigKey {
    ConfigKey {
        path,
        kind,
        default: None,
        has_variable: false,
        is_user_only: false,
        ranks: &[],
    }
}

impl ConfigKey {
    const fn or(self, default: &'static str) -> ConfigKey {
        ConfigKey {
            default: Some(default),
            ..self
        }
    }

    const fn with_variable(self) -> ConfigKey {
        ConfigKey {
            has_variable: true,
            ..self
        }
    }

    const fn of_the_user(self) -> ConfigKey {
        ConfigKey {
            is_user_only: true,
            ..self
        }
    }

    const fn ranked(self, ranks: &'static [&'static str]) -> ConfigKey {
        ConfigKey { ranks, ..self }
    }

    pub(super) fn is_looser(&self, new: &str, old: &str) -> bool {
        let rank = |word: &str| self.ranks.iter().position(|known| *known == word);
        rank(new) < rank(old)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('.')
    }

    /// Returns its environment variable: its path in capitals.
    pub fn variable(&self) -> Option<String> {
        let name = self.path.replace('.', "_").to_uppercase();
        self.has_variable.then(|| format!("{PREFIX}{name}"))
    }

    /// Returns the name of its table, as `run`.
    pub(super) fn table(&self) -> &'static str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// Returns whether an environment variable has the prefix of the variables of this setting's table.
    pub(super) fn has_table_of(&self, variable: &str) -> bool {
        let rest = variable.strip_prefix(PREFIX);
        let rest = rest.and_then(|rest| rest.strip_prefix(&self.table().to_uppercase()));
        self.has_variable && rest.is_some_and(|rest| rest.starts_with('_'))
    }
}

const PREFIX: &str = "PLANWRIGHT_";

/// What a run does with tasks that were running when it was interrupted.
pub(super) const ON_INTERRUPTED: &[&str] = &["retry", "fail", "ask"];

/// The kinds of fences, the loosest first.
pub(super) const FENCES: &[&str] = &["off", "auto", "write", "strict"];

pub(super) const ISOLATIONS: &[&str] = &["auto", "checkouts", "worktrees", "shared"];

pub(super) const LANDINGS: &[&str] = &["squash", "merge"];

pub(super) const CLEANINGS: &[&str] = &["caches", "full"];

/// What a run does with an attempt that reports success and changed nothing.
pub(super) const NO_CHANGES: &[&str] = &["warn", "fail", "allow"];

/// What a run does with a task that changes the files that verify it.
pub(super) const ON_PROTECTED: &[&str] = &["review", "fail", "warn"];

/// What a run does about verification that fails before the first attempt.
pub(super) const BASELINES: &[&str] = &["check", "allow-failing", "skip"];

/// The ranks of a setting that is off or on.
const OFF_ON: &[&str] = &["false", "true"];

const ATTEMPTS: SettingType = Count { least: 1, most: 100 };
/// An amount without a sensible bound.
const AMOUNT: SettingType = Count {
    least: 1,
    most: i64::MAX as u64,
};
const LIMIT: SettingType = SettingType::Duration { least: 1_000 };
const PAUSE: SettingType = SettingType::Duration { least: 0 };

/// Every setting, in the order of the documentation.
pub static KEYS: &[ConfigKey] = &[
    key("agents.NAME.preset", Choice(PRESET_NAMES)),
    key("agents.NAME.command", Program),
    key("agents.NAME.args", Words),
    key("agents.NAME.prompt", Choice(CHANNELS)),
    key("agents.NAME.output", Choice(FORMATS)),
    key("agents.NAME.env", Variables),
    key("agents.NAME.set.VARIABLE", Text),
    key("agents.NAME.retries", Count { least: 0, most: 100 }),
    key("agents.NAME.resume", Words),
    key("agents.NAME.fallback", Text),
    key("run.agent", Text).with_variable(),
    key("run.slots", Count { least: 1, most: 1_000 }).with_variable(),
    key("run.attempts", ATTEMPTS).with_variable(),
    key("run.backoff", PAUSE).or("10s").with_variable(),
    key("run.wall_limit", LIMIT).or("1h").with_variable(),
    key("run.silence_limit", LIMIT).or("15m").with_variable(),
    key("run.grace", PAUSE).or("10s").with_variable(),
    key("run.budget.cost", Money).with_variable(),
    key("run.budget.tokens", AMOUNT).with_variable(),
    key("run.budget.attempts", AMOUNT).with_variable(),
    key("run.budget.duration", LIMIT).with_variable(),
    key("run.task_budget.cost", Money).with_variable(),
    key("run.task_budget.tokens", AMOUNT).with_variable(),
    key("run.task_budget.attempts", AMOUNT).with_variable(),
    key("run.task_budget.duration", LIMIT).with_variable(),
    key("run.isolation", Choice(ISOLATIONS)).or("auto").with_variable(),
    key("run.fence", Choice(FENCES))
        .or("auto")
        .with_variable()
        .ranked(FENCES),
    key("run.fence_write", Words).of_the_user(),
    key("run.fence_read", Words).of_the_user(),
    key("run.fence_ports", Ports).of_the_user(),
    key("run.branch", Text).with_variable(),
    key("run.landing", Choice(LANDINGS)).or("squash").with_variable(),
    key("run.hooks", Flag).or("false").with_variable(),
    key("run.resolutions", Count { least: 0, most: 100 })
        .or("2")
        .with_variable(),
    key("run.setup", Commands),
    key("run.copy", Words),
    key("run.keep_ignored", Words),
    key("run.checkouts", Text).of_the_user().with_variable(),
    key("run.keep.age", PAUSE).or("7d").with_variable(),
    key(
        "run.keep.count",
        Count {
            least: 0,
            most: 100_000,
        },
    )
    .or("20")
    .with_variable(),
    key("run.keep.bytes", Size).or("10GB").with_variable(),
    key("run.on_interrupted", Choice(ON_INTERRUPTED))
        .or("retry")
        .with_variable(),
    key("run.no_changes", Choice(NO_CHANGES)).or("warn").with_variable(),
    key("run.log_cap", Size).or("10MB").with_variable(),
    key("run.template", Text).with_variable(),
    key("run.types.NAME", Text),
    key("plan.agent", Text).with_variable(),
    key("plan.dialect", SettingType::Dialect).with_variable(),
    key("plan.files", Words),
    key("plan.template", Text).with_variable(),
    key("plan.replan_template", Text).with_variable(),
    key("plan.derive_template", Text).with_variable(),
    key("plan.repair_template", Text).with_variable(),
    key("verify.every", Commands),
    key("verify.timeout", LIMIT).or("10m").with_variable(),
    key("verify.clean", Choice(CLEANINGS)).or("caches").with_variable(),
    key("verify.required", Flag).or("false").ranked(OFF_ON),
    key("verify.allow_unverified", Flag).or("false").of_the_user(),
    key("verify.baseline", Choice(BASELINES)).or("check").with_variable(),
    key("verify.protect", Words),
    key("verify.on_protected", Choice(ON_PROTECTED))
        .or("review")
        .with_variable(),
    key("verify.allow_plan_commands", Flag).or("false").of_the_user(),
    key("verify.types.NAME.run", Commands),
    key("verify.types.NAME.timeout", LIMIT),
    key("verify.criteria[].text", Text),
    key("verify.criteria[].pattern", Text),
    key("verify.criteria[].run", Commands),
    key("verify.criteria[].timeout", LIMIT),
    key("check.exclude", Words),
    key("approval.required", Flag).or("false").ranked(OFF_ON),
    key("compat.strict", Flag).or("false").with_variable(),
    key("notify.command", SettingType::Command),
];

pub fn find(path: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.path == path)
}
