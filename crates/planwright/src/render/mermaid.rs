//! A plan as a Mermaid flowchart.

use planwright_verbs::graph::{GraphReport, GraphTask};
use planwright_verbs::plans::ShownState;

use super::graph::{label, stages};

/// Returns the flowchart; labels are quoted, ids are ours.
pub(crate) fn flowchart(graph: &GraphReport) -> String {
    let mut out = String::from("flowchart TD\n");
    let stages = stages(graph);
    for (stage, tasks) in stages.iter().enumerate() {
        out.push_str(&format!("    subgraph s{stage}[\"stage {}\"]\n", stage + 1));
        for &ix in tasks {
            out.push_str(&format!("    {}", node(ix, &graph.tasks[ix])));
        }
        out.push_str("    end\n");
    }
    if stages.is_empty() {
        for (ix, task) in graph.tasks.iter().enumerate() {
            out.push_str(&node(ix, task));
        }
    }
    for stage in 1..stages.len() {
        out.push_str(&format!("    s{} --> s{stage}\n", stage - 1));
    }
    for (ix, task) in graph.tasks.iter().enumerate() {
        for &from in &task.after {
            let arrow = if task.critical_after == Some(from) {
                "==>"
            } else {
                "-->"
            };
            out.push_str(&format!("    t{from} {arrow} t{ix}\n"));
        }
    }
    out.push_str("    classDef done fill:#d3f9d8,stroke:#2b8a3e\n");
    out.push_str("    classDef running fill:#d0ebff,stroke:#1864ab\n");
    out.push_str("    classDef failed fill:#ffe3e3,stroke:#c92a2a\n");
    out.push_str("    classDef skipped fill:#f1f3f5,stroke:#868e96,color:#868e96\n");
    out.push_str("    classDef blocked fill:#fff3bf,stroke:#e67700\n");
    out.push_str("    classDef pending fill:#ffffff,stroke:#495057\n");
    for class in ["done", "running", "failed", "skipped", "blocked", "pending"] {
        let members = graph
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| class_of(task) == class);
        let members: Vec<String> = members.map(|(ix, _)| format!("t{ix}")).collect();
        if !members.is_empty() {
            out.push_str(&format!("    class {} {class}\n", members.join(",")));
        }
    }
    out
}

fn class_of(task: &GraphTask) -> &'static str {
    match task.state {
        ShownState::Unknown => "blocked",
        _ => task.status,
    }
}

fn node(ix: usize, task: &GraphTask) -> String {
    format!("    t{ix}[\"{}\"]\n", quoted(&label(task)))
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
