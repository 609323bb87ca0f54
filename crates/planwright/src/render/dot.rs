//! A plan as a Graphviz digraph.

use planwright_verbs::graph::GraphReport;
use planwright_verbs::plans::ShownState;

use super::graph::{label, stages};

/// Returns the digraph; everything from the plan is quoted.
pub(crate) fn digraph(graph: &GraphReport) -> String {
    let mut out = String::from(
        "digraph plan {\n    rankdir=TB;\n    node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n",
    );
    for (ix, task) in graph.tasks.iter().enumerate() {
        let (fill, line) = colors(task.state);
        let width = if task.critical { 2 } else { 1 };
        out.push_str(&format!(
            "    t{ix} [label={}, fillcolor=\"{fill}\", color=\"{line}\", penwidth={width}];\n",
            quoted(&label(task))
        ));
    }
    for (ix, task) in graph.tasks.iter().enumerate() {
        for &from in &task.after {
            let style = if task.critical_after == Some(from) {
                " [penwidth=2, color=\"#e67700\"]"
            } else {
                ""
            };
            out.push_str(&format!("    t{from} -> t{ix}{style};\n"));
        }
    }
    // A barrier between stages stands for all edges between their tasks.
    let stages = stages(graph);
    for stage in 1..stages.len() {
        out.push_str(&format!("    b{stage} [shape=point, label=\"\"];\n"));
        for ix in &stages[stage - 1] {
            out.push_str(&format!("    t{ix} -> b{stage} [arrowhead=none];\n"));
        }
        for ix in &stages[stage] {
            out.push_str(&format!("    b{stage} -> t{ix};\n"));
        }
    }
    out.push_str("}\n");
    out
}

fn colors(state: ShownState) -> (&'static str, &'static str) {
    match state {
        ShownState::Done => ("#d3f9d8", "#2b8a3e"),
        ShownState::Running => ("#d0ebff", "#1864ab"),
        ShownState::Failed => ("#ffe3e3", "#c92a2a"),
        ShownState::Skipped => ("#f1f3f5", "#868e96"),
        ShownState::Blocked | ShownState::Unknown => ("#fff3bf", "#e67700"),
        ShownState::Ready | ShownState::Waiting => ("#ffffff", "#495057"),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
