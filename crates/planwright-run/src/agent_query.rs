//! Asks an agent one question and returns its final text. No task, no verification, no plan file.
//!
//! [`ask_agent`] waits for the answer. A caller that also waits for other processes starts [`AgentQuery::spec`] with them, and
//! passes the output to a `Listening`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use planwright_core::agent::{AttemptEnd, CombinedVerdict, Usage};

use crate::agent_output::{AgentEndReason, AgentOutput, end_all, environment_of, redaction_of};
use crate::agent_process::{AgentFiles, AgentProcess};
use crate::config::units::duration_text;
use crate::config::{Agent, Config};
use crate::error_chain::with_causes;
use crate::faults;
use crate::fence::{Fencing, ProcessFolders, TemporaryFolders};
use crate::files::{Files, write_own};
use crate::layout::{STATE_FOLDER, make_dated_folder};
use crate::redaction::Redaction;
use crate::worker::{
    EndCause, EndedProcess, ProcessExit, ProcessLimits, ProcessMark, ProcessSpec, StartError, StopManner, WorkerEvent,
    Workers,
};

/// The default limit for an answer, in bytes.
pub use planwright_core::outline::MAX_ANSWER_BYTES;

/// How often to check for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The key of the only process.
const KEY: u64 = 1;

#[derive(Clone, Copy, Debug)]
pub struct AgentQuery<'a> {
    pub config: &'a Config,
    pub agent: &'a str,
    pub prompt: &'a str,
    /// The working directory of the agent.
    pub folder: &'a Path,
    /// The folder for the files of the query.
    pub place: &'a AgentQueryPlace,
    pub limits: QueryLimits,
    /// Variables that mark its processes, in addition to the query's own.
    pub mark: &'a [(OsString, OsString)],
    /// The fence. A fenced agent may read its folder, and write only to its own files.
    pub fencing: &'a Fencing,
}

/// Limits of time and output for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// The wall-clock limit.
    pub wall: Duration,
    /// The limit without output.
    pub silence: Duration,
    /// The time between the first signal and the kill.
    pub grace: Duration,
    /// The limit for its log, in bytes.
    pub log_cap: u64,
    /// The limit for the answer, in bytes.
    pub max_answer: usize,
}

impl QueryLimits {
    /// Returns the limits of an attempt at a task.
    pub fn of(config: &Config) -> Self {
        QueryLimits {
            wall: config.run.limits.wall,
            silence: config.run.limits.silence,
            grace: config.run.limits.grace,
            log_cap: config.run.limits.log_bytes,
            max_answer: MAX_ANSWER_BYTES,
        }
    }

