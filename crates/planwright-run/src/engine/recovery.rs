//! What earlier runs of a plan left: the interrupted run, and the last state of each task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::plan::State;

use super::{PlanSnapshot, RunError};
use crate::claims::Claims;
use crate::clock;
use crate::files::DiskFiles;
use crate::git::{Candidate, FolderIdentity, Repository};
use crate::journal::JournalError;
use crate::layout::PlanPlace;
use crate::revise::was_started_by_hand;
use crate::runs::state::{AttemptRun, RunState, StartedProcess, TaskRun, TaskState, WorkProgress};
use crate::runs::{
    self, ApprovalRecord, FixedSettings, IsolationMode, LandingEndRecord, RunPlace, Spent, StopReason,
    UnlandedWorkRecord,
};
use crate::worker::Process;

const MAX_RUNS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// The run that never ended, and that this one resumes.
    interrupted: Option<InterruptedRun>,
    /// The last run of each task, by the task's name.
    tasks: BTreeMap<String, RecoveredTask>,
    /// The last run of each task, without the resumed run.
    earlier: BTreeMap<String, RecoveredTask>,
    /// What the newest run had spent, if a signal ended it.
    spent: Spent,
    /// The newest run and the length of its log when it was read.
    newest: Option<(RunPlace, u64)>,
    original: Option<PathBuf>,
}

/// A run without an end in its log.
#[derive(Debug)]
struct InterruptedRun {
    place: RunPlace,
    /// The isolation of its tasks, and its fixed settings.
    mode: Option<IsolationMode>,
    settings: Option<FixedSettings>,
    config: Option<String>,
    /// The time of its last start or resumption, and the states and skip marks that it found in the plan then.
    part_began: String,
    found: Option<BTreeMap<String, State>>,
    to_skip: Option<Vec<String>>,
    processes: Vec<Process>,
}

impl InterruptedRun {
    fn of(place: RunPlace, state: &RunState) -> Self {
        let begun = state.begun.as_ref();
        let words = |(name, word): (&String, &String)| Some((name.clone(), State::from_word(word)?));
        InterruptedRun {
            place,
            mode: begun.and_then(|begun| begun.isolation.clone()),
            settings: state.settings.fixed.clone(),
            config: state.settings.config.clone(),
            part_began: state.times.part_began.clone().unwrap_or_default(),
            found: state
                .found_states()
                .map(|found| found.iter().filter_map(words).collect()),
            to_skip: begun.and_then(|begun| begun.to_skip.clone()),
            processes: state.from_agents.processes.iter().map(process).collect(),
        }
    }

    /// Returns the state of a task when the run last started.
    fn found_state(&self, name: &str) -> Option<State> {
        let found = self.found.as_ref()?;
        Some(found.get(name).copied().unwrap_or(State::Pending))
    }

    /// Returns whether the plan did not mark the task to be skipped when the run last started.
    fn wants(&self, name: &str) -> bool {
        let to_skip = self.to_skip.as_ref();
        to_skip.is_some_and(|to_skip| !to_skip.iter().any(|task| task == name))
    }
}

#[derive(Clone, Debug)]
pub(super) struct RecoveredTask {
    pub(super) run: TaskRun,
    pub(super) is_of_ended_run: bool,
    /// The record that its work has landed, if the log lacks it.
    landed: Option<LandingEndRecord>,
}

/// Why a task is running in the plan while no run works on it.
#[derive(PartialEq, Eq)]
pub(super) enum UnownedTask {
    /// It has waited for a review since an earlier run.
    InReview,
    /// It is approved, and its work has not landed.
    Approved,
    /// A person or a tool started it.
    StartedByHand,
    /// A person or a tool started it, and the lease has expired: any process may take it.
    LeaseOver,
    Interrupted,
}

impl UnownedTask {
    pub(super) fn of(snapshot: &PlanSnapshot, recovered: &Recovered, claims: &Claims, task: u32) -> Self {
        let name = snapshot.name(task);
        // An owner who took it from the interrupted run holds it now.
        if let Some(claim) = claims.on(name).filter(|claim| claim.owner().is_some()) {
            return match claim.is_expired(&clock::now()) {
                true => UnownedTask::LeaseOver,
                false => UnownedTask::StartedByHand,
            };
        }
        let found = recovered.task(name);
        let progress = found.map(|found| found.progress());
        let is_open = found.is_some_and(|found| !found.is_of_ended_run);
        let is_of_run = is_open && matches!(progress, Some(WorkProgress::Running | WorkProgress::Resting));
        match progress {
            Some(WorkProgress::Review) => UnownedTask::InReview,
            _ if found.is_some_and(RecoveredTask::is_approved) => UnownedTask::Approved,
            _ if !is_of_run && was_started_by_hand(snapshot.path(), snapshot.plan(), name) => {
                UnownedTask::StartedByHand
            }
            _ => UnownedTask::Interrupted,
        }
    }
}

