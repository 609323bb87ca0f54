//! The floor on which a run happens: the one loop, and everything that is under way.

mod arbiter;
mod attempts;
mod budget;
mod external_edits;
mod fallback;
mod landing;
mod proposals;
mod results;
mod shutdown;
mod startup;
mod verification;

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{State, Verb};
use planwright_core::prompt::Template;
use planwright_core::schedule::{Action, Event, Phase, Schedule, Standing, Stop};

use super::attempt::{Attempt, Checking, Ending};
use super::ground::{Ground, Tree};
use super::plan_writer::{PlanWriter, StatusUpdate, why};
use super::recovery::Proven;
use super::{PlanSnapshot, Prepared, RunError, RunRequest, Watcher};
use crate::clock;
use crate::fallback::ProviderLimits;
use crate::revise::ReviseError;
use crate::runs::Spent;
use crate::runs::{
    Ended, Live, Projected, Remark, Requests, Resting, RunEvent, RunLog, RunPlace, RunRecord, Skipped, Stopping,
    TaskName,
};
use crate::worker::{Manner, Secret, Workers};
use arbiter::Asking;
use fallback::Turn;

/// How often the plan file, the requests and the clock are looked at when nothing happens.
const GLANCE: Duration = Duration::from_millis(250);

/// How long records that nobody waits for may stay in memory.
const LAZINESS: Duration = Duration::from_millis(15);

/// How long a log that cannot be written is tried again, and how often.
const LOG_PATIENCE: Duration = Duration::from_secs(60);
const LOG_PAUSE: Duration = Duration::from_millis(500);

/// How a run ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run.
    pub place: RunPlace,
    /// How it stood in the end.
    pub standing: Standing,
    /// What its log says of its end.
    pub ended: Ended,
    /// What was spent by the command until now: by this run, and by those before it.
    pub spent: Spent,
    /// Why the plan file does not say all that the run knows; the next run makes up for it.
    pub unwritten: Option<Box<ReviseError>>,
    /// Whether it was stopped because the machine did not let it go on; its log has why.
    pub is_hindered: bool,
}

/// Runs a plan to its end. `interrupts` counts how often the user asked to end it: first nothing new starts, then what runs is
/// ended politely, then at once. Whoever raises it wakes the workers.
pub fn run(
    request: &RunRequest<'_>,
    prepared: Prepared,
    workers: &mut Workers,
    interrupts: &AtomicU32,
    watcher: &mut dyn Watcher,
) -> Result<RunOutcome, RunError> {
    let mut run_loop = RunLoop::begin(request, prepared, workers, interrupts, watcher)?;
    loop {
        run_loop.act()?;
        if run_loop.is_over() {
            run_loop.settle()?;
            // Whoever saved the plan in the last moment may have given it more to do.
            if run_loop.is_over() {
                return run_loop.end();
            }
            continue;
        }
        let happened = run_loop.workers.wait(Some(clock::real(run_loop.pause())));
        if happened.is_empty() && run_loop.log.has_waiting() {
            run_loop.commit()?;
        }
        for event in happened {
            run_loop.heed(event)?;
        }
        run_loop.heed_interrupts()?;
        run_loop.heed_time()?;
        run_loop.watcher.tick();
    }
}

