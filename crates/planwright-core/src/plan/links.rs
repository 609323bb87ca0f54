//! Dependencies resolved from names to task indexes, and the ones that could not be resolved. Does not judge them.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::{DependencyTarget, Plan, TaskName, Text};

/// Why a dependency is no plain edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkProblem {
    /// It names no task.
    Unknown {
        /// The dependent.
        task_ix: usize,
        /// Its index in [`Plan::all_dependencies`].
        dependency_ix: usize,
    },
    /// It is no reference at all.
    Unreadable {
        /// The dependent.
        task_ix: usize,
        /// Its index in [`Plan::all_dependencies`].
        dependency_ix: usize,
    },
    /// It names its own task.
    ItSelf {
        /// The dependent.
        task_ix: usize,
        /// Its index in [`Plan::all_dependencies`].
        dependency_ix: usize,
    },
    /// The same task is named earlier in the same list.
    Repeated {
        /// The dependent.
        task_ix: usize,
        /// Its index in [`Plan::all_dependencies`].
        dependency_ix: usize,
        /// The index of the earlier one.
        earlier_ix: usize,
    },
}

/// An edge: the dependency, and where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The index of the dependency.
    pub to: u32,
    /// Its index in [`Plan::all_dependencies`].
    pub dependency_ix: u32,
}

/// All edges of a plan, by dependent, without self-dependencies and repeats.
#[derive(Clone, Debug)]
pub struct Links {
    starts: Vec<u32>,
    edges: Vec<Edge>,
    problems: Vec<LinkProblem>,
    duplicate_ids: Vec<(usize, usize)>,
}

impl Links {
    /// Resolves the dependencies of a plan. If two tasks share an id, the first one is used.
    pub fn new(plan: &Plan) -> Self {
        let mut index = NameIndex::new(plan);
        let mut duplicate_ids = Vec::new();
        for (task_ix, task) in plan.tasks().iter().enumerate() {
            if let TaskName::Id(id) = task.name
                && let Some(earlier) = index.insert(id, task_ix)
            {
                duplicate_ids.push((task_ix, earlier));
            }
        }
        index.add_second_names(plan, &mut duplicate_ids);
        let mut links = Links {
            starts: Vec::with_capacity(plan.tasks().len() + 1),
            edges: Vec::with_capacity(plan.all_dependencies().len()),
            problems: Vec::new(),
            duplicate_ids,
        };
        links.resolve(plan, &index);
        links
    }

    fn resolve(&mut self, plan: &Plan, index: &NameIndex<'_>) {
        // For each task, the last task with an edge to it, and its index: finds repeats without a set per task.
        let mut last: Vec<(u32, u32)> = vec![(u32::MAX, 0); plan.tasks().len()];
        for (task_ix, task) in plan.tasks().iter().enumerate() {
            self.starts.push(self.edges.len() as u32);
            let first = plan.first_dependency(task);
            for (offset, dependency) in plan.dependencies(task).iter().enumerate() {
                let dependency_ix = first + offset;
                if let DependencyTarget::Group(group) = dependency.target {
                    for to in plan.required_tasks(group as usize).filter(|to| *to != task_ix) {
                        if std::mem::replace(&mut last[to], (task_ix as u32, dependency_ix as u32)).0 != task_ix as u32
                        {
                            let (to, dependency_ix) = (to as u32, dependency_ix as u32);
                            self.edges.push(Edge { to, dependency_ix });
                        }
                    }
                    continue;
                }
                let to = match dependency.target {
                    DependencyTarget::Id(id) => index.get(id),
                    DependencyTarget::Position(position) => {
                        Some(position as usize).filter(|&at| at < plan.tasks().len())
                    }
                    DependencyTarget::NoSuchNumber | DependencyTarget::Group(_) => None,
                    DependencyTarget::Unreadable => {
                        self.problems.push(LinkProblem::Unreadable { task_ix, dependency_ix });
                        continue;
                    }
                };
                let problem = match to {
                    None => LinkProblem::Unknown { task_ix, dependency_ix },
                    Some(to) if to == task_ix => LinkProblem::ItSelf { task_ix, dependency_ix },
                    Some(to) if last[to].0 == task_ix as u32 => LinkProblem::Repeated {
                        task_ix,
                        dependency_ix,
                        earlier_ix: last[to].1 as usize,
                    },
                    Some(to) => {
                        last[to] = (task_ix as u32, dependency_ix as u32);
                        self.edges.push(Edge {
                            to: to as u32,
                            dependency_ix: dependency_ix as u32,
                        });
                        continue;
                    }
                };
                self.problems.push(problem);
            }
        }
        self.starts.push(self.edges.len() as u32);
    }

