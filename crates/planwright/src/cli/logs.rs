//! `planwright logs`: prints the output of an agent, and follows it.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::check::nearest_name;
use planwright_core::plan::State;
use planwright_run::files::open_to_read;
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::take_states;
use planwright_run::runs::state::{AttemptRun, RunState, TaskRun};
use planwright_run::runs::{AttemptPlace, Follower};
use planwright_run::shell::command_line;
use planwright_run::store::load;
use serde::Serialize;

use super::events::{PAUSE, Vigil};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::run_arg::{Scope, SeenRun, Standing, unreadable};
use crate::render::agent_log::AgentLog;
use crate::render::quantity::{count, duration};
use crate::render::terminal::{Audience, cut, harmless_line, one_line, shown_name};

/// Print what an agent printed while it worked on a task.
///
/// Without TASK, lists which tasks have logs. It is the newest attempt in the newest run that tried the task, unless told. At a terminal
/// the JSON of known agents is shown as text: what the agent said, its tools, errors and the result. Into a pipe or a file the bytes are
/// those of the log.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright logs                        which tasks have logs
  planwright logs T001                   the agent's output
  planwright logs T001 -f                until the attempt is over
  planwright logs T001 --raw             the lines as the agent printed them
  planwright logs T001 --prompt          what the agent was told
  planwright logs T001 --fence           what its fence allowed
  planwright logs T001 --checks          the output of its verification
  planwright logs T001 --run last --attempt 1 > t001.log")]
pub(crate) struct Args {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// The run: its id, the beginning of it, or `last`. Default: the newest that tried the task.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,

    /// Which attempt of that run, counted from 1. Default: the newest.
    #[arg(long, value_name = "N", requires = "task")]
    attempt: Option<u32>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Wait for more until the attempt is over.
    #[arg(long, short, requires = "task", conflicts_with_all = ["prompt", "checks", "fence", "json"])]
    follow: bool,

    /// What the agent was told instead.
    #[arg(long, requires = "task", conflicts_with = "checks")]
    prompt: bool,

    /// What its fence let the agent do instead, as JSON.
    #[arg(long, requires = "task", conflicts_with_all = ["checks", "prompt"])]
    fence: bool,

    /// What the commands printed that verified it instead.
    #[arg(long, requires = "task")]
    checks: bool,

    /// The lines as the agent printed them, also at a terminal.
    #[arg(long, requires = "task", conflicts_with_all = ["readable", "prompt", "checks", "fence", "json"])]
    raw: bool,

    /// What the agent said and did, as at a terminal, also into a pipe or a file.
    #[arg(long, requires = "task", conflicts_with_all = ["prompt", "checks", "fence", "json"])]
    readable: bool,

    /// Print as JSON which logs there are, and where.
    #[arg(long, conflicts_with_all = ["prompt", "checks", "fence"])]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    run: String,
    plan: String,
    tasks: Vec<TaskReport>,
}

#[derive(Serialize)]
struct TaskReport {
    task: String,
    state: &'static str,
    attempts: Vec<AttemptReport>,
}

#[derive(Serialize)]
struct AttemptReport {
    attempt: u32,
    agent: String,
    started: String,
    outcome: Option<String>,
    /// How strictly the agent was fenced; null where it was not.
    fence: Option<String>,
    /// What the fence allowed.
    policy: Option<String>,
    /// The agent's output; null where there is none. The same for the others.
    output: Option<String>,
    n_bytes: u64,
    prompt: Option<String>,
    result: Option<String>,
    checks: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let scope = Scope::of(args.plan.as_deref())?;
    let Some(task) = &args.task else {
        let run = scope.run(args.run.as_deref())?;
        let (run_state, _) = run.run_state()?;
        return list(args, &run, run_state.tasks(), output);
    };
    let (run, run_state) = match args.follow {
        true => run_to_follow(&scope, args, task, output)?,
        false => run_with(&scope, args, task)?,
    };
    let found = run_state.task(task).ok_or_else(|| unknown(&run, &run_state, task))?;
    if args.json {
        return list(args, &run, std::slice::from_ref(found), output);
    }
    let attempt = chosen(args, &run, found)?;
    let place = run.place.attempt(&attempt.name, attempt.attempt);
    match () {
        () if args.prompt => print(&place.prompt(), &missing(&run, task, attempt, "prompt"), output),
        () if args.fence && attempt.fence.is_none() => Err(Failure::problem(
            format!(
                "{} was not fenced in attempt {} of run {}",
                cut(&shown_name(task), 60),
                attempt.attempt,
                run.place.id()
            ),
            "`planwright config` shows run.fence, and `planwright doctor` whether this system has fences",
        )),
        () if args.fence => print(&place.fence(), &missing(&run, task, attempt, "fence"), output),
        () if args.checks => print_checks(&place, attempt, &missing(&run, task, attempt, "verification"), output),
        () if args.follow => follow(
            &run,
            task,
            attempt.attempt,
            Tail::of_agent(&place.output(), args, output),
            output,
        ),
        () => print_output(Tail::of_agent(&place.output(), args, output), output),
    }
}

