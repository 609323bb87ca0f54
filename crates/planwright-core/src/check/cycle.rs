//! Finds cycles of dependencies, and reports a short one for each group of tasks. Linear, with a fixed budget for the search for
//! the shortest.

use super::rules::CYCLE;
use super::{CheckFindings, path_of};
use crate::diagnostic::Diagnostic;
use crate::plan::Links;
use crate::plan::Plan;
use crate::plan::links::Edge;
use crate::text::{Span, visible};

/// How many edges may be visited to find shorter cycles, over all components of a plan.
const SEARCH_BUDGET: usize = 4_000_000;

/// Reports cycles and returns every task in one.
pub(super) fn check(plan: &Plan, links: &Links, found: &mut CheckFindings) -> Vec<usize> {
    // If every task depends only on earlier ones, as in most plans, there is no cycle.
    if (0..links.n_tasks()).all(|ix| links.of(ix).iter().all(|edge| (edge.to as usize) < ix)) {
        return Vec::new();
    }
    let everything: Vec<u32> = (0..links.n_tasks() as u32).collect();
    let mut alive = vec![true; links.n_tasks()];
    let mut tarjan = CycleFinder::new(links);
    let mut knots = tarjan.within(&alive, &everything);
    let in_cycle = knots.iter().flatten().map(|&ix| ix as usize).collect();
    if knots.is_empty() {
        return in_cycle;
    }
    let mut search = Search::new(links);
    let mut budget = SEARCH_BUDGET;
    while let Some(knot) = knots.pop() {
        let cost = knot.len() + knot.iter().map(|&ix| links.of(ix as usize).len()).sum::<usize>();
        if budget < cost {
            // Cycles are still found, in a single walk, but no longer the shortest ones.
            for cycle in walk(links, &mut alive, &knot) {
                found.push(finding(plan, &cycle));
            }
            continue;
        }
        budget -= cost;
        let cycle = search.shortest(&knot, &mut budget);
        found.push(finding(plan, &cycle));
        // The rest of the component may have other cycles that share no task with this one.
        for step in &cycle {
            alive[step.from as usize] = false;
        }
        if cycle.len() < knot.len() {
            knots.extend(tarjan.within(&alive, &knot));
        }
    }
    in_cycle
}

/// An edge of a cycle, and its first task.
#[derive(Clone, Copy)]
struct CycleEdge {
    from: u32,
    edge: Edge,
}

fn finding(plan: &Plan, cycle: &[CycleEdge]) -> Diagnostic {
    // Start with the first task in the file.
    let first = (0..cycle.len()).min_by_key(|&ix| cycle[ix].from).unwrap_or(0);
    let steps: Vec<CycleEdge> = cycle[first..].iter().chain(&cycle[..first]).copied().collect();
    let mut names: Vec<_> = steps.iter().map(|step| plan.task_name(step.from as usize)).collect();
    names.extend(names.first().cloned());
    let (message, help) = (plan.lifecycle.wording.cycle)(&path_of(names.into_iter()));
    let span = |step: &CycleEdge| plan.all_dependencies()[step.edge.dependency_ix as usize].span;
    let says = |step: &CycleEdge| {
        format!(
            "`{}` depends on `{}`",
            visible(&plan.task_name(step.from as usize)),
            visible(&plan.task_name(step.edge.to as usize))
        )
    };
    let mut diagnostic = Diagnostic::new(&CYCLE, steps.first().map_or(Span::default(), span), message)
        .with_label(steps.first().map_or(String::new(), says))
        .with_help(help);
    for step in steps.iter().skip(1) {
        diagnostic = diagnostic.with_related(span(step), says(step));
    }
    diagnostic
}

const UNSEEN: u32 = u32::MAX;

/// Finds strongly connected components, with Tarjan's algorithm without recursion. Its tables are as large as the plan and reused, so that
/// many small components stay cheap.
struct CycleFinder<'l> {
    links: &'l Links,
    order: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    /// Visited tasks, each with the number of its edges that were followed.
    frames: Vec<(u32, usize)>,
}

impl<'l> CycleFinder<'l> {
    fn new(links: &'l Links) -> Self {
        CycleFinder {
            links,
            order: vec![UNSEEN; links.n_tasks()],
            low: vec![UNSEEN; links.n_tasks()],
            on_stack: vec![false; links.n_tasks()],
            frames: Vec::new(),
        }
    }

    /// Returns the components of two or more tasks among some tasks that are closed under the remaining edges.
    fn within(&mut self, alive: &[bool], among: &[u32]) -> Vec<Vec<u32>> {
        for &ix in among {
            self.order[ix as usize] = UNSEEN;
        }
        let (mut stack, mut knots) = (Vec::new(), Vec::new());
        let mut next = 0;
        for &root in among {
            if self.order[root as usize] == UNSEEN && alive[root as usize] {
                self.visit(root, alive, &mut next, &mut stack, &mut knots);
            }
        }
        knots
    }

    fn visit(&mut self, root: u32, alive: &[bool], next: &mut u32, stack: &mut Vec<u32>, knots: &mut Vec<Vec<u32>>) {
        self.frames.push((root, 0));
        while let Some((task_ix, at)) = self.frames.pop() {
            let task = task_ix as usize;
            if at == 0 {
                self.order[task] = *next;
                self.low[task] = *next;
                *next += 1;
                stack.push(task_ix);
                self.on_stack[task] = true;
            }
            if let Some(edge) = self.links.of(task).get(at) {
                self.frames.push((task_ix, at + 1));
                let to = edge.to as usize;
                if alive[to] && self.order[to] == UNSEEN {
                    self.frames.push((edge.to, 0));
                } else if alive[to] && self.on_stack[to] {
                    self.low[task] = self.low[task].min(self.order[to]);
                }
                continue;
            }
            if let Some(&(parent, _)) = self.frames.last() {
                self.low[parent as usize] = self.low[parent as usize].min(self.low[task]);
            }
            if self.low[task] == self.order[task] {
                knots.extend(self.pop_knot(task_ix, stack));
            }
        }
    }