/// Work of a successful agent that is saved as a candidate and never landed.
#[derive(Clone, Debug)]
pub(super) struct UnlandedWork {
    pub(super) candidate: Candidate,
    pub(super) checkout: Option<KnownCheckout>,
    pub(super) is_verified: bool,
    pub(super) agent: String,
    pub(super) output: String,
    pub(super) session: Option<String>,
    /// The files that verify it and that it changed or removed.
    pub(super) protected: Vec<String>,
    /// Its approval. Without one, work that needs a review waits for it again.
    pub(super) approved: Option<ApprovalRecord>,
}

impl UnlandedWork {
    pub(super) fn held(&self, task: &str) -> UnlandedWorkRecord {
        let Candidate { commit, tree, base, .. } = self.candidate.clone();
        let checkout = self.checkout.as_ref();
        UnlandedWorkRecord {
            task: task.to_owned(),
            candidate: runs::CandidateRecord {
                task: task.to_owned(),
                attempt: 0,
                commit,
                tree,
                base,
                ignored: self.candidate.ignored.clone(),
                other_work: Vec::new(),
                protected: self.protected.clone(),
            },
            is_verified: self.is_verified,
            agent: self.agent.clone(),
            output: Some(self.output.clone()).filter(|output| !output.is_empty()),
            files: self.candidate.touched.clone(),
            session: self.session.clone(),
            folder: checkout.map(|checkout| checkout.folder.clone()),
            identity: checkout.map(|checkout| checkout.identity.clone()),
            base: checkout.map(|checkout| checkout.base.clone()),
        }
    }

    /// Returns work that waited for a review, with its approval if it has one.
    pub(super) fn of_held(held: &UnlandedWorkRecord, approved: Option<&ApprovalRecord>) -> Self {
        let folder = held.folder.clone().zip(held.identity.clone()).zip(held.base.clone());
        UnlandedWork {
            candidate: candidate_of(&held.candidate, &held.files),
            checkout: folder.map(|((folder, identity), base)| KnownCheckout { folder, identity, base }),
            is_verified: held.is_verified,
            agent: held.agent.clone(),
            output: held.output.clone().unwrap_or_default(),
            session: held.session.clone(),
            protected: held.candidate.protected.clone(),
            approved: approval_of(&held.candidate.commit, approved),
        }
    }
}

/// A checkout of an earlier attempt, from the log.
#[derive(Clone, Debug)]
pub(super) struct KnownCheckout {
    pub(super) folder: String,
    pub(super) identity: String,
    pub(super) base: String,
}

