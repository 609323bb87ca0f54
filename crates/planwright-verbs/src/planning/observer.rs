//! How a face takes part while a verb plans: it hears what happens, may end it, and answers questions.

use std::io;
use std::time::Duration;

use planwright_core::diagnostic::Diagnostic;
use planwright_run::agent_query::AgentQueryError;

use super::OutlineObserver;
use crate::face::{CancelToken, Exit, Failure, Workspace};

/// What happens while agents are asked for a plan.
pub enum PlanningEvent<'a> {
    /// This agent plans. Its answers are kept in `.planwright/inquiries`.
    AgentIsChosen {
        agent: &'a str,
    },
    AgentIsAsked {
        agent: &'a str,
        prompt: &'a str,
    },
    /// An agent gave no answer, and another one is asked.
    OtherAgentIsAsked {
        error: &'a AgentQueryError,
        other: &'a str,
    },
    /// No agent can answer now: this one is asked after a wait.
    AgentIsAwaited {
        error: &'a AgentQueryError,
        agent: &'a str,
        wait: Duration,
    },
    /// An answer cannot be used yet, and its errors are sent back to the agent.
    AnswerIsSentBack {
        findings: &'a [Diagnostic],
    },
}

/// A face, while agents are asked for a plan.
pub trait PlanningObserver {
    fn happens(&mut self, _event: PlanningEvent<'_>) {}

    /// Returns the token that ends the verb. It is asked for when an agent is about to be asked.
    fn cancel_token(&mut self) -> io::Result<CancelToken>;
}

/// A face, while the verb `plan` is at work.
pub trait PlanObserver: PlanningObserver + OutlineObserver {}

impl<T: PlanningObserver + OutlineObserver> PlanObserver for T {}

/// Returns how a verb ends whose result the user did not want.
pub(crate) fn declined(workspace: &Workspace) -> Failure {
    workspace.remark("nothing was written");
    Failure::interrupted(Exit::Problems)
}
