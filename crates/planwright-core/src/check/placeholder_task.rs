//! Finds the placeholder task of a new plan.

use super::CheckFindings;
use super::rules::PLACEHOLDER_TASK;
use crate::diagnostic::Diagnostic;
use crate::plan::Plan;
use crate::text::visible;

pub(super) fn check(plan: &Plan, found: &mut CheckFindings) {
    if plan.is_placeholder_alone() {
        let name = plan.task_name(0);
        let message = format!("`{}` is the placeholder that a new plan begins with", visible(&name));
        let finding = Diagnostic::new(&PLACEHOLDER_TASK, plan.tasks()[0].span, message);
        found.push(finding.with_help("describe the task, or replace it: `planwright add \"TITLE\"`"));
    }
}
