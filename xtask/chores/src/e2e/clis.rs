//! The tested agents, as data: their packages, how they are configured for a model on loopback, the names of their tools,
//! and how they fail.

use std::path::Path;

use planwright_testkit::model_server::ModelAnswer;
use serde_json::{Value, json};

/// The command line of an agent.
pub(super) struct AgentCli {
    /// The name of the program, and of planwright's preset.
    pub(super) name: &'static str,
    /// The npm package.
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    /// Further packages to install with it.
    pub(super) extra_packages: &'static [&'static str],
    /// The time limit of an attempt.
    pub(super) wall_limit: &'static str,
    /// Arguments added to the preset's command.
    pub(super) args: &'static [&'static str],
    /// Settings that replace the preset's and give no permission to change files.
    pub(super) denied: &'static str,
    /// Environment variables, from the address of the model and the agent's home folder.
    pub(super) environment: fn(&str, &Path) -> Vec<(&'static str, String)>,
    /// Files in the agent's home folder, from the address of the model.
    pub(super) files: fn(&str) -> Vec<(&'static str, String)>,
    /// The tool calls that create a file, from the working folder, the file's path in it, and its text.
    pub(super) write: fn(&str, &str, &str) -> Vec<ModelAnswer>,
    /// The tool calls that overwrite an existing file.
    pub(super) rewrite: fn(&str, &str, &str) -> Vec<ModelAnswer>,
    /// The tool call that runs a command.
    pub(super) shell: fn(&str) -> ModelAnswer,
    /// The provider's answer for a rate limit, in the form that costs the least time.
    pub(super) limited: fn() -> ModelAnswer,
    /// What planwright reports if the provider rejects the key.
    pub(super) unauthorized: &'static str,
    /// What planwright reports if the agent may change nothing.
    pub(super) denial: &'static str,
    /// Steps that cannot pass, each with the reason.
    pub(super) cannot: &'static [(&'static str, &'static str)],
}

/// An invalid key.
const KEY: &str = "no-key";

pub(super) static AGENT_CLIS: &[AgentCli] = &[
    AgentCli {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        extra_packages: &[],
        wall_limit: "5m",
        args: &["--model", "claude-sonnet-4-5"],
        denied: r#"command = ["claude", "-p", "--output-format", "stream-json", "--verbose"]"#,
        environment: |url, home| {
            vec![
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", KEY.to_owned()),
                ("CLAUDE_CONFIG_DIR", path(home, "claude")),
            ]
        },
        files: |_| Vec::new(),
        write: |folder, file, text| {
            vec![ModelAnswer::tool(
                "Write",
                json!({"file_path": at(folder, file), "content": text}),
            )]
        },
        // It refuses to overwrite a file that it has not read.
        rewrite: |folder, file, text| {
            vec![
                ModelAnswer::tool("Read", json!({"file_path": at(folder, file)})),
                ModelAnswer::tool("Write", json!({"file_path": at(folder, file), "content": text})),
            ]
        },
        shell: |command| ModelAnswer::tool("Bash", json!({"command": command, "description": "make it"})),
        limited: || ModelAnswer::rate_limited(2),
        unauthorized: "401",
        denial: "tools were denied to it",
        cannot: &[],
    },
    AgentCli {
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        extra_packages: &[],
        wall_limit: "5m",
        args: &["-m", "gpt-5.5"],
        denied: r#"command = ["codex", "exec", "--json", "--skip-git-repo-check", "-s", "read-only"]"#,
        environment: |_, home| vec![("CODEX_HOME", path(home, "codex")), ("OPENAI_API_KEY", KEY.to_owned())],
        files: |url| {
            let provider = format!(
                "model_provider = \"loopback\"\n\n[model_providers.loopback]\nname = \"loopback\"\nbase_url = \
                 \"{url}/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n\n[analytics]\nenabled = \
                 false\n\n[features]\nplugins = false\n"
            );
            vec![("codex/config.toml", provider)]
        },
        write: |_, file, text| vec![patch(&format!("*** Add File: {file}\n{}", added(text)))],
        rewrite: |_, file, text| {
            vec![
                patch(&format!("*** Delete File: {file}\n")),
                patch(&format!("*** Add File: {file}\n{}", added(text))),
            ]
        },
        // It polls a long command only after a while: the limit of the run must not end first.
        shell: |command| ModelAnswer::tool("exec_command", json!({"cmd": command, "yield_time_ms": 30_000})),
        limited: || ModelAnswer::rate_limited(2),
        unauthorized: "401",
        denial: "tools were denied to it",
        cannot: &[],
    },
    AgentCli {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        extra_packages: &[],
        wall_limit: "5m",
        args: &["-m", "gemini-2.5-flash"],
        // Without permission, it does not even offer its tools to the model.
        denied: r#"command = ["gemini", "-o", "stream-json"]"#,
        environment: |url, home| {
            vec![
                ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
                ("GEMINI_API_KEY", KEY.to_owned()),
                ("GEMINI_CLI_HOME", path(home, "gemini")),
            ]
        },
        // With the address alone, it uses another login method and fails.
        files: |_| {
            let settings = json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"disableAutoUpdate": true}
            });
            vec![("gemini/.gemini/settings.json", settings.to_string())]
        },
        write: |folder, file, text| {
            vec![ModelAnswer::tool(
                "write_file",
                json!({"file_path": at(folder, file), "content": text}),
            )]
        },
        rewrite: |folder, file, text| {
            vec![ModelAnswer::tool(
                "write_file",
                json!({"file_path": at(folder, file), "content": text}),
            )]
        },
        shell: |command| ModelAnswer::tool("run_shell_command", json!({"command": command})),
        limited: daily_quota,
        unauthorized: "401",
        denial: "verification failed",
        cannot: &[],
    },
    AgentCli {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        extra_packages: &[],
        wall_limit: "5m",
        args: &["-m", "loopback/some-model"],
        denied: r#"command = ["opencode", "run", "--format", "json"]
set.OPENCODE_PERMISSION = '{"edit": "ask", "bash": "ask"}'"#,
        environment: |_, home| {
            vec![
                ("OPENCODE_CONFIG", path(home, "opencode.json")),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ]
        },
        files: |url| {
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible",
                "name": "loopback",
                "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY},
                "models": {"some-model": {"name": "some-model"}}
            });
            let settings = json!({"autoupdate": false, "share": "disabled", "provider": {"loopback": provider}});
            vec![("opencode.json", settings.to_string())]
        },
        write: |folder, file, text| {
            vec![ModelAnswer::tool(
                "write",
                json!({"filePath": at(folder, file), "content": text}),
            )]
        },
        rewrite: |folder, file, text| {
            vec![ModelAnswer::tool(
                "write",
                json!({"filePath": at(folder, file), "content": text}),
            )]
        },
        shell: |command| ModelAnswer::tool("bash", json!({"command": command, "description": "make it"})),
        limited: || ModelAnswer::rate_limited(2),
        unauthorized: "invalid api key",
        denial: "tools were denied to it",
        cannot: &[],
    },
    AgentCli {
        name: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        // Many systems have an older version.
        extra_packages: &["node@22"],
        // After a rate limit, it waits longer than a user would.
        wall_limit: "75s",
        args: &["--auth-type", "openai"],
        denied: r#"command = ["qwen", "-o", "stream-json"]"#,
        environment: |url, _| {
            vec![
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_API_KEY", KEY.to_owned()),
                ("OPENAI_MODEL", "some-model".to_owned()),
            ]
        },
        files: |_| {
            let settings = json!({
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"disableAutoUpdate": true, "enableAutoUpdate": false}
            });
            vec![(".qwen/settings.json", settings.to_string())]
        },
        write: |folder, file, text| {
            vec![ModelAnswer::tool(
                "write_file",
                json!({"file_path": at(folder, file), "content": text}),
            )]
        },
        // It refuses to overwrite a file that it has not read.
        rewrite: |folder, file, text| {
            vec![
                ModelAnswer::tool("read_file", json!({"file_path": at(folder, file)})),
                ModelAnswer::tool("write_file", json!({"file_path": at(folder, file), "content": text})),
            ]
        },
        shell: |command| ModelAnswer::tool("run_shell_command", json!({"command": command, "is_background": false})),
        limited: || ModelAnswer::rate_limited(2),
        unauthorized: "401",
        denial: "tools were denied to it",
        cannot: &[(
            "overload",
            "it retries for minutes without output, which looks like work",
        )],
    },
];

/// Returns the absolute path of a file in a folder: some agents refuse relative paths.
fn at(folder: &str, file: &str) -> String {
    format!("{folder}/{file}")
}

fn path(home: &Path, name: &str) -> String {
    home.join(name).to_string_lossy().into_owned()
}

/// Returns a call of codex's patch tool, which takes its text unchanged.
fn patch(text: &str) -> ModelAnswer {
    let text = format!("*** Begin Patch\n{text}*** End Patch\n");
    ModelAnswer::tool("apply_patch", Value::String(text))
}

fn added(text: &str) -> String {
    text.lines().map(|line| format!("+{line}\n")).collect()
}

/// Returns a provider's error for an exhausted daily quota: gemini retries all other errors for minutes.
fn daily_quota() -> ModelAnswer {
    let violation = json!({
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]
    });
    let error = json!({
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota",
        "details": [violation]
    });
    ModelAnswer::Error {
        status: 429,
        headers: Vec::new(),
        body: json!({"error": error}).to_string(),
    }
}
