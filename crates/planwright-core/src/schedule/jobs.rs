//! The tasks of a schedule as plain numbers.

use std::cmp::Reverse;

use crate::graph::TaskGraph;
use crate::plan::links::Dependents;
use crate::plan::{Links, Plan, Priority, State, Task, TaskOrder};

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The tasks that must be satisfied before it may start.
    pub dependencies: Vec<u32>,
    /// Its stage.
    pub stage: u32,
    /// It starts when all tasks of stages before this one are satisfied.
    pub barrier: u32,
    /// Its order among tasks that could start; the lowest is first.
    pub turn: u32,
    /// Whether nothing may run in parallel with it.
    pub is_alone: bool,
    /// The files that it uses.
    pub claims: Vec<FileUse>,
    /// How often it may be tried in this run.
    pub max_attempts: u32,
    /// Whether a person must approve its work before it counts as done.
    pub needs_review: bool,
    /// Whether its work exists, and only the approval is missing.
    pub awaits_review: bool,
    /// Its state when the run starts.
    pub state: State,
    /// Whether it belongs to the run.
    pub is_wanted: bool,
}

/// A file that a task uses while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// The file, as a number.
    pub file: u32,
    /// Whether no other task may use it at the same time; tasks that only read it share it.
    pub is_exclusive: bool,
}

/// All tasks of a run.
#[derive(Clone, Debug)]
pub struct Jobs {
    all: Vec<Job>,
    dependents: Dependents,
    n_files: usize,
}

impl Jobs {
    /// Creates jobs with their dependents. Dependencies on tasks that do not exist are never satisfied.
    pub fn new(mut all: Vec<Job>) -> Self {
        let n_jobs = all.len();
        for job in &mut all {
            // A task that reads and writes a file writes it.
            job.claims.sort_by_key(|claim| (claim.file, !claim.is_exclusive));
            job.claims.dedup_by_key(|claim| claim.file);
            job.dependencies.sort_unstable();
            job.dependencies.dedup();
        }
        let edges = all.iter().enumerate().flat_map(|(ix, job)| {
            let known = job.dependencies.iter().filter(move |&&to| (to as usize) < n_jobs);
            known.map(move |&to| (ix as u32, to))
        });
        let dependents = Dependents::new(n_jobs, edges);
        let files = all
            .iter()
            .flat_map(|job| &job.claims)
            .map(|claim| claim.file as usize + 1);
        let n_files = files.max().unwrap_or(0);
        Jobs {
            all,
            dependents,
            n_files,
        }
    }

    /// Returns the tasks of a plan, in the order of its dialect; among equals the longest chain of dependents is first. The caller sets
    /// files and attempts.
    pub fn of(plan: &Plan, links: &Links, graph: &TaskGraph) -> Vec<Job> {
        let tasks = plan.tasks();
        let heights = graph.heights(links);
        let mut turns: Vec<usize> = (0..tasks.len()).collect();
        let priority = |ix: usize| match plan.lifecycle.order {
            TaskOrder::File => Priority(0.0),
            TaskOrder::Priority | TaskOrder::Stage => tasks[ix].priority,
        };
        let stage = |ix: usize| if plan.has_stages { tasks[ix].stage } else { 0 };
        let barrier = |ix: usize| if plan.has_stages { tasks[ix].barrier } else { 0 };
        match plan.lifecycle.order {
            TaskOrder::File => {}
            TaskOrder::Priority => turns.sort_by_key(|&ix| (priority(ix), Reverse(heights[ix]))),
            TaskOrder::Stage => turns.sort_by_key(|&ix| (stage(ix), priority(ix))),
        }
        let mut turn_of = vec![0; tasks.len()];
        for (turn, &ix) in turns.iter().enumerate() {
            turn_of[ix] = turn as u32;
        }
        let jobs = tasks.iter().enumerate().map(|(ix, task)| Job {
            dependencies: links.of(ix).iter().map(|edge| edge.to).collect(),
            stage: stage(ix),
            barrier: barrier(ix),
            turn: turn_of[ix],
            is_alone: task.alone,
            claims: Vec::new(),
            max_attempts: 1,
            needs_review: false,
            awaits_review: false,
            state: state_of(plan, task),
            is_wanted: !task.held,
        });
        jobs.collect()
    }

    /// Returns every task, by index.
    pub fn all(&self) -> &[Job] {
        &self.all
    }

    pub(super) fn dependents(&self) -> &Dependents {
        &self.dependents
    }

    pub(super) fn n_files(&self) -> usize {
        self.n_files
    }
}

/// Returns the state of a task for its dependents: a task marked to be skipped counts as skipped.
fn state_of(plan: &Plan, task: &Task) -> State {
    match task.status.state() {
        Some(State::Pending) if task.held && plan.satisfies(task) => State::Skipped,
        Some(State::Failed) if task.offered => State::Pending,
        Some(state) => state,
        // A task with an unknown status is never ready, and satisfies no dependency.
        None => State::Blocked,
    }
}
