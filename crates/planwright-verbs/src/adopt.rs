//! The verb `adopt`: has the workspace find a checklist as a plan, by a line in the file.

use planwright_core::change::tasks::Edit;
use planwright_run::inspect_file::inspect_file;
use planwright_run::layout::root_of;
use planwright_run::workspace::{is_searched, slashed};
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit};
use crate::failure::{Failure, Result};
use crate::planning::NamedText;
use crate::text::one_line;
use crate::{PlanChoice, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    pub file: String,
    /// The order of its tasks: `strict`, `phases` or `none`; none for the one that the file names, else the usual one.
    #[serde(default)]
    pub order: Option<String>,
    #[serde(default)]
    pub change: ChangeMode,
}

pub fn adopt(workspace: &Workspace, request: &AdoptRequest) -> Result<ChangeReport> {
    let file = one_line(&request.file);
    let text = NamedText::load(workspace, request.file.as_ref())?;
    let inspection = inspect_file(&text.source, text.file(), None).inspection;
    if inspection.plan.is_none() {
        return Err(Failure::shown(
            format!("`{file}` is no checklist that could be adopted"),
            "`planwright import FILE` reads plans in other forms",
            text.evidence(inspection.diagnostics),
        ));
    }
    let path = std::fs::canonicalize(&text.path).unwrap_or_else(|_| text.path.clone());
    let root = std::fs::canonicalize(root_of(workspace.folder())).unwrap_or_default();
    let Ok(relative) = path.strip_prefix(&root) else {
        let message = format!("`{file}` is outside of this workspace");
        return Err(Failure::problem(message, "adopt it in its own workspace"));
    };
    if !is_searched(relative) {
        workspace.remark(&format!(
            "note: commands without a plan do not search this deep: plan.files = [\"{}\"] in planwright.toml names it",
            one_line(&slashed(relative))
        ));
    }
    let task_edit = TaskEdit {
        verb: "adopt",
        names: Vec::new(),
        plan: &PlanChoice::named(&request.file),
        change: &request.change,
    };
    let words = ChangeWords::new(format!("adopted {file}"), format!("would adopt {file}"));
    let order = request.order.as_deref();
    task_edit.run_once(workspace, |_| Ok(Edit::Adopt { order }), ("", words))
}