/// Returns the run that is meant: the one that is named, or the newest that tried the task.
fn run_with(scope: &Scope, args: &Args, task: &str) -> anyhow::Result<(SeenRun, RunState)> {
    if args.run.is_none() {
        for run in scope.runs()?.flatten() {
            let Ok((run_state, _)) = run.run_state() else {
                continue;
            };
            if run_state.task(task).is_some_and(|task| !task.attempts.is_empty()) {
                return Ok((run, run_state));
            }
        }
    }
    let run = scope.run(args.run.as_deref())?;
    let (run_state, _) = run.run_state()?;
    Ok((run, run_state))
}

/// Returns the run to follow a task in. One that goes on and has not come to the task is waited for.
fn run_to_follow(scope: &Scope, args: &Args, task: &str, output: &mut Output) -> anyhow::Result<(SeenRun, RunState)> {
    let run = scope.run(args.run.as_deref())?;
    let has_come = |run_state: &RunState| {
        let attempts = run_state.task(task).map_or(&[][..], |task| &task.attempts);
        attempts
            .iter()
            .any(|one| args.attempt.is_none_or(|number| one.attempt == number))
    };
    let mut has_told = false;
    loop {
        let (run_state, standing) = run.run_state()?;
        let is_done = has_come(&run_state) || !matches!(standing, Standing::Running { .. }) || output.is_unread();
        if !is_done && is_in_plan(&run, task) {
            if !std::mem::replace(&mut has_told, true) {
                output.remark(&format!("run {} has not come to it yet; waiting", run.place.id()));
                output.flush();
            }
            std::thread::sleep(PAUSE);
            continue;
        }
        return match has_come(&run_state) {
            true => Ok((run, run_state)),
            false => run_with(scope, args, task),
        };
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

fn chosen<'a>(args: &Args, run: &SeenRun, task: &'a TaskRun) -> anyhow::Result<&'a AttemptRun> {
    let name = cut(&shown_name(&task.task), 60);
    let wanted = match args.attempt {
        None => task.last(),
        Some(number) => task.attempts.iter().rev().find(|attempt| attempt.attempt == number),
    };
    wanted.ok_or_else(|| {
        let n_attempts = task.attempts.len() as u64;
        let message = match args.attempt {
            Some(number) => format!("run {} has no attempt {number} of {name}", run.place.id()),
            None => format!("run {} has not tried {name}", run.place.id()),
        };
        Failure::problem(message, format!("it has {} of it", count(n_attempts, "attempt")))
    })
}

fn unknown(run: &SeenRun, run_state: &RunState, task: &str) -> anyhow::Error {
    let tried = run_state.tasks().iter().filter(|task| !task.attempts.is_empty());
    let mut names: Vec<String> = tried.take(13).map(|task| cut(&shown_name(&task.task), 40)).collect();
    if names.len() > 12 {
        names.truncate(12);
        names.push("…".to_owned());
    }
    let message = format!("run {} knows no task `{}`", run.place.id(), cut(&shown_name(task), 60));
    let tried = run_state.tasks().iter().filter(|task| !task.attempts.is_empty());
    let nearest = nearest_name(task, tried.map(|task| task.task.as_str()));
    let meant = nearest.map_or_else(String::new, |name| format!("did you mean `{}`? ", shown_name(name)));
    let help = match names.is_empty() {
        true => "it has tried none yet".to_owned(),
        false => format!("{meant}it has tried {}", names.join(", ")),
    };
    Failure::problem(message, help)
}

