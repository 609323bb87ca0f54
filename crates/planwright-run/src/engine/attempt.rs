//! One attempt at a task: what is started for it, what is heard of it, and how far it is.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::agent::result_file::MAX_RESULT_BYTES;
use planwright_core::agent::{self, Conclusion, End, Heard, Listener, ResultFile, conclude};

use planwright_core::diagnostic::Severity;

use super::ground::Tree;
use crate::config::{Agent, Channel, Config, Fillings, Format};
use crate::git::Snapshot;
use crate::runs::{AttemptPlace, Receipt};
use crate::verify::Check;
use crate::worker::{
    Cause, DEFAULT_ALLOWED, Ended, Exit, Mark, Secret, Spec, Stdin, allowed_environment, end, orphans,
};

/// The variable that tells the processes of runs from those that only hear of a plan.
const PLAN_MARK: &str = "PLANWRIGHT_MARK";

/// The longest line of output that is listened to, in bytes; what comes after it is not heard.
const MAX_LINE: usize = 8 << 20;

/// How long what an agent left behind has to end.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

/// An attempt that is under way.
pub(super) struct Attempt {
    /// The task, by its place in the plan.
    pub(super) task: u32,
    /// Its name when the attempt began: its files are called by it.
    pub(super) name: String,
    /// Which attempt of the run it is.
    pub(super) number: u32,
    /// Who does it.
    pub(super) agent: String,
    /// The slot that it takes.
    pub(super) slot: u32,
    /// Where its files lie.
    pub(super) place: AttemptPlace,
    /// Where it works.
    pub(super) folder: PathBuf,
    /// Where it may report.
    pub(super) result: PathBuf,
    /// Its own worktree.
    pub(super) tree: Option<Tree>,
    /// What the folder was like before, where it has none of its own.
    pub(super) snapshot: Option<Snapshot>,
    /// The files that others own who have worked in the same folder meanwhile.
    pub(super) of_others: BTreeSet<String>,
    /// How far it is.
    pub(super) stage: Stage,
    /// Why it is being ended by the run; none while it is not.
    pub(super) ending: Option<Ending>,
    /// Somebody else said what is to become of the task.
    pub(super) moved: Option<planwright_core::plan::State>,
}

/// How far an attempt is.
pub(super) enum Stage {
    /// The agent works.
    Working(Box<Hearing>),
    /// What it made is being verified.
    Checking(Box<Checking>),
    /// What it made is being verified together with what others have made.
    Merging(Box<Checking>, Candidate),
}

/// A merge that is not the branch's yet.
pub(super) struct Candidate {
    pub(super) commit: String,
    /// Where the branch was.
    pub(super) from: String,
    /// Where it is looked at.
    pub(super) folder: PathBuf,
}

/// Why an attempt is ended by the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The user wants the run to end.
    Interrupted,
    /// The agent goes round in circles.
    Looping,
    /// The agent would wait for its provider for long.
    RateLimited {
        /// How many seconds.
        wait: u64,
        /// Why, in its words.
        why: String,
    },
    /// Somebody else has moved or removed the task.
    TakenAway,
}

/// What is heard of an agent.
pub(super) struct Hearing {
    listener: Listener,
    format: agent::Format,
    /// A line that has not ended yet.
    line: Vec<u8>,
}

/// What is known of an attempt whose agent is through, while it is verified.
pub(super) struct Checking {
    pub(super) conclusion: Conclusion,
    pub(super) files: Vec<String>,
    pub(super) checks: Vec<Check>,
    pub(super) unverified: Vec<String>,
    pub(super) receipts: Vec<Receipt>,
    /// The commit that it is about.
    pub(super) commit: Option<String>,
}

impl Attempt {
    /// The number of a task that is gone from the plan.
    pub(super) const GONE: u32 = u32::MAX;

    /// Returns whether its task is gone from the plan.
    pub(super) fn is_gone(&self) -> bool {
        self.task == Attempt::GONE
    }
}

impl Hearing {
    pub(super) fn new(format: Format) -> Self {
        let format = format_of(format);
        Hearing {
            listener: Listener::new(format),
            format,
            line: Vec::new(),
        }
    }

    /// Takes in what an agent wrote, and returns what is news in it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Heard> {
        let mut news = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.keep(&rest[..end]);
            news.extend(self.end_line());
            rest = &rest[end + 1..];
        }
        self.keep(rest);
        news
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) -> Vec<Heard> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        self.listener.line(line.strip_suffix('\r').unwrap_or(&line))
    }

    /// Returns what all of it amounts to, with the file in which the agent may have reported.
    pub(super) fn conclude(mut self, ended: &Ended, result: &Path) -> (Conclusion, Vec<String>) {
        if !self.line.is_empty() {
            self.end_line();
        }
        let exit = match (ended.cause, ended.exit) {
            (Cause::Itself, Exit::Code(code)) => agent::Exit::Code(code),
            (Cause::Itself, Exit::Signal(signal)) => agent::Exit::Signal(signal),
            (Cause::Itself, Exit::Unknown) | (Cause::WallLimit | Cause::Silence | Cause::Cancelled, _) => {
                agent::Exit::Stopped
            }
        };
        let verdict = self.listener.finish(exit);
        match read_result(result) {
            Ok(file) => {
                let warnings = file.iter().flat_map(|file| &file.warnings).take(5);
                let remarks = warnings
                    .map(|found| format!("its result file: {}", found.message))
                    .collect();
                (conclude(verdict, file, self.format), remarks)
            }
            Err(why) => {
                // It had something to say, and perhaps not that it is done.
                let mut conclusion = conclude(verdict, None, self.format);
                if conclusion.end == End::Done {
                    let why = format!("its result file cannot be used: {why}");
                    conclusion.end = End::Failed { why };
                }
                (conclusion, Vec::new())
            }
        }
    }
}