    /// Returns the number of tasks.
    pub fn n_tasks(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of edges.
    pub fn n_edges(&self) -> usize {
        self.edges.len()
    }

    /// Returns the dependencies of a task.
    pub fn of(&self, task_ix: usize) -> &[Edge] {
        match (self.starts.get(task_ix), self.starts.get(task_ix + 1)) {
            (Some(&start), Some(&end)) => &self.edges[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns the dependencies that are no edges.
    pub fn problems(&self) -> &[LinkProblem] {
        &self.problems
    }

    /// Returns tasks whose id an earlier task has, with that task.
    pub fn duplicate_ids(&self) -> &[(usize, usize)] {
        &self.duplicate_ids
    }

    /// Returns the same edges by dependency.
    pub fn reversed(&self) -> Dependents {
        let tasks = 0..self.n_tasks();
        let edges = tasks.flat_map(|task_ix| self.of(task_ix).iter().map(move |edge| (task_ix as u32, edge.to)));
        Dependents::new(self.n_tasks(), edges)
    }

    /// Returns all dependencies of some tasks, direct and indirect, the nearest first.
    pub fn before(&self, tasks: impl IntoIterator<Item = usize>) -> Vec<usize> {
        all_reached(tasks, |at| self.of(at).iter().map(|edge| edge.to))
    }
}

/// Calls a function for all tasks that are reachable from some, the nearest first. Continues after those for which it returns true.
fn each_reached<E, I: Iterator<Item = u32>>(
    from: impl IntoIterator<Item = usize>,
    next_of: impl Fn(usize) -> I,
    mut each: impl FnMut(usize) -> Result<bool, E>,
) -> Result<(), E> {
    let mut queue: Vec<usize> = from.into_iter().collect();
    let mut seen: HashSet<usize> = queue.iter().copied().collect();
    let mut n_left = 0;
    while let Some(&at) = queue.get(n_left) {
        n_left += 1;
        for reached in next_of(at) {
            let reached = reached as usize;
            if seen.insert(reached) && each(reached)? {
                queue.push(reached);
            }
        }
    }
    Ok(())
}

fn all_reached<I: Iterator<Item = u32>>(
    from: impl IntoIterator<Item = usize>,
    next_of: impl Fn(usize) -> I,
) -> Vec<usize> {
    let mut all = Vec::new();
    let Ok(()) = each_reached(from, next_of, |task_ix| {
        all.push(task_ix);
        Ok::<bool, Infallible>(true)
    });
    all
}

/// The dependents of each task, in file order.
#[derive(Clone, Debug)]
pub struct Dependents {
    starts: Vec<u32>,
    dependents: Vec<u32>,
}

impl Dependents {
    /// Reverses edges from dependents to dependencies. They must be in the order of the dependents.
    pub(crate) fn new(n_tasks: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; n_tasks + 1];
        edges.clone().for_each(|(_, to)| starts[to as usize + 1] += 1);
        for ix in 0..n_tasks {
            starts[ix + 1] += starts[ix];
        }
        let mut next = starts.clone();
        let mut dependents = vec![0u32; starts[n_tasks] as usize];
        for (from, to) in edges {
            let slot = &mut next[to as usize];
            dependents[*slot as usize] = from;
            *slot += 1;
        }
        Dependents { starts, dependents }
    }

    /// Returns the tasks that depend on this one directly.
    pub fn of(&self, task_ix: usize) -> &[u32] {
        match (self.starts.get(task_ix), self.starts.get(task_ix + 1)) {
            (Some(&start), Some(&end)) => &self.dependents[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Calls a function for all dependents of some tasks, direct and indirect, the nearest first. Continues after those for which it
    /// returns true.
    pub(crate) fn each_behind<E>(
        &self,
        tasks: impl IntoIterator<Item = usize>,
        each: impl FnMut(usize) -> Result<bool, E>,
    ) -> Result<(), E> {
        each_reached(tasks, |at| self.of(at).iter().copied(), each)
    }

    /// Returns all dependents of some tasks, direct and indirect, the nearest first.
    pub fn behind(&self, tasks: impl IntoIterator<Item = usize>) -> Vec<usize> {
        all_reached(tasks, |at| self.of(at).iter().copied())
    }
}

const NO_TASK: u32 = u32::MAX;

/// Names to indexes. Plans number their tasks (`t1`, `US-001`), so most names need no hashing: after the common prefix comes a number,
/// which is an index of a table. Every hit is compared in full; other names are hashed.
struct NameIndex<'p> {
    prefix: &'p str,
    plan: &'p Plan,
    /// For each number its task, or `NO_TASK`; about twice as long as the plan.
    numbered: Vec<u32>,
    others: HashMap<&'p str, u32>,
}

impl<'p> NameIndex<'p> {
    fn new(plan: &'p Plan) -> Self {
        let first = plan.tasks().iter().find_map(|task| match task.name {
            TaskName::Id(id) => Some(plan.str(id)),
            _ => None,
        });
        NameIndex {
            prefix: first.map_or("", |name| name.trim_end_matches(|c: char| c.is_ascii_digit())),
            plan,
            numbered: vec![NO_TASK; plan.tasks().len() * 2 + 16],
            others: HashMap::new(),
        }
    }

    fn is_named(&self, task_ix: u32, id: &[u8]) -> bool {
        match self.plan.tasks().get(task_ix as usize).map(|task| task.name) {
            Some(TaskName::Id(name)) => self.plan.bytes(name) == id,
            _ => false,
        }
    }

    /// Returns the number in a name, if it has the common prefix and fits the table.
    fn number_of(&self, name: &[u8]) -> Option<usize> {
        let digits = name.strip_prefix(self.prefix.as_bytes())?;
        if digits.is_empty() || digits.len() > 9 {
            return None;
        }
        let digit = |number: usize, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + usize::from(byte - b'0'));
        let number = digits.iter().try_fold(0, digit)?;
        (number < self.numbered.len()).then_some(number)
    }

    /// Adds a name and returns the task that already has it, if any.
    fn insert(&mut self, id: Text, task_ix: usize) -> Option<usize> {
        let bytes = self.plan.bytes(id);
        if let Some(number) = self.number_of(bytes) {
            match self.numbered[number] {
                NO_TASK => {
                    self.numbered[number] = task_ix as u32;
                    return None;
                }
                earlier if self.is_named(earlier, bytes) => return Some(earlier as usize),
                // The same number in another notation, as in t1 and t01: two different names.
                _ => {}
            }
        }
        match self.others.entry(self.plan.str(id)) {
            std::collections::hash_map::Entry::Occupied(taken) => Some(*taken.get() as usize),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(task_ix as u32);
                None
            }
        }
    }

    /// Adds the ids of tasks that are named by number, because dependencies may use them.
    fn add_second_names(&mut self, plan: &'p Plan, duplicates: &mut Vec<(usize, usize)>) {
        for (task_ix, task) in plan.tasks().iter().enumerate() {
            if matches!(task.name, TaskName::Number(_))
                && let Some(id) = plan.task_str(task, super::Field::Id)
            {
                match self.others.entry(id) {
                    std::collections::hash_map::Entry::Occupied(taken) => {
                        duplicates.push((task_ix, *taken.get() as usize));
                    }
                    std::collections::hash_map::Entry::Vacant(free) => {
                        free.insert(task_ix as u32);
                    }
                }
            }
        }
    }

    fn get(&self, id: Text) -> Option<usize> {
        let bytes = self.plan.bytes(id);
        if let Some(number) = self.number_of(bytes)
            && self.is_named(self.numbered[number], bytes)
        {
            return Some(self.numbered[number] as usize);
        }
        if self.others.is_empty() {
            return None;
        }
        self.others.get(self.plan.str(id)).map(|&task_ix| task_ix as usize)
    }
}
