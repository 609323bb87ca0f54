//! The known agents as data: command lines, prompts, output formats. The configuration can override everything here.
//! A new one also needs its folders in `fence/tables.rs`, and a reader in `planwright-core/src/agent` if its output is new.

use std::ffi::OsString;

use super::agent::{Agent, Channel, OutputFormat};

#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    pub install: &'static str,
    /// The command: the program, and the options that let it edit files and run commands without asking.
    pub command: &'static [&'static str],
    /// Arguments that must come last, after those that the user adds.
    pub last: &'static [&'static str],
    pub prompt: Channel,
    pub output: OutputFormat,
    /// Environment variables that it needs: keys, addresses, folders. `*` matches any ending.
    pub env: &'static [&'static str],
    pub set: &'static [(&'static str, &'static str)],
    /// The arguments that resume a session; `{session}` stands for the agent's own id of it. Empty if it cannot resume.
    pub resume: &'static [&'static str],
    /// The option that limits its own retries, if it has one.
    pub retries: Option<RetryKnob>,
    /// Its own sandbox, which cannot start inside a fence.
    pub sandbox: Option<SandboxOption>,
}

#[derive(Clone, Copy, Debug)]
pub struct SandboxOption {
    pub names: &'static [&'static str],
    pub on: &'static [&'static str],
    pub off: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct RetryKnob {
    pub variable: &'static str,
    /// The default value: few, because a run makes its own attempts and counts them.
    pub usual: u64,
}

/// The names of the presets, in the order of the list.
pub const PRESET_NAMES: &[&str] = &["claude", "codex", "gemini", "opencode", "aider", "qwen", "clido"];

const BARE: Preset = Preset {
    name: "",
    install: "",
    command: &[],
    last: &[],
    prompt: Channel::Stdin,
    output: OutputFormat::Plain,
    env: &[],
    set: &[],
    resume: &[],
    retries: None,
    sandbox: None,
};

pub static PRESETS: &[Preset] = &[
    Preset {
        name: "claude",
        install: "npm install -g @anthropic-ai/claude-code",
        // The list of tools would consume an argument after it, so it does not come last.
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
        ..BARE
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
        output: OutputFormat::CodexJson,
        env: &["CODEX_*", "OPENAI_*"],
        // It keeps no sessions: `--ephemeral`. Its retry options belong to a model provider, whose name only the user knows.
        sandbox: Some(SandboxOption {
            names: &["-s", "--sandbox"],
            on: &["workspace-write"],
            off: "danger-full-access",
        }),
        ..BARE
    },
    Preset {
        name: "gemini",
        install: "npm install -g @google/gemini-cli",
        command: &["gemini", "--approval-mode", "yolo", "-o", "stream-json"],
        output: OutputFormat::GeminiStreamJson,
        env: &["GEMINI_*", "GOOGLE_*"],
        set: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        resume: &["--resume", "{session}"],
        ..BARE
    },
    Preset {
        name: "opencode",
        install: "npm install -g opencode-ai",
        command: &["opencode", "run", "--format", "json", "--auto"],
        output: OutputFormat::OpencodeJson,
        env: &["OPENCODE_*"],
        set: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        resume: &["--session", "{session}"],
        ..BARE
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
        prompt: Channel::File,
        output: OutputFormat::Aider,
        env: &["OPENAI_*"],
        ..BARE
    },
    Preset {
        name: "qwen",
        install: "npm install -g @qwen-code/qwen-code",
        command: &["qwen", "--approval-mode", "yolo", "-o", "stream-json"],
        output: OutputFormat::QwenStreamJson,
        env: &["OPENAI_*"],
        ..BARE
    },
    Preset {
        name: "clido",
        install: "cargo install clido",
        command: &["clido", "--print", "--permission-mode", "accept-all"],
        env: &["CLIDO_*", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"],
        ..BARE
    },
];

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Agent {
    /// Returns its arguments with its own sandbox off, because that cannot start inside a fence.
    pub(crate) fn without_sandbox(&self, words: Vec<OsString>) -> Vec<OsString> {
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
