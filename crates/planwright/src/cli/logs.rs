//! `planwright logs`: prints the output of an agent, and follows it.

use std::ops::ControlFlow;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::shell::command_line;
use planwright_verbs::logs::{LogEntry, LogPart, LoggedTask, LogsReport, LogsRequest, logs, read_log};
use planwright_verbs::text::{count, cut, duration, one_line, shown_name};

use super::{Exit, Output, Result};
use crate::render::agent_log::AgentLog;
use crate::render::terminal::{Audience, harmless_line};

/// Print what an agent printed while it worked on a task.
///
/// Without TASK, lists the tasks with logs. Prints the newest attempt of the newest run that tried the task, unless options choose
/// another. At a terminal the JSON of known agents is shown as text: messages, tools, errors and the result. Into a pipe or a file the
/// log is printed unchanged.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright logs                        which tasks have logs
  planwright logs T001                   the agent's output
  planwright logs T001 -f                until the attempt is over
  planwright logs T001 --raw             the lines as the agent printed them
  planwright logs T001 --prompt          the prompt of the agent
  planwright logs T001 --fence           what its fence allowed
  planwright logs T001 --checks          the output of its verification
  planwright logs T001 --run last --attempt 1 > t001.log")]
pub(crate) struct Args {
    /// The task, as its plan names it: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// The run: its id, the beginning of its id, or `last`. Default: the newest that tried the task.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,

    /// The attempt of the run, counted from 1. Default: the newest.
    #[arg(long, value_name = "N", requires = "task")]
    attempt: Option<u32>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Continue until the attempt ends.
    #[arg(long, short, requires = "task", conflicts_with_all = ["prompt", "checks", "fence", "json"])]
    follow: bool,

    /// Print the prompt of the agent instead.
    #[arg(long, requires = "task", conflicts_with = "checks")]
    prompt: bool,

    /// Print what the fence allowed the agent instead, as JSON.
    #[arg(long, requires = "task", conflicts_with_all = ["checks", "prompt"])]
    fence: bool,

    /// Print the output of the verification commands instead.
    #[arg(long, requires = "task")]
    checks: bool,

    /// Print the log unchanged, even at a terminal.
    #[arg(long, requires = "task", conflicts_with_all = ["readable", "prompt", "checks", "fence", "json"])]
    raw: bool,

    /// Print messages and tools as text, even into a pipe or a file.
    #[arg(long, requires = "task", conflicts_with_all = ["prompt", "checks", "fence", "json"])]
    readable: bool,

    /// Print the list of logs with their paths as JSON.
    #[arg(long, conflicts_with_all = ["prompt", "checks", "fence"])]
    json: bool,
}

impl Args {
    fn part(&self) -> LogPart {
        match () {
            () if self.prompt => LogPart::Prompt,
            () if self.fence => LogPart::Fence,
            () if self.checks => LogPart::Checks,
            () if self.follow => LogPart::Following,
            () => LogPart::Output,
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = LogsRequest {
        task: args.task.clone(),
        run: args.run.clone(),
        attempt: args.attempt,
        plan: args.plan.clone(),
    };
    let workspace = output.workspace();
    match &args.task {
        Some(task) if !args.json => {
            let mut lines = LogLines::new(args, output);
            read_log(&workspace, &request, task, args.part(), &mut |entry| {
                lines.take(entry, output);
                match output.is_unread() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
        }
        _ => {
            let report = logs(&workspace, &request)?;
            match args.json {
                true => output.json(&report)?,
                false => draw(&report, output),
            }
        }
    }
    Ok(Exit::Success)
}

fn draw(report: &LogsReport, output: &mut Output) {
    output.remark(&format!("run {} of {}", report.run, one_line(&report.plan)));
    report.tasks.iter().for_each(|task| output.line(&task_line(task)));
    if report.tasks.is_empty() {
        output.remark("no task has been tried in this run");
    }
}

fn task_line(task: &LoggedTask) -> String {
    let last = task.attempts.last();
    let took = task
        .took
        .map(|time| format!(", {}", duration(time)))
        .unwrap_or_default();
    let fence = last.and_then(|last| last.fence.as_deref());
    let fence = fence.map_or_else(String::new, |level| format!(", fence {}", one_line(level)));
    format!(
        "{:<12}  {:<11}  {}{took}, {} bytes{fence}",
        cut(&shown_name(&task.task), 40),
        task.state,
        count(task.attempts.len() as u64, "attempt"),
        last.map_or(0, |last| last.n_bytes),
    )
}

/// Prints a log for its reader: exactly for programs, without control sequences for people.
struct LogLines {
    /// The start of an unfinished line.
    begun: Vec<u8>,
    /// Reads the JSON of agents; none if lines are printed unchanged.
    log: Option<AgentLog>,
}

/// The longest line with an agent's JSON.
const MAX_EVENT: usize = 4 * 1024 * 1024;

/// The longest line that is not split.
const MAX_LINE: usize = 64 * 1024;

impl LogLines {
    fn new(args: &Args, output: &Output) -> Self {
        let is_of_agent = matches!(args.part(), LogPart::Output | LogPart::Following);
        let is_readable = args.readable || !args.raw && output.audience() == Audience::Person;
        LogLines {
            begun: Vec::new(),
            log: (is_of_agent && is_readable).then(AgentLog::default),
        }
    }

    fn take(&mut self, entry: LogEntry<'_>, output: &mut Output) {
        match entry {
            LogEntry::Check(receipt) => output.remark(&format!(
                "$ {}  ({} in {})",
                one_line(&command_line(&receipt.command)),
                one_line(&receipt.exit),
                duration(receipt.milliseconds)
            )),
            LogEntry::Bytes(bytes) => self.take_bytes(bytes, output),
            LogEntry::End => self.finish(output),
            LogEntry::UpToDate => output.flush(),
        }
    }

    fn take_bytes(&mut self, bytes: &[u8], output: &mut Output) {
        if output.audience() == Audience::Program && self.log.is_none() {
            // In a workflow the pipe most likely leads to the runner, which interprets lines.
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

    /// Prints the last line, which may have no line break.
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
