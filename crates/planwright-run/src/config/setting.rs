//! The types of settings, and a setting as a text has it.

use std::fmt;
use std::time::Duration;

use planwright_core::text::Span;

use super::keys::ConfigKey;
use super::units;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments, without a shell.
    Words(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
    /// A command that runs without a fence.
    Unfenced(Box<Command>),
}

impl Command {
    /// Returns the command itself, fenced or not.
    pub fn plain(&self) -> &Command {
        let mut command = self;
        while let Command::Unfenced(inner) = command {
            command = inner;
        }
        command
    }

    pub(crate) fn is_unfenced(&self) -> bool {
        matches!(self, Command::Unfenced(_))
    }

    /// Returns its arguments, the program first.
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Command::Words(words) => words.clone(),
            Command::Shell(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Command::Unfenced(command) => command.arguments(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum SettingValue {
    Text(String),
    Words(Vec<String>),
    Count(u64),
    Duration(Duration),
    Size(u64),
    Money(f64),
    Flag(bool),
    Command(Command),
    Commands(Vec<Command>),
    Ports(Vec<u16>),
}

/// Gives a setting's value back as the type that it holds; none where it holds another one.
macro_rules! held {
    ($($type:ty: $($variant:ident)|+;)*) => {
        $(impl<'v> TryFrom<&'v SettingValue> for &'v $type {
            type Error = ();

            fn try_from(value: &'v SettingValue) -> Result<Self, ()> {
                match value {
                    $(SettingValue::$variant(held))|+ => Ok(held),
                    _ => Err(()),
                }
            }
        })*
    };
}

held! {
    String: Text;
    Vec<String>: Words;
    u64: Count | Size;
    Duration: Duration;
    f64: Money;
    bool: Flag;
    Command: Command;
    Vec<Command>: Commands;
    Vec<u16>: Ports;
}

impl SettingValue {
    /// Returns a word or a flag as it is written.
    pub(super) fn word(&self) -> Option<String> {
        match self {
            SettingValue::Text(text) => Some(text.clone()),
            SettingValue::Flag(flag) => Some(flag.to_string()),
            _ => None,
        }
    }
}

/// As it would be written in TOML.
impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingValue::Text(text) => f.write_str(&quoted(text)),
            SettingValue::Words(words) => f.write_str(&list(words.iter().map(|word| quoted(word)))),
            SettingValue::Count(n) => n.fmt(f),
            SettingValue::Duration(length) => f.write_str(&quoted(&units::duration_text(*length))),
            SettingValue::Size(n_bytes) => f.write_str(&quoted(&units::size_text(*n_bytes))),
            SettingValue::Money(amount) => write!(f, "{amount:?}"),
            SettingValue::Flag(flag) => flag.fmt(f),
            SettingValue::Command(command) => f.write_str(&command_text(command)),
            SettingValue::Commands(commands) => f.write_str(&list(commands.iter().map(command_text))),
            SettingValue::Ports(ports) => f.write_str(&list(ports.iter().map(u16::to_string))),
        }
    }
}

pub(super) fn command_text(command: &Command) -> String {
    match command {
        Command::Words(words) => list(words.iter().map(|word| quoted(word))),
        Command::Shell(line) => quoted(line),
        Command::Unfenced(command) => format!("{{ run = {}, fence = \"off\" }}", command_text(command)),
    }
}

pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Returns a text as a TOML string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[derive(Clone, Debug)]
pub(super) struct WrittenSetting {
    pub(super) key: &'static ConfigKey,
    /// Its path, with the user's names in place of `NAME`, and numbers in place of `[]`.
    pub(super) parts: Vec<String>,
    pub(super) value: SettingValue,
    pub(super) span: Span,
}

/// A table in a file, with or without settings.
pub(super) struct TableSeen {
    pub(super) parts: Vec<String>,
    pub(super) span: Span,
    pub(super) is_sound: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLevel {
    User,
    Project,
}
