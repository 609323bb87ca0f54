//! The configuration. A flag wins over the environment, then `planwright.toml`, then the user's own file, then the default.
//! Decides nothing.
//!
//! All errors come back as findings at once, with the sound settings. Code that acts on a configuration asks
//! [`Configuration::has_errors`] first.

pub mod keys;
pub mod no_agent;
pub mod presets;
pub mod rules;
pub mod units;

mod agent;
mod agents;
mod assemble;
mod effective;
mod frozen;
mod load;
mod read;
mod value;

pub use agent::{Agent, CHANNELS, Channel, FORMATS, Fillings, OutputFormat, PLACEHOLDERS};
pub(crate) use agents::chain_of;
pub use assemble::{Flag, assemble};
pub use frozen::thaw;
pub use load::{ConfigInputs, MAX_CONFIG_BYTES, load};
pub use read::{Command, ConfigLevel, quoted};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::text::SourceText;

/// What holds, all sources taken together.
#[derive(Clone, Debug)]
pub struct Config {
    /// The agents by name: those that are configured, and the presets.
    pub agents: BTreeMap<String, Agent>,
    pub run: RunConfig,
    pub plan: PlanningConfig,
    pub verify: Verify,
    pub notify: Option<Command>,
    /// Whether plans must be approved before they are worked on, in every dialect.
    pub approval_required: bool,
    /// Patterns, as in `.gitignore`, of paths from the root that `check` does not look through.
    pub check_exclude: Vec<String>,
    /// Whether the original command lines are held to the tables of their specifications.
    pub compat_strict: bool,
}

impl Config {
    /// Returns the agents that the user or the project has configured, without presets.
    pub fn own_agents(&self) -> impl Iterator<Item = &Agent> {
        let agents = self.agents.values();
        agents.filter(|agent| !matches!(agent.origin, SettingOrigin::Preset(_)))
    }

    pub fn only_agent(&self) -> Option<&str> {
        let mut own = self.own_agents();
        match (own.next(), own.next()) {
            (Some(only), None) => Some(&only.name),
            _ => None,
        }
    }

    /// Returns the agent that plans where the user names none.
    pub fn planner(&self) -> Option<&str> {
        let named = self.plan.agent.as_deref().or(self.run.agent.as_deref());
        named.or_else(|| self.only_agent())
    }
}

#[derive(Clone, Debug, Default)]
pub struct PlanningConfig {
    /// The agent that plans; none for the one that takes tasks.
    pub agent: Option<String>,
    /// The dialect of new plans; none for that of the plans that exist.
    pub dialect: Option<String>,
    /// The file with the template for the prompt of a new plan, from the root of the workspace; none for planwright's own.
    pub template: Option<String>,
    /// The same for the prompt of a new version.
    pub replan_template: Option<String>,
    /// The same for the prompt of a task pack.
    pub derive_template: Option<String>,
    /// The same for the prompt that sends an answer back.
    pub repair_template: Option<String>,
}

#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The agent for tasks that nothing else names one for.
    pub agent: Option<String>,
    pub types: BTreeMap<String, String>,
    /// How many tasks may run side by side; none leaves it to the plan.
    pub slots: Option<u32>,
    pub retry: RetryConfig,
    pub limits: AttemptLimits,
    /// What a run may spend, interruptions or not.
    pub budget: Budget,
    pub task_budget: Budget,
    pub fence: FenceConfig,
    pub checkouts: CheckoutConfig,
    pub landing: LandingConfig,
    pub on_interrupted: OnInterrupted,
    pub no_changes: NoChanges,
    /// The file with the template for prompts, from the root of the workspace; none for the dialect's own.
    pub template: Option<String>,
}

#[derive(Clone, Debug)]
pub struct RetryConfig {
    /// How often a task is tried in all; none leaves it to the plan.
    pub attempts: Option<u32>,
    /// How long to wait before the second attempt.
    pub backoff: Duration,
    /// How often a conflict is given back to the agent.
    pub resolutions: u32,
}

