//! `planwright pause`, `resume` and `stop`: sends a request to a run in another process, and waits for its answer.

use std::time::Instant;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::clock;
use planwright_run::files::DiskFiles;
use planwright_run::runs::state::RunState;
use planwright_run::runs::{Ask, Asked, Follower, Outcome, RunEvent, RunRecord, ask};
use serde::Serialize;

use super::attempt::refuse_in_attempt;
use super::events::PAUSE;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::run_arg::{Scope, SeenRun, unreadable};
use super::text_arg::text_of;
use super::typed_command::with_plan;
use crate::render::terminal::one_line;

/// How many seconds a run has to answer.
const PATIENCE: u64 = 5;

/// What can be asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Pause,
    Resume,
    Stop,
    Kill,
}

/// Options of all three verbs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The plan whose run is meant: a path, an id or part of one. Default: the only run under way.
    #[arg(value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Who asks, for the log of the run.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Why, in your words; @FILE and - are read.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Do not wait for the run's answer.
    #[arg(long)]
    no_wait: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Have a run start nothing new, and end when what runs is through.
///
/// With --now what runs is ended as well: politely first, and its attempts are interrupted. Tasks that did not finish are
/// taken up again by the next `planwright run`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright stop                         let what runs finish, then end
  planwright stop --now --note \"wrong branch\"
  planwright stop tasks.json")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    ask: Args,

    /// End what runs too.
    #[arg(long)]
    now: bool,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    run: String,
    plan: String,
    /// `pause`, `resume`, `stop`, `kill`.
    asked: &'static str,
    /// Whether the run was as wanted before.
    already: bool,
    /// The kind of the event by which the run answered; null where nobody waited for one, or none came.
    answer: Option<String>,
}

impl Request {
    fn verb(self) -> &'static str {
        match self {
            Request::Pause => "pause",
            Request::Resume => "resume",
            Request::Stop => "stop",
            Request::Kill => "kill",
        }
    }

    /// Returns whether an event answers the request.
    fn is_answer(self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Ended(_) => true,
            RunEvent::Paused(_) => self == Request::Pause,
            RunEvent::Resumed(_) => self == Request::Resume,
            RunEvent::Stopping(_) => matches!(self, Request::Stop | Request::Kill),
            RunEvent::Finished(finished) => self == Request::Kill && finished.outcome == Outcome::Interrupted,
            _ => false,
        }
    }

    /// Returns why there is nothing to ask for, where that is so.
    fn is_met(self, run_state: &RunState) -> Option<&'static str> {
        match self {
            Request::Pause if run_state.stopping.is_some() => Some("is stopping: nothing new starts any more"),
            // What planwright paused by itself goes on by itself, unless somebody pauses it too.
            Request::Pause => run_state
                .paused
                .as_ref()
                .filter(|paused| !is_own(paused))
                .map(|_| "is paused already"),
            Request::Resume => match &run_state.paused {
                None => Some("is not paused"),
                Some(paused) if is_own(paused) => {
                    Some("waits until the plan file is fixed, and continues by itself then: see `planwright check`")
                }
                Some(_) => None,
            },
            Request::Stop => run_state
                .stopping
                .as_ref()
                .map(|_| "is stopping already; --now ends what runs too"),
            Request::Kill => None,
        }
    }

    /// Returns what the run does now, in words.
    fn done(self, answer: &RunEvent) -> &'static str {
        match (self, answer) {
            (_, RunEvent::Ended(_)) => "is over",
            (Request::Pause, _) => "is paused: nothing new starts until `planwright resume`",
            (Request::Resume, _) => "continues",
            (Request::Stop, _) => "starts nothing new, and ends when what runs is through",
            (Request::Kill, _) => "ends what runs",
        }
    }
}

/// Returns whether a run paused by itself.
fn is_own(paused: &Asked) -> bool {
    paused.by.as_deref() == Some("planwright")
}

pub(crate) fn run_stop(args: &StopArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let request = if args.now { Request::Kill } else { Request::Stop };
    run(request, &args.ask, output)
}

pub(crate) fn run(request: Request, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let note = args
        .note
        .as_deref()
        .map(|note| text_of("note", note, &mut false))
        .transpose()?;
    let scope = Scope::of(args.plan.as_deref())?;
    let what = format!("{} its own run", request.verb());
    let run = match live_run(&scope) {
        Ok(run) => run,
        Err(error) => {
            // In its checkout nothing runs.
            refuse_in_attempt(scope.root(), &what)?;
            return Err(error);
        }
    };
    refuse_in_attempt(run.place.root(), &what)?;
    let mut follower = Follower::new(&run.place.log());
    let mut run_state = RunState::default();
    for record in all(&mut follower)? {
        run_state.apply(&record);
    }
    if request == Request::Resume && run_state.stopping.is_some() {
        return Err(Failure::problem(
            format!("run {} is stopping, and starts nothing any more", run.place.id()),
            "`planwright run` continues the plan once it has ended",
        ));
    }
    if let Some(met) = request.is_met(&run_state) {
        return tell(request, args, &run, Told::Already(met), output);
    }
    let wanted = Ask {
        verb: request.verb().to_owned(),
        task: None,
        by: args.by.clone(),
        note,
        time: clock::now(),
    };
    ask(&DiskFiles, &run.place.requests(), &wanted).map_err(|error| {
        Failure::outside(
            format!("run {} cannot be asked: {error}", run.place.id()),
            "check that you may write to its folder in `.planwright/runs`",
        )
    })?;
    if args.no_wait {
        return tell(request, args, &run, Told::Asked, output);
    }
    let answer = wait(request, &run, &mut follower)?;
    let told = answer
        .as_ref()
        .map_or(Told::Silence, |record| Told::Answer(&record.event));
    tell(request, args, &run, told, output)
}

