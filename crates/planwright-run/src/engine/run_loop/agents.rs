//! What attempts need of their agents: which agent takes a task, its environment, the template of prompts, the secrets.

use std::collections::HashMap;
use std::ffi::OsString;

use planwright_core::prompt::Template;

use crate::agent_output::environment_of;
use crate::config::Agent;
use crate::worker::Secret;

/// The agents of a run.
pub(super) struct Agents {
    /// The agent of each task; none for tasks that are not to run.
    of_tasks: Vec<Option<String>>,
    template: Template,
    secrets: Vec<Secret>,
    /// The environment of each agent's processes, by its name.
    environments: HashMap<String, Vec<(OsString, OsString)>>,
}

impl Agents {
    pub(super) fn new(of_tasks: Vec<Option<String>>, template: Template, secrets: Vec<Secret>) -> Self {
        Agents {
            of_tasks,
            template,
            secrets,
            environments: HashMap::new(),
        }
    }

    /// Returns the agent of a task; empty where there is none.
    pub(super) fn of_task(&self, task: u32) -> String {
        self.of_tasks.get(task as usize).cloned().flatten().unwrap_or_default()
    }

    /// Returns the user's template for prompts, or that of the plan's dialect.
    pub(super) fn template(&self) -> &Template {
        &self.template
    }

    /// Returns what must not be written down.
    pub(super) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Returns the environment of an agent's processes, and what must not be written down of them.
    pub(super) fn environment(&mut self, agent: &Agent) -> (&[(OsString, OsString)], &[Secret]) {
        let known = self.environments.entry(agent.name.clone());
        (known.or_insert_with(|| environment_of(agent)), &self.secrets)
    }

    /// Takes the agents for a plan that was edited, and the template where the dialect is another one.
    pub(super) fn replace(&mut self, of_tasks: Vec<Option<String>>, template: Option<Template>) {
        self.of_tasks = of_tasks;
        if let Some(template) = template {
            self.template = template;
        }
    }
}
