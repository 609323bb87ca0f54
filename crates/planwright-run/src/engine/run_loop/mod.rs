//! The loop of a run: events in, the schedule and the run's state decide, actions out.
//!
//! Each concern is a module with its own state and private fields.

mod agents;
mod arbiter;
mod attempt_start;
mod attempts;
mod budget;
mod checkouts;
mod conflict_resolution;
mod control_requests;
mod earlier_results;
mod external_edits;
mod fallback;
mod fences;
mod landing;
mod plan_writer;
mod proposals;
mod reconcile;
mod recorder;
mod results;
mod retry_waits;
mod shutdown;
mod startup;
mod stops;
mod verification;
mod working;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use planwright_core::plan::State;
use planwright_core::schedule::{Phase, Schedule, ScheduleAction, ScheduleEvent, ScheduleStatus};

use super::budget::Admission;
use super::protected::WatchedFiles;
use super::{PlanSnapshot, PreparedRun, RunError, RunRequest, Watcher};
use crate::clock;
use crate::revise::ReviseError;
use crate::runs::state::RunState;
use crate::runs::{RemarkKind, RemarkRecord, RunEndRecord, RunEvent, RunLock, RunPlace, Spent, TaskRecord};
use crate::worker::{StopManner, Workers};
use agents::Agents;
use arbiter::ArbiterQuestions;
use attempts::RunningAttempts;
use budget::RunClock;
use checkouts::KeptCheckouts;
pub(super) use checkouts::WorkLocation;
use control_requests::ControlRequests;
use earlier_results::EarlierResults;
use external_edits::EditWatch;
use fallback::Fallbacks;
use fences::Fences;
pub(super) use fences::{fence_of_command, shared_writable};
use landing::LandingQueue;
use plan_writer::PlanWriter;
use recorder::Recorder;
use retry_waits::RetryWaits;
use stops::StopRequests;

/// How often the plan file, the requests and the clock are checked without events.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How long records that nothing waits for may stay in memory.
const LAZINESS: Duration = Duration::from_millis(15);

#[derive(Debug)]
pub struct RunOutcome {
    pub place: RunPlace,
    pub status: ScheduleStatus,
    pub ended: RunEndRecord,
    /// What the command has spent so far: by this run, and by those before it.
    pub spent: Spent,
    /// Why the plan file lacks updates of the run; the next run writes them.
    pub unwritten: Option<Box<ReviseError>>,
    /// Whether it stopped because of the machine; its log has the reason.
    pub is_hindered: bool,
    pub state: RunState,
}

/// Runs a plan to its end. `interrupts` counts the user's interrupts: after the first nothing new starts, after the second processes end
/// politely, after the third they are killed. The process that raises it wakes the workers.
pub fn run(
    request: &RunRequest<'_>,
    prepared: PreparedRun,
    workers: &mut Workers,
    interrupts: &AtomicU32,
    watcher: &mut dyn Watcher,
) -> Result<RunOutcome, RunError> {
    let mut run_loop = RunLoop::begin(request, prepared, workers, interrupts, watcher)?;
    loop {
        run_loop.act()?;
        if run_loop.is_over() {
            run_loop.settle()?;
            // An edit of the plan in the last moment may have added tasks.
            if run_loop.is_over() {
                return run_loop.end();
            }
            continue;
        }
        let happened = run_loop.workers.wait(Some(clock::real(run_loop.pause())));
        run_loop.keep_state()?;
        if happened.is_empty() && run_loop.recorder.has_waiting() {
            run_loop.commit()?;
        }
        for event in happened {
            run_loop.handle(event)?;
        }
        run_loop.handle_interrupts();
        run_loop.handle_time()?;
        run_loop.recorder.watcher().tick();
    }
}

struct RunLoop<'a> {
    request: &'a RunRequest<'a>,
    workers: &'a mut Workers,
    live: LockedRun,
    recorder: Recorder<'a>,
    snapshot: PlanSnapshot,
    tasks: ScheduledTasks,
    agents: RunAgents,
    attempts: RunningAttempts,
    folders: RunFolders,
    landing: LandingQueue,
    plan_file: PlanFileSync,
    waits: RunWaits,
    user: UserRequests<'a>,
}

