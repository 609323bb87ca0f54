//! What earlier runs of a plan left behind: the run that was interrupted, and the last state of each task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::RunError;
use crate::files::DiskFiles;
use crate::git::Repository;
use crate::journal::JournalError;
use crate::place::PlanPlace;
use crate::runs::state::{AttemptRun, Progress, RunState, StartedProcess, TaskRun};
use crate::runs::{self, RunPlace};
use crate::worker::Process;

/// How many earlier runs are read.
const MAX_RUNS: usize = 20;

/// What earlier runs of a plan left behind.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// The run that never ended, and that this one continues.
    interrupted: Option<RunPlace>,
    /// The last run that had each task, by the task's name.
    tasks: BTreeMap<String, RecoveredTask>,
    /// The same without the run that continues.
    earlier: BTreeMap<String, RecoveredTask>,
    /// The processes of the run that continues.
    processes: Vec<Process>,
    /// The newest run and the length of its log when it was read.
    newest: Option<(RunPlace, u64)>,
}

/// A task in the last run that had it.
#[derive(Clone, Debug)]
pub(super) struct RecoveredTask {
    pub(super) run: TaskRun,
    /// Whether that run came to its end.
    pub(super) is_of_ended_run: bool,
    /// Whether its branch is merged, though the log does not have that.
    is_merged: bool,
}

/// Work that was verified in its worktree and never merged.
#[derive(Clone, Debug)]
pub(super) struct Proven {
    pub(super) branch: String,
    pub(super) folder: PathBuf,
    pub(super) agent: String,
    pub(super) output: String,
}

impl Recovered {
    /// Reads the logs of the plan's earlier runs.
    pub(super) fn of(plan: &PlanPlace, id: Option<&str>) -> Result<Self, RunError> {
        let own = runs::of_plan(&DiskFiles, plan, id).map_err(RunError::io("the runs cannot be listed"))?;
        let mut recovered = Recovered::default();
        for (nth, place) in own.take(MAX_RUNS).enumerate() {
            if nth == 0 {
                recovered.newest = Some((place.clone(), n_bytes(&place)));
            }
            match runs::records(&DiskFiles, &place.log()) {
                Ok(records) => recovered.add(nth, place, &RunState::of(&records)),
                // Only the newest run matters for what to do; an older log may be damaged.
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
        let tasks = state.tasks().iter().filter(|task| !task.is_removed);
        for run in tasks {
            let found = || RecoveredTask {
                run: run.clone(),
                is_of_ended_run: state.ended.is_some(),
                is_merged: false,
            };
            self.tasks.entry(run.task.clone()).or_insert_with(found);
            if !is_interrupted {
                self.earlier.entry(run.task.clone()).or_insert_with(found);
            }
        }
        if is_interrupted {
            self.processes = state.processes.iter().map(process).collect();
            self.interrupted = Some(place);
        }
    }

    /// Returns whether no run of the plan was added to since it was read.
    pub(super) fn is_current(&self, plan: &PlanPlace, id: Option<&str>) -> bool {
        let newest = runs::of_plan(&DiskFiles, plan, id).ok().and_then(|mut own| own.next());
        let newest = newest.map(|place| (n_bytes(&place), place));
        newest.map(|(n_bytes, place)| (place, n_bytes)) == self.newest
    }

    /// Returns the run that never ended.
    pub(super) fn interrupted(&self) -> Option<&RunPlace> {
        self.interrupted.as_ref()
    }

    /// Returns the processes that may have outlived the run that continues.
    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Returns a task in the last run that had it.
    pub(super) fn task(&self, name: &str) -> Option<&RecoveredTask> {
        self.tasks.get(name)
    }

    /// Returns all tasks, each in the last run that had it.
    pub(super) fn tasks(&self) -> impl Iterator<Item = (&str, &RecoveredTask)> {
        self.tasks.iter().map(|(name, task)| (name.as_str(), task))
    }

    /// Returns the tasks of the runs before the one that continues.
    pub(super) fn earlier_tasks(&self) -> impl Iterator<Item = (&str, &RecoveredTask)> {
        self.earlier.iter().map(|(name, task)| (name.as_str(), task))
    }

    /// Looks whether verified work was merged before the log could have it.
    pub(super) fn look_for_merges(&mut self, root: &Path) {
        if !self.tasks.values().any(RecoveredTask::awaits_merge) {
            return;
        }
        let Ok(Some(repository)) = Repository::around(root) else {
            return;
        };
        let Ok(Some(target)) = repository.branch() else {
            return;
        };
        for task in self.tasks.values_mut().filter(|task| task.awaits_merge()) {
            let branch = task
                .run
                .last()
                .and_then(|last| last.branch.as_deref())
                .unwrap_or_default();
            task.is_merged = repository.is_merged(branch, &target).unwrap_or(false);
        }
    }
}

impl RecoveredTask {
    /// Returns how far the work on it got.
    pub(super) fn progress(&self) -> Progress {
        match self.is_merged {
            true => Progress::Done,
            false => self.run.progress(),
        }
    }

    fn awaits_merge(&self) -> bool {
        self.progress() == Progress::Running && self.run.last().is_some_and(AttemptRun::awaits_merge)
    }

    /// Returns the work that was verified and waits to be merged.
    pub(super) fn proven(&self) -> Option<Proven> {
        let last = self.run.last().filter(|_| self.awaits_merge())?;
        Some(Proven {
            branch: last.branch.clone()?,
            folder: last.folder.as_ref()?.into(),
            agent: last.agent.clone(),
            output: last.output.clone().unwrap_or_default(),
        })
    }
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
        help: format!(
            "what the plan file says still holds. Move the log away and run again: mv {folder} {folder}.damaged"
        ),
    }
}