struct RunLoop<'a> {
    request: &'a RunRequest<'a>,
    workers: &'a mut Workers,
    interrupts: &'a AtomicU32,
    n_interrupts: u32,
    watcher: &'a mut dyn Watcher,

    place: RunPlace,
    /// Held until the end.
    _live: Live,
    log: RunLog<'static>,
    /// What is in the log and was not told yet.
    untold: Vec<RunRecord>,
    requests: Requests,

    snapshot: PlanSnapshot,
    agents: Vec<Option<String>>,
    /// What prompts are made of: the user's template, or that of the plan's dialect.
    template: Template,
    /// What must not be written down.
    secrets: Vec<Secret>,
    /// The environment of each agent's processes, by its name.
    environments: HashMap<String, Vec<(OsString, OsString)>>,
    schedule: Schedule,
    actions: VecDeque<Action>,
    /// Attempts by the number of their process.
    attempts: HashMap<u64, Attempt>,
    /// Attempts that are durable and have no process yet.
    spawning: Vec<(Attempt, String)>,
    next_key: u64,
    /// Questions to the arbiter, by the number of their process.
    asking: HashMap<u64, Asking>,
    /// Who takes a task that is about to begin, where the arbiter was asked; none where it did not say.
    decisions: HashMap<u32, Option<String>>,
    slots: Vec<bool>,
    /// How often each task was tried in this run, by its name.
    n_tried: HashMap<String, u32>,

    ground: Ground,
    /// Worktrees of tasks between two attempts.
    trees: HashMap<u32, Tree>,
    /// What was proven in the run before and not merged.
    proven: HashMap<u32, Proven>,
    /// What is proven and waits to be merged.
    merges: VecDeque<(Attempt, Box<Checking>)>,
    /// Whether a merge is being verified.
    is_merging: bool,

    plan_writer: PlanWriter,
    /// Which tasks this run is about: those that it began with, or that came since.
    counted: Vec<bool>,
    /// What the plan file learnt last of tasks that are over, where that is more than a state.
    settled: HashMap<u32, StatusUpdate>,
    /// Where the plan file has each task.
    written: Vec<State>,
    /// Where it will have each task when what waits is written.
    meant: Vec<State>,
    resting: Vec<(Instant, u32)>,
    /// How long the next rest of a task is to be, and why.
    rests: HashMap<u32, (Duration, String)>,
    /// Who takes each task in whose place.
    turns: HashMap<u32, Turn>,
    limits: ProviderLimits,
    outputs: HashMap<u32, String>,
    failures: HashMap<u32, String>,

    began: Instant,
    last_glance: Instant,
    /// Why the plan cannot be used at the moment.
    invalid: Option<String>,
    is_paused: bool,
    has_told_stop: bool,
    n_unverified: u64,
    /// What was spent by the run, the time since it began or went on left out.
    spent: Spent,
    /// What the command had spent before the run began.
    earlier: Spent,
    /// What was spent on each task, by its name.
    spent_on: HashMap<String, Spent>,
    why_stopped: Option<String>,
    /// Whether it was stopped because the machine did not let it go on.
    is_hindered: bool,
    unwritten: Option<Box<ReviseError>>,
}

