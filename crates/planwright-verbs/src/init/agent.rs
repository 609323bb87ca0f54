//! The agent of a new workspace: the named one, otherwise the best installed one.

use planwright_run::config::no_agent;
use planwright_run::config::presets::{PRESET_NAMES, PRESETS};
use planwright_run::programs::program;
use serde::Serialize;

use crate::failure::{Failure, Result};

/// An agent command line on `PATH`.
#[derive(Serialize)]
pub struct InstalledAgent {
    pub name: &'static str,
    pub path: String,
}

/// Returns the installed agents, the best first.
pub(super) fn installed() -> Vec<InstalledAgent> {
    let found = no_agent::installed().into_iter().filter_map(|preset| {
        let path = program(preset.command.first()?)?;
        Some(InstalledAgent {
            name: preset.name,
            path: path.to_string_lossy().into_owned(),
        })
    });
    found.collect()
}

pub(super) fn named(installed: &[InstalledAgent], name: &str) -> Result<&'static str> {
    match installed.iter().find(|agent| agent.name == name) {
        Some(agent) => Ok(agent.name),
        None if PRESET_NAMES.contains(&name) => Err(Failure::problem(
            format!("`{name}` is not installed"),
            format!(
                "{}, or choose another one: {}",
                install_words(name),
                names_of(installed)
            ),
        )),
        None => Err(Failure::usage(
            format!("there is no agent `{name}`"),
            format!(
                "known are {}; an agent of your own needs a table in planwright.toml, see docs/agents.md",
                PRESET_NAMES.join(", ")
            ),
        )),
    }
}

pub fn names_of(installed: &[InstalledAgent]) -> String {
    match installed {
        [] => "none is installed".to_owned(),
        _ => {
            let names: Vec<&str> = installed.iter().map(|agent| agent.name).collect();
            format!("installed: {}", names.join(", "))
        }
    }
}

fn install_words(name: &str) -> String {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    preset.map_or_else(String::new, |preset| format!("install it: {}", preset.install))
}

/// Returns the commands that install the most common agents.
pub fn install_commands() -> impl Iterator<Item = &'static str> {
    const MAX_NAMED: usize = 3;
    PRESETS.iter().take(MAX_NAMED).map(|preset| preset.install)
}
