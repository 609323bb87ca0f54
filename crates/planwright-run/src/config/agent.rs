//! One configured agent: its command line, how it takes a prompt, how it answers. Starts nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::SettingOrigin;
use crate::programs::program;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Stdin,
    /// In a file, whose path replaces `{prompt_file}`.
    File,
    /// As an argument: in place of `{prompt}`, otherwise last.
    Argument,
}

pub(crate) const CHANNELS: &[&str] = &["stdin", "file", "argument"];

impl Channel {
    const ALL: [Channel; 3] = [Channel::Stdin, Channel::File, Channel::Argument];

    pub fn as_str(self) -> &'static str {
        match self {
            Channel::Stdin => "stdin",
            Channel::File => "file",
            Channel::Argument => "argument",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        Channel::ALL.into_iter().find(|channel| channel.as_str() == word)
    }
}

/// The output format of an agent, which decides how its verdict is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// What `claude --output-format stream-json` prints.
    ClaudeStreamJson,
    /// What `codex exec --json` prints.
    CodexJson,
    /// What `gemini -o stream-json` prints.
    GeminiStreamJson,
    /// What `opencode run --format json` prints.
    OpencodeJson,
    /// What `qwen -o stream-json` prints.
    QwenStreamJson,
    /// What `aider` prints.
    Aider,
    Plain,
}

pub(crate) const FORMATS: &[&str] = &[
    "claude-stream-json",
    "codex-json",
    "gemini-stream-json",
    "opencode-json",
    "qwen-stream-json",
    "aider",
    "plain",
];

impl OutputFormat {
    const ALL: [OutputFormat; 7] = [
        OutputFormat::ClaudeStreamJson,
        OutputFormat::CodexJson,
        OutputFormat::GeminiStreamJson,
        OutputFormat::OpencodeJson,
        OutputFormat::QwenStreamJson,
        OutputFormat::Aider,
        OutputFormat::Plain,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            OutputFormat::ClaudeStreamJson => "claude-stream-json",
            OutputFormat::CodexJson => "codex-json",
            OutputFormat::GeminiStreamJson => "gemini-stream-json",
            OutputFormat::OpencodeJson => "opencode-json",
            OutputFormat::QwenStreamJson => "qwen-stream-json",
            OutputFormat::Aider => "aider",
            OutputFormat::Plain => "plain",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        OutputFormat::ALL.into_iter().find(|format| format.as_str() == word)
    }
}

#[derive(Clone, Debug)]
pub struct Agent {
    pub name: String,
    /// The preset that gives its defaults.
    pub preset: Option<&'static str>,
    /// Where it is configured; [`SettingOrigin::Preset`] if only the preset sets it.
    pub origin: SettingOrigin,
    /// The arguments of its command, the program first, with placeholders; never empty.
    pub command: Vec<String>,
    /// The arguments that resume a session; `{session}` stands for the agent's own id of it. Empty if it cannot resume.
    pub resume: Vec<String>,
    /// The agent that takes over its tasks while it cannot work.
    pub fallback: Option<String>,
    pub prompt: Channel,
    pub output: OutputFormat,
    /// Environment variables that it inherits in addition to the usual ones; `*` matches any ending.
    pub env: Vec<String>,
    pub set: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug)]
pub struct CommandValues<'a> {
    pub prompt: &'a str,
    pub prompt_file: &'a Path,
    /// The file in which the agent may report an outcome.
    pub result_file: &'a Path,
    pub task: &'a str,
    pub folder: &'a Path,
}

impl Agent {
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// Returns the path of its program: on `PATH`, or relative to a root if its name is a path.
    pub fn find_program(&self, root: &Path) -> Option<PathBuf> {
        let name = self.program();
        if !name.contains('/') {
            return program(name);
        }
        let path = root.join(name);
        path.is_file().then_some(path)
    }

    /// Returns its name in the tables of agents: its preset, or its program.
    pub fn known_as(&self) -> &str {
        let program = self.program();
        self.preset
            .unwrap_or_else(|| program.rsplit('/').next().unwrap_or(program))
    }

    /// Returns the arguments of its command for one attempt, the program first.
    pub fn arguments(&self, fillings: &CommandValues<'_>) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.command.iter().map(|word| filled(word, fillings)).collect();
        let has_placeholder =
            |word: &String| placeholders(word).any(|found| found.name == "prompt" && !found.is_escaped);
        if self.prompt == Channel::Argument && !self.command.iter().any(has_placeholder) {
            words.push(filled("{prompt}", fillings));
        }
        words
    }

