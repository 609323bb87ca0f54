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
mod setting;
mod value;

pub use agent::{Agent, Channel, CommandValues, OutputFormat, PLACEHOLDERS};
pub(crate) use agents::chain_of;
pub use assemble::{ConfigFlag, assemble};
pub use frozen::thaw;
pub use load::{ConfigInputs, load};
pub use setting::{Command, ConfigLevel, quoted};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::text::SourceText;

/// The effective settings of all sources.
#[derive(Clone, Debug)]
pub struct Config {
    /// The configured agents and the presets, by name.
    pub agents: BTreeMap<String, Agent>,
    pub run: RunConfig,
    pub plan: PlanningConfig,
    pub verify: VerifyConfig,
    pub notify: Option<Command>,
    /// Whether a plan must be approved before a run, in every dialect.
    pub approval_required: bool,
    /// Patterns, as in `.gitignore`, of paths from the root that `check` does not look through.
    pub check_exclude: Vec<String>,
    /// Patterns of paths from the root that `check` ignores, as in `.gitignore`.
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

    /// Returns the agent that plans by default.
    pub fn planner(&self) -> Option<&str> {
        let named = self.plan.agent.as_deref().or(self.run.agent.as_deref());
        named.or_else(|| self.only_agent())
    }
}

#[derive(Clone, Debug, Default)]
pub struct PlanningConfig {
    /// The agent that plans; none for the agent of tasks.
    pub agent: Option<String>,
    /// The dialect of new plans; none for that of the existing plans.
    pub dialect: Option<String>,
    /// The template file for the prompt of a new plan, relative to the root of the workspace; none for the built-in one.
    pub template: Option<String>,
    /// The template for the prompt of a new version.
    pub replan_template: Option<String>,
    /// The template for the prompt of a task pack.
    pub derive_template: Option<String>,
    /// The template for the prompt that returns an answer for repair.
    pub repair_template: Option<String>,
}

#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The default agent of tasks.
    pub agent: Option<String>,
    pub types: BTreeMap<String, String>,
    /// How many tasks may run in parallel; none leaves it to the plan.
    pub slots: Option<u32>,
    pub retry: RetryConfig,
    pub limits: AttemptLimits,
    pub budgets: BudgetConfig,
    pub fence: FenceConfig,
    pub checkouts: CheckoutConfig,
    pub landing: LandingConfig,
    pub on_interrupted: OnInterrupted,
    pub no_changes: NoChanges,
    /// The template file for prompts, relative to the root of the workspace; none for the dialect's own.
    pub template: Option<String>,
}

#[derive(Clone, Debug)]
pub struct RetryConfig {
    /// How often a task is tried in total; none leaves it to the plan.
    pub attempts: Option<u32>,
    /// The wait before the second attempt.
    pub backoff: Duration,
    /// How often the agent gets a conflict to resolve.
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
    /// The folder for checkouts; none for the user's state folder.
    pub folder: Option<String>,
    /// The commands that prepare a checkout, for agents and for verification; none if not configured.
    pub setup: Option<Vec<Command>>,
    /// The paths that are copied from the workspace into every checkout; none if not configured.
    pub copy: Option<Vec<String>>,
    /// How many leftovers of earlier runs are kept.
    pub keep: KeepLimits,
}

/// How finished work lands on a branch.
#[derive(Clone, Debug)]
pub struct LandingConfig {
    /// The branch that work lands on; none for the plan's own.
    pub branch: Option<String>,
    pub style: LandingStyle,
    /// Whether the user's `post-merge` hook runs when files of the user's checkout have changed.
    pub hooks: bool,
    /// Patterns of files that must land although git ignores them.
    pub keep_ignored: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct BudgetConfig {
    /// The budget of a run, kept when it is resumed.
    pub run: Budget,
    pub task: Budget,
}

/// What may be spent before no new attempt starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// US dollars, as far as agents report them.
    pub cost: Option<f64>,
    /// Tokens sent and received, as far as agents report them.
    pub tokens: Option<u64>,
    /// Attempts, except those that a provider's rate limit ended.
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

/// How much of a checkout for verification is removed before its next use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaning {
    /// Everything that is not committed, except build products of landed work.
    #[default]
    KeepCaches,
    Full,
}

