//! The verb `events`: the log of a run, record by record, also while it grows.

use std::ops::ControlFlow;

use planwright_run::files::DiskFiles;
use planwright_run::runs::{
    self, AttemptEndRecord, AttemptRecord, LogFollower, PlanEditRecord, PlanWriteRecord, RunEvent, RunRecord, SeenRun,
};
use planwright_run::worker::{Process, is_alive};
use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::run_history::{PAUSE, RunActivity, RunScope, unreadable};
use crate::text::one_line;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsRequest {
    /// The id of the run, the beginning of it, or `last`. None: the newest.
    pub run: Option<String>,
    /// Only runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
    /// Wait for further records until the run ends, and continue with the run that replaces it with a new version of its plan.
    pub follow: bool,
    pub task: Option<String>,
}

/// What the reader of a log receives, in order.
pub enum EventEntry<'r> {
    /// The records of this run follow; the first one is from this time.
    Run { run: &'r SeenRun, time: &'r str },
    /// A record, and its line in the log.
    Record { record: &'r RunRecord, json: &'r str },
    /// All existing records were passed.
    UpToDate,
}

/// Receives the entries of a log, and returns whether to continue.
pub type EventReceiver<'f> = &'f mut dyn FnMut(EventEntry<'_>) -> ControlFlow<()>;

/// Reads the log of a run, until its end, until the run ends, or until the receiver stops.
pub fn events(workspace: &Workspace, request: &EventsRequest, receive: EventReceiver<'_>) -> Result<()> {
    let mut run = RunScope::of(workspace, request.plan.as_deref())?.run(request.run.as_deref())?;
    let mut n_received = 0;
    while let Some(next) = read_run(request, &run, &mut n_received, receive)? {
        run = next;
    }
    match &request.task {
        Some(task) if n_received == 0 => Err(Failure::problem(
            format!(
                "there are no events of a task `{}` in run {}",
                one_line(task),
                run.place.id()
            ),
            "`planwright events` without --task shows everything",
        )),
        _ => Ok(()),
    }
}

/// Reads one run. Returns the run that replaces it with a new version of its plan, if the log is followed and there is one.
fn read_run(
    request: &EventsRequest,
    run: &SeenRun,
    n_received: &mut u64,
    receive: EventReceiver<'_>,
) -> Result<Option<SeenRun>> {
    let mut follower = LogFollower::new(&run.place.log());
    let mut activity = RunActivity::new(run);
    let mut is_first = true;
    let mut runner = None;
    loop {
        let is_over = activity.is_over();
        loop {
            let new = follower.more_as_written().map_err(|error| unreadable(&error))?;
            if new.is_empty() {
                break;
            }
            for (record, json) in &new {
                let time = &record.time;
                if std::mem::take(&mut is_first) && receive(EventEntry::Run { run, time }).is_break() {
                    return Ok(None);
                }
                if let RunEvent::RunStarted(begun) = &record.event {
                    runner = begun.start_time.clone().map(|start_time| Process {
                        pid: begun.pid,
                        start_time,
                        command: String::new(),
                    });
                }
                activity.take(&record.event);
                if request.task.as_deref().is_none_or(|task| mentions(&record.event, task)) {
                    *n_received += 1;
                    if receive(EventEntry::Record { record, json }).is_break() {
                        return Ok(None);
                    }
                }
            }
        }
        if receive(EventEntry::UpToDate).is_break() || !request.follow {
            return Ok(None);
        }
        if activity.has_ended {
            return Ok(successor(run, runner.as_ref(), receive));
        }
        if is_over {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits for the run that replaces a failed one, as long as the process that may replan exists.
fn successor(run: &SeenRun, runner: Option<&Process>, receive: EventReceiver<'_>) -> Option<SeenRun> {
    loop {
        // Checks the process first, so that its last records are seen.
        let may_come = runner.is_some_and(is_alive) && receive(EventEntry::UpToDate).is_continue();
        let next = run_after(run);
        if next.is_some() || !may_come {
            return next;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the run that started with a new version of a failed run's plan.
fn run_after(run: &SeenRun) -> Option<SeenRun> {
    let places = runs::list(&DiskFiles, run.place.root()).ok()?;
    let later = places
        .into_iter()
        .skip_while(|place| place.id() != run.place.id())
        .skip(1);
    let mut later = later.filter(|place| {
        let first = LogFollower::new(&place.log())
            .more()
            .unwrap_or_default()
            .into_iter()
            .next();
        let replanned = first.and_then(|first| match first.event {
            RunEvent::RunStarted(begun) => begun.replanned,
            _ => None,
        });
        replanned.is_some_and(|replanned| replanned.run.as_deref() == Some(run.place.id()))
    });
    SeenRun::of(later.next()?).ok()
}

pub fn task_of(event: &RunEvent) -> Option<&str> {
    match event {
        RunEvent::AttemptStarting(AttemptRecord { task, .. })
        | RunEvent::AttemptEnded(AttemptEndRecord { task, .. }) => Some(task),
        RunEvent::AgentChosen(chosen) => Some(&chosen.task),
        RunEvent::ProcessStarted(started) => Some(&started.task),
        RunEvent::Verified(verified) => Some(&verified.task),
        RunEvent::Skipped(skipped) => Some(&skipped.task),
        RunEvent::Review(review) => Some(&review.task),
        RunEvent::Held(held) => Some(&held.task),
        RunEvent::Approved(approved) => Some(&approved.task),
        RunEvent::Resting(resting) => Some(&resting.task),
        RunEvent::Candidate(candidate) => Some(&candidate.task),
        RunEvent::Conflicted(conflicted) => Some(&conflicted.task),
        RunEvent::LandingStarted(landing) => Some(&landing.task),
        RunEvent::LandingEnded(ended) => Some(&ended.task),
        RunEvent::Drifted(drifted) => Some(&drifted.task),
        RunEvent::Stopping(stopping) => stopping.task.as_deref(),
        RunEvent::Remark(remark) => remark.task.as_deref(),
        RunEvent::PlanWritten(PlanWriteRecord { tasks, .. }) => match tasks.as_slice() {
            [task] => Some(task),
            _ => None,
        },
        _ => None,
    }
}

fn mentions(event: &RunEvent, task: &str) -> bool {
    match event {
        RunEvent::PlanWritten(PlanWriteRecord { tasks, .. }) | RunEvent::PlanEdited(PlanEditRecord { tasks, .. }) => {
            tasks.iter().any(|one| one == task)
        }
        event => task_of(event) == Some(task),
    }
}
