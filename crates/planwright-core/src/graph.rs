//! The graph of a plan without cycles: levels and critical path. Building it is the proof that there is no cycle; holds no
//! status.
//!
//! ```
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::graph::TaskGraph;
//! use planwright_core::inspect::inspect;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it", "tasks": [
//!         {"id": "ship", "description": "Ship it", "depends_on": ["build", "describe"]},
//!         {"id": "design", "description": "Design it"},
//!         {"id": "build", "description": "Build it", "depends_on": ["design"]},
//!         {"id": "describe", "description": "Describe it"}
//!     ]}"#,
//! );
//! let facts = DiskFacts::default();
//! let linked = inspect(&text, &Choice::by_content(&facts)).plan.expect("a plan");
//! let graph = TaskGraph::new(&linked.plan, &linked.links).expect("no circles");
//! let names: Vec<_> = graph.critical_path().iter().map(|&ix| linked.plan.task_name(ix as usize)).collect();
//! assert_eq!(names, ["design", "build", "ship"]);
//! assert_eq!(graph.level(0), 2);
//! ```

use std::collections::VecDeque;

use crate::plan::{Links, Plan};

/// Tasks by index, in an order in which every task comes after its dependencies.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    order: Vec<u32>,
    level: Vec<u32>,
    critical: Vec<u32>,
}

/// The dependencies form a cycle: there is no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cyclic;

impl TaskGraph {
    /// Sorts the tasks of a plan by their dependencies and stages; file order decides between equals.
    pub fn new(plan: &Plan, links: &Links) -> Result<Self, Cyclic> {
        let n_tasks = plan.tasks().len();
        let dependents = links.reversed();
        let mut n_open: Vec<u32> = (0..n_tasks).map(|ix| links.of(ix).len() as u32).collect();
        let mut stages = Stages::new(plan);
        let mut level = vec![0u32; n_tasks];
        let mut previous: Vec<Option<u32>> = vec![None; n_tasks];
        let mut queue = VecDeque::new();
        let mut parked: Vec<Vec<u32>> = vec![Vec::new(); stages.n_stages()];
        for ix in (0..n_tasks).filter(|&ix| n_open[ix] == 0) {
            stages.offer(plan, ix as u32, &mut queue, &mut parked);
        }
        let mut order = Vec::with_capacity(n_tasks);
        while let Some(ix) = queue.pop_front() {
            order.push(ix);
            let task_ix = ix as usize;
            if let Some((barrier, from)) = stages.before(plan, task_ix)
                && barrier >= level[task_ix]
            {
                level[task_ix] = barrier + 1;
                previous[task_ix] = Some(from);
            }
            for &dependent in dependents.of(task_ix) {
                let next = dependent as usize;
                if level[next] <= level[task_ix] {
                    level[next] = level[task_ix] + 1;
                    previous[next] = Some(ix);
                }
                n_open[next] -= 1;
                if n_open[next] == 0 {
                    stages.offer(plan, dependent, &mut queue, &mut parked);
                }
            }
            for released in stages.finish(plan, task_ix, level[task_ix], &mut parked) {
                queue.push_back(released);
            }
        }
        if order.len() < n_tasks {
            return Err(Cyclic);
        }
        let critical = critical_path(&level, &previous);
        Ok(TaskGraph { order, level, critical })
    }

    /// Returns the tasks, each after its dependencies.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the length of the longest chain of tasks before this one.
    pub fn level(&self, task_ix: usize) -> usize {
        self.level.get(task_ix).map_or(0, |&level| level as usize)
    }

    /// Returns for each task the length of the longest chain of tasks after it.
    pub fn heights(&self, links: &Links) -> Vec<u32> {
        let mut heights = vec![0u32; self.order.len()];
        for &ix in self.order.iter().rev() {
            let own = heights[ix as usize] + 1;
            for edge in links.of(ix as usize) {
                let before = &mut heights[edge.to as usize];
                *before = (*before).max(own);
            }
        }
        heights
    }

    /// Returns the longest chain of tasks, first to last.
    pub fn critical_path(&self) -> &[u32] {
        &self.critical
    }
}

fn critical_path(level: &[u32], previous: &[Option<u32>]) -> Vec<u32> {
    let last = (0..level.len()).rev().max_by_key(|&ix| level[ix]);
    let mut path: Vec<u32> = last.map(|ix| ix as u32).into_iter().collect();
    while let Some(&at) = path.last()
        && let Some(before) = previous[at as usize]
    {
        path.push(before);
    }
    path.reverse();
    path
}

/// Stages as barriers: a task is visited only after all tasks of earlier stages.
struct Stages {
    /// The number of unvisited tasks, by stage.
    open: Vec<u32>,
    current: usize,
    /// For each stage up to the current one, the highest level in the stages before it, and its task.
    barriers: Vec<Option<(u32, u32)>>,
    /// For each stage, the highest level of its visited tasks, and its task.
    reached: Vec<Option<(u32, u32)>>,
}

impl Stages {
    fn new(plan: &Plan) -> Self {
        let mut open = Vec::new();
        if plan.has_stages {
            for task in plan.tasks() {
                let stage = task.stage as usize;
                if open.len() <= stage {
                    open.resize(stage + 1, 0);
                }
                open[stage] += 1;
            }
        }
        let mut stages = Stages {
            current: 0,
            barriers: vec![None],
            reached: vec![None; open.len()],
            open,
        };
        stages.pass_finished();
        stages
    }

    /// Returns the highest level in the stages that a task waits for, and its task.
    fn before(&self, plan: &Plan, task_ix: usize) -> Option<(u32, u32)> {
        let barrier = plan.tasks()[task_ix].barrier as usize;
        self.barriers.get(barrier).copied().flatten()
    }

    fn n_stages(&self) -> usize {
        self.open.len()
    }

    /// Goes on to the first stage with an unvisited task; returns the stages that are open now.
    fn pass_finished(&mut self) -> std::ops::Range<usize> {
        let first = self.current + 1;
        while self.open.get(self.current) == Some(&0) {
            let before = self.barriers.last().copied().flatten();
            let own = self.reached[self.current];
            let highest = match (before, own) {
                (Some(before), Some(own)) if own.0 > before.0 => Some(own),
                (before, own) => before.or(own),
            };
            self.barriers.push(highest);
            self.current += 1;
        }
        first..self.current + 1
    }

    fn offer(&self, plan: &Plan, task_ix: u32, queue: &mut VecDeque<u32>, parked: &mut [Vec<u32>]) {
        let barrier = plan.tasks()[task_ix as usize].barrier as usize;
        match parked.get_mut(barrier) {
            Some(waiting) if barrier > self.current => waiting.push(task_ix),
            _ => queue.push_back(task_ix),
        }
    }

    /// Records a visited task; returns those that the end of its stage releases.
    fn finish(&mut self, plan: &Plan, task_ix: usize, level: u32, parked: &mut [Vec<u32>]) -> Vec<u32> {
        if !plan.has_stages {
            return Vec::new();
        }
        let stage = plan.tasks()[task_ix].stage as usize;
        if self.reached[stage].is_none_or(|(highest, _)| level > highest) {
            self.reached[stage] = Some((level, task_ix as u32));
        }
        self.open[stage] -= 1;
        let opened = self.pass_finished();
        let waiting = parked.get_mut(opened).unwrap_or_default();
        waiting.iter_mut().flat_map(std::mem::take).collect()
    }
}
