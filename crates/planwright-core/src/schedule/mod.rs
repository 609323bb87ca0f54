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

/// The policy of the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How many tasks may run in parallel.
    pub slots: Slots,
    /// Whether a skipped task satisfies its dependents.
    pub skipped_satisfies: bool,
    /// The effect of a task's failure on its dependents.
    pub on_failure: OnFailure,
    /// Whether nothing new starts while a task is between two attempts, as in a shared folder, where leftovers of a failed attempt would
    /// fail others. The task starts first after its wait. Nothing new starts there either while a task waits for a review that its plan
    /// does not require: its changes would let others pass.
    pub waits_for_resting: bool,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// How many tasks may be started.
    pub max_tasks: Option<u32>,
    /// The budget, in the caller's units. With zero, nothing starts.
    pub budget: Option<u64>,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleEvent {
    /// A requested attempt has started.
    Started {
        /// The task.
        task: u32,
    },
    /// An attempt succeeded.
    Done {
        /// The task.
        task: u32,
    },
    /// The task is done, and a person must approve it although its plan does not require that.
    DoneForReview {
        /// The task.
        task: u32,
    },
    /// An attempt, or the start of one, failed.
    Failed {
        /// The task.
        task: u32,
        /// Whether another attempt could succeed.
        may_retry: bool,
    },
    /// An attempt ended through no fault of its own, as after a provider's rate limit. It does not count.
    Deferred {
        /// The task.
        task: u32,
    },
    /// A task met a stop condition, which ends the run.
    Stopped {
        /// The task.
        task: u32,
    },
    /// A person approved the work of a task.
    Approved {
        /// The task.
        task: u32,
    },
    /// The review of a task rejected it: it has failed.
    Rejected {
        /// The task.
        task: u32,
    },
    /// The wait of a task has ended.
    Rested {
        /// The task.
        task: u32,
    },
    /// A change from outside the run moved a task. If it was running here, it no longer is.
    Moved {
        /// The task.
        task: u32,
        /// Its new state.
        to: State,
    },
    /// A part of the budget was spent.
    Spent {
        /// The amount.
        units: u64,
    },
    /// Nothing new may start now.
    Paused,
    /// New tasks may start again.
    Resumed,
    /// Nothing new may start any more.
    StopRequested,
}

/// An action for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleAction {
    /// Start an attempt, and report [`ScheduleEvent::Started`] or [`ScheduleEvent::Failed`].
    Start {
        /// The task.
        task: u32,
        /// The number of the attempt in this run, from 1.
        attempt: u32,
    },
    /// Wait before the next attempt, and report [`ScheduleEvent::Rested`].
    Rest {
        /// The task.
        task: u32,
        /// The attempt that failed.
        attempt: u32,
    },
    /// Have a person review the work of a task; the answer is [`ScheduleEvent::Approved`].
    Review {
        /// The task.
        task: u32,
    },
    /// Record that a task is skipped.
    Skip {
        /// The task.
        task: u32,
        /// The failed task that caused it.
        because: u32,
    },
}

/// Why nothing new starts although a task could.
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
    /// The limit of started tasks is reached.
    MaxTasks,
    /// The budget is spent.
    Budget,
}

/// The status of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleStatus {
    /// Tasks run, or rest between attempts.
    Busy,
    /// Nothing runs, because the run is paused.
    Paused,
    /// Nothing runs, and the next tasks wait for a person's approval.
    AwaitsReview,
    /// Nothing runs or will run, because the run was stopped.
    Stopped(Stop),
    /// Nothing runs or can run; tasks of the run are left over.
    Stuck,
    /// All tasks of the run have ended.
    Finished,
}

/// An event that does not match the state. Nothing changes.
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

/// The phase of a task in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started: it waits for others, for a slot, for files, or does not belong to the run.
    Waiting,
    /// Requested to start, or running.
    Running,
    /// Between two attempts.
    Resting,
    /// Done, and waiting for a person's review.
    Review,
    /// Ended, in this state.
    Over(State),
}

/// The schedule of an active run.
#[derive(Clone, Debug)]
pub struct Schedule {
    jobs: Jobs,
    policy: Policy,
    progress: Vec<TaskProgress>,
    queue: Queue,
    counts: PhaseCounts,
    /// The tasks that wait for a review that their plan does not require.
    in_doubt: BTreeSet<u32>,
    /// How many tasks were started in this run.
    n_begun: u32,
    spent: u64,
    is_paused: bool,
    /// Whether the task that runs must run alone.
    runs_alone: bool,
    stop: Option<Stop>,
}

#[derive(Clone, Copy, Debug)]
struct TaskProgress {
    phase: Phase,
    /// How many attempts were started in this run, and how many of them do not count.
    n_attempts: u32,
    n_deferred: u32,
}

