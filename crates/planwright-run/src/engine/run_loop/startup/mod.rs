//! Starts a run, or resumes an interrupted one: locks, logs and the plan file come first.

mod earlier_processes;
mod lock;
mod opened_log;
mod workplace;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::AtomicU32;

use planwright_core::edit::PlanRequest;
use planwright_core::plan::{PlanVerb, Slots, State};
use planwright_core::prompt::Template;
use planwright_core::schedule::{Job, Jobs, Schedule};

use super::super::agent_choice::choose_agents;
use super::super::baseline::Baseline;
use super::super::prepare::{PreparedTasks, prepare_tasks, template_of, wanted_tasks};
use super::super::recovery::{Recovered, RecoveredTask};
use super::super::status_updates::VERB;
use super::super::{PlanSnapshot, PreparedRun, RunError, RunRequest, Watcher};
use super::agents::Agents;
use super::arbiter::ArbiterQuestions;
use super::attempts::RunningAttempts;
use super::budget::RunClock;
use super::checkouts::{KeptCheckouts, WorkLocation};
use super::control_requests::ControlRequests;
use super::earlier_results::EarlierResults;
use super::external_edits::EditWatch;
use super::fallback::Fallbacks;
use super::fences::Fences;
use super::landing::LandingQueue;
use super::plan_writer::PlanWriter;
use super::reconcile::{Reconciled, reconcile, refuse_to_guess, skipped_by};
use super::recorder::Recorder;
use super::retry_waits::RetryWaits;
use super::stops::StopRequests;
use super::{LockedRun, PlanFileSync, RunAgents, RunFolders, RunLoop, RunWaits, ScheduledTasks, UserRequests};
use crate::agent_output::redaction_of;
use crate::clock;
use crate::files::DiskFiles;
use crate::gate::GatePolicy;
use crate::git::FolderIdentity;
use crate::revise::{ChangeTarget, LastVerb, last_verbs, transition_plan};
use crate::runs::state::{RunState, WorkProgress};
use crate::runs::{RemarkRecord, RunEvent, RunLock, RunStartRecord, Spent, TaskRecord, WorkspaceFolder};
use crate::user::user;
use crate::worker::{self, Workers};
use earlier_processes::{end_orphans, refuse_beside_keeper};
use lock::lock_plan;
use opened_log::{OpenedLog, open_log, resume};
use workplace::open_workplace;

static FILES: DiskFiles = DiskFiles;

impl<'a> RunLoop<'a> {
    pub(super) fn begin(
        request: &'a RunRequest<'a>,
        prepared: PreparedRun,
        workers: &'a mut Workers,
        interrupts: &'a AtomicU32,
        watcher: &'a mut dyn Watcher,
    ) -> Result<Self, RunError> {
        let now = clock::now();
        let (mut live, mut plan, recovered) = lock_plan(request, prepared, &now)?;
        let place = plan.snapshot.place().clone();
        // Before any change: a log that cannot be extended stays with all its files.
        let resumed = match recovered.interrupted() {
            Some(place) => Some((place.clone(), resume(place)?)),
            None => None,
        };
        refuse_beside_keeper(&place)?;
        refuse_to_guess(request, &plan.snapshot, &recovered)?;
        let n_ended = end_orphans(&recovered, &place);
        let template = template_of(request)?;
        let reconciled = open_plan(request, &mut plan, &recovered, &now)?;
        let log = open_log(resumed, &plan.snapshot, &now)?;
        live.name(&FILES, log.place.id())
            .map_err(RunError::io("the run's lock cannot be written"))?;
        let workplace = match open_workplace(request, &plan.snapshot, &plan.isolation, &log, &recovered) {
            Ok((workplace, remarks)) => {
                plan.remarks.extend(remarks.into_iter().map(RemarkRecord::new));
                workplace
            }
            Err(error) => {
                if recovered.interrupted().is_none() {
                    log.abandon();
                }
                return Err(error);
            }
        };
        let mut startup = Startup {
            request,
            recovered,
            plan,
            reconciled,
            log,
            workplace,
        };
        startup.check_baseline(workers, interrupts, watcher)?;
        startup.set_attempts();
        let in_scope = startup.in_scope();
        let begun = startup.begun(&in_scope);
        let why_stopped = over_budget(request, &startup.log.state, begun.earlier.as_ref());
        if why_stopped.is_some() {
            startup.plan.policy.budget = Some(0);
        }
        startup.add_remarks(n_ended);
        let remarks = std::mem::take(&mut startup.plan.remarks);
        let reconciled = std::mem::take(&mut startup.reconciled);
        let stops = StopRequests::new(interrupts, why_stopped);
        let mut run_loop = startup.into_loop(live, template, in_scope, workers, watcher, stops);
        run_loop.record(RunEvent::RunStarted(Box::new(begun)))?;
        run_loop.record_beginning(remarks, reconciled)?;
        Ok(run_loop)
    }

