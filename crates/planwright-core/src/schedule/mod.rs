//! The pure scheduler: what happened goes in, what to do comes out. Knows no clock, no process and no file; the same events
//! lead to the same state and the same actions.
//!
//! [`ScheduleEvent`]s report everything to it, also the effect of its own actions: a task that it wants started runs once
//! [`ScheduleEvent::Started`] says so. Time reaches it as an event too: who rests is woken by [`ScheduleEvent::Rested`].
//!
//! ```
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::graph::TaskGraph;
//! use planwright_core::inspect::inspect;
//! use planwright_core::schedule::{Jobs, Policy, Schedule, ScheduleAction, ScheduleEvent, ScheduleStatus};
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it", "tasks": [
//!         {"id": "t1", "description": "Read"},
//!         {"id": "t2", "description": "Write", "depends_on": ["t1"]}
//!     ]}"#,
//! );
//! let facts = DiskFacts::default();
//! let linked = inspect(&text, &Choice::by_content(&facts)).plan.expect("a plan");
//! let graph = TaskGraph::new(&linked.plan, &linked.links).expect("no circles");
//! let jobs = Jobs::new(Jobs::of(&linked.plan, &linked.links, &graph));
//! let policy = Policy {
//!     slots: linked.plan.slots,
//!     skipped_satisfies: linked.plan.lifecycle.skipped_satisfies,
//!     on_failure: linked.plan.lifecycle.on_failure,
//!     waits_for_resting: false,
//!     fail_fast: false,
//!     max_tasks: None,
//!     budget: None,
//! };
//!
//! let (mut schedule, actions) = Schedule::begin(jobs, policy);
//! assert_eq!(actions, [ScheduleAction::Start { task: 0, attempt: 1 }]);
//! schedule.apply(ScheduleEvent::Started { task: 0 }).expect("it was asked for");
//! let actions = schedule.apply(ScheduleEvent::Done { task: 0 }).expect("it runs");
//! assert_eq!(actions, [ScheduleAction::Start { task: 1, attempt: 1 }]);
//! assert!(schedule.apply(ScheduleEvent::Done { task: 0 }).is_err(), "it is over already");
//! schedule.apply(ScheduleEvent::Done { task: 1 }).expect("it runs");
//! assert_eq!(schedule.status(), ScheduleStatus::Finished);
//! ```

mod jobs;
mod queue;

pub use jobs::{FileUse, Job, Jobs};

use std::collections::BTreeSet;
use std::fmt;

use crate::plan::lifecycle::OnFailure;
use crate::plan::{Slots, State};
use queue::Queue;

/// What holds for the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How many tasks may run side by side.
    pub slots: Slots,
    /// Whether a skipped task satisfies those that depend on it.
    pub skipped_satisfies: bool,
    /// What the failure of a task does to those that depend on it.
    pub on_failure: OnFailure,
    /// Whether nothing new begins while a task is between two attempts, as where all work in the same folder: what a failed
    /// attempt left there would fail others. The task goes first when its time has come. Nothing new begins there either while a
    /// task waits for a review that its plan does not ask for: what it changed would let others pass.
    pub waits_for_resting: bool,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// How many tasks may be begun.
    pub max_tasks: Option<u32>,
    /// What may be spent, in units of the caller's. Where that is nothing, nothing starts.
    pub budget: Option<u64>,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleEvent {
    /// An attempt that was asked for has begun.
    Started {
        /// The task.
        task: u32,
    },
    /// An attempt ended well.
    Done {
        /// The task.
        task: u32,
    },
    /// It is done, and a person has to approve it although its plan does not ask for that.
    DoneForReview {
        /// The task.
        task: u32,
    },
    /// An attempt, or the start of one, failed.
    Failed {
        /// The task.
        task: u32,
        /// Whether another attempt could end otherwise.
        may_retry: bool,
    },
    /// An attempt came to nothing through no fault of its own, as when a provider's limit was reached. It does not count.
    Deferred {
        /// The task.
        task: u32,
    },
    /// A task met a condition that is to end the run.
    Stopped {
        /// The task.
        task: u32,
    },
    /// A person has looked at what a task made and approved it.
    Approved {
        /// The task.
        task: u32,
    },
    /// A task that waited for a review was rejected: it has failed.
    Rejected {
        /// The task.
        task: u32,
    },
    /// The time that a task was to rest is over.
    Rested {
        /// The task.
        task: u32,
    },
    /// A change from outside the run moved a task. If it was running here, it is not any more.
    Moved {
        /// The task.
        task: u32,
        /// Where it is now.
        to: State,
    },
    /// Something was spent.
    Spent {
        /// How much.
        units: u64,
    },
    /// Nothing new is to start for now.
    Paused,
    /// New tasks may start again.
    Resumed,
    /// Nothing new is to start any more.
    StopRequested,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleAction {
    /// Begin an attempt, and say [`ScheduleEvent::Started`] or [`ScheduleEvent::Failed`].
    Start {
        /// The task.
        task: u32,
        /// Which attempt of this run it is, counted from 1.
        attempt: u32,
    },
    /// Wait a while before the next attempt, and say [`ScheduleEvent::Rested`].
    Rest {
        /// The task.
        task: u32,
        /// The attempt that failed.
        attempt: u32,
    },
    /// Have a person review what a task made; the answer is [`ScheduleEvent::Approved`].
    Review {
        /// The task.
        task: u32,
    },
    /// Take note that a task is skipped.
    Skip {
        /// The task.
        task: u32,
        /// The task whose failure brought this about.
        because: u32,
    },
}

/// Why nothing new starts although something could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user or another process asked for it.
    Requested,
    /// A task met its stop condition.
    Condition {
        /// The task.
        task: u32,
    },
    /// A task failed, and the policy ends the run there.
    Failure {
        /// The task.
        task: u32,
    },
    /// As many tasks were begun as were to be.
    MaxTasks,
    /// The budget is spent.
    Budget,
}

