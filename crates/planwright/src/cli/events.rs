//! `planwright events`: prints the log of a run as lines, and follows it.

use std::ops::ControlFlow;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::clock::to_the_second;
use planwright_run::runs::SeenRun;
use planwright_verbs::events::{EventEntry, EventsRequest, events};
use planwright_verbs::plans::{open_file, stem_of};
use planwright_verbs::text::one_line;

use super::{Exit, Output, Result};
use crate::compat::{EventConverter, EventForm};
use crate::render::events::line;

/// Print what happened in a run, one line per event.
///
/// With --json each line is one record: `seq`, `time`, `kind` and `body`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright events                     the newest run
  planwright events -f                  until the run is over
  planwright events 20261116-0530 --task T001
  planwright events last --json | jq 'select(.kind == \"finished\") | .body'

Times are local; with --json they are RFC 3339 in UTC.")]
pub(crate) struct Args {
    /// The run: its id, the beginning of its id, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Continue until the run ends.
    #[arg(long, short)]
    follow: bool,

    /// Only events of this task.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// Print each record as JSON, one per line.
    #[arg(long)]
    json: bool,

    /// Print one JSON object per event, in another system's names and payloads.
    #[arg(long, value_enum, value_name = "SYSTEM", conflicts_with_all = ["json", "task"])]
    json_events: Option<EventForm>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = EventsRequest {
        run: args.run.clone(),
        plan: args.plan.clone(),
        follow: args.follow,
        task: args.task.clone(),
    };
    let mut converter = None;
    let mut failed = None;
    events(&output.workspace(), &request, &mut |entry| {
        match entry {
            EventEntry::Run { run, time } => match args.json_events.map(|form| converter_of(form, run)) {
                None => begin(args, run, time, output),
                Some(Ok(events)) => converter = Some(events),
                Some(Err(error)) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            },
            EventEntry::Record { record, json } => match &mut converter {
                Some(events) => events.take(record).iter().for_each(|line| output.json_line(line)),
                None if args.json => output.json_line(json),
                None => output.line(&line(record, output.paint(), output.record_width())),
            },
            EventEntry::UpToDate => output.flush(),
        }
        match output.is_unread() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    failed.map_or(Ok(Exit::Success), Err)
}

/// Returns a converter of a run's events, with its present plan.
fn converter_of(form: EventForm, run: &SeenRun) -> Result<EventConverter> {
    let path = run.plan().target;
    let opened = open_file(&path)?;
    let linked = opened.linked()?;
    Ok(form.converter(&linked.plan, &linked.links, &stem_of(&path)))
}

fn begin(args: &Args, run: &SeenRun, time: &str, output: &mut Output) {
    if !args.json {
        output.remark(&format!(
            "run {} of {}, {}",
            run.place.id(),
            one_line(&run.header.path),
            one_line(&to_the_second(time))
        ));
    }
}