struct LockedRun {
    place: RunPlace,
    /// Held until the end.
    _lock: RunLock,
}

struct ScheduledTasks {
    schedule: Schedule,
    actions: VecDeque<ScheduleAction>,
    /// The tasks of this run: those of its start, and those added since.
    in_scope: Vec<bool>,
    /// The length of the longest chain of tasks that wait for each task.
    weights: Vec<u32>,
}

struct RunAgents {
    chosen: Agents,
    arbiter: ArbiterQuestions,
    fallbacks: Fallbacks,
    earlier: EarlierResults,
}

struct RunFolders {
    workplace: WorkLocation,
    fences: Fences,
    checkouts: KeptCheckouts,
    /// The files that verify a task, as they were before its first attempt, if tasks share the folder.
    watched: HashMap<u32, WatchedFiles>,
}

/// The plan file: the run's updates, and edits by other processes.
struct PlanFileSync {
    writer: PlanWriter,
    edits: EditWatch,
}

struct RunWaits {
    clock: RunClock,
    rests: RetryWaits,
    /// The tasks that wait for the budget, each with the reported reason.
    budget: HashMap<u32, String>,
}

struct UserRequests<'a> {
    control: ControlRequests,
    stops: StopRequests<'a>,
}

impl RunLoop<'_> {
    /// Performs the actions of the schedule until only waiting is left.
    fn act(&mut self) -> Result<(), RunError> {
        loop {
            // Tasks that start now use the present plan.
            if self
                .tasks
                .actions
                .iter()
                .any(|action| matches!(action, ScheduleAction::Start { .. }))
            {
                self.follow_plan()?;
            }
            self.take_actions()?;
            self.record_stop()?;
            if self.tasks.schedule.stop().is_some() {
                self.agents.arbiter.end(self.workers, StopManner::Politely);
            }
            if !self.attempts.has_queued() {
                break;
            }
            // All records so far become durable together with the next starts.
            self.commit()?;
            self.spawn()?;
        }
        self.write_plan_if_due()?;
        match self.recorder.is_urgent() {
            true => self.commit(),
            false => Ok(()),
        }
    }

    fn take_actions(&mut self) -> Result<(), RunError> {
        let is_paused = self.user.control.is_paused() || self.landing.is_held();
        let is_held = is_paused || self.plan_file.edits.is_held() || self.attempts.has_removed();
        let mut held = VecDeque::new();
        let mut refused = None;
        while let Some(action) = self.tasks.actions.pop_front() {
            match action {
                // Another process moved the task after its start was scheduled.
                ScheduleAction::Start { task, .. } if !self.is_to_begin(task) => {}
                ScheduleAction::Start { task, .. } if self.tasks.schedule.stop().is_some() => {
                    self.happened(ScheduleEvent::Moved {
                        task,
                        to: State::Pending,
                    })
                }
                ScheduleAction::Start { .. } if is_held || self.awaits_attempts() => held.push_back(action),
                ScheduleAction::Start { task, .. } if self.is_kept_back(task) => held.push_back(action),
                ScheduleAction::Start { task, .. } => match self.held_by_budget(task) {
                    Some(Admission::Waits(why)) => {
                        self.wait_for_budget(task, &why)?;
                        held.push_back(action);
                    }
                    Some(Admission::Refused(why)) => {
                        refused.get_or_insert(why);
                        held.push_back(action);
                    }
                    Some(Admission::Begins(_)) | None => self.take(action)?,
                },
                action => self.take(action)?,
            }
        }
        self.tasks.actions = held;
        match self.stop_without_room(refused) {
            // Held actions are void.
            true => self.take_actions(),
            false => Ok(()),
        }
    }

    fn is_to_begin(&self, task: u32) -> bool {
        let is_under_way = self.attempts.is_under_way(task) || self.landing.is_queued(task);
        self.phase(task) == Phase::Running && !is_under_way
    }

    fn take(&mut self, action: ScheduleAction) -> Result<(), RunError> {
        match action {
            ScheduleAction::Start { task, attempt } => match self.arbiter_for(task) {
                Some(arbiter) => self.ask_arbiter(&arbiter, task, attempt),
                None => self.begin_attempt(task, attempt),
            },
            ScheduleAction::Rest { task, .. } => self.rest(task),
            ScheduleAction::Review { task } => {
                let task = self.snapshot.name(task).to_owned();
                self.record(RunEvent::Review(TaskRecord { task }))
            }
            ScheduleAction::Skip { task, because } => self.skip(task, because),
        }
    }

    fn is_over(&self) -> bool {
        let is_settled = match self.tasks.schedule.status() {
            ScheduleStatus::Busy | ScheduleStatus::Paused => false,
            ScheduleStatus::AwaitsReview => !self.request.options.waits_for_review.load(Ordering::Relaxed),
            ScheduleStatus::Stopped(_) | ScheduleStatus::Stuck | ScheduleStatus::Finished => true,
        };
        let is_landed = self.attempts.is_empty() && self.landing.is_idle();
        is_settled && is_landed && self.agents.arbiter.is_idle() && self.tasks.actions.is_empty()
    }

    /// Returns how long the loop may wait without events.
    fn pause(&self) -> Duration {
        let now = clock::instant();
        let until = |at: Instant| at.saturating_duration_since(now);
        let rest = self.waits.rests.next().map(until);
        let land = self.landing.next().map(until);
        let write = self.plan_file.writer.due().map(until);
        let lazy = self.recorder.has_waiting().then_some(LAZINESS);
        let due = [rest, land, write, lazy].into_iter().flatten().min();
        due.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL)
    }

    fn handle_time(&mut self) -> Result<(), RunError> {
        let now = clock::instant();
        let rested = self.waits.rests.take_over(now);
        self.check_budget();
        if self.landing.is_held() {
            self.drive_landing()?;
        }
        for task in rested {
            self.happened(ScheduleEvent::Rested { task });
        }
        if self.plan_file.edits.is_due(now, POLL_INTERVAL) {
            self.handle_requests()?;
            self.follow_plan()?;
            self.watch_log();
        }
        Ok(())
    }

    fn state(&self) -> &RunState {
        self.recorder.state()
    }

    fn record(&mut self, event: RunEvent) -> Result<(), RunError> {
        self.recorder.record(event)
    }

    fn commit(&mut self) -> Result<(), RunError> {
        self.recorder.commit(self.user.stops.interrupts())
    }

    fn remark(&mut self, task: Option<u32>, text: impl Into<String>) -> Result<(), RunError> {
        let remark = RemarkRecord::new(text);
        self.record_remark(task, remark)
    }

    fn remark_kind(&mut self, task: Option<u32>, kind: RemarkKind, text: String) -> Result<(), RunError> {
        let (kind, remark) = (Some(kind), RemarkRecord::new(text));
        self.record_remark(task, RemarkRecord { kind, ..remark })
    }

    fn record_remark(&mut self, task: Option<u32>, remark: RemarkRecord) -> Result<(), RunError> {
        let task = task.map(|task| self.snapshot.name(task).to_owned());
        self.record(RunEvent::Remark(RemarkRecord { task, ..remark }))
    }

    /// Passes an event to the schedule, and queues its actions. An event that does not apply any more is dropped: another process was
    /// faster.
    fn happened(&mut self, event: ScheduleEvent) {
        if let Ok(actions) = self.tasks.schedule.apply(event) {
            self.tasks.actions.extend(actions);
        }
    }

    /// Returns the default working directory of processes.
    fn root(&self) -> PathBuf {
        self.snapshot.place().root.clone()
    }

    fn phase(&self, task: u32) -> Phase {
        self.tasks.schedule.phase(task).unwrap_or(Phase::Waiting)
    }
}

/// Gives the entries of a map the new numbers of the tasks, and drops those of removed tasks.
fn renumber<V>(map: &mut HashMap<u32, V>, new_of: &HashMap<u32, u32>) {
    let old = std::mem::take(map).into_iter();
    *map = old
        .filter_map(|(task, value)| Some((*new_of.get(&task)?, value)))
        .collect();
}