    /// Records what was found and changed before the run started.
    fn record_beginning(&mut self, remarks: Vec<RemarkRecord>, reconciled: Reconciled) -> Result<(), RunError> {
        let remarks = remarks.into_iter().map(RunEvent::Remark);
        let reviews = reconciled.reviews.into_iter();
        let reviews = reviews.map(|task| RunEvent::Review(TaskRecord { task }));
        // The log of this run has everything that the next one needs.
        let held: Vec<RunEvent> = self.landing.held().map(|held| RunEvent::Held(Box::new(held))).collect();
        for event in remarks.chain(held).chain(reviews).chain(reconciled.events) {
            self.record(event)?;
        }
        self.commit()
    }
}

struct Startup<'a> {
    request: &'a RunRequest<'a>,
    recovered: Recovered,
    plan: PreparedRun,
    reconciled: Reconciled,
    log: OpenedLog,
    workplace: WorkLocation,
}

impl<'a> Startup<'a> {
    /// Runs the baseline, if an agent is going to work.
    fn check_baseline(
        &mut self,
        workers: &mut Workers,
        interrupts: &AtomicU32,
        watcher: &mut dyn Watcher,
    ) -> Result<(), RunError> {
        let has_work = self.plan.tasks.jobs.iter().any(is_to_run) && self.log.state.counts.n_attempts == 0;
        if !has_work || self.request.options.lands_only {
            return Ok(());
        }
        let baseline = Baseline {
            request: self.request,
            snapshot: &self.plan.snapshot,
            workplace: &self.workplace,
            fencing: &self.plan.fencing,
        };
        let checked = baseline.check(workers, interrupts, watcher);
        if checked.is_err() && self.recovered.interrupted().is_none() {
            // The run never started, and leaves no branch.
            if let Some(site) = self.workplace.site() {
                let _ = site.abandon();
            }
            self.log.abandon();
        }
        self.plan.remarks.extend(checked?.into_iter().map(RemarkRecord::new));
        Ok(())
    }

    /// Sets how often tasks may still be tried, and which of them wait for a review.
    fn set_attempts(&mut self) {
        let PreparedRun { snapshot, tasks, .. } = &mut self.plan;
        for (task, job) in tasks.jobs.iter_mut().enumerate() {
            let name = snapshot.name(task as u32);
            // Attempts that a rate limit or a broken agent ended do not count.
            let n_tried = self.log.state.task(name).map_or(0, |run| run.n_attempts_that_count());
            let n_tried = u32::try_from(n_tried).unwrap_or(u32::MAX);
            // An interrupted task is tried once more in any case. A dialect that counts attempts has counted it already.
            if !snapshot.plan().lifecycle.machine.counts_retries {
                job.max_attempts = job.max_attempts.saturating_sub(n_tried).max(1);
            }
            let found = self.recovered.task(name);
            let is_review = found.is_some_and(|found| found.progress() == WorkProgress::Review);
            job.awaits_review = job.state == State::Running && is_review;
            if job.state == State::Running && found.is_some_and(RecoveredTask::is_approved) {
                // The task is running in the plan, and only its landing is left.
                job.state = State::Pending;
            }
        }
    }

    /// Returns which tasks belong to the run: those selected, and those that its interrupted part had started.
    fn in_scope(&self) -> Vec<bool> {
        let PreparedRun { snapshot, tasks, .. } = &self.plan;
        let skipped: HashSet<&str> = self.reconciled.events.iter().filter_map(skipped_by).collect();
        let is_in_scope = |(task, job): (usize, &Job)| {
            let name = snapshot.name(task as u32);
            let is_part = self.log.state.task(name).is_some() || skipped.contains(name);
            is_to_run(job) || (job.is_wanted && is_part)
        };
        tasks.jobs.iter().enumerate().map(is_in_scope).collect()
    }

