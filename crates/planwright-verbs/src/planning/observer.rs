//! How a caller observes planning: it receives events, may cancel the verb, and answers questions.

use std::io;
use std::time::Duration;

use planwright_core::diagnostic::Diagnostic;
use planwright_run::agent_query::AgentQueryError;

use super::OutlineObserver;
use crate::cancel::CancelToken;
use crate::failure::{Exit, Failure};
use crate::workspace::Workspace;

/// An event while agents are asked for a plan.
pub enum PlanningEvent<'a> {
    /// This agent plans. Its answers are stored in `.planwright/inquiries`.
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
    /// An answer is not usable yet, and its errors are returned to the agent.
    AnswerIsSentBack {
        findings: &'a [Diagnostic],
    },
}

/// Observes agents that are asked for a plan.
pub trait PlanningObserver {
    fn happens(&mut self, _event: PlanningEvent<'_>) {}

    /// Returns the token that cancels the verb. Called when an agent is about to be asked.
    fn cancel_token(&mut self) -> io::Result<CancelToken>;
}

/// Observes the verb `plan`.
pub trait PlanObserver: PlanningObserver + OutlineObserver {}

impl<T: PlanningObserver + OutlineObserver> PlanObserver for T {}

/// Returns the failure of a verb whose result the user declined.
pub(crate) fn declined(workspace: &Workspace) -> Failure {
    workspace.remark("nothing was written");
    Failure::interrupted(Exit::Problems)
}
