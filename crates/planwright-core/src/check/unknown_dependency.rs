//! Finds dependencies on tasks that do not exist, and suggests the nearest names.

use super::CheckFindings;
use super::rules::UNKNOWN_DEPENDENCY;
use crate::diagnostic::{Diagnostic, Replacement};
use crate::plan::{DependencyTarget, LinkProblem, Links, Plan, TaskName};
use crate::text::visible;

/// The limit of name comparisons in one plan, so that suggestions do not slow down a broken plan.
const MAX_COMPARISONS: usize = 500_000;

pub(super) fn check(plan: &Plan, links: &Links, found: &mut CheckFindings) {
    let mut budget = MAX_COMPARISONS;
    for problem in links.problems() {
        let LinkProblem::Unknown { task_ix, dependency_ix } = *problem else {
            continue;
        };
        let dependency = plan.all_dependencies()[dependency_ix];
        let written = match dependency.target {
            DependencyTarget::Id(id) => plan.str(id),
            _ => plan.source().slice(dependency.span),
        };
        let task = visible(&plan.task_name(task_ix)).into_owned();
        let (message, help) = (plan.lifecycle.wording.unknown_dependency)(&task, &visible(written));
        let mut diagnostic = Diagnostic::new(&UNKNOWN_DEPENDENCY, dependency.span, message).with_help(help);
        if let DependencyTarget::Id(_) = dependency.target
            && let Some(nearest) = nearest_task(plan, task_ix, written, &mut budget)
        {
            diagnostic = diagnostic.with_label(format!("did you mean `{nearest}`?"));
            // The quotes of the file are kept: only the characters between them change.
            let quoted = plan.source().slice(dependency.span).starts_with(['"', '\'']);
            let text = if quoted {
                format!("\"{nearest}\"")
            } else {
                nearest.to_owned()
            };
            let safe_text = nearest.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if safe_text {
                let edits = vec![Replacement::new(dependency.span, text)];
                diagnostic = diagnostic.with_unsafe_fix(format!("depend on `{nearest}`"), edits);
            }
        }
        found.push(diagnostic);
    }
}

fn nearest_task<'p>(plan: &'p Plan, task_ix: usize, written: &str, budget: &mut usize) -> Option<&'p str> {
    if *budget < plan.tasks().len() {
        return None;
    }
    *budget -= plan.tasks().len();
    let names = plan
        .tasks()
        .iter()
        .enumerate()
        .filter_map(|(ix, task)| match task.name {
            TaskName::Id(id) if ix != task_ix => Some(plan.str(id)),
            _ => None,
        });
    nearest_name(written, names)
}

/// Returns the name of a task that `written` probably misspells.
pub fn nearest_name<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if written.len() > 64 {
        return None;
    }
    let (stem, number) = split_number(written);
    let scored = names
        .filter(|name| name.len().abs_diff(written.len()) <= 3)
        .filter_map(|name| {
            // Numbered names with different numbers are different tasks, not typing errors: only the same number matches.
            let (other_stem, other_number) = split_number(name);
            let is_same = stem.eq_ignore_ascii_case(other_stem);
            let distance = if is_same {
                0
            } else {
                strsim::damerau_levenshtein(stem, other_stem)
            };
            (number == other_number).then_some((distance, name))
        });
    // Names of one or two letters are all similar: only letter case may differ.
    let most = (stem.chars().count() / 3).min(3);
    scored
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Returns a name without the digits at its end, and those digits without leading zeros.
fn split_number(name: &str) -> (&str, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem, name[stem.len()..].trim_start_matches('0'))
}
