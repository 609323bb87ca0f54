//! The verb `logs`: the logs of a run's attempts, and their content, also while they grow.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use planwright_core::check::nearest_name;
use planwright_core::plan::State;
use planwright_run::files::open_to_read;
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::take_states;
use planwright_run::runs::state::{AttemptRun, RunState, TaskRun};
use planwright_run::runs::{AttemptPlace, LogFollower, Receipt, SeenRun};
use planwright_run::store::load;
use serde::{Deserialize, Serialize};

use crate::cancel::CancelToken;
use crate::failure::{Failure, Result};
use crate::plans::linked_plan;
use crate::run_history::{PAUSE, RunActivity, RunScope, RunStatus, judged, unreadable};
use crate::text::{count, cut, shown_name};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogsRequest {
    /// The task, by the plan's own name. None: all tasks with attempts.
    pub task: Option<String>,
    /// The id of the run, a prefix of it, or `last`. None: the newest that tried the task.
    pub run: Option<String>,
    /// The number of the attempt in that run, from 1. None: the newest.
    pub attempt: Option<u32>,
    /// Only runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogPart {
    /// The agent's output.
    #[default]
    Output,
    /// The agent's output, until its attempt ends.
    Following,
    /// The agent's prompt.
    Prompt,
    /// The policy of its fence, as JSON.
    Fence,
    /// The output of the commands that verified it.
    Checks,
}

#[derive(Serialize)]
pub struct LogsReport {
    pub schema_version: &'static str,
    pub run: String,
    pub plan: String,
    pub tasks: Vec<LoggedTask>,
}

#[derive(Serialize)]
pub struct LoggedTask {
    pub task: String,
    pub state: &'static str,
    pub attempts: Vec<LoggedAttempt>,
    /// How long its attempts took, in milliseconds.
    #[serde(skip)]
    pub took: Option<u64>,
}

