//! The task that a new plan begins with, and that is to be replaced.

use super::Findings;
use super::rules::PLACEHOLDER_TASK;
use crate::diagnostic::Diagnostic;
use crate::plan::Plan;
use crate::text::visible;

pub(super) fn check(plan: &Plan, found: &mut Findings) {
    for task_ix in plan.placeholders() {
        let name = plan.task_name(task_ix);
        let message = format!("`{}` is the placeholder that a new plan begins with", visible(&name));
        let finding = Diagnostic::new(&PLACEHOLDER_TASK, plan.tasks()[task_ix].span, message);
        found.push(finding.with_help("`planwright add \"TITLE\"` replaces it; until then it is not run"));
    }
}