#[derive(Clone, Debug)]
pub struct AttemptLimits {
    pub wall: Duration,
    pub silence: Duration,
    pub grace: Duration,
    pub log_bytes: u64,
}

#[derive(Clone, Debug)]
pub struct FenceConfig {
    pub mode: FenceMode,
    pub write: Vec<String>,
    /// What strictly fenced processes may read in addition.
    pub read: Vec<String>,
    /// The TCP ports that strictly fenced processes may connect to in addition.
    pub ports: Vec<u16>,
}

/// Where tasks work, and how that is prepared.
#[derive(Clone, Debug)]
pub struct CheckoutConfig {
    pub isolation: IsolationSetting,
    /// Where checkouts are made; none for the user's state folder.
    pub folder: Option<String>,
    /// What prepares a checkout, for agents and for verification; none where nothing is configured.
    pub setup: Option<Vec<Command>>,
    /// What is copied from the workspace into every checkout, by its path; none where nothing is configured.
    pub copy: Option<Vec<String>>,
    /// How much of what earlier runs left is kept.
    pub keep: KeepLimits,
}

/// How finished work comes onto a branch.
#[derive(Clone, Debug)]
pub struct LandingConfig {
    /// The branch that work lands on; none for the plan's own.
    pub branch: Option<String>,
    pub style: LandingStyle,
    /// Whether the user's `post-merge` hook runs when files of the user's checkout have changed.
    pub hooks: bool,
    /// Patterns of files that have to land although git ignores them.
    pub keep_ignored: Vec<String>,
}

/// What may be spent before nothing new is begun.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// US dollars, as far as agents tell.
    pub cost: Option<f64>,
    /// Tokens sent and received, as far as agents tell.
    pub tokens: Option<u64>,
    /// Attempts that count: not those that a provider's limit ended.
    pub attempts: Option<u64>,
    pub duration: Option<Duration>,
}

impl Budget {
    pub fn is_open(&self) -> bool {
        *self == Budget::default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LandingStyle {
    /// One commit for each task.
    #[default]
    Squash,
    /// A merge commit for each task, whose second parent is the candidate.
    Merge,
}

/// How much of a checkout for verification is thrown away before the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaning {
    /// What is not committed; build products of landed work stay.
    #[default]
    KeepCaches,
    Full,
}

/// How much is kept of checkouts that hold nothing unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepLimits {
    pub age: Duration,
    pub count: u32,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IsolationSetting {
    /// By checkouts in a git repository with a commit, else not at all.
    #[default]
    Auto,
    Checkouts,
    /// By nothing: they share the folder.
    Shared,
}

/// Whether the processes of agents, verification and setup are fenced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FenceMode {
    /// They may do what the user may.
    Off,
    /// As with `Write` where the kernel can do that, else they may do what the user may.
    #[default]
    Auto,
    /// They may write to their own folders and to caches.
    Write,
    /// They may read no more than they need as well, and connect to few ports.
    Strict,
}

/// What becomes of tasks that were running when a run was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInterrupted {
    #[default]
    Retry,
    Fail,
    Ask,
}

/// What becomes of an attempt that reports success and changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoChanges {
    /// Its task is done, and that is shown and counted.
    #[default]
    Warn,
    Fail,
    Allow,
}

/// What is done about verification that fails before the first attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBaseline {
    /// The run asks on a terminal, and stops elsewhere.
    #[default]
    Check,
    /// It is shown, and the run begins.
    AllowFailing,
    /// Nothing is run before the first attempt.
    Skip,
}

/// What becomes of a task that changes what verifies it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnProtected {
    #[default]
    Review,
    Fail,
    Warn,
}