/// How the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleStatus {
    /// Tasks run, or rest between attempts.
    Busy,
    /// Nothing runs, because the run is paused.
    Paused,
    /// Nothing runs, and what could run next waits for a person's approval.
    AwaitsReview,
    /// Nothing runs and nothing will, because the run was stopped.
    Stopped(Stop),
    /// Nothing runs and nothing can; tasks that were to run are left over.
    Stuck,
    /// Everything that was to run is over.
    Finished,
}

/// An event that does not fit what went before. Nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexpected {
    /// The event.
    pub event: ScheduleEvent,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run is not in a state for {:?}", self.event)
    }
}

impl std::error::Error for Unexpected {}

/// Where a task is in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not begun: it waits for others, for a slot, for files, or is not to run.
    Waiting,
    /// Asked to begin, or running.
    Running,
    /// Between two attempts.
    Resting,
    /// Done, and a person has to review it.
    Review,
    /// Over, in this state.
    Over(State),
}

/// A run on its way.
#[derive(Clone, Debug)]
pub struct Schedule {
    jobs: Jobs,
    policy: Policy,
    phases: Vec<Phase>,
    /// How many attempts of each task were begun, and how many of them do not count.
    attempts: Vec<u32>,
    n_deferred: Vec<u32>,
    queue: Queue,
    n_running: u32,
    n_resting: u32,
    n_review: u32,
    /// The tasks that wait for a review for another reason than that their plan asks for one.
    in_doubt: BTreeSet<u32>,
    /// How many tasks were begun in this run.
    n_begun: u32,
    spent: u64,
    is_paused: bool,
    /// Whether the task that runs must run alone.
    runs_alone: bool,
    stop: Option<Stop>,
}

impl Schedule {
    /// Begins a run, and returns what to do first.
    pub fn begin(jobs: Jobs, policy: Policy) -> (Self, Vec<ScheduleAction>) {
        let mut schedule = Schedule {
            queue: Queue::new(&jobs),
            attempts: vec![0; jobs.all().len()],
            n_deferred: vec![0; jobs.all().len()],
            phases: jobs.all().iter().map(first_phase_of).collect(),
            jobs,
            policy,
            n_running: 0,
            n_resting: 0,
            n_review: 0,
            in_doubt: BTreeSet::new(),
            n_begun: 0,
            spent: 0,
            is_paused: false,
            runs_alone: false,
            stop: None,
        };
        if schedule.policy.budget == Some(0) {
            schedule.stop_for(Stop::Budget);
        }
        let actions = schedule.take_stock();
        (schedule, actions)
    }