#[derive(Serialize)]
pub struct LoggedAttempt {
    pub attempt: u32,
    pub agent: String,
    pub started: String,
    pub outcome: Option<String>,
    /// The mode of the agent's fence; null if it was not fenced.
    pub fence: Option<String>,
    /// The policy of the fence.
    pub policy: Option<String>,
    /// The agent's output; null if there is none, as for the others.
    pub output: Option<String>,
    pub n_bytes: u64,
    pub prompt: Option<String>,
    pub result: Option<String>,
    pub checks: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRequest {
    /// The task, by the plan's own name.
    pub task: String,
    #[serde(default)]
    pub part: LogPart,
    /// The id of the run, a prefix of it, or `last`. None: the newest that tried the task.
    pub run: Option<String>,
    /// The number of the attempt in that run, from 1. None: the newest.
    pub attempt: Option<u32>,
    /// Only runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
}

#[derive(Serialize)]
pub struct LogReport {
    pub schema_version: &'static str,
    pub task: String,
    /// One text, or one for each command that verified the attempt.
    pub texts: Vec<LogText>,
    /// Whether the log is longer than a report may be.
    pub cut: bool,
}

#[derive(Default, Serialize)]
pub struct LogText {
    /// The command that printed it, argument by argument; null for the agent.
    pub command: Option<Vec<String>>,
    /// How the command ended.
    pub exit: Option<String>,
    pub text: String,
}

/// What the reader of a log receives, in order.
pub enum LogEntry<'l> {
    /// The output of a command follows.
    Check(&'l Receipt),
    Bytes(&'l [u8]),
    /// The end of the text, with or without a line break.
    End,
    /// All existing entries were passed.
    UpToDate,
}

/// Receives the entries of a log, and returns whether to continue.
pub type LogReceiver<'f> = &'f mut dyn FnMut(LogEntry<'_>) -> ControlFlow<()>;

/// Lists the logs of a run, or of one task.
pub fn logs(workspace: &Workspace, request: &LogsRequest) -> Result<LogsReport> {
    let scope = RunScope::of(workspace, request.plan.as_deref())?;
    let task = request.task.as_ref().map(|task| own_name(&scope, request, task));
    let (run, run_state) = match &task {
        Some(task) => run_with(&scope, request, task)?,
        None => {
            let run = scope.run(request.run.as_deref())?;
            let (run_state, _) = judged(&run)?;
            (run, run_state)
        }
    };
    let tasks = match &task {
        Some(task) => std::slice::from_ref(run_state.task(task).ok_or_else(|| unknown(&run, &run_state, task))?),
        None => run_state.tasks(),
    };
    let tried = tasks.iter().filter(|task| !task.attempts.is_empty());
    Ok(LogsReport {
        schema_version: "planwright.logs/v1",
        run: run.place.id().to_owned(),
        plan: run.header.path.clone(),
        tasks: tried.map(|task| logged(&run, task)).collect(),
    })
}

/// Reads a log of an attempt at a task, until its end or until the receiver stops.
pub fn read_log(
    workspace: &Workspace,
    request: &LogsRequest,
    task: &str,
    part: LogPart,
    receive: LogReceiver<'_>,
) -> Result<()> {
    let scope = RunScope::of(workspace, request.plan.as_deref())?;
    let task = &own_name(&scope, request, task);
    let (run, run_state) = match part {
        LogPart::Following => run_to_follow(&scope, request, task, receive)?,
        _ => run_with(&scope, request, task)?,
    };
    let found = run_state.task(task).ok_or_else(|| unknown(&run, &run_state, task))?;
    let attempt = chosen(request, &run, found)?;
    let place = run.place.attempt(&attempt.name, attempt.attempt);
    let missing = |what: &str| {
        let name = cut(&shown_name(task), 60);
        let number = attempt.attempt;
        format!(
            "there is no {what} of {name}, attempt {number}, in run {}",
            run.place.id()
        )
    };
    match part {
        LogPart::Output => {
            if !read_file(&place.output(), receive)? {
                workspace.remark("it has printed nothing");
            }
            Ok(())
        }
        LogPart::Following => follow(&run, task, attempt.attempt, &place.output(), receive),
        LogPart::Prompt => read_existing(&place.prompt(), &missing("prompt"), receive),
        LogPart::Fence if attempt.process.fence.is_none() => Err(Failure::problem(
            format!(
                "{} was not fenced in attempt {} of run {}",
                cut(&shown_name(task), 60),
                attempt.attempt,
                run.place.id()
            ),
            "`planwright config` shows run.fence, and `planwright doctor` whether this system has fences",
        )),
        LogPart::Fence => read_existing(&place.fence(), &missing("fence"), receive),
        LogPart::Checks if attempt.verification.receipts.is_empty() => Err(Failure::problem(
            missing("verification"),
            "no command has verified it, or not yet",
        )),
        LogPart::Checks => read_checks(&place, attempt, receive),
    }
}

/// The longest content of a log in a report, in bytes.
const MAX_LOG: usize = 16 * 1024 * 1024;

/// Returns a log of an attempt at a task as one report, for callers that cannot receive entries.
pub fn log(workspace: &Workspace, request: &LogRequest, cancel: &CancelToken) -> Result<LogReport> {
    let scope = LogsRequest {
        task: Some(request.task.clone()),
        run: request.run.clone(),
        attempt: request.attempt,
        plan: request.plan.clone(),
    };
    let (mut texts, mut is_cut) = (Vec::new(), false);
    let mut bytes = Vec::new();
    let mut n_bytes = 0;
    let finish = |texts: &mut Vec<LogText>, bytes: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(&std::mem::take(bytes)).into_owned();
        if texts.is_empty() {
            texts.push(LogText::default());
        }
        if let Some(last) = texts.last_mut() {
            last.text.push_str(&text);
        }
    };
    read_log(workspace, &scope, &request.task, request.part, &mut |entry| {
        match entry {
            LogEntry::Check(receipt) => texts.push(LogText {
                command: Some(receipt.command.clone()),
                exit: Some(receipt.exit.clone()),
                text: String::new(),
            }),
            LogEntry::Bytes(more) => {
                let kept = more.get(..MAX_LOG.saturating_sub(n_bytes)).unwrap_or(more);
                is_cut |= kept.len() < more.len();
                n_bytes += kept.len();
                bytes.extend_from_slice(kept);
            }
            LogEntry::End => finish(&mut texts, &mut bytes),
            LogEntry::UpToDate => {}
        }
        match is_cut || cancel.exit().is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    if !bytes.is_empty() {
        finish(&mut texts, &mut bytes);
    }
    Ok(LogReport {
        schema_version: "planwright.log/v1",
        task: request.task.clone(),
        texts,
        cut: is_cut,
    })
}

/// Returns the requested run: the named one, or the newest that tried the task.
fn run_with(scope: &RunScope, request: &LogsRequest, task: &str) -> Result<(SeenRun, RunState)> {
    if request.run.is_none() {
        for run in scope.runs()?.flatten() {
            let Ok((run_state, _)) = judged(&run) else {
                continue;
            };
            if run_state.task(task).is_some_and(|task| !task.attempts.is_empty()) {
                return Ok((run, run_state));
            }
        }
    }
    let run = scope.run(request.run.as_deref())?;
    let (run_state, _) = judged(&run)?;
    Ok((run, run_state))
}

/// Returns the run in which to follow a task. Waits for an active one that has not started the task.
fn run_to_follow(
    scope: &RunScope,
    request: &LogsRequest,
    task: &str,
    receive: LogReceiver<'_>,
) -> Result<(SeenRun, RunState)> {
    let run = scope.run(request.run.as_deref())?;
    let has_come = |run_state: &RunState| {
        let attempts = run_state.task(task).map_or(&[][..], |task| &task.attempts);
        attempts
            .iter()
            .any(|one| request.attempt.is_none_or(|number| one.attempt == number))
    };
    let mut is_waiting = false;
    loop {
        let (run_state, standing) = judged(&run)?;
        if has_come(&run_state) {
            return Ok((run, run_state));
        }
        let may_come = matches!(standing, RunStatus::Running { .. }) && is_in_plan(&run, task);
        if !may_come || receive(LogEntry::UpToDate).is_break() {
            return run_with(scope, request, task);
        }
        if !std::mem::replace(&mut is_waiting, true) {
            let remark = format!("waiting: run {} has not started it yet", run.place.id());
            scope.workspace().remark(&remark);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns whether the plan of a run has a task, done or not.
fn is_in_plan(run: &SeenRun, task: &str) -> bool {
    let path = run.plan().target;
    let Ok(loaded) = load(&path) else {
        return false;
    };
    let mut inspection = inspect_file(&loaded.source, Some(&path), None).inspection;
    // Without them it has the states of its file, if any.
    take_states(&mut inspection, &path).ok();
    let found = inspection.plan.and_then(|linked| {
        let ix = linked.plan.find_task(task)?;
        linked.plan.tasks()[ix].status.state()
    });
    found.is_some_and(|state| !matches!(state, State::Done | State::Skipped))
}

/// Returns the name of a task that may be typed as its position in the plan of the last run.
fn own_name(scope: &RunScope<'_>, request: &LogsRequest, task: &str) -> String {
    let named = || {
        let is_position = task.split('.').all(|part| part.parse::<u32>().is_ok());
        let run = scope.run(request.run.as_deref()).ok().filter(|_| is_position)?;
        let (linked, _) = linked_plan(&scope.root().join(&run.header.path))?;
        let task_ix = linked.plan.find_task(task)?;
        Some(linked.plan.task_name(task_ix).into_owned())
    };
    named().unwrap_or_else(|| task.to_owned())
}

fn chosen<'a>(request: &LogsRequest, run: &SeenRun, task: &'a TaskRun) -> Result<&'a AttemptRun> {
    let name = cut(&shown_name(&task.task), 60);
    let wanted = match request.attempt {
        None => task.last(),
        Some(number) => task.attempts.iter().rev().find(|attempt| attempt.attempt == number),
    };
    wanted.ok_or_else(|| {
        let n_attempts = task.attempts.len() as u64;
        let message = match request.attempt {
            Some(number) => format!("run {} has no attempt {number} of {name}", run.place.id()),
            None => format!("run {} has not tried {name}", run.place.id()),
        };
        Failure::problem(message, format!("it has {} of it", count(n_attempts, "attempt")))
    })
}

fn unknown(run: &SeenRun, run_state: &RunState, task: &str) -> Failure {
    let tried = run_state.tasks().iter().filter(|task| !task.attempts.is_empty());
    let mut names: Vec<String> = tried.take(13).map(|task| cut(&shown_name(&task.task), 40)).collect();
    if names.len() > 12 {
        names.truncate(12);
        names.push("…".to_owned());
    }
    let message = format!("run {} has no task `{}`", run.place.id(), cut(&shown_name(task), 60));
    let tried = run_state.tasks().iter().filter(|task| !task.attempts.is_empty());
    let nearest = nearest_name(task, tried.map(|task| task.task.as_str()));
    let meant = nearest.map_or_else(String::new, |name| format!("did you mean `{}`? ", shown_name(name)));
    let help = match names.is_empty() {
        true => "it has tried none yet".to_owned(),
        false => format!("{meant}it has tried {}", names.join(", ")),
    };
    Failure::problem(message, help)
}

fn logged(run: &SeenRun, task: &TaskRun) -> LoggedTask {
    let attempts = task.attempts.iter().map(|attempt| {
        let place = run.place.attempt(&attempt.name, attempt.attempt);
        LoggedAttempt {
            attempt: attempt.attempt,
            agent: attempt.agent.clone(),
            started: attempt.times.started.clone(),
            outcome: attempt.outcome.as_ref().map(|outcome| outcome.to_string()),
            fence: attempt.process.fence.clone(),
            policy: existing(place.fence()),
            n_bytes: size(&place.output()),
            output: existing(place.output()),
            prompt: existing(place.prompt()),
            result: existing(place.result()),
            checks: (1..=attempt.verification.receipts.len())
                .filter_map(|number| existing(place.check(number)))
                .collect(),
        }
    });
    LoggedTask {
        task: task.task.clone(),
        state: task.state.name(),
        attempts: attempts.collect(),
        took: task.took(),
    }
}

fn existing(path: PathBuf) -> Option<String> {
    path.is_file().then(|| path.to_string_lossy().into_owned())
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Reads a file from beginning to end. Returns whether there is one.
fn read_file(path: &Path, receive: LogReceiver<'_>) -> Result<bool> {
    let is_there = GrowingFile::new(path).more(receive)?;
    let _ = receive(LogEntry::End);
    Ok(is_there)
}

fn read_existing(path: &Path, missing: &str, receive: LogReceiver<'_>) -> Result<()> {
    match read_file(path, receive)? {
        true => Ok(()),
        false => Err(Failure::problem(
            missing,
            "the file may have been removed; `planwright logs` lists what there is",
        )),
    }
}

fn read_checks(place: &AttemptPlace, attempt: &AttemptRun, receive: LogReceiver<'_>) -> Result<()> {
    for (number, receipt) in (1..).zip(&attempt.verification.receipts) {
        let _ = receive(LogEntry::Check(receipt));
        // If the file is gone, the receipt still has its end.
        if !GrowingFile::new(&place.check(number)).more(receive)? {
            let _ = receive(LogEntry::Bytes(receipt.tail.as_bytes()));
        }
        if receive(LogEntry::End).is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads a log while it grows, until its attempt ends or no process works on the run any more.
fn follow(run: &SeenRun, task: &str, attempt: u32, path: &Path, receive: LogReceiver<'_>) -> Result<()> {
    let mut log = GrowingFile::new(path);
    let mut follower = LogFollower::new(&run.place.log());
    let mut activity = RunActivity::new(run);
    let mut run_state = RunState::default();
    loop {
        let mut is_over = activity.is_over();
        for record in follower.more().map_err(|error| unreadable(&error))? {
            activity.take(&record.event);
            run_state.apply(&record);
        }
        let attempts = run_state
            .task(task)
            .map(|task| task.attempts.as_slice())
            .unwrap_or_default();
        let found = attempts.iter().rev().find(|one| one.attempt == attempt);
        is_over |= activity.has_ended || found.is_some_and(|found| found.outcome.is_some());
        // Read after the end was seen, so that no output is missed.
        log.more(receive)?;
        if receive(LogEntry::UpToDate).is_break() || is_over {
            let _ = receive(LogEntry::End);
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

/// A file that may grow; each read passes on the new part.
struct GrowingFile<'p> {
    path: &'p Path,
    n_bytes: u64,
}

impl<'p> GrowingFile<'p> {
    fn new(path: &'p Path) -> Self {
        GrowingFile { path, n_bytes: 0 }
    }

    /// Passes on what was added since the last call. Returns whether there is a file.
    fn more(&mut self, receive: LogReceiver<'_>) -> Result<bool> {
        self.read(receive)
            .map_err(|error| Failure::environment(&error, "check that you may read `.planwright/runs`"))
    }

    fn read(&mut self, receive: LogReceiver<'_>) -> io::Result<bool> {
        let mut file = match open_to_read(self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // A file that became shorter was restarted.
        if file.metadata()?.len() < self.n_bytes {
            self.n_bytes = 0;
            let _ = receive(LogEntry::End);
        }
        file.seek(SeekFrom::Start(self.n_bytes))?;
        let mut chunk = [0; 16 * 1024];
        loop {
            let n_read = file.read(&mut chunk)?;
            self.n_bytes += n_read as u64;
            let bytes = chunk.get(..n_read).unwrap_or_default();
            if bytes.is_empty() || receive(LogEntry::Bytes(bytes)).is_break() {
                return Ok(true);
            }
        }
    }
}