    /// Returns the limits with at most this wall time.
    pub fn within(self, wall: Duration) -> Self {
        QueryLimits {
            wall: self.wall.min(wall),
            silence: self.silence.min(wall),
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentAnswer {
    /// Its final text, or the output of its result file. For output that is text for people, everything that it printed. Never blank.
    pub text: String,
    /// Whether the text fills its limit: more may have followed.
    pub is_cut: bool,
    /// What it cost.
    pub usage: Usage,
    pub duration: Duration,
    /// The names of the tools that the agent was denied, although it answered.
    pub denials: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentQueryError {
    /// No agent has this name.
    #[error("there is no agent `{agent}`")]
    NotConfigured {
        agent: String,
        /// The configured agents and the presets.
        known: Vec<String>,
    },
    /// The agent's program was not found.
    #[error("agent `{agent}` needs the program `{program}`, which is not there")]
    NotFound { agent: String, program: String },
    /// The provider's rate limit was reached. A later try may succeed.
    #[error("agent `{agent}` is rate limited by its provider: {why}")]
    RateLimited {
        agent: String,
        /// How many seconds to wait, if known.
        wait: Option<u64>,
        /// The agent's message.
        why: String,
    },
    /// The agent could not work: its setup, its network or its provider failed.
    #[error("agent `{agent}` cannot work: {why}")]
    Broken { agent: String, why: String },
    /// The agent worked and gave no answer.
    #[error("agent `{agent}` gave no answer: {why}")]
    Failed { agent: String, why: String },
    /// The agent exceeded its time limit, or printed nothing for too long, and was ended.
    #[error("agent `{agent}` {why} and was ended")]
    TimedOut {
        agent: String,
        /// The limit that it exceeded.
        why: String,
    },
    /// The user interrupted the query.
    #[error("agent `{agent}` was interrupted before it had answered")]
    Interrupted { agent: String },
    /// The operating system returned an error.
    #[error("`{}` cannot be written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl AgentQueryError {
    /// Returns the next step for the user.
    pub fn help(&self) -> String {
        match self {
            AgentQueryError::NotConfigured { known, .. } => {
                format!("there are {}; `planwright agents` lists them", known.join(", "))
            }
            AgentQueryError::NotFound { .. } => {
                "install it, or choose another agent; `planwright agents` lists them".to_owned()
            }
            AgentQueryError::RateLimited { wait: Some(wait), .. } => format!("try again in {wait} seconds"),
            AgentQueryError::RateLimited { wait: None, .. } => "try again later".to_owned(),
            AgentQueryError::Broken { why, .. } if why.contains("ermission denied") => {
                "agents write only where their fence lets them: allow another folder in your own configuration with \
                 `run.fence_write`; docs/fence.md has the limits"
                    .to_owned()
            }
            AgentQueryError::Broken { .. } | AgentQueryError::Failed { .. } => {
                "its output is in the newest folder of `.planwright/inquiries`".to_owned()
            }
            AgentQueryError::TimedOut { .. } => "give it more time with `run.wall_limit`, or another agent".to_owned(),
            AgentQueryError::Interrupted { .. } => "ask again".to_owned(),
            AgentQueryError::Io { .. } => "check that you may write there and that there is space".to_owned(),
        }
    }

    /// Returns whether the machine or the agent must be fixed, and not the question.
    pub fn is_environment(&self) -> bool {
        !matches!(self, AgentQueryError::NotConfigured { .. })
    }
}

/// The folder of one query, in `.planwright/inquiries`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentQueryPlace {
    folder: PathBuf,
    id: String,
}

impl AgentQueryPlace {
    /// Creates the folder of a new query. `time` is the present as RFC 3339.
    pub fn create(files: &dyn Files, root: &Path, time: &str) -> Result<Self, AgentQueryError> {
        let inquiries = root.join(STATE_FOLDER).join("inquiries");
        let failed = |source| AgentQueryError::Io {
            path: inquiries.clone(),
            source,
        };
        let id = make_dated_folder(files, root, &inquiries, time).map_err(failed)?;
        let folder = inquiries.join(&id);
        Ok(AgentQueryPlace { folder, id })
    }

    /// Returns the name of the folder.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn prompt(&self) -> PathBuf {
        self.folder.join("prompt.md")
    }

    pub fn output(&self) -> PathBuf {
        self.folder.join("output.log")
    }

    /// Returns the path of the file in which the agent may answer.
    pub fn result(&self) -> PathBuf {
        self.folder.join("result.json")
    }

    /// Saves the text of the answer next to the agent's output.
    pub(crate) fn keep_answer(&self, text: &str) -> io::Result<()> {
        faults::step("keep answer")?;
        write_own(&self.folder.join("answer.md"), text.as_bytes())
    }
}

/// Asks an agent, and waits for its answer. `interrupts` counts the interrupts by the user: the first ends the agent politely, the next
/// kills it.
pub fn ask_agent(
    query: &AgentQuery<'_>,
    workers: &mut Workers,
    interrupts: &AtomicU32,
) -> Result<AgentAnswer, AgentQueryError> {
    let mut spec = query.spec()?;
    let mut temporary = TemporaryFolders::default();
    spec.give_temporary(&mut temporary, KEY)
        .map_err(|error| not_started(query.agent, error))?;
    let mut listening = Listening::new(query);
    workers
        .start(KEY, &spec)
        .map_err(|error| not_started(query.agent, error))?;
    let mut n_handled = 0;
    loop {
        for event in workers.wait(Some(POLL_INTERVAL)) {
            match event {
                WorkerEvent::Output { key: KEY, bytes } => {
                    let is_to_end = listening.take(&bytes);
                    if is_to_end {
                        workers.cancel(KEY, StopManner::Politely);
                    }
                }
                WorkerEvent::Ended(ended) if ended.key == KEY => return listening.conclude(&ended),
                _ => {}
            }
        }
        let n_asked = interrupts.load(Ordering::Relaxed);
        if n_asked > n_handled {
            n_handled = n_asked;
            listening.interrupt();
            let manner = match n_asked {
                1 => StopManner::Politely,
                _ => StopManner::AtOnce,
            };
            workers.cancel(KEY, manner);
        }
    }
}

impl AgentQuery<'_> {
    /// Writes the prompt to its file, and returns the process to start.
    pub fn spec(&self) -> Result<ProcessSpec, AgentQueryError> {
        let agent = self.found()?;
        let prompt_file = self.place.prompt();
        let written = faults::step("write question").and_then(|()| write_own(&prompt_file, self.prompt.as_bytes()));
        written.map_err(|source| AgentQueryError::Io {
            path: prompt_file.clone(),
            source,
        })?;
        let environment = environment_of(agent);
        let own_folder = self.place.folder().to_owned();
        let fence = self.fencing.fence(&ProcessFolders {
            writable: std::slice::from_ref(&own_folder),
            readable: &[self.folder.to_owned()],
            agent: Some(agent.known_as()),
            environment: &environment,
            temporary: None,
        });
        let process = AgentProcess {
            agent,
            limits: &self.config.run.limits,
            prompt: self.prompt,
            task: "",
            folder: self.folder,
            files: AgentFiles {
                prompt: prompt_file,
                result: self.place.result(),
                log: self.place.output(),
            },
            environment,
            variables: Vec::new(),
            mark: self.mark(),
            redaction: redaction_of(self.config),
            session: None,
            fence,
        };
        Ok(ProcessSpec {
            max_log_bytes: self.limits.log_cap,
            limits: ProcessLimits {
                wall: Some(self.limits.wall),
                silence: Some(self.limits.silence),
                grace: self.limits.grace,
            },
            ..process.spec()
        })
    }

    /// Returns the agent, if it is configured and its program was found.
    fn found(&self) -> Result<&Agent, AgentQueryError> {
        let Some(agent) = self.config.agents.get(self.agent) else {
            return Err(AgentQueryError::NotConfigured {
                agent: self.agent.to_owned(),
                known: self.config.agents.keys().cloned().collect(),
            });
        };
        if agent.find_program(self.folder).is_some() {
            return Ok(agent);
        }
        Err(AgentQueryError::NotFound {
            agent: self.agent.to_owned(),
            program: agent.program().to_owned(),
        })
    }

    fn mark(&self) -> ProcessMark {
        let own = (
            OsString::from("PLANWRIGHT_INQUIRY"),
            self.place.folder.clone().into_os_string(),
        );
        ProcessMark::new(self.mark.iter().cloned().chain([own]))
    }
}

pub(crate) fn not_started(agent: &str, error: StartError) -> AgentQueryError {
    let agent = agent.to_owned();
    match error {
        StartError::NotFound { program, .. } => AgentQueryError::NotFound {
            agent,
            program: program.to_string_lossy().into_owned(),
        },
        StartError::Log { path, source } => AgentQueryError::Io { path, source },
        error => AgentQueryError::Broken {
            agent,
            why: with_causes(&error),
        },
    }
}

/// Reads the output of a query's agent.
pub(crate) struct Listening {
    agent: String,
    output: AgentOutput,
    result: PathBuf,
    mark: ProcessMark,
    limits: QueryLimits,
    redaction: Redaction,
    ending: Option<AgentEndReason>,
}

impl Listening {
    pub(crate) fn new(query: &AgentQuery<'_>) -> Self {
        let redaction = redaction_of(query.config);
        Listening {
            agent: query.agent.to_owned(),
            output: AgentOutput::of_answer(query.config, query.agent, query.limits.max_answer, &redaction),
            result: query.place.result(),
            mark: query.mark(),
            limits: query.limits,
            redaction,
            ending: None,
        }
    }