    /// Returns the same run over other tasks, as when the user edits the plan meanwhile, and what to do next. `old_of` maps each
    /// of the tasks to the old one that it is: what has begun of it continues.
    pub fn over(&self, jobs: Jobs, old_of: &[Option<u32>]) -> (Self, Vec<ScheduleAction>) {
        let old = |task: usize| old_of.get(task).copied().flatten();
        let count = |counts: &[u32], task: usize| old(task).and_then(|old| counts.get(old as usize).copied());
        let carried = |counts: &[u32]| {
            let tasks = 0..jobs.all().len();
            tasks.map(|task| count(counts, task).unwrap_or(0)).collect()
        };
        let begun = |phase: &Phase| matches!(phase, Phase::Running | Phase::Resting | Phase::Review);
        let phase = |(task, job): (usize, &Job)| {
            let carried = old(task).and_then(|old| self.phase(old)).filter(begun);
            carried.unwrap_or_else(|| first_phase_of(job))
        };
        let was_in_doubt = |task: &u32| old(*task as usize).is_some_and(|old| self.in_doubt.contains(&old));
        let mut schedule = Schedule {
            queue: Queue::new(&jobs),
            in_doubt: (0..jobs.all().len() as u32).filter(was_in_doubt).collect(),
            attempts: carried(&self.attempts),
            n_deferred: carried(&self.n_deferred),
            phases: jobs.all().iter().enumerate().map(phase).collect(),
            jobs,
            n_running: 0,
            n_resting: 0,
            n_review: 0,
            runs_alone: false,
            ..*self
        };
        let actions = schedule.take_stock();
        (schedule, actions)
    }

    /// Counts what the phases amount to, and begins what may run.
    fn take_stock(&mut self) -> Vec<ScheduleAction> {
        for task in self.tasks() {
            match self.phases[task as usize] {
                Phase::Running => {
                    self.n_running += 1;
                    self.runs_alone |= self.jobs.all()[task as usize].is_alone;
                    self.queue.hold_for(&self.jobs, task);
                }
                Phase::Resting => self.n_resting += 1,
                Phase::Review => {
                    self.n_review += 1;
                    if !self.jobs.all()[task as usize].needs_review {
                        self.in_doubt.insert(task);
                    }
                }
                Phase::Waiting | Phase::Over(_) => {}
            }
            let is_satisfied = self.is_satisfied(task);
            self.queue.set_satisfied(&self.jobs, task, is_satisfied);
        }
        for task in self.tasks() {
            self.offer(task);
        }
        let mut actions = Vec::new();
        self.fill(&mut actions);
        actions
    }

    /// Takes note of something that happened, and returns what to do about it.
    pub fn apply(&mut self, event: ScheduleEvent) -> Result<Vec<ScheduleAction>, Unexpected> {
        let mut actions = Vec::new();
        let is_expected = match event {
            ScheduleEvent::Started { task } => self.phase(task) == Some(Phase::Running),
            ScheduleEvent::Done { task } => self.done(task, false, &mut actions),
            ScheduleEvent::DoneForReview { task } => self.done(task, true, &mut actions),
            ScheduleEvent::Failed { task, may_retry } => self.failed(task, may_retry, &mut actions),
            ScheduleEvent::Deferred { task } => self.deferred(task, &mut actions),
            ScheduleEvent::Stopped { task } => self.stopped(task),
            ScheduleEvent::Approved { task } => self.approved(task),
            ScheduleEvent::Rejected { task } => self.rejected(task, &mut actions),
            ScheduleEvent::Rested { task } => self.rested(task, &mut actions),
            ScheduleEvent::Moved { task, to } => self.moved(task, to),
            ScheduleEvent::Spent { units } => {
                self.spent = self.spent.saturating_add(units);
                if self.policy.budget.is_some_and(|budget| self.spent >= budget) {
                    self.stop_for(Stop::Budget);
                }
                true
            }
            ScheduleEvent::Paused => !std::mem::replace(&mut self.is_paused, true),
            ScheduleEvent::Resumed => std::mem::replace(&mut self.is_paused, false),
            ScheduleEvent::StopRequested => {
                self.stop_for(Stop::Requested);
                true
            }
        };
        if !is_expected {
            return Err(Unexpected { event });
        }
        self.fill(&mut actions);
        Ok(actions)
    }

    /// Returns where a task is.
    pub fn phase(&self, task: u32) -> Option<Phase> {
        self.phases.get(task as usize).copied()
    }

    /// Returns how many attempts of a task were begun in this run.
    pub fn attempts(&self, task: u32) -> u32 {
        self.attempts.get(task as usize).copied().unwrap_or(0)
    }

    /// Returns the tasks of the run.
    pub fn jobs(&self) -> &[Job] {
        self.jobs.all()
    }

    /// Returns why nothing new starts, where it was stopped.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Returns how the run stands.
    pub fn status(&self) -> ScheduleStatus {
        let is_resting = self.n_resting > 0 && self.stop.is_none();
        match self.stop {
            _ if self.n_running > 0 || is_resting => ScheduleStatus::Busy,
            // Whatever was to end the run came too late.
            Some(_) if !self.tasks().any(|task| self.is_left_over(task)) => ScheduleStatus::Finished,
            Some(stop) => ScheduleStatus::Stopped(stop),
            None if !self.queue.is_empty() && self.is_paused => ScheduleStatus::Paused,
            None if self.n_review > 0 => ScheduleStatus::AwaitsReview,
            None if !self.tasks().any(|task| self.is_left_over(task)) => ScheduleStatus::Finished,
            None if self.is_full() => ScheduleStatus::Stopped(Stop::MaxTasks),
            None => ScheduleStatus::Stuck,
        }
    }

