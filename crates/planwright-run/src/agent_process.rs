//! The process of an agent, for attempts at tasks and for questions: its arguments, its environment, its input. Knows neither plans
//! nor runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::caller;
use crate::clock;
use crate::config::{Agent, AttemptLimits, Channel, CommandValues};
use crate::fence::Fence;
use crate::redaction::Redaction;
use crate::worker::{ProcessLimits, ProcessMark, ProcessSpec, Stdin};

/// The inputs of an agent's process.
pub(crate) struct AgentProcess<'a> {
    pub(crate) agent: &'a Agent,
    /// Its limits of time and output.
    pub(crate) limits: &'a AttemptLimits,
    pub(crate) prompt: &'a str,
    /// The name of its task; empty for a question.
    pub(crate) task: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) files: AgentFiles,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Variables that override inherited ones.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) mark: ProcessMark,
    pub(crate) redaction: Redaction,
    /// The session to continue, by the agent's own id.
    pub(crate) session: Option<String>,
    pub(crate) fence: Option<Fence>,
}

pub(crate) struct AgentFiles {
    /// The prompt, written before the process starts.
    pub(crate) prompt: PathBuf,
    /// The file in which the agent may report.
    pub(crate) result: PathBuf,
    pub(crate) log: PathBuf,
}

impl AgentProcess<'_> {
    /// Returns the process to start.
    pub(crate) fn spec(self) -> ProcessSpec {
        let own = [
            ("PLANWRIGHT_RESULT", self.files.result.clone().into_os_string()),
            (caller::FOLDER, self.folder.to_owned().into_os_string()),
        ];
        let own = own.map(|(name, value)| (OsString::from(name), value));
        ProcessSpec {
            arguments: self.arguments(),
            folder: self.folder.to_owned(),
            // The last value of a variable wins.
            environment: self.environment.into_iter().chain(own).chain(self.variables).collect(),
            mark: self.mark,
            stdin: match self.agent.prompt {
                Channel::Stdin => Stdin::Bytes(self.prompt.as_bytes().to_vec()),
                Channel::File | Channel::Argument => Stdin::Nothing,
            },
            log: self.files.log,
            max_log_bytes: self.limits.log_bytes,
            redaction: self.redaction,
            streams_output: true,
            limits: ProcessLimits {
                wall: Some(clock::real(self.limits.wall)),
                silence: Some(clock::real(self.limits.silence)),
                grace: self.limits.grace,
            },
            fence: self.fence,
        }
    }

    fn arguments(&self) -> Vec<OsString> {
        let agent = self.agent;
        let mut arguments = agent.arguments(&CommandValues {
            prompt: self.prompt,
            prompt_file: &self.files.prompt,
            result_file: &self.files.result,
            task: self.task,
            folder: self.folder,
        });
        let session = self.session.as_deref();
        let resumed = session.map_or_else(Vec::new, |session| agent.resuming(session));
        // Options that must come last, as the one before a prompt, stay last.
        let at = arguments.len() - usize::from(agent.prompt == Channel::Argument && arguments.len() > 1);
        arguments.splice(at..at, resumed);
        match self.fence {
            Some(_) => agent.without_sandbox(arguments),
            None => arguments,
        }
    }
}
