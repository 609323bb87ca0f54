//! The verbs `pause`, `resume` and `stop`: send a request to a run in another process, and wait for its answer.

use std::collections::HashSet;
use std::time::Instant;

use planwright_run::clock;
use planwright_run::files::DiskFiles;
use planwright_run::runs::state::RunState;
use planwright_run::runs::{ControlRequest, LogFollower, Outcome, RequestRecord, RunEvent, RunRecord, SeenRun, ask};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::plans::refuse_in_attempt;
use crate::run_history::{PAUSE, RunScope, judged, unreadable};
use crate::text::one_line;
use crate::workspace::Workspace;

/// How many seconds a run has to answer.
const PATIENCE: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunControl {
    Pause,
    Resume,
    Stop,
    Kill,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlRunRequest {
    pub control: RunControl,
    /// The plan of the run: a path, an id or part of one. None: the only active run.
    #[serde(default)]
    pub plan: Option<String>,
    /// The author, for the log of the run.
    #[serde(default)]
    pub by: Option<String>,
    #[serde(default)]
    pub note: Option<String>,
    /// Whether not to wait for the answer of the run.
    #[serde(default)]
    pub no_wait: bool,
}

#[derive(Serialize)]
pub struct ControlReport {
    pub schema_version: &'static str,
    pub run: String,
    pub plan: String,
    /// `pause`, `resume`, `stop`, `kill`.
    pub asked: &'static str,
    /// Whether the run was already in the requested state.
    pub already: bool,
    /// The kind of the event that answered; null if the verb did not wait.
    pub answer: Option<String>,
    /// The state of the run now, in words that follow its name.
    #[serde(skip)]
    pub words: String,
}

impl RunControl {
    pub fn verb(self) -> &'static str {
        match self {
            RunControl::Pause => "pause",
            RunControl::Resume => "resume",
            RunControl::Stop => "stop",
            RunControl::Kill => "kill",
        }
    }

    fn is_answer(self, event: &RunEvent) -> bool {
        match event {
            RunEvent::RunEnded(_) => true,
            RunEvent::Paused(_) => self == RunControl::Pause,
            RunEvent::Resumed(_) => self == RunControl::Resume,
            RunEvent::Stopping(_) => matches!(self, RunControl::Stop | RunControl::Kill),
            RunEvent::AttemptEnded(finished) => self == RunControl::Kill && finished.outcome == Outcome::Interrupted,
            _ => false,
        }
    }

    /// Returns why the request is not needed, if so.
    fn is_met(self, run_state: &RunState) -> Option<&'static str> {
        match self {
            RunControl::Pause if run_state.halt.stopping.is_some() => Some("is stopping: no new task starts"),
            // A run that paused by itself resumes by itself, unless a user pauses it too.
            RunControl::Pause => run_state
                .halt
                .paused
                .as_ref()
                .filter(|paused| !is_own(paused))
                .map(|_| "is paused already"),
            RunControl::Resume => match &run_state.halt.paused {
                None => Some("is not paused"),
                Some(paused) if is_own(paused) => {
                    Some("waits until the plan file is fixed, and continues by itself then: see `planwright check`")
                }
                Some(_) => None,
            },
            RunControl::Stop => run_state
                .halt
                .stopping
                .as_ref()
                .map(|_| "is stopping already; --now also ends running attempts"),
            RunControl::Kill => None,
        }
    }

    /// Returns the state of the run now, in words.
    fn done(self, answer: &RunEvent) -> &'static str {
        match (self, answer) {
            (_, RunEvent::RunEnded(_)) => "is over",
            (RunControl::Pause, _) => "is paused: no new task starts until `planwright resume`",
            (RunControl::Resume, _) => "continues",
            (RunControl::Stop, _) => "starts no new task, and ends when running tasks are finished",
            (RunControl::Kill, _) => "ends what runs",
        }
    }
}

fn is_own(paused: &RequestRecord) -> bool {
    paused.by.as_deref() == Some("planwright")
}

