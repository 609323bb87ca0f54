//! The verb `move`: moves a task in the list; names that are positions are renumbered.

use planwright_core::change::tasks::Edit;
use planwright_run::revise::task_named;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit, TaskPlace};
use crate::text::shown_name;
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    pub place: TaskPlace,
    #[serde(default)]
    pub change: ChangeMode,
}

pub fn move_task(workspace: &Workspace, request: &MoveRequest) -> Result<ChangeReport> {
    let task_edit = TaskEdit {
        verb: "move",
        names: vec![request.task.clone()],
        plan: &request.plan,
        change: &request.change,
    };
    let name = shown_name(&request.task);
    let words = ChangeWords::new(format!("moved {name}"), format!("would move {name}"));
    task_edit.run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            let place = request.place.index(linked)?;
            // Its old position is removed first.
            let to = if place > task_ix { place - 1 } else { place };
            Ok(Edit::Move { task_ix, to })
        },
        (&request.task, words),
    )
}