/// What came of asking.
enum Told<'a> {
    Already(&'static str),
    Asked,
    Answer(&'a RunEvent),
    Silence,
}

fn tell(request: Request, args: &Args, run: &SeenRun, told: Told<'_>, output: &mut Output) -> anyhow::Result<Exit> {
    let (id, plan) = (run.place.id(), one_line(&run.header.path));
    let verb = request.verb();
    if let Told::Silence = told {
        if run.live().is_none() {
            return Err(Failure::problem(
                format!("run {id} of `{plan}` is not there any more, and did not answer"),
                "`planwright runs` shows how it stands",
            ));
        }
        return Err(Failure::outside(
            format!("run {id} of `{plan}` has not answered within {PATIENCE} s; it may still do what it was asked for"),
            "`planwright events -f` shows what it does",
        ));
    }
    if args.json {
        output.json(&Report {
            schema_version: "planwright.ask/v1",
            run: id.to_owned(),
            plan: run.header.path.clone(),
            asked: verb,
            already: matches!(told, Told::Already(_)),
            answer: match told {
                Told::Answer(event) => Some(event.name().to_owned()),
                _ => None,
            },
        })?;
        return Ok(Exit::Success);
    }
    let words = match told {
        Told::Already(how) => how.to_owned(),
        Told::Answer(event) => request.done(event).to_owned(),
        Told::Asked | Told::Silence => format!("was asked to {}", if verb == "kill" { "end at once" } else { verb }),
    };
    output.line(&format!("run {id} of {plan} {words}"));
    Ok(Exit::Success)
}

/// Returns the run that goes on.
fn live_run(scope: &Scope) -> anyhow::Result<SeenRun> {
    let mut newest = None;
    let mut live = Vec::new();
    let mut plans = std::collections::HashSet::new();
    let mut unread = None;
    for run in scope.runs()? {
        let run = match run {
            Ok(run) => run,
            Err((_, error)) => {
                unread.get_or_insert(error);
                continue;
            }
        };
        // One run of a plan goes on at a time.
        if plans.contains(&run.header.path) {
            continue;
        }
        if run.live().is_some() {
            plans.insert(run.header.path.clone());
            live.push(run);
        } else if newest.is_none() {
            newest = Some(run);
        }
    }
    match (live.len(), newest) {
        (1, _) => Ok(live.swap_remove(0)),
        // What runs may be what cannot be read.
        (0, _) if unread.is_some() => Err(unread.map_or_else(|| scope.nothing_ran(), |error| unreadable(&error))),
        (0, None) => scope.require_plan().and(Err(Failure::problem(
            format!("nothing runs{}, and nothing ever has", scope.words()),
            "`planwright run` begins a run",
        ))),
        (0, Some(last)) => {
            let stands = last
                .run_state()
                .map_or("damaged".to_owned(), |(_, standing)| standing.words());
            Err(Failure::problem(
                format!(
                    "nothing runs{}; the last run was {} ({stands})",
                    scope.words(),
                    last.place.id()
                ),
                "`planwright runs` shows all of them, `planwright run` begins or continues one",
            ))
        }
        (_, _) => {
            let mut message = "several plans are being run:".to_owned();
            for run in live.iter().take(20) {
                message.push_str(&format!("\n  {}", one_line(&run.header.path)));
            }
            let first = live.first().map_or("", |run| run.header.path.as_str());
            Err(Failure::problem(
                message,
                format!("name one of them: `{}`", with_plan(first)),
            ))
        }
    }
}

fn all(follower: &mut Follower) -> anyhow::Result<Vec<RunRecord>> {
    follower.more().map_err(|error| unreadable(&error))
}

/// Waits for the run's answer; none where none comes in time.
fn wait(request: Request, run: &SeenRun, follower: &mut Follower) -> anyhow::Result<Option<RunRecord>> {
    let start = Instant::now();
    loop {
        let is_gone = run.live().is_none();
        let answer = all(follower)?
            .into_iter()
            .find(|record| request.is_answer(&record.event));
        if answer.is_some() || is_gone || start.elapsed().as_secs() >= PATIENCE {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE / 4);
    }
}
