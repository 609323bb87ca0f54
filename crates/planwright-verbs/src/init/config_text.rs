//! Writes the text of a new `planwright.toml`.

use planwright_core::dialect::DEFAULT;
use planwright_run::config::presets::PRESET_NAMES;
use planwright_run::config::{Command, quoted};

/// The settings of a new file.
pub(super) struct Settings<'s> {
    /// The agent; none if none is installed.
    pub(super) agent: Option<&'s str>,
    /// The commands that verify every task.
    pub(super) every: &'s [Command],
}

const HEAD: &str = "\
# Settings of planwright for this workspace. Commit this file.
# `planwright config` shows the effective settings and why; docs/configuration.md describes every setting.
# Settings behind a # show their defaults, or an example where the comment says so.
";

const NO_AGENT: &str = "
# No agent was found. Install one, and name it here: {PRESETS}, or one of your own.
#[run]
#agent = \"claude\"           # an example
";

const OF_RUNS: &str = "\
#slots = 4                   # tasks at once; a plan of another dialect than {DEFAULT} may have another default
#attempts = 2                # per task
#wall_limit = \"1h\"           # per attempt
#budget = { cost = 20.0 }    # dollars per run; an example: there is no limit
";

const NO_VERIFY: &str = "
# No command was found that verifies the work of agents. Without one, a task is done when its agent says so.
#[verify]
#every = [[\"make\", \"test\"]] # an example
";

const PROTECT: &str = "\
#protect = [\"tests/**\"]      # files that a task may not change without your review; an example
";

const REST: &str = r##"
# What runs when a run has ended, or waits for you: a desktop message, ntfy, Slack, or a web hook. Examples: choose one.
#[notify]
#command = "notify-send planwright \"$PLANWRIGHT_STANDING: $PLANWRIGHT_DONE done, $PLANWRIGHT_FAILED failed\""
#command = "curl -s -d \"planwright: $PLANWRIGHT_STANDING, $PLANWRIGHT_FAILED failed\" https://ntfy.sh/YOUR-TOPIC"
#command = "curl -s --json '{\"text\": \"planwright: '$PLANWRIGHT_STANDING'\"}' \"$SLACK_WEBHOOK_URL\""
#command = "curl -s --json '{\"standing\": \"'$PLANWRIGHT_STANDING'\", \"failed\": '$PLANWRIGHT_FAILED'}' https://example.com/hook"
"##;

pub(super) fn config_text(settings: &Settings<'_>) -> String {
    let mut text = HEAD.to_owned();
    match settings.agent {
        Some(agent) => text.push_str(&format!("\n[run]\nagent = {}\n", quoted(agent))),
        None => text.push_str(&NO_AGENT.replace("{PRESETS}", &PRESET_NAMES.join(", "))),
    }
    text.push_str(&OF_RUNS.replace("{DEFAULT}", DEFAULT.name()));
    match settings.every {
        [] => text.push_str(NO_VERIFY),
        every => text.push_str(&format!("{}{PROTECT}", verify_table(every))),
    }
    text.push_str(REST);
    text
}

fn verify_table(every: &[Command]) -> String {
    format!("\n{VERIFY_REMARK}[verify]\n{}", every_setting(every))
}

/// The comment above the table.
pub(super) const VERIFY_REMARK: &str = "# A task is done when these commands succeed on its work.\n";

/// Returns the setting for commands that verify every task.
pub(super) fn every_setting(every: &[Command]) -> String {
    let commands: Vec<String> = every.iter().map(written).collect();
    format!("every = [{}]\n", commands.join(", "))
}

/// Returns a command as TOML.
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

#[cfg(test)]
mod tests {
    use planwright_core::convert::new_plan;
    use planwright_core::dialect::id_source::IdSource;
    use planwright_core::plan::Slots;
    use planwright_core::text::SourceText;
    use planwright_run::config::keys::KEYS;
    use planwright_run::engine::USUAL_ATTEMPTS;
    use planwright_run::inspect_file::inspect_file;

    use super::*;

    /// Returns the default number of parallel tasks in a new plan.
    fn default_slots() -> u32 {
        let mut fresh = || 1;
        let mut id_source = IdSource::new("2026-01-01T00:00:00Z", &mut fresh);
        let (text, _) = new_plan(DEFAULT, "A plan", &mut id_source).expect("a plan");
        let inspection = inspect_file(&SourceText::new(text), None, Some(DEFAULT)).inspection;
        match inspection.plan.expect("a plan").plan.slots {
            Slots::Fixed(slots) | Slots::StageWidth(slots) => slots,
        }
    }

    #[test]
    fn commented_settings_are_the_defaults_or_examples() {
        let text = config_text(&Settings {
            agent: None,
            every: &[],
        });
        let mut table = "";
        let mut is_example = false;
        let mut n_defaults = 0;
        for line in text.lines() {
            if line.starts_with("# ") {
                is_example = line.contains("Examples:");
                continue;
            }
            let Some(setting) = line.strip_prefix('#') else {
                continue;
            };
            if let Some(name) = setting.strip_prefix('[') {
                table = name.trim_end_matches(']');
                continue;
            }
            if is_example || setting.contains("# an example") || setting.contains("; an example") {
                continue;
            }
            let (key, rest) = setting.split_once(" = ").expect("a setting");
            let value = rest.split(" #").next().unwrap_or(rest).trim();
            let expected = match key {
                "slots" => default_slots().to_string(),
                "attempts" => USUAL_ATTEMPTS.to_string(),
                key => {
                    let path = format!("{table}.{key}");
                    let default = KEYS.iter().find(|own| own.path == path).and_then(|own| own.default);
                    format!("{:?}", default.expect("a default"))
                }
            };
            assert_eq!(value, expected, "{line}");
            n_defaults += 1;
        }
        assert_eq!(n_defaults, 3, "{text}");
        assert!(text.contains("show their defaults"), "{text}");
    }
}
