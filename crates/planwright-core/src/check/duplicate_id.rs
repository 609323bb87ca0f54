//! Finds tasks that share an id. Each repeat points at the first.

use super::CheckFindings;
use super::rules::DUPLICATE_ID;
use crate::diagnostic::Diagnostic;
use crate::plan::{Links, Plan};
use crate::text::visible;

pub(super) fn check(plan: &Plan, links: &Links, found: &mut CheckFindings) {
    for &(task_ix, earlier_ix) in links.duplicate_ids() {
        let (task, earlier) = (&plan.tasks()[task_ix], &plan.tasks()[earlier_ix]);
        let (Some(id), Some(earlier_id)) = (plan.task_id(task), plan.task_id(earlier)) else {
            continue;
        };
        let (message, help) = (plan.lifecycle.wording.duplicate_id)(&visible(plan.str(id)));
        found.push(
            Diagnostic::new(&DUPLICATE_ID, plan.text_span(id), message)
                .with_label("again here")
                .with_related(plan.text_span(earlier_id), "first here")
                .with_help(help),
        );
    }
}
