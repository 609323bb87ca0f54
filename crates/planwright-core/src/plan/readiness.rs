//! Decides which tasks may start now, and why the others may not, for every view.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::links::Links;
use super::{Plan, Slots, Status, Task, TaskOrder};
use crate::text::{Span, visible};

/// One reason why a pending task may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It waits for another task.
    For {
        /// The task waited for.
        task_ix: usize,
        /// The span of the dependency.
        span: Span,
    },
    /// It names a task that does not exist.
    ForUnknown {
        /// The span of the dependency.
        span: Span,
    },
    /// An earlier stage is not finished.
    ForStage {
        /// The first unfinished task of the earlier stage.
        task_ix: usize,
    },
    /// The file marks it to be skipped.
    Held,
}

impl Wait {
    /// Returns the reason as a sentence about the task.
    pub fn words(self, plan: &Plan) -> String {
        let name = |task_ix: usize| visible(&plan.task_name(task_ix)).into_owned();
        let state = |task_ix: usize| plan.tasks()[task_ix].status.as_str();
        match self {
            Wait::For { task_ix, .. } => format!("it waits for `{}`, which is {}", name(task_ix), state(task_ix)),
            Wait::ForUnknown { span } => {
                let written = visible(plan.source().slice(span));
                format!("it depends on `{written}`, which is no task it could wait for")
            }
            Wait::ForStage { task_ix } => format!(
                "it waits for {}: `{}` is {}",
                plan.lifecycle.wording.stage,
                name(task_ix),
                state(task_ix)
            ),
            Wait::Held => format!("it waits for {}", plan.lifecycle.wording.held),
        }
    }
}

/// Whether a task may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartVerdict {
    /// It may start now.
    Ready,
    /// It is not pending.
    NotPending(Status),
    /// It waits, for these reasons.
    Waits(Vec<Wait>),
}

/// The progress of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanProgress {
    /// All tasks.
    pub total: usize,
    /// Not started.
    pub pending: usize,
    /// Being worked on.
    pub running: usize,
    /// Finished.
    pub done: usize,
    /// Failed.
    pub failed: usize,
    /// Skipped.
    pub skipped: usize,
    /// Blocked from outside, or with an unknown status.
    pub blocked: usize,
}

/// Answers questions about the present state of one plan.
pub struct Readiness<'p> {
    plan: &'p Plan,
    links: &'p Links,
    /// The first unfinished stage, and its first unfinished task.
    open_stage: Option<(u32, usize)>,
    /// Unknown dependencies by task, sorted: the task and the span.
    unknown: Cow<'p, [(usize, Span)]>,
}

/// Data about all tasks of a plan, kept up to date while tasks change their states.
#[derive(Clone, Debug)]
pub(crate) struct Overview {
    /// The unfinished tasks by stage, if the plan has stages.
    unfinished: BTreeSet<(u32, usize)>,
    unknown: Vec<(usize, Span)>,
}

impl Overview {
    /// Collects the data of a plan once.
    pub(crate) fn new(plan: &Plan, links: &Links) -> Self {
        let tasks = plan.tasks().iter().enumerate().filter(|_| plan.has_stages);
        let unfinished = tasks.filter(|(_, task)| !plan.satisfies(task));
        Overview {
            unfinished: unfinished.map(|(task_ix, task)| (task.stage, task_ix)).collect(),
            unknown: unknown(plan, links),
        }
    }

    /// Updates the data after a task has changed its state.
    pub(crate) fn update(&mut self, plan: &Plan, task_ix: usize) {
        let Some(task) = plan.tasks().get(task_ix).filter(|_| plan.has_stages) else {
            return;
        };
        if plan.satisfies(task) {
            self.unfinished.remove(&(task.stage, task_ix));
        } else {
            self.unfinished.insert((task.stage, task_ix));
        }
    }
}

/// Returns whether a task may start if nothing blocks it: it is pending, or has failed and is offered again.
fn is_open(task: &Task) -> bool {
    task.status == Status::Pending || task.offered
}