    fn is_left_over(&self, task: u32) -> bool {
        let is_settled = matches!(self.phases[task as usize], Phase::Over(state) if state != State::Failed);
        self.jobs.all()[task as usize].is_wanted && !is_settled
    }

    fn tasks(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.phases.len() as u32
    }

    fn is_satisfied(&self, task: u32) -> bool {
        match self.phases[task as usize] {
            Phase::Over(State::Done) => true,
            Phase::Over(State::Skipped) => self.policy.skipped_satisfies,
            _ => false,
        }
    }

    fn offer(&mut self, task: u32) {
        if self.phases[task as usize] == Phase::Waiting && self.jobs.all()[task as usize].is_wanted {
            self.queue.offer(&self.jobs, task);
        }
    }

    /// Moves a task to a phase, and with it those that wait for it.
    fn enter(&mut self, task: u32, phase: Phase) {
        let old = std::mem::replace(&mut self.phases[task as usize], phase);
        for (at, change) in [(old, false), (phase, true)] {
            let count = match at {
                Phase::Running => &mut self.n_running,
                Phase::Resting => &mut self.n_resting,
                Phase::Review => &mut self.n_review,
                Phase::Waiting | Phase::Over(_) => continue,
            };
            *count = if change { *count + 1 } else { *count - 1 };
        }
        self.in_doubt.remove(&task);
        if old == Phase::Running {
            self.runs_alone = false;
            self.queue.release(&self.jobs, task);
        }
        if phase != Phase::Waiting {
            self.queue.withdraw(&self.jobs, task);
        }
        let is_satisfied = self.is_satisfied(task);
        for freed in self.queue.set_satisfied(&self.jobs, task, is_satisfied) {
            self.offer(freed);
        }
        if phase == Phase::Waiting {
            self.offer(task);
        }
    }

    fn done(&mut self, task: u32, is_to_be_reviewed: bool, actions: &mut Vec<ScheduleAction>) -> bool {
        if self.phase(task) != Some(Phase::Running) {
            return false;
        }
        if is_to_be_reviewed || self.jobs.all()[task as usize].needs_review {
            self.enter(task, Phase::Review);
            if is_to_be_reviewed {
                self.in_doubt.insert(task);
            }
            actions.push(ScheduleAction::Review { task });
        } else {
            self.enter(task, Phase::Over(State::Done));
        }
        true
    }

    fn failed(&mut self, task: u32, may_retry: bool, actions: &mut Vec<ScheduleAction>) -> bool {
        if self.phase(task) != Some(Phase::Running) {
            return false;
        }
        let attempt = self.attempts[task as usize];
        let n_counted = attempt - self.n_deferred[task as usize];
        if may_retry && n_counted < self.jobs.all()[task as usize].max_attempts && self.stop.is_none() {
            self.enter(task, Phase::Resting);
            actions.push(ScheduleAction::Rest { task, attempt });
            return true;
        }
        self.fail_for_good(task, actions);
        true
    }

    fn rejected(&mut self, task: u32, actions: &mut Vec<ScheduleAction>) -> bool {
        let awaits_it = self.phase(task) == Some(Phase::Review);
        if awaits_it {
            self.fail_for_good(task, actions);
        }
        awaits_it
    }

    fn fail_for_good(&mut self, task: u32, actions: &mut Vec<ScheduleAction>) {
        self.enter(task, Phase::Over(State::Failed));
        match self.policy.on_failure {
            OnFailure::DependentsSkipped => self.skip_dependents(task, actions),
            OnFailure::Replan => self.stop_for(Stop::Failure { task }),
            OnFailure::DependentsWait => {}
        }
        if self.policy.fail_fast {
            self.stop_for(Stop::Failure { task });
        }
    }

    fn deferred(&mut self, task: u32, actions: &mut Vec<ScheduleAction>) -> bool {
        if self.phase(task) != Some(Phase::Running) {
            return false;
        }
        let attempt = self.attempts[task as usize];
        self.n_deferred[task as usize] += 1;
        self.enter(task, Phase::Resting);
        actions.push(ScheduleAction::Rest { task, attempt });
        true
    }

