//! A plan without tasks.

use super::rules::EMPTY_PLAN;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::Plan;

pub(super) fn check(plan: &Plan, found: &mut Vec<Diagnostic>) {
    if !plan.tasks().is_empty() {
        return;
    }
    let (message, help) = (plan.lifecycle.wording.empty)();
    let diagnostic = Diagnostic::new(&EMPTY_PLAN, plan.tasks_span, message).with_help(help);
    found.push(if plan.lifecycle.may_be_empty {
        diagnostic.with_severity(Severity::Warning)
    } else {
        diagnostic
    });
}