    /// Takes output of the agent. Returns whether to end it, because it would only waste time.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        let reason = self.output.take(bytes).into_iter().find_map(AgentEndReason::of);
        let is_to_end = self.ending.is_none() && reason.is_some();
        self.ending = self.ending.take().or(reason);
        is_to_end
    }

    /// Records that the user interrupted the query.
    pub(crate) fn interrupt(&mut self) {
        self.ending = Some(AgentEndReason::Interrupted);
    }

    /// Returns the answer after the agent has ended. Ends the processes that it left running.
    pub(crate) fn conclude(self, ended: &EndedProcess) -> Result<AgentAnswer, AgentQueryError> {
        if ended.was_outlived {
            end_all(&self.mark);
        }
        let conclusion = self.output.conclude(ended, &self.result).conclusion;
        let agent = self.agent;
        if let Some(ending) = self.ending {
            return Err(match ending {
                AgentEndReason::Interrupted | AgentEndReason::TakenAway => AgentQueryError::Interrupted { agent },
                AgentEndReason::Looping => AgentQueryError::Broken {
                    agent,
                    why: "it is in a loop".to_owned(),
                },
                AgentEndReason::RateLimited { wait, why } => {
                    let wait = Some(wait);
                    AgentQueryError::RateLimited { agent, wait, why }
                }
            });
        }
        let text = self.redaction.json(&conclusion.output).into_string();
        let has_answered = conclusion.end == AttemptEnd::Done || is_denied_only(&conclusion, ended);
        if !has_answered {
            return Err(failure(agent, conclusion.end, ended, &self.limits));
        }
        if text.trim().is_empty() {
            let why = "it said nothing".to_owned();
            return Err(AgentQueryError::Failed { agent, why });
        }
        Ok(AgentAnswer {
            // A character is never split, so the text may be up to three bytes shorter than its limit.
            is_cut: text.len().saturating_add(3) >= self.limits.max_answer,
            text,
            usage: conclusion.usage,
            duration: ended.duration,
            denials: conclusion.denials,
        })
    }
}

