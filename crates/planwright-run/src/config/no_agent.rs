//! Advice if no agent is configured: the installed ones, and how to install one.

use super::presets::{PRESETS, Preset};
use crate::programs::program;

/// Returns the presets whose program is on the search path, the best first.
pub fn installed() -> Vec<&'static Preset> {
    let is_there = |preset: &&Preset| preset.command.first().is_some_and(|name| program(name).is_some());
    PRESETS.iter().filter(is_there).collect()
}

/// Returns the help for a missing agent. `command` is the command line that lacks it, and `table` is the table of `planwright.toml` that
/// names one permanently.
pub fn help(command: &str, table: &str) -> String {
    let installed = installed();
    let Some(best) = installed.first() else {
        let commands = PRESETS.iter().take(3).map(|preset| format!("\n    {}", preset.install));
        return format!(
            "none is installed. One of these installs one:\n{}\n\nor name a command of your own in planwright.toml:\n\n    \
             [agents.mine]\n    command = [\"my-agent\", \"{{prompt_file}}\"]",
            commands.collect::<String>()
        );
    };
    let names: Vec<&str> = installed.iter().map(|preset| preset.name).collect();
    format!(
        "installed: {}. `planwright init` sets up an agent and verification; or name one: {command} --agent {}, or set it in planwright.toml:\n\n    [{table}]\n    agent = \"{}\"",
        names.join(", "),
        best.name,
        best.name
    )
}
