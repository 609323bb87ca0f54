//! Finds plans without tasks.

use super::CheckFindings;
use super::rules::EMPTY_PLAN;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::Plan;

pub(super) fn check(plan: &Plan, found: &mut CheckFindings) {
    // A file without the list has a finding of its own.
    let Some(span) = plan.tasks_span.filter(|_| plan.tasks().is_empty()) else {
        return;
    };
    let (message, help) = (plan.lifecycle.wording.empty)();
    let diagnostic = Diagnostic::new(&EMPTY_PLAN, span, message).with_help(help);
    found.push(if plan.lifecycle.may_be_empty {
        diagnostic.with_severity(Severity::Warning)
    } else {
        diagnostic
    });
}
