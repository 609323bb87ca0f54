//! Chooses the agent of a new workspace: the named one, else the best of the installed ones.

use std::path::PathBuf;

use planwright_run::config::no_agent;
use planwright_run::config::presets::{PRESET_NAMES, PRESETS};
use planwright_run::programs::program;

use super::super::answers;
use super::super::exit::Failure;
use super::super::output::Output;

/// An agent on the search path.
pub(super) struct Installed {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
}

/// Returns the agents that are installed, the best first.
pub(super) fn installed() -> Vec<Installed> {
    let found = no_agent::installed().into_iter().filter_map(|preset| {
        let path = program(preset.command.first()?)?;
        Some(Installed {
            name: preset.name,
            path,
        })
    });
    found.collect()
}

/// Returns the agent to use; none where none is installed. Asks on a terminal where there are several and none is named.
pub(super) fn choose<'i>(
    installed: &'i [Installed],
    named: Option<&'i str>,
    may_ask: bool,
    output: &mut Output,
) -> anyhow::Result<Option<&'i str>> {
    if let Some(named) = named {
        let is_known = PRESET_NAMES.contains(&named);
        return match installed.iter().find(|agent| agent.name == named) {
            Some(agent) => Ok(Some(agent.name)),
            None if is_known => Err(Failure::problem(
                format!("`{named}` is not installed"),
                format!("{}, or choose another one: {}", install_words(named), list(installed)),
            )),
            None => Err(Failure::usage(
                format!("there is no agent `{named}`"),
                format!(
                    "known are {}; an agent of your own needs a table in planwright.toml, see docs/agents.md",
                    PRESET_NAMES.join(", ")
                ),
            )),
        };
    }
    let first = installed.first().map(|agent| agent.name);
    if installed.len() < 2 || !may_ask || !answers::may_ask() {
        return Ok(first);
    }
    output.remark("several agents are installed:");
    for (number, agent) in (1..).zip(installed) {
        output.remark(&format!("  {number}  {}", agent.name));
    }
    loop {
        output.remark(&format!("which one works on tasks? [1] 1-{}", installed.len()));
        output.flush();
        let Some(line) = answers::line() else {
            return Ok(first);
        };
        let by_number = line
            .parse::<usize>()
            .ok()
            .and_then(|number| installed.get(number.checked_sub(1)?));
        let by_name = installed.iter().find(|agent| agent.name == line);
        match by_number.or(by_name) {
            Some(agent) => return Ok(Some(agent.name)),
            None if line.is_empty() => return Ok(first),
            None => {}
        }
    }
}

/// Returns the names of agents as a list.
pub(super) fn list(installed: &[Installed]) -> String {
    match installed {
        [] => "none is installed".to_owned(),
        _ => {
            let names: Vec<&str> = installed.iter().map(|agent| agent.name).collect();
            format!("installed: {}", names.join(", "))
        }
    }
}

/// Returns how a known agent is installed.
pub(super) fn install_words(name: &str) -> String {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    preset.map_or_else(String::new, |preset| format!("install it: {}", preset.install))
}