fn missing(run: &SeenRun, task: &str, attempt: &AttemptRun, what: &str) -> String {
    let name = cut(&shown_name(task), 60);
    format!(
        "there is no {what} of {name}, attempt {}, in run {}",
        attempt.attempt,
        run.place.id()
    )
}

fn list(args: &Args, run: &SeenRun, tasks: &[TaskRun], output: &mut Output) -> anyhow::Result<Exit> {
    if args.json {
        let tried = tasks.iter().filter(|task| !task.attempts.is_empty());
        output.json(&Report {
            schema_version: "planwright.logs/v1",
            run: run.place.id().to_owned(),
            plan: run.header.path.clone(),
            tasks: tried.map(|task| report(run, task)).collect(),
        })?;
        return Ok(Exit::Success);
    }
    output.remark(&format!("run {} of {}", run.place.id(), one_line(&run.header.path)));
    let mut is_empty = true;
    for task in tasks.iter().filter(|task| !task.attempts.is_empty()) {
        is_empty = false;
        let last = task.last();
        let n_bytes = last.map_or(0, |last| size(&run.place.attempt(&last.name, last.attempt).output()));
        let took = task
            .took()
            .map(|time| format!(", {}", duration(time)))
            .unwrap_or_default();
        let fence = last.and_then(|last| last.fence.as_deref());
        let fence = fence.map_or_else(String::new, |level| format!(", fence {}", one_line(level)));
        output.line(&format!(
            "{:<12}  {:<11}  {}{took}, {n_bytes} bytes{fence}",
            cut(&shown_name(&task.task), 40),
            task.state.name(),
            count(task.attempts.len() as u64, "attempt"),
        ));
    }
    if is_empty {
        output.remark("no task has been tried in this run");
    }
    Ok(Exit::Success)
}

fn report(run: &SeenRun, task: &TaskRun) -> TaskReport {
    let attempts = task.attempts.iter().map(|attempt| {
        let place = run.place.attempt(&attempt.name, attempt.attempt);
        AttemptReport {
            attempt: attempt.attempt,
            agent: attempt.agent.clone(),
            started: attempt.started.clone(),
            outcome: attempt.outcome.as_ref().map(|outcome| outcome.to_string()),
            fence: attempt.fence.clone(),
            policy: existing(place.fence()),
            n_bytes: size(&place.output()),
            output: existing(place.output()),
            prompt: existing(place.prompt()),
            result: existing(place.result()),
            checks: (1..=attempt.receipts.len())
                .filter_map(|number| existing(place.check(number)))
                .collect(),
        }
    });
    TaskReport {
        task: task.task.clone(),
        state: task.state.name(),
        attempts: attempts.collect(),
    }
}

