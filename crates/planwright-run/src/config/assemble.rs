//! One configuration from several texts: precedence, consistency, and the origin of each value.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use planwright_core::diagnostic::nearest;
use planwright_core::diagnostic::{Diagnostic, sort};
use planwright_core::text::{LineIndex, SourceText, Span, visible};

use super::keys::{ConfigKey, KEYS, SettingType};
use super::read::ConfigReading;
use super::rules::{CONFIG_LOOSENED, CONFIG_MISSING, CONFIG_UNKNOWN_KEY, CONFIG_UNREADABLE, CONFIG_VALUE};
use super::setting::{Command, ConfigLevel, SettingValue, WrittenSetting};
use super::value::{TomlNode, TomlValue, parse};
use super::{
    AttemptLimits, Budget, BudgetConfig, CheckCommands, CheckoutConfig, Cleaning, Config, ConfigSource, Configuration,
    CriterionPattern, CriterionRule, FenceConfig, FenceMode, IsolationSetting, KeepLimits, LandingConfig, LandingStyle,
    NoChanges, OnBaseline, OnInterrupted, OnProtected, PlanningConfig, RetryConfig, RunConfig, SettingOrigin,
    SourceKind, VerifyConfig, units,
};

#[derive(Clone, Debug)]
pub struct ConfigFlag {
    /// The flag, as `--slots`.
    pub name: String,
    /// The path of the setting, as `run.slots`.
    pub key: &'static str,
    pub value: String,
}

/// Assembles a configuration from files, variables of the environment and flags. A later file wins.
pub fn assemble(files: Vec<ConfigSource>, variables: &[(String, String)], flags: &[ConfigFlag]) -> Configuration {
    let mut assembly = Assembly::default();
    for file in files {
        assembly.take_file(file);
    }
    for (name, value) in variables {
        assembly.take_variable(name, value);
    }
    for flag in flags {
        assembly.take_flag(flag);
    }
    assembly.hold_fence();
    let mut config = Config {
        agents: assembly.agents(),
        run: assembly.run(),
        plan: assembly.planning(),
        verify: assembly.verify(),
        notify: assembly.value("notify.command"),
        approval_required: assembly.flag("approval.required"),
        check_exclude: assembly.value("check.exclude").unwrap_or_default(),
        compat_strict: assembly.flag("compat.strict"),
    };
    assembly.check_agents(&config);
    assembly.check_circles(&config);
    let indices: Vec<LineIndex<'_>> = assembly.sources.iter().map(|source| source.text.line_index()).collect();
    for (name, agent) in &mut config.agents {
        if let Some((place, _)) = assembly.tables.get(&["agents", name].map(str::to_owned)[..]) {
            agent.origin = assembly.origin(*place, &indices);
        }
    }
    let effective = assembly.effective(&config, &indices);
    drop(indices);
    for source in &mut assembly.sources {
        sort(&mut source.findings);
    }
    Configuration {
        config,
        effective,
        sources: assembly.sources,
    }
}

#[derive(Clone, Copy)]
pub(super) struct SettingLocation {
    pub(super) source_ix: usize,
    pub(super) span: Span,
}

#[derive(Default)]
pub(super) struct Assembly {
    pub(super) sources: Vec<ConfigSource>,
    pub(super) settings: BTreeMap<Vec<String>, (usize, WrittenSetting)>,
    /// The tables in the sources, each with its last location, and whether it had no error.
    pub(super) tables: BTreeMap<Vec<String>, (SettingLocation, bool)>,
}

// Collects settings from the sources.

impl Assembly {
    fn take_file(&mut self, mut file: ConfigSource) {
        let SourceKind::File { level, .. } = file.kind else {
            return;
        };
        if let Some(damage) = file.text.damage() {
            let message = "the configuration cannot be read: it is not UTF-8";
            file.findings
                .push(Diagnostic::new(&CONFIG_UNREADABLE, damage.span, message));
        } else {
            match parse(&file.text) {
                Ok(entries) => return self.take(file, ConfigReading::of(&entries, level)),
                Err(findings) => file.findings.extend(findings),
            }
        }
        self.sources.push(file);
    }

