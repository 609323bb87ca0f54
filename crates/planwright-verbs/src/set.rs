//! The verb `set`: sets fields of a task.

use planwright_core::change::tasks::Edit;
use planwright_core::inspect::LinkedPlan;
use planwright_run::revise::task_named;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit};
use crate::text::shown_name;
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    /// Fields by the dialect's own names, with their values: text, or a list as JSON or one item per line.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    #[serde(default)]
    pub unset: Vec<String>,
    #[serde(default)]
    pub change: ChangeMode,
}

pub fn set(workspace: &Workspace, request: &SetRequest) -> Result<ChangeReport> {
    let fields = request.fields.iter().map(|(key, value)| (&**key, Some(&**value)));
    let unset = request.unset.iter().map(|key| (&**key, None));
    let all: Vec<(&str, Option<&str>)> = fields.chain(unset).collect();
    let task_edit = TaskEdit {
        verb: "set",
        names: vec![request.task.clone()],
        plan: &request.plan,
        change: &request.change,
    };
    let edit_of = |linked: &LinkedPlan, n: usize| {
        let Some(&(key, value)) = all.get(n) else {
            return Ok(None);
        };
        let task_ix = task_named(&linked.plan, &request.task)?;
        Ok(Some(Edit::Set { task_ix, key, value }))
    };
    let keys: Vec<&str> = all.iter().map(|&(key, _)| key).collect();
    let line = format!("set {} of {}", keys.join(", "), shown_name(&request.task));
    let words = ChangeWords::new(line.clone(), format!("would {line}"));
    task_edit.run(workspace, edit_of, |_| (vec![request.task.clone()], words))
}
