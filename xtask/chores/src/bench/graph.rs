//! Graphs of tasks that do nothing, in the formats of planwright, ninja and make. Runs nothing.

use std::fmt::Write as _;

/// The command of a task: the fastest program that every system has. planwright starts it without a shell.
pub(crate) const PROGRAM: &str = "/bin/true";

/// Tasks per layer of a layered graph.
const LAYER_WIDTH: usize = 100;

/// How the tasks of a graph depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Each task depends on the one before.
    Chain,
    /// No task depends on another.
    Wide,
    /// In layers, each task depends on two of the layer before.
    Layered,
    /// One task, then two that depend on it, then one that depends on both, and so on.
    Diamond,
}

impl Shape {
    pub(crate) const ALL: [Shape; 4] = [Shape::Chain, Shape::Wide, Shape::Layered, Shape::Diamond];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Shape::Chain => "chain",
            Shape::Wide => "wide",
            Shape::Layered => "layered",
            Shape::Diamond => "diamond",
        }
    }

    /// Returns the tasks that a task depends on.
    fn dependencies(self, task_ix: usize) -> Vec<usize> {
        match self {
            Shape::Wide => Vec::new(),
            Shape::Chain => task_ix.checked_sub(1).into_iter().collect(),
            Shape::Layered => {
                let (layer, column) = (task_ix / LAYER_WIDTH, task_ix % LAYER_WIDTH);
                let of_before = |before: usize| {
                    [column, (column + 1) % LAYER_WIDTH]
                        .map(|column| before * LAYER_WIDTH + column)
                        .to_vec()
                };
                layer.checked_sub(1).map_or_else(Vec::new, of_before)
            }
            Shape::Diamond => match task_ix % 3 {
                // The end of one diamond is the beginning of the next.
                0 => task_ix
                    .checked_sub(1)
                    .map_or_else(Vec::new, |last| vec![last - 1, last]),
                place => vec![task_ix - place],
            },
        }
    }

    /// Returns the graph as a clido plan.
    pub(crate) fn plan(self, n_tasks: usize) -> String {
        let mut text = String::from(
            "{\n  \"meta\": {\"id\": \"plan-a1b2c3d4\", \"goal\": \"A generated plan\", \"created_at\": \
             \"2026-03-22T10:00:00Z\"},\n  \"tasks\": [\n",
        );
        for task_ix in 0..n_tasks {
            let names = self
                .dependencies(task_ix)
                .into_iter()
                .map(|task_ix| format!("\"t{task_ix}\""));
            let comma = if task_ix + 1 < n_tasks { "," } else { "" };
            let _ = writeln!(
                text,
                "    {{\"id\": \"t{task_ix}\", \"description\": \"Change module {task_ix} and its tests\", \"depends_on\": [{}], \
                 \"complexity\": \"low\", \"skip\": false, \"notes\": \"\", \"status\": \"pending\"}}{comma}",
                names.collect::<Vec<_>>().join(", ")
            );
        }
        text.push_str("  ]\n}\n");
        text
    }

    /// Returns the graph as a `build.ninja`.
    pub(crate) fn ninja(self, n_tasks: usize) -> String {
        let mut text = format!("rule work\n  command = {PROGRAM}\n");
        for task_ix in 0..n_tasks {
            let _ = writeln!(text, "build t{task_ix}: work{}", self.names(task_ix));
        }
        text
    }

    /// Returns the graph as a `Makefile`.
    pub(crate) fn makefile(self, n_tasks: usize) -> String {
        let all: String = (0..n_tasks).map(|task_ix| format!(" t{task_ix}")).collect();
        let mut text = format!(".PHONY: all{all}\nall:{all}\n");
        for task_ix in 0..n_tasks {
            let _ = writeln!(text, "t{task_ix}:{}\n\t@{PROGRAM}", self.names(task_ix));
        }
        text
    }

    fn names(self, task_ix: usize) -> String {
        let names = self
            .dependencies(task_ix)
            .into_iter()
            .map(|task_ix| format!(" t{task_ix}"));
        names.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_names_tasks_before_their_dependents() {
        for shape in Shape::ALL {
            for task_ix in 0..1_000 {
                let dependencies = shape.dependencies(task_ix);
                assert!(
                    dependencies.iter().all(|on| *on < task_ix),
                    "{shape:?} {task_ix}: {dependencies:?}"
                );
            }
        }
    }

    #[test]
    fn diamonds_share_their_tips() {
        let first: Vec<Vec<usize>> = (0..7).map(|task_ix| Shape::Diamond.dependencies(task_ix)).collect();
        let expected: [&[usize]; 7] = [&[], &[0], &[0], &[1, 2], &[3], &[3], &[4, 5]];
        assert_eq!(first, expected);
    }

    #[test]
    fn the_same_graph_is_written_for_all() {
        let plan = Shape::Chain.plan(2);
        assert!(
            plan.contains("\"id\": \"t1\"") && plan.contains("\"depends_on\": [\"t0\"]"),
            "{plan}"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&plan).is_ok());
        assert!(Shape::Chain.ninja(2).ends_with("build t0: work\nbuild t1: work t0\n"));
        let makefile = Shape::Chain.makefile(2);
        assert_eq!(
            makefile,
            ".PHONY: all t0 t1\nall: t0 t1\nt0:\n\t@/bin/true\nt1: t0\n\t@/bin/true\n"
        );
    }
}
