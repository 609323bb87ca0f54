//! From a tree of values to typed settings, by the table of keys. Knows one text at a time.

use std::time::Duration;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::diagnostic::nearest;
use planwright_core::dialect::DIALECTS;
use planwright_core::text::{Span, visible};

use super::keys::{ConfigKey, KEYS, SettingType};
use super::rules::{CONFIG_TYPE, CONFIG_UNKNOWN_KEY, CONFIG_USER_ONLY, CONFIG_VALUE, CONFIG_WORDS};
use super::setting::{Command, ConfigLevel, SettingValue, TableSeen, WrittenSetting, command_text, list};
use super::units;
use super::value::{TomlMember, TomlNode, TomlValue};

const MAX_FINDINGS: usize = 1_000;

/// How many names in one file get a did-you-mean.
const MAX_SUGGESTIONS: usize = 200;

pub(super) struct ConfigReading {
    pub(super) level: ConfigLevel,
    pub(super) settings: Vec<WrittenSetting>,
    pub(super) tables: Vec<TableSeen>,
    pub(super) findings: Vec<Diagnostic>,
    /// The number of findings, including those beyond the limit.
    n_found: usize,
    n_suggestions: usize,
}

impl ConfigReading {
    pub(super) fn new(level: ConfigLevel) -> Self {
        ConfigReading {
            level,
            settings: Vec::new(),
            tables: Vec::new(),
            findings: Vec::new(),
            n_found: 0,
            n_suggestions: 0,
        }
    }

    pub(super) fn of(entries: &[TomlMember], level: ConfigLevel) -> Self {
        let mut reading = ConfigReading::new(level);
        reading.members(entries, "", &mut Vec::new());
        reading
    }

