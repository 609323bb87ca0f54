//! How a face takes part in a long verb: it hears what happens, may end it, and answers questions.

use std::io;
use std::time::Duration;

use planwright_core::diagnostic::Diagnostic;
use planwright_run::agent_query::AgentQueryError;

use crate::answer_outline::OutlineObserver;
use crate::cancel::CancelToken;
use crate::failure::Exit;
use crate::verification_report::ReceiptReport;

/// What happens while a verb verifies tasks.
pub enum VerificationEvent<'a> {
    /// The commands of a task are about to run.
    TaskBegins {
        task: &'a str,
        title: &'a str,
    },
    /// These files were restored before the next command.
    Restored {
        files: &'a [String],
    },
    CommandBegins {
        command: &'a [String],
    },
    CommandEnds {
        receipt: &'a ReceiptReport,
    },
    /// The commands of a task are over; what no rule covers.
    TaskEnds {
        task: &'a str,
        gaps: &'a [String],
    },
}

/// A face, while a verb verifies tasks.
pub trait VerificationObserver {
    fn happens(&mut self, event: VerificationEvent<'_>);

    /// Returns the token that ends the verb. It is asked for when the first command is about to run.
    fn cancel_token(&mut self) -> io::Result<CancelToken>;
}

/// How a long verb ends in which the user has a say.
pub enum VerbEnd<T> {
    Reported(T),
    /// The user did not want the result: nothing was written.
    Declined,
    /// The user asked for the end before there was a result.
    Cancelled(Exit),
}

/// What happens while agents are asked for a plan.
pub enum PlanningEvent<'a> {
    /// This agent plans. Its answers are kept in `.planwright/inquiries`.
    AgentIsChosen { agent: &'a str },
    /// An agent gets a prompt.
    AgentIsAsked { agent: &'a str, prompt: &'a str },
    /// An agent gave no answer, and another one is asked.
    OtherAgentIsAsked { error: &'a AgentQueryError, other: &'a str },
    /// No agent can answer now: this one is asked after a wait.
    AgentIsAwaited {
        error: &'a AgentQueryError,
        agent: &'a str,
        wait: Duration,
    },
    /// An answer cannot be used yet, and its errors are sent back to the agent.
    AnswerIsSentBack { findings: &'a [Diagnostic] },
}

/// A face, while agents are asked for a plan.
pub trait PlanningObserver {
    fn happens(&mut self, event: PlanningEvent<'_>);

    /// Returns the token that ends the verb. It is asked for when an agent is about to be asked.
    fn cancel_token(&mut self) -> io::Result<CancelToken>;
}

/// A face, while the verb `plan` is at work.
pub trait PlanObserver: PlanningObserver + OutlineObserver {}

impl<T: PlanningObserver + OutlineObserver> PlanObserver for T {}
