//! The known agents as data: command lines, prompts, output formats. The configuration can override everything here.

use std::ffi::OsString;

use super::agent::{Agent, Channel, OutputFormat};

/// How a known agent command line is driven.
#[derive(Debug)]
pub struct Preset {
    /// Its name, also that of the program.
    pub name: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// The command: the program, and the options that let it edit files and run commands without asking.
    pub command: &'static [&'static str],
    /// Words that must come last, after those that the user adds.
    pub last: &'static [&'static str],
    /// How it takes the prompt.
    pub prompt: Channel,
    /// What its output is.
    pub output: OutputFormat,
    /// Variables that it needs from the environment: keys, addresses, folders. `*` stands for any ending.
    pub env: &'static [&'static str],
    /// Variables that are set for it.
    pub set: &'static [(&'static str, &'static str)],
    /// Words that have it continue a conversation; `{session}` stands for its own name of it. Empty where it cannot.
    pub resume: &'static [&'static str],
    /// How to tell it how often it may try a request again, where there is a way.
    pub retries: Option<RetryKnob>,
    /// Its own sandbox, which cannot be started behind a fence.
    pub sandbox: Option<SandboxOption>,
}

/// An option for an agent's own sandbox.
#[derive(Clone, Copy, Debug)]
pub struct SandboxOption {
    /// The names of the option.
    pub names: &'static [&'static str],
    /// The values that switch the sandbox on.
    pub on: &'static [&'static str],
    /// The value that switches it off.
    pub off: &'static str,
}

/// A variable for the number of retries.
#[derive(Clone, Copy, Debug)]
pub struct RetryKnob {
    /// Its name.
    pub variable: &'static str,
    /// What it is set to unless told otherwise: few, because a run has its own attempts, which it can account for.
    pub usual: u64,
}

/// The names of the presets, in the order of the list.
pub const PRESET_NAMES: &[&str] = &["claude", "codex", "gemini", "opencode", "aider", "qwen", "clido"];

/// The presets.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "claude",
        install: "npm install -g @anthropic-ai/claude-code",
        // The list of tools would swallow a word after it, so it does not come last.
        command: &[
            "claude",
            "-p",
            "--permission-mode",
            "acceptEdits",
            "--allowedTools",
            "Bash",
            "--output-format",
            "stream-json",
            "--verbose",
        ],
        last: &[],
        prompt: Channel::Stdin,
        output: OutputFormat::ClaudeStreamJson,
        env: &["ANTHROPIC_*", "CLAUDE_*"],
        set: &[
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
        resume: &["--resume", "{session}"],
        retries: Some(RetryKnob {
            variable: "CLAUDE_CODE_MAX_RETRIES",
            usual: 3,
        }),
        sandbox: None,
    },
    Preset {
        name: "codex",
        install: "npm install -g @openai/codex",
        command: &[
            "codex",
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--ephemeral",
            "-s",
            "workspace-write",
        ],
        last: &["-"],
        prompt: Channel::Stdin,
        output: OutputFormat::CodexJson,
        env: &["CODEX_*", "OPENAI_*"],
        set: &[],
        // It keeps no conversations: `--ephemeral`.
        resume: &[],
        // Its knobs belong to a model provider, whose name only the user knows.
        retries: None,
        sandbox: Some(SandboxOption {
            names: &["-s", "--sandbox"],
            on: &["workspace-write"],
            off: "danger-full-access",
        }),
    },
    Preset {
        name: "gemini",
        install: "npm install -g @google/gemini-cli",
        command: &["gemini", "--approval-mode", "yolo", "-o", "stream-json"],
        last: &[],
        prompt: Channel::Stdin,
        output: OutputFormat::GeminiStreamJson,
        env: &["GEMINI_*", "GOOGLE_*"],
        set: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        resume: &["--resume", "{session}"],
        retries: None,
        sandbox: None,
    },
    Preset {
        name: "opencode",
        install: "npm install -g opencode-ai",
        command: &["opencode", "run", "--format", "json", "--auto"],
        last: &[],
        prompt: Channel::Stdin,
        output: OutputFormat::OpencodeJson,
        env: &["OPENCODE_*"],
        set: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        resume: &["--session", "{session}"],
        retries: None,
        sandbox: None,
    },
    Preset {
        name: "aider",
        install: "pip install aider-chat",
        command: &[
            "aider",
            "--yes-always",
            "--no-check-update",
            "--no-show-model-warnings",
            "--no-analytics",
            "--no-pretty",
            "--no-stream",
            "--no-gitignore",
            "--message-file",
            "{prompt_file}",
        ],
        last: &[],
        prompt: Channel::File,
        output: OutputFormat::Aider,
        env: &["OPENAI_*"],
        set: &[],
        resume: &[],
        retries: None,
        sandbox: None,
    },
    Preset {
        name: "qwen",
        install: "npm install -g @qwen-code/qwen-code",
        command: &["qwen", "--approval-mode", "yolo", "-o", "stream-json"],
        last: &[],
        prompt: Channel::Stdin,
        output: OutputFormat::QwenStreamJson,
        env: &["OPENAI_*"],
        set: &[],
        resume: &[],
        retries: None,
        sandbox: None,
    },
    Preset {
        name: "clido",
        install: "cargo install clido",
        command: &["clido", "--print", "--permission-mode", "accept-all"],
        last: &[],
        prompt: Channel::Stdin,
        output: OutputFormat::Plain,
        env: &["CLIDO_*", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"],
        set: &[],
        resume: &[],
        retries: None,
        sandbox: None,
    },
];

/// Returns a preset by name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Agent {
    /// Returns its words with its own sandbox switched off, which cannot be started behind a fence.
    pub fn without_sandbox(&self, words: Vec<OsString>) -> Vec<OsString> {
        let Some(option) = preset(self.known_as()).and_then(|preset| preset.sandbox) else {
            return words;
        };
        let mut words = words;
        for ix in 1..words.len() {
            let is_named = option.names.iter().any(|name| words[ix - 1] == *name);
            if is_named && option.on.iter().any(|value| words[ix] == *value) {
                words[ix] = option.off.into();
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_names_matches_the_presets() {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names, PRESET_NAMES);
    }
}
