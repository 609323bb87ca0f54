//! `planwright events`: prints the log of a run as lines, and follows it.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::clock::to_the_second;
use planwright_run::files::DiskFiles;
use planwright_run::runs::{self, Follower, RunEvent, RunRecord};
use planwright_run::worker::{Process, is_alive};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::open_file;
use super::run::{EventForm, stem_of};
use super::run_arg::{Scope, SeenRun, unreadable};
use crate::render::events::{line, mentions};
use crate::render::rawko_events::RawkoEvents;
use crate::render::terminal::one_line;

/// How long to wait between two looks at a log that grows.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// Print what happened in a run, one line per event.
///
/// Without RUN it is the newest run. With --json each line is one record: `seq`, `time`, `kind` and `body`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright events                     the newest run
  planwright events -f                  until the run is over
  planwright events 20261116-0530 --task T001
  planwright events last --json | jq 'select(.kind == \"finished\") | .body'

Times are local; with --json they are RFC 3339 in UTC.")]
pub(crate) struct Args {
    /// The run: its id, the beginning of it, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
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
    let mut run = Scope::of(args.plan.as_deref())?.run(args.run.as_deref())?;
    let mut n_shown = 0;
    while let Some(next) = show_run(args, &run, &mut n_shown, output)? {
        run = next;
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

/// Shows one run. Returns the one that goes on after it with a new version of its plan, where somebody follows and that comes.
fn show_run(args: &Args, run: &SeenRun, n_shown: &mut u64, output: &mut Output) -> anyhow::Result<Option<SeenRun>> {
    let mut follower = Follower::new(&run.place.log());
    let mut vigil = Vigil::new(run);
    let mut rawko = args.json_events.map(|EventForm::Rawko| rawko_events(run)).transpose()?;
    let mut n_seen = 0u64;
    let mut runner = None;
    loop {
        let is_over = vigil.is_over();
        loop {
            let new = follower.more_as_written().map_err(|error| unreadable(&error))?;
            if new.is_empty() {
                break;
            }
            for (record, json) in &new {
                if n_seen == 0 && !args.json && rawko.is_none() {
                    begin(run, record, output);
                }
                if let RunEvent::Begun(begun) = &record.event {
                    runner = begun.start_time.clone().map(|start_time| Process {
                        pid: begun.pid,
                        start_time,
                        command: String::new(),
                    });
                }
                n_seen += 1;
                vigil.see(&record.event);
                if let Some(events) = &mut rawko {
                    events.take(record).iter().for_each(|line| output.json_line(line));
                } else if args.task.as_deref().is_none_or(|task| mentions(&record.event, task)) {
                    *n_shown += 1;
                    show(args, record, json, output);
                }
            }
        }
        output.flush();
        if !args.follow || output.is_unread() {
            return Ok(None);
        }
        if vigil.has_ended {
            return Ok(successor(run, runner.as_ref(), output));
        }
        if is_over {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits for the run that goes on after one that failed, as long as the process is there that may replan.
fn successor(run: &SeenRun, runner: Option<&Process>, output: &mut Output) -> Option<SeenRun> {
    loop {
        // Whether it is still there is asked before: what it wrote last is seen then.
        let may_come = runner.is_some_and(is_alive) && !output.is_unread();
        let next = run_after(run);
        if next.is_some() || !may_come {
            return next;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the run that began with a new version of a run's plan, because that had failed.
fn run_after(run: &SeenRun) -> Option<SeenRun> {
    let places = runs::list(&DiskFiles, run.place.root()).ok()?;
    let later = places
        .into_iter()
        .skip_while(|place| place.id() != run.place.id())
        .skip(1);
    let mut later = later.filter(|place| {
        let first = Follower::new(&place.log())
            .more()
            .unwrap_or_default()
            .into_iter()
            .next();
        let replanned = first.and_then(|first| match first.event {
            RunEvent::Begun(begun) => begun.replanned,
            _ => None,
        });
        replanned.is_some_and(|replanned| replanned.run.as_deref() == Some(run.place.id()))
    });
    let place = later.next()?;
    let header = runs::header(&place.log()).ok()?;
    Some(SeenRun { place, header })
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
        "run {} of {}, {}",
        run.place.id(),
        one_line(&run.header.path),
        one_line(&to_the_second(&first.time))
    ));
}

fn show(args: &Args, record: &RunRecord, json: &str, output: &mut Output) {
    match args.json {
        false => output.line(&line(record, output.paint(), output.record_width())),
        true => output.json_line(json),
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
