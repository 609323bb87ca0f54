//! The verb `remove`: removes tasks from the plan.

use std::collections::BTreeSet;

use planwright_core::change::tasks::Edit;
use planwright_core::inspect::LinkedPlan;
use planwright_run::revise::each_once;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit, tasks_named};
use crate::text::shown_name;
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoveRequest {
    pub plan: PlanChoice,
    pub tasks: Vec<String>,
    /// Removes them from the dependencies of other tasks.
    pub detach: bool,
    pub change: ChangeMode,
}

pub fn remove(workspace: &Workspace, request: &RemoveRequest) -> Result<ChangeReport> {
    let tasks = each_once(&request.tasks);
    let task_edit = TaskEdit {
        verb: "remove",
        names: tasks.clone(),
        plan: &request.plan,
        change: &request.change,
    };
    let mut order = Vec::new();
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n == 0 {
            order = removals(linked, tasks_named(linked, &tasks)?);
        }
        let removal = order.get(n).map(|&(task_ix, is_needed)| Edit::Remove {
            task_ix,
            detach: request.detach || !is_needed,
        });
        Ok(removal)
    };
    let names: Vec<_> = tasks.iter().map(|name| shown_name(name)).collect();
    let names = names.join(", ");
    let words = ChangeWords::new(format!("removed {names}"), format!("would remove {names}"));
    task_edit.run(workspace, edit_of, |_| (tasks.clone(), words))
}

/// Returns the tasks to remove, and for each whether a remaining task depends on it. The last is first, because tasks after a removed one
/// get another index.
fn removals(linked: &LinkedPlan, going: Vec<usize>) -> Vec<(usize, bool)> {
    let going: BTreeSet<usize> = going.into_iter().collect();
    let staying = (0..linked.plan.tasks().len()).filter(|ix| !going.contains(ix));
    let edges = staying.flat_map(|ix| linked.links.of(ix));
    let needed: BTreeSet<usize> = edges.map(|edge| edge.to as usize).collect();
    going.into_iter().rev().map(|ix| (ix, needed.contains(&ix))).collect()
}
