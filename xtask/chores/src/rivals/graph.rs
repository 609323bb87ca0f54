//! The graph for every tool: layers of tasks, sound or with one of two defects. Knows no tool's format.

/// Tasks per layer.
const WIDTH: usize = 20;
/// The number of tasks in a cycle.
const CIRCLE: usize = 5;
/// Spreads the numbers of tasks, so that a list of a cycle's members in their order is not the cycle's path by chance.
const STRIDE: usize = 7_919;

#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) tasks: Vec<RivalTask>,
    /// The task with unknown fields and unusual spellings, if any.
    pub(super) odd: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RivalTask {
    pub(super) number: usize,
    pub(super) depends_on: Vec<usize>,
    pub(super) is_done: bool,
}

impl Graph {
    /// Returns a sound graph in layers: each task depends on two of the layer before, and none is done.
    pub(super) fn new(n_tasks: usize) -> anyhow::Result<Self> {
        anyhow::ensure!(
            n_tasks >= CIRCLE * WIDTH && !n_tasks.is_multiple_of(STRIDE),
            "the graph takes {} tasks or more, and no multiple of {STRIDE}",
            CIRCLE * WIDTH
        );
        let number = |place: usize| place * STRIDE % n_tasks + 1;
        let task = |place: usize| RivalTask {
            number: number(place),
            depends_on: before(place).into_iter().map(number).collect(),
            is_done: false,
        };
        Ok(Graph {
            tasks: (0..n_tasks).map(task).collect(),
            odd: None,
        })
    }

    /// Returns the graph with its first layer done: exactly the second layer may start.
    pub(super) fn begun(mut self) -> Self {
        self.tasks.iter_mut().take(WIDTH).for_each(|task| task.is_done = true);
        self
    }

    /// Returns the graph with a task that holds unusual text.
    pub(super) fn odd(mut self, number: usize) -> Self {
        self.odd = Some(number);
        self
    }

    /// Returns the graph with one cycle, and the cycle's path: each task depends on the next, the last on the first.
    pub(super) fn with_cycle(mut self) -> (Self, Vec<usize>) {
        let path: Vec<usize> = (0..CIRCLE)
            .rev()
            // The path moves one column per layer: no other path connects its ends, so that there is no other cycle.
            .filter_map(|layer| self.tasks.get(layer * WIDTH + CIRCLE - 1 - layer))
            .map(|task| task.number)
            .collect();
        let end = self.tasks.iter_mut().find(|task| path.last() == Some(&task.number));
        if let (Some(end), Some(start)) = (end, path.first()) {
            end.depends_on.push(*start);
        }
        (self, path)
    }

    /// Returns the graph with a dependency on a missing task, the dependent, and the missing task.
    pub(super) fn with_dangling(mut self) -> (Self, usize, usize) {
        let missing = self.tasks.len() + 1_000;
        let mut who = 0;
        if let Some(task) = self.tasks.get_mut(WIDTH) {
            who = task.number;
            task.depends_on.push(missing);
        }
        (self, who, missing)
    }

    /// Returns the tasks that may start: not done, and all dependencies done.
    pub(super) fn ready(&self) -> Vec<usize> {
        let is_done = |number: &usize| self.tasks.iter().any(|task| task.number == *number && task.is_done);
        self.tasks
            .iter()
            .filter(|task| !task.is_done && task.depends_on.iter().all(is_done))
            .map(|task| task.number)
            .collect()
    }
}

/// Returns the positions of the dependencies of a position.
fn before(place: usize) -> Vec<usize> {
    let (layer, column) = (place / WIDTH, place % WIDTH);
    let Some(layer) = layer.checked_sub(1) else {
        return Vec::new();
    };
    vec![layer * WIDTH + column, layer * WIDTH + (column + 1) % WIDTH]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depends_on(graph: &Graph, number: usize) -> &[usize] {
        let task = graph.tasks.iter().find(|task| task.number == number);
        &task.expect("it is there").depends_on
    }

    #[test]
    fn a_sound_graph_names_each_task_once_and_depends_on_earlier_ones() {
        for n_tasks in [100, 117, 1_000] {
            let graph = Graph::new(n_tasks).expect("enough tasks");
            let mut seen = std::collections::HashSet::new();
            for task in &graph.tasks {
                assert!((1..=n_tasks).contains(&task.number));
                assert!(task.depends_on.iter().all(|on| seen.contains(on)), "{task:?}");
                assert!(seen.insert(task.number), "{task:?}");
            }
        }
        assert!(Graph::new(99).is_err() && Graph::new(STRIDE).is_err());
    }

    #[test]
    fn the_cycle_is_one_and_its_order_is_not_that_of_the_numbers() {
        let (graph, path) = Graph::new(100).expect("enough tasks").with_cycle();
        assert_eq!(path.len(), CIRCLE);
        for (place, number) in path.iter().enumerate() {
            let next = path[(place + 1) % path.len()];
            assert!(depends_on(&graph, *number).contains(&next), "{path:?}");
        }
        let reaches_itself = |task: &&RivalTask| {
            let (mut seen, mut open) = (std::collections::HashSet::new(), task.depends_on.clone());
            while let Some(number) = open.pop() {
                if seen.insert(number) {
                    open.extend(depends_on(&graph, number));
                }
            }
            seen.contains(&task.number)
        };
        assert_eq!(graph.tasks.iter().filter(reaches_itself).count(), CIRCLE);
        let mut sorted = path.clone();
        sorted.sort_unstable();
        assert!(!super::super::judge::is_turn_of(&sorted, &path), "{path:?}");
    }

    #[test]
    fn a_begun_graph_has_exactly_its_second_layer_ready() {
        let graph = Graph::new(100).expect("enough tasks").begun();
        let second: Vec<usize> = graph.tasks[WIDTH..2 * WIDTH].iter().map(|task| task.number).collect();
        assert_eq!(graph.ready(), second);
    }

    #[test]
    fn a_dangling_reference_names_no_task() {
        let (graph, who, missing) = Graph::new(100).expect("enough tasks").with_dangling();
        assert!(depends_on(&graph, who).contains(&missing));
        assert!(graph.tasks.iter().all(|task| task.number != missing));
    }
}