/// Reads the file in which an agent may have reported; an empty one is as none. The error is why it cannot be used, in words.
fn read_result(path: &Path) -> Result<Option<ResultFile>, String> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return Ok(None);
    };
    if !metadata.is_file() {
        return Err("it is no file".to_owned());
    }
    if metadata.len() > MAX_RESULT_BYTES as u64 {
        return Err(format!("it has {} bytes", metadata.len()));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return Ok(None);
    }
    ResultFile::read(&text).map(Some).map_err(|findings| {
        let worst = findings.iter().find(|found| found.severity == Severity::Error);
        worst
            .or(findings.first())
            .map_or_else(String::new, |found| found.message.clone())
    })
}

/// Everything that goes into the process of an attempt.
pub(super) struct Launch<'a> {
    pub(super) agent: &'a Agent,
    pub(super) config: &'a Config,
    pub(super) prompt: &'a str,
    pub(super) attempt: &'a Attempt,
    pub(super) plan: &'a Path,
    pub(super) run: &'a str,
    /// The environment of all processes of the agent.
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) secrets: &'a [Secret],
}

/// Returns what processes of an agent get of the environment, and what is set for them: the same for all of its attempts.
pub(super) fn environment_of(agent: &Agent) -> Vec<(OsString, OsString)> {
    let own = agent.env.iter().map(String::as_str);
    let allowed: Vec<&str> = DEFAULT_ALLOWED.iter().copied().chain(own).collect();
    let set = agent.set.iter().map(|(name, value)| (name.into(), value.into()));
    allowed_environment(std::env::vars_os(), &allowed, set)
}

impl Launch<'_> {
    /// Returns what is to be started. The prompt must lie in its file by then.
    pub(super) fn spec(&self) -> Spec {
        let Launch {
            agent, config, attempt, ..
        } = self;
        let prompt_file = attempt.place.prompt();
        let arguments = agent.arguments(&Fillings {
            prompt: self.prompt,
            prompt_file: &prompt_file,
            result_file: &attempt.result,
            task: &attempt.name,
            folder: &attempt.folder,
        });
        let own = [
            ("PLANWRIGHT_RESULT", attempt.result.clone().into_os_string()),
            ("PLANWRIGHT_FOLDER", attempt.folder.clone().into_os_string()),
        ];
        let own = own.map(|(name, value)| (OsString::from(name), value));
        let tree = attempt.tree.iter().flat_map(|tree| tree.worktree.environment());
        // What comes last wins.
        let environment = self.environment.iter().cloned().chain(own).chain(tree).collect();
        Spec {
            arguments,
            folder: attempt.folder.clone(),
            environment,
            mark: mark_of_attempt(self.run, self.plan, &attempt.name, attempt.number),
            stdin: match agent.prompt {
                Channel::Stdin => Stdin::Bytes(self.prompt.as_bytes().to_vec()),
                Channel::File | Channel::Argument => Stdin::Nothing,
            },
            log: attempt.place.output(),
            max_log_bytes: config.run.log_cap,
            secrets: self.secrets.to_vec(),
            tells_output: true,
            wall_limit: Some(config.run.wall_limit),
            silence_limit: Some(config.run.silence_limit),
            grace: config.run.grace,
        }
    }
}

/// Ends everything with a mark; returns how many processes that were.
pub(super) fn end_all(mark: &Mark) -> usize {
    let left = orphans(mark, &[]);
    if !left.is_empty() {
        end(mark, &left, LEFTOVER_GRACE);
    }
    left.len()
}

/// Returns what the processes of all runs of a plan are known by, whatever became of their logs.
pub(super) fn mark_of_plan(plan: &Path) -> Mark {
    Mark::new([(PLAN_MARK, plan.as_os_str().to_owned())])
}

/// Returns what all processes of a run are known by.
pub(super) fn mark_of_run(run: &str, plan: &Path) -> Mark {
    Mark::new([
        ("PLANWRIGHT_RUN", OsString::from(run)),
        ("PLANWRIGHT_PLAN", plan.as_os_str().to_owned()),
    ])
}

/// Returns what the processes of an attempt are known by.
pub(super) fn mark_of_attempt(run: &str, plan: &Path, task: &str, attempt: u32) -> Mark {
    // A name of a plan is strangers' text: no variable can hold a zero.
    let task = task.replace('\0', "\u{fffd}");
    Mark::new([
        ("PLANWRIGHT_RUN", OsString::from(run)),
        ("PLANWRIGHT_PLAN", plan.as_os_str().to_owned()),
        ("PLANWRIGHT_TASK", task.into()),
        ("PLANWRIGHT_ATTEMPT", attempt.to_string().into()),
        (PLAN_MARK, plan.as_os_str().to_owned()),
    ])
}

fn format_of(format: Format) -> agent::Format {
    match format {
        Format::ClaudeStreamJson => agent::Format::Claude,
        Format::CodexJson => agent::Format::Codex,
        Format::GeminiStreamJson => agent::Format::Gemini,
        Format::OpencodeJson => agent::Format::Opencode,
        Format::QwenStreamJson => agent::Format::Qwen,
        Format::Aider => agent::Format::Aider,
        Format::Plain => agent::Format::Plain,
    }
}
