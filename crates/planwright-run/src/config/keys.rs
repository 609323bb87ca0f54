//! Every setting as one table: path, allowed values, default. Documentation, reader and suggestions follow from it.

use super::agent::{CHANNELS, FORMATS};
use super::presets::PRESET_NAMES;

/// A setting.
#[derive(Debug)]
pub struct Key {
    /// Its path; `NAME` and `VARIABLE` stand for names of the user's, `[]` for each table of a list.
    pub path: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What holds where nobody sets it, as it would be written; none where that depends, or is nothing.
    pub default: Option<&'static str>,
    /// Whether there is a variable of the environment for it.
    pub has_variable: bool,
    /// Whether only the user may set it, not the project.
    pub is_user_only: bool,
    /// Whether a project may not loosen what the user has set: the words of its values, the loosest first.
    pub ranks: &'static [&'static str],
}

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text but none.
    Text,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// The name of a dialect.
    Dialect,
    /// A command as a list of words, the program first, without a shell.
    Program,
    /// A list of words.
    Words,
    /// A list of names of variables; `*` at the end of one stands for any ending.
    Variables,
    /// A whole number from one number to another.
    Count {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A duration as `90s`, at least this many milliseconds.
    Duration {
        /// The least.
        least: u64,
    },
    /// A size as `10MB`.
    Size,
    /// An amount of US dollars.
    Money,
    /// Yes or no.
    Flag,
    /// A command: a list of words, or a line for the shell.
    Command,
    /// A list of commands.
    Commands,
    /// A list of numbers of ports.
    Ports,
}

impl Kind {
    /// Returns what is needed, for messages.
    pub fn wanted(self) -> &'static str {
        match self {
            Kind::Text | Kind::Choice(_) | Kind::Dialect => "a string",
            Kind::Program => "a list of words, as in [\"my-agent\", \"--json\"]",
            Kind::Words => "a list of strings",
            Kind::Variables => "a list of names of variables, as in [\"MY_API_KEY\"]",
            Kind::Count { .. } => "an integer",
            Kind::Duration { .. } => "a duration, as \"90s\", \"15m\" or \"2h\"",
            Kind::Size => "a size, as \"10MB\"",
            Kind::Money => "a number of US dollars",
            Kind::Flag => "true or false",
            Kind::Command => "a command: a list of words, or a string for the shell",
            Kind::Commands => {
                "a list of commands, each a list of words, a string for the shell, or { run = …, fence = \"off\" }"
            }
            Kind::Ports => "a list of ports, as [5432]",
        }
    }
}

const fn key(path: &'static str, kind: Kind) -> Key {
    Key {
        path,
        kind,
        default: None,
        has_variable: false,
        is_user_only: false,
        ranks: &[],
    }
}

impl Key {
    const fn or(self, default: &'static str) -> Key {
        Key {
            default: Some(default),
            ..self
        }
    }

    const fn with_variable(self) -> Key {
        Key {
            has_variable: true,
            ..self
        }
    }

    const fn of_the_user(self) -> Key {
        Key {
            is_user_only: true,
            ..self
        }
    }

    const fn ranked(self, ranks: &'static [&'static str]) -> Key {
        Key { ranks, ..self }
    }

    /// Returns whether one value, as it is written, is looser than another.
    pub(super) fn is_looser(&self, new: &str, old: &str) -> bool {
        let rank = |word: &str| self.ranks.iter().position(|known| *known == word);
        rank(new) < rank(old)
    }

    /// Returns the parts of its path.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('.')
    }

    /// Returns the variable of the environment for it: its path in capitals.
    pub fn variable(&self) -> Option<String> {
        let name = self.path.replace('.', "_").to_uppercase();
        self.has_variable.then(|| format!("{PREFIX}{name}"))
    }

    /// Returns the name of its table, as `run`.
    pub(super) fn table(&self) -> &'static str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// Returns whether a variable of the environment has the name of one for a setting of the same table.
    pub(super) fn has_table_of(&self, variable: &str) -> bool {
        let rest = variable.strip_prefix(PREFIX);
        let rest = rest.and_then(|rest| rest.strip_prefix(&self.table().to_uppercase()));
        self.has_variable && rest.is_some_and(|rest| rest.starts_with('_'))
    }
}

/// How the names of variables for settings begin.
const PREFIX: &str = "PLANWRIGHT_";

/// What a run does with tasks that were running when it was interrupted.
pub(super) const ON_INTERRUPTED: &[&str] = &["retry", "fail", "ask"];

/// What fences processes, the loosest first.
pub(super) const FENCES: &[&str] = &["off", "auto", "write", "strict"];

/// How tasks are kept apart.
pub(super) const ISOLATIONS: &[&str] = &["auto", "checkouts", "worktrees", "shared"];

/// How work comes onto the branch of a plan.
pub(super) const LANDINGS: &[&str] = &["squash", "merge"];

/// What is thrown away before a verification.
pub(super) const CLEANINGS: &[&str] = &["caches", "full"];

/// What becomes of an attempt that reports success and changed nothing.
pub(super) const NO_CHANGES: &[&str] = &["warn", "fail", "allow"];

/// What becomes of a task that changes what verifies it.
pub(super) const ON_PROTECTED: &[&str] = &["review", "fail", "warn"];

/// What is done about verification that fails before the first attempt.
pub(super) const BASELINES: &[&str] = &["check", "allow-failing", "skip"];

/// The ranks of a setting that is off or on.
const OFF_ON: &[&str] = &["false", "true"];