    fn begun(&self, in_scope: &[bool]) -> RunStartRecord {
        let snapshot = &self.plan.snapshot;
        let (options, state) = (&self.request.options, &self.log.state);
        let continues = self.recovered.interrupted().is_some();
        let earlier = match continues {
            true => state.earlier.clone(),
            // The expenses of a run that a signal ended count: the same work is resumed.
            false => options.replanning.earlier.with(self.recovered.spent_before_signal()),
        };
        RunStartRecord {
            run: self.log.place.id().to_owned(),
            pid: std::process::id(),
            start_time: worker::own_start_time(),
            slots: most_slots(self.plan.policy.slots),
            n_tasks: in_scope.iter().filter(|is_in| **is_in).count() as u64,
            by: options.flags.by.clone(),
            isolation: Some(self.workplace.mode()),
            // The log of a resumed run may have it already.
            config: Some(&options.config_text)
                .filter(|text| state.settings.config.as_ref() != Some(*text))
                .cloned(),
            conditions: self.workplace.conditions().cloned(),
            workspace: workspace_folder(&snapshot.place().root),
            continues,
            earlier: Some(earlier).filter(|earlier| *earlier != Spent::default()),
            replanned: options.replanning.origin.clone(),
            states: Some(states_of(snapshot)),
            to_skip: Some(to_skip(snapshot, &self.reconciled)),
        }
    }

    fn add_remarks(&mut self, n_ended: usize) {
        let original = self.recovered.original().map(|original| {
            format!(
                "this folder is a copy of `{}`, whose runs are not continued here",
                original.display()
            )
        });
        let ended = (n_ended > 0).then(|| format!("ended {n_ended} processes that an interrupted run had left"));
        let remarks = original.into_iter().chain(ended);
        self.plan.remarks.extend(remarks.map(RemarkRecord::new));
    }

    /// Returns the work of earlier runs that has not landed, and the work that waits for a review.
    fn landing(&self) -> LandingQueue {
        let snapshot = &self.plan.snapshot;
        let number = |name: &str| snapshot.named(name).ok();
        let verbs = last_verbs(snapshot.path(), snapshot.plan());
        let is_void = |name: &str, task: &RecoveredTask| task.is_approved() && is_moved_since(&verbs, name, task);
        let unlanded = self.recovered.tasks().filter(|(name, task)| !is_void(name, task));
        let unlanded = unlanded.filter_map(|(name, task)| Some((number(name)?, task.unlanded()?)));
        let waits = |task: &u32| {
            let job = self.plan.tasks.jobs.get(*task as usize);
            job.is_some_and(|job| job.awaits_review)
        };
        let held = self.recovered.tasks();
        let held = held.filter_map(|(name, task)| Some((number(name).filter(waits)?, task.held()?.clone())));
        LandingQueue::new(unlanded.collect(), held.collect())
    }

    fn into_loop(
        self,
        live: RunLock,
        template: Option<Template>,
        in_scope: Vec<bool>,
        workers: &'a mut Workers,
        watcher: &'a mut dyn Watcher,
        stops: StopRequests<'a>,
    ) -> RunLoop<'a> {
        let landing = self.landing();
        let known = self.recovered.tasks().filter_map(|(name, task)| {
            let number = self.plan.snapshot.named(name).ok()?;
            Some((number, task.interrupted_checkout()?))
        });
        let checkouts = KeptCheckouts::of(&self.workplace, known);
        let earlier = EarlierResults::of(&self.recovered, &self.plan.snapshot);
        let PreparedRun {
            snapshot,
            tasks: PreparedTasks { jobs, agents, graph },
            policy,
            fencing,
            ..
        } = self.plan;
        let OpenedLog { place, log, state, cut } = self.log;
        let written: Vec<State> = (0..jobs.len() as u32).map(|task| snapshot.state(task)).collect();
        let (schedule, actions) = Schedule::begin(Jobs::new(jobs), policy);
        let template = template.unwrap_or_else(|| Template::built_in(snapshot.linked().dialect.prompt()));
        let redaction = redaction_of(self.request.config);
        RunLoop {
            request: self.request,
            workers,
            user: UserRequests {
                control: ControlRequests::from_now(&place.requests()),
                stops,
            },
            live: LockedRun { place, _lock: live },
            agents: RunAgents {
                chosen: Agents::new(agents, template, redaction.clone()),
                arbiter: ArbiterQuestions::default(),
                fallbacks: Fallbacks::new(&state),
                earlier,
            },
            recorder: Recorder::new(log, state, cut, watcher, redaction),
            tasks: ScheduledTasks {
                schedule,
                actions: VecDeque::from(actions),
                in_scope,
                weights: graph.heights(snapshot.links()),
            },
            attempts: RunningAttempts::default(),
            folders: RunFolders {
                workplace: self.workplace,
                fences: Fences::new(fencing),
                checkouts,
                watched: HashMap::new(),
            },
            landing,
            plan_file: PlanFileSync {
                writer: PlanWriter::new(written),
                edits: EditWatch::new(&snapshot),
            },
            waits: RunWaits {
                clock: RunClock::start(),
                rests: RetryWaits::default(),
                budget: HashMap::new(),
            },
            snapshot,
        }
    }
}

