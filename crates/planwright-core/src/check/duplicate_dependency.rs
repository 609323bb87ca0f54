//! Finds dependencies that one list names twice.

use super::CheckFindings;
use super::rules::DUPLICATE_DEPENDENCY;
use crate::diagnostic::{Diagnostic, Replacement};
use crate::plan::{LinkProblem, Links, Plan};
use crate::text::{SourceText, Span, visible};

pub(super) fn check(plan: &Plan, links: &Links, found: &mut CheckFindings) {
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
        // The previous one is in the same list.
        let before = plan.all_dependencies()[dependency_ix - 1].span;
        let written = plan.source().slice(dependency.span).trim_matches(['"', '\'']);
        let diagnostic = Diagnostic::new(
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
        .with_help("remove one of the two");
        found.push(match cut(plan.source(), before, dependency.span) {
            Some(cut) => diagnostic.with_safe_fix("remove the repeated one", vec![Replacement::delete(cut)]),
            None => diagnostic,
        });
    }
}

/// Returns the span to delete. That is the line of an item on its own line, with its comment, otherwise the text between it and the
/// previous item. None if a comment in between may belong to either.
fn cut(source: &SourceText, before: Span, item: Span) -> Option<Span> {
    let text = source.as_str();
    // Searches only back to the dash: lines may be long, and full of repeated items.
    let lead = text.get(..item.start as usize)?.trim_end_matches(' ');
    let line = lead.strip_suffix('-').map(|lead| lead.trim_end_matches(' '));
    if let Some(line) = line.filter(|lead| lead.ends_with('\n')).map(str::len) {
        let rest = text.get(item.end as usize..)?;
        return Some(match rest.find('\n') {
            Some(feed) => Span::new(line, item.end as usize + feed + 1),
            None => Span::new(text.get(..line)?.trim_end_matches(['\n', '\r']).len(), text.len()),
        });
    }
    let between = source.slice(Span::new(before.end as usize, item.start as usize));
    (!between.contains('#')).then(|| Span::new(before.end as usize, item.end as usize))
}
