//! Combines the verdict on an agent's output and its result file.

use super::result_file::{ResultFile, ResultStatus};
use super::{AgentOutcome, AgentVerdict, EventFormat, Usage};

/// How an attempt ended, before verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The task is done, unless verification fails.
    Done,
    /// The task is not done.
    Failed {
        /// The reason.
        why: String,
    },
    /// A stop condition was met, which ends the run.
    Stopped {
        /// The condition, in the agent's words.
        condition: String,
    },
    /// The provider's rate limit was reached. A later try may succeed.
    RateLimited {
        /// How many seconds to wait, if known.
        wait: Option<u64>,
        /// The agent's message.
        why: String,
    },
    /// The agent could not work.
    Broken {
        /// The reason.
        why: String,
    },
    /// The agent was ended before it was done.
    Interrupted,
}

/// The basis of a verdict, the weakest first. Without verification, users want to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictSource {
    /// Only an exit code.
    ExitStatus,
    /// Signs in text that was written for people.
    Text,
    /// The closing event of the agent's format.
    ClosingEvent,
    /// The result file.
    ResultFile,
}

/// The verdict on an attempt before verification.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinedVerdict {
    /// How it ended.
    pub end: AttemptEnd,
    /// The basis of the end.
    pub basis: VerdictSource,
    /// What was made: the output of the result file, otherwise the agent's final message.
    pub output: String,
    /// The files that the result file names.
    pub affected_files: Vec<String>,
    /// Remarks of the result file.
    pub notes: String,
    /// Discoveries in the result file.
    pub discoveries: Vec<String>,
    /// The tasks that the result file proposes, each as the text of its JSON object.
    pub proposed_tasks: Vec<String>,
    /// The agent's view of its work: from the result file, otherwise its final message if that is not the output already.
    pub reflection: Option<String>,
    /// The tools that the result file names.
    pub tools_called: Vec<String>,
    /// The agent's session.
    pub session: Option<String>,
    /// What the command line counted, else what the result file says.
    pub usage: Usage,
    /// The tools that were denied.
    pub denials: Vec<String>,
}

/// Combines both. The worse result wins. A file that says `failed` overrides an agent that reports success. A file that says `stop`
/// overrides everything, and a file that says `done` overrides nothing.
pub fn combine_verdicts(verdict: AgentVerdict, file: Option<ResultFile>, format: EventFormat) -> CombinedVerdict {
    let (end, basis) = match &file {
        Some(file) => with_file(&verdict, file, format),
        None => (end_of(verdict.outcome), basis_of(format)),
    };
    let (output, affected_files, notes, usage, found, own) = match file {
        Some(file) => {
            let found = (file.discoveries, file.proposed_tasks);
            let own = (file.reflection, file.tools_called);
            (file.output, file.affected_files, file.notes, file.usage, found, own)
        }
        None => Default::default(),
    };
    let has_output = !output.trim().is_empty();
    let (reflection, tools_called) = own;
    let is_message = has_output && format.has_events();
    let message = Some(verdict.final_message.trim()).filter(|_| is_message);
    let reflection = Some(reflection.trim()).filter(|text| !text.is_empty()).or(message);
    let reflection = reflection.filter(|text| !text.is_empty()).map(str::to_owned);
    CombinedVerdict {
        end,
        basis,
        output: if has_output { output } else { verdict.final_message },
        affected_files,
        notes,
        discoveries: found.0,
        proposed_tasks: found.1,
        reflection,
        tools_called,
        session: verdict.session,
        usage: verdict.usage.or(usage),
        denials: verdict.denials,
    }
}

fn with_file(verdict: &AgentVerdict, file: &ResultFile, format: EventFormat) -> (AttemptEnd, VerdictSource) {
    match (file.report, &verdict.outcome) {
        (ResultStatus::Stop, _) => {
            let condition = file
                .stop_condition
                .clone()
                .or_else(|| first_words(&[&file.notes, &file.output]));
            let condition = condition.unwrap_or_else(|| "it did not say which condition was met".to_owned());
            (AttemptEnd::Stopped { condition }, VerdictSource::ResultFile)
        }
        (ResultStatus::Failed, AgentOutcome::Done | AgentOutcome::Failed { .. }) => {
            let why = first_words(&[&file.notes, &file.output, &verdict.final_message]);
            let why = why.unwrap_or_else(|| "its result file says that it failed".to_owned());
            (AttemptEnd::Failed { why }, VerdictSource::ResultFile)
        }
        (ResultStatus::Done, AgentOutcome::Done) => (AttemptEnd::Done, VerdictSource::ResultFile),
        (ResultStatus::Done | ResultStatus::Failed, outcome) => (end_of(outcome.clone()), basis_of(format)),
    }
}

fn end_of(outcome: AgentOutcome) -> AttemptEnd {
    match outcome {
        AgentOutcome::Done => AttemptEnd::Done,
        AgentOutcome::Failed { why } => AttemptEnd::Failed { why },
        AgentOutcome::RateLimited { wait, why } => AttemptEnd::RateLimited { wait, why },
        AgentOutcome::Broken { why } => AttemptEnd::Broken { why },
        AgentOutcome::Interrupted => AttemptEnd::Interrupted,
    }
}

fn basis_of(format: EventFormat) -> VerdictSource {
    match format {
        EventFormat::Plain => VerdictSource::ExitStatus,
        EventFormat::Aider => VerdictSource::Text,
        EventFormat::Claude | EventFormat::Codex | EventFormat::Gemini | EventFormat::Opencode | EventFormat::Qwen => {
            VerdictSource::ClosingEvent
        }
    }
}

/// Returns the first text that is not blank, as a reason.
fn first_words(texts: &[&str]) -> Option<String> {
    texts
        .iter()
        .map(|text| super::output_summary::reason(text))
        .find(|reason| !reason.is_empty())
}