/// Sends a request to pause, to resume or to stop.
pub fn control(workspace: &Workspace, request: &ControlRunRequest) -> Result<ControlReport> {
    let control = request.control;
    let scope = RunScope::of(workspace, request.plan.as_deref())?;
    let what = format!("{} its own run", control.verb());
    let run = match live_run(&scope) {
        Ok(run) => run,
        Err(error) => {
            // No run is active in its checkout.
            refuse_in_attempt(scope.root(), &what)?;
            return Err(error);
        }
    };
    refuse_in_attempt(run.place.root(), &what)?;
    let mut follower = LogFollower::new(&run.place.log());
    let mut run_state = RunState::default();
    for record in all(&mut follower)? {
        run_state.apply(&record);
    }
    if control == RunControl::Resume && run_state.halt.stopping.is_some() {
        return Err(Failure::problem(
            format!("run {} is stopping, and starts no new task", run.place.id()),
            "`planwright run` continues the plan once it has ended",
        ));
    }
    let report = |words: &str, answer: Option<&RunEvent>| ControlReport {
        schema_version: "planwright.ask/v1",
        run: run.place.id().to_owned(),
        plan: run.header.path.clone(),
        asked: control.verb(),
        already: false,
        answer: answer.map(|event| event.name().to_owned()),
        words: words.to_owned(),
    };
    if let Some(met) = control.is_met(&run_state) {
        return Ok(ControlReport {
            already: true,
            ..report(met, None)
        });
    }
    send(request, &run)?;
    if request.no_wait {
        let what = match control {
            RunControl::Kill => "end at once",
            control => control.verb(),
        };
        return Ok(report(&format!("was asked to {what}"), None));
    }
    match wait(control, &run, &mut follower)? {
        Some(record) => Ok(report(control.done(&record.event), Some(&record.event))),
        None => Err(no_answer(&run)),
    }
}

fn send(request: &ControlRunRequest, run: &SeenRun) -> Result<()> {
    let wanted = ControlRequest {
        verb: request.control.verb().to_owned(),
        task: None,
        by: request.by.clone(),
        note: request.note.clone(),
        time: clock::now(),
    };
    ask(&DiskFiles, &run.place.requests(), &wanted).map_err(|error| {
        Failure::outside(
            format!("the request cannot be sent to run {}: {error}", run.place.id()),
            "check that you may write to its folder in `.planwright/runs`",
        )
    })
}

fn no_answer(run: &SeenRun) -> Failure {
    let (id, plan) = (run.place.id(), one_line(&run.header.path));
    match run.live(&DiskFiles) {
        None => Failure::problem(
            format!("run {id} of `{plan}` ended without an answer"),
            "`planwright runs` shows its state",
        ),
        Some(_) => Failure::outside(
            format!("run {id} of `{plan}` has not answered within {PATIENCE} s; it may still carry out the request"),
            "`planwright events -f` follows it",
        ),
    }
}

fn live_run(scope: &RunScope) -> Result<SeenRun> {
    let mut newest = None;
    let mut live = Vec::new();
    let mut plans = HashSet::new();
    let mut unread = None;
    for run in scope.runs()? {
        let run = match run {
            Ok(run) => run,
            Err((_, error)) => {
                unread.get_or_insert(error);
                continue;
            }
        };
        // A plan has one active run at a time.
        if plans.contains(&run.header.path) {
            continue;
        }
        if run.live(&DiskFiles).is_some() {
            plans.insert(run.header.path.clone());
            live.push(run);
        } else if newest.is_none() {
            newest = Some(run);
        }
    }
    match (live.len(), newest) {
        (1, _) => Ok(live.swap_remove(0)),
        // The active run may be an unreadable one.
        (0, _) if unread.is_some() => Err(unread.map_or_else(|| scope.nothing_ran(), |error| unreadable(&error))),
        (0, None) => scope.require_plan().and(Err(Failure::problem(
            format!("no run is active{}, and there was none before", scope.words()),
            "`planwright run` starts a run",
        ))),
        (0, Some(last)) => {
            let stands = judged(&last).map_or("damaged".to_owned(), |(_, standing)| standing.words());
            Err(Failure::problem(
                format!(
                    "no run is active{}; the last run was {} ({stands})",
                    scope.words(),
                    last.place.id()
                ),
                "`planwright runs` lists all runs, `planwright run` starts or continues one",
            ))
        }
        (_, _) => {
            let mut message = "several runs are active:".to_owned();
            for run in live.iter().take(20) {
                message.push_str(&format!("\n  {}", one_line(&run.header.path)));
            }
            let first = live.first().map_or("", |run| run.header.path.as_str());
            Err(Failure::problem(
                message,
                format!("name one of them: `{}`", scope.workspace().with_plan(first)),
            ))
        }
    }
}

fn all(follower: &mut LogFollower) -> Result<Vec<RunRecord>> {
    follower.more().map_err(|error| unreadable(&error))
}

/// Waits for the run's answer; none if none arrives in time.
fn wait(control: RunControl, run: &SeenRun, follower: &mut LogFollower) -> Result<Option<RunRecord>> {
    let start = Instant::now();
    loop {
        let is_gone = run.live(&DiskFiles).is_none();
        let answer = all(follower)?
            .into_iter()
            .find(|record| control.is_answer(&record.event));
        if answer.is_some() || is_gone || start.elapsed().as_secs() >= PATIENCE {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE / 4);
    }
}