/// Reconciles the plan file, and prepares its tasks.
fn open_plan(
    request: &RunRequest<'_>,
    plan: &mut PreparedRun,
    recovered: &Recovered,
    now: &str,
) -> Result<Reconciled, RunError> {
    if plan.must_approve {
        let approved = approve(request, &mut plan.snapshot, now)?;
        plan.remarks.push(RemarkRecord::new(approved));
    }
    let wanted: Vec<bool> = plan.tasks.jobs.iter().map(|job| job.is_wanted).collect();
    let reconciled = reconcile(request, &mut plan.snapshot, recovered, &wanted)?;
    plan.remarks.extend(reconciled.remarks.iter().cloned());
    if plan.must_approve || reconciled.has_written {
        // Failed or skipped tasks may be pending now.
        (plan.tasks, _) = prepare_tasks(request, &plan.snapshot, &[])?;
    }
    let snapshot = &plan.snapshot;
    if !reconciled.not_skipped.is_empty() {
        let restricted = wanted_tasks(request, snapshot)?;
        for (task, job) in (0..).zip(&mut plan.tasks.jobs) {
            if reconciled.not_skipped.iter().any(|name| name == snapshot.name(task)) {
                job.is_wanted = restricted.get(task as usize) == Some(&true);
                job.state = snapshot.state(task);
            }
        }
        let wanted: Vec<bool> = plan.tasks.jobs.iter().map(|job| job.is_wanted).collect();
        plan.tasks.agents = choose_agents(request, snapshot.plan(), &wanted)?.agents;
    }
    Ok(reconciled)
}

/// Returns the states of the tasks that are not pending.
fn states_of(snapshot: &PlanSnapshot) -> BTreeMap<String, String> {
    let open = snapshot.tasks().map(|task| (task, snapshot.state(task)));
    let open = open.filter(|(_, state)| *state != State::Pending);
    open.map(|(task, state)| (snapshot.name(task).to_owned(), state.as_str().to_owned()))
        .collect()
}

/// Returns the tasks with a valid skip mark in the plan.
fn to_skip(snapshot: &PlanSnapshot, reconciled: &Reconciled) -> Vec<String> {
    let tasks = snapshot.plan().tasks().iter().zip(0..);
    let held = tasks
        .filter(|(task, _)| task.held)
        .map(|(_, ix)| snapshot.name(ix).to_owned());
    held.filter(|name| !reconciled.not_skipped.contains(name)).collect()
}

fn workspace_folder(root: &std::path::Path) -> Option<WorkspaceFolder> {
    Some(WorkspaceFolder {
        path: root.to_str()?.to_owned(),
        identity: FolderIdentity::of(root)?.as_str().to_owned(),
    })
}

/// Returns why nothing may start: the interrupted part of the run and the command before it have used up the budget.
fn over_budget(request: &RunRequest<'_>, state: &RunState, earlier: Option<&Spent>) -> Option<String> {
    let mut spent = state.spent_until_last_record();
    if let Some(earlier) = earlier {
        spent = spent.with(earlier);
    }
    spent.over_run(&request.config.run.budgets.run)
}

/// Returns whether a verb of another process has moved a task since its run recorded it.
fn is_moved_since(verbs: &HashMap<String, LastVerb>, name: &str, task: &RecoveredTask) -> bool {
    let last = verbs.get(name);
    last.is_some_and(|last| last.verb != VERB && last.at.as_str() > task.run.plan_file.changed_at.as_str())
}

fn is_to_run(job: &Job) -> bool {
    job.is_wanted && (job.state == State::Pending || job.awaits_review)
}

fn most_slots(slots: Slots) -> u32 {
    match slots {
        Slots::Fixed(slots) | Slots::StageWidth(slots) => slots,
    }
}

fn approve(request: &RunRequest<'_>, snapshot: &mut PlanSnapshot, now: &str) -> Result<String, RunError> {
    let target = ChangeTarget {
        path: snapshot.path(),
        forced: snapshot.forced(),
        dry: false,
    };
    let by = request.options.flags.by.clone().unwrap_or_else(user);
    transition_plan(
        target,
        &PlanRequest {
            verb: PlanVerb::Approve,
            note: None,
            by: Some(&by),
            now,
        },
        GatePolicy::of(request.config),
    )?;
    *snapshot = PlanSnapshot::open(snapshot.path(), snapshot.forced())?;
    Ok("the plan was approved with this run".to_owned())
}
