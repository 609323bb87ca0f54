//! Asks an agent one question and returns its final text. No task, no verification, no plan file.
//!
//! [`ask_agent`] waits for the answer. A caller that also waits for other processes starts [`AgentQuery::spec`] with them, and
//! passes the output to a `Listening`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use planwright_core::agent::{AttemptEnd, Conclusion, Usage};

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
    EndCause, EndedProcess, ProcessExit, ProcessMark, Spec, StartError, StopManner, WorkerEvent, Workers,
};

/// The longest answer that is taken from an agent unless told otherwise, in bytes.
pub use planwright_core::outline::MAX_ANSWER_BYTES;

/// How often is looked whether the user wants the end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The key of the only process.
const KEY: u64 = 1;

/// A question to an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentQuery<'a> {
    /// What is configured.
    pub config: &'a Config,
    /// The agent's name.
    pub agent: &'a str,
    /// The question.
    pub prompt: &'a str,
    /// Where the agent works.
    pub folder: &'a Path,
    /// Where its files lie.
    pub place: &'a AgentQueryPlace,
    /// How long it may take, and how much it may say.
    pub limits: QueryLimits,
    /// Variables by which its processes are known beside the query's own.
    pub mark: &'a [(OsString, OsString)],
    /// Whether it is fenced: it may look around in its folder, and write to its own files only.
    pub fencing: &'a Fencing,
}

/// How long an agent may take for an answer, and how much it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// How long it may take.
    pub wall: Duration,
    /// How long it may say nothing.
    pub silence: Duration,
    /// How long it may take to end after it was asked to.
    pub grace: Duration,
    /// How long its log may get, in bytes.
    pub log_cap: u64,
    /// How many bytes of its answer are taken.
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

    /// Returns the same with at most so long to take.
    pub fn within(self, wall: Duration) -> Self {
        QueryLimits {
            wall: self.wall.min(wall),
            silence: self.silence.min(wall),
            ..self
        }
    }
}

/// What an agent answered.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentAnswer {
    /// Its final text, or the output of its result file; all that it printed where its output is text for people. Never blank.
    pub text: String,
    /// Whether the text is as long as there was room for: there may have been more.
    pub is_cut: bool,
    /// What it cost.
    pub usage: Usage,
    /// How long it took.
    pub duration: Duration,
    /// The tools that the agent was denied, by name, although it answered.
    pub denials: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentQueryError {
    /// No agent has this name.
    #[error("there is no agent `{agent}`")]
    NotConfigured {
        /// The name.
        agent: String,
        /// The agents that there are.
        known: Vec<String>,
    },
    /// The agent's program is not there.
    #[error("agent `{agent}` needs the program `{program}`, which is not there")]
    NotFound {
        /// The agent.
        agent: String,
        /// Its program.
        program: String,
    },
    /// The provider's limit was reached: the same again later may go well.
    #[error("agent `{agent}` is held up by its provider: {why}")]
    RateLimited {
        /// The agent.
        agent: String,
        /// How many seconds to wait, where that is known.
        wait: Option<u64>,
        /// Why, in its words.
        why: String,
    },
    /// The agent could not work: its set-up, its network, its provider.
    #[error("agent `{agent}` cannot work: {why}")]
    Broken {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// The agent worked and gave no answer.
    #[error("agent `{agent}` gave no answer: {why}")]
    Failed {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// The agent took too long, or said nothing for too long, and was ended.
    #[error("agent `{agent}` {why} and was ended")]
    TimedOut {
        /// The agent.
        agent: String,
        /// What it did for too long.
        why: String,
    },
    /// The user wanted the end.
    #[error("agent `{agent}` was interrupted before it had answered")]
    Interrupted {
        /// The agent.
        agent: String,
    },
    /// The system said no.
    #[error("`{}` cannot be written", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl AgentQueryError {
    /// Returns what to do about it.
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
            AgentQueryError::Broken { .. } | AgentQueryError::Failed { .. } => {
                "what it printed is in the newest folder of `.planwright/inquiries`".to_owned()
            }
            AgentQueryError::TimedOut { .. } => "give it more time with `run.wall_limit`, or another agent".to_owned(),
            AgentQueryError::Interrupted { .. } => "ask again".to_owned(),
            AgentQueryError::Io { .. } => "check that you may write there and that there is space".to_owned(),
        }
    }

    /// Returns whether it is the machine or the agent that must be fixed, and not the question.
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
    /// Makes the folder of a new query. `time` is the present as RFC 3339.
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

    /// Returns its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the prompt.
    pub fn prompt(&self) -> PathBuf {
        self.folder.join("prompt.md")
    }

    /// Returns the path of what the agent printed.
    pub fn output(&self) -> PathBuf {
        self.folder.join("output.log")
    }

    /// Returns the path of the file in which the agent may answer.
    pub fn result(&self) -> PathBuf {
        self.folder.join("result.json")
    }

    /// Keeps the text of the answer, beside what the agent printed.
    pub fn keep_answer(&self, text: &str) -> io::Result<()> {
        faults::step("keep answer")?;
        write_own(&self.folder.join("answer.md"), text.as_bytes())
    }
}

/// Asks an agent, and waits for its answer. `interrupts` counts how often the user asked for the end: first the agent is ended
/// politely, then at once.
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
    /// Returns what is to be started, and writes the prompt to its file.
    pub fn spec(&self) -> Result<Spec, AgentQueryError> {
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
        Ok(Spec {
            max_log_bytes: self.limits.log_cap,
            wall_limit: Some(self.limits.wall),
            silence_limit: Some(self.limits.silence),
            grace: self.limits.grace,
            ..process.spec()
        })
    }

    /// Returns the agent, where it is configured and its program is there.
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

/// Returns why there is no answer of an agent that could not be started.
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

/// Hears the agent of a query.
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
    /// Begins to listen.
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

    /// Takes in what the agent wrote. Returns whether it is to be ended, for it would only waste time.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        let reason = self.output.take(bytes).into_iter().find_map(AgentEndReason::of);
        let is_to_end = self.ending.is_none() && reason.is_some();
        self.ending = self.ending.take().or(reason);
        is_to_end
    }

    /// Takes note that the user wants the end.
    pub(crate) fn interrupt(&mut self) {
        self.ending = Some(AgentEndReason::Interrupted);
    }

    /// Returns the answer, once the agent has ended. What it left running is ended too.
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
                    why: "it goes round in circles".to_owned(),
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
            // A character is not cut in two.
            is_cut: text.len().saturating_add(3) >= self.limits.max_answer,
            text,
            usage: conclusion.usage,
            duration: ended.duration,
            denials: conclusion.denials,
        })
    }
}

/// Returns whether nothing is wrong but that tools were denied: of a task that is a failure, of an answer it is none.
fn is_denied_only(conclusion: &Conclusion, ended: &EndedProcess) -> bool {
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
            why: "it was ended before it had answered".to_owned(),
        },
    }
}
