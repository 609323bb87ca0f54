//! The text of a new `planwright.toml`.

use planwright_run::config::Command;

/// What a new file sets.
pub(super) struct Settings<'s> {
    /// The agent; none where none is installed.
    pub(super) agent: Option<&'s str>,
    /// The commands that verify every task.
    pub(super) every: &'s [Command],
}

const HEAD: &str = "\
# Settings of planwright for this workspace. Commit this file.
# `planwright config` shows what holds and why; docs/configuration.md describes every setting.
";

const NO_AGENT: &str = "
# No agent was found. Install one, and name it here: claude, codex, gemini, opencode, aider, qwen, clido, or one of your own.
#[run]
#agent = \"claude\"
";

const OF_RUNS: &str = "\
#slots = 2                   # tasks at once
#attempts = 2                # per task
#wall_limit = \"1h\"           # per attempt
#budget = { cost = 20.0 }    # dollars per run
";

const NO_VERIFY: &str = "
# No command was found that verifies the work of agents. Without one, a task is done when its agent says so.
#[verify]
#every = [[\"make\", \"test\"]]
";

const REST: &str = r##"
# What runs when a run has ended, or waits for you: a desktop message, ntfy, Slack, or a web hook. Choose one.
#[notify]
#command = "notify-send planwright \"$PLANWRIGHT_STANDING: $PLANWRIGHT_DONE done, $PLANWRIGHT_FAILED failed\""
#command = "curl -s -d \"planwright: $PLANWRIGHT_STANDING, $PLANWRIGHT_FAILED failed\" https://ntfy.sh/YOUR-TOPIC"
#command = "curl -s --json '{\"text\": \"planwright: '$PLANWRIGHT_STANDING'\"}' \"$SLACK_WEBHOOK_URL\""
#command = "curl -s --json '{\"standing\": \"'$PLANWRIGHT_STANDING'\", \"failed\": '$PLANWRIGHT_FAILED'}' https://example.com/hook"
"##;

/// Returns the text of a new file.
pub(super) fn config_text(settings: &Settings<'_>) -> String {
    let mut text = HEAD.to_owned();
    match settings.agent {
        Some(agent) => text.push_str(&format!("\n[run]\nagent = {}\n", quoted(agent))),
        None => text.push_str(NO_AGENT),
    }
    text.push_str(OF_RUNS);
    match settings.every {
        [] => text.push_str(NO_VERIFY),
        every => text.push_str(&verify_table(every)),
    }
    text.push_str(REST);
    text
}

/// Returns the table with the commands that verify every task.
pub(super) fn verify_table(every: &[Command]) -> String {
    let commands: Vec<String> = every.iter().map(written).collect();
    format!(
        "\n# A task is done when these commands succeed on its work.\n[verify]\nevery = [{}]\n",
        commands.join(", ")
    )
}

/// Returns a command as the file has it.
fn written(command: &Command) -> String {
    match command.plain() {
        Command::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("[{}]", words.join(", "))
        }
        Command::Shell(line) => quoted(line),
        Command::Unfenced(_) => String::new(),
    }
}

/// Returns a text as a TOML string. JSON's escapes are a part of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