/// How many checkouts without unique work are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepLimits {
    pub age: Duration,
    pub count: u32,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IsolationSetting {
    /// In checkouts if the workspace is in a git repository with a commit; otherwise not isolated.
    #[default]
    Auto,
    Checkouts,
    /// Not isolated: tasks share the folder.
    Shared,
}

/// Whether the processes of agents, verification and setup are fenced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FenceMode {
    /// They have all rights of the user.
    Off,
    /// As with `Write` if the kernel supports it; otherwise they have all rights of the user.
    #[default]
    Auto,
    /// They may write only to their own folders and to caches.
    Write,
    /// In addition, they may read only what they need, and connect to few ports.
    Strict,
}

/// What a run does with tasks that were running when it was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInterrupted {
    #[default]
    Retry,
    Fail,
    Ask,
}

/// What a run does with an attempt that reports success and changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoChanges {
    /// The task is done. The run warns and counts it.
    #[default]
    Warn,
    Fail,
    Allow,
}

/// What a run does about verification that fails before the first attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBaseline {
    /// The run asks on a terminal, and stops without one.
    #[default]
    Check,
    /// The run shows the failures, and starts.
    AllowFailing,
    /// The run skips the baseline.
    Skip,
}

/// What a run does with a task that changes the files that verify it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnProtected {
    #[default]
    Review,
    Fail,
    Warn,
}

#[derive(Clone, Debug)]
pub struct VerifyConfig {
    pub every: Vec<Command>,
    pub timeout: Duration,
    pub clean: Cleaning,
    /// Whether a task is done only after a passed verification.
    pub required: bool,
    /// Whether a person may waive verification where it is required.
    pub allow_unverified: bool,
    /// What a run does about verification that fails before the first attempt.
    pub baseline: OnBaseline,
    /// Patterns of files that need a review if a task changes them.
    pub protect: Vec<String>,
    pub on_protected: OnProtected,
    /// Whether commands written inside a plan may be run.
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
    /// Criteria that match: `*` matches any text, case-insensitive.
    Pattern(String),
}

impl CriterionPattern {
    /// Returns whether the rule matches a criterion. Surrounding white space is ignored.
    pub fn fits(&self, criterion: &str) -> bool {
        match self {
            CriterionPattern::Text(text) => text.trim() == criterion.trim(),
            CriterionPattern::Pattern(pattern) => {
                fits(&pattern.trim().to_lowercase(), &criterion.trim().to_lowercase())
            }
        }
    }
}

/// Returns whether a text matches a pattern with stars; each part is taken where it is found first.
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
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    Variable(String),
    Flag(String),
}

#[derive(Clone, Debug)]
pub struct EffectiveSetting {
    pub path: String,
    pub value: String,
    pub origin: SettingOrigin,
}

/// A text with settings, and its errors.
#[derive(Debug)]
pub struct ConfigSource {
    pub kind: SourceKind,
    pub text: SourceText,
    pub findings: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    File {
        level: ConfigLevel,
        path: PathBuf,
    },
    /// An environment variable; the text is an assignment.
    Variable(String),
    /// A command line flag; the text is the flag and its value.
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
    /// The effective settings for people, in the order of the documentation.
    pub effective: Vec<EffectiveSetting>,
    /// The texts that it comes from. A later one wins.
    pub sources: Vec<ConfigSource>,
}

impl Configuration {
    /// Returns whether it has errors, so that no code may act on it.
    pub fn has_errors(&self) -> bool {
        let mut findings = self.sources.iter().flat_map(|source| &source.findings);
        findings.any(|finding| finding.severity == Severity::Error)
    }

    /// Returns whether a file of it could not be read, which is not an error in its text.
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
