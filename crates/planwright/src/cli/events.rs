//! `planwright events`: the log of a run as lines, and while it grows.

use std::time::Duration;

use planwright_run::runs::{Follower, RunEvent, RunRecord};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::open_file;
use super::run::{EventForm, stem_of};
use super::run_arg::{Scope, SeenRun, unreadable};
use crate::render::events::{line, mentions};
use crate::render::quantity::day_and_clock;
use crate::render::rawko_events::RawkoEvents;
use crate::render::terminal::{Audience, harmless_json, one_line};

/// How long to wait between two looks at a log that grows.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// Print what happened in a run, one line per event.
///
/// Without RUN it is the newest run. With --json each line is the record as the log has it: `seq`, `time`, `kind` and `body`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright events                          the newest run
  planwright events -f                       and what happens from now on, until the run is over
  planwright events 20261116-0530 --task T001
  planwright events last --json | jq 'select(.kind == \"finished\") | .body'

Times are in UTC.")]
pub(crate) struct Args {
    /// The run: its id, the beginning of it, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN")]
    plan: Option<String>,

    /// Wait for more until the run is over.
    #[arg(long, short)]
    follow: bool,

    /// Only what is about this task.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// Print each record as JSON, one per line.
    #[arg(long)]
    json: bool,

    /// Print one JSON object per event, in another system's names and payloads.
    #[arg(long, value_enum, value_name = "SYSTEM", conflicts_with_all = ["json", "task"])]
    json_events: Option<EventForm>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let run = Scope::of(args.plan.as_deref())?.run(args.run.as_deref())?;
    let mut follower = Follower::new(&run.place.log());
    let mut vigil = Vigil::new(&run);
    let mut rawko = args
        .json_events
        .map(|EventForm::Rawko| rawko_events(&run))
        .transpose()?;
    let (mut n_seen, mut n_shown) = (0u64, 0u64);
    loop {
        let is_over = vigil.is_over();
        loop {
            let new = follower.more_as_written().map_err(|error| unreadable(&error))?;
            if new.is_empty() {
                break;
            }
            for (record, json) in &new {
                if n_seen == 0 && !args.json && rawko.is_none() {
                    begin(&run, record, output);
                }
                n_seen += 1;
                vigil.see(&record.event);
                if let Some(events) = &mut rawko {
                    events.take(record).iter().for_each(|line| output.line(line));
                } else if args.task.as_deref().is_none_or(|task| mentions(&record.event, task)) {
                    n_shown += 1;
                    show(args, record, json, output);
                }
            }
        }
        output.flush();
        if !args.follow || is_over || vigil.has_ended || output.is_unread() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    match &args.task {
        Some(task) if n_shown == 0 => Err(Failure::problem(
            format!(
                "nothing happened to a task `{}` in run {}",
                one_line(task),
                run.place.id()
            ),
            "`planwright events` without --task shows everything",
        )),
        _ => Ok(Exit::Success),
    }
}

/// Returns what tells a run in rawko's events, with its plan as it is now.
fn rawko_events(run: &SeenRun) -> anyhow::Result<RawkoEvents> {
    let path = run.plan().target;
    let opened = open_file(&path)?;
    let linked = opened.linked()?;
    Ok(RawkoEvents::new(&linked.plan, &linked.links, &stem_of(&path)))
}

fn begin(run: &SeenRun, first: &RunRecord, output: &mut Output) {
    output.remark(&format!(
        "run {} of {}, {} UTC",
        run.place.id(),
        one_line(&run.header.path),
        one_line(&day_and_clock(&first.time))
    ));
}

fn show(args: &Args, record: &RunRecord, json: &str, output: &mut Output) {
    match (args.json, output.audience()) {
        (false, _) => output.line(&line(record, output.paint())),
        (true, Audience::Program) => output.line(json),
        (true, Audience::Person) => output.line(&harmless_json(json)),
    }
}

/// Watches whether a run is still at work: it has not said that it ended, and somebody holds it.
pub(crate) struct Vigil<'r> {
    run: &'r SeenRun,
    /// How many looks in a row nobody held the run.
    n_alone: u32,
    /// Whether the last thing that the run said was that it is over.
    pub(crate) has_ended: bool,
}

impl<'r> Vigil<'r> {
    pub(crate) fn new(run: &'r SeenRun) -> Self {
        Vigil {
            run,
            n_alone: 0,
            has_ended: false,
        }
    }

    /// Takes note of an event.
    pub(crate) fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Ended(_) => self.has_ended = true,
            RunEvent::Begun(_) => self.has_ended = false,
            _ => {}
        }
    }

    /// Looks whether nobody holds the run any more, for the second time: the log is read once more after that.
    pub(crate) fn is_over(&mut self) -> bool {
        match self.run.live() {
            Some(_) => self.n_alone = 0,
            None => self.n_alone += 1,
        }
        self.n_alone >= 2
    }
}
