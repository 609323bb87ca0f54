//! Chooses the agent for each task: the user's choice, the task's, its type's, or the default.

use std::collections::BTreeSet;
use std::path::Path;

use planwright_core::plan::{Field, Plan};
use planwright_core::text::visible;

use super::{RunError, RunRequest};
use crate::config::no_agent;
use crate::config::{Agent, Config, chain_of};
use crate::layout::root_of;

/// The agent of each task; none for tasks outside the run.
pub(super) fn choose_agents(request: &RunRequest<'_>, plan: &Plan, wanted: &[bool]) -> Result<AgentChoice, RunError> {
    let config = request.config;
    for name in [&request.options.flags.agent, &request.options.flags.arbiter]
        .into_iter()
        .flatten()
    {
        if !config.agents.contains_key(name) {
            return Err(unknown(config, name));
        }
    }
    let mut choice = AgentChoice {
        agents: vec![None; wanted.len()],
        remarks: Vec::new(),
    };
    let mut ignored_hints = BTreeSet::new();
    for (ix, task) in plan.tasks().iter().enumerate() {
        if !wanted.get(ix).copied().unwrap_or(false) {
            continue;
        }
        let hint = plan.task_str(task, Field::AgentHint);
        let known = hint.filter(|hint| config.agents.contains_key(*hint));
        let kind = plan.task_str(task, Field::TaskKind).map(str::to_lowercase);
        let by_type = || {
            let fits = |(kind_of, _): &(&String, &String)| Some(kind_of.to_lowercase()) == kind;
            config.run.types.iter().find(fits).map(|(_, agent)| agent.as_str())
        };
        let named = request.options.flags.agent.as_deref();
        let chosen = named
            .or(known)
            .or_else(by_type)
            .or(config.run.agent.as_deref())
            .or_else(|| config.only_agent());
        if named.is_none() && known.is_none() {
            ignored_hints.extend(hint.filter(|hint| !hint.trim().is_empty()));
        }
        match chosen {
            Some(agent) => choice.agents[ix] = Some(agent.to_owned()),
            None => return Err(no_agent_for(config, &plan.task_name(ix))),
        }
    }
    for hint in ignored_hints.iter().take(5) {
        choice.remarks.push(format!(
            "there is no agent `{}`, which tasks ask for: the default agent takes them",
            visible(hint)
        ));
    }
    choice.look_for_programs(request)?;
    Ok(choice)
}

pub(super) struct AgentChoice {
    pub(super) agents: Vec<Option<String>>,
    pub(super) remarks: Vec<String>,
}

impl AgentChoice {
    /// Refuses agents whose program was not found, before the run starts.
    fn look_for_programs(&mut self, request: &RunRequest<'_>) -> Result<(), RunError> {
        let root = root_of(request.path);
        let takers: BTreeSet<&String> = self.agents.iter().flatten().collect();
        let used: BTreeSet<&String> = takers.iter().copied().chain(&request.options.flags.arbiter).collect();
        for name in used {
            let Some(agent) = request.config.agents.get(name) else {
                return Err(unknown(request.config, name));
            };
            let program = agent.program();
            if agent.find_program(&root).is_none() {
                let option = match request.options.flags.arbiter.as_ref() == Some(name) {
                    true => "--arbiter",
                    false => "--agent",
                };
                return Err(RunError::NoAgent {
                    message: format!("agent `{name}` needs the program `{program}`, which is not there"),
                    help: format!("install it, or choose another one with {option}; `planwright agents` lists them"),
                });
            }
        }
        self.remarks.extend(missing_fallbacks(request.config, &takers, &root));
        Ok(())
    }
}

/// Returns the remarks about fallback agents whose program was not found.
fn missing_fallbacks(config: &Config, takers: &BTreeSet<&String>, root: &Path) -> Vec<String> {
    let chains = takers.iter().flat_map(|taker| chain_of(&config.agents, taker));
    let names: BTreeSet<&str> = chains.collect();
    let agents = names.into_iter().filter_map(|name| config.agents.get(name));
    let missing = agents.filter(|agent| agent.find_program(root).is_none());
    let words = |agent: &Agent| {
        format!(
            "the program `{1}` of the fallback `{0}` was not found: it is left out",
            agent.name,
            agent.program()
        )
    };
    missing.take(5).map(words).collect()
}

fn unknown(config: &Config, name: &str) -> RunError {
    let known: Vec<_> = config.agents.keys().map(String::as_str).collect();
    RunError::refused(
        format!("there is no agent `{}`", visible(name)),
        format!("there are {}; `planwright agents` lists them", known.join(", ")),
    )
}

fn no_agent_for(config: &Config, task: &str) -> RunError {
    let own: Vec<&str> = config.own_agents().map(|agent| agent.name.as_str()).collect();
    if let [first, ..] = own.as_slice() {
        return RunError::NoAgent {
            message: format!(
                "there are {} agents, and none is chosen for `{}`",
                own.len(),
                visible(task)
            ),
            help: format!(
                "name one with --agent NAME ({}), or set it in planwright.toml:\n\n    [run]\n    agent = \"{first}\"",
                own.join(", ")
            ),
        };
    }
    RunError::NoAgent {
        message: format!("no agent is configured to work on `{}`", visible(task)),
        help: no_agent::help("planwright run", "run"),
    }
}