impl Recovered {
    pub(super) fn of(plan: &PlanPlace, id: Option<&str>) -> Result<Self, RunError> {
        let own = runs::of_plan(&DiskFiles, plan, id).map_err(RunError::io("the runs cannot be listed"))?;
        let mut recovered = Recovered::default();
        for (nth, run) in own.take(MAX_RUNS).enumerate() {
            if nth == 0 {
                recovered.newest = Some((run.place.clone(), n_bytes(&run.place)));
            }
            match run.state(&DiskFiles) {
                Ok(state) => match original_of(&state, &plan.root) {
                    Some(original) => recovered.original = Some(original),
                    None => recovered.add(nth, run.place, &state),
                },
                // Only the newest run decides what to do; an older log may be damaged.
                Err(_) if nth > 0 => {}
                Err(JournalError::Corrupt { path, offset, what }) => return Err(damaged(&path, offset, what)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(recovered)
    }

    /// Adds the next older run.
    fn add(&mut self, nth: usize, place: RunPlace, state: &RunState) {
        let is_interrupted = nth == 0 && state.ended.is_none() && state.begun.is_some();
        let tasks = state.tasks().iter().filter(|task| !task.plan_file.is_removed);
        for run in tasks {
            let found = || RecoveredTask {
                run: run.clone(),
                is_of_ended_run: state.ended.is_some(),
                landed: None,
            };
            self.tasks.entry(run.task.clone()).or_insert_with(found);
            if !is_interrupted {
                self.earlier.entry(run.task.clone()).or_insert_with(found);
            }
        }
        let was_ended_by_signal = state
            .halt
            .stopping
            .as_ref()
            .is_some_and(|stopping| stopping.reason == StopReason::Signal);
        if nth == 0 && state.ended.is_some() && was_ended_by_signal {
            self.spent = state.spent_until_last_record().with(&state.earlier);
        }
        if is_interrupted {
            self.interrupted = Some(InterruptedRun::of(place, state));
        }
    }

    /// Returns whether no log of the plan's runs has grown since it was read.
    pub(super) fn is_current(&self, plan: &PlanPlace, id: Option<&str>) -> bool {
        let newest = runs::of_plan(&DiskFiles, plan, id).ok().and_then(|mut own| own.next());
        let newest = newest.map(|run| (n_bytes(&run.place), run.place));
        newest.map(|(n_bytes, place)| (place, n_bytes)) == self.newest
    }

    /// Returns the workspace that this one is a copy of, if the logs come from there.
    pub(super) fn original(&self) -> Option<&Path> {
        self.original.as_deref()
    }

    pub(super) fn interrupted(&self) -> Option<&RunPlace> {
        self.interrupted.as_ref().map(|run| &run.place)
    }

    /// Returns the processes that may have outlived the resumed run.
    pub(super) fn processes(&self) -> &[Process] {
        self.interrupted.as_ref().map_or(&[], |run| &run.processes)
    }

    pub(super) fn task(&self, name: &str) -> Option<&RecoveredTask> {
        self.tasks.get(name)
    }

    /// Returns whether a run skipped a task because of another one that is still failed.
    pub(super) fn skipped_for_failure(&self, snapshot: &PlanSnapshot, task: u32) -> bool {
        let found = self.task(snapshot.name(task));
        let because = found.and_then(|found| found.run.skipped_for.as_deref());
        because.is_some_and(|because| {
            snapshot
                .named(because)
                .is_ok_and(|failed| snapshot.state(failed) == State::Failed)
        })
    }

    /// Returns the state of a task in the resumed run, and since when. None if no run is resumed, or its log does not have the task.
    pub(super) fn known_state(&self, name: &str) -> Option<(State, &str)> {
        let run = self.interrupted.as_ref();
        let since = run.map_or("", |run| run.part_began.as_str());
        let found = || Some((run?.found_state(name)?, since));
        let Some(task) = self.task(name).filter(|task| !task.is_of_ended_run) else {
            return found();
        };
        let changed_at = task.run.plan_file.changed_at.as_str().max(since);
        let state = match (task.progress(), &task.run.state) {
            (WorkProgress::Done, _) => State::Done,
            (WorkProgress::Failed, _) => State::Failed,
            (WorkProgress::Running | WorkProgress::Resting | WorkProgress::Review, _) => State::Running,
            (WorkProgress::Unknown, TaskState::Skipped { .. }) => State::Skipped,
            (WorkProgress::Unknown, _) => return found(),
        };
        Some((state, changed_at))
    }

    /// Returns the time since which the resumed run ignores a skip mark of the task.
    pub(super) fn wanted_since(&self, name: &str) -> Option<&str> {
        let run = self.interrupted.as_ref().filter(|run| run.wants(name))?;
        Some(run.part_began.as_str())
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = (&str, &RecoveredTask)> {
        self.tasks.iter().map(|(name, task)| (name.as_str(), task))
    }

    /// Returns the tasks of the runs before the resumed one.
    pub(super) fn earlier_tasks(&self) -> impl Iterator<Item = (&str, &RecoveredTask)> {
        self.earlier.iter().map(|(name, task)| (name.as_str(), task))
    }

    /// Returns what the newest run had spent, if a signal ended it early.
    pub(super) fn spent_before_signal(&self) -> &Spent {
        &self.spent
    }

    /// Returns the isolation of the resumed run.
    pub(super) fn mode(&self) -> Option<&IsolationMode> {
        self.interrupted.as_ref()?.mode.as_ref()
    }

    pub(super) fn fixed_settings(&self) -> Option<&FixedSettings> {
        self.interrupted.as_ref()?.settings.as_ref()
    }

    pub(super) fn config(&self) -> Option<&str> {
        self.interrupted.as_ref()?.config.as_deref()
    }

    /// Finds work that landed before the log recorded it.
    pub(super) fn look_for_landings(&mut self, root: &Path) {
        let Some(branch) = self.fixed_settings().map(|settings| settings.branch.clone()) else {
            return;
        };
        let is_open = |task: &RecoveredTask| task.awaits_landing() && task.landing().is_some();
        if !self.tasks.values().any(is_open) {
            return;
        }
        let Ok(Some(repository)) = Repository::around(root) else {
            return;
        };
        let Ok(Some(tip)) = repository.tip(&branch) else {
            return;
        };
        for task in self.tasks.values_mut().filter(|task| is_open(task)) {
            let commit = task.landing().unwrap_or_default().to_owned();
            if repository.is_ancestor(&commit, &tip).unwrap_or(false) {
                task.landed = task.run.last().map(|last| LandingEndRecord {
                    task: last.name.clone(),
                    attempt: last.attempt,
                    branch: branch.clone(),
                    passed: true,
                    tree: repository.tree_of(&commit).ok(),
                    commit: Some(commit),
                    why: None,
                });
            }
        }
    }
}

impl RecoveredTask {
    pub(super) fn progress(&self) -> WorkProgress {
        match self.landed {
            Some(_) => WorkProgress::Done,
            None => self.run.progress(),
        }
    }

    /// Returns the record that its work has landed, if the log lacks it.
    pub(super) fn found_landing(&self) -> Option<&LandingEndRecord> {
        self.landed.as_ref()
    }

    fn landing(&self) -> Option<&str> {
        Some(self.run.last()?.landing.begun.as_ref()?.commit.as_str())
    }

    fn awaits_landing(&self) -> bool {
        self.progress() == WorkProgress::Running && self.run.held_work().is_some()
    }

    pub(super) fn held(&self) -> Option<&UnlandedWorkRecord> {
        let held = self.run.held.as_deref();
        held.filter(|_| self.progress() == WorkProgress::Review)
    }

    /// Returns whether its work is approved and still must land.
    pub(super) fn is_approved(&self) -> bool {
        self.unlanded().is_some_and(|unlanded| unlanded.approved.is_some())
    }

    pub(super) fn unlanded(&self) -> Option<UnlandedWork> {
        if !self.awaits_landing() {
            return None;
        }
        let held = self.run.held_work()?;
        Some(UnlandedWork::of_held(&held, self.run.approved.as_ref()))
    }

    /// Returns the checkout of an interrupted attempt: the next attempt finds its work there.
    pub(super) fn interrupted_checkout(&self) -> Option<KnownCheckout> {
        let is_open = matches!(self.progress(), WorkProgress::Running | WorkProgress::Resting);
        self.run
            .last()
            .filter(|_| is_open && !self.awaits_landing())
            .and_then(checkout_of)
    }
}

/// Returns the original workspace of a run, if it is another one that still exists. A moved workspace is the same one.
fn original_of(state: &RunState, root: &Path) -> Option<PathBuf> {
    let began = state.begun.as_ref()?.workspace.as_ref()?;
    let path = PathBuf::from(&began.path);
    let is_it = |folder: &Path| FolderIdentity::of(folder).is_some_and(|found| found.as_str() == began.identity);
    (!is_it(root) && is_it(&path)).then_some(path)
}

fn candidate_of(kept: &runs::CandidateRecord, touched: &[String]) -> Candidate {
    Candidate {
        commit: kept.commit.clone(),
        tree: kept.tree.clone(),
        base: kept.base.clone(),
        touched: touched.to_vec(),
        replaced: Vec::new(),
        own: Vec::new(),
        ignored: kept.ignored.clone(),
    }
}

/// Returns an approval if it approves this commit.
fn approval_of(commit: &str, approved: Option<&ApprovalRecord>) -> Option<ApprovalRecord> {
    approved
        .filter(|approved| approved.commit.as_deref() == Some(commit))
        .cloned()
}

fn checkout_of(attempt: &AttemptRun) -> Option<KnownCheckout> {
    Some(KnownCheckout {
        folder: attempt.checkout.folder.clone()?,
        identity: attempt.checkout.identity.clone()?,
        base: attempt.checkout.base.clone()?,
    })
}

fn n_bytes(place: &RunPlace) -> u64 {
    std::fs::metadata(place.log()).map_or(0, |metadata| metadata.len())
}

fn process(started: &StartedProcess) -> Process {
    Process {
        pid: started.pid,
        start_time: started.start_time.clone(),
        command: String::new(),
    }
}

fn damaged(path: &Path, offset: usize, what: &str) -> RunError {
    let folder = path.parent().unwrap_or(path).display();
    RunError::Damaged {
        message: format!(
            "the log of the last run is damaged at byte {offset}: {what} (`{}`)",
            path.display()
        ),
        help: format!("the plan file is still valid. Move the log away and run again: mv {folder} {folder}.damaged"),
    }
}