    fn take_variable(&mut self, name: &str, value: &str) {
        let key = KEYS.iter().find(|key| key.variable().as_deref() == Some(name));
        let mut source = ConfigSource {
            kind: SourceKind::Variable(name.to_owned()),
            text: SourceText::new(format!("{name}={value}")),
            findings: Vec::new(),
        };
        if let Some(key) = key {
            return self.take_text(source, key, value, name.len() + 1);
        }
        // Planwright sets others itself for agents, as PLANWRIGHT_TASK.
        if KEYS.iter().any(|key| key.has_table_of(name)) {
            let known: Vec<String> = KEYS.iter().filter_map(ConfigKey::variable).collect();
            let message = format!("there is no setting for the variable `{}`", visible(name));
            let mut finding = Diagnostic::new(&CONFIG_UNKNOWN_KEY, Span::new(0, name.len()), message);
            if let Some(word) = nearest(name, known.iter().map(String::as_str)) {
                finding = finding.with_label(format!("did you mean `{word}`?"));
            }
            source.findings.push(finding);
            self.sources.push(source);
        }
    }

    fn take_flag(&mut self, flag: &ConfigFlag) {
        let source = ConfigSource {
            kind: SourceKind::Flag(flag.name.clone()),
            text: SourceText::new(format!("{} {}", flag.name, flag.value)),
            findings: Vec::new(),
        };
        if let Some(key) = super::keys::find(flag.key) {
            self.take_text(source, key, &flag.value, flag.name.len() + 1);
        }
    }

    /// Adds a setting whose value is text; empty means not set.
    fn take_text(&mut self, source: ConfigSource, key: &'static ConfigKey, text: &str, at: usize) {
        if text.is_empty() {
            return;
        }
        let value = match key.kind {
            SettingType::Count { .. } => text.parse().ok().map(|n| TomlValue::Integer(Some(n))),
            SettingType::Money => text.parse().ok().map(TomlValue::Number),
            SettingType::Flag => text.parse().ok().map(TomlValue::Flag),
            _ => None,
        };
        let node = TomlNode {
            span: Span::new(at, at + text.len()),
            value: value.unwrap_or_else(|| TomlValue::Text(text.to_owned())),
        };
        let mut reading = ConfigReading::new(ConfigLevel::User);
        let parts: Vec<String> = key.parts().map(str::to_owned).collect();
        let place = node.span;
        reading.setting(key, &node, place, &parts);
        self.take(source, reading);
    }

    fn take(&mut self, mut source: ConfigSource, mut reading: ConfigReading) {
        let source_ix = self.sources.len();
        source.findings.append(&mut reading.findings);
        if reading.level == ConfigLevel::Project {
            reading.settings.retain(|setting| {
                let loosened = self.loosened(setting);
                source.findings.extend(loosened.clone());
                loosened.is_none()
            });
        }
        self.sources.push(source);
        // A list is one value: rules for criteria in this source replace those of all sources before it.
        let is_criterion = |parts: &[String]| parts.len() > 2 && parts[0] == "verify" && parts[1] == "criteria";
        if reading.tables.iter().any(|table| is_criterion(&table.parts)) {
            self.settings.retain(|parts, _| !is_criterion(parts));
            self.tables.retain(|parts, _| !is_criterion(parts));
        }
        for table in reading.tables {
            let span = table.span;
            self.tables
                .insert(table.parts, (SettingLocation { source_ix, span }, table.is_sound));
        }
        for setting in reading.settings {
            self.settings.insert(setting.parts.clone(), (source_ix, setting));
        }
    }
}

impl Assembly {
    /// Returns the finding for a project setting that would loosen the user's.
    fn loosened(&self, setting: &WrittenSetting) -> Option<Diagnostic> {
        let (_, own) = self.settings.get(&setting.parts)?;
        let (new, old) = (setting.value.word()?, own.value.word()?);
        setting.key.is_looser(&new, &old).then(|| {
            let message = format!(
                "`{}` stays {old}: a project cannot loosen what you have set",
                setting.key.path
            );
            let help = "leave it out here, or change it in your own configuration file";
            Diagnostic::new(&CONFIG_LOOSENED, setting.span, message).with_help(help)
        })
    }

