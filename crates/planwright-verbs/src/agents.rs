//! The verb `agents`: the agents that are configured, known and installed. Starts none of them.

use std::path::Path;

use planwright_run::config::{self, Agent, Config, ConfigInputs, SettingOrigin};
use planwright_run::workspace::root_of;
use serde::{Deserialize, Serialize};

use crate::config::{OriginReport, SourceReport, source_reports};
use crate::configuration::{FenceSupport, exit_of, findings_of};
use crate::failure::{Exit, Result};
use crate::workspace::{FileFindings, Workspace};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsRequest {}

#[derive(Serialize)]
pub struct AgentsReport {
    pub schema_version: &'static str,
    /// The default agent of tasks.
    pub default: Option<String>,
    pub fence: FenceSupport,
    pub agents: Vec<ListedAgent>,
    /// The sources of the configuration, with their findings.
    pub sources: Vec<SourceReport>,
    #[serde(skip)]
    pub findings: Vec<FileFindings>,
    #[serde(skip)]
    pub exit: Exit,
}

#[derive(Serialize)]
pub struct ListedAgent {
    pub name: String,
    /// Whether a configuration file has a table for it.
    pub configured: bool,
    pub default: bool,
    /// The types of tasks that it is configured for.
    pub types: Vec<String>,
    pub preset: Option<&'static str>,
    pub origin: OriginReport,
    pub program: String,
    /// The path of the program; null if it was not found.
    pub found: Option<String>,
    pub command: Vec<String>,
    pub prompt: &'static str,
    pub output: &'static str,
    /// The agent that takes over its tasks while it cannot work.
    pub fallback: Option<String>,
    pub env: Vec<String>,
    /// The names of the variables that are set for it. Their values may be secrets.
    pub set: Vec<String>,
}

pub fn agents(workspace: &Workspace, _: &AgentsRequest) -> Result<AgentsReport> {
    let root = root_of(workspace.folder());
    let configuration = config::load(&root, &ConfigInputs::of_process());
    let config = &configuration.config;
    let agents = config.agents.values().map(|agent| report(agent, config, &root));
    Ok(AgentsReport {
        schema_version: "planwright.agents/v1",
        default: config.run.agent.clone(),
        fence: FenceSupport::of(config),
        agents: agents.collect(),
        sources: source_reports(&configuration),
        findings: findings_of(&configuration),
        exit: exit_of(&configuration),
    })
}

fn report(agent: &Agent, config: &Config, root: &Path) -> ListedAgent {
    let types = config.run.types.iter().filter(|(_, name)| **name == agent.name);
    ListedAgent {
        name: agent.name.clone(),
        configured: !matches!(agent.origin, SettingOrigin::Preset(_)),
        default: config.run.agent.as_deref() == Some(&agent.name),
        types: types.map(|(kind, _)| kind.clone()).collect(),
        preset: agent.preset,
        origin: OriginReport::from(&agent.origin),
        program: agent.program().to_owned(),
        found: agent.find_program(root).map(|path| path.to_string_lossy().into_owned()),
        command: agent.command.clone(),
        prompt: agent.prompt.as_str(),
        output: agent.output.as_str(),
        fallback: agent.fallback.clone(),
        env: agent.env.clone(),
        set: agent.set.keys().cloned().collect(),
    }
}
