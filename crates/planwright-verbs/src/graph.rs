//! The verb `graph`: the tasks of a plan, their dependencies, and the critical path.

use std::collections::HashMap;

use planwright_core::graph::TaskGraph;
use planwright_core::plan::Readiness;
use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::plans::{PlanChoice, ShownState};
use crate::workspace::Workspace;

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
}

#[derive(Serialize)]
pub struct GraphTask {
    pub task: String,
    pub title: String,
    pub status: &'static str,
    pub level: Option<usize>,
    pub critical: bool,
    pub depends_on: Vec<String>,
    /// The first line of its title.
    #[serde(skip)]
    pub subject: String,
    #[serde(skip)]
    pub state: ShownState,
    /// The places of the tasks that it depends on.
    #[serde(skip)]
    pub after: Vec<usize>,
    /// The place of the task before it on the critical path.
    #[serde(skip)]
    pub critical_after: Option<usize>,
    #[serde(skip)]
    pub stage: Option<usize>,
}

/// Returns the tasks of a plan as a graph.
pub fn graph(workspace: &Workspace, request: &GraphRequest) -> Result<GraphReport> {
    let opened = request.plan.open(workspace)?;
    let linked = opened.linked()?;
    let plan = &linked.plan;
    let readiness = Readiness::new(plan, &linked.links);
    let graph = TaskGraph::new(plan, &linked.links).ok();
    let path = graph.as_ref().map_or(&[][..], |graph| graph.critical_path());
    let critical: HashMap<usize, Option<usize>> = path
        .iter()
        .enumerate()
        .map(|(at, &ix)| (ix as usize, at.checked_sub(1).map(|before| path[before] as usize)))
        .collect();
    let name = |ix: u32| plan.task_name(ix as usize).into_owned();
    let tasks = plan.tasks().iter().enumerate().map(|(ix, task)| GraphTask {
        task: plan.task_name(ix).into_owned(),
        title: plan.task_subject(task).to_owned(),
        status: task.status.as_str(),
        level: graph.as_ref().map(|graph| graph.level(ix)),
        critical: critical.contains_key(&ix),
        depends_on: linked.links.of(ix).iter().map(|edge| name(edge.to)).collect(),
        subject: plan.task_subject(task).to_owned(),
        state: ShownState::of(plan, &readiness, ix),
        after: linked.links.of(ix).iter().map(|edge| edge.to as usize).collect(),
        critical_after: critical.get(&ix).copied().flatten(),
        stage: plan.has_stages.then_some(task.stage as usize),
    });
    Ok(GraphReport {
        schema_version: "planwright.graph/v1",
        tasks: tasks.collect(),
        critical_path: graph
            .as_ref()
            .map(|graph| graph.critical_path().iter().map(|&ix| name(ix)).collect()),
    })
}
