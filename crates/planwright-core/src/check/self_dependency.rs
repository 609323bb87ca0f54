//! Finds tasks that depend on themselves.

use super::CheckFindings;
use super::rules::SELF_DEPENDENCY;
use crate::diagnostic::Diagnostic;
use crate::plan::{LinkProblem, Links, Plan};
use crate::text::visible;

pub(super) fn check(plan: &Plan, links: &Links, found: &mut CheckFindings) {
    for problem in links.problems() {
        if let LinkProblem::ItSelf { task_ix, dependency_ix } = *problem {
            let name = visible(&plan.task_name(task_ix)).into_owned();
            let (message, help) = (plan.lifecycle.wording.self_dependency)(&name);
            let span = plan.all_dependencies()[dependency_ix].span;
            found.push(Diagnostic::new(&SELF_DEPENDENCY, span, message).with_help(help));
        }
    }
}
