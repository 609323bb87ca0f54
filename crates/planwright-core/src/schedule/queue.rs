//! The tasks that could start: counts dependencies, opens stages, holds files. Each event costs only what it changes.

use std::collections::BTreeSet;

use super::{FileUse, Job, Jobs};

/// The waiting tasks, and what each waits for.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// How many dependencies of each task are not satisfied.
    n_open: Vec<u32>,
    is_satisfied: Vec<bool>,
    /// The existing stages, ascending.
    stages: Vec<u32>,
    /// How many tasks each stage has, and how many of them are not satisfied.
    widths: Vec<u32>,
    n_unfinished: Vec<u32>,
    /// The first stage with unfinished tasks.
    open_stage: usize,
    /// Tasks that only wait for their stage.
    behind_stage: Vec<Vec<u32>>,
    /// Tasks that could start, by turn; those that must run alone are separate.
    ready: BTreeSet<(u32, u32)>,
    ready_alone: BTreeSet<(u32, u32)>,
    /// The users of each file.
    holders: Vec<Holders>,
    /// Tasks that only wait for a file, by turn: those that would share it, and those that would not.
    behind_file: Vec<[BTreeSet<(u32, u32)>; 2]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Holders {
    n_shared: u32,
    is_exclusive: bool,
}

impl Holders {
    fn allows(self, claim: FileUse) -> bool {
        !self.is_exclusive && (self.n_shared == 0 || !claim.is_exclusive)
    }
}

impl Queue {
    /// Returns a queue without satisfied or ready tasks.
    pub(super) fn new(jobs: &Jobs) -> Self {
        let mut stages: Vec<u32> = jobs.all().iter().map(|job| job.stage).collect();
        stages.sort_unstable();
        stages.dedup();
        let mut n_unfinished = vec![0; stages.len()];
        for job in jobs.all() {
            n_unfinished[stages.partition_point(|&stage| stage < job.stage)] += 1;
        }
        Queue {
            n_open: jobs.all().iter().map(|job| job.dependencies.len() as u32).collect(),
            is_satisfied: vec![false; jobs.all().len()],
            behind_stage: vec![Vec::new(); stages.len()],
            widths: n_unfinished.clone(),
            n_unfinished,
            open_stage: 0,
            stages,
            ready: BTreeSet::new(),
            ready_alone: BTreeSet::new(),
            holders: vec![Holders::default(); jobs.n_files()],
            behind_file: vec![Default::default(); jobs.n_files()],
        }
    }

    /// Records whether a task is satisfied, and returns those whose wait may have ended.
    pub(super) fn set_satisfied(&mut self, jobs: &Jobs, task: u32, is_satisfied: bool) -> Vec<u32> {
        let known = &mut self.is_satisfied[task as usize];
        if std::mem::replace(known, is_satisfied) == is_satisfied {
            return Vec::new();
        }
        let stage = self.stage_of(&jobs.all()[task as usize]);
        let mut freed = Vec::new();
        if is_satisfied {
            for &dependent in jobs.dependents().of(task as usize) {
                let n_open = &mut self.n_open[dependent as usize];
                *n_open -= 1;
                if *n_open == 0 {
                    freed.push(dependent);
                }
            }
            self.n_unfinished[stage] -= 1;
            freed.extend(self.open_stages());
        } else {
            for &dependent in jobs.dependents().of(task as usize) {
                self.n_open[dependent as usize] += 1;
                self.withdraw(jobs, dependent);
            }
            self.n_unfinished[stage] += 1;
            self.open_stage = self.open_stage.min(stage);
        }
        freed
    }

    /// Opens stages while the open one has no unfinished task; returns the tasks that waited for them.
    fn open_stages(&mut self) -> Vec<u32> {
        let mut freed = Vec::new();
        while self.open_stage + 1 < self.stages.len() && self.n_unfinished[self.open_stage] == 0 {
            self.open_stage += 1;
            freed.append(&mut self.behind_stage[self.open_stage]);
        }
        freed
    }

    fn stage_of(&self, job: &Job) -> usize {
        self.stages.partition_point(|&stage| stage < job.stage)
    }

    /// Returns the stage that must be open before a task starts.
    fn barrier_of(&self, job: &Job) -> usize {
        self.stages.partition_point(|&stage| stage < job.barrier)
    }