/// Returns the dependencies that are no edges, by task.
fn unknown(plan: &Plan, links: &Links) -> Vec<(usize, Span)> {
    let unknown = links.problems().iter().filter_map(|problem| match *problem {
        super::LinkProblem::Unknown { task_ix, dependency_ix }
        | super::LinkProblem::Unreadable { task_ix, dependency_ix }
        | super::LinkProblem::ItSelf { task_ix, dependency_ix } => {
            Some((task_ix, plan.all_dependencies()[dependency_ix].span))
        }
        super::LinkProblem::Repeated { .. } => None,
    });
    unknown.collect()
}

impl<'p> Readiness<'p> {
    /// Collects the data of a plan once.
    pub fn new(plan: &'p Plan, links: &'p Links) -> Self {
        let unfinished = |(_, task): &(usize, &super::Task)| !plan.satisfies(task);
        let open_stage = plan
            .has_stages
            .then(|| {
                let open = plan.tasks().iter().enumerate().filter(unfinished);
                open.map(|(task_ix, task)| (task.stage, task_ix)).min()
            })
            .flatten();
        Readiness {
            plan,
            links,
            open_stage,
            unknown: Cow::Owned(unknown(plan, links)),
        }
    }

    /// Uses data that is already collected.
    pub(crate) fn with(plan: &'p Plan, links: &'p Links, overview: &'p Overview) -> Self {
        Readiness {
            plan,
            links,
            open_stage: overview.unfinished.first().copied(),
            unknown: Cow::Borrowed(&overview.unknown),
        }
    }

    /// Returns whether a task may start now.
    ///
    /// # Panics
    ///
    /// Where the plan has no such task, as do all that ask about one.
    pub fn is_ready(&self, task_ix: usize) -> bool {
        let open_stage = self.open_stage.map(|(stage, _)| stage);
        self.may_start(task_ix, open_stage, |ix| self.satisfied(ix))
    }

    /// Returns whether a task may start if these tasks are satisfied, and this is the first unfinished stage.
    fn may_start(&self, task_ix: usize, open_stage: Option<u32>, satisfied: impl Fn(usize) -> bool) -> bool {
        let task = &self.plan.tasks()[task_ix];
        is_open(task)
            && !task.held
            && open_stage.is_none_or(|stage| task.barrier <= stage)
            && self.links.of(task_ix).iter().all(|edge| satisfied(edge.to as usize))
            && self.unknown_of(task_ix).is_empty()
    }

    /// Returns whether a task may start now, and otherwise every reason.
    pub fn verdict(&self, task_ix: usize) -> StartVerdict {
        let task = &self.plan.tasks()[task_ix];
        if !is_open(task) {
            return StartVerdict::NotPending(task.status);
        }
        let waits = self.waits(task_ix);
        if waits.is_empty() {
            StartVerdict::Ready
        } else {
            StartVerdict::Waits(waits)
        }
    }

    /// Returns every reason why a task could not start if it were pending.
    pub fn waits(&self, task_ix: usize) -> Vec<Wait> {
        let task = &self.plan.tasks()[task_ix];
        let mut waits = Vec::new();
        if task.held {
            waits.push(Wait::Held);
        }
        waits.extend(
            self.unknown_of(task_ix)
                .iter()
                .map(|&(_, span)| Wait::ForUnknown { span }),
        );
        for edge in self.links.of(task_ix) {
            if !self.satisfied(edge.to as usize) {
                waits.push(Wait::For {
                    task_ix: edge.to as usize,
                    span: self.plan.all_dependencies()[edge.dependency_ix as usize].span,
                });
            }
        }
        if let Some((stage, first)) = self.open_stage
            && task.barrier > stage
        {
            waits.push(Wait::ForStage { task_ix: first });
        }
        waits
    }

    /// Returns the ready tasks in the order in which the dialect would start them.
    pub fn ready(&self) -> Vec<usize> {
        let mut ready: Vec<usize> = (0..self.plan.tasks().len()).filter(|&ix| self.is_ready(ix)).collect();
        let tasks = self.plan.tasks();
        match self.plan.lifecycle.order {
            TaskOrder::File => {}
            TaskOrder::Priority => ready.sort_by_key(|&ix| tasks[ix].priority),
            TaskOrder::Stage => ready.sort_by_key(|&ix| (tasks[ix].stage, tasks[ix].priority)),
        }
        ready
    }

