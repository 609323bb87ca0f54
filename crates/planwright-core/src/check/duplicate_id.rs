//! Two tasks with one id. Each repeat points at the first.

use super::rules::DUPLICATE_ID;
use crate::diagnostic::Diagnostic;
use crate::plan::{Links, Plan};

pub(super) fn check(plan: &Plan, links: &Links, found: &mut Vec<Diagnostic>) {
    for &(task_ix, earlier_ix) in links.duplicate_ids() {
        let name = plan.task_name(task_ix);
        let (message, help) = (plan.lifecycle.wording.duplicate_id)(&name.escape_debug().to_string());
        let (task, earlier) = (&plan.tasks()[task_ix], &plan.tasks()[earlier_ix]);
        found.push(
            Diagnostic::new(&DUPLICATE_ID, plan.name_span(task), message)
                .with_label("again here")
                .with_related(plan.name_span(earlier), "first here")
                .with_help(help),
        );
    }
}