    /// Skips all that depend on a failed task, directly, through others or by coming in a later stage, and have not begun.
    fn skip_dependents(&mut self, failed: u32, actions: &mut Vec<ScheduleAction>) {
        let stage = self.jobs.all()[failed as usize].stage;
        let is_later = |task: &u32| self.jobs.all()[*task as usize].stage > stage;
        let later: Vec<u32> = self.tasks().filter(is_later).collect();
        self.skip_waiting(later, failed, actions);
        let mut behind = Vec::new();
        let Ok(()) = self.jobs.dependents().each_behind([failed as usize], |task| {
            let is_waiting = self.phases[task] == Phase::Waiting;
            behind.extend(is_waiting.then_some(task as u32));
            Ok::<bool, std::convert::Infallible>(is_waiting)
        });
        self.skip_waiting(behind, failed, actions);
    }

    fn skip_waiting(&mut self, tasks: Vec<u32>, because: u32, actions: &mut Vec<ScheduleAction>) {
        for task in tasks {
            if self.phases[task as usize] == Phase::Waiting {
                self.enter(task, Phase::Over(State::Skipped));
                actions.push(ScheduleAction::Skip { task, because });
            }
        }
    }

    fn stopped(&mut self, task: u32) -> bool {
        if self.phase(task) != Some(Phase::Running) {
            return false;
        }
        self.enter(task, Phase::Over(State::Failed));
        self.stop_for(Stop::Condition { task });
        true
    }

    fn approved(&mut self, task: u32) -> bool {
        let awaits_it = self.phase(task) == Some(Phase::Review);
        if awaits_it {
            self.enter(task, Phase::Over(State::Done));
        }
        awaits_it
    }

    fn rested(&mut self, task: u32, actions: &mut Vec<ScheduleAction>) -> bool {
        if self.phase(task) != Some(Phase::Resting) {
            return false;
        }
        self.enter(task, Phase::Waiting);
        // Nothing has begun since it rests: its slot and its files are free, unless it would not be alone.
        let may_run = self.stop.is_none() && !self.is_paused && !self.runs_alone;
        let is_alone = self.jobs.all()[task as usize].is_alone;
        let goes_first = self.policy.waits_for_resting && may_run && (!is_alone || self.n_running == 0);
        if goes_first && self.queue.take_this(&self.jobs, task) {
            self.start(task, actions);
        }
        true
    }

    fn moved(&mut self, task: u32, to: State) -> bool {
        if self.phase(task).is_some() {
            self.enter(task, first_phase(to));
        }
        (task as usize) < self.phases.len()
    }

    /// The first reason to stop is the one that counts.
    fn stop_for(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
    }

    /// Begins as many tasks as may run.
    fn fill(&mut self, actions: &mut Vec<ScheduleAction>) {
        if self.policy.waits_for_resting && (self.n_resting > 0 || !self.in_doubt.is_empty()) {
            return;
        }
        while self.stop.is_none() && !self.is_paused && !self.runs_alone && self.n_running < self.n_slots() {
            let (phases, attempts) = (&self.phases, &self.attempts);
            let is_full = self.is_full();
            // Tasks that were begun may be finished.
            let may_begin =
                |task: u32| phases[task as usize] == Phase::Waiting && (!is_full || attempts[task as usize] > 0);
            let Some(task) = self.queue.take(&self.jobs, self.n_running == 0, may_begin) else {
                return;
            };
            self.start(task, actions);
        }
    }

    /// Begins an attempt at a task that has its files already.
    fn start(&mut self, task: u32, actions: &mut Vec<ScheduleAction>) {
        self.runs_alone = self.jobs.all()[task as usize].is_alone;
        let attempt = &mut self.attempts[task as usize];
        *attempt += 1;
        self.n_begun += u32::from(*attempt == 1);
        actions.push(ScheduleAction::Start {
            task,
            attempt: *attempt,
        });
        self.phases[task as usize] = Phase::Running;
        self.n_running += 1;
    }

    fn is_full(&self) -> bool {
        self.policy.max_tasks.is_some_and(|most| self.n_begun >= most)
    }

    fn n_slots(&self) -> u32 {
        match self.policy.slots {
            Slots::Fixed(slots) => slots,
            Slots::StageWidth(most) => self.queue.stage_width().clamp(1, most.max(1)),
        }
    }
}

fn first_phase_of(job: &Job) -> Phase {
    if job.awaits_review {
        Phase::Review
    } else {
        first_phase(job.state)
    }
}

fn first_phase(state: State) -> Phase {
    match state {
        State::Pending => Phase::Waiting,
        state => Phase::Over(state),
    }
}
