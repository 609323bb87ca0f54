//! What drawings of a plan's graph share: labels, stages, and the edges of the critical path.

use planwright_verbs::graph::{GraphReport, GraphTask};
use planwright_verbs::text::{cut, one_line, shown_name};

pub(crate) fn label(task: &GraphTask) -> String {
    format!("{}: {}", shown_name(&task.task), cut(&one_line(&task.subject), 48))
}

/// Returns all tasks by stage, where the plan has stages.
pub(crate) fn stages(report: &GraphReport) -> Vec<Vec<usize>> {
    let mut stages: Vec<Vec<usize>> = Vec::new();
    for (ix, task) in report.tasks.iter().enumerate() {
        let Some(stage) = task.stage else {
            continue;
        };
        if stages.len() <= stage {
            stages.resize(stage + 1, Vec::new());
        }
        stages[stage].push(ix);
    }
    stages
}
