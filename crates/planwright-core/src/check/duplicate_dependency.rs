//! The same dependency twice in one list.

use super::Findings;
use super::rules::DUPLICATE_DEPENDENCY;
use crate::diagnostic::{Diagnostic, Replacement};
use crate::plan::{LinkProblem, Links, Plan};
use crate::text::{Span, visible};

pub(super) fn check(plan: &Plan, links: &Links, found: &mut Findings) {
    for problem in links.problems() {
        let LinkProblem::Repeated {
            task_ix,
            dependency_ix,
            earlier_ix,
        } = *problem
        else {
            continue;
        };
        let (dependency, earlier) = (
            plan.all_dependencies()[dependency_ix],
            plan.all_dependencies()[earlier_ix],
        );
        // The one before it stands in the same list: what lies between the two goes with the repeated one.
        let before = plan.all_dependencies()[dependency_ix - 1].span;
        let cut = Span {
            start: before.end,
            end: dependency.span.end,
        };
        let written = plan.source().slice(dependency.span).trim_matches(['"', '\'']);
        found.push(
            Diagnostic::new(
                &DUPLICATE_DEPENDENCY,
                dependency.span,
                format!(
                    "{} `{}` names the dependency `{}` twice",
                    plan.lifecycle.wording.task,
                    visible(&plan.task_name(task_ix)),
                    visible(written)
                ),
            )
            .with_label("again here")
            .with_related(earlier.span, "first here")
            .with_help("remove one of the two")
            .with_safe_fix("remove the repeated one", vec![Replacement::delete(cut)]),
        );
    }
}
