//! The verbs `depend` and `undepend`: a task depends on others, or no longer does.

use planwright_core::change::tasks::Edit;
use planwright_run::revise::task_named;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit, tasks_named};
use crate::text::shown_name;
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DependRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    pub on: Vec<String>,
    #[serde(default)]
    pub change: ChangeMode,
}

impl DependRequest {
    fn edit(&self, verb: &'static str) -> TaskEdit<'_> {
        TaskEdit {
            verb,
            names: vec![self.task.clone()],
            plan: &self.plan,
            change: &self.change,
        }
    }

    fn words(&self, does: &str, would: &str) -> (&str, ChangeWords) {
        let others: Vec<_> = self.on.iter().map(|name| shown_name(name)).collect();
        let (name, others) = (shown_name(&self.task), others.join(", "));
        let words = ChangeWords::new(format!("{name} {does} {others}"), format!("{name} {would} {others}"));
        (&self.task, words)
    }
}

pub fn depend(workspace: &Workspace, request: &DependRequest) -> Result<ChangeReport> {
    request.edit("depend").run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            let on = tasks_named(linked, &request.on)?;
            Ok(Edit::Depend { task_ix, on })
        },
        request.words("depends on", "would depend on"),
    )
}

/// Removes dependencies of a task on others.
pub fn undepend(workspace: &Workspace, request: &DependRequest) -> Result<ChangeReport> {
    request.edit("undepend").run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            let on = tasks_named(linked, &request.on)?;
            Ok(Edit::Undepend { task_ix, on })
        },
        request.words("no longer depends on", "would no longer depend on"),
    )
}