    /// Fences the project's unfenced commands if the user has asked for a fence.
    fn hold_fence(&mut self) {
        let is_of_project = |sources: &[ConfigSource], source_ix: usize| {
            let source = sources.get(source_ix).map(|source| &source.kind);
            matches!(
                source,
                Some(SourceKind::File {
                    level: ConfigLevel::Project,
                    ..
                })
            )
        };
        let Some((fence, place)) = self.get::<String>(&parts("run.fence")) else {
            return;
        };
        if !matches!(fence.as_str(), "write" | "strict") || is_of_project(&self.sources, place.source_ix) {
            return;
        }
        for (source_ix, setting) in self.settings.values_mut() {
            let SettingValue::Commands(commands) = &mut setting.value else {
                continue;
            };
            if !is_of_project(&self.sources, *source_ix) || !commands.iter().any(Command::is_unfenced) {
                continue;
            }
            for command in commands.iter_mut() {
                *command = command.plain().clone();
            }
            let message = format!(
                "the commands of `{}` are fenced: a project cannot loosen what you have set",
                setting.key.path
            );
            let help = "leave `fence = \"off\"` out here, or set run.fence = \"auto\" in your own configuration file";
            if let Some(source) = self.sources.get_mut(*source_ix) {
                source
                    .findings
                    .push(Diagnostic::new(&CONFIG_LOOSENED, setting.span, message).with_help(help));
            }
        }
    }

    fn flag(&self, path: &str) -> bool {
        self.value(path).unwrap_or_default()
    }
}

// Looks up settings.