#[derive(Clone, Debug)]
pub struct Verify {
    pub every: Vec<Command>,
    pub timeout: Duration,
    pub clean: Cleaning,
    /// Whether a task is done only by a passed verification.
    pub required: bool,
    /// Whether a person may waive verification where it is required.
    pub allow_unverified: bool,
    /// What is done about verification that fails before the first attempt.
    pub baseline: OnBaseline,
    /// Patterns of files that tasks must not change without a review.
    pub protect: Vec<String>,
    pub on_protected: OnProtected,
    /// Whether commands that are written inside a plan may be run.
    pub allow_plan_commands: bool,
    pub types: BTreeMap<String, CheckCommands>,
    pub criteria: Vec<CriterionRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckCommands {
    pub run: Vec<Command>,
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionRule {
    pub wanted: CriterionPattern,
    pub checks: CheckCommands,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CriterionPattern {
    Text(String),
    /// Those that fit: `*` stands for any text, and letter case is ignored.
    Pattern(String),
}

impl CriterionPattern {
    /// Returns whether a criterion is meant. White space around it does not count.
    pub fn fits(&self, criterion: &str) -> bool {
        match self {
            CriterionPattern::Text(text) => text.trim() == criterion.trim(),
            CriterionPattern::Pattern(pattern) => {
                fits(&pattern.trim().to_lowercase(), &criterion.trim().to_lowercase())
            }
        }
    }
}

/// Returns whether a text fits a pattern with stars; each part is taken where it is found first.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    Default,
    Preset(&'static str),
    File {
        level: ConfigLevel,
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    Variable(String),
    Flag(String),
}

#[derive(Clone, Debug)]
pub struct Effective {
    pub path: String,
    pub value: String,
    pub origin: SettingOrigin,
}

/// A text that settings come from, and what is wrong with it.
#[derive(Debug)]
pub struct ConfigSource {
    pub kind: SourceKind,
    /// Its text; empty where it cannot be read.
    pub text: SourceText,
    pub findings: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    File {
        level: ConfigLevel,
        path: PathBuf,
    },
    /// A variable of the environment; the text is an assignment.
    Variable(String),
    /// A flag; the text is the flag and its value.
    Flag(String),
}

impl ConfigSource {
    pub fn name(&self) -> PathBuf {
        match &self.kind {
            SourceKind::File { path, .. } => path.clone(),
            SourceKind::Variable(_) => PathBuf::from("environment"),
            SourceKind::Flag(_) => PathBuf::from("command line"),
        }
    }
}

#[derive(Debug)]
pub struct Configuration {
    pub config: Config,
    /// The same for people, in the order of the documentation.
    pub effective: Vec<Effective>,
    /// The texts that it comes from, what wins last.
    pub sources: Vec<ConfigSource>,
}

impl Configuration {
    /// Returns whether it must not be acted on.
    pub fn has_errors(&self) -> bool {
        let mut findings = self.sources.iter().flat_map(|source| &source.findings);
        findings.any(|finding| finding.severity == Severity::Error)
    }

    /// Returns whether a file of it could not be read at all, which is no fault of what is written there.
    pub fn is_unread(&self) -> bool {
        let mut findings = self.sources.iter().flat_map(|source| &source.findings);
        findings.any(|finding| finding.rule.id == rules::CONFIG_UNREADABLE.id && finding.span.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_fit_by_text_or_pattern() {
        let text = |text: &str| CriterionPattern::Text(text.to_owned());
        let pattern = |pattern: &str| CriterionPattern::Pattern(pattern.to_owned());
        for (wanted, criterion, expected) in [
            (text("Typecheck passes"), " Typecheck passes\n", true),
            (text("Typecheck passes"), "typecheck passes", false),
            (text("a*"), "ab", false),
            (pattern("typecheck passes"), "Typecheck passes", true),
            (pattern("*test*pass*"), "All unit tests must pass.", true),
            (pattern("*tests pass"), "tests pass now", false),
            (pattern("tests*"), "Tests pass", true),
            (pattern("a*a"), "a", false),
            (pattern("a*a"), "aa", true),
            (pattern("*"), "", true),
            (pattern("**"), "x", true),
            (pattern("a*b*c"), "axxbxxc", true),
            (pattern("a*b*c"), "axxcxxb", false),
            (pattern("Größe *"), "größe stimmt", true),
        ] {
            assert_eq!(wanted.fits(criterion), expected, "{wanted:?} {criterion:?}");
        }
    }
}