    pub(crate) fn resuming(&self, session: &str) -> Vec<OsString> {
        let words = self.resume.iter().map(|word| word.replace("{session}", session));
        // A session id from an agent must not be read as an option.
        let is_name = !session.is_empty() && !session.starts_with('-') && !session.contains('\0');
        words.filter(|_| is_name).map(OsString::from).collect()
    }

    /// Returns whether an argument begins with the name of the task, and the name looks like an option.
    pub(crate) fn takes_for_option(&self, task: &str) -> bool {
        let begins = |word: &String| {
            let first = placeholders(word).next();
            first.is_some_and(|found| found.name == "task" && !found.is_escaped && found.at.0 == 0)
        };
        task.starts_with('-') && self.command.iter().any(begins)
    }
}

pub const PLACEHOLDERS: &[&str] = &["prompt_file", "result_file", "task", "folder", "prompt"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandPlaceholder<'w> {
    pub(super) name: &'w str,
    /// Its start and end, with the braces.
    pub(super) at: (usize, usize),
    /// Whether the braces are doubled, which stands for the braces themselves.
    pub(super) is_escaped: bool,
}

/// Finds placeholders: lowercase letters and underscores in braces. Other braces, as in JSON, are plain text.
pub(super) fn placeholders(word: &str) -> impl Iterator<Item = CommandPlaceholder<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let open = from + word.get(from..)?.find('{')?;
            let is_escaped = word[open..].starts_with("{{");
            let start = open + if is_escaped { 2 } else { 1 };
            let rest = &word[start..];
            let end = rest
                .find(|c: char| !c.is_ascii_lowercase() && c != '_')
                .unwrap_or(rest.len());
            let closing = if is_escaped { "}}" } else { "}" };
            if end > 0 && rest[end..].starts_with(closing) {
                from = start + end + closing.len();
                return Some(CommandPlaceholder {
                    name: &rest[..end],
                    at: (open, from),
                    is_escaped,
                });
            }
            from = open + 1;
        }
    })
}

fn filled(word: &str, fillings: &CommandValues<'_>) -> OsString {
    let mut out = OsString::new();
    let mut done = 0;
    for found in placeholders(word) {
        let (start, end) = found.at;
        out.push(&word[done..start]);
        let filling: &OsStr = match found.name {
            _ if found.is_escaped => OsStr::new(&word[start + 1..end - 1]),
            "prompt" => {
                // A prompt that begins with a dash is not read as an option after a line break.
                if out.is_empty() && fillings.prompt.starts_with('-') {
                    out.push("\n");
                }
                OsStr::new(fillings.prompt)
            }
            "prompt_file" => fillings.prompt_file.as_os_str(),
            "result_file" => fillings.result_file.as_os_str(),
            "task" => OsStr::new(fillings.task),
            "folder" => fillings.folder.as_os_str(),
            _ => OsStr::new(&word[start..end]),
        };
        out.push(filling);
        done = end;
    }
    out.push(&word[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_not_read_as_options() {
        let fillings = CommandValues {
            prompt: "--version",
            prompt_file: Path::new("/p"),
            result_file: Path::new("/r"),
            task: "t-1",
            folder: Path::new("/f"),
        };
        assert_eq!(filled("{prompt}", &fillings), "\n--version");
        assert_eq!(filled("--say={prompt}", &fillings), "--say=--version");
    }

    #[track_caller]
    fn check(word: &str, expected: &str) {
        let fillings = CommandValues {
            prompt: "do {task}",
            prompt_file: Path::new("/p"),
            result_file: Path::new("/r"),
            task: "t-1",
            folder: Path::new("/f"),
        };
        assert_eq!(filled(word, &fillings), expected);
    }

    #[test]
    fn placeholders_are_filled_once() {
        check("plain", "plain");
        check("{task}", "t-1");
        check("--x={task}:{folder}é{result_file}", "--x=t-1:/fé/r");
        check("{prompt}", "do {task}");
        check("{{task}} {{prompt_file}}", "{task} {prompt_file}");
        check("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}");
        check("{", "{");
        check("{}{{}}", "{}{{}}");
        check("{{task}", "{t-1");
        check("{unknown}", "{unknown}");
        check("{{{task}}}", "{{task}}");
    }

    #[test]
    fn names_of_channels_and_formats_match_their_tables() {
        assert_eq!(Channel::ALL.map(Channel::as_str), CHANNELS);
        assert_eq!(OutputFormat::ALL.map(OutputFormat::as_str), FORMATS);
    }
}
