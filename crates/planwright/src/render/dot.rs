//! A plan as a Graphviz digraph.

use planwright_core::plan::Status;

use crate::cli::GraphDrawing;

/// Returns the digraph; everything from the plan is quoted.
pub(crate) fn digraph(drawing: &GraphDrawing<'_>) -> String {
    let plan = &drawing.linked.plan;
    let mut out = String::from(
        "digraph plan {\n    rankdir=TB;\n    node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n",
    );
    for ix in 0..plan.tasks().len() {
        let (fill, line) = colors(plan.tasks()[ix].status);
        let width = if drawing.is_critical(ix) { 2 } else { 1 };
        out.push_str(&format!(
            "    t{ix} [label={}, fillcolor=\"{fill}\", color=\"{line}\", penwidth={width}];\n",
            quoted(&drawing.label(ix))
        ));
    }
    for ix in 0..plan.tasks().len() {
        for edge in drawing.linked.links.of(ix) {
            let style = if drawing.is_critical_edge(edge.to as usize, ix) {
                " [penwidth=2, color=\"#e67700\"]"
            } else {
                ""
            };
            out.push_str(&format!("    t{} -> t{ix}{style};\n", edge.to));
        }
    }
    // A barrier between stages represents all edges between their tasks.
    let stages = drawing.stages();
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

fn colors(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Done => ("#d3f9d8", "#2b8a3e"),
        Status::Running => ("#d0ebff", "#1864ab"),
        Status::Failed => ("#ffe3e3", "#c92a2a"),
        Status::Skipped => ("#f1f3f5", "#868e96"),
        Status::Blocked(_) | Status::Unknown(_) => ("#fff3bf", "#e67700"),
        Status::Pending => ("#ffffff", "#495057"),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