    /// Files an unstarted task: as ready, or by what it waits for. Returns whether it is ready.
    pub(super) fn offer(&mut self, jobs: &Jobs, task: u32) -> bool {
        let job = &jobs.all()[task as usize];
        if self.n_open[task as usize] > 0 {
            return false;
        }
        let barrier = self.barrier_of(job);
        let is_ready = barrier <= self.open_stage;
        if is_ready {
            self.lane(job).insert((job.turn, task));
        } else {
            self.behind_stage[barrier].push(task);
        }
        is_ready
    }

    /// Removes a task from the ready ones.
    pub(super) fn withdraw(&mut self, jobs: &Jobs, task: u32) {
        let job = &jobs.all()[task as usize];
        let turn = (job.turn, task);
        self.lane(job).remove(&turn);
    }

    fn lane(&mut self, job: &Job) -> &mut BTreeSet<(u32, u32)> {
        if job.is_alone {
            &mut self.ready_alone
        } else {
            &mut self.ready
        }
    }

    /// Returns whether no task could start even with free slots and files.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.ready_alone.is_empty()
    }

    /// Returns how many tasks the open stage has.
    pub(super) fn stage_width(&self) -> u32 {
        self.widths.get(self.open_stage).copied().unwrap_or(0)
    }

    /// Takes the next task that may start, with its files; `is_idle` is whether nothing runs.
    pub(super) fn take(&mut self, jobs: &Jobs, is_idle: bool, may_begin: impl Fn(u32) -> bool) -> Option<u32> {
        loop {
            let first = self.ready.first().copied();
            let alone = self.ready_alone.first().copied().filter(|_| is_idle);
            let (_, task) = [first, alone].into_iter().flatten().min()?;
            self.withdraw(jobs, task);
            let job = &jobs.all()[task as usize];
            let barrier = self.barrier_of(job);
            let is_held = |claim: &&FileUse| !self.holders[claim.file as usize].allows(**claim);
            let held = job.claims.iter().find(is_held).copied();
            let begins = match held {
                _ if !may_begin(task) => false,
                // An earlier stage may have unfinished tasks again.
                _ if barrier > self.open_stage => {
                    self.behind_stage[barrier].push(task);
                    false
                }
                Some(claim) => {
                    self.behind_file[claim.file as usize][usize::from(claim.is_exclusive)].insert((job.turn, task));
                    false
                }
                None => true,
            };
            if begins {
                self.hold(job, true);
            }
            self.wake(jobs, job);
            if begins {
                return Some(task);
            }
        }
    }

    /// Takes this task with its files, if it is ready and they are free.
    pub(super) fn take_this(&mut self, jobs: &Jobs, task: u32) -> bool {
        let job = &jobs.all()[task as usize];
        let is_free = |claim: &FileUse| self.holders[claim.file as usize].allows(*claim);
        let is_free = job.claims.iter().all(is_free);
        let is_taken = is_free && self.lane(job).remove(&(job.turn, task));
        if is_taken {
            self.hold(job, true);
        }
        is_taken
    }

    /// Makes tasks ready that wait for a file of this task and could have it now, one for each file.
    fn wake(&mut self, jobs: &Jobs, job: &Job) {
        for claim in &job.claims {
            let file = claim.file as usize;
            while let Some((turn, first, is_exclusive)) = self.first_behind(file) {
                self.behind_file[file][usize::from(is_exclusive)].remove(&(turn, first));
                if self.offer(jobs, first) {
                    break;
                }
            }
        }
    }

    /// Returns the first task that waits for a file and could have it now.
    fn first_behind(&self, file: usize) -> Option<(u32, u32, bool)> {
        let first = |is_exclusive: bool| {
            let claim = FileUse {
                file: file as u32,
                is_exclusive,
            };
            let (turn, task) = *self.behind_file[file][usize::from(is_exclusive)].first()?;
            self.holders[file].allows(claim).then_some((turn, task, is_exclusive))
        };
        [first(false), first(true)].into_iter().flatten().min()
    }

    /// Gives a task that already runs its files.
    pub(super) fn hold_for(&mut self, jobs: &Jobs, task: u32) {
        self.hold(&jobs.all()[task as usize], true);
    }

    fn hold(&mut self, job: &Job, begins: bool) {
        for claim in &job.claims {
            let holders = &mut self.holders[claim.file as usize];
            match (claim.is_exclusive, begins) {
                (true, _) => holders.is_exclusive = begins,
                (false, true) => holders.n_shared += 1,
                (false, false) => holders.n_shared -= 1,
            }
        }
    }

    /// Releases the files of a task that no longer runs.
    pub(super) fn release(&mut self, jobs: &Jobs, task: u32) {
        let job = &jobs.all()[task as usize];
        self.hold(job, false);
        self.wake(jobs, job);
    }
}