impl RunLoop<'_> {
    /// Does what is to be done, until there is only waiting left.
    fn act(&mut self) -> Result<(), RunError> {
        loop {
            // What begins now is told what the plan says now.
            if self.actions.iter().any(|action| matches!(action, Action::Start { .. })) {
                self.heed_plan()?;
            }
            // What works on a task that is gone has its slot and its files until it has ended.
            let is_held = self.is_paused || self.invalid.is_some() || self.attempts.values().any(Attempt::is_gone);
            let mut held = VecDeque::new();
            while let Some(action) = self.actions.pop_front() {
                match action {
                    // Somebody moved the task since it was to begin.
                    Action::Start { task, .. } if !self.is_to_begin(task) => {}
                    Action::Start { task, .. } if self.schedule.stop().is_some() => self.happened(Event::Moved {
                        task,
                        to: State::Pending,
                    }),
                    Action::Start { .. } if is_held || self.awaits_attempts() => held.push_back(action),
                    Action::Start { task, .. } if self.is_kept_back(task) => held.push_back(action),
                    action => self.take(action)?,
                }
            }
            self.actions = held;
            self.tell_stop()?;
            if self.schedule.stop().is_some() {
                self.end_asking(Manner::Politely);
            }
            if self.spawning.is_empty() {
                break;
            }
            // Whatever was found out goes to the disk together with what is about to begin.
            self.commit()?;
            self.spawn()?;
        }
        if self.plan_writer.due().is_some_and(|due| due <= clock::instant()) {
            self.project()?;
        }
        // What somebody waits for is told at once; that a process has its number can wait.
        if self.log.has_waiting()
            && self
                .untold
                .iter()
                .any(|record| !matches!(record.event, RunEvent::Started(_) | RunEvent::Projected(_)))
        {
            self.commit()?;
        }
        Ok(())
    }

    /// Returns whether a task that was to begin still is.
    fn is_to_begin(&self, task: u32) -> bool {
        let about_to = self.spawning.iter().map(|(attempt, _)| attempt);
        let merging = self.merges.iter().map(|(attempt, _)| attempt);
        let mut attempts = self.attempts.values().chain(about_to).chain(merging);
        let is_under_way = attempts.any(|attempt| attempt.task == task);
        self.phase(task) == Phase::Running && !is_under_way
    }

    fn take(&mut self, action: Action) -> Result<(), RunError> {
        match action {
            Action::Start { task, attempt } => match self.arbiter_for(task) {
                Some(arbiter) => self.ask_arbiter(&arbiter, task, attempt),
                None => self.begin_attempt(task, attempt),
            },
            Action::Rest { task, .. } => self.rest(task),
            Action::Review { task } => {
                let task = self.snapshot.name(task).to_owned();
                self.record(RunEvent::Review(TaskName { task }))
            }
            Action::Skip { task, because } => self.skip(task, because),
        }
    }

    fn is_over(&self) -> bool {
        let is_settled = match self.schedule.standing() {
            Standing::Busy | Standing::Paused => false,
            Standing::AwaitsReview => !self.request.options.waits_for_review.load(Ordering::Relaxed),
            Standing::Stopped(_) | Standing::Stuck | Standing::Finished => true,
        };
        is_settled && self.attempts.is_empty() && self.asking.is_empty() && self.actions.is_empty()
    }

    /// Returns how long nothing needs to be done unless something happens.
    fn pause(&self) -> Duration {
        let now = clock::instant();
        let until = |at: Instant| at.saturating_duration_since(now);
        let rest = self.resting.iter().map(|(at, _)| until(*at)).min();
        let write = self.plan_writer.due().map(until);
        let lazy = self.log.has_waiting().then_some(LAZINESS);
        let due = [rest, write, lazy].into_iter().flatten().min();
        due.unwrap_or(GLANCE).min(GLANCE)
    }

    /// Writes an event down; it is durable and told after the next commit.
    fn record(&mut self, event: RunEvent) -> Result<(), RunError> {
        let time = clock::now();
        let seq = self.log.add(&time, &event)?;
        self.untold.push(RunRecord { seq, time, event });
        Ok(())
    }

    fn remark(&mut self, task: Option<u32>, text: impl Into<String>) -> Result<(), RunError> {
        let task = task.map(|task| self.snapshot.name(task).to_owned());
        let text = text.into();
        self.record(RunEvent::Remark(Remark { text, task }))
    }

    /// Makes durable what was written down, and tells it. A disk that is full for a moment does not end the run: agents work on
    /// meanwhile, and nothing begins.
    fn commit(&mut self) -> Result<(), RunError> {
        let since = Instant::now();
        while let Err(error) = self.log.commit() {
            let is_asked_to_end = self.interrupts.load(Ordering::Relaxed) > 1;
            if since.elapsed() >= LOG_PATIENCE || is_asked_to_end {
                return Err(error.into());
            }
            std::thread::sleep(LOG_PAUSE);
            self.watcher.tick();
        }
        for record in self.untold.drain(..) {
            self.watcher.event(&record);
        }
        Ok(())
    }

    /// Tells the scheduler what happened, and queues what it wants. What does not fit any more is no matter: somebody was
    /// quicker.
    fn happened(&mut self, event: Event) {
        if let Ok(actions) = self.schedule.apply(event) {
            self.actions.extend(actions);
        }
    }

    /// Has the plan file learn something.
    fn update(&mut self, update: StatusUpdate) {
        let machine = &self.snapshot.plan().lifecycle.machine;
        // A task that is gone from the plan learns nothing any more.
        let Some(meant) = self.meant.get_mut(update.task as usize) else {
            return;
        };
        if let Some(to) = machine.outcome(*meant, update.verb, true) {
            *meant = to;
        }
        let says_more = update.note.is_some() || update.output.is_some() || !update.files.is_empty();
        if says_more && matches!(update.verb, Verb::Done | Verb::Fail | Verb::Skip) {
            self.settled.insert(update.task, update.clone());
        }
        self.plan_writer.add(update);
    }

    fn plain_update(&self, task: u32, verb: Verb) -> StatusUpdate {
        startup::plain(self.request, task, verb)
    }

    /// Writes into the plan file what it has to learn. A file that cannot be written is tried again later.
    fn project(&mut self) -> Result<(), RunError> {
        // Names may have changed hands since: who edited the file is heard first.
        self.heed_plan()?;
        if self.invalid.is_some() || self.plan_writer.is_empty() {
            return Ok(());
        }
        match self.plan_writer.write(&mut self.snapshot) {
            Ok(written) => {
                self.unwritten = None;
                for (name, state) in &written.moved {
                    if let Ok(task) = self.snapshot.named(name) {
                        self.written[task as usize] = *state;
                        self.meant[task as usize] = *state;
                    }
                }
                for (update, why) in &written.refused {
                    let text = format!("the plan file was not changed (`{}`): {why}", update.verb.as_str());
                    self.remark(Some(update.task), text)?;
                    self.meant[update.task as usize] = self.written[update.task as usize];
                }
                for text in written.remarks {
                    self.remark(None, text)?;
                }
                let mut tasks: Vec<String> = written.moved.into_iter().map(|(name, _)| name).collect();
                tasks.sort_unstable();
                tasks.dedup();
                if !tasks.is_empty() {
                    let change = written.change;
                    self.record(RunEvent::Projected(Projected { tasks, change }))?;
                }
            }
            Err(error) => {
                if self.unwritten.is_none() {
                    let why = why(&error);
                    let text = format!("the plan file cannot be written at the moment, and is tried again: {why}");
                    self.remark(None, text)?;
                }
                self.unwritten = Some(Box::new(error));
            }
        }
        Ok(())
    }

    fn rest(&mut self, task: u32) -> Result<(), RunError> {
        let (wait, why) = self.rests.remove(&task).unwrap_or_default();
        self.resting.push((clock::instant() + wait, task));
        let name = self.snapshot.name(task).to_owned();
        self.record(RunEvent::Resting(Resting {
            attempt: self.n_tried.get(&name).copied().unwrap_or(0),
            task: name,
            milliseconds: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            why: Some(why).filter(|why| !why.is_empty()),
        }))
    }

    fn skip(&mut self, task: u32, because: u32) -> Result<(), RunError> {
        let name = |task: u32| self.snapshot.name(task).to_owned();
        let event = Skipped {
            task: name(task),
            because: name(because),
        };
        if self.snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped {
            // The failure itself takes them along.
            self.meant[task as usize] = State::Skipped;
        } else {
            let note = Some(format!("skipped because `{}` failed", event.because));
            self.update(StatusUpdate {
                note,
                ..self.plain_update(task, Verb::Skip)
            });
        }
        self.record(RunEvent::Skipped(event))
    }

    /// Says once why nothing new starts.
    fn tell_stop(&mut self) -> Result<(), RunError> {
        let Some(stop) = self.schedule.stop().filter(|_| !self.has_told_stop) else {
            return Ok(());
        };
        self.has_told_stop = true;
        let (reason, task) = match stop {
            Stop::Requested if self.is_hindered => ("hindered", None),
            Stop::Requested => ("requested", None),
            Stop::Condition { task } => ("condition", Some(task)),
            Stop::Failure { task } => ("failure", Some(task)),
            Stop::MaxTasks => ("max-tasks", None),
            Stop::Budget => ("budget", None),
        };
        let event = Stopping {
            reason: reason.to_owned(),
            task: task.map(|task| self.snapshot.name(task).to_owned()),
            why: self.why_stopped.clone(),
        };
        self.record(RunEvent::Stopping(event))
    }

    fn heed_interrupts(&mut self) -> Result<(), RunError> {
        let n_asked = self.interrupts.load(Ordering::Relaxed);
        while self.n_interrupts < n_asked {
            self.n_interrupts += 1;
            match self.n_interrupts {
                1 => {
                    self.why_stopped
                        .get_or_insert_with(|| "interrupted by the user".to_owned());
                    self.happened(Event::StopRequested);
                }
                2 => self.end_attempts(Manner::Politely),
                _ => self.end_attempts(Manner::AtOnce),
            }
        }
        Ok(())
    }

    /// Ends everything that is under way.
    fn end_attempts(&mut self, manner: Manner) {
        self.happened(Event::StopRequested);
        self.end_asking(manner);
        for (key, attempt) in &mut self.attempts {
            attempt.ending.get_or_insert(Ending::Interrupted);
            self.workers.cancel(*key, manner);
        }
    }

    fn heed_time(&mut self) -> Result<(), RunError> {
        let now = clock::instant();
        let (rested, resting) = std::mem::take(&mut self.resting)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.resting = resting;
        let rested: Vec<(Instant, u32)> = rested;
        self.heed_budget();
        for (_, task) in rested {
            self.happened(Event::Rested { task });
        }
        if now.duration_since(self.last_glance) >= GLANCE {
            self.last_glance = now;
            self.heed_requests()?;
            self.heed_plan()?;
            self.look_after_log()?;
        }
        Ok(())
    }

    /// Ends a run whose log somebody has removed: nobody could go on with it.
    fn look_after_log(&mut self) -> Result<(), RunError> {
        let is_gone = || self.place.log().symlink_metadata().is_err();
        if self.schedule.stop().is_none() && is_gone() {
            let folder = self.place.folder();
            let why = format!("somebody has removed what is kept of the run (`{}`)", folder.display());
            self.stop_hindered(why);
        }
        Ok(())
    }

    /// Starts nothing new, because the machine does not let the run go on.
    fn stop_hindered(&mut self, why: String) {
        self.is_hindered |= self.why_stopped.is_none();
        self.why_stopped.get_or_insert(why);
        self.happened(Event::StopRequested);
    }

    /// Returns the folder that processes begin in where they have none of their own.
    fn root(&self) -> PathBuf {
        self.snapshot.place().root.clone()
    }

    fn phase(&self, task: u32) -> Phase {
        self.schedule.phase(task).unwrap_or(Phase::Waiting)
    }
}
