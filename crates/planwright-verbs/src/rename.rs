//! The verb `rename`: gives a task another id, and updates references.

use planwright_core::change::tasks::Edit;
use planwright_run::revise::task_named;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit};
use crate::text::shown_name;
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    pub to: String,
    #[serde(default)]
    pub change: ChangeMode,
}

pub fn rename(workspace: &Workspace, request: &RenameRequest) -> Result<ChangeReport> {
    let task_edit = TaskEdit {
        verb: "rename",
        names: vec![request.task.clone(), request.to.clone()],
        plan: &request.plan,
        change: &request.change,
    };
    let (from, to) = (shown_name(&request.task), shown_name(&request.to));
    let words = ChangeWords::new(
        format!("renamed {from} to {to}"),
        format!("would rename {from} to {to}"),
    );
    task_edit.run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            Ok(Edit::Rename {
                task_ix,
                to: &request.to,
            })
        },
        (&request.to, words),
    )
}
