//! The verb `adopt`: has the workspace find a checklist as a plan, by a line in the file.

use planwright_core::change::tasks::Edit;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit};
use crate::text::one_line;
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    /// The file.
    pub file: String,
    /// The order of its tasks: `strict`, `phases` or `none`; none for the usual one.
    #[serde(default)]
    pub order: Option<String>,
    #[serde(default)]
    pub change: ChangeMode,
}

pub fn adopt(workspace: &Workspace, request: &AdoptRequest) -> Result<ChangeReport> {
    let task_edit = TaskEdit {
        verb: "adopt",
        names: Vec::new(),
        plan: &PlanChoice::named(&request.file),
        change: &request.change,
    };
    let file = one_line(&request.file);
    let words = ChangeWords::new(format!("adopted {file}"), format!("would adopt {file}"));
    let order = request.order.as_deref();
    task_edit.run_once(workspace, |_| Ok(Edit::Adopt { order }), ("", words))
}