    fn find(&mut self, finding: Diagnostic) {
        self.n_found += 1;
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        }
    }

    /// Reads the members of a table whose path among the keys is a prefix, empty or ending with a dot.
    fn members(&mut self, entries: &[TomlMember], prefix: &str, parts: &mut Vec<String>) {
        for entry in entries {
            let children = children(prefix);
            let listed = format!("{}[]", entry.key);
            let step = match () {
                () if children.contains(&entry.key.as_str()) => entry.key.as_str(),
                () if children.contains(&listed.as_str()) => listed.as_str(),
                () if children == ["NAME"] || children == ["VARIABLE"] => {
                    if !self.name(entry, children[0], prefix) {
                        continue;
                    }
                    children[0]
                }
                () => {
                    self.unknown(entry, prefix, &children);
                    continue;
                }
            };
            parts.push(entry.key.clone());
            self.member(entry, &format!("{prefix}{step}"), parts);
            parts.pop();
        }
    }

    /// Reads a member whose path among the keys is known.
    fn member(&mut self, entry: &TomlMember, path: &str, parts: &mut Vec<String>) {
        if let Some(key) = KEYS.iter().find(|key| key.path == path) {
            return self.setting(key, &entry.node, entry.key_span, parts);
        }
        let prefix = format!("{path}.");
        match (&entry.node.value, path.ends_with("[]")) {
            (TomlValue::Table(entries), false) => {
                self.table(entries, entry.key_span, &prefix, parts);
            }
            (TomlValue::List(nodes), true) => {
                for (ix, node) in nodes.iter().enumerate() {
                    let TomlValue::Table(entries) = &node.value else {
                        self.mistyped(node.span, &entry.key, &node.value, "tables");
                        continue;
                    };
                    // Padded, so that indexes sort as text. No file is long enough to exceed the width.
                    parts.push(format!("{ix:06}"));
                    let place = entries.first().map_or(entry.key_span, |first| first.key_span);
                    self.table(entries, place, &prefix, parts);
                    parts.pop();
                }
            }
            (value, true) => self.mistyped(entry.node.span, &entry.key, value, "a list of tables"),
            (value, false) => self.mistyped(entry.node.span, &entry.key, value, "a table"),
        }
    }

    fn table(&mut self, entries: &[TomlMember], place: Span, prefix: &str, parts: &mut Vec<String>) {
        let n_found = self.n_found;
        self.members(entries, prefix, parts);
        self.tables.push(TableSeen {
            parts: parts.clone(),
            span: place,
            is_sound: self.n_found == n_found,
        });
    }

    pub(super) fn setting(&mut self, key: &'static ConfigKey, node: &TomlNode, place: Span, parts: &[String]) {
        if key.is_user_only && self.level == ConfigLevel::Project {
            let message = format!("`{}` cannot be set by a project", key.path);
            let help =
                "another person may have written the project's file: put the setting into your own configuration file";
            return self.find(Diagnostic::new(&CONFIG_USER_ONLY, place, message).with_help(help));
        }
        let name = parts.last().map_or("", String::as_str);
        if let Some(value) = self.typed(key.kind, node, name) {
            self.settings.push(WrittenSetting {
                key,
                parts: parts.to_vec(),
                value,
                span: node.span,
            });
        }
    }

    fn typed(&mut self, kind: SettingType, node: &TomlNode, name: &str) -> Option<SettingValue> {
        match (kind, &node.value) {
            (SettingType::Text, TomlValue::Text(text)) => self.text(text, node.span, name).map(SettingValue::Text),
            (SettingType::Choice(words), TomlValue::Text(text)) => self.choice(text, words, node.span, name),
            (SettingType::Dialect, TomlValue::Text(text)) => {
                let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
                self.choice(text, &names, node.span, name)
            }
            (SettingType::Program, TomlValue::List(nodes)) => {
                self.program(nodes, node.span, name).map(SettingValue::Words)
            }
            (SettingType::Words, TomlValue::List(nodes)) => self.words(nodes, name).map(SettingValue::Words),
            (SettingType::Variables, TomlValue::List(nodes)) => self.variables(nodes, name),
            (SettingType::Count { least, most }, TomlValue::Integer(n)) => self.count(*n, least, most, node.span, name),
            (SettingType::Duration { least }, TomlValue::Text(text)) => self.duration(text, least, node.span, name),
            (SettingType::Size, TomlValue::Text(text)) => self.size(text, node.span, name),
            (SettingType::Money, TomlValue::Number(amount)) => self.money(*amount, node.span, name),
            (SettingType::Money, TomlValue::Integer(Some(amount))) => self.money(*amount as f64, node.span, name),
            (SettingType::Flag, TomlValue::Flag(flag)) => Some(SettingValue::Flag(*flag)),
            (SettingType::Command, _) => self.command(node, name).map(SettingValue::Command),
            (SettingType::Commands, TomlValue::List(nodes)) => self.commands(nodes, node.span, name),
            (SettingType::Ports, TomlValue::List(nodes)) => self.ports(nodes, name),
            (_, value) => {
                self.mistyped(node.span, name, value, kind.wanted());
                None
            }
        }
    }

    fn text(&mut self, text: &str, span: Span, name: &str) -> Option<String> {
        if text.is_empty() || text.contains('\0') {
            let what = if text.is_empty() {
                "is empty"
            } else {
                "holds a zero byte"
            };
            self.bad(span, format!("`{name}` {what}"), "");
            return None;
        }
        Some(text.to_owned())
    }

    fn choice(&mut self, text: &str, words: &[&str], span: Span, name: &str) -> Option<SettingValue> {
        if words.contains(&text) {
            return Some(SettingValue::Text(text.to_owned()));
        }
        let message = format!("`{name}` cannot be `{}`", visible(text));
        let mut finding =
            Diagnostic::new(&CONFIG_VALUE, span, message).with_help(format!("it is one of {}", words.join(", ")));
        if let Some(word) = self.suggest(text, words.iter().copied()) {
            finding = finding.with_label(format!("did you mean `{word}`?"));
        }
        self.find(finding);
        None
    }

    fn words(&mut self, nodes: &[TomlNode], name: &str) -> Option<Vec<String>> {
        let mut words = Vec::new();
        for node in nodes {
            match &node.value {
                TomlValue::Text(word) if word.contains('\0') => {
                    self.bad(node.span, format!("`{name}` holds a zero byte"), "");
                }
                TomlValue::Text(word) => words.push(word.clone()),
                value => self.mistyped(node.span, name, value, "strings"),
            }
        }
        (words.len() == nodes.len()).then_some(words)
    }

    fn program(&mut self, nodes: &[TomlNode], span: Span, name: &str) -> Option<Vec<String>> {
        let words = self.words(nodes, name)?;
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            self.bad(
                span,
                format!("`{name}` names no program"),
                "the first word is the program",
            );
            return None;
        }
        Some(words)
    }

    fn variables(&mut self, nodes: &[TomlNode], name: &str) -> Option<SettingValue> {
        let words = self.words(nodes, name)?;
        let mut all_good = true;
        for (word, node) in words.iter().zip(nodes) {
            if !is_variable(word.strip_suffix('*').unwrap_or(word)) {
                let message = format!("`{}` is not the name of a variable", visible(word));
                let help = "letters, digits and underscores; `*` at the end stands for any ending";
                self.bad(node.span, message, help);
                all_good = false;
            }
        }
        all_good.then_some(SettingValue::Words(words))
    }

    fn count(&mut self, n: Option<i64>, least: u64, most: u64, span: Span, name: &str) -> Option<SettingValue> {
        let fitting = n
            .and_then(|n| u64::try_from(n).ok())
            .filter(|n| (least..=most).contains(n));
        if fitting.is_none() {
            let help = match most {
                most if most == i64::MAX as u64 => format!("at least {least}"),
                most => format!("from {least} to {most}"),
            };
            self.bad(span, format!("`{name}` is out of range"), &help);
        }
        fitting.map(SettingValue::Count)
    }

    fn duration(&mut self, text: &str, least: u64, span: Span, name: &str) -> Option<SettingValue> {
        let Some(length) = units::duration(text) else {
            let message = format!("`{name}` is not a duration: `{}`", visible(text));
            self.bad(
                span,
                message,
                "a number and a unit (ms, s, m, h, d), as \"90s\", \"15m\" or \"1h30m\"; at most a year",
            );
            return None;
        };
        if length < Duration::from_millis(least) {
            let help = format!("at least {}", units::duration_text(Duration::from_millis(least)));
            self.bad(span, format!("`{name}` is too short"), &help);
            return None;
        }
        Some(SettingValue::Duration(length))
    }

    fn size(&mut self, text: &str, span: Span, name: &str) -> Option<SettingValue> {
        let size = units::size(text).filter(|n_bytes| *n_bytes >= 1_000);
        if size.is_none() {
            let message = format!("`{name}` is not a size: `{}`", visible(text));
            self.bad(
                span,
                message,
                "a number and a unit (KB, MB, GB, KiB, MiB, GiB), as \"10MB\"; at least 1KB",
            );
        }
        size.map(SettingValue::Size)
    }

    fn money(&mut self, amount: f64, span: Span, name: &str) -> Option<SettingValue> {
        if amount.is_finite() && amount > 0.0 {
            return Some(SettingValue::Money(amount));
        }
        self.bad(
            span,
            format!("`{name}` is not an amount of money"),
            "more than 0 US dollars, as 2.5",
        );
        None
    }

    fn command(&mut self, node: &TomlNode, name: &str) -> Option<Command> {
        match &node.value {
            TomlValue::List(nodes) => self.program(nodes, node.span, name).map(Command::Words),
            TomlValue::Text(line) if line.trim_start().starts_with('-') => {
                let message = format!("a command cannot begin with `-`: `{}`", visible(line));
                let help = "a string is a whole command; one command as a list of words is a list of its own";
                self.bad(node.span, message, help);
                None
            }
            TomlValue::Text(line) => self.text(line.trim(), node.span, name).map(Command::Shell),
            value => {
                self.mistyped(node.span, name, value, SettingType::Command.wanted());
                None
            }
        }
    }

    fn ports(&mut self, nodes: &[TomlNode], name: &str) -> Option<SettingValue> {
        let mut ports = Vec::new();
        for node in nodes {
            match &node.value {
                TomlValue::Integer(n) => match n.and_then(|n| u16::try_from(n).ok()).filter(|port| *port > 0) {
                    Some(port) => ports.push(port),
                    None => self.bad(node.span, format!("`{name}` is out of range"), "from 1 to 65535"),
                },
                value => self.mistyped(node.span, name, value, "integers"),
            }
        }
        (ports.len() == nodes.len()).then_some(SettingValue::Ports(ports))
    }

    /// Reads a command of a list: one that runs without a fence is a table.
    fn listed_command(&mut self, node: &TomlNode, name: &str) -> Option<Command> {
        let TomlValue::Table(entries) = &node.value else {
            return self.command(node, name);
        };
        let (mut command, mut is_unfenced) = (None, false);
        for entry in entries {
            match (entry.key.as_str(), &entry.node.value) {
                ("run", _) => command = Some(self.command(&entry.node, "run")?),
                ("fence", TomlValue::Text(word)) if word == "off" => is_unfenced = true,
                ("fence", _) => {
                    self.bad(
                        entry.node.span,
                        "`fence` of a command can only be \"off\"".to_owned(),
                        "",
                    );
                    return None;
                }
                (key, _) => {
                    let message = format!("there is no setting `{}` of a command", visible(key));
                    let known = "known here: run, fence";
                    self.find(Diagnostic::new(&CONFIG_UNKNOWN_KEY, entry.key_span, message).with_help(known));
                    return None;
                }
            }
        }
        let Some(command) = command else {
            self.bad(
                node.span,
                "this command has nothing to run".to_owned(),
                "as in { run = [\"make\", \"test\"], fence = \"off\" }",
            );
            return None;
        };
        Some(if is_unfenced {
            Command::Unfenced(Box::new(command))
        } else {
            command
        })
    }

    fn commands(&mut self, nodes: &[TomlNode], span: Span, name: &str) -> Option<SettingValue> {
        let commands: Vec<Command> = nodes
            .iter()
            .filter_map(|node| self.listed_command(node, name))
            .collect();
        let is_word = |command: &Command| match command {
            Command::Shell(line) => line.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-'),
            Command::Words(_) | Command::Unfenced(_) => false,
        };
        if commands.len() > 1 && commands.len() == nodes.len() && commands.iter().all(is_word) {
            let words: Vec<String> = commands.iter().map(command_text).collect();
            let message = format!("`{name}` is {} commands here, of one word each", commands.len());
            let help = format!(
                "if this is one command, write [[{}]]; if not, write each as a list: {}",
                words.join(", "),
                list(words.iter().map(|word| format!("[{word}]")))
            );
            self.find(Diagnostic::new(&CONFIG_WORDS, span, message).with_help(help));
        }
        (commands.len() == nodes.len()).then_some(SettingValue::Commands(commands))
    }

    fn name(&mut self, entry: &TomlMember, role: &str, prefix: &str) -> bool {
        let name = entry.key.as_str();
        let (is_good, help) = match (role, prefix) {
            ("VARIABLE", _) if name.starts_with("PLANWRIGHT_") => (false, "planwright sets these itself"),
            ("VARIABLE", _) => (is_variable(name), "letters, digits and underscores, no digit first"),
            (_, "agents.") => (
                is_tidy(name),
                "up to 64 letters, digits, `-`, `_` and `.`, no `-` or `.` first",
            ),
            _ => (
                !name.trim().is_empty() && name.len() <= 200,
                "the type of a task, as the plan has it",
            ),
        };
        if !is_good {
            let message = format!("`{}` cannot be a name here", visible(name));
            self.bad(entry.key_span, message, help);
        }
        is_good
    }

    fn unknown(&mut self, entry: &TomlMember, prefix: &str, children: &[&str]) {
        let name = visible(&entry.key).into_owned();
        let table = prefix.trim_end_matches('.').replace("[]", "");
        let message = match table.as_str() {
            "" => format!("there is no setting `{name}`"),
            table => format!("there is no setting `{name}` in `{table}`"),
        };
        let mut finding = Diagnostic::new(&CONFIG_UNKNOWN_KEY, entry.key_span, message);
        let known: Vec<&str> = children.iter().map(|child| child.trim_end_matches("[]")).collect();
        let elsewhere = KEYS.iter().find(|key| key.parts().last() == Some(entry.key.as_str()));
        if let Some(word) = self.suggest(&entry.key, known.iter().copied()) {
            finding = finding.with_label(format!("did you mean `{word}`?"));
        } else if let Some(key) = elsewhere {
            finding = finding.with_help(format!("there is `{}`", key.path));
        } else {
            finding = finding.with_help(format!("known here: {}", known.join(", ")));
        }
        self.find(finding);
    }

    fn suggest<'w>(&mut self, written: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
        self.n_suggestions += 1;
        (self.n_suggestions <= MAX_SUGGESTIONS).then(|| nearest(written, words))?
    }

    fn mistyped(&mut self, span: Span, name: &str, value: &TomlValue, wanted: &str) {
        let message = match value {
            TomlValue::Deep => format!("`{}` is nested too deeply", visible(name)),
            value => format!("`{}` is {}, and has to be {wanted}", visible(name), value.kind()),
        };
        self.find(Diagnostic::new(&CONFIG_TYPE, span, message));
    }

    fn bad(&mut self, span: Span, message: String, help: &str) {
        self.find(Diagnostic::new(&CONFIG_VALUE, span, message).with_help(help));
    }
}

/// Returns the names that may follow a prefix, in the order of the keys.
pub(super) fn children(prefix: &str) -> Vec<&'static str> {
    let behind = KEYS.iter().filter_map(|key| key.path.strip_prefix(prefix));
    let mut names: Vec<&str> = behind.filter_map(|rest| rest.split('.').next()).collect();
    names.dedup();
    names
}

pub(super) fn is_variable(name: &str) -> bool {
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_begun && name.len() <= 200 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_tidy(name: &str) -> bool {
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    is_begun
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
