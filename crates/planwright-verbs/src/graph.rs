//! The verb `graph`: the tasks of a plan, their dependencies, and the critical path.

use std::collections::HashSet;

use planwright_core::graph::TaskGraph;
use serde::{Deserialize, Serialize};

use crate::face::{Result, Workspace};
use crate::plans::{OpenedPlan, PlanChoice};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphRequest {
    pub plan: PlanChoice,
}

#[derive(Serialize)]
pub struct GraphReport {
    pub schema_version: &'static str,
    pub tasks: Vec<GraphTask>,
    /// Null if tasks form a cycle.
    pub critical_path: Option<Vec<String>>,
    #[serde(skip)]
    pub opened: OpenedPlan,
    /// The order of the tasks; none if they form a cycle.
    #[serde(skip)]
    pub graph: Option<TaskGraph>,
}

#[derive(Serialize)]
pub struct GraphTask {
    pub task: String,
    pub title: String,
    pub status: &'static str,
    pub level: Option<usize>,
    pub critical: bool,
    pub depends_on: Vec<String>,
}

/// Returns the tasks of a plan as a graph.
pub fn graph(workspace: &Workspace, request: &GraphRequest) -> Result<GraphReport> {
    let opened = request.plan.open(workspace)?;
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let graph = TaskGraph::new(plan, &linked.links).ok();
    let path = graph.as_ref().map_or(&[][..], |graph| graph.critical_path());
    let critical: HashSet<usize> = path.iter().map(|&ix| ix as usize).collect();
    let name = |ix: u32| plan.task_name(ix as usize).into_owned();
    let tasks = plan.tasks().iter().enumerate().map(|(ix, task)| GraphTask {
        task: plan.task_name(ix).into_owned(),
        title: plan.task_title(task).to_owned(),
        status: task.status.as_str(),
        level: graph.as_ref().map(|graph| graph.level(ix)),
        critical: critical.contains(&ix),
        depends_on: linked.links.of(ix).iter().map(|edge| name(edge.to)).collect(),
    });
    Ok(GraphReport {
        schema_version: "planwright.graph/v1",
        tasks: tasks.collect(),
        critical_path: graph
            .as_ref()
            .map(|graph| graph.critical_path().iter().map(|&ix| name(ix)).collect()),
        graph,
        opened,
    })
}
