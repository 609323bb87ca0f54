//! The agents of attempts: which agent takes a task, its environment, the template of its prompts.

use std::collections::HashMap;
use std::ffi::OsString;

use planwright_core::prompt::Template;

use crate::agent_output::environment_of;
use crate::config::Agent;
use crate::redaction::Redaction;

pub(super) struct Agents {
    /// The agent of each task; none for tasks outside the run.
    of_tasks: Vec<Option<String>>,
    template: Template,
    redaction: Redaction,
    environments: HashMap<String, Vec<(OsString, OsString)>>,
}

impl Agents {
    pub(super) fn new(of_tasks: Vec<Option<String>>, template: Template, redaction: Redaction) -> Self {
        Agents {
            of_tasks,
            template,
            redaction,
            environments: HashMap::new(),
        }
    }

    /// Returns the agent of a task; empty if it has none.
    pub(super) fn of_task(&self, task: u32) -> String {
        self.of_tasks.get(task as usize).cloned().flatten().unwrap_or_default()
    }

    /// Returns the user's template for prompts, or that of the plan's dialect.
    pub(super) fn template(&self) -> &Template {
        &self.template
    }

    /// Returns the redaction for the output of agents and commands.
    pub(super) fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    pub(super) fn environment(&mut self, agent: &Agent) -> &[(OsString, OsString)] {
        let known = self.environments.entry(agent.name.clone());
        known.or_insert_with(|| environment_of(agent))
    }

    /// Replaces the agents after an edit of the plan, and the template if the dialect changed.
    pub(super) fn replace(&mut self, of_tasks: Vec<Option<String>>, template: Option<Template>) {
        self.of_tasks = of_tasks;
        if let Some(template) = template {
            self.template = template;
        }
    }
}