/// Returns whether denied tools are the only failure. That fails a task, but not an answer.
fn is_denied_only(conclusion: &CombinedVerdict, ended: &EndedProcess) -> bool {
    let is_well = ended.cause == EndCause::Itself && ended.exit == ProcessExit::Code(0);
    is_well && !conclusion.denials.is_empty() && matches!(conclusion.end, AttemptEnd::Failed { .. })
}

fn failure(agent: String, end: AttemptEnd, ended: &EndedProcess, limits: &QueryLimits) -> AgentQueryError {
    let limit = match ended.cause {
        EndCause::WallLimit => Some(format!("took longer than {}", duration_text(limits.wall))),
        EndCause::Silence => Some(format!("said nothing for {}", duration_text(limits.silence))),
        EndCause::Itself | EndCause::Cancelled => None,
    };
    if let Some(why) = limit {
        return AgentQueryError::TimedOut { agent, why };
    }
    match end {
        AttemptEnd::RateLimited { wait, why } => AgentQueryError::RateLimited { agent, wait, why },
        AttemptEnd::Broken { why } => AgentQueryError::Broken { agent, why },
        AttemptEnd::Failed { why } => AgentQueryError::Failed { agent, why },
        AttemptEnd::Stopped { condition } => AgentQueryError::Failed { agent, why: condition },
        AttemptEnd::Interrupted if ended.cause == EndCause::Cancelled => AgentQueryError::Interrupted { agent },
        AttemptEnd::Interrupted | AttemptEnd::Done => AgentQueryError::Failed {
            agent,
            why: "it was ended before it answered".to_owned(),
        },
    }
}