fn existing(path: PathBuf) -> Option<String> {
    path.is_file().then(|| path.to_string_lossy().into_owned())
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Prints the output of an attempt. Where it printed nothing there is no file.
fn print_output(mut tail: Tail, output: &mut Output) -> anyhow::Result<Exit> {
    if !tail.more(output)? {
        output.remark("it has printed nothing");
    }
    tail.finish(output);
    Ok(Exit::Success)
}

fn print(path: &Path, missing: &str, output: &mut Output) -> anyhow::Result<Exit> {
    let mut tail = Tail::new(path);
    if !tail.more(output)? {
        return Err(Failure::problem(
            missing,
            "the file may have been removed; `planwright logs` lists what there is",
        ));
    }
    tail.finish(output);
    Ok(Exit::Success)
}

fn print_checks(
    place: &AttemptPlace,
    attempt: &AttemptRun,
    missing: &str,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    if attempt.receipts.is_empty() {
        return Err(Failure::problem(missing, "no command has verified it, or not yet"));
    }
    for (number, receipt) in (1..).zip(&attempt.receipts) {
        output.remark(&format!(
            "$ {}  ({} in {})",
            one_line(&command_line(&receipt.command)),
            one_line(&receipt.exit),
            duration(receipt.milliseconds)
        ));
        let mut tail = Tail::new(&place.check(number));
        // Where the file is gone, the receipt has its end still.
        if !tail.more(output)? {
            tail.take(receipt.tail.as_bytes(), output);
        }
        tail.finish(output);
    }
    Ok(Exit::Success)
}

/// Prints a log while it grows, until its attempt is over or nobody is at the run any more.
fn follow(run: &SeenRun, task: &str, attempt: u32, mut tail: Tail, output: &mut Output) -> anyhow::Result<Exit> {
    let mut follower = Follower::new(&run.place.log());
    let mut vigil = Vigil::new(run);
    let mut run_state = RunState::default();
    loop {
        let mut is_over = vigil.is_over();
        for record in follower.more().map_err(|error| unreadable(&error))? {
            vigil.see(&record.event);
            run_state.apply(&record);
        }
        let attempts = run_state
            .task(task)
            .map(|task| task.attempts.as_slice())
            .unwrap_or_default();
        let found = attempts.iter().rev().find(|one| one.attempt == attempt);
        is_over |= vigil.has_ended || found.is_some_and(|found| found.outcome.is_some());
        // After the end was seen, so that nothing of the output is missed.
        tail.more(output)?;
        output.flush();
        if is_over || output.is_unread() {
            tail.finish(output);
            return Ok(Exit::Success);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Reads a file that may grow, each time what is new, and prints it for whoever reads.
struct Tail {
    path: PathBuf,
    n_bytes: u64,
    /// The beginning of a line whose end has not been written.
    begun: Vec<u8>,
    /// Reads the JSON of agents; none where lines are printed as they are.
    log: Option<AgentLog>,
}

/// How long a line with JSON of an agent may be.
const MAX_EVENT: usize = 4 * 1024 * 1024;

/// How long a line may be before its parts are shown as lines of their own.
const MAX_LINE: usize = 64 * 1024;

impl Tail {
    fn new(path: &Path) -> Self {
        Tail {
            path: path.to_owned(),
            n_bytes: 0,
            begun: Vec::new(),
            log: None,
        }
    }

    /// Returns a reader of the output of an agent, for the reader of the results.
    fn of_agent(path: &Path, args: &Args, output: &Output) -> Self {
        let is_readable = args.readable || !args.raw && output.audience() == Audience::Person;
        Tail {
            log: is_readable.then(AgentLog::default),
            ..Tail::new(path)
        }
    }

    /// Prints what came since the last call. Returns whether there is a file.
    fn more(&mut self, output: &mut Output) -> anyhow::Result<bool> {
        self.read(output)
            .map_err(|error| Failure::environment(&error, "check that you may read `.planwright/runs`"))
    }

    fn read(&mut self, output: &mut Output) -> io::Result<bool> {
        let mut file = match open_to_read(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // A file that became shorter was begun anew.
        if file.metadata()?.len() < self.n_bytes {
            self.n_bytes = 0;
            self.finish(output);
        }
        file.seek(SeekFrom::Start(self.n_bytes))?;
        let mut chunk = [0; 16 * 1024];
        loop {
            let n_read = file.read(&mut chunk)?;
            if n_read == 0 || output.is_unread() {
                return Ok(true);
            }
            self.n_bytes += n_read as u64;
            self.take(chunk.get(..n_read).unwrap_or_default(), output);
        }
    }

    fn take(&mut self, bytes: &[u8], output: &mut Output) {
        if output.audience() == Audience::Program && self.log.is_none() {
            // In a workflow the pipe most likely leads to the runner, which acts on lines.
            match is_in_workflow() {
                true => output.write_lines(bytes),
                false => output.write_bytes(bytes),
            }
            return;
        }
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.begun.extend_from_slice(part);
            let most = if self.log.is_some() { MAX_EVENT } else { MAX_LINE };
            if part.ends_with(b"\n") || self.begun.len() > most {
                self.print_begun(output);
            }
        }
    }

    /// Prints the last line, which need not have an end.
    fn finish(&mut self, output: &mut Output) {
        self.print_begun(output);
        let width = output.width();
        if let Some(rest) = self.log.as_mut().and_then(|log| log.end(width)) {
            output.line(&rest);
        }
    }

    fn print_begun(&mut self, output: &mut Output) {
        if self.begun.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&self.begun);
        let width = output.width();
        let shown = match &mut self.log {
            Some(log) => log.line(&text, width),
            None => Some(harmless_line(&text)),
        };
        if let Some(shown) = shown {
            output.line(&shown);
        }
        self.begun.clear();
    }
}

/// Returns whether GitHub Actions or Azure Pipelines runs this.
fn is_in_workflow() -> bool {
    ["GITHUB_ACTIONS", "TF_BUILD"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