    /// Returns the ready tasks to start now: as many as there are free slots, and none in parallel with one that must run alone.
    pub fn offered(&self) -> Vec<usize> {
        let mut ready = self.ready();
        let is_alone = |ix: usize| self.plan.tasks()[ix].alone;
        let running = self.plan.tasks().iter().filter(|task| task.status == Status::Running);
        let (n_running, alone_runs) = running.fold((0, false), |(n, alone), task| (n + 1, alone || task.alone));
        match ready.first() {
            _ if alone_runs => ready.clear(),
            Some(&first) if is_alone(first) && n_running == 0 => ready.truncate(1),
            _ => ready.retain(|&ix| !is_alone(ix)),
        }
        ready.truncate(self.free_slots());
        ready
    }

    /// Returns the tasks that would become ready if this one were done.
    pub fn unblocked_by(&self, task_ix: usize) -> Vec<usize> {
        let satisfied = |ix: usize| ix == task_ix || self.satisfied(ix);
        let tasks = self.plan.tasks().iter().enumerate();
        let unfinished = tasks.filter(|&(ix, _)| self.plan.has_stages && !satisfied(ix));
        let open_stage = unfinished.map(|(_, task)| task.stage).min();
        let becomes_ready =
            |&ix: &usize| ix != task_ix && !self.is_ready(ix) && self.may_start(ix, open_stage, satisfied);
        (0..self.plan.tasks().len()).filter(becomes_ready).collect()
    }

    /// Returns how many unfinished tasks wait for this one, directly, through others or through their stage.
    pub fn n_behind(&self, task_ix: usize) -> usize {
        if self.satisfied(task_ix) {
            return 0;
        }
        let tasks = self.plan.tasks();
        let is_later = |ix: &usize| self.plan.has_stages && tasks[*ix].barrier > tasks[task_ix].stage;
        let later: Vec<usize> = (0..tasks.len()).filter(is_later).collect();
        let behind = self.links.reversed().behind(later.iter().copied().chain([task_ix]));
        let behind = later.into_iter().chain(behind);
        behind.filter(|&ix| ix != task_ix && !self.satisfied(ix)).count()
    }

    /// Returns how many more tasks could start in parallel with the running ones.
    pub fn free_slots(&self) -> usize {
        let running = self.progress().running;
        let slots = match self.plan.slots {
            Slots::Fixed(slots) => slots as usize,
            Slots::StageWidth(most) => {
                let stage = self.open_stage.map(|(stage, _)| stage);
                let width = self
                    .plan
                    .tasks()
                    .iter()
                    .filter(|task| Some(task.stage) == stage)
                    .count();
                width.clamp(1, most.max(1) as usize)
            }
        };
        slots.saturating_sub(running)
    }

    /// Returns the progress of the plan.
    pub fn progress(&self) -> PlanProgress {
        let mut progress = PlanProgress {
            total: self.plan.tasks().len(),
            ..PlanProgress::default()
        };
        for task in self.plan.tasks() {
            let count = match task.status {
                Status::Pending => &mut progress.pending,
                Status::Running => &mut progress.running,
                Status::Done => &mut progress.done,
                Status::Failed => &mut progress.failed,
                Status::Skipped => &mut progress.skipped,
                Status::Blocked(_) | Status::Unknown(_) => &mut progress.blocked,
            };
            *count += 1;
        }
        progress
    }

    fn satisfied(&self, task_ix: usize) -> bool {
        self.plan.satisfies(&self.plan.tasks()[task_ix])
    }

    fn unknown_of(&self, task_ix: usize) -> &[(usize, Span)] {
        let start = self.unknown.partition_point(|&(task, _)| task < task_ix);
        let end = self.unknown.partition_point(|&(task, _)| task <= task_ix);
        &self.unknown[start..end]
    }
}
