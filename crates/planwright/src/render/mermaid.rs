//! A plan as a Mermaid flowchart.

use planwright_core::plan::Status;

use crate::cli::GraphDrawing;

/// Returns the flowchart; labels are quoted, ids are ours.
pub(crate) fn flowchart(drawing: &GraphDrawing<'_>) -> String {
    let plan = &drawing.linked.plan;
    let mut out = String::from("flowchart TD\n");
    let stages = drawing.stages();
    for (stage, tasks) in stages.iter().enumerate() {
        out.push_str(&format!("    subgraph s{stage}[\"stage {}\"]\n", stage + 1));
        for &ix in tasks {
            out.push_str(&format!("    {}", node(drawing, ix)));
        }
        out.push_str("    end\n");
    }
    if stages.is_empty() {
        for ix in 0..plan.tasks().len() {
            out.push_str(&node(drawing, ix));
        }
    }
    for stage in 1..stages.len() {
        out.push_str(&format!("    s{} --> s{stage}\n", stage - 1));
    }
    for ix in 0..plan.tasks().len() {
        for edge in drawing.linked.links.of(ix) {
            let arrow = if drawing.is_critical_edge(edge.to as usize, ix) {
                "==>"
            } else {
                "-->"
            };
            out.push_str(&format!("    t{} {arrow} t{ix}\n", edge.to));
        }
    }
    out.push_str("    classDef done fill:#d3f9d8,stroke:#2b8a3e\n");
    out.push_str("    classDef running fill:#d0ebff,stroke:#1864ab\n");
    out.push_str("    classDef failed fill:#ffe3e3,stroke:#c92a2a\n");
    out.push_str("    classDef skipped fill:#f1f3f5,stroke:#868e96,color:#868e96\n");
    out.push_str("    classDef blocked fill:#fff3bf,stroke:#e67700\n");
    out.push_str("    classDef pending fill:#ffffff,stroke:#495057\n");
    for class in ["done", "running", "failed", "skipped", "blocked", "pending"] {
        let members: Vec<String> = (0..plan.tasks().len())
            .filter(|&ix| class_of(plan.tasks()[ix].status) == class)
            .map(|ix| format!("t{ix}"))
            .collect();
        if !members.is_empty() {
            out.push_str(&format!("    class {} {class}\n", members.join(",")));
        }
    }
    out
}

fn class_of(status: Status) -> &'static str {
    match status {
        Status::Unknown(_) => "blocked",
        status => status.as_str(),
    }
}

fn node(drawing: &GraphDrawing<'_>, ix: usize) -> String {
    format!("    t{ix}[\"{}\"]\n", quoted(&drawing.label(ix)))
}

/// Escapes what would end a label or become markup.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '[' | ']' | '{' | '}' | ';' => {
                out.push_str(&format!("#{};", c as u32))
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out() {
        assert_eq!(quoted(r#"a"]b"#), "a#34;#93;b");
    }
}