pub(super) fn parts(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

impl Assembly {
    /// Returns the value of a setting, and its place.
    pub(super) fn get<T: Clone>(&self, path: &[String]) -> Option<(T, SettingLocation)>
    where
        for<'v> &'v T: TryFrom<&'v SettingValue>,
    {
        let (source_ix, setting) = self.settings.get(path)?;
        let place = SettingLocation {
            source_ix: *source_ix,
            span: setting.span,
        };
        Some((<&T>::try_from(&setting.value).ok()?.clone(), place))
    }

    fn value<T: Clone>(&self, path: &str) -> Option<T>
    where
        for<'v> &'v T: TryFrom<&'v SettingValue>,
    {
        self.get(&parts(path)).map(|(value, _)| value)
    }

    fn small_count(&self, path: &str) -> Option<u32> {
        u32::try_from(self.value::<u64>(path)?).ok()
    }

    /// Returns the names that follow a prefix, in tables or settings.
    pub(super) fn names(&self, prefix: &[&str]) -> BTreeSet<String> {
        let prefix: Vec<String> = prefix.iter().map(|&part| part.to_owned()).collect();
        let name = |parts: &Vec<String>| parts.get(prefix.len()).cloned();
        let tables = self.tables.range(prefix.clone()..).map(|(parts, _)| parts);
        let settings = self.settings.range(prefix.clone()..).map(|(parts, _)| parts);
        let below = |parts: &&Vec<String>| parts.starts_with(&prefix);
        tables
            .take_while(below)
            .chain(settings.take_while(below))
            .filter_map(name)
            .collect()
    }

    /// Returns the meaning of a setting's word; the default if the word is unknown or not set.
    fn choice<T: Copy + Default>(&self, path: &str, meanings: &[(&str, T)]) -> T {
        let word: Option<String> = self.value(path);
        let meant = meanings.iter().find(|(name, _)| word.as_deref() == Some(name));
        meant.map(|(_, meaning)| *meaning).unwrap_or_default()
    }

    /// Returns a small number, or its default.
    fn small_count_or(&self, path: &str) -> u32 {
        let usual = || super::keys::find(path)?.default?.parse().ok();
        self.small_count(path).or_else(usual).unwrap_or_default()
    }

    /// Returns a duration, or its default.
    fn duration_or(&self, path: &str) -> Duration {
        let usual = || units::duration(super::keys::find(path)?.default?);
        self.value(path).or_else(usual).unwrap_or_default()
    }

    /// Returns a size in bytes, or its default.
    fn size_or(&self, path: &str) -> u64 {
        let usual = || units::size(super::keys::find(path)?.default?);
        self.value(path).or_else(usual).unwrap_or_default()
    }

    pub(super) fn find_fault(&mut self, place: SettingLocation, finding: Diagnostic) {
        if let Some(source) = self.sources.get_mut(place.source_ix) {
            source.findings.push(finding);
        }
    }

    pub(super) fn origin(&self, place: SettingLocation, indices: &[LineIndex<'_>]) -> SettingOrigin {
        let (Some(source), Some(index)) = (self.sources.get(place.source_ix), indices.get(place.source_ix)) else {
            return SettingOrigin::Default;
        };
        match &source.kind {
            SourceKind::File { level, path } => {
                let position = index.position(place.span.start);
                SettingOrigin::File {
                    level: *level,
                    path: path.clone(),
                    line: position.line,
                    column: position.column,
                }
            }
            SourceKind::Variable(name) => SettingOrigin::Variable(name.clone()),
            SourceKind::Flag(name) => SettingOrigin::Flag(name.clone()),
        }
    }
}

// Builds the configuration.

impl Assembly {
    fn run(&self) -> RunConfig {
        let types = self.names(&["run", "types"]).into_iter().filter_map(|name| {
            let (agent, _) = self.get(&["run", "types", &name].map(str::to_owned))?;
            Some((name, agent))
        });
        RunConfig {
            agent: self.value("run.agent"),
            types: types.collect(),
            slots: self.small_count("run.slots"),
            retry: RetryConfig {
                attempts: self.small_count("run.attempts"),
                backoff: self.duration_or("run.backoff"),
                resolutions: self.small_count_or("run.resolutions"),
            },
            limits: AttemptLimits {
                wall: self.duration_or("run.wall_limit"),
                silence: self.duration_or("run.silence_limit"),
                grace: self.duration_or("run.grace"),
                log_bytes: self.size_or("run.log_cap"),
            },
            budgets: BudgetConfig {
                run: self.budget("run.budget"),
                task: self.budget("run.task_budget"),
            },
            fence: self.fence(),
            checkouts: self.checkouts(),
            landing: LandingConfig {
                branch: self.value("run.branch"),
                style: self.choice("run.landing", &[("merge", LandingStyle::Merge)]),
                hooks: self.flag("run.hooks"),
                keep_ignored: self.value("run.keep_ignored").unwrap_or_default(),
            },
            on_interrupted: self.choice(
                "run.on_interrupted",
                &[("fail", OnInterrupted::Fail), ("ask", OnInterrupted::Ask)],
            ),
            no_changes: self.choice(
                "run.no_changes",
                &[("fail", NoChanges::Fail), ("allow", NoChanges::Allow)],
            ),
            template: self.value("run.template"),
        }
    }

    fn fence(&self) -> FenceConfig {
        let modes = [
            ("off", FenceMode::Off),
            ("write", FenceMode::Write),
            ("strict", FenceMode::Strict),
        ];
        FenceConfig {
            mode: self.choice("run.fence", &modes),
            write: self.value("run.fence_write").unwrap_or_default(),
            read: self.value("run.fence_read").unwrap_or_default(),
            ports: self.value("run.fence_ports").unwrap_or_default(),
        }
    }

    fn checkouts(&self) -> CheckoutConfig {
        let isolations = [
            ("checkouts", IsolationSetting::Checkouts),
            ("worktrees", IsolationSetting::Checkouts),
            ("shared", IsolationSetting::Shared),
        ];
        CheckoutConfig {
            isolation: self.choice("run.isolation", &isolations),
            folder: self.value("run.checkouts"),
            setup: self.value("run.setup"),
            copy: self.value("run.copy"),
            keep: KeepLimits {
                age: self.duration_or("run.keep.age"),
                count: self.small_count_or("run.keep.count"),
                bytes: self.size_or("run.keep.bytes"),
            },
        }
    }

    fn budget(&self, table: &str) -> Budget {
        let member = |name: &str| format!("{table}.{name}");
        Budget {
            cost: self.value(&member("cost")),
            tokens: self.value(&member("tokens")),
            attempts: self.value(&member("attempts")),
            duration: self.value(&member("duration")),
        }
    }

    fn planning(&self) -> PlanningConfig {
        PlanningConfig {
            agent: self.value("plan.agent"),
            dialect: self.value("plan.dialect"),
            template: self.value("plan.template"),
            replan_template: self.value("plan.replan_template"),
            derive_template: self.value("plan.derive_template"),
            repair_template: self.value("plan.repair_template"),
        }
    }

    fn verify(&mut self) -> VerifyConfig {
        let timeout = self.duration_or("verify.timeout");
        let mut types = BTreeMap::new();
        for name in self.names(&["verify", "types"]) {
            let table = ["verify", "types", &name].map(str::to_owned);
            if let Some(checks) = self.checks(&table, timeout) {
                types.insert(name, checks);
            }
        }
        let mut criteria = Vec::new();
        for name in self.names(&["verify", "criteria"]) {
            let table = ["verify", "criteria", &name].map(str::to_owned);
            let wanted = self.wanted(&table);
            if let (Some(checks), Some(wanted)) = (self.checks(&table, timeout), wanted) {
                criteria.push(CriterionRule { wanted, checks });
            }
        }
        VerifyConfig {
            every: self.value("verify.every").unwrap_or_default(),
            timeout,
            clean: self.choice("verify.clean", &[("full", Cleaning::Full)]),
            required: self.flag("verify.required"),
            allow_unverified: self.flag("verify.allow_unverified"),
            baseline: self.choice(
                "verify.baseline",
                &[("skip", OnBaseline::Skip), ("allow-failing", OnBaseline::AllowFailing)],
            ),
            protect: self.value("verify.protect").unwrap_or_default(),
            on_protected: self.choice(
                "verify.on_protected",
                &[("fail", OnProtected::Fail), ("warn", OnProtected::Warn)],
            ),
            allow_plan_commands: self.flag("verify.allow_plan_commands"),
            types,
            criteria,
        }
    }

    fn checks(&mut self, table: &[String], usual: Duration) -> Option<CheckCommands> {
        let member = |name: &str| [table, &[name.to_owned()]].concat();
        let run: Option<(Vec<Command>, _)> = self.get(&member("run"));
        match run.filter(|(run, _)| !run.is_empty()) {
            Some((run, _)) => Some(CheckCommands {
                run,
                timeout: self.get(&member("timeout")).map_or(usual, |(timeout, _)| timeout),
            }),
            None => {
                let message = "this rule has nothing to run";
                self.lacking(table, message, "give it commands, as in run = [\"cargo test\"]");
                None
            }
        }
    }

    fn wanted(&mut self, table: &[String]) -> Option<CriterionPattern> {
        let member = |name: &str| [table, &[name.to_owned()]].concat();
        match (self.get(&member("text")), self.get(&member("pattern"))) {
            (Some((text, _)), None) => Some(CriterionPattern::Text(text)),
            (None, Some((pattern, _))) => Some(CriterionPattern::Pattern(pattern)),
            (Some(_), Some((_, place))) => {
                let message = "a rule has either a `text` or a `pattern`";
                let help = "write two rules where both are meant";
                self.find_fault(
                    place,
                    Diagnostic::new(&CONFIG_VALUE, place.span, message).with_help(help),
                );
                None
            }
            (None, None) => {
                let help = "give it the `text` of a criterion, or a `pattern` with `*`";
                self.lacking(table, "this rule names no criterion", help);
                None
            }
        }
    }

    /// Reports a table with a missing setting, unless the table already has an error.
    pub(super) fn lacking(&mut self, table: &[String], message: &str, help: &str) {
        if let Some(&(place, true)) = self.tables.get(table) {
            let finding = Diagnostic::new(&CONFIG_MISSING, place.span, message).with_help(help);
            self.find_fault(place, finding);
        }
    }
}