    fn pop_knot(&mut self, task_ix: u32, stack: &mut Vec<u32>) -> Option<Vec<u32>> {
        let start = stack.iter().rposition(|&ix| ix == task_ix).unwrap_or(0);
        for &ix in &stack[start..] {
            self.on_stack[ix as usize] = false;
        }
        if stack.len() - start == 1 {
            stack.pop();
            return None;
        }
        let mut knot = stack.split_off(start);
        knot.sort_unstable();
        Some(knot)
    }
}

/// Returns cycles that share no task, found in one walk along the edges. A walk that meets its own path has found one, which is removed
/// before the walk continues.
fn walk(links: &Links, alive: &mut [bool], knot: &[u32]) -> Vec<Vec<CycleEdge>> {
    let place_of = |ix: u32| knot.binary_search(&ix).ok();
    // For each task of the component, how many of its edges were followed, and its position on the path.
    let mut followed = vec![0usize; knot.len()];
    let mut on_path: Vec<Option<usize>> = vec![None; knot.len()];
    let mut cycles = Vec::new();
    for &root in knot {
        let mut path: Vec<u32> = vec![root];
        if !alive[root as usize] {
            continue;
        }
        while let Some(&task_ix) = path.last() {
            let Some(place) = place_of(task_ix) else {
                path.pop();
                continue;
            };
            on_path[place] = Some(path.len() - 1);
            let Some(&edge) = links.of(task_ix as usize).get(followed[place]) else {
                on_path[place] = None;
                // None of its edges leads to a cycle.
                alive[task_ix as usize] = false;
                path.pop();
                continue;
            };
            followed[place] += 1;
            let Some(to) = place_of(edge.to).filter(|_| alive[edge.to as usize]) else {
                continue;
            };
            match on_path[to] {
                None => path.push(edge.to),
                Some(begin) => {
                    let members = path.split_off(begin);
                    let steps = members.iter().zip(members.iter().skip(1).chain([&edge.to]));
                    let edge_to = |from: u32, next: u32| links.of(from as usize).iter().find(|edge| edge.to == next);
                    let cycle =
                        steps.filter_map(|(&from, &next)| edge_to(from, next).map(|&edge| CycleEdge { from, edge }));
                    cycles.push(cycle.collect());
                    for member in members {
                        alive[member as usize] = false;
                        if let Some(place) = place_of(member) {
                            on_path[place] = None;
                        }
                    }
                }
            }
        }
    }
    cycles
}

/// Breadth-first search inside one component.
struct Search<'l> {
    links: &'l Links,
    /// The component of each task, by the number of the last call.
    knot_of: Vec<u32>,
    knot: u32,
    /// The search that reached a task, and its edge.
    reached: Vec<(u32, CycleEdge)>,
    round: u32,
}

impl<'l> Search<'l> {
    fn new(links: &'l Links) -> Self {
        let nowhere = CycleEdge {
            from: 0,
            edge: Edge {
                to: 0,
                dependency_ix: 0,
            },
        };
        Search {
            links,
            knot_of: vec![0; links.n_tasks()],
            knot: 0,
            reached: vec![(0, nowhere); links.n_tasks()],
            round: 0,
        }
    }

    /// Returns a shortest cycle of the component; the shortest through some task if the budget ends first.
    fn shortest(&mut self, knot: &[u32], budget: &mut usize) -> Vec<CycleEdge> {
        self.knot += 1;
        for &ix in knot {
            self.knot_of[ix as usize] = self.knot;
        }
        let mut best: Vec<CycleEdge> = Vec::new();
        for &start in knot {
            let limit = if best.is_empty() { usize::MAX } else { best.len() };
            if limit == 2 || (!best.is_empty() && *budget == 0) {
                break;
            }
            if let Some(cycle) = self.through(start, limit, budget) {
                best = cycle;
            }
        }
        best
    }

    /// Returns the shortest cycle through a task if it is shorter than `limit`.
    fn through(&mut self, start: u32, limit: usize, budget: &mut usize) -> Option<Vec<CycleEdge>> {
        self.round += 1;
        let mut queue = vec![(start, 0u32)];
        let mut at = 0;
        while let Some(&(task_ix, depth)) = queue.get(at) {
            at += 1;
            if depth as usize + 1 >= limit {
                return None;
            }
            let links = self.links;
            for &edge in links.of(task_ix as usize) {
                *budget = budget.saturating_sub(1);
                let step = CycleEdge { from: task_ix, edge };
                if edge.to == start {
                    return Some(self.walk_back(start, step));
                }
                let to = edge.to as usize;
                if self.knot_of[to] == self.knot && self.reached[to].0 != self.round {
                    self.reached[to] = (self.round, step);
                    queue.push((edge.to, depth + 1));
                }
            }
        }
        None
    }

    fn walk_back(&self, start: u32, last: CycleEdge) -> Vec<CycleEdge> {
        let mut steps = vec![last];
        let mut at = last.from;
        while at != start {
            let (_, step) = self.reached[at as usize];
            steps.push(step);
            at = step.from;
        }
        steps.reverse();
        steps
    }
}