const ATTEMPTS: Kind = Kind::Count { least: 1, most: 100 };
/// An amount that has no sensible bound.
const AMOUNT: Kind = Kind::Count {
    least: 1,
    most: i64::MAX as u64,
};
const LIMIT: Kind = Kind::Duration { least: 1_000 };
const PAUSE: Kind = Kind::Duration { least: 0 };

/// Every setting, in the order of the documentation.
pub static KEYS: &[Key] = &[
    key("agents.NAME.preset", Kind::Choice(PRESET_NAMES)),
    key("agents.NAME.command", Kind::Program),
    key("agents.NAME.args", Kind::Words),
    key("agents.NAME.prompt", Kind::Choice(CHANNELS)),
    key("agents.NAME.output", Kind::Choice(FORMATS)),
    key("agents.NAME.env", Kind::Variables),
    key("agents.NAME.set.VARIABLE", Kind::Text),
    key("agents.NAME.retries", Kind::Count { least: 0, most: 100 }),
    key("agents.NAME.resume", Kind::Words),
    key("agents.NAME.fallback", Kind::Text),
    key("run.agent", Kind::Text).with_variable(),
    key("run.slots", Kind::Count { least: 1, most: 1_000 }).with_variable(),
    key("run.attempts", ATTEMPTS).with_variable(),
    key("run.backoff", PAUSE).or("10s").with_variable(),
    key("run.wall_limit", LIMIT).or("1h").with_variable(),
    key("run.silence_limit", LIMIT).or("15m").with_variable(),
    key("run.grace", PAUSE).or("10s").with_variable(),
    key("run.budget.cost", Kind::Money).with_variable(),
    key("run.budget.tokens", AMOUNT).with_variable(),
    key("run.budget.attempts", AMOUNT).with_variable(),
    key("run.budget.duration", LIMIT).with_variable(),
    key("run.task_budget.cost", Kind::Money).with_variable(),
    key("run.task_budget.tokens", AMOUNT).with_variable(),
    key("run.task_budget.attempts", AMOUNT).with_variable(),
    key("run.task_budget.duration", LIMIT).with_variable(),
    key("run.isolation", Kind::Choice(ISOLATIONS))
        .or("auto")
        .with_variable(),
    key("run.fence", Kind::Choice(FENCES))
        .or("auto")
        .with_variable()
        .ranked(FENCES),
    key("run.fence_write", Kind::Words).of_the_user(),
    key("run.fence_read", Kind::Words).of_the_user(),
    key("run.fence_ports", Kind::Ports).of_the_user(),
    key("run.branch", Kind::Text).with_variable(),
    key("run.landing", Kind::Choice(LANDINGS)).or("squash").with_variable(),
    key("run.hooks", Kind::Flag).or("false").with_variable(),
    key("run.resolutions", Kind::Count { least: 0, most: 100 })
        .or("2")
        .with_variable(),
    key("run.setup", Kind::Commands),
    key("run.copy", Kind::Words),
    key("run.keep_ignored", Kind::Words),
    key("run.checkouts", Kind::Text).of_the_user().with_variable(),
    key("run.keep.age", PAUSE).or("7d").with_variable(),
    key(
        "run.keep.count",
        Kind::Count {
            least: 0,
            most: 100_000,
        },
    )
    .or("20")
    .with_variable(),
    key("run.keep.bytes", Kind::Size).or("10GB").with_variable(),
    key("run.on_interrupted", Kind::Choice(ON_INTERRUPTED))
        .or("retry")
        .with_variable(),
    key("run.no_changes", Kind::Choice(NO_CHANGES))
        .or("warn")
        .with_variable(),
    key("run.log_cap", Kind::Size).or("10MB").with_variable(),
    key("run.template", Kind::Text).with_variable(),
    key("run.types.NAME", Kind::Text),
    key("plan.agent", Kind::Text).with_variable(),
    key("plan.dialect", Kind::Dialect).with_variable(),
    key("plan.template", Kind::Text).with_variable(),
    key("plan.replan_template", Kind::Text).with_variable(),
    key("plan.derive_template", Kind::Text).with_variable(),
    key("plan.repair_template", Kind::Text).with_variable(),
    key("verify.every", Kind::Commands),
    key("verify.timeout", LIMIT).or("10m").with_variable(),
    key("verify.clean", Kind::Choice(CLEANINGS))
        .or("caches")
        .with_variable(),
    key("verify.required", Kind::Flag).or("false").ranked(OFF_ON),
    key("verify.allow_unverified", Kind::Flag).or("false").of_the_user(),
    key("verify.baseline", Kind::Choice(BASELINES))
        .or("check")
        .with_variable(),
    key("verify.protect", Kind::Words),
    key("verify.on_protected", Kind::Choice(ON_PROTECTED))
        .or("review")
        .with_variable(),
    key("verify.allow_plan_commands", Kind::Flag).or("false").of_the_user(),
    key("verify.types.NAME.run", Kind::Commands),
    key("verify.types.NAME.timeout", LIMIT),
    key("verify.criteria[].text", Kind::Text),
    key("verify.criteria[].pattern", Kind::Text),
    key("verify.criteria[].run", Kind::Commands),
    key("verify.criteria[].timeout", LIMIT),
    key("check.exclude", Kind::Words),
    key("approval.required", Kind::Flag).or("false").ranked(OFF_ON),
    key("compat.strict", Kind::Flag).or("false").with_variable(),
    key("notify.command", Kind::Command),
];

/// Returns a setting by its path.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}