impl TaskProgress {
    fn at(phase: Phase) -> Self {
        TaskProgress {
            phase,
            n_attempts: 0,
            n_deferred: 0,
        }
    }
}

/// How many tasks are in the phases in which work has begun and not ended.
#[derive(Clone, Copy, Debug, Default)]
struct PhaseCounts {
    running: u32,
    resting: u32,
    review: u32,
}

impl PhaseCounts {
    fn of(&mut self, phase: Phase) -> Option<&mut u32> {
        match phase {
            Phase::Running => Some(&mut self.running),
            Phase::Resting => Some(&mut self.resting),
            Phase::Review => Some(&mut self.review),
            Phase::Waiting | Phase::Over(_) => None,
        }
    }
}

impl Schedule {
    /// Starts a run, and returns the first actions.
    pub fn begin(jobs: Jobs, policy: Policy) -> (Self, Vec<ScheduleAction>) {
        let mut schedule = Schedule {
            queue: Queue::new(&jobs),
            progress: jobs.all().iter().map(first_phase_of).map(TaskProgress::at).collect(),
            jobs,
            policy,
            counts: PhaseCounts::default(),
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

    /// Returns the same run with other tasks, as after an edit of the plan, and the next actions. `old_of` maps each task to its old index:
    /// started work continues.
    pub fn over(&self, jobs: Jobs, old_of: &[Option<u32>]) -> (Self, Vec<ScheduleAction>) {
        let old = |task: usize| old_of.get(task).copied().flatten();
        let begun = |phase: &Phase| matches!(phase, Phase::Running | Phase::Resting | Phase::Review);
        let carried = |(task, job): (usize, &Job)| {
            let earlier = old(task).and_then(|old| self.progress.get(old as usize));
            TaskProgress {
                phase: earlier
                    .map(|earlier| earlier.phase)
                    .filter(begun)
                    .unwrap_or_else(|| first_phase_of(job)),
                ..earlier.copied().unwrap_or(TaskProgress::at(Phase::Waiting))
            }
        };
        let was_in_doubt = |task: &u32| old(*task as usize).is_some_and(|old| self.in_doubt.contains(&old));
        let mut schedule = Schedule {
            queue: Queue::new(&jobs),
            in_doubt: (0..jobs.all().len() as u32).filter(was_in_doubt).collect(),
            progress: jobs.all().iter().enumerate().map(carried).collect(),
            jobs,
            counts: PhaseCounts::default(),
            runs_alone: false,
            ..*self
        };
        let actions = schedule.take_stock();
        (schedule, actions)
    }

    /// Rebuilds the counts from the phases, and starts tasks.
    fn take_stock(&mut self) -> Vec<ScheduleAction> {
        for task in self.tasks() {
            let phase = self.progress[task as usize].phase;
            if let Some(count) = self.counts.of(phase) {
                *count += 1;
            }
            let job = &self.jobs.all()[task as usize];
            match phase {
                Phase::Running => {
                    self.runs_alone |= job.is_alone;
                    self.queue.hold_for(&self.jobs, task);
                }
                Phase::Review if !job.needs_review => {
                    self.in_doubt.insert(task);
                }
                _ => {}
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

    /// Applies an event, and returns the resulting actions.
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

    /// Returns the phase of a task.
    pub fn phase(&self, task: u32) -> Option<Phase> {
        self.progress.get(task as usize).map(|progress| progress.phase)
    }

    /// Returns how many attempts of a task were started in this run.
    pub fn attempts(&self, task: u32) -> u32 {
        self.progress
            .get(task as usize)
            .map_or(0, |progress| progress.n_attempts)
    }

    /// Returns the tasks of the run.
    pub fn jobs(&self) -> &[Job] {
        self.jobs.all()
    }

    /// Returns why nothing new starts, if the run was stopped.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Returns the status of the run.
    pub fn status(&self) -> ScheduleStatus {
        let is_resting = self.counts.resting > 0 && self.stop.is_none();
        match self.stop {
            _ if self.counts.running > 0 || is_resting => ScheduleStatus::Busy,
            // The reason to stop came too late: nothing is left.
            Some(_) if !self.tasks().any(|task| self.is_left_over(task)) => ScheduleStatus::Finished,
            Some(stop) => ScheduleStatus::Stopped(stop),
            None if !self.queue.is_empty() && self.is_paused => ScheduleStatus::Paused,
            None if self.counts.review > 0 => ScheduleStatus::AwaitsReview,
            None if !self.tasks().any(|task| self.is_left_over(task)) => ScheduleStatus::Finished,
            None if self.is_full() => ScheduleStatus::Stopped(Stop::MaxTasks),
            None => ScheduleStatus::Stuck,
        }
    }

    fn is_left_over(&self, task: u32) -> bool {
        let is_settled = matches!(self.progress[task as usize].phase, Phase::Over(state) if state != State::Failed);
        self.jobs.all()[task as usize].is_wanted && !is_settled
    }

    fn tasks(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.progress.len() as u32
    }

    fn is_satisfied(&self, task: u32) -> bool {
        match self.progress[task as usize].phase {
            Phase::Over(State::Done) => true,
            Phase::Over(State::Skipped) => self.policy.skipped_satisfies,
            _ => false,
        }
    }

    fn offer(&mut self, task: u32) {
        if self.progress[task as usize].phase == Phase::Waiting && self.jobs.all()[task as usize].is_wanted {
            self.queue.offer(&self.jobs, task);
        }
    }

    /// Moves a task to a phase, and offers the dependents that it frees.
    fn enter(&mut self, task: u32, phase: Phase) {
        let old = std::mem::replace(&mut self.progress[task as usize].phase, phase);
        if let Some(count) = self.counts.of(old) {
            *count -= 1;
        }
        if let Some(count) = self.counts.of(phase) {
            *count += 1;
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
        let TaskProgress {
            n_attempts: attempt,
            n_deferred,
            ..
        } = self.progress[task as usize];
        let n_counted = attempt - n_deferred;
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
        let progress = &mut self.progress[task as usize];
        progress.n_deferred += 1;
        let attempt = progress.n_attempts;
        self.enter(task, Phase::Resting);
        actions.push(ScheduleAction::Rest { task, attempt });
        true
    }

    /// Skips all unstarted tasks that depend on a failed one, directly, through others or by their stage.
    fn skip_dependents(&mut self, failed: u32, actions: &mut Vec<ScheduleAction>) {
        let stage = self.jobs.all()[failed as usize].stage;
        let is_later = |task: &u32| self.jobs.all()[*task as usize].barrier > stage;
        let later: Vec<u32> = self.tasks().filter(is_later).collect();
        self.skip_waiting(later, failed, actions);
        let mut behind = Vec::new();
        let Ok(()) = self.jobs.dependents().each_behind([failed as usize], |task| {
            let is_waiting = self.progress[task].phase == Phase::Waiting;
            behind.extend(is_waiting.then_some(task as u32));
            Ok::<bool, std::convert::Infallible>(is_waiting)
        });
        self.skip_waiting(behind, failed, actions);
    }

    fn skip_waiting(&mut self, tasks: Vec<u32>, because: u32, actions: &mut Vec<ScheduleAction>) {
        for task in tasks {
            if self.progress[task as usize].phase == Phase::Waiting {
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
        // Nothing has started since its wait began: its slot and its files are free, unless it would not be alone.
        let may_run = self.stop.is_none() && !self.is_paused && !self.runs_alone;
        let is_alone = self.jobs.all()[task as usize].is_alone;
        let goes_first = self.policy.waits_for_resting && may_run && (!is_alone || self.counts.running == 0);
        if goes_first && self.queue.take_this(&self.jobs, task) {
            self.start(task, actions);
        }
        true
    }

    fn moved(&mut self, task: u32, to: State) -> bool {
        if self.phase(task).is_some() {
            self.enter(task, first_phase(to));
        }
        (task as usize) < self.progress.len()
    }

    /// Sets the reason to stop; the first one is kept.
    fn stop_for(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
    }

    /// Starts as many tasks as possible.
    fn fill(&mut self, actions: &mut Vec<ScheduleAction>) {
        if self.policy.waits_for_resting && (self.counts.resting > 0 || !self.in_doubt.is_empty()) {
            return;
        }
        while self.stop.is_none() && !self.is_paused && !self.runs_alone && self.counts.running < self.n_slots() {
            let progress = &self.progress;
            let is_full = self.is_full();
            // Started tasks may be finished.
            let may_begin = |task: u32| {
                let progress = progress[task as usize];
                progress.phase == Phase::Waiting && (!is_full || progress.n_attempts > 0)
            };
            let Some(task) = self.queue.take(&self.jobs, self.counts.running == 0, may_begin) else {
                return;
            };
            self.start(task, actions);
        }
    }

    /// Starts an attempt at a task that already has its files.
    fn start(&mut self, task: u32, actions: &mut Vec<ScheduleAction>) {
        self.runs_alone = self.jobs.all()[task as usize].is_alone;
        let progress = &mut self.progress[task as usize];
        progress.phase = Phase::Running;
        progress.n_attempts += 1;
        let attempt = progress.n_attempts;
        self.n_begun += u32::from(attempt == 1);
        self.counts.running += 1;
        actions.push(ScheduleAction::Start { task, attempt });
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
